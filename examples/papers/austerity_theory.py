"""Test the theorems of the austerity test on chains with few states.

    python examples/papers/austerity_theory.py [--data FILE] [--full] [--jobs N] [-o DIR]

Theorem 1 bounds the distance between the posterior and the stationary distribution of chains with the austerity test,
and theorem 4 that of a Gibbs sampler. Both are evaluated for chains with explicit transition matrices: a random walk on
41 points of a line, and a field of 6 binary variables. The acceptance probability of the test is a function of the
exact probability, from its theory. The contraction eta is the largest total variation distance between two rows of the
exact matrix, or of a power of it, for several steps.

Figure 7 resamples the log likelihood ratios of a move between two parameters of the posterior of 7 v 9, and compares
the t statistics with Student's t and the normal distribution. FILE contains MNIST's training images; without it data
are simulated, and this figure is not evaluated.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
theorems 1 and 4, and figure 7 of the supplement.
"""

from __future__ import annotations

import numpy as np
from _frame import COLOURS, Experiment, figure, main_of
from matplotlib.figure import Figure
from scipy.special import expit, ndtr
from scipy.stats import kstest
from scipy.stats import t as student_t
from sequential_mnist_7v9 import _mode, problem

from steinkit.samplers import operating_characteristics

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1)
STATES, SPREAD, FRACTION, DEVIATION = 41, 6.0, 0.05, 3.0  # DEVIATION: of the sum of all log likelihood ratios
VARIABLES, STEPS = 6, 40
LEVELS = (np.arange(400) + 0.5) / 400  # of the uniform number of a step
SAMPLES = (50, 500, 5000)


def of_walk(epsilon: float) -> dict[str, float]:
    """Return the distance of the stationary distribution of a walk on a line, and the bound of theorem 1."""
    x = np.linspace(-SPREAD, SPREAD, STATES)
    log_ratio = -0.5 * (x[None, :] ** 2 - x[:, None] ** 2)
    proposal = np.where(np.abs(np.subtract.outer(np.arange(STATES), np.arange(STATES))) <= 25, 1.0, 0.0)
    np.fill_diagonal(proposal, 0.0)
    proposal /= proposal.sum(axis=1).max()
    exact, cheap = np.exp(np.minimum(log_ratio, 0.0)), accepted(log_ratio, np.log(LEVELS), epsilon)
    return distances(*(with_rejections(proposal * each) for each in (exact, cheap)), np.abs(cheap - exact).max())


def of_field(epsilon: float) -> dict[str, float]:
    """Return the distance for a sweep of a random field, and the bound of theorem 4, a sum over the updates."""
    rng = np.random.default_rng(0)
    couplings = np.triu(0.4 * rng.standard_normal((VARIABLES, VARIABLES)), 1)
    couplings += couplings.T
    states = (np.arange(2**VARIABLES)[:, None] >> np.arange(VARIABLES)) & 1
    matrices, largest = [np.eye(len(states)), np.eye(len(states))], 0.0
    for i in range(VARIABLES):
        log_odds = (2.0 * states - 1.0) @ couplings[i]
        exact = expit(log_odds)
        cheap = accepted(log_odds, np.log(LEVELS / (1.0 - LEVELS)), epsilon)
        largest = max(largest, float(np.abs(cheap - exact).max()))
        ones, zeros = (np.arange(len(states)) | 1 << i), (np.arange(len(states)) & ~(1 << i))
        for k, p in enumerate((exact, cheap)):
            update = np.zeros_like(matrices[0])
            update[np.arange(len(states)), ones], update[np.arange(len(states)), zeros] = p, 1.0 - p
            matrices[k] = matrices[k] @ update
    return distances(*matrices, VARIABLES * largest)


def accepted(log_ratio: np.ndarray, thresholds: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the probability of a decision above the threshold, averaged over the uniform number of the step."""
    grid = np.linspace(0.0, 8.0, 321)
    error = operating_characteristics(grid, first_fraction=FRACTION, epsilon=epsilon).error
    mean = (log_ratio[..., None] - thresholds) / DEVIATION
    wrong = np.interp(np.abs(mean), grid, error, right=0.0)
    return np.asarray(np.where(mean > 0.0, 1.0 - wrong, wrong).mean(axis=-1))


def with_rejections(moves: np.ndarray) -> np.ndarray:
    """Build a transition matrix from the probabilities of its moves."""
    return moves + np.diag(1.0 - moves.sum(axis=1))


def distances(exact: np.ndarray, cheap: np.ndarray, one_step: float) -> dict[str, float]:
    """Return the total variation of the stationary distributions, and the smallest bound over 1..40 steps."""
    pi, other = (stationary(each) for each in (exact, cheap))
    bounds, power = [], np.eye(len(exact))
    for steps in range(1, STEPS + 1):
        power = power @ exact
        eta = max(0.5 * np.abs(power - row).sum(axis=1).max() for row in power)
        if eta < 1.0:
            bounds.append(
                steps * one_step / (1.0 - eta)
            )  # the error of so many steps is at most that of one times them
    return {"distance": float(0.5 * np.abs(pi - other).sum()), "bound": float(min(bounds))}


def stationary(matrix: np.ndarray) -> np.ndarray:
    """Return the stationary distribution of a transition matrix."""
    system = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(len(matrix)), 1.0), rcond=None)[0])


def resampled(data: str, n: int, repeats: int) -> dict[str, object]:
    """Compute t statistics of n centered log likelihood ratios of a move, drawn without replacement."""
    posterior, _ = problem(data, 50)
    rng, mode = np.random.default_rng(n), _mode(posterior)
    moved = mode + (0.01 if data else 0.03) * rng.standard_normal(posterior.dim)
    terms = posterior.log_likelihood(moved, *posterior.data) - posterior.log_likelihood(mode, *posterior.data)
    terms -= terms.mean()
    N = len(terms)
    t = np.empty(repeats)
    for k in range(repeats):
        drawn = rng.choice(terms, n, replace=False)
        t[k] = drawn.mean() / (drawn.std(ddof=1) / np.sqrt(n) * np.sqrt(1.0 - (n - 1.0) / (N - 1.0)))
    return {
        "student": kstest(t, lambda x: student_t.cdf(x, n - 1)).statistic,
        "normal": kstest(t, ndtr).statistic,
        "quantiles": np.quantile(t, np.linspace(0.005, 0.995, 100)),
    }


def main() -> None:
    data = "MNIST's training images, train-images-idx3-ubyte or .gz, with the other files next to it, or an .npz"
    experiment = Experiment(__file__, __doc__, shows="Korattikara et al. (2014), theorems 1 and 4, figure 7", data=data)
    data, repeats = "" if experiment.data is None else str(experiment.data), 5000 if experiment.full else 500
    experiment.settings(states=STATES, variables=VARIABLES, epsilons=EPSILONS, first_fraction=FRACTION, repeats=repeats)
    found = {}
    for claim, function in {"theorem 1": of_walk, "theorem 4": of_field}.items():
        each = experiment.cells(function, [{"epsilon": epsilon} for epsilon in EPSILONS])
        found[claim] = {name: [one[name] for one in each] for name in ("distance", "bound")}
        pairs = [f"{d:.2g} of {b:.2g}" for d, b in zip(*found[claim].values(), strict=True)]
        text = f"{pairs[0]} to {pairs[-1]}"
        experiment.result(claim, **found[claim], text=text)
    statistics = experiment.cells(resampled, [{"data": data, "n": n, "repeats": repeats} for n in SAMPLES])
    for n, each in zip(SAMPLES, statistics, strict=True):
        experiment.result("figure 7", max(each["student"], each["normal"]), protocol=f"n = {n:,}")
    experiment.numbers(**{claim.replace(" ", "_"): each for claim, each in found.items()}, statistics=statistics)
    experiment.finish(picture(found, statistics))


def picture(found: dict[str, dict], statistics: list[dict]) -> Figure:
    """Plot distances and bounds against epsilon, and quantiles of t statistics against normal ones."""
    fig, axes = figure(1, 3, height=3.6)
    for ax, (claim, each) in zip(axes[0], found.items(), strict=False):
        ax.plot(EPSILONS, each["bound"], "s--", color=COLOURS[1], label="bound")
        ax.plot(EPSILONS, each["distance"], "o-", color=COLOURS[0], label="distance")
        ax.set(xscale="log", yscale="log", xlabel="ε", title=claim)
        ax.legend(loc="lower right")
    levels = student_t.ppf(np.linspace(0.005, 0.995, 100), 1e9)
    for color, n, each in zip(COLOURS, SAMPLES, statistics, strict=False):
        axes[0, 2].plot(levels, each["quantiles"], color=color, label=f"n = {n:,}")
    axes[0, 2].plot(levels, levels, ":", color="0.4")
    axes[0, 2].set(xlabel="normal quantiles", title="t statistics")
    axes[0, 2].legend(loc="lower right")
    return fig


if __name__ == "__main__":
    main_of(main)
