"""Choose the accuracy of an approximate Metropolis-Hastings test for each budget.

    python examples/choose_epsilon.py [--output FOLDER] [--small]

Random walks sample six coefficients of a logistic regression (`nodal`, 53 patients) with different acceptance tests.
The exact test (epsilon = 0) reads the data of all 53 patients. The austerity test reads the data of two patients at a
time until its decision is certain, up to an error of epsilon per stage. With the same number of likelihood evaluations,
a chain with the austerity test makes several times as many moves, but some of its decisions are incorrect. More moves
improve short chains, but the bias dominates in long chains. A decreasing epsilon combines the advantages of both. In
this example, epsilon is 0.2 for the first 10,000 evaluations, 0.1 up to 30,000, and then 0.

The sampler in this script runs `approximate_mh` up to a budget, discards the states of the first tenth of the budget,
and keeps the states at 200 evenly spaced costs. The function `sk.sweep` runs this sampler with every epsilon, the same
seeds and several budgets, and selects the best epsilon for each budget. The criterion is the sliced discrepancy because
the graph discrepancy is near its upper limit in six dimensions. The unit of each coefficient is its posterior standard
deviation.

For each budget, the script prints the median discrepancies, and the selected epsilon with the values that cannot be
distinguished from it. At 12,000 evaluations, epsilon = 0.1 is selected. At 30,000 evaluations, it cannot be
distinguished from the exact test. For larger budgets, the exact test is best. At 12,000 evaluations, the decreasing
epsilon is worse than 0.1 but better than the exact test. For larger budgets, it cannot be distinguished from the best
value. It is never selected. With `--small`, which uses five chains and two budgets, fewer values can be distinguished.
The script also prints the error of the posterior mean, which is computed by comparison with a run of 10^6 steps. Such a
run is usually not available. The plot shows the discrepancies and these errors.

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
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.plots import budgets as plot_budgets
from steinkit.plots import look
from steinkit.samplers import approximate_mh

DECREASING = "decreasing"
# Values of the decreasing epsilon, and the cost at which each value ends.
PHASES = {0.2: 10_000, 0.1: 30_000, 0.0: None}
EPSILONS = (0.0, 0.1, 0.2, DECREASING)
BUDGETS = (12_000, 30_000, 100_000, 300_000)  # 12,000 evaluations are sufficient for 200 exact tests after the burn-in
KEPT = 200
# Posterior moments from a Metropolis-adjusted Langevin chain of 10^6 steps.
MEAN = np.array([-1.578, -0.559, 0.802, 0.492, 1.072, 0.798])
SD = np.array([0.544, 0.537, 0.554, 0.570, 0.577, 0.538])


@cache
def run(target: sk.Posterior, epsilon: float | str, budget: int, seeds: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Run one chain per seed, vectorized over chains, and return the states and the cumulative cost of each chain."""
    phases = PHASES if epsilon == DECREASING else {epsilon: None}
    points, costs = [[np.zeros((1, 6))] for _ in range(seeds)], [[np.zeros(1)] for _ in range(seeds)]
    spent = 0
    for k, (value, end) in enumerate(phases.items()):
        end = min(end or budget, budget)
        looks = {"batch_size": 2} if value else {}  # the exact test reads all the data
        start = np.array([each[-1][-1] for each in points])
        chains = [seed + 1000 * k for seed in range(seeds)]
        found = approximate_mh(
            target,
            proposal_scale=0.1,
            epsilon=value,
            budget=end - spent,
            seed=chains,
            start=start,
            chains=seeds,
            **looks,
        )
        for seed in range(seeds):
            points[seed].append(found.points[seed, found.present[seed]])
            costs[seed].append(spent + found.cost[seed, found.present[seed]])
        if (spent := end) == budget:
            break
    return [(np.concatenate(x), np.concatenate(cost)) for x, cost in zip(points, costs, strict=True)]


def walk(target: sk.Posterior, *, seed: int, epsilon: float | str, budget: int, largest: int, seeds: int) -> np.ndarray:
    """Return the states of a chain at evenly spaced costs, shape (KEPT, 6).

    The costs lie between a tenth of the budget and the budget.
    """
    points, cost = run(target, epsilon, largest, seeds)[seed]  # smaller budgets use its initial parts
    return points[np.searchsorted(cost, np.linspace(budget / 10, budget, KEPT + 1)[1:], side="right") - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="the two smaller budgets and five seeds")
    settings = parser.parse_args()
    budgets, seeds = (BUDGETS[:2], 5) if settings.small else (BUDGETS, 40)

    target = sk.targets.LogisticRegression.nodal()
    chains = {"budget": budgets[-1], "seeds": seeds}
    options = {"largest": budgets[-1], "seeds": seeds}
    result = sk.sweep(
        target,
        walk,
        grid={"epsilon": EPSILONS},
        options=options,
        budgets=budgets,
        seeds=seeds,
        measures=["sliced"],
        units=SD,
        progress=sys.stderr.isatty(),
    )
    choices = result.choices_at("sliced")
    errors = {
        budget: [errors_of_mean(target, setting | options | {"budget": budget}) for setting in result.settings]
        for budget in budgets
    }

    print(f"Median of {seeds} chains: discrepancy of {KEPT} draws, and in brackets the error of the posterior mean")
    print(f"{'evaluations':>14}" + "".join(f"{f'epsilon {epsilon}':>20}" for epsilon in EPSILONS) + "   choose")
    read = [np.mean([cost[-1] / (len(cost) - 1) for _, cost in run(target, each, **chains)]) for each in EPSILONS]
    print(f"{'data per test':>14}" + "".join(f"{data:>20.0f}" for data in read))
    for budget, choice in choices.items():
        cells = zip(choice.rows, errors[budget], strict=True)
        shown = "".join(f"{row.median:>13.2f} ({np.median(error):.2f})" for row, error in cells)
        ties = " or ".join(f"{tie['epsilon']}" for tie in choice.ties)
        print(f"{budget:>14,}{shown}   {choice.best['epsilon']}{ties and f', not distinguished from {ties}'}")

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "choose_epsilon.png"
    plot(result, errors).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def errors_of_mean(target: sk.Posterior, setting: dict[str, float]) -> np.ndarray:
    """Return the largest error of the mean of a coordinate for the chain of each seed, shape (seeds,)."""
    means = [walk(target, seed=seed, **setting).mean(axis=0) for seed in range(setting["seeds"])]
    return np.abs(np.array(means) - MEAN).max(axis=1)


def plot(result: sk.SweepResult, errors: dict[int, list[np.ndarray]]) -> Figure:
    """Plot the discrepancy and the error of the mean against the budget for each epsilon."""
    figure = Figure(figsize=(8.4, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    plot_budgets(result, left)
    left.set_title("sliced Stein discrepancy", fontsize=10)
    for k, epsilon in enumerate(EPSILONS):
        medians = [np.median(found[k]) for found in errors.values()]
        right.plot([*errors], medians, **look(k)._asdict(), markersize=5, label=f"epsilon {epsilon}")
    right.set(xscale="log", yscale="log", xlabel="likelihood evaluations")
    right.set_title("check: largest error of the posterior mean", fontsize=10)
    right.set_xticks([*errors], [f"{budget:,}" for budget in errors])
    right.set_xticks([], minor=True)
    right.yaxis.set_minor_formatter("{x:g}")
    right.yaxis.set_major_formatter("{x:g}")
    right.legend(frameon=False)
    figure.suptitle(f"Logistic regression nodal: medians of {len(result.seeds)} chains of {KEPT} draws", fontsize=11)
    return figure


if __name__ == "__main__":
    main()
