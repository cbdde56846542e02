"""Sliced discrepancy: univariate programs, test functions of mean zero, order of samples, units, ties, bounds."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

import steinkit as sk
from steinkit.discrepancy.sliced import sliced_stein_discrepancy


def draws(seed, shape):
    return np.random.default_rng(seed).standard_normal(shape)


def test_one_dimension_is_the_graph_discrepancy():
    x = draws(0, (200, 1))
    sliced = sliced_stein_discrepancy(x, scores=-x, units="raw", tolerance=1e-6)
    graph = sk.graph_stein_discrepancy(x, scores=-x)
    assert sliced.lower <= graph.upper
    assert graph.lower <= sliced.upper
    assert sliced.value == pytest.approx(graph.value, rel=2e-6)


def test_is_below_the_graph_discrepancy_whose_functions_are_more():
    x = draws(1, (150, 3))
    sliced = sliced_stein_discrepancy(x, scores=-x, units="raw")
    assert sliced.lower <= sk.graph_stein_discrepancy(x, scores=-x, graph="complete", tolerance=1e-3).upper


def test_test_functions_attain_the_lower_bounds():
    x = draws(2, (120, 4)) * [1.0, 5.0, 0.1, 1.0]
    scores = -x / np.array([1.0, 25.0, 0.01, 1.0])
    found = sliced_stein_discrepancy(x, scores=scores)
    assert found.test_functions.mean(axis=0) == pytest.approx([each.lower for each in found.slices], rel=1e-9)
    assert found.lower == pytest.approx(sum(each.lower for each in found.slices))


def test_brackets_allow_for_the_rounding_of_what_draws_share():
    """Draws alike in x1: |phi| = |phi'| = 1 at one point, so the optimum is 1 + |mean score|, which is 1/3."""
    x = np.array([[0.5, 0.0], [0.5, 1.0], [0.5, 2.0]])
    scores = np.array([[1e6, 0.0], [1.0, 0.0], [-1e6, 0.0]])
    along = sliced_stein_discrepancy(x, scores=scores, units="raw").slices[0]
    assert along.lower <= Fraction(4, 3) <= along.upper


def test_scores_that_cancel_within_a_point_leave_their_mean():
    """Along a coordinate nothing is rounded but the mean: 300 draws at two places of it, in unequal numbers."""
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
    assert abs(pieces[1]) > 1e-3  # the parts beyond the ends are needed: phi does not vanish there


@pytest.mark.parametrize("direction", [1.0, -2.0])
@pytest.mark.parametrize(
    ("density", "score", "bounds"),
    [
        (stats.expon(), lambda u: -np.ones_like(u), (0.0, np.inf)),
        (stats.uniform(), np.zeros_like, (0.0, 1.0)),
        (stats.beta(0.5, 1.0), lambda u: -0.5 / u, (0.0, 1.0)),
    ],
)
def test_test_functions_have_mean_zero_up_to_the_bounds(density, score, bounds, direction):
    """phi falls to zero at a bound, even where the density is infinite there, and stays what it was elsewhere."""
    x = density.rvs(size=(40, 1), random_state=0)
    (piece,) = sliced_stein_discrepancy(x, scores=score(x), bounds=bounds, units="raw", directions=[[direction]]).slices
    places = [bounds[0], *np.sort(piece.positions / direction), bounds[1]]

    def h_times_density(u):
        at = np.array([[u]])
        return float(piece.test_function(at, score(at))[0] * density.pdf(u))

    pieces = [integrate.quad(h_times_density, low, high, limit=200)[0] for low, high in pairwise(places)]
    assert abs(sum(pieces)) < 1e-9
    assert abs(pieces[-1]) > 1e-4  # what lies beyond the last draw is needed


@pytest.mark.parametrize("dim", [3, 5, 10])
def test_ranks_narrow_wide_and_shifted_samples_behind_right_ones(dim):
    right, narrow, wide, shifted = [], [], [], []
    for seed in range(3):
        x = draws(seed, (500, dim))
        for found, y in ((right, x), (narrow, 0.85 * x), (wide, 1.15 * x), (shifted, x + 0.4 * np.eye(dim)[0])):
            found.append(sliced_stein_discrepancy(y, scores=-y, units="raw"))
    worst = max(each.upper for each in right)
    for others in (narrow, wide, shifted):
        assert min(each.lower for each in others) > worst


def test_own_units_do_not_depend_on_those_of_the_coordinates():
    x, scale = draws(4, (200, 3)), np.array([1e-4, 3.0, 900.0])
    one = sliced_stein_discrepancy(x, scores=-x, tolerance=1e-6)
    other = sliced_stein_discrepancy(x * scale, scores=-x / scale, tolerance=1e-6)
    assert other.direction_values == pytest.approx(one.direction_values, rel=1e-5)
    given = sliced_stein_discrepancy(x * scale, scores=-x / scale, units=scale * x.std(axis=0), tolerance=1e-6)
    assert given.value == pytest.approx(one.value, rel=1e-5)


def test_draws_that_share_a_coordinate_are_one_point_with_their_mean_score():
    x = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.5], [2.0, 0.0], [0.0, 3.0]])
    scores = np.array([[1.0, 0.0], [-2.0, 0.0], [0.5, 0.0], [-1.0, 0.0], [0.4, 0.0]])
    piece = sliced_stein_discrepancy(x, scores=scores, units="raw").slices[0]
    merged = sk.graph_stein_discrepancy(
        [0.0, 1.0, 2.0], scores=np.array([[-0.2], [0.5], [-1.0]]), weights=[3.0, 1.0, 1.0], tolerance=1e-3
    )
    assert piece.positions.tolist() == [0.0, 1.0, 2.0]
    assert piece.value == pytest.approx(merged.value, rel=1e-3)


def test_principal_axes_see_what_coordinates_hardly_do():
    covariance = np.array([[1.0, 0.95], [0.95, 1.0]])
    target = sk.targets.Normal([0.0, 0.0], covariance=covariance)
    x = target.sample(1000, np.random.default_rng(5))
    axes = (np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)) / np.sqrt([[1.95], [0.05]])
    thin = x @ (np.array([[1.0, 1.0], [1.0, 1.0]]) / 2) + 0.8 * x @ (np.array([[1.0, -1.0], [-1.0, 1.0]]) / 2)

    def ratio(directions):
        values = [sliced_stein_discrepancy(y, target, directions=directions, units="raw").value for y in (thin, x)]
        return values[0] / values[1]

    assert ratio(axes) > 1.5 * ratio("coordinates")


def test_bounds_hold_a_coordinate_and_refuse_mixtures():
    target = sk.targets.Uniform([0.0, 0.0], [1.0, 1.0])
    x = target.sample(300, np.random.default_rng(6))
    sliced = sliced_stein_discrepancy(x, target, units="raw", tolerance=1e-6)
    one = sk.graph_stein_discrepancy(x[:, :1], scores=np.zeros((300, 1)), bounds=[0.0, 1.0])
    assert sliced.slices[0].value == pytest.approx(one.value, rel=1e-5)
    mirrored = sliced_stein_discrepancy(x, target, units="raw", directions=[[-2.0, 0.0]], tolerance=1e-6)
    assert mirrored.value > 0.0
    with pytest.raises(sk.UsageError, match="bounded coordinate"):
        sliced_stein_discrepancy(x, target, directions=[[1.0, 1.0]])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"directions": "axes"}, "coordinates"),
        ({"directions": [[0.0, 0.0]]}, "zero"),
        ({"directions": [[1.0, 0.0, 0.0]]}, "shape"),
        ({"directions": [[1.0, 2.0], [1.0]]}, "rows of numbers"),
        ({"directions": [["a", "b"]]}, "rows of numbers"),
        ({"directions": [[1e-200, 0.0]]}, "so long or short"),
        ({"directions": [[1e200, 0.0]]}, "so long or short"),
        ({"stein_factors": None}, "stein_factors .* received None"),
        ({"units": "ow"}, 'did you mean "own"'),
        ({"units": [1.0, -1.0]}, "positive"),
    ],
)
def test_settings_that_make_no_sense(how, message):
    x = draws(0, (20, 2))
    with pytest.raises(sk.UsageError, match=message):
        sliced_stein_discrepancy(x, scores=-x, **how)


def test_raw_units_leave_draws_as_they_are_though_a_bound_is_far():
    """An origin at the bound moved draws to where the bound and the distance to it add up to doubles."""
    x = np.array([[0.0], [1e-17], [0.1]])
    sliced = sliced_stein_discrepancy(x, scores=-x, bounds=[[-1.0, np.inf]], units="raw")
    assert sliced.slices[0].positions.tolist() == x.ravel().tolist()


def test_a_bracket_that_is_no_answer_is_refused():
    """Scores that cancel to within the rounding of s.w, which the bracket allows for: it was an answer."""
    x, scores = np.array([[0.0], [2.0**-50]]), np.array([[-39.0], [30.0]]) * 2.0**50
    with pytest.raises(sk.SolverError, match="no certified answer") as refused:
        sliced_stein_discrepancy(x, scores=scores, weights=[30.0, 39.0], directions=[[3.0]], units="raw")
    assert refused.value.upper > 1.2 * refused.value.lower


def test_numbers_out_of_range_are_refused_without_a_warning():
    x = np.array([[1e308, 0.0], [0.0, 1e300]])
    with pytest.raises(sk.InputError, match="rescale"):
        sk.sliced_stein_discrepancy(x, scores=np.zeros((2, 2)), directions=[[1e8, 1e8]], units="raw")
