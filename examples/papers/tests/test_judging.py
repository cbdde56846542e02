"""Rules by which single scripts decide whether a claim holds."""

import importlib
import sys

import numpy as np
import pytest
from _running_means import Risk
from applications.variable_selection import JumpMoves, SparseLogisticRegression, select_variables

from steinkit.samplers import AusterityTest
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
    assert number == 1  # the second by less than .05, the fourth by less than its error
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


def test_the_balance_of_deaths_and_births_equals_the_frequency_in_chains(script):
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(400), rng.choice([-1.0, 1.0], size=(400, 2))])
    y = rng.random(400) < 1.0 / (1.0 + np.exp(-x @ [1.0, 0.35, 0.0]))
    posterior = SparseLogisticRegression(x, y, size_rate=0.1, scale_prior=(1.0, 1.0))
    moves = {"update_scale": 0.15, "birth_scale": 2.0}
    length = {"chains": 40, "draws": 1600, "burn_in": 400}
    found = select_variables(posterior, **moves, **length)
    points = found.draws.points[:, ::60].reshape(-1, 3)
    balance = script("_lost_features").balance
    for feature in (1, 2):
        share = balance(posterior, JumpMoves(**moves), points, feature, 0.0, 100)["share"]
        assert share == pytest.approx(found.inclusion[feature], rel=0.25)
    cheap = select_variables(posterior, **moves, test=AusterityTest(0.2, 40), **length, seed=9)
    states = cheap.draws.points[:, ::60].reshape(-1, 3)
    foreseen = balance(posterior, JumpMoves(**moves), states, 2, 0.2, 40)["share"]
    assert foreseen == pytest.approx(cheap.inclusion[2], rel=0.25)
    assert cheap.inclusion[2] > 1.3 * found.inclusion[2]  # the errors of the test add features of low probability


def test_a_state_with_one_feature_is_omitted_from_deaths_and_births(script):
    posterior = SparseLogisticRegression(np.eye(3)[[0, 1, 2, 0, 1, 2]], [0, 1, 1, 1, 0, 1])
    states = np.array([[0.5, 0.0, 0.0], [0.5, 0.4, 0.0], [0.0, 0.4, 0.0]])
    found = script("_lost_features").balance(posterior, JumpMoves(0.1, 1.0), states, 0, 0.0, 2)
    assert 0.0 < found["share"] < 1.0
    assert np.isnan(script("_lost_features").balance(posterior, JumpMoves(0.1, 1.0), states[2:], 0, 0.0, 2)["share"])


def stage(mean: float, variance: float, seen: int, *, number: int = 0, bound: float = 1.0) -> Stage:
    """Return a stage after `seen` of 1000 data points, at temperature 10, with a level and normal number of 0."""
    return Stage(1000, number, seen, mean, variance, 0.0, 10.0, 0.0, 0.0, bound)


def test_the_published_barker_test_stops_at_five_standard_errors(script):
    test = script("_published_code").PublishedBarkerTest(100)
    assert test.sigma == 0.9
    error = 1.0 / np.sqrt(100)  # of a mean of 100 data of variance 1; 1000 / 10 times it exceeds .9
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
    assert test.decide(stage(0.0, 0.25, 500, number=2, bound=1.5)).decided  # the next stage would read all
