"""Which package an object of a user's file belongs to, found out without importing that package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from steinkit.adapters.model import Model


def as_model(found: Any) -> Model | None:
    """The model that an object is, if it is one of a package with an adapter.

    Parameters
    ----------
    found : object
        A PyMC model; a NumPyro model, a function that needs no arguments; an object with the methods of BridgeStan's
        models. Others give None.

    Returns
    -------
    Model or None
    """
    for is_one, convert in _KINDS:
        if is_one(found):
            return convert(found)
    return None


def _is_pymc(found: Any) -> bool:
    pymc = sys.modules.get("pymc")
    return pymc is not None and isinstance(found, pymc.Model)


def _from_pymc(found: Any) -> Model:
    from steinkit.adapters.pymc import pymc_model

    return pymc_model(found)


def _is_bridgestan(found: Any) -> bool:
    from steinkit.adapters.bridgestan import is_bridgestan

    return not isinstance(found, type) and is_bridgestan(found)


def _from_bridgestan(found: Any) -> Model:
    from steinkit.adapters.bridgestan import bridgestan_model

    return bridgestan_model(found)


def _is_numpyro(found: Any) -> bool:
    """Whether a function samples sites when it is run: asked only of functions in a program that uses NumPyro."""
    if "numpyro" not in sys.modules or not callable(found) or isinstance(found, type):
        return False
    from steinkit.adapters.numpyro import has_sites

    return has_sites(found)


def _from_numpyro(found: Any) -> Model:
    from steinkit.adapters.numpyro import numpyro_model

    return numpyro_model(found)


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Model]], ...] = (
    (_is_pymc, _from_pymc),
    (_is_bridgestan, _from_bridgestan),
    (_is_numpyro, _from_numpyro),
)
