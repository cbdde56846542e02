"""Compare graph and classical Stein discrepancies and the Wasserstein distance of the same samples.

    python examples/papers/stein_discrepancies_compared.py [--full] [--jobs N] [-o DIR]

The samples are independent draws from Unif(0, 1) and N(0, 1). With the Stein factors (0.5, 0.5, 1) and (1, 4, 2), the
Wasserstein distance is a lower bound on the Stein discrepancies. All three values are certified brackets, so the order
of two values is proved if their brackets do not overlap.

The script reports whether Wasserstein <= classical <= graph holds, the differences between graph and classical
discrepancies, and whether both follow the fluctuations of the Wasserstein distance. For the uniform target, it also
reports whether the classical discrepancy *equals* the Wasserstein distance.

References
----------
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.2 and figure 2.
"""

from __future__ import annotations

import numpy as np
from _frame import COLOURS, Experiment, figure, main_of
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.plots.axes import logarithmic

FACTORS = {"Gaussian": (1.0, 4.0, 2.0), "uniform": (0.5, 0.5, 1.0)}
SEEDS = (7, 8, 9)
MEASURES = ("graph", "classical", "Wasserstein")


def brackets(target: str, seed: int, n: int) -> np.ndarray:
    """Return bounds on the three measures of the first n draws, shape (3, 2)."""
    rng = np.random.default_rng(seed)
    if target == "uniform":
        points, aim = rng.random(n), sk.targets.Uniform([0.0], [1.0])
    else:
        points, aim = rng.standard_normal(n), sk.targets.Normal([0.0])
    found = (
        sk.graph_stein_discrepancy(points, aim, stein_factors=FACTORS[target], units="raw"),
        sk.classical_stein_discrepancy(points, aim, stein_factors=FACTORS[target]),
        sk.wasserstein_distance(points, aim),
    )
    return np.array([[each.lower, each.upper] for each in found])


def of_midpoints(n: int) -> list[float]:
    """Return the graph and classical discrepancies of the midpoints of n equal parts of [0, 1]."""
    points, aim = (np.arange(n) + 0.5) / n, sk.targets.Uniform([0.0], [1.0])
    graph = sk.graph_stein_discrepancy(points, aim, stein_factors=FACTORS["uniform"], units="raw")
    return [graph.value, sk.classical_stein_discrepancy(points, aim, stein_factors=FACTORS["uniform"]).value]


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Gorham and Mackey (2015), figure 2")
    hundreds, thousands = [*range(100, 1001, 100)], [*range(2000, 10_001, 1000)]
    sizes = [*hundreds, *thousands] if experiment.full else [100, 200, 500]
    experiment.settings(stein_factors=FACTORS, seeds=SEEDS, sizes=sizes)
    cells = [{"target": target, "seed": seed, "n": n} for target in FACTORS for seed in SEEDS for n in sizes]
    found = np.array(experiment.cells(brackets, cells)).reshape(len(FACTORS), len(SEEDS), len(sizes), 3, 2)
    experiment.numbers(brackets=found)
    low, high, middle = found[..., 0], found[..., 1], found.mean(axis=-1)

    pairs = found[..., 0].size // 3
    ordered = ((low[..., 2] <= high[..., 1]) & (low[..., 1] <= high[..., 0])).sum()
    text = f"in {ordered} of {pairs} samples"
    experiment.result("order of discrepancies", ordered=int(ordered), pairs=pairs, text=text)
    for t, target in enumerate(FACTORS):
        excess = (middle[t, ..., 0] / middle[t, ..., 1] - 1.0).ravel()
        protocol = "i.i.d. points" * (target == "uniform")
        close(experiment, f"graph near classical, {target}", excess, protocol)
        follows = correlations(middle[t])
        text = f"correlation {follows.min():.2f} to {follows.max():.2f}"
        experiment.result(f"both follow Wasserstein, {target}", least=follows.min(), text=text)
    even = np.array(experiment.cells(of_midpoints, [{"n": n} for n in (10, 100, 1000)]))
    close(experiment, "graph near classical, uniform", even[:, 0] / even[:, 1] - 1.0, "midpoints")
    uniform = list(FACTORS).index("uniform")
    meet = (low[uniform, ..., 1] <= high[uniform, ..., 2]) & (low[uniform, ..., 2] <= high[uniform, ..., 1])
    text = f"brackets meet in {meet.sum()} of {meet.size}"
    experiment.result("classical is Wasserstein", meet=int(meet.sum()), pairs=meet.size, text=text)
    experiment.finish(plot(sizes, middle))


def close(experiment: Experiment, claim: str, excess: np.ndarray, protocol: str) -> None:
    """Report the difference between the graph and classical discrepancies."""
    text = f"{np.median(excess):.1%} above, at most {excess.max():.1%}"
    experiment.result(claim, protocol=protocol, median=float(np.median(excess)), text=text)


def correlations(middle: np.ndarray) -> np.ndarray:
    """Return the correlations of Stein discrepancies with the Wasserstein distance.

    Trends in log n are removed before the correlations are computed.
    """
    logs = np.log(middle)  # (seeds, sizes, 3)
    about = (logs - logs.mean(axis=0)).reshape(-1, 3)
    return np.corrcoef(about.T)[2, :2]


def plot(sizes: list[int], middle: np.ndarray) -> Figure:
    """Plot a panel per target and seed, as in the paper."""
    fig, axes = figure(len(FACTORS), len(SEEDS), height=4.6, sharex=True, sharey="row")
    for row, target, found in zip(axes, FACTORS, middle, strict=True):
        for ax, seed, values in zip(row, SEEDS, found, strict=True):
            for color, style, name, each in zip(COLOURS, ("-", "--", ":"), MEASURES, values.T, strict=False):
                ax.plot(sizes, each, style, color=color, linewidth=1.8, label=name)
            ax.set_title(f"{target}, seed {seed}", fontsize=11)
            logarithmic(ax, "xy")
    powers = [n for n in (100, 1000, 10_000) if n <= sizes[-1]]
    for ax in axes[-1]:
        ax.set_xlabel("n")
        ax.set_xticks(powers, [f"{n:,}" for n in powers])
        ax.set_xticks([], minor=True)
    fig.supylabel("discrepancy", fontsize=12)
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return fig


if __name__ == "__main__":
    main_of(main)
