"""Bounds on distances, against exact distances, known Stein factors and errors of means."""

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson, solve_ivp
from scipy.optimize import brentq, linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import norm

import steinkit as sk
from steinkit.discrepancy.graph.distances import bound_from_convexity, factors_on_line

KNOWN = {
    "normal": (sk.targets.Normal(), (1.0, np.sqrt(2.0 / np.pi), 2.0)),
    "wide normal": (sk.targets.Normal([3.0], [4.0]), (4.0, 2.0 * np.sqrt(2.0 / np.pi), 2.0)),
    "uniform": (sk.targets.Uniform([0.0], [1.0]), (0.125, 0.5, 1.0)),
}
"""Targets with known Stein factors: Chen, Goldstein and Shao (2011), lemma 2.4, and elementary integrals."""


@pytest.mark.parametrize("name", KNOWN)
def test_factors_on_the_line(name):
    target, factors = KNOWN[name]
    found = np.array(factors_on_line(target, np.linspace(0.2, 0.7, 9)))
    assert (found >= factors).all()
    np.testing.assert_allclose(found, factors, rtol=2e-3)


@pytest.mark.parametrize("name", ["Gamma", "StudentT", "Beta"])
def test_targets_with_infinite_factors_are_refused(name):
    target = {"Gamma": sk.targets.Gamma(3.0), "StudentT": sk.targets.StudentT(5.0), "Beta": sk.targets.Beta(0.5, 2.0)}
    with pytest.raises(sk.UsageError, match=r"infinite or cannot be computed|too slowly"):
        factors_on_line(target[name], np.linspace(0.2, 0.7, 9))


TARGETS = [
    sk.targets.Normal([1.0], [2.0]),
    sk.targets.GaussianMixture([-1.0, 1.0], sd=0.7, weights=[0.3, 0.7]),
    sk.targets.Uniform([-1.0], [2.0]),
]


@pytest.mark.parametrize("units", ["raw", "own"])
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.label)
@pytest.mark.parametrize("seed", range(4))
def test_bounds_exceed_the_exact_distance_on_the_line(seed, target, units):
    x = target.sample(50, seed)
    x = x if target.bounds is not None else x + 0.2 * seed
    exact = sk.wasserstein_distance(x, target, units="raw").upper
    result = sk.graph_stein_discrepancy(x, target, units=units)
    bound = result.distance_bound(target)
    again = sk.graph_stein_discrepancy(x, target, units=units, stein_factors=bound.stein_factors)
    sharp = again.distance_bound(target)
    assert exact <= sharp.wasserstein <= bound.wasserstein * (1.0 + 1e-5)
    assert sharp.wasserstein < 8.0 * exact
    assert sharp.wasserstein == pytest.approx(again.upper * again.units.scale[0])
    assert abs(np.mean(x) - np.mean(target.sample(100_000, 9))) <= sharp.means + 0.02


@pytest.mark.parametrize("seed", range(3))
def test_bounds_exceed_transport_costs_and_errors_of_means_in_the_plane(seed):
    target = sk.targets.Normal([1.0, 0.0], [[1.5, 0.6], [0.6, 0.8]])
    x = target.sample(40, seed) + 0.3 * seed
    cost = cdist(np.repeat(x, 10, axis=0), target.sample(400, 10 + seed))
    transport = cost[linear_sum_assignment(cost)].mean()
    for units in ("raw", "own"):
        bound = sk.graph_stein_discrepancy(x, target, units=units).distance_bound(target)
        assert bound.wasserstein > transport
        assert bound.means > np.linalg.norm(x.mean(axis=0) - target.mean)


def test_a_shift_of_a_normal_sample_is_bounded_sharply():
    """For N(0, 1) and a single draw at m, the discrepancy with c1 = 1 is at least m, and the error of the mean is m."""
    result = sk.graph_stein_discrepancy([[3.0]], sk.targets.Normal(), stein_factors=(1.0, 1e-6, 1e-6))
    assert result.distance_bound(convexity=1.0).means == pytest.approx(3.0, rel=1e-5)


def test_the_convexity_of_a_normal_target_is_known():
    target = sk.targets.Normal([0.0, 0.0], [[2.0, 0.9], [0.9, 1.0]])
    assert target.convexity == pytest.approx(np.linalg.eigvalsh(np.linalg.inv([[2.0, 0.9], [0.9, 1.0]]))[0])
    assert sk.targets.Normal([0.0, 0.0], [1.0, 4.0]).convexity == pytest.approx(0.25)


def test_invalid_arguments():
    x = np.random.default_rng(0).standard_normal((20, 2))
    result = sk.graph_stein_discrepancy(x, scores=-x)
    with pytest.raises(sk.UsageError, match="pass convexity="):
        result.distance_bound()
    for wrong in (0.0, -1.0, np.inf):
        with pytest.raises(sk.UsageError, match="positive convexity"):
            result.distance_bound(convexity=wrong)
    inside = sk.graph_stein_discrepancy(x, scores=-x, bounds=[[-5.0, 5.0], [-np.inf, np.inf]])
    with pytest.raises(sk.UsageError, match="unbounded support"):
        inside.distance_bound(convexity=1.0)


@pytest.mark.parametrize(
    ("target", "other"),
    [
        (sk.targets.Normal([0.0]), sk.targets.Normal([3.0])),
        (sk.targets.Uniform([0.0], [1.0]), sk.targets.Uniform([-9.0], [9.0])),  # the scores are equal
    ],
)
def test_the_target_of_the_discrepancy_is_required(target, other):
    result = sk.graph_stein_discrepancy(target.sample(30, 0), target)
    with pytest.raises(sk.UsageError, match="pass the same target"):
        result.distance_bound(other)


def convex_target(weight, directions, offsets):
    """Return log p = -|x|^2/2 - weight sum_i log cosh(a_i'x + b_i), and bounds of its third and fourth derivatives."""
    a, b = np.array(directions), np.array(offsets)

    def log_density(x):
        t = x @ a.T + b
        return -0.5 * (x**2).sum(axis=1) - weight * np.logaddexp(t, -t).sum(axis=1)

    target = sk.Target(score=lambda x: -x - weight * np.tanh(x @ a.T + b) @ a, log_density=log_density, dim=a.shape[1])
    sizes = np.linalg.norm(a, axis=1)
    return target, 4.0 / 3.0**1.5 * weight * (sizes**3).sum(), 2.0 * weight * (sizes**4).sum()


def convex_factors(third, fourth):
    """Return the Stein factors of linear functions for convexity 1."""
    used = np.where(np.eye(3) == 1.0, 1.0, np.inf)
    return [bound_from_convexity(1.0, tuple(row), (1.0, third, fourth), np.ones(2), None).means for row in used]


def largest_derivatives(target):
    """Return the suprema of |g|, |g'| and |g''|, where g is the Stein function of h(x) = x in one dimension."""
    x = np.linspace(-14.0, 14.0, 40_001)
    step, s = x[1] - x[0], target.score(x[:, None])[:, 0]
    p = np.exp(target.log_density(x[:, None]) - target.log_density(x[:, None]).max())

    def integral(values):
        return cumulative_simpson(values, dx=step, initial=0.0)

    centered = x - integral(p * x)[-1] / integral(p)[-1]
    below, above = integral(p * centered), -integral((p * centered)[::-1])[::-1]
    g = np.where(x < x[p.argmax()], below, above) / p
    slope = centered - s * g
    inside = p > 1e-12
    return [np.abs(each[inside]).max() for each in (g, slope, np.gradient(slope, step))]


@pytest.mark.parametrize(
    ("weight", "slope", "offset", "sharp"),
    [
        (0.252, 0.124, -0.65, (0, 1)),  # the bound on g' is attained up to 3%
        (0.0348, 0.0913, 0.133, (0, 2)),  # the bound on g'' is attained up to 3%
        (0.5, 1.0, 0.5, ()),
        (3.5, 0.2, -2.7, (0,)),
        (10.0, 2.0, 1.0, ()),
    ],
)
def test_factors_of_convex_targets_bound_the_stein_function_of_the_mean(weight, slope, offset, sharp):
    target, third, fourth = convex_target(weight, [[slope]], [offset])
    ratios = np.array(largest_derivatives(target)) / convex_factors(third, fourth)
    assert (ratios < 1.0 + 1e-6).all()
    assert (ratios[list(sharp)] > 0.97).all()


def test_factors_are_integrals_of_the_derivatives_of_the_flow():
    """The bounds of the derivatives v, u and w of the diffusion in its start solve linear differential equations."""
    k, third, fourth = 2.0, 3.0, 5.0

    def flow(_, state):
        v, u, w = state[:3]
        slopes = [-k * v, -k * u + third * v**2, -k * w + 3.0 * third * v * u + fourth * v**3]
        return [*(0.5 * each for each in slopes), v, u, v**2, w, 3.0 * v * u, v**3]

    end = solve_ivp(flow, (0.0, 60.0), [1.0, *np.zeros(8)], rtol=1e-10, atol=1e-12).y[3:, -1]
    given = (k, third, fourth), np.ones(2), None
    used = np.where(np.eye(3) == 1.0, 1.0, np.inf)
    linear = [bound_from_convexity(1.0, tuple(row), *given).means for row in used]
    np.testing.assert_allclose(linear, end[[0, 1, 3]] / 2.0, rtol=1e-7)
    c1, c2, c3 = bound_from_convexity(1.0, (1.0, 1.0, 1.0), *given).stein_factors
    second = (2.0 * c2 - end[1]) / end[2]
    sigma = np.sqrt(2.0 / np.pi) / second
    assert c1 == linear[0]
    assert 2.0 * c3 == pytest.approx(end[3] + second * end[4] + 4.0 * norm.pdf(1.0) / sigma**2 * end[5], rel=1e-7)


PLANE = ([[1.0, 0.5], [-0.3, 1.2], [0.8, -0.8]], [1.0, -0.5, 0.7])


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_for_a_target_in_the_plane_that_is_not_normal(seed):
    target, third, fourth = convex_target(0.5, *PLANE)
    ticks = np.linspace(-6.0, 6.0, 241)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    density = np.exp(target.log_density(grid))
    mass, rng = density / density.sum(), np.random.default_rng(seed)
    x = grid[rng.choice(len(grid), 40, p=mass)] + 0.5 * seed
    cost = cdist(np.repeat(x, 10, axis=0), grid[rng.choice(len(grid), 400, p=mass)])
    transport = cost[linear_sum_assignment(cost)].mean()
    known = {"convexity": 1.0, "third_derivative": third, "fourth_derivative": fourth}
    bound = sk.graph_stein_discrepancy(x, target, units="raw").distance_bound(**known)
    again = sk.graph_stein_discrepancy(x, target, units="raw", stein_factors=bound.stein_factors)
    for each in (bound, again.distance_bound(**known)):
        assert each.wasserstein > transport
        assert each.means > np.linalg.norm(x.mean(axis=0) - mass @ grid)


def test_the_third_derivative_bounds_the_distance_from_mode_to_mean():
    """At the mode, the score is 0, and the discrepancy is 2 c2. The mean is almost c2 = L3/2 from the mode."""
    target, third, fourth = convex_target(0.252, [[0.124, 0.0]], [-0.65])
    ticks = np.linspace(-7.0, 7.0, 1401)
    line = np.column_stack([ticks, np.zeros_like(ticks)])
    mean = np.average(ticks, weights=np.exp(target.log_density(line)))
    mode = brentq(lambda t: target.score(np.array([[t, 0.0]]))[0, 0], -1.0, 1.0)
    factors = convex_factors(third, fourth)
    result = sk.graph_stein_discrepancy([[mode, 0.0]], target, units="raw", stein_factors=tuple(factors))
    bound = result.distance_bound(convexity=1.0, third_derivative=third, fourth_derivative=fourth)
    assert 0.97 * third / 2.0 < abs(mode - mean) < bound.means
    assert bound.means == pytest.approx(third)
