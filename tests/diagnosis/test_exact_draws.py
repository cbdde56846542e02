"""Exact draws that are not independent rows of equal weight pass, with a warning about the assumptions."""

import numpy as np
import pytest
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.draws import rounding_units
from steinkit.scored_sample import ScoredSample

NORMAL = sk.targets.Normal(0.0, dim=2)


def laid_out(draws, weights=None):
    points = np.asarray(draws)
    return ScoredSample.of(draws, scores=-points, weights=weights).draws


def weighted(rng, n=1000):
    """Return draws that are 1.3 times too wide, with correct importance weights."""
    x = 1.3 * rng.standard_normal((n, 2))
    return x, np.exp(-0.5 * (x**2).sum(axis=1) * (1.0 - 1.0 / 1.69))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("direction", [1, -1])
def test_rows_sorted_by_weight_pass(seed, direction):
    x, w = weighted(np.random.default_rng(seed))
    order = np.argsort(w)[::direction]
    found = sk.verdict(x[order], NORMAL, weights=w[order])
    assert found.p > 0.05
    assert found.effective_draws == pytest.approx(w.sum() ** 2 / (w @ w), rel=1e-9)  # Kish's effective size
    assert any("sorted by weight" in each for each in found.warnings)


def test_rows_sorted_by_weight_are_rejected_if_the_draws_are_biased():
    x, w = weighted(np.random.default_rng(0))
    order = np.argsort(w)
    assert sk.verdict(x[order] + [0.2, 0.0], NORMAL, weights=w[order]).p < 0.001


def nested_sampling(rng, live, dim=2, radius=6.0):
    """Return dead points of nested sampling of N(0, I) in a ball, and their weights."""
    radii, dead = radius * rng.random(live) ** (1.0 / dim), []
    while len(dead) < 8 * live:
        largest = int(radii.argmax())
        dead.append(radii[largest])
        radii[largest] *= rng.random() ** (1.0 / dim)
    x = rng.standard_normal((len(dead), dim))
    r = np.array(dead)
    x *= (r / np.linalg.norm(x, axis=1))[:, None]
    return x, np.exp(-0.5 * r**2 - np.arange(len(r)) / live)


@pytest.mark.parametrize("seed", range(3))
def test_nested_sampling_passes_and_its_live_points_are_estimated(seed):
    x, w = nested_sampling(np.random.default_rng(seed), 200)
    found = laid_out(x, w)
    assert 1.0 / found.nested[1] == pytest.approx(200.0, rel=0.06)
    judged = sk.verdict(x, NORMAL, weights=w)
    assert judged.p > judged.level
    assert judged.effective_draws > 200.0
    # the autocorrelation of sorted rows is not used
    assert judged.ess == pytest.approx(w.sum() ** 2 / (w @ w), rel=1e-9)
    assert sk.verdict(x + np.array([0.3, 0.0]), NORMAL, weights=w).p < 0.01


def test_autocorrelation_times_of_nested_sampling_match_simulation():
    """The variance of the second moment of N(0, I) over runs exceeds the variance due to the weights alone."""
    means, times, alone = [], [], []
    for seed in range(200):
        x, w = nested_sampling(np.random.default_rng(seed), 30)
        draws = laid_out(x, w)
        squares = (draws.points**2).sum(axis=1)
        means.append(squares @ draws.shares)
        deviations = squares - means[-1]
        alone.append(deviations**2 @ draws.shares**2)
        times.append(draws.autocorrelation_times(deviations[None])[0])
    assert np.mean(means) == pytest.approx(2.0, abs=0.05)
    assert np.var(means) == pytest.approx(np.mean(np.multiply(alone, times)), rel=0.25)
    assert np.var(means) > 2.0 * np.mean(alone)


def test_weights_of_a_chain_do_not_count_as_sorted():
    x = autoregression(np.random.default_rng(0).standard_normal((2000, 1)), 0.99)
    assert not laid_out(x, np.exp(0.5 * x[:, 0])).disorder
    assert laid_out(np.sort(x, axis=0), np.exp(0.5 * np.sort(x[:, 0]))).disorder


def test_multiplicities_of_a_chain_act_as_repeated_rows():
    rng = np.random.default_rng(1)
    x = autoregression(rng.standard_normal((3000, 2)), 0.8)
    counts = rng.geometric(0.4, len(x))
    merged = sk.moment_stein_discrepancy(x, NORMAL, weights=counts)
    repeated = sk.moment_stein_discrepancy(np.repeat(x, counts, axis=0), NORMAL)
    named = [k for k, feature in enumerate(merged.features) if feature.kind in ("location", "spread")]
    assert merged.mean[named] == pytest.approx(repeated.mean[named], abs=2e-3)
    assert merged.z[named] == pytest.approx(repeated.z[named], rel=0.15, abs=0.1)
    assert merged.n_effective == pytest.approx(repeated.n_effective, rel=0.2)


def test_one_weight_near_one_has_almost_no_effect():
    x = autoregression(np.random.default_rng(2).standard_normal((2000, 1)), 0.9)
    plain = sk.moment_stein_discrepancy(x, sk.targets.Normal(0.0))
    found = sk.moment_stein_discrepancy(x, sk.targets.Normal(0.0), weights=np.r_[1.001, np.ones(len(x) - 1)])
    assert found.z == pytest.approx(plain.z, rel=0.02, abs=0.02)
    assert any("chain in the given order" in each for each in found.warnings)


def test_resampled_points_count_once_with_their_multiplicity():
    rng = np.random.default_rng(3)
    pool = rng.standard_normal((300, 2))
    rows = rng.integers(0, 300, 600)
    found = laid_out(pool[rows])
    counts = np.bincount(rows)
    assert len(found.points) == np.count_nonzero(counts)
    assert found.size == pytest.approx(600.0**2 / (counts.astype(float) @ counts))
    assert "reappear" in found.disorder[0]
    assert sk.verdict(pool[rows], NORMAL).p > 0.05
    assert sk.verdict(pool[rows] + np.array([0.5, 0.0]), NORMAL).p < 0.01
    weighted = sk.moment_stein_discrepancy(pool[rows], NORMAL, weights=rng.random(300)[rows])
    assert any("omit the weights" in each for each in weighted.warnings)


def test_repeated_states_of_a_chain_keep_their_order():
    x = autoregression(np.random.default_rng(4).standard_normal((300, 1)), 0.5)
    found = laid_out(np.repeat(x, 4, axis=0))
    assert len(found.points) == 1200
    assert not found.disorder
    assert not found.is_weighted


@pytest.mark.parametrize("dim", [1, 2])
def test_chance_repetitions_of_rounded_values_do_not_count(dim):
    x = autoregression(np.random.default_rng(5).standard_normal((1000, dim)), 0.8)
    found = laid_out(np.round(x, 1))
    assert len(found.points) == 1000
    assert not found.disorder


def test_rounding_units_are_detected():
    x = np.random.default_rng(6).standard_normal((2500, 5))
    x[:, 1] = np.round(x[:, 1], 1)
    x[:, 2] = np.round(4.0 * x[:, 2]) / 4.0 + 0.1
    x[:, 3] = 2.54 * np.round(x[:, 3], 2)
    x[:, 4] = x[:, 4] > 0.0
    assert rounding_units(x) == pytest.approx([0.0, 0.1, 0.25, 0.0254, 0.0])
    assert not rounding_units(np.float32(x[:, :1]).astype(float)).any()


@pytest.mark.parametrize("seed", range(2))
def test_draws_rounded_to_one_decimal_pass(seed):
    sd = np.array([0.6, 1.0])
    x = np.round(sd * np.random.default_rng(seed).standard_normal((2000, 2)), 1)
    found = sk.verdict(x, scores=-x / sd**2)
    assert found.p > 0.05
    assert any("x1 to 0.1 and x2 to 0.1" in each for each in found.warnings)


def test_rounded_wide_draws_are_rejected_by_slices():
    x = np.round(1.2 * np.random.default_rng(0).standard_normal((1000, 2)), 1)
    assert sk.sliced_stein_test(x, NORMAL).p < 0.001


@pytest.mark.parametrize("df", [1.0, 2.0])
def test_draws_of_infinite_variance_pass(df):
    p = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((1000, 3)) * np.sqrt(df / rng.chisquare(df, (1000, 1)))
        p.append(sk.moment_stein_discrepancy(x, scores=-(df + 3.0) * x / (df + (x**2).sum(axis=1))[:, None]).p)
    assert min(p) > 0.01


def test_thinned_points_have_a_warning():
    x = np.random.default_rng(7).standard_normal((1000, 2))
    chosen = sk.verdict(sk.thin(x, NORMAL, m=100), NORMAL)
    assert any("probably selected" in each for each in chosen.warnings)
    assert not chosen.is_biased
    for seed in range(5):
        x = np.random.default_rng(seed).standard_normal((300, 2))
        assert not any("probably selected" in each for each in sk.verdict(x, NORMAL).warnings)


def test_many_short_chains_pass_with_a_warning():
    rng = np.random.default_rng(8)
    chains = np.stack([autoregression(rng.standard_normal((50, 2)), 0.5) for _ in range(64)])
    with pytest.warns(sk.ReadingWarning, match="64 chains of 50 draws"):
        found = sk.verdict(chains, NORMAL)
    assert found.p > 0.05


@pytest.mark.parametrize("seed", range(2))
def test_shape_that_a_shift_of_another_coordinate_explains_is_not_reported(seed):
    target = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, 0.9], [0.9, 1.0]])
    x = target.sample(1000, np.random.default_rng(seed))
    x[:, 0] += 0.3
    assert {each.parameters for each in sk.verdict(x, target).findings} == {("x1",)}


@pytest.mark.parametrize("seed", range(2))
def test_wrong_shape_is_reported_together_with_a_correlated_shift(seed):
    """x1 is shifted and x2 is bimodal, under a correlation of .5."""
    rng = np.random.default_rng(seed)
    target = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, 0.5], [0.5, 1.0]])
    x = rng.standard_normal((1000, 2))
    x[:, 1] = 0.9 * rng.choice([-1.0, 1.0], 1000) + np.sqrt(0.19) * x[:, 1]
    x[:, 0] = 0.5 * x[:, 1] + np.sqrt(0.75) * x[:, 0] + 0.15
    named = {(each.kind, each.parameters) for each in sk.verdict(x, target).findings}
    assert named >= {("location", ("x1",)), ("shape", ("x2",))}
