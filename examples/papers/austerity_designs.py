"""Predict the errors of sequential acceptance tests, and compare designs.

    python examples/papers/austerity_designs.py [--full] [--jobs N] [-o DIR]

The statistic of the austerity test is a random walk, and the test ends when the walk leaves a strip. The error and the
data usage of the test, and the bias of the acceptance probability, are computed from this walk without simulation. The
bias is smaller than the error because errors cancel in the average over the uniform random number of the step. Designs
determine the batch size and epsilon in three ways: for the average over the moves of a trial run, for this average with
a fixed batch of 600 data points, and for the worst case over all moves.

The script reports the error and data usage for the walk and for tests on the data of one move, and the extent to which
errors cancel. For independent component analysis, it computes designs from 100 moves and reports their errors on 100
new moves. The sources are simulated because the recordings of the paper are not available.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
sections 5 and 6.5, appendices A and B, figures 1, 6, 10, 11 and 12.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from _frame import COLOURS, Experiment, Found, figure, main_of
from _mixed_sources import mixed_sources
from applications.ica import StiefelWalk
from matplotlib.figure import Figure
from scipy.special import stdtrit

from steinkit.samplers import acceptance_bias, average_design, operating_characteristics, trial_run, worst_case_design

FRACTION, EPSILONS = 0.05, (0.01, 0.05, 0.2)
MEANS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
TARGETS = (0.005, 0.01, 0.02, 0.04, 0.08, 0.15)
HEURISTIC = 600
COARSE = 0.3  # an epsilon with a visible effect on acceptance probabilities
DESIGNS = {"average": "average", "fixed": f"average, m = {HEURISTIC}", "worst": "worst case"}


def tests_on_data(epsilon: float, size: int, tests: int) -> dict[str, Any]:
    """Return the error frequencies and data usage of t tests at each mean.

    The tests are those of a move and of its reverse, and the means are standardized.
    """
    rng = np.random.default_rng(0)
    posterior, state = mixed_sources(size, 2), np.eye(4).reshape(1, -1)
    walk = StiefelWalk(1.5 / np.sqrt(size))
    proposed = walk.propose(state, rng.standard_normal((1, 6)), None)[0]
    terms = posterior.log_likelihood(proposed[0], *posterior.data) - posterior.log_likelihood(state[0], *posterior.data)
    batch = round(FRACTION * size)
    found = {"wrong": [], "read": [], "wrong_error": [], "read_error": [], "forth": [], "back": []}
    for mean in MEANS:
        shift = mean * terms.std() / np.sqrt(size - 1)
        ways = np.stack([terms - terms.mean() + shift, terms.mean() - terms + shift])  # the reverse move has -terms
        orders = rng.permuted(np.repeat(ways, tests // 2, axis=0), axis=1)
        decided = dict(zip(("wrong", "read"), sequential_decisions(orders, batch, epsilon), strict=True))
        for name, each in decided.items():
            found[name].append(each.mean())
            if name == "wrong":
                found["forth"].append(each[: tests // 2].mean())
                found["back"].append(each[tests // 2 :].mean())
            found[f"{name}_error"].append(max(each.std(), 1.0 / np.sqrt(tests)) / np.sqrt(tests))
    return found


def sequential_decisions(orders: np.ndarray, batch: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the early rejections and the data usage of a test, for each row.

    A test rejects early if it finds a negative mean before it has read all terms.
    """
    size = orders.shape[1]
    b = np.arange(batch, size, batch)
    averages = np.cumsum(orders, axis=1)[:, b - 1] / b
    variances = (np.cumsum(orders**2, axis=1)[:, b - 1] / b - averages**2) * b / (b - 1)
    t = averages / np.sqrt(variances / b * (1.0 - (b - 1) / (size - 1)))
    outside = np.abs(t) > -stdtrit(b - 1.0, epsilon)
    first = np.where(outside.any(axis=1), outside.argmax(axis=1), len(b))
    decided = np.take_along_axis(t, np.minimum(first, len(b) - 1)[:, None], axis=1)[:, 0]
    return (first < len(b)) & (decided < 0.0), np.append(b, size)[first] / size


def designs(size: int, target: float, seed: int) -> dict[str, Any]:
    """Return the errors and data usage on 100 new moves for designs that are computed from 100 moves."""
    trial, new = (_moves(size, seed + k) for k in range(2))
    made = {
        "average": average_design(trial, target),
        "fixed": average_design(trial, target, batch_sizes=[HEURISTIC], alphas=[0.5]),
        "worst": worst_case_design(target),
    }
    effects = {name: acceptance_bias(new, **_setting(design)) for name, design in made.items()}
    return {
        name: {"error": np.abs(e.bias).mean(), "read": e.data_use.mean(), **made[name].options(size)}
        for name, e in effects.items()
    }


def cancelled(size: int, seed: int) -> dict[str, Any]:
    """Return the exact acceptance probability of each move, and the bias and error of a coarse test."""
    found = acceptance_bias(_moves(size, seed), first_fraction=FRACTION, epsilon=COARSE)
    return {"probability": found.probability, "bias": found.bias, "error": found.error}


def _moves(size: int, seed: int) -> Any:
    posterior = mixed_sources(size, 2)
    return trial_run(
        posterior,
        proposal=StiefelWalk(1.5 / np.sqrt(size)),
        draws=100,
        burn_in=100,
        thin=5,
        seed=seed,
        start=np.linalg.qr(np.linalg.inv(posterior.whitening) + np.eye(4))[0].reshape(1, -1),
    )


def _setting(design: Any) -> dict[str, float]:
    return {"first_fraction": design.first_fraction, "epsilon": design.epsilon, "alpha": design.alpha}


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Korattikara et al. (2014), designs of tests")
    size, tests, seeds = (200_000, 2000, 3) if experiment.full else (2000, 100, 1)
    targets = TARGETS if experiment.full else TARGETS[1::3]
    experiment.settings(data=size, tests=tests, targets=targets, trial_runs=seeds, first_fraction=FRACTION)
    small = min(size, 10_000)
    simulated = experiment.cells(tests_on_data, [{"epsilon": e, "size": small, "tests": tests} for e in EPSILONS])
    claim_tests(experiment, simulated)
    effect = experiment.cells(cancelled, [{"size": size, "seed": 7}])[0]
    shown = {name: np.array(values) for name, values in effect.items()}
    worst = float(operating_characteristics(0.0, first_fraction=FRACTION, epsilon=COARSE).error)
    middle = np.abs(shown["probability"] - 0.5) < 0.2
    ratio = np.abs(shown["bias"][middle]).mean() / shown["error"][middle].mean()
    text = f"bias {ratio:.2f} of the error"
    experiment.result("test cancels", ratio=ratio, largest=np.abs(shown["bias"]).max(), bound=worst, text=text)
    cells = [{"size": size, "target": target, "seed": 2 * k + 11} for target in targets for k in range(seeds)]
    answers = experiment.cells(designs, cells)
    found = {
        (name, what): np.array([a[name][what] for a in answers]).reshape(len(targets), seeds)
        for name in DESIGNS
        for what in ("error", "read")
    }
    claim_designs(experiment, targets, found)
    experiment.numbers(
        means=MEANS,
        simulated=simulated,
        moves=effect,
        designs={f"{name}, {what}": values for (name, what), values in found.items()},
    )
    experiment.finish(plot(simulated, targets, shown, worst, found))


def claim_tests(experiment: Experiment, simulated: list[dict]) -> None:
    """Compare the theoretical and simulated errors and data usage, relative to their tolerances."""
    walks = [operating_characteristics(MEANS, first_fraction=FRACTION, epsilon=e) for e in EPSILONS]

    def apart(key: str, error: str, foreseen: list[np.ndarray], wider: float) -> tuple[float, float]:
        off = np.abs([np.array(s[key]) - f for s, f in zip(simulated, foreseen, strict=True)])
        return float((off / (3.0 * wider * np.array([s[error] for s in simulated]) + 0.01)).max()), float(off.max())

    foreseen = [walk.error for walk in walks]
    protocols = {"both averaged": "wrong", "a move": "forth", "its reverse": "back"}
    for protocol, key in protocols.items():
        wider = 1.0 if key == "wrong" else np.sqrt(2.0)  # each direction has half of the tests
        worst, most = apart(key, "wrong_error", foreseen, wider)
        text = f"at most {most:.3f} apart"
        experiment.result("test error, both directions", worst=worst, protocol=protocol, text=text)
    worst, most = apart("read", "read_error", [walk.data_use for walk in walks], 1.0)
    experiment.result("test data", worst=worst, text=f"at most {most:.3f} apart")
    worst_at, over = [], []
    for each, key in product(simulated, ("wrong", "read")):
        values, errors = np.array(each[key]), np.array(each[f"{key}_error"])
        worst_at.append(MEANS[int(values.argmax())])
        over.append(((values - values[0])[1:] / np.hypot(errors[1:], errors[0])).max())
    at = " or ".join(f"{mean:g}" for mean in sorted(set(worst_at)))
    experiment.result("test worst", over=over, text=f"at {at}, for each epsilon")


def claim_designs(experiment: Experiment, asked: tuple[float, ...], found: dict[tuple[str, str], np.ndarray]) -> None:
    """Report the comparison of figure 6."""
    targets = np.array(asked)[:, None]
    for name, claim in {"average": "design, average", "worst": "design, worst case"}.items():
        experiment.result(claim, Found.range((found[name, "error"] / targets).ravel()))
    more = float((found["worst", "read"] / found["average", "read"]).min())
    experiment.result("design, data", least=more, text=f"{more:.1f} times at least")
    saved = found["fixed", "read"] / found["average", "read"]
    experiment.result("design, twice as fast", Found.range(saved[-1]))


def plot(simulated: list, targets: tuple[float, ...], shown: dict, worst: float, found: dict) -> Figure:
    """Plot the errors of the tests, their cancellation, and the designs.

    The errors are theoretical and simulated. The designs are compared by their errors and their data usage.
    """
    fig, ((error, cancel), (reached, read)) = figure(2, 2, height=6.4)
    for color, epsilon, each in zip(COLOURS, EPSILONS, simulated, strict=False):
        fine = np.linspace(0.0, MEANS[-1], 61)
        curve = operating_characteristics(fine, first_fraction=FRACTION, epsilon=epsilon).error
        error.plot(fine, curve, color=color, label=f"ε = {epsilon:g}")
        error.plot(MEANS, each["wrong"], "o", color=color, markersize=5, fillstyle="none")
    error.set(xlabel="standardized mean", title="error of a test; o: on data")
    cancel.plot(shown["probability"], shown["error"], "x", color=COLOURS[0], markersize=4, label="error")
    cancel.plot(
        shown["probability"], np.abs(shown["bias"]), "o", color=COLOURS[1], markersize=4, fillstyle="none", label="bias"
    )
    cancel.axhline(worst, color="0.4", linestyle="--", linewidth=1.0, label="bound")
    cancel.set(xlabel="acceptance probability", title=f"cancellation, ε = {COARSE}")
    reached.plot(targets, targets, color="0.4", linestyle="--", linewidth=1.0)
    for color, marker, (name, label) in zip(COLOURS, "os^", DESIGNS.items(), strict=False):
        reached.plot(targets, np.median(found[name, "error"], axis=1), marker + "-", color=color, markersize=5)
        read.plot(
            targets, 100 * np.median(found[name, "read"], axis=1), marker + "-", color=color, markersize=5, label=label
        )
    reached.set(xscale="log", yscale="log", xlabel="target error", title="error on new moves")
    read.set(xscale="log", xlabel="target error", title="% of data read")
    shown_targets = targets[:: max(1, len(targets) // 2)]
    for ax in (reached, read):
        ax.margins(x=0.1)
        ax.set_xticks(shown_targets, [f"{target:g}" for target in shown_targets])
        ax.set_xticks([], minor=True)
    read.set_ylim(0.0, 100.0)
    cancel.set_ylim(top=0.8)
    for ax in (error, cancel, read):
        ax.legend()
    return fig


if __name__ == "__main__":
    main_of(main)
