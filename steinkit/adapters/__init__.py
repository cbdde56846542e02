"""Conversion of models and draws from other packages to targets and samples.

There is one module per package. Each module obtains the free parameters of a model, their transforms to unconstrained
space (`Parameter`), the log density in that space and the gradient of the log density. The log density includes the log
|J| term of the transforms. The module combines these components in a `Model`. The method `Model.bind` reads draws by
parameter name, applies the transforms of the model, and compares the score with finite differences at a subset of the
draws.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steinkit.adapters.model import Model


def as_model(found: Any) -> Model | None:
    """Convert a model from another package without importing that package.

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
