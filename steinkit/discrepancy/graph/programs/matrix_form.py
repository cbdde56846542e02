"""Linear program for one coordinate in matrix form, with its certificate.

A program can be written in several forms with different variables and multipliers. The three forms are the matrix form
in the values and gradients of g, the matrix form in variables relative to nearby points (`relative_form`), and the
chain form in one dimension (`chain_form`). Every form provides bounds on its optimum from any candidate (y, p). A lower
bound is obtained by scaling y until it is feasible. By weak duality, the multipliers p give an upper bound. The bounds
hold for any y and p, so an inaccurate solver can only widen the bracket.

For the program max b'y subject to |A y| <= r and |y| <= u, the certificate consists of

    upper bound, any p:   U(p) = r'|p| + u'|b - A'p|
    lower bound, any y:   b'y / max(1, max |A y|/r, max |y|/u).

The proof is as follows. For feasible y, b'y = p'A y + (b - A'p)'y <= r'|p| + u'|b - A'p|. In addition, y divided by the
maximum is feasible.

The bounds refer to the program defined by the given data. Rounding changes the entries of A, which are differences of
doubles, by at most 2^-53 relative to their size. The relative change in the boxes is a few times larger, and b and r
change by their stored errors. A computed sum of k products differs from the exact sum by at most (k + 3) 2^-53 times
the sum of the magnitudes of the products, up to higher-order terms. The bracket [0, u'|b|] does not require a
candidate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy import sparse

from steinkit.discrepancy.bracket import exact_sum, relative_width, require_ordered
from steinkit.sample import Floats

UNIT_ROUNDOFF = 2.0**-53
SMALLEST = 2.0**-1074
"""Twice the largest error of a product that underflows."""

OUTWARD = 1.0 + 2.0**-49
"""Factor that covers the rounding errors in a box, a few products and quotients, and one exactly rounded sum."""


class Form(Protocol):
    """Linear program for one coordinate, in any form."""

    def lower_bound(self, y: Floats, /) -> tuple[float, Floats]:
        """Return a lower bound and a feasible multiple of y, or zeros."""

    def upper_bound(self, p: Floats, /) -> float:
        """Return the smaller of the trivial bound and the bound given by multipliers p."""

    def stein_function(self, y: Floats, /) -> tuple[Floats, Floats]:
        """Convert variables to g_j, of shape (n,), and its gradient, of shape (n, d)."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof that an optimum lies in [lower, upper].

    Attributes
    ----------
    lower, upper : float
        Bounds on the optimum.
    feasible : ndarray, shape (N,)
        A feasible y with an objective of at least `lower`.
    """

    lower: float
    upper: float
    feasible: Floats

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return relative_width(self.lower, self.upper)


def certify(program: Form, y: Floats, p: Floats) -> Certificate:
    """Compute bounds on a program's optimum from any candidate solution.

    Parameters
    ----------
    program : Form
        Program with N variables and m multipliers.
    y : ndarray, shape (N,)
        Candidate solution, which may be infeasible. Entries that are not finite are treated as zero.
    p : ndarray, shape (m,)
        Candidate multipliers. Entries that are not finite are treated as zero.

    Returns
    -------
    Certificate
        The bounds and the feasible point.

    Raises
    ------
    CrossedBracketError
        If the bounds contradict each other.
    """
    lower, feasible = program.lower_bound(np.where(np.isfinite(y), y, 0.0))
    upper = program.upper_bound(np.where(np.isfinite(p), p, 0.0))
    require_ordered(lower, upper, y=y, p=p)
    return Certificate(lower, upper, feasible)


@dataclass(frozen=True, eq=False)
class CoordinateProgram:
    """Linear program max b'y subject to |A y| <= r and |y| <= u.

    The boxes u are accurate up to a few rounding errors.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (m, N)
        The matrix A.
    radius : ndarray, shape (m,)
        The right-hand side r.
    box : ndarray, shape (N,)
        The bounds u of the variables.
    objective : ndarray, shape (N,)
        The objective b.
    n_points : int
        Number of points n. The N = n (d + 1) variables are gamma (n), d_1 g_j (n), ..., d_d g_j (n).
    objective_error : float or ndarray, shape (N,)
        Bound on the rounding error in each entry of `objective`.
    radius_error : float or ndarray, shape (m,)
        Bound on the rounding error in each radius.
    """

    matrix: sparse.csr_array
    radius: Floats
    box: Floats
    objective: Floats
    n_points: int
    objective_error: Floats | float = field(default=0.0, kw_only=True)
    radius_error: Floats | float = field(default=0.0, kw_only=True)

    @property
    def magnitudes(self) -> sparse.csr_array:
        """The matrix |A|.

        The matrix is not cached because the coordinates share A but would not share |A|.
        """
        return sparse.csr_array(
            (np.abs(self.matrix.data), self.matrix.indices, self.matrix.indptr), shape=self.matrix.shape
        )

    def stein_function(self, y: Floats) -> tuple[Floats, Floats]:
        """Convert variables to g_j, of shape (n,), and its gradient, of shape (n, d)."""
        values = y.reshape(-1, self.n_points)
        return values[0], values[1:].T

    @np.errstate(over="ignore", invalid="ignore")
    def lower_bound(self, y: Floats) -> tuple[float, Floats]:
        """Return b'y / max(1, |A y|/r, |y|/u) and the scaled y.

        The bound is rounded down. Both returned values are zero if the bound is not positive.
        """
        outside = _largest_ratio(np.abs(y), self.box)
        if outside > 1.0:  # scaling the vector into the box prevents overflow in the products
            y = y / (outside * OUTWARD)
        rounding = (np.diff(self.matrix.indptr) + 4) * UNIT_ROUNDOFF * (self.magnitudes @ np.abs(y))
        limits = np.maximum(self.radius - self.radius_error, 0.0)
        scale = max(1.0, _largest_ratio(np.abs(self.matrix @ y) + rounding, limits)) * OUTWARD
        terms = self.objective * y
        value = exact_sum(terms) - 4.0 * UNIT_ROUNDOFF * exact_sum(np.abs(terms)) - len(terms) * SMALLEST
        value -= _dot(np.abs(y), np.broadcast_to(self.objective_error, y.shape))
        if not (0.0 < value < math.inf and outside < math.inf and scale < math.inf):
            return 0.0, np.zeros_like(y)
        return value / (scale * OUTWARD), y / scale

    @np.errstate(over="ignore", invalid="ignore")
    def upper_bound(self, p: Floats) -> float:
        """Return the smaller of r'|p| + u'|b - A'p| and u'|b|.

        The bound is rounded up.

        If both bounds are NaN, the returned bound is infinite.
        """
        trivial = _dot(self.box, np.abs(self.objective) + self.objective_error)
        combined = self.matrix.T @ p
        entries = np.bincount(self.matrix.indices, minlength=len(self.box))
        magnitude = self.magnitudes.T @ np.abs(p) + np.abs(self.objective)
        residual = np.abs(self.objective - combined) + (entries + 4) * UNIT_ROUNDOFF * magnitude
        residual += self.objective_error + entries * SMALLEST
        bound = _dot(self.radius + self.radius_error, np.abs(p)) + _dot(self.box, residual)
        return min((each for each in (trivial, bound) if not math.isnan(each)), default=math.inf)


def power_of_two(size: Floats) -> Floats:
    """Return, for each number, the largest power of two that does not exceed it.

    Zeros are mapped to 1.
    """
    return np.where(size > 0.0, np.ldexp(0.5, np.frexp(size)[1]), 1.0)


def _largest_ratio(values: Floats, limits: Floats) -> float:
    """Return the maximum of values / limits, with 0/0 = 0.

    The maximum is infinite if a value is NaN or if a positive value has limit zero.
    """
    if not values.size:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratios = np.where(values == 0.0, 0.0, values / limits)
    largest = float(ratios.max())
    return math.inf if math.isnan(largest) else largest


def _dot(limits: Floats, magnitudes: Floats) -> float:
    """Return an upper bound on the sum of products of non-negative numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        underflow = np.count_nonzero((limits != 0.0) & (magnitudes != 0.0)) * SMALLEST
        return exact_sum(limits * magnitudes) * OUTWARD + underflow
