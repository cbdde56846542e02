"""Repeated rows against a dictionary, with and without ties in the first coordinate."""

import numpy as np
import pytest

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
    yield np.column_stack([np.repeat(moving[:, 0], 2), rng.standard_normal(100)])  # ties, and all rows distinct
    yield np.stack(np.meshgrid(*[np.arange(12.0)] * 3), axis=-1).reshape(-1, 3)[rng.integers(0, 1728, 3000)]


@pytest.mark.parametrize("points", list(cases()))
def test_first_occurrences(points):
    first, group = first_occurrences(points)
    assert (first.tolist(), group.tolist()) == by_dictionary(points)
