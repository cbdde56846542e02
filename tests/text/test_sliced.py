"""Text of sliced results: the comparison with exact samples."""

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


def test_comparison_with_references(result):
    low, high = (reference(*(share * result.value * np.array([0.9, 1.0, 1.1]))) for share in (0.3, 3.0))
    assert "3.33 times the median" in summary_of(result, low)
    assert "a low value alone does not prove" in summary_of(result, high)
