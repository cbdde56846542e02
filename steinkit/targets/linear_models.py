"""Regressions: posteriors whose data depend on the parameters through linear predictors, eta_i = x_i'theta."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats
from steinkit.targets.family import PosteriorFamily
from steinkit.targets.parameters import as_finite


class LinearModel(PosteriorFamily):
    """Posterior of the coefficients theta of a regression, given features (N, d) and responses (N,).

    The gradient of the log likelihood is lambda sum_i pull_i x_i, lambda being `precision`.
    """

    precision: float = 1.0

    @abstractmethod
    def _terms(self, predictors: Floats, responses: Floats) -> Floats:
        """Log likelihoods of data with these linear predictors."""

    @abstractmethod
    def _pulls(self, predictors: Floats, responses: Floats) -> Floats:
        """Derivatives of the log likelihoods by the predictors, over lambda."""

    def _log_likelihood(self, theta: Floats, features: Floats, responses: Floats) -> Floats:
        return self._terms(features @ theta, responses)

    def _log_likelihood_many(self, thetas: Floats, features: Floats, responses: Floats) -> Floats:
        return self._terms(_linear_predictors(thetas, features), responses)

    def _grad_log_likelihood(self, theta: Floats, features: Floats, responses: Floats) -> Floats:
        return np.asarray(self.precision * (self._pulls(features @ theta, responses) @ features), dtype=np.float64)

    def _grad_log_likelihood_many(self, thetas: Floats, features: Floats, responses: Floats) -> Floats:
        pulls = self._pulls(_linear_predictors(thetas, features), responses)
        return np.asarray(self.precision * _weighted_feature_sums(pulls, features), dtype=np.float64)


def as_features(features: ArrayLike) -> Floats:
    """Features as an array (N, d) of finite numbers."""
    x = as_finite(features, "features")
    if x.ndim != 2:
        raise UsageError(f"features must have shape (N, d), one row a datum; received {x.shape}")
    return x


def require_responses(responses: Floats, size: int) -> Floats:
    """Raise UsageError unless there is one response for each datum."""
    if responses.shape != (size,):
        raise UsageError(
            f"responses must have shape ({size},), one for each row of features; received {responses.shape}"
        )
    return responses


def regression_table(path: str | Path, response: str, intercept: bool) -> tuple[Floats, Floats, list[str]]:
    """Read the data of a regression of one column of a CSV file on all others.

    Parameters
    ----------
    path : str or Path
        A CSV file whose header names its columns, all of them numeric.
    response : str
        Name of the column of responses.
    intercept : bool
        Put a column of ones, named ``intercept``, before the features.

    Returns
    -------
    features : ndarray, shape (N, d)
    responses : ndarray, shape (N,)
    names : list of str
        Names of the features.

    Raises
    ------
    InputError
        If the file cannot be read, a cell is not a number (file, line and column are named), or no feature is left.
    UsageError
        If no column has the name of the response.
    """
    from steinkit.files.csv_format import read_table

    columns, table = read_table(path)
    if response not in columns:
        hint = did_you_mean(response, columns)
        raise UsageError(f"{path} has no column {response!r}{hint}; its columns are {', '.join(columns)}")
    names = [name for name in columns if name != response]
    if not names and not intercept:
        raise InputError(f"{path} holds the response {response!r} only; add columns of features or intercept=True")
    features = table[:, [columns.index(name) for name in names]]
    if intercept:
        names = ["intercept", *names]
        features = np.column_stack([np.ones(len(table)), features])
    return features, table[:, columns.index(response)], names


def _linear_predictors(thetas: Floats, features: Floats) -> Floats:
    """Products x'theta for each datum of each batch: (K, d), (K, b, d) -> (K, b)."""
    if _is_shared(features):
        return np.asarray(thetas @ features[0].T, dtype=np.float64)
    return np.asarray((features @ thetas[:, :, None])[:, :, 0], dtype=np.float64)


def _weighted_feature_sums(weights: Floats, features: Floats) -> Floats:
    """Sums of weight times features over the data of each batch: (K, b), (K, b, d) -> (K, d)."""
    if _is_shared(features):
        return np.asarray(weights @ features[0], dtype=np.float64)
    return np.asarray((weights[:, None, :] @ features)[:, 0], dtype=np.float64)


def _is_shared(batches: Floats) -> bool:
    """Whether all parameters share one batch (a broadcast): one matrix product then serves them all."""
    return batches.strides[0] == 0
