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

from steinkit.discrepancy.bracket import Bracketed
from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy
from steinkit.discrepancy.graph.programs.matrix_form import UNIT_ROUNDOFF
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
        from scipy.interpolate import CubicHermiteSpline

        nodes, phi, slope = self._nodes()
        u, pull = points @ self.direction, scores @ _conjugate(self.direction)
        if len(nodes) == 1:
            return np.asarray(phi[0] * pull)
        spline, inside = CubicHermiteSpline(nodes, phi, slope), np.clip(u, nodes[0], nodes[-1])
        return np.asarray(spline(inside) * pull + np.where(inside == u, spline(inside, 1), 0.0))

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
    weights: Floats,
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
    weights : ndarray, shape (n,)
    bounds : ndarray, shape (1, 2), optional
        Bounds of u, where the support is bounded in that direction and the direction is a coordinate's.
    stein_factors : tuple of three floats
    tolerance : float
    """
    require_time("slices were solved")
    u, inverse = np.unique(points @ direction, return_inverse=True)
    mass = np.bincount(inverse, weights=weights, minlength=len(u))
    pull = np.bincount(inverse, weights=weights * (scores @ _conjugate(direction)), minlength=len(u)) / mass
    rounding = _rounding(direction, scores, weights, int(np.bincount(inverse).max()), stein_factors)
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


def _rounding(
    direction: Floats, scores: Floats, weights: Floats, most: int, stein_factors: tuple[float, float, float]
) -> float:
    """How far the optimum can move by what is rounded in s.w and in the sums over draws with the same u.

    Every term passes d products and sums of s.w, at most so many sums of a group, and four more operations; twice
    that covers higher orders and the rounding of this bound.
    """
    pulls = np.abs(scores) @ np.abs(_conjugate(direction))
    operations = len(direction) + most + 4
    moved = float(weights @ (stein_factors[0] * pulls + stein_factors[1]))
    return 2.0 * operations * UNIT_ROUNDOFF * moved


def _conjugate(direction: Floats) -> Floats:
    """w = v / |v|^2, along which u grows with slope one."""
    return np.asarray(direction / (direction @ direction))
