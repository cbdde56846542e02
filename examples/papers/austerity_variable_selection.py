"""Compare acceptance tests for reversible-jump variable selection.

    python examples/papers/austerity_variable_selection.py [--data FILE] [--full] [--jobs N] [-o DIR]

A logistic regression predicts, from an unknown subset of 33 features, whether a person sees a doctor in a year. Chains
start with one feature. Their moves change a coefficient, add a feature, or remove one. The austerity test reads 500
data points at a time until its decision is certain, up to an error of epsilon per stage. The exact test has epsilon =
0. The risk is the mean squared error of the predictive probability for 1000 held-out years, relative to long exact
runs.

The paper's data, 130,065 collisions of MiniBooNE with 50 features, cannot be distributed. The data here are 20,186
person-years for about 5,900 people from the RAND Health Insurance Experiment (examples/data). Years of the same person
occur in both the training data and the test data, and they are treated as independent. The scale of births is larger
than in the paper by the square root of the ratio of the data sizes, and the scale of updates gives an acceptance rate
of one half. Exact chains take less time per data point and read six times as many data points.

The script reports the risk as a function of the data read and of the CPU time, for these data and for simulated data of
the paper's size. It also reports the inclusion probability of each feature, and the sizes of the models in chains that
start with one feature and in chains that start with all features. For the RAND data, chains with approximate tests lose
features that exact chains nearly always include, and there are few local minima. Claims about models are evaluated only
for MiniBooNE.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6.3, appendix E, figures 4 and 13; (2016), "Sequential tests for large-scale learning", section 4.2.3.
"""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
from _data_files import miniboone
from _doctor_visits import doctor_visits
from _frame import COLOURS, Experiment, Found, figure, main_of
from _risks import claim_lowest, draw, kept, restored
from _running_means import long_run_mean, risk, running_means
from applications.variable_selection import SparseLogisticRegression, VariableSelection, select_variables
from matplotlib.figure import Figure
from scipy.special import expit

from steinkit.samplers import AusterityTest, MetropolisTest

EPSILONS = (0.0, 0.01, 0.05, 0.1)
SIZE_RATE, SCALE_PRIOR, BATCH = 1e-10, (0.01, 0.01), 500
UPDATES = 1.0 / 3.0  # fraction of the moves that change a coefficient; the others are births and deaths
UPDATE, BIRTH = 5.0, 32.0  # standard deviations times sqrt(N), which are 0.016 and 0.1 for the paper's N
TESTS = 1000
VISITS = "visits"
MADE_UP = np.array([-1.1, *(0.5 * (-0.8) ** j for j in range(12)), *[0.0] * 38])  # simulated coefficients
LONGER = 6  # ratio of the amounts of data that exact chains and other chains read in about the same time
FIRST = 100  # number of initial steps, during which jumps are accepted because the model is still poor


@functools.cache
def problem(data: str, size: int) -> tuple[SparseLogisticRegression, np.ndarray, np.ndarray]:
    """Return the posterior of the training data, and the features and responses of the test data."""
    if data == VISITS:
        features, responses, names = doctor_visits()
    elif data == "made up":
        features, responses, names = _made_up(size + TESTS)
    else:
        features, responses = miniboone(data)
        features = np.column_stack([np.ones(len(features)), (features - features.mean(axis=0)) / features.std(axis=0)])
        names = ("one", *(f"feature {j}" for j in range(1, features.shape[1])))
    order = np.random.default_rng(0).permutation(len(responses))
    train, test = order[:size], order[-TESTS:]
    posterior = SparseLogisticRegression(
        features[train], responses[train], size_rate=SIZE_RATE, scale_prior=SCALE_PRIOR, names=names
    )
    return posterior, features[test], responses[test]


def _made_up(size: int) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Simulate responses and the paper's number of features.

    The features have correlation 0.3. The responses depend on 13 of the features, and 28% of the responses are 1.
    """
    rng = np.random.default_rng(3)
    dim = len(MADE_UP) - 1
    features = np.sqrt(0.7) * rng.standard_normal((size, dim)) + np.sqrt(0.3) * rng.standard_normal((size, 1))
    features = np.hstack([np.ones((size, 1)), features])
    responses = rng.random(size) < expit(features @ MADE_UP)
    return features, responses.astype(float), tuple(f"x{j}" for j in range(dim + 1))


def long_runs(data: str, size: int, chains: int, draws: int, from_all: bool) -> dict[str, Any]:
    """Return predictive means, models and acceptance rates of exact chains.

    The chains start from one feature or from all features.
    """
    posterior, tests, responses = problem(data, size)
    start = _mode(posterior) if from_all else None
    found = select_variables(posterior, **_moves(size), chains=chains, draws=draws, seed=100, start=start)
    points = found.draws.points[:, draws // 4 :]
    mean = long_run_mean(points, lambda thetas: expit(thetas @ tests.T))
    return {
        "value": mean.value,
        "error": mean.standard_error,
        "wrong": 100.0 * np.mean((mean.value > 0.5) != responses),
        "sizes": (points != 0.0).sum(axis=2).mean(axis=1),
        **_inclusion(found),
        **_acceptance(found),
    }


def jumps(
    data: str, size: int, chains: int, epsilon: float, steps: int, truth: Any, shares: list[float]
) -> dict[str, Any]:
    """Return the risk, costs and models of chains that start from one feature.

    The budget is specified as a number of exact steps.
    """
    posterior, tests, _ = problem(data, size)
    test = AusterityTest(epsilon, BATCH) if epsilon else MetropolisTest()
    run = functools.partial(select_variables, posterior, **_moves(size), test=test, chains=chains)
    run(draws=1)  # compiled before the time is measured
    began, budget = time.process_time(), steps * posterior.size
    found = run(budget=budget, seed=1)
    seconds = (time.process_time() - began) / chains
    grid = [share * budget for share in shares]
    means = running_means(found.draws.to_sample(), lambda thetas: expit(thetas @ tests.T), budget=grid)
    return {
        **kept(risk(means, np.array(truth))),
        **_inclusion(found),
        "seconds": seconds,
        "draws": float(found.draws.present.sum() / chains),
        "read": found.draws.mean_batch_size / posterior.size if epsilon else np.ones(chains),
    }


def _moves(size: int) -> dict[str, float]:
    root = np.sqrt(size)
    return {"update_scale": UPDATE / root, "birth_scale": BIRTH / root, "update_probability": UPDATES}


def _mode(posterior: SparseLogisticRegression) -> np.ndarray:
    """Compute the mode with all features and N(0, 1) priors by Newton's method."""
    x, signs = posterior.data
    theta = np.zeros(posterior.dim)
    for _ in range(25):
        wrong = expit(-signs * (x @ theta))
        curvature = (x * (wrong * (1.0 - wrong))[:, None]).T @ x + np.eye(len(theta))
        theta = theta + np.linalg.solve(curvature, x.T @ (signs * wrong) - theta)
    return theta


def _inclusion(found: VariableSelection) -> dict[str, np.ndarray]:
    """Return the inclusion frequency of each feature in the second half of each chain, (chains, D)."""
    lengths = found.draws.present.sum(axis=1)
    halves = [each[n // 2 : n] for each, n in zip(found.included, lengths, strict=True)]
    return {"inclusion": np.array([half.mean(axis=0) for half in halves])}


def _acceptance(found: VariableSelection) -> dict[str, np.ndarray]:
    """Return the acceptance rates of each chain for jumps, which change the model."""
    changed = (found.included[:, 1:] != found.included[:, :-1]).any(axis=2)
    late = changed.shape[1] // 2
    return {
        "jumps_first": changed[:, :FIRST].mean(axis=1) / (1.0 - UPDATES),
        "jumps_last": changed[:, late:].mean(axis=1) / (1.0 - UPDATES),
    }


def main() -> None:
    experiment = Experiment(
        __file__, __doc__, shows="Korattikara et al. (2014; 2016), variable selection", data="UCI's MiniBooNE_PID.txt"
    )
    full, data = experiment.full, VISITS if experiment.data is None else str(experiment.data)
    size, chains, steps = (104_052 if data != VISITS else 16_148, 10, 2000) if full else (3000, 3, 100)
    names = problem(data, size)[0].names
    shared = {"data": data, "size": size, "chains": chains}
    long, other = (20_000, 5000) if full else (400, 400)
    shares = [float(share) for share in np.geomspace(0.02, 1.0, 10)]
    experiment.settings(
        data=size, tests=TESTS, batch=BATCH, size_rate=SIZE_RATE, exact_steps=steps, long_draws=chains * long
    )
    truth, from_all = experiment.cells(
        long_runs, [shared | {"draws": long, "from_all": False}, shared | {"draws": other, "from_all": True}]
    )
    cells = [shared | {"epsilon": e, "truth": truth["value"]} | _budget(e, steps, shares) for e in EPSILONS]
    found = experiment.cells(jumps, cells)
    many, few, short = (104_052, 4, 200) if full else (5000, 2, 40)
    made_up = {"data": "made up", "size": many, "chains": few}
    known = expit(problem("made up", many)[1] @ MADE_UP)
    larger = experiment.cells(
        jumps, [made_up | {"epsilon": e, "truth": known} | _budget(e, short, shares) for e in EPSILONS]
    )
    results_of_models(experiment, truth, from_all, found)
    results_of_risks(experiment, found, "RAND data" if data == VISITS else "MiniBooNE")
    results_of_risks(experiment, larger, "simulated data")
    experiment.numbers(
        epsilons=EPSILONS,
        names=names,
        long_run={name: each for name, each in truth.items() if name not in ("value", "error")},
        from_all={name: each for name, each in from_all.items() if name not in ("value", "error")},
        floor=np.mean(np.square(truth["error"])),
        jumps=found,
        made_up=larger,
    )
    panels = {f"{size:,} data": found, f"{many:,} simulated data": larger}
    experiment.finish(plot(panels, truth, names))


def _budget(epsilon: float, steps: int, shares: list[float]) -> dict[str, Any]:
    """Return the budget in exact steps, and the fractions at which the risk is reported."""
    if epsilon:
        return {"steps": steps, "shares": shares}
    return {"steps": LONGER * steps, "shares": [share / LONGER for share in shares[:-1]] + [1.0 / LONGER, 0.5, 1.0]}


def results_of_models(experiment: Experiment, truth: dict, from_all: dict, found: list[dict]) -> None:
    """Report the acceptance rates and the models."""
    for when in ("first", "last"):
        experiment.result(f"selection, jumps at {when}", 100.0 * float(np.mean(truth[f"jumps_{when}"])))
    for start, run in {"one": truth, "all": from_all}.items():
        experiment.result(f"selection, features from {start}", Found.mean(run["sizes"]))
        experiment.result(f"selection, % wrong from {start}", run["wrong"])
    exact = np.array(truth["inclusion"])
    compared = [_differing(np.array(each["inclusion"]), exact) for each in found[1:]]
    text = "differ: " + ", ".join(f"{number} (by {most:.2f})" for number, most in compared)
    numbers, farthest = np.array(compared).T
    experiment.result("selection, marginals", differ=numbers, farthest=farthest, text=text)


def _differing(shares: np.ndarray, exact: np.ndarray) -> tuple[int, float]:
    """Report the number of significantly different inclusion probabilities, and the largest difference."""
    gap = np.abs(shares.mean(axis=0) - exact.mean(axis=0))
    error = np.sqrt(shares.var(axis=0, ddof=1) / len(shares) + exact.var(axis=0, ddof=1) / len(exact))
    return int(np.sum((gap > 3.0 * error) & (gap > 0.05))), float(gap.max())


def results_of_risks(experiment: Experiment, found: list[dict], protocol: str) -> None:
    """Report whether an approximate test has the lowest risk for equal data and for equal time."""
    risks, seconds = [restored(each) for each in found], [each["seconds"] for each in found]
    claims = {by: f"selection, risk by {by}" for by in ("data", "time")}
    claim_lowest(experiment, EPSILONS, risks, seconds, claims, protocol=protocol)


def plot(panels: dict[str, list[dict]], truth: dict, names: tuple[str, ...]) -> Figure:
    """Plot the risk, and the features of the models.

    The risk is plotted against data and against time, for real and simulated data.
    """
    fig, axes = figure(3, 2, height=9.6)
    colours = ("#000000", *COLOURS[:3])
    for (by_data, by_time), (data, found) in zip(axes, panels.items(), strict=False):
        seconds, labels = [each["seconds"] for each in found], [f"ε = {epsilon:g}" for epsilon in EPSILONS]
        draw(by_data, by_time, [restored(each) for each in found], seconds, labels, colours)
        by_data.set_title(data)
        by_time.set_title("by processor time")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    for ax in axes[2]:
        ax.remove()
    features = fig.add_subplot(axes[2, 0].get_gridspec()[2, :])
    compared = [truth, *next(iter(panels.values()))]
    shares = np.array([np.mean(each["inclusion"], axis=0) for each in compared])
    order = np.argsort(-shares[0], kind="stable")
    order = order[shares.max(axis=0)[order] > 0.02]
    for place, (color, share) in enumerate(zip(("0.7", *colours), shares, strict=True)):
        label = None if place else "long exact runs"
        features.bar(np.arange(len(order)) + 0.17 * (place - 2), share[order], 0.17, color=color, label=label)
    features.legend(loc="center right")
    features.set_xticks(range(len(order)), [names[j] for j in order], rotation=60, ha="right", rotation_mode="anchor")
    features.set(ylabel="probability", title="features with inclusion probability above 0.02")
    return fig


if __name__ == "__main__":
    main_of(main)
