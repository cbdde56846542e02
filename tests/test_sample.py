"""Samples: shapes, validation, and exact weights of distinct points."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steinkit as sk
from steinkit.containers.reading import as_sample
from steinkit.scored_sample import ScoredSample


def test_shapes_accepted():
    assert sk.Sample([1.0, 2.0, 3.0]).points.shape == (3, 1)
    assert sk.Sample(np.zeros((4, 2))).names == sk.Sample(np.zeros((4, 2)), names=None).names == ("x1", "x2")
    chains = sk.Sample(np.arange(12.0).reshape(2, 3, 2))
    assert chains.points.shape == (6, 2)
    np.testing.assert_array_equal(chains.chain, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(chains.draw, [0, 1, 2, 0, 1, 2])


def test_a_sample_copies_its_arrays():
    points = np.zeros((3, 2))
    sample = sk.Sample(points)
    points[0] = 7.0
    assert sample.points[0, 0] == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": np.zeros((2, 2, 2, 2))}, r"got \(2, 2, 2, 2\)"),
        ({"points": np.zeros((0, 2))}, r"got shape \(0, 2\)"),
        ({"points": [["a", "b"]]}, "real numbers"),
        ({"points": [[1.0, 2j]]}, "real numbers"),
        ({"points": {"mu": [1.0, 2.0]}}, "got dict .* as_sample"),
        ({"points": [[1.0, np.nan], [np.inf, 1.0]]}, r"row 1, column 'x2' is nan \(2 such values in all\)"),
        ({"points": [[1.0, 2.0]], "scores": [[1.0]]}, r"\(1, 2\); got \(1, 1\)"),
        ({"points": [1.0, 2.0], "scores": [1.0, np.inf]}, "scores: row 2, column 'x1' is inf"),
        ({"points": [1.0, 2.0], "weights": [1.0, -0.5]}, "row 2 is -0.5"),
        ({"points": [1.0, 2.0], "weights": [0.0, 0.0]}, "all weights are zero"),
        ({"points": [1.0, 2.0], "weights": [1.0]}, "2 in total"),
        ({"points": [1.0, 2.0], "cost": [1.0, np.nan]}, "cost: row 2 is nan"),
        ({"points": [1.0, 2.0], "chain": [0.0, 0.5]}, "chain: row 2 is 0.5"),
        ({"points": [1.0], "draw": [1e300]}, r"draw: row 1 is 1e\+300"),
        ({"points": [[1.0, 2.0]], "names": ["a"]}, "2 different names"),
        ({"points": [[1.0, 2.0]], "names": ["a", "a"]}, "2 different names"),
    ],
)
def test_invalid_arrays(arguments, message):
    with pytest.raises(sk.InputError, match=message):
        sk.Sample(**arguments)


def test_probabilities_sum_to_one_even_for_huge_weights():
    sample = sk.Sample([1.0, 2.0, 3.0], weights=[1e308, 1e308, 2e307])
    np.testing.assert_allclose(sample.probabilities, np.array([1, 1, 0.2]) / 2.2)


def test_distinct_merges_equal_draws_in_order_of_appearance():
    points = sk.Sample([[2.0], [1.0], [2.0], [0.0], [-0.0], [1.0]], weights=[1, 2, 3, 4, 5, 0]).distinct()
    np.testing.assert_array_equal(points.points[:, 0], [2.0, 1.0, 0.0])
    np.testing.assert_allclose(points.weights, np.array([4, 2, 9]) / 15)
    np.testing.assert_array_equal(points.counts, [2, 1, 2])
    np.testing.assert_array_equal(points.first, [0, 1, 3])
    np.testing.assert_array_equal(points.inverse, [0, 1, 0, 2, 2, -1])
    assert (points.merged, points.weightless) == (2, 1)


def test_nearly_equal_draws_are_not_merged():
    assert len(sk.Sample([1.0, np.nextafter(1.0, 2.0)]).distinct()) == 2


def test_equal_draws_with_different_scores_are_an_error():
    with pytest.raises(sk.InputError, match="draws 1 and 3"):
        sk.Sample([1.0, 2.0, 1.0], scores=[1.0, 1.0, 2.0]).distinct()


@given(arrays(np.int8, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=st.integers(0, 2)))
def test_distinct_equals_a_dictionary_of_rows(points):
    weights = np.arange(1.0, len(points) + 1)
    merged: dict[tuple[int, ...], float] = {}
    for point, weight in zip(map(tuple, points.tolist()), weights, strict=True):
        merged[point] = merged.get(point, 0.0) + weight
    distinct = sk.Sample(points, weights=weights).distinct()
    np.testing.assert_array_equal(distinct.points, list(merged))
    np.testing.assert_allclose(distinct.weights, np.array(list(merged.values())) / weights.sum())
    np.testing.assert_array_equal(distinct.points[distinct.inverse], points)


def test_select_reorders_points_and_scores():
    sample = sk.Sample([[1.0, 2.0, 3.0]], scores=[[4.0, 5.0, 6.0]], names=("a", "b", "c")).select(["c", "a"])
    np.testing.assert_array_equal(sample.points, [[3.0, 1.0]])
    np.testing.assert_array_equal(sample.scores, [[6.0, 4.0]])
    assert sample.names == ("c", "a")
    with pytest.raises(sk.InputError, match="'z'"):
        sample.select(["z"])


@pytest.mark.parametrize("what", ["weights", "cost", "chain"])
def test_columns_of_chains_must_be_laid_out_like_the_points(what):
    points, column = np.zeros((2, 3, 1)), np.arange(1.0, 7.0)
    np.testing.assert_array_equal(getattr(sk.Sample(points, **{what: column.reshape(2, 3)}), what), column)
    with pytest.raises(sk.InputError, match=rf"{what} must contain one number per draw"):
        sk.Sample(points, **{what: column.reshape(3, 2)})


def test_scores_of_chains_must_be_laid_out_like_the_points():
    points = np.arange(12.0).reshape(2, 3, 2)
    np.testing.assert_array_equal(sk.Sample(points, scores=-points).scores, -points.reshape(6, 2))
    with pytest.raises(sk.InputError, match=r"\(2, 3, 2\); got \(3, 2, 2\)"):
        sk.Sample(points, scores=-points.reshape(3, 2, 2))


def test_a_data_frame_names_the_coordinates():
    frame = pytest.importorskip("pandas").DataFrame({"b": [1.0, 2.0], "a": [3.0, 4.0]})
    assert as_sample(frame).names == ("b", "a")
    target = sk.Target(lambda x: -x * [1.0, 4.0], names=("a", "b"))
    expected = sk.graph_stein_discrepancy(np.array([[3.0, 1.0], [4.0, 2.0]]), target)
    assert sk.graph_stein_discrepancy(frame, target).value == expected.value
    more = sk.graph_stein_discrepancy(frame.assign(c=0.0), target)
    assert more.value == expected.value
    assert any('"c"' in note for note in more.warnings)
    with pytest.raises(sk.InputError, match=r"a, c.*a, b"):
        sk.graph_stein_discrepancy(frame.rename(columns={"b": "c"})[["a", "c"]], target)


def test_a_sample_is_an_array_of_its_points_and_a_sequence_of_its_draws():
    sample = sk.Sample([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(np.asarray(sample), sample.points)
    np.testing.assert_array_equal(sample[1].points, [[3.0, 4.0]])
    assert [one.points.tolist() for one in sample] == [[[1.0, 2.0]], [[3.0, 4.0]]]


def test_slices_keep_all_columns():
    sample = sk.Sample(
        np.arange(12.0).reshape(2, 3, 2), weights=np.arange(1.0, 7.0), scores=np.ones((6, 2)), cost=np.arange(6.0)
    )
    part = sample[1::2]
    np.testing.assert_array_equal(part.points, sample.points[1::2])
    np.testing.assert_array_equal(part.weights, [2, 4, 6])
    np.testing.assert_array_equal(part.cost, [1, 3, 5])
    np.testing.assert_array_equal(part.chain, [0, 1, 1])
    assert part.scores.shape == (3, 2)
    assert len(sample[sample.chain == 1]) == 3
    assert len(sk.Sample([1.0, 2.0])[:1]) == 1


def test_with_columns_keeps_points_and_validates():
    sample = sk.Sample(points=[[0.0, 1.0], [2.0, 3.0]], cost=[1.0, 2.0])
    found = sample.with_columns(weights=[1.0, 3.0], scores=[[1.0, 2.0], [3.0, 4.0]], names=("a", "b"))
    np.testing.assert_array_equal(found.points, sample.points)
    assert (found.names, found.weights.tolist(), found.cost.tolist()) == (("a", "b"), [1.0, 3.0], [1.0, 2.0])
    assert (sample.weights, sample.scores) == (None, None)
    assert found.with_columns(scores=None).scores is None
    for wrong, expected in (
        ({"scores": [[1.0, 2.0]]}, "same shape as the points"),
        ({"names": ("a", "a")}, "different names"),
    ):
        with pytest.raises(sk.InputError, match=expected):
            sample.with_columns(**wrong)


def test_rows_of_different_lengths():
    with pytest.raises(sk.InputError, match="same number of coordinates"):
        as_sample([[1.0, 2.0], [3.0]])


def shares_of(points, weights):
    """Return the exact weight of each distinct value, in order of appearance."""
    given = [Fraction(1)] * len(points) if weights is None else list(map(Fraction, weights))
    masses = {}
    for value, weight in zip(points, given, strict=True):
        masses[value] = masses.get(value, Fraction(0)) + weight
    return [mass / sum(given) for mass in masses.values() if mass]


@pytest.mark.parametrize("seed", range(30))
def test_weights_of_points_are_quotients_to_double_double_precision(seed):
    """Counts, and weights with sizes that differ by up to 10^60."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    points = rng.integers(0, rng.choice([3, 20, 1000]), n).astype(float)
    weights = (
        None if seed % 3 == 0 else rng.random(n) * 10.0 ** rng.integers(-30, 31, n) * 10.0 ** rng.choice([-270, 270])
    )
    found = sk.Sample(points, weights=weights).distinct()
    for exact, high, low in zip(shares_of(points, weights), found.weights, found.weights_low, strict=True):
        assert abs(Fraction(high) + Fraction(low) - exact) <= exact * Fraction(1, 2**98)
        assert abs(Fraction(high) - exact) <= exact * Fraction(1, 2**53)


def test_weights_of_a_million_repeats_are_exact():
    found = sk.Sample(np.repeat([0.0, 1.0], [333_333, 666_667])).distinct()
    np.testing.assert_array_equal(found.weights, [333_333 / 1_000_000, 666_667 / 1_000_000])


def test_weights_of_joined_points_add_up():
    scored = ScoredSample.of(np.arange(9.0), scores=np.arange(9.0), weights=np.random.default_rng(0).random(9))
    found, joined = scored.points, scored._joined(np.array([0, 1, 2]), np.arange(9) % 3).points
    for k in range(3):
        exact = sum(map(Fraction, [*found.weights[k::3], *found.weights_low[k::3]]))
        assert abs(Fraction(joined.weights[k]) + Fraction(joined.weights_low[k]) - exact) <= exact * Fraction(1, 2**100)


def test_the_digest_depends_on_draws_weights_scores_and_labels():
    points = np.arange(6.0).reshape(3, 2)
    sample = sk.Sample(points)
    others = [
        sk.Sample(points[::-1]),
        sk.Sample(points.reshape(2, 3)),
        sk.Sample(points, weights=[1.0, 2.0, 3.0]),
        sk.Sample(points, scores=points),
        sk.Sample(points, chain=[0, 0, 1]),
        sk.Sample(points, draw=[0, 0, 1]),
    ]
    assert len({each.sha256 for each in [sample, *others]}) == 1 + len(others)
    assert sk.Sample(np.asfortranarray(points), names=["a", "b"]).sha256 == sample.sha256
    assert sample.sha256.startswith("ee3e09dff189")  # constant across versions
