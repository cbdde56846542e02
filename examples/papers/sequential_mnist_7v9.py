"""Measure the risk of logistic regression on MNIST with approximate acceptance tests.

    python examples/papers/sequential_mnist_7v9.py [--data FILE] [--full] [--jobs N] [-o DIR]

Random walks draw from the posterior of a logistic regression that distinguishes the digit 7 from the digit 9 using 50
principal components. The austerity test reads 500 data points at a time until its decision is certain, up to an error
of epsilon per stage. The exact test has epsilon = 0. The risk is the mean squared error of the predictive probability
of each test image, relative to long exact runs of the Langevin algorithm.

Chains start either at zero or at draws of the long runs. According to the paper, exact chains that start at zero do not
complete their burn-in. If the chains start at draws of the long runs, they differ only in their tests. Without FILE,
data of the same kind are simulated, and no claim is evaluated.

The script reports the data usage, the frequency of incorrect decisions, and the risk as a function of the data read and
of the time.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6.1 and figure 2; (2016), "Sequential tests for large-scale learning", section 4.2.1 and figure 4.
"""

from __future__ import annotations

import functools
import time
from dataclasses import replace
from typing import Any

import numpy as np
from _data_files import two_digits
from _frame import COLOURS, Experiment, Found, figure, main_of
from _risks import claim_lowest, draw, restored
from _running_means import long_run_mean, risk, running_means
from matplotlib.figure import Figure
from scipy.special import expit

from steinkit.samplers import RandomWalk, acceptance_bias, approximate_mh, mala, trial_run
from steinkit.targets import LogisticRegression

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.2)
PRIOR_PRECISION, BATCH = 10.0, 500
MADE_UP = {"size": 6000, "tests": 200, "dim": 10}


@functools.cache
def problem(data: str, components: int) -> tuple[LogisticRegression, np.ndarray]:
    """Return the posterior, and the features of the test images, (tests, components).

    Without a file, the data are simulated.
    """
    if not data:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((MADE_UP["size"] + MADE_UP["tests"], MADE_UP["dim"]))
        x *= np.linspace(2.0, 0.5, MADE_UP["dim"])
        y = rng.random(len(x)) < expit(x @ rng.standard_normal(MADE_UP["dim"]))
        size = MADE_UP["size"]
        return LogisticRegression(x[:size], y[:size].astype(float), 1.0 / PRIOR_PRECISION), x[size:]
    train, labels, test, _ = two_digits(data, 7, 9)
    centre = train.mean(axis=0)
    _, vectors = np.linalg.eigh(np.cov(train, rowvar=False))
    axes = vectors[:, ::-1][:, :components]
    posterior = LogisticRegression((train - centre) @ axes, labels.astype(float), 1 / PRIOR_PRECISION)
    return posterior, (test - centre) @ axes


def long_runs(data: str, components: int, step: float, draws: int) -> dict[str, Any]:
    """Estimate the predictive means by exact Langevin chains, with standard errors and final states."""
    posterior, tests = problem(data, components)
    start = _mode(posterior)
    found = mala(posterior, step_size=step, chains=10, draws=draws, burn_in=draws // 4, seed=100, start=start)
    mean = long_run_mean(found.to_sample(), lambda points: expit(points @ tests.T))
    return {
        "value": mean.value,
        "error": mean.standard_error,
        "ends": found.points[:, -1],
        "accepted": float(np.mean(found.acceptance)),
        "level": float(np.quantile(posterior.log_density(found.points[:, ::50].reshape(-1, posterior.dim)), 0.05)),
    }


def burn_in(data: str, components: int, scale: float, epsilon: float, steps: int, level: float) -> dict[str, Any]:
    """Return the cost at which each of ten chains started at zero reaches a given log density."""
    posterior, _ = problem(data, components)
    options: dict[str, Any] = {"proposal_scale": scale, "epsilon": epsilon, "start": np.zeros(posterior.dim)}
    options |= {"batch_size": BATCH} if epsilon else {}
    approximate_mh(posterior, **options, chains=10, draws=1)  # compiled before the time is measured
    began = time.process_time()
    found = approximate_mh(posterior, **options, seed=range(20, 30), budget=steps * posterior.size)
    seconds = (time.process_time() - began) / 10
    read = []
    for points, cost, present in zip(found.points, found.cost, found.present, strict=True):
        there = np.flatnonzero(posterior.log_density(points[present]) >= level)
        read.append(cost[present][there[0]] / posterior.size if len(there) else np.nan)
    return {"read": read, "seconds": seconds * np.array(read) / steps}


def walks(
    data: str, components: int, scale: float, epsilon: float, steps: int, truth: Any, start: Any, shares: list[float]
) -> dict[str, Any]:
    """Return the errors of running means of ten chains at fractions of a budget of exact steps, and their costs."""
    posterior, tests = problem(data, components)
    options: dict[str, Any] = {"proposal_scale": scale, "epsilon": epsilon, "start": np.array(start)}
    options |= {"batch_size": BATCH} if epsilon else {}
    approximate_mh(posterior, **options, chains=10, draws=1)  # compiled before the time is measured
    began, budget = time.process_time(), steps * posterior.size
    found = approximate_mh(posterior, **options, seed=range(10), budget=budget)
    seconds = (time.process_time() - began) / 10
    means = running_means(found.to_sample(), lambda p: expit(p @ tests.T), budget=[s * budget for s in shares])
    judged = risk(means, np.array(truth))
    return {
        "against": judged.against,
        "value": judged.value,
        "interval": judged.interval,
        "squared_bias": judged.squared_bias,
        "variance": judged.variance,
        "seconds": seconds,
        "draws": float(found.present.sum() / 10),
        "read": found.mean_batch_size / posterior.size if epsilon else [1.0],
        "accepted": found.acceptance,
    }


def decisions(data: str, components: int, scale: float, start: Any, seed: int) -> dict[str, list[float]]:
    """Return the predicted percentages of incorrect decisions and of data read for each epsilon.

    The percentages are those of 200 moves of the exact chain.
    """
    posterior, _ = problem(data, components)
    moves = trial_run(posterior, proposal=RandomWalk(scale), draws=200, thin=2, seed=seed, start=np.array(start[:1]))
    fraction = BATCH / posterior.size
    effects = [acceptance_bias(moves, first_fraction=fraction, epsilon=epsilon) for epsilon in EPSILONS[1:]]
    return {"wrong": [100 * e.error.mean() for e in effects], "read": [100 * e.data_use.mean() for e in effects]}


def _mode(posterior: LogisticRegression) -> np.ndarray:
    """Compute the posterior mode by Newton's method."""
    x, signs = posterior.data
    theta = np.zeros(posterior.dim)
    for _ in range(25):
        wrong = expit(-signs * (x @ theta))
        gradient = x.T @ (signs * wrong) - PRIOR_PRECISION * theta
        curvature = (x * (wrong * (1.0 - wrong))[:, None]).T @ x + PRIOR_PRECISION * np.eye(len(theta))
        theta = theta + np.linalg.solve(curvature, gradient)
    return theta


def main() -> None:
    experiment = Experiment(
        __file__,
        __doc__,
        shows="Korattikara et al. (2014; 2016), MNIST 7 v 9",
        data="MNIST's training images, train-images-idx3-ubyte or .gz, with the other files next to it, or an .npz",
    )
    real = experiment.data is not None
    shared = {"data": str(experiment.data) if real else "", "components": 50}
    scale = 0.01 if real else 0.03
    draws, steps = (10_000, 10_000) if experiment.full else (150, 150)
    shares = [float(share) for share in np.geomspace(0.05, 1.0, 9)]
    experiment.settings(proposal_scale=scale, batch=BATCH, exact_steps=steps, chains=10, long_draws=10 * draws)
    truth = experiment.cells(long_runs, [shared | {"step": 1e-3 if real else 3e-3, "draws": draws}])[0]
    ends = truth["ends"]
    moves = shared | {"scale": scale, "steps": steps, "shares": shares, "truth": truth["value"]}
    floor = float(np.mean(np.square(truth["error"])))
    found, risks = {}, {}
    for protocol, start in {"from the posterior": ends, "from zero": np.zeros_like(ends).tolist()}.items():
        cells = [moves | {"epsilon": epsilon, "start": start} for epsilon in EPSILONS]
        found[protocol] = experiment.cells(walks, cells)
        risks[protocol] = [restored(each | {"floor": floor}) for each in found[protocol]]
    burnt = [shared | {"scale": scale, "steps": steps // 2, "level": truth["level"], "epsilon": e} for e in (0.0, 0.01)]
    burns = experiment.cells(burn_in, burnt)
    foreseen = experiment.cells(decisions, [shared | {"scale": scale, "start": ends, "seed": 5}])[0]
    results(experiment, found, risks, foreseen, burns)
    experiment.numbers(epsilons=EPSILONS, foreseen=foreseen, long_run_acceptance=truth["accepted"], floor=floor)
    experiment.numbers(walks=found, burn_in=burns)
    experiment.finish(plot(found, risks, foreseen))


def results(experiment: Experiment, found: dict, risks: dict, foreseen: dict, burns: list[dict]) -> None:
    """Evaluate the papers' statements on their figures."""
    stationary = found["from the posterior"]
    experiment.result("7v9, acceptance", Found.mean(stationary[0]["accepted"]))
    read = [100.0 * float(np.mean(each["read"])) for each in stationary]
    experiment.result("7v9, data", read=read, text=", ".join(f"{value:.0f}" for value in read))
    wrong = foreseen["wrong"]
    experiment.result("7v9, wrong", wrong=wrong, text=", ".join(f"{value:.1f}" for value in wrong))
    shares = [float(each.variance[-1] / each.value[-1]) for each in risks["from the posterior"]]
    experiment.result("7v9, variance", variance=shares, text=", ".join(f"{share:.0%}" for share in shares))
    for protocol, each in found.items():
        seconds = [one["seconds"] for one in each]
        claims = {by: f"7v9, by {by}" for by in ("data", "time")}
        claim_lowest(experiment, EPSILONS, risks[protocol], seconds, claims, protocol=protocol)
    for by, key in {"data": "read", "time": "seconds"}.items():
        exact, cheap = (Found.mean(each[key]) for each in burns)
        text = f"{cheap.value:.3g} s; exact {exact.value:.3g} s"
        if by == "data":
            text = f"data of {cheap.value:,.0f} exact steps; exact {exact.value:,.0f}"
        bounds = {"exact_low": exact.low, "exact_high": exact.high}
        experiment.result(f"7v9, burn-in by {by}", cheap, **bounds, text=text)


def plot(found: dict, risks: dict, foreseen: dict) -> Figure:
    """Plot data usage and incorrect decisions against epsilon, and the risk against the data read and time."""
    fig, axes = figure(3, 2, height=8.6)
    used, wrong = axes[0]
    used.plot(EPSILONS, [100.0 * np.mean(each["read"]) for each in found["from the posterior"]], "o-", color=COLOURS[0])
    used.set(xlabel="ε", title="% of data read", ylim=(0.0, 103.0))
    wrong.plot(EPSILONS, [0.0, *foreseen["wrong"]], "o-", color=COLOURS[1])
    wrong.set(xlabel="ε", title="% of wrong decisions")
    colours = ("#000000", *COLOURS[:4])
    for (by_data, by_time), (protocol, each) in zip(axes[1:], risks.items(), strict=True):
        plain, seconds = [replace(one, floor=0.0) for one in each], [one["seconds"] for one in found[protocol]]
        draw(by_data, by_time, plain, seconds, [f"ε = {epsilon:g}" for epsilon in EPSILONS], colours)
        by_data.set_title(f"risk {protocol}")
    used.legend(*axes[1, 0].get_legend_handles_labels())
    return fig


if __name__ == "__main__":
    main_of(main)
