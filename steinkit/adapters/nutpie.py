"""nutpie: draws in unconstrained space and the gradients of the log density there, which it can store as it samples.

With these no model is needed. nutpie names a coordinate by PyMC's value variable and the entry's position,
``tau_log__``, ``theta_0``; what it stores of these variables beside says where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

from steinkit.adapters.model import Parameter, check
from steinkit.adapters.pymc import SPACES, pymc_model
from steinkit.adapters.stored_scores import from_stored, require_same_scores
from steinkit.containers.named_draws import NamedDraws
from steinkit.containers.reading import read_draws
from steinkit.containers.variables import Labels
from steinkit.containers.xarray_objects import is_tree
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_POINTS, _GRADIENTS, _LOG_DENSITY = "unconstrained_draw", "gradient", "logp"
_HOW = "nutpie.sample(model, store_unconstrained=True, store_gradient=True)"


def from_nutpie(trace: Any, model: Any = None) -> tuple[Target, Sample]:
    """Draws of nutpie as a target and a sample, in the space that nutpie samples in.

    Parameters
    ----------
    trace : InferenceData or DataTree
        What ``nutpie.sample(..., store_unconstrained=True, store_gradient=True)`` returns.
    model : pymc.Model, optional
        What was compiled for nutpie; without it the score is known at the stored draws only, where it is what nutpie
        stored.

    Returns
    -------
    Target
        That of `from_pymc`, where the model is given.
    Sample
        The stored draws with the stored gradients as scores, if there are any, named as `from_pymc` names them; but
        without the model an interval's is ``unconstrained p``, since one end may be open, and where what was stored
        does not tell the variables apart, as of Stan's models, names are nutpie's own.

    Raises
    ------
    InputError
        If the draws or gradients were not stored, are of another model than that given, or if the gradients are not
        those of the log density: they are held to its stored values.

    Examples
    --------
    >>> import nutpie, steinkit as sk  # doctest: +SKIP
    >>> compiled = nutpie.compile_pymc_model(model)  # doctest: +SKIP
    >>> trace = nutpie.sample(compiled, store_unconstrained=True, store_gradient=True)  # doctest: +SKIP
    >>> target, sample = sk.from_nutpie(trace)  # doctest: +SKIP
    """
    stats = _stats(trace, (_POINTS,) if model is not None else (_POINTS, _GRADIENTS))
    points = _matrix(stats, _POINTS)
    scores = _matrix(stats, _GRADIENTS) if _GRADIENTS in stats.labels else None
    stored = stats.labels[_POINTS][0]
    if model is not None:
        return _of_model(model, stats, stored, points, scores)
    sample = Sample(points=points, scores=scores, names=_names(trace, stored), chain=stats.chain, draw=stats.draw)
    log_density = _matrix(stats, _LOG_DENSITY)[:, 0] if _LOG_DENSITY in stats.labels else None
    return from_stored(sample, "gradients stored by nutpie", log_density)


def _of_model(
    model: Any, stats: NamedDraws, stored: tuple[str, ...], points: Floats, scores: Floats | None
) -> tuple[Target, Sample]:
    """The model's own target, and the stored draws in the order of its coordinates."""
    described = pymc_model(model)
    values = [model.rvs_to_values[rv].name for rv in model.free_RVs]
    wanted = [
        label
        for name, each in zip(values, described.parameters, strict=True)
        for label in _stored_labels(name, each.free_shape)
    ]
    if sorted(wanted) != sorted(stored):
        missing = [label for label in wanted if label not in stored] or [x for x in stored if x not in wanted]
        raise InputError(
            f"nutpie stored {len(stored)} coordinates and the model has {len(wanted)}; {missing[0]!r} is on one side "
            "only: hand over the model that was compiled"
        )
    order = [stored.index(label) for label in wanted]
    sample = Sample(
        points=points[:, order],
        scores=None if scores is None else scores[:, order],
        names=described.names,
        chain=stats.chain,
        draw=stats.draw,
    )
    target = described.target_of(sample)
    check(target, sample)
    require_same_scores(target, sample, "hand over the model that was compiled")
    return target, sample


def _stats(trace: Any, wanted: tuple[str, ...]) -> NamedDraws:
    """The statistics of a trace; InputError if some that are needed were not stored."""
    if not is_tree(trace):
        raise UsageError(
            "from_nutpie takes the InferenceData or DataTree that nutpie.sample returned, and then the model; received "
            f"{type(trace).__name__}"
        )
    try:
        stats = read_draws(trace, group="sample_stats")
    except InputError as error:
        raise InputError(f"{error}; nutpie's own trace is wanted, or else from_pymc(model, trace)") from None
    missing = [name for name in wanted if name not in stats.labels]
    if missing:
        raise InputError(
            f"{stats.source} has no {' and no '.join(missing)}: nutpie stores them when asked to, {_HOW}; or take the "
            "draws with their PyMC model, from_pymc(model, trace)"
        )
    return stats


def _matrix(stats: NamedDraws, name: str) -> Floats:
    """A statistic of all draws, one chain after the other, shape (n, its entries)."""
    rows = stats.variable(name).rows
    return np.asarray(rows.reshape(len(rows), -1), dtype=np.float64)


def _names(trace: Any, stored: tuple[str, ...]) -> tuple[str, ...]:
    """The coordinates' names in steinkit's words, as far as the trace tells what nutpie's own stand for."""
    labels = dict(read_draws(trace).labels)
    with suppress(InputError):  # older ones of nutpie have these variables in the posterior
        labels.update(read_draws(trace, group="unconstrained_posterior").labels)
    words: dict[str, str] = {}
    for name in labels:
        own = _stored_labels(name, tuple(map(len, labels[name])))
        if set(own) <= set(stored):
            words.update(zip(own, _coordinates(name, labels), strict=True))
    return tuple(words.get(label, label) for label in stored)


def _coordinates(name: str, labels: Mapping[str, Labels]) -> tuple[str, ...]:
    """Names of a value variable's coordinates: of ``tau_log__`` ``log tau``."""
    own = labels[name]
    variable, space = name, "real"
    if name.endswith("__"):
        variable, _, transform = name.removesuffix("__").rpartition("_")
        known = [each for each in SPACES if name.endswith(f"_{each}__")]
        if known:
            transform = max(known, key=len)
            variable = name.removesuffix(f"_{transform}__")
        space = SPACES.get(transform, "other")  # an interval may be open to one side
    constrained = labels.get(variable, own)
    free = tuple(map(len, own))
    return Parameter(variable, tuple(map(len, constrained)), space, free).free_names(constrained)


def _stored_labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """What nutpie calls the coordinates of a value variable: ``theta_0``, ``Sigma_0.1``."""
    indices = product(*map(range, shape))
    return [f"{name}_{'.'.join(map(str, index))}" if index else name for index in indices]
