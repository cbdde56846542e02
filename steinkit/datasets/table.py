"""Tables of numbers in CSV files: a header with the names of the columns, then one row a datum."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError


def read_table(path: str | Path) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """Read a CSV file whose columns are all numeric.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    names : tuple of str
        The c columns, from the header.
    values : ndarray, shape (N, c)

    Raises
    ------
    InputError
        If the file cannot be read, holds no rows, has rows of unequal length, or cells that are not finite
        numbers; the message names the file, the line and the column.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    if len(lines) < 2:
        raise InputError(f"{path} holds no data; a header and at least one row of numbers are wanted")
    names = tuple(lines[0][1])
    if len(set(names)) != len(names):
        raise InputError(f"{path}, line {lines[0][0]}: two columns bear the same name in {', '.join(names)}")
    values = np.array([_numbers(path, line, names, row) for line, row in lines[1:]])
    _require_numbers(path, names, lines[1:], values)
    return names, values


def _numbers(path: str | Path, line: int, names: tuple[str, ...], row: list[str]) -> list[float]:
    """Cells of one row as numbers; NaN for what is no finite number."""
    if len(row) != len(names):
        raise InputError(f"{path}, line {line}: {len(row)} cells for {len(names)} columns")
    return [_number(cell) for cell in row]


def _number(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _require_numbers(
    path: str | Path, names: tuple[str, ...], lines: list[tuple[int, list[str]]], values: NDArray[np.float64]
) -> None:
    bad = np.argwhere(np.isnan(values))
    if not bad.size:
        return
    row, column = bad[0]
    line, cells = lines[row]
    columns = [names[j] for j in np.unique(bad[:, 1])]
    raise InputError(
        f"{path}, line {line}, column {names[column]!r}: {cells[column]!r} is not a finite number "
        f"(columns with such cells: {', '.join(columns)}); code them as numbers or leave them out"
    )
