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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from steinkit.errors import Caution
from steinkit.text import (
    Table,
    count,
    filled,
    one_line,
    ordinal,
    ratio,
    rounded_outwards,
    sentence,
    value_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_served_by: dict[str, str] = {}


def serve_results_with(**functions: str) -> None:
    """Name the functions that serve results, as ``module:function``; a module is imported when first needed.

    Parameters
    ----------
    **functions : str
        "html" of a notebook, "summary", "picture", "figures", "save".
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
    """

    warnings: tuple[str, ...]

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
        return ""

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
        return ()

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


Document: TypeAlias = Mapping[str, Any]
"""A result as JSON holds it, or a part of it."""

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


CERTIFIED_BETWEEN = "certified between"
"""Heading of the graph's brackets, which a certificate proves whatever solver found them."""

UNVISITED = (
    "That all of the target was visited: a mode that no draw has come near changes nothing that a Stein discrepancy "
    "sees."
)
"""What no Stein discrepancy proves."""

ACCUSED = "These draws are not from the target"
UNSUSPECTED = "No bias found"
UNDECIDED = "There are too few effective draws to judge"
"""What a verdict says, by its p-value and the effective draws."""

Claim = Literal["proved", "found", "estimated"]
"""A bracket with every rounding bounded; one of which a part is extrapolated or assumed; no bracket at all."""

ESTIMATE = "an estimate"
"""Said in place of a bracket where there is none."""

Place = Literal["above", "below", "within"]


@dataclass(frozen=True)
class DescribedMeasure:
    """What must be known of a measure to speak of its values.

    Attributes
    ----------
    name, title : str
        By which users ask for it, and by which sentences call it.
    smaller_is_better : bool
        Whether it is a distance from the target.
    claim : {"proved", "found", "estimated"}
        What its values claim: a bracket that is proved, one of which a part is extrapolated, none.
    needs : {"draws", "scores", "target"}
        What it looks at. One that looks at the draws alone cannot see bias.
    describe : callable
        Says in words what its entry in JSON means.
    """

    name: str
    title: str
    _: KW_ONLY
    smaller_is_better: bool = True
    claim: Claim = "proved"
    needs: Literal["draws", "scores", "target"] = "scores"
    describe: Describe

    @property
    def has_bracket(self) -> bool:
        """Whether its values come with a bracket."""
        return self.claim != "estimated"


FindMeasure: TypeAlias = Callable[[str], DescribedMeasure]
"""The measure of a name that documents mention."""


def claimed(claim: Claim, lower: float, upper: float) -> str:
    """The claim and the bracket, as in a sentence: "proved to lie between 1.2 and 1.3"."""
    if claim == "estimated":
        return ESTIMATE
    return f"{claim} to lie between {' and '.join(rounded_outwards(lower, upper))}"


def bracket_column(claim: Claim) -> str:
    """Heading of a table's column of brackets; empty where there are none."""
    return "" if claim == "estimated" else f"{claim} between"


def place(lower: float, upper: float, lowest: float, highest: float) -> Place:
    """Where a bracket lies by the range of others: above or below all of them for certain, or not."""
    if lower > highest:
        return "above"
    return "below" if upper < lowest else "within"


def better(claim: Claim) -> str:
    """The claim of one value against another whose bracket lies apart: "proved better"."""
    return "better" if claim == "estimated" else f"{claim} better"


def preference(measure: DescribedMeasure) -> str:
    """Which values of a measure are wanted."""
    return f"{'smaller' if measure.smaller_is_better else 'larger'} is better"


_LARGEST, _SMALLEST = "the largest", "the smallest"
_NOISE = "Right samples score as much, so what follows may be sampling noise."
_NOISE_UNKNOWN = "What right samples score is not known, so what follows may be sampling noise."


@dataclass(frozen=True)
class Description:
    """What is said of one measure of a sample.

    Attributes
    ----------
    title : str
        The measure's, with what must be known of the number.
    statements : tuple of Statement
    table : Table, optional
        Coordinate by coordinate.
    """

    title: str
    statements: tuple[Statement, ...]
    table: Table | None = None


Describe: TypeAlias = Callable[[DescribedMeasure, Document], Description]
"""Says what an entry of a measure in a document of ``steinkit score --json`` means. The entry holds what the document
says of the "sample", too, and of independent samples, where they were measured alike, as its "reference"."""


def spread(reference: Document) -> tuple[float, float]:
    """The ends of what independent samples score, for certain."""
    samples = reference["samples"]
    return min(each["lower"] for each in samples), max(each["upper"] for each in samples)


def beside_right_samples(entry: Document, caution: str = "") -> str:
    """What right samples score, and where the sample stands among them."""
    reference = entry["reference"]
    low, high = spread(reference)
    n = len(reference["samples"])
    theirs = f"{low:.4g} to {high:.4g}, median {reference['median']:.4g}."
    said = f"{sentence(right_samples(reference, entry['sample']))} {'scores' if n == 1 else 'score'} {theirs}"
    return said + (f" This sample is {standing(entry, caution)}." if n > 1 else "")


def right_samples(reference: Document, sample: Document | None = None) -> str:
    """What a sample is compared with, in the middle of a sentence: right samples of its effective size.

    Parameters
    ----------
    reference : mapping
    sample : mapping, optional
        What the document says of the sample, where it says how many draws that has.
    """
    n, draws = len(reference.get("samples", reference.get("values", ()))), reference["draws"]
    worth = reference.get("effective_draws", draws)
    if reference.get("run"):
        return f"{count(n, 'block')} of {draws} draws of {reference['run']}, worth {worth} independent ones each,"
    why = ", as many as this sample is worth by its ESS," if sample is not None and worth < sample["draws"] else ""
    return f"{count(n, 'independent sample')} of {count(draws, 'draw')} from the target{why}"


def standing(entry: Document, caution: str = "") -> str:
    """A sample's rank with independent ones, and how many times their median it has; a caution if it is the smallest.

    Sizes, and no verdict: the largest of six is one of six right samples, and most of right chains that mix slowly.
    """
    reference = entry["reference"]
    rank, of = rank_among(entry, reference), len(reference["samples"]) + 1
    chance = f"; one right sample in {of} is so by chance" if rank == _LARGEST else ""
    median = reference["median"]
    times = (
        f", at {ratio(entry['value'] / median)} times their median" if median > 0.0 else ""
    )  # U-statistics need not be
    return f"{rank} of the {of} together{times}{chance}{caution if rank == _SMALLEST else ''}"


def rank_among(entry: Document, reference: Document) -> str:
    """The rank of a sample together with independent ones, as far as the brackets tell: "the 2nd to 3rd smallest"."""
    samples = reference["samples"]
    first = 1 + sum(each["upper"] < entry["lower"] for each in samples)
    last = 1 + sum(each["lower"] <= entry["upper"] for each in samples)
    if first > len(samples):
        return _LARGEST
    return _SMALLEST if last == 1 else f"the {' to '.join(dict.fromkeys(map(ordinal, (first, last))))} smallest"


def times_expected(entry: Document) -> list[float] | None:
    """Each coordinate's value over that of independent samples, then the total's; None where these are not known."""
    rows, reference = entry["coordinates"], entry.get("reference") or {}
    expected = reference.get("coordinates")
    if expected is None or len(expected) != len(rows):
        return None
    pairs = zip((*rows, entry), (*expected, reference["median"]), strict=True)
    return [row["value"] / each if each > 0.0 else 1.0 for row, each in pairs]


def heaviest_first(entry: Document) -> list[int]:
    """The order of coordinates by what they carry, beside right samples where there are any."""
    times = times_expected(entry)
    carried = [row["value"] for row in entry["coordinates"]] if times is None else times[:-1]
    return sorted(range(len(carried)), key=lambda j: -carried[j])


def coordinates_table(title: str, entry: Document, *, is_wide: bool = False) -> Table:
    """The total, then what each coordinate carries, the worst first, with brackets; only these where they are wide."""
    times, rows = times_expected(entry), []
    found = [*entry["coordinates"], {**entry, "name": "total"}]
    for k in (len(found) - 1, *heaviest_first(entry)):
        each = found[k]
        ends = each["lower"], each["upper"]
        shown = ["see bracket" if is_wide else value_of(each), *([] if times is None else [ratio(times[k])])]
        rows.append((each["name"], *shown, " and ".join(rounded_outwards(*ends))))
    columns = ("coordinate", "discrepancy", *([] if times is None else ["times expected"]), CERTIFIED_BETWEEN)
    return Table(f"{sentence(title)} by coordinate", columns, tuple(rows), marked=0)


def caution_for_noise(entry: Document) -> str:
    """That what is found may be noise, unless several right samples score less for certain.

    Where there are none, and the entry says that the sample is accused, the verdict has ruled that out.
    """
    reference = entry.get("reference")
    if not reference or len(reference["samples"]) < 2:
        return "" if entry.get("accused") else _NOISE_UNKNOWN
    return "" if place(entry["lower"], entry["upper"], *spread(reference)) == "above" else _NOISE


def spent(entry: Document) -> str:
    """The seconds that a measure took, by the work they went to."""
    return ", ".join(f"{name} {value:.2f}" for name, value in entry.get("seconds", {}).items())
