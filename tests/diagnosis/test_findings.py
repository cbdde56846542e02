"""Findings and their sizes, on normal samples with known defects and on constructed moments."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

import steinkit as sk
from steinkit.diagnosis.findings import mean_of, moment_findings, p_value_beyond, ranked, size_of
from steinkit.discrepancy.moments import Feature, features_of
from steinkit.finding import Finding

N = 100_000  # the error of a mean is 1/300 of the standard deviation


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


def size(x, scores, kind, coordinates):
    """Return the size of one moment and its standard error."""
    found = sk.moment_stein_discrepancy(x, scores=scores)
    k = found.features.index(Feature(kind, coordinates))
    return size_of(found.features[k], found.mean[k]), abs(found.mean[k] / found.z[k])


def test_sizes_for_independent_normals():
    """The sizes are the shift, the relative error of the sd, and the error in the correlation."""
    x = normal(0, (N, 2))
    shifted = x + np.array([0.3, 0.0])
    found, error = size(shifted, -shifted, "location", (0,))
    assert found == pytest.approx(0.3, abs=5 * error)
    for factor in (0.5, 0.9, 1.1, 3.0):
        scaled = x * np.array([factor, 1.0])
        found, error = size(scaled, -scaled, "spread", (0,))
        assert found == pytest.approx(abs(factor - 1.0), abs=5 * error)
    pair = np.column_stack([x[:, 0], 0.4 * x[:, 0] + np.sqrt(1 - 0.16) * x[:, 1]])
    found, error = size(pair, -pair, "dependence", (0, 1))
    assert found == pytest.approx(0.4, abs=5 * error)


def test_sizes_under_correlation():
    """The mean score is -S^-1 m."""
    correlation = np.array([[1.0, 0.8], [0.8, 1.0]])
    precision = np.linalg.inv(correlation)
    x = normal(1, (N, 2)) @ np.linalg.cholesky(correlation).T
    alone = x + np.array([0.1, 0.0])
    found, error = size(alone, -alone @ precision, "location", (0,))
    assert found == pytest.approx(0.1 / (1 - 0.64), abs=5 * error)
    together = x + 0.1
    found, error = size(together, -together @ precision, "location", (0,))
    assert found == pytest.approx(0.1 / 1.8, abs=5 * error)


@pytest.mark.parametrize("kind", ["location", "spread", "dependence"])
@pytest.mark.parametrize("mean", [-3.0, -0.2, 0.4, 0.9])
def test_mean_of_a_size_inverts_the_size_of_a_mean(kind, mean):
    feature = Feature(kind, (0, 1) if kind == "dependence" else (0,))
    assert mean_of(feature, mean, size_of(feature, mean)) == pytest.approx(abs(mean), rel=1e-12, abs=0.0)


def test_spread_cannot_be_less_than_zero():
    assert size_of(Feature("spread", (0,)), 1.0) == 1.0
    assert mean_of(Feature("spread", (0,)), 0.5, 1.0) == np.inf


def moments(z, dim=2, axes=None):
    """Return moments with given z-scores, and all others near zero."""
    features = features_of(dim)
    found = np.array([z.get((each.kind, each.coordinates), 0.1) for each in features])
    rows = [k for k, each in enumerate(features) if each.kind in ("location", "spread", "dependence")]
    return SimpleNamespace(
        features=features,
        mean=0.1 * found,
        z=found,
        names=tuple("abcdefghijklmnopqrstu"[:dim]),
        axes=np.broadcast_to(np.eye(dim), (2, dim, dim)) if axes is None else axes,
        autocorrelation_time=np.ones(len(features)),
        n_effective=900.0,
        largest=lambda count: tuple(
            (features[k], 0.1 * found[k], found[k]) for k in sorted(rows, key=lambda k: -abs(found[k]))[:count]
        ),
    )


def findings(z, dim=2, axes=None):
    return [
        (str(each.kind), each.parameters, each.direction)
        for each in moment_findings(moments(z, dim, axes), np.eye(dim))
    ]


def test_moments_with_much_less_evidence_are_not_reported():
    assert findings({("location", (0,)): -30.0, ("location", (1,)): 5.9, ("spread", (1,)): 6.1}) == [
        ("location", ("a",), "too high"),
        ("scale", ("b",), "too narrow"),
    ]


def test_at_most_five_are_reported():
    assert [names for _, names, _ in findings({("location", (j,)): 10.0 + j for j in range(6)}, 6)] == [
        (name,) for name in "fedcb"
    ]
    pairs = [
        Finding("conditional scale", ("a", name), "too narrow where b is near its median", 9.0, 0.1) for name in "bcdef"
    ]
    together = Finding("tails", tuple("abcdef"), "too heavy", -6.0, 0.2)
    assert ranked([together], pairs) == (*pairs[:4], together)


@pytest.mark.parametrize("dim", [1, 3])
def test_p_value_of_a_size_has_bonferronis_correction(dim):
    count = dim + dim * (dim + 1) // 2
    found = moments({("location", (0,)): 5.0}, dim)
    assert p_value_beyond(found, 0.0) == pytest.approx(count * t.sf(5.0, 180.0))
    assert p_value_beyond(found, 0.1) == pytest.approx(count * t.sf(4.0, 180.0))  # the mean is .5
    assert p_value_beyond(found, 0.6) == 1.0


def test_axis_is_reported_by_its_largest_loadings_if_no_coordinate_is_significant():
    axes = np.zeros((2, 3, 3))
    axes[:, :, 0] = [-0.2, 0.7, -0.6856]
    z = {("axis spread", (0,)): -12.0, ("spread", (1,)): -3.5}
    assert findings(z, 3, axes) == [("scale", ("b", "c"), "too wide"), ("scale", ("b",), "too wide")]
    assert [names for _, names, _ in findings({**z, ("spread", (1,)): -5.0}, 3, axes)] == [("b",)]


def test_all_coordinates_are_reported_together():
    assert findings({("total spread", ()): 20.0, ("spread", (0,)): 3.5}, 3) == [
        ("scale", ("a", "b", "c"), "too narrow"),
        ("scale", ("a",), "too narrow"),
    ]
    equal = {("total spread", ()): -13.0} | {("spread", (j,)): -6.0 for j in range(3)}
    assert [len(names) for _, names, _ in findings(equal, 3)] == [3, 1, 1, 1]
    assert len(findings(equal | {("spread", (0,)): -7.0}, 3)) == 3
    assert findings({("tails", ()): -8.0}) == [("tails", ("a", "b"), "too heavy")]


def test_evidence_is_corrected_for_the_number_of_moments():
    """The largest |z| of 190 pairs of exact draws is about three."""
    assert findings({("dependence", (0, 1)): 3.3}, 20) == []
    assert len(findings({("dependence", (0, 1)): 3.3})) == 1


def test_further_moments_need_less_evidence():
    """Of 190 pairs, one with z = 3.5 has p = .3."""
    pair, clear = {("dependence", (0, 1)): 3.5}, {("location", (5,)): 9.0}
    assert findings(pair, 20) == []
    assert [names for _, names, _ in findings(pair | clear, 20)] == [("f",), ("a", "b")]


def shape(z, *coordinates):
    return Finding("shape", coordinates, "too many draws above 1", z, 0.1)


SHIFT = Finding("location", ("a",), "too low", 6.0, 0.2)
HIGH = Finding("location", ("a",), "too high", -6.0, 0.2)
TOGETHER = Finding("tails", ("a", "b", "c"), "too heavy", -6.0, 0.2)
PAIR = Finding("conditional scale", ("a", "b"), "too narrow where b is near its median", 7.0, 0.1)
AXIS = Finding("shape", ("a", "b"), "wrong", 20.0, np.nan)
SHAPES = [shape(z, name) for z, name in ((9.0, "a"), (8.0, "b"), (7.0, "c"))]


@pytest.mark.parametrize(
    ("of_moments", "of_shapes", "expected"),
    [
        ([SHIFT], [shape(8.0, "a")], [SHIFT]),  # the moment replaces the shape
        ([SHIFT], [shape(13.0, "a")], [shape(13.0, "a"), SHIFT]),
        ([SHIFT], [shape(5.0, "b")], [SHIFT, shape(5.0, "b")]),
        ([HIGH], [shape(5.0, "b")], [HIGH, shape(5.0, "b")]),
        ([HIGH], [shape(7.0, "b")], [shape(7.0, "b"), HIGH]),
        ([], [AXIS], [AXIS]),
        ([], [AXIS, shape(4.0, "c")], [shape(4.0, "c")]),
        ([SHIFT], [AXIS], [SHIFT]),
        ([TOGETHER], [PAIR], [PAIR, TOGETHER]),
        ([TOGETHER], [shape(5.0, "d")], [TOGETHER, shape(5.0, "d")]),
        ([TOGETHER], SHAPES[:2], [*SHAPES[:2], TOGETHER]),
        ([TOGETHER], SHAPES, [TOGETHER, *SHAPES]),  # three shapes concern all coordinates
    ],
)
def test_findings_are_ranked_by_evidence(of_moments, of_shapes, expected):
    assert ranked(of_moments, of_shapes) == tuple(expected)


@pytest.mark.parametrize(("own", "of_target"), [(0.3, 0.8), (0.8, 0.3), (-0.6, 0.6), (0.0, -0.7), (-0.2, 0.5)])
def test_direction_of_a_dependence_is_correct(own, of_target):
    target = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, of_target], [of_target, 1.0]])
    draws = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, own], [own, 1.0]]).sample(1000, np.random.default_rng(0))
    found = next(each for each in sk.verdict(draws, target).findings if each.kind == "dependence")
    truth = "of wrong sign" if own * of_target < 0.0 else "too weak" if abs(own) < abs(of_target) else "too strong"
    assert found.direction == f"correlation {truth}"


def test_correlation_that_the_target_lacks_is_too_strong():
    """This also holds if location and scale, which affect the mean of the feature, are biased."""
    draws = sk.targets.Normal([0.5, 0.0], covariance=[[0.5, -0.9], [-0.9, 1.8]]).sample(1000, np.random.default_rng(0))
    found = sk.verdict(draws, sk.targets.Normal(0.0, dim=2))
    assert next(each.direction for each in found.findings if each.kind == "dependence") == "correlation too strong"


def test_single_coordinate_has_one_finding():
    x = 2.0 * normal(3, (1000, 1))
    (found,) = sk.verdict(x, scores=-x).findings
    assert (found.kind, found.parameters, found.direction) == ("scale", ("x1",), "too wide")


def test_constant_scores_have_findings_without_numpy_warnings():
    draws = np.random.default_rng(0).standard_normal((1000, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = sk.verdict(draws, scores=np.ones((1000, 2)))
    assert {each.parameters for each in found.findings} == {("x1",), ("x2",)}


def test_heavy_and_light_tails():
    heavy, light = sk.targets.StudentT(df=5.0, dim=4), sk.targets.Normal(0.0, covariance=5 / 3 * np.eye(4))
    rng = np.random.default_rng(2)
    too_heavy = sk.verdict(heavy.sample(3000, rng), light)
    assert ("tails", "too heavy") in {(each.kind, each.direction) for each in too_heavy.findings}
    assert sk.verdict(light.sample(3000, rng), heavy).is_biased


def shifted(seed, n, shift):
    x = normal(seed, (n, 2))
    x[:, 0] += shift
    return x


def test_significant_shift_may_be_too_small_to_matter():
    x = shifted(0, 4000, 0.15)
    small = sk.verdict(x, scores=-x, matters=0.25)
    assert small.is_biased
    assert small.p_matters > 0.5
    assert p_value_beyond(small.moments, 0.05) < 1e-6
    assert sk.verdict(x[:100], scores=-x[:100]).p_matters is None


def test_shift_at_the_limit_is_rarely_rejected():
    """With the Bonferroni correction for five moments, about .01 of the samples are rejected at .05."""
    samples = (shifted(seed, 500, 0.2) for seed in range(200))
    p_values = [p_value_beyond(sk.moment_stein_discrepancy(x, scores=-x), 0.2) for x in samples]
    assert sum(p <= 0.05 for p in p_values) <= 10


@pytest.mark.parametrize("size", [-0.1, float("nan"), float("inf")])
def test_invalid_size_is_rejected(size):
    with pytest.raises(sk.UsageError, match="matters"):
        sk.verdict(shifted(0, 100, 0.0), scores=-shifted(0, 100, 0.0), matters=size)
