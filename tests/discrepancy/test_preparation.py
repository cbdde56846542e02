"""What every Stein discrepancy refuses before it begins."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.scored_sample import ScoredSample, prepared_once

MEASURES = [sk.graph_stein_discrepancy, sk.kernel_stein_discrepancy, sk.sliced_stein_discrepancy]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weights", [[1.0, 2.0**-961], [2.0**1000, 1.0], [5e-324, 1e300]])
def test_draws_of_a_share_too_small_to_compute_with_are_left_out(measure, weights):
    target, points = sk.targets.Normal(0.0), np.array([0.5, 1.0])
    found = measure(points, target, weights=weights, units="raw")
    alone = measure(points[[np.argmax(weights)]], target, units="raw")
    assert np.ravel(found.sample.points).tolist() == np.ravel(alone.sample.points).tolist()
    assert any("1 of 2 draws have less than 2^-960 of the weight and were left out" in each for each in found.warnings)


def test_the_least_share_that_is_computed_with_counts():
    both = sk.graph_stein_discrepancy([0.0, 1.0], scores=[0.0, -(2.0**960)], weights=[1.0, 2.0**-959])
    alone = sk.graph_stein_discrepancy([0.0, 1.0], scores=[0.0, -(2.0**960)], weights=[1.0, 0.0])
    assert both.lower > alone.upper


def test_stored_scores_that_contradict_each_other_do_not_matter_beside_a_target():
    sample = sk.Sample([0.0, 0.0, 1.0], scores=[1.0, 2.0, 3.0])
    given = {"scores": None, "weights": None, "bounds": None}
    with pytest.raises(sk.InputError, match="the same point but carry different scores"):
        ScoredSample.of(sample, **given)
    assert ScoredSample.of(sample, sk.targets.Normal(0.0), **given).scores.tolist() == [[0.0], [-1.0]]


def test_in_a_block_for_several_measures_a_sample_is_prepared_once_and_nothing_else_is_taken_for_it():
    asked = []

    def score(x):
        asked.append(len(x))
        return -x

    first, second = (sk.Sample(normal) for normal in np.random.default_rng(0).standard_normal((2, 20, 2)))
    target, other = sk.Target(score, dim=2), sk.Target(score, dim=2)
    alone = {"scores": None, "weights": None, "bounds": None}
    with prepared_once():
        found = ScoredSample.of(first, target, **alone)
        assert ScoredSample.of(first, target, **alone) is found
        assert len(asked) == 1
        weighted = ScoredSample.of(first, target, **alone | {"weights": np.arange(20.0)})
        assert len(weighted.points) == 19
        assert ScoredSample.of(first, target, **alone) is found
        assert ScoredSample.of(first, other, **alone) is not found
        np.testing.assert_array_equal(ScoredSample.of(second, other, **alone).scores, -second.points)
    assert ScoredSample.of(second, other, **alone) is not ScoredSample.of(second, other, **alone)
