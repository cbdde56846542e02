"""Verification of brackets of Wasserstein distances in rational arithmetic.

In one dimension the distance is the integral of |F - G|, which is rational between samples and to a uniform target. In
more, for as many draws on both sides, it is the least mean distance over all ways to pair them; roots are enclosed.
"""

from fractions import Fraction
from itertools import pairwise, permutations
from math import isqrt
from types import SimpleNamespace

from support.judge import Claim, distinct

ROOT_BITS = 200


def wasserstein_claims(instance, result):
    """Return the claim of a result."""
    if instance.dim > 1:
        known = least_mean(instance.points, instance.other)
    elif instance.other is None:
        known = (to_uniform(*steps(instance.points, instance.weights), *map(Fraction, instance.bounds[0])),) * 2
    else:
        known = (between(steps(instance.points, instance.weights), steps(instance.other, None)),) * 2
    return [Claim("the distance", SimpleNamespace(known=known), result.lower, result.upper)]


def steps(points, weights):
    """Return distinct points in order, and their weights."""
    first, shares = distinct(SimpleNamespace(points=points, weights=weights))
    both = sorted((Fraction(points[k, 0]), share) for k, share in zip(first, shares, strict=True))
    return [x for x, _ in both], [share for _, share in both]


def to_uniform(x, q, lower, upper):
    """The integral of |F_n - F| for sorted x in [lower, upper]."""
    total, below = Fraction(0), Fraction(0)
    width = upper - lower
    for left, right, mass in zip([lower, *x], [*x, upper], [*q, Fraction(0)], strict=True):
        a, b = (left - lower) / width - below, (right - lower) / width - below  # F - F_n at the ends of the piece
        total += (abs(b) * b - abs(a) * a) / 2 * width
        below += mass
    return total


def between(one, other):
    """The integral of |F - G|."""
    jumps = sorted([*zip(*one, strict=True), *((x, -share) for x, share in zip(*other, strict=True))])
    total, apart = Fraction(0), Fraction(0)
    for (left, jump), (right, _) in pairwise(jumps):
        apart += jump
        total += abs(apart) * (right - left)
    return total


def least_mean(points, others):
    """Return bounds of the smallest mean Euclidean distance over all pairings."""
    n = len(points)
    squares = [
        [sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True)) for y in others] for x in points
    ]
    roots = [[root(square) for square in row] for row in squares]
    ways = list(permutations(range(n)))
    return tuple(
        min(sum((roots[i][k][end] for i, k in enumerate(way)), Fraction(0)) for way in ways) / n for end in (0, 1)
    )


def root(square):
    """Return bounds of a root that agree in a number of bits."""
    if not square:
        return Fraction(0), Fraction(0)
    shift = 2 * ROOT_BITS + max(0, square.denominator.bit_length() - square.numerator.bit_length()) + 1
    shift += shift % 2
    whole, unit = isqrt((square.numerator << shift) // square.denominator), Fraction(1, 2 ** (shift // 2))
    return whole * unit, (whole + 1) * unit
