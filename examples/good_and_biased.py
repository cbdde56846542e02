"""Detect the bias of SGLD samples that convergence diagnostics do not detect.

    python examples/good_and_biased.py [--output FOLDER] [--small]

The script compares three samples for the same posterior, which are bundled in `examples/data` (see `make_data.py`). One
sample is from random-walk Metropolis, which is exact. The other two are from stochastic gradient Langevin dynamics
(SGLD) with two step sizes. The bias of SGLD is caused by its step size and by the noise of its minibatches. All three
samples are thinned until no autocorrelation is left, so their effective sample sizes are equal.

The script prints a table with the certified discrepancy of each sample, in units of the sample's standard deviations as
in `steinkit score`, and with the discrepancies of independent draws from the posterior. The discrepancy of the
Metropolis sample is 0.96 times the median of independent draws and within their range. The sample with step size 5e-3
has plausible standard deviations, but its discrepancy is 2.3 times the median and above the range. The sample with step
size 5e-2 is strongly biased. With `--small`, which uses a fifth of the draws and three independent samples, the
sampling noise is larger. The discrepancy of Metropolis is then 1.5 times the median, just above the range, and that of
SGLD with step size 5e-3 is 2.4 times the median. The script also prints a summary of the most biased sample and plots
the draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import steinkit as sk

DATA = Path(__file__).parent / "data"
FILES = {
    "Metropolis": "metropolis.csv",
    "SGLD, step 5e-3": "sgld_5e-3.csv",
    "SGLD, step 5e-2": "sgld_5e-2.csv",
}
MASSES = (0.999, 0.9, 0.5)
CONTOUR = "0.2"  # gray level


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="every fifth draw")
    settings = parser.parse_args()

    target = sk.targets.MixturePosterior()
    every, repeats = (5, 3) if settings.small else (1, 5)
    results = {name: score(DATA / file, target, every) for name, file in FILES.items()}
    n = len(results["Metropolis"].sample.inverse)
    reference = sk.reference_discrepancy(target, n, repeats, units="own")

    print(table(results, reference))
    worst = max(results, key=lambda name: results[name].lower)
    print(f"\nThe worst, {worst}:\n\n{results[worst].summary(reference)}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "good_and_biased.png"
    plot(results, reference, target).savefig(path, dpi=150)
    print(f"\nFigure: {path}")


def score(path: Path, target: sk.Target, every: int) -> sk.GraphSteinDiscrepancy:
    """Compute the discrepancy of the draws in a sample file, or of every n-th draw."""
    sample = sk.read_sample(path)
    return sk.graph_stein_discrepancy(sample[::every], target, units="own")


def table(results: Mapping[str, sk.GraphSteinDiscrepancy], reference: sk.Reference) -> str:
    """Format a table with one line per sample.

    Each line contains the certified bracket and its ratio to the median of independent samples.
    """
    lines = [f"{'sample':18}{'sd':>14}{'certified discrepancy':>28}{'ratio to i.i.d.':>18}"]
    for name, result in results.items():
        sd = ", ".join(f"{value:.2f}" for value in result.sample.points.std(axis=0))
        lines.append(f"{name:18}{sd:>14}{result.bracket:>28}{result.value / reference.median:>18.2f}")
    lowest, highest = reference.lower.min(), reference.upper.max()
    lines.append(f"{len(reference.values)} samples of {reference.n} i.i.d. draws: {lowest:.3g} to {highest:.3g}")
    return "\n".join(lines)


def plot(
    results: Mapping[str, sk.GraphSteinDiscrepancy], reference: sk.Reference, target: sk.targets.MixturePosterior
) -> Figure:
    """Plot the draws over contours of the posterior.

    The draws are colored where they differ from independent draws.
    """
    figure = Figure(figsize=(4.8, 3.3), layout="constrained")
    panels = figure.subplots(1, len(results), sharex=True, sharey=True)
    everything = np.concatenate([result.sample.points for result in results.values()])
    lower, upper = everything.min(axis=0) - 0.3, everything.max(axis=0) + 0.3
    for ax, (name, result) in zip(panels, results.items(), strict=True):
        contours(ax, target, lower, upper)
        sk.plots.draws(result, ax, reference=reference, legend=False)
        ax.set_title(f"{name}\n{result.value / reference.median:.2g}", fontsize=9)
        ax.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), xticks=(-2, 0, 2))
        ax.label_outer()
    figure.suptitle("Stein discrepancy relative to i.i.d. draws", fontsize=10)
    shown = {label: handle for ax in panels for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    shown["50%, 90% and 99.9% regions"] = Line2D([], [], color=CONTOUR)
    figure.legend(
        shown.values(), shown, loc="outside lower center", ncols=2, fontsize=9, handlelength=1.2, frameon=False
    )
    return figure


def contours(ax: Axes, target: sk.Target, lower: np.ndarray, upper: np.ndarray) -> None:
    """Draw contours of the posterior density that contain the probabilities `MASSES`."""
    x, y = (np.linspace(a, b, 120) for a, b in zip(lower, upper, strict=True))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    log_density = target.log_density(grid)
    density = np.exp(log_density - log_density.max())
    ordered = np.sort(density)[::-1]
    held = np.cumsum(ordered) / ordered.sum()
    levels = [float(ordered[np.searchsorted(held, mass)]) for mass in MASSES]
    ax.contour(x, y, density.reshape(len(y), len(x)), levels=levels, colors=CONTOUR, linewidths=0.9, zorder=1.5)


if __name__ == "__main__":
    main()
