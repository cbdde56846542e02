"""Brackets of Wasserstein distances compared with rational arithmetic."""

from fractions import Fraction
from types import SimpleNamespace

from support.judge import Claim, distinct


def wasserstein_claims(instance, result):
    """Return the claim of a bracket."""
    known = (to_uniform(*steps(instance.points, instance.weights), *map(Fraction, instance.bounds[0])),) * 2
    return [Claim("the distance", SimpleNamespace(known=known), result.lower, result.upper)]


def steps(points, weights):
    """Return distinct points in ascending order, and their weights."""
    first, shares = distinct(SimpleNamespace(points=points, weights=weights))
    both = sorted((Fraction(points[k, 0]), share) for k, share in zip(first, shares, strict=True))
    return [x for x, _ in both], [share for _, share in both]


def to_uniform(x, q, lower, upper):
    """Return the integral of |F_n - F| for sorted x in [lower, upper]."""
    total, below = Fraction(0), Fraction(0)
    width = upper - lower
    for left, right, mass in zip([lower, *x], [*x, upper], [*q, Fraction(0)], strict=True):
        a, b = (left - lower) / width - below, (right - lower) / width - below  # F - F_n at the ends of the piece
        total += (abs(b) * b - abs(a) * a) / 2 * width
        below += mass
    return total
