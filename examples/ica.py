"""Compare acceptance tests for independent component analysis on the manifold of orthogonal matrices.

    python examples/ica.py [--output FOLDER] [--small]

Independent component analysis separates four mixed sources. After whitening, the unmixing matrix is orthogonal, and
random walks on the orthogonal matrices draw from its posterior. The exact acceptance test reads all 5000 data points
(2000 with `--small`). The austerity test reads 500 data points at a time until its decision is certain, up to an error
of epsilon per stage.

The quantity of interest is the posterior mean of the Amari distance to the true unmixing matrix. The script prints the
risk of this estimate for increasing numbers of likelihood evaluations. The risk is the mean squared error of ten chains
relative to a long exact run. The script also prints the CPU time. For the same number of evaluations, the exact test
takes less time because it stores the likelihood of the current state and reads the data contiguously. Approximate tests
save time only for larger data sets. The plot shows the risk against the number of evaluations and against time.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6.2 and figure 3.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from steinkit import plots
from steinkit.samplers import AusterityTest, MetropolisTest

sys.path.append(str(Path(__file__).resolve().parent / "papers"))  # shared modules
from _pictures import plot_risk
from _running_means import Risk, long_run_mean, risk, running_means
from applications.ica import IndependentComponents, amari_distance, orthogonal_mh

EPSILONS = (0.0, 0.05, 0.1)
MIXING = np.array([[1.0, 0.5, -0.3, 0.2], [0.2, 1.0, 0.5, -0.4], [-0.4, 0.3, 1.0, 0.6], [0.5, -0.2, 0.1, 1.0]])
CHAINS, BATCH = 10, 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="2000 data points, and shorter chains")
    settings = parser.parse_args()
    size, exact_steps, long = (2000, 200, 500) if settings.small else (5000, 400, 1500)
    budgets = np.geomspace(0.05, 1.0, 9) * size * exact_steps

    rng = np.random.default_rng(1)
    sources = rng.laplace(size=(size, 4))
    sources[:, 3] = rng.standard_normal(size)  # at most one source may be normal
    posterior = IndependentComponents.from_mixtures(sources @ MIXING.T)

    def distance(points: np.ndarray) -> np.ndarray:
        return amari_distance(posterior.unmixing_matrices(points), np.linalg.inv(MIXING))

    walk = {"proposal_scale": 1.5 / np.sqrt(size), "chains": CHAINS}
    long_run = orthogonal_mh(posterior, **walk, draws=long, burn_in=long // 4, seed=100)
    truth = long_run_mean(long_run.to_sample(), distance)
    start = long_run.points[:, -1]  # a common start, so that only the tests differ
    print(
        f"Amari distance to the true matrix: posterior mean {truth.value[0]:.4f} +- {truth.standard_error[0]:.4f} "
        "(long exact run)"
    )

    print(f"\n{'test':14}{'accepted':>9}{'data per test':>15}{'seconds':>9}   risk at 1/4, 1/2, all of the evaluations")
    risks: dict[str, Risk] = {}
    seconds: dict[str, float] = {}
    for epsilon in EPSILONS:
        test = AusterityTest(epsilon, BATCH) if epsilon else MetropolisTest()
        begin = time.process_time()
        draws = orthogonal_mh(posterior, **walk, test=test, budget=int(budgets[-1]), start=start, seed=1)
        name = f"epsilon {epsilon:g}" if epsilon else "exact test"
        seconds[name] = (time.process_time() - begin) / CHAINS
        risks[name] = risk(running_means(draws.to_sample(), distance, budget=budgets), truth)
        shown = np.interp([0.25 * budgets[-1], 0.5 * budgets[-1], budgets[-1]], budgets, risks[name].value)
        accepted, read = np.mean(draws.acceptance), np.nanmean(draws.mean_batch_size)
        text = "  ".join(f"{value:.1e}" for value in shown)
        print(f"{name:14}{accepted:9.0%}{read:15,.0f}{seconds[name]:9.2f}   {text}")
    best = min(risks, key=lambda name: risks[name].value[-1])
    print(f"Lowest risk at {budgets[-1]:,.0f} evaluations: {best}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "ica.png"
    plot(risks, seconds).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def plot(risks: dict[str, Risk], seconds: dict[str, float]) -> Figure:
    """Plot the risk against the evaluations and against CPU time."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for k, (name, found) in enumerate(risks.items()):
        color, _, dashes = plots.look(k)
        plot_risk(found, left, label=name, color=color, linestyle=dashes)
        plot_risk(found, right, color=color, linestyle=dashes, unit=seconds[name] / found.against[-1])
    left.set(xlabel="likelihood evaluations of a chain", ylabel="risk in the mean Amari distance")
    right.set(xlabel="processor seconds per chain")
    left.fill_between([], [], [], color="0.5", alpha=0.3, linewidth=0.0, label="95% interval")
    left.plot([], [], color="0.4", linestyle=":", linewidth=1.0, label="error of the long run")
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Independent component analysis: mean squared error over ten chains", fontsize=11)
    return figure


if __name__ == "__main__":
    main()
