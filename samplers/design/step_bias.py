"""What a sequential test does to the acceptance probability of a move.

Over the uniform number u of a step the errors of the test cancel in part: it accepts some moves that Metropolis
rejects, and the other way round. With the acceptance probability P = min(1, exp(Delta)), mu(u) = k (Delta - log u)
(see `steinkit.samplers.design.trial_runs`) and the error E(mu) of `operating_characteristics`, the bias is

    P_epsilon - P = integral from P to 1 of E(mu(u)) du - integral from 0 to P of E(mu(u)) du.

With w = |Delta - log u|, w_0 = max(Delta, 0), D = max(-Delta, 0), and E even, this is

    P_epsilon - P = integral from 0 to D of E(k w) e^(w - D) dw - P integral from w_0 to inf of E(k w) e^(w_0 - w) dw,

and the data use is the same with + for - and the data use in the place of E. The integrand changes on the scales 1 and
1 / k of w, which may differ by orders of magnitude: w = w_low + h (e^y - 1), h = min(1, 1 / k), shows both to a
Gauss-Legendre rule in y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinkit.arguments import checked
from steinkit.describe.display import Brief
from steinkit.sample import Floats
from steinkit.samplers.acceptance.operating_characteristics import (
    interim_looks,
    nodes_on_two_scales,
    operating_characteristics,
)
from steinkit.samplers.design.trial_runs import TrialRun

_NODES = 64
# Exponents beyond which exp(-w) is nought, and standard deviations beyond which a normal density is.
_LONGEST = 36.0
_FAR = 8.0
# Means at which the curves of a test are computed; in between they are interpolated.
_TABLE = 240
_GROWTH = 7.5


@dataclass(frozen=True, eq=False, repr=False)
class AcceptanceBias(Brief):
    """Effect of a sequential test on each of n moves.

    Attributes
    ----------
    probability : ndarray, shape (n,)
        Probability P with which Metropolis accepts the move.
    bias : ndarray, shape (n,)
        P_epsilon - P: positive where the sequential test accepts more often.
    error : ndarray, shape (n,)
        Probability of a decision other than that of Metropolis, over u; at least |bias|.
    data_use : ndarray, shape (n,)
        Expected share of the data read.
    """

    probability: Floats
    bias: Floats
    error: Floats
    data_use: Floats


@checked
def acceptance_bias(trial: TrialRun, *, first_fraction: float, epsilon: float, alpha: float = 0.5) -> AcceptanceBias:
    """Bias of the acceptance probability of each move of a trial run, and the data that its test reads.

    Parameters
    ----------
    trial : TrialRun
        Of n moves, from `trial_run`.
    first_fraction : float
        Share of the data read at each look, in (0, 1].
    epsilon : float
        Error allowed at one look, in [0, 1].
    alpha : float
        Wang-Tsiatis exponent of the thresholds, in [1/2, 1].

    Returns
    -------
    AcceptanceBias
        An entry a move.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.

    Notes
    -----
    The test is taken for a random walk with normal steps. On data that are heavy-tailed across a batch it may do worse.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    eq. 6 and 21.
    """
    log_ratio, k = trial.log_ratio, trial.sharpness
    w_0, D = np.maximum(log_ratio, 0.0), np.maximum(-log_ratio, 0.0)
    P = np.exp(-D)
    right, right_weights = nodes_on_two_scales(w_0, w_0 + _LONGEST, k, _NODES)
    left, left_weights = nodes_on_two_scales(np.maximum(D - _LONGEST, 0.0), D, k, _NODES)
    right_weights = P[:, None] * right_weights * np.exp(w_0[:, None] - right)
    left_weights = left_weights * np.exp(left - D[:, None])
    curves = _Curves(first_fraction, epsilon, alpha)
    wrong_rejections, read = (curves.at(k[:, None] * right) * right_weights).sum(axis=-1)
    wrong_acceptances, read_on_left = (curves.at(k[:, None] * left) * left_weights).sum(axis=-1)
    return AcceptanceBias(
        P, wrong_acceptances - wrong_rejections, wrong_acceptances + wrong_rejections, read + read_on_left
    )


class _Curves:
    """Error and data use of a test as functions of the mean, by interpolation."""

    def __init__(self, first_fraction: float, epsilon: float, alpha: float) -> None:
        fractions, thresholds = interim_looks(first_fraction, epsilon, alpha)
        # beyond this mean the first look decides, and rightly
        self._farthest = (thresholds[0] + _FAR) * math.sqrt(1.0 / fractions[0] - 1.0) if len(fractions) else 1.0
        s = np.linspace(0.0, 1.0, _TABLE)
        means = self._farthest * np.sinh(_GROWTH * s) / math.sinh(_GROWTH)
        found = operating_characteristics(means, first_fraction=first_fraction, epsilon=epsilon, alpha=alpha)
        from scipy.interpolate import CubicSpline

        self._spline = CubicSpline(s, np.stack((found.error, found.data_use)), axis=1)

    def at(self, means: Floats) -> Floats:
        """Error and data use at means >= 0, (...) -> (2, ...)."""
        inside = np.minimum(means / self._farthest, 1.0)
        values: Floats = self._spline(np.arcsinh(inside * math.sinh(_GROWTH)) / _GROWTH)
        return values
