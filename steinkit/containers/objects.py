"""Draws in objects of xarray, ArviZ, emcee and PyStan.

The objects are recognized by their attributes.

The draws of a dataset are the variables with the dimension ``draw``, and ``chain`` if there are several chains, or with
the stacked dimension that ``arviz.extract`` makes of both. Other variables are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_unmasked
from steinkit.containers.columns import DIAGNOSTICS
from steinkit.containers.named_draws import Labels, NamedDraws, indexed, positions, row_labels
from steinkit.errors import InputError, did_you_mean, listed
from steinkit.sample import Sample, rectangle

LABELS = "steinkit_labels"
"""Attribute of datasets that steinkit wrote: which of chain and draw are labels of the sample."""
RESERVED = "steinkit_reserved"
"""Attribute of datasets that steinkit wrote: variables that are not parameters."""
STATS = "sample_stats"
"""Group of ArviZ with the sampler's statistics of each draw."""
STATISTICS = ("diverging", "energy")


def is_xarray(draws: Any) -> bool:
    """Return whether an object is an InferenceData, DataTree, Dataset or DataArray."""
    return is_tree(draws) or isinstance(getattr(draws, "data_vars", None), Mapping) or _is_array(draws)


def is_tree(draws: Any) -> bool:
    """Return whether an object is an InferenceData or DataTree, which have groups."""
    return hasattr(draws, "groups") and (callable(draws.groups) or hasattr(draws, "children"))


def _is_array(draws: Any) -> bool:
    return all(hasattr(draws, name) for name in ("dims", "coords", "transpose")) and not hasattr(draws, "data_vars")


def from_xarray(draws: Any, group: str) -> NamedDraws:
    """Return the draws of an InferenceData, DataTree, Dataset or DataArray.

    Raises
    ------
    InputError
        If there is no such group, or no variable with the dimension draw.
    """
    kind = type(draws).__name__
    if is_tree(draws):
        found = from_dataset(_group_of(draws, group), f"group {group} of the {kind}")
        with suppress(InputError):  # without statistics
            found = with_statistics(found, _group_of(draws, STATS)) if group == "posterior" else found
        return found
    if _is_array(draws):
        draws = draws.to_dataset(name="" if draws.name is None else draws.name)
    return from_dataset(draws, f"the {kind}")


def with_statistics(draws: NamedDraws, dataset: Any) -> NamedDraws:
    """Return draws with the divergences and energies of a dataset.

    The draws are unchanged if the dataset has other labels.

    Raises
    ------
    InputError
        If the dataset has no statistics of draws.
    """
    stats = from_dataset(dataset[[name for name in STATISTICS if name in dataset.data_vars]], STATS)
    same = all(np.array_equal(getattr(draws, each), getattr(stats, each)) for each in ("chain", "draw"))
    return replace(draws, divergent=stats.divergent, energy=stats.energy) if same else draws


def from_dataset(dataset: Any, source: str) -> NamedDraws:
    """Return the draws of a Dataset; ``source`` is its name in messages.

    If ``diverging`` has one entry per draw, it and ``energy`` are statistics of a sampler.
    """
    lead = _lead(dataset, source)
    names = [name for name, each in dataset.data_vars.items() if set(lead) <= set(each.dims)]
    shape, chain, draw = _layout(dataset, lead)

    def read(name: str) -> NDArray[Any]:
        array: NDArray[Any] = dataset[name].transpose(*lead, ...).values
        return array.reshape(*shape, *array.shape[len(lead) :])

    given = {str(name): name for name in names}
    reserved = str(dataset.attrs.get(RESERVED, "")).split()
    if "diverging" in names and set(dataset["diverging"].dims) == set(lead):
        reserved += STATISTICS
    extra = {name: read(name).reshape(-1) for name in names if name in reserved}
    kept = str(dataset.attrs.get(LABELS, "chain draw")).split()
    return NamedDraws(
        source=source,
        labels={str(name): _labels(dataset, name, lead) for name in names if name not in extra},
        lead=shape,
        read=lambda name: read(given[name]),
        chain=chain if "chain" in kept else None,
        draw=draw if "draw" in kept else None,
        weights=extra.get("weight"),
        cost=extra.get("cost"),
        divergent=extra.get("divergent__", extra.get("diverging")),
        energy=extra.get("energy__", extra.get("energy")),
        unlabelled=[str(name) for name in names if _is_unlabelled(dataset, name, lead)],
    )


def _group_of(tree: Any, group: str) -> Any:
    """Return a group as a Dataset.

    A DataTree without the group "posterior" may be the posterior itself.
    """
    if callable(tree.groups):
        names = list(tree.groups())
    else:  # xarray gives paths from the root
        own = tree.path.rstrip("/") + "/"
        names = [path.removeprefix(own) for path in tree.groups if path.startswith(own) and path != own]
    if group in names:
        found = tree[group]
        return found.to_dataset() if hasattr(found, "to_dataset") else found
    if group == "posterior" and hasattr(tree, "to_dataset") and tree.to_dataset().data_vars:
        return tree.to_dataset()
    hint = did_you_mean(group, names) or f"; it has {listed(names) or 'none'}: select one with group= (--group)"
    raise InputError(f'the {type(tree).__name__} has no group "{group}"{hint}')


def _lead(dataset: Any, source: str) -> tuple[str, ...]:
    """Return the dimensions of the draws."""
    variables = dataset.data_vars
    options: list[tuple[str, ...]] = [("chain", "draw"), ("draw",)]
    if {"chain", "draw"} <= set(dataset.coords):
        chain, draw = dataset.coords["chain"].dims, dataset.coords["draw"].dims
        if chain == draw and len(draw) == 1:  # stacked by ``arviz.extract``
            options.append(draw)
    for lead in options:
        if any(set(lead) <= set(each.dims) for each in variables.values()):
            return lead
    found = [f"{name}({', '.join(map(str, each.dims))})" for name, each in variables.items()]
    raise InputError(
        f"{source}: expected a variable with the dimension draw, got {listed(found) or 'none'}; rename the dimensions "
        'to draw and chain, for example with .rename({"...": "draw"})'
    )


def _layout(dataset: Any, lead: Sequence[str]) -> tuple[tuple[int, int], Any, Any]:
    """Return the numbers of chains and draws, and the labels of each draw."""
    if len(lead) == 2:
        chains, draws = (np.asarray(dataset[dim].values) for dim in lead)
        return (len(chains), len(draws)), *row_labels(chains, draws)
    if lead[0] == "draw":
        return (1, dataset.sizes["draw"]), None, np.asarray(dataset["draw"].values)
    chain, draw = (np.asarray(dataset[dim].values) for dim in ("chain", "draw"))
    axes = rectangle(chain, draw)
    return (1, len(draw)) if axes is None else (len(axes[0]), len(axes[1])), chain, draw


def _labels(dataset: Any, name: Any, lead: Sequence[str]) -> Labels:
    """Return the labels along a variable's own axes.

    Positions are returned if the labels do not distinguish the entries.
    """
    array = dataset[name]
    own = [dim for dim in array.dims if dim not in lead]
    labels = tuple(_along(dataset, dim) if dim in dataset.coords else positions([array.sizes[dim]])[0] for dim in own)
    names = indexed("", labels)
    return labels if len(set(names)) == len(names) else positions([array.sizes[dim] for dim in own])


def _is_unlabelled(dataset: Any, name: Any, lead: Sequence[str]) -> bool:
    """Return True if a variable's own axes have default coordinates or none.

    The defaults of ArviZ count positions from 0. Their order does not matter.
    """
    own = [dim for dim in dataset[name].dims if dim not in lead]
    counted = positions([dataset.sizes[dim] for dim in own])
    return all(
        dim not in dataset.coords or (dim == f"{name}_dim_{k}" and sorted(_along(dataset, dim)) == sorted(counted[k]))
        for k, dim in enumerate(own)
    )


def _along(dataset: Any, dim: Any) -> tuple[str, ...]:
    labels = tuple(each.decode() if isinstance(each, bytes) else str(each) for each in dataset[dim].values)
    return labels if len(set(labels)) == len(labels) else positions([len(labels)])[0]


def is_ensemble(draws: Any) -> bool:
    """Return whether an object is an EnsembleSampler of emcee or one of its backends."""
    return callable(getattr(draws, "get_chain", None))


def from_ensemble(sampler: Any, names: Sequence[str] | None = None, **kept: int) -> Sample:
    """Return the walkers of an ensemble as chains.

    Parameters
    ----------
    sampler : emcee.EnsembleSampler or a backend of it
    names : sequence of str, optional
        Names of the coordinates. By default those of the sampler.
    **kept
        ``discard`` and ``thin`` of `get_chain`.

    Raises
    ------
    InputError
        If there are no draws.
    """
    kind = type(sampler).__name__
    try:
        given = sampler.get_chain(**kept)
    except AttributeError as error:
        raise InputError(f"the {kind} holds no draws: {error}") from None
    require_unmasked(given, f"draws of the {kind}")
    chain = np.asarray(given)
    if chain.ndim != 3 or not len(chain):
        raise InputError(
            f"expected draws of shape (steps, walkers, d) and at least one step from get_chain() of {kind}, got shape "
            f"{chain.shape}; run the sampler for longer, or reduce discard and thin"
        )
    if names is None:
        found: dict[int, str] = {}
        for name, places in (getattr(sampler, "parameter_names", None) or {}).items():
            found |= dict(zip(np.ravel(places).tolist(), indexed(name, positions(np.shape(places))), strict=True))
        names = [found[k] for k in sorted(found)] if set(found) == set(range(chain.shape[2])) else ()
    return Sample(points=chain.swapaxes(0, 1), names=names)


def is_stan_fit(draws: Any) -> bool:
    """Return whether an object is a fit of PyStan."""
    return all(hasattr(draws, name) for name in ("param_names", "constrained_param_names", "num_chains", "num_warmup"))


def from_stan_fit(fit: Any) -> NamedDraws:
    """Return the draws of a PyStan fit after warm-up.

    Labels count from 1, as in Stan.

    Arrays of a fit have shape (*shape, draws * chains), with the chains interleaved.
    """
    warmup, draws = stan_fit_lengths(fit)
    shapes = {name: tuple(shape) for name, shape in zip(fit.param_names, fit.dims, strict=True)}

    def read(name: str) -> NDArray[Any]:
        values = np.asarray(fit[name]).reshape(*shapes.get(name, ()), -1, fit.num_chains)[..., warmup:, :]
        return np.moveaxis(values, (-1, -2), (0, 1))

    chain, draw = row_labels(range(fit.num_chains), range(draws))
    stats = getattr(fit, "sample_and_sampler_param_names", ())
    return NamedDraws(
        source="the PyStan fit",
        labels={name: tuple(tuple(str(k + 1) for k in range(n)) for n in shape) for name, shape in shapes.items()},
        lead=(fit.num_chains, draws),
        read=read,
        chain=chain,
        draw=draw,
        **{own: read(name).reshape(-1) for name, own in DIAGNOSTICS.items() if name in stats},
    )


def stan_fit_lengths(fit: Any) -> tuple[int, int]:
    """Return the number of warm-up draws and of other draws per chain.

    Only saved warm-up draws are counted.
    """
    return ceil(fit.num_warmup / fit.num_thin) if fit.save_warmup else 0, ceil(fit.num_samples / fit.num_thin)
