"""Drift of means and variances under an exact Markov kernel.

A Markov kernel that leaves the target P invariant moves draws toward P. Suppose that the kernel moves x to y, let mu be
the mean of P, and assume linear mixing: E[y - mu | x] = rho (x - mu). If the mean of the draws has bias b, then the
mean of y - x over the draws is -(1 - rho) b. The same relation holds for squared deviations from the mean of the draws,
but the mean of these squares also grows by the square of the change in the mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.autocorrelation import long_run_times
from steinkit.draws import ChainDraws
from steinkit.sample import Floats

_ERRORS = 3.0  # minimum significant drift, in standard errors
_NONLINEAR = 1.0 / 3.0  # tolerance relative to the predicted drift; mixing is only approximately linear


@dataclass(frozen=True, eq=False)
class Drift:
    """Mean changes in the standardized coordinates and in their squares.

    Attributes
    ----------
    mean, square : ndarray
        Mean of z(y) - z(x) and of z(y)^2 - z(x)^2, where z(x) = (x - mean) / sd with the mean and sd of the draws.
    mean_error, square_error : ndarray
        Standard errors of `mean` and `square`, corrected for autocorrelation.
    mean_mixing, square_mixing : ndarray
        One minus the regression slope of z(y) on z(x), and of z(y)^2 on z(x)^2. The values lie between 0 and 1.
    """

    mean: Floats
    mean_error: Floats
    mean_mixing: Floats
    square: Floats
    square_error: Floats
    square_mixing: Floats

    @classmethod
    def of(cls, draws: ChainDraws, moved: Floats, moved_squares: Floats) -> Drift:
        """Compare draws with their positions after moves by an exact Markov kernel.

        Parameters
        ----------
        draws : ChainDraws
        moved, moved_squares : ndarray, shape (n, d)
            The averages of later positions of the draws, and the averages of the squares of these positions.
        """
        centre = draws.shares @ draws.points
        scale = np.sqrt(draws.shares @ (draws.points - centre) ** 2)
        z, there = (draws.points - centre) / scale, (moved - centre) / scale
        squares = (moved_squares - 2.0 * centre * moved + centre**2) / scale**2
        return cls(*_change(z, there, draws), *_change(z**2, squares, draws))

    def largest(self) -> float:
        """Return the largest change in a mean or mean square, in standard errors."""
        errors = np.maximum([self.mean_error, self.square_error], np.finfo(float).tiny)
        return float(np.nanmax(np.abs([self.mean, self.square]) / errors))

    def contradicts(
        self, mean_bias: Floats, mean_margin: Floats, sd_bias: Floats, sd_margin: Floats
    ) -> NDArray[np.bool_]:
        """Return a mask of coordinates whose bias estimates contradict the drift.

        Parameters
        ----------
        mean_bias, mean_margin : ndarray, shape (d,)
            Bias of the mean and its margin of error, in standard deviations of the target.
        sd_bias, sd_margin : ndarray, shape (d,)
            Log ratio of the draws' standard deviation to the target's, and its margin of error.

        Returns
        -------
        ndarray of bool, shape (d,)
            True if the estimated bias is small but the draws drift, or if it is large but the draws do not drift
            accordingly.

        Examples
        --------
        >>> import numpy as np
        >>> from steinkit.diagnosis.bias.drift import Drift
        >>> fall, still, error = np.array([-0.4]), np.array([0.0]), np.array([0.03])
        >>> drift = Drift(fall, error, np.array([0.8]), still, error, np.array([0.9]))
        >>> [drift.contradicts(np.array([bias]), error, still, error).item() for bias in (0.0, 0.5)]
        [True, False]
        """
        ratio = np.exp(-sd_bias)  # standard deviation of the target divided by that of the draws
        fall, error = self.mean_mixing * ratio * mean_bias, self.mean_mixing * ratio * mean_margin
        growth = self.square_mixing * (ratio**2 - 1.0)
        growth_error = 2.0 * np.hypot(self.square_mixing * ratio**2 * sd_margin, fall * error)
        mean_differs = np.abs(self.mean + fall) > np.hypot(_ERRORS * self.mean_error, error) + _NONLINEAR * np.abs(fall)
        square_differs = np.abs(self.square - growth - fall**2) > (
            np.hypot(_ERRORS * self.square_error, growth_error) + _NONLINEAR * (np.abs(growth) + fall**2)
        )
        return np.asarray(mean_differs | square_differs)


def _change(before: Floats, after: Floats, draws: ChainDraws) -> tuple[Floats, Floats, Floats]:
    """Return the mean change, the standard error of this change, and the mixing rate."""
    shares, difference = draws.shares, after - before
    mean = shares @ difference
    parts = (difference - mean) * shares[:, None]
    error = np.sqrt(np.einsum("nj,nj->j", parts, parts) * long_run_times(np.ascontiguousarray(parts.T), draws.chains))
    centred = before - shares @ before
    slope = (shares @ (centred * after)) / (shares @ centred**2)
    return mean, error, np.clip(1.0 - slope, 0.0, 1.0)
