"""Does a cheaper test of each move pay for independent component analysis? Risk at equal cost, on a manifold.

    python examples/ica.py [--output FOLDER] [--small]

Four mixed sources are to be unmixed. After whitening, the unmixing matrix is orthogonal, and its posterior lives on the
orthogonal matrices: random walks that turn the matrix draw from it. The exact test of a move reads all 5000 data;
the austerity test reads 500 at a time until it is sure, at each look to an error of epsilon.

The quantity sought is the posterior mean of the Amari distance to the true unmixing matrix. You will see its risk, the
mean squared error over ten chains against a long exact run, for a growing number of likelihood evaluations and for the
processor time that they take. In time the exact test does better than in evaluations: it keeps the likelihood of the
state where it stands, and reads all its data in one go. Cheap tests need more data than these to pay in time as well.
The picture shows both.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6.2 and figure 3.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from steinkit.samplers import (
    AusterityTest,
    Draws,
    IndependentComponents,
    MetropolisTest,
    amari_distance,
    orthogonal_mh,
)

EPSILONS = (0.0, 0.05, 0.1)
MIXING = np.array([[1.0, 0.5, -0.3, 0.2], [0.2, 1.0, 0.5, -0.4], [-0.4, 0.3, 1.0, 0.6], [0.5, -0.2, 0.1, 1.0]])
UNMIXING = np.linalg.inv(MIXING)
CHAINS, BATCH = 10, 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the picture")
    parser.add_argument("--small", action="store_true", help="2000 data, and shorter chains")
    settings = parser.parse_args()
    size, exact_steps, long = (2000, 200, 500) if settings.small else (5000, 400, 1500)
    budgets = np.geomspace(0.05, 1.0, 9) * size * exact_steps

    rng = np.random.default_rng(1)
    sources = rng.laplace(size=(size, 4))
    sources[:, 1] *= np.sqrt(np.abs(sources[:, 1]))  # heavier tails
    sources[:, 3] = rng.standard_normal(size)  # one may be normal
    posterior = IndependentComponents.from_mixtures(sources @ MIXING.T)
    scale = 1.5 / np.sqrt(size)

    def distances(draws: Draws) -> np.ndarray:
        found = np.zeros(draws.present.shape)
        found[draws.present] = amari_distance(posterior.unmixing_matrices(draws.points[draws.present]), UNMIXING)
        return found

    reference_run = orthogonal_mh(
        posterior, proposal_scale=scale, chains=CHAINS, draws=long, burn_in=long // 4, seed=100
    )
    start = reference_run.points[:, -1]  # what differs then is the test, not the way from the identity
    means = distances(reference_run).mean(axis=1)
    reference, uncertainty = means.mean(), means.std(ddof=1) / np.sqrt(CHAINS)
    print(f"Amari distance to the true matrix: posterior mean {reference:.4f} +- {uncertainty:.4f} (long exact run)")

    print(f"\n{'test':14}{'accepted':>9}{'data a test':>13}{'seconds':>9}   risk at 1/4, 1/2, all of the evaluations")
    risks, seconds = {}, {}
    for epsilon in EPSILONS:
        test = AusterityTest(epsilon, BATCH) if epsilon else MetropolisTest()
        begin = time.process_time()
        draws = orthogonal_mh(
            posterior, proposal_scale=scale, test=test, chains=CHAINS, budget=int(budgets[-1]), start=start, seed=1
        )
        name = f"epsilon {epsilon:g}" if epsilon else "exact test"
        seconds[name] = (time.process_time() - begin) / CHAINS
        found = distances(draws)
        risks[name] = np.array([risk(draws, found, budget, reference) for budget in budgets])
        shown = "  ".join(f"{risk(draws, found, share * budgets[-1], reference)[0]:.1e}" for share in (0.25, 0.5, 1.0))
        read = np.nanmean(draws.mean_batch_size)
        print(f"{name:14}{np.mean(draws.acceptance):9.0%}{read:13,.0f}{seconds[name]:9.1f}   {shown}")
    best = min(risks, key=lambda name: risks[name][-1, 0])
    print(f"Lowest risk at {budgets[-1]:,.0f} evaluations: {best}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "ica.png"
    picture(budgets, risks, seconds, uncertainty**2).savefig(path, dpi=130)
    print(f"\nPicture: {path}")


def risk(draws: Draws, distances: np.ndarray, budget: float, reference: float) -> tuple[float, float]:
    """Mean squared error over the chains of the mean distance, and its standard error."""
    used = draws.present & (draws.cost <= budget)
    errors = np.array([(found[kept].mean() - reference) ** 2 for found, kept in zip(distances, used, strict=True)])
    return errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors))


def picture(budgets: np.ndarray, risks: dict[str, np.ndarray], seconds: dict[str, float], floor: float) -> Figure:
    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for name, found in risks.items():
        for ax, cost in ((left, budgets), (right, seconds[name] * budgets / budgets[-1])):
            (line,) = ax.plot(cost, found[:, 0], "o-", label=name)
            lower = np.maximum(found[:, 0] - found[:, 1], found[:, 0] / 3.0)
            ax.fill_between(cost, lower, found.sum(axis=1), color=line.get_color(), alpha=0.12)
    for ax, label in ((left, "likelihood evaluations of a chain"), (right, "processor seconds a chain")):
        ax.axhline(floor, color="0.4", linestyle="--", linewidth=1.0, label="error of the reference")
        ax.set(xscale="log", yscale="log", xlabel=label)
    left.set_ylabel("risk in the mean Amari distance")
    left.legend()
    figure.suptitle("Mean squared error over ten chains; bands: its standard error", fontsize=10)
    return figure


if __name__ == "__main__":
    main()
