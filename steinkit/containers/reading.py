"""Which container an object is, without importing the packages that make them, and the draws in it by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinkit.containers.variables import Variable, positions
from steinkit.errors import InputError


def read_variables(
    draws: Any, *, group: str = "posterior", shapes: Mapping[str, tuple[int, ...]] | None = None
) -> dict[str, Variable]:
    """Draws by the names of their parameters.

    Parameters
    ----------
    draws : InferenceData, DataTree, Dataset, dict of arrays, data frame, or Sample
        A sample's or data frame's columns ``theta[a]``, ``theta[b]`` are one parameter.
    group : str
        Which group of an InferenceData or DataTree.
    shapes : dict of str to tuple of int, optional
        Shape of one draw of the parameters that a model has: what tells in a dict of arrays whether (100, 4, 8) are
        draws of one chain or of 100.

    Returns
    -------
    dict of str to Variable
        In the container's order, all with the same chains and draws.

    Raises
    ------
    InputError
        If it holds no draws, or cannot be read by name.
    """
    if hasattr(draws, "groups") and group in draws:
        draws = draws[group]
    if hasattr(draws, "to_dataset"):
        draws = draws.to_dataset()
    if hasattr(draws, "data_vars"):
        found = {}
        for name, array in draws.data_vars.items():
            if {"chain", "draw"} <= set(array.dims):
                array = array.transpose("chain", "draw", ...)
                labels = tuple(tuple(map(str, array[dim].values)) for dim in array.dims[2:])
                found[str(name)] = Variable(str(name), array.values, labels)
        return found
    if isinstance(draws, Mapping):
        found = {}
        for name, values in draws.items():
            array = np.asarray(values)
            own = (shapes or {}).get(name)
            if own is None or array.ndim != len(own) + 2:
                array = array[None]
            found[name] = Variable(name, array, positions(array.shape[2:]))
        return found
    raise InputError(f"draws by name are wanted; received {type(draws).__name__}")
