"""Bound the ratios of graph and classical Stein discrepancies.

    python examples/papers/stein_equivalence.py [--full] [--jobs N] [-o DIR]

By proposition 5, the discrepancy of the complete graph is at least the classical discrepancy, and at most a constant
times the classical discrepancy. By proposition 6, the discrepancy of a t-spanner is at least the discrepancy of the
complete graph, and at most 2 t^2 times this discrepancy. Proposition 5 is tested in one dimension, where the classical
discrepancy can be computed. The samples are independent draws, draws from a shifted normal distribution, and midpoints
of n equal parts of [0, 1] for the target Unif(0, 1), for which the ratio is 2 - 1 / n. Proposition 6 is tested in two
and three dimensions with t = 2. The samples are independent draws, draws that lack one mode of a mixture, and a grid.

All values are certified brackets, and the script reports the smallest and the largest ratio that the brackets allow.

Theorem 2 and proposition 3 bound the classical discrepancy by the Wasserstein distance and by couplings of the sample
with the target. They are tested for quantiles of N(0, 1) that are shifted or scaled, and for a mass of 1/n at n, which
keeps the Wasserstein distance near 1. Proposition 4 concerns other Stein factors, and proposition 15 concerns bounded
supports. Spanners are built for up to 16,000 points.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", theorem 2, and propositions
3 to 6 and 15.
"""

from __future__ import annotations

import time

import numpy as np
from _frame import COLOURS, Experiment, figure, main_of
from matplotlib.figure import Figure
from scipy.special import ndtri

import steinkit as sk

ONE = ("normal", "shifted", "uniform", "midpoints")
FACTORS = ((1.0, 4.0, 2.0), (0.5, 0.5, 1.0), (3.0, 1.0, 0.2))
NODES = 200  # number of nodes per point for expectations under a coupling
MORE = ("normal", "half", "grid")
ON_LINE = "N(0, 1) and Unif(0, 1), d = 1"


def points_of(sample: str, n: int) -> tuple[np.ndarray, sk.Target]:
    """Return points on a line and their target."""
    rng = np.random.default_rng(n)
    if sample in ("normal", "shifted"):
        return rng.standard_normal(n) + (sample == "shifted"), sk.targets.Normal([0.0])
    return rng.random(n) if sample == "uniform" else (np.arange(n) + 0.5) / n, sk.targets.Uniform([0.0], [1.0])


def over_classical(sample: str, n: int) -> list[float]:
    """Return the ratio of the complete graph discrepancy to the classical one.

    The result also contains the largest ratio that the brackets allow.
    """
    points, target = points_of(sample, n)
    return ratios(sk.graph_stein_discrepancy(points, target), sk.classical_stein_discrepancy(points, target))


def sample_of(kind: str, size: float, n: int) -> np.ndarray:
    """Return quantiles of N(0, 1) that are shifted or scaled, or with a mass of 1/n moved to n."""
    points = ndtri((np.arange(n) + 0.5) / n)
    if kind == "escaping":
        return np.append(points[:-1], float(n))
    return points + size if kind == "shift" else points * (1.0 + size)


def of_bounds(kind: str, size: float, n: int) -> list[float]:
    """Return bounds on two ratios of the classical discrepancy.

    The first is a lower bound on its ratio to the Wasserstein distance, and the second is an upper bound on its ratio
    to the bound of proposition 3.
    """
    points, target = np.sort(sample_of(kind, size, n)), sk.targets.Normal([0.0])
    found = sk.classical_stein_discrepancy(points, target)
    z = ndtri((np.arange(NODES * n) + 0.5) / (NODES * n))
    away = np.abs(np.repeat(points, NODES) - z)  # equal ranks are coupled, and the score is -x
    coupling = float((away * (2.0 + np.abs(z))).mean())
    return [found.lower / sk.wasserstein_distance(points, target).upper, found.upper / coupling]


def of_factors(sample: str, factors: list[float], n: int) -> list[float]:
    """Return the extremes of the ratios to the bounds of proposition 4 that the brackets allow."""
    points, target = points_of(sample, n)
    plain, other = (sk.classical_stein_discrepancy(points, target, stein_factors=c) for c in ((1.0, 1.0, 1.0), factors))
    return [other.upper / (min(factors) * plain.lower), other.lower / (max(factors) * plain.upper)]


def over_complete_in_square(n: int) -> list[float]:
    """Return the ratio of the 2-spanner discrepancy to that of the complete graph.

    The points lie in the unit square. The result also contains the largest ratio that the brackets allow.
    """
    points, target = np.random.default_rng(n).random((n, 2)), sk.targets.Uniform([0.0, 0.0], [1.0, 1.0])
    return ratios(*(sk.graph_stein_discrepancy(points, target, graph=graph) for graph in ("spanner", "complete")))


def of_spanner(dim: int, n: int) -> list[float]:
    """Return the number of edges of a 2-spanner, and its CPU time."""
    points, began = np.random.default_rng(n).standard_normal((n, dim)), time.process_time()
    edges = len(sk.greedy_spanner(points).edges)
    return [edges, time.process_time() - began]


def over_complete(sample: str, dim: int, n: int) -> list[float]:
    """Return the ratio of the 2-spanner discrepancy to that of the complete graph.

    The result also contains the largest ratio that the brackets allow.
    """
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
    """Return the ratio of two discrepancies, and the largest ratio that their brackets allow."""
    return [one.value / other.value, one.upper / other.lower]


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), propositions")
    sizes, small = ((10, 30, 100, 300, 1000), (27, 64, 125)) if experiment.full else ((10, 100), (27,))
    experiment.settings(sizes=sizes, of_more_dimensions=small, dilation=2.0)
    cells = [{"sample": sample, "n": n} for sample in ONE for n in sizes]
    first = np.array(experiment.cells(over_classical, cells)).reshape(len(ONE), len(sizes), 2)
    slopes = [slope_of(sizes, each[:, 0]) for each in first]
    numbers = {"least": first[..., 1].min(), "largest": first[..., 1].max(), "slope": max(slopes)}
    experiment.result(
        "proposition 5", **numbers, text=f"{ON_LINE}: {first[..., 0].min():.3f} to {first[..., 0].max():.3f}"
    )
    cells = [{"sample": sample, "dim": dim, "n": n} for sample in MORE for dim in (2, 3) for n in small]
    second = np.array(experiment.cells(over_complete, cells))
    numbers = {"least": second[:, 1].min(), "largest": second[:, 1].max()}
    experiment.result("proposition 6", **numbers, text=f"{second[:, 0].min():.3f} to {second[:, 0].max():.3f}")
    experiment.numbers(over_classical=first, over_complete=second)
    other_propositions(experiment, dict(zip(ONE, first, strict=True)), sizes, small)
    experiment.finish(plot(sizes, first))


def other_propositions(experiment: Experiment, ratio: dict[str, np.ndarray], sizes: tuple, small: tuple) -> None:
    """Evaluate theorem 2, propositions 3, 4 and 15, and the size of spanners."""
    cells = [{"kind": kind, "size": 10.0**-k, "n": 200} for kind in ("shift", "scale") for k in range(4)]
    cells += [{"kind": "escaping", "size": 0.0, "n": n} for n in sizes]
    lower, upper = np.array(experiment.cells(of_bounds, cells)).T
    experiment.result(
        "theorem 2", least=lower.min(), text=f"N(0, 1), d = 1: at least {lower.min():.2f} times Wasserstein"
    )
    experiment.result(
        "proposition 3", largest=upper.max(), text=f"N(0, 1), d = 1: {upper.min():.2f} to {upper.max():.2f} of it"
    )
    cells = [{"sample": sample, "factors": list(factors), "n": 100} for sample in ONE for factors in FACTORS]
    ends = np.array(experiment.cells(of_factors, cells))
    numbers = {"least": ends[:, 0].min(), "largest": ends[:, 1].max()}
    text = f"at least {numbers['least']:.2f} of min c, at most {numbers['largest']:.2f} of max c"
    experiment.result("proposition 4", **numbers, text=text)
    square = np.array(experiment.cells(over_complete_in_square, [{"n": n} for n in small]))
    lines = np.concatenate([ratio["uniform"], ratio["midpoints"]])
    numbers = {"least": min(lines[:, 1].min(), square[:, 1].min()), "largest": max(lines.max(), square[:, 1].max())}
    slope = max(slope_of(sizes, ratio["uniform"][:, 0]), slope_of(small, square[:, 0]))
    ends = min(lines[:, 0].min(), square[:, 0].min()), max(lines[:, 0].max(), square[:, 0].max())
    text = f"Unif(0, 1), d = 1 and 2: {ends[0]:.3f} to {ends[1]:.3f}"
    experiment.result("proposition 15", **numbers, slope=slope, text=text)
    counts = (4000, 16_000) if experiment.full else (200, 800)
    cells = [{"dim": dim, "n": n} for dim in (2, 3) for n in counts]
    graphs = np.array(experiment.cells(of_spanner, cells)).reshape(2, 2, 2)
    for k, claim in enumerate(("spanner edges", "spanner time")):
        slopes = [slope_of(counts, each) for each in graphs[..., k]]
        text = f"like n^{slopes[0]:.2f} (d = 2), n^{slopes[1]:.2f} (d = 3)"
        experiment.result(claim, largest=max(slopes), text=text)


def slope_of(sizes: tuple[int, ...], values: np.ndarray) -> float:
    """Return the exponent of a power law."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0]) if len(sizes) > 1 else 0.0


def plot(sizes: tuple[int, ...], found: np.ndarray) -> Figure:
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
