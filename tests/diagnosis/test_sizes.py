"""Whether a bias matters: significant, but too small to."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.diagnosis.findings import p_value_beyond


def shifted(seed, n, shift):
    x = np.random.default_rng(seed).standard_normal((n, 2))
    x[:, 0] += shift
    return x


def test_a_shift_is_significant_long_before_it_matters():
    x = shifted(0, 4000, 0.15)
    small = sk.verdict(x, scores=-x, matters=0.25)
    assert small.is_biased
    assert small.p_matters > 0.5
    assert p_value_beyond(small.moments, 0.05) < 1e-6
    assert sk.verdict(x[:100], scores=-x[:100]).p_matters is None


def test_a_shift_of_just_that_size_is_rarely_said_to_be_larger():
    """At the edge of the hypothesis: at most .05 of the samples, and Bonferroni over five moments makes it .01."""
    rejected = 0
    for seed in range(200):
        x = shifted(seed, 500, 0.2)
        rejected += p_value_beyond(sk.moment_stein_discrepancy(x, scores=-x), 0.2) <= 0.05
    assert 0 <= rejected <= 10


def test_no_size_is_beyond_all_bounds_and_every_moment_beyond_zero_is_tested():
    x = shifted(1, 500, 0.0)
    moments = sk.moment_stein_discrepancy(x, scores=-x)
    assert p_value_beyond(moments, 100.0) == 1.0
    worst = abs(moments.largest(1)[0][2])
    from scipy.stats import t

    assert p_value_beyond(moments, 0.0) == pytest.approx(min(1.0, 5 * t.sf(worst, moments.n_effective / 5)), rel=1e-9)


@pytest.mark.parametrize("size", [-0.1, float("nan"), float("inf")])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(sk.UsageError, match="size in standard units"):
        sk.verdict(shifted(0, 100, 0.0), scores=-shifted(0, 100, 0.0), matters=size)
