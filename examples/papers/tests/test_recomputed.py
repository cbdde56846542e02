"""Three results per paper, recomputed by plain loops that share only data and points with the scripts."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit, stdtr
from scipy.stats import t as student_t

import steinkit as sk
from steinkit.samplers import iid

RESULTS = Path(__file__).parents[1] / "results"


def document(script):
    return json.loads((RESULTS / f"{script}.json").read_text(encoding="utf-8"))


def found(script, claim, protocol=""):
    results = document(script)["results"]
    return next(r["found"] for r in results if (r["claim"], r["protocol"]) == (claim, protocol))


def normal_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


# Gorham and Mackey (2015)


def graph_discrepancy(points, factors=(1.0, 1.0, 1.0)):
    """Solve algorithm 2 for Unif(0, 1) as a linear program, with the constraints of all pairs."""
    x = sorted({0.0, 1.0, *points})
    c1, c2, c3 = factors
    n, A, b = len(x), [], []

    def at_most(bound, **terms):
        for sign in (1.0, -1.0):
            row = np.zeros(2 * n)
            for name, value in terms.items():
                row[int(name[1:]) + n * (name[0] == "d")] = sign * value
            A.append(row)
            b.append(bound)

    for i in range(n):
        for j in range(i):
            gap = x[i] - x[j]
            at_most(c2 * gap, **{f"g{i}": 1.0, f"g{j}": -1.0})
            at_most(c3 * gap, **{f"d{i}": 1.0, f"d{j}": -1.0})
            at_most(0.5 * c3 * gap**2, **{f"g{i}": 1.0, f"g{j}": -1.0, f"d{i}": -gap})
            at_most(0.5 * c3 * gap**2, **{f"g{i}": 1.0, f"g{j}": -1.0, f"d{j}": -gap})
    ends = [(0.0, 0.0) if each in (0.0, 1.0) else (-c1, c1) for each in x]
    cost = np.zeros(2 * n)
    for point in points:
        cost[n + x.index(point)] -= 1.0 / len(points)  # the mean of g' is maximized, because the score is zero
    return -linprog(cost, A_ub=A, b_ub=b, bounds=ends + [(-c2, c2)] * n).fun


def test_midpoints_have_nearly_twice_the_classical_discrepancy():
    for n in (2, 5):
        value = graph_discrepancy([(i + 0.5) / n for i in range(n)], (0.5, 0.5, 1.0))
        assert value == pytest.approx((2 * n - 1) / (4 * n**2), rel=1e-6)
    least = (2 * 10 - 1) / 10 - 1.0  # smallest of three numbers of points; the ratio minus one is 1 - 1 / n
    assert least < found("stein_discrepancies_compared", "graph near classical, uniform", "midpoints")["median"] < 1.0


def test_sobol_points_converge_like_one_over_n():
    points = [0.0]
    for k in range(1, 16):  # the van der Corput sequence is the Sobol' sequence in one dimension
        digits, denominator, value = k, 2.0, 0.0
        while digits:
            value, digits, denominator = value + (digits & 1) / denominator, digits >> 1, 2.0 * denominator
        points.append(value)
    sizes = [2, 4, 8, 16]
    values = [graph_discrepancy(points[:n]) for n in sizes]
    slope = np.polyfit(np.log(sizes), np.log(values), 1)[0]
    assert slope == pytest.approx(found("stein_rates", "rate, sobol", "powers of two")["value"], abs=0.02)


def test_iid_points_have_the_discrepancy_of_the_program():
    target = sk.targets.Uniform([0.0], [1.0])
    values = []
    for seed in range(50):
        points = iid(target, draws=200, seed=[seed]).points[0, :6, 0].tolist()
        values.append(graph_discrepancy(points))
    assert np.median(values) == pytest.approx(document("stein_rates")["numbers"]["graph_iid"][5], rel=1e-5)


# Korattikara, Chen and Welling (2014)


def sequential_test(terms, threshold, batch, epsilon, rng):
    """Run algorithm 1; return its decision and the number of terms read."""
    N, order, n = len(terms), rng.permutation(len(terms)), 0
    while True:
        n = min(n + batch, N)
        seen = terms[order[:n]]
        if n == N:
            return seen.mean() > threshold, n
        s = seen.std(ddof=1) / math.sqrt(n) * math.sqrt(1.0 - (n - 1.0) / (N - 1.0))
        if stdtr(n - 1, -abs(seen.mean() - threshold) / s) < epsilon:
            return seen.mean() > threshold, n


def test_errors_of_a_test_equal_those_of_a_random_walk_in_a_strip():
    rng, fraction, epsilon = np.random.default_rng(0), 0.05, 0.2
    bound = student_t.ppf(1.0 - epsilon, 1e9)
    for k, mean in enumerate((0.0, 0.5, 1.0)):
        wrong, walks = 0, 6000
        for _ in range(walks):
            bridge, before = 0.0, 0.0
            for share in np.arange(1, 20) * fraction:  # stages of a Brownian bridge with a drift
                shrunk = (1.0 - share) / (1.0 - before)
                bridge = bridge * shrunk + math.sqrt((share - before) * shrunk) * rng.standard_normal()
                z = (bridge + mean * share) / math.sqrt(share * (1.0 - share))
                before = share
                if abs(z) > bound:
                    wrong += z < 0.0
                    break
        simulated = document("austerity_designs")["numbers"]["simulated"][2]
        theirs, error = simulated["wrong"][k], simulated["wrong_error"][k]
        assert abs(wrong / walks - theirs) < 3.0 * math.hypot(error, 0.5 / math.sqrt(walks)) + 0.01


def test_gibbs_updates_are_biased_towards_a_half():
    numbers = document("austerity_gibbs")["numbers"]["chains"][5]  # epsilon 0.2
    rng = np.random.default_rng(1)
    for place in (5, 15):
        p = numbers["p"][place]
        terms = 0.02 * math.sqrt(2.0) * rng.standard_normal(4851)
        terms += (math.log(p / (1.0 - p)) - terms.sum()) / len(terms)
        ones, tests = 0, 3000
        for _ in range(tests):
            u = rng.random()
            ones += sequential_test(terms, math.log(u / (1.0 - u)) / len(terms), 500, 0.2, rng)[0]
        assert abs(ones / tests - p - numbers["excess"][place]) < 4.0 * 0.5 / math.sqrt(tests)


def toy():
    """Return the regression of section 6.4: responses, features, and the posterior's cdf on a grid."""
    target = sk.targets.LassoRegression.toy()
    x, y = (np.asarray(each, dtype=float).ravel() for each in target.data)
    grid = np.linspace(-0.05, 0.15, 20_001)
    squares, products = (x**2).sum(), (x * y).sum()
    log_density = -1.5 * (grid**2 * squares - 2.0 * grid * products) - 4950.0 * np.abs(grid)
    density = np.exp(log_density - log_density.max())
    return x, y, grid, np.cumsum(density) / density.sum()


def gradient(theta, x, y, batch):
    slope = 3.0 * len(x) / len(batch) * (x[batch] * (y[batch] - theta * x[batch])).sum()
    return slope - 4950.0 * math.copysign(1.0, theta)


def test_langevin_moves_without_a_test_are_strongly_biased():
    x, y, grid, cdf = toy()
    rng, alpha, visited = np.random.default_rng(2), 5e-6, []
    for _ in range(40):
        theta = grid[np.searchsorted(cdf, rng.random())]
        for _ in range(400):
            batch = rng.choice(len(x), 500, replace=False)
            theta += 0.5 * alpha * gradient(theta, x, y, batch) + math.sqrt(alpha) * rng.standard_normal()
            visited.append(theta)
    below = np.searchsorted(np.sort(visited), grid) / len(visited)
    distance = np.abs(below - cdf).max()
    assert distance > 0.2
    assert distance == pytest.approx(found("sequential_sgld_pitfall", "sgld, severe")["value"], abs=0.06)


# Korattikara, Chen and Welling (2016)


def test_langevin_moves_with_a_test_read_a_seventh_of_the_data():
    x, y, grid, cdf = toy()
    rng, alpha, N, read = np.random.default_rng(3), 5e-6, len(x), []

    def log_proposal(to, of, batch):
        return -((to - of - 0.5 * alpha * gradient(of, x, y, batch)) ** 2) / (2.0 * alpha)

    for _ in range(20):
        theta = grid[np.searchsorted(cdf, rng.random())]
        for _ in range(80):
            batch = rng.choice(N, 500, replace=False)
            drift = 0.5 * alpha * gradient(theta, x, y, batch)
            proposed = theta + drift + math.sqrt(alpha) * rng.standard_normal()
            level = math.log(rng.random()) + 4950.0 * (abs(proposed) - abs(theta))
            level += log_proposal(proposed, theta, batch) - log_proposal(theta, proposed, batch)
            terms = -1.5 * ((y - proposed * x) ** 2 - (y - theta * x) ** 2)
            accepted, n = sequential_test(terms, level / N, 500, 0.1, rng)
            theta = proposed if accepted else theta
            read.append(100.0 * n / N)
    error = np.std(read) / math.sqrt(len(read) / 2.0)
    assert abs(np.mean(read) - found("sequential_sgld_pitfall", "sgld, read at 0.1")["value"]) < 3.0 * error
    assert found("sequential_sgld_pitfall", "sgld, read at 0.5")["value"] == pytest.approx(100.0 * 500 / N)


def irls(X, y, passes):
    """Compute least absolute deviations by repeated weighted least squares."""
    theta = np.zeros(X.shape[1])
    for _ in range(passes):
        weights = 1.0 / np.maximum(np.abs(y - X @ theta), 1e-4)
        theta = np.linalg.solve((X * weights[:, None]).T @ X, (X * weights[:, None]).T @ y)
        yield theta


def test_all_data_take_fifteen_passes_for_least_absolute_deviations():
    rng, dim, size = np.random.default_rng(4), 10, 50_000
    X = rng.standard_normal((size + 5000, dim))
    X[:, 0] = 1.0
    y = X @ np.linspace(1.0, 2.0, dim) + rng.laplace(size=len(X))
    losses = np.array([np.abs(y[size:] - X[size:] @ theta).mean() for theta in irls(X[:size], y[:size], 80)])
    passes = int(np.flatnonzero(losses > 1.01 * losses[-1])[-1]) + 2  # first pass that remains within one percent
    theirs = found("sequential_irls", "lad, beside batch", "N0 = 464")["batch"]
    assert abs(passes - theirs) <= 3


def test_a_batch_of_a_thousandth_is_too_small_for_one_per_cent():
    rng, excesses = np.random.default_rng(5), {}
    X = rng.standard_normal((200_000, 10))
    X[:, 0] = 1.0
    y = rng.random(len(X)) < expit(0.5 * X @ np.linspace(1.0, 2.0, 10))

    def fitted(X, y):
        theta = np.zeros(10)
        for _ in range(12):
            r = expit(X @ theta)
            theta = theta + np.linalg.solve((X * (r * (1.0 - r))[:, None]).T @ X, X.T @ (y - r))
        return theta

    def loss(theta):
        eta = X @ theta
        return (np.logaddexp(0.0, eta) - y * eta).mean()

    best = loss(fitted(X, y))
    for batch in (500, 8100):
        fits = [rng.choice(len(X), batch, replace=False) for _ in range(10)]
        excesses[batch] = np.mean([loss(fitted(X[each], y[each])) / best - 1.0 for each in fits])
    assert excesses[500] > 0.01 > 5.0 * excesses[8100]
    assert found("sequential_irls", "logistic, beside batch", "N0 = 500")["test"] == 1e9  # never near
    assert found("sequential_irls", "logistic, beside batch", "N0 = 8,100")["test"] < 1.0


# Seita, Pan, Chen and Canny (2016; 2017)


def ridge_error(N, sigma, penalty, coarse):
    """Compute table 3 on a coarser grid, with the penalty divided by the square of the ratio of grid sizes."""
    steps = N // coarse
    Y = [20.0 * j / steps for j in range(-steps, steps + 1)]
    X = [20.0 * i / steps for i in range(-2 * steps, 2 * steps + 1)]
    M = np.array([[normal_cdf((x - y) / sigma) for y in Y] for x in X])
    v = np.array([1.0 / (1.0 + math.exp(-x)) for x in X])
    u = np.linalg.solve(M.T @ M + penalty / coarse**2 * np.eye(len(Y)), M.T @ v)
    return float(np.abs(M @ np.maximum(u, 0.0) - v).max())


@pytest.mark.parametrize(
    ("claim", "N", "sigma", "penalty"),
    [
        ("table 3, N = 4000, sigma = 1, lambda = 10", 4000, 1.0, 10.0),
        ("table 3, N = 4000, sigma = 1.1, lambda = 0.1", 4000, 1.1, 0.1),  # not printed in the paper
        ("first version, table 1, sigma = 0.9, lambda = 1", 4000, 0.9, 1.0),
        ("first version, table 1, sigma = 0.8, lambda = 0.03", 4000, 0.8, 0.03),
    ],
)
def test_errors_of_the_correction_are_those_of_ridge_regression(claim, N, sigma, penalty):
    assert ridge_error(N, sigma, penalty, 20) == pytest.approx(found("barker_correction", claim)["value"], rel=0.02)


@pytest.mark.parametrize("part", [None, 100])
def test_the_fraction_of_tests_that_read_all_data_decreases_unless_batches_grow(part):
    rng, N, everything, moves = np.random.default_rng(6), 10_000, 0, 400
    data = 0.5 + rng.standard_normal(N)
    batch = 100 if part is None else N // part
    for _ in range(moves):
        theta = data.mean() + rng.standard_normal() / math.sqrt(N)
        moved = theta + rng.standard_normal() / math.sqrt(N)
        terms = 0.5 * ((data - theta) ** 2 - (data - moved) ** 2)
        everything += sequential_test(terms, math.log(rng.random()) / N, batch, 0.005, rng)[1] == N
    shares = found("barker_worst_case", "lemma 1, austerity", "m = 100" if part is None else "m = N / 100")["shares"]
    theirs = shares[1] if part is None else shares[0]  # at N = 10,000
    assert abs(everything / moves - theirs) < 3.0 * math.sqrt(theirs * (1.0 - theirs) * (1.0 / moves + 1.0 / 2000.0))


def mixture_walk(first, sigma, early, prior, steps, rng):
    """Return the data read by Barker's test, in batches until the variance of the estimate is below sigma^2."""
    N = 100_000
    T = N / 100.0  # as wide as the posterior for a hundred data points
    data = np.sqrt(2.0) * rng.standard_normal(N) + (rng.random(N) < 0.5)

    def log_likelihood(theta, x):
        return np.log(np.exp(-0.25 * (x - theta[0]) ** 2) + np.exp(-0.25 * (x - theta[0] - theta[1]) ** 2))

    def log_prior(theta):
        return -0.5 * (theta[0] ** 2 / 10.0 + theta[1] ** 2) if prior else 0.0

    theta, read = np.array([0.5, 0.0]), []
    whole = log_likelihood(theta, data)
    for _ in range(steps):
        moved = theta + 0.15 * rng.standard_normal(2)
        after = log_likelihood(moved, data)
        order, n = rng.integers(0, N, 20_000), first
        while True:
            terms = (after - whole)[order[:n]]
            error = terms.std(ddof=1) / math.sqrt(n) * N / T
            delta = terms.mean() * N / T + log_prior(moved) - log_prior(theta)
            if error < sigma or (early and abs(delta) > 5.0 * error):
                break
            n += first
        read.append(n)
        delta = (after - whole).sum() / T + log_prior(moved) - log_prior(theta)  # decided by Barker's rule on all data
        if rng.random() < expit(delta):
            theta, whole = moved, after
    return np.array(read)


@pytest.mark.parametrize(
    ("claim", "protocol", "settings"),
    [
        ("mixture, Barker", "algorithm 1", (50, 1.0, False, True)),
        ("first version, mixture, Barker", "their code", (100, 0.9, True, False)),
    ],
)
def test_data_usage_of_barkers_test_for_a_mixture(claim, protocol, settings):
    read = mixture_walk(*settings, 600, np.random.default_rng(7))
    error = read.std() / math.sqrt(len(read) / 3.0)  # moves are independent, states are not
    theirs = found("barker_mixture", claim, protocol)["value"]
    assert abs(read.mean() - theirs) < 3.0 * error
    assert np.mean(read < 1000) > 0.5
