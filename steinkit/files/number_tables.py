"""Tables of numbers in text, a row a line: fast where they hold plain numbers only, cell by cell where they do not.

Plain rows are read in blocks straight into the table, so that a large file costs little more memory than its numbers.
What is not plain (quotes, blank lines, words, ragged rows) is for `read_cells`, which says where it is wrong.
"""

from __future__ import annotations

import io
import os
from array import array
from collections.abc import Iterable, Sequence
from typing import BinaryIO, NamedTuple

import numpy as np

from steinkit.containers.columns import Columns
from steinkit.containers.messages import shortened
from steinkit.errors import InputError
from steinkit.sample import Floats

MOST_BLANK_LINES = 1_000_000
"""That are gone through one by one, a few tenths of a second: 10 MB of nothing else would take ten times as long."""

_BLOCK = 2**24  # bytes
_GROWTH = 1.02  # room beyond what the first rows lead to expect


class Table(NamedTuple):
    """Numbers of a text file.

    Attributes
    ----------
    values : ndarray, shape (n, columns)
    lines : sequence of int
        The line of the file that each row came from.
    """

    values: Floats
    lines: Sequence[int]


def read_plain(stream: BinaryIO, columns: int, header_line: int) -> Table | None:
    """Rows of plain numbers between commas, from after the header to the end; None if there is anything else.

    Parameters
    ----------
    stream : file
        Of bytes, at its beginning.
    columns : int
    header_line : int
        Number of the header's line.
    """
    for _ in range(header_line):
        if _ends_lines_by_cr(stream.readline()):
            return None  # and its lines are not those that were counted
    begin = stream.tell()
    length = stream.seek(0, os.SEEK_END) - begin
    stream.seek(begin)
    values = np.empty((0, columns))
    rows, read, rest, ended = 0, 0, b"", False
    while True:
        block = stream.read(_BLOCK)
        text = rest + block
        cut = text.rfind(b"\n") + 1 if block else len(text)
        if block and not cut:
            return None  # a line longer than a block
        rest, read = text[cut:], read + cut
        body = text[:cut].rstrip()
        if body:
            found = None if ended else _plain_rows(body, columns)
            if found is None:
                return None
            if rows + len(found) > len(values):
                expected = (rows + len(found)) * (length / read) * _GROWTH
                values.resize((int(expected) + 1, columns), refcheck=False)
            values[rows : rows + len(found)] = found
            rows += len(found)
        # blank lines are at the end, or something for which `read_cells` has words
        ended = ended or text[len(body) : cut].count(b"\n") > 1 or (not body and cut > 0)
        if not block:
            break
    if not rows:
        return None
    values.resize((rows, columns), refcheck=False)
    return Table(values, range(header_line + 1, header_line + 1 + rows))


def _plain_rows(body: bytes, columns: int) -> Floats | None:
    if _ends_lines_by_cr(body):
        return None  # which would make up for a blank line in the count
    try:
        text = io.TextIOWrapper(io.BytesIO(body), encoding="ascii")
        found: Floats = np.loadtxt(text, delimiter=",", comments=None, ndmin=2)
    except ValueError:
        return None
    # loadtxt skips blank lines without a word; then the count is off.
    return found if found.shape == (body.count(b"\n") + 1, columns) else None


def _ends_lines_by_cr(text: bytes) -> bool:
    """Whether there is a CR that no LF follows, as lines of old end."""
    return text.count(b"\r") != text.count(b"\r\n")


def read_cells(rows: Iterable[tuple[int, list[str]]], columns: Columns, source: str) -> Table:
    """Turn text cells into numbers one by one, so as to name the first that is none.

    Parameters
    ----------
    rows : iterable of (int, list of str)
        Line number and cells of each draw; a blank line has no cells.
    columns : Columns
        Cells outside `Columns.used` are not looked at and become NaN.
    source : str
        Name of the file, for messages.
    """
    used = columns.used
    values, lines = array("d"), array("q")
    blank = None
    for line, cells in rows:
        if not cells:
            blank = blank or line
            if line - blank >= MOST_BLANK_LINES:
                raise InputError(
                    f"{source} has more than {MOST_BLANK_LINES:,} blank lines from line {blank} on; delete them"
                )
            continue
        if blank:
            raise InputError(f"{source}, line {blank} is blank; delete it, or fill in the draw that is missing")
        if len(cells) != len(columns.header):
            raise InputError(
                f"{source}, line {line}: {_counted(len(cells), 'value')} where the header names "
                f"{_counted(len(columns.header), 'column')}; give every line one value for each column"
            )
        values.extend([_number(cells[k], columns.header[k], line, source) for k in used])
        lines.append(line)
    if not lines:
        raise InputError(f"{source} has a header but no draws; add one line a draw")
    found = np.frombuffer(values).reshape(len(lines), len(used))
    if len(used) == len(columns.header):
        return Table(found, lines)
    table = np.full((len(lines), len(columns.header)), np.nan)
    table[:, used] = found
    return Table(table, lines)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _number(cell: str, column: str, line: int, source: str) -> float:
    try:
        if "_" not in cell and cell.isascii():  # Python reads 1_000 and other scripts' digits; nobody else does
            return float(cell)
    except ValueError:
        pass
    if not cell.strip():
        raise InputError(f'{source}, line {line}, column "{column}" is empty; fill it in or drop that draw')
    raise InputError(
        f'{source}, line {line}, column "{column}" holds {shortened(cell)} where a number is wanted; '
        "correct it or drop that draw, or leave the column out with columns= (--columns)"
    )
