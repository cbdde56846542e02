"""Effective sizes and R-hat of one function against arviz-stats, and where both are known by hand."""

import math

import numpy as np
import pytest
from arviz_stats.base.array import array_stats
from scipy.signal import lfilter

from steinkit.mixing import (
    bulk_effective_size,
    error_of_mean,
    normal_scores,
    rank_r_hat,
    tail_effective_size,
)


def autoregression(phi, chains, n, rng):
    return lfilter([1.0], [1.0, -phi], rng.standard_normal((chains, n)), axis=1)


@pytest.mark.parametrize("shape", [(1, 4), (2, 5), (3, 6), (1, 7), (2, 8), (1, 9), (4, 100), (1, 1001), (3, 500)])
@pytest.mark.parametrize("phi", [-0.9, 0.0, 0.5, 0.99])
def test_numbers_are_those_of_arviz(phi, shape):
    rng = np.random.default_rng(0)
    for _ in range(2):
        values = autoregression(phi, *shape, rng)
        for each in (values, np.exp(values), values + np.arange(shape[0])[:, None], 1e6 + values):
            assert bulk_effective_size(each) == pytest.approx(array_stats.ess(each, method="bulk"), rel=1e-11)
            tail = array_stats.ess(each, method="tail", prob=(0.05, 0.95))
            assert tail_effective_size(each, 0.05) == pytest.approx(tail, rel=1e-11)
            error = array_stats.mcse(each - each.mean(), method="mean")
            assert error_of_mean(each) == pytest.approx(error, rel=1e-8)  # of 1e6 + values, in which digits are lost
            if len(each) > 1:
                assert rank_r_hat(each) == pytest.approx(array_stats.rhat(each, method="rank"), rel=1e-12)


def test_equal_values_share_the_mean_of_their_ranks():
    values = np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 3.0]])  # ranks 5, 1.5, 3 and 1.5, 5, 5
    scores = normal_scores(values)
    ranks = np.array([[5.0, 1.5, 3.0], [1.5, 5.0, 5.0]])
    levels = np.vectorize(lambda z: 0.5 * math.erfc(-z / math.sqrt(2.0)))(scores)
    np.testing.assert_allclose(levels, (ranks - 0.375) / 6.25, rtol=1e-14)


def test_a_draw_repeated_counts_as_one():
    rng = np.random.default_rng(1)
    once = rng.standard_normal((2, 4000))
    assert bulk_effective_size(np.repeat(once, 5, axis=1)) == pytest.approx(bulk_effective_size(once), rel=0.1)


def test_chains_that_alternate_have_the_largest_size_there_is():
    values = np.tile([0.0, 1.0], (3, 50)) + 1e-3 * np.random.default_rng(2).random((3, 100))
    assert bulk_effective_size(values) == pytest.approx(300.0 * math.log10(300.0))


def test_halves_without_the_middle_draw_may_be_constant():
    values = np.array([[0.0, 0.0, 7.0, 0.0, 0.0]])
    assert bulk_effective_size(values) == tail_effective_size(values, 0.05) == 4.0


def test_a_middle_draw_far_from_the_others_does_not_hide_how_they_vary():
    near = autoregression(0.5, 1, 101, np.random.default_rng(3))
    far = 1e-200 * near
    near[0, 50], far[0, 50] = 0.0, 1.0
    assert error_of_mean(far) / far.std() == pytest.approx(error_of_mean(near) / near.std())
