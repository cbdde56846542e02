"""Which container an object is, without importing the packages that make them, and the draws in it by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import checked
from steinkit.containers.arrays import from_array, from_mapping, require_dims
from steinkit.containers.columns import choose
from steinkit.containers.frames import from_frame, is_frame
from steinkit.containers.named_draws import NamedDraws
from steinkit.containers.samplers import (
    from_cmdstan_fit,
    from_ensemble,
    from_stan_fit,
    is_cmdstan_fit,
    is_ensemble,
    is_stan_fit,
)
from steinkit.containers.variables import Entries, gather
from steinkit.containers.xarray_objects import from_xarray, is_xarray
from steinkit.errors import UsageError
from steinkit.sample import Sample, rectangle_of

DrawsLike: TypeAlias = Any
"""What `as_sample` takes: a Sample, ArrayLike, or an object of packages that are not imported here."""


_SOURCE = "the sample"  # what messages call one


@checked
def as_sample(
    draws: DrawsLike,
    *,
    group: str = "posterior",
    dims: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> Sample:
    """Draws in whatever holds them as a `Sample`; every function that takes draws takes all of these.

    Parameters
    ----------
    draws : Sample, array_like, dict of array_like, data frame, or object of xarray, ArviZ, emcee, PyStan or CmdStanPy
        - An array has shape (n,), (n, d) or (chains, draws, d).
        - A dict has an array for each parameter, whose leading axis counts the draws.
        - A data frame has a row for each draw. Its columns ``chain``, ``draw``, ``weight`` and ``cost`` are reserved,
          and ``score:NAME`` is the score of NAME, as in files.
        - Of an InferenceData, DataTree, Dataset or DataArray everything with the dimensions ``chain`` and ``draw`` is
          read, or ``draw`` alone, wherever these stand; further dimensions become names by their labels,
          ``theta[Choate]``, or by position.
        - Of emcee's EnsembleSampler, or a backend of it, the walkers are the chains.
    group : str
        Which group of an InferenceData or DataTree.
    dims : {("draw",), ("chain", "draw"), ("draw", "chain")}, optional
        What the leading axes of an array, or of all arrays of a dict, count: ("draw", "chain") for emcee's arrays
        (steps, walkers, d).
    columns : sequence of str, optional
        Coordinates to keep, in this order; ``"theta"`` stands for all entries of theta.

    Returns
    -------
    Sample
        What was given, where that is a sample and all its columns are kept.

    Raises
    ------
    InputError
        If there are no draws in it, or they cannot be told from something else: an array with more chains than draws,
        no dimension draw, values that are masked or no real numbers.
    UsageError
        If an option is given that the container has no use for.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> sk.as_sample({"mu": np.zeros(100), "theta": np.ones((100, 2))}).names
    ('mu', 'theta[0]', 'theta[1]')
    """
    found = _read(draws, group, dims, columns, None)
    if isinstance(found, NamedDraws):
        return found.sample(columns)
    return found if columns is None else found.select([found.names[k] for k in choose(found.names, columns, _SOURCE)])


def read_draws(
    draws: Any,
    *,
    group: str = "posterior",
    dims: Sequence[str] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> NamedDraws:
    """Draws by the names of their parameters.

    Parameters
    ----------
    draws : object
        As `as_sample` takes them; of a sample or data frame the columns ``theta[a]``, ``theta[b]`` are one parameter,
        and so are Stan's ``theta.1``, ``theta.2``.
    group, dims : optional
        As for `as_sample`.
    shapes : dict of str to tuple of int, optional
        Shape of one draw of the parameters that a model has: what tells in a dict of arrays whether (100, 4, 8) are
        draws of one chain or of 100.

    Returns
    -------
    NamedDraws

    Raises
    ------
    InputError
        If it holds no draws.
    """
    found = _read(draws, group, dims, None, shapes)
    return found if isinstance(found, NamedDraws) else _by_columns(found, shapes or {})


def _read(
    draws: Any,
    group: str,
    dims: Sequence[str] | None,
    columns: Sequence[str] | None,
    shapes: Mapping[str, tuple[int, ...]] | None,
) -> NamedDraws | Sample:
    """What a container holds: by parameter where it keeps draws so, else as a sample."""
    dims = require_dims(dims)
    plain = isinstance(draws, Sample | np.ndarray)
    if not plain and is_xarray(draws):
        _refuse_dims(draws, dims)
        return from_xarray(draws, group)
    if group != "posterior":
        raise UsageError(
            f"group= names a group of an InferenceData or DataTree; received {group!r} and a {type(draws).__name__}"
        )
    if not plain and callable(getattr(draws, "to_sample", None)):
        draws = draws.to_sample()
    for is_one, read in () if plain else _SAMPLERS:
        if is_one(draws):
            _refuse_dims(draws, dims)
            return read(draws)
    if isinstance(draws, Mapping):
        return from_mapping(draws, dims, shapes)
    if not plain and is_frame(draws):
        return from_frame(draws, columns)
    if isinstance(draws, Sample):
        _refuse_dims(draws, dims)
        return draws
    return from_array(draws, dims)


_SAMPLERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], NamedDraws | Sample]], ...] = (
    (is_stan_fit, from_stan_fit),
    (is_ensemble, from_ensemble),
    (is_cmdstan_fit, from_cmdstan_fit),
)


def _refuse_dims(draws: Any, dims: Sequence[str] | None) -> None:
    if dims is not None:
        raise UsageError(
            f"dims says what the axes of an array, or of the arrays of a dict, count, and {type(draws).__name__} tells "
            "it itself: leave it out"
        )


def _by_columns(sample: Sample, shapes: Mapping[str, tuple[int, ...]]) -> NamedDraws:
    """The columns of a sample by parameter."""
    found = {each.name: each for each in gather(sample.names, shapes)}
    lead = rectangle_of(sample) or (1, len(sample))

    def read(name: str) -> NDArray[Any]:
        entries: Entries = found[name]
        values = sample.points[:, list(entries.columns)]
        return values.reshape(*lead, *map(len, entries.labels))

    return NamedDraws(
        source=_SOURCE,
        labels={name: each.labels for name, each in found.items()},
        lead=lead,
        read=read,
        chain=sample.chain,
        draw=sample.draw,
        weights=sample.weights,
        cost=sample.cost,
    )
