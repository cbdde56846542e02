"""Bound the ratios of graph and classical Stein discrepancies.

    python examples/papers/stein_equivalence.py [--full] [--jobs N] [-o DIR]

By proposition 5 the discrepancy of the complete graph is at least the classical one, and at most a constant times the
classical one. By proposition 6 that of a t-spanner is between the discrepancy of the complete graph and 2 t^2 times it.
In one dimension the classical discrepancy can be computed. The first proposition is tested with independent draws, with
the midpoints of Unif(0, 1), for which the ratio is (2 n - 1) / n, and with draws of a shifted normal distribution. The
second is tested with independent draws, with a missing mode of a mixture, and with a grid, in two and three dimensions
and with t = 2.

All values are certified brackets: the script reports the smallest and the largest ratio that they allow.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", propositions 5 and 6.
"""

from __future__ import annotations

import numpy as np
from _frame import COLOURS, Experiment, figure, main_of
from matplotlib.figure import Figure

import steinkit as sk

ONE = ("normal", "shifted", "uniform", "midpoints")
MORE = ("normal", "half", "grid")


def over_classical(sample: str, n: int) -> list[float]:
    """Return bounds of the ratio of the complete graph's to the classical discrepancy."""
    rng = np.random.default_rng(n)
    if sample in ("normal", "shifted"):
        points, target = rng.standard_normal(n) + (sample == "shifted"), sk.targets.Normal([0.0])
    else:
        points = rng.random(n) if sample == "uniform" else (np.arange(n) + 0.5) / n
        target = sk.targets.Uniform([0.0], [1.0])
    return ratios(sk.graph_stein_discrepancy(points, target), sk.classical_stein_discrepancy(points, target))


def over_complete(sample: str, dim: int, n: int) -> list[float]:
    """Return bounds of the ratio of the 2-spanner's to the complete graph's discrepancy."""
    points = np.random.default_rng(n).standard_normal((n, dim))
    if sample == "half":
        points = np.abs(points)
    elif sample == "grid":
        side = round(n ** (1.0 / dim))
        points = np.stack(np.meshgrid(*[np.linspace(-2.0, 2.0, side)] * dim), axis=-1).reshape(-1, dim)
    target = sk.targets.Normal(np.zeros(dim))
    found = (sk.graph_stein_discrepancy(points, target, graph=graph) for graph in ("spanner", "complete"))
    return ratios(*found)


def ratios(one: object, other: object) -> list[float]:
    """Return the ratio, and the largest value that the brackets allow."""
    return [one.value / other.value, one.upper / other.lower]


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), propositions 5 and 6")
    sizes, small = ((10, 30, 100, 300, 1000), (27, 64, 125)) if experiment.full else ((10, 100), (27,))
    experiment.settings(sizes=sizes, of_more_dimensions=small, dilation=2.0)
    cells = [{"sample": sample, "n": n} for sample in ONE for n in sizes]
    first = np.array(experiment.cells(over_classical, cells)).reshape(len(ONE), len(sizes), 2)
    slopes = [np.polyfit(np.log(sizes), np.log(each[:, 0]), 1)[0] for each in first]
    numbers = {"least": first[..., 1].min(), "largest": first[..., 1].max(), "slope": max(slopes)}
    experiment.result("proposition 5", **numbers, text=f"{first[..., 0].min():.3f} to {first[..., 0].max():.3f}")
    cells = [{"sample": sample, "dim": dim, "n": n} for sample in MORE for dim in (2, 3) for n in small]
    second = np.array(experiment.cells(over_complete, cells))
    numbers = {"least": second[:, 1].min(), "largest": second[:, 1].max()}
    experiment.result("proposition 6", **numbers, text=f"{second[:, 0].min():.3f} to {second[:, 0].max():.3f}")
    experiment.numbers(over_classical=first, over_complete=second)
    experiment.finish(picture(sizes, first))


def picture(sizes: tuple[int, ...], found: np.ndarray) -> Figure:
    """Plot the ratio to the classical discrepancy against n."""
    fig, ((ax,),) = figure(height=3.8)
    for color, sample, each in zip(COLOURS, ONE, found, strict=False):
        ax.plot(sizes, each[:, 0], "o-", color=color, label=sample)
    ax.axhline(1.0, color="0.4", linestyle=":")
    ax.set(xscale="log", xlabel="n", ylabel="ratio", title="ratio of complete graph to classical discrepancy")
    ax.legend()
    return fig


if __name__ == "__main__":
    main_of(main)
