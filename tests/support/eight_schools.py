"""Three of the eight schools, and the score of their hierarchical model in closed form."""

import numpy as np

SCHOOLS = ("Choate", "Deerfield", "Andover")
EFFECTS = np.array([28.0, 8.0, -3.0])
ERRORS = np.array([15.0, 10.0, 16.0])


def schools_score(mu, tau, theta, effects=EFFECTS, errors=ERRORS):
    """Return the score for mu, log tau and theta if mu ~ N(0, 5^2), tau ~ half-Cauchy(5) and theta ~ N(mu, tau^2)."""
    mu, tau, theta = (np.asarray(values, dtype=np.float64) for values in (mu, tau, theta))
    off = theta - mu[:, None]
    of_log_tau = -2.0 * tau**2 / (25.0 + tau**2) + 1.0 - len(effects) + (off**2).sum(axis=1) / tau**2
    of_theta = -off / tau[:, None] ** 2 + (effects - theta) / errors**2
    return np.column_stack([-mu / 25.0 + off.sum(axis=1) / tau**2, of_log_tau, of_theta])
