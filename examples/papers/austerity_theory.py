"""Test the theorems of the austerity test on chains with few states.

    python examples/papers/austerity_theory.py [--data FILE] [--full] [--jobs N] [-o DIR]

Theorem 1 bounds the distance between the posterior and the stationary distribution of chains with the austerity test.
Theorem 4 is the corresponding bound for a Gibbs sampler. Both are evaluated for chains with explicit transition
matrices: a random walk on 41 points of a line, and a field of 6 binary variables. The acceptance probability of the
test is computed from the exact probability using the theory of the test. The contraction eta is the largest total
variation distance between two rows of the exact matrix or, for several steps, of a power of this matrix. The same
matrices give the bias and the variance of a mean, and the epsilon with the lowest risk for a given budget.

The script also evaluates statements about Langevin moves with decreasing steps, pseudo-marginal chains, data with
extreme outliers, and the distribution of the test statistic.

For figure 7, the log likelihood ratios of a move between two parameters of the posterior of 7 v 9 are resampled, and
their t statistics are compared with Student's t distribution and the normal distribution. FILE contains MNIST's
training images. Without FILE, the data are simulated, and this figure is not evaluated.

References
----------
A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
sections 3 and 4, theorems 1 and 4, and the supplement, proposition 2 and figure 7.
"""

from __future__ import annotations

import numpy as np
from _frame import COLOURS, Experiment, figure, main_of
from austerity_designs import sequential_decisions
from matplotlib.figure import Figure
from scipy.special import expit, ndtr
from scipy.stats import kstest
from scipy.stats import t as student_t
from sequential_mnist_7v9 import _mode, problem

import steinkit as sk
from steinkit.samplers import MetropolisTest, corrected_sgld, operating_characteristics

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1)
STATES, SPREAD, FRACTION, DEVIATION = 41, 6.0, 0.05, 3.0  # DEVIATION is the sd of the sum of all log likelihood ratios
VARIABLES, STEPS = 6, 40
LEVELS = (np.arange(400) + 0.5) / 400  # values of the uniform random number of a step
SAMPLES, RECOMMENDED = (50, 500, 5000), 500
LANGEVIN_STEPS = (5e-6, 5e-7, 5e-8, 5e-9)
PSEUDO_SIZES = (1000, 10_000)
# The unit of the budgets is one exact step.
KNOBS, BUDGETS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2), tuple(10.0**k for k in range(1, 9))
POPULATIONS = ((1000, 1.0), (5000, 10.0), (20_000, 1.0))


def proposals() -> tuple[np.ndarray, np.ndarray]:
    """Return the states of a walk on a line and its proposal probabilities."""
    apart = np.abs(np.subtract.outer(np.arange(STATES), np.arange(STATES)))
    proposal = np.where((apart > 0) & (apart <= 25), 1.0, 0.0)
    return np.linspace(-SPREAD, SPREAD, STATES), proposal / proposal.sum(axis=1).max()


def walks(epsilon: float) -> tuple[np.ndarray, ...]:
    """Return the transition matrices of the exact and the approximate walk.

    The results also include the acceptance probabilities of both walks and the mean data usage.
    """
    x, proposal = proposals()
    log_ratio = -0.5 * (x[None, :] ** 2 - x[:, None] ** 2)
    exact, (cheap, read) = np.exp(np.minimum(log_ratio, 0.0)), accepted(log_ratio, np.log(LEVELS), epsilon)
    used = (proposal * read).sum(axis=1) / proposal.sum(axis=1)
    return *(with_rejections(proposal * each) for each in (exact, cheap)), exact, cheap, used


def of_walk(epsilon: float) -> dict[str, float]:
    """Return the distance and the bound of theorem 1 for walks on a line.

    The distance is that between the stationary distributions of the exact and the approximate walk.
    """
    *matrices, exact, cheap, _ = walks(epsilon)
    return distances(*matrices, np.abs(cheap - exact).max())


def risk_of_walk(epsilon: float) -> dict[str, float]:
    """Return the squared bias and the variance per step of the mean of x^2, and the data usage per step."""
    exact, cheap, *_, used = walks(epsilon)
    values, pi = proposals()[0] ** 2, stationary(cheap)
    bias = (pi - stationary(exact)) @ values
    centred = values - pi @ values
    solved = np.linalg.solve(np.eye(STATES) - cheap + np.outer(np.ones(STATES), pi), centred)
    return {"bias": bias**2, "variance": pi @ (centred * (2.0 * solved - centred)), "read": pi @ used}


def of_field(epsilon: float) -> dict[str, float]:
    """Return the distance and the bound of theorem 4 for a random field.

    The distance is that for sweeps of the field, and the bound is a sum over the updates.
    """
    rng = np.random.default_rng(0)
    couplings = np.triu(0.4 * rng.standard_normal((VARIABLES, VARIABLES)), 1)
    couplings += couplings.T
    states = (np.arange(2**VARIABLES)[:, None] >> np.arange(VARIABLES)) & 1
    matrices, largest = [np.eye(len(states)), np.eye(len(states))], 0.0
    for i in range(VARIABLES):
        log_odds = (2.0 * states - 1.0) @ couplings[i]
        exact = expit(log_odds)
        cheap, _ = accepted(log_odds, np.log(LEVELS / (1.0 - LEVELS)), epsilon)
        largest = max(largest, float(np.abs(cheap - exact).max()))
        ones, zeros = (np.arange(len(states)) | 1 << i), (np.arange(len(states)) & ~(1 << i))
        for k, p in enumerate((exact, cheap)):
            update = np.zeros_like(matrices[0])
            update[np.arange(len(states)), ones], update[np.arange(len(states)), zeros] = p, 1.0 - p
            matrices[k] = matrices[k] @ update
    return distances(*matrices, VARIABLES * largest)


def accepted(log_ratio: np.ndarray, thresholds: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the acceptance probability and the data usage of moves.

    Both are averaged over the uniform random number of the step.
    """
    grid = np.linspace(0.0, 8.0, 321)
    test = operating_characteristics(grid, first_fraction=FRACTION, epsilon=epsilon)
    mean = (log_ratio[..., None] - thresholds) / DEVIATION
    wrong = np.interp(np.abs(mean), grid, test.error, right=0.0)
    read = np.interp(np.abs(mean), grid, test.data_use)
    return np.where(mean > 0.0, 1.0 - wrong, wrong).mean(axis=-1), read.mean(axis=-1)


def with_rejections(moves: np.ndarray) -> np.ndarray:
    """Build a transition matrix from the probabilities of its moves."""
    return moves + np.diag(1.0 - moves.sum(axis=1))


def distances(exact: np.ndarray, cheap: np.ndarray, one_step: float) -> dict[str, float]:
    """Return the distance of the stationary distributions, and its bound.

    The distance is the total variation, and the bound is the smallest one for 1 to 40 steps.
    """
    pi, other = (stationary(each) for each in (exact, cheap))
    bounds, power = [], np.eye(len(exact))
    for steps in range(1, STEPS + 1):
        power = power @ exact
        eta = max(0.5 * np.abs(power - row).sum(axis=1).max() for row in power)
        if eta < 1.0:
            bounds.append(
                steps * one_step / (1.0 - eta)
            )  # the error of several steps is at most the number of steps times the error of one step
    return {"distance": float(0.5 * np.abs(pi - other).sum()), "bound": float(min(bounds))}


def stationary(matrix: np.ndarray) -> np.ndarray:
    """Return the stationary distribution of a transition matrix."""
    system = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(len(matrix)), 1.0), rcond=None)[0])


def resampled(data: str, n: int, repeats: int) -> dict[str, object]:
    """Compute t statistics of n centered log likelihood ratios of a move, which are drawn without replacement."""
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


def langevin_acceptance(step_size: float, draws: int) -> float:
    """Return the acceptance rate of the exact test for Langevin moves on minibatches."""
    target = sk.targets.LassoRegression.toy()
    options = {"batch_size": 500, "draws": draws, "seed": range(4), "start": target.sample(4, rng=1)}
    return float(corrected_sgld(target, step_size=step_size, test=MetropolisTest(), **options).acceptance.mean())


def pseudo_marginal(size: int, batch: int, draws: int) -> dict[str, float]:
    """Return the acceptance rates in the second halves of exact and pseudo-marginal chains for a normal mean.

    The Poisson estimator of the likelihood is exp(l) times the product of (l_k - l + c) / c over a Poisson number of
    batches with mean c, where l_k is an estimate of the log likelihood l. Here, c is four standard deviations of l_k.
    """
    rng, accepted = np.random.default_rng(0), np.zeros(2)
    data = rng.standard_normal(size)
    theta = np.full(2, data.mean())
    noise = -np.inf  # error of the log likelihood of the state; the first proposal is always accepted
    for k in range(2 * draws):
        moved = theta + rng.standard_normal(2) * 2.0 / np.sqrt(size)
        change = 0.5 * size * ((theta - data.mean()) ** 2 - (moved - data.mean()) ** 2)
        terms = -0.5 * (data - moved[1]) ** 2
        c = 4.0 * size * terms.std() / np.sqrt(batch)
        errors = size * (terms[rng.integers(size, size=(rng.poisson(c), batch))].mean(axis=1) - terms.mean())
        new = np.log(np.abs(1.0 + errors / c)).sum()
        chosen = np.log(rng.random(2)) < change + np.array([0.0, new - noise])
        theta, noise = np.where(chosen, moved, theta), new if chosen[1] else noise
        accepted += chosen * (k >= draws)
    return {"exact": accepted[0] / draws, "accepted": accepted[1] / draws}


def outliers(tests: int) -> dict[str, float]:
    """Return the frequency of wrong decisions and its theoretical value for data with extreme outliers.

    Five of 10,000 terms determine the sign of the mean.
    """
    rng, size, batch = np.random.default_rng(0), 10_000, 500
    terms = 0.01 + 0.01 * rng.standard_normal(size)
    terms[:5] -= 40.0
    mean = terms.mean() * np.sqrt(size - 1) / terms.std()
    normal = operating_characteristics(abs(mean), first_fraction=batch / size, epsilon=0.01).error
    orders = rng.permuted(np.broadcast_to(terms, (tests, size)), axis=1)
    wrong = sequential_decisions(-orders, batch, 0.01)[0]
    return {"wrong": wrong.mean(), "error": wrong.std() / np.sqrt(tests), "normal": float(normal)}


def z_process(size: int, deviation: float, mean: float, tests: int) -> float:
    """Return the largest deviation from the theory of the test.

    The deviations are those of the error and the data usage, in standard errors.
    """
    rng, fraction, epsilon, found = np.random.default_rng(size), 0.05, 0.05, []
    terms = rng.standard_normal(size)
    terms = deviation * ((terms - terms.mean()) / terms.std() + mean / np.sqrt(size - 1))
    for _ in range(tests // 100):
        orders = rng.permuted(np.broadcast_to(terms, (100, size)), axis=1)
        found.append(np.array(sequential_decisions(orders, round(fraction * size), epsilon)))
    theory = operating_characteristics(mean, first_fraction=fraction, epsilon=epsilon)
    each = np.concatenate(found, axis=1)
    away = each.mean(axis=1) - [theory.error, theory.data_use]
    return float(np.abs(away / (each.std(axis=1) / np.sqrt(each.shape[1]))).max())


def statements(experiment: Experiment) -> None:
    """Evaluate statements about the test and about other samplers."""
    full = experiment.full
    draws, tests = (500, 2000) if full else (50, 200)
    rates = experiment.cells(langevin_acceptance, [{"step_size": step, "draws": draws} for step in LANGEVIN_STEPS])
    exponent = float(np.polyfit(np.log(LANGEVIN_STEPS), np.log1p(-np.array(rates)), 1)[0])
    text = ", ".join(f"{rate:.3f}" for rate in rates)
    experiment.result("sgld, acceptance", accepted=rates, exponent=exponent, text=text)
    risks = experiment.cells(risk_of_walk, [{"epsilon": epsilon} for epsilon in KNOBS])
    best = [
        KNOBS[int(np.argmin([r["bias"] + r["variance"] * r["read"] / budget for r in risks]))] for budget in BUDGETS
    ]
    experiment.result("best epsilon", best=best, text=", ".join(f"{epsilon:g}" for epsilon in best))
    cells = [{"size": size, "batch": 100, "draws": 2 * draws} for size in PSEUDO_SIZES]
    small, large = experiment.cells(pseudo_marginal, cells)
    text = f"N = {PSEUDO_SIZES[1]:,}: {large['accepted']:.1%} accepted, {PSEUDO_SIZES[0]:,}: {small['accepted']:.1%}"
    experiment.result("pseudo-marginal", **large, text=f"{text}; exact {large['exact']:.0%}")
    (rare,) = experiment.cells(outliers, [{"tests": tests // 4}])
    numbers = {"wrong_low": rare["wrong"] - 2.0 * rare["error"], "normal_high": rare["normal"]}
    experiment.result("clt, outliers", **numbers, text=f"{rare['wrong']:.0%} wrong; {rare['normal']:.1%} by theory")
    cells = [{"size": n, "deviation": sd, "mean": mu, "tests": tests} for n, sd in POPULATIONS for mu in (0.5, 1.0)]
    largest = max(experiment.cells(z_process, cells))
    experiment.result("z process", largest=largest, text=f"at most {largest:.1f} standard errors apart")
    experiment.numbers(langevin=rates, risks=risks, pseudo_marginal=[small, large], outliers=rare)


def main() -> None:
    data = "MNIST's training images, train-images-idx3-ubyte or .gz, with the other files next to it, or an .npz"
    experiment = Experiment(__file__, __doc__, shows="Korattikara et al. (2014), theory", data=data)
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
        largest = max(each["student"], each["normal"])
        experiment.result("figure 7", largest, protocol=f"n = {n:,}")
        if n == RECOMMENDED:
            experiment.result("clt, batch", largest)
    statements(experiment)
    experiment.numbers(**{claim.replace(" ", "_"): each for claim, each in found.items()}, statistics=statistics)
    experiment.finish(plot(found, statistics))


def plot(found: dict[str, dict], statistics: list[dict]) -> Figure:
    """Plot distances and bounds against epsilon, and quantiles of t statistics against normal quantiles."""
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
