"""Which container an object is, without importing the packages that make them, and the draws in it by name.

Columns mean what they mean in CSV files: ``chain``, ``draw``, ``weight`` and ``cost`` are reserved, ``score:NAME`` is
the score of NAME, and a sampler's columns are known. An index with levels chain and draw serves as these columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_type, require_unmasked
from steinkit.containers import objects
from steinkit.containers.columns import (
    choose,
    lay_out,
    require_distinct,
    require_numbers,
    sample_from_table,
    tell_taken,
)
from steinkit.containers.named_draws import Entries, NamedDraws, gather, positions, row_labels
from steinkit.errors import InputError, ReadingWarning, UsageError, listed, warn_user
from steinkit.sample import BESIDE, Floats, Sample, default_names, rectangle_of

_SHOWN = 8  # arrays, in messages
_ALIKE = 5.0  # standard errors of a correlation, from which neighbours are alike
DIMS = (("draw",), ("chain", "draw"), ("draw", "chain"))


def require_dims(dims: Sequence[str] | None) -> tuple[str, ...] | None:
    """Hold ``dims`` to one of `DIMS`, or None."""
    if dims is None:
        return None
    named = (dims,) if isinstance(dims, str) else tuple(dims) if isinstance(dims, Sequence) else ()
    if named not in DIMS:
        raise UsageError(f"dims names the leading axes, one of {', '.join(map(str, DIMS))}; received {dims!r}")
    return named


def as_array(draws: Any, what: str) -> NDArray[Any]:
    """An object that is, or turns itself into, an array of real numbers, masked entries kept masked."""
    if isinstance(draws, str | bytes | PurePath):
        raise InputError(f"{what} were given as the text {str(draws)!r}; read a file with read_sample")
    strange = (
        next((each for each in draws if _has_named_parts(each)), None) if isinstance(draws, list | tuple) else None
    )
    if strange is not None:
        raise InputError(
            f"{what} were given as a {type(draws).__name__} of {type(strange).__name__}; each is a sample of its own: "
            "give one, or join them as chains first"
        )
    if isinstance(draws, list | tuple):  # which NumPy joins without their masks
        require_unmasked(draws, what)
    try:
        array: NDArray[Any] = np.asanyarray(draws)
    except ValueError:
        raise InputError(f"{what} must all have the same number of coordinates; received rows that differ") from None
    except (TypeError, RuntimeError) as error:  # a tensor that needs its gradient, or lies on another device
        raise InputError(f"{what} cannot be made an array: {error}") from None
    if array.dtype.kind == "O" and array.ndim == 0:
        raise InputError(
            f"{what} must be a Sample, an array of real numbers, a dict of such arrays, a data frame, or an object of "
            f"xarray or ArviZ; received {type(draws).__name__}"
        )
    return array


def _has_named_parts(draws: Any) -> bool:
    return isinstance(draws, Mapping) or hasattr(draws, "coords") or hasattr(draws, "columns")


def from_array(draws: Any, dims: Sequence[str] | None) -> Sample:
    """Draws of shape (n,), (n, d) or (chains, draws, d) as a sample; of the leading axes that ``dims`` names.

    Raises
    ------
    InputError
        If there are more chains than draws, nobody said that the first axis is that of the chains, and neighbours along
        it are alike.
    """
    array = as_array(draws, "draws")
    require_numbers(array, f"the {type(draws).__name__}", "draws", "give an array of real numbers")
    if dims is None:
        if array.ndim == 3:
            _require_told(array, f"an array of shape {array.shape}")
        return Sample(points=array)
    if array.ndim not in (len(dims), len(dims) + 1):
        raise InputError(
            f"draws with dims={tuple(dims)} have {len(dims)} axes, and one more for the coordinates; received shape "
            f"{array.shape}"
        )
    if array.ndim == len(dims):
        array = array[..., None]
    if len(dims) == 1:
        return Sample(points=array)
    return Sample(points=array.swapaxes(0, 1) if tuple(dims) == ("draw", "chain") else array)


def from_mapping(
    draws: Mapping[Any, Any], dims: Sequence[str] | None, shapes: Mapping[str, tuple[int, ...]] | None
) -> NamedDraws:
    """Draws by the parameters' names; ``shapes`` of one draw of some of them tell how many axes lead.

    Raises
    ------
    InputError
        If the arrays do not have the same numbers of draws, or these are not told from a parameter's own axes.
    """
    source = f"the {type(draws).__name__}"
    arrays = {str(name): _entry(name, values, source) for name, values in draws.items()}
    if not arrays:
        raise InputError(f"{source} of draws is empty; an array for each parameter is wanted")
    told = {name: arrays[name] for name in shapes or {} if name in arrays}
    if dims is None and shapes and told:
        dims = _dims_by_shapes(told, shapes, source)
        first = next(iter(told.values())).shape[: len(dims)]
        arrays = {name: each for name, each in arrays.items() if name in told or each.shape[: len(dims)] == first}
    if dims is None:
        _require_draws_lead(arrays, source)
        dims = ("draw",)
    leads = {name: each.shape[: len(dims)] for name, each in arrays.items()}
    lead = next(iter(leads.values()))
    if len(lead) < len(dims) or len(set(leads.values())) > 1:
        found = [f'"{name}" {each.shape}' for name, each in arrays.items()]
        raise InputError(
            f"{source}: the first {'axis counts' if len(dims) == 1 else 'two axes count'} the draws, and must be the "
            f"same of all; received {', '.join(found[:_SHOWN])}"
        )
    if tuple(dims) == ("draw", "chain"):
        arrays, lead = {name: each.swapaxes(0, 1) for name, each in arrays.items()}, lead[::-1]
    chain, draw = (None, None) if len(dims) == 1 else row_labels(range(lead[0]), range(lead[1]))
    shape = (1, lead[0]) if len(dims) == 1 else (lead[0], lead[1])
    own = {name: each.shape[len(dims) :] for name, each in arrays.items()}
    return NamedDraws(
        source=source,
        labels={name: positions(each) for name, each in own.items()},
        lead=shape,
        read=lambda name: arrays[name].reshape(*shape, *own[name]),
        chain=chain,
        draw=draw,
        unlabelled=tuple(arrays),
    )


def _entry(name: Any, values: Any, source: str) -> NDArray[Any]:
    if isinstance(values, Mapping):
        raise InputError(f'{source}: "{name}" is a {type(values).__name__}, not an array; take its entries out of it')
    array = as_array(values, f'{source}: "{name}"')
    if array.ndim == 0:
        raise InputError(f'{source}: "{name}" is a single number; an array with one entry a draw is wanted')
    return array


def _dims_by_shapes(
    arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]], source: str
) -> tuple[str, ...]:
    """Whether one axis or two lead, by the parameters' own shapes."""
    leads = {each.ndim - len(shapes[name]) for name, each in arrays.items()}
    if leads not in ({1}, {2}):
        found = [f'"{name}" {each.shape}, one draw {shapes[name]}' for name, each in arrays.items()]
        raise InputError(
            f"{source}: one axis (draws) or two (chains, draws) must come before those of the parameters, the same of "
            f"all; received {', '.join(found[:_SHOWN])}"
        )
    if leads == {2}:
        name, first = next(iter(arrays.items()))
        _require_told(first, f'"{name}" of shape {first.shape}')
    return DIMS[leads.pop() - 1]


def _require_draws_lead(arrays: Mapping[str, NDArray[Any]], source: str) -> None:
    """Refuse arrays that all share a longer second axis: chains by draws, it seems, and not draws of vectors."""
    lead = {array.shape[:2] for array in arrays.values()}
    if len(lead) != 1 or any(array.ndim < 2 for array in arrays.values()):
        return
    ((chains, draws),) = lead
    if draws > chains:
        raise InputError(
            f"{source}: all arrays begin with the axes ({chains}, {draws}): {chains} draws of {draws} entries each, or "
            f'{chains} chains of {draws} draws? Say as_sample(draws, dims=("draw",)) or dims=("chain", "draw"); names '
            f"are {listed(list(arrays))}"
        )


def _require_told(array: NDArray[Any], what: str) -> None:
    """Warn of more chains than draws, and refuse them where neighbours along the axis of the chains are alike.

    Arrays of emcee are (steps, walkers, d), and would be read as one chain a step.
    """
    chains, draws = array.shape[:2]
    if chains <= draws:
        return
    said = (
        f"{what}, which would be {chains} chains of {draws} draws: more chains than draws. If its axes are (steps, "
        'walkers), as emcee stores them, say so: as_sample(draws, dims=("draw", "chain")); if they are chains indeed, '
        'dims=("chain", "draw")'
    )
    values = np.reshape(array, (chains, draws, -1)).astype(np.float64)
    if _likeness(values) > max(_likeness(values.swapaxes(0, 1)), _ALIKE / np.sqrt(chains * draws)):
        raise InputError(f"received {said}")
    warn_user(f"received {said}", ReadingWarning)


def _likeness(values: Floats) -> float:
    """The correlation of neighbours along the first axis, of the coordinate, on the last, where it is largest."""
    deviations = values - values.mean(axis=(0, 1))
    squares = (deviations**2).sum(axis=(0, 1))
    products = (deviations[1:] * deviations[:-1]).sum(axis=(0, 1))
    return float((products / np.where(squares > 0.0, squares, 1.0)).max())


def is_frame(draws: Any) -> bool:
    """Whether an object is a data frame, or one column of it."""
    return _is_series(draws) or all(hasattr(draws, name) for name in ("columns", "__len__", "__getitem__"))


def _is_series(draws: Any) -> bool:
    return hasattr(draws, "to_frame") and hasattr(draws, "name") and hasattr(draws, "dtype")


def from_frame(frame: Any, columns: Sequence[str] | None) -> Sample:
    """Draws in a data frame as a sample.

    Raises
    ------
    InputError
        If a column is not numeric, its name is no text, or the frame holds several rows a draw.
    """
    if _is_series(frame):
        frame = frame.to_frame()
    source = f"the {type(frame).__name__}"
    found = {**_index_levels(frame, source), **_columns(frame, source)}
    if not len(frame):
        raise InputError(f"{source} is empty; at least one draw is wanted")
    layout = lay_out(tuple(found), source, columns)
    tell_taken(layout.taken)
    values = np.full((len(frame), len(layout.header)), np.nan)
    for k in layout.used:
        name = layout.header[k]
        values[:, k] = _numbers(found[name], name, source)
    return sample_from_table(values, layout, source, where=lambda row: f"row {row + 1}")


def _columns(frame: Any, source: str) -> dict[str, Any]:
    """The columns by name; numbers counted from 0 are names that nobody gave."""
    given = list(frame.columns)
    if given == list(range(len(given))):
        names: Sequence[str] = default_names(len(given))
    else:
        names = [_name(each, source) for each in given]
    require_distinct(names, source)
    return {name: frame[label] for name, label in zip(names, given, strict=True)}


def _name(label: Any, source: str) -> str:
    if isinstance(label, str):
        return label
    if isinstance(label, tuple) and len(label) > 1 and all(isinstance(each, str) for each in label):
        head, bracket, index = label[0].partition("[")  # ("theta[0]", "Choate"), as ArviZ's to_dataframe writes
        if bracket and index.count(",") + 2 == len(label):
            return f"{head}[{','.join(label[1:])}]"
    raise InputError(
        f"{source}: a column is named {label!r}; its name must be a text: frame.columns = [...], and of ArviZ's "
        'to_dataframe one group, groups="posterior"'
    )


def _index_levels(frame: Any, source: str) -> dict[str, Any]:
    """The levels chain and draw of the index; other levels say that a draw has several rows."""
    index = getattr(frame, "index", None)
    names = [name for name in getattr(index, "names", ()) if name is not None]
    if index is None or not {"chain", "draw"} & set(names):
        return {}
    strange = [str(name) for name in names if name not in ("chain", "draw")]
    if strange:
        raise InputError(
            f"{source} has several rows a draw, told apart by {listed(strange)} in its index; a row a draw is wanted: "
            f'frame.unstack("{strange[0]}"), or hand over the xarray object itself'
        )
    taken = list(frame.columns)
    return {name: index.get_level_values(name) for name in names if name not in taken}


def _numbers(column: Any, name: str, source: str) -> NDArray[np.float64]:
    values = np.asarray(column)
    kind = getattr(getattr(column, "dtype", None), "kind", values.dtype.kind)
    if values.dtype.kind == "O" and kind in tuple("fiub"):  # pandas' own numbers, which may be missing
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if values.dtype.kind not in "fiub":
        raise InputError(
            f'{source}: column "{name}" holds {getattr(column, "dtype", values.dtype)} where real numbers are wanted; '
            "leave it out with columns=, or drop it"
        )
    return values.astype(np.float64)


DrawsLike: TypeAlias = Any
"""What `as_sample` takes: a Sample, ArrayLike, or an object of packages that are not imported here."""


_SOURCE = "the sample"  # what messages call one


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
        If there are no draws in it, or they cannot be told from something else: an array with steps for chains,
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
    require_type(str, "the name of a group", group=group)
    if group != "posterior" and not objects.is_tree(draws):
        raise UsageError(
            f"group= names a group of an InferenceData or DataTree; received {group!r} and a {type(draws).__name__}"
        )
    if not plain and objects.is_xarray(draws):
        _refuse_dims(draws, dims)
        return objects.from_xarray(draws, group)
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
    (objects.is_stan_fit, objects.from_stan_fit),
    (objects.is_ensemble, objects.from_ensemble),
    (objects.is_cmdstan_fit, objects.from_cmdstan_fit),
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
        **{name: getattr(sample, name) for name in BESIDE},
    )
