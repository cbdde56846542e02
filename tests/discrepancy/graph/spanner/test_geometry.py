"""Graphs on points: construction, lengths, dilation, and invalid input."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dense_spanner import distance_matrix

from steinkit.discrepancy.graph.spanner.geometry import Graph, complete_graph, dilation, edge_lengths, sorted_graph
from steinkit.errors import InputError, UsageError


def points_of(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


class TestGraph:
    def test_round_trip_through_networkx(self) -> None:
        graph = complete_graph(points_of(12, 3))
        there = graph.to_networkx()
        assert there.number_of_nodes() == 12
        back = np.array([(i, j, link["length"]) for i, j, link in there.edges(data=True)])
        np.testing.assert_array_equal(back[:, :2], graph.edges)
        np.testing.assert_array_equal(back[:, 2], graph.lengths)

    def test_isolated_points_are_kept_in_networkx(self) -> None:
        assert Graph(3, np.empty((0, 2), dtype=np.int64), np.empty(0)).to_networkx().number_of_nodes() == 3

    @pytest.mark.parametrize(
        ("edges", "lengths", "message"),
        [
            ([[1, 0]], [1.0], "i < j"),
            ([[0, 0]], [1.0], "two different vertices"),
            ([[0, 3]], [1.0], "between 0 and 2"),
            ([[-1, 1]], [1.0], "between 0 and 2"),
            ([[0.0, 1.0]], [1.0], "integers of shape"),
            ([0, 1], [1.0], "shape"),
            ([[0, 1]], [1.0, 2.0], "lengths of edges"),
            ([[0, 1]], [np.nan], "finite"),
            ([[0, 1]], [-1.0], "non-negative"),
        ],
    )
    def test_invalid_graphs_raise(self, edges: list[list[int]], lengths: list[float], message: str) -> None:
        with pytest.raises(InputError, match=message):
            Graph(3, np.array(edges), np.array(lengths))


class TestSortedGraph:
    def test_joins_neighbours_from_left_to_right(self) -> None:
        graph = sorted_graph([3.0, -1.0, 2.0, 10.0])
        assert graph.edges.tolist() == [[1, 2], [0, 2], [0, 3]]
        assert graph.lengths.tolist() == [3.0, 1.0, 7.0]

    @given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=30))
    def test_paths_are_as_long_as_distances(self, values: list[int]) -> None:
        graph = sorted_graph(values)
        assert len(graph) == len(values) - 1
        assert dilation(values, graph) == 1.0

    def test_one_point_gives_no_edges(self) -> None:
        graph = sorted_graph([[4.0]])
        assert graph.n_points == 1
        assert graph.edges.shape == (0, 2)

    def test_two_dimensions_raise(self) -> None:
        with pytest.raises(InputError, match="got dimension 2"):
            sorted_graph(np.zeros((3, 2)))


class TestCompleteGraph:
    def test_contains_every_pair(self) -> None:
        points = points_of(30, 4)
        graph = complete_graph(points)
        i, j = np.triu_indices(30, k=1)
        np.testing.assert_array_equal(graph.edges, np.column_stack([i, j]))
        np.testing.assert_allclose(graph.lengths, distance_matrix(points)[i, j], rtol=1e-15)
        assert dilation(points, graph) == pytest.approx(1.0, abs=1e-12)

    def test_too_many_pairs_raise(self) -> None:
        with pytest.raises(UsageError, match="greedy_spanner"):
            complete_graph(np.zeros((3163, 1)))

    def test_one_point_gives_no_edges(self) -> None:
        assert complete_graph([1.0]).edges.shape == (0, 2)


class TestEdgeLengths:
    def test_agree_with_numpy(self) -> None:
        points = points_of(20, 5)
        edges = np.random.default_rng(1).integers([0, 10], [10, 20], (50, 2))
        expected = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], ord=1, axis=1)
        np.testing.assert_allclose(edge_lengths(points, edges), expected, rtol=1e-14)

    def test_points_that_are_not_finite_raise(self) -> None:
        with pytest.raises(InputError, match="nan"):
            complete_graph([0.0, np.nan])


class TestDilation:
    def test_of_a_path_bent_at_a_right_angle(self) -> None:
        corner = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
        assert dilation(corner, [[0, 1], [1, 2]]) == 1.0
        turned = np.array([[-1.0, 1.0], [0.0, 0.0], [1.0, 1.0]])
        assert dilation(turned, [[0, 1], [1, 2]]) == 2.0

    def test_agrees_with_networkx_in_blocks_of_any_size(self) -> None:
        points = points_of(40, 2)
        tree = networkx.minimum_spanning_tree(complete_graph(points).to_networkx(), weight="length")
        edges = np.array(tree.edges)
        paths = dict(networkx.all_pairs_dijkstra_path_length(tree, weight="length"))
        distance = distance_matrix(points)
        expected = max(paths[i][j] / distance[i, j] for i in range(40) for j in range(i))
        for block in (1, 7, 256):
            assert dilation(points, edges, block=block) == pytest.approx(expected, rel=1e-12)

    def test_uses_distances_of_points_instead_of_stored_lengths(self) -> None:
        corner = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
        assert dilation(corner, Graph(3, np.array([[0, 1], [1, 2]]), np.full(2, 7.0))) == 1.0

    def test_is_infinite_if_disconnected(self) -> None:
        assert dilation([0.0, 1.0, 5.0], [[0, 1]]) == np.inf
        assert dilation([0.0, 1.0], np.empty((0, 2))) == np.inf

    def test_of_equal_points(self) -> None:
        points = [0.0, 0.0, 1.0]
        assert dilation(points, [[0, 1], [1, 2]]) == 1.0
        assert dilation(points, [[0, 2], [1, 2]]) == np.inf

    def test_of_one_point(self) -> None:
        assert dilation([1.0], []) == 1.0

    def test_a_repeated_edge_counts_once(self) -> None:
        assert dilation([0.0, 1.0, 3.0], [[0, 1], [1, 0], [1, 2], [1, 2]]) == 1.0

    def test_invalid_input_raises(self) -> None:
        with pytest.raises(UsageError, match="block"):
            dilation([0.0, 1.0], [[0, 1]], block=0)
        with pytest.raises(InputError, match="vertices"):
            dilation([0.0, 1.0, 2.0], sorted_graph([0.0, 1.0]))
        with pytest.raises(InputError, match="between 0 and 1"):
            dilation([0.0, 1.0], [[0, 2]])
