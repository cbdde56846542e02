"""Which features matter, and does a cheaper test of each jump find the same ones? Reversible-jump variable selection.

    python examples/variable_selection.py [--output FOLDER] [--small]

A logistic regression of 5000 data, at small size 2000, has twenty features, of which six have a coefficient, two of
them a small one. Chains over the sets of features change coefficients, add features and drop them. The exact test of a
move reads all the data; the austerity test reads 250 at a time until it is sure, at each look to an error of epsilon.

You will see, at equal numbers of likelihood evaluations, the probability that each feature is in the model, and the
risk of predictions: the mean squared error of the predictive probabilities of new data, against a long exact run. Cheap
tests change models more often in a step, two and three times as often for the two epsilons, at small size 1.1 and 1.6
times, and make mistakes that matter: now and then they let a feature go that belongs in the model, and it takes time to
come back. The picture shows both.

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

sys.path.append(str(Path(__file__).resolve().parent / "papers"))  # for what its scripts share
from applications.variable_selection import SparseLogisticRegression, VariableSelection, select_variables

EPSILONS = (0.0, 0.05, 0.1)
COEFFICIENTS = np.array([1.0, -0.7, 0.5, -0.3, 0.1, 0.07] + [0.0] * 14)
SIZE_RATE, CHAINS, BATCH = 0.3, 10, 250
KEPT = 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the picture")
    parser.add_argument("--small", action="store_true", help="2000 data, and shorter chains")
    settings = parser.parse_args()
    size, exact_steps, long = (2000, 500, 1000) if settings.small else (5000, 1000, 3000)
    budgets = np.geomspace(0.1, 1.0, 7) * size * exact_steps

    features, responses = simulate(size + 500)
    posterior = SparseLogisticRegression(features[:size], responses[:size], size_rate=SIZE_RATE)
    new = features[size:]
    scales = {"update_scale": 4.0 / np.sqrt(size), "birth_scale": 10.0 / np.sqrt(size)}

    reference = select_variables(posterior, chains=CHAINS, draws=long, burn_in=long // 4, seed=100, **scales)
    start = reference.draws.points[:, -1]  # what differs then is the test, not the way to a good model
    points = reference.draws.points[:, :: max(1, CHAINS * long // 4000)].reshape(-1, len(COEFFICIENTS))
    truth = expit(new @ points.T).mean(axis=1)

    results, risks = {"long exact run": reference}, {}
    print(f"{'test':16}{'accepted':>9}{'data a test':>13}{'model changes':>15}{'features':>10}   risk of predictions")
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
            f"{name:16}{np.mean(found.draws.acceptance):9.0%}{np.nanmean(found.draws.mean_batch_size):13,.0f}"
            f"{found.model_changes.mean():15.1%}{mean_size:10.1f}   {risks[name][-1]:.1e}",
            flush=True,
        )
    print("\nProbability that a feature is in the model (and standard error)")
    print(f"{'feature':8}{'true':>7}" + "".join(f"{name:>18}" for name in results))
    for j in np.argsort(-reference.inclusion)[:9]:
        cells = (f"{found.inclusion[j]:.2f} ({found.inclusion_error[j]:.2f})" for found in results.values())
        print(f"{j + 1:<8}{COEFFICIENTS[j]:7g}" + "".join(f"{cell:>18}" for cell in cells))

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "variable_selection.png"
    picture(results, budgets, risks).savefig(path, dpi=130)
    print(f"\nPicture: {path}")


def simulate(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Features with a correlation of 0.3 and responses that six of them explain."""
    rng = np.random.default_rng(4)
    features = np.sqrt(0.7) * rng.standard_normal((size, len(COEFFICIENTS))) + np.sqrt(0.3) * rng.standard_normal(
        (size, 1)
    )
    return features, rng.random(size) < expit(features @ COEFFICIENTS)


def risk(draws: Draws, budget: float, new: np.ndarray, truth: np.ndarray) -> float:
    """Mean squared error, over chains and new data, of the predictive probability."""
    errors = []
    for points, present, cost in zip(draws.points, draws.present, draws.cost, strict=True):
        used = points[present & (cost <= budget)]
        kept = used[np.unique(np.linspace(0, len(used) - 1, KEPT).astype(int))]
        errors.append(((expit(new @ kept.T).mean(axis=1) - truth) ** 2).mean())
    return float(np.mean(errors))


def picture(results: dict[str, VariableSelection], budgets: np.ndarray, risks: dict[str, np.ndarray]) -> Figure:
    """Means and standard errors of the features' probabilities, and the risk of predictions against the budget."""
    figure = Figure(figsize=(7.2, 6.8), layout="constrained")
    above, below = figure.subplots(2, 1)
    numbers, width = np.arange(1, len(COEFFICIENTS) + 1), 0.8 / len(results)
    for k, (name, found) in enumerate(results.items()):
        places = numbers + (k - (len(results) - 1) / 2) * width
        colour = look(k - 1).color if name in risks else "0.92"
        above.bar(places, found.inclusion, width, color=colour, edgecolor="0.2", linewidth=0.4, label=name)
        above.errorbar(places, found.inclusion, found.inclusion_error, fmt="none", ecolor="black", elinewidth=0.7)
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
