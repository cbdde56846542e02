"""Statements in words, compared with known values and plain simulations."""

import austerity_theory
import barker_theory
import numpy as np
import pytest
from scipy.special import expit


def test_a_normal_distribution_is_a_hundredth_from_the_logistic_one():
    assert barker_theory.uncorrected(1.702) == pytest.approx(0.0095, abs=1e-4)  # Camilli (1994)


def test_errors_of_one_exponential_term_before_and_after_the_correction():
    assert barker_theory.largest_errors(1)[0] == pytest.approx(0.1587, abs=0.004)  # Phi(-1), on a grid
    rng, law = np.random.default_rng(0), barker_theory.correction_distribution(1.0)
    noise = np.sqrt(0.5) * (rng.exponential(size=200_000) - 1.0 + rng.standard_normal(200_000))
    noise += rng.choice(law.atoms, 200_000, p=law.probabilities / law.probabilities.sum())
    found = np.searchsorted(np.sort(noise), barker_theory.GRID) / len(noise) - expit(barker_theory.GRID)
    assert np.abs(found).max() == pytest.approx(barker_theory.largest_errors(1)[1], abs=0.003)


def test_the_variance_of_a_walk_is_that_of_simulated_means():
    _, cheap, *_ = austerity_theory.walks(0.1)
    values, rng, state, total = austerity_theory.proposals()[0] ** 2, np.random.default_rng(0), np.full(2000, 20), 0.0
    for step in range(400):
        state = (np.cumsum(cheap[state], axis=1) > rng.random((2000, 1))).argmax(axis=1)
        total += values[state] * (step >= 100)
    risk = austerity_theory.risk_of_walk(0.1)
    assert (total / 300).var() * 300 == pytest.approx(risk["variance"], rel=0.15)
    assert abs((total / 300).mean() - 1.0) == pytest.approx(np.sqrt(risk["bias"]), abs=0.03)
