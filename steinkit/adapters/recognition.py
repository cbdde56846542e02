"""Which package an object of a user's file belongs to, found out without importing that package."""

from __future__ import annotations

import sys
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
    pymc = sys.modules.get("pymc")
    if pymc is not None and isinstance(found, pymc.Model):
        from steinkit.adapters.pymc import pymc_model

        return pymc_model(found)
    if isinstance(found, type):
        return None
    from steinkit.adapters.bridgestan import bridgestan_model, is_bridgestan

    if is_bridgestan(found):
        return bridgestan_model(found)
    if "numpyro" in sys.modules and callable(found):
        from steinkit.adapters.numpyro import has_sites, numpyro_model

        if has_sites(found):  # run once, it samples something
            return numpyro_model(found)
    return None
