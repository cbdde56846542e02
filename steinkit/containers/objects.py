"""Conversion of xarray, ArviZ, emcee and PyStan objects.

Objects are recognized by their attributes. The parameters in a dataset are the variables with the dimensions ``chain``
and ``draw``, with only ``draw``, or with the stacked dimension that ``arviz.extract`` creates from both. Other
variables are ignored.
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
from steinkit.containers.columns import DIAGNOSTICS, PER_DRAW_COLUMNS
from steinkit.containers.named_draws import Labels, NamedDraws, indexed, positions, row_labels
from steinkit.errors import InputError, did_you_mean, quoted
from steinkit.sample import Sample, rectangle

LABELS_MARK = "steinkit_labels"
"""Dataset attribute, written by steinkit, that lists the labels (chain, draw)."""
PER_DRAW_MARK = "steinkit_reserved"
"""Dataset attribute, written by steinkit, that lists the non-parameter variables."""
_POSTERIOR, _STATS = "posterior", "sample_stats"
_STATISTICS = {"diverging": "divergent", "energy": "energy", "tree_depth": "tree_depth"}
"""ArviZ's sampler statistics and the corresponding attributes of `Sample`."""


def is_xarray(draws: Any) -> bool:
    """Return True for an InferenceData, DataTree, Dataset or DataArray."""
    return is_tree(draws) or isinstance(getattr(draws, "data_vars", None), Mapping) or _is_array(draws)


def is_tree(draws: Any) -> bool:
    """Return True for an object with groups (InferenceData or DataTree)."""
    return hasattr(draws, "groups") and (callable(draws.groups) or hasattr(draws, "children"))


def _is_array(draws: Any) -> bool:
    return all(hasattr(draws, name) for name in ("dims", "coords", "transpose")) and not hasattr(draws, "data_vars")


def from_xarray(draws: Any, group: str) -> NamedDraws:
    """Return the draws of an InferenceData, DataTree, Dataset or DataArray.

    Raises
    ------
    InputError
        If there is no such group, or no variable with the dimension ``draw``.
    """
    source = f"the {type(draws).__name__}"
    if is_tree(draws):
        return from_groups(_groups(draws), group, source)
    if _is_array(draws):
        draws = draws.to_dataset(name="" if draws.name is None else draws.name)
    return from_dataset(draws, source)


def _groups(tree: Any) -> dict[str, Any]:
    """Return the datasets of an InferenceData or DataTree, keyed by path.

    The path of the root is empty.
    """
    if callable(tree.groups):
        return {name: tree[name] for name in tree.groups()}
    return {node.path.removeprefix(tree.path).strip("/"): node.to_dataset() for node in tree.subtree}


def from_groups(groups: Mapping[str, Any], group: str, source: str) -> NamedDraws:
    """Return the draws in a group, with sampler statistics for a posterior group.

    Parameters
    ----------
    groups : dict of str to Dataset
        Datasets of the groups. The name of the root group is empty, and the root group may be the posterior itself.
    group : str
    source : str
        Name of the object or file that contains the groups, for messages.

    Raises
    ------
    InputError
        If there is no such group, or no variable with the dimension ``draw``.
    """
    if group == _POSTERIOR and group not in groups and "" in groups and groups[""].data_vars:
        return from_dataset(groups[""], source)
    if group not in groups:
        names = [name for name in groups if name]
        hint = did_you_mean(group, names) or f"; groups: {quoted(names) or 'none'}; select one with group= (--group)"
        raise InputError(f'{source} has no group "{group}"{hint}')
    draws = from_dataset(groups[group], f"group {group} of {source}")
    if group == _POSTERIOR and _STATS in groups:
        with suppress(InputError):  # the group contains no statistics for individual draws
            names = [name for name in _STATISTICS if name in groups[_STATS].data_vars]
            stats = from_dataset(groups[_STATS][names], _STATS)
            if all(np.array_equal(getattr(draws, each), getattr(stats, each)) for each in ("chain", "draw")):
                return replace(draws, per_draw={**draws.per_draw, **stats.per_draw})
    return draws


def from_dataset(dataset: Any, source: str) -> NamedDraws:
    """Return the draws in a Dataset.

    Messages refer to the dataset as ``source``. If the variable ``diverging`` has one entry per draw, ``diverging``,
    ``energy`` and ``tree_depth`` are treated as sampler statistics.
    """
    lead = _lead(dataset, source)
    names = [name for name, each in dataset.data_vars.items() if set(lead) <= set(each.dims)]
    shape, chain, draw = _layout(dataset, lead)

    def read(name: Any) -> NDArray[Any]:
        array: NDArray[Any] = dataset[name].transpose(*lead, ...).values
        return array.reshape(*shape, *array.shape[len(lead) :])

    marked = dataset.attrs.get(PER_DRAW_MARK)
    fields = {name: own for name, own in PER_DRAW_COLUMNS.items() if name in str(marked).split()}
    if marked is None and "diverging" in names and set(dataset["diverging"].dims) == set(lead):
        fields |= _STATISTICS
    given = {str(name): name for name in names if name not in fields}
    kept = str(dataset.attrs.get(LABELS_MARK, "chain draw")).split()
    return NamedDraws(
        source=source,
        labels={name: _labels(dataset, own, lead) for name, own in given.items()},
        lead=shape,
        read=lambda name: read(given[name]),
        chain=chain if "chain" in kept else None,
        draw=draw if "draw" in kept else None,
        per_draw={own: read(name).reshape(-1) for name, own in fields.items() if name in names},
        unlabelled=[name for name, own in given.items() if _is_unlabelled(dataset, own, lead)],
    )


def _lead(dataset: Any, source: str) -> tuple[str, ...]:
    """Return the names of the dimensions that index the draws."""
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
        f"{source}: expected a variable with the dimension draw, got {quoted(found) or 'none'}; rename the dimensions "
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
    """Return the labels along all axes of a variable except chain and draw.

    If the labels do not distinguish the entries, positions are returned instead.
    """
    own = [dim for dim in dataset[name].dims if dim not in lead]
    labels = tuple(_along(dataset, dim) for dim in own)
    names = indexed("", labels)
    return labels if len(set(names)) == len(names) else positions([dataset.sizes[dim] for dim in own])


def _along(dataset: Any, dim: Any) -> tuple[str, ...]:
    """Return the labels along an axis, or positions if labels are repeated."""
    labels = tuple(each.decode() if isinstance(each, bytes) else str(each) for each in dataset[dim].values)
    return labels if len(set(labels)) == len(labels) else positions([len(labels)])[0]


def _is_unlabelled(dataset: Any, name: Any, lead: Sequence[str]) -> bool:
    """Return True if the axes of a variable have no labels or only default labels.

    ArviZ's default labels are 0, 1, ..., in any order.
    """
    own = [dim for dim in dataset[name].dims if dim not in lead]
    return all(
        dim not in dataset.coords
        or (dim == f"{name}_dim_{k}" and {*_along(dataset, dim)} == {*positions([dataset.sizes[dim]])[0]})
        for k, dim in enumerate(own)
    )


def is_ensemble(draws: Any) -> bool:
    """Return True for an emcee EnsembleSampler or one of its backends."""
    return callable(getattr(draws, "get_chain", None))


def from_ensemble(sampler: Any, names: Sequence[str] | None = None, **kept: int) -> Sample:
    """Convert the walkers of an ensemble to the chains of a sample.

    Parameters
    ----------
    sampler : emcee.EnsembleSampler or one of its backends
    names : sequence of str, optional
        Names of the coordinates. By default, the names defined by the sampler are used.
    **kept
        The arguments ``discard`` and ``thin`` of `get_chain`.

    Raises
    ------
    InputError
        If there are no draws.
    """
    kind = type(sampler).__name__
    try:
        given = sampler.get_chain(**kept)
    except AttributeError as error:
        raise InputError(f"the {kind} contains no draws: {error}") from None
    require_unmasked(given, f"draws of the {kind}")
    chain = np.asarray(given)
    if chain.ndim != 3 or not len(chain):
        raise InputError(
            f"expected get_chain() of {kind} to return draws of shape (steps, walkers, d) with at least one step, got "
            f"shape {chain.shape}; run the sampler for longer, or reduce discard and thin"
        )
    if names is None:
        found: dict[int, str] = {}
        for name, places in (getattr(sampler, "parameter_names", None) or {}).items():
            found |= dict(zip(np.ravel(places).tolist(), indexed(name, positions(np.shape(places))), strict=True))
        names = [found[k] for k in sorted(found)] if set(found) == set(range(chain.shape[2])) else ()
    return Sample(points=chain.swapaxes(0, 1), names=names)


def is_stan_fit(draws: Any) -> bool:
    """Return True for a PyStan fit."""
    return all(hasattr(draws, name) for name in ("param_names", "constrained_param_names", "num_chains", "num_warmup"))


def from_stan_fit(fit: Any) -> NamedDraws:
    """Return the draws of a PyStan fit after warm-up.

    Labels are numbered from 1, as in Stan. The arrays in a fit have shape (*shape, draws * chains), and the chains are
    interleaved.
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
        labels={name: positions(shape, 1) for name, shape in shapes.items()},
        lead=(fit.num_chains, draws),
        read=read,
        chain=chain,
        draw=draw,
        per_draw={own: read(name).reshape(-1) for name, own in DIAGNOSTICS.items() if name in stats},
    )


def stan_fit_lengths(fit: Any) -> tuple[int, int]:
    """Return the numbers of saved warm-up draws and other draws per chain."""
    return ceil(fit.num_warmup / fit.num_thin) if fit.save_warmup else 0, ceil(fit.num_samples / fit.num_thin)
