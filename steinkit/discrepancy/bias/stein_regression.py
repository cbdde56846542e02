r"""Means under the target by regression on Stein features, cross-fitted.

Features phi have mean zero under the target P. With coefficients beta learnt on some draws, the others' mean of

    r = f - beta . phi          is E_P f up to          |E_Q r - E_P r| <= sqrt(chi^2(P | Q)) sd_Q(r),

whatever the distribution Q of the draws is. Where the features explain f well, r is small, and so is what is left. The
penalty of the ridge regression is chosen by generalised cross-validation, for every function by itself.

References
----------
Q. Liu and J. D. Lee (2017), "Black-box importance sampling", AISTATS.
L. F. South, T. Karvonen, C. Nemeth, M. Girolami and C. J. Oates (2022), "Semi-exact control functionals from Sard's
method", Biometrika 109.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinkit.discrepancy.bias.stein_features import FeatureSet, Frame, Operand, width_of
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers

_BLOCKS = 10  # of neighbouring draws, by turns in one fold and the other
_PENALTIES = np.logspace(-8.0, 1.0, 10)  # of the largest eigenvalue of the features' correlation
_LEAST_FREEDOM = 0.05  # of the draws, which cross-validation leaves at least
_OWN_PENALTY = 1e-6  # of a coordinate's few features: no more than rounding asks for


def cross_fitted(operand: Operand, quantities: Floats, kind: FeatureSet) -> Floats:
    """Quantities and their squares, less what features of the other fold's fit explain of them.

    Parameters
    ----------
    operand : Operand
    quantities : ndarray, shape (n, m)
        Functions of the draws. For "own2" and "own4" the coordinates themselves, in their order.
    kind : {"own2", "own4", "diagonal", "pairs"}
        The features.

    Returns
    -------
    ndarray, shape (n, 2 m)
        Whose means estimate those of the quantities under the target, and of their squares.
    """
    fold = np.arange(len(quantities)) * _BLOCKS // len(quantities) % 2
    values = np.hstack([quantities, quantities**2])
    left = values.copy()
    explained = _explained_by_own if kind in ("own2", "own4") else _explained_jointly
    for learn in (0, 1):
        for rows, part in explained(
            operand, values, kind, np.flatnonzero(fold == learn), np.flatnonzero(fold != learn)
        ):
            left[rows] -= part
    return left


def _explained_jointly(
    operand: Operand, values: Floats, kind: FeatureSet, learn: Integers, use: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """What a ridge regression on all features together explains, some rows at a time."""
    assert kind in ("diagonal", "pairs")
    frame, width = Frame.of(operand, learn), width_of(kind, operand.points.shape[1])
    moments = np.zeros((width + 1, width + values.shape[1] + 1))  # of (1, features) with (features, functions, 1)
    squares = np.zeros(values.shape[1])
    for rows in operand.blocks(learn, width):
        require_time("biases were estimated")
        shares = operand.draws.shares[rows]
        features, functions = frame.joint(operand, rows, kind), values[rows]
        left = np.hstack([features, np.ones((len(rows), 1))]) * shares[:, None]
        moments += left.T @ np.hstack([features, functions, np.ones((len(rows), 1))])
        squares += shares @ functions**2
    moments, squares = moments / moments[-1, -1], squares / moments[-1, -1]
    covariance = moments[:-1, :-1] - np.outer(moments[:-1, -1], moments[-1, :-1])
    variances = squares - moments[-1, width:-1] ** 2
    kish = operand.draws.shares[learn].sum() ** 2 / (operand.draws.shares[learn] ** 2).sum()
    coefficients = _ridge(covariance[:, :width], covariance[:, width:], variances, kish)
    for rows in operand.blocks(use, width):
        yield rows, frame.joint(operand, rows, kind) @ coefficients


def _ridge(gram: Floats, cross: Floats, variances: Floats, n: float) -> Floats:
    """Coefficients of a ridge regression whose penalty makes the cross-validated error of each function least.

    Parameters
    ----------
    gram : ndarray, shape (p, p)
        Covariances of the features.
    cross : ndarray, shape (p, m)
        Covariances of features and functions.
    variances : ndarray, shape (m,)
        Of the functions.
    n : float
        Draws behind them; Kish's number of weighted ones.

    Returns
    -------
    ndarray, shape (p, m)
    """
    scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    eigenvalues, axes = np.linalg.eigh(gram / np.outer(scale, scale))
    eigenvalues = np.maximum(eigenvalues, 0.0)
    along = axes.T @ (cross / scale[:, None])
    least, chosen = np.full(len(variances), np.inf), np.zeros(along.shape)
    for penalty in _PENALTIES * (eigenvalues[-1] or 1.0):
        shrunk = eigenvalues + penalty
        residual = variances - ((eigenvalues + 2.0 * penalty) / shrunk**2) @ along**2
        freedom = 1.0 + (eigenvalues / shrunk).sum()
        error = residual / max(1.0 - freedom / n, _LEAST_FREEDOM) ** 2
        better = error < least
        least[better] = error[better]
        chosen[:, better] = (along / shrunk[:, None])[:, better]
    return np.asarray(axes @ chosen / scale[:, None])


def _explained_by_own(
    operand: Operand, values: Floats, kind: FeatureSet, learn: Integers, use: Integers
) -> Iterator[tuple[Integers, Floats]]:
    """What the few features of its own coordinate explain of each coordinate and of its square."""
    assert kind in ("own2", "own4")
    frame, dim = Frame.of(operand, learn), operand.points.shape[1]
    width = width_of(kind, dim)
    shares = operand.draws.shares / operand.draws.shares[learn].sum()
    size = width // dim
    second, first = np.zeros((dim, size, size)), np.zeros((dim, size))
    cross, level = np.zeros((dim, size, 2)), np.zeros((dim, 2))
    for rows in operand.blocks(learn, width):
        require_time("biases were estimated")
        features = frame.own(operand, rows, kind).transpose(1, 0, 2)
        functions = values[rows].reshape(len(rows), 2, dim).transpose(2, 0, 1)
        weighted = (features * shares[rows][None, :, None]).transpose(0, 2, 1)
        second += weighted @ features
        cross += weighted @ functions
        first += weighted.sum(axis=2)
        level += shares[rows] @ functions
    gram = second - first[:, :, None] * first[:, None, :]
    cross -= first[:, :, None] * level[:, None, :]
    scale = np.sqrt(np.maximum(np.einsum("jkk->jk", gram), np.finfo(float).tiny))
    gram = gram / (scale[:, :, None] * scale[:, None, :]) + _OWN_PENALTY * np.eye(size)
    coefficients = np.linalg.solve(gram, cross / scale[:, :, None]) / scale[:, :, None]
    for rows in operand.blocks(use, width):
        parts = frame.own(operand, rows, kind).transpose(1, 0, 2) @ coefficients
        yield rows, parts.transpose(1, 2, 0).reshape(len(rows), 2 * dim)
