"""What all results share, and how objects show themselves: a few lines in a terminal, a picture in a notebook.

Words of measures, pictures and files come from rooms far above this one, which therefore are not imported here: the
package says at its front door, by `serve_results_with`, which function does what.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_served_by: dict[str, str] = {}


def serve_results_with(**functions: str) -> None:
    """Name the functions that serve results, as ``module:function``; a module is imported when first needed.

    Parameters
    ----------
    **functions : str
        "html" of a notebook, "summary", "picture", "save".
    """
    _served_by.update(functions)


def _served(what: str, *arguments: Any) -> Any:
    module, _, function = _served_by[what].partition(":")
    return getattr(importlib.import_module(module), function)(*arguments)


class Displayed:
    """An object that a notebook shows in words and with a picture."""

    def _repr_html_(self) -> str | None:
        shown: str | None = _served("html", self) if "html" in _served_by else None
        return shown


class Result(Displayed):
    """What was found: it can be said in words, shown, listed as JSON, and kept in files."""

    def to_dict(self) -> dict[str, Any]:
        """List the result as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        raise NotImplementedError

    def summary(self) -> str:
        """Say in words what was found.

        Returns
        -------
        str
            Paragraphs, with a blank line between them.
        """
        said: str = _served("summary", self)
        return said

    def plot(self) -> Figure:
        """Draw what was found.

        Returns
        -------
        matplotlib Figure
            Not registered with pyplot; save it with ``figure.savefig``.

        Raises
        ------
        UsageError
            If there is no picture of such a result.
        """
        figure: Figure = _served("picture", self)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Keep the result in two files, which `steinkit.read_result` reads.

        Parameters
        ----------
        path : path
            Of a JSON file with `to_dict`; the arrays go beside it, into a file of this name with ``.npz`` added.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        _served("save", self, path)


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
