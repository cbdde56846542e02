"""Rows that repeat, against a dictionary: with hashes of their own and with hashes that collide."""

import numpy as np
import pytest

from steinkit import sample
from steinkit.sample import first_occurrences


def by_dictionary(points):
    seen, first, group = {}, [], []
    for row, point in enumerate(map(tuple, points.tolist())):
        if point not in seen:
            seen[point] = len(first)
            first.append(row)
        group.append(seen[point])
    return first, group


def cases():
    rng = np.random.default_rng(0)
    moving = rng.standard_normal((50, 3))
    yield moving
    yield moving[rng.integers(0, 20, 200)]
    yield np.repeat(moving, 3, axis=0)
    yield rng.integers(-2, 3, (300, 3)).astype(float)
    yield np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [0.0, -1.0]])  # zeros are equal whatever their sign
    yield 2.0 ** rng.integers(-1000, 1000, (100, 1))
    yield np.zeros((7, 2))


@pytest.mark.parametrize("points", list(cases()))
@pytest.mark.parametrize("collide", [False, True])
def test_the_first_of_every_group_in_order_of_appearance(points, collide, monkeypatch):
    if collide:
        monkeypatch.setattr(sample, "_row_hashes", lambda points: np.zeros(len(points), dtype=np.uint64))
    first, group = first_occurrences(points)
    assert (first.tolist(), group.tolist()) == by_dictionary(points)


def test_rows_like_integers_have_hashes_of_their_own():
    """Their bits lie in the upper part of a double: a hash that only multiplied would give 4096 values."""
    grid = np.stack(np.meshgrid(*[np.arange(40.0)] * 3), axis=-1).reshape(-1, 3)
    assert len(np.unique(sample._row_hashes(grid))) == len(grid)
