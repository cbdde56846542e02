"""Small data sets for examples and built-in targets; sources and licences stand in README.md beside them."""

from __future__ import annotations

from importlib import resources

import numpy as np
from numpy.typing import NDArray

from steinkit.files.csv_format import read_table


def load_nodal() -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[str, ...]]:
    """Nodal involvement of 53 patients with prostate cancer.

    Returns
    -------
    features : ndarray, shape (53, 6)
        A column of ones and five indicators.
    responses : ndarray, shape (53,)
        1 where the lymph nodes were involved, 0 where not.
    names : tuple of str
        Names of the features: m (the ones), aged, stage, grade, xray, acid.
    """
    names, table = _bundled("nodal.csv")
    response = names.index("r")
    kept = [column for column in range(len(names)) if column != response]
    return table[:, kept], table[:, response], tuple(names[column] for column in kept)


def load_mixture_data() -> NDArray[np.float64]:
    """One hundred draws from 1/2 N(0, 2) + 1/2 N(1, 2) (variances), shape (100,)."""
    return _bundled("gmm100.csv")[1][:, 0]


def _bundled(name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    with resources.as_file(resources.files(__name__) / name) as path:
        return read_table(path)
