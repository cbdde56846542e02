"""What regressions share: features and responses from a file, and linear predictors of many parameters."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats


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


def linear_predictors(thetas: Floats, features: Floats) -> Floats:
    """Products x'theta for each datum of each batch: (K, d), (K, b, d) -> (K, b)."""
    if is_shared(features):
        return np.asarray(thetas @ features[0].T, dtype=np.float64)
    return np.asarray((features @ thetas[:, :, None])[:, :, 0], dtype=np.float64)


def weighted_feature_sums(weights: Floats, features: Floats) -> Floats:
    """Sums of weight times features over the data of each batch: (K, b), (K, b, d) -> (K, d)."""
    if is_shared(features):
        return np.asarray(weights @ features[0], dtype=np.float64)
    return np.asarray((weights[:, None, :] @ features)[:, 0], dtype=np.float64)


def is_shared(batches: Floats) -> bool:
    """Whether all parameters share one batch (a broadcast): one matrix product then serves them all."""
    return batches.strides[0] == 0
