"""The types of arguments, checked where users come in: one decorator, which reads a function's annotations.

What is out of range, or has the wrong shape, only the function itself can say, and does. Before that, `checked` refuses
what is no number, word, mapping, function or steinkit object where one is wanted, by the argument's name and value. It
understands `bool`, `int`, `float`, `str`, `None`, `Literal`, `Callable`, `Mapping`, sequences and tuples of those,
paths, and classes that the function's module knows, which may say in `_made_from` how to come by one. Of what may be
many things, such as draws or anything like an array, it says nothing.

A truth value is no number here, nor is what lies beyond all doubles, and a number with a fraction is not whole.
`whole`, `positive`, `share` and `number` hold a number to its range as well.
"""

from __future__ import annotations

import builtins
import inspect
import numbers
import os
import reprlib
import types
import typing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.errors import InputError, UsageError

Checked = TypeVar("Checked", bound=Callable[..., Any])

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 60


@dataclass(frozen=True)
class _Kind:
    """Something that an argument may be: in words, and how to tell."""

    words: str
    accepts: Callable[[Any], bool]
    remedy: str = ""


def checked(function: Checked, *, but: Collection[str] = ()) -> Checked:
    """Refuse arguments of the wrong type, in a function or in the construction of a class; a `UsageError`.

    Calls with missing or unknown arguments fail as Python has it, with a TypeError.

    Parameters
    ----------
    function : callable
    but : collection of str
        Arguments of which the function itself says more: what to give in place of what came.
    """
    if isinstance(function, type):
        function.__init__ = checked(function.__init__)  # type: ignore[misc]
        return function
    signature = inspect.signature(function)
    parameters = [
        parameter
        for parameter in signature.parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and parameter.name not in but
    ]
    known: dict[str, tuple[_Kind, ...]] = {}

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return function(*args, **kwargs)  # whose own error names the function
        if not known:
            names = _Names(inspect.unwrap(function).__globals__)
            known.update((each.name, _kinds(each.annotation, names)) for each in parameters)
        for name, kinds in known.items():
            if name in given and kinds and not any(kind.accepts(given[name]) for kind in kinds):
                raise _refused(name, kinds, given[name])
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


def _refused(name: str, kinds: tuple[_Kind, ...], value: Any) -> UsageError:
    words = list(dict.fromkeys(kind.words for kind in kinds))
    wanted = " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
    remedy = "".join(f": {kind.remedy}" for kind in kinds if kind.remedy)
    shown = " ".join(map(str.strip, _SHOWN.repr(value).split("\n")))
    return UsageError(f"{name} must be {wanted}; received {shown} ({type(value).__name__}){remedy}")


class _Names(dict[str, Any]):
    """What a module's annotations may speak of; names that only type checkers know may mean anything."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, Any)


def _kinds(annotation: Any, names: _Names) -> tuple[_Kind, ...]:
    """What an annotation allows; nothing where it says too little, or more than can be told."""
    try:
        members = tuple(_members(eval(annotation, {}, names) if isinstance(annotation, str) else annotation))
    except (_UntoldError, AttributeError):  # an attribute that only type checkers know
        return ()
    return (_SEED,) if _GENERATOR in members else members


class _UntoldError(Exception):
    """An annotation allows what cannot be told by looking at a value."""


def _members(meant: Any) -> Iterator[_Kind]:
    """The kinds that a union consists of."""
    origin, inside = typing.get_origin(meant), typing.get_args(meant)
    if origin in (types.UnionType, typing.Union):
        for each in inside:
            yield from _members(each)
    elif meant in _KINDS:
        yield _KINDS[meant]
    elif origin in _GENERIC:
        yield _GENERIC[origin]
    elif origin in (Sequence, Iterable, Collection, tuple):  # whose length the function knows
        yield _sequence_of(inside[0])
    elif isinstance(meant, type) and not origin and meant not in _UNTOLD and not getattr(meant, "_is_protocol", False):
        yield _instance_of(meant)
    else:
        raise _UntoldError


def _sequence_of(inside: Any) -> _Kind:
    try:
        of = tuple(_members(inside))
    except _UntoldError:
        of = ()
    what = " or ".join(_PLURALS.get(kind.words, f"{kind.words} each") for kind in of)
    return _Kind(f"a sequence of {what}" if of else "a sequence", lambda value: _is_sequence(value, of))


def _is_sequence(value: Any, of: tuple[_Kind, ...]) -> bool:
    """Whether a value can be gone through, and its members are of the kinds wanted; an iterator is not used up."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    if not of or iter(value) is value:
        return True
    return all(any(kind.accepts(member) for kind in of) for member in value)


def _instance_of(wanted: type) -> _Kind:
    whose = "steinkit " if wanted.__module__.startswith("steinkit.") else ""
    remedy = vars(wanted).get("_made_from", "")
    return _Kind(f"a {whose}{wanted.__name__}", lambda value: isinstance(value, wanted), remedy)


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        return False
    try:
        float(value)
    except OverflowError:  # of a whole number or a fraction that no double is near
        return False
    return True


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


_NONE = _Kind("None", lambda value: value is None)
_STR = _Kind("a word", lambda value: isinstance(value, str))
_PATH = _Kind("a path", lambda value: isinstance(value, os.PathLike))
_GENERATOR = _Kind("a numpy Generator", lambda value: isinstance(value, np.random.Generator))
_SEED = _Kind(
    "a whole number of at least 0, a numpy Generator or None",
    lambda value: value is None or _GENERATOR.accepts(value) or (_is_whole(value) and value >= 0),
)
_PLURALS = {"a word": "words", "a number": "numbers", "a whole number": "whole numbers"}
_UNTOLD = (Any, object, inspect.Parameter.empty)
_KINDS = {
    None: _NONE,
    type(None): _NONE,
    bool: _Kind("True or False", lambda value: isinstance(value, bool | np.bool_)),
    int: _Kind("a whole number", _is_whole),
    float: _Kind("a number", _is_number),
    str: _STR,
    np.random.Generator: _GENERATOR,
}
_GENERIC = {
    Literal: _STR,
    Callable: _Kind("a function", callable),
    Mapping: _Kind("a mapping", lambda value: isinstance(value, Mapping)),
    dict: _Kind("a mapping", lambda value: isinstance(value, Mapping)),
    os.PathLike: _PATH,
}


def require_unmasked(values: Any, what: str) -> None:
    """Raise InputError if an array, or any in a list of arrays, has masked entries: what lies under them is no value.

    Parameters
    ----------
    values : object
    what : str
        What messages call it, in the plural.
    """
    masked = masked_entries(values)
    if masked:
        raise InputError(f"{what} have {masked} masked entries; fill or drop them first")


def real_numbers(values: Any, what: str, wanted: str = "") -> NDArray[np.float64]:
    """Return an array of doubles; not a copy where it is one.

    Parameters
    ----------
    values : array_like
    what : str
        Name of the values in messages, in the plural.
    wanted : str, optional
        What they must be, for the message where they are no numbers.

    Raises
    ------
    InputError
        If entries are masked, or have an imaginary part.
    UsageError
        If they are no numbers and it is said what is wanted; else what NumPy raises.
    """
    require_unmasked(values, what)
    try:
        array = np.asarray(values)
        real = np.asarray(array.real if array.dtype.kind == "c" else values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        if not wanted:
            raise
        raise UsageError(f"{what} must be {wanted}; received {values!r}") from None
    if array.dtype.kind == "c" and array.imag.any():
        raise InputError(f"{what} are complex, {array[array.imag != 0.0].flat[0]:.6g} for one; expected real numbers")
    return real


def masked_entries(values: Any) -> int:
    """How many entries are masked, of an array or of those in a list."""
    if isinstance(values, np.ma.MaskedArray):
        return int(np.count_nonzero(np.ma.getmaskarray(values)))
    if isinstance(values, list | tuple):
        return sum(masked_entries(each) for each in values if isinstance(each, list | tuple | np.ma.MaskedArray))
    return 0


def require_range(values: ArrayLike, what: str) -> None:
    """Require numbers that are 0 or between 1e-100 and 1e100 in size, so that no square or quotient leaves the doubles.

    Raises
    ------
    InputError
        If a finite one lies outside.
    """
    sizes = np.abs(np.asarray(values, dtype=np.float64))
    outside = np.isfinite(sizes) & (sizes != 0.0) & ((sizes < 1e-100) | (sizes > 1e100))
    if outside.any():
        raise InputError(
            f"expected {what} of a size from 1e-100 to 1e100, or 0; got {sizes[outside][0]:g}: rescale them"
        )


def whole(value: Any, name: str, least: int) -> int:
    """``value`` as a whole number of at least ``least``."""
    if not _is_whole(value) or value < least:
        raise UsageError(f"{name} must be a whole number of at least {least}; received {value!r}")
    return int(value)


def positive(value: Any, name: str) -> float:
    """``value`` as a positive finite number."""
    return number(value, name, lambda x: 0.0 < x < np.inf, "positive and finite")


def share(value: Any, name: str) -> float:
    """``value`` as a number in [0, 1]."""
    return number(value, name, lambda x: 0.0 <= x <= 1.0, "in [0, 1]")


def number(value: Any, name: str, allowed: Callable[[float], bool], wanted: str) -> float:
    """``value`` as a number that is allowed."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.integer | np.floating)
        or not allowed(float(value))
    ):
        raise UsageError(f"{name} must be a number, {wanted}; received {value!r}")
    return float(value)


def batch_within(batch_size: int | None, default: int, size: int) -> int:
    """Batch size to use: as given, at most N, or the default, or N where that is less."""
    if batch_size is None:
        return min(default, size)
    if whole(batch_size, "batch_size", 1) > size:
        raise UsageError(f"batch_size must be at most the number of data, {size}; received {batch_size}")
    return int(batch_size)
