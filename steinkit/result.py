"""Base class of results, and the statements used in their text.

Statements are shown as paragraphs on a terminal and as questions and answers on a page. The terms "proved", "found" and
"an estimate" for brackets are defined only in this module. Pages, figures and files are created by modules in higher
layers. To avoid imports of higher layers, the package registers their functions with `serve_results_with`.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from steinkit.errors import Caution
from steinkit.text import Table, files_label, filled, one_line, rounded_outwards

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_served_by: dict[str, str] = {}


def serve_results_with(**functions: str) -> None:
    """Register functions of higher layers, each named ``module:function``.

    Parameters
    ----------
    **functions : str
        Functions for "html" (notebooks), "plot", "figures" and "save". A module is imported on first use.
    """
    _served_by.update(functions)


def _served(what: str, *arguments: Any) -> Any:
    module, _, function = _served_by[what].partition(":")
    return getattr(importlib.import_module(module), function)(*arguments)


class Displayed:
    """Base class for objects that are displayed in notebooks as text and a figure."""

    def _repr_html_(self) -> str | None:
        shown: str | None = _served("html", self)
        return shown


class Result(Displayed):
    """Base class of results.

    All results have the same methods for text, tables, figures, JSON and files.

    Attributes
    ----------
    warnings : tuple of str
        Notes on the result. A `steinkit.errors.Caution` affects the interpretation of its numbers.
    origin : Origin or None
        Files and command of a result from the command line.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> found = sk.chain_diagnostics(np.random.default_rng(0).standard_normal((100, 2)))
    >>> isinstance(found, sk.Result)
    True
    >>> sorted(found.to_dict())
    ['chains', 'coordinates', 'cost_per_draw', 'measure', 'moved', 'value']
    """

    warnings: tuple[str, ...]
    origin: Origin | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON document.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        raise NotImplementedError

    @property
    def subject(self) -> str:
        """Names of the sample and the target, or an empty string if unknown."""
        return "" if self.origin is None else f"{self.origin.sample} against {self.origin.against}"

    def headline(self) -> str:
        """Return the result in one sentence.

        Returns
        -------
        str
            A sentence without the final period.
        """
        raise NotImplementedError

    def statements(self) -> tuple[Statement, ...]:
        """Return the statements that form the text of the result.

        Returns
        -------
        tuple of Statement
            The result, its evidence and its limits, in reading order.
        """
        raise NotImplementedError

    def tables(self) -> tuple[Table, ...]:
        """Return tables of the numerical results.

        Returns
        -------
        tuple of Table
            Tables, beginning with the most informative one. `summary` appends the first table to the text.
        """
        return ()

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the settings, seeds, versions, hashes and commands.

        Returns
        -------
        tuple of pairs of str
            Terms and values. A value with several lines is text to be copied.
        """
        return () if self.origin is None else self.origin.facts

    def figures(self) -> tuple[ReportFigure, ...]:
        """Return the figures for a page.

        Returns
        -------
        tuple of ReportFigure
            Figures, beginning with the most informative one.
        """
        shown: tuple[ReportFigure, ...] = _served("figures", self)
        return shown

    def summary(self) -> str:
        """Return the result as text that includes its most informative table.

        Returns
        -------
        str
            Paragraphs, separated by blank lines.
        """
        text = running_text([*self.statements(), *cautioned(self.warnings)])
        return "\n\n".join([text, *(table.text() for table in self.tables()[:1])])

    def plot(self) -> Figure:
        """Plot the result.

        Returns
        -------
        matplotlib Figure
            The figure, which is not registered with pyplot. Use ``figure.savefig`` to save it.

        Raises
        ------
        UsageError
            If results of this type have no figure.
        """
        figure: Figure = _served("plot", self)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to two files that `steinkit.read_result` can read.

        Parameters
        ----------
        path : path
            Name of the JSON file with the content of `to_dict`. The arrays are written to a second file, with ``.npz``
            appended to the name.

        Raises
        ------
        OutputError
            If a file cannot be written.
        """
        _served("save", self, path)


@dataclass(frozen=True)
class Origin:
    """Files, target and command that produced a result on the command line.

    Attributes
    ----------
    files : tuple of str
    against : str
        Description of the target for use in a sentence.
    target : str or None
        Name of the target, or None if stored scores were used or no target was needed.
    options : mapping of str to str
        Options of the target.
    command : tuple of str
        Words of the command.
    version : str
        Version of steinkit.
    """

    files: tuple[str, ...]
    against: str
    target: str | None
    options: Mapping[str, str]
    command: tuple[str, ...]
    version: str

    @property
    def sample(self) -> str:
        """Name of the sample, derived from its file names."""
        return files_label(self.files)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Files, version and command as (term, value) pairs."""
        files = ", ".join(self.files)
        return ("files", files), ("steinkit", self.version), ("command", shlex.join(["steinkit", *self.command]))

    def to_dict(self) -> dict[str, Any]:
        """Return the files, the target and the command as a JSON document."""
        target = None if self.target is None else {"name": self.target, "options": dict(self.options)}
        return {"files": [*self.files], "target": target, "command": [*self.command]}


@dataclass(frozen=True)
class ReportFigure:
    """A figure on a page.

    Attributes
    ----------
    name : str
        Heading.
    caption : str
        Sentences that explain how to read the figure.
    alt : str
        Description of the figure, with its numbers, for readers who cannot see it.
    draw : callable
        Function that returns a new Figure with a width of about 7.6 inches, which is not registered with pyplot.
    """

    name: str
    caption: str
    alt: str
    draw: Callable[[], Figure]


class Brief:
    """Base class for records with a short repr that lists array shapes.

    Dataclasses derived from this class are declared with ``repr=False``.
    """

    def __repr__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if field.repr]  # type: ignore[arg-type]
        shown = [f"{field.name}={_brief(getattr(self, field.name))}" for field in fields]
        return f"<{type(self).__name__}: {', '.join(shown)}>"


def in_json(value: Any) -> Any:
    """Convert a value for JSON, replacing non-finite numbers with null."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: in_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [in_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def named(names: Sequence[str], most: int = 4) -> str:
    """Join at most ``most`` names, including the last one."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 1])}, ..., {names[-1]}"


def _brief(value: Any) -> str:
    if shape := getattr(value, "shape", None):
        return f"array of shape {tuple(shape)}"
    if isinstance(value, list | tuple | dict) and len(value) > 6:
        return f"{type(value).__name__} of {len(value)}"
    return repr(value)


@dataclass(frozen=True)
class Statement:
    """Statement that forms part of the text of a result.

    Attributes
    ----------
    kind : str
        Content of the text: "number" (a value with its bracket), "comparison" with other samples, "findings" about
        parameters, "draws" that a finding concerns, "choice" among settings, "limits" of the result, or "method".
    question : str
        Question that the text answers, which is a heading on a page.
    text : str
        Complete sentences.
    continues : bool
        True if the text continues the paragraph or the answer of the previous statement.
    """

    kind: Literal["number", "comparison", "findings", "draws", "choice", "limits", "method"]
    question: str
    text: str
    continues: bool = False


def cautioned(warnings: Iterable[str]) -> tuple[Statement, ...]:
    """Return a statement that lists the cautions among the warnings."""
    found = [f"{each[0].upper()}{each[1:]}." for each in warnings if isinstance(each, Caution)]
    return (Statement("limits", "Which cautions apply?", " ".join(["Caution:", *found])),) if found else ()


def running_text(statements: Sequence[Statement]) -> str:
    """Format statements as paragraphs and method statements as single lines."""
    paragraphs: list[list[Statement]] = []
    for each in statements:
        if each.continues and paragraphs:
            paragraphs[-1].append(each)
        elif each.text:
            paragraphs.append([each])
    return "\n\n".join(
        one_line(paragraph[0].text)
        if paragraph[0].kind == "method"
        else filled(" ".join(each.text for each in paragraph))
        for paragraph in paragraphs
    )


def answers(statements: Sequence[Statement]) -> tuple[tuple[str, str], ...]:
    """Return questions and their answers.

    Consecutive statements that answer the same question are combined into one answer. Each statement begins a new
    line, unless it continues the previous line.
    """
    found: list[tuple[str, str]] = []
    for each in statements:
        if each.text and found and found[-1][0] == each.question:
            found[-1] = each.question, f"{found[-1][1]}{' ' if each.continues else chr(10)}{each.text}"
        elif each.text:
            found.append((each.question, each.text))
    return tuple(found)


UNVISITED = "A Stein discrepancy cannot detect a mode if there are no draws near the mode."
"""Limitation that applies to every Stein discrepancy."""

REJECTED = "These draws do not come from the target"
UNSUSPECTED = "No bias found"
UNDECIDED = "Too few effective draws for a verdict"
UNTESTED = "The draws could not be tested"
"""Headlines of a verdict."""

Claim = Literal["proved", "found", "estimated"]
"""Basis of a bracket.

A "proved" bracket accounts for rounding errors. A "found" bracket relies in part on an extrapolation or an assumption.
An "estimated" value has no bracket.
"""

ESTIMATE = "an estimate"
"""Text for a value without a bracket."""


def claimed(claim: Claim, lower: float, upper: float) -> str:
    """Return a bracket as a clause such as "proved to lie between 1.2 and 1.3"."""
    if claim == "estimated":
        return ESTIMATE
    return f"{claim} to lie between {' and '.join(rounded_outwards(lower, upper))}"


def bracket_column(claim: Claim) -> str:
    """Return the column heading for brackets, or "" for estimates."""
    return "" if claim == "estimated" else f"{claim} between"
