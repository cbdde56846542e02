"""What a JSON document must look like, and where it does not: small checks that are put together to larger ones.

A check takes a value and the way to it, such as ``results[0].lower``, and raises InputError if it is something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from steinkit.errors import InputError

Shape: TypeAlias = Callable[[Any, str], None]

_LARGEST = 1e150  # squares of larger numbers overflow, in pictures if not before
_PLAIN = re.compile(r"\w+")


def number(value: Any, where: str) -> None:
    """A number whose square is one, too."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        raise _wrong(value, where, "a number")


def positive(value: Any, where: str) -> None:
    """A number above 0."""
    number(value, where)
    if not value > 0:
        raise _wrong(value, where, "a positive number")


def whole(value: Any, where: str) -> None:
    """A whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(value, where, "a whole number of at least 0")


def text(value: Any, where: str) -> None:
    """A text."""
    if not isinstance(value, str):
        raise _wrong(value, where, "a text")


def flag(value: Any, where: str) -> None:
    """True or false."""
    if not isinstance(value, bool):
        raise _wrong(value, where, "true or false")


def anything(value: Any, where: str) -> None:
    """Whatever JSON holds, of which only its text is shown."""


def one_of(*allowed: str) -> Shape:
    """One of several words."""

    def check(value: Any, where: str) -> None:
        if value not in allowed or not isinstance(value, str):
            raise _wrong(value, where, f"one of {', '.join(allowed)}")

    return check


def matching(pattern: str, what: str) -> Shape:
    """A text of a pattern."""

    def check(value: Any, where: str) -> None:
        text(value, where)
        if not re.fullmatch(pattern, value):
            raise _wrong(value, where, what)

    return check


def or_null(shape: Shape) -> Shape:
    """Something, or null."""
    return lambda value, where: None if value is None else shape(value, where)


def some(shape: Shape, *, least: int = 0, most: int | None = None) -> Shape:
    """A list of things that are alike."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, list):
            raise _wrong(value, where, "a list")
        if len(value) < least or (most is not None and len(value) > most):
            wanted = f"{least}" if least == most else f"at least {least}"
            raise InputError(f"{where or 'the document'} has {len(value)} entries where {wanted} are wanted")
        for k, each in enumerate(value):
            shape(each, f"{where}[{k}]")

    return check


def pair(shape: Shape) -> Shape:
    """A list of two."""
    return some(shape, least=2, most=2)


def by_name(shape: Shape, names: Shape = text) -> Shape:
    """An object whose keys are names."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(value, where, "an object")
        for name, each in value.items():
            names(name, f"a key of {where or 'the document'}")
            shape(each, _inside(where, name))

    return check


def record(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object with certain keys; others are left alone."""

    def check(value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise _wrong(value, where, "an object")
        for name, shape in required.items():
            if name not in value:
                raise InputError(f'{where or "the document"} lacks the key "{name}"')
            shape(value[name], _inside(where, name))
        for name, shape in (optional or {}).items():
            if name in value:
                shape(value[name], _inside(where, name))

    return check


def also(shape: Shape, *rules: Shape) -> Shape:
    """Something of a shape that keeps rules besides, which may rely on the shape."""

    def check(value: Any, where: str) -> None:
        shape(value, where)
        for rule in rules:
            rule(value, where)

    return check


def not_empty(value: Any, where: str) -> None:
    """Something is in it."""
    if not value:
        raise InputError(f"{where} is empty")


def equally_long(*keys: str) -> Shape:
    """The lists under these keys, where they are not null, have one length."""

    def check(value: Any, where: str) -> None:
        lengths = {name: len(value[name]) for name in keys if value[name] is not None}
        if len(set(lengths.values())) > 1:
            said = ", ".join(f'{length} of "{name}"' for name, length in lengths.items())
            raise InputError(f"{where or 'the document'} holds lists that must be equally long: {said}")

    return check


def _inside(where: str, name: str) -> str:
    key = name if _PLAIN.fullmatch(name) else f'"{name}"'
    return f"{where}.{key}" if where else key


def _wrong(value: Any, where: str, wanted: str) -> InputError:
    found = f"{type(value).__name__} of {len(value)}" if isinstance(value, list | dict) else repr(value)
    return InputError(f"{where or 'the document'} is {found[:60]}; {wanted} is wanted")
