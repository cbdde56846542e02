"""Show that Langevin moves on minibatches need an acceptance test near a steep slope.

    python examples/papers/sequential_sgld_pitfall.py [--full] [--jobs N] [-o DIR]

The posterior of a regression coefficient under a Laplace prior has its mode next to a kink. To the left of the kink,
the density decreases steeply, and the gradient moves uncorrected Langevin chains far to the right. The chains return
slowly. Both the exact Metropolis-Hastings test and the austerity test with epsilon 1/2, which decides after the first
500 of 10,000 data points, reject these moves.

The script reports the Kolmogorov distance of the draws from the exact posterior, which has a known distribution
function, and the data usage of the tests. Chains start at exact draws, so that the distance measures the bias of the
sampler.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
section 6.4 and figure 5; (2016), "Sequential tests for large-scale learning", figure 9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _frame import COLOURS, Experiment, Found, figure, main_of
from matplotlib.figure import Figure

import steinkit as sk
from steinkit.samplers import MetropolisTest, corrected_sgld, sgld

STEP_SIZE, BATCH = 5e-6, 500
METHODS = {"uncorrected": None, "exact test": 0.0, "epsilon 0.1": 0.1, "epsilon 0.5": 0.5}
EDGES = np.linspace(-0.02, 0.12, 71)
LEVELS = np.linspace(0.005, 0.995, 199)  # levels of the quantiles at which distribution functions are compared


def chains(method: str, first_seed: int, count: int, draws: int) -> dict[str, Any]:
    """Return statistics of a group of chains.

    The statistics are the distribution function at posterior quantiles, a histogram, and the data usage.
    """
    posterior = sk.targets.LassoRegression.toy()
    options: dict[str, Any] = {
        "step_size": STEP_SIZE,
        "batch_size": BATCH,
        "draws": draws,
        "seed": range(first_seed, first_seed + count),
        "start": posterior.sample(count, rng=first_seed + 1),
    }
    epsilon = METHODS[method]
    if epsilon is None:
        found = sgld(posterior, **options)
    else:
        found = (
            corrected_sgld(posterior, test=MetropolisTest(), **options)
            if epsilon == 0.0
            else corrected_sgld(posterior, epsilon=epsilon, **options)
        )
    values = found.points[..., 0]
    below = posterior.cdf(values.reshape(-1, 1)).ravel()[:, None] <= LEVELS
    return {
        "below": below.mean(axis=0),
        "mean": float(values.mean()),
        "histogram": np.histogram(values, EDGES)[0] / values.size,
        "read": None if found.batch_sizes is None else float(found.batch_sizes.mean() / posterior.size),
        "accepted": None if found.acceptance is None else float(found.acceptance.mean()),
    }


def main() -> None:
    experiment = Experiment(__file__, __doc__, shows="Korattikara et al. (2014; 2016), SGLD")
    groups, count, draws = (10, 20, 2000) if experiment.full else (3, 10, 200)
    experiment.settings(step_size=STEP_SIZE, batch=BATCH, chains=groups * count, draws=draws)
    cells = [
        {"method": method, "first_seed": k * count, "count": count, "draws": draws}
        for method in METHODS
        for k in range(groups)
    ]
    answers = experiment.cells(chains, cells)
    found = {m: [a for a, c in zip(answers, cells, strict=True) if c["method"] == m] for m in METHODS}
    claim_distances(experiment, {m: np.array([a["below"] for a in each]) for m, each in found.items()})
    for epsilon in ("0.1", "0.5"):  # the paper shows one run
        read = Found.range([100.0 * each["read"] for each in found[f"epsilon {epsilon}"]])
        experiment.result(f"sgld, read at {epsilon}", read)
    posterior = sk.targets.LassoRegression.toy()
    exact = np.diff(posterior.cdf(EDGES[:, None]).ravel())
    histograms = {m: np.mean([a["histogram"] for a in each], axis=0) for m, each in found.items()}
    experiment.numbers(
        edges=EDGES,
        exact=exact,
        histograms=histograms,
        mean={m: np.mean([a["mean"] for a in each]) for m, each in found.items()},
        accepted={m: np.mean([a["accepted"] for a in each]) for m, each in found.items() if m != "uncorrected"},
    )
    experiment.finish(plot(exact, histograms))


def claim_distances(experiment: Experiment, below: dict[str, np.ndarray]) -> None:
    """Evaluate the statements about histograms with and without a test."""
    claims = {"uncorrected": "severe", "exact test": "exact", "epsilon 0.1": "tenth", "epsilon 0.5": "half"}
    for method, claim in claims.items():
        other = below["exact test"] if claim == "tenth" else np.broadcast_to(LEVELS, below[method].shape)
        experiment.result(f"sgld, {claim}", distance(below[method], other))
    experiment.result("sgld, bias of half", distance(below["epsilon 0.5"]))


def distance(below: np.ndarray, other: np.ndarray | None = None) -> Found:
    """Return the largest difference between mean distribution functions, with two jackknife standard errors."""
    difference = below - (LEVELS if other is None else other)
    groups = len(difference)
    value = float(np.abs(difference.mean(axis=0)).max())
    without = np.abs((difference.sum(axis=0) - difference) / (groups - 1)).max(axis=1)
    reach = 2.0 * float(np.sqrt((groups - 1) * without.var()))
    return Found(value, max(0.0, value - reach), value + reach)


def plot(exact: np.ndarray, histograms: dict[str, np.ndarray]) -> Figure:
    """Plot histograms of the draws of each method over the exact posterior."""
    fig, axes = figure(2, 2, height=5.6, sharex=True, sharey=True)
    width = np.diff(EDGES)
    for color, ax, (method, values) in zip(COLOURS, axes.ravel(), histograms.items(), strict=False):
        ax.stairs(values / width, EDGES, fill=True, color=color, alpha=0.5)
        ax.stairs(exact / width, EDGES, color="black", label="posterior")
        ax.set(title=method, xlim=(-0.01, 0.05))
    for ax in axes[1]:
        ax.set(xlabel="coefficient")
    axes[0, 0].legend()
    return fig


if __name__ == "__main__":
    main_of(main)
