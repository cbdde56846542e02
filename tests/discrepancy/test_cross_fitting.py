"""Halves of chains: contiguous within chains, or whole chains if they are short."""

import numpy as np
import pytest

from steinkit.sample import Sample
from steinkit.scored_sample import ScoredSample


def laid_out(lengths):
    x = np.random.default_rng(0).standard_normal((sum(lengths), 2))
    sample = Sample(x, scores=-x, chain=np.repeat(np.arange(len(lengths)), lengths))
    return ScoredSample.of(sample).draws


@pytest.mark.parametrize(
    ("lengths", "first"),
    [
        ([8], [0, 1, 2, 3]),
        ([4, 5], [0, 1, 4, 5]),
        ([1, 8], [0, 1, 2, 3, 4]),
        ([8, 1], [0, 1, 2, 3, 8]),
        ([2, 4, 3, 2], [0, 1, 2, 3, 6, 7, 8]),
        ([1] * 8, [0, 1, 2, 3]),
        ([3, 3, 3], [0, 1, 2, 3, 4, 5]),
    ],
)
def test_halves(lengths, first):
    halves = laid_out(lengths).halves
    assert halves[0].tolist() == first
    assert sorted([*halves[0], *halves[1]]) == list(range(sum(lengths)))


def test_halves_have_at_least_two_draws():
    rng = np.random.default_rng(1)
    for _ in range(200):
        lengths = rng.integers(1, 7, size=rng.integers(1, 9)).tolist()
        if sum(lengths) >= 8:
            assert min(map(len, laid_out(lengths).halves)) >= 2
