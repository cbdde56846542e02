"""Nested dissection: separators separate, covers are smallest, and the order pays where it is said to."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from steinkit.discrepancy.graph.solvers.block import newton_system


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 6), st.integers(0, 6), st.floats(0.05, 0.9), st.integers(0, 2**32 - 1))
def test_a_cover_covers_and_none_is_smaller(n_rows, n_columns, density, seed):
    links = np.random.default_rng(seed).random((n_rows + 1, n_columns + 1)) < density
    rows, columns = newton_system.smallest_cover(sparse.csr_array(links.astype(float)))
    assert not links[~rows][:, ~columns].any()
    for taken in itertools.product([False, True], repeat=n_rows + 1):  # with these rows, the columns are no choice
        needed = links[~np.array(taken)].any(axis=0)
        assert rows.sum() + columns.sum() <= sum(taken) + needed.sum()


def lattice(side, dim, seed=0):
    """Adjacency lists of the points of a jittered cubic lattice, in random order, and the points."""
    rng = np.random.default_rng(seed)
    cells = rng.permutation(np.array(list(itertools.product(range(side), repeat=dim))))
    apart = np.abs(cells[:, None] - cells[None]).sum(axis=2)
    graph = sparse.csr_array((apart == 1).astype(float))
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64), cells + 0.2 * rng.random(cells.shape)


def test_the_last_nodes_separate_the_others():
    starts, neighbours, points = lattice(11, 3)
    order = newton_system.nested_dissection(starts, neighbours, points, newton_system.minimum_degree)
    n = len(points)
    assert sorted(order) == list(range(n))
    graph = sparse.csr_array((np.ones(len(neighbours)), neighbours, starts), shape=(n, n))
    sizes = {}
    for taken in range(60, 200):  # a plane has 121 points
        rest = order[: n - taken]
        _, label = connected_components(graph[rest][:, rest], directed=False)
        sizes[taken] = np.bincount(label).max() / n
    assert min(sizes.values()) < 0.55
    assert min(taken for taken, size in sizes.items() if size < 0.55) <= 140


def test_it_beats_minimum_degree_in_three_dimensions_and_is_then_taken():
    starts, neighbours, points = lattice(14, 3)
    without = newton_system.analyse(starts, neighbours, 4)
    better = newton_system.analyse(starts, neighbours, 4, points)
    assert without.flops > 1e8
    assert better.flops < 0.9 * without.flops


def test_where_it_does_not_pay_it_is_not_taken():
    starts, neighbours, points = lattice(40, 2)
    misplaced = np.random.default_rng(0).permutation(points)  # planes then cut at random
    without = newton_system.analyse(starts, neighbours, 12)
    assert without.flops > 1e8
    assert newton_system.analyse(starts, neighbours, 12, misplaced).flops == without.flops
