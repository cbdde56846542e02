"""Single updates: frequencies in chains, and predictions for the austerity test."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from _gibbs_updates import update_bias, update_frequencies
from applications.gibbs import MarkovField, approximate_gibbs
from scipy.special import expit, logit

from steinkit.errors import InputError, UsageError
from steinkit.samplers import AusterityTest, BarkerTest, operating_characteristics

FIELD = MarkovField.simulate(30, scale=0.08, rng=3)


def drawn(test, **options):
    return approximate_gibbs(FIELD, test=test, **({"chains": 4, "draws": 300, "seed": 1} | options))


def test_counts_include_every_update():
    draws, edges = drawn(BarkerTest(), draws=8, chains=2), np.array([0.0, 0.3, 0.9, 1.0])
    p, ones = [], []
    for states in draws.points:
        for before, after in pairwise(states):
            for i in range(FIELD.dim):
                p.append(FIELD.conditional(i, np.concatenate([after[:i], before[i:]])[None])[0])
                ones.append(after[i])
    p, ones = np.array(p), np.array(ones)
    found = update_frequencies(FIELD, draws, edges=edges)
    for b in range(3):
        inside = (p >= edges[b]) & (p < edges[b + 1])
        assert found.updates[b] == inside.sum() > 0
        assert found.probability[b] == pytest.approx(p[inside].mean())
        assert found.share[b] == pytest.approx(ones[inside].mean())
        assert found.standard_error[b] == pytest.approx(np.sqrt((p * (1.0 - p))[inside].sum()) / inside.sum())


def standardised(found):
    return (found.share - found.probability) / found.standard_error


def test_exact_updates_have_their_probability_and_approximate_ones_do_not():
    exact = standardised(update_frequencies(FIELD, drawn(BarkerTest())))
    assert np.abs(exact).max() < 4.0
    biased = standardised(update_frequencies(FIELD, drawn(AusterityTest(0.25, 30))))
    assert biased[:3].min() > 4.0
    assert biased[-3:].max() < -4.0


def test_chains_of_different_lengths_are_counted():
    draws = drawn(AusterityTest(0.1, 30), draws=None, budget=200_000)
    assert len(set(draws.lengths)) > 1
    assert update_frequencies(FIELD, draws).updates.sum() == (draws.lengths - 1).sum() * FIELD.dim


def test_bins_without_an_update_are_nan():
    found = update_frequencies(FIELD, drawn(BarkerTest(), draws=2, chains=1), edges=[0.0, 1e-9, 1.0])
    assert found.updates.tolist() == [0, FIELD.dim]
    assert np.isnan([found.share[0], found.probability[0], found.standard_error[0]]).all()


@pytest.mark.parametrize(
    ("L", "deviation", "size", "batch", "epsilon"),
    [
        (1.3, 0.03, 4851, 500, 0.1),
        (-4.0, 0.03, 4851, 500, 0.25),
        (0.4, 1e-3, 4851, 500, 0.05),
        (2.0, 0.8, 2000, 250, 0.1),
    ],
)
def test_the_bias_is_the_integral_over_the_uniform_number(L, deviation, size, batch, epsilon):
    """Midpoint rule on either side of u = p, in x = log(u / (1 - u))."""
    h = 2e-3
    x = L + h * (np.arange(-20_000, 20_000) + 0.5)
    mu = np.sqrt(size - 1.0) * (L - x) / size / deviation
    test = operating_characteristics(mu, first_fraction=batch / size, epsilon=epsilon)
    weights = h * expit(x) * expit(-x)
    found = update_bias(L, deviation=deviation, size=size, batch_size=batch, epsilon=epsilon)
    assert found.probability == pytest.approx(expit(L))
    assert found.bias == pytest.approx(np.sum(weights * test.error * np.sign(x - L)), abs=1e-6)
    assert found.error == pytest.approx(np.sum(weights * test.error), abs=1e-6)
    assert found.data_use == pytest.approx(np.sum(weights * test.data_use), abs=1e-6)
    assert found.error > 1e-3


def test_predictions_agree_with_chains():
    field, test = MarkovField.simulate(60, scale=0.04, rng=2), AusterityTest(0.2, 170)
    draws = approximate_gibbs(field, test=test, chains=8, draws=200, seed=5)
    found = update_frequencies(field, draws, edges=[0.0, *np.linspace(0.1, 0.9, 17), 1.0])
    inside = slice(1, -1)  # the outermost bins contain a wide range of log odds
    options = {"deviation": np.sqrt(2.0) * 0.04, "size": field.size, "batch_size": 170}
    foreseen = update_bias(logit(found.probability), epsilon=0.2, **options)
    away = (found.share - found.probability - foreseen.bias) / found.standard_error
    assert np.abs(away[inside]).max() < 4.0
    # control: the predictions for another epsilon differ
    other = update_bias(logit(found.probability), epsilon=0.1, **options)
    assert np.abs((found.share - found.probability - other.bias) / found.standard_error)[inside].max() > 6.0


def test_a_test_that_reads_all_terms_is_exact():
    found = update_bias([-2.0, 0.0, 3.0], deviation=0.1, size=400, batch_size=50, epsilon=0.0)
    assert found.bias.tolist() == found.error.tolist() == [0.0] * 3
    assert found.data_use == pytest.approx(1.0, abs=1e-9)


def test_the_bias_is_symmetric_and_towards_a_half():
    L = np.linspace(-5.0, 5.0, 11)
    found = update_bias(L, deviation=0.03, size=4851, batch_size=500, epsilon=0.2)
    assert found.bias == pytest.approx(-found.bias[::-1], abs=1e-9)
    assert (found.bias[:5] > 0.0).all()
    assert (np.abs(found.bias) <= found.error).all()


def test_thinned_draws_are_refused():
    with pytest.raises(UsageError, match="thin=2"):
        update_frequencies(FIELD, drawn(BarkerTest(), thin=2, draws=3))
    with pytest.raises(UsageError, match="two successive"):
        update_frequencies(FIELD, drawn(BarkerTest(), draws=1))


@pytest.mark.parametrize("edges", [[0.0, 0.5], [0.1, 1.0], [0.0, 0.6, 0.4, 1.0], [0.0, np.nan, 1.0], [], [[0.0, 1.0]]])
def test_invalid_edges_are_refused(edges):
    with pytest.raises(UsageError, match="edges"):
        update_frequencies(FIELD, drawn(BarkerTest(), draws=3), edges=edges)


def test_draws_of_another_field_are_refused():
    draws = drawn(BarkerTest(), draws=3)
    with pytest.raises(InputError, match=r"shape \(n, 30\)"):
        update_frequencies(FIELD, replace(draws, points=draws.points[:, :, :5]))


@pytest.mark.parametrize(
    "wrong",
    [{"log_odds": [np.inf]}, {"deviation": 0.0}, {"size": 1}, {"batch_size": 401}, {"batch_size": 0}, {"epsilon": 2}],
)
def test_parameters_out_of_range_are_refused(wrong):
    right = {"log_odds": 1.0, "deviation": 0.1, "size": 400, "batch_size": 50, "epsilon": 0.1}
    with pytest.raises(UsageError):
        update_bias(**right | wrong)
