"""Rows, boxes and objective in relative variables against the definition in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from support.exact_optimum import solved
from support.exact_programs import (
    CLOSE,
    ExactProgram,
    clustered_program,
    distance,
    dyadic_scores,
    dyadic_weights,
    exact_program,
    exact_upper_bound,
    fractions,
    in_relative_variables,
    substitute,
)

from steinkit.discrepancy.graph.programs import relative_form
from steinkit.discrepancy.graph.programs.relative_form import Forest, RelativeForm, find_forest, suitable_forms
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import complete_graph


def relative_programs(program, nearness):
    """Yield each coordinate with its forest and its relative program."""
    forest = find_forest(program, nearness)
    for j in range(program.dim):
        moved = relative_form.move_to_bounds(forest, program, j, nearness)
        yield j, moved, RelativeForm(program, moved).coordinate(j)


def ray(row, radius):
    """Return a row and its radius divided by the first coefficient."""
    (_, lead), *_ = sorted(row.items())
    return tuple(sorted((k, value / lead) for k, value in row.items())), radius / abs(lead)


def rays_of(program):
    """Yield the rows of a relative program without units."""
    units = [Fraction(float(unit)) for unit in program.units]
    matrix = program.matrix.tocsr()
    for k in range(len(program.radius)):
        at = slice(matrix.indptr[k], matrix.indptr[k + 1])
        terms = zip(matrix.indices[at], matrix.data[at], strict=True)
        yield ray({int(i): Fraction(float(value)) / units[i] for i, value in terms}, Fraction(float(program.radius[k])))


def size_of_difference(program, forest, j, k):
    """Return the implied bound of relative variable k, and a looser bound.

    For a child at distance D from its parent, |w| <= min(2 c1 + c2 D, c3 D^2/2) and |V| <= min(2 c2, c3 D), where D may
    be the length of any path. For a root at distance a from its projection onto a bound, |w| <= 2 c2 a.
    """
    n = program.n_points
    c1, c2, c3 = (Fraction(c) for c in (program.factors.value, program.factors.gradient, program.factors.smoothness))
    i, parent = k % n, int(forest.parent[k % n])
    if parent >= 0:
        bounds = []
        for D in (distance(program, i, parent), Fraction(float(forest.reach[i])) * (1 + Fraction(1, 10**11))):
            bounds.append(min(2 * c1 + c2 * D, c3 * D**2 / 2) if k < n else min(2 * c2, c3 * D))
        return bounds
    moved = abs(Fraction(float(program.points[i, j])) - Fraction(float(forest.origin[i, j])))
    return [2 * c2 * moved, 2 * c2 * moved] if k < n and moved else [None, None]


@pytest.mark.parametrize("nearness", [2.0**-15, 0.05, 10.0])
@pytest.mark.parametrize("seed", range(5))
def test_rows_match_the_definition(seed, nearness):
    assert_rows_are_those_of_the_definition(clustered_program(seed), nearness)


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("factors", [(8.0, 0.5, 32.0), (0.25, 8.0, 32.0), (8.0, 8.0, 0.25), (0.25, 0.5, 8.0)])
def test_rows_match_the_definition_for_distant_parents(factors, bounded):
    """Each of 2 c1 + c2 D, c3 D^2/2, 2 c2 and c3 D is the smallest in some case."""
    rng = np.random.default_rng(5)
    points = np.unique(rng.integers(1, 33, (6, 2)) / 4.0, axis=0)
    bounds = np.array([[0.0, 9.0], [-np.inf, 8.5]]) if bounded else None
    scores, weights, graph = dyadic_scores(rng, points.shape), dyadic_weights(rng, len(points)), complete_graph(points)
    program = SteinProgram(points, scores, weights, graph, SteinFactors.of(factors), bounds)
    assert_rows_are_those_of_the_definition(program, 1e3)


def assert_rows_are_those_of_the_definition(program, nearness):
    """Assert that the rows are equivalent to those of the definition."""
    for j, forest, relative in relative_programs(program, nearness):
        maps = in_relative_variables(program, forest)
        box = [({k: Fraction(1)}, limit) for k, limit in enumerate(exact_program(program, j).box)]
        meant, needed = {}, {}
        for rows, all_rows in ((meant, True), (needed, False)):
            for row, radius in exact_program(program, j, all_rows=all_rows).rows + box:
                coefficients, limit = ray(substitute(row, maps), radius)
                rows[coefficients] = min(limit, rows.get(coefficients, limit))
        found = {}
        for coefficients, limit in rays_of(relative):
            assert coefficients in meant
            assert limit >= meant[coefficients] * (1 - CLOSE)
            found[coefficients] = min(limit, found.get(coefficients, limit))
        limits = [u * v for u, v in zip(fractions(relative.box), fractions(relative.units), strict=True)]
        for k, limit in enumerate(limits):
            alone = ((k, Fraction(1)),)
            least, most = size_of_difference(program, forest, j, k)
            least = min(meant.get(alone, least), meant[alone] if least is None else least)
            assert limit >= least * (1 - CLOSE) or limit >= largest(k, needed, limits)
            assert most is None or limit <= most * (1 + CLOSE)
            found[alone] = min(limit, found.get(alone, limit))
        for coefficients, limit in needed.items():
            assert coefficients in found
            assert found[coefficients] <= limit * (1 + CLOSE)


def largest(k, rows, limits):
    """Return the maximum of variable k under the rows, with the other boxes enlarged by 100."""
    box = [100 * limit for limit in limits]
    program = ExactProgram([(dict(row), limit) for row, limit in rows.items()], box, [Fraction(0)] * len(box))
    program.objective[k] = Fraction(1)
    return solved(program).value


def in_its_variables(program, exact, maps):
    """Return the exact objective in the scaled relative variables."""
    total = [Fraction(0)] * len(exact.objective)
    for k, b in enumerate(exact.objective):
        for other, factor in maps[k].items():
            total[other] += b * factor
    return [b * unit for b, unit in zip(total, fractions(program.units), strict=True)]


def cancelling_cluster(seed, size):
    """Return a cluster with large scores that nearly cancel, and an isolated point."""
    rng = np.random.default_rng(seed)
    near = np.unique(0.75 + size * rng.integers(-500, 500, (10, 2)), axis=0)
    points = np.concatenate([near, [[3.0, -2.0]]])
    n = len(points)
    scores = 2.0**30 * rng.standard_normal((n, 2))  # exact multiples of a power of two
    scores[-2] -= scores[:-1].sum(axis=0)
    weights = np.full(n, 2.0**-6)
    weights[-1] = 1.0 - (n - 1) * 2.0**-6
    scores[-1] = [1.5, -0.25]
    return SteinProgram(points, scores, weights, complete_graph(points))


@pytest.mark.parametrize("size", [2.0**-16, 2.0**-30, 2.0**-36])
@pytest.mark.parametrize("seed", range(3))
def test_objective_error_bound_for_cancelling_scores(seed, size):
    """Scores of 2^30 cancel; without the error bound all bounds would be wrong."""
    program = cancelling_cluster(seed, size)
    for j, forest, relative in relative_programs(program, 0.05):
        exact = in_its_variables(relative, exact_program(program, j), in_relative_variables(program, forest))
        errors = [abs(Fraction(float(b)) - meant) for b, meant in zip(relative.objective, exact, strict=True)]
        error = fractions(relative.objective_error)
        assert all(one <= limit for one, limit in zip(errors, error, strict=True))
        assert max(errors) > 0
        assert max(error) < Fraction(1, 10**10) * max(map(abs, fractions(program.scores)))
        nothing = np.zeros(len(relative.radius))
        truth, rounding = exact_upper_bound(relative, exact, nothing)
        assert truth <= Fraction(relative.upper_bound(nothing)) <= truth + rounding
        for k, meant in enumerate(exact):  # the coefficient of the root is pure rounding error
            y = np.zeros(len(exact))
            y[k] = np.sign(relative.objective[k]) * relative.box[k]
            assert Fraction(relative.lower_bound(y)[0]) <= max(meant * Fraction(y[k]), 0)


@pytest.mark.parametrize("exponent", [-30, 0, 30])
@pytest.mark.parametrize("members", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_objective_error_bound_for_arbitrary_weights(seed, members, exponent):
    """For small scores the sums of weights are rounded, for large ones the sums of products with steps."""
    rng = np.random.default_rng(seed)
    near = 0.75 + 2.0**-20 * rng.choice(np.arange(-500, 500), (members, 2), replace=False)
    points = np.concatenate([near, [[3.0, -2.0], [5.0, -2.0]]])
    weights = rng.dirichlet(np.ones(len(points)))
    scores = 2.0**exponent * rng.choice([-1.0, 1.0], points.shape)  # exact multiples of a power of two
    program = SteinProgram(points, scores, weights, complete_graph(points))
    for j, forest, relative in relative_programs(program, 0.05):
        exact = in_its_variables(relative, exact_program(program, j), in_relative_variables(program, forest))
        errors = [abs(Fraction(float(b)) - meant) for b, meant in zip(relative.objective, exact, strict=True)]
        error = fractions(relative.objective_error)
        assert all(one <= limit for one, limit in zip(errors, error, strict=True))
        assert max(error) < Fraction(1, 2**40) * max(map(abs, exact))


@pytest.mark.parametrize("seed", range(4))
def test_objective_error_bound_for_long_steps(seed):
    """For steps of hundreds of units, the products of scores and steps are rounded."""
    rng = np.random.default_rng(seed)
    near = 2.0**24 * (0.75 + 2.0**-20 * rng.choice(np.arange(-500, 500), (3, 2), replace=False))
    points = np.concatenate([near, 2.0**24 * np.array([[3.0, -2.0], [5.0, -2.0]])])
    scores = 2.0**30 * rng.choice([-1.0, 1.0], points.shape)
    program = SteinProgram(points, scores, rng.dirichlet(np.ones(len(points))), complete_graph(points))
    for j, forest, relative in relative_programs(program, 0.05 * 2.0**24):
        exact = in_its_variables(relative, exact_program(program, j), in_relative_variables(program, forest))
        errors = [abs(Fraction(float(b)) - meant) for b, meant in zip(relative.objective, exact, strict=True)]
        error = fractions(relative.objective_error)
        assert all(one <= limit for one, limit in zip(errors, error, strict=True))
        assert max(errors) > 0


@pytest.mark.parametrize("place", range(5))
def test_rows_do_not_depend_on_the_number_of_the_root(place):
    """The rows are bit-for-bit identical for any number of the root of a cluster."""
    rng = np.random.default_rng(1)
    points = 1e-9 * rng.standard_normal((5, 2))

    def rows(order):
        program = SteinProgram(points[order], -points[order], np.full(5, 0.2), complete_graph(points[order]))
        ((_, forest, relative), _) = relative_programs(program, 0.05)
        (root,) = np.flatnonzero(forest.parent < 0)
        number = {5 * k + i: 5 * k + int(order[i]) for k in range(3) for i in range(5)}
        found = [({number[k]: value for k, value in row}, radius) for row, radius in rays_of(relative)]
        return int(order[root]), sorted(ray(row, radius) for row, radius in found)

    root, expected = rows(np.arange(5))
    order = np.roll([root, *(i for i in range(5) if i != root)], place)
    assert rows(order) == (root, expected)


def test_forest_does_not_depend_on_units():
    """Factors (c1, c2/u, c3/u^2) for u x are equivalent to (c1, c2, c3) for x."""
    program = clustered_program(3, dim=2)
    found = []
    for unit in (1.0, 2.0**10, 2.0**-10):
        c = program.factors
        factors = SteinFactors(c.value, c.gradient / unit, c.smoothness / unit**2)
        bounds = None if program.bounds is None else unit * program.bounds
        scaled = SteinProgram(unit * program.points, program.scores, program.weights, program.graph, factors, bounds)
        found.append([form.forest.parent.tolist() for form in suitable_forms(scaled)])
    assert max(map(max, found[0])) >= 0
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_coefficients_of_edge_rows_are_rounded_once(seed, dim):
    """The steps of two close points to their common ancestor are rounded differently."""
    rng = np.random.default_rng(seed)
    ancestor, offsets = 1e-6 * rng.standard_normal(dim), 1e-9 * rng.random((2, dim))
    points = np.stack([ancestor, ancestor + (2.0**-13 - offsets[0]), ancestor + (2.0**-13 + offsets[1])])
    program = SteinProgram(points, np.zeros((3, dim)), np.full(3, 1.0 / 3.0), complete_graph(points))
    forest = Forest(np.array([-1, 0, 0]), np.array([0.0, 1e-3, 1e-3]), points)
    maps, edges = in_relative_variables(program, forest), program.graph.edges.tolist()
    rows = [{i: Fraction(1), k: Fraction(-1)} for i, k in edges]
    rows += [{3 * c + i: Fraction(1), 3 * c + k: Fraction(-1)} for c in range(1, dim + 1) for i, k in edges]
    for end in (0, 1):
        for i, k in edges:
            slopes = {3 * (c + 1) + (k, i)[end]: Fraction(points[k, c]) - Fraction(points[i, c]) for c in range(dim)}
            rows.append({i: Fraction(1), k: Fraction(-1), **slopes})
    matrix, radii = RelativeForm(program, forest).edge_rows
    assert len(radii) >= len(rows)
    for row, meant in zip(matrix.toarray(), rows, strict=False):
        exact = substitute(meant, maps)
        for column, found in enumerate(row):
            coefficient = exact.get(column, Fraction(0))
            assert abs(Fraction(found) - coefficient) <= Fraction(1, 2**52) * abs(coefficient)


def test_second_of_two_close_points_has_a_parent():
    """The only parent has the number 0."""
    points = np.array([[0.0], [1e-5], [5.0]])
    program = SteinProgram(points, np.zeros((3, 1)), np.full(3, 1.0 / 3.0), complete_graph(points))
    (form,) = suitable_forms(program)
    assert isinstance(form, RelativeForm)
    np.testing.assert_array_equal(form.forest.parent, [-1, 0, -1])
