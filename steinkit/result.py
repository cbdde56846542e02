"""What all results share: how they show themselves, and the statements that are made of them.

Words of measures, pictures and files come from rooms far above this one, which therefore are not imported here: the
package says at its front door, by `serve_results_with`, which function does what. Statements become the running text of
a terminal, or the questions and answers of a page. Only this file says "proved", "found" or "an estimate".
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
    """Name the functions that serve results, as ``module:function``; a module is imported when first needed.

    Parameters
    ----------
    **functions : str
        "html" of a notebook, "picture", "figures", "save".
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
    """What was found: it can be said in words, shown, listed as JSON, and kept in files.

    Every result says itself by the same methods, from its own attributes. Terminals, notebooks and pages arrange what
    these return and decide nothing.

    Attributes
    ----------
    warnings : tuple of str
        What a reader should know; a `steinkit.errors.Caution` changes how the number is to be read.
    origin : Origin or None
        Where a command line made the result.
    """

    warnings: tuple[str, ...]
    origin: Origin | None = None

    def to_dict(self) -> dict[str, Any]:
        """List the result as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        raise NotImplementedError

    @property
    def subject(self) -> str:
        """What the result is of: the sample or samples, or sampler, and the target; empty where that is not known."""
        return "" if self.origin is None else f"{self.origin.sample} against {self.origin.against}"

    def headline(self) -> str:
        """Say in one sentence, without its full stop, what was found.

        Returns
        -------
        str
            The head of a page.
        """
        raise NotImplementedError

    def statements(self) -> tuple[Statement, ...]:
        """Say what was found, with its grounds and limits.

        Returns
        -------
        tuple of Statement
            In the order in which they are read.
        """
        raise NotImplementedError

    def tables(self) -> tuple[Table, ...]:
        """List what was found in numbers.

        Returns
        -------
        tuple of Table
            The most telling one first; it follows the text of `summary`.
        """
        return ()

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List how the result was made: settings, seeds, versions, hashes, and how to make it again.

        Returns
        -------
        tuple of pairs of str
            Term and value; a value of several lines is text to be copied.
        """
        return () if self.origin is None else self.origin.facts

    def figures(self) -> tuple[Picture, ...]:
        """Show what was found, for a page.

        Returns
        -------
        tuple of Picture
            The most telling one first; `steinkit.plots.figures` has them with a target of the user's own code.
        """
        shown: tuple[Picture, ...] = _served("figures", self)
        return shown

    def summary(self) -> str:
        """Say in words what was found, and list the most telling table.

        Returns
        -------
        str
            Paragraphs, with a blank line between them.
        """
        said = running_text([*self.statements(), *cautioned(self.warnings)])
        return "\n\n".join([said, *(table.text() for table in self.tables()[:1])])

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


@dataclass(frozen=True)
class Origin:
    """Files, target and command that a result was made of at a command line.

    Attributes
    ----------
    files : tuple of str
    against : str
        The target in a sentence.
    target : str or None
        Its name; None where scores stored in the files took its place, or none was needed.
    options : mapping of str to str
        Of the target.
    command : tuple of str
        Its words.
    version : str
        Of steinkit.
    """

    files: tuple[str, ...]
    against: str
    target: str | None
    options: Mapping[str, str]
    command: tuple[str, ...]
    version: str

    @property
    def sample(self) -> str:
        """Name of the sample after its files."""
        return files_label(self.files)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """How the result was made."""
        files = ", ".join(self.files)
        return ("files", files), ("steinkit", self.version), ("command", shlex.join(["steinkit", *self.command]))

    def to_dict(self) -> dict[str, Any]:
        """List files, target and command as JSON documents hold them."""
        target = None if self.target is None else {"name": self.target, "options": dict(self.options)}
        return {"files": [*self.files], "target": target, "command": [*self.command]}


@dataclass(frozen=True)
class Picture:
    """A picture of a page.

    Attributes
    ----------
    name : str
        Its heading.
    caption : str
        Sentences that tell those who see it how to read it.
    alt : str
        What is seen in it, in numbers, for those who do not.
    draw : callable
        Draws it on a new Figure, not registered with pyplot, about 7.6 inches wide.
    """

    name: str
    caption: str
    alt: str
    draw: Callable[[], Figure]


class Brief:
    """A record of arrays that names them with their shapes instead of printing what they hold.

    For dataclasses, which must be made with ``repr=False``.
    """

    def __repr__(self) -> str:
        fields = [field for field in dataclasses.fields(self) if field.repr]  # type: ignore[arg-type]
        told = [f"{field.name}={_brief(getattr(self, field.name))}" for field in fields]
        return f"<{type(self).__name__}: {', '.join(told)}>"


def in_json(value: Any) -> Any:
    """A value as JSON documents hold it: lists, nested documents, and null for what is not finite."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: in_json(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [in_json(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


Kind = Literal["number", "comparison", "findings", "draws", "choice", "limits", "method"]


@dataclass(frozen=True)
class Statement:
    """One thing that is said of a result.

    Attributes
    ----------
    kind : str
        "number" with its proof, "comparison" with others, "findings" of coordinates, "draws" that weigh most, "choice"
        among settings, "limits" of what was shown, "method".
    question : str
        What a reader would ask to be told this; the heading of a page's answer.
    text : str
        Whole sentences.
    continues : bool
        Whether it stands in the paragraph, or in the answer to the same question, of the statement before it.
    """

    kind: Kind
    question: str
    text: str
    continues: bool = False


def cautioned(warnings: Iterable[str]) -> tuple[Statement, ...]:
    """What of a result's warnings changes how its number is to be read; nothing if none of them does."""
    found = [f"{each[0].upper()}{each[1:]}." for each in warnings if isinstance(each, Caution)]
    return (Statement("limits", "Under what reservations?", " ".join(["Caution:", *found])),) if found else ()


def running_text(statements: Sequence[Statement]) -> str:
    """Paragraphs with a blank line between them; how a number was computed is a line of its own."""
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
    """Questions with their answers; statements that follow each other on one question are points of its answer.

    One that continues the statement before it joins its point.
    """
    found: list[tuple[str, str]] = []
    for each in statements:
        if each.text and found and found[-1][0] == each.question:
            found[-1] = each.question, f"{found[-1][1]}{' ' if each.continues else chr(10)}{each.text}"
        elif each.text:
            found.append((each.question, each.text))
    return tuple(found)


UNVISITED = (
    "That all of the target was visited: a mode that no draw has come near changes nothing that a Stein discrepancy "
    "sees."
)
"""What no Stein discrepancy proves."""

REJECTED = "These draws do not come from the target"
UNSUSPECTED = "No bias found"
UNDECIDED = "Too few effective draws for a verdict"
UNTESTED = "The draws could not be tested"
"""What a verdict says, by its p-value and the effective draws."""

Claim = Literal["proved", "found", "estimated"]
"""A bracket with every rounding bounded; one of which a part is extrapolated or assumed; no bracket at all."""

ESTIMATE = "an estimate"
"""Said in place of a bracket where there is none."""


def claimed(claim: Claim, lower: float, upper: float) -> str:
    """The claim and the bracket, as in a sentence: "proved to lie between 1.2 and 1.3"."""
    if claim == "estimated":
        return ESTIMATE
    return f"{claim} to lie between {' and '.join(rounded_outwards(lower, upper))}"


def bracket_column(claim: Claim) -> str:
    """Heading of a table's column of brackets; empty where there are none."""
    return "" if claim == "estimated" else f"{claim} between"
