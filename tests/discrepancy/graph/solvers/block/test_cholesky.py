"""The multifrontal Cholesky factorisation and the kernels on rows, against dense linear algebra."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.solvers.block import cholesky_kernels as kernels
from steinkit.discrepancy.graph.solvers.block import newton_system, rows_kernels
from steinkit.discrepancy.graph.solvers.block.newton_system import BlockSystem, find_pattern
from steinkit.discrepancy.graph.solvers.interior_point import Solution

GRAPHS = st.tuples(st.integers(1, 40), st.integers(0, 80), st.integers(1, 4), st.integers(0, 2**32 - 1))


def adjacency(n, pairs):
    """Adjacency lists of a graph, and its dense matrix."""
    dense = np.zeros((n, n))
    for i, k in pairs:
        if i != k:
            dense[i, k] = dense[k, i] = 1.0
    lists = sparse.csr_array(dense)
    return lists.indptr.astype(np.int64), lists.indices.astype(np.int64), dense


def random_graph(n, n_edges, seed):
    return adjacency(n, np.random.default_rng(seed).integers(0, n, (n_edges, 2)))


def positive_matrix(graph, block, seed):
    """A positive definite matrix with a block for every node and edge."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.standard_normal((len(graph) * block,) * 2) * np.kron(graph, np.ones((block, block))))
    whole = half + half.T
    return whole + np.diag(np.abs(whole).sum(axis=1) + rng.uniform(0.1, 1.0, len(whole)))


def columns_in_order(position, block):
    """The matrix's column that is eliminated k-th, for all k."""
    columns = np.empty(len(position) * block, dtype=np.int64)
    for node, place in enumerate(position):
        columns[place * block : (place + 1) * block] = np.arange(node * block, (node + 1) * block)
    return columns


def front_entries(symbolic):
    """For each front its columns and, panel row by panel row, the columns and rows of its entries."""
    fronts, block = symbolic.fronts, symbolic.fronts.block
    for s in range(len(fronts.children)):
        own = np.arange(fronts.first[s] * block, fronts.first[s + 1] * block)
        below = fronts.rows[fronts.rows_start[s] : fronts.rows_start[s + 1]]
        below = (below[:, None] * block + np.arange(block)).ravel()
        yield s, own, np.concatenate([own, below])


def factorised(symbolic, ordered):
    """Factorise a dense matrix that is given in elimination order; returns the factorisation and the lost pivots."""
    factor = newton_system.Factorisation(symbolic)
    held = np.zeros(ordered.shape, dtype=bool)
    for s, own, rows in front_entries(symbolic):
        start, stop = symbolic.fronts.panel_start[s : s + 2]
        factor.panels[start:stop] = ordered[np.ix_(own, rows)].ravel()
        held[np.ix_(rows, own)] = True
    assert not ordered[~(held | held.T)].any()  # nothing of the matrix is left out
    return factor, kernels.factorise(symbolic.fronts, factor.panels, factor.stack, np.zeros(1, dtype=bool))


def dense_factor(symbolic, factor):
    n = symbolic.fronts.block * symbolic.fronts.first[-1]
    lower = np.zeros((n, n))
    for s, own, rows in front_entries(symbolic):
        start, stop = symbolic.fronts.panel_start[s : s + 2]
        lower[np.ix_(rows, own)] = factor.panels[start:stop].reshape(len(own), len(rows)).T
    return np.tril(lower)


def check(n, n_edges, block, seed):
    starts, neighbours, graph = random_graph(n, n_edges, seed)
    symbolic = newton_system.analyse(starts, neighbours, block)
    columns = columns_in_order(symbolic.position, block)
    matrix = positive_matrix(graph, block, seed)
    ordered = matrix[np.ix_(columns, columns)]
    factor, lost = factorised(symbolic, ordered)
    assert lost == 0
    np.testing.assert_allclose(dense_factor(symbolic, factor), np.linalg.cholesky(ordered), rtol=1e-10, atol=1e-12)
    right = np.random.default_rng(seed).standard_normal(n * block)
    x = right[columns]
    kernels.solve(symbolic.fronts, factor.panels, x, factor.local)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right)[columns], rtol=1e-9, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_factor_and_solution_are_those_of_dense_linear_algebra(graph):
    check(*graph)


def test_large_fronts_too():
    check(120, 700, 4, 5)  # products large enough for BLAS
    check(200, 260, 3, 6)


def eliminated(graph, order):
    """Fill of a graph by the definition: eliminating a node joins all its later neighbours. Rows of each column."""
    joined = graph[np.ix_(order, order)] > 0
    for j in range(len(joined)):
        later = j + 1 + np.flatnonzero(joined[j, j + 1 :])
        joined[np.ix_(later, later)] = True
    return [set((j + 1 + np.flatnonzero(joined[j, j + 1 :])).tolist()) for j in range(len(joined))]


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_fronts_hold_the_fill_and_little_more(graph):
    n, n_edges, block, seed = graph
    starts, neighbours, dense = random_graph(n, n_edges, seed)
    symbolic = newton_system.analyse(starts, neighbours, block)
    assert sorted(symbolic.position) == list(range(n))
    fill = eliminated(dense, np.argsort(symbolic.position))
    fronts = symbolic.fronts
    flops = 0
    for s in range(len(fronts.children)):
        first, last = fronts.first[s], fronts.first[s + 1] - 1
        rows = fronts.rows[fronts.rows_start[s] : fronts.rows_start[s + 1]].tolist()
        assert rows == sorted(fill[last])
        for node in range(first, last + 1):
            assert fill[node] <= set(range(node + 1, last + 1)) | set(rows)
        size = block * (last + 1 - first + len(rows))
        flops += sum((size - q) ** 2 for q in range(block * (last + 1 - first)))
    assert symbolic.flops == pytest.approx(flops)


def test_minimum_degree_beats_the_order_of_the_points():
    points = [(i, k) for i in range(15) for k in range(15)]
    pairs = [
        (a, b) for a, p in enumerate(points) for b, q in enumerate(points) if abs(p[0] - q[0]) + abs(p[1] - q[1]) == 1
    ]
    shuffle = np.random.default_rng(0).permutation(len(points))
    starts, neighbours, _ = adjacency(len(points), [(shuffle[a], shuffle[b]) for a, b in pairs])
    given_order = newton_system.symbolic(starts, neighbours, np.arange(len(points)), 1)
    assert newton_system.analyse(starts, neighbours, 1).flops < 0.2 * given_order.flops


def test_pivots_lost_to_rounding_are_replaced_and_counted():
    starts, neighbours, _ = adjacency(3, [(0, 1), (1, 2)])
    symbolic = newton_system.analyse(starts, neighbours, 1)
    columns = columns_in_order(symbolic.position, 1)
    singular = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    factor, lost = factorised(symbolic, singular[np.ix_(columns, columns)])
    assert lost == 1
    x = np.ones(3)
    kernels.solve(symbolic.fronts, factor.panels, x, factor.local)
    assert np.isfinite(x).all()


def random_system(n, dim, n_rows, seed):
    """Newton system of a program whose rows touch two to four variables, and B and b in its order, dense."""
    rng = np.random.default_rng(seed)
    size = n * (dim + 1)
    dense = np.zeros((n_rows, size))
    for row in dense:
        touched = rng.choice(size, min(size, rng.integers(2, 5)), replace=False)
        row[touched] = rng.standard_normal(len(touched))
    radius, box, objective = rng.uniform(0.1, 2.0, n_rows), rng.uniform(0.1, 2.0, size), rng.standard_normal(size)
    box[0] = 0.0  # a draw on a bound: the variable is fixed
    program = CoordinateProgram(sparse.csr_array(dense), radius, box, objective, n)
    pattern = find_pattern(program.matrix, rng.standard_normal((n, dim)))
    system = BlockSystem(program, pattern, Settings(1e-6))
    scaled = np.empty_like(dense)
    scaled[:, pattern.place] = (dense * box / radius[:, None])[pattern.rows]
    b = np.empty(size)
    b[pattern.place] = objective * box
    return system, np.vstack([scaled, np.eye(size)]), b / np.abs(b).max()


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 15), st.integers(1, 3), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_newton_steps_and_bounds_are_those_of_dense_linear_algebra(n, dim, n_rows, seed):
    system, B, b = random_system(n, dim, n_rows, seed)
    rng = np.random.default_rng(seed)
    weights, force, change = rng.uniform(0.1, 3.0, len(B)), rng.standard_normal(len(B)), np.empty(len(B))
    system.factorise(weights)
    system.step(force, change)
    expected = B @ np.linalg.solve(B.T @ (weights[:, None] * B), b + B.T @ force)
    np.testing.assert_allclose(change, expected, rtol=1e-8, atol=1e-9)

    rows = B @ rng.standard_normal(B.shape[1])
    lower, upper = system.bounds(rows, force)
    x, m = rows[n_rows:], n_rows
    assert lower == pytest.approx(b @ x / max(1.0, np.abs(rows).max()))
    assert upper == pytest.approx(np.abs(force[:m]).sum() + np.abs(b - B[:m].T @ force[:m]).sum())
    np.testing.assert_allclose(B.T @ system.start, b, atol=1e-15)


def test_rows_are_kept_by_the_first_of_their_columns_and_multipliers_are_given_back_in_their_own_order():
    system, B, _ = random_system(9, 2, 25, 3)
    pattern, m = system.pattern, len(system.pattern.rows)
    entries = system.program.matrix.toarray()[pattern.rows]
    first = [pattern.place[np.flatnonzero(row)].min() for row in entries]
    assert first == sorted(first)
    assert pattern.rows.tolist() != list(range(m))
    multipliers = np.random.default_rng(0).standard_normal(len(B))
    _, p = system.unscaled(Solution(np.zeros(len(B)), multipliers, 0.0, 1.0, 1))
    radius = system.program.radius
    np.testing.assert_allclose(p[pattern.rows], system.scale * multipliers[:m] / radius[pattern.rows], rtol=1e-14)


def test_pairs_of_nodes_are_those_with_a_row_in_common():
    rng = np.random.default_rng(1)
    rows = [rng.integers(0, 9, rng.integers(0, 5)).tolist() for _ in range(20)]
    starts = np.cumsum([0, *map(len, rows)])
    pairs = rows_kernels.node_pairs(starts, np.concatenate(rows).astype(np.int64), 9, 0, len(rows))
    expected = {9 * min(a, b) + max(a, b) for row in rows for a in row for b in row if a != b}
    assert set(pairs.tolist()) == expected


@numba.njit
def compiled_products(*arguments):
    kernels.subtract_products(*arguments)


def test_products_of_parts_are_those_of_numpy_and_reach_no_further():
    rng = np.random.default_rng(4)
    rows, whole = rng.standard_normal((5, 30)), rng.standard_normal((12, 25))
    for products in (kernels._by_numpy, compiled_products):
        target = whole.copy()
        rest = target.ravel()[2 * 25 + 3 :], 25, rows.ravel()[10:], 30, 5, 7, 11
        products(*rest, np.ones(1))
        expected = whole.copy()
        expected[2:9, 3:14] -= np.einsum("qi,qk->ik", rows[:, 10:17], rows[:, 10:21])
        np.testing.assert_allclose(target, expected, rtol=1e-13, atol=1e-13)
        target[2:9, 3:14] = np.nan
        products(*rest, np.zeros(1))
        expected[2:9, 3:14] -= whole[2:9, 3:14]
        np.testing.assert_allclose(target, expected, rtol=1e-13, atol=1e-13)
