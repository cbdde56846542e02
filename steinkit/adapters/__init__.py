"""Conversion of other packages' models and draws to targets and samples.

There is one module per package. Each module obtains the free parameters of a model, their transforms to unconstrained
space (`Parameter`), and the log density in that space with its gradient. The log density includes log |J| of the
transforms. The module builds a `Model` from them. The method `Model.bind` reads draws by the names of the parameters,
transforms them as the model does, and compares the score with finite differences at some draws.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steinkit.adapters.model import Model


def as_model(found: Any) -> Model | None:
    """Return a model of a supported package as a `Model`, without importing it.

    Parameters
    ----------
    found : object
        A PyMC model, a NumPyro model without required arguments, or an object with the methods of BridgeStan's models.

    Returns
    -------
    Model or None
        The model, or None for other objects.
    """
    pymc = sys.modules.get("pymc")
    if pymc is not None and isinstance(found, pymc.Model):
        from steinkit.adapters.pymc import pymc_model

        return pymc_model(found)
    if isinstance(found, type):
        return None
    from steinkit.adapters.stan import bridgestan_model, is_bridgestan

    if is_bridgestan(found):
        return bridgestan_model(found)
    if "numpyro" in sys.modules and callable(found):
        from steinkit.adapters.jax import has_sites, numpyro_model

        if has_sites(found):  # this runs it once
            return numpyro_model(found)
    return None
