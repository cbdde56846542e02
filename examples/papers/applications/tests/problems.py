"""Problems for several tests: mixed sources, and logistic regression with an unknown set of features."""

from functools import cache

import numpy as np
from applications.variable_selection import SparseLogisticRegression
from scipy.special import expit

MIXING = np.array([[1.0, 0.6, -0.3], [0.2, 1.0, 0.5], [-0.4, 0.3, 1.0]])


@cache
def mixtures():
    """Return 5000 mixtures of three heavy-tailed sources."""
    rng = np.random.default_rng(0)
    z = rng.laplace(size=(5000, 3))
    z[:, 2] *= np.sqrt(np.abs(z[:, 2]))
    return z @ MIXING.T


def orthogonal_matrices(count, D, seed=0):
    """Return orthogonal matrices, row after row, with both determinants."""
    W = np.linalg.qr(np.random.default_rng(seed).standard_normal((count, D, D)))[0]
    W[::2, 0] *= -1.0
    return np.ascontiguousarray(W).reshape(count, D * D)


def regression(size, dim, coefficients, seed):
    """Return features, the last one collinear with the first, and responses for the leading coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((size, dim))
    X[:, -1] += X[:, 0]
    y = rng.random(size) < expit(X[:, : len(coefficients)] @ coefficients)
    return X, y


A, B, RATE = 1.5, 0.5, 0.8
FEATURES, RESPONSES = regression(120, 3, [0.4, 0.25], seed=3)
SPARSE_POSTERIOR = SparseLogisticRegression(FEATURES, RESPONSES, size_rate=RATE, scale_prior=(A, B))
