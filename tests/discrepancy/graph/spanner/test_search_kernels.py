"""The shortest-path searches of the spanner against SciPy."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from steinkit.discrepancy.graph.spanner import search_kernels as search
from steinkit.discrepancy.graph.spanner.greedy import laid_out
from steinkit.discrepancy.graph.spanner.search_kernels import heap_pop, heap_push


@pytest.fixture
def network() -> tuple[np.ndarray, search.Adjacency]:
    """Return the distances and the adjacency lists of a sparse random graph that is not connected."""
    rng = np.random.default_rng(4)
    edges = np.unique(np.sort(rng.integers(0, 80, (110, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    lengths = np.sort(rng.exponential(size=len(edges)))
    edges = rng.permutation(edges)
    paths = dijkstra(csr_array((lengths, edges.T), shape=(80, 80)), directed=False)
    return paths, laid_out(80, edges, lengths, rng.integers(0, 3, 80))


def test_heap_agrees_with_heapq() -> None:
    rng = np.random.default_rng(0)
    keys, nodes, size = np.empty(500), np.empty(500, dtype=np.int64), 0
    twin: list[tuple[float, int]] = []
    for node in range(500):
        key = float(rng.integers(0, 10**6))
        size = heap_push(keys, nodes, size, key, node)
        heapq.heappush(twin, (key, node))
        if rng.random() < 0.4:
            assert (keys[0], nodes[0]) == heapq.heappop(twin)
            size = heap_pop(keys, nodes, size)
    while twin:
        assert (keys[0], nodes[0]) == heapq.heappop(twin)
        size = heap_pop(keys, nodes, size)
    assert size == 0


def test_search_within_a_distance(network: tuple[np.ndarray, search.Adjacency]) -> None:
    paths, graph = network
    frontier = search.new_frontier(graph)
    for source in range(80):
        search.search_within(graph, source, 1.5, source, frontier)
        expected = np.where(paths[source] <= 1.5, paths[source], np.inf)
        np.testing.assert_allclose(frontier.distance, expected, rtol=1e-14)
        search.clear(frontier)
        assert np.isinf(frontier.distance).all()


def test_search_for_goals(network: tuple[np.ndarray, search.Adjacency]) -> None:
    paths, graph = network
    frontier = search.new_frontier(graph)
    rng = np.random.default_rng(5)
    for source in range(80):
        is_open, limit = rng.random(80) < 0.5, rng.exponential(2.0, 80)
        expected = is_open & (paths[source] > limit)
        expected[source] = is_open[source]  # a source is not its own target
        goals, nowhere = search.Goals(limit, is_open), np.empty(0)
        left = search.search_goals(
            graph, np.empty((0, 80)), source, nowhere, nowhere, goals, limit.max(), is_open.sum(), 0, 0.0, frontier
        )
        search.clear(frontier)
        np.testing.assert_array_equal(is_open, expected)
        assert left == expected.sum()


def test_search_for_goals_ends_if_few_are_open(network: tuple[np.ndarray, search.Adjacency]) -> None:
    paths, graph = network
    frontier, nowhere, unreachable = search.new_frontier(graph), np.empty(0), np.isinf(paths[0]).sum()
    for patience in (0, 1, 30, 79, 80):
        goals = search.Goals(np.full(80, np.inf), np.arange(80) > 0)  # a step closes at most one
        left = search.search_goals(
            graph, np.empty((0, 80)), 0, nowhere, nowhere, goals, np.inf, 79, patience, 0.0, frontier
        )
        search.clear(frontier)
        assert left == goals.is_open.sum() == max(unreachable, min(patience, 79))


def test_bidirectional_search(network: tuple[np.ndarray, search.Adjacency]) -> None:
    paths, graph = network
    forward, backward = search.new_frontier(graph), search.new_frontier(graph)
    for u, v in itertools.combinations(range(0, 80, 2), 2):
        for reach in (0.5, 2.0, 0.99 * min(paths[u, v], 9.0), paths[u, v], 1.01 * min(paths[u, v], 9.0)):
            if not 0.0 < reach < np.inf:
                continue
            answer = search.search_both_ways(graph, u, v, reach, 1e-12, 10_000, forward, backward)
            search.clear(forward)
            search.clear(backward)
            if reach == paths[u, v]:
                assert answer == search.TIED
            else:
                assert answer == (search.JOINED if paths[u, v] < reach else search.APART)


def test_bidirectional_search_keeps_its_budget(network: tuple[np.ndarray, search.Adjacency]) -> None:
    paths, graph = network
    forward, backward = search.new_frontier(graph), search.new_frontier(graph)
    u, v = np.argwhere(np.isfinite(paths) & (paths > 4.0))[0]
    assert search.search_both_ways(graph, u, v, paths[u, v], 1e-12, 2, forward, backward) == search.EXHAUSTED
