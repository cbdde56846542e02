"""Rows of the programs against the definition, point by point and edge by edge."""

from fractions import Fraction

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, highs
from steinkit.discrepancy.graph.spanner.geometry import complete_graph


def written_out(points, edges, c, j, bounds):
    """Return rows (coefficients by variable, radius) and boxes by equations (6) to (8) of the paper."""
    c1, c2, c3 = c
    n, d = points.shape
    rows, box = [], {}
    for i in range(n):
        box["gamma", i] = c1
        for k in range(d):
            box["Gamma", i, k] = c2
    for i, m in edges:
        step = points[i] - points[m]
        distance = abs(step).sum()
        if distance < 2 * c1 / c2:
            rows.append(({("gamma", i): 1, ("gamma", m): -1}, c2 * distance))
        if distance < 2 * c2 / c3:
            for k in range(d):
                rows.append(({("Gamma", i, k): 1, ("Gamma", m, k): -1}, c3 * distance))
        if distance < 4 * c2 / c3:
            for end in (i, m):
                slopes = {("Gamma", end, k): -step[k] for k in range(d)}
                rows.append(({("gamma", i): 1, ("gamma", m): -1} | slopes, c3 * distance**2 / 2))
    for bound in bounds[j]:
        if not np.isfinite(bound):
            continue
        for i in range(n):
            inward = points[i, j] - bound
            a = abs(inward)
            box["gamma", i] = min(box["gamma", i], c2 * a)
            for k in set(range(d)) - {j}:
                box["Gamma", i, k] = min(box["Gamma", i, k], c3 * a)
            if 0 < a < 4 * c2 / c3:
                rows.append(({("gamma", i): 1, ("Gamma", i, j): -inward}, c3 * a**2 / 2))
    return rows, box


def variable(name, n):
    return name[1] if name[0] == "gamma" else n * (name[2] + 1) + name[1]


def as_set(rows, n):
    return sorted(
        (round(radius, 12), tuple(sorted((variable(name, n), round(value, 12)) for name, value in terms.items())))
        for terms, radius in rows
    )


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("c", [(1.0, 1.0, 1.0), (0.5, 0.5, 1.0), (1.0, 4.0, 2.0)])
@pytest.mark.parametrize("bounded", [False, True])
def test_rows_and_boxes_match_the_paper(dim, c, bounded):
    rng = np.random.default_rng(dim)
    points = rng.uniform(0.0, 3.0, (9, dim))
    points[0, 0] = 0.0  # a point on the bound has boxes of zero and no row
    bounds = np.full((dim, 2), [-np.inf, np.inf])
    if bounded:
        bounds[0] = [0.0, np.inf]
        bounds[-1, 1] = 3.5
    graph = complete_graph(points)
    weights = rng.dirichlet(np.ones(9))
    scores = rng.standard_normal((9, dim))
    program = SteinProgram(points, scores, weights, graph, SteinFactors.of(c), bounds if bounded else None)
    for j in range(dim):
        coordinate = program.coordinate(j)
        rows, box = written_out(points, graph.edges, c, j, bounds)
        dense = coordinate.matrix.toarray()
        built = sorted(
            (round(r, 12), tuple((k, round(row[k], 12)) for k in np.flatnonzero(row)))
            for row, r in zip(dense, coordinate.radius, strict=True)
        )
        assert built == as_set(rows, 9)
        for name, limit in box.items():
            assert coordinate.box[variable(name, 9)] == pytest.approx(limit, rel=1e-15)
        expected = np.zeros(9 * (dim + 1))
        for i in range(9):
            expected[variable(("gamma", i), 9)] = weights[i] * scores[i, j]
            expected[variable(("Gamma", i, j), 9)] = weights[i]
        np.testing.assert_array_equal(coordinate.objective, expected)


@pytest.mark.parametrize("c", [(1.0, 1.0, 1.0), (10.0, 1.0, 1.0), (0.3, 1.0, 2.0)])
def test_omitted_rows_cannot_bind(c, monkeypatch):
    """The optimum with all rows is the same."""
    rng = np.random.default_rng(3)
    points = rng.uniform(0.0, 9.0, (12, 2))
    scores = rng.standard_normal((12, 2))
    graph = complete_graph(points)
    short = SteinProgram(points, scores, np.full(12, 1 / 12), graph, SteinFactors.of(c))
    dropped = len(short.coordinate(0).radius)
    for reach in ("value_reach", "gradient_reach", "taylor_reach"):
        monkeypatch.setattr(SteinFactors, reach, np.inf)
    full = SteinProgram(points, scores, np.full(12, 1 / 12), graph, SteinFactors.of(c))
    assert len(full.coordinate(0).radius) == 5 * len(graph.edges) > dropped
    settings = Settings(tolerance=1e-9)
    for without, complete in zip(highs.solve(short, settings), highs.solve(full, settings), strict=True):
        first = certify(without.program, without.y, without.p)
        second = certify(complete.program, complete.y, complete.p)
        assert second.upper == pytest.approx(first.lower, rel=1e-7)
        assert first.upper == pytest.approx(second.lower, rel=1e-7)


def test_stein_function_of_variables():
    points = np.arange(6.0).reshape(3, 2)
    program = SteinProgram(points, points, np.full(3, 1 / 3), complete_graph(points))
    g, gradient = program.coordinate(0).stein_function(np.arange(9.0))
    np.testing.assert_array_equal(g, [0, 1, 2])
    np.testing.assert_array_equal(gradient, [[3, 6], [4, 7], [5, 8]])


@pytest.mark.parametrize("factors", [(1, 1), (1, 0, 1), (1, -1, 1), (1, np.inf, 1), "abc", (1, 2, "x")])
def test_stein_factors_must_be_three_positive_numbers(factors):
    with pytest.raises(sk.UsageError, match="three positive numbers"):
        SteinFactors.of(factors)


def test_reaches_of_stein_factors():
    """The reaches are 2 c1/c2, 2 c2/c3 and 4 c2/c3."""
    assert SteinFactors() == SteinFactors.of((1.0, 1.0, 1.0))
    factors = SteinFactors(3.0, 5.0, 7.0)
    assert factors.value_reach == pytest.approx(6.0 / 5.0)
    assert factors.gradient_reach == pytest.approx(10.0 / 7.0)
    assert factors.taylor_reach == pytest.approx(20.0 / 7.0)


def test_distant_points_have_no_rows():
    points = 8.0 * np.arange(3.0)[:, None]
    coordinate = SteinProgram(points, -points, np.full(3, 1 / 3), complete_graph(points)).coordinate(0)
    assert coordinate.matrix.shape == (0, 6)
    assert coordinate.radius.shape == (0,)


@pytest.mark.parametrize("factors", [(1.0, 1.0, 1.0), (0.5, 3.0, 1.0), (4.0, 0.25, 2.0)])
def test_trivial_bounds_follow_from_the_boxes(factors):
    """The bounds are c1 sum |q_i s_ij| + c2 sum q_i, in rational arithmetic."""
    rng = np.random.default_rng(3)
    points, scores = rng.standard_normal((30, 2)), 10.0 ** rng.uniform(-3, 3, (30, 2))
    weights = rng.dirichlet(np.ones(30))
    program = SteinProgram(points, scores, weights, complete_graph(points), factors=SteinFactors(*factors))
    shares = [Fraction(q) for q in weights.tolist()]
    for j, found in enumerate(program.trivial_bounds):
        on_value = sum(q * Fraction(float(s)) for q, s in zip(shares, scores[:, j], strict=True))
        exact = Fraction(factors[0]) * on_value + Fraction(factors[1]) * sum(shares)
        assert exact <= Fraction(float(found)) <= exact * (1 + Fraction(2, 10**9))
