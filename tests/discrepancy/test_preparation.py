"""What every Stein discrepancy refuses before it begins."""

import numpy as np
import pytest

import steinkit as sk

MEASURES = [sk.graph_stein_discrepancy, sk.kernel_stein_discrepancy, sk.sliced_stein_discrepancy]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weights", [[1.0, 2.0**-961], [2.0**1000, 1.0], [5e-324, 1e300]])
def test_shares_of_weight_too_small_to_compute_with_are_refused(measure, weights):
    with pytest.raises(
        sk.InputError, match=rf"row {np.argmin(weights) + 1} is .* too small to compute with: set the weight to zero"
    ):
        measure([0.0, 1.0], sk.targets.Normal(0.0), weights=weights)


def test_the_least_share_that_is_computed_with_counts():
    both = sk.graph_stein_discrepancy([0.0, 1.0], scores=[0.0, -(2.0**960)], weights=[1.0, 2.0**-959])
    alone = sk.graph_stein_discrepancy([0.0, 1.0], scores=[0.0, -(2.0**960)], weights=[1.0, 0.0])
    assert both.lower > alone.upper
