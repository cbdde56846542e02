"""Sliced discrepancy: univariate programs, test functions, ranking of samples, units, ties, bounds."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

import steinkit as sk
from steinkit.discrepancy.sliced import sliced_stein_discrepancy


def draws(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_one_dimension_matches_the_graph_discrepancy():
    x = draws(0, (200, 1))
    sliced = sliced_stein_discrepancy(x, scores=-x, units="raw", tolerance=1e-6)
    graph = sk.graph_stein_discrepancy(x, scores=-x)
    assert sliced.lower <= graph.upper
    assert graph.lower <= sliced.upper
    assert sliced.value == pytest.approx(graph.value, rel=2e-6)


def test_sliced_does_not_exceed_the_graph_discrepancy():
    x = draws(1, (150, 3))
    sliced = sliced_stein_discrepancy(x, scores=-x, units="raw")
    assert sliced.lower <= sk.graph_stein_discrepancy(x, scores=-x, graph="complete", tolerance=1e-3).upper


def test_test_functions_attain_the_lower_bounds():
    x = draws(2, (120, 4)) * [1.0, 5.0, 0.1, 1.0]
    found = sliced_stein_discrepancy(x, scores=-x / np.array([1.0, 25.0, 0.01, 1.0]))
    assert found.test_functions.mean(axis=0) == pytest.approx([each.lower for each in found.slices], rel=1e-9)
    assert found.lower == pytest.approx(sum(each.lower for each in found.slices))


def test_brackets_allow_for_rounded_means():
    """With equal x1, |phi| = |phi'| = 1 at one point, and the optimum is 1 + |mean score| with mean score 1/3."""
    x = np.array([[0.5, 0.0], [0.5, 1.0], [0.5, 2.0]])
    scores = np.array([[1e6, 0.0], [1.0, 0.0], [-1e6, 0.0]])
    along = sliced_stein_discrepancy(x, scores=scores, units="raw").slices[0]
    assert along.lower <= Fraction(4, 3) <= along.upper


def test_scores_that_cancel_within_a_point():
    """300 draws at two positions of a coordinate, where only the mean is rounded."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.repeat([0.0, 2.0**-40], [100, 200]), np.arange(300.0)])
    scores = np.zeros((300, 2))
    scores[:99, 0], scores[100:299, 0] = 2.0**45 * rng.standard_normal(99), 2.0**45 * rng.standard_normal(199)
    scores[99, 0], scores[299, 0] = -scores[:99, 0].sum(), -scores[100:299, 0].sum()
    along = sliced_stein_discrepancy(x, scores=scores, units="raw").slices[0]
    first, second = (sum(map(Fraction, part)) / 300 for part in (scores[:100, 0], scores[100:, 0]))
    value = abs(first + second) + 1  # gamma is that of one point up to 2^-40, and Gamma = 1
    room = Fraction(1, 2**39) * (1 + abs(first) + abs(second))
    assert along.lower - room <= value <= along.upper + room
    assert along.gap < 1e-3


def test_test_functions_have_mean_zero_under_the_target():
    target = sk.targets.StudentT(4.0)
    x = 1.3 * target.sample(80, np.random.default_rng(3)) + 0.2
    (piece,) = sliced_stein_discrepancy(x, target, units="raw").slices
    ends = piece.positions[[0, -1]]

    def h_times_density(u):
        at = np.array([[u]])
        return float(piece.test_function(at, target.score(at))[0] * stats.t.pdf(u, 4.0))

    pieces = [
        integrate.quad(h_times_density, low, high, limit=400, points=points)[0]
        for low, high, points in ((-np.inf, ends[0], None), (*ends, piece.positions[1:-1]), (ends[1], np.inf, None))
    ]
    assert abs(sum(pieces)) < 1e-7
    assert abs(pieces[1]) > 1e-3  # phi does not vanish at the ends


@pytest.mark.parametrize(
    ("density", "score", "bounds"),
    [
        (stats.expon(), lambda u: -np.ones_like(u), (0.0, np.inf)),
        (stats.uniform(), np.zeros_like, (0.0, 1.0)),
        (stats.beta(0.5, 1.0), lambda u: -0.5 / u, (0.0, 1.0)),
    ],
)
def test_test_functions_have_mean_zero_on_bounded_supports(density, score, bounds):
    """phi vanishes at a bound, even if the density is infinite there."""
    x = density.rvs(size=(40, 1), random_state=0)
    (piece,) = sliced_stein_discrepancy(x, scores=score(x), bounds=bounds, units="raw").slices
    places = [bounds[0], *piece.positions, bounds[1]]

    def h_times_density(u):
        at = np.array([[u]])
        return float(piece.test_function(at, score(at))[0] * density.pdf(u))

    pieces = [integrate.quad(h_times_density, low, high, limit=200)[0] for low, high in pairwise(places)]
    assert abs(sum(pieces)) < 1e-9
    assert abs(pieces[-1]) > 1e-4  # the part beyond the last draw contributes


@pytest.mark.parametrize("dim", [3, 5, 10])
def test_narrow_wide_and_shifted_samples_score_worse(dim):
    right, narrow, wide, shifted = [], [], [], []
    for seed in range(3):
        x = draws(seed, (500, dim))
        for found, y in ((right, x), (narrow, 0.85 * x), (wide, 1.15 * x), (shifted, x + 0.4 * np.eye(dim)[0])):
            found.append(sliced_stein_discrepancy(y, scores=-y, units="raw"))
    worst = max(each.upper for each in right)
    for others in (narrow, wide, shifted):
        assert min(each.lower for each in others) > worst


def test_own_units_are_invariant_to_rescaling():
    x, scale = draws(4, (200, 3)), np.array([1e-4, 3.0, 900.0])
    one = sliced_stein_discrepancy(x, scores=-x, tolerance=1e-6)
    other = sliced_stein_discrepancy(x * scale, scores=-x / scale, tolerance=1e-6)
    assert other.direction_values == pytest.approx(one.direction_values, rel=1e-5)
    given = sliced_stein_discrepancy(x * scale, scores=-x / scale, units=scale * x.std(axis=0), tolerance=1e-6)
    assert given.value == pytest.approx(one.value, rel=1e-5)


def test_draws_with_equal_coordinates_are_merged():
    x = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.5], [2.0, 0.0], [0.0, 3.0]])
    scores = np.array([[1.0, 0.0], [-2.0, 0.0], [0.5, 0.0], [-1.0, 0.0], [0.4, 0.0]])
    piece = sliced_stein_discrepancy(x, scores=scores, units="raw").slices[0]
    merged = sk.graph_stein_discrepancy(
        [0.0, 1.0, 2.0], scores=np.array([[-0.2], [0.5], [-1.0]]), weights=[3.0, 1.0, 1.0], tolerance=1e-3
    )
    assert piece.positions.tolist() == [0.0, 1.0, 2.0]
    assert piece.value == pytest.approx(merged.value, rel=1e-3)


def test_bounds_restrict_a_coordinate():
    target = sk.targets.Uniform([0.0, 0.0], [1.0, 1.0])
    x = target.sample(300, np.random.default_rng(6))
    sliced = sliced_stein_discrepancy(x, target, units="raw", tolerance=1e-6)
    one = sk.graph_stein_discrepancy(x[:, :1], scores=np.zeros((300, 1)), bounds=[0.0, 1.0])
    assert sliced.slices[0].value == pytest.approx(one.value, rel=1e-5)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"stein_factors": None}, "stein_factors"),
        ({"units": "ow"}, 'did you mean "own"'),
        ({"units": [1.0, -1.0]}, "positive"),
    ],
)
def test_invalid_arguments_are_refused(how, message):
    x = draws(0, (20, 2))
    with pytest.raises(sk.UsageError, match=message):
        sliced_stein_discrepancy(x, scores=-x, **how)


def test_raw_units_do_not_round_draws():
    """An origin at the bound would round the draws."""
    x = np.array([[0.0], [1e-17], [0.1]])
    sliced = sliced_stein_discrepancy(x, scores=-x, bounds=[[-1.0, np.inf]], units="raw")
    assert sliced.slices[0].positions.tolist() == x.ravel().tolist()
