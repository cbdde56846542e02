"""A sample as a table with named columns, the form that CSV files, NetCDF files and data frames share.

``weight``, ``cost``, ``chain`` and ``draw`` are reserved, ``score:NAME`` holds the score of the coordinate NAME,
columns that samplers write beside the parameters are labels or left out (`sampler_columns`), and every other column is
a coordinate, in the order of the file.

Of samplers and their interfaces: posterior, cmdstanr and tidybayes number the draws in ``.chain``, ``.iteration`` and
``.draw``, CmdStanPy in ``chain__``, ``iter__`` and ``draw__``. Stan's own names end in ``__``, which no parameter's
may. R's ``write.csv`` puts row names in front, in a column without a name, which pandas calls ``Unnamed: 0``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_type
from steinkit.errors import InputError, ReadingWarning, UsageError, did_you_mean, listed, warn_user
from steinkit.sample import Floats, Integers, Sample, Unshared

RESERVED = ("chain", "draw", "weight", "cost")
SCORE = "score:"

_BRACKETS = re.compile(r"(?P<name>.+?)\[(?P<index>[^\[\]]*)\]")
_POINTS = re.compile(r"(?P<name>.+?)\.(?P<index>[1-9]\d*(?:\.[1-9]\d*)*)")  # as Stan counts, from 1


@dataclass(frozen=True)
class Columns:
    """Which column of a table holds what.

    Attributes
    ----------
    header : tuple of str
        Names of all columns.
    names : tuple of str
        Names of the coordinates.
    coordinates, scores : tuple of int
        Column of each coordinate and of its score; `scores` is empty if there are none.
    reserved : dict of str to int
        Column of each reserved name that is there, or of what is taken for it.
    taken : dict of str to str
        Columns of a sampler's, with what each is taken for; see `sampler_columns`.
    """

    header: tuple[str, ...]
    names: tuple[str, ...]
    coordinates: tuple[int, ...]
    scores: tuple[int, ...]
    reserved: dict[str, int]
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def used(self) -> list[int]:
        """The columns that are read, in the order of the file."""
        return sorted({*self.coordinates, *self.scores, *self.reserved.values()})


def lay_out(
    header: Sequence[str], source: str, columns: Sequence[str] | None, reserved: Sequence[str] | None = None
) -> Columns:
    """Tell coordinates, scores and reserved columns apart.

    Parameters
    ----------
    header : sequence of str
        Column names in the order of the file.
    source : str
        Name of the file, for messages.
    columns : sequence of str or None
        Coordinates to keep, in this order; all of them if None.
    reserved : sequence of str, optional
        Names that are not coordinates here; if not given, `RESERVED` and the columns of samplers.

    Raises
    ------
    InputError
        If a name is empty or stands twice, if no column is a coordinate, or if only some coordinates have a score; and
        as `sampler_columns` does.
    """
    taken = sampler_columns(header, source, columns) if reserved is None else {}
    reserved = RESERVED if reserved is None else reserved
    require_distinct(header, source, unnamed=0 if "" in taken else None)
    position = {name: k for k, name in enumerate(header)}
    names = [name for name in header if name not in reserved and name not in taken and not name.startswith(SCORE)]
    if not names:
        raise InputError(
            f"{source} has no coordinate: its columns are {listed(header)}, all of them reserved names; "
            "add a column for each coordinate"
        )
    scores = _score_columns(position, names, source)
    chosen = choose(names, columns, source)
    return Columns(
        header=tuple(header),
        names=tuple(names[k] for k in chosen),
        coordinates=tuple(position[names[k]] for k in chosen),
        scores=tuple(scores[k] for k in chosen) if scores else (),
        reserved={name: position[name] for name in reserved if name in position}
        | {meaning: position[name] for name, meaning in taken.items() if meaning},
        taken=taken,
    )


def choose(names: Sequence[str], columns: Sequence[str] | None, source: str) -> list[int]:
    """Positions among ``names`` of the coordinates asked for; of all of them if ``columns`` is None.

    The name of a parameter stands for all its entries, ``theta`` for ``theta[0]``, ``theta[1]``, ....
    """
    if columns is None:
        return list(range(len(names)))
    if not isinstance(columns, list | tuple) or not columns or not all(isinstance(name, str) for name in columns):
        raise UsageError(f'columns must be a list of coordinate names such as ["{names[0]}"]; received {columns!r}')
    chosen: list[str] = []
    position = {name: k for k, name in enumerate(names)}
    for name in columns:
        meant = [name] if name in position else entries_of(name, names)
        if not meant:
            hint = did_you_mean(name, names) or f"; it has {listed(names)}"
            raise InputError(f'{source} has no coordinate named "{name}"{hint}')
        chosen += meant
    twice = [name for name, count in Counter(chosen).items() if count > 1]
    if twice:
        raise UsageError(f'columns names "{twice[0]}" twice; name each coordinate once')
    return [position[name] for name in chosen]


def split(column: str) -> tuple[str, tuple[str, ...]]:
    """``Sigma[0,1]`` or ``Sigma.1.2`` as the parameter's name and the entry's index; an index of nothing for others."""
    found = _BRACKETS.fullmatch(column)
    if found:
        return found["name"], tuple(map(str.strip, found["index"].split(",")))
    found = _POINTS.fullmatch(column)
    return (found["name"], tuple(found["index"].split("."))) if found else (column, ())


def entries_of(name: str, columns: Sequence[str]) -> list[str]:
    """The columns that are entries of a parameter, in their order; none if it has no such columns."""
    return [column for column in columns if column != name and split(column)[0] == name]


def sample_from_table(
    values: Floats, columns: Columns, source: str, where: Callable[[int], str], *, owned: bool = False, **labels: Any
) -> Sample:
    """Make a sample of a table, or say which of its cells forbids it.

    Parameters
    ----------
    values : ndarray, shape (n, columns in the header)
        Columns that are not in `Columns.used` are not looked at.
    columns : Columns
    source : str
        Name of the file, for messages.
    where : callable, int -> str
        Names a row of ``values`` the way a reader of the file would: ``"line 18"``.
    owned : bool
        Whether the caller gives the table away: the sample may then keep it, which a large one would have to be
        copied for.
    **labels : ndarray of int, shape (n,), or None
        ``chain`` and ``draw``, where they do not stand in a column.
    """
    places = {_FIELDS.get(name, name): (k,) for name, k in columns.reserved.items()}
    (row_names,) = places.pop(ROW, (None,))
    if row_names is not None and not np.array_equal(values[:, row_names], np.arange(1, len(values) + 1)):
        raise unnamed_column(source, row_names)
    plain = columns.coordinates == tuple(range(values.shape[1]))
    points = values if plain else values[:, columns.coordinates]
    fields = labels | {name: values[:, k] for name, (k,) in places.items()}
    try:
        return Sample(
            points=Unshared(points) if owned or not plain else points,
            scores=Unshared(values[:, columns.scores]) if columns.scores else None,
            names=columns.names,
            **fields,
        )
    except InputError as error:
        if error.cell is None:
            raise InputError(f"{source}: {error}") from None
        what, row, column, said = error.cell
        position = places | {"points": columns.coordinates, "scores": columns.scores}
        name = columns.header[position[what][column]] if what in position else what
        raise InputError(f'{source}, {where(row)}, column "{name}" {said}') from None


def make_sample(source: str, **fields: Any) -> Sample:
    """``Sample(**fields)``, whose complaints then name the file."""
    try:
        return Sample(**fields)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def columns_of(sample: Sample, reserved: Sequence[str] = RESERVED) -> dict[str, Floats | Integers]:
    """Return the columns that hold the whole of a sample: labels, coordinates, scores, weight, cost, diagnostics.

    A coordinate may bear a name that is not among the reserved ones, unless the sample has such a column besides.

    Raises
    ------
    UsageError
        If a coordinate bears a reserved name, so that the columns would be read back as something else.
    """
    require_type(Sample, "a steinkit Sample", sample=sample)
    divergent = None if sample.divergent is None else sample.divergent.astype(np.int64)
    beside = {"weight": sample.weights, "cost": sample.cost, "divergent__": divergent, "energy__": sample.energy}
    forbidden = {*reserved, *(name for name, column in beside.items() if column is not None)}
    taken = [name for name in sample.names if name in forbidden or name.startswith(SCORE)]
    if taken:
        raise UsageError(
            f'a coordinate named "{taken[0]}" cannot be a column, the name is reserved; rename it or use .npz'
        )
    columns: dict[str, Floats | Integers | None] = {"chain": sample.chain, "draw": sample.draw}
    columns |= {name: sample.points[:, k] for k, name in enumerate(sample.names)}
    if sample.scores is not None:
        columns |= {SCORE + name: sample.scores[:, k] for k, name in enumerate(sample.names)}
    columns |= {name: column for name, column in beside.items() if name not in columns}
    return {name: column for name, column in columns.items() if column is not None}


def require_distinct(header: Sequence[str], source: str, unnamed: int | None = None) -> None:
    """Raise InputError if a column has no name, except column ``unnamed``, or shares it with another one."""
    for k, name in enumerate(header):
        if not name and k != unnamed:
            raise unnamed_column(source, k)
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise InputError(f'{source}: two columns are named "{twice[0]}"; every column needs a name of its own')


def unnamed_column(source: str, position: int) -> InputError:
    """The error that says that a column, counted from 0, has no name."""
    return InputError(
        f"{source}: column {position + 1} has no name; name it, or, if it is a row index, write the file without it "
        "(pandas: index=False; R: row.names=FALSE). Only one that counts 1, 2, 3, ... in front is known as row names"
    )


def require_numbers(values: NDArray[Any], what: str, source: str, remedy: str) -> None:
    """Raise InputError unless an array holds real numbers, none of them masked."""
    if values.dtype.kind not in "fiub":
        raise InputError(f"{source}: {what} holds {values.dtype} where real numbers are wanted; {remedy}")
    masked = int(np.sum(values.mask)) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise InputError(f"{source}: {what} has {masked} masked entries; drop those draws first")


def _score_columns(position: Mapping[str, int], names: Sequence[str], source: str) -> list[int]:
    """The column of each coordinate's score; none if no coordinate has one."""
    scores = {name.removeprefix(SCORE): k for name, k in position.items() if name.startswith(SCORE)}
    known = set(names)
    stray = next((name for name in scores if name not in known), None)
    if stray is not None:
        raise InputError(
            f'{source}: column "{SCORE}{stray}" belongs to no coordinate{did_you_mean(stray, names)}; '
            f"the coordinates are {listed(names)}"
        )
    missing = [name for name in names if name not in scores]
    if scores and missing:
        raise InputError(
            f"{source}: coordinate {listed(missing)} has no score column while others have one; "
            f'add "{SCORE}{missing[0]}", or drop all the scores'
        )
    return [scores[name] for name in names] if scores else []


ROW = "row names"
DIAGNOSTICS = {
    "divergent__": "divergent",
    "energy__": "energy",
}  # of a Hamiltonian sampler, and what a sample calls them
_FIELDS = {"weight": "weights", **DIAGNOSTICS}  # of a sample, where they are not called as their column
COLUMNS_BESIDE = ("weight", "cost", *DIAGNOSTICS)  # of `steinkit.sample.BESIDE`
_LABELS = {
    "divergent": ("divergent__", "diverging"),
    "energy": ("energy__",),
    "chain": (".chain", "chain__"),
    "draw": (".iteration", "draw__", "iter__", ".draw"),
}  # the first that is there
_STAN = (
    *("lp__", "accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__"),
    *("chain__", "iter__", "draw__", "lp_approx__", "log_p__", "log_g__", "path__"),
)
_POSTERIOR = (".chain", ".iteration", ".draw")
_ROW_NAMES = ("", "Unnamed: 0")
_WEIGHTS = {
    "weights": 'rename it "weight"',
    ".log_weight": 'write exp(.log_weight - max(.log_weight)) in its place, in a column "weight"',
}


def sampler_columns(header: Sequence[str], source: str, asked: Sequence[str] | None) -> dict[str, str]:
    """Columns of a table that are no coordinates, with what each is taken for: "" for what is left out.

    Parameters
    ----------
    header : sequence of str
    source : str
        Name of the file, for messages.
    asked : sequence of str, optional
        Coordinates that the user named: they are coordinates whatever their names.

    Raises
    ------
    InputError
        If the table has several rows a draw, or a column that may be the draws' weights, and the user named no
        coordinates.
    """
    if asked is None:
        _require_plain(header, source)
    named = set(asked or ())
    free = [name for name in header if name not in named]
    left_out = [name for name in free if name in _POSTERIOR or name in DIAGNOSTICS or name == "diverging"]
    if any(name in _STAN for name in free):
        left_out += [name for name in free if name.endswith("__")]
    found = dict.fromkeys(left_out, "")
    for label, names in _LABELS.items():
        first = next((name for name in names if name in found), None)
        if first is not None and not (label in header and label in RESERVED):
            found[first] = label
    if header and header[0] in _ROW_NAMES and header[0] in free:
        found[header[0]] = ROW
    return found


def tell_taken(taken: Mapping[str, str]) -> None:
    """Warn of what columns were taken for; the text names no file, so that of several it is said once."""
    taken = {name: meaning for name, meaning in taken.items() if meaning not in DIAGNOSTICS.values()}
    if not taken:
        return
    called = {name: f'"{name}"' if name else "the first, unnamed," for name in taken}
    labels = [f"{called[name]} as {meaning}" for name, meaning in taken.items() if meaning]
    left_out = [name for name, meaning in taken.items() if not meaning]
    said = [", ".join(labels)] if labels else []
    said += [f"{listed(left_out)} left out"] if left_out else []
    warn_user(
        f"columns that samplers write beside the parameters are no coordinates: {'; '.join(said)}. If one is, name all "
        "coordinates with columns= (--columns)",
        ReadingWarning,
    )


def _require_plain(header: Sequence[str], source: str) -> None:
    if {".variable", ".value"} <= set(header):
        raise InputError(
            f'{source} has a row for every draw of every parameter, in columns ".variable" and ".value"; a row a '
            "draw is wanted: tidybayes::spread_draws or tidyr::pivot_wider"
        )
    for name, remedy in _WEIGHTS.items():
        if name in header and "weight" not in header:
            raise InputError(
                f'{source}: does column "{name}" hold the weights of the draws? If so, {remedy}; if not, name the '
                "coordinates with columns= (--columns)"
            )
