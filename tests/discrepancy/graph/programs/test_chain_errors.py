"""Error bounds of the chain form in rational arithmetic, for different magnitudes and for cancellation."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from support.exact_chain import exact_cost, exactly, function_of
from support.exact_programs import exact_program, fractions, line_program

from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import (
    BOUNDED,
    EDGE,
    FREE,
    LIPSCHITZ_EDGE,
    ROWS,
    Chain,
    Trace,
    _end_cost,
    costate_bound,
    trace,
)
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import sorted_graph
from steinkit.double_double import two_sum

SIZES = (0.0, 2.0**-40, 1.0, 2.0**40)


def chain_of(rng, kinds, steps, factors=(1.7, 1.3, 0.9)):
    """Return a chain with arbitrary lengths, boxes and weights, without a far bound."""
    kind, n = np.array(kinds, dtype=np.int64), len(kinds)
    step = np.where(kind == FREE, 0.0, np.array(steps))
    value, slope = rng.standard_normal((2, n))
    step_low, value_low, slope_low = (low_parts(rng, high) for high in (step, value, slope))
    box = np.full(n, 1.1 * factors[0])
    return Chain(kind, step, box, value, slope, *factors, -1.0, 0.0, step_low, value_low, slope_low, 0.0)


def low_parts(rng, high):
    """Return random low parts of double-doubles."""
    return high * 2.0**-53 * rng.uniform(-1.0, 1.0, len(high)) * rng.choice([0.0, 1.0])


def shortened(chain, n):
    """Return the first n nodes of a chain."""
    arrays = [name for name, part in chain._asdict().items() if isinstance(part, np.ndarray)]
    return chain._replace(**{name: getattr(chain, name)[:n] for name in arrays})


def followed(chain, y):
    """Return exact gamma, Gamma and chords at every node."""
    c2, c3 = Fraction(chain.c2), Fraction(chain.c3)
    values, slopes, chords = [], [], []
    for i, (kind, h) in enumerate(zip(chain.kind, exactly(chain, "step"), strict=True)):
        first, second = Fraction(float(y[2 * i])), Fraction(float(y[2 * i + 1]))
        if kind == FREE:
            value, slope, chord = Fraction(float(chain.box[i])) * first, c2 * second, Fraction(0)
        else:
            chord = c2 * first if kind == BOUNDED else slopes[-1] + c3 * h / 2 * first
            value = (Fraction(0) if kind == BOUNDED else values[-1]) + h * chord
            slope = chord - c3 * h / 2 * second
        values.append(value)
        slopes.append(slope)
        chords.append(chord)
    return values, slopes, chords


def assert_trace(chain, y):
    """Assert that all quantities of the recursion are within their error bounds."""
    n = chain.kind.size
    values, slopes, chords = followed(chain, y)
    for end in range(1, n + 1):
        part = shortened(chain, end)
        found = trace(part, y[: 2 * end], np.empty(end), np.empty(end))
        assert abs(sum(map(Fraction, found.end_value)) - values[end - 1]) <= Fraction(found.end_value_error)
        assert abs(sum(map(Fraction, found.end_slope)) - slopes[end - 1]) <= Fraction(found.end_slope_error)
    rows = [(abs(v), 1) for v in fractions(y)]
    rows += [(abs(v), chain.c1) for v in values[:-1]] + [(abs(values[-1]), chain.box[-1])]
    rows += [(abs(v), chain.c2) for v in slopes]
    rows += [(abs(v), chain.c2) for v, kind in zip(chords, chain.kind, strict=True) if kind == LIPSCHITZ_EDGE]
    worst = max(size / Fraction(float(limit)) for size, limit in rows)
    # the caller allows for the rounding of the quotient
    assert worst <= Fraction(found.worst) * (1 + Fraction(1, 2**52))
    assert Fraction(found.worst) <= worst * (1 + Fraction(1, 2**49)) + Fraction(1, 2**80) * (1 + sum(map(abs, chords)))
    weights = exactly(chain, "value") + exactly(chain, "slope")
    pairs = list(zip(weights, values + slopes, strict=True))
    objective = sum(b * v for b, v in pairs)
    assert abs(objective - Fraction(found.objective)) <= Fraction(found.allowance)
    sizes = sum(abs(b * v) for b, v in pairs), sum(map(abs, weights)) * (1 + sum(map(abs, chords)))
    assert Fraction(found.allowance) <= Fraction(1, 2**49) * sizes[0] + Fraction(1, 2**85) * sizes[1]


@pytest.mark.parametrize("start", [FREE, BOUNDED])
@pytest.mark.parametrize("edge", [EDGE, LIPSCHITZ_EDGE])
def test_error_of_a_step_is_within_its_bound(start, edge):
    """Each of values, slopes and residuals dominates or vanishes, for short and long steps."""
    rng = np.random.default_rng(0)
    for sizes in product(SIZES, repeat=3):
        for h in (2.0**-45, 1.0):
            chain = chain_of(rng, [start, edge, edge], h * rng.uniform(0.5, 1.0, 3))
            y = rng.uniform(0.5, 1.0, 6) * rng.choice([-1.0, 1.0], 6)
            y[:4] *= [sizes[0], sizes[1], sizes[2], sizes[0]]
            assert_trace(chain, y)


@pytest.mark.parametrize("cancelling", ["chord", "slope", "value"])
@pytest.mark.parametrize("seed", range(12))
def test_errors_of_cancelling_sums_are_bounded(seed, cancelling):
    """A residual cancels all but the last digits of a chord, a slope or a value."""
    rng = np.random.default_rng(seed)
    chain = chain_of(rng, [FREE, EDGE, EDGE], rng.uniform(0.5, 1.0, 3))
    value, slope = chain.box[0] * (first := rng.random()), chain.c2 * (second := rng.random())
    h = chain.step[1]
    half = 0.5 * chain.c3 * h
    y = np.array([first, second, 0.0, 0.0, 0.0, 0.0])
    if cancelling == "chord":
        y[2] = -slope / half
    elif cancelling == "slope":
        y[2] = rng.random()
        y[3] = (slope + half * y[2]) / half
    else:
        y[2] = (-value / h - slope) / half
    assert_trace(chain, y)


@pytest.mark.parametrize("seed", range(8))
def test_underflow_of_steps_is_bounded(seed):
    """Rises of 1e-320 and less underflow."""
    rng = np.random.default_rng(seed)
    chain = chain_of(rng, [FREE, EDGE, LIPSCHITZ_EDGE], 1e-160 * rng.uniform(0.1, 1.0, 3))
    y = rng.uniform(-1.0, 1.0, 6)
    y[:2] *= 1e-170 * (seed % 3)
    assert_trace(chain, y)


@pytest.mark.parametrize("seed", range(8))
def test_distant_bound_restricts_the_last_value(seed):
    """For c1 = 64 and c2 = c3 = 1, |gamma| <= a at distances a of 5 to 30 from a bound."""
    rng = np.random.default_rng(seed)
    points = np.sort(rng.choice(np.arange(1, 64), 5, replace=False)) / 4.0
    bounds = np.array([[points[0] - 5.0, points[-1] + rng.integers(20, 60) / 4.0]])
    program = SteinProgram(
        points[:, None], np.array([[1.0], [-0.5], [0.0], [2.0], [4.0]]), np.array([0.25, 0.125, 0.125, 0.25, 0.25]),
        sorted_graph(points), SteinFactors.of((64.0, 1.0, 1.0)), bounds,
    )  # fmt: skip
    form, exact = ChainProgram(program), exact_program(program, 0)
    assert form.chain.far < 0.0
    assert (form.chain.box[[0, -1]] < 64.0).all()
    y = np.zeros(10)
    y[:2] = 1.0
    for last in (0.0, *rng.uniform(-1.0, 1.0, 4)):
        y[2:] = last
        value, _ = form.lower_bound(y)
        assert Fraction(value) <= max(exact.value(exact.feasible(function_of(form, fractions(y)))), 0)
    assert form.lower_bound(np.eye(10)[0])[0] > 0.0


def test_scales_next_to_two_give_feasible_points():
    """The scales are close to two."""
    points = np.array([[0.0], [1.0]])
    program = SteinProgram(points, np.ones((2, 1)), np.full(2, 0.5), sorted_graph(points), SteinFactors(1.0, 1.0, 2.0))
    form, exact = ChainProgram(program), exact_program(program, 0)
    for k in range(80):
        y = np.array([0.0, 1.0, 1.0 - k * 2.0**-53, 1.0])
        _, feasible = form.lower_bound(y)
        assert exact.excess(function_of(form, fractions(feasible))) <= Fraction(1, 2**50)


def random_end(rng, far):
    """Return a chain with a far bound and a recursion result with errors."""
    box = 1.3 * far
    chain = Chain(
        np.array([BOUNDED, EDGE]), np.ones(2), np.array([9.0, box]), np.ones(2), np.ones(2),
        9.0, 1.3, 0.9, far, 0.45 * far * far, np.zeros(2), np.zeros(2), np.zeros(2), 0.0,
    )  # fmt: skip
    value = rng.choice([0.0, 0.3, 1.0 + 2.0**-45, 1.0, 2.0, 2.0**50]) * rng.choice([-1.0, 1.0]) * box
    slope = -value / far * rng.choice([0.0, 1.0, 1.0, 1.0 + 2.0**-50]) + rng.choice([0.0, 2.0**-30, 1.0]) * rng.normal()
    errors = rng.choice([0.0, 2.0**-60, 2.0**-30], 2) * rng.random(2) * [far, 1.0]
    ends = [two_sum(each, each * 2.0**-53 * rng.uniform(-1.0, 1.0)) for each in (float(value), float(slope))]
    return chain, Trace(float(rng.choice([0.5, 3.0])), 0.0, 0.0, *ends, *map(float, errors))


def corners(found):
    """Yield the extreme gamma and Gamma of the last node within their errors."""
    value, slope = sum(map(Fraction, found.end_value)), sum(map(Fraction, found.end_slope))
    for a, b in product((1, -1), repeat=2):
        yield value + a * Fraction(found.end_value_error), slope + b * Fraction(found.end_slope_error)


@pytest.mark.parametrize("far", [0.7, 2.0**-20, 2.0**-40])
@pytest.mark.parametrize("seed", range(60))
def test_far_bound_quantities_are_within_their_errors(seed, far):
    """The row, the shift and the excess are valid for all ends within the errors."""
    rng = np.random.default_rng(seed)
    chain, found = random_end(rng, far)
    form = form_of(chain)
    row, row_error = form._far_row(found)
    shift, error = form._far_shift(found)
    excess = form._far_excess(found)
    scale, radius, box = max(1, Fraction(found.worst)), Fraction(chain.far_radius), Fraction(float(chain.box[-1]))
    for value, slope in corners(found):
        true = value + Fraction(far) * slope
        assert abs(true - Fraction(row)) <= Fraction(row_error) * (1 + Fraction(1, 2**50))
        below = max(-scale * radius - true, -scale * box - value)
        above = min(scale * radius - true, scale * box - value)
        assert below <= above or abs(true - value) > box + radius
        least, most = Fraction(shift) - Fraction(error), Fraction(shift) + Fraction(error)
        assert (most >= below and least <= above) or below > above  # some shift in the interval satisfies the rows
        assert max(abs(true) / radius, abs(value) / box) <= (1 + Fraction(excess)) * (1 + Fraction(1, 2**50))


def form_of(chain):
    """Return a form with only this chain."""
    form = object.__new__(ChainProgram)
    form.chain, form.order = chain, np.arange(chain.kind.size)
    return form


def cancelling_multipliers(chain, rng):
    """Return multipliers with forces, chords and turns that cancel, dominate or vanish."""
    n = chain.kind.size
    p, force, forward = np.zeros((n, ROWS)), 0.0, 0.0
    for k in range(n):
        backward = 0.0
        if chain.kind[k] != FREE:
            lift, chord = chain.step[k] * force, 0.0
            if chain.kind[k] == LIPSCHITZ_EDGE:
                chord = rng.choice([0.0, lift, lift - forward, -forward, rng.normal() * rng.choice(SIZES)])
                p[k, 4] = chain.c2 * chord
            backward = lift - chord - forward
        wanted = rng.choice([0.0, 1.0, force, rng.normal() * rng.choice(SIZES)])
        p[k, 0] = chain.box[k] * (wanted - force + chain.value[k])
        force = wanted
        turn = rng.choice([0.0, chain.slope[k] + backward, rng.normal() * rng.choice(SIZES)])
        p[k, 1] = chain.c2 * turn
        forward = turn - chain.slope[k] - backward
    return p.ravel()


@pytest.mark.parametrize("factors", [(1.7, 1.3, 0.9), (64.3, 1.1, 67.7), (1.1, 64.3, 1.7), (2.0**-20, 1.3, 2.0**20)])
@pytest.mark.parametrize("edge", [EDGE, LIPSCHITZ_EDGE])
def test_cancelling_multipliers_give_valid_upper_bounds(edge, factors):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        reach = max(2.0 * factors[0] / factors[1], 4.0 * factors[1] / factors[2])
        steps = reach * rng.choice([1.0, 2.0**-10]) * rng.uniform(0.1, 1.0, 4)
        chain = chain_of(rng, [FREE, edge, edge, edge], steps, factors)
        size = rng.choice([2.0**-40, 1.0])
        chain = chain._replace(
            **{name: size * getattr(chain, name) for name in ("value", "slope", "value_low", "slope_low")}
        )
        form, p = form_of(chain), cancelling_multipliers(chain, rng)
        cost, bound = exact_cost(form, p), Fraction(float(costate_bound(chain, p, np.empty(0))))
        room = (sum(map(abs, fractions(p))) + 1) * Fraction(factors[1] + factors[2] * reach + 1.0 / factors[1])
        assert cost <= bound <= cost + Fraction(1, 2**40) * room


@pytest.mark.parametrize("seed", range(40))
def test_end_cost_at_a_far_bound(seed):
    """The turn is nearly the force on the last edge times the distance to the bound."""
    rng = np.random.default_rng(seed)
    chain, _ = random_end(rng, 0.7 * float(rng.choice([1.0, 2.0**-40])))
    force = rng.normal() * rng.choice(SIZES)
    forward = rng.choice([1.0, 1.0 + 2.0**-52, 0.0]) * chain.far * force + rng.choice([0.0, 1.0]) * rng.normal()
    cost = Fraction(float(_end_cost(chain, 2, force, forward)))
    left = abs(Fraction(forward) - Fraction(chain.far) * Fraction(force))
    exact = Fraction(chain.far_radius) * abs(Fraction(force)) + Fraction(chain.c2) * left
    assert exact <= cost * (1 + Fraction(1, 2**50))  # the caller rounds up the sum
    room = Fraction(chain.far) * abs(Fraction(force)) + abs(Fraction(forward))
    assert cost <= exact * (1 + Fraction(1, 2**50)) + Fraction(1, 2**49) * room


def test_cost_of_the_last_shift_lowers_the_bound(monkeypatch):
    """The last shift costs 0.25 of the objective, and the largest row is 2 and cannot be scaled."""
    form = ChainProgram(line_program(1, two_bounds=True))
    n, y = form.n_points, np.random.default_rng(1).uniform(-1.0, 1.0, 2 * form.n_points)
    found = trace(form.chain, y, np.empty(n), np.empty(n))._replace(objective=4.0)
    monkeypatch.setattr(ChainProgram, "_settled", lambda *_: (y, found, 2.0, 0.25))
    expected = (4.0 - found.allowance - 0.25) / 2.0
    assert expected * (1.0 - 1e-12) <= form.lower_bound(y)[0] <= expected


@pytest.mark.parametrize(
    ("factors", "step", "leading"),
    [((2.0, 4.0, 1.0), 0.25, "residuals"), ((0.25, 1.0, 1.0), 3.0, "values"), ((64.0, 2.0, 1.0), 10.0, "chords")],
)
def test_cost_of_the_last_shift(monkeypatch, factors, step, leading):
    """Adding kappa to the residuals adds kappa c3 sum h^2/2 to the last gamma and kappa c3 h/2 to a chord."""
    points, c = step * np.arange(3.0)[:, None], SteinFactors.of(factors)
    scores, bounds = np.array([[1.0], [-3.0], [2.0]]), np.array([[-0.125, 2.0 * step + 0.25]])
    form = ChainProgram(SteinProgram(points, scores, np.array([0.25, 0.5, 0.25]), sorted_graph(points), c, bounds))
    assert form.chain.far == 0.25
    monkeypatch.setattr(ChainProgram, "_far_excess", lambda *_: np.inf)
    monkeypatch.setattr(ChainProgram, "_far_shift", lambda *_: (-(2.0**-8), 2.0**-10))
    _, found, scale, loss = form._settled(np.zeros(6))
    gains = 0.5 * c.smoothness * step**2 * np.arange(3.0)
    kappa = (2.0**-8 + 2.0**-10) / gains[-1]
    parts = {"residuals": 1.0, "values": gains[-1] / c.value, "chords": 0.5 * c.smoothness * step / c.gradient}
    assert max(parts, key=parts.get) == leading
    assert 1.0 - 1e-12 <= (scale - found.worst) / (kappa * parts[leading]) < 1.0 + 1e-12
    assert 1.0 <= loss / (kappa * (gains @ np.abs(form.chain.value))) < 1.0 + 1e-12


def cancelled(seed, edges=4):
    """Return a chain and residuals that cancel gamma and Gamma at every node."""
    rng = np.random.default_rng(seed)
    chain = chain_of(rng, [FREE] + [EDGE] * edges, rng.uniform(0.5, 1.0, edges + 1))
    y = np.concatenate([rng.uniform(0.5, 1.0, 2), np.zeros(2 * edges)])
    for k in range(1, edges + 1):
        part = shortened(chain, k)
        found = trace(part, y[: 2 * k], np.empty(k), np.empty(k))
        value, slope = (sum(map(Fraction, each)) for each in (found.end_value, found.end_slope))
        h = exactly(chain, "step")[k]
        half = Fraction(chain.c3) / 2 * h
        y[2 * k] = float(-(value / h + slope) / half)
        y[2 * k + 1] = float((slope + half * Fraction(float(y[2 * k]))) / half)
    return chain, y


def test_complete_cancellation_keeps_error_bounds():
    """After cancellation only accumulated errors remain, which relative bounds would miss."""
    told = 0
    for seed in range(40):
        chain, y = cancelled(seed)
        n = chain.kind.size
        values, slopes, _ = followed(chain, y)
        last = np.arange(n) == n - 1
        box = np.where(last, max(abs(float(values[-1])) / 8.0, 1e-300), chain.box)
        chain = chain._replace(box=box, value=1.0 * last, slope=0.0 * last, value_low=0.0 * last, slope_low=0.0 * last)
        found = trace(chain, y, np.empty(n), np.empty(n))
        assert abs(values[-1] - Fraction(found.objective)) <= Fraction(found.allowance)
        assert abs(values[-1]) <= Fraction(found.worst) * Fraction(float(box[-1])) * (1 + Fraction(1, 2**52))
        chain = chain._replace(value=0.0 * last, slope=1.0 * last)
        found = trace(chain, y, np.empty(n), np.empty(n))
        assert abs(slopes[-1] - Fraction(found.objective)) <= Fraction(found.allowance)
        told += abs(slopes[-1] - Fraction(found.objective)) > Fraction(1, 2**50) * abs(Fraction(found.objective))
    assert told > 10


@pytest.mark.parametrize("h", [0.7, 2.0**-20])
@pytest.mark.parametrize("left", [2.0**-53, -(2.0**-52)])
def test_slope_after_cancelling_residuals(left, h):
    """Two residuals of one differ by a unit roundoff, and c2 is of that size."""
    chain = chain_of(np.random.default_rng(0), [FREE, EDGE], [0.0, h], (64.0, 2.0**-58 * h, 0.9))
    y = np.array([0.0, 0.0, 1.0, 1.0 - left])
    _, slopes, _ = followed(chain, y)
    worst = abs(slopes[-1]) / Fraction(chain.c2)
    assert worst > 8
    found = trace(chain, y, np.empty(2), np.empty(2)).worst
    assert worst * (1 - Fraction(1, 2**52)) <= Fraction(found) <= worst * (1 + Fraction(1, 2**40))


def test_chord_after_cancelling_residuals():
    """A chord reaches twice the slope that two nearly opposite residuals leave."""
    h, left = 0.7, 2.0**-53
    chain = chain_of(np.random.default_rng(0), [FREE, EDGE, LIPSCHITZ_EDGE], [0.0, h, h], (64.0, 2.0**-58, 0.9))
    y = np.array([0.0, 0.0, 1.0, 1.0 - left, left, left])
    _, slopes, chords = followed(chain, y)
    worst = abs(chords[-1]) / Fraction(chain.c2)
    assert worst > Fraction(3, 2) * max(map(abs, slopes)) / Fraction(chain.c2) > 8
    found = trace(chain, y, np.empty(3), np.empty(3)).worst
    assert worst * (1 - Fraction(1, 2**52)) <= Fraction(found) <= worst * (1 + Fraction(1, 2**40))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_end_cost_of_a_free_segment(n, turned):
    """Boxes grow or shrink towards the end, as between two distant bounds."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        chain = chain_of(rng, [FREE] + [EDGE] * (n - 1), rng.uniform(0.5, 1.0, n))
        chain = chain._replace(box=np.linspace(1.0, 2.0, n)[:: -1 if turned else 1].copy())
        form, p = form_of(chain), rng.standard_normal(ROWS * n)
        cost, bound = exact_cost(form, p), Fraction(float(costate_bound(chain, p, np.empty(0))))
        assert cost <= bound <= cost * (1 + Fraction(1, 10**12))
