"""Reading and writing of CSV and similar text tables.

A file has a header with the names of the columns and one row per line. Cells are separated by commas, semicolons or
tabs. If the separators are semicolons or tabs, numbers may have decimal commas. The encoding is UTF-8, with or without
a byte order mark. Lines that begin with ``#`` are comments. A comment after the first row of numbers is an error. If
there is no header, the last comment is used as the header unless it contains numbers, because `numpy.savetxt` writes
headers as comments. Blank lines are skipped. If there is only one column, a blank line between rows is an error,
because it may be a missing value.

Spreadsheets interpret cells that begin with ``=``, ``+``, ``-`` or ``@`` as formulas. Such column names are therefore
written with a leading apostrophe, which is removed when the file is read.
"""

from __future__ import annotations

import csv
import io
import os
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from steinkit.containers.columns import (
    ALL,
    Columns,
    Selection,
    columns_of,
    lay_out,
    require_distinct,
    sample_from_table,
    unnamed_column,
)
from steinkit.errors import InputError, UsageError, listed, shortened
from steinkit.files.streams import read_bytes
from steinkit.sample import Floats, Sample, default_names

_ROWS_AT_A_TIME = 50_000
_QUOTED = re.compile(r'"[^"]*"|\[[^\[\]]*\]')  # commas inside are not separators, as in theta[1,2]
_FORMULA, _QUOTED_FORMULA = re.compile("'*[=+@-]"), re.compile("'+[=+@-]")
_MISSING = ("", "NA", "<NA>", "N/A", "NULL", "null", "None")


@dataclass
class TextTable:
    """Text table after its header has been read.

    Attributes
    ----------
    source : str
        Name of the file, for messages.
    header : list of str
    separator : str
    comments : list of str
        The comments before the header.
    lines : iterator of (int, str)
        The remaining lines, with their line numbers.
    """

    source: str
    header: list[str]
    separator: str
    comments: list[str]
    lines: Iterator[tuple[int, str]]

    def rows(self, used: Sequence[int], names: Sequence[str]) -> tuple[Floats, list[int]]:
        """Return the values of all rows, and the line number of each row.

        Parameters
        ----------
        used : sequence of int
            Columns to read. Values of other columns are NaN.
        names : sequence of str
            Names of all columns, for messages.

        Raises
        ------
        InputError
            If a cell is not a number, if a row and the header have different numbers of cells, if a comment follows a
            row, or if there are no rows.
        """
        values, line_numbers, marks, blank = array("d"), array("q"), dict[str, int](), 0
        for line, text in self.lines:
            if text.isspace():
                blank = blank or line
                continue
            if text.startswith("#"):
                if line_numbers:
                    raise InputError(f"{self.source}, line {line} is a comment after a row of numbers; delete it")
                continue
            if blank and len(names) == 1:
                raise InputError(f"{self.source}, line {blank} is blank; delete it, or add the missing draw")
            cells = self._cells(text, line)
            if len(cells) != len(names):
                raise InputError(
                    f"{self.source}, line {line}: expected {len(names)} values, one per column of the header, got "
                    f"{len(cells)}; correct that line"
                )
            if self.separator != ",":
                self._write_points(cells, used, line, marks)
            values.extend([_number(cells[k], names[k], line, self.source) for k in used])
            line_numbers.append(line)
        if not line_numbers:
            raise InputError(f"{self.source} has a header but no draws; expected one line per draw")
        table = np.full((len(line_numbers), len(names)), np.nan)
        table[:, used] = np.frombuffer(values).reshape(len(line_numbers), len(used))
        return table, line_numbers.tolist()

    def _cells(self, text: str, line: int) -> list[str]:
        if '"' not in text:
            return text.split(self.separator)
        try:
            return next(csv.reader([text], delimiter=self.separator, skipinitialspace=True, strict=True))
        except csv.Error as error:
            raise InputError(f"{self.source}, line {line} cannot be read as CSV: {error}") from None

    def _write_points(self, cells: list[str], used: Sequence[int], line: int, marks: dict[str, int]) -> None:
        """Replace decimal commas by points.

        ``marks`` maps each decimal mark to the line of its first occurrence.
        """
        for k in used:
            for mark in ",.":
                if mark in cells[k]:
                    marks.setdefault(mark, line)
            cells[k] = cells[k].replace(",", ".")
        if len(marks) == 2:
            raise InputError(
                f"{self.source} has decimal commas (line {marks[',']}) and decimal points (line {marks['.']}); write "
                "all numbers with the same decimal mark"
            )


def open_table(data: bytes, source: str) -> TextTable:
    """Read the header of a text file.

    Raises
    ------
    InputError
        If the file has no header, or its header is not valid.
    """
    lines = enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace"), start=1)
    comments: list[str] = []
    line, text = next(lines, (0, ""))
    while text.startswith("#") or text.isspace():
        comments += [text[1:].strip()] if text.startswith("#") else []
        line, text = next(lines, (0, ""))
    if not text:
        raise InputError(f'{source} is empty; expected a header such as "x1,x2" and one line per draw')
    between = _QUOTED.sub("", text)
    table = TextTable(source, [], next((mark for mark in ",;\t" if mark in between), ","), comments, lines)
    header = table._cells(text, line)
    if all(map(_is_number, header)):
        names = [name.strip() for name in table._cells(comments[-1], line)] if comments else []
        if len(names) != len(header) or any(len(name.split()) != 1 or _is_number(name) for name in names):
            raise InputError(
                f'{source}, line {line}: expected a header such as "{",".join(default_names(len(header)))}", got '
                "numbers; add a header"
            )
        header, table.lines = names, chain([(line, text)], lines)
    table.header = [name[1:] if _QUOTED_FORMULA.match(name) else name for name in map(str.strip, header)]
    if any("\ufffd" in name for name in table.header):
        raise InputError(f"{source}, line {line} is not UTF-8 text; save the file as UTF-8 or pass its format=")
    return table


def read_csv(data: bytes, source: str, selection: Selection = ALL) -> Sample:
    """Read a sample from CSV with a header and one draw per line.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    selection : Selection
        Selection of columns. Cells in columns that are not selected may have any content.

    Raises
    ------
    InputError
        If the table is not valid. The message states the line and the column.
    """
    table = open_table(data, source)
    return _sample(table, lay_out(table.header, source, selection))


def _sample(table: TextTable, layout: Columns) -> Sample:
    values, lines = table.rows(layout.used, layout.header)
    return sample_from_table(values, layout, table.source, where=lambda row: f"line {lines[row]}")


def read_table(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Floats]:
    """Read a CSV file of numeric data, without reserved column names.

    Returns
    -------
    names : tuple of str
        Names of the c columns.
    values : ndarray, shape (N, c)

    Raises
    ------
    InputError
        If the table is not valid, or a cell is not a finite number. The message states the line and the column.
    """
    source = os.fspath(path)
    table = open_table(read_bytes(path, binary=True), source)
    require_distinct(table.header, source)
    names = tuple(table.header)
    rows = _sample(table, Columns(names, names, tuple(range(len(names)))))
    return rows.names, rows.points


def write_csv(sample: Sample, target: str) -> bytes:
    """Write a sample as CSV without loss of precision.

    Raises
    ------
    UsageError
        If the names of the coordinates could not be recovered from the header.
    """
    columns = columns_of(sample)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(f"'{name}" if _FORMULA.match(name) else name for name in columns)
    try:
        header = open_table(text.getvalue().encode(), target).header
        selection = Selection(weights="none" if sample.weights is None else "weight")
        survive = header == list(columns) and lay_out(header, target, selection).names == sample.names
    except (InputError, UnicodeEncodeError):
        survive = False
    if not survive:
        raise UsageError(
            f"{target}: a CSV header cannot hold the names {listed(list(columns))}; rename the coordinates or write "
            ".npz"
        )
    for start in range(0, len(sample), _ROWS_AT_A_TIME):
        # the repr of a Python number is the shortest text that is read as the same number
        cells = [map(repr, column[start : start + _ROWS_AT_A_TIME].tolist()) for column in columns.values()]
        text.writelines(",".join(row) + "\n" for row in zip(*cells, strict=True))
    return text.getvalue().encode()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(cell: str, column: str, line: int, source: str) -> float:
    try:
        if "_" not in cell and cell.isascii():  # float() also accepts 1_000 and the digits of other scripts
            return float(cell)
    except ValueError:
        pass
    if not column:
        raise unnamed_column(source, 0)
    where, text = f'{source}, line {line}, column "{column}"', cell.strip()
    if text in _MISSING:
        raise InputError(
            f"{where} is {text or 'empty'}, a missing value; drop that draw (R: na.omit) or deselect the column"
        )
    raise InputError(
        f"{where}: expected a number, got {shortened(text)}; correct it, drop that draw, or select other columns with "
        "columns= (--columns)"
    )
