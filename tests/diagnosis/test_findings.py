"""Finding and sizes on normal samples whose truth is known, and on moments written by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t

import steinkit as sk
from steinkit.diagnosis.findings import flagged, mean_of, moment_faults, p_value_beyond, size_of
from steinkit.discrepancy.moments import Feature, features_of
from steinkit.finding import Finding

N = 100_000  # a mean of draws is known to 1/300 of their standard deviation


def normal(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


def size(x, scores, kind, coordinates):
    """Size of one moment, and its standard error."""
    found = sk.moment_stein_discrepancy(x, scores=scores)
    k = found.features.index(Feature(kind, coordinates))
    return size_of(found.features[k], found.mean[k]), abs(found.mean[k] / found.z[k])


def test_sizes_of_independent_normals_are_the_shift_the_error_of_the_sd_and_of_the_correlation():
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


def test_under_correlation_a_shift_of_one_coordinate_has_a_larger_size_and_of_all_a_smaller_one():
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
def test_the_mean_of_a_size_is_that_which_it_came_from(kind, mean):
    feature = Feature(kind, (0, 1) if kind == "dependence" else (0,))
    assert mean_of(feature, mean, size_of(feature, mean)) == pytest.approx(abs(mean), rel=1e-12, abs=0.0)


def test_no_sample_is_narrower_than_a_point():
    assert size_of(Feature("spread", (0,)), 1.0) == 1.0
    assert mean_of(Feature("spread", (0,)), 0.5, 1.0) == np.inf


def moments(z, dim=2, axes=None):
    """Moments with some z-scores, all others near zero."""
    features = features_of(dim)
    found = np.array([z.get((each.kind, each.coordinates), 0.1) for each in features])
    rows = [k for k, each in enumerate(features) if each.kind in ("location", "spread", "dependence")]
    return SimpleNamespace(
        features=features,
        mean=0.1 * found,
        z=found,
        names=tuple("abcdef"[:dim]),
        axes=np.broadcast_to(np.eye(dim), (2, dim, dim)) if axes is None else axes,
        autocorrelation_time=np.ones(len(features)),
        n_effective=900.0,
        largest=lambda count: tuple(
            (features[k], 0.1 * found[k], found[k]) for k in sorted(rows, key=lambda k: -abs(found[k]))[:count]
        ),
    )


def test_faint_moments_are_not_named_beside_a_large_one():
    found = moment_faults(
        moments({("location", (0,)): -30.0, ("location", (1,)): 5.9, ("spread", (1,)): 6.1}), np.eye(2)
    )
    assert [(each.kind, each.parameters, each.direction) for each in found] == [
        ("location", ("a",), "too high"),
        ("scale", ("b",), "too narrow"),
    ]


def test_at_most_five_are_named():
    z = {("location", (j,)): 10.0 + j for j in range(6)}
    found = moment_faults(moments(z, 6), np.eye(6))
    assert [each.parameters for each in found] == [(name,) for name in "fedcb"]
    pairs = [
        Finding("conditional scale", ("a", name), "too narrow where b is near its median", 9.0, 0.1) for name in "bcdef"
    ]
    together = Finding("tails", tuple("abcdef"), "too heavy", -6.0, 0.2)
    assert flagged([together], pairs) == (*pairs[:4], together)


@pytest.mark.parametrize("dim", [1, 3])
def test_the_p_value_of_a_size_is_bonferronis_over_all_moments(dim):
    count = dim + dim * (dim + 1) // 2
    found = moments({("location", (0,)): 5.0}, dim)
    assert p_value_beyond(found, 0.0) == pytest.approx(count * t.sf(5.0, 180.0))
    assert p_value_beyond(found, 0.1) == pytest.approx(count * t.sf(4.0, 180.0))  # its mean is .5
    assert p_value_beyond(found, 0.6) == 1.0


def test_an_axis_is_named_by_its_largest_loadings_where_no_coordinate_proves_anything_by_itself():
    axes = np.zeros((2, 3, 3))
    axes[:, :, 0] = [-0.2, 0.7, -0.6856]
    z = {("axis spread", (0,)): -12.0, ("spread", (1,)): -3.5}
    found = moment_faults(moments(z, 3, axes), np.eye(3))
    assert [(each.kind, each.parameters, each.direction) for each in found] == [
        ("scale", ("b", "c"), "too wide"),
        ("scale", ("b",), "too wide"),
    ]
    assert [each.parameters for each in moment_faults(moments({**z, ("spread", (1,)): -5.0}, 3, axes), np.eye(3))] == [
        ("b",)
    ]


def test_all_coordinates_together_and_their_tails():
    found = moment_faults(moments({("total spread", ()): 20.0, ("spread", (0,)): 3.5}, 3), np.eye(3))
    assert [(each.kind, each.parameters, each.direction) for each in found] == [
        ("scale", ("a", "b", "c"), "too narrow"),
        ("scale", ("a",), "too narrow"),
    ]
    alike = {("total spread", ()): -13.0} | {("spread", (j,)): -6.0 for j in range(3)}
    assert [len(each.parameters) for each in moment_faults(moments(alike, 3), np.eye(3))] == [3, 1, 1, 1]
    assert len(moment_faults(moments(alike | {("spread", (0,)): -7.0}, 3), np.eye(3))) == 3
    (tails,) = moment_faults(moments({("tails", ()): -8.0}), np.eye(2))
    assert (tails.kind, tails.parameters, tails.direction) == ("tails", ("a", "b"), "too heavy")


def test_what_chance_finds_in_its_group_is_not_named():
    """Of 190 pairs the largest |z| of right draws is about three; of two coordinates it proves something."""
    assert moment_faults(moments({("dependence", (0, 1)): 3.3}, 20), np.eye(20)) == []
    assert len(moment_faults(moments({("dependence", (0, 1)): 3.3}), np.eye(2))) == 1


def test_beside_a_moment_that_is_clear_others_need_less():
    """Of 190 pairs one of z = 3.5 has p = .3: none by itself, and named beside another."""
    pair, clear = {("dependence", (0, 1)): 3.5}, {("location", (5,)): 9.0}
    coordinates = tuple(f"x{j}" for j in range(20))
    both = moments(pair | clear, 20)
    both.names = coordinates
    assert moment_faults(moments(pair, 20), np.eye(20)) == []
    assert [each.parameters for each in moment_faults(both, np.eye(20))] == [("x5",), ("x0", "x1")]


def shape(z, *coordinates):
    return Finding("shape", coordinates, "too many draws above 1", z, 0.1)


def test_a_shape_is_named_where_no_moment_of_its_coordinate_is_about_as_clear():
    shift = Finding("location", ("a",), "too low", 6.0, 0.2)
    assert flagged([shift], [shape(8.0, "a")]) == (shift,)
    assert flagged([shift], [shape(13.0, "a")]) == (shape(13.0, "a"), shift)
    assert flagged([shift], [shape(5.0, "b")]) == (shift, shape(5.0, "b"))


def test_the_furthest_from_zero_comes_first_on_either_side_of_it():
    low = Finding("location", ("a",), "too high", -6.0, 0.2)
    assert flagged([low], [shape(5.0, "b")]) == (low, shape(5.0, "b"))
    assert flagged([low], [shape(7.0, "b")]) == (shape(7.0, "b"), low)


def test_an_axis_is_named_where_nothing_else_is():
    along = Finding("shape", ("a", "b"), "wrong", 20.0, np.nan)
    assert flagged([], [along]) == (along,)
    assert flagged([], [along, shape(4.0, "c")]) == (shape(4.0, "c"),)
    assert flagged([Finding("location", ("c",), "too low", 6.0, 0.2)], [along])[0].kind == "location"


def test_all_together_come_first_where_nothing_alone_is_clearer():
    together = Finding("tails", ("a", "b", "c"), "too heavy", -6.0, 0.2)
    pair = Finding("conditional scale", ("a", "b"), "too narrow where b is near its median", 7.0, 0.1)
    assert flagged([together], [pair]) == (pair, together)
    assert flagged([together], [shape(5.0, "d")]) == (together, shape(5.0, "d"))
    shapes = [shape(z, name) for z, name in ((9.0, "a"), (8.0, "b"), (7.0, "c"))]
    assert flagged([together], shapes[:2]) == (*shapes[:2], together)
    assert flagged([together], shapes) == (together, *shapes)  # three shapes are what all have in common


@pytest.mark.parametrize(
    ("r", "z", "direction"),
    [
        (0.0, 9.0, "correlation too weak"),
        (0.0, -9.0, "correlation too weak"),
        (0.09, -9.0, "correlation too weak"),  # as chance may have it
        (0.5, 9.0, "correlation too weak"),  # the target's is larger still
        (-0.5, -9.0, "correlation too weak"),
        (0.5, -9.0, "correlation too strong"),
        (-0.5, 9.0, "correlation too strong"),
        (0.5, -12.0, "correlation too strong"),  # its mean is -1.2, where a target without correlation has -1
        (0.5, -18.0, "correlation of wrong sign"),  # and one of -.5 has -2.7
        (-0.5, 18.0, "correlation of wrong sign"),
    ],
)
def test_dependence_is_named_by_the_draws_own_correlation(r, z, direction):
    (found,) = moment_faults(moments({("dependence", (0, 1)): z}), np.array([[1.0, r], [r, 1.0]]))
    assert found.direction == direction


@pytest.mark.parametrize(("own", "of_target"), [(0.3, 0.8), (0.8, 0.3), (-0.6, 0.6), (0.0, -0.7), (-0.2, 0.5)])
def test_words_for_a_correlation_are_those_of_the_truth(own, of_target):
    target = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, of_target], [of_target, 1.0]])
    draws = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, own], [own, 1.0]]).sample(4000, np.random.default_rng(0))
    found = next(each for each in sk.verdict(draws, target).findings if each.kind == "dependence")
    truth = "of wrong sign" if own * of_target < 0.0 else "too weak" if abs(own) < abs(of_target) else "too strong"
    assert found.direction == f"correlation {truth}"


def test_a_correlation_that_the_target_lacks_has_no_wrong_sign():
    """Also where location and spread, which the mean of the feature takes in, are off as well."""
    draws = sk.targets.Normal([0.5, 0.0], covariance=[[0.5, -0.9], [-0.9, 1.8]]).sample(1000, np.random.default_rng(0))
    found = sk.verdict(draws, sk.targets.Normal(0.0, dim=2))
    assert next(each.direction for each in found.findings if each.kind == "dependence") == "correlation too strong"


def test_one_coordinate_is_not_flagged_twice():
    x = 2.0 * normal(3, (1000, 1))
    (found,) = sk.verdict(x, scores=-x).findings
    assert (found.kind, found.parameters, found.direction) == ("scale", ("x1",), "too wide")


def test_heavy_and_light_tails_have_their_names():
    heavy, light = sk.targets.StudentT(df=5.0, dim=4), sk.targets.Normal(0.0, covariance=5 / 3 * np.eye(4))
    rng = np.random.default_rng(2)
    wild = sk.verdict(heavy.sample(3000, rng), light)
    tame = sk.verdict(light.sample(3000, rng), heavy)
    assert ("tails", "too heavy") in {(each.kind, each.direction) for each in wild.findings}
    assert tame.is_biased
