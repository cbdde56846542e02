"""Samples as CSV: a header line that names the columns, then one draw a line.

Cells are separated by commas, or else by semicolons or tabs, and then numbers may have decimal commas. The text is
UTF-8 (with or without a byte order mark), and lines end in LF or CRLF. Lines that start with ``#`` before the header
are comments. Blank lines at the end are skipped; a blank line between draws is an error, because in a file of one
column it may stand for a missing value.

Spreadsheets run a cell that starts with ``=``, ``+``, ``-`` or ``@`` as a formula. A name that starts so is written
with an apostrophe before it, which is removed when the file is read.

Rows of plain numbers are read straight into the table, so that a large file costs little more memory than its numbers.
What is not plain (quotes, blank lines, words, ragged rows) is read cell by cell, to say where it is wrong.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from steinkit.containers.columns import (
    Columns,
    columns_of,
    lay_out,
    require_distinct,
    sample_from_table,
    tell_taken,
    unnamed_column,
)
from steinkit.errors import InputError, UsageError, listed, shortened
from steinkit.files.streams import MAX_COLUMNS, opened
from steinkit.sample import Floats, Sample, default_names

_ROWS_AT_A_TIME = 50_000
_BLOCK = 2**24  # bytes
_LONGEST_LINE = 2**26  # letters, of the header and the comments before it
_NAMED_WHOLE = re.compile(r'"[^"]*"|\[[^\[\]]*\]')  # what of a name may hold commas that separate nothing: theta[1,2]
_DECIMAL = re.compile(r"\s*[+-]?\d*([,.])\d*([eE][+-]?\d+)?\s*")
_NO_TEXT = re.compile("[\udc80-\udcff]")  # what stands for bytes that are not UTF-8
_FORMULA, _QUOTED_FORMULA = re.compile("'*[=+@-]"), re.compile("'+[=+@-]")
_MISSING = ("NA", "<NA>", "N/A", "NULL", "null", "None")

MOST_BLANK_LINES = 1_000_000
"""That are gone through one by one, a few tenths of a second: 10 MB of nothing else would take ten times as long."""


def read_csv(data: bytes | BinaryIO, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read CSV: a header names the columns, and each line after it is a draw.

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
    return _read_sample(stream, header, lay_out(header.names, source, columns), source)


def _read_sample(stream: BinaryIO, header: _Header, layout: Columns, source: str) -> Sample:
    table = _read_table(stream, header, layout, source)
    tell_taken(layout.taken)
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
        names = tuple(header.names)  # of which none is a score, or weights
        rows = _read_sample(stream, header, Columns(names, names, tuple(range(len(names))), (), {}), source)
    return rows.names, rows.points


def write_csv(sample: Sample, target: str) -> bytes:
    """Write a sample as CSV; every number reads back to the same double.

    A name that starts with ``=``, ``+``, ``-`` or ``@`` is written with an apostrophe before it, so that spreadsheets
    do not run it; `read_csv` removes the apostrophe.

    Raises
    ------
    UsageError
        If the coordinates' names do not survive in a header line.
    """
    columns = columns_of(sample)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(f"'{name}" if _FORMULA.match(name) else name for name in columns)
    _require_readable(text.getvalue(), list(columns), sample.names, target)
    for start in range(0, len(sample), _ROWS_AT_A_TIME):
        # tolist() gives Python numbers, whose repr is the shortest text that reads back to the same double.
        cells = [map(repr, column[start : start + _ROWS_AT_A_TIME].tolist()) for column in columns.values()]
        text.writelines(",".join(row) + "\n" for row in zip(*cells, strict=True))
    return text.getvalue().encode()


class _Header(NamedTuple):
    names: list[str]
    line: int
    separator: str


def _read_header(stream: BinaryIO, source: str) -> _Header:
    with _as_text(stream) as text:
        return _find_header(text, source)


def _find_header(text: io.TextIOWrapper, source: str) -> _Header:
    line, comment = 0, ""
    while content := text.readline(_LONGEST_LINE):
        line += 1
        _require_text(content, line, source)
        if len(content) == _LONGEST_LINE:
            raise InputError(f"{source}, line {line} has more than {_LONGEST_LINE} letters; is it a table?")
        if line > MOST_BLANK_LINES:
            raise InputError(f"{source} has no header in its first {MOST_BLANK_LINES:,} lines; is it a table?")
        if content.startswith("#"):
            comment = content
        elif content.strip():
            separator = _separator(content)
            return _Header(_header_names(content, comment, source, line, separator), line, separator)
    what = f"is empty: {line} lines without content" if line else "is empty"
    raise InputError(f'{source} {what}; a header line such as "x1,x2" and one line a draw are wanted')


def _separator(header: str) -> str:
    """A comma, unless there are only others outside of quotes and brackets."""
    between = _NAMED_WHOLE.sub("", header)
    return next((mark for mark in ",;\t" if mark in between), ",")


def _header_names(content: str, comment: str, source: str, line: int, separator: str) -> list[str]:
    try:
        cells = [name.strip() for name in next(_cells([content], separator))]
        names = [name[1:] if _QUOTED_FORMULA.match(name) else name for name in cells]
    except csv.Error as error:
        raise InputError(f"{source}, line {line}: the header cannot be read ({error}); correct it") from None
    MAX_COLUMNS.require(len(names), source, "has")
    if all(map(_is_number, names)):
        remedy = f'add a header line such as "{",".join(default_names(len(names)))}"'
        if comment.count(",") == len(names) - 1:
            remedy += f'; if {shortened(comment.strip())} is the header, take off its "#"'
        raise InputError(f"{source}, line {line} holds numbers where the header is wanted; {remedy}")
    return names


def _cells(lines: Iterable[str], separator: str) -> Any:
    """A reader of cells."""
    return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _require_text(text: str, line: int, source: str) -> None:
    """Refuse what stands for bytes that are no text."""
    if strange := _NO_TEXT.search(text):
        raise InputError(
            f"{source}, line {line} is not UTF-8 text (byte 0x{ord(strange[0]) - 0xDC00:02x}); save the file as "
            "UTF-8, or say with format= (--format) what it is"
        )


@contextmanager
def _as_text(stream: BinaryIO, newline: str | None = None) -> Iterator[io.TextIOWrapper]:
    """The text of a file from its beginning; the file stays open, for it is its owner's to close."""
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline=newline)
    try:
        yield text
    finally:
        text.detach()


def _read_table(stream: BinaryIO, header: _Header, layout: Columns, source: str) -> Table:
    stream.seek(0)
    table = read_plain(stream, len(header.names), header.line, header.separator)
    if table is not None:
        return table
    with _as_text(stream, newline="") as text:
        return read_cells(_rows(text, header, source), layout, source, header.separator)


def _rows(text: io.TextIOWrapper, header: _Header, source: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row; a blank line has none, which a line of two quotes is not."""
    for _ in range(header.line):
        text.readline()
    reader = _cells(("\n" if line.isspace() else line for line in text), header.separator)
    begins = header.line + 1
    try:
        for cells in reader:
            yield header.line + reader.line_num, cells
            begins = header.line + reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{source}, line {begins} cannot be read as CSV ({error}); correct it") from None


def _require_readable(line: str, columns: list[str], names: tuple[str, ...], target: str) -> None:
    """Refuse names that a reader of the header would take for others: numbers, blanks, line breaks, a sampler's."""
    try:
        header = _read_header(io.BytesIO(line.encode()), target)
        survive = header.names == columns and header.line == 1 and lay_out(columns, target, None).names == names
    except (InputError, UnicodeEncodeError):
        survive = False
    if not survive:
        raise UsageError(
            f"the columns {listed(columns)} do not survive in a CSV header; rename the coordinates or use .npz"
        )


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


def read_plain(stream: BinaryIO, columns: int, header_line: int, separator: str = ",") -> Table | None:
    """Rows of plain numbers between separators, from after the header to the end; None if there is anything else.

    Parameters
    ----------
    stream : file
        Of bytes, at its beginning.
    columns : int
    header_line : int
        Number of the header's line.
    separator : str
        If it is no comma, the numbers may have decimal commas, all of them.
    """
    for _ in range(header_line):
        if b"\r" in stream.readline().removesuffix(b"\n").removesuffix(b"\r"):
            return None  # which ends lines of old: they are not those that were counted
    text = io.TextIOWrapper(stream, encoding="ascii", newline="")
    try:
        rows = _plain_rows(iter(partial(text.readline, _BLOCK), ""), separator)
        values = np.loadtxt(itertools.chain([next(rows)], rows), delimiter=separator, comments=None, ndmin=2)
    except (ValueError, StopIteration):
        return None
    finally:
        text.detach()
    if values.shape[1] != columns:
        return None
    return Table(values, range(header_line + 1, header_line + 1 + len(values)))


def _plain_rows(lines: Iterable[str], separator: str) -> Iterator[str]:
    """Lines with decimal points; ValueError for those for which `read_cells` has words."""
    ended, marks = False, set[str]()
    for line in lines:
        if line.isspace():
            ended = True
            continue
        if separator != ",":
            marks |= {mark for mark in ",." if mark in line}
            line = line.replace(",", ".")
        if ended or line.endswith("\r") or len(marks) == 2 or len(line) == _BLOCK:
            raise ValueError
        yield line


def read_cells(rows: Iterable[tuple[int, list[str]]], columns: Columns, source: str, separator: str = ",") -> Table:
    """Turn text cells into numbers one by one, so as to name the first that is none.

    Parameters
    ----------
    rows : iterable of (int, list of str)
        Line number and cells of each draw; a blank line has no cells.
    columns : Columns
        Cells outside `Columns.used` are not looked at and become NaN.
    source : str
        Name of the file, for messages.
    separator : str
        If it is no comma, the numbers may have decimal commas, all of them.
    """
    used = columns.used
    values, lines, marks = array("d"), array("q"), dict[str, int]()
    blank = None
    for line, cells in rows:
        if not cells:
            blank = blank or line
            if line - blank >= MOST_BLANK_LINES:
                raise InputError(
                    f"{source} has more than {MOST_BLANK_LINES:,} blank lines from line {blank}; delete them"
                )
            continue
        if blank:
            raise InputError(f"{source}, line {blank} is blank; delete it, or fill in the draw that is missing")
        if len(cells) != len(columns.header):
            raise InputError(
                f"{source}, line {line}: {_counted(len(cells), 'value')} where the header names "
                f"{_counted(len(columns.header), 'column')}; give every line one value for each column"
            )
        if separator != ",":
            _write_points(cells, used, line, marks, source)
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


def _write_points(cells: list[str], used: Sequence[int], line: int, marks: dict[str, int], source: str) -> None:
    """Write decimal points for commas; ``marks`` keeps the line where either was first met."""
    for k in used:
        if number := _DECIMAL.fullmatch(cells[k]):
            marks.setdefault(number[1], line)
            cells[k] = cells[k].replace(",", ".")
    if len(marks) == 2:
        raise InputError(
            f"{source} has numbers with a decimal comma (line {marks[',']}) and with a decimal point (line "
            f"{marks['.']}); write all in one way"
        )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _number(cell: str, column: str, line: int, source: str) -> float:
    try:
        if "_" not in cell and cell.isascii():  # Python reads 1_000 and other scripts' digits; nobody else does
            return float(cell)
    except ValueError:
        pass
    if not column:
        raise unnamed_column(source, 0)
    _require_text(cell, line, source)
    if cell.strip() in _MISSING:
        raise InputError(
            f'{source}, line {line}, column "{column}" is {cell.strip()}, a missing value; drop that draw (R: na.omit) '
            "or leave the column out with columns= (--columns)"
        )
    if not cell.strip():
        raise InputError(f'{source}, line {line}, column "{column}" is empty; fill it in or drop that draw')
    raise InputError(
        f'{source}, line {line}, column "{column}" holds {shortened(cell)} where a number is wanted; '
        "correct it or drop that draw, or leave the column out with columns= (--columns)"
    )
