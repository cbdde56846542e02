"""The invariance test: exact draws pass, biased draws are rejected, and unusable densities are reported."""

import time

import numpy as np
import pytest
from support.autoregressions import autoregression
from support.bias_samples import RIDGE, ridge_draws

import steinkit as sk
from steinkit.diagnosis.exact_moves import Density, GroupScale, Hamiltonian, RandomScale, State, groups_of

NORMAL = sk.targets.Normal([0.0, 0.0])


ORDERED = sk.Target(
    lambda x: -x, log_density=lambda x: np.where(x[:, 0] < x[:, 1], -0.5 * (x**2).sum(axis=1), -np.inf), dim=2
)


def normal_draws(seed, n=1000, dim=2):
    return np.random.default_rng(seed).standard_normal((n, dim))


def test_shifted_draws_of_a_curved_ridge_are_rejected_and_exact_ones_pass():
    exact = [sk.invariance_test(ridge_draws(0.0, seed), RIDGE, rng=seed).p for seed in range(12)]
    shifted = [sk.invariance_test(ridge_draws(0.3, seed), RIDGE, rng=seed) for seed in range(4)]
    assert sum(p <= 0.05 for p in exact) <= 3  # binomial(12, .05) exceeds it with probability .002
    assert all(each.p <= 0.01 for each in shifted)
    assert all("x1" in each.finding.parameters for each in shifted)


def test_the_largest_of_several_extreme_biases_is_named():
    """The p-values of both coordinates underflow."""
    shift = np.array([0.5, 3.0])
    assert sk.invariance_test(normal_draws(1, 15_000) + shift, NORMAL).finding.parameters == ("x2",)


def test_score_function_replaces_a_log_density():
    target = sk.Target(RIDGE.score, dim=2)
    assert sk.invariance_test(ridge_draws(0.0, 1), target).p > 0.05
    assert sk.invariance_test(ridge_draws(0.6, 1), target).p < 1e-3


def test_log_density_is_sufficient():
    assert sk.invariance_test(ridge_draws(0.6, 1), sk.Target(log_density=RIDGE.log_density, dim=2)).p < 1e-4


def test_exact_draws_with_infinite_variance_pass():
    def draws(seed, df):
        rng = np.random.default_rng(seed)
        return rng.standard_normal((1000, 3)) * np.sqrt(df / rng.chisquare(df, (1000, 1)))

    target = sk.Target(
        lambda x: -4.0 * x / (1.0 + (x**2).sum(axis=1))[:, None],
        log_density=lambda x: -2.0 * np.log1p((x**2).sum(axis=1)),  # Student's t with one degree of freedom, d = 3
        dim=3,
    )
    assert sum(sk.invariance_test(draws(seed, 1.0), target).p <= 0.05 for seed in range(12)) <= 3
    assert sk.invariance_test(draws(0, 3.0), target).p < 1e-3


def test_exact_draws_at_a_slanted_edge_of_the_support_pass():
    exact = [sk.invariance_test(np.sort(normal_draws(seed), axis=1), ORDERED, rng=seed) for seed in range(12)]
    assert sum(each.p <= 0.05 for each in exact) <= 3
    assert all(each.has_edge for each in exact)
    shifted = np.sort(normal_draws(1), axis=1) + np.array([0.0, 0.3])
    assert sk.invariance_test(shifted, ORDERED).p < 1e-4
    assert not sk.invariance_test(normal_draws(1), NORMAL).has_edge


@pytest.mark.parametrize(
    ("inside", "near"),
    [
        (lambda x: (x**2).sum(axis=1) < 4.0, True),
        (lambda x: x.sum(axis=1) > -1.0, True),
        (lambda x: (x**2).sum(axis=1) < 100.0, False),
    ],
)
def test_edges_near_the_draws_are_detected(inside, near):
    x = normal_draws(11)
    target = sk.Target(log_density=lambda z: np.where(inside(z), NORMAL.log_density(z), -np.inf), dim=2)
    assert sk.invariance_test(x[inside(x)], target).has_edge is near


@pytest.mark.parametrize("bounds", [None, [0.0, np.inf]])
def test_bounds_are_not_edges(bounds):
    draws = np.random.default_rng(2).exponential(size=(1000, 2))
    target = sk.Target(
        lambda x: -np.ones_like(x),
        log_density=lambda x: np.where((x > 0.0).all(axis=1), -x.sum(axis=1), -np.inf),
        bounds=bounds,
        dim=2,
    )
    found = sk.invariance_test(draws, target)
    assert found.p > 0.05
    assert found.has_edge is (bounds is None)


def test_slanted_edge_is_detected_for_a_slow_density(monkeypatch):
    monkeypatch.setattr("steinkit.diagnosis.invariance._SECONDS", 0.0)  # every density counts as too slow
    for seed in range(2):
        draws = np.sort(normal_draws(seed), axis=1)
        with pytest.warns(sk.SteinkitWarning, match="not tested"):
            found = sk.verdict(draws, ORDERED)
        assert found.invariance.p is None
        assert found.invariance.has_edge
        assert found.invariance.evaluations == 100
        assert found.label == "not tested"
        assert not found.is_biased
    assert not sk.invariance_test(normal_draws(1), NORMAL).has_edge


def test_autocorrelated_exact_draws_pass():
    rng, p_values = np.random.default_rng(4), []
    for seed in range(12):
        chain = autoregression(rng.standard_normal((1000, 2)), 0.8)
        p_values.append(sk.invariance_test(chain, NORMAL, rng=seed).p)
    assert sum(p <= 0.05 for p in p_values) <= 3


def test_importance_weights_may_have_any_order():
    p_values = []
    for seed in range(12):
        draws = 1.3 * normal_draws(seed)
        weights = np.exp(-0.5 * (draws**2).sum(axis=1) * (1.0 - 1.0 / 1.69))
        order = np.argsort(weights)
        p_values.append(sk.invariance_test(draws[order], NORMAL, weights=weights[order], rng=seed).p)
    assert sum(p <= 0.05 for p in p_values) <= 3
    assert sk.invariance_test(draws, NORMAL).p < 1e-4  # without their weights


def test_repeated_draws_count_once():
    distinct = normal_draws(3, n=200)
    repeated = distinct[np.random.default_rng(3).integers(200, size=2000)]
    found = sk.invariance_test(repeated, NORMAL)
    assert found.draws <= 200
    assert found.p > 0.05


def test_the_result_depends_on_the_seed_alone():
    draws = normal_draws(5)
    first, again = (sk.invariance_test(draws, NORMAL, rng=3) for _ in range(2))
    assert first.to_dict() == again.to_dict()
    assert first.z != sk.invariance_test(draws, NORMAL, rng=4).z


def test_drift_points_towards_the_target():
    drift = sk.invariance_test(normal_draws(6) * [1.3, 1.0] + [0.5, 0.0], NORMAL).drift
    assert drift.mean[0] < -3.0 * drift.mean_error[0]
    assert abs(drift.mean[1]) < 4.0 * drift.mean_error[1]
    assert drift.square[0] < 0.0
    assert ((drift.mean_mixing > 0.0) & (drift.mean_mixing <= 1.0)).all()


def test_random_densities_are_reported():
    density = np.random.default_rng(1)
    found = sk.invariance_test(
        normal_draws(7), sk.Target(lambda x: -x, log_density=lambda x: density.standard_normal(len(x)), dim=2)
    )
    assert found.p is None
    assert "random" in found.reason
    assert found.to_dict()["p"] is None


def test_densities_of_another_shape_are_rejected():
    target = sk.Target(lambda x: -x, log_density=lambda x: -0.5 * x**2, dim=2)
    with pytest.raises(sk.InputError, match=r"\(1000, 2\)|\(20, 2\)"):
        sk.invariance_test(normal_draws(7), target)


def test_kernel_without_accepted_moves_yields_no_p_value():
    draws = normal_draws(8)

    def spikes(x):
        return np.where(np.isin(x[:, 0], draws[:, 0]) & np.isin(x[:, 1], draws[:, 1]), 0.0, -1e6)

    found = sk.invariance_test(draws, sk.Target(lambda x: -x, log_density=spikes, dim=2))
    assert found.p is None
    assert "accepts" in found.reason


def test_cost_per_call_does_not_reduce_the_draws():
    def log_density(x):
        time.sleep(0.002)
        return -0.5 * (x**2).sum(axis=1)

    draws = np.random.default_rng(3).standard_normal((4000, 1))
    found = sk.invariance_test(draws, sk.Target(lambda x: -x, log_density=log_density, dim=1))
    assert (found.draws, found.warnings) == (4000, ())


def test_too_slow_density_yields_no_p_value():
    def log_density(x):
        time.sleep(0.01 * len(x))
        return -0.5 * (x**2).sum(axis=1)

    target = sk.Target(lambda x: -x, log_density=log_density, dim=2)
    target.score_is_checked = True
    found = sk.invariance_test(normal_draws(13, n=100), target)
    assert found.p is None
    assert "slow" in found.reason
    assert not any(map(str.isdigit, found.reason))  # a measured time would make equal runs differ


def test_proposals_with_an_exception_are_rejected():
    def log_density(x):
        if (x[:, 0] > 3.5).any():
            raise ValueError("sigma > 0")
        return -0.5 * (x**2).sum(axis=1)

    draws = normal_draws(9)
    draws = draws[draws[:, 0] < 3.5]
    assert sk.invariance_test(draws, sk.Target(lambda x: -x, log_density=log_density, dim=2)).p > 0.05


@pytest.mark.parametrize("kernel", ["hamiltonian", "random scale"])
def test_kernels_leave_the_target_invariant(kernel):
    # From exact draws of N(0, C) the mean, the variances and a probability stay within four standard errors.
    covariance = np.array([[1.0, 0.8], [0.8, 4.0]])
    target = sk.targets.Normal([0.0, 0.0], covariance=covariance)
    rng = np.random.default_rng(10)
    draws = target.sample(20_000, rng)
    density = Density(target, None)
    state = State(draws, target.log_density(draws))
    root = np.linalg.cholesky(covariance)
    chosen = Hamiltonian(density, root, rng) if kernel == "hamiltonian" else RandomScale(density, root.T, rng)
    for _ in range(10):
        state, accepted = chosen.move(state)
    assert 0.2 < accepted < 1.0
    moved = state.points
    assert (moved != draws).any(axis=1).mean() > 0.99
    assert abs(moved.mean(axis=0) / np.sqrt(np.diag(covariance))).max() < 4.0 / np.sqrt(20_000)
    assert abs(moved.var(axis=0) / np.diag(covariance) - 1.0).max() < 4.0 * np.sqrt(2.0 / 20_000)
    assert abs((moved[:, 0] > 1.0).mean() - 0.15866) < 4.0 * np.sqrt(0.16 * 0.84 / 20_000)


def hierarchical(positive):
    """Return a target (scale, mean, four effects) with effects N(mean, scale^2), and a sampler of exact draws.

    The logarithm of the scale is N(0, 1). The first parameter is the scale, bounded by zero, or its logarithm.
    """

    def log_density(x):
        log_scale = np.log(x[:, 0]) if positive else x[:, 0]
        z = (x[:, 2:] - x[:, 1:2]) * np.exp(-log_scale)[:, None]
        return -0.5 * (log_scale**2 + x[:, 1] ** 2 + (z**2).sum(axis=1)) - (4 + positive) * log_scale

    def draw(n, rng):
        log_scale, mean = rng.standard_normal((2, n))
        effects = mean[:, None] + np.exp(log_scale)[:, None] * rng.standard_normal((n, 4))
        return np.column_stack([np.exp(log_scale) if positive else log_scale, mean, effects])

    bounds = [[0.0, np.inf], *[[-np.inf, np.inf]] * 5] if positive else None
    return sk.Target(lambda x: np.zeros_like(x), log_density=log_density, bounds=bounds, dim=6), draw


@pytest.mark.parametrize("positive", [False, True])
def test_group_scale_moves_leave_a_hierarchical_model_invariant(positive):
    target, draw = hierarchical(positive)
    rng = np.random.default_rng(11)
    draws = draw(20_000, rng)
    groups = groups_of(draws, target.bounds)
    assert groups[0].scale == 0
    assert groups[0].members.tolist() == [2, 3, 4, 5]
    state = State(draws, target.log_density(draws))
    kernel = GroupScale(Density(target, target.bounds), groups, rng)
    for _ in range(10):
        state, accepted = kernel.move(state)
    assert 0.2 < accepted < 1.0
    log_scale = np.log(state.points[:, 0]) if positive else state.points[:, 0]
    assert (state.points != draws).any(axis=1).mean() > 0.9
    assert abs(log_scale.mean()) < 4.0 / np.sqrt(20_000)
    assert abs(log_scale.var() - 1.0) < 4.0 * np.sqrt(2.0 / 20_000)
    z = (state.points[:, 2:] - state.points[:, 1:2]) * np.exp(-log_scale)[:, None]
    assert abs(z.var(axis=0) - 1.0).max() < 4.0 * np.sqrt(2.0 / 20_000)


def test_parameter_with_two_values_is_moved_without_numpy_warnings():
    draws = normal_draws(14)
    draws[:, 0] = np.where(np.arange(1000) % 2, -1.0, 1.0)
    assert sk.invariance_test(draws, NORMAL).p < 1e-3


def test_draws_that_miss_the_neck_of_a_hierarchical_model_are_rejected():
    target, draw = hierarchical(positive=False)
    draws = draw(4000, np.random.default_rng(12))
    missing = draws[draws[:, 0] > -1.0][:1000]
    assert sk.invariance_test(draws[:1000], sk.Target(log_density=target.log_density, dim=6)).p > 0.05
    assert sk.invariance_test(missing, sk.Target(log_density=target.log_density, dim=6)).p < 1e-3
