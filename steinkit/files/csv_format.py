"""Samples as CSV: a header line that names the columns, then one draw a line.

Cells are separated by commas, the text is UTF-8 (with or without a byte order mark), and lines end in LF or
CRLF. Lines that start with ``#`` before the header are comments. Blank lines at the end are skipped; a blank
line between draws is an error, because in a file of one column it may stand for a missing value.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from steinkit.containers.columns import Columns, columns_of, require_distinct, sample_from_table, sort_columns
from steinkit.containers.messages import listed, shortened
from steinkit.errors import InputError, UsageError
from steinkit.files.streams import read_bytes
from steinkit.sample import Floats, Sample, default_names

_ROWS_AT_A_TIME = 50_000


def read_csv(data: bytes, source: str, columns: Sequence[str] | None = None) -> Sample:
    """Read a sample from the bytes of a CSV file.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    columns : sequence of str, optional
        Coordinates to keep; the cells of the others are not looked at.

    Raises
    ------
    InputError
        If the file is no such table, naming line and column where they are known.
    """
    header = _read_header(data, source)
    layout = _lay_out(header.names, source, columns)
    table = _read_unquoted(data, header) or read_cells(_rows(data, header, source), layout, source)
    return sample_from_table(table.values, layout, source, where=lambda row: f"line {table.lines[row]}")


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
    data = read_bytes(path, binary=True)
    header = _read_header(data, source)
    require_distinct(header.names, source)
    every = tuple(range(len(header.names)))
    layout = Columns(tuple(header.names), tuple(header.names), every, (), {})
    table = _read_unquoted(data, header) or read_cells(_rows(data, header, source), layout, source)
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


class _Header(NamedTuple):
    names: list[str]
    line: int


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
    values: list[list[float]] = []
    lines: list[int] = []
    blank = None
    for line, cells in rows:
        if not any(cell.strip() for cell in cells) and len(cells) < 2:
            blank = blank or line
            continue
        if blank:
            raise InputError(f"{source}, line {blank} is blank; delete it, or fill in the draw that is missing")
        if len(cells) != len(columns.header):
            raise InputError(
                f"{source}, line {line}: {len(cells)} values where the header names {len(columns.header)} "
                "columns; give every line one value for each column"
            )
        values.append([_number(cells[k], columns.header[k], line, source) for k in used])
        lines.append(line)
    if not values:
        raise InputError(f"{source} has a header but no draws; add one line a draw")
    table = np.full((len(values), len(columns.header)), np.nan)
    table[:, used] = values
    return Table(table, lines)


def _number(cell: str, column: str, line: int, source: str) -> float:
    try:
        if "_" not in cell:  # Python reads 1_000 as a number; nobody else does
            return float(cell)
    except ValueError:
        pass
    if not cell.strip():
        raise InputError(f'{source}, line {line}, column "{column}" is empty; fill it in or drop that draw')
    raise InputError(
        f'{source}, line {line}, column "{column}" holds {shortened(cell)} where a number is wanted; '
        "correct it or drop that draw, or leave the column out with columns= (--columns)"
    )


def _lay_out(header: Sequence[str], source: str, columns: Sequence[str] | None) -> Columns:
    layout = sort_columns(header, source)
    if columns is None and "lp__" in layout.names:
        # Stan's log density is no coordinate of the target: scoring it as one would be wrong in silence.
        raise InputError(
            f'{source} holds Stan\'s diagnostic column "lp__"; read it with format="stan" (--format stan), or choose '
            "the coordinates with columns= (--columns)"
        )
    return layout.select(columns, source)


def _read_header(data: bytes, source: str) -> _Header:
    text = _decoded(data, source)
    line, comment = 0, ""
    for line, content in enumerate(text, start=1):
        if content.startswith("#"):
            comment = content
        elif content.strip():
            return _Header(_header_names(content, comment, source, line), line)
    what = f"is empty: {line} lines without content" if line else "is empty"
    raise InputError(f'{source} {what}; a header line such as "x1,x2" and one line a draw are wanted')


def _header_names(content: str, comment: str, source: str, line: int) -> list[str]:
    try:
        names = [name.strip() for name in next(csv.reader([content], skipinitialspace=True))]
    except csv.Error as error:
        raise InputError(f"{source}, line {line}: the header cannot be read ({error}); correct it") from None
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


def _decoded(data: bytes, source: str) -> Iterator[str]:
    """Return the lines of a file, after making sure that all of it is text."""
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{source}, line {line} is not UTF-8 text (byte 0x{data[error.start]:02x}); save the file as "
            "UTF-8, or say with format= (--format) what it is"
        ) from None
    return iter(_as_text(data))


def _as_text(data: bytes, newline: str | None = None) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=newline)


def _read_unquoted(data: bytes, header: _Header) -> Table | None:
    """Read a file that holds nothing but unquoted numbers, fast; None if it holds anything else."""
    lines = data.rstrip().count(b"\n") + 1 - header.line
    if lines < 1:
        return None
    try:
        values = np.loadtxt(_as_text(data), delimiter=",", comments=None, skiprows=header.line, ndmin=2)
    except ValueError:
        return None
    # loadtxt skips blank lines without a word; then the count is off.
    if values.shape != (lines, len(header.names)):
        return None
    return Table(values, range(header.line + 1, header.line + 1 + lines))


def _rows(data: bytes, header: _Header, source: str) -> Iterator[tuple[int, list[str]]]:
    text = _as_text(data, newline="")
    for _ in range(header.line):
        text.readline()
    reader = csv.reader(text, skipinitialspace=True)
    try:
        for cells in reader:
            yield header.line + reader.line_num, cells
    except csv.Error as error:
        raise InputError(
            f"{source}, line {header.line + reader.line_num} cannot be read as CSV ({error}); correct it"
        ) from None


def _require_readable(line: str, names: list[str], target: str) -> None:
    """Refuse names that a reader of the header would take for others: numbers, blanks, line breaks."""
    try:
        header = _read_header(line.encode(), target)
        survive = header.names == names and header.line == 1 and bool(_lay_out(names, target, None))
    except (InputError, UnicodeEncodeError):
        survive = False
    if not survive:
        raise UsageError(
            f"the columns {listed(names)} do not survive in a CSV header; rename the coordinates or use .npz"
        )
