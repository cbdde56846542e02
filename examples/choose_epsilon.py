"""Choose the accuracy of an approximate Metropolis-Hastings test for each budget.

    python examples/choose_epsilon.py [--output FOLDER] [--small]

Random walks sample six coefficients of a logistic regression (`nodal`, 53 patients) with different acceptance tests.
The exact test, epsilon = 0, reads all 53 patients. The austerity test reads two patients at a time until its decision
is certain up to an error of epsilon per stage. For the same number of likelihood evaluations, it makes several times as
many moves, and some of them are incorrect. More moves improve short chains, but the bias dominates in long chains.

The sampler in this script runs `approximate_mh` up to a budget, discards the states of the first tenth of the budget,
and keeps 200 evenly spaced draws. The function `sk.sweep` runs it with every epsilon and budget and the same seeds, and
`choose` selects the best epsilon for each budget. The criterion is the sliced discrepancy, because in six dimensions
the graph discrepancy is near its upper limit. The unit of each coefficient is its posterior standard deviation.

For each budget, the script prints the median discrepancies, and the selected epsilon with the values that cannot be
distinguished from it. At 12,000 evaluations, epsilon = 0.1 is selected. At 30,000 evaluations, it cannot be
distinguished from the exact test. For larger budgets, the exact test is best. With `--small`, which uses five chains
and two budgets, fewer values can be distinguished. The script also prints the error of the posterior mean, compared
with a run of 10^6 steps, which is usually not available. With ten chains, the sampling noise of this error hides
differences that the discrepancy shows. The plot shows both.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget".
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.4.
"""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.plots import look
from steinkit.samplers import Draws, approximate_mh

EPSILONS = (0.0, 0.1, 0.2)
BUDGETS = (12_000, 30_000, 100_000)  # 12,000 evaluations are sufficient for 200 exact tests after the burn-in
KEPT = 200
# posterior moments from a Metropolis-adjusted Langevin chain of 10^6 steps
MEAN = np.array([-1.578, -0.559, 0.802, 0.492, 1.072, 0.798])
SD = np.array([0.544, 0.537, 0.554, 0.570, 0.577, 0.538])


@cache
def run(target: sk.Posterior, epsilon: float, budget: int, seeds: int) -> Draws:
    """Run one chain per seed, vectorized over chains."""
    looks = {"batch_size": 2} if epsilon else {}  # the exact test reads all data
    return approximate_mh(target, proposal_scale=0.1, epsilon=epsilon, budget=budget, seed=range(seeds), **looks)


def walk(target: sk.Posterior, *, seed: int, epsilon: float, budget: int, largest: int, seeds: int) -> np.ndarray:
    """Return evenly spaced states of a chain between a tenth of a budget and the budget, shape (KEPT, 6)."""
    chains = run(target, epsilon, largest, seeds)  # chains with smaller budgets are initial parts
    cost = chains.cost[seed]
    after = np.flatnonzero(chains.present[seed] & (cost > budget / 10) & (cost <= budget))
    return chains.points[seed, after[np.linspace(0, len(after) - 1, KEPT).round().astype(int)]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="the two smaller budgets and five seeds")
    settings = parser.parse_args()
    budgets, seeds = (BUDGETS[:2], 5) if settings.small else (BUDGETS, 10)

    target = sk.targets.LogisticRegression.nodal()
    options = {"largest": budgets[-1], "seeds": seeds}
    result = sk.sweep(
        target,
        walk,
        grid={"budget": budgets, "epsilon": EPSILONS},
        options=options,
        seeds=seeds,
        measures=["sliced"],
        units=SD,
        progress=sys.stderr.isatty(),
    )
    at = {budget: [s for s in result.settings if s["budget"] == budget] for budget in budgets}
    choices = {budget: sk.choose(result.records, "sliced", at[budget]) for budget in budgets}
    errors = {budget: [errors_of_mean(target, setting | options) for setting in at[budget]] for budget in budgets}

    print(f"Median of {seeds} chains: discrepancy of {KEPT} draws, and in brackets the error of the posterior mean")
    print(f"{'evaluations':>14}" + "".join(f"{f'epsilon {epsilon:g}':>16}" for epsilon in EPSILONS) + "   choose")
    read = [np.nanmean(run(target, epsilon, budgets[-1], seeds).mean_batch_size) for epsilon in EPSILONS]
    print(f"{'data per test':>14}" + "".join(f"{data:>16.0f}" for data in read))
    for budget, choice in choices.items():
        cells = zip(choice.rows, errors[budget], strict=True)
        shown = "".join(f"{row.median:>9.2f} ({np.median(error):.2f})" for row, error in cells)
        ties = " or ".join(f"{tie['epsilon']:g}" for tie in choice.ties)
        print(f"{budget:>14,}{shown}   {choice.best['epsilon']:g}{ties and f', not distinguished from {ties}'}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "choose_epsilon.png"
    plot(choices, errors).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def errors_of_mean(target: sk.Posterior, setting: dict[str, float]) -> np.ndarray:
    """Return the largest error of a coordinate's mean for the chain of each seed, shape (seeds,)."""
    means = [walk(target, seed=seed, **setting).mean(axis=0) for seed in range(setting["seeds"])]
    return np.abs(np.array(means) - MEAN).max(axis=1)


def plot(choices: dict[int, sk.Choice], errors: dict[int, list[np.ndarray]]) -> Figure:
    """Plot discrepancy and error of the mean against the budget for each epsilon, and the selections."""
    figure = Figure(figsize=(7.2, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    scores = np.array([[(row.median, *row.interval) for row in choice.rows] for choice in choices.values()])
    medians = np.array([[np.median(error) for error in found] for found in errors.values()])
    lines(left, list(choices), scores)
    lines(right, list(choices), medians[:, :, None])
    for budget, choice in choices.items():
        for row in choice.rows:
            if row.settings == choice.best:
                left.plot(budget, row.median, "k*", markersize=15, zorder=5)
            elif row.settings in choice.ties:
                left.plot(budget, row.median, "ko", markersize=11, fillstyle="none", zorder=5)
    left.fill_between([], [], [], color="0.5", alpha=0.3, linewidth=0.0, label="95% interval")
    left.plot([], [], "k*", markersize=11, label="chosen at its budget")
    left.plot([], [], "ko", markersize=9, fillstyle="none", label="not distinguished from it")
    left.set_title("sliced Stein discrepancy", fontsize=10)
    right.set_title("check: largest error of the posterior mean", fontsize=10)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Logistic regression nodal: medians of chains of 200 draws", fontsize=11)
    return figure


def lines(ax: Axes, budgets: list[int], values: np.ndarray) -> None:
    """Draw a line per epsilon.

    The values have shape (budgets, epsilons, 1 or 3) and contain medians and interval ends.
    """
    for k, epsilon in enumerate(EPSILONS):
        name = "exact test" if epsilon == 0.0 else f"epsilon {epsilon:g}"
        ax.plot(budgets, values[:, k, 0], **look(k)._asdict(), markersize=5, label=name)
        if values.shape[2] == 3:
            ax.fill_between(budgets, values[:, k, 1], values[:, k, 2], color=look(k).color, alpha=0.15, linewidth=0.0)
    ax.set(xscale="log", yscale="log", xlabel="likelihood evaluations")
    ax.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    ax.set_xticks([], minor=True)
    ax.yaxis.set_minor_formatter("{x:g}")
    ax.yaxis.set_major_formatter("{x:g}")


if __name__ == "__main__":
    main()
