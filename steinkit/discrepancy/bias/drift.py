"""Drift of means and variances under an exact Markov kernel, a check on estimates of bias.

A kernel that leaves the target P invariant pulls draws towards P. Where it mixes linearly, E[y - mu | x] =
(1 - rho) (x - mu), so the mean of y - x over draws whose mean is off by b is -rho b. The same holds for squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steinkit.discrepancy.cross_fitting import long_run_times
from steinkit.sample import Floats


@dataclass(frozen=True, eq=False)
class Drift:
    """Mean changes of standardized coordinates and of their squares, each of shape (d,).

    Attributes
    ----------
    mean, square : ndarray
        Mean of z(y) - z(x) and of z(y)^2 - z(x)^2, for z = (x - mean) / sd of the draws.
    mean_error, square_error : ndarray
        Their standard errors, autocorrelation included.
    mean_mixing, square_mixing : ndarray
        1 - the slope of z(y) on z(x), and of z(y)^2 on z(x)^2; between 0 and 1.
    """

    mean: Floats
    mean_error: Floats
    mean_mixing: Floats
    square: Floats
    square_error: Floats
    square_mixing: Floats

    @classmethod
    def of(cls, points: Floats, moved: Floats, moved_squares: Floats, shares: Floats, chains: Sequence[slice]) -> Drift:
        """Compare points with where they were moved.

        Parameters
        ----------
        points, moved, moved_squares : ndarray, shape (n, d)
            Draws; averages of the later positions and of their squares.
        shares : ndarray, shape (n,)
            Weights of the draws, of sum one.
        chains : sequence of slice
            Rows of each chain.
        """
        centre = shares @ points
        scale = np.sqrt(shares @ (points - centre) ** 2)
        z, there = (points - centre) / scale, (moved - centre) / scale
        squares = (moved_squares - 2.0 * centre * moved + centre**2) / scale**2
        return cls(*_change(z, there, shares, chains), *_change(z**2, squares, shares, chains))


def _change(before: Floats, after: Floats, shares: Floats, chains: Sequence[slice]) -> tuple[Floats, Floats, Floats]:
    difference = after - before
    mean = shares @ difference
    parts = (difference - mean) * shares[:, None]
    error = np.sqrt(np.einsum("nj,nj->j", parts, parts) * long_run_times(np.ascontiguousarray(parts.T), chains))
    centred = before - shares @ before
    slope = (shares @ (centred * after)) / (shares @ centred**2)
    return mean, error, np.clip(1.0 - slope, 0.0, 1.0)
