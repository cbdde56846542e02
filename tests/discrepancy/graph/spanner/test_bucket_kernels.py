"""The kernels of the spanner by buckets against brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from support.dense_spanner import distance_matrix

from steinkit.discrepancy.graph.spanner import bucket_kernels
from steinkit.discrepancy.graph.spanner.greedy import boxed, greedy_spanner, laid_out


def normal(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


def clusters(n: int, d: int) -> np.ndarray:
    """Return points in groups with spreads from 1e-6 to 1."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 5, n)
    spread = np.array([1e-6, 1e-6, 1e-3, 0.1, 1.0])[group]
    return rng.uniform(-5.0, 5.0, (5, d))[group] + spread[:, None] * rng.standard_normal((n, d))


def test_distances_to_a_run_of_points() -> None:
    points = normal(40, 5)
    row = np.full(40, -1.0)
    bucket_kernels.distances_run(np.ascontiguousarray(points.T), 7, 8, 30, row)
    assert (row[:8] == -1.0).all()
    assert (row[30:] == -1.0).all()
    np.testing.assert_array_equal(row[8:30], distance_matrix(points)[7, 8:30])


def test_shorter_half_of_the_pairs_is_kept() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.exponential(size=1000)
    pairs = np.column_stack([np.arange(1000), 1000 + np.arange(1000)])
    before = lengths.copy()
    count, limit = bucket_kernels.keep_shorter_half(pairs, lengths, 1000, np.inf)
    assert 400 < count < 600
    np.testing.assert_array_equal(pairs[:count, 0], np.flatnonzero(before <= limit))
    np.testing.assert_array_equal(lengths[:count], before[before <= limit])
    assert bucket_kernels.keep_shorter_half(pairs, lengths, count, 1e-9)[1] == 1e-9


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("most", [2, 4, 500])
def test_boxes_divide_the_points(d: int, most: int) -> None:
    points = clusters(150, d)
    rank, boxes = boxed(points, most)
    np.testing.assert_array_equal(np.sort(rank), np.arange(150))
    assert (boxes.first[0], boxes.first[-1]) == (0, 150)
    assert 0 < np.diff(boxes.first).min() <= np.diff(boxes.first).max() <= most
    for box, run in enumerate(itertools.pairwise(boxes.first)):
        inside = points[rank][slice(*run)]
        np.testing.assert_array_equal(boxes.low[box], inside.min(axis=0))
        np.testing.assert_array_equal(boxes.high[box], inside.max(axis=0))


def test_distances_of_boxes_are_within_their_bounds() -> None:
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
def test_filter_keeps_every_necessary_pair(sample: Any, radius: float, box_size: int, patience: int, room: int) -> None:
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
