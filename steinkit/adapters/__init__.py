"""Models and draws of other packages as a target and a sample, one package a file.

Every file does the same in the same order. It asks the model which parameters are free and how each is transformed to
an unconstrained space (`Parameter`), takes from the model its log density there, log |J| of the transforms included,
with that density's gradient, and hands these to a `Model`. `Model.bind` then reads draws by the parameters' names,
transforms them as the model does, and compares the score with finite differences at some of them.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steinkit.adapters.model import Model


def as_model(found: Any) -> Model | None:
    """The model that an object is, if it is one of a package with an adapter, which is not imported to find out.

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
    from steinkit.adapters.stan import bridgestan_model, is_bridgestan

    if is_bridgestan(found):
        return bridgestan_model(found)
    if "numpyro" in sys.modules and callable(found):
        from steinkit.adapters.jax import has_sites, numpyro_model

        if has_sites(found):  # run once, it samples something
            return numpyro_model(found)
    return None
