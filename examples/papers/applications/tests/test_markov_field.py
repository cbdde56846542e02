"""The Markov random field against enumeration."""

from itertools import combinations, product

import numpy as np
import pytest
from applications.gibbs import MarkovField

from steinkit.errors import InputError, UsageError

FIELD = MarkovField.simulate(8, scale=0.3, rng=5)


def test_probabilities_are_products_of_potentials():
    field = MarkovField.simulate(5, scale=1.0, rng=1)
    weights = np.empty((2,) * 5)
    for x in product((0, 1), repeat=5):
        weights[x] = np.prod(
            [np.exp(field.log_potentials[t][x[i], x[j], x[k]]) for t, (i, j, k) in enumerate(combinations(range(5), 3))]
        )
    np.testing.assert_allclose(field.probabilities(), weights / weights.sum(), rtol=1e-12)
    states = np.array(list(product((0, 1), repeat=5)))
    np.testing.assert_allclose(field.log_weight(states), np.log(weights).ravel(), rtol=1e-12)


def test_conditionals_are_those_of_the_enumerated_distribution():
    field = MarkovField.simulate(10, scale=0.4, rng=2)
    states, p = np.array(list(product((0, 1), repeat=10))), field.probabilities()
    assert field.size == 36
    for i in range(10):
        both = np.moveaxis(p, i, -1)
        expected = both[..., 1] / both.sum(axis=-1)
        others = np.delete(states, i, axis=1)
        np.testing.assert_allclose(field.conditional(i, states), expected[tuple(others.T)], rtol=1e-11)


def test_terms_are_shuffled_and_complete():
    field = MarkovField.simulate(12, rng=0)
    assert field.terms.pairs.shape == (12, 55, 2)
    for i in range(12):
        pairs = [tuple(pair) for pair in field.terms.pairs[i].tolist()]
        every = list(combinations([j for j in range(12) if j != i], 2))
        assert pairs != every
        assert sorted(pairs) == every


@pytest.mark.parametrize(
    ("potentials", "message"),
    [
        (np.zeros((3, 2, 2, 2)), r"1, 4, 10, 20, .*\(3, 2, 2, 2\)"),
        (np.zeros((4, 8)), r"got shape \(4, 8\)"),
        (np.zeros((0, 2, 2, 2)), "log_potentials.* non-empty; got"),
        ("dense", "an array of numbers; got 'dense'"),
        (np.zeros((1, 2, 2, 2), dtype=complex), "an array of numbers; got array"),
        ([[1.0], [1.0, 2.0]], "an array of numbers; got"),
        (np.where(np.arange(32).reshape(4, 2, 2, 2) == 17, -np.inf, 0.0), "must be finite"),
    ],
)
def test_potentials_of_no_field_are_refused(potentials, message):
    with pytest.raises((InputError, UsageError), match=message):
        MarkovField(potentials)


def test_invalid_arguments_of_a_field_are_refused():
    with pytest.raises(UsageError, match="dim must be a whole number of at least 3"):
        MarkovField.simulate(2)
    with pytest.raises(UsageError, match="less than the number of variables, 8"):
        FIELD.log_odds(8, np.zeros((1, 8)))
    with pytest.raises(InputError, match=r"shape \(n, 8\)"):
        FIELD.log_weight(np.zeros(8))
    with pytest.raises(InputError, match=r"variable 2 of state 1 is 0\.5"):
        FIELD.conditional(0, np.array([[0] * 8, [0, 1, 0.5, 0, 0, 0, 0, 0]]))
    with pytest.raises(UsageError, match="2\\^21 states are too many"):
        MarkovField.simulate(21).probabilities()
