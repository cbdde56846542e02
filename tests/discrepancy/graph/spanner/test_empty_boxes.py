"""The spanner from pairs with an empty box is the greedy one by brute force, compiled and in Python, ties included."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.dense_spanner import distance_matrix, searching_greedy

from steinkit.discrepancy.graph.spanner import empty_box_kernels as kernels
from steinkit.discrepancy.graph.spanner import greedy
from steinkit.discrepancy.graph.spanner.empty_box_kernels import RUN
from steinkit.discrepancy.graph.spanner.geometry import dilation, edge_lengths
from steinkit.discrepancy.graph.spanner.greedy import ROOM, greedy_spanner, span_by_empty_boxes
from steinkit.runtime import compilation

DILATIONS = (1.05, 1.3, 2.0, 3.0, 6.0)
GOING_ON, STOPPED = np.zeros(1, dtype=bool), np.ones(1, dtype=bool)


def margin(n: int) -> float:
    return (32 * n + 64) * 2.0**-52


def random_points(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(3, 60)), seed % 6
    x = rng.standard_normal((n, 2))
    if kind == 1:
        return rng.uniform(size=(n, 2)) * [1.0, 1e-3]
    if kind == 2:
        return rng.standard_cauchy((n, 2))
    if kind == 3:  # along both diagonals: of all pairs of points, or of hardly any, the box is empty
        return np.column_stack([x[:, 0], np.where(np.arange(n) % 2, x[:, 0], -x[:, 0])]) + 0.01 * x
    if kind == 4:  # two antidiagonals that face each other
        return np.column_stack([x[:, 0], -x[:, 0]]) + 10.0 * (np.arange(n) % 2)[:, None] + 1e-3 * x
    if kind == 5:  # groups of widths from 1e-6 to 1
        return rng.uniform(-5.0, 5.0, (5, 2))[np.arange(n) % 5] + np.logspace(-6, 0, 5)[np.arange(n) % 5, None] * x
    return x


def tied_points(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(3, 50)), seed % 5
    if kind == 0:  # whole numbers, some of them equal
        return rng.integers(0, 8, (n, 2)).astype(float)
    if kind == 1:  # a file's digits
        return np.round(rng.standard_normal((n, 2)), 1 + seed % 3)
    if kind == 2:  # few values of one coordinate
        return np.column_stack([rng.integers(0, 3, n), rng.standard_normal(n)])
    if kind == 3:  # a lattice whose steps round
        return rng.permutation(0.1 * np.array(list(itertools.product(range(6), range(1 + seed % 7)))))
    return np.vstack([rng.integers(0, 5, (n // 2 + 2, 2)), rng.standard_normal((n, 2))])


def boxes_on_arrays(x: Any, y: Any, runs: Any, pairs: Any, stop: Any) -> int:
    """`list_empty_boxes` as NumPy has it, a point's pairs at a time."""
    count = 0
    for i in range(len(x)):
        rest = y[i + 1 :]
        above, below = np.where(rest >= y[i], rest, np.inf), np.where(rest < y[i], rest, -np.inf)
        lowest, highest = np.minimum.accumulate(above), np.maximum.accumulate(below)
        empty = np.zeros(len(rest), dtype=bool)
        empty[:1] = True
        empty[1:] = (above[1:] < lowest[:-1]) | (below[1:] > highest[:-1])
        others = np.flatnonzero(empty) + i + 1
        if stop[0] or count + len(others) > len(pairs):
            return len(pairs) + 1
        pairs[count : count + len(others)] = np.column_stack([np.full(len(others), i), others])
        count += len(others)
    return count


def both_ways(points: np.ndarray, t: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[np.ndarray]:
    yield greedy_spanner(points, t).edges
    listed = kernels.list_empty_boxes
    interpreted = compilation._interpreter(listed) if hasattr(listed, "py_func") else listed
    with monkeypatch.context() as plain:
        plain.setattr(greedy, "list_empty_boxes", interpreted)
        plain.setattr(greedy, "insert_empty_boxes", kernels._insert_by_python)
        yield greedy_spanner(points, t).edges


@pytest.mark.parametrize("tens", range(30))
def test_edges_are_those_of_brute_force(tens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        points, t = random_points(seed), DILATIONS[seed % len(DILATIONS)]
        expected = searching_greedy(points, t)
        for edges in both_ways(points, t, monkeypatch):
            assert list(map(tuple, edges.tolist())) == expected, seed


@pytest.mark.parametrize("tens", range(10))
def test_edges_are_those_of_brute_force_where_there_are_ties(tens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        points = tied_points(seed)
        for t in (2.0, 1.5, 3.0):
            expected = searching_greedy(points, t)
            for edges in both_ways(points, t, monkeypatch):
                assert list(map(tuple, edges.tolist())) == expected, (seed, t)


def test_most_samples_of_either_kind_need_no_other_pairs() -> None:
    """Else the tests above would say nothing of this way."""
    found = [span_by_empty_boxes(random_points(seed), 2.0, margin(60), GOING_ON) is not None for seed in range(60)]
    assert sum(found) == len(found)
    tied = [np.unique(tied_points(seed), axis=0) for seed in range(100)]
    found = [span_by_empty_boxes(points, 2.0, margin(60), GOING_ON) is not None for points in tied]
    assert 10 < sum(found) < 90


def test_points_too_close_for_lengths_to_order_are_left_to_all_pairs() -> None:
    near = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1e-15], [0.5, 3.0]])
    assert span_by_empty_boxes(near, 2.0, margin(4), GOING_ON) is None
    assert span_by_empty_boxes(near[[0, 1, 3]], 2.0, margin(3), GOING_ON) is not None


def test_ties_form_a_chain_where_they_meet_between_their_other_ends() -> None:
    points = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 2.0], [0.5, 3.0], [4.0, 1.0]])
    for chained in ([[0, 1], [1, 2]], [[0, 3], [1, 2], [0, 1]]):
        assert greedy._form_chains(points, np.array(chained))
    for apart in (np.empty((0, 2), dtype=int), np.array([[0, 1], [1, 4]]), np.array([[0, 1], [0, 3], [2, 4]])):
        assert not greedy._form_chains(points, apart)


@pytest.mark.parametrize("points", [random_points(0), np.random.default_rng(0).standard_normal((3 * RUN + 5, 2))])
def test_candidates_are_the_pairs_whose_box_is_empty(points: np.ndarray) -> None:
    i, j = np.triu_indices(len(points), k=1)
    ends = zip(np.minimum(points[i], points[j]), np.maximum(points[i], points[j]), strict=True)
    inside = np.array([((low <= points) & (points <= high)).all(axis=1).sum() for low, high in ends])
    expected = np.column_stack([i, j])[inside == 2]
    found = greedy._candidates(points, GOING_ON)
    assert found is not None
    np.testing.assert_array_equal(found[np.lexsort(found.T[::-1])], expected)


def test_candidates_are_the_same_by_runs_and_one_by_one_where_coordinates_are_equal(monkeypatch) -> None:
    points = np.round(np.random.default_rng(1).standard_normal((4 * RUN, 2)), 1)
    by_runs = greedy._candidates(points, GOING_ON)
    monkeypatch.setattr(greedy, "list_empty_boxes", boxes_on_arrays)
    np.testing.assert_array_equal(by_runs, greedy._candidates(points, GOING_ON))


def test_edges_of_many_points_are_those_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    for points in (rng.standard_normal((1500, 2)), rng.standard_cauchy((1500, 2)), rng.random((900, 2)) ** 8):
        for t in (1.2, 2.0, 5.0):
            edges = greedy_spanner(points, t).edges
            with monkeypatch.context() as buckets:
                buckets.setattr(greedy, "MOST_BY_EMPTY_BOXES", 0)
                np.testing.assert_array_equal(edges, greedy_spanner(points, t).edges)


def test_too_many_empty_boxes_are_left_to_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).standard_normal(6 * ROOM)
    points = np.column_stack([x, -x]) + 10.0 * (np.arange(len(x)) % 2)[:, None]
    assert span_by_empty_boxes(points, 2.0, margin(len(x)), GOING_ON) is None
    whole = greedy_spanner(points).edges
    monkeypatch.setattr(greedy, "ROOM", len(x))
    found = span_by_empty_boxes(points, 2.0, margin(len(x)), GOING_ON)
    assert found is not None
    np.testing.assert_array_equal(found.edges, whole)


def test_what_is_there_when_time_runs_out_joins_all_pairs_up_to_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).standard_normal((200, 2))
    whole = span_by_empty_boxes(points, 2.0, margin(200), GOING_ON)
    assert whole is not None
    assert whole.reached == np.inf

    def cut_short(columns, t, slack, graph, pairs, lengths, stop):
        half = len(pairs) // 2
        linked, ties, done = kernels.insert_empty_boxes(columns, t, slack, graph, pairs[:half], lengths[:half], stop)
        return np.append(linked, np.zeros(len(pairs) - half, dtype=bool)), ties, done

    monkeypatch.setattr(greedy, "insert_empty_boxes", cut_short)
    part = span_by_empty_boxes(points, 2.0, margin(200), GOING_ON)
    assert part is not None
    np.testing.assert_array_equal(part.edges, whole.edges[: len(part.edges)])
    distance = distance_matrix(points)
    near = np.argwhere(np.triu((distance <= part.reached) & (distance > 0.0)))
    assert len(near) > len(points)
    joined = np.vstack([part.edges, np.argwhere(np.triu(distance > part.reached))])
    assert dilation(points, joined) <= 2.0 * (1.0 + 1e-12)
    np.testing.assert_array_equal(part.lengths, edge_lengths(points, part.edges))


def test_a_signal_stops_it_at_once() -> None:
    """Of a list of pairs that was cut short nothing is known."""
    assert span_by_empty_boxes(random_points(0), 2.0, margin(60), STOPPED) is None
    assert kernels.list_empty_boxes(*np.zeros((3, 2)), np.empty((9, 2), dtype=np.int64), STOPPED) == 10
