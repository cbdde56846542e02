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
(`steinkit.discrepancy.kernel.boundary`); t becomes b, and 1 becomes a_j where g_j is differentiated:

    c.b + sum_j a_j,   r^2/d (c.b + sum_j a_j) + 2/d sum_j (V u/w)_j a_j c_j,
    b_j,   a_j + c_j b_j,   u_k (V'b)_k + sum_j a_j V_jk^2,   c_i b_j + c_j b_i.

References
----------
N. Srinivasan, M. Chen, M. Fasiolo and others (2024), "The polynomial Stein discrepancy for assessing moment
convergence", arXiv 2412.05135 (degree two); cross-fitting, axes and groups are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steinkit.discrepancy.cross_fitting import Draws
from steinkit.sample import Floats

Group = Literal["whole", "own", "pairs"]
Kind = Literal["total spread", "tails", "location", "spread", "axis spread", "dependence"]
GROUPS: tuple[Group, ...] = ("whole", "own", "pairs")

_SMALLEST_AXIS = 1e-12  # variance of a principal axis, relative to the largest, below which rounding decides
_ROWS = 64  # features computed at a time are as many as keep a slice of a million draws at half a gigabyte
_VALUES = 1 << 24  # numbers in such a slice


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
    """Standardised draws with everything that features are made of, coordinates first: arrays of shape (d, n).

    Attributes
    ----------
    centred : ndarray
        c.
    drift, spread : ndarray
        b and a; the scores and ones without bounds.
    axes, pulls : ndarray
        u = V'c and V'b.
    curvature : ndarray
        V (u / w).
    loadings : ndarray, shape (2, d, d)
        Entry [h, j, k] is the part of coordinate j in principal axis k of half h.
    is_second : ndarray of bool, shape (n,)
        Draws of the second half, for which the axes of the first are used.
    """

    centred: Floats
    drift: Floats
    spread: Floats
    axes: Floats
    pulls: Floats
    curvature: Floats
    loadings: Floats
    is_second: np.ndarray[tuple[int], np.dtype[np.bool_]]

    @classmethod
    def of(cls, points: Floats, drift: Floats, spread: Floats, draws: Draws) -> Moments:
        """Learn centres and axes on each half, and use them on the other.

        Parameters
        ----------
        points, drift, spread : ndarray, shape (d, n)
            In standard units.
        draws : Draws
            What they come from.
        """
        centred, axes, pulls, curvature = (np.empty_like(points) for _ in range(4))
        loadings = np.empty((2, len(points), len(points)))
        for number, (learn, use) in enumerate(draws.crossed()):
            share = draws.shares[learn] / draws.shares[learn].sum()
            centre = points[:, learn] @ share
            deviations = points[:, learn] - centre[:, None]
            variances, vectors = np.linalg.eigh((deviations * share) @ deviations.T)
            variances = np.maximum(variances, _SMALLEST_AXIS * max(variances[-1], np.finfo(float).tiny))
            centred[:, use] = points[:, use] - centre[:, None]
            axes[:, use] = vectors.T @ centred[:, use]
            pulls[:, use] = vectors.T @ drift[:, use]
            curvature[:, use] = vectors @ (axes[:, use] / variances[:, None])
            loadings[number] = vectors
        is_second = np.zeros(points.shape[1], dtype=bool)
        is_second[draws.halves[1]] = True
        return cls(centred, drift, spread, axes, pulls, curvature, loadings, is_second)

    def feature_values(self) -> Iterator[Floats]:
        """Values of all features in the order of `features_of`, in slices of shape (k, n)."""
        dim, n = self.centred.shape
        trace, inner = self.spread.sum(axis=0), (self.centred * self.drift).sum(axis=0)
        radius = (self.centred * self.curvature).sum(axis=0) / dim
        bend = (self.curvature * self.spread * self.centred).sum(axis=0)
        yield np.stack([inner + trace, radius * (inner + trace) + 2.0 / dim * bend])
        yield self.drift
        yield self.spread + self.centred * self.drift
        own = np.where(self.is_second, *(np.square(self.loadings[h].T) @ self.spread for h in (0, 1)))
        yield own + self.axes * self.pulls
        first, second = np.triu_indices(dim, 1)
        width = max(1, min(_ROWS, _VALUES // n))
        for begin in range(0, len(first), width):
            i, j = first[begin : begin + width], second[begin : begin + width]
            yield self.centred[i] * self.drift[j] + self.centred[j] * self.drift[i]
