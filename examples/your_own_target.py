"""Test samples from your own target, written in Python.

    python examples/your_own_target.py [--output FOLDER] [--small]

The target is a curved distribution in three dimensions. The script defines it by a log density and its gradient, which
is the score:

    x1 ~ N(0, 1),   x2 | x1 ~ N(x1^2 - 1, 1/2^2),   x3 | x1 ~ N(x1, 3^2)

The method `Target.check` compares the score with finite differences of the log density, because an incorrect score
invalidates all results. The script compares a sample from the target with a sample from the normal distribution that
has the same mean and covariance. The means and standard deviations of the two samples differ only by sampling noise,
which is larger with 100 draws (`--small`) than with 400. The discrepancy of the normal sample is five times as large
(four times with `--small`), and the plot shows the regions with too many normal draws.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import steinkit as sk

WIDTH, SPREAD = 0.5, 3.0
MEAN = np.zeros(3)
COVARIANCE = np.array([[1.0, 0.0, 1.0], [0.0, 2.0 + WIDTH**2, 0.0], [1.0, 0.0, 1.0 + SPREAD**2]])


def log_density(x: np.ndarray) -> np.ndarray:
    """Compute the log density up to a constant."""
    bend, drift = x[:, 1] - x[:, 0] ** 2 + 1.0, x[:, 2] - x[:, 0]
    return -0.5 * (x[:, 0] ** 2 + (bend / WIDTH) ** 2 + (drift / SPREAD) ** 2)


def score(x: np.ndarray) -> np.ndarray:
    """Compute the gradient of the log density."""
    bend, drift = x[:, 1] - x[:, 0] ** 2 + 1.0, x[:, 2] - x[:, 0]
    by_x1 = -x[:, 0] + 2.0 * x[:, 0] * bend / WIDTH**2 + drift / SPREAD**2
    return np.column_stack([by_x1, -bend / WIDTH**2, -drift / SPREAD**2])


def sampler(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw independently from the target.

    These draws are optional and used for comparison.
    """
    x1, noise2, noise3 = rng.standard_normal((3, n))
    return np.column_stack([x1, x1**2 - 1.0 + WIDTH * noise2, x1 + SPREAD * noise3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="100 draws instead of 400")
    settings = parser.parse_args()
    n, repeats = (100, 3) if settings.small else (400, 5)

    target = sk.Target(score, log_density=log_density, sampler=sampler, names=("x1", "x2", "x3"), label="banana")
    rng = np.random.default_rng(0)
    samples = {
        "draws from the target": target.sample(n, rng),
        "normal, same moments": rng.multivariate_normal(MEAN, COVARIANCE, n),
    }
    check = target.check(np.concatenate(list(samples.values()))[:: n // 10])
    print(
        f"The score is the gradient of the log density: {check.compared} values compared, largest relative "
        f"difference {check.largest_difference:.0e}\n"
    )

    # The warning concerns samples that are too narrow, but these two have the same standard deviations.
    warnings.filterwarnings("ignore", "the discrepancy is saturated", sk.SteinkitWarning)
    results = {
        name: sk.graph_stein_discrepancy(sk.Sample(draws, names=target.names), target)
        for name, draws in samples.items()
    }
    reference = sk.reference_discrepancy(target, n, repeats)
    print(f"{'sample':24}{'mean':>22}{'sd':>20}{'certified discrepancy':>28}{'ratio to i.i.d.':>18}")
    for name, result in results.items():
        mean, sd = (
            ", ".join(f"{value:.2f}" for value in moment)
            for moment in (samples[name].mean(axis=0), samples[name].std(axis=0))
        )
        ratio = result.value / reference.median
        print(f"{name:24}{mean:>22}{sd:>20}{result.bracket:>28}{ratio:>18.2f}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "your_own_target.png"
    plot(results, reference).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def plot(results: dict[str, sk.GraphSteinDiscrepancy], reference: sk.Reference) -> Figure:
    """Plot both samples over the curve of x1 and x2.

    The samples are colored where they differ from independent draws.
    """
    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    curve = np.linspace(-4.0, 4.0, 200)
    for ax, (name, result) in zip(panels, results.items(), strict=True):
        low, high = curve**2 - 1.0 - 2.0 * WIDTH, curve**2 - 1.0 + 2.0 * WIDTH
        ax.fill_between(curve, low, high, color="0.9", zorder=0, label="95% of x2 for each x1")
        sk.plots.draws(result, ax, reference=reference, legend=False)
        ratio = result.value / reference.median
        ax.set_title(f"{name}: {result.value:.3g}\n{ratio:.2g} times that of i.i.d. draws", fontsize=10)
        ax.label_outer()
    panels[0].set(xlim=(-4.0, 4.0), ylim=(-5.0, 15.0))
    shown = {label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=2, frameon=False)
    return figure


if __name__ == "__main__":
    main()
