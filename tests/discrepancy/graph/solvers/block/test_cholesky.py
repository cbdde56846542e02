"""The multifrontal Cholesky factorization of solver `block` against dense linear algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from steinkit.discrepancy.graph.solvers.block import cholesky_kernels as kernels
from steinkit.discrepancy.graph.solvers.block import newton_system

GRAPHS = st.tuples(st.integers(1, 40), st.integers(0, 80), st.integers(1, 4), st.integers(0, 2**32 - 1))


def adjacency(n, pairs):
    """Return the adjacency lists of a graph and its dense matrix."""
    dense = np.zeros((n, n))
    for i, k in pairs:
        if i != k:
            dense[i, k] = dense[k, i] = 1.0
    lists = sparse.csr_array(dense)
    return lists.indptr.astype(np.int64), lists.indices.astype(np.int64), dense


def random_graph(n, n_edges, seed):
    return adjacency(n, np.random.default_rng(seed).integers(0, n, (n_edges, 2)))


def positive_matrix(graph, block, seed):
    """Return a positive definite matrix with a block for every node and edge."""
    rng = np.random.default_rng(seed)
    half = np.triu(rng.standard_normal((len(graph) * block,) * 2) * np.kron(graph, np.ones((block, block))))
    whole = half + half.T
    return whole + np.diag(np.abs(whole).sum(axis=1) + rng.uniform(0.1, 1.0, len(whole)))


def columns_in_order(position, block):
    """Return the columns of the matrix in the order of their elimination."""
    columns = np.empty(len(position) * block, dtype=np.int64)
    for node, place in enumerate(position):
        columns[place * block : (place + 1) * block] = np.arange(node * block, (node + 1) * block)
    return columns


def front_entries(symbolic):
    """Generate, for every front, its number, its columns, and its columns and rows together."""
    fronts, block = symbolic.fronts, symbolic.fronts.block
    for s in range(len(fronts.children)):
        own = np.arange(fronts.first[s] * block, fronts.first[s + 1] * block)
        below = fronts.rows[fronts.rows_start[s] : fronts.rows_start[s + 1]]
        below = (below[:, None] * block + np.arange(block)).ravel()
        yield s, own, np.concatenate([own, below])


def factorised(symbolic, ordered):
    """Factorize a dense matrix in elimination order; return the panels and the number of lost pivots."""
    panels = np.zeros(symbolic.entries)
    held = np.zeros(ordered.shape, dtype=bool)
    for s, own, rows in front_entries(symbolic):
        start, stop = symbolic.fronts.panel_start[s : s + 2]
        panels[start:stop] = ordered[np.ix_(own, rows)].ravel()
        held[np.ix_(rows, own)] = True
    assert not ordered[~(held | held.T)].any()  # the panels hold the whole matrix
    kernels.factorise(symbolic.fronts, panels, np.empty(symbolic.stack), np.zeros(1, dtype=bool))
    return panels, np.count_nonzero(panels == np.sqrt(kernels._PARKED_PIVOT))


def solved(symbolic, panels, right):
    """Solve with a factor; right side and solution are in elimination order."""
    x = right.copy()
    kernels.solve(symbolic.fronts, panels, x, np.empty(len(x)))
    return x


def dense_factor(symbolic, panels):
    n = symbolic.fronts.block * symbolic.fronts.first[-1]
    lower = np.zeros((n, n))
    for s, own, rows in front_entries(symbolic):
        start, stop = symbolic.fronts.panel_start[s : s + 2]
        lower[np.ix_(rows, own)] = panels[start:stop].reshape(len(own), len(rows)).T
    return np.tril(lower)


def check(n, n_edges, block, seed):
    starts, neighbours, graph = random_graph(n, n_edges, seed)
    symbolic = newton_system.analyse(starts, neighbours, block)
    columns = columns_in_order(symbolic.position, block)
    matrix = positive_matrix(graph, block, seed)
    ordered = matrix[np.ix_(columns, columns)]
    panels, lost = factorised(symbolic, ordered)
    assert lost == 0
    np.testing.assert_allclose(dense_factor(symbolic, panels), np.linalg.cholesky(ordered), rtol=1e-10, atol=1e-12)
    right = np.random.default_rng(seed).standard_normal(n * block)
    x = solved(symbolic, panels, right[columns])
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right)[columns], rtol=1e-9, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(GRAPHS)
def test_factor_and_solution_agree_with_dense_linear_algebra(graph):
    check(*graph)


@pytest.mark.parametrize("graph", [(120, 700, 4, 5), (200, 260, 3, 6)])
def test_factor_and_solution_with_large_fronts(graph):
    """The fronts are large enough for BLAS products."""
    check(*graph)


def test_lost_pivots_are_replaced_and_counted():
    starts, neighbours, _ = adjacency(3, [(0, 1), (1, 2)])
    symbolic = newton_system.analyse(starts, neighbours, 1)
    columns = columns_in_order(symbolic.position, 1)
    singular = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    panels, lost = factorised(symbolic, singular[np.ix_(columns, columns)])
    assert lost == 1
    assert np.isfinite(solved(symbolic, panels, np.ones(3))).all()
