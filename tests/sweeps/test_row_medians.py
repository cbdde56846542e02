"""Medians over resampled seeds: of an even number the mean of the two in the middle."""

import numpy as np
import pytest

from steinkit.sweeps.choice import _row_medians, choose


@pytest.mark.parametrize("seeds", range(1, 9))
def test_they_are_those_of_numpy(seeds):
    values = np.random.default_rng(seeds).standard_normal((50, seeds))
    values[::7, 0] = np.inf
    assert _row_medians(values) == pytest.approx(np.median(values, axis=1), rel=1e-15)


def test_the_interval_of_two_seeds_is_about_their_mean():
    """Of the resamples of 1 and 3 a quarter has the median 1, half of them 2, and a quarter 3."""
    records = [
        {
            "settings": {"step": 0},
            "seed": seed,
            "status": "ok",
            "results": [{"measure": "graph", "value": value, "lower": value, "upper": value}],
            "cost_per_draw": 1.0,
        }
        for seed, value in enumerate([1.0, 3.0])
    ]
    assert choose(records, "graph", [{"step": 0}], level=0.4).interval == (2.0, 2.0)
