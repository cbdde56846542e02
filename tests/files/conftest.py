"""Fixtures for the tests of sample files."""

from collections.abc import Callable

import numpy as np
import pytest

from steinkit.sample import Sample

PARTS = ("points", "weights", "scores", "cost", "chain", "draw", "divergent", "energy")


def _assert_same(left: Sample, right: Sample) -> None:
    """Assert that samples are bit-for-bit identical; -0.0 differs from 0.0."""
    assert left.names == right.names
    for part in PARTS:
        one, other = getattr(left, part), getattr(right, part)
        assert (one is None) == (other is None), part
        if one is not None:
            assert one.shape == other.shape, part
            assert one.tobytes() == other.tobytes(), part


@pytest.fixture(scope="session")
def assert_same() -> Callable[[Sample, Sample], None]:
    return _assert_same


@pytest.fixture
def full_sample() -> Sample:
    """Return three chains of four draws with weights, scores, cost and unusual names."""
    rng = np.random.default_rng(3)
    return Sample(
        points=rng.normal(size=(3, 4, 2)),
        weights=rng.random(12),
        scores=rng.normal(size=(12, 2)),
        cost=np.tile(np.arange(4.0), 3),
        names=("theta[0,1]", "b"),
    )
