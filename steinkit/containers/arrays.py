"""Draws in plain arrays, and in dicts of arrays by the parameters' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_unmasked
from steinkit.containers.columns import require_numbers
from steinkit.containers.named_draws import NamedDraws, row_labels
from steinkit.containers.variables import positions
from steinkit.errors import InputError, UsageError, listed
from steinkit.sample import Sample

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
        If there are more chains than draws and nobody said that the first axis is that of the chains.
    """
    array = as_array(draws, "draws")
    require_numbers(array, f"the {type(draws).__name__}", "draws", "give an array of real numbers")
    if dims is None:
        if array.ndim == 3:
            _require_told(array.shape, f"an array of shape {array.shape}")
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
        arrays = {name: each for name, each in arrays.items() if name in told or _leads_alike(each, told, len(dims))}
    if dims is None:
        _require_draws_lead(arrays, source)
        dims = ("draw",)
    lead = _common_lead(arrays, len(dims), source)
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
    leads = {name: each.ndim - len(shapes[name]) for name, each in arrays.items()}
    name, first = next(iter(leads.items()))
    other = next((each for each, lead in leads.items() if lead != first), None)
    if other is not None or first not in (1, 2):
        name = name if other is None else other
        raise InputError(
            f'{source}: "{name}" has shape {arrays[name].shape} where one draw of it has shape {shapes[name]}; one '
            "axis (draws) or two (chains, draws) must come before those of the parameters, the same of all"
        )
    if first == 2:
        _require_told(arrays[name].shape, f'"{name}" of shape {arrays[name].shape}')
    return DIMS[first - 1]


def _leads_alike(array: NDArray[Any], others: Mapping[str, NDArray[Any]], lead: int) -> bool:
    return array.shape[:lead] == next(iter(others.values())).shape[:lead]


def _common_lead(arrays: Mapping[str, NDArray[Any]], lead: int, source: str) -> tuple[int, ...]:
    """The lengths of the leading axes; InputError unless all arrays have the same."""
    first, reference = next(iter(arrays.items()))
    for name, array in arrays.items():
        if array.ndim < lead or array.shape[:lead] != reference.shape[:lead]:
            raise InputError(
                f'{source}: "{name}" has shape {array.shape} and "{first}" {reference.shape}; the first '
                f"{'axis counts' if lead == 1 else 'two axes count'} the draws, and must be the same of all"
            )
    return reference.shape[:lead]


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


def _require_told(shape: tuple[int, ...], what: str) -> None:
    """Refuse more chains than draws: emcee's arrays are (steps, walkers, d), and would be read as so many chains."""
    chains, draws = shape[:2]
    if chains > draws:
        raise InputError(
            f"received {what}, which would be {chains} chains of {draws} draws: more chains than draws. If its axes "
            'are (steps, walkers), as emcee stores them, say so: as_sample(draws, dims=("draw", "chain")); if they are '
            'chains indeed, dims=("chain", "draw")'
        )
