"""Classical discrepancy compared with the Wasserstein distance and a discretized function space; false answers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import steinkit as sk
from steinkit.discrepancy.classical import classical_stein_discrepancy
from steinkit.discrepancy.classical_bounds import prove
from steinkit.discrepancy.classical_program import ClassicalProgram, solve_cone
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors

UNIFORM = {"target": sk.targets.Uniform(), "stein_factors": (0.5, 0.5, 1.0)}


def program_of(draws, score=np.negative, factors=(1.0, 1.0, 1.0), bounds=(-np.inf, np.inf)):
    x = np.sort(np.asarray(draws, dtype=float))
    return ClassicalProgram(x, np.full(len(x), 1.0 / len(x)), score(x), SteinFactors(*factors), bounds)


def wasserstein_to_uniform(draws):
    """Return the integral of |F_Q - t| over [0, 1], from the antiderivative of |c - t|."""
    x = np.concatenate([[0.0], np.sort(draws), [1.0]])
    level = np.arange(len(draws) + 1) / len(draws)
    antiderivative = lambda t: 0.5 * (t - level) * np.abs(t - level)  # noqa: E731
    return float((antiderivative(x[1:]) - antiderivative(x[:-1])).sum())


@pytest.mark.parametrize("n", [1, 2, 100, 1000])
def test_uniform_equals_the_wasserstein_distance(n):
    draws = np.random.default_rng(7).random(n)
    result = classical_stein_discrepancy(draws, **UNIFORM)
    distance = wasserstein_to_uniform(draws)
    assert result.lower <= distance * (1 + 1e-12)
    assert result.upper >= distance * (1 - 1e-12)
    assert result.value == pytest.approx(distance, rel=1e-7)


def test_reference_values():
    """Values from another implementation with another solver."""
    uniform = classical_stein_discrepancy(np.random.default_rng(7).random(1000), **UNIFORM)
    assert uniform.value == pytest.approx(0.0060622892, abs=1e-10)
    draws = np.random.default_rng(1).standard_normal(1000)
    normal = classical_stein_discrepancy(draws, scores=-draws)
    assert normal.lower <= 0.07434882205
    assert normal.upper >= 0.07434882195
    assert normal.gap < 1e-6


FACTORS = [(1.0, 1.0, 1.0), (0.5, 0.5, 1.0), (1.0, 4.0, 2.0), (1.0, 0.2, 3.0), (0.3, 2.0, 0.5), (10.0, 1.0, 1.0)]
SUPPORTS = [(-np.inf, np.inf), (-4.0, np.inf), (-np.inf, 4.0), (-4.0, 4.0), (-4.0, 50.0)]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 40),
    factors=st.sampled_from(FACTORS),
    bounds=st.sampled_from(SUPPORTS),
    spread=st.sampled_from([1e-3, 1.0, 3.9]),
)
def test_graph_discrepancy_is_not_smaller(seed, n, factors, bounds, spread):
    rng = np.random.default_rng(seed)
    draws, scores = spread * rng.uniform(-1.0, 1.0, n), rng.standard_normal(n)
    arguments = {"scores": scores, "bounds": bounds, "stein_factors": factors}
    classical = classical_stein_discrepancy(draws, **arguments)
    graph = sk.graph_stein_discrepancy(draws, **arguments)
    assert classical.lower <= graph.upper
    assert classical.gap < 1e-6


def discretised(x, weights, scores, factors, bounds, step):
    """Return optima of two linear programs on a fine grid, below and above the classical discrepancy.

    Below: functions with a constant second derivative between grid points, and |g| below c1 by their possible gain
    between them. Above: values and slopes at grid points that satisfy Taylor's inequalities between neighbors.
    """
    c1, c2, c3 = factors
    low, high = max(bounds[0], x.min() - 4.0), min(bounds[1], x.max() + 4.0)
    grid = np.unique(np.concatenate([np.arange(low, high, step), [high], x]))
    grid = grid[np.concatenate([[True], np.diff(grid) > 1e-9])]
    at = np.array([np.abs(grid - value).argmin() for value in x])
    h, k = np.diff(grid), len(grid)
    objective = np.zeros(2 * k)
    np.add.at(objective, at, weights * scores)
    np.add.at(objective, k + at, weights)
    e, eye = np.arange(k - 1), sparse.eye_array(k, format="csr")
    difference, mean = eye[e + 1] - eye[e], 0.5 * (eye[e + 1] + eye[e])
    zero, H = sparse.csr_array((k - 1, k)), sparse.diags_array(h)
    turning = sparse.hstack([zero, difference])
    rise = sparse.hstack([difference, -(H @ mean)])
    forward, backward = (sparse.hstack([difference, -(H @ eye[i])]) for i in (e, e + 1))

    def optimum(rows, radii, equal, height):
        box = np.column_stack([-np.r_[height, np.full(k, c2)], np.r_[height, np.full(k, c2)]])
        solved = linprog(
            -objective,
            A_ub=sparse.vstack([rows, -rows]),
            b_ub=np.tile(radii, 2),
            A_eq=equal,
            b_eq=None if equal is None else np.zeros(equal.shape[0]),
            bounds=box,
        )
        return -solved.fun

    height = np.full(k, c1)
    height[0], height[-1] = (0.0 if np.isfinite(b) else c1 for b in bounds)
    inner = optimum(turning, c3 * h, rise, np.maximum(height - c3 * step**2 / 8.0, 0.0))
    rows = sparse.vstack([turning, forward, backward, sparse.hstack([difference, zero])])
    outer = optimum(rows, np.concatenate([c3 * h, 0.5 * c3 * h**2, 0.5 * c3 * h**2, c2 * h]), None, height)
    return inner, outer


@pytest.mark.parametrize("factors", FACTORS[:5], ids=str)
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-1.2, np.inf), (-1.2, 1.5)], ids=str)
def test_discrepancy_matches_a_discretised_function_space(factors, bounds):
    """The linear programs use only the definition of the class."""
    rng = np.random.default_rng(5)
    x, q, s = np.sort(rng.uniform(-1.1, 1.4, 6)), rng.random(6) + 0.1, 1.5 * rng.standard_normal(6)
    q = q / q.sum()
    below, above = discretised(x, q, s, factors, bounds, 0.02)
    result = classical_stein_discrepancy(x, scores=s, weights=q, bounds=bounds, stein_factors=factors)
    assert below <= result.upper * (1 + 1e-7)
    assert above >= result.lower * (1 - 1e-7)
    assert above - below < 0.03 * above
    assert result.gap < 1e-6


def test_returned_function_is_admissible_and_attains_the_lower_bound():
    draws = np.sort(np.random.default_rng(3).gamma(2.0, size=200))
    c1, c2, c3 = 0.7, 0.9, 1.3
    result = classical_stein_discrepancy(draws, sk.targets.Gamma(2.0), stein_factors=(c1, c2, c3))
    assert result.sample.weights @ result.test_function == pytest.approx(result.lower, rel=1e-9)
    g, slope, h = result.g, result.grad_g, np.diff(draws)
    assert (np.abs(g) + slope**2 / (2 * c3) <= c1 * (1 + 1e-12)).all()
    assert (np.abs(slope) <= c2).all()
    for k in range(len(h)):  # integral of the upper and lower envelope of g', numerically
        t = np.linspace(0.0, h[k], 2001)
        high = np.minimum(c2, np.minimum(slope[k] + c3 * t, slope[k + 1] + c3 * (h[k] - t)))
        low = np.maximum(-c2, np.maximum(slope[k] - c3 * t, slope[k + 1] - c3 * (h[k] - t)))
        rise = g[k + 1] - g[k]
        noise = 1e-6 * c3 * h[k] ** 2 + 1e-14
        assert np.trapezoid(low, t) - noise <= rise <= np.trapezoid(high, t) + noise


FALSIFICATIONS = {
    "noise": lambda rng, a: a + 0.1 * rng.standard_normal(a.shape),
    "a little noise": lambda rng, a: a * (1 + 1e-4 * rng.standard_normal(a.shape)),
    "scaled up": lambda rng, a: 3.0 * a,
    "scaled down": lambda rng, a: 0.3 * a,
    "signs turned": lambda rng, a: -a,
    "nothing": lambda rng, a: 0.0 * a,
    "not numbers": lambda rng, a: np.full_like(a, np.nan),
    "huge": lambda rng, a: 1e300 * a,
    "shuffled": lambda rng, a: rng.permutation(a.ravel()).reshape(a.shape),
}


@pytest.mark.parametrize("kind", FALSIFICATIONS)
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-5.0, np.inf), (-5.0, 5.0)], ids=str)
def test_false_answers_only_widen_the_bracket(kind, bounds):
    rng = np.random.default_rng(11)
    program = program_of(rng.standard_normal(30), bounds=bounds)
    answer, _ = solve_cone(program)
    lower, upper, _, _ = prove(program, answer)
    assert upper - lower < 1e-7 * upper
    names = list(vars(answer))
    for falsified in (names, names[:4], names[4:], *([name] for name in names)):
        false = replace(answer, **{name: FALSIFICATIONS[kind](rng, getattr(answer, name)) for name in falsified})
        wide_lower, wide_upper, value, slope = prove(program, false)
        assert 0.0 <= wide_lower <= upper
        assert lower <= wide_upper < np.inf
        assert program.weights @ (program.scores * value + slope) >= wide_lower
    if kind != "a little noise":
        falsified_all = replace(answer, **{name: FALSIFICATIONS[kind](rng, getattr(answer, name)) for name in names})
        wide_lower, wide_upper, _, _ = prove(program, falsified_all)
        assert wide_upper - wide_lower > 1e-3 * upper


def test_contradictory_bounds_are_an_error(monkeypatch):
    monkeypatch.setattr("steinkit.discrepancy.classical_bounds.upper_bound", lambda *_: 0.125)
    with pytest.raises(sk.CrossedBracketError, match="bug in steinkit") as raised:
        classical_stein_discrepancy([0.8, 1.1], scores=[-2.0, -1.0])
    with np.load(raised.value.instance) as saved:
        np.testing.assert_array_equal(saved["points"], [0.8, 1.1])
        assert saved["lower"] > saved["upper"] == 0.125
    Path(raised.value.instance).unlink()


def test_one_draw_has_the_optimum_of_a_point():
    """With gamma = c1 - Gamma^2/2, s gamma + Gamma is largest at Gamma = min(c2, 1/|s|)."""
    result = classical_stein_discrepancy([0.8], scores=[-2.0])
    assert result.value == pytest.approx(2.0 * (1.0 - 0.125) + 0.5, rel=1e-12)
    equal = classical_stein_discrepancy(np.full(9, 0.8), scores=np.full(9, -2.0))
    assert equal.value == pytest.approx(result.value, rel=1e-12)
    assert any("same point" in note for note in equal.warnings)


def test_points_on_and_near_a_bound():
    draws = np.concatenate([[0.0, 1.0, 1e-13, 1e-7, 1.0 - 1e-12], np.random.default_rng(2).random(200)])
    result = classical_stein_discrepancy(draws, **UNIFORM)
    assert result.value == pytest.approx(wasserstein_to_uniform(draws), rel=1e-6)
    assert result.gap < 1e-6
    assert abs(result.g[0]) < 1e-14
    assert abs(result.g[1]) < 1e-14


def test_outliers_add_their_own_optima():
    """Isolated points add their optima, |s| (c1 - Gamma^2/2) + Gamma at Gamma = 1/|s|."""
    draws = np.random.default_rng(4).standard_normal(300)
    far = np.array([1e9, -1e9])
    both = classical_stein_discrepancy(np.concatenate([draws, far]), sk.targets.Normal())
    near = classical_stein_discrepancy(draws, sk.targets.Normal())
    assert both.gap < 1e-6
    ceiling = 1e9 * (1.0 - 0.5e-18) + 1e-9
    assert both.value == pytest.approx((300 * near.value + 2.0 * ceiling) / 302, rel=1e-12)


def test_order_and_splitting_of_weights_do_not_matter():
    rng = np.random.default_rng(6)
    draws, weights = rng.gamma(2.0, size=150), rng.random(150)
    target = sk.targets.Gamma(2.0)
    result = classical_stein_discrepancy(draws, target, weights=weights)
    order = rng.permutation(150)
    shuffled = classical_stein_discrepancy(draws[order], target, weights=weights[order])
    assert shuffled.value == pytest.approx(result.value, rel=1e-9)
    np.testing.assert_allclose(shuffled.test_function, result.test_function[order], atol=1e-4)
    split = classical_stein_discrepancy(
        np.concatenate([draws, draws]), target, weights=np.concatenate([0.3 * weights, 0.7 * weights])
    )
    assert split.value == pytest.approx(result.value, rel=1e-9)
    assert any("repeat an earlier draw" in note for note in split.warnings)


def test_invalid_arguments_are_refused():
    draws = np.random.default_rng(1).standard_normal((20, 2))
    with pytest.raises(sk.UsageError, match="use graph_stein_discrepancy"):
        classical_stein_discrepancy(draws, sk.targets.Normal(dim=2))
    for argument in ({"tolerance": 0.0}, {"tolerance": 1.0}, {"max_seconds": 0.0}, {"stein_factors": (1.0, 1.0)}):
        with pytest.raises(sk.UsageError, match=next(iter(argument))):
            classical_stein_discrepancy(draws[:, 0], sk.targets.Normal(), **argument)
    with pytest.raises(sk.InputError, match="expected draws in"):
        classical_stein_discrepancy([0.5, 1.5], sk.targets.Uniform())
    with pytest.raises(sk.InputError, match="rescale"):
        classical_stein_discrepancy([0.0, 1.0], scores=[1e305, 0.0])


def test_wide_bracket_is_reported():
    draws = np.random.default_rng(1).standard_normal(200)
    with pytest.warns(sk.SteinkitWarning, match="relative width"):
        result = classical_stein_discrepancy(draws, sk.targets.Normal(), tolerance=1e-15)
    assert "relative width" in result.warnings[-1]
    with pytest.raises(sk.TimeLimitError):
        classical_stein_discrepancy(np.random.default_rng(1).random(5000), max_seconds=0.05, **UNIFORM)


@pytest.mark.parametrize("factors", [(0.05, 1.0, 10.0), (0.2, 1.0, 30.0), (0.2, 4.0, 40.0), (1.0, 5.0, 100.0)], ids=str)
@pytest.mark.parametrize("bounds", [(-np.inf, np.inf), (-4.0, 4.0)], ids=str)
def test_long_gaps_add_no_restriction(monkeypatch, factors, bounds):
    """The value is the same if every gap is kept."""
    draws = np.sort(np.random.default_rng(12).uniform(-1.0, 1.0, 60)) ** 3 * 3.5
    program = program_of(draws, lambda x: -3.0 * x, factors, bounds)
    components = len(program.starts)
    lower, upper, _, _ = prove(program, solve_cone(program)[0])
    monkeypatch.setattr(ClassicalProgram, "reach", property(lambda self: np.inf))
    whole = program_of(draws, lambda x: -3.0 * x, factors, bounds)
    assert len(whole.starts) == 2 < components
    whole_lower, whole_upper, _, _ = prove(whole, solve_cone(whole)[0])
    assert max(upper, whole_upper) - min(lower, whole_lower) < 1e-5 * upper
    assert max(lower, whole_lower) <= min(upper, whole_upper)
