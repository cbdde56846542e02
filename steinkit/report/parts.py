"""What a report is made of, and its HTML.

Parts hold plain text; it is escaped where HTML is made of it and nowhere else, so that no name from a file can be
anything but a name.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from steinkit.describe.numbers import UNDEFINED

_LONG = 36  # letters, beyond which a cell may be broken into lines


@dataclass(frozen=True)
class Drawing:
    """A picture in SVG, and its size in CSS pixels."""

    svg: bytes
    width: int
    height: int

    @property
    def address(self) -> str:
        """The picture itself, as an address."""
        return f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode('ascii')}"


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
class Table:
    """A table; the first cell of each row is its heading.

    Attributes
    ----------
    caption : str
    columns : tuple of str
    rows : tuple of tuple of str
    marked : int, optional
        The row that stands out.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: int | None = None


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
    headline: str
    answers: tuple[tuple[str, str], ...]
    reservations: tuple[str, ...] = ()
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    listings: tuple[Listing, ...] = ()


def answers_html(part: Part) -> str:
    """Questions and answers, then the warnings."""
    rows = "\n".join(
        f"<div><dt>{escape(question)}</dt><dd>{_points(answer)}</dd></div>" for question, answer in part.answers
    )
    notes = "".join(f"\n<li>{escape(note)}</li>" for note in part.reservations)
    warned = (
        f'\n<div class="warned" role="note"><p><strong>Warnings</strong></p><ul>{notes}\n</ul></div>' if notes else ""
    )
    return f'<dl class="answers">\n{rows}\n</dl>{warned}'


def _points(answer: str) -> str:
    """An answer; its lines, if it has several, as points of a list."""
    lines = answer.split("\n")
    if len(lines) == 1:
        return escape(answer)
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def picture_html(picture: Picture) -> str:
    """A figure: the drawing that fits the window, on a white card, and its caption."""
    wide, narrow = picture.wide, picture.narrow
    return (
        "<figure>\n<picture>"
        f'<source media="(max-width: 40rem)" srcset="{narrow.address}" width="{narrow.width}" height="{narrow.height}">'
        f'<img src="{wide.address}" width="{wide.width}" height="{wide.height}" alt="{escape(picture.description)}">'
        f"</picture>\n<figcaption><strong>{escape(picture.title)}</strong> {escape(picture.caption)}</figcaption>\n"
        "</figure>"
    )


def table_html(table: Table, name: str) -> str:
    """A table that scrolls in a box of its own, which the keyboard can reach."""
    head = "".join(f'<th scope="col"{_side(table, k)}>{escape(column)}</th>' for k, column in enumerate(table.columns))
    rows = "\n".join(_row(table, number) for number in range(len(table.rows)))
    return (
        f'<div class="scroll" role="region" aria-labelledby="{name}" tabindex="0">\n<table>\n'
        f'<caption><span id="{name}">{escape(table.caption)}</span></caption>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</div>"
    )


def listing_html(listing: Listing, name: str) -> str:
    """Text to be copied, in a box that scrolls."""
    return (
        f'<p class="listing" id="{name}">{escape(listing.title)}</p>\n'
        f'<pre role="region" aria-labelledby="{name}" tabindex="0"><code>{escape(listing.text)}</code></pre>'
    )


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Terms and values."""
    rows = "\n".join(f"<div><dt>{escape(term)}</dt><dd>{escape(value)}</dd></div>" for term, value in facts)
    return f'<dl class="facts">\n{rows}\n</dl>'


def _row(table: Table, number: int) -> str:
    row = table.rows[number]
    cells = "".join(f"<td{_side(table, k)}>{escape(cell)}</td>" for k, cell in enumerate(row[1:], start=1))
    mark = ' class="marked"' if number == table.marked else ""
    long = ' class="long"' if len(row[0]) > _LONG else ""
    return f'<tr{mark}><th scope="row"{long}>{escape(row[0])}</th>{cells}</tr>'


def _side(table: Table, column: int) -> str:
    """Numbers stand on the right, one under the other; sentences may be broken."""
    cells = [row[column] for row in table.rows if row[column]]
    if not column or not cells:
        return ""
    if all(_is_number(cell) for cell in cells):
        return ' class="number"'
    return ' class="long"' if max(map(len, cells)) > _LONG else ""


def _is_number(cell: str) -> bool:
    return cell.lstrip("-+")[:1].isdigit() or cell == UNDEFINED
