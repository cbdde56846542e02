"""Draws in the objects of other packages: xarray's and ArviZ's, and those of emcee, PyStan and CmdStanPy.

Draws are what has the dimension ``draw``, with ``chain`` where there are several chains, or what ``arviz.extract``
stacked of the two. Everything else of a dataset is left alone. xarray itself is not imported.
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

# Attributes of datasets that steinkit wrote: which of chain and draw the sample itself had, and which variables are
# no parameters.
LABELS = "steinkit_labels"
RESERVED = "steinkit_reserved"

STATS = "sample_stats"  # ArviZ's group of what a sampler says of each draw
STATISTICS = ("diverging", "energy")


def is_xarray(draws: Any) -> bool:
    """Whether an object is an InferenceData, DataTree, Dataset or DataArray."""
    return is_tree(draws) or isinstance(getattr(draws, "data_vars", None), Mapping) or _is_array(draws)


def is_tree(draws: Any) -> bool:
    """Whether an object is an InferenceData or DataTree, with groups."""
    return hasattr(draws, "groups") and (callable(draws.groups) or hasattr(draws, "children"))


def from_xarray(draws: Any, group: str) -> NamedDraws:
    """The draws of an InferenceData, DataTree, Dataset or DataArray.

    Raises
    ------
    InputError
        If it has no such group, or nothing in it has the dimension draw.
    """
    kind = type(draws).__name__
    if is_tree(draws):
        found = from_dataset(_group_of(draws, group), f"group {group} of the {kind}")
        with suppress(InputError):  # where there are no statistics
            found = with_statistics(found, _group_of(draws, STATS)) if group == "posterior" else found
        return found
    if _is_array(draws):
        draws = _as_dataset(draws)
    return from_dataset(draws, f"the {kind}")


def with_statistics(draws: NamedDraws, dataset: Any) -> NamedDraws:
    """Return draws with the divergences and energies that a sampler's statistics have, where they are of these draws.

    Raises
    ------
    InputError
        If the dataset has no statistics of draws.
    """
    stats = from_dataset(dataset[[name for name in STATISTICS if name in dataset.data_vars]], STATS)
    same = all(np.array_equal(getattr(draws, each), getattr(stats, each)) for each in ("chain", "draw"))
    return replace(draws, divergent=stats.divergent, energy=stats.energy) if same else draws


def from_dataset(dataset: Any, source: str) -> NamedDraws:
    """Return the draws of a Dataset, of the name ``source`` in messages.

    Where a variable ``diverging`` has one entry a draw, it and ``energy`` are a sampler's statistics.
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
    beside = {name: read(name).reshape(-1) for name in names if name in reserved}
    kept = str(dataset.attrs.get(LABELS, "chain draw")).split()
    return NamedDraws(
        source=source,
        labels={str(name): _labels(dataset, name, lead) for name in names if name not in beside},
        lead=shape,
        read=lambda name: read(given[name]),
        chain=chain if "chain" in kept else None,
        draw=draw if "draw" in kept else None,
        weights=beside.get("weight"),
        cost=beside.get("cost"),
        divergent=beside.get("divergent__", beside.get("diverging")),
        energy=beside.get("energy__", beside.get("energy")),
        unlabelled=[str(name) for name in names if _is_unlabelled(dataset, name, lead)],
    )


def _is_array(draws: Any) -> bool:
    return all(hasattr(draws, name) for name in ("dims", "coords", "transpose")) and not hasattr(draws, "data_vars")


def _group_of(tree: Any, group: str) -> Any:
    names = list(tree.groups()) if callable(tree.groups) else _below(tree)
    kind = type(tree).__name__
    if group in names:
        found = tree[group]
        return found.to_dataset() if hasattr(found, "to_dataset") else found
    own = tree.to_dataset() if hasattr(tree, "to_dataset") else None
    if group == "posterior" and own is not None and own.data_vars:
        return own  # the posterior of a tree is a tree, too
    hint = did_you_mean(group, names) or f"; it has {listed(names) or 'none'}: name one with group= (--group)"
    raise InputError(f'the {kind} has no group "{group}"{hint}')


def _below(tree: Any) -> list[str]:
    """Paths of the groups of a DataTree, from itself on; xarray gives them from the root on."""
    own = tree.path.rstrip("/") + "/"
    return [path.removeprefix(own) for path in tree.groups if path.startswith(own) and path != own]


def _as_dataset(array: Any) -> Any:
    if "draw" not in array.dims and not _is_stacked(array):
        raise InputError(
            f"the DataArray has the dimensions {listed(list(map(str, array.dims))) or 'none'}, and no dimension draw; "
            'say which one counts the draws, array.rename({"...": "draw"}), and which the chains if there are several'
        )
    name = "" if array.name is None else array.name
    return array.to_dataset(name=name)


def _lead(dataset: Any, source: str) -> tuple[str, ...]:
    """The dimensions that run over the draws."""
    variables = dataset.data_vars
    options: list[tuple[str, ...]] = [("chain", "draw"), ("draw",)]
    if _is_stacked(dataset):
        options.append(dataset["draw"].dims)
    for lead in options:
        if any(set(lead) <= set(each.dims) for each in variables.values()):
            return lead
    found = [f"{name}({', '.join(map(str, each.dims))})" for name, each in variables.items()]
    raise InputError(
        f"{source} holds no variable with the dimensions chain and draw, nor with draw alone; it holds "
        f"{listed(found) or 'nothing'}: rename the dimensions"
    )


def _is_stacked(holder: Any) -> bool:
    """Whether chain and draw are both labels along one dimension, as ``arviz.extract`` makes it."""
    if not {"chain", "draw"} <= set(holder.coords):
        return False
    chain, draw = holder.coords["chain"].dims, holder.coords["draw"].dims
    return chain == draw and len(draw) == 1 and draw[0] not in ("chain", "draw")


def _layout(dataset: Any, lead: Sequence[str]) -> tuple[tuple[int, int], Any, Any]:
    """Numbers of chains and draws, and the labels of each draw."""
    if len(lead) == 2:
        chains, draws = (np.asarray(dataset[dim].values) for dim in lead)
        return (len(chains), len(draws)), *row_labels(chains, draws)
    if lead[0] == "draw":
        return (1, dataset.sizes["draw"]), None, np.asarray(dataset["draw"].values)
    chain, draw = (np.asarray(dataset[dim].values) for dim in ("chain", "draw"))
    axes = rectangle(chain, draw)
    return (1, len(draw)) if axes is None else (len(axes[0]), len(axes[1])), chain, draw


def _labels(dataset: Any, name: Any, lead: Sequence[str]) -> Labels:
    """The labels along a variable's own axes; positions where they do not tell its entries apart."""
    array = dataset[name]
    own = [dim for dim in array.dims if dim not in lead]
    labels = tuple(_along(dataset, dim) if dim in dataset.coords else positions([array.sizes[dim]])[0] for dim in own)
    names = indexed("", labels)
    return labels if len(set(names)) == len(names) else positions([array.sizes[dim] for dim in own])


def _is_unlabelled(dataset: Any, name: Any, lead: Sequence[str]) -> bool:
    """Whether nobody labelled a variable's own axes: they have no coordinates, or those that ArviZ counts by itself.

    Where these stand in another order, somebody put them into it since: they still count positions.
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
    """Whether an object is emcee's EnsembleSampler or one of its backends."""
    return callable(getattr(draws, "get_chain", None))


def from_ensemble(sampler: Any, names: Sequence[str] | None = None, **kept: int) -> Sample:
    """The walkers of an ensemble as chains: emcee keeps them in an array (steps, walkers, d).

    Parameters
    ----------
    sampler : emcee.EnsembleSampler or a backend of it
    names : sequence of str, optional
        Of the coordinates; the sampler's own if not given.
    **kept
        ``discard`` and ``thin`` of `get_chain`.

    Raises
    ------
    InputError
        If nothing was sampled.
    """
    try:
        given = sampler.get_chain(**kept)
    except AttributeError as error:
        raise InputError(f"the {type(sampler).__name__} holds no draws: {error}") from None
    require_unmasked(given, f"draws of the {type(sampler).__name__}")
    chain = np.asarray(given)
    if chain.ndim != 3 or not len(chain):
        raise InputError(
            f"get_chain() of {type(sampler).__name__} gave shape {chain.shape}; (steps, walkers, d) is wanted, and at "
            "least one step: run it for longer, or discard and thin less"
        )
    called = _ensemble_names(sampler, chain.shape[2]) if names is None else names
    return Sample(points=chain.swapaxes(0, 1), names=called)


def _ensemble_names(sampler: Any, dim: int) -> tuple[str, ...]:
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
    stats = getattr(fit, "sample_and_sampler_param_names", ())
    shapes = {name: tuple(shape) for name, shape in zip(fit.param_names, fit.dims, strict=True)}

    def read(name: str) -> NDArray[Any]:
        values = np.asarray(fit[name]).reshape(*shapes.get(name, ()), -1, fit.num_chains)[..., warmup:, :]
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
        **{own: read(name).reshape(-1) for name, own in DIAGNOSTICS.items() if name in stats},
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
    beside = {own: values[..., names.index(name)].T for name, own in DIAGNOSTICS.items() if name in names}
    return Sample(points=values[..., kept].swapaxes(0, 1), names=tuple(names[k] for k in kept), **beside)
