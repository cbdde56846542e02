r"""One slice: the graph Stein discrepancy over functions of one linear coordinate u = v.x.

For g(x) = w phi(v.x) with w = v / |v|^2 the Langevin operator gives

    h(x) = phi(u) s(x).w + phi'(u),        E_P h = 0 for every target P with score s,

with the *full* score s, so that no marginal of P is needed. The largest mean of h over |phi| <= c1, |phi'| <= c2 and
phi' with Lipschitz constant c3 is the univariate program on the sorted u with s.w in the place of the score. Draws with
the same u are one point with the mean of their s.w, since the objective is linear. A bracket allows for the rounding of
s.w and of these means; u is v.x as floating-point numbers have it, which for a coordinate is the coordinate itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinkit import double_double
from steinkit.discrepancy.bracket import Bracketed
from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy
from steinkit.discrepancy.graph.programs.matrix_form import UNIT_ROUNDOFF
from steinkit.double_double import Pair
from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats

_APART = 1e-100  # of standard units, below which the coefficients of a spline overflow


@dataclass(frozen=True, eq=False)
class Slice(Bracketed):
    """The program along one direction.

    Attributes
    ----------
    direction : ndarray, shape (d,)
        v: u = v.x.
    lower, upper : float
        The largest mean of h lies in [lower, upper].
    positions : ndarray, shape (m,)
        The distinct u, ascending.
    phi, slope : ndarray, shape (m,)
        A function that attains `lower`, and its derivative, at the positions.
    bounds : tuple of two floats
        Of u; infinite where there are none.
    """

    direction: Floats
    lower: float
    upper: float
    positions: Floats
    phi: Floats
    slope: Floats
    bounds: tuple[float, float] = (-np.inf, np.inf)

    def test_function(self, points: Floats, scores: Floats) -> Floats:
        """h at any points with their scores, (m, d), (m, d) -> (m,), in the units of the slice.

        phi is continued as a cubic Hermite spline between its positions, as a parabola to zero at a bound, and as a
        constant where there is none. Any such function has mean zero under the target.
        """
        return self.along(*projected(self.direction, points, scores))

    def along(self, u: Floats, pull: Floats) -> Floats:
        """h where u = v.x and pull = s.w, (m,), (m,) -> (m,)."""
        nodes, phi, slope = self._nodes()
        if len(nodes) == 1:
            return np.asarray(phi[0] * pull)
        inside = np.clip(u, nodes[0], nodes[-1])
        with np.errstate(over="ignore", invalid="ignore"):  # positions whose cubes are no doubles have no spline
            value, derivative = _cubic_spline(nodes, phi, slope, inside)
            return np.asarray(value * pull + np.where(inside == u, derivative, 0.0))

    def _nodes(self) -> tuple[Floats, Floats, Floats]:
        """Positions, phi and slope, with the bounds beyond the outermost positions."""
        nodes, phi, slope = self.positions, self.phi, self.slope
        for end, bound in ((0, self.bounds[0]), (-1, self.bounds[1])):
            if np.isfinite(bound) and nodes[end] != bound:
                place = 0 if end == 0 else len(nodes)
                chord = phi[end] / (nodes[end] - bound)
                slope = np.insert(slope, place, 2.0 * chord - slope[end])
                nodes, phi = np.insert(nodes, place, bound), np.insert(phi, place, 0.0)
        apart = np.concatenate([[True], np.diff(nodes) > _APART])
        return nodes[apart], phi[apart], slope[apart]


def solve_slice(
    direction: Floats,
    points: Floats,
    scores: Floats,
    weights: Pair,
    *,
    bounds: Floats | None,
    stein_factors: tuple[float, float, float],
    tolerance: float,
) -> Slice:
    """Solve the program along a direction.

    Parameters
    ----------
    direction : ndarray, shape (d,)
    points, scores : ndarray, shape (n, d)
    weights : tuple of two ndarray, shape (n,)
        As double-doubles.
    bounds : ndarray, shape (1, 2), optional
        Bounds of u, where the support is bounded in that direction and the direction is a coordinate's.
    stein_factors : tuple of three floats
    tolerance : float
    """
    require_time("slices were solved")
    along, pulls = finite_projection(direction, points, scores)
    u, mass, pull = merged(along, pulls, weights)
    rounding = _rounding(direction, scores, weights[0], float(mass @ np.abs(pull)), stein_factors)
    found = graph_stein_discrepancy(
        u[:, None],
        scores=pull[:, None],
        weights=mass,
        bounds=bounds,
        stein_factors=stein_factors,
        tolerance=tolerance,
    )
    return Slice(
        direction=direction,
        lower=max(found.lower - rounding, 0.0),
        upper=found.upper + rounding,
        positions=u,
        phi=found.g[:, 0],
        slope=found.grad_g[:, 0, 0],
        bounds=(-np.inf, np.inf) if bounds is None else (float(bounds[0, 0]), float(bounds[0, 1])),
    )


def finite_projection(direction: Floats, points: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """u = v.x and s.w of draws; InputError if one overflows."""
    with np.errstate(over="ignore", invalid="ignore"):  # refused at once
        along, pulls = projected(direction, points, scores)
    if not (np.isfinite(along).all() and np.isfinite(pulls).all()):
        raise InputError("draws or scores overflow along a direction: rescale them, or the direction")
    return along, pulls


def projected(direction: Floats, points: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """u = v.x and s.w of points with their scores."""
    only = np.flatnonzero(direction)
    if len(only) == 1 and direction[only[0]] == 1.0:  # a coordinate, which products with zeros leave as it is
        return points[:, only[0]].copy(), scores[:, only[0]].copy()
    return points @ direction, scores @ _conjugate(direction)


def merged(along: Floats, pulls: Floats, weights: Pair) -> tuple[Floats, Floats, Floats]:
    """The distinct u, ascending, the weight of each, and its mean of s.w; scores may nearly cancel in it."""
    u, inverse = np.unique(along, return_inverse=True)
    moments = double_double.times(weights, (pulls, np.zeros_like(pulls)))
    mass, moment = (double_double.sums_in_groups(terms, inverse, len(u)) for terms in (weights, moments))
    return u, mass[0], double_double.ratio(moment, mass)[0]


def _cubic_spline(nodes: Floats, phi: Floats, slope: Floats, u: Floats) -> tuple[Floats, Floats]:
    """Values at u, in [nodes[0], nodes[-1]], of the cubic Hermite spline, and of its derivative."""
    step = np.diff(nodes)
    chord = np.diff(phi) / step
    turn = (slope[:-1] + slope[1:] - 2.0 * chord) / step
    cubic, square = turn / step, (chord - slope[:-1]) / step - turn
    order = np.argsort(u)  # searched for in that order, neighbours are found next to one another
    at = np.empty(len(u), dtype=np.int64)
    at[order] = np.searchsorted(nodes[1:-1], u[order], side="right")
    s, first, second, third = u - nodes[at], slope[at], square[at], cubic[at]
    return phi[at] + first * s + second * (s * s) + third * (s * s * s), first + second * s * 2.0 + third * (
        s * s
    ) * 3.0


def _rounding(
    direction: Floats, scores: Floats, weights: Floats, moved: float, stein_factors: tuple[float, float, float]
) -> float:
    """How far the optimum can move by what is rounded in s.w, in the means of draws with the same u, and in weights.

    Sums over draws lose nothing to speak of. Of the k parts of a direction, w passes k + 2 operations and s.w as many,
    unless w is one part that is a power of two. A mean is rounded once and its weight twice, which moves terms by three
    roundings of their size: `moved` is the sum of sizes of what means leave of scores. One more rounding each, and the
    factor, cover higher orders and the rounding of this bound.
    """
    parts = _conjugate(direction)[direction != 0.0]
    exact = len(parts) == 1 and abs(np.frexp(direction[direction != 0.0])[0][0]) == 0.5
    with np.errstate(over="ignore"):  # then nothing is known
        pulls = float(weights @ (np.abs(scores) @ np.abs(_conjugate(direction))))
    value, slope, _ = stein_factors
    of_sums = double_double.ROUNDING + (0.0 if exact else (2 * len(parts) + 5) * UNIT_ROUNDOFF)
    moving = of_sums * value * pulls + 4.0 * UNIT_ROUNDOFF * (value * moved + slope)
    return 1.01 * moving + double_double.UNDERFLOW * (value + slope)


def _conjugate(direction: Floats) -> Floats:
    """w = v / |v|^2, along which u grows with slope one."""
    return np.asarray(direction / (direction @ direction))
