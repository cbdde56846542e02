"""Readers and writers for CSV and similar text tables.

A file has a header with the names of the columns and one row per line. Cells are separated by commas, semicolons, tabs
or spaces. If the column separator is not a comma, numbers may have decimal commas. The encoding is UTF-8, with or
without a byte order mark. Lines that begin with ``#`` are comments. After the first row, a comment that contains only
numbers is an error because it may be a draw. If there is no header, the last comment with one name per column is used
as the header because `numpy.savetxt` writes headers as comments. Otherwise, the names are read from another file (see
`chain_files`), or the columns of a whitespace-separated table are named x1, x2, and so on. Blank lines are skipped. If
there is only one column, a blank line between rows is an error because it may be a missing value.

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
from itertools import chain, islice
from pathlib import Path

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
from steinkit.errors import InputError, ReadingWarning, UsageError, quoted, shortened, warn_user
from steinkit.files.chain_files import Naming, derived_beside, naming_of, with_live_points
from steinkit.files.streams import read_bytes
from steinkit.sample import Floats, Sample, default_names

_ROWS_AT_A_TIME = 50_000
_SOME = 4096  # number of leading bytes searched for null characters
_UNNAMED = "the columns have no names and are called {}. To name the columns, add a header or a comment with the names"
_QUOTED = re.compile(r'"[^"]*"|\[[^\[\]]*\]')  # commas inside these are not separators
_FORMULA, _QUOTED_FORMULA = re.compile("'*[=+@-]"), re.compile("'+[=+@-]")
_MISSING = ("", "NA", "<NA>", "N/A", "NULL", "null", "None")


@dataclass
class TextTable:
    """Text table with a parsed header.

    Attributes
    ----------
    source : str
        Name of the file, for messages.
    header : list of str
    separator : str or None
        Separator of the cells, or None for whitespace.
    comments : list of str
        The comments before the header.
    lines : iterator of (int, str)
        The remaining lines, with their line numbers.
    ignored : tuple of str
        Columns that are not parameters.
    kind : str
        Description of the table, if its names are in another file.
    is_unnamed : bool
        True if the columns have no names.
    """

    source: str
    header: list[str]
    separator: str | None
    comments: list[str]
    lines: Iterator[tuple[int, str]]
    ignored: tuple[str, ...] = ()
    kind: str = ""
    is_unnamed: bool = False

    def rows(self, used: Sequence[int], names: Sequence[str]) -> tuple[Floats, list[int]]:
        """Return the values and the line numbers of all rows.

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
            if text.lstrip().startswith("#"):
                if line_numbers and all(map(_is_number, self._cells(text.lstrip(" #"), line))):
                    raise InputError(f"{self.source}, line {line} is a comment that contains only numbers; delete it")
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
        if '"' not in text or self.separator is None:
            return text.split(self.separator)
        try:
            return next(csv.reader([text], delimiter=self.separator, skipinitialspace=True, strict=True))
        except csv.Error as error:
            raise InputError(f"{self.source}, line {line} cannot be read as CSV: {error}") from None

    def _write_points(self, cells: list[str], used: Sequence[int], line: int, marks: dict[str, int]) -> None:
        """Replace decimal commas with decimal points.

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


def open_table(data: bytes, source: str, path: Path | None = None) -> TextTable:
    """Read the header of a text file.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    path : Path, optional
        Path of the file. Other files in its folder may contain the column names of a table without a header.

    Raises
    ------
    InputError
        If the file has no header, or its header is not valid.
    """
    if b"\0" in data[:_SOME]:
        raise InputError(
            f"{source} is neither UTF-8 text nor a NumPy, NetCDF, HDF5 or zip file; save the draws as CSV, NPZ or "
            "NetCDF"
        )
    lines = enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace"), start=1)
    comments: list[str] = []
    line, text = next(lines, (0, ""))
    while text.lstrip().startswith("#") or text.isspace():
        comments += [text.lstrip()[1:].strip()] if text.lstrip().startswith("#") else []
        line, text = next(lines, (0, ""))
    if not text:
        raise InputError(f'{source} is empty; expected a header such as "x1,x2" and one line per draw')
    after = list(islice(lines, 2))
    table = TextTable(source, [], _separator(text, after), comments, chain(after, lines))
    header = table._cells(text, line)
    if all(map(_is_number, header)):
        table.lines = chain([(line, text)], table.lines)
        found = next(filter(None, (_named_in(each, table, len(header)) for each in reversed(comments))), None)
        found = found or naming_of(path, len(header))
        if found is None and (table.separator is not None or len(header) == 1):
            raise InputError(
                f'{source}, line {line}: expected a header such as "{",".join(default_names(len(header)))}", got '
                "numbers; add a header"
            )
        table.is_unnamed = found is None
        header, table.ignored, table.kind = found or Naming(list(default_names(len(header))))
    elif after and after[0][1].startswith("labels,"):  # pandas writes anesthetic samples with three header lines
        index = table._cells(after[1][1], line) if len(after) > 1 else header
        header, table.lines = [name or other.strip() for name, other in zip(header, index, strict=False)], lines
    table.header = [name[1:] if _QUOTED_FORMULA.match(name) else name for name in map(str.strip, header)]
    if any("\ufffd" in name for name in table.header):
        raise InputError(
            f"{source}, line {line} is not UTF-8 text; save the text as UTF-8, or the draws as CSV, NPZ or NetCDF"
        )
    return table


def _separator(text: str, after: Sequence[tuple[int, str]]) -> str | None:
    """Return the cell separator of a table, or None for whitespace.

    The first line is ``text``, and ``after`` contains the next lines.
    """
    between, width = _QUOTED.sub("", text), len(text.split())
    marks = [mark for mark in ",;\t" if mark in between]
    is_spaced = not marks and all(len(row.split()) > 1 for _, row in after[:1])
    if width > 1 and (is_spaced or all(map(_is_number, text.split()))):
        return None
    return next(iter(marks), ",")


def _named_in(comment: str, table: TextTable, width: int) -> Naming | None:
    """Return the column names in a comment, or None if there are no names."""
    names = [name.strip() for name in table._cells(comment, 0)]
    fits = len(names) == width and all(len(name.split()) == 1 and not _is_number(name) for name in names)
    return Naming(names) if fits else None


def read_csv(data: bytes, source: str, selection: Selection = ALL, path: Path | None = None) -> Sample:
    """Read a sample from a text table with one draw per line.

    Parameters
    ----------
    data : bytes
    source : str
        Name of the file, for messages.
    selection : Selection
        Selection of columns. Cells in columns that are not selected may have any content.
    path : Path, optional
        Path of the file. Other files in its folder may contain names or further draws; see `chain_files`.

    Raises
    ------
    InputError
        If the table is not valid. The message states the line and the column.
    """
    table = open_table(with_live_points(data, path), source, path)
    others = (*table.ignored, *derived_beside(path, table.header))
    layout = lay_out(table.header, source, selection, ignored=others, kind=table.kind)
    if table.is_unnamed:
        warn_user(_UNNAMED.format(quoted(table.header)), ReadingWarning)
    may_have_weights = table.is_unnamed and selection.weights is None and len(table.header) > 2
    return _sample(table, layout, may_have_weights=may_have_weights)


def _sample(table: TextTable, layout: Columns, *, may_have_weights: bool = False) -> Sample:
    values, lines = table.rows(sorted({0, *layout.used}) if may_have_weights else layout.used, layout.header)
    if may_have_weights and not (values[:, 0] < 0.0).any():
        raise InputError(
            f"{table.source} has no column names, and the first column may contain weights. Name the columns in a "
            "header, or pass weights= (--weights). If the columns are weights, -log L and parameters, pass --weights "
            "x1 --columns x3,x4,...; if all columns are parameters, pass --weights none"
        )
    return sample_from_table(values, layout, table.source, where=lambda row: f"line {lines[row]}")


def read_coda(data: bytes, source: str, selection: Selection, index: Path) -> Sample:
    """Read a CODA chain from BUGS or JAGS.

    Raises
    ------
    InputError
        If the index is not valid, or the parameters have different iterations.
    """
    spans = {}
    for line in read_bytes(index, binary=True).decode("utf-8", "replace").splitlines():
        name, *ends = line.split()
        if len(ends) != 2 or not all(map(str.isdecimal, ends)):
            raise InputError(f"{index}: expected a name and two line numbers in each line, got {line!r}")
        spans[name] = slice(int(ends[0]) - 1, int(ends[1]))
    rows, lines = open_table(data, source).rows([0, 1], ["iteration", "value"])
    parts = [rows[span] for span in spans.values()]
    if any(not np.array_equal(part[:, 0], parts[0][:, 0]) for part in parts):
        raise InputError(f"{source}: expected the same iterations for all parameters in {index.name}")
    layout = lay_out(list(spans), source, selection, {}, kind="a CODA chain")
    values = np.column_stack([part[:, 1] for part in parts])
    return sample_from_table(values, layout, source, lambda row: f"line {lines[row]}", draw=parts[0][:, 0])


def read_table(path: str | os.PathLike[str]) -> tuple[tuple[str, ...], Floats]:
    """Read a numeric CSV file without treating any column name as reserved.

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
    """Write a sample in CSV format without loss of precision.

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
            f"{target}: a CSV header cannot represent the names {quoted(list(columns))}; rename the coordinates or "
            "write .npz"
        )
    for start in range(0, len(sample), _ROWS_AT_A_TIME):
        # repr returns the shortest text that converts back to the same number
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
    try:  # not contextlib.suppress, which would take as long as the conversion
        if "_" not in cell and cell.isascii():  # float() also accepts 1_000 and non-ASCII digits
            return float(cell)
    except ValueError:
        pass
    if not column:
        raise unnamed_column(source, 0)
    where, text = f'{source}, line {line}, column "{column}"', cell.strip()
    if text in _MISSING:
        raise InputError(
            f"{where} is {text or 'empty'}, which denotes a missing value; drop that draw (R: na.omit) or deselect the "
            "column"
        )
    raise InputError(
        f"{where}: expected a number, got {shortened(text)}; correct it, drop that draw, or select other columns with "
        "columns= (--columns)"
    )
