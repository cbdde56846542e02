"""Functions learned for the sliced test compared with the optimum of `solve_slice`; ties, other solvers, deadlines."""

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

import steinkit as sk
from steinkit.discrepancy import sliced_goodness_of_fit
from steinkit.discrepancy.graph.solvers import Settings, interior_point
from steinkit.discrepancy.sliced import projected, solve_slice
from steinkit.discrepancy.sliced_goodness_of_fit import TOLERANCE, Half, learn
from steinkit.runtime.deadlines import StopSignal, time_limit

DIRECTIONS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, -1.7], [3.0, 1.0], [-1.0, 0.0], [0.5, 0.5]])
FREE = [None] * len(DIRECTIONS)


def half(seed=0, n=200, kind="distinct"):
    rng = np.random.default_rng(seed)
    points, share = rng.standard_normal((n, 2)), np.full(n, 1.0 / n)
    if kind == "repeated":
        points = points[np.sort(rng.integers(0, n // 2, n))]
    if kind == "weighted":
        points, share = np.round(points, 1), rng.dirichlet(np.ones(n))
    scores = -1.1 * points
    if kind == "rounded together":
        points = np.round(points, 1)
    return Half(points, scores, share)


def by(half, bounds=FREE):
    directions = DIRECTIONS[: len(bounds)]
    return learn(half, directions, bounds, Settings(TOLERANCE))


def one_by_one(half, bounds=FREE, tolerance=TOLERANCE):
    masses = half.share, np.zeros_like(half.share)
    return [
        solve_slice(
            v, half.points, half.scores, masses, bounds=each, stein_factors=(1.0, 1.0, 1.0), tolerance=tolerance
        )
        for v, each in zip(DIRECTIONS, bounds, strict=False)
    ]


def assert_same(learnt, expected):
    for one, other in zip(learnt, expected, strict=True):
        assert np.array_equal(one.positions, other.positions)
        np.testing.assert_array_equal(one.phi, other.phi)
        np.testing.assert_array_equal(one.slope, other.slope)
        assert one.bounds == other.bounds


def assert_nearly_optimal(draws, bounds=FREE):
    """Check the mean of h for phi with |phi| <= 1 and |phi'| <= 1 against the optimum."""
    on = zip(*projected(DIRECTIONS[: len(bounds)], draws.points, draws.scores), strict=True)
    for one, best, at in zip(by(draws, bounds), one_by_one(draws, bounds, 1e-3), on, strict=True):
        apart = np.abs(one.positions[:, None] - best.positions)
        assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 1e-14  # up to rounding
        assert one.bounds == best.bounds
        bound = max(np.abs(one.phi).max(), np.abs(one.slope).max(), 1.0)
        assert bound < 1.01
        mean = float(draws.share @ one.along(*at))
        assert 0.9 * best.upper < mean / bound <= 1.001 * best.upper
        assert one.lower == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize("kind", ["distinct", "repeated", "weighted", "rounded together"])
@pytest.mark.parametrize("n", [40, 200, 1500])
def test_functions_are_nearly_optimal(kind, n):
    assert_nearly_optimal(half(n=n, kind=kind))


def test_functions_are_nearly_optimal_on_bounded_supports():
    draws = half(1)
    inside = Half(np.abs(draws.points), draws.scores, draws.share)
    assert_nearly_optimal(inside, [np.array([[0.0, np.inf]]), np.array([[0.0, np.inf]])])
    assert_nearly_optimal(inside, [np.array([[0.0, 9.0]])])


def test_weak_slices_are_nearly_optimal_next_to_strong_ones():
    draws = half(6)
    strong = draws.scores * [1.0, 1e4]
    assert_nearly_optimal(Half(draws.points, strong, draws.share), FREE[:2])


def test_open_brackets_are_left_to_other_solvers(monkeypatch):
    """The chain solver stops early, and other solvers are used."""
    monkeypatch.setattr(interior_point, "_MOST_ITERATIONS", 2)
    calls = []
    monkeypatch.setattr(
        sliced_goodness_of_fit, "solve_slice", lambda *args, **kwargs: calls.append(1) or solve_slice(*args, **kwargs)
    )
    draws = half(2, n=40)
    assert_same(by(draws), one_by_one(draws))
    assert len(calls) == len(DIRECTIONS)


def test_large_scores_of_ties():
    draws = half(3, kind="repeated")
    assert_nearly_optimal(Half(draws.points, 2.0**300 * draws.scores, draws.share))


def test_interrupts_are_raised():
    stop = StopSignal()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        learn(half(), DIRECTIONS[:1], FREE[:1], Settings(TOLERANCE, interrupted=stop))


def test_time_limit():
    with pytest.raises(sk.SolverError), time_limit(1e-6):
        by(half())


def test_h_matches_a_cubic_hermite_spline():
    (found,) = one_by_one(half(4), FREE[:1])
    spline, rng = CubicHermiteSpline(found.positions, found.phi, found.slope), np.random.default_rng(5)
    u = np.concatenate([rng.uniform(found.positions[0], found.positions[-1], 100), found.positions])
    pull = rng.standard_normal(len(u))
    assert np.array_equal(found.along(u, pull), spline(u) * pull + spline(u, 1))
    beyond = np.array([found.positions[0] - 1.0, found.positions[-1] + 2.0])
    assert found.along(beyond, np.array([2.0, 3.0])) == pytest.approx([2.0 * found.phi[0], 3.0 * found.phi[-1]])
