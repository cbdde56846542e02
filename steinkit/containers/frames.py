"""Draws in data frames, of pandas or any other package whose frames have named columns, a draw a row.

Columns mean what they mean in CSV files: ``chain``, ``draw``, ``weight`` and ``cost`` are reserved, ``score:NAME`` is
the score of NAME, and a sampler's columns are known. An index with levels chain and draw serves as these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.columns import require_distinct, sample_from_table, sort_table, tell_taken
from steinkit.errors import InputError, listed
from steinkit.sample import Sample, default_names


def is_frame(draws: Any) -> bool:
    """Whether an object is a data frame, or one column of it."""
    return _is_series(draws) or all(hasattr(draws, name) for name in ("columns", "__len__", "__getitem__"))


def _is_series(draws: Any) -> bool:
    return hasattr(draws, "to_frame") and hasattr(draws, "name") and hasattr(draws, "dtype")


def from_frame(frame: Any, columns: Sequence[str] | None) -> Sample:
    """Draws in a data frame as a sample.

    Raises
    ------
    InputError
        If a column is not numeric, its name is no text, or the frame holds several rows a draw.
    """
    if _is_series(frame):
        frame = frame.to_frame()
    source = f"the {type(frame).__name__}"
    found = {**_index_levels(frame, source), **_columns(frame, source)}
    if not len(frame):
        raise InputError(f"{source} is empty; at least one draw is wanted")
    layout = sort_table(tuple(found), source, columns)
    tell_taken(layout.taken)
    values = np.full((len(frame), len(layout.header)), np.nan)
    for k in layout.used:
        name = layout.header[k]
        values[:, k] = _numbers(found[name], name, source)
    return sample_from_table(values, layout, source, where=lambda row: f"row {row + 1}")


def _columns(frame: Any, source: str) -> dict[str, Any]:
    """The columns by name; numbers counted from 0 are names that nobody gave."""
    given = list(frame.columns)
    if given == list(range(len(given))):
        names: Sequence[str] = default_names(len(given))
    else:
        names = [_name(each, source) for each in given]
    require_distinct(names, source)
    return {name: frame[label] for name, label in zip(names, given, strict=True)}


def _name(label: Any, source: str) -> str:
    if isinstance(label, str):
        return label
    if isinstance(label, tuple) and len(label) > 1 and all(isinstance(each, str) for each in label):
        head, bracket, index = label[0].partition("[")  # ("theta[0]", "Choate"), as ArviZ's to_dataframe writes
        if bracket and index.count(",") + 2 == len(label):
            return f"{head}[{','.join(label[1:])}]"
    raise InputError(
        f"{source}: a column is named {label!r}; its name must be a text: frame.columns = [...], and of ArviZ's "
        'to_dataframe one group, groups="posterior"'
    )


def _index_levels(frame: Any, source: str) -> dict[str, Any]:
    """The levels chain and draw of the index; other levels say that a draw has several rows."""
    index = getattr(frame, "index", None)
    names = [name for name in getattr(index, "names", ()) if name is not None]
    if index is None or not {"chain", "draw"} & set(names):
        return {}
    strange = [str(name) for name in names if name not in ("chain", "draw")]
    if strange:
        raise InputError(
            f"{source} has several rows a draw, told apart by {listed(strange)} in its index; a row a draw is wanted: "
            f'frame.unstack("{strange[0]}"), or hand over the xarray object itself'
        )
    taken = list(frame.columns)
    return {name: index.get_level_values(name) for name in names if name not in taken}


def _numbers(column: Any, name: str, source: str) -> NDArray[np.float64]:
    values = np.asarray(column)
    kind = getattr(getattr(column, "dtype", None), "kind", values.dtype.kind)
    if values.dtype.kind == "O" and kind in tuple("fiub"):  # pandas' own numbers, which may be missing
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if values.dtype.kind not in "fiub":
        raise InputError(
            f'{source}: column "{name}" holds {getattr(column, "dtype", values.dtype)} where real numbers are wanted; '
            "leave it out with columns=, or drop it"
        )
    return values.astype(np.float64)
