"""Instances with graph Stein discrepancies that are known from other solvers."""

import numpy as np

REFERENCE = {
    # instance: (edges, values of the leading coordinates)
    "normal 300x2": (445, [0.4225205075, 0.3973171290]),
    "mixture 1000x2": (1492, [0.2223209379, 0.2242259959]),
    "narrow normal 200x7": (
        932,
        [2.6409130172, 2.8169443969, 2.9283443927, 2.5535023088, 2.6402266722, 2.7874409837, 2.6608780203],
    ),
}
"""Values from three independent solvers that agree to 1e-9."""


def mixture_score(points):
    """Return the score of the equal mixture of N((0, 1), .45^2) and N((1, -1), .45^2)."""
    means = np.array([[0.0, 1.0], [1.0, -1.0]])
    pull = (means[None] - points[:, None]) / 0.45**2
    log_terms = -0.5 * ((points[:, None] - means[None]) ** 2).sum(axis=2) / 0.45**2
    shares = np.exp(log_terms - np.logaddexp.reduce(log_terms, axis=1)[:, None])
    return (shares[:, :, None] * pull).sum(axis=1)


def instance(name):
    """Return the points and scores of a reference instance."""
    rng = np.random.default_rng(0)
    if name == "normal 300x2":
        points = rng.standard_normal((300, 2))
        return points, -points
    if name == "mixture 1000x2":
        component = rng.integers(0, 2, 1000)
        points = np.array([[0.0, 1.0], [1.0, -1.0]])[component] + 0.45 * rng.standard_normal((1000, 2))
        return points, mixture_score(points)
    points = 0.3 * rng.standard_normal((200, 7))
    return points, -points / 0.09
