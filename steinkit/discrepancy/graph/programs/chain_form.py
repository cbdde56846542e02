"""Stein program in one dimension, in a chain form that preserves precision.

In one dimension, the graph joins neighboring points, so the program is a chain (Algorithm 2 in [1]_). Let h be the
length of an edge, and let (gamma, Gamma) and (gamma', Gamma') be the function and its derivative at the two ends of the
edge. The variables of the edge are the residuals a and e of the forward and backward Taylor rows, in units of their
radius c3 h^2/2:

    chord = Gamma + (c3 h/2) a,      gamma' = gamma + h chord,      Gamma' = chord - (c3 h/2) e,

    |a| <= 1,  |e| <= 1   (the Taylor rows, which imply the Gamma-Lipschitz row |Gamma' - Gamma| <= c3 h),
    |chord| <= c2         (the function-Lipschitz row, if h < 2 c1/c2),      |gamma| <= c1,   |Gamma| <= c2.

These equations contain no division by h^2. With 10^4 points, the radii can be as small as 1e-17, and rounding errors
would dominate rows in gamma and Gamma. Edges with h >= max(2 c1/c2, 4 c2/c3) add no constraints and divide the chain
into segments.

**Bounds of the support.** Only the point nearest to the bound, at distance t, requires rows. The rows are |gamma| <= c2
t and |gamma - t Gamma| <= c3 t^2/2 (Gamma inward). The same rows describe an edge of length t that starts at a node
with gamma = 0 and a free derivative: gamma = t chord, Gamma = chord - (c3 t/2) e. For the next point, at distance t +
h, the residual

    gamma' - (t + h) Gamma' = (gamma - t Gamma) + (c3 h/2) ((t + h) e - t a),

has a size of at most (c3/2) (t^2 + h (2 t + h)) = (c3/2) (t + h)^2, and |gamma'| <= c2 t + c2 h. By induction, the rows
of the bound hold at all points. Across an edge without constraints, |gamma' - gamma| <= 2 c1 <= c2 h. At distances of
at least 4 c2/c3, the Taylor row of the bound cannot bind. A segment is ordered with its bound (the nearer of two
bounds) first. If necessary, the reflection x -> -x, gamma -> -gamma is applied. Only a segment between two bounds has a
far bound, with the rows |gamma| <= c2 t and |gamma + t Gamma| <= c3 t^2/2 at its last node.

**Layout.** Node i of the chain has two variables in [-1, 1]. These variables are (gamma/box, Gamma/c2) at a free start
of a segment, (chord/c2, e) at a start from a bound, and (a, e) otherwise. The node has five rows with multipliers, for
gamma/box, Gamma/c2, a, e and chord/c2. If a segment starts from a bound, the row for the residual a is used for the far
bound. Nonexistent rows are zero.

**Certificate.** For the lower bound, the recursion is evaluated in double-double arithmetic with an error bound, and
the result is divided by the largest row value. At a far bound, a residual of 1e-16 in gamma may exceed c3 t^2/2 by
orders of magnitude. The following correction is exact: adding kappa to every a and e adds kappa c3 sum h^2/2 to the
last gamma and does not change the last Gamma. For the upper bound, let T be the force on the difference gamma' - gamma
of an edge, and let phi and kappa be h times the multipliers of the forward and backward rows. A dual point satisfies

    T' = T + (box force) - b_gamma,      phi' = (box force) - b_Gamma - kappa,      kappa = h T - (chord force) - phi.

Therefore, the multipliers of the boxes and chords determine the multipliers of the edges. The cost of the dual point,
sum |p| + sum (c3 h/2) (|phi| + |kappa|), is an upper bound.

References
----------
.. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from steinkit import double_double
from steinkit.discrepancy.bracket import exact_sum
from steinkit.discrepancy.graph.programs import chain_form_kernels as kernels
from steinkit.discrepancy.graph.programs.matrix_form import SMALLEST
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.errors import UsageError
from steinkit.sample import Floats

_OUTWARD = 1.0 + 2.0**-48  # covers the rounding errors in a few operations
_JUST_OUTWARD = 1.0 + 2.0**-51
_SCALINGS = 3  # maximum number of divisions by the largest row; one or two are sufficient
_SHIFT_SWEEPS = 10  # maximum number of shifts; one or two are sufficient for a solver's candidate
_SMALLEST_SQUARE = 1e-290  # smallest c3 h^2/2 with a bounded relative rounding error
_NEGLIGIBLE = 1e-12  # excess in the far bound's rows that is corrected by scaling


class ChainProgram:
    """Chain program for a one-dimensional sample.

    The lengths h and t and the coefficients of the objective are double-doubles. The certificate therefore refers to
    the program defined by the given doubles, before any rounding.

    Parameters
    ----------
    program : SteinProgram
        Program of dimension 1, with distinct points in any order.

    Attributes
    ----------
    chain : Chain
        The chain.
    order : ndarray of int, shape (n,)
        Index in the sample of each node of the chain.
    sign : ndarray, shape (n,)
        The value -1 for nodes of a reflected segment, and 1 otherwise.

    Raises
    ------
    UsageError
        If the program is not one-dimensional.
    """

    def __init__(self, program: SteinProgram) -> None:
        if program.dim != 1:
            raise UsageError(f"the chain form requires one dimension; got a program of dimension {program.dim}")
        c = program.factors
        points = program.points[:, 0]
        lower, upper = (-math.inf, math.inf) if program.bounds is None else map(float, program.bounds[0])
        order = np.argsort(points, kind="stable")
        with np.errstate(over="ignore", invalid="ignore"):  # an infinite length divides the chain
            lengths, lengths_low = double_double.two_sum(points[order[1:]], -points[order[:-1]])
        cuts = 1 + np.flatnonzero(lengths >= max(c.value_reach, c.taylor_reach))
        ends = _distance(points[order[0]], lower), _distance(upper, points[order[-1]])
        sign = np.ones(len(points))
        first = int(cuts[-1]) if len(cuts) else 0
        # The last segment is reflected if its bound is at its end. Between two bounds, it is reflected if the upper
        # bound is closer to a draw than the lower bound.
        if _closest(points, upper) < (math.inf if len(cuts) else _closest(points, lower)):
            order[first:] = order[first:][::-1].copy()
            lengths[first:], lengths_low[first:] = lengths[first:][::-1].copy(), lengths_low[first:][::-1].copy()
            sign[first:] = -1.0
            if not len(cuts):
                ends = ends[1], ends[0]
        self.order, self.sign = order, sign

        kind = np.full(len(points), kernels.EDGE)
        step, step_low = np.concatenate([[0.0], lengths]), np.concatenate([[0.0], lengths_low])
        kind[step < c.value_reach] = kernels.LIPSCHITZ_EDGE
        starts = np.concatenate([[0], cuts]).astype(np.int64)
        kind[starts], step[starts], step_low[starts] = kernels.FREE, 0.0, 0.0
        with np.errstate(over="ignore"):  # infinitely distant bounds impose no restrictions
            box = np.minimum(c.value, c.gradient * np.minimum(points - lower, upper - points))[order]
        objective, low = (np.ascontiguousarray(part.reshape(2, -1)[:, order]) for part in program.objective(0))
        (value, slope), (value_low, slope_low) = objective, low
        value, value_low = sign * value, sign * value_low  # a reflection does not change the derivative
        self._own_box = box.copy()
        near = [(0, ends[0])] if not len(cuts) else [(0, ends[0]), (first, ends[1])]
        for start, (distance, rest) in near:
            if distance < c.taylor_reach:
                kind[start], step[start], step_low[start], box[start] = kernels.BOUNDED, distance, rest, c.value
        far, far_low, far_radius = -1.0, 0.0, 0.0
        if not len(cuts) and ends[1][0] < c.taylor_reach:
            far, far_low = ends[1]
            far_radius = float(c.taylor_radius(far))
        self.chain = kernels.Chain(
            kind.astype(np.int64), step, box, value, slope,
            c.value, c.gradient, c.smoothness, far, far_radius,
            step_low, value_low, slope_low, far_low,
        )  # fmt: skip

    @cached_property
    def trivial(self) -> float:
        """Upper bound computed from the boxes alone, rounded up."""
        chain = self.chain
        value_error, slope_error = (
            double_double.error_of_high(pair)
            for pair in ((chain.value, chain.value_low), (chain.slope, chain.slope_low))
        )
        with np.errstate(over="ignore"):  # the bound may be infinite
            terms = (self._own_box + kernels.SMALLEST_BOX) * (np.abs(chain.value) + value_error)
            terms += chain.c2 * (np.abs(chain.slope) + slope_error)
        return _OUTWARD * exact_sum(terms) + 2.0 * len(terms) * SMALLEST

    @property
    def n_points(self) -> int:
        """Number of points n.

        The program has 2n variables and 5n multipliers.
        """
        return len(self.order)

    @np.errstate(over="ignore", invalid="ignore")  # values that overflow do not yield valid bounds
    def lower_bound(self, y: Floats) -> tuple[float, Floats]:
        """Return a lower bound on the optimum and a feasible point, or zeros.

        Parameters
        ----------
        y : ndarray, shape (2n,)
            Candidate variables.

        Returns
        -------
        float
            Lower bound, with allowances for the rounding errors of the recursion, of the products with the coefficients
            and of their sum.
        ndarray, shape (2n,)
            The point that attains it, evaluated after it has been rounded to doubles. At a far bound, the point is also
            subject to a common shift of the residuals, which is proved to exist but may not be a double.
        """
        largest = float(np.abs(y).max())
        if largest > 1.0:  # this prevents overflow in the recursion
            y = y / largest
        for _ in range(_SCALINGS):
            y, found, scale, loss = self._settled(y)
            if not scale * _JUST_OUTWARD > 1.0:
                break
            y = y / (scale * _OUTWARD)
        value = (found.objective - (found.allowance + loss) * _OUTWARD) / (max(1.0, scale) * _JUST_OUTWARD)
        if not (0.0 < value < math.inf and scale < math.inf):
            return 0.0, np.zeros_like(y)
        return value, y

    def upper_bound(self, p: Floats) -> float:
        """Return the cost of the dual point given by multipliers p of shape (5n,).

        The cost is capped at `trivial` and rounded up.
        """
        bound = float(kernels.costate_bound(self.chain, p, np.empty(0)))
        return self.trivial if math.isnan(bound) else min(self.trivial, bound)

    def stein_function(self, y: Floats) -> tuple[Floats, Floats]:
        """Convert variables to g and its derivative, in the order of the sample.

        The two arrays have shapes (n,) and (n, 1).
        """
        return self.in_order_of_sample(*self._traced(y))

    def in_order_of_sample(self, values: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        """Convert the values of gamma and Gamma at the nodes to g and its derivative."""
        g, gradient = np.empty(self.n_points), np.empty((self.n_points, 1))
        g[self.order] = self.sign * values
        gradient[self.order, 0] = slopes
        return g, gradient

    def _traced(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the values and slopes at the nodes.

        If the values do not satisfy the rows of a far bound up to their rounding errors, they are combined with those
        of the reversed recursion, which satisfies these rows at any distance. The two recursions yield functions that
        differ only by a small affine function due to rounding errors. The weighted mean of both functions, with weights
        from `_gains`, is the function shifted to the bound.
        """
        chain = self.chain
        values, slopes = np.empty((2, self.n_points)), np.empty((2, self.n_points))
        found = kernels.trace(chain, y, values[0], slopes[0])
        if chain.far < 0.0 or not 0.0 < self._gains.sum() < math.inf:
            return values[0], slopes[0]
        row, slope, value = self._far_row(found)[0], found.end_slope[0], abs(values[0, -1])
        rounding = 2.0**-52 * (value + chain.far * abs(slope) + chain.far_radius)
        if abs(row) <= chain.far_radius + rounding and value * _JUST_OUTWARD <= chain.box[-1]:
            return values[0], slopes[0]
        row += self._far_shift(found)[0]
        share = min(max(-1.0, -row / chain.far_radius), 1.0) if chain.far_radius > 0.0 else 0.0
        chord = (slope + 0.5 * chain.c3 * chain.far * share) / chain.c2
        turned = chain._replace(
            kind=np.append(kernels.BOUNDED, chain.kind[:0:-1]),
            step=np.append(chain.far, chain.step[:0:-1]),
            step_low=np.append(chain.far_low, chain.step_low[:0:-1]),
            far=-1.0,
        )
        controls = np.append([min(max(-1.0, chord), 1.0) / _JUST_OUTWARD, share], y.reshape(-1, 2)[:0:-1, ::-1])
        kernels.trace(turned, controls, values[1], slopes[1])
        values[1], slopes[1] = -values[1, ::-1], slopes[1, ::-1].copy()
        shares = np.stack([np.append(np.cumsum(self._gains[:0:-1])[::-1], 0.0), np.cumsum(self._gains)])
        shares /= shares.sum(axis=0)
        return (shares * values).sum(axis=0), (shares * slopes).sum(axis=0)

    @cached_property
    def _gains(self) -> Floats:
        """Increments c3 h^2/2 of gamma for a unit shift of all the residuals."""
        chain = self.chain
        with np.errstate(over="ignore"):
            radii = chain.c3 * (0.5 * chain.step) * chain.step
        return np.where(chain.kind >= kernels.EDGE, radii, 0.0)

    def _settled(self, y: Floats) -> tuple[Floats, kernels.Trace, float, float]:
        """Shift all residuals to satisfy the far bound's rows, if there is a far bound.

        Returns
        -------
        ndarray, Trace
            The variables after shifts by doubles, and their recursion.
        float, float
            Bounds on the largest row, and on the change in the objective, after a final shift by a real number.
        """
        chain = self.chain
        values, slopes = np.empty(self.n_points), np.empty(self.n_points)
        found = kernels.trace(chain, y, values, slopes)
        if chain.far < 0.0:
            return y, found, found.worst, 0.0
        excess = self._far_excess(found)
        scaled = max(found.worst, 1.0 + excess)
        edges = chain.kind >= kernels.EDGE
        gains = np.cumsum(self._gains)
        gain = float(gains[-1])
        if not excess > _NEGLIGIBLE or not gain > _SMALLEST_SQUARE:
            return y, found, scaled if excess else found.worst, 0.0
        moved, shifted, total = y, found, 0.0
        for _ in range(_SHIFT_SWEEPS):
            shift, _ = self._far_shift(shifted)
            total += abs(shift) / gain
            if shift == 0.0 or not total < excess:
                break
            moved = np.where(np.repeat(edges, 2), moved + shift / gain, moved)
            shifted = kernels.trace(chain, moved, values, slopes)
        shift, error = self._far_shift(shifted)
        kappa = (abs(shift) + error) / gain * (1.0 + 2.0 * self.n_points * 2.0**-53) * _OUTWARD
        if not total + kappa < excess:
            return y, found, scaled, 0.0
        widest = 0.5 * chain.c3 * float(chain.step[edges].max())
        slack = kappa * max(1.0, gain / chain.c1, widest / chain.c2)
        loss = kappa * (_OUTWARD * exact_sum(gains * np.abs(chain.value)))
        return moved, shifted, shifted.worst + slack, loss

    def _far_shift(self, found: kernels.Trace) -> tuple[float, float]:
        """Return the shift of the last gamma for the far bound, and a bound on its error.

        The exact shift lies within the error bound because both rows move with gamma. All rows are scaled, so these
        rows may be violated by the same factor as the others.
        """
        chain, scale = self.chain, max(1.0, found.worst)
        row, row_error = self._far_row(found)
        value = sum(found.end_value)
        error = 2.0 * (row_error + found.end_value_error + 2.0**-49 * scale * chain.far_radius)
        error += 2.0**-49 * (abs(value) if chain.box[-1] > 0.0 else 0.0)
        below = max(-scale * chain.far_radius - row, -scale * chain.box[-1] - value) + error
        above = min(scale * chain.far_radius - row, scale * chain.box[-1] - value) - error
        if below > above:
            return 0.5 * (below + above), 0.5 * (below - above) + error
        return min(max(0.0, below), above), error

    def _far_row(self, found: kernels.Trace) -> tuple[float, float]:
        """Return the row gamma + t Gamma for the far bound, with an error bound."""
        far, (slope, slope_low) = self.chain.far, found.end_slope
        turn, turn_low = double_double.two_product(far, slope)
        row = math.fsum([*found.end_value, turn, turn_low, far * slope_low, self.chain.far_low * slope])
        error = (
            found.end_value_error + far * _OUTWARD * found.end_slope_error + 2.0**-100 * abs(turn) + 2.0**-52 * abs(row)
        )
        return row, error

    def _far_excess(self, found: kernels.Trace) -> float:
        """Return the excess in the far bound's rows, in units of their radii."""
        row, row_error = self._far_row(found)
        value = abs(found.end_value[0]) * _OUTWARD + found.end_value_error
        limits = (abs(row) + row_error, self.chain.far_radius), (value, float(self.chain.box[-1]))
        return max(0.0, *((size / limit if limit > 0.0 else math.inf) * _OUTWARD - 1.0 for size, limit in limits))


def _closest(points: Floats, bound: float) -> float:
    """Return the distance from a bound to the nearest point that is not on it.

    If there is no such point, the distance is 0.
    """
    away = np.abs(points - bound)
    return float(away[away > 0.0].min()) if away.any() else 0.0


def _distance(above: float, below: float) -> tuple[float, float]:
    """Return the difference of two numbers as a double-double."""
    if math.isinf(above - below):
        return math.inf, 0.0
    high, low = double_double.two_sum(np.array([above]), np.array([-below]))
    return float(high[0]), float(low[0])
