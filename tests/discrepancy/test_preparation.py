"""Checks of samples that are common to all Stein discrepancies."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.scored_sample import ScoredSample


def test_target_takes_precedence_over_inconsistent_stored_scores():
    sample = sk.Sample([0.0, 0.0, 1.0], scores=[1.0, 2.0, 3.0])
    with pytest.raises(sk.InputError, match="the same point"):
        ScoredSample.of(sample)
    assert ScoredSample.of(sample, sk.targets.Normal(0.0)).scores.tolist() == [[0.0], [-1.0]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"draws": [[0.0], [1e-101]]},
        {"draws": [[1e-90], [1e-90 * (1.0 + 2.0**-52)]]},
        {"draws": [[0.0], [1e101]]},
        {"scores": [[1e-101], [0.0]]},
        {"scores": [[1e101], [0.0]]},
        {"bounds": [-1e101, 2.0]},
    ],
)
@pytest.mark.parametrize(
    "measure", [sk.graph_stein_discrepancy, sk.kernel_stein_discrepancy, sk.classical_stein_discrepancy]
)
def test_numbers_out_of_range_are_refused(measure, wrong):
    given = {"draws": [[0.0], [1.0]], "scores": [[1.0], [0.0]]} | wrong
    with pytest.raises(sk.InputError, match="rescale"):
        measure(given.pop("draws"), **given)


def test_units_bring_numbers_into_range():
    draws = 1e-150 * np.random.default_rng(0).standard_normal((20, 1))
    with pytest.raises(sk.InputError, match="1e-100"):
        sk.graph_stein_discrepancy(draws, scores=-1e300 * draws)
    scaled = sk.graph_stein_discrepancy(draws, scores=-1e300 * draws, units=[1e-150])
    plain = sk.graph_stein_discrepancy(1e150 * draws, scores=-1e150 * draws)
    assert scaled.value == pytest.approx(plain.value, rel=1e-6)
