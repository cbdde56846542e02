"""Entropy weights, compared with general-purpose solvers for the primal and the dual problem."""

import numpy as np
import pytest
from scipy.optimize import minimize

from steinkit.diagnosis.bias.stein_regression import entropy_weights

FEATURES = np.array([0.3, -0.2, 0.1]) + np.random.default_rng(0).standard_normal((40, 3))
EVEN = np.full(40, 1.0 / 40.0)


def entropy(weights, shares):
    return float(weights @ np.log(weights / shares))


@pytest.mark.parametrize("shares", [EVEN, np.arange(1.0, 41.0) / 820.0], ids=["even", "uneven"])
def test_weights_solve_the_primal_problem(shares):
    found = entropy_weights(FEATURES, shares)
    assert (found > 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.abs(found @ FEATURES).max() < 1e-3
    other = minimize(
        lambda w: entropy(w, shares),
        shares,
        jac=lambda w: np.log(w / shares) + 1.0,
        bounds=[(1e-9, 1.0)] * 40,
        constraints=[{"type": "eq", "fun": lambda w: w.sum() - 1.0}, {"type": "eq", "fun": lambda w: w @ FEATURES}],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert other.success
    assert found == pytest.approx(other.x, abs=3e-4)  # the difference is due to the ridge penalty
    assert entropy(found, shares) == pytest.approx(entropy(other.x, shares), abs=1e-3)
    assert np.abs(shares - found).max() > 0.005


def test_weights_stay_equal_if_the_features_have_mean_zero():
    assert entropy_weights(FEATURES - FEATURES.mean(axis=0), EVEN) == pytest.approx(EVEN, abs=1e-12)


def test_weights_do_not_depend_on_the_units_of_features():
    scaled = FEATURES * [1e-6, 1.0, 1e6]
    assert entropy_weights(scaled, EVEN) == pytest.approx(entropy_weights(FEATURES, EVEN), abs=1e-9)


@pytest.mark.parametrize("features", [np.abs(FEATURES) + 0.1, np.hstack([FEATURES, np.full((40, 1), 100.1)])])
def test_weights_exist_for_degenerate_features(features):
    """For positive features without a solution and for a constant feature."""
    found = entropy_weights(features, EVEN)
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_weights_correct_the_mean_of_a_skewed_distribution():
    """Draws of Gamma(3), weighted to match Gamma(4) by features of degree two."""
    x = np.random.default_rng(1).gamma(3.0, size=4000)
    features = np.column_stack([4.0 - x, x * (5.0 - x)])  # d/dx of x p and x^2 p, over p
    weights = entropy_weights(features, np.full(4000, 1.0 / 4000.0))
    assert weights @ x == pytest.approx(4.0, abs=0.01)
    assert weights @ x**2 == pytest.approx(20.0, abs=0.1)
    assert weights @ x**3 == pytest.approx(120.0, rel=0.05)
