"""Rules by which individual scripts decide whether a claim holds."""

import importlib
import sys

import numpy as np
import pytest
from _running_means import Risk

from steinkit.samplers.acceptance.interface import Stage


@pytest.fixture
def script(monkeypatch, request):
    folder = request.config.rootpath / "examples" / "papers"
    monkeypatch.syspath_prepend(folder)
    yield importlib.import_module
    for name in {path.stem for path in folder.glob("*.py")}:
        sys.modules.pop(name, None)


def test_halves_are_weighted_by_their_updates_and_omit_empty_bins(script):
    gibbs = script("austerity_gibbs")
    bins = len(gibbs.EDGES) - 1
    below = gibbs.EDGES[1:] < 0.5 + 1e-9
    updates, excess, error = np.ones(bins), np.where(below, 0.1, -0.2), np.full(bins, 0.03)
    first = int(np.flatnonzero(below)[0])
    updates[first], excess[first] = 9.0, 0.5
    last = int(np.flatnonzero(~below)[-1])
    updates[last], excess[last], error[last] = 0.0, np.nan, np.nan
    n = below.sum() - 1
    (low, low_error), (high, high_error) = gibbs._halves({"updates": updates, "excess": excess, "error": error})
    assert low == pytest.approx((9 * 0.5 + n * 0.1) / (9 + n))
    assert low_error == pytest.approx(0.03 * np.sqrt(81 + n) / (9 + n))
    assert high == pytest.approx(-0.2)
    assert high_error == pytest.approx(0.03 / np.sqrt((~below).sum() - 1))


def test_an_excess_that_increases_again_is_not_close(script):
    irls = script("sequential_irls")
    low, high = 0.5 * irls.NEAR, 2.0 * irls.NEAR
    passes = [0.1, 0.2, 0.3, 0.4]
    assert irls.passes_until_near({"passes": passes, "excess": [high, low, high, low]}) == 0.4
    assert irls.passes_until_near({"passes": passes, "excess": [low, low, low, low]}) == 0.1
    assert irls.passes_until_near({"passes": passes, "excess": [low, low, low, high]}) == np.inf


def test_features_differ_beyond_three_standard_errors_and_a_twentieth(script):
    rng = np.random.default_rng(0)
    exact = np.array([0.5, 0.5, 0.5, 0.5]) + 0.001 * rng.standard_normal((10, 4))
    cheap = np.array([0.9, 0.54, 0.5, 0.5]) + np.array([0.01, 0.001, 0.001, 0.8]) * rng.standard_normal((10, 4))
    number, largest = script("austerity_variable_selection")._differing(cheap, exact)
    assert number == 1  # the second by less than 0.05, the fourth by less than its error
    assert largest == pytest.approx(np.abs(cheap.mean(axis=0) - exact.mean(axis=0)).max())


def test_components_of_a_risk_refer_to_the_mean_of_chains(script):
    ica = script("austerity_ica")
    bias, variance, floor = 0.3, 0.04, 1e-4
    unbiased = bias**2 - variance / ica.CHAINS  # square of the mean error minus its expected noise
    values = np.array([1.0, 1.0])
    risk = Risk(values, values, np.ones((2, 2)), np.array([9.0, unbiased]), np.array([9.0, variance]), floor, 0.95)
    found, error, spread = ica._parts(risk)
    assert found == pytest.approx(bias)
    assert error == pytest.approx(2.0 * np.sqrt(variance / ica.CHAINS + floor))
    assert spread == pytest.approx(0.2)


def stage(mean: float, variance: float, seen: int, *, number: int = 0, bound: float = 1.0) -> Stage:
    """Return a stage after `seen` of 1000 data points, at temperature 10, with a level and normal number of 0."""
    return Stage(1000, number, seen, mean, variance, 0.0, 10.0, 0.0, 0.0, bound)


def test_the_published_barker_test_stops_at_five_standard_errors(script):
    test = script("_published_code").PublishedBarkerTest(100)
    assert test.sigma == 0.9
    error = 1.0 / np.sqrt(100)  # of a mean of 100 data points with variance 1; 1000 / 10 times this error exceeds 0.9
    assert not test.decide(stage(4.9 * error, 1.0, 100)).decided
    for side in (1.0, -1.0):
        early = test.decide(stage(side * 5.1 * error, 1.0, 100))
        assert early.decided
        assert early.accepted == (side > 0.0)


def test_the_published_concentration_test_uses_the_bound_for_draws_with_replacement(script):
    test = script("_published_code").PublishedConcentrationTest(0.01, 100, factor=2.0)
    log = np.log(3.0 / (0.01 * 0.5 / 2.0**2))  # the first stage counts as the second
    bound = np.sqrt(2.0 * 0.25 * log / 100) + 6.0 * 1.5 * log / 100
    assert not test.decide(stage(0.999 * bound, 0.25, 100, bound=1.5)).decided
    assert test.decide(stage(1.001 * bound, 0.25, 100, bound=1.5)).decided
    assert not test.decide(stage(0.0, 0.25, 499, number=2, bound=1.5)).decided
    assert test.decide(stage(0.0, 0.25, 500, number=2, bound=1.5)).decided  # the next stage would read all data
