"""The proof of an answer: a bracket that holds whatever solver produced the candidate.

For the program max b'y subject to |A y| <= r, |y| <= u,

    upper, for any p:   U(p) = r'|p| + u'|b - A'p|
    lower, for any y:   b'y / max(1, max |A y|/r, max |y|/u)

The first is weak duality; the second scales y until it is feasible. Neither asks how p and y were found, so a solver
that stops early, or lies, only widens the bracket. Rounding errors of the two sparse products are allowed for: a sum of
k products is off by at most (k + 2) 2^-53 times the sum of their magnitudes. The bracket [0, u'|b|] needs no candidate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinkit.discrepancy.program import CoordinateProgram
from steinkit.sample import Floats

_UNIT_ROUNDOFF = 2.0**-53
_OUTWARD = 1.0 + 2.0**-50  # covers the rounding of a handful of products, quotients and one exact sum


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof that an optimum lies in [lower, upper].

    Attributes
    ----------
    lower, upper : float
    feasible : ndarray, shape (N,)
        A feasible y whose objective is `lower`.
    """

    lower: float
    upper: float
    feasible: Floats

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return relative_width(self.lower, self.upper)


def certify(program: CoordinateProgram, y: Floats, p: Floats) -> Certificate:
    """Bracket the optimum of a program by any candidate.

    Parameters
    ----------
    program : CoordinateProgram
        With m rows and N variables.
    y : ndarray, shape (N,)
        Candidate solution, feasible or not.
    p : ndarray, shape (m,)
        Candidate multipliers of the rows.

    Returns
    -------
    Certificate
        Entries that are not finite count as zero.
    """
    y = np.where(np.isfinite(y), y, 0.0)
    p = np.where(np.isfinite(p), p, 0.0)
    lower, feasible = _lower_bound(program, y)
    return Certificate(lower, max(lower, _upper_bound(program, p)), feasible)


class Incumbent:
    """The best y and the best p offered so far for one program; they need not come from the same source.

    Attributes
    ----------
    y : ndarray, shape (N,)
    p : ndarray, shape (m,)
    lower, upper : float
        What they prove.
    """

    def __init__(self, program: CoordinateProgram) -> None:
        self.program = program
        self.y: Floats = np.zeros(len(program.box))
        self.p: Floats = np.zeros(len(program.radius))
        self.lower = 0.0
        self.upper = math.inf

    def offer(self, y: Floats, p: Floats) -> Certificate:
        """Judge a candidate, keep what is better in it, and return the candidate's own certificate."""
        certificate = certify(self.program, y, p)
        if certificate.lower > self.lower:
            self.y, self.lower = y, certificate.lower
        if certificate.upper < self.upper:
            self.p, self.upper = p, certificate.upper
        return certificate

    @property
    def gap(self) -> float:
        """Relative width of the bracket that the best y and the best p prove together."""
        return relative_width(self.lower, self.upper)


def relative_width(lower: float, upper: float) -> float:
    """(upper - lower) / upper; 0 for a bracket of width 0, 1 for one without end."""
    if math.isinf(upper):
        return 1.0
    return 0.0 if upper <= lower else (upper - lower) / upper


def _lower_bound(program: CoordinateProgram, y: Floats) -> tuple[float, Floats]:
    outside = _largest_ratio(np.abs(y), program.box)
    if outside > 1.0:  # into the box first, so that nothing below overflows
        y = y / (outside * _OUTWARD)
    scale = max(1.0, _largest_ratio(_activity(program, y), program.radius))
    with np.errstate(over="ignore"):
        terms = program.objective * y
    value = _sum(terms) - 4.0 * _UNIT_ROUNDOFF * _sum(np.abs(terms))
    if not (0.0 < value < math.inf and outside < math.inf and scale < math.inf):
        return 0.0, np.zeros_like(y)
    if scale > 1.0:
        scale *= _OUTWARD
    return value / (scale * _OUTWARD), y / scale


def _upper_bound(program: CoordinateProgram, p: Floats) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        trivial = _dot(program.box, np.abs(program.objective))
        combined = program.matrix.T @ p
        entries = np.bincount(program.matrix.indices, minlength=len(program.box))
        magnitude = program.magnitudes.T @ np.abs(p) + np.abs(program.objective)
        residual = np.abs(program.objective - combined) + (entries + 2) * _UNIT_ROUNDOFF * magnitude
        bound = _dot(program.radius, np.abs(p)) + _dot(program.box, residual)
    return trivial if math.isnan(bound) else min(trivial, bound)


def _activity(program: CoordinateProgram, y: Floats) -> Floats:
    """Upper bound of |A y|, rounding included."""
    entries = np.diff(program.matrix.indptr)
    allowance = (entries + 2) * _UNIT_ROUNDOFF * (program.magnitudes @ np.abs(y))
    return np.asarray(np.abs(program.matrix @ y) + allowance)


def _largest_ratio(values: Floats, limits: Floats) -> float:
    """Largest of values/limits, with 0/0 = 0; infinite where a limit of zero is exceeded or a value is no number."""
    if not values.size:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(values == 0.0, 0.0, values / limits)
    largest = float(ratios.max())
    return math.inf if math.isnan(largest) else largest


def _dot(limits: Floats, magnitudes: Floats) -> float:
    """Upper bound of a sum of products of non-negative numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        return _sum(limits * magnitudes) * _OUTWARD


def _sum(terms: Floats) -> float:
    """Exactly rounded sum; infinite where it overflows."""
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):  # beyond the largest number, or infinities of both signs among the terms
        return math.inf
