"""Conversion of arrays, data frames and other objects to samples.

The packages that define the objects are not imported. Columns of a data frame have the same meaning as columns of a CSV
file. The index levels ``chain`` and ``draw`` are treated as columns.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_type, require_unmasked
from steinkit.containers import objects
from steinkit.containers.columns import (
    ALL,
    LABELS,
    Selection,
    choose,
    lay_out,
    may_hold_weights,
    require_distinct,
    require_numbers,
    sample_from_table,
    weight_column,
)
from steinkit.containers.named_draws import Entries, NamedDraws, gather, positions, row_labels
from steinkit.errors import InputError, ReadingWarning, UsageError, quoted, warn_user
from steinkit.sample import PER_DRAW, Floats, Sample, default_names, rectangle_of

DrawsLike: TypeAlias = Any
"""Input accepted by `as_sample`: a Sample, an array_like or an object from another package."""

DIMS = (("draw",), ("chain", "draw"), ("draw", "chain"))
_CORRELATED = 5.0  # neighbors are dependent if their correlation exceeds this number of standard errors
_CORRELATED_ROWS = 6.0  # the same for rows of an array without chain labels
_SEARCHED = 10_000  # number of rows that are searched for interleaved chains
_SOURCE = "the sample"
_AMBIGUOUS = 'Pass dims=("chain", "draw") or dims=("draw", "chain") to as_sample'


def as_sample(
    draws: DrawsLike,
    *,
    group: str = "posterior",
    dims: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
) -> Sample:
    """Convert draws to a `Sample`.

    All functions with a parameter ``draws`` accept the same objects.

    Parameters
    ----------
    draws : Sample, array_like, dict of array_like, data frame, or xarray, ArviZ, emcee, PyStan or CmdStanPy object
        - An array has shape (n,), (n, d) or (chains, draws, d).
        - A dict has one array per parameter. The first axis of each array corresponds to the draws.
        - A data frame has one row per draw. Its columns ``chain``, ``draw``, ``weight`` and ``cost`` are reserved,
          and ``score:NAME`` is the score of NAME, as in CSV files.
        - Variables of an InferenceData, DataTree, Dataset or DataArray have the dimensions ``chain`` and ``draw``, or
          only ``draw``, in any position. Labels of other dimensions become part of the names, as in ``theta[Choate]``.
        - Each walker of an emcee EnsembleSampler, or of one of its backends, is a chain.
    group : str, default "posterior"
        Group of an InferenceData or DataTree.
    dims : {("draw",), ("chain", "draw"), ("draw", "chain")}, optional
        Leading axes of an array, or of all arrays in a dict. For example, pass ("draw", "chain") for emcee arrays of
        shape (steps, walkers, d).
    columns : sequence of str, optional
        Coordinates to keep, in this order. ``"theta"`` selects all entries of theta. By default, all coordinates are
        kept.
    weights : str, optional
        Name of the column or variable with the weights of the draws, or "none" if the draws have equal weights. By
        default, the column ``weight`` of a data frame contains the weights. Log weights, with a name such as ``logw``,
        are exponentiated.

    Returns
    -------
    Sample
        The converted draws. A sample is returned unchanged if all columns are kept. If other draws have no chain
        labels, but their autocorrelation shows that chains alternate, the chains are labeled and a warning is issued.

    Raises
    ------
    InputError
        If there are no draws, if the axes are ambiguous, if a column may contain weights, or if values are masked or
        are not real numbers.
    UsageError
        If an option does not apply to this kind of draws.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> sk.as_sample({"mu": np.zeros(100), "theta": np.ones((100, 2))}).names
    ('mu', 'theta[0]', 'theta[1]')
    """
    selection = Selection(columns, weights)
    found = _read(draws, group, dims, selection, None)
    if isinstance(found, NamedDraws):
        found = found.sample(selection)
    elif columns is not None:
        found = found.select([found.names[k] for k in choose(found.names, columns, _SOURCE)])
    return found if isinstance(draws, Sample) else with_chains(found)


def with_chains(sample: Sample) -> Sample:
    """Return a sample with chain labels if its rows alternate between chains.

    The autocorrelations then show that rows of the same chain are correlated, but neighboring rows are not.
    """
    if sample.chain is not None:
        return sample
    searched = sample.points[:_SEARCHED]
    n, middle = len(searched), np.sort(searched, axis=0)[len(searched) // 2]
    signs = 1.0 * (searched > middle) - (searched < middle)
    power = sum(np.abs(np.fft.rfft(column, 2 * n)) ** 2 for column in signs.T)
    correlations = np.fft.irfft(power, 2 * n)[: n // 4] / signs.size
    clear = np.flatnonzero(np.abs(correlations[1:]) > _CORRELATED_ROWS / np.sqrt(n)) + 1
    if not len(clear) or clear[0] == 1 or correlations[clear[0]] < 0.0:
        return sample
    warn_user(
        f"rows {clear[0]} apart are correlated but neighboring rows are not, so the draws were read as {clear[0]} "
        "interleaved chains, as from emcee's get_chain(flat=True)",
        ReadingWarning,
    )
    return sample.with_columns(chain=np.arange(len(sample)) % clear[0])


def read_draws(
    draws: Any,
    *,
    group: str = "posterior",
    dims: Sequence[str] | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> NamedDraws:
    """Read draws as one array per parameter.

    Parameters
    ----------
    draws : object
        Draws in a form that `as_sample` accepts. Columns such as ``theta[a]`` and ``theta[b]``, or ``theta.1`` and
        ``theta.2`` in Stan, are entries of one parameter.
    group, dims : optional
        See `as_sample`.
    shapes : dict of str to tuple of int, optional
        Shape of one draw of each model parameter. The shapes determine the leading axes of the arrays in a dict.

    Raises
    ------
    InputError
        If there are no draws.
    """
    found = _read(draws, group, dims, ALL, shapes)
    return found if isinstance(found, NamedDraws) else _by_columns(found, shapes or {})


def _read(
    draws: Any,
    group: str,
    dims: Sequence[str] | None,
    selection: Selection,
    shapes: Mapping[str, tuple[int, ...]] | None,
) -> NamedDraws | Sample:
    """Return draws by parameter if possible, and as a sample otherwise."""
    dims = require_dims(dims)
    kind = type(draws).__name__
    require_type(str, "the name of a group", group=group)
    if group != "posterior" and not objects.is_tree(draws):
        raise UsageError(f"group= requires an InferenceData or DataTree; got {kind}")
    if not isinstance(draws, Sample | np.ndarray):
        for method in ("to_sample", "draws_pd"):  # results from steinkit samplers, and CmdStanPy fits
            draws = getattr(draws, method)() if callable(getattr(draws, method, None)) else draws
        if objects.is_xarray(draws):
            draws = objects.from_xarray(draws, group)
        elif objects.is_stan_fit(draws):
            draws = objects.from_stan_fit(draws)
        elif objects.is_ensemble(draws):
            draws = objects.from_ensemble(draws)
        elif isinstance(draws, Mapping):
            return from_mapping(draws, dims, shapes, selection)
        elif is_frame(draws):
            return from_frame(draws, selection)
    if selection.weights is not None and not isinstance(draws, NamedDraws):
        raise UsageError(f"weights= must name a column or variable; got {kind} without named columns")
    if not isinstance(draws, Sample | NamedDraws):
        return from_array(draws, dims)
    if dims is not None:
        raise UsageError(f"dims= applies to arrays and dicts of arrays, not to {kind}; omit it")
    return draws


def require_dims(dims: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return ``dims`` as a tuple or None.

    Raises UsageError unless ``dims`` is None or one of `DIMS`.
    """
    if dims is None:
        return None
    named = (dims,) if isinstance(dims, str) else tuple(dims) if isinstance(dims, Sequence) else ()
    if named not in DIMS:
        raise UsageError(f"dims must be one of {', '.join(map(str, DIMS))}; got {dims!r}")
    return named


def as_array(draws: Any, what: str) -> NDArray[Any]:
    """Convert draws to an array, keeping the mask if there is one.

    ``what`` is the plural noun for the draws in messages.
    """
    if isinstance(draws, list | tuple):  # NumPy discards masks when it joins arrays
        require_unmasked(draws, what)
        for each in draws:
            if isinstance(each, Mapping) or hasattr(each, "coords") or hasattr(each, "columns"):
                raise InputError(
                    f"expected {what} of one sample, got a {type(draws).__name__} of {type(each).__name__}; join them "
                    "as chains first"
                )
    try:
        array: NDArray[Any] = np.asanyarray(draws)
        if array.dtype.kind == "O" and array.ndim and all(isinstance(each, numbers.Real) for each in array.flat):
            array = array.astype(np.float64)
    except ValueError:
        raise InputError(
            f"expected {what} with the same number of coordinates, got rows of different lengths"
        ) from None
    except (TypeError, RuntimeError) as error:  # a tensor that requires gradients or is on another device
        raise InputError(f"{what} cannot be converted to an array: {error}") from None
    if array.dtype.kind in "OUS" and array.ndim == 0:
        raise InputError(
            f"expected {what} as a Sample, an array of real numbers, a dict of arrays, a data frame, or an xarray or "
            f"ArviZ object, got {type(draws).__name__}; read a file with read_sample"
        )
    return array


def from_array(draws: Any, dims: Sequence[str] | None) -> Sample:
    """Convert an array of draws to a sample.

    By default, the array has shape (n,), (n, d) or (chains, draws, d). Other leading axes are specified by ``dims``.

    Raises
    ------
    InputError
        If the first axis appears to index the steps of the chains.
    """
    array = as_array(draws, "draws")
    require_numbers(array, f"the {type(draws).__name__}", "draws", "convert it")
    if dims is None:
        if array.ndim == 3:
            require_chains_lead(array, f"an array of shape {array.shape}")
        return Sample(points=array)
    if array.ndim not in (len(dims), len(dims) + 1):
        raise InputError(
            f"expected draws with {len(dims)} or {len(dims) + 1} axes for {dims=}, got shape {array.shape}"
        )
    if array.ndim == len(dims):
        array = array[..., None]
    return Sample(points=chain_by_chain(array, dims))


def from_mapping(
    draws: Mapping[Any, Any],
    dims: tuple[str, ...] | None,
    shapes: Mapping[str, tuple[int, ...]] | None,
    selection: Selection,
    source: str = "",
) -> NamedDraws:
    """Convert a dict of arrays to draws of named parameters.

    If ``shapes`` contains the shape of one draw for some parameters, these shapes determine the number of leading axes.

    Raises
    ------
    InputError
        If the arrays have different leading axes, if the axes are ambiguous, or if an array may contain weights.
    """
    source = source or f"the {type(draws).__name__}"
    arrays = {str(name): _entry(name, values, source) for name, values in draws.items()}
    if not arrays:
        raise InputError(f"{source} of draws is empty; expected one array per parameter")
    known = {name: arrays[name] for name in shapes or {} if name in arrays}
    if dims is None and shapes and known:
        dims = _dims_by_shapes(known, shapes, source)
        first = next(iter(known.values())).shape[: len(dims)]
        arrays = {name: each for name, each in arrays.items() if name in known or each.shape[: len(dims)] == first}
    if dims is None:
        _require_draws_lead(arrays, source)
        dims = ("draw",)
    leads = {each.shape[: len(dims)] for each in arrays.values()}
    if len(leads) > 1 or len(leads.pop()) < len(dims):
        found = quoted([f"{name} {each.shape}" for name, each in arrays.items()])
        raise InputError(f"{source}: expected arrays with the same leading axes {' and '.join(dims)}, got {found}")
    scalars = [name for name, each in arrays.items() if each.ndim == len(dims) and name not in known]
    weight_column(scalars, source, selection, ())  # raises an error if an array may contain weights
    arrays = {name: chain_by_chain(each if len(dims) > 1 else each[None], dims) for name, each in arrays.items()}
    lead = next(iter(arrays.values())).shape[:2]
    chain, draw = (None, None) if len(dims) == 1 else row_labels(range(lead[0]), range(lead[1]))
    return NamedDraws(
        source=source,
        labels={name: positions(each.shape[2:]) for name, each in arrays.items()},
        lead=lead,
        read=arrays.__getitem__,
        chain=chain,
        draw=draw,
        unlabelled=tuple(arrays),
    )


def chain_by_chain(array: NDArray[Any], dims: Sequence[str]) -> NDArray[Any]:
    """Return an array with the chain axis, if any, before the draw axis."""
    return array.swapaxes(0, 1) if dims == ("draw", "chain") else array


def _entry(name: Any, values: Any, source: str) -> NDArray[Any]:
    if isinstance(values, Mapping):
        raise InputError(
            f'{source}: expected an array for "{name}", got {type(values).__name__}; pass the entries as arrays'
        )
    array = as_array(values, f'{source}: "{name}"')
    if array.ndim == 0:
        raise InputError(f'{source}: expected an array for "{name}" with one entry per draw, got a single number')
    return array


def _dims_by_shapes(
    arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]], source: str
) -> tuple[str, ...]:
    """Return the leading dimensions of arrays, given the shapes of one draw."""
    leads = {each.ndim - len(shapes[name]) for name, each in arrays.items()}
    if leads not in ({1}, {2}):
        found = quoted([f"{name} {each.shape}, one draw {shapes[name]}" for name, each in arrays.items()])
        raise InputError(f"{source}: expected leading axes (draws) or (chains, draws) in all arrays, got {found}")
    if leads == {2}:
        name, first = next(iter(arrays.items()))
        require_chains_lead(first, f'"{name}" of shape {first.shape}')
    return DIMS[leads.pop() - 1]


def _require_draws_lead(arrays: Mapping[str, NDArray[Any]], source: str) -> None:
    """Raise InputError if arrays appear to have the leading axes (chains, draws).

    The axes appear to be (chains, draws) if all arrays have the same first two axes and the second axis is longer than
    the first.
    """
    first, *others = {array.shape[:2] for array in arrays.values()}
    if others or len(first) < 2:
        return
    chains, draws = first
    if draws > chains:
        raise InputError(
            f"{source}: the leading dimensions of all arrays are ({chains}, {draws}), which could mean {chains} draws "
            f'with {draws} entries each or {chains} chains of {draws} draws each; pass dims=("draw",) or '
            f'dims=("chain", "draw") to as_sample. '
            f"The arrays are {quoted(list(arrays))}"
        )


def require_chains_lead(array: NDArray[Any], what: str) -> None:
    """Warn about arrays with more chains than draws.

    Raises InputError if neighbors along the chain axis are correlated. Without this check, emcee arrays of shape
    (steps, walkers, d) would be read with one chain per step.
    """
    chains, draws = array.shape[:2]
    if chains <= draws:
        return
    message = f"got {what} with more chains than draws ({chains} chains of {draws} draws). {_AMBIGUOUS}"
    values = np.reshape(array, (chains, draws, -1)).astype(np.float64)
    limit = max(_autocorrelation(values.swapaxes(0, 1)), _CORRELATED / np.sqrt(chains * draws))
    if _autocorrelation(values) > limit:
        raise InputError(
            f"{message}. Neighbors along the first axis are correlated, as in emcee arrays of shape (steps, walkers, d)"
        )
    warn_user(message, ReadingWarning)


def _autocorrelation(values: Floats) -> float:
    """Return the correlation between neighbors along the first axis.

    The maximum over the last axis is returned.
    """
    deviations = values - values.mean(axis=(0, 1))
    squares = (deviations**2).sum(axis=(0, 1))
    products = (deviations[1:] * deviations[:-1]).sum(axis=(0, 1))
    return float((products / np.where(squares > 0.0, squares, 1.0)).max())


def is_frame(draws: Any) -> bool:
    """Return True if an object is a data frame or a column of a data frame."""
    return _is_series(draws) or all(hasattr(draws, name) for name in ("columns", "__len__", "__getitem__"))


def _is_series(draws: Any) -> bool:
    return all(hasattr(draws, name) for name in ("to_frame", "name", "dtype"))


def from_frame(frame: Any, selection: Selection) -> Sample:
    """Convert a data frame to a sample.

    Raises
    ------
    InputError
        If a column is not numeric, if a name is not a string, or if there are several rows per draw.
    """
    if _is_series(frame):
        frame = frame.to_frame()
    source = f"the {type(frame).__name__}"
    found = _columns(frame, source)
    if not len(frame):
        raise InputError(f"{source} is empty; expected at least one draw")
    layout = lay_out(tuple(found), source, selection)
    values = np.full((len(frame), len(layout.header)), np.nan)
    for k in layout.used:
        name = layout.header[k]
        values[:, k] = _numbers(found[name], name, source)
    return sample_from_table(values, layout, source, where=lambda row: f"row {row + 1}")


def _columns(frame: Any, source: str) -> dict[str, Any]:
    """Return the columns and the index levels of a data frame by name.

    Columns named 0, 1, ... receive default names. Raises InputError if the index has levels other than ``chain`` and
    ``draw`` because each draw would then have several rows.
    """
    given = list(frame.columns)
    is_labelled = "labels" in getattr(frame.columns, "names", ())  # anesthetic adds plot labels
    names: Sequence[Any] = default_names(len(given)) if given == list(range(len(given))) else given
    names = [name for name, _ in given] if is_labelled else names
    for each in names:
        if not isinstance(each, str):
            raise InputError(f"{source}: expected column names that are strings, got {each!r}; set frame.columns")
    require_distinct(names, source)
    index: Any = getattr(frame, "index", None)
    levels = [name for name in getattr(index, "names", ()) if name is not None]
    labels = [name for name in levels if name in LABELS or may_hold_weights(str(name))]
    others = [str(name) for name in levels if name not in labels]
    if labels and others:
        raise InputError(
            f"{source}: expected one row per draw, got several rows with different {quoted(others)} in the index; use "
            f'frame.unstack("{others[0]}") or the xarray object'
        )
    found = {name: index.get_level_values(name) for name in labels if name not in names}
    return found | {name: frame[label] for name, label in zip(names, given, strict=True)}


def _numbers(column: Any, name: str, source: str) -> NDArray[np.float64]:
    values = np.asarray(column)
    if values.dtype.kind == "O":
        values = as_array(values, f'column "{name}"')
    kind = getattr(getattr(column, "dtype", None), "kind", values.dtype.kind)
    if values.dtype.kind == "O" and kind in tuple("fiub"):  # pandas nullable numbers
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    require_numbers(values, f'column "{name}"', source, "select other columns with columns=, or drop it")
    return values.astype(np.float64)


def _by_columns(sample: Sample, shapes: Mapping[str, tuple[int, ...]]) -> NamedDraws:
    """Combine the columns of a sample into parameters."""
    found = {each.name: each for each in gather(sample.names, shapes)}
    lead = rectangle_of(sample) or (1, len(sample))

    def read(name: str) -> NDArray[Any]:
        entries: Entries = found[name]
        return sample.points[:, list(entries.columns)].reshape(*lead, *map(len, entries.labels))

    return NamedDraws(
        source=_SOURCE,
        labels={name: each.labels for name, each in found.items()},
        lead=lead,
        read=read,
        chain=sample.chain,
        draw=sample.draw,
        per_draw={name: getattr(sample, name) for name in PER_DRAW if getattr(sample, name) is not None},
    )
