"""Compare acceptance tests for reversible-jump variable selection.

    python examples/variable_selection.py [--output FOLDER] [--small]

A logistic regression on 5000 data points (2000 with `--small`) has twenty features. Six of the features have a nonzero
coefficient, and two of these coefficients are small. The moves of a chain change a coefficient, add a feature, or
remove a feature. The exact acceptance test reads all the data. The austerity test reads 250 data points at a time until
its decision is certain, up to an error of epsilon per stage.

All tests have the same number of likelihood evaluations. The script prints the probability that each feature is in the
model. It also prints the risk of predictions, which is the mean squared error of the predictive probabilities for new
data, relative to a long exact run. The errors of the approximate tests have a noticeable effect because they
occasionally remove an important feature, which is added again only after many steps. The plot shows the inclusion
probabilities and the risk.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6.3, figures 4 and 13.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.special import expit

from steinkit.plots import look
from steinkit.samplers import AusterityTest, Draws, MetropolisTest

sys.path.append(str(Path(__file__).resolve().parent / "papers"))  # shared modules
from applications.variable_selection import SparseLogisticRegression, VariableSelection, select_variables

EPSILONS = (0.0, 0.05, 0.1)
COEFFICIENTS = np.array([1.0, -0.7, 0.5, -0.3, 0.1, 0.07] + [0.0] * 14)
SIZE_RATE, CHAINS, BATCH = 0.3, 10, 250
KEPT = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="2000 data points, and shorter chains")
    settings = parser.parse_args()
    size, exact_steps, long = (2000, 250, 1000) if settings.small else (5000, 1000, 3000)
    budgets = np.geomspace(0.1, 1.0, 7) * size * exact_steps

    features, responses = simulate(size + 500)
    posterior = SparseLogisticRegression(features[:size], responses[:size], size_rate=SIZE_RATE)
    new = features[size:]
    scales = {"update_scale": 4.0 / np.sqrt(size), "birth_scale": 10.0 / np.sqrt(size)}

    reference = select_variables(posterior, chains=CHAINS, draws=long, burn_in=long // 4, seed=100, **scales)
    start = reference.draws.points[:, -1]  # a common start, so that only the tests differ
    points = reference.draws.points[:, :: max(1, CHAINS * long // 4000)].reshape(-1, len(COEFFICIENTS))
    truth = expit(new @ points.T).mean(axis=1)

    results, risks = {"long exact run": reference}, {}
    print(f"{'test':16}{'accepted':>9}{'data per test':>15}{'features':>10}   risk of predictions")
    for epsilon in EPSILONS:
        test = AusterityTest(epsilon, BATCH) if epsilon else MetropolisTest()
        name = f"epsilon {epsilon:g}" if epsilon else "exact test"
        found = select_variables(
            posterior, test=test, chains=CHAINS, budget=int(budgets[-1]), start=start, seed=1, **scales
        )
        results[name] = found
        risks[name] = np.array([risk(found.draws, budget, new, truth) for budget in budgets])
        mean_size = found.sizes @ np.arange(len(found.sizes))
        print(
            f"{name:16}{np.mean(found.draws.acceptance):9.0%}{np.nanmean(found.draws.mean_batch_size):15,.0f}"
            f"{mean_size:10.1f}   {risks[name][-1]:.1e}",
            flush=True,
        )
    print("\nProbability that a feature is in the model (and standard error)")
    print(f"{'feature':8}{'true':>7}" + "".join(f"{name:>18}" for name in results))
    for j in np.argsort(-reference.inclusion)[:9]:
        cells = (f"{found.inclusion[j]:.2f} ({inclusion_error(found)[j]:.2f})" for found in results.values())
        print(f"{j + 1:<8}{COEFFICIENTS[j]:7g}" + "".join(f"{cell:>18}" for cell in cells))

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "variable_selection.png"
    plot(results, budgets, risks).savefig(path, dpi=130)
    print(f"\nFigure: {path}")


def simulate(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulate features with correlation 0.3, and responses that depend on six of them."""
    rng = np.random.default_rng(4)
    features = np.sqrt(0.7) * rng.standard_normal((size, len(COEFFICIENTS))) + np.sqrt(0.3) * rng.standard_normal(
        (size, 1)
    )
    return features, rng.random(size) < expit(features @ COEFFICIENTS)


def risk(draws: Draws, budget: float, new: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean squared error of the predictive probability over chains and new data."""
    errors = []
    for points, present, cost in zip(draws.points, draws.present, draws.cost, strict=True):
        used = points[present & (cost <= budget)]
        kept = used[np.unique(np.linspace(0, len(used) - 1, KEPT).astype(int))]
        errors.append(((expit(new @ kept.T).mean(axis=1) - truth) ** 2).mean())
    return float(np.mean(errors))


def inclusion_error(found: VariableSelection) -> np.ndarray:
    """Return the standard errors of the inclusion probabilities.

    They are computed from the spread of the chains.
    """
    return found.chain_inclusion.std(axis=0, ddof=1) / np.sqrt(len(found.chain_inclusion))


def plot(results: dict[str, VariableSelection], budgets: np.ndarray, risks: dict[str, np.ndarray]) -> Figure:
    """Plot the inclusion probabilities with standard errors, and the risk of predictions against the budget."""
    figure = Figure(figsize=(7.2, 6.8), layout="constrained")
    above, below = figure.subplots(2, 1)
    numbers, width = np.arange(1, len(COEFFICIENTS) + 1), 0.8 / len(results)
    for k, (name, found) in enumerate(results.items()):
        positions = numbers + (k - (len(results) - 1) / 2) * width
        color = look(k - 1).color if name in risks else "0.92"
        above.bar(positions, found.inclusion, width, color=color, edgecolor="0.2", linewidth=0.4, label=name)
        above.errorbar(positions, found.inclusion, inclusion_error(found), fmt="none", ecolor="black", elinewidth=0.7)
    above.set(xlabel="feature (1 to 6 have a coefficient)", ylabel="probability of being in the model", xticks=numbers)
    above.set_title("Bayesian logistic regression: means and standard errors of ten chains", fontsize=10)
    above.legend()
    for k, (name, values) in enumerate(risks.items()):
        below.plot(budgets, values, **look(k)._asdict(), label=name)
    below.set(xscale="log", yscale="log", ylabel="risk")
    below.set_xticks(budgets, [f"{budget / 1e6:.2g}" for budget in budgets])
    below.set_xticks([], minor=True)
    below.set_xlabel("likelihood evaluations of a chain, millions")
    below.set_title("predictions: mean squared error of predictive probabilities", fontsize=10)
    below.legend()
    return figure


if __name__ == "__main__":
    main()
