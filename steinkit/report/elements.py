"""What a report is made of: plain text, which the page's template escapes and nobody before it, and pictures.

So no name from a file can be anything but a name. Pictures are drawn as SVG at two widths, so that letters are as large
on a telephone as on a desk. Nothing in them depends on the moment: the same results give the same bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.errors import printable
from steinkit.plots.axes import Coordinates, coordinate_bars, drawn, heaviest
from steinkit.result import Document
from steinkit.text import Table, compact, count, sentence, shortened

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure


@cache
def template(name: str) -> Template:
    """A template of this folder, which escapes all text that it is given and refuses what it is not."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("steinkit.report"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["address"] = lambda svg: f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"
    return environment.get_template(name)


def _visible(value: Any) -> Any:
    """What a template prints in the place of a value: text without control characters; the template's own stays."""
    return printable(value, lines=True) if isinstance(value, str) and not hasattr(value, "__html__") else value


@dataclass(frozen=True)
class Drawing:
    """A picture in SVG, for light paper and for dark, and its size in CSS pixels."""

    light: bytes
    dark: bytes
    width: int
    height: int


@dataclass(frozen=True)
class Picture:
    """A picture drawn twice, for wide and for narrow windows, with words for those who see it and who do not.

    Attributes
    ----------
    title : str
    caption : str
        What to see in it.
    description : str
        What is seen in it, in numbers.
    wide, narrow : Drawing
    """

    title: str
    caption: str
    description: str
    wide: Drawing
    narrow: Drawing


@dataclass(frozen=True)
class Listing:
    """Text to be copied: a command, a file."""

    title: str
    text: str


@dataclass(frozen=True)
class Part:
    """What a report says of one source.

    Attributes
    ----------
    source : str
        Name of what it was made from.
    subject : str
        The sample or samples and their target, of which the headline speaks.
    headline : str
        The verdict in one sentence.
    answers : tuple of pairs of str
        Questions and answers, several lines being points of a list: the verdict with its grounds, and what it does not
        prove.
    reservations : tuple of str
        Warnings that came with the results.
    pictures : tuple of Picture
    tables : tuple of Table
    facts : tuple of pairs of str
        Settings, seeds, versions, hashes.
    listings : tuple of Listing
        How to find it again.
    """

    source: str
    subject: str
    headline: str
    answers: tuple[tuple[str, str], ...]
    reservations: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    listings: tuple[Listing, ...] = ()


WIDE, NARROW = 7.6, 3.8  # inches; one is 96 CSS pixels
_PIXELS = 96
_LONGEST_NAME = 32  # letters, in a legend
_IN_WORDS = 10  # coordinates
_MOST_BARS = 8  # coordinates shown, the heaviest first
_LONGEST_LABEL = 18  # letters, of a bar
_MANY_MARKS = 300  # of a scatter, beyond which it is drawn as an image


def drawing(figure: Figure) -> Drawing:
    """A figure as SVG for light and for dark paper; thousands of marks become an image inside it."""
    from steinkit.plots import themed_svg

    for ax in figure.axes:
        for marks in ax.collections:
            if np.shape(marks.get_offsets())[0] > _MANY_MARKS:
                marks.set_rasterized(True)
    width, height = figure.get_size_inches()
    return Drawing(*themed_svg(figure), round(_PIXELS * width), round(_PIXELS * height))


def label(name: str) -> str:
    """A name as a legend can bear it: its middle left out where it is long, and no formula."""
    return shortened(name, _LONGEST_NAME).replace("$", r"\$")


def draws_in_numbers(name: str, result: Any) -> str:
    """What a picture of a result's draws shows, for those who do not see it."""
    points = result.sample.points
    shown = [
        f"{label} from {compact(low, 3)} to {compact(high, 3)}"
        for label, low, high in zip(result.sample.names, points.min(axis=0), points.max(axis=0), strict=True)
    ]
    ranges = ", ".join([*shown[:_IN_WORDS], *([f"{len(shown) - _IN_WORDS} more"] if len(shown) > _IN_WORDS else [])])
    return f"{sentence(name)}: {count(len(points), 'draw')}, {ranges}, discrepancy {compact(result.value)}."


def pictured(
    title: str,
    caption: str,
    description: str,
    draw: Callable[[Any], Any],
    height: float,
    narrow_height: float | None = None,
) -> Picture:
    """What a function draws on Axes as a picture of this height, in inches, and of another where it is narrow."""
    sizes = (WIDE, height), (NARROW, narrow_height or height)
    return Picture(title, caption, description, *(drawing(drawn(draw, *size)) for size in sizes))


def has_bars(entry: Document) -> bool:
    """Whether a measure's entry says what each coordinate carries of it."""
    return all("value" in each for each in entry.get("coordinates", [{}]))


def brackets_caption(title: str) -> str:
    """What is to be seen in bars with their brackets, of a measure of this title."""
    return (
        f"What each coordinate carries of the {title}, with its certified bracket as an error bar where that can be "
        "seen: the longest bar is the coordinate to look at first."
    )


def bars_pictures(groups: Mapping[str, Coordinates], caption: str, title: str = "") -> list[Picture]:
    """The picture of the bars, if there are several coordinates to show.

    Parameters
    ----------
    groups : mapping of str to sequence of mapping
        Entries "name", "value", and where they are known "lower" and "upper", of the coordinates of each sample.
    caption : str
    title : str
        Of the measure, where several of them have bars.
    """
    if not groups or max(map(len, groups.values())) < 2:
        return []

    labelled = [(label(name), entries) for name, entries in groups.items()]

    def draw(ax: Any) -> None:
        coordinate_bars(labelled, ax, most=_MOST_BARS, longest_name=_LONGEST_LABEL)

    bars = len(heaviest(groups.values(), _MOST_BARS)) * len(groups)
    heading = f"{sentence(title)}, coordinate by coordinate" if title else "Coordinate by coordinate"
    shown = " ".join(_in_numbers(name, entries) for name, entries in groups.items())
    height = 1.2 + 0.2 * len(groups) + 0.27 * bars
    return [pictured(heading, caption, f"Discrepancy by coordinate. {shown}", draw, height)]


def _in_numbers(name: str, entries: Coordinates) -> str:
    return f"{sentence(name)}: " + ", ".join(f"{each['name']} {compact(each['value'])}" for each in entries) + "."
