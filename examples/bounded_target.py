"""Test samples of a target with bounds.

    python examples/bounded_target.py [--output FOLDER] [--small]

The target is a correlated normal distribution of (dose, share), truncated to dose >= 0 and 0 <= share <= 1. The script
compares two samples. For exact draws, normal draws outside the bounds are rejected. For clipped draws, they are moved
to the nearest point inside and accumulate on the edges. Clipping is a common error in samplers.

The density is positive at the edges, and the score does not show that the target ends there. Without `bounds`, the
discrepancy is also large for exact draws because it assumes that the target continues beyond the bounds, and it does
not separate the two samples. With `bounds`, it separates them. The script prints both discrepancies of both samples and
those of independent draws.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import steinkit as sk

CENTRE = np.array([0.5, 0.7])
COVARIANCE = np.array([[0.64, 0.144], [0.144, 0.09]])
PRECISION = np.linalg.inv(COVARIANCE)
BOUNDS = np.array([[0.0, np.inf], [0.0, 1.0]])
NAMES = ("dose", "share")


def log_density(x: np.ndarray) -> np.ndarray:
    """Compute the log density inside the bounds, up to a constant."""
    return -0.5 * np.einsum("ni,ij,nj->n", x - CENTRE, PRECISION, x - CENTRE)


def score(x: np.ndarray) -> np.ndarray:
    """Compute the gradient of the log density."""
    return -(x - CENTRE) @ PRECISION


def uncut(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from the normal distribution without truncation."""
    return rng.multivariate_normal(CENTRE, COVARIANCE, n)


def sampler(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw independently from the target by rejection."""
    inside = np.empty((0, 2))
    while len(inside) < n:
        draws = uncut(2 * n, rng)
        keep = ((draws >= BOUNDS[:, 0]) & (draws <= BOUNDS[:, 1])).all(axis=1)
        inside = np.concatenate([inside, draws[keep]])
    return inside[:n]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="100 draws instead of 300")
    settings = parser.parse_args()
    n, repeats = (100, 3) if settings.small else (300, 5)

    bounded = sk.Target(score, log_density=log_density, sampler=sampler, bounds=BOUNDS, names=NAMES)
    unbounded = sk.Target(score, log_density=log_density, sampler=sampler, names=NAMES)
    rng = np.random.default_rng(0)
    samples = {"right": bounded.sample(n, rng), "clipped": np.clip(uncut(n, rng), *BOUNDS.T)}
    bounded.check(samples["right"][:20])

    targets = {"with bounds": bounded, "without bounds": unbounded}
    results = {
        (name, how): sk.graph_stein_discrepancy(sk.Sample(draws, names=NAMES), target)
        for name, draws in samples.items()
        for how, target in targets.items()
    }
    reference = sk.reference_discrepancy(bounded, n, repeats)
    print(f"{'sample':10}{'scored':18}{'certified discrepancy':>28}{'ratio to i.i.d.':>18}")
    for (name, how), result in results.items():
        print(f"{name:10}{how:18}{result.bracket:>28}{result.value / reference.median:>18.2f}")
    for how in targets:
        ratio = results["clipped", how].value / results["right", how].value
        print(f"{how}, the clipped sample scores {ratio:.2f} times the right one")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "bounded_target.png"
    plot(results, reference).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def plot(results: dict[tuple[str, str], sk.GraphSteinDiscrepancy], reference: sk.Reference) -> Figure:
    """Plot both samples, colored where they differ from independent draws, and all four discrepancies."""
    figure = Figure(figsize=(7.2, 7.2), layout="constrained")
    above, below = figure.subfigures(2, 1)
    panels, bars = above.subplots(1, 2, sharey=True), below.add_subplot()
    shown = {name: result for (name, how), result in results.items() if how == "with bounds"}
    right = max(result.sample.points[:, 0].max() for result in shown.values()) + 0.2
    for ax, (name, result) in zip(panels, shown.items(), strict=True):
        outside(ax, right)
        sk.plots.draws(result, ax, reference=reference, legend=False)
        edges = (result.sample.points[:, :, None] == BOUNDS).any(axis=(1, 2))
        share = edges @ result.sample.weights
        ax.set_title(f"{name}: {result.value:.2g} with bounds\n{share:.0%} of the draws on an edge", fontsize=10)
        ax.label_outer()
    above.suptitle("Orange triangles: too many draws, blue: too few, gray: as in i.i.d. draws", fontsize=10)
    compare(bars, results, reference)
    return figure


def compare(ax: Axes, results: dict[tuple[str, str], sk.GraphSteinDiscrepancy], reference: sk.Reference) -> None:
    """Draw a bar for each discrepancy, and a line for that of independent draws."""
    groups = list(dict.fromkeys(how for _, how in results))
    for shift, name, color in ((-0.2, "right", "0.7"), (0.2, "clipped", "#0072B2")):
        values = [results[name, how].value for how in groups]
        bars = ax.bar(np.arange(len(groups)) + shift, values, width=0.38, color=color, label=name)
        ax.bar_label(bars, fmt="%.2g", padding=4)
    ax.axhline(reference.median, color="0.1", linestyle="--", linewidth=1.0, label="i.i.d. draws, with bounds")
    ax.set_xticks(range(len(groups)), groups)
    ax.set_title("graph Stein discrepancy", fontsize=11)
    ax.set_ylim(0.0, 1.1 * max(result.value for result in results.values()))
    ax.legend(loc="upper left", frameon=False)


def outside(ax: Axes, right: float) -> None:
    """Shade the region outside the bounds."""
    ax.set(xlim=(-0.3, right), ylim=(-0.15, 1.15))
    ax.axvspan(-0.3, 0.0, color="0.85", zorder=0)
    ax.axhspan(-0.15, 0.0, color="0.85", zorder=0)
    ax.axhspan(1.0, 1.15, color="0.85", zorder=0)


if __name__ == "__main__":
    main()
