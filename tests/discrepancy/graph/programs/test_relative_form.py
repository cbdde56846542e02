"""Relative variables: equivalence of the programs, and brackets for points that nearly coincide."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stein_programs import proofs

import steinkit as sk
from steinkit.discrepancy.graph.programs import relative_form
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.relative_form import (
    RelativeForm,
    RelativeProgram,
    find_forest,
    suitable_forms,
)
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings, highs
from steinkit.discrepancy.graph.solvers.block import newton_system as block
from steinkit.discrepancy.graph.spanner.geometry import complete_graph

TOLERANCE = 1e-6


def jittered(n, dim, size, copies=2):
    rng = np.random.default_rng(0)
    base = rng.standard_normal((n // copies, dim))
    return np.unique(
        np.concatenate([base, *(base + size * rng.standard_normal(base.shape) for _ in range(copies - 1))]), axis=0
    )


def walk(n, dim, step):
    return np.unique(0.7 + np.cumsum(step * np.random.default_rng(0).standard_normal((n, dim)), axis=0), axis=0)


def mixture(n, dim, size):
    """Return well-spaced points, and clusters of different scales around five of them."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((n // 2, dim))
    scale = size * 10.0 ** (-3.0 * rng.random((n // 2, 1)))
    return np.unique(
        np.concatenate([base, base[rng.integers(0, 5, n // 2)] + scale * rng.standard_normal(base.shape)]), axis=0
    )


def program_on(points, bounds=None, graph=None, factors=(1.0, 1.0, 1.0), scores=None):
    n, scores = len(points), -points if scores is None else scores
    graph = sk.greedy_spanner(points) if graph is None else graph
    return SteinProgram(points, scores, np.full(n, 1 / n), graph, SteinFactors.of(factors), bounds)


SAMPLES = {
    **{f"jitter {s:g}": (jittered, 200, 2, s) for s in (1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12)},
    **{f"walk {s:g}": (walk, 200, 2, s) for s in (1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12)},
    **{f"mixture {s:g}": (mixture, 200, 2, s) for s in (1e-2, 1e-4, 1e-8)},
    **{f"solid jitter {s:g}": (jittered, 150, 3, s) for s in (1e-3, 1e-6, 1e-10)},
    **{f"solid walk {s:g}": (walk, 150, 3, s) for s in (1e-3, 1e-8)},
}


@pytest.mark.parametrize("sample", SAMPLES)
def test_brackets_close_for_points_that_nearly_coincide(sample):
    make, *arguments = SAMPLES[sample]
    for proof in proofs(block.solve(program_on(make(*arguments)), Settings(TOLERANCE))):
        assert proof.lower > 0.0
        assert proof.gap <= TOLERANCE


def test_brackets_stay_open_without_relative_variables():
    """Negative control: the matrix form leaves the bracket open."""
    program = program_on(jittered(200, 2, 1e-8))
    program.known["forms", relative_form.NEAR] = [program] * program.dim
    for proof in proofs(block.solve(program, Settings(TOLERANCE))):
        assert proof.gap > 1e-2


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
def test_value_is_continuous_as_points_coincide(size):
    """The value tends to that of merged points at the rate of their distance."""
    rng = np.random.default_rng(5)
    base = rng.standard_normal((80, 2))
    pairs = np.concatenate([base, base + size * rng.standard_normal(base.shape)])
    for merged, near in zip(
        proofs(block.solve(program_on(base), Settings(1e-9))),
        proofs(block.solve(program_on(pairs), Settings(1e-9))),
        strict=True,
    ):
        assert near.lower == pytest.approx(merged.lower, rel=max(20.0 * size, 1e-8))


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6, 1e-8, 1e-12])
@pytest.mark.parametrize("dim", [2, 3])
def test_brackets_close_for_points_near_a_bound(distance, dim):
    rng = np.random.default_rng(0)
    points = rng.gamma(2.0, 1.0, (150, dim))
    points[:15, 0] = distance * rng.random(15)
    points[20:25, 1] = distance * np.arange(5)  # the first on the bound
    points[5] = points[4] * (1.0 + 1e-7)
    program = SteinProgram(
        points, 1.0 / np.maximum(points, 0.01) - 1.0, np.full(150, 1 / 150), sk.greedy_spanner(points),
        bounds=np.array([[0.0, np.inf]] * dim),
    )  # fmt: skip
    for proof in proofs(block.solve(program, Settings(TOLERANCE))):
        assert proof.gap <= TOLERANCE


ENDS = {
    "on": lambda points: (points.min(axis=0), points.max(axis=0)),
    "a double further": lambda points: (np.nextafter(points.min(axis=0), -9), np.nextafter(points.max(axis=0), 9)),
    "near": lambda points: (points.min(axis=0) - 1e-13, points.max(axis=0) + 1e-12),
}


@pytest.mark.parametrize("size", [1e-8, 1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("ends", ENDS)
def test_brackets_close_in_tight_supports(ends, dim, size):
    """Two close bounds restrict slopes to much less than c2."""
    rng = np.random.default_rng(3)
    points = np.unique(1.0 + size * rng.standard_normal((6, dim)), axis=0)
    bounds = np.column_stack(ENDS[ends](points))
    result = sk.graph_stein_discrepancy(points, scores=rng.standard_normal(points.shape), bounds=bounds, units="raw")
    assert result.gap <= TOLERANCE


@pytest.mark.parametrize("apart", [1e-20, 1e-60, 1e-100])
@pytest.mark.parametrize("solver", ["block", "highs"])
def test_nearly_equal_draws_count_as_one_with_the_mean_score(solver, apart):
    """The square of the distance underflows."""
    points = np.array([[0.0, 0.0], [apart, 0.0], [0.0, apart], [1.0, 0.5], [-0.5, 1.0]])
    scores = np.array([[1.0, -1.0], [2.0, 0.5], [-1.0, 0.3], [0.2, 0.4], [-3.0, 1.0]])
    given = {"solver": solver, "units": "raw", "graph": "complete"}
    result = sk.graph_stein_discrepancy(points, scores=scores, **given)
    joined = np.vstack([scores[:3].mean(axis=0), scores[3:]])
    one = sk.graph_stein_discrepancy(points[[0, 3, 4]], scores=joined, weights=[3, 1, 1], **given)
    assert result.gap <= TOLERANCE
    assert result.value == pytest.approx(one.value, rel=1e-5)


def test_well_spaced_points_keep_the_matrix_form():
    program = program_on(np.random.default_rng(0).standard_normal((50, 2)), np.array([[-10.0, 10.0]] * 2))
    assert all(form is program for form in suitable_forms(program))
    near = program_on(jittered(50, 2, 1e-6), np.array([[-10.0, 10.0]] * 2))
    first, second = suitable_forms(near)
    assert isinstance(first, RelativeForm)
    assert first is second


def random_program(seed):
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(2, 14)), int(rng.integers(1, 4))
    points = rng.uniform(-1.0, 2.0, (n, dim)) * rng.choice([0.2, 1.0, 3.0])
    bounds = None
    if rng.random() < 0.7:
        lower = points.min(axis=0) - rng.choice([0.0, 1e-2, 0.3, 1.0], dim)
        upper = points.max(axis=0) + rng.choice([0.0, 1e-2, 1.0, np.inf], dim)
        bounds = np.column_stack([lower, upper])
    factors = SteinFactors.of(tuple(rng.choice([0.5, 1.0, 2.0, 4.0], 3)))
    graph = complete_graph(points) if rng.random() < 0.5 else sk.greedy_spanner(points, 4.0)
    return SteinProgram(points, rng.standard_normal((n, dim)), rng.dirichlet(np.ones(n)), graph, factors, bounds)


def forms_at(program, nearness):
    """Return the relative forms of all coordinates for a given threshold."""
    forest = find_forest(program, nearness)
    return [
        RelativeForm(program, relative_form.move_to_bounds(forest, program, j, nearness)) for j in range(program.dim)
    ]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.5, 10.0]))
def test_relative_program_is_equivalent(seed, nearness):
    """With a high threshold most points have parents, and the optimum is the same."""
    program = random_program(seed)
    for j, form in enumerate(forms_at(program, nearness)):
        direct, relative = program.coordinate(j), form.coordinate(j)
        truth, other = (
            certify(each, (answer := highs.solve_coordinate(each, Settings(TOLERANCE))).y, answer.p)
            for each in (direct, relative)
        )
        assert other.gap <= TOLERANCE
        assert other.lower <= truth.upper * (1.0 + 1e-12)
        assert other.upper >= truth.lower * (1.0 - 1e-12)
        # feasible in one form implies feasible in the other
        value, gradient = relative.stein_function(other.feasible)
        y = np.concatenate([value, gradient.T.ravel()])
        assert direct.objective @ y == pytest.approx(other.lower, rel=1e-9, abs=1e-12)
        assert (np.abs(direct.matrix @ y) <= direct.radius + 1e-11).all()
        assert (np.abs(y) <= direct.box + 1e-11).all()


def exact(array):
    return np.array([Fraction(float(number)) for number in np.ravel(array)], dtype=object).reshape(np.shape(array))


def exact_stein_function(program: RelativeProgram, y):
    """Return exact g and its gradient, by the definition of the variables."""
    n, dim = program.points.shape
    points, origin = exact(program.points), exact(program.forest.origin)
    z = exact(y) * exact(program.units)
    w, V = z[:n], z[n:].reshape(dim, n).T
    g, gradient = np.empty(n, dtype=object), np.empty((n, dim), dtype=object)
    for i in range(n):
        g[i], gradient[i] = Fraction(0), exact(np.zeros(dim))
        a = i
        while a >= 0:
            g[i] += w[a] + (V[a] * (points[i] - origin[a])).sum()
            gradient[i] = gradient[i] + V[a]
            a = program.forest.parent[a]
    return g, gradient


def largest_violation(program, j, g, gradient):
    """Return the largest exact ratio of the two sides of the constraints of the paper."""
    points, c = exact(program.points), program.factors
    c1, c2, c3 = (Fraction(number) for number in (c.value, c.gradient, c.smoothness))
    sides = [(abs(g).max(), c1), (abs(gradient).max(), c2)]
    for i, k in program.graph.edges:
        step = points[i] - points[k]
        D = abs(step).sum()
        sides.append((abs(g[i] - g[k]), c2 * D))
        sides.append((abs(gradient[i] - gradient[k]).max(), c3 * D))
        sides += [(abs(g[i] - g[k] - (gradient[end] * step).sum()), c3 * D * D / 2) for end in (i, k)]
    for bound in [] if program.bounds is None else program.bounds[j][np.isfinite(program.bounds[j])]:
        for i in range(program.n_points):
            inward = points[i, j] - Fraction(float(bound))
            a = abs(inward)
            sides.append((abs(g[i]), c2 * a))
            sides += [(abs(gradient[i, k]), c3 * a) for k in range(program.dim) if k != j]
            sides.append((abs(g[i] - gradient[i, j] * inward), c3 * a * a / 2))
    assert not any(left for left, right in sides if right == 0)
    return float(max(left / right for left, right in sides if right))


EXACT = {
    "jitter 1e-4": (jittered(16, 2, 1e-4), None),
    "jitter 1e-12": (jittered(16, 2, 1e-12), None),
    "clusters 1e-7": (jittered(18, 3, 1e-7, 3), None),
    "walk 1e-3": (walk(16, 2, 1e-3), None),
    "walk 1e-9": (walk(16, 2, 1e-9), None),
    "mixture 1e-5": (mixture(20, 2, 1e-5), None),
    "bound": (np.abs(jittered(16, 2, 1e-7)) * [[1e-6, 1.0]] * 8 + [[0.0, 0.0], [0.0, 1e-9]] * 8, [[0.0, np.inf]] * 2),
    "both bounds": (0.5 + 5e-5 * np.tanh(jittered(16, 2, 1e-3)), [[0.5 - 5e-5, 0.5 + 5e-5]] * 2),
}


@pytest.mark.parametrize("sample", EXACT)
def test_certified_functions_are_feasible_in_rational_arithmetic(sample):
    points, bounds = EXACT[sample]
    program = program_on(np.unique(points, axis=0), None if bounds is None else np.array(bounds))
    for j, answer in enumerate(block.solve(program, Settings(TOLERANCE))):
        assert isinstance(answer.program, RelativeProgram)
        proof = certify(answer.program, answer.y, answer.p)
        assert proof.gap <= TOLERANCE
        g, gradient = exact_stein_function(answer.program, proof.feasible)
        assert largest_violation(program, j, g, gradient) <= 1.0 + 1e-9
        weights, scores = exact(program.weights), exact(program.scores[:, j])
        objective = float((weights * (scores * g + gradient[:, j])).sum())
        assert objective >= proof.lower * (1.0 - 1e-12)
        value, slope = answer.program.stein_function(proof.feasible)
        np.testing.assert_allclose(value, g.astype(float), atol=1e-15)
        np.testing.assert_allclose(slope, gradient.astype(float), atol=1e-15)


def test_rounded_function_is_not_feasible():
    """Negative control: g rounded to double precision violates the rows of points 1e-12 apart."""
    program = program_on(jittered(16, 2, 1e-12))
    answer = block.solve(program, Settings(TOLERANCE))[0]
    g, gradient = answer.program.stein_function(certify(answer.program, answer.y, answer.p).feasible)
    assert largest_violation(program, 0, exact(g), exact(gradient)) > 1e3


def test_forest_follows_the_scales_of_the_sample():
    points = np.array([[0.0, 0.0], [1e-5, 0.0], [1e-5 + 1e-9, 0.0], [1.0, 0.0], [1.0 + 1e-7, 0.0], [3.0, 0.0]])
    program = program_on(points)
    forest = find_forest(program, 1e-3)
    assert forest.parent[5] == -1
    assert {forest.parent[3], forest.parent[4]} in ({-1, 3}, {-1, 4})
    assert (forest.parent[:3] < 0).sum() == 1  # one root for the cluster of three ...
    assert forest.parent[1] == 2 or forest.parent[2] == 1  # ... and the two closest are related
    for i in np.flatnonzero(forest.parent >= 0):
        assert forest.reach[i] >= np.abs(points[i] - points[forest.parent[i]]).sum()
    assert (forest.lineage[:, 0] == np.arange(6)).all()


def test_highs_solves_the_relative_form():
    program = program_on(jittered(40, 2, 1e-9))
    for j, form in enumerate(suitable_forms(program)):
        relative = form.coordinate(j)
        answer = highs.solve_coordinate(relative, Settings(TOLERANCE))
        assert certify(relative, answer.y, answer.p).gap <= TOLERANCE
