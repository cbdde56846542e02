"""Sliced test: level for exact samples and slow chains, power, units, bounds, weights."""

import numpy as np
import pytest
from scipy import stats
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.autocorrelation import integrated_autocorrelation_times
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.sliced_goodness_of_fit import TOLERANCE, Half, learn, sliced_stein_test


def test_level_of_exact_samples():
    """A binomial(50, .05) count exceeds 7 with probability .01."""
    target = sk.targets.Normal([0.0, 0.0, 0.0], covariance=[[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 4.0]])
    rng = np.random.default_rng(0)
    assert sum(sliced_stein_test(target.sample(300, rng), target).p < 0.05 for _ in range(50)) <= 7


def test_level_of_slow_chains():
    rng, rejected = np.random.default_rng(1), 0
    for _ in range(40):
        x = autoregression(rng.standard_normal((1000, 2)), 0.8)
        rejected += sliced_stein_test(x, scores=-x).p < 0.05
    assert rejected <= 6


@pytest.mark.parametrize(
    "biased",
    [lambda x: 0.85 * x, lambda x: 1.2 * x, lambda x: x + 0.3 * np.eye(x.shape[1])[0], lambda x: np.sign(x) * x**2],
    ids=["narrow", "wide", "shifted", "other shape"],
)
@pytest.mark.parametrize("dim", [1, 4])
def test_power(biased, dim):
    x = biased(np.random.default_rng(2).standard_normal((1000, dim)))
    assert sliced_stein_test(x, scores=-x).p < 1e-3


def test_principal_axes_detect_a_narrow_direction():
    target = sk.targets.Normal([0.0, 0.0], covariance=np.array([[1.0, 0.95], [0.95, 1.0]]))
    x = target.sample(1000, np.random.default_rng(3))
    thin = x @ (np.ones((2, 2)) / 2 + 0.8 * (np.eye(2) - np.ones((2, 2)) / 2))
    found = sliced_stein_test(thin, target)
    assert found.p < 1e-3
    assert found.direction_names[int(found.z.argmax())].startswith("principal axis")


def test_bounds_are_required():
    target = sk.targets.Gamma([1.0, 1.0])
    rng, rejected, bare = np.random.default_rng(5), 0, 0
    for _ in range(20):
        x = target.sample(300, rng)
        found = sliced_stein_test(x, target)
        rejected += found.p < 0.05
        bare += sliced_stein_test(x, scores=target.score(x)).p < 0.05
    assert found.direction_names == ("x1", "x2")
    assert rejected <= 4
    assert bare == 20
    assert sliced_stein_test(1.4 * target.sample(1000, rng), target).p < 0.01


def test_importance_weights():
    wide, target = sk.targets.Normal([0.0, 0.0], covariance=2.0), sk.targets.Normal([0.0, 0.0])
    x = wide.sample(3000, np.random.default_rng(6))
    weights = np.exp(target.log_density(x) - wide.log_density(x))
    assert sliced_stein_test(x, target, weights=weights).p > 0.05
    assert sliced_stein_test(x, target).p < 1e-3


def test_z_score_matches_its_definition():
    x = 0.95 * np.random.default_rng(7).standard_normal((200, 1))
    z = (x - x.mean()) / x.std()
    t, h = -x * x.std(), np.empty(200)
    halves = np.arange(100), np.arange(100, 200)
    for known, use in (halves, halves[::-1]):
        (learned,) = learn(Half(z[known], t[known], np.full(100, 0.01)), np.eye(1), [None], Settings(TOLERANCE))
        h[use] = learned.test_function(z[use], t[use])
    centred = np.concatenate([h[half] - h[half].mean() for half in halves])
    time = integrated_autocorrelation_times(centred[None], [slice(0, 200)])[0]
    each = [h[half].mean() / (h[half].std(ddof=1) * np.sqrt(time / 100)) for half in halves]
    found = sliced_stein_test(x, scores=-x)
    assert found.z == pytest.approx([sum(each) / np.sqrt(3.0)], rel=1e-6)
    assert found.p == pytest.approx(stats.t.sf(found.z[0], 200 / time / 5.0), rel=1e-6)


def test_largest_z_scores_and_their_directions():
    covariance = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    target = sk.targets.Normal(np.zeros(3), covariance=covariance)
    found = sliced_stein_test(1.1 * target.sample(400, np.random.default_rng(8)), target)
    assert [each.z for each in found.largest] == sorted(found.z, reverse=True)[:5]
    for each in found.largest:
        k = found.direction_names.index(each.name)
        assert found.z[k] == each.z
        if k < 3:
            assert each.direction.tolist() == np.eye(3)[k].tolist()
        else:
            assert np.count_nonzero(each.direction) == 3
    (only,) = sliced_stein_test(
        np.arange(-50.0, 51.0)[:, None] / 30, scores=-np.arange(-50.0, 51.0)[:, None] / 30
    ).largest
    assert only.name == "x1"


def test_scores_with_overflowing_squares():
    draws = np.cumsum(np.random.default_rng(0).standard_normal((400, 2)), axis=0) % 7.0
    z = sliced_stein_test(draws, scores=-(2.0**60) * draws).z
    large = sliced_stein_test(draws, scores=-(2.0**300) * draws)
    assert np.abs(z).min() > 0.0
    assert large.z == pytest.approx(z, rel=1e-6)
    outlying = -draws
    outlying[7] *= 2.0**300
    assert np.isfinite(sliced_stein_test(draws, scores=outlying).z).all()
