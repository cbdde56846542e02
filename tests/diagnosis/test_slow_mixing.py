"""Slow mixing hidden by noise: autocorrelation times, and exact chains that rarely change their region."""

import math

import numpy as np
import pytest
from scipy.signal import lfilter

import steinkit as sk
from steinkit import draws as draws_module
from steinkit.autocorrelation import integrated_autocorrelation_times, long_run_times, slowest_change


def switching(seed, n, flip, kind):
    """Return a chain of exact draws that switches between two normal distributions with the same center."""
    rng = np.random.default_rng(seed)
    region = (np.cumsum(rng.random(n) < flip) + seed) % 2
    if kind == "correlations":
        covariances = [np.array([[1.0, r], [r, 1.0]]) for r in (0.95, -0.95)]
    else:
        covariances = [np.eye(2), 25.0 * np.eye(2)]
    roots = np.array([np.linalg.cholesky(each) for each in covariances])
    x = np.einsum("nij,nj->ni", roots[region], rng.standard_normal((n, 2)))
    inverses = [np.linalg.inv(each) for each in covariances]
    logs = np.array(
        [-0.5 * np.einsum("ni,ij,nj->n", x, each, x) + 0.5 * np.linalg.slogdet(each)[1] for each in inverses]
    )
    shares = np.exp(logs - np.logaddexp(*logs))
    return x, -sum(share[:, None] * (x @ each) for share, each in zip(shares, inverses, strict=True))


def deviations(values):
    return values - values.mean(axis=1, keepdims=True)


@pytest.mark.parametrize("share", [0.02, 0.05])
def test_time_includes_a_slow_part_below_the_noise(share):
    rng, n, flip = np.random.default_rng(0), 4000, 0.01
    signs = 1.0 - 2.0 * ((np.cumsum(rng.random((200, n)) < flip, axis=1) + rng.integers(2, size=(200, 1))) % 2)
    values = deviations(math.sqrt(share) * signs + math.sqrt(1.0 - share) * rng.standard_normal((200, n)))
    theory = 1.0 + share * ((1.0 - flip) / flip - 1.0)
    assert long_run_times(values, [slice(0, n)]).mean() == pytest.approx(theory, rel=0.15)
    assert integrated_autocorrelation_times(values, [slice(0, n)]).mean() < 0.6 * theory


def test_times_without_a_slow_part_are_unchanged():
    rng = np.random.default_rng(1)
    white = deviations(rng.standard_normal((300, 1000)))
    quick = deviations(lfilter([1.0], [1.0, -0.8], rng.standard_normal((300, 1000)), axis=1))
    for values, most in ((white, 1.02), (quick, 1.15)):  # the larger of noisy estimates is taken
        before = integrated_autocorrelation_times(values, [slice(0, 1000)])
        after = long_run_times(values, [slice(0, 1000)])
        assert (after >= before).all()
        assert after.mean() < most * before.mean()


@pytest.mark.parametrize("kind", ["correlations", "scales"])
def test_regions_that_no_coordinate_separates_are_slow(kind):
    n, flip = 10_000, 0.01
    found = []
    for seed in range(5):
        x, scores = switching(seed, n, flip, kind)
        z, t = (x - x.mean(axis=0)) / x.std(axis=0), scores * x.std(axis=0)
        found.append(slowest_change(z, t, [slice(0, n)]))
        assert integrated_autocorrelation_times(deviations(z.T), [slice(0, n)]).max() < 5.0
    assert 1.0 / flip < np.mean(found) < 1.6 / flip  # the indicator's time is 99, and its batches add to it


def test_sides_of_a_symmetric_target_are_slow():
    """Draws stay on one side for 100 draws on average; their distances from the center are independent."""
    rng, n, flip = np.random.default_rng(6), 10_000, 0.01
    x = (1.0 - 2.0 * (np.cumsum(rng.random(n) < flip) % 2))[:, None] + 0.1 * rng.standard_normal((n, 1))
    assert 0.5 / flip < slowest_change(x, -x, [slice(0, n)]) < 2.0 / flip


@pytest.mark.parametrize(("n", "dim"), [(120, 10), (150, 50), (1000, 3)])
def test_independent_draws_have_a_time_of_one(n, dim):
    found = [slowest_change(x, -x, [slice(0, n)]) for x in np.random.default_rng(n).standard_normal((10, n, dim))]
    assert sorted(found)[-2] == 1.0  # one value may exceed 1 by chance


def test_time_of_many_functions_is_not_an_extreme_of_their_noise():
    """All 529 functions of a lazy chain have the time 19."""
    rng, n, dim, stay = np.random.default_rng(2), 2000, 31, 0.9
    x = rng.standard_normal((n, dim))
    x = x[np.maximum.accumulate(np.where(rng.random(n) < stay, 0, np.arange(n)))]
    assert 15.0 < slowest_change(x, -x, [slice(0, n)]) < 45.0  # the largest of several estimates would be above 60


def test_chains_of_one_draw_have_a_time_of_one():
    x = np.random.default_rng(3).standard_normal((300, 2))
    singles = [slice(k, k + 1) for k in range(300)]
    assert slowest_change(x, -x, singles) == 1.0
    assert long_run_times(deviations(x.T), singles).tolist() == [1.0, 1.0]


def test_rounding_errors_have_a_time_of_one():
    x = np.random.default_rng(4).standard_normal((500, 3))
    assert slowest_change(x, np.full((500, 3), 1.0 / 3.0), [slice(0, 500)]) == 1.0


@pytest.mark.parametrize("kind", ["correlations", "scales"])
def test_exact_chains_that_rarely_change_their_region_are_not_rejected(kind):
    """Regions last for 200 of 1000 draws, and their random proportions resemble a bias."""
    chains = [switching(seed, 1000, 0.005, kind) for seed in range(7)]
    found = [sk.verdict(x, scores=scores) for x, scores in chains]
    assert any(each.p <= 0.05 for each in found)
    assert sum(min(each.moments.n_effective, each.sliced.n_effective) > 100.0 for each in found) >= len(found) - 1
    assert not any(each.is_biased for each in found)


def test_moments_of_slow_chains_have_larger_standard_errors(monkeypatch):
    chains = [switching(seed, 5000, 0.005, "correlations") for seed in range(30)]

    def rejections():
        samples = [sk.Sample(x, scores=scores) for x, scores in chains]
        return sum(sk.moment_stein_discrepancy(each).p <= 0.01 for each in samples)

    assert rejections() <= 2
    monkeypatch.setattr(draws_module, "long_run_times", integrated_autocorrelation_times)
    assert rejections() > 6


def test_alternation_along_an_axis_is_slow():
    """Along one of two axes, draws alternate between two points that change slowly."""
    rng, n = np.random.default_rng(6), 1000
    u = rng.standard_normal((n, 2))
    for t in range(1, n):
        u[t, 0] = -0.998 * u[t - 1, 0] + math.sqrt(1.0 - 0.998**2) * u[t, 0]
    x = u @ np.array([[1.0, 1.0], [-0.3, 0.3]])
    found = sk.verdict(x, scores=-x @ np.linalg.inv(np.array([[1.09, 0.91], [0.91, 1.09]])))
    assert found.effective_draws < 30.0
    assert not found.is_biased


def test_biased_chains_that_disagree_are_rejected():
    """One chain is wider than the others, and all are shifted."""
    x = np.random.default_rng(0).standard_normal((4, 500, 2))
    x[0] *= 1.5
    x += 3.0
    found = sk.verdict(x, scores=-x)
    assert found.is_biased
    assert found.effective_draws > 1000.0


def test_one_biased_chain_of_several_is_detected():
    rejected = 0
    for seed in range(2):
        x = np.random.default_rng(seed).standard_normal((8, 1000, 5))
        x[0, :, :2] *= 1.5
        rejected += sk.verdict(x, scores=-x).is_biased
    assert rejected >= 1
