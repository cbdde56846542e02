"""Does a cheaper, biased test of each move pay? Approximate against exact Metropolis-Hastings at equal cost.

    python examples/approximate_mh.py [--output FOLDER] [--small]

Six coefficients of a logistic regression (`nodal`, 53 patients) are sampled by random walks that differ in their test
of a move. The exact test reads all 53 patients. The austerity test reads two at a time until it is sure, at each look
to an error of epsilon = .1 or .2: it makes four to nine times as many moves for the same number of likelihood
evaluations, and some wrong ones. Early on the chains with cheap tests have travelled further; their bias remains.

You will see, for a growing budget of likelihood evaluations, the error of the posterior mean against that of a long
exact run, and the graph Stein discrepancy, which needs no such run. It falls on for the exact test, and stops falling
for the others, the earlier the larger their epsilon. The picture shows both.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget".
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.4.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.samplers import Draws, approximate_mh

TESTS = {"exact test": 0.0, "epsilon .1": 0.1, "epsilon .2": 0.2}
PROPOSAL_SCALE, BATCH_SIZE = 0.1, 2
# of the posterior, from a corrected Langevin chain of 10^6 steps
MEAN = np.array([-1.578, -0.559, 0.802, 0.492, 1.072, 0.798])
# as if coordinates were measured in units four times as large: in six dimensions draws lie far apart
STEIN_FACTORS = (1.0, 1 / 4, 1 / 16)
KEPT = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the picture")
    parser.add_argument("--small", action="store_true", help="a tenth of the budget and two chains")
    settings = parser.parse_args()
    budgets, chains = ([3_000, 10_000], 2) if settings.small else ([3_000, 10_000, 30_000, 100_000, 300_000], 5)

    target = sk.targets.LogisticRegression.nodal()
    errors, scores = {}, {}
    print(f"Median of {chains} chains: error of the posterior mean, and discrepancy of {KEPT} draws")
    print(f"{'evaluations':28}" + "".join(f"{budget:>17,}" for budget in budgets))
    for name, epsilon in TESTS.items():
        draws = approximate_mh(
            target,
            proposal_scale=PROPOSAL_SCALE,
            epsilon=epsilon,
            batch_size=BATCH_SIZE,
            budget=budgets[-1],
            chains=chains,
            seed=1,
        )
        beginnings = [[beginning(draws, k, budget) for k in range(chains)] for budget in budgets]
        errors[name] = np.array([[np.abs(x.mean(axis=0) - MEAN).max() for x in chain] for chain in beginnings])
        scores[name] = np.array([[discrepancy(x, target) for x in chain] for chain in beginnings])
        cells = zip(np.median(errors[name], axis=1), np.median(scores[name], axis=1), strict=True)
        label = f"{name}, {np.nanmean(draws.mean_batch_size):.0f} data a test"
        print(f"{label:28}" + "".join(f"{f'{error:.2f},':>9}{score:8.2f}" for error, score in cells), flush=True)
    best = {budget: min(TESTS, key=lambda name, i=i: np.median(scores[name][i])) for i, budget in enumerate(budgets)}
    print("Lowest discrepancy: " + "; ".join(f"{name} at {budget:,}" for budget, name in best.items()))

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "approximate_mh.png"
    picture(budgets, errors, scores).savefig(path, dpi=130)
    print(f"\nPicture: {path}")


def beginning(draws: Draws, chain: int, budget: int) -> np.ndarray:
    """States of a chain up to a budget, without those that the first tenth of it went into."""
    cost, present = draws.cost[chain], draws.present[chain]
    return draws.points[chain][present & (cost <= budget) & (cost > budget / 10)]


def discrepancy(points: np.ndarray, target: sk.Target) -> float:
    """Graph Stein discrepancy of evenly spaced draws."""
    kept = np.unique(np.linspace(0, len(points) - 1, KEPT).round().astype(int))
    return sk.graph_stein_discrepancy(points[kept], target, stein_factors=STEIN_FACTORS).value


def picture(budgets: list[int], errors: dict[str, np.ndarray], scores: dict[str, np.ndarray]) -> Figure:
    """Error of the mean, and discrepancy, against the budget: medians, and the range over the chains."""
    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    titles = ("largest error of the posterior mean", "graph Stein discrepancy")
    for ax, title, values in zip(figure.subplots(1, 2), titles, (errors, scores), strict=True):
        for name, found in values.items():
            (line,) = ax.plot(budgets, np.median(found, axis=1), "o-", label=name)
            ax.fill_between(budgets, found.min(axis=1), found.max(axis=1), color=line.get_color(), alpha=0.12)
        ax.set(xscale="log", yscale="log", xlabel="likelihood evaluations", title=title)
        ax.legend()
    figure.suptitle("Lines: median of the chains; bands: their range", fontsize=10)
    return figure


if __name__ == "__main__":
    main()
