"""Nodes for integrals of what a sequential test does, which change on two scales: 1 and that of the test's mean."""

from __future__ import annotations

import numpy as np

from steinkit.sample import Floats


def nodes_on_two_scales(lower: Floats, upper: Floats, k: Floats, number: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights of integrals that change on the scales 1 and 1 / k from their lower ends on.

    The substitution x = lower + h (e^y - 1), with h the smaller scale, shows both to the rule.

    Parameters
    ----------
    lower, upper : ndarray, of one shape
        Ends of the integrals.
    k : ndarray
        Standardised mean of the test by unit of x; broadcast against the ends.
    number : int
        Of nodes m.

    Returns
    -------
    tuple of ndarray
        Nodes and weights, each of the shape of the ends with m appended.
    """
    nodes, weights = np.polynomial.legendre.leggauss(number)
    h = np.minimum(1.0, 1.0 / k)
    half = 0.5 * np.log1p((upper - lower) / h)[..., None]
    y, h = half * (nodes + 1.0), np.asarray(h)[..., None]
    return lower[..., None] + h * np.expm1(y), half * weights * h * np.exp(y)
