"""Joint probabilities of binary variables, compared with running means of indicators and known values."""

import math

import numpy as np
import pytest
from _running_means import running_means
from _running_tables import running_tables, table_errors

import steinkit as sk
from steinkit.errors import InputError, UsageError

SETS = np.array([[0, 2, 3], [4, 1, 0]])


def states(chains=2, draws=60, dim=5, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (chains, draws, dim)).astype(float)


def indicators(points):
    """Return the indicators of all values of all sets; bit j of a value is the variable of column j."""
    values = np.arange(8)[:, None] >> np.arange(3) & 1
    return np.hstack([(points[:, None, chosen] == values).all(axis=2) for chosen in SETS])


@pytest.mark.parametrize("weighted", [False, True])
def test_tables_are_the_running_means_of_indicators(weighted):
    weights = np.random.default_rng(1).random(120) if weighted else None
    sample = sk.Sample(states(), weights=weights)
    found, expected = running_tables(sample, SETS, n=[1, 7, 60]), running_means(sample, indicators, n=[1, 7, 60])
    assert found.means == pytest.approx(expected.means, abs=1e-15)
    np.testing.assert_array_equal(found.draws, expected.draws)
    assert found.means.reshape(2, 3, 2, 8).sum(axis=-1) == pytest.approx(1.0)


def test_tables_within_a_budget():
    cost = np.concatenate([np.arange(1.0, 61.0), 2.0 * np.arange(2.0, 62.0)])
    sample = sk.Sample(states(), cost=cost)
    found, expected = (
        f(sample, s, budget=[2, 40, 500]) for f, s in ((running_tables, SETS), (running_means, indicators))
    )
    assert found.draws.tolist() == [[2, 40, 60], [0, 19, 60]]
    assert np.isnan(found.means[1, 0]).all()
    assert found.means == pytest.approx(expected.means, abs=1e-15, nan_ok=True)


def test_errors_are_the_mean_over_sets_of_their_distance():
    found = running_tables(sk.Sample(states()), SETS, n=[5, 60])
    truth = np.random.default_rng(3).dirichlet(np.ones(8), 2)
    errors = table_errors(found, truth.ravel(), values=8)
    tables = found.means.reshape(2, 2, 2, 8)
    for c in range(2):
        for m in range(2):
            assert errors[c, m] == pytest.approx(np.mean([np.abs(tables[c, m, s] - truth[s]).sum() for s in range(2)]))
    apart = table_errors(running_tables(np.ones((4, 5)), SETS, n=[4]), np.tile(np.eye(8)[0], 2), values=8)
    assert apart.tolist() == [[2.0]]


def test_the_error_of_independent_draws_has_its_theoretical_value():
    """E |share - 1/8| of n fair draws is nearly sqrt(2 (1/8) (7/8) / (pi n)), for each of the 8 values."""
    draws = states(chains=400, draws=200, seed=4)
    errors = table_errors(running_tables(sk.Sample(draws), SETS, n=[50, 200]), np.full(16, 0.125), values=8)
    expected = 8.0 * np.sqrt(2.0 / math.pi * 0.125 * 0.875 / np.array([50.0, 200.0]))
    assert errors.mean(axis=0) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([0, 1], "shape"),
        ([[0.0, 1.0]], "whole numbers"),
        (np.zeros((0, 2), dtype=int), "shape"),
        ([[0, 5]], "from 0 to 4; got 0 to 5"),
        ([[-1, 2]], "got -1 to 2"),
        ([[1, 2], [3, 3]], "twice"),
        ([list(range(17))], "at most 16"),
    ],
)
def test_sets_that_are_not_columns_are_refused(sets, message):
    with pytest.raises(UsageError, match=message):
        running_tables(states(), sets, n=[3])


def test_draws_that_are_not_binary_are_refused():
    points = states()[0]
    points[7, 2] = 0.5
    with pytest.raises(InputError, match=r"coordinate 2 of draw 7 is 0\.5"):
        running_tables(points, SETS, n=[3])


@pytest.mark.parametrize(("truth", "values"), [(np.ones(8), 8), (np.ones((2, 8)), 8), (np.ones(16), 5)])
def test_true_probabilities_of_other_sets_are_refused(truth, values):
    with pytest.raises(UsageError, match="probabilities"):
        table_errors(running_tables(states(), SETS, n=[3]), truth, values=values)
