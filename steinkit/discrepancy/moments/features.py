r"""Functions of a draw that have mean zero under every target, and say what is wrong when they have not.

For a draw x with score s, in standard units z = (x - m) / sd and t = sd s, and for the Langevin operator
T g = <g, s> + div g, polynomials g of degree one and three give, with c = z - m', u = V'c, v = V't and
r^2 = sum_k u_k^2 / w_k,

    whole    c.t + d                            g = c               total spread
             r^2/d (c.t + d + 2)                g = r^2 c / d       tails
    own      t_j                                g = e_j             location of coordinate j
             1 + c_j t_j                        g = c_j e_j         spread of coordinate j
             1 + u_k v_k                        g = u_k V_k         spread along principal axis k
    pairs    c_i t_j + c_j t_i                  g = c_i e_j + c_j e_i   dependence of i and j, i < j

The centre m', the principal axes V and their variances w are those of *the other half* of the draws: were they of the
same draws they would have selected the noise that they then find (in 30 dimensions nearly every right sample is
rejected), and a centre of the same draws biases the spread by one over their effective number.

On a bounded support the functions g are multiplied by boundary factors that vanish at the bounds, coordinate by
coordinate, which makes the operator that of a diffusion with coefficients b and a = diag(a_1, ..., a_d)
(`steinkit.discrepancy.operators`); t becomes b, and 1 becomes a_j where g_j is differentiated:

    c.b + sum_j a_j,   r^2/d (c.b + sum_j a_j) + 2/d sum_j (V u/w)_j a_j c_j,
    b_j,   a_j + c_j b_j,   u_k (V'b)_k + sum_j a_j V_jk^2,   c_i b_j + c_j b_i.

References
----------
N. Srinivasan, M. Sutton, C. Drovandi and L. F. South (2024), "The polynomial Stein discrepancy for assessing moment
convergence", arXiv 2412.05135 (degree two); cross-fitting, axes and groups are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from steinkit.discrepancy.cross_fitting import Draws
from steinkit.errors import InputError
from steinkit.sample import Floats

Group = Literal["whole", "own", "pairs"]
Kind = Literal["total spread", "tails", "location", "spread", "axis spread", "dependence"]
GROUPS: tuple[Group, ...] = ("whole", "own", "pairs")
OVERFLOW = "the moments overflow: draws or scores are too large; rescale or repair them"

_SMALLEST_AXIS = 1e-12  # variance of a principal axis, relative to the largest, below which rounding decides
_ROWS = 64  # features computed at a time, at most
_VALUES = 1 << 22  # numbers in such a slice: of a million draws 32 MB
_TOGETHER = 1 << 13  # draws whose coordinates are combined at a time


@dataclass(frozen=True)
class Feature:
    """What a feature is about.

    Attributes
    ----------
    kind : {"total spread", "tails", "location", "spread", "axis spread", "dependence"}
    coordinates : tuple of int
        The coordinate, the pair, or the number of the principal axis; empty for what concerns all.
    """

    kind: Kind
    coordinates: tuple[int, ...] = ()

    @property
    def group(self) -> Group:
        """Features that are corrected for multiplicity together."""
        if self.kind in ("total spread", "tails"):
            return "whole"
        return "pairs" if self.kind == "dependence" else "own"


def features_of(dim: int) -> tuple[Feature, ...]:
    """All features in d dimensions, in the order of `feature_values`."""
    found = [Feature("total spread"), Feature("tails")]
    for kind in ("location", "spread", "axis spread"):
        found += [Feature(kind, (j,)) for j in range(dim)]
    first, second = np.triu_indices(dim, 1)
    return (*found, *(Feature("dependence", (int(i), int(j))) for i, j in zip(first, second, strict=True)))


@dataclass(frozen=True, eq=False)
class Moments:
    """Standardised draws with everything that features are made of, coordinates first.

    Attributes
    ----------
    centred : ndarray, shape (d, n)
        c.
    drift : ndarray, shape (d, n)
        b; the scores without bounds.
    spread : ndarray, shape (d, n), or None
        a; None without bounds, where it is 1.
    loadings : ndarray, shape (2, d, d)
        Entry [h, j, k] is the part of coordinate j in principal axis k of half h.
    variances : ndarray, shape (2, d)
        w of each half's axes.
    pieces : tuple of pairs of int and slice
        Draws that lie together, with the half whose axes are used for them: the other one than theirs.
    """

    centred: Floats
    drift: Floats
    spread: Floats | None
    loadings: Floats
    variances: Floats
    pieces: tuple[tuple[int, slice], ...]

    @classmethod
    def of(cls, points: Floats, drift: Floats, spread: Floats | None, draws: Draws) -> Moments:
        """Learn centres and axes on each half, and use them on the other.

        Parameters
        ----------
        points, drift, spread : ndarray, shape (d, n)
            In standard units. The points are centred in place.
        draws : Draws
            What they come from.

        Raises
        ------
        InputError
            If the squares of the points overflow.
        """
        pieces = tuple(_pieces(draws))
        loadings, variances = np.empty((2, len(points), len(points))), np.empty((2, len(points)))
        centres = []
        for learn in (0, 1):
            taken = [place for used, place in pieces if used != learn]
            total = sum(float(draws.shares[place].sum()) for place in taken)
            centre = np.zeros(len(points))
            for place in taken:
                centre += points[:, place] @ (draws.shares[place] / total)
            covariance = np.zeros((len(points), len(points)))
            for place in taken:  # few at a time, so that nothing as large as the draws is made
                deviations = points[:, place] - centre[:, None]
                covariance += (deviations * (draws.shares[place] / total)) @ deviations.T
            if not np.isfinite(covariance).all():
                raise InputError(OVERFLOW)
            values, loadings[learn] = np.linalg.eigh(covariance)
            variances[learn] = np.maximum(values, _SMALLEST_AXIS * max(values[-1], np.finfo(float).tiny))
            centres.append(centre)
        for used, place in pieces:
            points[:, place] -= centres[used][:, None]
        return cls(points, drift, spread, loadings, variances, pieces)

    def feature_values(self) -> Iterator[Floats]:
        """Values of all features in the order of `features_of`, in slices of shape (k, n) that the next overwrites."""
        dim, n = self.centred.shape
        width = max(2, min(_ROWS, _VALUES // n))
        room = np.empty((width, n))
        yield self._whole(room[:2])
        for rows in _blocks(dim, width):
            np.copyto(block := room[: len(rows)], self.drift[rows[0] : rows[-1] + 1])
            yield block
        for rows in _blocks(dim, width):
            own = slice(rows[0], rows[-1] + 1)
            np.multiply(self.centred[own], self.drift[own], out=(block := room[: len(rows)]))
            block += 1.0 if self.spread is None else self.spread[own]
            yield block
        for rows in _blocks(dim, width):
            yield self._along_axes(slice(rows[0], rows[-1] + 1), room[: len(rows)])
        first, second = np.triu_indices(dim, 1)
        other = np.empty(n)
        for rows in _blocks(len(first), width):
            for row, k in zip(room, rows, strict=False):
                np.multiply(self.centred[first[k]], self.drift[second[k]], out=row)
                np.multiply(self.centred[second[k]], self.drift[first[k]], out=other)
                row += other
            yield room[: len(rows)]

    def _whole(self, out: Floats) -> Floats:
        """Total spread and tails."""
        dim = len(self.centred)
        for used, place in self.pieces:
            c, b = self.centred[:, place], self.drift[:, place]
            inverse = self.loadings[used] / self.variances[used]
            curvature = inverse @ (self.loadings[used].T @ c)  # V (u / w)
            radius = np.einsum("jn,jn->n", c, curvature)
            total = np.einsum("jn,jn->n", c, b)
            if self.spread is None:
                total, bend = total + dim, radius
            else:
                a = self.spread[:, place]
                total, bend = total + a.sum(axis=0), np.einsum("jn,jn,jn->n", curvature, a, c)
            out[0, place], out[1, place] = total, (radius * total + 2.0 * bend) / dim
        return out

    def _along_axes(self, axes: slice, out: Floats) -> Floats:
        """Spreads along principal axes."""
        for used, place in self.pieces:
            loadings = self.loadings[used][:, axes].T
            np.multiply(loadings @ self.centred[:, place], loadings @ self.drift[:, place], out=out[:, place])
            out[:, place] += 1.0 if self.spread is None else np.square(loadings) @ self.spread[:, place]
        return out


def _blocks(count: int, width: int) -> Iterator[range]:
    return (range(begin, min(begin + width, count)) for begin in range(0, count, width))


def _pieces(draws: Draws) -> Iterator[tuple[int, slice]]:
    """Draws of one half that lie together, few enough to stay in a processor's cache."""
    half = np.zeros(len(draws.shares), dtype=np.int8)
    half[draws.halves[1]] = 1
    ends = [0, *(np.flatnonzero(np.diff(half)) + 1).tolist(), len(half)]
    for begin, end in pairwise(ends):
        for start in range(begin, end, _TOGETHER):
            yield 1 - int(half[begin]), slice(start, min(start + _TOGETHER, end))
