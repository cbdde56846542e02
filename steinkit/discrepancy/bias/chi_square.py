r"""How far the draws' distribution Q is from the target P, seen through Stein features.

Of all distributions whose features have the means that are seen, chi^2(P | Q) is at least

    E_Q phi' Cov_Q(phi)^-1 E_Q phi,

since E_P phi = 0. With means of the same draws on both sides it would be the number of features over that of the draws
for right samples; with means of the halves of the draws, each with features made of the other half, its expectation is
zero for them. It bounds what a regression leaves: |E_Q r - E_P r| <= sqrt(chi^2(P | Q)) sd_Q(r).
"""

from __future__ import annotations

import numpy as np

from steinkit.discrepancy.bias.stein_features import FeatureSet, Frame, Operand, width_of
from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers

_RIDGE = 0.5  # times features over draws, of a feature's variance: what keeps the inverse from the noise
_LEAST = 1e-6
_DRAWS_A_FEATURE = 8  # of degree four: with fewer, noise of what right draws have grows beyond .05


def chi_square(operand: Operand) -> float:
    """A lower estimate of chi^2(P | Q), the largest of those by several sets of features.

    Those of degree four see draws that have the target's means and standard deviations, and not its shape.
    """
    n, dim = operand.points.shape
    sets: list[FeatureSet] = ["diagonal", *(kind for kind in operand.joint_sets() if kind == "pairs")]
    if _DRAWS_A_FEATURE * width_of("own4", dim) < n:
        sets.append("own4")
    return max(0.0, *(_by_features(operand, kind) for kind in sets))


def _by_features(operand: Operand, kind: FeatureSet) -> float:
    first, second = operand.draws.halves
    made = ((first, Frame.of(operand, second)), (second, Frame.of(operand, first)))
    means = [_mean(operand, frame, half, kind) for half, frame in made]
    return float(np.mean([means[0] @ _through_covariance(operand, *each, kind, means[1]) for each in made]))


def _mean(operand: Operand, frame: Frame, half: Integers, kind: FeatureSet) -> Floats:
    total, mean = operand.draws.shares[half].sum(), np.zeros(width_of(kind, operand.points.shape[1]))
    for rows in operand.blocks(half, len(mean)):
        mean += operand.draws.shares[rows] @ frame.of_all(operand, rows, kind)
    return np.asarray(mean / total)


def _through_covariance(operand: Operand, half: Integers, frame: Frame, kind: FeatureSet, vector: Floats) -> Floats:
    """(Cov + ridge diag Cov)^-1 times a vector, for features of a half with a frame of the other."""
    width, shares = len(vector), operand.draws.shares[half] / operand.draws.shares[half].sum()
    mean = _mean(operand, frame, half, kind)
    if width > len(half):  # by the draws' own inner products, of which there are fewer
        deviations = (frame.of_all(operand, half, kind) - mean) * np.sqrt(shares)[:, None]
        scale = np.sqrt(np.maximum((deviations**2).sum(axis=0), np.finfo(float).tiny))
        deviations /= scale
        ridge = _RIDGE * width / len(half) + _LEAST
        inner = deviations @ deviations.T + ridge * np.eye(len(half))
        scaled = vector / scale
        return np.asarray((scaled - deviations.T @ np.linalg.solve(inner, deviations @ scaled)) / ridge / scale)
    covariance = -np.outer(mean, mean)
    for rows, part in zip(operand.blocks(half, width), operand.blocks(np.arange(len(half)), width), strict=True):
        require_time("biases were estimated")
        features = frame.of_all(operand, rows, kind)
        covariance += (features * shares[part][:, None]).T @ features
    scale = np.sqrt(np.maximum(np.diag(covariance), np.finfo(float).tiny))
    correlation = covariance / np.outer(scale, scale) + (_RIDGE * width / len(half) + _LEAST) * np.eye(width)
    try:
        return np.asarray(np.linalg.solve(correlation, vector / scale) / scale)
    except np.linalg.LinAlgError:  # what does not vary but by rounding
        raise InputError("half of the draws hardly vary, so their bias cannot be told; run a longer chain") from None
