"""Bounds on distances, against exact distances, known Stein factors and errors of means."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

import steinkit as sk
from steinkit.discrepancy.graph.distances import factors_on_line

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
