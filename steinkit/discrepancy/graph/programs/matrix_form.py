"""A coordinate's linear program in matrix form, and what any candidate proves of it.

A program can be written in several forms, whose variables and multipliers differ: the matrix form in the values and
gradients of g, the same with near points expressed relative to one another, the chain form of one dimension. Each form
turns any candidate (y, p) into bounds of its optimum: a lower one by making y feasible, an upper one by weak duality
from p. Neither asks how y and p were found, so a solver that stops early, or lies, only widens the bracket.

For the program max b'y subject to |A y| <= r, |y| <= u,

    upper, for any p:   U(p) = r'|p| + u'|b - A'p|
    lower, for any y:   b'y / max(1, max |A y|/r, max |y|/u)

The first is weak duality; the second scales y until it is feasible. Both are of the program meant, from which rounding
may have taken A's entries, differences of doubles, by 2^-53 of their size, boxes by a few times that, and b and r by
errors that go with them. Rounding errors of the two sparse products are allowed for as well: with its coefficients', a
sum of k products is off by at most (k + 3) 2^-53 times the sum of their magnitudes, up to higher orders. The bracket
[0, u'|b|] needs no candidate.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy import sparse

from steinkit.discrepancy.bracket import exact_sum, relative_width, require_ordered
from steinkit.sample import Floats

UNIT_ROUNDOFF = 2.0**-53
SMALLEST = 2.0**-1074
"""Twice what a product that underflows may be off by."""

_LEAST_MAGNITUDE = 2.0**-1020
NOTICEABLE = 2.0**-900
OUTWARD = 1.0 + 2.0**-49
"""Covers the rounding of a box, of a handful of products, quotients and one exact sum."""


class Form(Protocol):
    """One coordinate's linear program in the variables of some form."""

    def lower_bound(self, y: Floats, /) -> tuple[float, Floats]:
        """Objective of y once made feasible, rounded down, and the feasible point; 0 and zeros if y proves nothing."""

    def upper_bound(self, p: Floats, /) -> float:
        """What the multipliers p prove of the optimum, rounded up; never more than is known without them."""

    def stein_function(self, y: Floats, /) -> tuple[Floats, Floats]:
        """Map variables back to g_j, shape (n,), and its gradient, shape (n, d)."""


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


def certify(program: Form, y: Floats, p: Floats) -> Certificate:
    """Bracket the optimum of a program by any candidate.

    Parameters
    ----------
    program : Form
        With N variables and m multipliers.
    y : ndarray, shape (N,)
        Candidate solution, feasible or not.
    p : ndarray, shape (m,)
        Candidate multipliers.

    Returns
    -------
    Certificate
        Entries that are not finite count as zero.

    Raises
    ------
    CrossedBracketError
        If the bounds contradict each other, so that one of the two proofs is false.
    """
    lower, feasible = program.lower_bound(np.where(np.isfinite(y), y, 0.0))
    upper = program.upper_bound(np.where(np.isfinite(p), p, 0.0))
    require_ordered(lower, upper, y=y, p=p)
    return Certificate(lower, upper, feasible)


@dataclass(frozen=True, eq=False)
class CoordinateProgram:
    """One coordinate's linear program: maximise b'y subject to |A y| <= r and |y| <= u.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (m, N)
        A.
    radius : ndarray, shape (m,)
        r.
    box : ndarray, shape (N,)
        u.
    objective : ndarray, shape (N,)
        b.
    n_points : int
        n; the N = n (d + 1) variables are gamma (n), then d_1 g_j (n), ..., d_d g_j (n).
    objective_error : float or ndarray, shape (N,)
        How far rounding may have taken each entry of `objective` from the program meant.
    radius_error : float or ndarray, shape (m,)
        The same of each radius.
    box_error : float or ndarray, shape (N,)
        The same of each box.
    exponents : (int, int)
        The program is in units in which g is larger by a power of two, and its gradient and the optimum by another.

    Notes
    -----
    Boxes are right up to a few roundings; one that is not zero but may have underflowed, up to the smallest number.
    """

    matrix: sparse.csr_array
    radius: Floats
    box: Floats
    objective: Floats
    n_points: int
    objective_error: Floats | float = field(default=0.0, kw_only=True)
    radius_error: Floats | float = field(default=0.0, kw_only=True)
    box_error: Floats | float = field(default=0.0, kw_only=True)
    exponents: tuple[int, int] = field(default=(0, 0), kw_only=True)

    @property
    def magnitudes(self) -> sparse.csr_array:
        """|A|, which bounds the rounding errors of products with A; what has underflowed counts as what it may be.

        It is made anew each time: kept, it would take as much memory for every coordinate as A for all of them.
        """
        sizes = np.maximum(np.abs(self.matrix.data), _LEAST_MAGNITUDE)
        return sparse.csr_array((sizes, self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape)

    def stein_function(self, y: Floats) -> tuple[Floats, Floats]:
        """Map variables back to g_j, shape (n,), and its gradient, shape (n, d)."""
        values = y.reshape(-1, self.n_points)
        return self._in_units_of_draws(values[0], values[1:].T)

    def _in_units_of_draws(self, value: Floats, gradient: Floats) -> tuple[Floats, Floats]:
        """A function and its gradient in the units that draws came in."""
        of_g, of_gradient = self.exponents
        return (np.ldexp(value, -of_g), np.ldexp(gradient, -of_gradient)) if of_g or of_gradient else (value, gradient)

    @np.errstate(over="ignore", invalid="ignore")
    def lower_bound(self, y: Floats) -> tuple[float, Floats]:
        """Objective of y scaled until it is feasible, and that point; 0 and zeros if y proves nothing."""
        outside = _largest_ratio(np.abs(y), np.maximum(self.box - self._box_error, 0.0))
        if outside > 1.0:  # into the box first, so that nothing below overflows
            y = y / (outside * OUTWARD)
        scale = max(1.0, _largest_ratio(self._activity(y), np.maximum(self.radius - self.radius_error, 0.0)))
        terms = self.objective * y
        value = exact_sum(terms) - 4.0 * UNIT_ROUNDOFF * exact_sum(np.abs(terms)) - len(terms) * SMALLEST
        value -= _dot(np.abs(y), np.broadcast_to(self.objective_error, y.shape))
        if not (0.0 < value < math.inf and outside < math.inf and scale < math.inf):
            return 0.0, np.zeros_like(y)
        if scale > 1.0:
            scale *= OUTWARD
        lower = value / (scale * OUTWARD)
        if self.exponents[1]:
            lower = max(min(float(np.ldexp(lower, -self.exponents[1])), sys.float_info.max) - SMALLEST, 0.0)
        return lower, y / scale

    @np.errstate(over="ignore", invalid="ignore")
    def upper_bound(self, p: Floats) -> float:
        """Weak duality: r'|p| + u'|b - A'p|, or u'|b| if that is less; infinite if neither is a number."""
        box = self.box + self._box_error
        trivial = _dot(box, np.abs(self.objective) + self.objective_error)
        combined = self.matrix.T @ p
        entries = np.bincount(self.matrix.indices, minlength=len(self.box))
        magnitude = self.magnitudes.T @ np.abs(p) + np.abs(self.objective)
        residual = np.abs(self.objective - combined) + (entries + 4) * UNIT_ROUNDOFF * magnitude
        residual += self.objective_error + (entries * SMALLEST if p.any() else 0.0)
        bound = _dot(self.radius + self.radius_error, np.abs(p)) + _dot(box, residual)
        upper = min((each for each in (trivial, bound) if not math.isnan(each)), default=math.inf)
        return float(np.ldexp(upper, -self.exponents[1])) + SMALLEST if self.exponents[1] and upper else upper

    @property
    def _box_error(self) -> Floats:
        """What boxes are off by, with what underflow may have taken from them, or added to them."""
        return np.where((self.box > 0.0) & (self.box < NOTICEABLE), SMALLEST, 0.0) + self.box_error

    def _activity(self, y: Floats) -> Floats:
        """Upper bound of |A y|, rounding included."""
        entries = np.diff(self.matrix.indptr)
        allowance = (entries + 4) * UNIT_ROUNDOFF * (self.magnitudes @ np.abs(y))
        if self.radius.min(initial=1.0) < NOTICEABLE:  # what underflows in a product is nothing to larger radii
            allowance += 4.0 * SMALLEST * (self._pattern @ (y != 0.0))
        return np.asarray(np.abs(self.matrix @ y) + allowance)

    @property
    def _pattern(self) -> sparse.csr_array:
        """Ones where A has entries, be they zero."""
        ones = np.ones(len(self.matrix.data))
        return sparse.csr_array((ones, self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape)


def power_of_two(size: Floats) -> Floats:
    """Largest power of two not above a number, to scale by without rounding; 1 for zero."""
    return np.where(size > 0.0, np.ldexp(0.5, np.frexp(size)[1]), 1.0)


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
        underflow = np.count_nonzero((limits != 0.0) & (magnitudes != 0.0)) * SMALLEST
        return exact_sum(limits * magnitudes) * OUTWARD + underflow
