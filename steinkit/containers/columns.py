"""Interpretation of the columns of a file or a data frame.

``weight``, ``cost``, ``log_q``, ``chain`` and ``draw`` are reserved, and ``score:NAME`` holds the score of the
coordinate NAME. Columns that samplers add to the draws are interpreted as labels or ignored. All other columns are
coordinates, in the order of the table.

The R packages posterior, cmdstanr and tidybayes number the draws in the columns ``.chain``, ``.iteration`` and
``.draw``. CmdStanPy uses ``chain__``, ``iter__`` and ``draw__``. Stan reserves names that end in ``__``. R's
``write.csv`` writes row names to an unnamed first column, which pandas calls ``Unnamed: 0``. Tables from other programs
are described in `programs`.

A column with a name such as ``w`` or ``logwt`` is an error unless the user states whether it contains the weights. This
prevents weights from being silently ignored.
"""

from __future__ import annotations

import re
import types
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_type
from steinkit.containers.programs import LIKELIHOOD, NESTED, key, nested_weights, recognized
from steinkit.errors import InputError, ReadingWarning, UsageError, did_you_mean, quoted, warn_user
from steinkit.sample import Floats, Integers, Sample

LABELS = ("chain", "draw")
SCORE = "score:"
_HMC = {"divergent__": "divergent", "energy__": "energy", "treedepth__": "tree_depth"}
DIAGNOSTICS = _HMC | {"lp_approx__": "log_q", "log_g__": "log_q", "log_q__": "log_q", "log_p__": "log_p"}
"""Stan's diagnostic columns and the corresponding attributes of `Sample`.

Pathfinder writes the log density of its approximation as ``lp_approx__``, ADVI as ``log_g__``, and the Laplace
approximation as ``log_q__``.
"""
PER_DRAW_COLUMNS = {"weight": "weights", "cost": "cost", "log_q": "log_q", "log_p__": "log_p"} | _HMC
"""Columns with one number per draw, and the corresponding attributes of `Sample`."""

_ROW = "row names"
_BRACKETS = re.compile(r"(?P<name>.+?)\[(?P<index>[^\[\]]*)\]")
_POINTS = re.compile(r"(?P<name>.+?)\.(?P<index>[1-9]\d*(?:\.[1-9]\d*)*)")  # Stan counts from 1
_OF_SAMPLERS = DIAGNOSTICS | {  # if a header has several columns with the same meaning, the first one here is used
    **{"diverging": "divergent", ".chain": "chain", "chain__": "chain"},
    **{".iteration": "draw", "draw__": "draw", "iter__": "draw", ".draw": "draw"},
}
_STAN = (
    *("lp__", "accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__"),
    *("chain__", "iter__", "draw__", "lp_approx__", "log_p__", "log_g__", "path__"),
)
_ROW_NAMES = ("", "Unnamed: 0")
_WEIGHTS = re.compile(  # see `key`
    r"w|wts?|wgt|iw|(normalized|importance|log|logimportance)?weights?|importance|multiplicity|lw|logwt?"
)
_CERTAIN = ("weight", ".log_weight")  # columns that contain weights in any table
_SCALED_SEPARATELY = "are scaled separately in each file; join the files into one, or write weights on a common scale"
_EXPONENTIATED = "log weights, exponentiated"
_SMALLEST = 1e-100  # relative to the largest weight; smaller weights do not affect results


@dataclass(frozen=True)
class Selection:
    """The user's selection of columns.

    Attributes
    ----------
    columns : sequence of str, optional
        Coordinates to keep, in this order. By default, all coordinates are kept.
    weights : str, optional
        Name of the column with the weights, or "none". By default, the column with the reserved name is used.
    is_joined : bool
        True if several tables are joined into one sample. Log weights are then rejected because they are scaled
        separately in each table.

    Raises
    ------
    UsageError
        If `columns` is not a list of names, `weights` is not a name, or `columns` contains `weights`.
    """

    columns: Sequence[str] | None = None
    weights: str | None = None
    is_joined: bool = False

    def __post_init__(self) -> None:
        columns = self.columns
        valid = isinstance(columns, list | tuple) and columns and all(isinstance(name, str) for name in columns)
        if columns is not None and not valid:
            raise UsageError(f'columns must be a list of coordinate names, such as ["mu", "tau"]; got {columns!r}')
        require_type((str, types.NoneType), "the name of a column of weights, or 'none'", weights=self.weights)
        if columns is not None and self.weights in columns:
            raise UsageError(
                f"weights (--weights) and columns (--columns) must not share a column; got {self.weights!r}"
            )


ALL = Selection()


@dataclass(frozen=True)
class Columns:
    """Interpretation of the columns of a table.

    Attributes
    ----------
    header : tuple of str
        Names of all columns.
    names : tuple of str
        Names of the coordinates.
    coordinates, scores : tuple of int
        Columns of the coordinates and of their scores. `scores` is empty if there are no scores.
    fields : dict of str to int
        Columns of the weights, costs, labels and diagnostics. The keys are the corresponding attributes of `Sample`.
    taken : dict of str to str
        Interpretations of the columns that samplers add. They are empty for ignored columns.
    program : str
        Description of the table if it was written by a known program, or an empty string.
    """

    header: tuple[str, ...]
    names: tuple[str, ...]
    coordinates: tuple[int, ...]
    scores: tuple[int, ...] = ()
    fields: Mapping[str, int] = field(default_factory=dict)
    taken: Mapping[str, str] = field(default_factory=dict)
    program: str = ""

    @property
    def used(self) -> list[int]:
        """Columns that are read, in the order of the table."""
        return sorted({*self.coordinates, *self.scores, *self.fields.values()})


def lay_out(
    header: Sequence[str],
    source: str,
    selection: Selection = ALL,
    meanings: Mapping[str, str] | None = None,
    ignored: Collection[str] = (),
    kind: str = "",
) -> Columns:
    """Find the coordinates, scores, weights and labels among the columns of a table.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    source : str
        Name of the table, for messages.
    selection : Selection
    meanings : dict of str to str, optional
        Columns that are not coordinates. The values are the corresponding attributes of `Sample`, or "" for columns to
        ignore. By default, the reserved names and the columns that samplers add are used.
    ignored : collection of str, optional
        Additional columns that are ignored unless they are selected.
    kind : str, optional
        Description of the table, if it cannot be determined from the column names.

    Raises
    ------
    InputError
        If a name is empty or repeated, if a column may contain weights, if no column is a coordinate, or if only some
        coordinates have scores.
    """
    taken: dict[str, str] = {}
    if meanings is None:
        program = recognized(header)
        kind = kind or (program.name if program else "")
        suggested = [name for name in header if may_hold_weights(name)] if program and program.is_weighted else []
        weights = weight_column(header, source, selection, (*_CERTAIN, *suggested))
        taken = _sampler_columns(header, selection.columns, weights, ignored)
        if program:
            free = [name for name in header if name not in (weights, *(selection.columns or ()))]
            taken |= program.interpretation(free, has_weights=weights is not None or selection.weights == "none")
        if kind and weights is not None:
            taken[weights] = "weights"  # included in the same warning
        if selection.is_joined and LIKELIHOOD in taken.values():
            raise InputError(f"{source}: nested sampling weights {_SCALED_SEPARATELY}")
        meanings = {"chain": "chain", "draw": "draw", "cost": "cost", "log_q": "log_q"} | taken
        meanings |= {} if weights is None else {weights: "weights"}
    require_distinct(header, source, unnamed=0 if "" in taken else None)
    position = {name: k for k, name in enumerate(header)}
    names = [name for name in header if name not in meanings and not name.startswith(SCORE)]
    if not names:
        others = quoted(header) or "weights and diagnostics"
        raise InputError(f"{source} has no coordinates, only {others}; expected at least one other column")
    scores = _score_columns(position, names, source)
    chosen = choose(names, selection.columns, source)
    return Columns(
        header=tuple(header),
        names=tuple(names[k] for k in chosen),
        coordinates=tuple(position[names[k]] for k in chosen),
        scores=tuple(scores[k] for k in chosen) if scores else (),
        fields={meaning: position[name] for name, meaning in meanings.items() if meaning and name in position},
        taken=taken,
        program=kind,
    )


def may_hold_weights(name: str) -> bool:
    """Return True if a column with this name may contain weights or log weights."""
    return _WEIGHTS.fullmatch(key(name)) is not None


def weight_column(
    names: Sequence[str], source: str, selection: Selection, known: Collection[str] | None = _CERTAIN
) -> str | None:
    """Return the name of the column that contains the weights, or None.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    source : str
        Name of the table, for messages.
    selection : Selection
    known : collection of str or None
        Names of columns that always contain weights. The user must confirm other names that suggest weights. If None,
        all columns are parameters unless the user selects one as the weights.

    Raises
    ------
    InputError
        If a column may contain weights, if the selected column does not exist, or if one of several tables has log
        weights.
    """
    found = selection.weights
    if found not in (None, "none", *names):
        raise InputError(f'{source} has no column "{found}" with weights{did_you_mean(str(found), names)}')
    if found is None and known is not None:
        coordinates = selection.columns or ()
        possible = [name for name in names if may_hold_weights(name) and (name in known or name not in coordinates)]
        found = possible[0] if possible else None
        if len(possible) > 1 or (found is not None and found not in known):
            raise InputError(
                f"{source}: {quoted(possible)} may contain the weights of the draws; name the column with weights= "
                f"(--weights), such as --weights {possible[-1]}, or --weights none if the draws have equal weights"
            )
    if found is None or found == "none":
        return None
    if selection.is_joined and _is_logarithmic(found):
        raise InputError(f'{source}: the log weights "{found}" {_SCALED_SEPARATELY}')
    return found


def _is_logarithmic(name: str) -> bool:
    return key(name).startswith("log") or key(name) == "lw"


def weights_from(values: NDArray[Any], name: str, source: str, *, is_told: bool = False) -> NDArray[Any]:
    """Return the weights in a column after exponentiating any log weights.

    Exponentiated weights are scaled to a maximum of 1, and weights below 1e-100 are set to 0. Unless ``is_told`` is
    true, a warning states that log weights were exponentiated.

    Raises
    ------
    InputError
        If log weights are not real numbers.
    """
    if not _is_logarithmic(name):
        return values
    if values.dtype.kind not in "fiu":
        raise InputError(f'{source}: expected real numbers in the log weights "{name}", got {values.dtype}')
    if not is_told:
        _tell_taken({name: _EXPONENTIATED})
    logs = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        weights = np.exp(logs - logs.max(initial=-np.inf, where=~np.isnan(logs)))
    return np.where(weights < _SMALLEST, 0.0, weights)


def choose(names: Sequence[str], columns: Sequence[str] | None, source: str) -> list[int]:
    """Return the positions of the selected coordinates.

    The name of a parameter selects all of its entries.

    Raises
    ------
    UsageError
        If ``columns`` repeats a name.
    InputError
        If a name is unknown.
    """
    if columns is None:
        return list(range(len(names)))
    position = {name: k for k, name in enumerate(names)}
    chosen: list[str] = []
    for name in columns:
        meant = [name] if name in position else entries_of(name, names)
        if not meant:
            hint = did_you_mean(name, names) or f"; it has {quoted(names)}"
            raise InputError(f'{source} has no coordinate named "{name}"{hint}')
        chosen += meant
    if (twice := first_repeated(chosen)) is not None:
        raise UsageError(f'columns must select each coordinate once; got "{twice}" twice')
    return [position[name] for name in chosen]


def split(column: str) -> tuple[str, tuple[str, ...]]:
    """Split a column name into a parameter name and an index.

    Names such as ``Sigma[0,1]`` and ``Sigma.1.2`` have an index. For other names, the index is empty.
    """
    found = _BRACKETS.fullmatch(column)
    if found:
        return found["name"], tuple(map(str.strip, found["index"].split(",")))
    found = _POINTS.fullmatch(column)
    return (found["name"], tuple(found["index"].split("."))) if found else (column, ())


def entries_of(name: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that are entries of a parameter, in the given order."""
    return [column for column in columns if column != name and split(column)[0] == name]


def sample_from_table(
    values: Floats, columns: Columns, source: str, where: Callable[[int], str], **fields: Any
) -> Sample:
    """Convert a table to a sample.

    If the table has columns that samplers add, a warning states how they were interpreted.

    Parameters
    ----------
    values : ndarray, shape (n, number of columns)
        Values of the table. Only the columns in `Columns.used` are used. The sample may share memory with the array.
    columns : Columns
    source : str
        Name of the table, for messages.
    where : callable, int -> str
        Function that returns the name of a row for messages, such as ``"line 18"``.
    **fields : ndarray, shape (n,), or None
        Attributes of `Sample` that are not columns of the table.

    Raises
    ------
    InputError
        If a value is not valid. The message states the row and the column.
    """
    _tell_taken(columns.taken, columns.program)
    places = {name: (k,) for name, k in columns.fields.items()}
    order = np.arange(len(values))
    if LIKELIHOOD in places:
        order = np.argsort(values[:, places[LIKELIHOOD][0]], kind="stable")
        values = values[order]
        fields["weights"] = nested_weights({what: values[:, places.pop(what)[0]] for what in NESTED if what in places})
    (row_names,) = places.pop(_ROW, (None,))
    counted = np.arange(len(values)) + (values[0, row_names] == 1.0 if row_names is not None else 0)
    if row_names is not None and not np.array_equal(values[:, row_names], counted):
        raise unnamed_column(source, row_names)
    fields |= {name: values[:, k] for name, (k,) in places.items()}
    if "weights" in places:
        name = columns.header[columns.fields["weights"]]
        fields["weights"] = weights_from(fields["weights"], name, source, is_told=name in columns.taken)
    try:
        return Sample(
            points=values[:, columns.coordinates],
            scores=values[:, columns.scores] if columns.scores else None,
            names=columns.names,
            **fields,
        )
    except InputError as error:
        if error.cell is None:
            raise InputError(f"{source}: {error}") from None
        what, row, column, message = error.cell
        position = places | {"points": columns.coordinates, "scores": columns.scores}
        name = columns.header[position[what][column]] if what in position else what
        raise InputError(f'{source}, {where(int(order[row]))}, column "{name}" {message}') from None


def columns_of(
    sample: Sample, reserved: Collection[str] = (*LABELS, *PER_DRAW_COLUMNS)
) -> dict[str, Floats | Integers]:
    """Return the parts of a sample as named columns.

    The columns are labels, coordinates, scores, weights, cost and diagnostics.

    Raises
    ------
    UsageError
        If a coordinate has a reserved name.
    """
    require_type(Sample, "a steinkit Sample", sample=sample)
    found = {name: getattr(sample, attribute) for name, attribute in PER_DRAW_COLUMNS.items()}
    after = {name: column for name, column in found.items() if column is not None}
    if sample.divergent is not None:
        after["divergent__"] = sample.divergent.astype(np.int64)
    taken = [name for name in sample.names if name in (*reserved, *after) or name.startswith(SCORE)]
    if taken:
        raise UsageError(f'the name of the coordinate "{taken[0]}" is reserved; rename it or write .npz')
    columns = {name: getattr(sample, name) for name in LABELS if getattr(sample, name) is not None}
    columns |= {name: sample.points[:, k] for k, name in enumerate(sample.names)}
    if sample.scores is not None:
        columns |= {SCORE + name: sample.scores[:, k] for k, name in enumerate(sample.names)}
    return columns | after


def require_distinct(header: Sequence[str], source: str, unnamed: int | None = None) -> None:
    """Raise InputError if a column name is empty or repeated.

    The column with the index ``unnamed`` may have an empty name.
    """
    for k, name in enumerate(header):
        if not name and k != unnamed:
            raise unnamed_column(source, k)
    if (twice := first_repeated(header)) is not None:
        raise InputError(f'{source}: two columns are named "{twice}"; column names must be distinct')


def first_repeated(names: Sequence[str]) -> str | None:
    """Return the first name that occurs more than once, or None."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def unnamed_column(source: str, position: int) -> InputError:
    """Return the error for an unnamed column at a position counted from 0."""
    return InputError(
        f"{source}: column {position + 1} has no name; name it, or write the file without row names (pandas: "
        "index=False, R: row.names=FALSE). Row names are recognized only if they are in the first column and are "
        "consecutive numbers from 0 or 1"
    )


def require_numbers(values: NDArray[Any], what: str, source: str, remedy: str) -> None:
    """Raise InputError unless an array contains only unmasked real numbers."""
    if values.dtype.kind not in "fiub":
        raise InputError(f"{source}: expected real numbers in {what}, got {values.dtype}; {remedy}")
    masked = int(np.sum(values.mask)) if isinstance(values, np.ma.MaskedArray) else 0
    if masked:
        raise InputError(f"{source}: {what} has {masked} masked entries; drop those draws first")


def _score_columns(position: Mapping[str, int], names: Sequence[str], source: str) -> list[int]:
    """Return the score columns, or an empty list if there are no scores."""
    expected = dict.fromkeys(SCORE + name for name in names)
    found = dict.fromkeys(name for name in position if name.startswith(SCORE))
    if not found:
        return []
    if found.keys() != expected.keys():
        missing, others = (
            [name for name in one if name not in two] for one, two in [(expected, found), (found, expected)]
        )
        raise InputError(
            f"{source}: expected scores for all coordinates or for none; missing scores: {quoted(missing) or 'none'}; "
            f"scores without a coordinate: {quoted(others) or 'none'}"
        )
    return [position[name] for name in expected]


def _sampler_columns(
    header: Sequence[str], columns: Sequence[str] | None, weights: str | None, ignored: Collection[str]
) -> dict[str, str]:
    """Return the interpretations of the columns that samplers add.

    The interpretation of an ignored column is empty. Columns that the user selects are treated as coordinates.
    """
    named = {*(columns or ()), weights}
    free = [name for name in header if name not in named]
    is_stan = any(name in _STAN for name in free)
    others = (*_OF_SAMPLERS, ".log_weight", *ignored)
    found = {name: "" for name in free if name in others or (is_stan and name.endswith("__"))}
    for name, meaning in _OF_SAMPLERS.items():
        if name in found and meaning not in (*found.values(), *(label for label in LABELS if label in header)):
            found[name] = meaning
    if "lp_approx__" in found and "lp__" in found:
        found["lp__"] = "log_p"
    if header and header[0] in _ROW_NAMES and header[0] in free:
        found[header[0]] = _ROW
    return found


def _tell_taken(taken: Mapping[str, str], program: str = "") -> None:
    """Warn about the interpretation of columns that samplers add.

    The message omits the file name because Python then shows the message only once for several files.
    """
    taken = {name: meaning for name, meaning in taken.items() if meaning not in DIAGNOSTICS.values()}
    if not taken:
        return
    parts = []
    for name, meaning in taken.items():
        kind = _EXPONENTIATED if meaning == "weights" and _is_logarithmic(name) else meaning
        parts += [(f'"{name}"' if name else "the first, unnamed,") + f" as {kind}"] if kind else []
    ignored = [name for name, meaning in taken.items() if not meaning]
    parts += [f"{quoted(ignored)} ignored"] if ignored else []
    first = f"the table was read as {program}" if program else "some columns are not coordinates"
    warn_user(
        f"{first}: {', '.join(parts)}. If one of them is a coordinate, list all coordinates with columns= (--columns)",
        ReadingWarning,
    )
