"""Draws in the objects of samplers, which keep them in an order of their own: emcee, PyStan and CmdStanPy."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_unmasked
from steinkit.containers.named_draws import NamedDraws, row_labels
from steinkit.containers.variables import indexed, positions
from steinkit.errors import InputError
from steinkit.sample import Sample


def is_ensemble(draws: Any) -> bool:
    """Whether an object is emcee's EnsembleSampler or one of its backends."""
    return callable(getattr(draws, "get_chain", None))


def from_ensemble(sampler: Any) -> Sample:
    """The walkers of an ensemble as chains: emcee keeps them in an array (steps, walkers, d).

    Raises
    ------
    InputError
        If nothing was sampled.
    """
    try:
        given = sampler.get_chain()
    except AttributeError as error:
        raise InputError(f"the {type(sampler).__name__} holds no draws: {error}") from None
    require_unmasked(given, f"draws of the {type(sampler).__name__}")
    chain = np.asarray(given)
    if chain.ndim != 3:
        raise InputError(
            f"get_chain() of {type(sampler).__name__} gave shape {chain.shape}; (steps, walkers, d) is wanted"
        )
    return Sample(points=chain.swapaxes(0, 1), names=ensemble_names(sampler, chain.shape[2]))


def ensemble_names(sampler: Any, dim: int) -> tuple[str, ...]:
    """Names of the d coordinates by the sampler's `parameter_names`; none unless every coordinate has one."""
    given = getattr(sampler, "parameter_names", None)  # a dict of one index or several
    found: dict[int, str] = {}
    for name, places in given.items() if isinstance(given, dict) else ():
        if np.ndim(places):
            found |= dict(zip(map(int, places), indexed(name, positions([len(places)])), strict=True))
        else:
            found[int(places)] = name
    return tuple(found[k] for k in range(dim)) if sorted(found) == list(range(dim)) else ()


def is_stan_fit(draws: Any) -> bool:
    """Whether an object is PyStan's fit, a mapping of arrays whose last axis holds the chains' draws in turns."""
    return all(hasattr(draws, name) for name in ("param_names", "constrained_param_names", "num_chains", "num_warmup"))


def from_stan_fit(fit: Any) -> NamedDraws:
    """The draws of PyStan's fit, warm-up left out; its axes are labelled from 1, as Stan counts."""
    warmup, draws = stan_fit_lengths(fit)
    shapes = {name: tuple(shape) for name, shape in zip(fit.param_names, fit.dims, strict=True)}

    def read(name: str) -> NDArray[Any]:
        values = np.asarray(fit[name]).reshape(*shapes[name], -1, fit.num_chains)[..., warmup:, :]
        return np.moveaxis(values, (-1, -2), (0, 1))

    chain, draw = row_labels(range(fit.num_chains), range(draws))
    return NamedDraws(
        source="PyStan's fit",
        labels={
            name: tuple(tuple(str(int(label) + 1) for label in axis) for axis in positions(shape))
            for name, shape in shapes.items()
        },
        lead=(fit.num_chains, draws),
        read=read,
        chain=chain,
        draw=draw,
    )


def stan_fit_lengths(fit: Any) -> tuple[int, int]:
    """How many draws of each chain PyStan's fit keeps of warm-up, and how many after it."""
    return ceil(fit.num_warmup / fit.num_thin) if fit.save_warmup else 0, ceil(fit.num_samples / fit.num_thin)


def is_cmdstan_fit(draws: Any) -> bool:
    """Whether an object is CmdStanPy's fit."""
    return callable(getattr(draws, "draws", None)) and hasattr(draws, "column_names")


def from_cmdstan_fit(fit: Any) -> Sample:
    """The draws of CmdStanPy's fit, (draws, chains, columns), under the names that its CSV files have here."""
    names = tuple(fit.column_names)
    kept = [k for k, name in enumerate(names) if not name.endswith("__")]
    values = np.asarray(fit.draws())
    if values.ndim != 3:
        raise InputError(f"draws() of {type(fit).__name__} gave shape {values.shape}; hand over draws of MCMC")
    return Sample(points=values[..., kept].swapaxes(0, 1), names=tuple(names[k] for k in kept))
