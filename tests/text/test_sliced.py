"""Text of sliced results: the comparison, and the regions with too many draws."""

import numpy as np
import pytest
from support.results import reference

import steinkit as sk

TARGET = sk.targets.Normal(0.0, dim=3)


@pytest.fixture(scope="module")
def result():
    draws = np.random.default_rng(0).standard_normal((400, 3)) * [1.0, 3.0, 1.0]
    return sk.sliced_stein_discrepancy(sk.Sample(draws, names=("a", "b", "c")), TARGET, units="raw")


def summary_of(result, reference=None):
    return " ".join(each.text for each in result.statements(reference))


def test_regions_hold_a_quarter_a_half_and_a_quarter_of_the_draws(result):
    means = result.regions @ [0.25, 0.5, 0.25]
    assert means == pytest.approx([each.lower for each in result.slices], rel=1e-6)


def test_values_below_or_within_the_references_may_be_noise(result):
    low, high = (reference(*(share * result.value * np.array([0.9, 1.0, 1.1]))) for share in (0.3, 3.0))
    assert "may be sampling noise" not in summary_of(result, low)
    assert "3.33 times the median" in summary_of(result, low)
    assert "may be sampling noise" in summary_of(result, high)
    assert "a low value alone does not prove" in summary_of(result, high)
    assert "are unknown, so the following" in summary_of(result)
