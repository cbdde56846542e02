"""Exact draws, scores and stored moments of the benchmarks' curved models agree."""

import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
DRAWS, LIMIT = 10_000, 4.5  # standard errors
NAMES = (
    "banana, b = .7",
    "banana, b = 1.5",
    "banana in d = 5",
    "ring",
    "sine ridge",
    "funnel",
    "log gamma",
    "zero-inflated Poisson",
    "Weibull",
    "GP hyperparameters",
    "beta-binomial",
    "negative binomial",
    "hierarchical normal",
    "horseshoe",
)

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


def test_every_model_has_a_stored_truth(approximate_fits):
    assert tuple(approximate_fits.models()) == NAMES == tuple(approximate_fits.stored_truths())


@pytest.mark.parametrize("name", NAMES)
def test_draws_scores_and_stored_moments_agree(approximate_fits, name):
    model, truth = approximate_fits.models()[name], approximate_fits.stored_truths()[name]
    draws = model.draw(DRAWS, np.random.default_rng(6))
    model.target.check(draws[:50])
    assert np.abs(standard_errors(model.target.score(draws))).max() < LIMIT
    z = (draws - truth.mean) / truth.sd
    assert np.abs(standard_errors(z)).max() < LIMIT
    assert np.abs(standard_errors(z**2 - 1.0)).max() < LIMIT


def test_wrong_mean_is_detected(approximate_fits):
    """A shift of a tenth of a standard deviation exceeds the limit."""
    model, truth = approximate_fits.models()["horseshoe"], approximate_fits.stored_truths()["horseshoe"]
    z = (model.draw(DRAWS, np.random.default_rng(6)) - truth.mean) / truth.sd
    assert np.abs(standard_errors(z + 0.1)).min() > LIMIT
