"""The spanner from pairs with an empty box against the greedy spanner by brute force, with and without ties."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from support.dense_spanner import searching_greedy

from steinkit.discrepancy.graph.spanner import empty_box_kernels as kernels
from steinkit.discrepancy.graph.spanner import greedy
from steinkit.discrepancy.graph.spanner.greedy import greedy_spanner, span_by_empty_boxes

DILATIONS = (1.05, 1.3, 2.0, 3.0, 6.0)
GOING_ON = np.zeros(1, dtype=bool)


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
    if kind == 3:  # points on both diagonals, so that nearly all or nearly no boxes are empty
        return np.column_stack([x[:, 0], np.where(np.arange(n) % 2, x[:, 0], -x[:, 0])]) + 0.01 * x
    if kind == 4:  # two opposite antidiagonals
        return np.column_stack([x[:, 0], -x[:, 0]]) + 10.0 * (np.arange(n) % 2)[:, None] + 1e-3 * x
    if kind == 5:  # groups of widths from 1e-6 to 1
        return rng.uniform(-5.0, 5.0, (5, 2))[np.arange(n) % 5] + np.logspace(-6, 0, 5)[np.arange(n) % 5, None] * x
    return x


def tied_points(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(3, 50)), seed % 5
    if kind == 0:  # integers with repeats
        return rng.integers(0, 8, (n, 2)).astype(float)
    if kind == 1:  # rounded decimals
        return np.round(rng.standard_normal((n, 2)), 1 + seed % 3)
    if kind == 2:  # few values of one coordinate
        return np.column_stack([rng.integers(0, 3, n), rng.standard_normal(n)])
    if kind == 3:  # a lattice with inexact steps
        return rng.permutation(0.1 * np.array(list(itertools.product(range(6), range(1 + seed % 7)))))
    return np.vstack([rng.integers(0, 5, (n // 2 + 2, 2)), rng.standard_normal((n, 2))])


def compiled_and_interpreted(points: np.ndarray, t: float, monkeypatch: pytest.MonkeyPatch) -> Iterator[np.ndarray]:
    """Return the edges found by the compiled kernels and by their source in plain Python."""
    yield greedy_spanner(points, t).edges
    with monkeypatch.context() as plain:
        for name in ("list_empty_boxes", "insert_empty_boxes"):
            kernel = getattr(kernels, name)
            plain.setattr(greedy, name, getattr(kernel, "twin", kernel))
        yield greedy_spanner(points, t).edges


@pytest.mark.parametrize("tens", range(3))  # all 6 kinds with all 5 dilations
def test_edges_agree_with_brute_force(tens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        points, t = random_points(seed), DILATIONS[seed % len(DILATIONS)]
        expected = searching_greedy(points, t)
        for edges in compiled_and_interpreted(points, t, monkeypatch):
            assert list(map(tuple, edges.tolist())) == expected, seed


@pytest.mark.parametrize("tens", range(5))  # all 5 kinds with all 3 dilations, three times
def test_edges_agree_with_brute_force_with_ties(tens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        points, t = tied_points(seed), (2.0, 1.5, 3.0)[seed // 15 % 3]
        expected = searching_greedy(points, t)
        for edges in compiled_and_interpreted(points, t, monkeypatch):
            assert list(map(tuple, edges.tolist())) == expected, seed


def test_empty_boxes_suffice_for_most_samples() -> None:
    """Otherwise the tests above would not cover this algorithm."""
    found = [span_by_empty_boxes(random_points(seed), 2.0, margin(60), GOING_ON) is not None for seed in range(60)]
    assert sum(found) == len(found)
    tied = [np.unique(tied_points(seed), axis=0) for seed in range(50)]
    found = [span_by_empty_boxes(points, 2.0, margin(60), GOING_ON) is not None for points in tied]
    assert 5 < sum(found) < 45


def test_very_close_points_use_all_pairs() -> None:
    near = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1e-15], [0.5, 3.0]])
    assert span_by_empty_boxes(near, 2.0, margin(4), GOING_ON) is None
    assert span_by_empty_boxes(near[[0, 1, 3]], 2.0, margin(3), GOING_ON) is not None


def test_edges_agree_with_the_bucket_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    for points in (rng.standard_normal((400, 2)), rng.standard_cauchy((400, 2)), rng.random((400, 2)) ** 8):
        for t in (1.2, 2.0, 5.0):
            edges = greedy_spanner(points, t).edges
            with monkeypatch.context() as buckets:
                buckets.setattr(greedy, "MOST_BY_EMPTY_BOXES", 0)
                np.testing.assert_array_equal(edges, greedy_spanner(points, t).edges)
