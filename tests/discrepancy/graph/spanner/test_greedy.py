"""The greedy spanner against its definition, and its kernels against simple twins."""

from __future__ import annotations

import functools
import heapq
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from support.dense_spanner import dense_greedy, distance_matrix, searching_greedy

from steinkit.discrepancy.graph.spanner import bucket_kernels, greedy
from steinkit.discrepancy.graph.spanner import search_kernels as search
from steinkit.discrepancy.graph.spanner.geometry import Graph, dilation, edge_lengths, sorted_graph
from steinkit.discrepancy.graph.spanner.greedy import boxed, greedy_spanner, laid_out
from steinkit.discrepancy.graph.spanner.search_kernels import heap_pop, heap_push
from steinkit.errors import InputError, UsageError

DILATIONS = [1.05, 1.2, 2.0, 3.0]


def normal(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def clusters(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Points in groups whose spreads go from 1e-6 to 1."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 5, n)
    spread = np.array([1e-6, 1e-6, 1e-3, 0.1, 1.0])[group]
    return rng.uniform(-5.0, 5.0, (5, d))[group] + spread[:, None] * rng.standard_normal((n, d))


def lattice(*sides: int) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, sides))), dtype=float)


@functools.cache
def twin_edges(points: bytes, d: int, t: float) -> list[tuple[int, int]]:
    """The dense twin's edges, for all sizes of boxes at once."""
    return dense_greedy(np.frombuffer(points).reshape(-1, d), t)


def assert_greedy(points: np.ndarray, t: float) -> Graph:
    """The edges are those of the dense twin, in its order, at their distance."""
    graph = greedy_spanner(points, t)
    assert list(map(tuple, graph.edges.tolist())) == twin_edges(points.tobytes(), points.shape[1], t)
    np.testing.assert_allclose(graph.lengths, edge_lengths(points, graph.edges), rtol=1e-14)
    return graph


@pytest.fixture(params=[4, 64, 512, None])
def _in_boxes_of_any_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bucket by bucket in boxes of a size, or as it comes: planar samples by way of empty boxes."""
    if request.param is not None:
        monkeypatch.setattr(greedy, "BOX_SIZE", request.param)
        monkeypatch.setattr(greedy, "MOST_BY_EMPTY_BOXES", 0)


@pytest.mark.usefixtures("_in_boxes_of_any_size")
class TestEdges:
    @pytest.mark.parametrize("d", [1, 2, 3, 7])
    @pytest.mark.parametrize("t", DILATIONS)
    def test_follow_the_definition(self, t: float, d: int) -> None:
        for seed in range(2):
            assert_greedy(normal(90, d, seed), t)
        assert_greedy(clusters(90, d), t)

    @pytest.mark.parametrize(
        ("points", "t"),
        [
            (normal(400, 2, 5), 2.0),
            (normal(400, 2, 6), 1.05),
            (normal(400, 3, 7), 1.2),
            (normal(350, 7, 8), 2.0),
            (normal(250, 20, 8), 2.0),
            (clusters(400, 2, 9), 2.0),
            (clusters(400, 3, 9), 1.5),
            (np.random.default_rng(1).standard_cauchy((400, 2)), 2.0),
            (np.random.default_rng(1).standard_cauchy((300, 3)) ** 3, 1.5),
        ],
    )
    def test_follow_the_definition_on_larger_samples(self, points: np.ndarray, t: float) -> None:
        assert_greedy(points, t)

    def test_follow_the_definition_over_several_blocks(self) -> None:
        assert_greedy(normal(1600, 2), 2.0)

    def test_their_number_on_reference_samples(self) -> None:
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
    @pytest.mark.parametrize("sides", [(20, 20), (7, 7, 7), (2,) * 8, (60,)])
    def test_integer_lattices(self, sides: tuple[int, ...], t: float) -> None:
        points = lattice(*sides)
        assert_greedy(points, t)
        assert_greedy(np.random.default_rng(0).permutation(points), t)

    @pytest.mark.parametrize("t", [1.5, 2.0, 3.0])
    def test_repeated_integer_points(self, t: float) -> None:
        assert_greedy(np.random.default_rng(0).integers(0, 6, (250, 2)).astype(float), t)

    @pytest.mark.parametrize("t", [np.sqrt(2.0), 1.1, 1.8, 3.0])
    @pytest.mark.parametrize("scale", [0.1, 0.7, 1.0 / 3.0])
    def test_are_decided_by_sums_from_the_first_endpoint(self, scale: float, t: float) -> None:
        points = scale * np.random.default_rng(3).permutation(lattice(9, 9))
        graph = greedy_spanner(points, t)
        assert list(map(tuple, graph.edges.tolist())) == searching_greedy(points, t)

    def test_equal_points_are_joined_to_the_first_by_edges_of_length_zero(self) -> None:
        graph = greedy_spanner([[5.0], [1.0], [5.0], [5.0]])
        assert graph.edges.tolist() == [[0, 2], [0, 3], [0, 1]]
        assert graph.lengths.tolist() == [0.0, 0.0, 4.0]

    def test_all_points_equal(self) -> None:
        graph = greedy_spanner(np.ones((300, 2)))
        assert graph.edges.tolist() == [[0, j] for j in range(1, 300)]
        assert dilation(np.ones((300, 2)), graph) == 1.0

    def test_more_pairs_of_one_length_than_there_is_room_for(self) -> None:
        simplex = np.eye(300)
        graph = greedy_spanner(simplex)
        assert graph.edges.tolist() == [[0, j] for j in range(1, 300)]  # a star: every path is 2 x 2 = t x 2


class TestProperties:
    @settings(max_examples=30, deadline=None)
    @given(
        st.integers(0, 10**6),
        st.integers(2, 60),
        st.integers(1, 5),
        st.floats(1.01, 4.0),
    )
    def test_relabelling_points_relabels_edges(self, seed: int, n: int, d: int, t: float) -> None:
        points = normal(n, d, seed)
        label = np.random.default_rng(seed).permutation(n)
        straight = {frozenset(edge) for edge in greedy_spanner(points, t).edges.tolist()}
        shuffled = {frozenset(label[edge]) for edge in greedy_spanner(points[label], t).edges}
        assert shuffled == straight

    @settings(max_examples=30, deadline=None)
    @given(st.integers(0, 10**6), st.integers(2, 80), st.integers(1, 4), st.floats(1.01, 4.0))
    def test_the_dilation_is_kept(self, seed: int, n: int, d: int, t: float) -> None:
        points = clusters(n, d, seed)
        assert dilation(points, greedy_spanner(points, t)) <= t * (1.0 + 1e-12)

    def test_every_edge_was_needed_when_it_came(self) -> None:
        points = normal(150, 2)
        graph = greedy_spanner(points, 1.5)
        for m, ((i, j), length) in enumerate(zip(graph.edges, graph.lengths, strict=True)):
            before: Any = csr_array((graph.lengths[:m], graph.edges[:m].T), shape=(150, 150))
            assert dijkstra(before, directed=False, indices=i)[j] > 1.5 * length

    def test_powers_of_two_scale_lengths_and_nothing_else(self) -> None:
        points = normal(200, 3)
        straight, scaled = greedy_spanner(points), greedy_spanner(2.0**-40 * points)
        np.testing.assert_array_equal(scaled.edges, straight.edges)
        np.testing.assert_array_equal(scaled.lengths, 2.0**-40 * straight.lengths)

    def test_threads_change_nothing(self) -> None:
        points = np.vstack([normal(2700, 2), np.random.default_rng(2).integers(-9, 9, (300, 2))])
        one = greedy_spanner(points)
        assert len(points) > greedy.POINTS_PER_BLOCK  # so that there are several blocks
        for n_jobs in (2, 3, -1):
            several = greedy_spanner(points, n_jobs=n_jobs)
            np.testing.assert_array_equal(several.edges, one.edges)
            np.testing.assert_array_equal(several.lengths, one.lengths)


class TestRefusals:
    @pytest.mark.parametrize("t", [1.0, 0.5, -2.0, np.inf, np.nan])
    def test_dilations_that_are_not_above_one(self, t: float) -> None:
        with pytest.raises(UsageError, match="above 1"):
            greedy_spanner(normal(5, 2), t)

    def test_no_threads(self) -> None:
        with pytest.raises(UsageError, match="n_jobs"):
            greedy_spanner(normal(5, 2), n_jobs=0)

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_points_that_are_not_finite(self, bad: float) -> None:
        points = normal(5, 2)
        points[2, 1] = bad
        with pytest.raises(InputError, match="row 3"):
            greedy_spanner(points)

    def test_no_points(self) -> None:
        with pytest.raises(InputError, match="empty"):
            greedy_spanner(np.empty((0, 2)))


@pytest.fixture
def network() -> tuple[np.ndarray, search.Adjacency]:
    """Distances along, and layout of, a sparse random graph that is not connected."""
    rng = np.random.default_rng(4)
    edges = np.unique(np.sort(rng.integers(0, 80, (110, 2)), axis=1), axis=0)
    edges = edges[edges[:, 0] < edges[:, 1]]
    lengths = np.sort(rng.exponential(size=len(edges)))
    edges = rng.permutation(edges)
    paths = dijkstra(csr_array((lengths, edges.T), shape=(80, 80)), directed=False)
    return paths, laid_out(80, edges, lengths, rng.integers(0, 3, 80))


class TestKernels:
    def test_heap_against_heapq(self) -> None:
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

    def test_distances_run(self) -> None:
        points = normal(40, 5)
        row = np.full(40, -1.0)
        bucket_kernels.distances_run(np.ascontiguousarray(points.T), 7, 8, 30, row)
        assert (row[:8] == -1.0).all()
        assert (row[30:] == -1.0).all()
        np.testing.assert_array_equal(row[8:30], distance_matrix(points)[7, 8:30])

    def test_search_within(self, network: tuple[np.ndarray, search.Adjacency]) -> None:
        paths, graph = network
        frontier = search.new_frontier(graph)
        for source in range(80):
            search.search_within(graph, source, 1.5, source, frontier)
            expected = np.where(paths[source] <= 1.5, paths[source], np.inf)
            np.testing.assert_allclose(frontier.distance, expected, rtol=1e-14)
            search.clear(frontier)
            assert np.isinf(frontier.distance).all()

    def test_search_goals(self, network: tuple[np.ndarray, search.Adjacency]) -> None:
        paths, graph = network
        frontier = search.new_frontier(graph)
        rng = np.random.default_rng(5)
        for source in range(80):
            is_open, limit = rng.random(80) < 0.5, rng.exponential(2.0, 80)
            expected = is_open & (paths[source] > limit)
            expected[source] = is_open[source]  # a source is no target of its own
            goals, nowhere = search.Goals(limit, is_open), np.empty(0)
            left = search.search_goals(
                graph, np.empty((0, 80)), source, nowhere, nowhere, goals, limit.max(), is_open.sum(), 0, 0.0, frontier
            )
            search.clear(frontier)
            np.testing.assert_array_equal(is_open, expected)
            assert left == expected.sum()

    def test_search_goals_ends_when_few_are_left(self, network: tuple[np.ndarray, search.Adjacency]) -> None:
        paths, graph = network
        frontier, nowhere, unreachable = search.new_frontier(graph), np.empty(0), np.isinf(paths[0]).sum()
        for patience in (0, 1, 30, 79, 80):
            goals = search.Goals(np.full(80, np.inf), np.arange(80) > 0)  # a step closes one at most
            left = search.search_goals(
                graph, np.empty((0, 80)), 0, nowhere, nowhere, goals, np.inf, 79, patience, 0.0, frontier
            )
            search.clear(frontier)
            assert left == goals.is_open.sum() == max(unreachable, min(patience, 79))

    def test_search_both_ways(self, network: tuple[np.ndarray, search.Adjacency]) -> None:
        paths, graph = network
        forward, backward = search.new_frontier(graph), search.new_frontier(graph)
        for u, v in itertools.combinations(range(80), 2):
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

    def test_search_both_ways_gives_up(self, network: tuple[np.ndarray, search.Adjacency]) -> None:
        paths, graph = network
        forward, backward = search.new_frontier(graph), search.new_frontier(graph)
        u, v = np.argwhere(np.isfinite(paths) & (paths > 4.0))[0]
        assert search.search_both_ways(graph, u, v, paths[u, v], 1e-12, 2, forward, backward) == search.EXHAUSTED

    def test_keep_shorter_half(self) -> None:
        rng = np.random.default_rng(0)
        lengths = rng.exponential(size=1000)
        pairs = np.column_stack([np.arange(1000), 1000 + np.arange(1000)])
        before = lengths.copy()
        count, limit = bucket_kernels.keep_shorter_half(pairs, lengths, 1000, np.inf)
        assert 400 < count < 600
        np.testing.assert_array_equal(pairs[:count, 0], np.flatnonzero(before <= limit))
        np.testing.assert_array_equal(lengths[:count], before[before <= limit])
        assert bucket_kernels.keep_shorter_half(pairs, lengths, count, 1e-9)[1] == 1e-9

    def test_search_goals_in_a_box(self) -> None:
        points, rng = normal(120, 2), np.random.default_rng(6)
        graph = greedy_spanner(points)
        paths = dijkstra(csr_array((graph.lengths, graph.edges.T), shape=(120, 120)), directed=False)
        links = laid_out(120, graph.edges, graph.lengths)
        columns, frontier = np.ascontiguousarray(points.T), search.new_frontier(links)
        for source in range(120):
            nearest = np.argsort(np.abs(points - points[rng.integers(120)]).sum(axis=1))[:8]
            goals = nearest[nearest != source]
            low, high = points[goals].min(axis=0), points[goals].max(axis=0)
            limit, is_open = np.zeros(120), np.zeros(120, dtype=bool)
            limit[goals] = paths[source, goals] * rng.choice([0.99, 1.01, 1.5], len(goals))
            for weight in (1.0, 2.0):
                is_open[goals] = True
                left = search.search_goals(
                    links,
                    columns,
                    source,
                    low,
                    high,
                    search.Goals(limit, is_open),
                    limit.max(),
                    len(goals),
                    0,
                    weight,
                    frontier,
                )
                found = np.isfinite(frontier.distance)
                assert (frontier.distance[found] >= paths[source, found] * (1.0 - 1e-12)).all()
                search.clear(frontier)
                assert not frontier.closed.any()
                assert left == is_open.sum()
                needed = limit < paths[source]
                assert is_open[goals][needed[goals]].all()
                if weight == 1.0:
                    np.testing.assert_array_equal(is_open[goals], needed[goals])

    @pytest.mark.parametrize("d", [1, 2, 3])
    @pytest.mark.parametrize("most", [2, 4, 500])
    def test_boxes(self, d: int, most: int) -> None:
        points = clusters(150, d)
        rank, boxes = boxed(points, most)
        np.testing.assert_array_equal(np.sort(rank), np.arange(150))
        assert (boxes.first[0], boxes.first[-1]) == (0, 150)
        assert 0 < np.diff(boxes.first).min() <= np.diff(boxes.first).max() <= most
        for box, run in enumerate(itertools.pairwise(boxes.first)):
            inside = points[rank][slice(*run)]
            np.testing.assert_array_equal(boxes.low[box], inside.min(axis=0))
            np.testing.assert_array_equal(boxes.high[box], inside.max(axis=0))

    def test_bounds_on_distances_hold_to_the_last_bit(self) -> None:
        points = clusters(150, 3)
        rank, boxes = boxed(points, 4)
        distance = distance_matrix(points[rank])
        for mine, other in itertools.product(range(len(boxes.low)), repeat=2):
            least, most = bucket_kernels.range_of(boxes, other, boxes.low[mine], boxes.high[mine])
            own, theirs = (slice(boxes.first[box], boxes.first[box + 1]) for box in (mine, other))
            assert least <= distance[own, theirs].min() <= distance[own, theirs].max() <= most

    @pytest.mark.parametrize("room", [10_000, 40])
    @pytest.mark.parametrize("patience", [0, 6])
    @pytest.mark.parametrize("box_size", [4, 500])
    @pytest.mark.parametrize("radius", [0.0, 0.45])
    @pytest.mark.parametrize("sample", [normal, clusters])
    def test_filter_keeps_every_pair_that_is_needed(
        self, sample: Any, radius: float, box_size: int, patience: int, room: int
    ) -> None:
        points, lower, upper, t = sample(200, 2), 0.4, 1.6, 2.0
        rank, boxes = boxed(points, box_size)
        points = points[rank]
        distance = distance_matrix(points)
        whole = greedy_spanner(points, t)
        short = whole.lengths <= lower
        edges, lengths = whole.edges[short], whole.lengths[short]
        problem = bucket_kernels.Problem(np.ascontiguousarray(points.T), boxes, t, 1e-12, np.zeros(1, dtype=bool))
        graph = laid_out(200, edges, lengths, np.zeros(200, dtype=np.int64))
        pairs, found, limit = bucket_kernels.filter_block(
            problem, graph, 0, 200, lower, upper, radius * lower, patience, room
        )
        assert (pairs[:, 0] < pairs[:, 1]).all()
        np.testing.assert_array_equal(found, distance[pairs[:, 0], pairs[:, 1]])
        assert ((found > lower) & (found <= limit)).all()
        assert len(pairs) <= room
        paths = dijkstra(csr_array((lengths, edges.T), shape=(200, 200)), directed=False)
        needed = np.triu((paths > t * distance) & (distance > lower) & (distance <= limit), k=1)
        kept = set(map(tuple, pairs.tolist()))
        assert kept.issuperset(map(tuple, np.argwhere(needed).tolist()))
        assert len(kept) == len(pairs)
        if patience == 0:
            assert len(kept) == needed.sum()
