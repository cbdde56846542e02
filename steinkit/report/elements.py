"""What a report is made of: plain text, which the page's template escapes and nobody before it.

So no name from a file can be anything but a name.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from steinkit.describe.layout import Table
from steinkit.printable import printable

if TYPE_CHECKING:
    from jinja2 import Template


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

    @property
    def address(self) -> str:
        """The picture for light paper itself, as an address."""
        return _address(self.light)

    @property
    def dark_address(self) -> str:
        """The picture for dark paper itself, as an address."""
        return _address(self.dark)


def _address(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode('ascii')}"


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

    @property
    def has_making(self) -> bool:
        """Whether it is said how it was made."""
        return bool(self.facts or self.listings)
