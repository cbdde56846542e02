"""Moments: features compared with their definition, level, power, units, chains, weights and bounds."""

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.discrepancy import moments as module
from steinkit.discrepancy.moments import moment_stein_discrepancy, standardised, usual_times
from steinkit.scored_sample import ScoredSample
from steinkit.units import Units

CORRELATED = sk.targets.Normal([1.0, -2.0, 0.5], covariance=[[4.0, 1.8, 0.0], [1.8, 1.0, 0.1], [0.0, 0.1, 0.25]])


def by_definition(x, s):
    """Return the means of the features of one chain, computed draw by draw."""
    n, d = x.shape
    z, t = (x - x.mean(axis=0)) / x.std(axis=0), s * x.std(axis=0)
    rows = []
    for i in range(n):
        learn = z[n // 2 :] if i < n // 2 else z[: n // 2]
        variances, axes = np.linalg.eigh(np.cov(learn.T, bias=True).reshape(d, d))
        c = z[i] - learn.mean(axis=0)
        u, g = axes.T @ c, axes.T @ t[i]
        radius = (u**2 / variances).sum()
        damping = 1.0 / (1.0 + radius / (64.0 * d))
        whole = [(1.0 + u * g).sum(), radius / d * damping * (u @ g + d + 2.0 * damping)]
        pairs = [c[a] * t[i, b] + c[b] * t[i, a] for a in range(d) for b in range(a + 1, d)]
        rows.append([*whole, *t[i], *(1.0 + c * t[i]), *(1.0 + u * g), *pairs])
    return np.mean(rows, axis=0)


def test_features_match_their_definition():
    x = CORRELATED.sample(81, np.random.default_rng(0))
    found = moment_stein_discrepancy(x, CORRELATED)
    assert found.mean == pytest.approx(by_definition(x, CORRELATED.score(x)), rel=1e-9, abs=1e-10)
    kinds = [feature.kind for feature in found.features]
    assert kinds[:2] == ["total spread", "tails"]
    assert [kinds.count(kind) for kind in ("location", "spread", "axis spread", "dependence")] == [3, 3, 3, 3]


def test_one_dimension_has_no_pairs():
    found = moment_stein_discrepancy(np.random.default_rng(0).standard_normal(100), sk.targets.Normal(0.0))
    assert set(found.group_p_values) == {"whole", "own"}


def test_level():
    """More than 10 rejections of 80 samples at level .05 have probability .003."""
    rng, rejected, slow = np.random.default_rng(7), 0, 0
    for _ in range(80):
        rejected += moment_stein_discrepancy(CORRELATED.sample(400, rng), CORRELATED).p < 0.05
        chain = autoregression(CORRELATED.sample(1000, rng) - CORRELATED.mean, 0.7)  # effective size about 180
        slow += moment_stein_discrepancy(chain + CORRELATED.mean, CORRELATED).p < 0.05
    assert rejected <= 10
    assert slow <= 10


@pytest.mark.parametrize(
    ("biased", "kind", "coordinates"),
    [
        (lambda x: x + np.array([0.5, 0.0, 0.0]), "location", ("x1",)),
        (lambda x: x * np.array([1.0, 1.0, 1.3]), "spread", ("x3",)),
    ],
)
def test_largest_moment_identifies_the_bias(biased, kind, coordinates):
    target = sk.targets.Normal([0.0, 0.0, 0.0])
    found = moment_stein_discrepancy(biased(target.sample(1000, np.random.default_rng(1))), target)
    assert found.p < 1e-4
    moment = found.largest_moments[0]
    assert (moment.kind, moment.coordinates) == (kind, coordinates)
    assert abs(moment.z) > 5.0


def test_lost_dependence_is_detected():
    rng = np.random.default_rng(2)
    x = CORRELATED.sample(1000, rng)
    x[:, 0] = rng.permutation(x[:, 0])
    found = moment_stein_discrepancy(x, CORRELATED)
    assert found.group_p_values["pairs"] < 1e-6
    pairs = [each for each in found.largest_moments if each.kind == "dependence"]
    assert pairs[0].coordinates == ("x1", "x2")


def test_moments_are_invariant_to_rescaling():
    x = CORRELATED.sample(500, np.random.default_rng(3))
    scale = np.array([1e-3, 40.0, 7.0])
    one = moment_stein_discrepancy(x, scores=CORRELATED.score(x))
    other = moment_stein_discrepancy(x * scale, scores=CORRELATED.score(x) / scale)
    assert other.z == pytest.approx(one.z, rel=1e-8, abs=1e-8)
    assert other.p == pytest.approx(one.p, rel=1e-8)


def test_bounds_are_required():
    target = sk.targets.Gamma([3.0, 1.0])
    rng, rejected, bare = np.random.default_rng(4), 0, 0
    for _ in range(40):
        x = target.sample(500, rng)
        rejected += moment_stein_discrepancy(x, target).p < 0.05
        bare += moment_stein_discrepancy(x, scores=target.score(x)).p < 0.05
    assert rejected <= 7  # binomial(40, .05): more has probability .001
    assert bare == 40  # the density is not zero at the bound of the second coordinate
    assert moment_stein_discrepancy(1.3 * target.sample(2000, rng), target).p < 0.01


def test_importance_weights():
    rng = np.random.default_rng(5)
    wide, target = sk.targets.Normal([0.0, 0.0], covariance=2.0), sk.targets.Normal([0.0, 0.0])
    x = wide.sample(4000, rng)
    weights = np.exp(target.log_density(x) - wide.log_density(x))
    found = moment_stein_discrepancy(x, target, weights=weights)
    assert found.p > 0.01
    assert "treated as an autocorrelated chain" in " ".join(found.warnings)
    assert (found.autocorrelation_time < 1.3).all()
    assert moment_stein_discrepancy(x, target).p < 1e-6
    # self-normalized mean and its standard error
    share = weights / weights.sum()
    t = -x[:, 0] * np.sqrt(share @ (x[:, 0] - share @ x[:, 0]) ** 2)
    k = [feature.kind for feature in found.features].index("location")
    assert found.mean[k] == pytest.approx(share @ t)
    time = max(found.autocorrelation_time[k], np.median(found.autocorrelation_time[k : k + 2]))
    assert found.z[k] == pytest.approx(share @ t / np.sqrt(time * (share**2) @ (t - share @ t) ** 2))


def test_many_chains_of_one_draw():
    x = np.random.default_rng(8).standard_normal((200, 1, 2))
    assert moment_stein_discrepancy(sk.Sample(x), scores=-x).p > 0.01


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (np.zeros((20, 2)), "constant in all draws"),
        (np.random.default_rng(0).standard_normal((7, 2)), "at least 8 draws"),
        (1e200 * np.random.default_rng(0).standard_normal((20, 2)), "overflow"),
    ],
)
def test_invalid_draws_are_refused(draws, message):
    with pytest.raises(sk.InputError, match=message):
        moment_stein_discrepancy(draws, scores=-draws)


def test_few_effective_draws_are_reported():
    x = np.random.default_rng(0).standard_normal((60, 2))
    assert "100 effective draws" in " ".join(moment_stein_discrepancy(x, scores=-x).warnings)


def test_p_value_matches_its_definition():
    x = np.random.default_rng(9).standard_normal((300, 2))
    found = moment_stein_discrepancy(x, scores=-x)
    freedom = found.n_effective / 5.0
    own = max(abs(z) for feature, z in zip(found.features, found.z, strict=True) if feature.group == "own")
    assert found.group_p_values["own"] == pytest.approx(min(1.0, 2 * 6 * stats.t.sf(own, freedom)))
    assert found.p == min(1.0, 3 * min(found.group_p_values.values()))


def test_level_of_skewed_targets():
    """Over 600 samples the frequency of rejections at level .01 was .03, and .12 without the correction."""
    rng, rejected = np.random.default_rng(10), 0
    for target in (sk.targets.Gamma(0.5, dim=2), sk.targets.StudentT(3.0, dim=3)):
        rejected += sum(moment_stein_discrepancy(target.sample(500, rng), target).p < 0.01 for _ in range(100))
    assert rejected <= 12


def test_outliers_are_detected():
    rng, found = np.random.default_rng(11), []
    for _ in range(10):
        x = rng.standard_normal((1000, 5))
        x[::100] = 4.0 * rng.choice([-1.0, 1.0], size=(10, 5))
        found.append(moment_stein_discrepancy(x, scores=-x).group_p_values["whole"] < 0.01 / 3)
    assert sum(found) >= 9


def test_z_score_uses_at_least_the_median_autocorrelation_time():
    x = np.random.default_rng(14).standard_normal((300, 2)).repeat(2, axis=0)
    found = moment_stein_discrepancy(x, scores=-x)
    k = [feature.kind for feature in found.features].index("location")
    times = found.autocorrelation_time
    floored = np.maximum(times, np.median(times[k : k + 2]))
    assert (floored[k : k + 2] > times[k : k + 2]).any()
    t = -x * x.std(axis=0)
    error = t.std(axis=0, ddof=1) * np.sqrt(floored[k : k + 2] / len(x))
    assert found.z[k : k + 2] == pytest.approx(t.mean(axis=0) / error)


def test_features_have_mean_zero_on_a_box():
    """Integrate by quadrature over a density exp(-xy - x - y) on a half strip, which is positive at the bounds."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    panels = [(0.0, 1.0), (1.0, 4.0), (4.0, 12.0), (12.0, 50.0)]
    first = np.concatenate([(b - a) / 2 * nodes + (a + b) / 2 for a, b in panels])
    mass = np.concatenate([(b - a) / 2 * weights for a, b in panels])
    x = np.array([(u, v) for u in first for v in (nodes + 1.0) / 2])
    density = np.exp(-x[:, 0] * x[:, 1] - x.sum(axis=1)) * np.outer(mass, weights / 2).ravel()
    unsorted = np.random.default_rng(13).permutation(len(x))
    x, density = x[unsorted], density[unsorted]
    box = np.array([[0.0, np.inf], [0.0, 1.0]])
    # the second half of the sample are the quadrature nodes; their center and axes come from the first
    learn = np.random.default_rng(12).random((len(x), 2)) * [3.0, 1.0]
    both, share = np.vstack([learn, x]), np.concatenate([np.full(len(x), 1.0 / len(x)), density / density.sum()])
    prepared = ScoredSample.of(both, scores=-both[:, ::-1] - 1.0, weights=share, bounds=box)
    laid_out = prepared.draws
    parts = standardised(laid_out, Units.of("own", prepared.points), prepared.bounds)
    moments = module.Moments.of(*parts, laid_out)
    use = laid_out.halves[1]
    for values in moments.feature_values():
        values = values[:, use]
        assert abs(values @ laid_out.shares[use]).max() < 1e-9 * (abs(values) @ laid_out.shares[use]).max()


def test_times_of_pairs_are_computed_for_a_subset_and_for_large_z_scores(monkeypatch):
    """With a limit of 40 of the 190 pairs, all other results change only through the median of the times."""
    draws = lfilter([1.0], [1.0, -0.6], np.random.default_rng(8).standard_normal((2000, 20)), axis=0) * 0.8
    draws[:, 7] += 0.4 * draws[:, 3]
    whole = sk.moment_stein_discrepancy(draws, scores=-draws)
    monkeypatch.setattr("steinkit.discrepancy.moments._MOST_TIMED", 40)
    found = sk.moment_stein_discrepancy(draws, scores=-draws)
    pairs = np.array([feature.group == "pairs" for feature in whole.features])
    large = np.abs(whole.z) > 3.0
    assert 1 <= np.count_nonzero(pairs & large) < 60
    same = ~pairs | large
    equal = np.isclose(found.autocorrelation_time, whole.autocorrelation_time, rtol=1e-12, atol=0.0)
    assert equal[same].all()
    assert np.count_nonzero(equal) <= np.count_nonzero(same) + 40
    np.testing.assert_allclose(found.z[same], whole.z[same], rtol=0.1)
    assert np.abs(found.z[~same]).max() < 3.0
    assert found.group_p_values["own"] == whole.group_p_values["own"]
    assert found.p < 1e-6


@pytest.mark.parametrize("is_weighted", [False, True])
def test_matrix_products_for_many_pairs_agree_with_the_features_of_few_pairs(is_weighted):
    rng = np.random.default_rng(5)
    draws = rng.standard_normal((400, 70)) * np.linspace(0.5, 2.0, 70) + 3.0
    draws[:, 2] = draws[:, 3] + 1e-9 * rng.standard_normal(400)
    weights = rng.random(400) if is_weighted else None

    def pairs(dim):
        found = sk.moment_stein_discrepancy(draws[:, :dim], sk.targets.Normal(np.zeros(dim)), weights=weights)
        slower = np.maximum(found.autocorrelation_time, usual_times(found.features, found.autocorrelation_time))
        error = found.mean / found.z / np.sqrt(slower)
        chosen = zip(found.features, found.mean, error, strict=True)
        return {each.coordinates: (mean, e) for each, mean, e in chosen if each.kind == "dependence"}

    few, many = pairs(10), pairs(70)
    np.testing.assert_allclose([many[each] for each in few], list(few.values()), rtol=1e-9, atol=1e-13)
