"""Exact draws, scores and stored moments of the benchmarks' curved models agree."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
DRAWS, LIMIT = 10_000, 4.5  # standard errors
pytestmark = pytest.mark.benchmark


@pytest.fixture(scope="module")
def approximate_fits():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        before = set(sys.modules)
        import approximate_fits

        yield approximate_fits
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHMARKS)):
                del sys.modules[name]


def standard_errors(values):
    """Return means in units of their standard errors."""
    return values.mean(axis=0) / (values.std(axis=0) / np.sqrt(len(values)))


def test_draws_scores_and_stored_moments_agree(approximate_fits):
    truths = approximate_fits.stored_truths()
    assert approximate_fits.models().keys() == truths.keys()
    for name, model in approximate_fits.models().items():
        draws = model.draw(DRAWS, np.random.default_rng(6))
        model.target.check(draws[:50])
        z = (draws - truths[name].mean) / truths[name].sd
        for values in (model.target.score(draws), z, z**2 - 1.0):
            assert np.abs(standard_errors(values)).max() < LIMIT, name


def test_wrong_mean_is_detected(approximate_fits):
    """A shift of a tenth of a standard deviation exceeds the limit."""
    model, truth = approximate_fits.models()["horseshoe"], approximate_fits.stored_truths()["horseshoe"]
    z = (model.draw(DRAWS, np.random.default_rng(6)) - truth.mean) / truth.sd
    assert np.abs(standard_errors(z + 0.1)).min() > LIMIT
