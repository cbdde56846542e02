"""The lower bound against its function in rational arithmetic: where it leads, what it may do, and what it is worth."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from support.exact_classical import (
    SUPPORTS,
    bend_and_turn,
    exact,
    excess_at_point,
    excess_in_gap,
    followed,
    fractions,
    gap_lengths,
    random_answer,
    random_classical,
)

from steinkit.discrepancy import classical_bounds as module
from steinkit.discrepancy.classical_bounds import lower_bound
from steinkit.discrepancy.classical_program import ClassicalProgram, solve_cone
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors


@pytest.mark.parametrize("n", [1, 3, 100])
@pytest.mark.parametrize("spread", [0.1, 100.0])
def test_rounding_does_not_take_it_above_the_mean_of_its_function(n, spread):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points, weights, scores = np.sort(spread * rng.standard_normal(n)), rng.random(n), rng.standard_normal(n)
        weights /= weights.sum()
        program = ClassicalProgram(points, weights, scores, SteinFactors(1.0, 1.0, 1.0), (-np.inf, np.inf))
        lower, value, slope = lower_bound(program, solve_cone(program))
        columns = zip(weights.tolist(), scores.tolist(), value.tolist(), slope.tolist(), strict=True)
        mean = sum(Fraction(q) * (Fraction(s) * Fraction(g) + Fraction(d)) for q, s, g, d in columns)
        assert 0 < Fraction(lower) <= mean <= Fraction(lower) * (1 + Fraction(1, 10**12))


PLACES = ("left bound", "between", "right bound")


def components(program, answer):
    """First point, end, trajectory, and number, u, v and their errors of the matched gap, of each with a gap."""
    bounded = {end[0] for end in program.ends}
    for first, stop in pairwise(program.starts.tolist()):
        if stop - first > 1 or first in bounded:
            component, numbers = module._component(program, answer, first, stop)
            path, place, matched = component.integrated()
            yield first, stop, path, None if matched is None else numbers[place], matched


def place_of(program, first, stop, gap):
    """Number of a component's points that are reached from the left."""
    if gap is None:
        bounded = {(end[0], end[2]) for end in program.ends}
        return 0 if (stop - 1, -1.0) in bounded and (first, 1.0) not in bounded else stop - first
    if gap < len(program.inner):
        return int(program.inner[gap]) - first + 1
    return 0 if program.ends[gap - len(program.inner)][2] > 0 else stop - first


def truth_of(program, answer, first, stop, path, gap):
    """What a trajectory stands for, given its slopes at the two ends."""
    ends = [fractions(each[[0, -1]]) for each in (path[1], path[0])]
    return followed(program, answer, first, stop, *ends, place_of(program, first, stop, gap))


def assert_within(found, truth, error):
    for one, other, limit in zip(fractions(found), truth, fractions(error), strict=True):
        assert abs(one - other) <= limit


def assert_errors_hold(program, answer):
    """Of trajectories, and of u and v of the gap where two of them meet."""
    for first, stop, path, gap, matched in components(program, answer):
        value, slope = truth_of(program, answer, first, stop, path, gap)
        assert_within(path[0], value, path[2])
        assert_within(path[1], slope, path[3])
        if gap is None:
            continue
        whole_value, whole_slope = ({first + i: each for i, each in enumerate(part)} for part in (value, slope))
        u, v = bend_and_turn(program, whole_value, whole_slope, gap)
        found = fractions(matched)
        assert abs(found[0] - u) <= found[2]
        assert abs(found[1] - v) <= found[3]


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("seed", range(12))
def test_trajectories_err_by_no_more_than_they_say(seed, support):
    assert_errors_hold(*random_classical(seed, support=support))


@pytest.mark.parametrize("factors", [None, (2.0**20, 2.0**20, 1.0)])
@pytest.mark.parametrize("slope", [0.0, 2.0**40])
@pytest.mark.parametrize("value", [0.0, 2.0**40])
@pytest.mark.parametrize("support", SUPPORTS)
def test_errors_hold_for_answers_of_any_size(support, value, slope, factors):
    """Each of slope, value, bend and turn much larger than the others, or nothing at all, and lengths of any size."""
    for seed, (bend, turn) in enumerate(product((0.0, 1.0, 2.0**40), repeat=2)):
        program, answer = random_classical(seed, support=support, n=7, factors=factors)
        assert_errors_hold(
            program,
            replace(
                answer,
                value=value * answer.value,
                slope=slope * answer.slope,
                bend=bend * answer.bend,
                turn=turn * answer.turn,
            ),
        )


def between_two_bounds(seed, place):
    """A component of four points, the number of them before the gap at this place, and the gap's in the program."""
    rng = np.random.default_rng(seed)
    h = rng.uniform(0.5, 1.0, 5)
    points = np.cumsum(h[:4])
    factors, bounds = SteinFactors(8.0, 4.0, 0.5), (0.5 * h[0], float(points[-1] + 0.5 * h[4]))
    program = ClassicalProgram(points, np.full(4, 0.25), np.ones(4), factors, bounds)
    answer = random_answer(program, rng)
    assert program.starts.tolist() == [0, 4]
    component, numbers = module._component(program, answer, 0, 4)
    at = {"left bound": 0, "between": 2, "right bound": 4}[place]
    return program, answer, component, at, numbers[at]


def from_right(component, at, shift):
    """A trajectory over the points from this one on."""
    return module._reflected(component._seen_from_right()._from_left(len(component.points) - at, shift))


def matched(component, left, right, at):
    """The u and v, with their errors, of the gap where trajectories meet, and the shifts that would mend it."""
    return component._matched(left, right, at, *component.bounds)


def met(component, at, shifts):
    """The gap where trajectories of these shifts meet."""
    return matched(component, component._from_left(at, shifts[0]), from_right(component, at, shifts[1]), at)


def with_errors(path, size, rng):
    """A trajectory of which no more is known than that it lies so close to this one."""
    errors = [size * rng.uniform(0.5, 1.0, path.shape[1]).astype(np.longdouble) for _ in range(2)]
    return np.array([*path[:2], *errors])


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("seed", range(4))
def test_the_gap_where_trajectories_meet_has_what_is_found_for_any_of_them(seed, place):
    """Ends known up to errors leave u and v of a range that is found, no part of it missing and no more."""
    program, _, component, at, gap = between_two_bounds(seed, place)
    rng = np.random.default_rng(seed)
    left = with_errors(component._from_left(at, 0.0), 0.01, rng)
    right = with_errors(from_right(component, at, 0.0), 0.01, rng)
    ends = (at - 1, at) if place == "between" else (min(at, 3),)
    whole = np.concatenate([left, right], axis=1)
    value, slope, value_error, slope_error = (dict(enumerate(fractions(row))) for row in whole)
    bends, turns = [], []
    for signs in product((1, -1), repeat=2 * len(ends)):
        one, other = dict(value), dict(slope)
        for i, (a, b) in zip(ends, zip(signs[::2], signs[1::2], strict=True), strict=True):
            one[i] += a * value_error[i]
            other[i] += b * slope_error[i]
        u, v = bend_and_turn(program, one, other, gap)
        bends.append(u)
        turns.append(v)
    u, v, u_error, v_error = fractions(matched(component, left, right, at)[0])
    close = Fraction(1, 10**12)
    for found, error, each in ((u, u_error, bends), (v, v_error, turns)):
        assert found - error <= min(each)
        assert max(each) <= found + error
        assert error * (1 - close) <= (max(each) - min(each)) / 2 + close * max(map(abs, each))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("seed", range(4))
def test_shifts_of_slope_give_the_gap_the_bend_and_turn_wanted(seed, place):
    _, answer, component, at, gap = between_two_bounds(seed, place)
    before, shifts = met(component, at, (0.0, 0.0))
    after, _ = met(component, at, shifts)
    wanted = (answer.bend[gap], answer.turn[gap] if place == "between" else 0.0)
    assert not np.allclose(np.float64(before[:2]), wanted, rtol=0.1)
    np.testing.assert_allclose(np.float64(after[:2]), wanted, rtol=1e-12)


@pytest.mark.parametrize("longest", range(5))
def test_trajectories_meet_in_the_longest_gap(longest):
    """Gaps to mirror images, 0 and 4 here and the last two of the program, are twice the distance from the bound."""
    h = np.array([1.0, 1.2, 0.8, 1.1, 0.9])
    h[longest] = 1.3
    points = np.cumsum([0.5 * h[0], *h[1:4]])
    factors, bounds = SteinFactors(8.0, 4.0, 0.5), (0.0, float(points[-1] + 0.5 * h[4]))
    program = ClassicalProgram(points, np.full(4, 0.25), np.ones(4), factors, bounds)
    ((*_, gap, _),) = components(program, random_answer(program, np.random.default_rng(0)))
    assert gap == {0: 3, 4: 4}.get(longest, longest - 1)
    assert program.lengths[gap] == pytest.approx(1.3)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("seed", range(12))
def test_a_gap_in_which_nothing_bends_errs_by_no_more_than_it_says(seed, place):
    """Values at its ends that differ by just what the slopes ask, each of them in the lead or not there."""
    program, _, component, at, gap = between_two_bounds(seed, place)
    rng = np.random.default_rng(seed)
    ends = (at - 1, at) if place == "between" else (min(at, 3),)
    for sizes in product((0.0, 1.0), (0.0, 2.0**-30, 1.0), (-0.5, 0.0, 2.0**-30, 1.0)):
        value, slope = (each * rng.random(4).astype(np.longdouble) for each in (sizes[0], sizes[1]))
        slope[ends[-1]] = slope[ends[0]] if sizes[2] == 1.0 else sizes[2] * rng.random()
        if place == "between":
            h = component.points[at] - component.points[at - 1]
            value[at] = value[at - 1] + 0.5 * h * (slope[at - 1] + slope[at])
        else:
            side, sign = (0, 1.0) if place == "left bound" else (1, -1.0)
            value[ends[0]] = sign * component.bounds[side][0] * slope[ends[0]]
        path = np.array([value, slope, np.zeros(4), np.zeros(4)])
        u, v = bend_and_turn(program, *(dict(enumerate(fractions(each))) for each in (value, slope)), gap)
        found = fractions(matched(component, path[:, :at], path[:, at:], at)[0])
        assert abs(found[0] - u) <= found[2]
        assert abs(found[1] - v) <= found[3]


def excesses(program, path, gaps, scale, signs):
    """Worst excess in each component of a multiple of a trajectory, with the errors in one direction or the other."""
    component = np.repeat(np.arange(len(program.starts) - 1), np.diff(program.starts))
    worst = [Fraction(-1)] * (len(program.starts) - 1)
    scales = [exact(scale[first]) for first in program.starts[:-1]]
    value, slope, value_error, slope_error = map(fractions, path)
    bend, turn, bend_error, turn_error = map(fractions, gaps)
    steep = [b + signs[0] * e for b, e in zip(slope, slope_error, strict=True)]
    for i, k in enumerate(component):
        height = value[i] + signs[1] * value_error[i]
        worst[k] = max(worst[k], excess_at_point(program, scales[k] * height, scales[k] * steep[i]))
    left = [*program.inner.tolist(), *(end[0] for end in program.ends)]
    right = [*(program.inner + 1).tolist(), *(end[0] for end in program.ends)]
    for gap, length in enumerate(gap_lengths(program)):
        k = component[left[gap]]
        if length:
            mean = (steep[left[gap]] + steep[right[gap]]) / 2
            u, v = bend[gap] + signs[2] * bend_error[gap], turn[gap] + signs[3] * turn_error[gap]
            worst[k] = max(worst[k], excess_in_gap(program, *(scales[k] * each for each in (mean, u, v)), length))
    return worst


def assert_largest(program, path, gaps):
    """The multiples taken are admitted, whatever the errors, and a little more is not unless it is all."""
    scale = module._largest_multiples(program, path, gaps)
    corners = list(product((1, -1), repeat=4))
    worst, beyond = (
        np.max([excesses(program, path, gaps, multiple * scale, signs) for signs in corners], axis=0)
        for multiple in (1.0, 1.0 + 1e-11)
    )
    assert (worst <= 0).all()
    assert ((beyond > 0) | (scale[program.starts[:-1]] > 1.0 - 1e-15)).all()


def stretched(program, rng):
    """The program with points so far apart that slopes, and not values, are what restricts."""
    c, n = program.factors, len(program.points)
    length = 3.0 * c.gradient / c.smoothness
    points = np.cumsum(length * rng.uniform(0.7, 1.0, n))
    ends = [points[0] - length / 3.0, points[-1] + length / 3.0]
    bounds = tuple(np.where(np.isfinite(program.bounds), ends, program.bounds).tolist())
    factors = SteinFactors(100.0 * c.gradient**2 / c.smoothness, c.gradient, c.smoothness)
    return ClassicalProgram(points, program.weights, program.scores, factors, bounds)


@pytest.mark.parametrize("kind", ["value", "slope", "bend", "turn", "mean", "all"])
@pytest.mark.parametrize("seed", range(6))
def test_multiples_are_the_largest_that_are_admitted_whatever_the_errors(seed, kind):
    """Values, slopes, bends or turns in the lead, with errors that matter; `mean`: steep slopes and long gaps."""
    rng = np.random.default_rng(seed)
    program, _ = random_classical(seed, n=6, extent=None if kind == "all" else 1.0, support=SUPPORTS[seed % 4])
    n, gaps, c = len(program.points), len(program.lengths), program.factors
    size = {name: 1.0 if kind in (name, "all") else 1e-3 for name in ("value", "slope", "bend", "turn")}
    if kind == "mean":
        size["slope"], program = 1.0, stretched(program, rng)
        gaps, c = len(program.lengths), program.factors

    def normal(name, unit, count):
        return (size[name] * unit * rng.standard_normal(count)).astype(np.longdouble)

    errors = (0.3 * rng.random() * np.ones(n, dtype=np.longdouble) for _ in range(2))
    units = {"value": c.value, "slope": program.steepest}
    values = [normal(name, unit, n) for name, unit in units.items()]
    path = np.array([*values, *(size[name] * units[name] * next(errors) for name in units)])
    found = [normal(name, 1.0, gaps) for name in ("bend", "turn")]
    found += [0.2 * np.abs(normal(name, 1.0, gaps)) for name in ("bend", "turn")]
    found = np.stack(found)
    assert_largest(program, path, found)


def worth(program, value, slope, value_error, slope_error):
    """The least mean of s gamma + Gamma over weights, for values and slopes known up to errors."""
    columns = (program.weights, program.scores, value, slope, value_error, slope_error)
    rows = zip(*(column if isinstance(column, list) else fractions(column) for column in columns), strict=True)
    return sum(q * (s * g + d - abs(s) * e - f) for q, s, g, d, e, f in rows)


@pytest.mark.parametrize("support", SUPPORTS)
@pytest.mark.parametrize("seed", range(10))
def test_a_multiple_of_the_function_that_any_answer_defines_is_worth_the_bound(monkeypatch, seed, support):
    """From the answer to the bound with nothing rounded but what is tested: admitted everywhere, and worth it."""
    seen = {}

    def recorded(program, path, gaps):
        seen.update(path=path, gaps=gaps, scale=find(program, path, gaps))
        return seen["scale"]

    find = module._largest_multiples
    monkeypatch.setattr(module, "_largest_multiples", recorded)
    program, answer = random_classical(seed, support=support)
    for sign, size in product((1.0, -1.0), (0.1, 3.0)):
        changed = {name: sign * size * getattr(answer, name) for name in ("value", "slope", "bend", "turn")}
        one = replace(answer, **changed)
        lower, _, _ = lower_bound(program, one)
        scale, path = fractions(seen["scale"]), seen["path"]
        value, slope = fractions(path[0]), fractions(path[1])
        bend, turn = (fractions(each) for each in seen["gaps"][:2])
        for first, stop, found, matched_gap, _ in components(program, one):
            value[first:stop], slope[first:stop] = truth_of(program, one, first, stop, found, matched_gap)
            if matched_gap is not None:
                bend[matched_gap], turn[matched_gap] = bend_and_turn(program, value, slope, matched_gap)
        assert max(map(excess_at_point, [program] * len(value), times(scale, value), times(scale, slope))) <= 0
        left = [*program.inner.tolist(), *(end[0] for end in program.ends)]
        right = [*(program.inner + 1).tolist(), *(end[0] for end in program.ends)]
        for gap, length in enumerate(gap_lengths(program)):
            i, k = left[gap], right[gap]
            mean = scale[i] * (slope[i] + slope[k]) / 2
            assert scale[i] == scale[k]
            assert excess_in_gap(program, mean, scale[i] * bend[gap], scale[i] * turn[gap], length) <= 0
        scaled, nothing = [times(scale, value), times(scale, slope)], [Fraction(0)] * len(value)
        assert Fraction(lower) <= max(worth(program, *scaled, nothing, nothing), 0)
        size = -worth(program, nothing, nothing, *([abs(each) for each in part] for part in scaled))
        least = worth(program, *scaled, path[2], path[3])
        assert Fraction(lower) >= least - Fraction(1, 10**13) * size


def times(one, other):
    return [a * b for a, b in zip(one, other, strict=True)]


@pytest.mark.parametrize("seed", range(6))
def test_errors_of_the_function_are_taken_from_what_it_is_worth(monkeypatch, seed):
    """With errors that matter, and scores of any size, the bound is the least mean within them, rounded down."""
    rng = np.random.default_rng(seed)
    scores = 2.0 ** rng.integers(-8, 9, 12) * rng.choice([-1.0, 1.0], 12)
    points, weights = np.cumsum(rng.uniform(0.5, 1.0, 12)), rng.dirichlet(np.ones(12))
    program = ClassicalProgram(points, weights, scores, SteinFactors(1e6, 1e6, 1e6), (-np.inf, np.inf))
    straight = np.zeros(11)
    answer = replace(random_answer(program, rng), bend=straight, turn=straight)
    value_error, slope_error = (rng.random(12) * 10.0 ** rng.integers(-3, 1, 12) for _ in range(2))
    value, slope = np.sign(scores) * (2.0 + rng.random(12)), 2.0 + rng.random(12)
    path = np.array([value, slope, value_error, slope_error], dtype=np.longdouble)
    monkeypatch.setattr(module._Component, "integrated", lambda self: (path, 0, None))
    lower, found_value, found_slope = lower_bound(program, answer)
    np.testing.assert_allclose([found_value, found_slope], [value, slope], rtol=1e-15)
    truth = worth(program, found_value, found_slope, value_error, slope_error)
    assert truth * (1 - Fraction(1, 10**12)) <= Fraction(lower) <= truth


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_point_beside_a_bound_is_held_to_it(side):
    """An answer that leaves the bound out of account: gamma = c1 at a distance of a tenth, where |gamma| <= 0.1 c2."""
    bounds = (-0.1, np.inf) if side == "left" else (-np.inf, 0.1)
    program = ClassicalProgram(np.zeros(1), np.ones(1), np.ones(1), SteinFactors(1.0, 1.0, 1.0), bounds)
    answer = solve_cone(program)
    lie = replace(answer, value=np.ones(1), slope=np.zeros(1), bend=np.zeros(1))
    assert 0.0 < lower_bound(program, answer)[0] <= 1.1  # score times gamma, and a slope of c2
    assert lower_bound(program, lie)[0] <= 0.1
