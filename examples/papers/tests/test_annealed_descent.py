"""Stochastic gradient descent with annealed steps, compared with a plain loop."""

import numpy as np
import pytest
from _annealed_descent import stochastic_gradient_descent as descent
from applications.irls import batch_irls

from steinkit.errors import InputError, UsageError


def simulated(loss, size=20_000, dim=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((size, dim))
    X[:, 0] = 1.0
    eta = X @ np.linspace(1.0, 2.0, dim)
    if loss == "lad":
        return X, eta + rng.laplace(size=size)
    return X, (rng.random(size) < 1.0 / (1.0 + np.exp(-0.5 * eta))).astype(float)


def distance(path, reference):
    return np.abs(path - reference).max(axis=-1) / np.abs(reference).max()


def plain_descent(X, y, order, loss, step_size, step_offset, decay):
    theta = np.zeros(X.shape[1])
    for t, i in enumerate(order):
        eta = X[i] @ theta
        slope = np.sign(y[i] - eta) if loss == "lad" else y[i] - 1.0 / (1.0 + np.exp(-eta))
        theta = theta + step_size * (step_offset + t) ** -decay * slope * X[i]
    return theta


@pytest.mark.parametrize("loss", ["lad", "logistic"])
def test_stochastic_gradient_descent_equals_a_plain_loop(loss):
    X, y = simulated(loss, 500, 3)
    found = descent(X, y, loss=loss, step_size=0.3, step_offset=5.0, decay=0.6, rng=9, records=7)
    order = np.random.default_rng(9).permutation(500)
    np.testing.assert_allclose(found.coefficients, plain_descent(X, y, order, loss, 0.3, 5.0, 0.6), rtol=1e-10)
    assert found.path.shape == (7, 3)
    assert found.data_passes[-1] == 1.0


@pytest.mark.parametrize(("loss", "step", "offset", "decay"), [("lad", 1.0, 10.0, 0.7), ("logistic", 1.0, 10.0, 0.7)])
def test_stochastic_gradient_descent_approaches_the_minimum(loss, step, offset, decay):
    X, y = simulated(loss)
    found = descent(X, y, loss=loss, step_size=step, step_offset=offset, decay=decay, passes=5, records=1)
    away = distance(found.path, batch_irls(X, y, loss=loss).coefficients)
    assert away[-1] < 0.02
    np.testing.assert_array_equal(found.data_passes, np.arange(1, 6))


def test_stochastic_gradient_descent_that_diverges_is_an_error():
    X, y = simulated("lad", 200)
    with pytest.raises(InputError, match="diverged"):
        descent(X * 1e90, y, step_size=1e300)
    with pytest.raises(UsageError, match="decay"):
        descent(X, y, step_size=1.0, decay=2.0)
