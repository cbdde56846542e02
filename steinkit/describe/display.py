"""How objects show themselves: a few lines in a terminal, and in a notebook words beside a picture.

Pictures are drawn in a room far above this one, which therefore is not imported here: the package says at its front
door, by `display_with`, who draws them.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from typing import Any

_drawn_by: list[tuple[str, str]] = []


def display_with(module: str, function: str) -> None:
    """Name the function that turns an object into HTML; its module is imported when first needed."""
    _drawn_by[:] = [(module, function)]


class Displayed:
    """An object that a notebook shows in words and with a picture."""

    def _repr_html_(self) -> str | None:
        if not _drawn_by:
            return None
        ((module, function),) = _drawn_by
        drawn: str | None = getattr(importlib.import_module(module), function)(self)
        return drawn


class Brief:
    """A record of arrays that names them with their shapes instead of printing what they hold.

    For dataclasses, which must be made with ``repr=False``.
    """

    def __repr__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if field.repr]  # type: ignore[arg-type]
        told = [f"{field.name}={_brief(getattr(self, field.name))}" for field in fields]
        return f"<{type(self).__name__}: {', '.join(told)}>"


def named(names: Sequence[str], most: int = 4) -> str:
    """The first names and the last, and how many there are."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])}, ..., {names[-1]}"


def _brief(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape:
        return f"array of shape {tuple(shape)}"
    if isinstance(value, list | tuple | dict) and len(value) > 6:
        return f"{type(value).__name__} of {len(value)}"
    return repr(value)
