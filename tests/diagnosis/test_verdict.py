"""The verdict on exact and biased samples: slow, narrow, shifted, without dependence, weighted, multimodal."""

import json
import math

import numpy as np
import pytest
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.diagnosis.evidence import shared_level
from steinkit.diagnosis.verdict_result import combined
from steinkit.samplers import rwmh

CORRELATION = np.array([[1.0, 0.9], [0.9, 1.0]])
CORRELATED = sk.targets.Normal([0.0, 0.0], covariance=CORRELATION)
SHARES = {"moments": 0.3, "bounded": 0.27, "sliced": 0.23, "ksd": 0.2, "invariance": 0.4}


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("dim", [1, 3, 10])
def test_exact_samples_pass(dim):
    found = sk.verdict(normal(dim, (1000, dim)), sk.targets.Normal(0.0, dim=dim))
    assert not found.is_biased
    assert found.findings == ()
    assert 300.0 < found.ksd_equivalent_draws < 3000.0  # .34 to 2.25 times n for d = 2
    assert found.p == pytest.approx(min(1.0, *(found.p_of(test) / share for test, share in SHARES.items())), rel=1e-12)


@pytest.mark.parametrize(
    ("p_values", "p"),
    [
        ((0.003, 0.9, 0.9, 0.9), 0.01),
        ((0.9, 0.0027, 0.9, 0.9), 0.01),
        ((0.9, 0.9, 0.0023, 0.9), 0.01),
        ((0.9, 0.9, 0.9, 0.002), 0.01),
        ((0.003, 0.9, 0.0023, 0.0002), 0.001),
        ((0.003, 0.9, 0.9, None), 0.008),  # the share of the kernel test is distributed
        ((0.9, 0.0027, 0.9, None), 0.008),
        ((0.9, 0.9, 0.0023, None), 0.008),
        ((0.9, 0.9, 0.9, 0.9), 1.0),
    ],
)
def test_tests_share_the_level(p_values, p):
    tests = shared_level(dict(zip(("moments", "bounded", "sliced", "ksd"), p_values, strict=True)))
    assert combined(tests) == pytest.approx(p, rel=1e-12)


@pytest.mark.parametrize(("carrying", "enough"), [(99, False), (130, True)])
def test_a_hundred_effective_draws_are_required(carrying, enough):
    """For weighted draws this is Kish's effective size, here about the number of draws with weight."""
    x = normal(1, (400, 2)) + 0.8
    found = sk.verdict(x, scores=-x, weights=np.where(np.arange(400) < carrying, 1.0, 1e-12))
    assert 0.75 * carrying < found.effective_draws <= carrying
    assert found.p < found.level
    assert (found.enough_draws, found.is_biased) == (enough, enough)


@pytest.mark.parametrize(("dim", "unit"), [(2, 0.01), (3, 1.0), (10, 0.01)])
def test_narrow_sample_is_rejected_in_any_units(dim, unit):
    """In three or more dimensions, the graph discrepancy prefers this sample to an exact one."""
    x = 0.5 * unit * normal(0, (1000, dim))
    found = sk.verdict(x, scores=-x / unit**2)
    assert found.is_biased
    assert {(each.kind, each.direction) for each in found.findings} == {("scale", "too narrow")}
    assert found.p_of("ksd") is not None
    assert found.ksd_equivalent_draws < 200.0 < found.ess


def test_slow_exact_chains_pass():
    """The effective size is about 100 of 2000 draws. One of six chains may be rejected."""
    rejected = 0
    for seed in range(6):
        x = autoregression(normal(seed, (2000, 2)), 0.9)
        found = sk.verdict(x, scores=-x)
        rejected += found.is_biased
        assert found.ess < 250.0
    assert rejected <= 1


def test_chain_that_rarely_crosses_between_modes_is_not_rejected():
    """It mixes fast within a mode, and its random proportion of each mode resembles a bias."""
    target = sk.targets.MixturePosterior()
    walks = (
        rwmh(target, proposal_scale=0.2, draws=1000, start=start, seed=[k])
        for k, start in enumerate(target.sample(5, np.random.default_rng(2)))
    )
    found = [sk.verdict(walk.to_sample(), target) for walk in walks]
    assert sum(each.p <= each.level for each in found) > 1
    assert sum(min(each.moments.n_effective, each.sliced.n_effective) > 100.0 for each in found) > 1
    assert not any(each.is_biased for each in found)
    assert sum(each.effective_draws < 30.0 for each in found) > 4  # the other chains do not cross


@pytest.mark.parametrize(("n", "dim"), [(150, 10), (150, 50), (300, 50)])
def test_independent_draws_are_sufficient_in_every_dimension(n, dim):
    x = normal(n + dim, (n, dim))
    assert sk.verdict(x, scores=-x).enough_draws


def with_a_short_chain():
    x = 0.5 + normal(9, (2010, 2))
    return sk.Sample(x, scores=-x, chain=np.repeat([0, 1, 2], [1000, 1000, 10]))


def with_weights_of_zero():
    x = normal(10, (1200, 2)) + 0.3
    x[:200] += np.linspace(20.0, 0.0, 200)[:, None]
    return sk.Sample(x, scores=-x, weights=np.repeat([0.0, 1.0], [200, 1000]))


def with_a_slow_coordinate():
    x = normal(11, (2000, 5))
    x[:, 0] = autoregression(x[:, 0], 0.95)
    x[:, 3] += 1.0
    return sk.Sample(x, scores=-x)


@pytest.mark.parametrize("make", [with_a_short_chain, with_weights_of_zero, with_a_slow_coordinate])
def test_biased_draws_are_rejected(make):
    assert sk.verdict(make()).is_biased


@pytest.mark.parametrize(
    "given", [{"level": 1.5}, *({"analyses": each} for each in (0, True, 2.0, "6", None, 1_000_001))]
)
def test_invalid_options_are_rejected(given):
    with pytest.raises(sk.UsageError, match=next(iter(given))):
        sk.verdict(normal(0, (50, 1)), scores=-normal(0, (50, 1)), **given)


def test_too_few_draws_are_not_rejected():
    x = normal(0, (60, 2)) + 1.0
    found = sk.verdict(x, scores=-x)
    assert not found.enough_draws
    assert not found.is_biased
    assert found.findings == ()


@pytest.mark.parametrize(
    ("wrong", "kind", "coordinates", "direction"),
    [
        (lambda x: x + np.array([0.3, 0.0]), "location", {"x1", "x2"}, "too high"),
        (lambda x: x - np.array([0.3, 0.0]), "location", {"x1", "x2"}, "too low"),
        (lambda x: np.column_stack([np.roll(x[:, 0], 1), x[:, 1]]), "dependence", {"x1", "x2"}, "correlation too weak"),
    ],
)
def test_findings_under_correlation(wrong, kind, coordinates, direction):
    found = sk.verdict(wrong(CORRELATED.sample(1000, np.random.default_rng(1))), CORRELATED)
    assert found.is_biased
    worst = found.findings[0]
    assert (worst.kind, worst.direction) == (kind, direction)
    assert set(worst.parameters) <= coordinates
    if kind == "location":
        assert worst.parameters == ("x1",)


def test_findings_on_a_wrong_correlation():
    target = sk.targets.Normal([0.0, 0.0])
    found = sk.verdict(CORRELATED.sample(1000, np.random.default_rng(2)), target)
    assert (found.findings[0].kind, found.findings[0].direction) == ("dependence", "correlation too strong")
    turned = CORRELATED.sample(1000, np.random.default_rng(2)) * np.array([1.0, -1.0])
    assert sk.verdict(turned, target).findings[0].direction == "correlation too strong"
    assert sk.verdict(turned, CORRELATED).findings[0].direction == "correlation of wrong sign"


def test_weighted_draws_have_no_kernel_test():
    wide, target = sk.targets.Normal([0.0, 0.0], covariance=2.0), sk.targets.Normal([0.0, 0.0])
    x = wide.sample(4000, np.random.default_rng(5))
    found = sk.verdict(x, target, weights=np.exp(target.log_density(x) - wide.log_density(x)))
    assert found.p_of("ksd") is None
    assert not found.is_biased
    assert sk.verdict(x, target).is_biased


def test_bounded_target():
    target = sk.targets.Gamma([1.0, 3.0])
    rng = np.random.default_rng(6)
    assert not sk.verdict(target.sample(1000, rng), target).is_biased
    assert sk.verdict(1.4 * target.sample(1000, rng), target).is_biased


def test_document_is_json_with_stable_keys():
    document = sk.verdict(1.3 * normal(7, (500, 2)), sk.targets.Normal([0.0, 0.0])).to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert list(document) == [
        "p", "p_moments", "p_bounded", "p_sliced", "p_ksd", "p_dependence", "p_invariance", "p_critic", "p_modes",
        "decided_by", "level", "analyses", "ksd_equivalent_draws", "ess", "r_hat", "tail_ess", "mixed", "divergent",
        "bfmi", "tree_depth", "pareto_k", "draws", "effective_draws", "enough_draws", "burn_in", "matters",
        "p_matters", "findings", "bias", "modes", "not_tested", "score_noise", "hiding", "sentence",
    ]  # fmt: skip
    assert list(document["findings"][0]) == ["kind", "parameters", "direction", "z", "size", "source", "explained_by"]


@pytest.mark.parametrize(("scale", "analyses"), [(1.1, 6), (1.1, np.int64(3)), (1.0, 50)])
def test_looks_multiply_p_and_p_matters(scale, analyses):
    x = scale * normal(7, (500, 2))
    once, often = (sk.verdict(x, scores=-x, matters=0.05, analyses=each) for each in (1, analyses))
    assert 1e-6 < once.p < 1.0
    assert often.p == min(1.0, analyses * once.p)
    assert often.p_matters == min(1.0, analyses * once.p_matters)
    assert all(often.p_of(test) == once.p_of(test) for test in ("moments", "sliced", "ksd"))
    assert json.loads(json.dumps(often.to_dict()))["analyses"] == analyses


@pytest.mark.parametrize(
    ("seed", "level", "kind"),
    [(9, 0.2, "location"), (3, 0.01, "shape")],  # p = .10 from moments alone, and .035 from slices alone
)
def test_findings_alone_have_p_values_of_the_level_or_a_twentieth(seed, level, kind):
    x = normal(seed, (500, 2))
    x[:, 0] += 0.13
    found = sk.verdict(x, scores=-x, level=level)
    assert found.is_biased
    assert [(each.kind, each.parameters) for each in found.findings] == [(kind, ("x1",))]


@pytest.mark.parametrize("shift", [1.0, 10.0, 1e4])
def test_large_shifts_are_rejected(shift):
    """The difference between the halves does not count as autocorrelation."""
    x = normal(1, (1000, 3)) + shift
    found = sk.verdict(x, scores=-x)
    assert found.is_biased
    assert found.sliced.n_effective > 500.0


def test_alternating_rows_of_chains_do_not_matter():
    x = normal(9, (2, 4100, 1))
    x[1] += 0.5
    apart, chain = x.reshape(8200, 1), np.arange(2).repeat(4100)
    rows = np.arange(8200).reshape(2, 4100).T.ravel()
    one = sk.verdict(sk.Sample(apart, scores=-apart, chain=chain))
    other = sk.verdict(sk.Sample(apart[rows], scores=-apart[rows], chain=chain[rows]))
    assert other.ksd_equivalent_draws == pytest.approx(one.ksd_equivalent_draws, rel=1e-9)
    assert other.p == pytest.approx(one.p, rel=1e-9)


def test_constant_coordinate_is_rejected():
    x = normal(0, (500, 2))
    x[:, 1] = 3.3
    assert np.full(500, 1 / 500) @ x[:, 1] != 3.3
    for measure in (sk.verdict, sk.moment_stein_discrepancy, sk.sliced_stein_test, sk.sliced_stein_discrepancy):
        with pytest.raises(sk.InputError, match="x2 is constant in all draws"):
            measure(x, scores=-x)


@pytest.mark.parametrize("lengths", [[1, 300, 1], [2, 300, 3], [1] * 300, [3] * 100])
def test_chains_may_have_any_length(lengths):
    x = normal(3, (sum(lengths), 2))
    sample = sk.Sample(x, scores=-x, chain=np.repeat(np.arange(len(lengths)), lengths))
    found = sk.verdict(sample)
    assert found.enough_draws
    assert not found.is_biased
    assert sk.verdict(sk.Sample(1.5 * x, scores=-1.5 * x, chain=sample.chain)).is_biased


@pytest.mark.parametrize("slope", [0.0, 0.7, 1e-98])
def test_constant_scores_have_finite_z_scores(slope):
    """An exponential density without its bounds has such a score."""
    x = normal(2, (512, 2))
    found = sk.verdict(x, scores=slope + 0.0 * x)
    assert found.is_biased
    assert found.moments.n_effective > 300.0
    assert found.moments.p == found.p_of("moments")
    assert found.sliced.p == found.p_of("sliced")
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False)) == found.to_dict()


def test_notes_of_the_preparation_are_warnings():
    x = normal(2, (200, 2))
    weights = np.ones(200)
    weights[:20] = 0.0
    sample = sk.Sample(x, scores=-x, weights=weights, draw=np.zeros(200))
    noted = " ".join(sk.verdict(sample, sk.targets.Normal([0.0, 0.0])).warnings)
    assert "20 of 200 draws have weight zero" in noted
    assert "stored in the sample" in noted
    assert "draw numbers in the sample repeat" in noted


def test_outlier_has_a_warning():
    x = normal(2, (500, 2))
    assert sk.verdict(x, scores=-x).warnings == ()
    x[1] = x[0]  # numbers of draws are those of the given sample
    x[400, 1] = 1e9
    found = sk.verdict(x, scores=-x)
    assert "draw 401 contributes 100% of the variance of x2" in " ".join(found.warnings)
    assert not found.is_biased
    assert found.to_dict()["hiding"] == [each for each in found.warnings if "contributes 100%" in each]


def test_draws_near_a_bound_keep_their_distance_from_it():
    """Half of them are within 1e-16 standard deviations of zero, with scores up to 1e90."""
    target = sk.targets.Gamma(0.05, dim=2)
    found = sk.verdict(target.sample(1000, np.random.default_rng(1)), target)
    locations = [z for feature, _, z in found.moments.largest(10) if feature.kind == "location"]
    assert max(map(abs, locations)) < 5.0  # at least 20 with rounded distances
    assert found.p_of("sliced") > 0.01


@pytest.mark.parametrize(("draws", "dim", "spans"), [(12, 11, True), (12, 12, False), (12, 20, False)])
def test_fewer_draws_than_coordinates_have_a_warning(draws, dim, spans):
    x = normal(13, (draws, dim))
    told = " ".join(sk.verdict(np.repeat(x, 2, axis=0), scores=-np.repeat(x, 2, axis=0)).warnings)
    assert ("do not span" in told) is not spans


def test_impossible_kernel_test_has_a_warning():
    """The 4000 evenly spaced draws of the test are equal."""
    x = np.zeros((9001, 1))
    x[1], x[8999] = 1.0, -1.0
    found = sk.verdict(x, scores=-x)
    assert found.p_of("ksd") is None
    assert "kernel test" in " ".join(found.warnings)


def two_modes(shares, n=1000, seed=31):
    """Return draws from two normal modes in these proportions, and a target with equal weights."""
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, 2))
    points[:, 0] += 10.0 * (rng.random(n) < shares[1])
    return points, sk.targets.GaussianMixture([[0.0, 0.0], [10.0, 0.0]], sd=1.0)


UNTESTED_MODES = "mode weights"


@pytest.mark.filterwarnings("ignore:the draws lie in groups")
def test_wrong_mode_weights_are_rejected_with_a_density():
    points, target = two_modes([0.72, 0.28])
    found = sk.verdict(points, target)
    assert found.is_biased
    assert found.p == pytest.approx(5.0 * found.modes.p, rel=1e-9, abs=0.0)
    assert found.modes.clause in found.sentence
    assert found.bias.method == "modes"
    assert found.bias.reliable.all()
    assert abs(found.bias.mean[0] - 5.0) < found.bias.mean_margin[0] * found.bias.sd[0]
    assert found.bias.sd[0] == pytest.approx(math.sqrt(26.0), rel=0.02)
    assert UNTESTED_MODES not in found.to_dict()["not_tested"]
    assert found.to_dict()["p_modes"] == found.modes.p
    blind = sk.verdict(points, scores=target.score(points))
    assert not blind.is_biased
    assert blind.modes is None
    assert UNTESTED_MODES in blind.to_dict()["not_tested"]
    assert sk.verdict(points, target, analyses=3).p == pytest.approx(3.0 * found.p, rel=1e-9, abs=0.0)


@pytest.mark.filterwarnings("ignore:the draws lie in groups")
def test_wrong_mode_weights_do_not_hide_other_findings():
    points, target = two_modes([0.72, 0.28])
    points[:, 1] *= 1.3
    found = sk.verdict(points, target)
    assert found.decided_by == "modes"
    assert ("x2",) in {each.parameters for each in found.findings}
    assert any("within the modes" in each for each in sk.repair(points, target).warnings)


@pytest.mark.filterwarnings("ignore:the draws lie in groups")
def test_exact_multimodal_draws_pass():
    points, target = two_modes([0.5, 0.5])
    found = sk.verdict(points, target)
    assert found.modes.p > 0.2
    parts = [found.p_of(test) / share for test, share in (SHARES | {"dependence": 0.1}).items()]
    assert found.p == pytest.approx(min(1.0, *parts), rel=1e-12)
    assert found.modes_sentence in " ".join(found.summary().split())


def test_density_changes_the_invariance_test_and_the_biases_only():
    points, target = normal(32, (500, 3)), sk.targets.Normal([0.0, 0.0, 0.0])
    found, blind = sk.verdict(points, target), sk.verdict(points, scores=target.score(points))
    assert found.modes is None
    assert blind.p_of("invariance") is None
    known = {"bias": 0, "p": 0, "p_invariance": 0, "p_critic": 0}
    assert found.to_dict() | known == blind.to_dict() | known


@pytest.mark.filterwarnings("ignore:the draws lie in groups")
def test_untested_mode_weights_have_a_warning():
    points, target = two_modes([0.985, 0.015])
    found = sk.verdict(points, target)
    assert found.modes is None
    assert any("mode weights were not tested" in each for each in found.warnings)
    assert UNTESTED_MODES in found.to_dict()["not_tested"]


@pytest.mark.filterwarnings("ignore")
def test_chains_that_never_cross_are_not_rejected():
    points = np.stack([two_modes([k, 1.0 - k], 300, seed)[0] for seed, k in enumerate((1.0, 1.0, 1.0, 0.0))])
    found = sk.verdict(points, two_modes([0.5, 0.5])[1])
    assert found.modes.p is None
    assert not found.is_biased
    assert UNTESTED_MODES in found.to_dict()["not_tested"]
    assert found.modes_sentence in " ".join(found.summary().split())


@pytest.mark.filterwarnings("ignore:the draws lie in groups")
def test_mode_weights_of_weighted_draws_are_not_tested():
    points, target = two_modes([0.72, 0.28])
    assert sk.verdict(points, target, weights=np.linspace(1.0, 2.0, 1000)).modes is None


def test_constrained_draws_of_a_target_on_the_real_line():
    z = np.random.default_rng(0).standard_normal((600, 2))
    draws = sk.Sample(np.column_stack([np.exp(z[:, 0]), z[:, 1]]), names=("tau", "mu"))
    hint = "all values of column tau are positive, but the target has no bounds"
    found = sk.verdict(draws, sk.targets.Normal(0.0, dim=2))
    assert found.is_biased
    assert any(hint in each for each in found.warnings)
    # draws from a normal distribution far from zero are also positive
    far = sk.Sample(z + np.array([20.3, 0.0]), names=("tau", "mu"))
    found = sk.verdict(far, sk.targets.Normal([20.0, 0.0]))
    assert found.is_biased
    assert not any("positive" in each for each in found.warnings)
    bounded = sk.Target(lambda x: -np.ones_like(x), dim=1, bounds=[[0.0, np.inf]])
    found = sk.verdict(1.5 * np.random.default_rng(0).exponential(size=600), bounded)
    assert found.is_biased
    assert not any("positive" in each for each in found.warnings)


def test_evenly_spaced_draws_of_each_chain_represent_a_very_large_sample(monkeypatch):
    """The limit is 5000 numbers. The chains alternate, so every third draw of the sample is not spaced evenly."""
    monkeypatch.setattr("steinkit.diagnosis.verdict.MOST_NUMBERS", 5000)
    points, weights = normal(5, (6000, 2)), np.linspace(1.0, 2.0, 6000)
    own = {"divergent": np.arange(6000) == 1003, "energy": normal(6, 6000)}
    sample, target = sk.Sample(points, chain=np.arange(6000) % 3, **own), sk.targets.Normal(0.0, dim=2)
    kept = np.concatenate([np.arange(6000)[k::3][::3] for k in range(3)])
    found, same = sk.verdict(sample, target, weights=weights), sk.verdict(sample[kept], target, weights=weights[kept])
    note = "2,001 of 6,000 draws were used, every 3rd of each chain"
    assert set(found.warnings) == {*same.warnings, note}
    assert (found.p, found.draws, found.divergent, same.divergent) == (same.p, 6000, 1, 0)
    np.testing.assert_array_equal(found.bias.mean_bias, same.bias.mean_bias)
    monkeypatch.setattr("steinkit.diagnosis.verdict.MOST_NUMBERS", 12_000)
    whole = sk.verdict(sample, target, weights=weights)
    assert (found.bfmi, found.diagnostics.min_ess) == (whole.bfmi, whole.diagnostics.min_ess)


def test_errors_state_the_number_of_a_draw_in_a_very_large_sample(monkeypatch):
    monkeypatch.setattr("steinkit.diagnosis.verdict.MOST_NUMBERS", 2000)
    points = normal(7, (3000, 1))
    points[2400] = 9.0
    with pytest.raises(sk.InputError, match="2401"):
        sk.verdict(points, sk.Target(lambda x: np.where(x == 9.0, np.nan, -x), dim=1))
