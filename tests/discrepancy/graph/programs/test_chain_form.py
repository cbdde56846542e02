"""Certificates of the chain form against the program of the paper, in rational arithmetic."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import steinkit as sk
from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, ROWS
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, chain
from steinkit.discrepancy.graph.spanner.geometry import complete_graph, sorted_graph

SETTINGS = settings(max_examples=60, deadline=None)


def line(points, scores, bounds=None, c=(1.0, 1.0, 1.0), weights=None):
    points = np.asarray(points, dtype=float)
    n = len(points)
    weights = np.full(n, 1.0 / n) if weights is None else weights
    limits = None if bounds is None else np.array([bounds], dtype=float)
    scores = np.asarray(scores, dtype=float)[:, None]
    return SteinProgram(points[:, None], scores, weights, sorted_graph(points), SteinFactors.of(c), limits)


def random_line(seed):
    """Return a random program with exact points, distances and radii, and segments of all kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    cells = np.sort(rng.choice(2**10, n, replace=False)) * 2.0**-10
    points = rng.permutation(np.sort(cells) * rng.choice([0.25, 1.0, 4.0, 32.0]))
    below, above = points.min() - rng.choice([0.0, 0.25, 8.0]), points.max() + rng.choice([2.0**-6, 0.25, 8.0])
    bounds = [None, (below, np.inf), (-np.inf, above), (below, above)][rng.integers(4)]
    c = tuple(rng.choice([0.25, 0.5, 1.0, 2.0], 3))
    return line(points, rng.standard_normal(n) * rng.choice([0.1, 1.0, 10.0]), bounds, c, rng.dirichlet(np.ones(n)))


def solved(program, tolerance=1e-9):
    (answer,) = chain.solve(program, Settings(tolerance=tolerance))
    return answer


def exact_function(form, y):
    """Return exact gamma and Gamma in the order of the sample, by the recursion of `chain_form`."""
    data, y = form.chain, [Fraction(v) for v in y]
    c2, c3 = Fraction(data.c2), Fraction(data.c3)
    gamma, slope = [Fraction(0)] * form.n_points, [Fraction(0)] * form.n_points
    value = derivative = Fraction(0)
    for i in range(form.n_points):
        h, first, second = Fraction(data.step[i]), y[2 * i], y[2 * i + 1]
        if data.kind[i] == FREE:
            value, derivative = Fraction(data.box[i]) * first, c2 * second
        else:
            chord = c2 * first if data.kind[i] == BOUNDED else derivative + c3 * h / 2 * first
            value = (Fraction(0) if data.kind[i] == BOUNDED else value) + h * chord
            derivative = chord - c3 * h / 2 * second
        gamma[form.order[i]], slope[form.order[i]] = int(form.sign[i]) * value, derivative
    return gamma, slope


def worst_row(program, gamma, slope):
    """Return the exact largest excess over one of any row or box of the original program on the complete graph.

    At the bounds gamma, a sum over the steps that lead there, may be off by the rounding errors of each step's
    variables, as described in `ChainProgram.lower_bound`; the bound that it returns accounts for this.
    """
    c1, c2, c3 = (Fraction(v) for v in (program.factors.value, program.factors.gradient, program.factors.smoothness))
    x = [Fraction(v) for v in program.points[:, 0]]
    rounding = len(x) * c1 * Fraction(1, 2**53)
    rows = [(g, c1) for g in gamma] + [(s, c2) for s in slope]
    for i in range(len(x)):
        for k in range(len(x)):
            if i != k:
                step = x[i] - x[k]
                rows.append((gamma[i] - gamma[k], c2 * abs(step)))
                rows.append((slope[i] - slope[k], c3 * abs(step)))
                rows.append((gamma[i] - gamma[k] - slope[i] * step, c3 * step**2 / 2))
        for bound in () if program.bounds is None else program.bounds[0][np.isfinite(program.bounds[0])]:
            inward = x[i] - Fraction(bound)
            for v, r in ((gamma[i], c2 * abs(inward)), (gamma[i] - slope[i] * inward, c3 * inward**2 / 2)):
                if inward:
                    rows.append((max(abs(v) - rounding, 0), r))
                else:
                    rows.append((v, Fraction(0)))
    return max((abs(v) / r - 1 if r else abs(v)) for v, r in rows)


def exact_objective(program, gamma, slope):
    weights = [Fraction(w) for w in program.weights]
    pulls = [Fraction(w) * Fraction(s) for w, s in zip(program.weights, program.scores[:, 0], strict=True)]
    return sum(b * g + w * s for b, w, g, s in zip(pulls, weights, gamma, slope, strict=True))


@SETTINGS
@given(seed=st.integers(0, 2**32 - 1))
def test_feasible_point_satisfies_the_program_of_the_paper(seed):
    """All rows of the complete graph and of the bounds hold."""
    program = random_line(seed)
    answer = solved(program)
    value, feasible = answer.program.lower_bound(answer.y)
    gamma, slope = exact_function(answer.program, feasible)
    assert worst_row(program, gamma, slope) <= Fraction(1, 10**12)
    assert value <= exact_objective(program, gamma, slope) * (1 + Fraction(1, 10**14)) + Fraction(1, 10**15)
    g, gradient = answer.program.stein_function(feasible)
    np.testing.assert_allclose(g, [float(v) for v in gamma], atol=1e-14)
    np.testing.assert_allclose(gradient[:, 0], [float(v) for v in slope], atol=1e-14)


@SETTINGS
@given(seed=st.integers(0, 2**32 - 1), far=st.booleans())
def test_noisy_point_is_scaled_to_feasibility(seed, far):
    """Noise violates rows of every kind; the scaled point is feasible and attains the bound."""
    rng = np.random.default_rng(seed)
    program = random_line(seed)
    form = ChainProgram(program)
    y = rng.uniform(-1.0, 1.0, 2 * form.n_points) * (10.0 if far else 1.0)
    value, feasible = form.lower_bound(y)
    if value == 0.0:
        value, feasible = form.lower_bound(-y)
    gamma, slope = exact_function(form, feasible)
    assert worst_row(program, gamma, slope) <= Fraction(1, 10**12)
    assert Fraction(value) <= exact_objective(program, gamma, slope) * (1 + Fraction(1, 10**14)) + Fraction(1, 10**15)


def optimum_on_the_complete_graph(program):
    """Return the optimum of the complete graph from `scipy.optimize.linprog`."""
    reference = SteinProgram(
        program.points, program.scores, program.weights, complete_graph(program.points), program.factors, program.bounds
    ).coordinate(0)
    if not len(reference.radius):
        return float(reference.box @ np.abs(reference.objective))
    rows = sparse.vstack([reference.matrix, -reference.matrix])
    box = np.column_stack([-reference.box, reference.box])
    return -linprog(-reference.objective, A_ub=rows, b_ub=np.tile(reference.radius, 2), bounds=box).fun


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_optimum_equals_that_of_the_complete_graph(seed):
    program = random_line(seed)
    answer = solved(program)
    proof = certify(answer.program, answer.y, answer.p)
    optimum = optimum_on_the_complete_graph(program)
    assert proof.gap < 2e-9
    assert proof.lower <= optimum * (1 + 1e-7) + 1e-9
    assert proof.upper >= optimum * (1 - 1e-7) - 1e-9


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-6, 1e-2, 1.0]))
def test_noisy_multipliers_give_valid_upper_bounds(seed, size):
    program = random_line(seed)
    answer = solved(program)
    noise = size * np.random.default_rng(seed).standard_normal(len(answer.p))
    assert answer.program.upper_bound(answer.p + noise) >= optimum_on_the_complete_graph(program) * (1 - 1e-7) - 1e-9


def exact_costate_cost(program, form, p):
    """Return the exact cost of the dual point of p, by the recursion of `chain_form`.

    The weights of the objective are those of the program; the form's doubles are their high parts. Only for
    chains that start free or from one bound, where T vanishes behind the last node.
    """
    data, p = form.chain, [Fraction(v) for v in p]
    c2, c3, n = Fraction(data.c2), Fraction(data.c3), form.n_points
    box = [Fraction(v) for v in data.box]
    shares = [Fraction(program.weights[i]) for i in form.order]
    pulls = [Fraction(program.scores[i, 0]) * w for i, w in zip(form.order, shares, strict=True)]
    pulls = [int(sign) * pull for sign, pull in zip(form.sign, pulls, strict=True)]
    at_value = [Fraction(float(p[ROWS * k] / box[k])) if box[k] else Fraction(0) for k in range(n)]
    cost, end = Fraction(0), n
    while end:
        start = end - 1
        while data.kind[start] >= EDGE:
            start -= 1
        excess = sum(at_value[k] - pulls[k] for k in range(start, end))
        force = -excess if data.kind[start] == BOUNDED else Fraction(0)
        forward = Fraction(0)
        for k in range(start, end):
            h, backward = Fraction(data.step[k]), Fraction(0)
            at_slope = p[ROWS * k + 1] / c2
            if data.kind[k] != FREE:
                chord = p[ROWS * k + 4] / c2 if data.kind[k] != EDGE else Fraction(0)
                backward = h * force - chord - forward
                cost += c3 * h / 2 * (abs(forward) + abs(backward)) + c2 * abs(chord)
            cost += box[k] * abs(at_value[k]) + c2 * abs(at_slope)
            force += at_value[k] - pulls[k]
            forward = at_slope - shares[k] - backward
        cost += box[end - 1] * abs(force) + c2 * abs(forward)
        end = start
    return cost


@SETTINGS
@example(seed=148790, size=1e-9)  # the low parts of the weights matter
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([0.0, 1e-9, 1.0, 1e6]))
def test_upper_bound_covers_the_exact_dual_cost(seed, size):
    program = random_line(seed)
    if program.bounds is not None and np.isfinite(program.bounds).all():
        program = line(program.points[:, 0], program.scores[:, 0], (program.bounds[0, 0], np.inf))
    answer = solved(program)
    form = answer.program
    p = answer.p + size * np.random.default_rng(seed).standard_normal(len(answer.p))
    exact = exact_costate_cost(program, form, p)
    bound = Fraction(form.upper_bound(p))
    assert min(exact, Fraction(form.trivial) / (1 + Fraction(1, 10**13))) <= bound
    assert bound <= exact * (1 + Fraction(1, 10**12)) + Fraction(1, 10**13) * (1 + Fraction(size))


LIES = {
    "noise": lambda rng, y, p: (rng.standard_normal(y.shape), rng.standard_normal(p.shape)),
    "scaled up": lambda rng, y, p: (1.7 * y, 1.7 * p),
    "scaled down": lambda rng, y, p: (0.3 * y, 0.3 * p),
    "signs turned": lambda rng, y, p: (-y, -p),
    "nothing": lambda rng, y, p: (0 * y, 0 * p),
    "not numbers": lambda rng, y, p: (np.full_like(y, np.nan), np.full_like(p, np.inf)),
    "huge": lambda rng, y, p: (1e300 * y, 1e300 * p),
    "stale": lambda rng, y, p: (np.roll(y, 6), np.roll(p, 15)),
}
SUPPORTS = {"line": None, "half line": (0.0, np.inf), "other half": (-np.inf, 1.0), "interval": (0.0, 1.0)}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("support", SUPPORTS)
def test_wrong_candidates_only_widen_the_bracket(lie, support):
    rng = np.random.default_rng(4)
    points = rng.uniform(0.01, 0.99, 40)
    program = line(points, 20.0 * np.sin(7.0 * points), SUPPORTS[support])
    answer = solved(program)
    honest = certify(answer.program, answer.y, answer.p)
    assert honest.gap < 1e-8
    proof = certify(answer.program, *LIES[lie](rng, answer.y, answer.p))
    assert proof.lower <= honest.upper
    assert honest.lower <= proof.upper <= answer.program.trivial
    if lie == "scaled up":  # scaling restores y; the multipliers of boxes may all be zero
        assert proof.lower == pytest.approx(honest.lower, rel=1e-6)
    else:
        assert proof.gap > 1e-3


@pytest.mark.parametrize("distance", [2.0**-20, 2.0**-30, 2.0**-40, 2.0**-50, 0.0])
def test_shift_satisfies_the_far_bound(distance):
    """A residual of 1e-16 in gamma exceeds c3 t^2/2 and is corrected by a shift instead of scaling."""
    points = np.append(np.random.default_rng(0).integers(2**8, 2**19, 50) * 2.0**-20, 1.0 - distance)
    answer = solved(line(points, np.cos(3.0 * points), (0.0, 1.0)), 1e-6)
    form = answer.program
    if distance:  # the nearer bound comes first
        assert form.chain.far == pytest.approx(points.min())
    y = answer.y.copy()
    y[-2] += 1e-13
    proof = certify(form, y, answer.p)
    assert proof.gap < 1e-6


def test_exact_shift_near_a_far_bound_is_feasible():
    """Both bounds are so close that c3 t^2/2 = 2^-59 is below the rounding error of gamma."""
    cells = np.random.default_rng(0).choice(np.arange(100, 900), 30, replace=False) / 1024.0
    points = np.concatenate([[2.0**-30], cells, [1.0 - 2.0**-29]])
    program = line(points, np.cos(3.0 * points), (0.0, 1.0))
    answer = solved(program, 1e-6)
    form, far = answer.program, Fraction(2) ** -29
    assert form.chain.far == far
    assert certify(form, answer.y, answer.p).gap < 1e-6
    value, feasible = form.lower_bound(answer.y)
    gamma, slope = exact_function(form, feasible)
    row, last = gamma[-1] + far * slope[-1], gamma[-1]
    below, above = max(-(far**2) / 2 - row, -far - last), min(far**2 / 2 - row, far - last)
    gain = sum(Fraction(h) ** 2 for h in form.chain.step[1:]) / 2
    kappa = min(max(Fraction(0), below), above) / gain
    assert abs(kappa) < Fraction(1, 10**14)
    shifted = [Fraction(v) + (kappa if i >= 2 else 0) for i, v in enumerate(feasible)]
    gamma, slope = exact_function(form, shifted)
    assert worst_row(program, gamma, slope) <= Fraction(1, 10**12)
    assert Fraction(value) <= exact_objective(program, gamma, slope) * (1 + Fraction(1, 10**14))


def test_shift_at_the_far_bound_does_not_depend_on_units():
    """The variables and bounds equal those in unit one."""

    def in_unit(unit):
        points = np.array([0.25, 1.0, 2.0, 3.0, 3.9375])
        return line(points * unit, np.cos(points) / unit, (0.0, 4.0 * unit), (unit, 1.0, 1.0 / unit))

    y = solved(in_unit(1.0), 1e-6).y.copy()
    y[-2] += 1e-3
    form, large = ChainProgram(in_unit(1.0)), ChainProgram(in_unit(2.0**330))
    assert form.chain.far > 0.0
    assert form.lower_bound(y)[0] > 0.55
    assert large.lower_bound(y)[0] == pytest.approx(form.lower_bound(y)[0], rel=1e-12)


def test_reflection_changes_the_sign_of_g():
    points = np.random.default_rng(3).gamma(2.0, size=60)
    there = solved(line(points, 1.0 / points - 1.0, (0.0, np.inf)))
    back = solved(line(-points, 1.0 - 1.0 / points, (-np.inf, 0.0)))
    first, second = (certify(answer.program, answer.y, answer.p) for answer in (there, back))
    assert first.lower == second.lower
    g, gradient = there.program.stein_function(first.feasible)
    mirrored, same = back.program.stein_function(second.feasible)
    np.testing.assert_allclose(mirrored, -g, atol=1e-15)
    np.testing.assert_allclose(same, gradient, atol=1e-15)


def test_segments_bounds_and_order():
    """Gaps of at least 4 c2/c3 divide the chain; the last segment is reflected to start from its bound."""
    program = line([7.5, 0.5, 9.0, 1.0, 8.0], np.zeros(5), (0.0, 9.5))
    form = ChainProgram(program)
    np.testing.assert_array_equal(form.order, [1, 3, 2, 4, 0])
    np.testing.assert_array_equal(form.sign, [1, 1, -1, -1, -1])
    np.testing.assert_array_equal(form.chain.kind[[0, 2]], [BOUNDED, BOUNDED])
    np.testing.assert_array_equal(form.chain.step, [0.5, 0.5, 0.5, 1.0, 0.5])
    assert form.chain.far == -1.0


def test_trivial_bound_agrees_with_the_matrix_form():
    for seed in range(20):
        program = random_line(seed)
        reference = program.coordinate(0)
        expected = reference.box @ np.abs(reference.objective)
        assert ChainProgram(program).trivial == pytest.approx(expected, rel=1e-12)


def excess_in_rounding_errors(result):
    """Return the largest excess of a row in units of 2^-53 times the sizes of its terms."""
    x, g, slope = (list(map(Fraction, a.ravel().tolist())) for a in (result.sample.points, result.g, result.slopes))
    (c1, c2, c3), bounds = map(Fraction, result.stein_factors), list(map(Fraction, result.bounds[0].tolist()))
    rows = [([v], c1) for v in g] + [([v], c2) for v in slope]
    for i, bound in product(range(len(x)), bounds):
        s = x[i] - bound
        rows += [([g[i]], c2 * abs(s)), ([g[i], -s * slope[i]], c3 * s * s / 2)]
    order = sorted(range(len(x)), key=x.__getitem__)
    for i, k in pairwise(order):
        s = x[k] - x[i]
        rows += [([g[k], -g[i]], c2 * s), ([slope[k], -slope[i]], c3 * s)]
        rows += [([g[k], -g[i], -s * slope[end]], c3 * s * s / 2) for end in (i, k)]
    over = [(abs(sum(terms)) - radius, sum(map(abs, terms)) + radius) for terms, radius in rows]
    return max(excess / size * 2**53 for excess, size in over if size)


NEAR_BOUNDS = {
    "on one, 1e-20 from the other": np.r_[1.0, 10.0 ** -np.arange(1, 21)],
    "halving": 0.5 ** np.arange(0, 70, 3.5),
    "1e-9 from one, 1e-16 from the other": np.r_[10.0 ** -np.arange(1, 10), 1.0 - 0.5 ** np.arange(2, 53, 5)],
    "even": np.linspace(0.0, 1.0, 41)[1:],
}


@pytest.mark.parametrize("points", NEAR_BOUNDS.values(), ids=NEAR_BOUNDS)
def test_function_between_two_bounds_is_feasible_and_optimal(points):
    scores = 1.0 / points
    result = sk.graph_stein_discrepancy(
        points, scores=scores, bounds=(0.0, 1.0), stein_factors=(1.0, 0.5, 1.0), solver="chain"
    )
    assert result.gap <= 1e-6
    assert excess_in_rounding_errors(result) <= 8
    terms = [
        Fraction(float(q)) * part
        for q, s, g, slope in zip(
            result.sample.weights, result.scores[:, 0], result.g[:, 0], result.slopes[:, 0, 0], strict=True
        )
        for part in (Fraction(float(s)) * Fraction(float(g)), Fraction(float(slope)))
    ]
    assert sum(terms) >= Fraction(result.lower) - sum(map(abs, terms)) / 2**50
