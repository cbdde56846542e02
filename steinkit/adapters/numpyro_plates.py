"""Plates of a NumPyro model: over all data, and as the data of a `Posterior`.

A plate of N data with a ``subsample_size`` scales the likelihood of b of them by N / b. A model that indexes its data
by the plate's indices can be asked for any of them: here for all, or for the likelihood of a batch without the scale.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.errors import imported
from steinkit.jax_functions import jax_module, vectorised
from steinkit.posterior import Posterior
from steinkit.target import Target


@dataclass(frozen=True)
class Plate:
    """A plate of observed sites only, with a subsample.

    Attributes
    ----------
    name : str
    size : int
        Number of data N.
    dims : dict of str to int
        Its place among the batch dimensions, counted from the last, of every observed site in it.
    """

    name: str
    size: int
    dims: Mapping[str, int]


def with_plates(model: Callable[..., Any], indices: Mapping[str, Any]) -> Callable[..., Any]:
    """The model with these indices in some of its plates, and all of them in the others."""
    handlers = imported("numpyro.handlers", "NumPyro", "numpyro")
    jnp = jax_module().numpy

    def given(site: Mapping[str, Any]) -> Any:
        if site["type"] != "plate":
            return None
        return indices[site["name"]] if site["name"] in indices else jnp.arange(site["args"][0])

    def substituted(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "subsample_size does not match")  # that is what is wanted here
            return handlers.substitute(model, substitute_fn=given)(*args, **kwargs)

    return substituted


def likelihood_plate(trace: Mapping[str, Any]) -> Plate | None:
    """The plate that tells data from prior: the only one with a subsample, observed sites and no latent ones in it."""
    plates = [site for site in trace.values() if site["type"] == "plate"]
    subsampled = [site for site in plates if site["args"][1] is not None and site["args"][1] < site["args"][0]]
    if len(subsampled) != 1:
        return None
    name, size = subsampled[0]["name"], int(subsampled[0]["args"][0])
    dims = {}
    for site in trace.values():
        frame = next((each for each in site.get("cond_indep_stack", ()) if each.name == name), None)
        if site["type"] == "sample" and frame is not None:
            if not site["is_observed"]:
                return None
            dims[site["name"]] = frame.dim
    return Plate(name, size, dims) if dims else None


def posterior_of_plate(
    plate: Plate,
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    position: Callable[[Any], dict[str, Any]],
    names: tuple[str, ...],
    label: str,
) -> Target:
    """The posterior whose data are the plate's indices, and whose prior is all that stands outside of the plate."""
    handlers = imported("numpyro.handlers", "NumPyro", "numpyro")
    util = imported("numpyro.infer.util", "NumPyro", "numpyro")
    jax = jax_module()
    outside = handlers.block(model, hide=list(plate.dims))

    def log_prior(vector: Any) -> Any:
        return -util.potential_energy(outside, args, kwargs, position(vector))

    def terms(vector: Any, indices: Any) -> Any:
        values = util.constrain_fn(outside, args, kwargs, position(vector))
        batch = handlers.substitute(with_plates(model, {plate.name: indices}), data=values)
        trace = handlers.trace(batch).get_trace(*args, **kwargs)
        return sum(_terms_of(trace[name], dim, plate.size / len(indices)) for name, dim in plate.dims.items())

    def total(vector: Any, indices: Any) -> Any:
        return terms(vector, indices).sum()

    many, grad_many = vectorised(terms), vectorised(jax.grad(total))
    return Posterior(
        data=(np.arange(plate.size),),
        log_likelihood=lambda theta, indices: many(theta[None], indices[None])[0],
        grad_log_likelihood=lambda theta, indices: grad_many(theta[None], indices[None])[0],
        log_prior=vectorised(log_prior),
        grad_log_prior=vectorised(jax.grad(log_prior)),
        log_likelihood_many=many,
        grad_log_likelihood_many=grad_many,
        names=names,
        label=label,
    )


def _terms_of(site: Mapping[str, Any], dim: int, scale: float) -> Any:
    """Log likelihood of each datum of a batch at an observed site, without the scale that the plate puts on it."""
    jnp = jax_module().numpy
    values = site["fn"].log_prob(site["value"])
    if site["scale"] is not None:
        values = values * (site["scale"] / scale)
    values = jnp.moveaxis(values, dim, 0)
    return values.reshape(len(values), -1).sum(axis=1)
