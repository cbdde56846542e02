"""The greedy spanner against its definition."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from support.dense_spanner import dense_greedy, searching_greedy

from steinkit.discrepancy.graph.spanner import greedy
from steinkit.discrepancy.graph.spanner.geometry import Graph, dilation, edge_lengths, sorted_graph
from steinkit.discrepancy.graph.spanner.greedy import greedy_spanner
from steinkit.errors import InputError, UsageError

DILATIONS = [1.05, 1.2, 2.0, 3.0]


def normal(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def clusters(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return points in groups with spreads from 1e-6 to 1."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, n)
    spread = np.array([1e-6, 1e-6, 1e-3, 0.1, 1.0])[group]
    return rng.uniform(-5.0, 5.0, (5, d))[group] + spread[:, None] * rng.standard_normal((n, d))


def lattice(*sides: int) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, sides))), dtype=float)


@functools.cache
def twin_edges(points: bytes, d: int, t: float) -> list[tuple[int, int]]:
    """Return the edges by brute force, cached for all sizes of boxes."""
    return dense_greedy(np.frombuffer(points).reshape(-1, d), t)


@functools.cache
def lattice_edges(scale: float, t: float) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Return a permuted lattice with inexact distances and its edges by brute force, cached for all sizes of boxes."""
    points = scale * np.random.default_rng(3).permutation(lattice(9, 9))
    return points, searching_greedy(points, t)


def assert_greedy(points: np.ndarray, t: float) -> Graph:
    """Assert that edges, order and lengths agree with brute force."""
    graph = greedy_spanner(points, t)
    assert list(map(tuple, graph.edges.tolist())) == twin_edges(points.tobytes(), points.shape[1], t)
    np.testing.assert_allclose(graph.lengths, edge_lengths(points, graph.edges), rtol=1e-14)
    return graph


@pytest.fixture(params=[4, 64, 256, None])
def _in_boxes_of_any_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the bucket algorithm with boxes of a given size, or the default algorithm."""
    if request.param is not None:
        monkeypatch.setattr(greedy, "BOX_SIZE", request.param)
        monkeypatch.setattr(greedy, "MOST_BY_EMPTY_BOXES", 0)


@pytest.mark.usefixtures("_in_boxes_of_any_size")
class TestEdges:
    @pytest.mark.parametrize("d", [1, 2, 3, 7])
    @pytest.mark.parametrize("t", DILATIONS)
    def test_follow_the_definition(self, t: float, d: int) -> None:
        assert_greedy(normal(90, d), t)
        assert_greedy(clusters(90, d), t)

    @pytest.mark.parametrize(
        ("points", "t"),
        [
            (normal(200, 2, 5), 2.0),
            (normal(200, 2, 6), 1.05),
            (normal(200, 3, 7), 1.2),
            (normal(200, 7, 8), 2.0),
            (normal(150, 20, 8), 2.0),
            (clusters(200, 2, 9), 2.0),
            (clusters(200, 3, 9), 1.5),
            (np.random.default_rng(1).standard_cauchy((200, 2)), 2.0),
            (np.random.default_rng(1).standard_cauchy((200, 3)) ** 3, 1.5),
        ],
    )
    def test_follow_the_definition_on_larger_samples(self, points: np.ndarray, t: float) -> None:
        assert_greedy(points, t)

    def test_follow_the_definition_in_several_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(greedy, "_POINTS_PER_BLOCK", 100)
        assert_greedy(normal(350, 2), 2.0)

    def test_number_on_reference_samples(self) -> None:
        rng = np.random.default_rng(0)
        which = rng.integers(0, 2, 1000)
        mixture = np.array([[0.0, 1.0], [1.0, -1.0]])[which] + 0.45 * rng.standard_normal((1000, 2))
        assert len(greedy_spanner(normal(300, 2))) == 445
        assert len(greedy_spanner(mixture)) == 1492
        assert len(greedy_spanner(0.3 * normal(200, 7))) == 932

    def test_on_a_line_join_neighbours(self) -> None:
        points = normal(800, 1)
        greedy = greedy_spanner(points)
        assert set(map(tuple, greedy.edges.tolist())) == set(map(tuple, sorted_graph(points).edges.tolist()))

    @pytest.mark.parametrize("t", [1.05, 2.0, 3.0])
    def test_collinear_points(self, t: float) -> None:
        line = np.random.default_rng(0).integers(-40, 40, 60)[:, None] * np.array([[1.0, 2.0, -1.0]])
        assert_greedy(line, t)
        assert_greedy(np.unique(line, axis=0), t)

    def test_outliers(self) -> None:
        points = normal(200, 2)
        points[[3, 77]] *= 1e9
        points[120, 0] = -1e9
        assert_greedy(points, 2.0)

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_few_points(self, n: int) -> None:
        points = normal(n, 2)
        graph = assert_greedy(points, 2.0)
        assert graph.n_points == n
        assert graph.edges.shape == (max(0, n - 1), 2)

    def test_one_column_may_be_a_vector(self) -> None:
        values = normal(50, 1)
        np.testing.assert_array_equal(greedy_spanner(values[:, 0]).edges, greedy_spanner(values).edges)


@pytest.mark.usefixtures("_in_boxes_of_any_size")
class TestTies:
    @pytest.mark.parametrize("t", [1.5, 2.0, 3.0, 5.0])
    @pytest.mark.parametrize("sides", [(14, 14), (6, 6, 6), (2,) * 7, (60,)])
    def test_integer_lattices(self, sides: tuple[int, ...], t: float) -> None:
        points = lattice(*sides)
        assert_greedy(points, t)
        assert_greedy(np.random.default_rng(0).permutation(points), t)

    @pytest.mark.parametrize("t", [1.5, 2.0, 3.0])
    def test_repeated_integer_points(self, t: float) -> None:
        assert_greedy(np.random.default_rng(0).integers(0, 6, (250, 2)).astype(float), t)

    @pytest.mark.parametrize("t", [np.sqrt(2.0), 1.1, 1.8, 3.0])
    @pytest.mark.parametrize("scale", [0.1, 0.7])
    def test_are_decided_by_sums_from_the_first_end(self, scale: float, t: float) -> None:
        points, expected = lattice_edges(scale, t)
        assert list(map(tuple, greedy_spanner(points, t).edges.tolist())) == expected

    def test_equal_points_are_joined_to_the_first_by_edges_of_length_zero(self) -> None:
        graph = greedy_spanner([[5.0], [1.0], [5.0], [5.0]])
        assert graph.edges.tolist() == [[0, 2], [0, 3], [0, 1]]
        assert graph.lengths.tolist() == [0.0, 0.0, 4.0]

    def test_all_points_equal(self) -> None:
        graph = greedy_spanner(np.ones((300, 2)))
        assert graph.edges.tolist() == [[0, j] for j in range(1, 300)]
        assert dilation(np.ones((300, 2)), graph) == 1.0

    def test_more_pairs_of_one_length_than_are_stored_at_a_time(self) -> None:
        simplex = np.eye(300)
        graph = greedy_spanner(simplex)
        # a star, where every path has length 2 x 2 = t x 2
        assert graph.edges.tolist() == [[0, j] for j in range(1, 300)]


class TestProperties:
    @settings(max_examples=30, deadline=None)
    @given(
        st.integers(0, 10**6),
        st.integers(2, 60),
        st.integers(1, 5),
        st.floats(1.01, 4.0),
    )
    def test_permuted_points_give_permuted_edges(self, seed: int, n: int, d: int, t: float) -> None:
        points = normal(n, d, seed)
        label = np.random.default_rng(seed).permutation(n)
        straight = {frozenset(edge) for edge in greedy_spanner(points, t).edges.tolist()}
        shuffled = {frozenset(label[edge]) for edge in greedy_spanner(points[label], t).edges}
        assert shuffled == straight

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10**6), st.integers(2, 80), st.integers(1, 4), st.floats(1.01, 4.0))
    def test_dilation_is_at_most_t(self, seed: int, n: int, d: int, t: float) -> None:
        points = clusters(n, d, seed)
        assert dilation(points, greedy_spanner(points, t)) <= t * (1.0 + 1e-12)

    def test_every_edge_is_necessary(self) -> None:
        points = normal(150, 2)
        graph = greedy_spanner(points, 1.5)
        for m, ((i, j), length) in enumerate(zip(graph.edges, graph.lengths, strict=True)):
            before: Any = csr_array((graph.lengths[:m], graph.edges[:m].T), shape=(150, 150))
            assert dijkstra(before, directed=False, indices=i)[j] > 1.5 * length

    def test_powers_of_two_scale_only_lengths(self) -> None:
        points = normal(200, 3)
        straight, scaled = greedy_spanner(points), greedy_spanner(2.0**-40 * points)
        np.testing.assert_array_equal(scaled.edges, straight.edges)
        np.testing.assert_array_equal(scaled.lengths, 2.0**-40 * straight.lengths)

    def test_edges_do_not_depend_on_threads(self) -> None:
        points = np.vstack([normal(1800, 2), np.random.default_rng(2).integers(-9, 9, (200, 2))])
        one = greedy_spanner(points)
        assert len(points) > greedy._POINTS_PER_BLOCK  # the points form several blocks
        for n_jobs in (2, 3, -1):
            several = greedy_spanner(points, n_jobs=n_jobs)
            np.testing.assert_array_equal(several.edges, one.edges)
            np.testing.assert_array_equal(several.lengths, one.lengths)


class TestRefusals:
    @pytest.mark.parametrize("t", [1.0, 0.5, -2.0, np.inf, np.nan])
    def test_invalid_dilations_raise(self, t: float) -> None:
        with pytest.raises(UsageError, match="above 1"):
            greedy_spanner(normal(5, 2), t)

    def test_zero_threads_raise(self) -> None:
        with pytest.raises(UsageError, match="n_jobs"):
            greedy_spanner(normal(5, 2), n_jobs=0)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_points_that_are_not_finite_raise(self, bad: float) -> None:
        points = normal(5, 2)
        points[2, 1] = bad
        with pytest.raises(InputError, match="row 3"):
            greedy_spanner(points)

    def test_empty_samples_raise(self) -> None:
        with pytest.raises(InputError, match="at least one draw"):
            greedy_spanner(np.empty((0, 2)))
