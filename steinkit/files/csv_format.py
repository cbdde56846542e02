"""Samples as CSV: a header line that names the columns, then one draw a line.

Cells are separated by commas, the text is UTF-8 (with or without a byte order mark), and lines end in LF or
CRLF. Lines that start with ``#`` before the header are comments. Blank lines at the end are skipped; a blank
line between draws is an error, because in a file of one column it may stand for a missing value.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple

import numpy as np

from steinkit.containers.columns import Columns, columns_of, require_distinct, sample_from_table, sort_columns
from steinkit.containers.messages import listed, shortened
from steinkit.errors import InputError, UsageError
from steinkit.files.number_tables import MOST_BLANK_LINES, Table, read_cells, read_plain
from steinkit.files.streams import opened
from steinkit.limits import MAX_COLUMNS
from steinkit.sample import Floats, Sample, default_names

_ROWS_AT_A_TIME = 50_000
_BLOCK = 2**20
_LONGEST_LINE = 2**26  # letters, of the header and the comments before it


def read_csv(data: bytes | BinaryIO, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read a sample from CSV.

    Parameters
    ----------
    data : bytes or file
        A file of bytes that can be read from any place; it is not read into memory as a whole.
    source : str
        Name of the file, for messages.
    columns : sequence of str, optional
        Coordinates to keep; the cells of the others are not looked at.

    Raises
    ------
    InputError
        If the file is no such table, naming line and column where they are known.
    """
    stream = io.BytesIO(data) if isinstance(data, bytes) else data
    header = _read_header(stream, source)
    layout = _lay_out(header.names, source, columns)
    table = _read_table(stream, header, layout, source)
    return sample_from_table(table.values, layout, source, where=lambda row: f"line {table.lines[row]}", owned=True)


def read_table(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Floats]:
    """Read a CSV file of data, not of draws: every column is numeric, and no name is reserved.

    Returns
    -------
    names : tuple of str
        The c columns, from the header.
    values : ndarray, shape (N, c)

    Raises
    ------
    InputError
        If the file is no such table, or a cell is not a finite number; line and column are named.
    """
    source = os.fspath(path)
    with opened(path, binary=True) as stream:
        header = _read_header(stream, source)
        require_distinct(header.names, source)
        every = tuple(range(len(header.names)))
        layout = Columns(tuple(header.names), tuple(header.names), every, (), {})
        table = _read_table(stream, header, layout, source)
    bad = np.argwhere(~np.isfinite(table.values))
    if bad.size:
        row, column = bad[0]
        raise InputError(
            f'{source}, line {table.lines[row]}, column "{header.names[column]}" is {table.values[row, column]}; '
            "correct it or drop that line"
        )
    return layout.names, table.values


def write_csv(sample: Sample, target: str) -> bytes:
    """Write a sample as CSV; every number reads back to the same double.

    Raises
    ------
    UsageError
        If the coordinates' names do not survive in a header line.
    """
    columns = columns_of(sample)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(columns)
    _require_readable(text.getvalue(), list(columns), target)
    for start in range(0, len(sample), _ROWS_AT_A_TIME):
        # tolist() gives Python numbers, whose repr is the shortest text that reads back to the same double.
        cells = [map(repr, column[start : start + _ROWS_AT_A_TIME].tolist()) for column in columns.values()]
        text.writelines(",".join(row) + "\n" for row in zip(*cells, strict=True))
    return text.getvalue().encode()


class _Header(NamedTuple):
    names: list[str]
    line: int


def _lay_out(header: Sequence[str], source: str, columns: Sequence[str] | None) -> Columns:
    layout = sort_columns(header, source)
    if columns is None and "lp__" in layout.names:
        # Stan's log density is no coordinate of the target: scoring it as one would be wrong in silence.
        raise InputError(
            f'{source} holds Stan\'s diagnostic column "lp__"; read it with format="stan" (--format stan), or choose '
            "the coordinates with columns= (--columns)"
        )
    return layout.select(columns, source)


def _read_header(stream: BinaryIO, source: str) -> _Header:
    try:
        with _as_text(stream) as text:
            return _find_header(text, source)
    except UnicodeDecodeError:
        _require_text(stream, source)
        raise


def _find_header(text: io.TextIOWrapper, source: str) -> _Header:
    line, comment = 0, ""
    while content := text.readline(_LONGEST_LINE):
        line += 1
        if len(content) == _LONGEST_LINE:
            raise InputError(f"{source}, line {line} has more than {_LONGEST_LINE} letters; is it a table?")
        if line > MOST_BLANK_LINES:
            raise InputError(f"{source} has no header in its first {MOST_BLANK_LINES:,} lines; is it a table?")
        if content.startswith("#"):
            comment = content
        elif content.strip():
            return _Header(_header_names(content, comment, source, line), line)
    what = f"is empty: {line} lines without content" if line else "is empty"
    raise InputError(f'{source} {what}; a header line such as "x1,x2" and one line a draw are wanted')


def _header_names(content: str, comment: str, source: str, line: int) -> list[str]:
    try:
        names = [name.strip() for name in next(csv.reader([content], skipinitialspace=True, strict=True))]
    except csv.Error as error:
        raise InputError(f"{source}, line {line}: the header cannot be read ({error}); correct it") from None
    MAX_COLUMNS.require(len(names), source, "has")
    if all(map(_is_number, names)):
        remedy = f'add a header line such as "{",".join(default_names(len(names)))}"'
        if comment.count(",") == len(names) - 1:
            remedy += f'; if {shortened(comment.strip())} is the header, take off its "#"'
        raise InputError(f"{source}, line {line} holds numbers where the header is wanted; {remedy}")
    separator = next((mark for mark in (";", "\t") if len(names) == 1 and mark in names[0]), None)
    if separator:
        raise InputError(f"{source}: columns are separated by {separator!r}; separate them by commas")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _require_text(stream: BinaryIO, source: str) -> None:
    """Make sure that all of a file is text."""
    stream.seek(0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    line = 1
    while True:
        block = stream.read(_BLOCK)
        try:
            line += decoder.decode(block, final=not block).count("\n")
        except UnicodeDecodeError as error:
            line += error.object.count(b"\n", 0, error.start)
            raise InputError(
                f"{source}, line {line} is not UTF-8 text (byte 0x{error.object[error.start]:02x}); save the file as "
                "UTF-8, or say with format= (--format) what it is"
            ) from None
        if not block:
            return


@contextmanager
def _as_text(stream: BinaryIO, newline: str | None = None) -> Iterator[io.TextIOWrapper]:
    """The text of a file from its beginning; the file stays open, for it is its owner's to close."""
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline=newline)
    try:
        yield text
    finally:
        text.detach()


def _read_table(stream: BinaryIO, header: _Header, layout: Columns, source: str) -> Table:
    stream.seek(0)
    table = read_plain(stream, len(header.names), header.line)
    if table is not None:
        return table
    _require_text(stream, source)
    with _as_text(stream, newline="") as text:
        return read_cells(_rows(text, header, source), layout, source)


def _rows(text: io.TextIOWrapper, header: _Header, source: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row; a blank line has none, which a line of two quotes is not."""
    for _ in range(header.line):
        text.readline()
    line = ""

    def lines() -> Iterator[str]:
        nonlocal line
        for line in text:  # noqa: UP028 (the last line stays known)
            yield line

    reader = csv.reader(lines(), skipinitialspace=True, strict=True)
    begins = header.line + 1
    try:
        for cells in reader:
            yield header.line + reader.line_num, cells if line.strip() else []
            begins = header.line + reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{source}, line {begins} cannot be read as CSV ({error}); correct it") from None


def _require_readable(line: str, names: list[str], target: str) -> None:
    """Refuse names that a reader of the header would take for others: numbers, blanks, line breaks."""
    try:
        header = _read_header(io.BytesIO(line.encode()), target)
        survive = header.names == names and header.line == 1 and bool(_lay_out(names, target, None))
    except (InputError, UnicodeEncodeError):
        survive = False
    if not survive:
        raise UsageError(
            f"the columns {listed(names)} do not survive in a CSV header; rename the coordinates or use .npz"
        )
