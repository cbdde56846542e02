r"""Means and standard deviations under the target, each with the error that can be answered for.

With r_1 and r_2 what regressions leave of a quantity f and of its square, in standard units, the mean is m = E r_1, the
variance v = E r_2 - m^2, and the influence of a draw on m / sd and on log sd

    r_1 / sd,      (r_2 - 2 m r_1) / (2 v).

The error claimed is  sqrt(se^2 + chi^2 V / 4 + (spread / 2)^2):  the standard error of the influence, autocorrelation
included; its variance V times an estimate of chi^2(P | Q) for what the features do not explain; and the range of what
the feature sets say. A standard error alone would be far too small where draws are far off. Margins are two of these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steinkit.discrepancy.bias.chi_square import chi_square
from steinkit.discrepancy.bias.stein_features import FeatureSet, Operand
from steinkit.discrepancy.bias.stein_regression import cross_fitted
from steinkit.sample import Floats

_LEAST_VARIANCE = 1e-6  # of a quantity under the target, in units of its variance in the draws
_CHI_SQUARE_SHARE = 0.25
_TIMES = 64  # influences whose autocorrelation times are taken together


@dataclass(frozen=True, eq=False)
class Estimates:
    """What is said of m quantities under the target, in units of their standard deviations in the draws.

    Attributes
    ----------
    mean, sd : ndarray, shape (m,)
        NaN where there are too few draws for any set of features.
    mean_error, log_sd_error : ndarray, shape (m,)
        Claimed, in standard deviations under the target and as a logarithm.
    """

    mean: Floats
    sd: Floats
    mean_error: Floats
    log_sd_error: Floats


def regression_estimates(operand: Operand, functions: Floats) -> Estimates:
    """Of the coordinates, and of functions of the draws.

    Parameters
    ----------
    operand : Operand
        Draws in standard units.
    functions : ndarray, shape (n, k)
        Standardised values.
    """
    n, dim = operand.points.shape
    quantities = np.hstack([operand.points, functions])
    m = quantities.shape[1]
    sets: list[FeatureSet] = ["own2", "own4", *operand.joint_sets()]
    shares = operand.draws.shares
    means, sds = np.full((len(sets), m), np.nan), np.full((len(sets), m), np.nan)
    influence, variance = np.zeros((n, 2, m)), np.full((2, m), np.inf)
    for row, kind in enumerate(sets):
        taken = dim if kind in ("own2", "own4") else m
        left = cross_fitted(operand, quantities[:, :taken], kind).reshape(n, 2, taken)
        means[row, :taken], square = np.einsum("n,nkm->km", shares, left)
        spread = np.maximum(square - means[row, :taken] ** 2, _LEAST_VARIANCE)
        sds[row, :taken] = np.sqrt(spread)
        left[:, 1] = (left[:, 1] - 2.0 * means[row, :taken] * left[:, 0]) / (2.0 * spread)
        left[:, 0] /= sds[row, :taken]
        left -= np.einsum("n,nkm->km", shares, left)
        found = np.einsum("n,nkm,nkm->km", shares, left, left)
        better = np.flatnonzero(found.sum(axis=0) < variance[:, :taken].sum(axis=0))
        influence[:, :, better], variance[:, better] = left[:, :, better], found[:, better]
        if row == 0:
            chosen = np.zeros(m, dtype=np.int64)
        chosen[better] = row
    mean, sd = means[chosen, np.arange(m)], sds[chosen, np.arange(m)]
    errors = standard_errors(operand, influence.reshape(n, 2 * m)).reshape(2, m)
    known = np.isfinite(variance)
    unexplained = np.where(known, _CHI_SQUARE_SHARE * chi_square(operand) * np.where(known, variance, 0.0), np.inf)
    with np.errstate(invalid="ignore"):
        ranges = np.stack([_range((means - mean) / sd), _range(np.log(sds / sd))])
        claimed = np.sqrt(errors**2 + unexplained + (0.5 * ranges) ** 2)
    return Estimates(mean, sd, claimed[0], claimed[1])


def standard_errors(operand: Operand, influence: Floats) -> Floats:
    """Of the means of functions that have mean zero over the draws, (n, k) -> (k,)."""
    draws = operand.draws
    squares = np.sqrt((draws.shares**2) @ influence**2)
    times = [
        draws.autocorrelation_times(np.ascontiguousarray(influence[:, begin : begin + _TIMES].T))
        for begin in range(0, influence.shape[1], _TIMES)
    ]
    return np.asarray(squares * np.sqrt(np.concatenate(times)))


def _range(values: Floats) -> Floats:
    """Largest less smallest of each column, where there is any."""
    present = np.isfinite(values)
    upper = np.where(present, values, -np.inf).max(axis=0)
    return np.asarray(np.where(present.any(axis=0), upper - np.where(present, values, np.inf).min(axis=0), np.inf))
