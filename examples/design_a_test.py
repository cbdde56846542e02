"""Design a sequential acceptance test with a trial run.

    python examples/design_a_test.py [--output FOLDER] [--small]

Approximate Metropolis-Hastings reads batches of data until a t test determines the decision with sufficient confidence.
A *design* of this test consists of the batch size and of epsilon, which is the error of one stage. A user is interested
in the error of the whole test, averaged over the uniform random number of the step. Because errors in opposite
directions cancel, this average is smaller. The error and the data usage of a test are computed from a Gaussian random
walk, without simulation.

The script uses a posterior for 10,000 data points (2000 with `--small`). It first compares the error and the data usage
of tests on the data with those of the random walk. It then computes designs for several target errors from a trial run
of 100 moves, and prints their error and data usage for 100 new moves, together with those of designs for the worst
case. Finally, it compares the data usage of a chain with its prediction. The plot corresponds to figures 1, 6 and 10 to
12 of the paper.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget".
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy.special import stdtrit

import steinkit as sk
from steinkit.plots import look
from steinkit.samplers import (
    AcceptanceBias,
    RandomWalk,
    SequentialDesign,
    TrialRun,
    acceptance_bias,
    approximate_mh,
    average_design,
    operating_characteristics,
    trial_run,
    worst_case_design,
)

SCALE = 0.15
FRACTION, EPSILONS = 0.05, (0.01, 0.05, 0.2)
COARSE = 0.3  # an epsilon with a visible effect on acceptance probabilities
TARGETS = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
RUN = {"draws": 100, "burn_in": 100, "thin": 5, "start": [0.0, 1.0]}
QUANTITIES = {"error": "probability of an incorrect decision", "data_use": "fraction of the data read"}
WORST = {"color": "0.35", "linestyle": "--", "linewidth": 1.0}
MEANS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("steinkit-examples"), help="folder for the figure")
    parser.add_argument("--small", action="store_true", help="2000 data points, fewer tests, targets and draws")
    settings = parser.parse_args()
    size, tests, targets, draws = (2000, 200, (0.01, 0.04), 50) if settings.small else (10_000, 1000, TARGETS, 300)
    posterior = sk.targets.MixturePosterior.simulate(size, rng=1).tempered(size / 100)

    simulated = {epsilon: simulate(posterior, epsilon, tests) for epsilon in EPSILONS}
    print(f"Error and data use of {tests} tests on data / of the random walk, {FRACTION:.0%} of the data per stage")
    for epsilon, (errors, reads) in simulated.items():
        walk = operating_characteristics(MEANS, first_fraction=FRACTION, epsilon=epsilon)
        for mean, error, read, *wanted in zip(MEANS, errors[0], reads[0], walk.error, walk.data_use, strict=True):
            print(
                f"epsilon {epsilon:4g}, mean {mean:3g}: error {error:.3f} / {wanted[0]:.3f}, "
                f"data use {read:.3f} / {wanted[1]:.3f}"
            )

    trial, new = (trial_run(posterior, proposal=RandomWalk(SCALE), **RUN, seed=seed) for seed in (1, 2))
    print("\nDesigns, and their results on 100 new moves")
    print(f"{'target':>7}  {'design':24}{'batch':>6}{'epsilon':>10}{'alpha':>7}{'error':>9}{'data read':>11}")
    made = {target: designs(trial, target) for target in targets}
    found: dict[str, list[AcceptanceBias]] = {}
    for target in targets:
        for name, design in made[target].items():
            effect = evaluate(new, design)
            found.setdefault(name, []).append(effect)
            options = design.options(size)
            print(
                f"{target:7g}  {name:24}{options['batch_size']:6}{design.epsilon:10.2g}{design.alpha:7g}"
                f"{np.abs(effect.bias).mean():9.4f}{effect.data_use.mean():11.1%}"
            )

    chosen = made[0.01]["average"]
    chain = approximate_mh(
        posterior, proposal_scale=SCALE, **chosen.options(size), chains=10, draws=draws, burn_in=100, seed=3
    )
    print(
        f"\nA chain designed for an error of 0.01 reads {chain.batch_sizes.mean() / size:.1%} of the data per step. "
        f"The design predicts {chosen.data_use:.1%}."
    )

    settings.output.mkdir(parents=True, exist_ok=True)
    path = settings.output / "design_a_test.png"
    plot(simulated, acceptance_bias(new, first_fraction=FRACTION, epsilon=COARSE), targets, found).savefig(
        path, dpi=130
    )
    print(f"\nFigure: {path}")


def designs(trial: TrialRun, target: float) -> dict[str, SequentialDesign]:
    """Return the three designs of the paper's figure 6."""
    return {
        "average": average_design(trial, target),
        "average, one batch size": average_design(trial, target, batch_sizes=[min(600, trial.size // 4)], alphas=[0.5]),
        "worst case": worst_case_design(target, first_fractions=np.geomspace(100 / trial.size, 0.5, 6).tolist()),
    }


def evaluate(moves: TrialRun, design: SequentialDesign) -> AcceptanceBias:
    return acceptance_bias(moves, first_fraction=design.first_fraction, epsilon=design.epsilon, alpha=design.alpha)


def simulate(posterior: sk.Posterior, epsilon: float, tests: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the frequency of wrong decisions and the data usage at each mean.

    They are measured by t tests on the data of a move.
    """
    rng = np.random.default_rng(0)
    here, there = np.array([0.0, 1.0]), np.array([SCALE, 1.0 - SCALE])
    terms = posterior.log_likelihood(there, *posterior.data) - posterior.log_likelihood(here, *posterior.data)
    N, batch = len(terms), round(FRACTION * len(terms))
    b = np.arange(batch, N, batch)
    G = -stdtrit(b - 1.0, epsilon)
    results = []
    for mean in MEANS:
        orders = rng.permuted(np.tile(terms - terms.mean() + mean * terms.std() / np.sqrt(N - 1), (tests, 1)), axis=1)
        averages = np.cumsum(orders, axis=1)[:, b - 1] / b
        variances = (np.cumsum(orders**2, axis=1)[:, b - 1] / b - averages**2) * b / (b - 1)
        t = averages / np.sqrt(variances / b * (1.0 - (b - 1) / (N - 1)))
        stops = np.abs(t) > G
        first = np.where(stops.any(axis=1), stops.argmax(axis=1), len(b))
        wrong = (first < len(b)) & (np.take_along_axis(t, np.minimum(first, len(b) - 1)[:, None], axis=1)[:, 0] < 0.0)
        results.append((wrong, np.append(b, N)[first] / N))
    return [
        (np.array([v.mean() for v in values]), np.array([v.std() / np.sqrt(tests) for v in values]))
        for values in zip(*results, strict=True)
    ]


def plot(
    simulated: dict[float, list[tuple[np.ndarray, np.ndarray]]],
    effect: AcceptanceBias,
    targets: tuple[float, ...],
    found: dict[str, list[AcceptanceBias]],
) -> Figure:
    """Plot the tests, the effect of one test on the moves of a chain, and the designs on new moves."""
    figure = Figure(figsize=(7.6, 10.2), layout="constrained")
    axes = figure.subplots(3, 2)
    for k, (quantity, ax) in enumerate(zip(("error", "data_use"), axes[0], strict=True)):
        dots = {epsilon: (MEANS, *results[k]) for epsilon, results in simulated.items()}
        characteristic_curves(ax, quantity, dots)
        design_comparison(axes[2, k], quantity, targets, found)
        axes[2, k].set_title("designs on new moves", fontsize=10)
    worst = float(operating_characteristics(0.0, first_fraction=FRACTION, epsilon=COARSE).error)
    acceptance_errors(axes[1, 0], effect, worst)
    axes[1, 0].set_title(f"epsilon {COARSE}: most errors cancel", fontsize=10)
    acceptance_probabilities(axes[1, 1], effect)
    axes[1, 1].set_title(f"epsilon {COARSE}", fontsize=10)
    return figure


def characteristic_curves(ax: Axes, quantity: str, simulated: dict[float, tuple[ArrayLike, ...]]) -> None:
    """Plot the error or the data usage against the standardized mean.

    Markers with error bars of two standard errors show tests on data.
    """
    means = np.linspace(0.0, 4.0, 400)
    for number, epsilon in enumerate(EPSILONS):
        color, marker, dashes = look(number)
        walk = operating_characteristics(means, first_fraction=FRACTION, epsilon=epsilon)
        ax.plot(means, getattr(walk, quantity), color=color, linestyle=dashes, label=f"epsilon {epsilon:g}")
        at, values, deviations = simulated[epsilon]
        bars = 2.0 * np.asarray(deviations)
        ax.errorbar(at, values, yerr=bars, fmt=marker, markersize=4, color=color, capsize=2)
    ax.plot([], [], color="0.4", label="random walk")
    ax.errorbar([], [], yerr=[], fmt="o", markersize=4, color="0.4", capsize=2, label="tests on data")
    ax.set(xlabel="standardized mean", ylabel=QUANTITIES[quantity], xlim=(-0.08, 4.0))
    ax.set_ylim(bottom=0.0)
    ax.legend(fontsize=9)


def acceptance_errors(ax: Axes, effect: AcceptanceBias, worst: float) -> None:
    """Plot the errors of the tests and the biases of the acceptance probabilities, with their common bound."""
    ax.axhline(worst, label="error at mean 0", **WORST)
    ax.plot(effect.probability, effect.error, "x", color=look(0).color, markersize=5, label="error of the test")
    rings = {"color": look(2).color, "markersize": 5, "fillstyle": "none"}
    ax.plot(effect.probability, np.abs(effect.bias), "o", label="bias of the acceptance probability", **rings)
    ax.set(xlabel="exact acceptance probability", ylabel="probability", xlim=(-0.03, 1.03))
    ax.set_ylim(0.0, 1.45 * worst)  # space for the legend
    ax.legend(fontsize=9, loc="upper center")


def acceptance_probabilities(ax: Axes, effect: AcceptanceBias) -> None:
    """Plot the acceptance probabilities of the test against those of Metropolis."""
    ax.plot([0.0, 1.0], [0.0, 1.0], label="no bias", **WORST)
    rings = {"color": look(2).color, "markersize": 5, "fillstyle": "none"}
    ax.plot(effect.probability, effect.probability + effect.bias, "o", label="moves of a run", **rings)
    ax.set(xlabel="exact acceptance probability", ylabel="acceptance probability of the test")
    ax.set_aspect("equal")
    ax.legend(fontsize=9)


def design_comparison(
    ax: Axes, quantity: str, targets: tuple[float, ...], found: dict[str, list[AcceptanceBias]]
) -> None:
    """Plot the mean absolute bias of acceptance probabilities or the data usage against the target error."""
    if quantity == "error":
        ax.plot(targets, targets, label="as designed", **WORST)
        ax.set(yscale="log", ylabel="mean bias of acceptance probabilities")
    for number, (name, each) in enumerate(found.items()):
        values = [np.abs(one.bias).mean() if quantity == "error" else one.data_use.mean() for one in each]
        ax.plot(targets, values, **look(number)._asdict(), markersize=5, label=name)
    ax.set(xscale="log", xlabel="target error")
    ax.set_xticks(targets, [f"{target:g}" for target in targets])
    ax.set_xticks([], minor=True)
    if quantity == "data_use":
        ax.set_ylabel(QUANTITIES[quantity])
        ax.set_ylim(bottom=0.0)
    ax.legend(fontsize=9, frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.18))


if __name__ == "__main__":
    main()
