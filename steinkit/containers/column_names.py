"""Which columns of a table are entries of one parameter: ``theta[Choate]``, ``Sigma[0,1]``, Stan's ``theta.1.2``."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import product

from steinkit.containers.variables import Labels

_BRACKETS = re.compile(r"(?P<name>.+?)\[(?P<index>[^\[\]]*)\]")
_POINTS = re.compile(r"(?P<name>.+?)\.(?P<index>[1-9]\d*(?:\.[1-9]\d*)*)")  # as Stan counts, from 1


@dataclass(frozen=True)
class Entries:
    """The columns of one parameter.

    Attributes
    ----------
    name : str
    labels : tuple of tuple of str
        Along each of its axes; of no axis for a number.
    columns : tuple of int
        Position of each entry among the columns, in C order.
    """

    name: str
    labels: Labels
    columns: tuple[int, ...]


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


def gather(columns: Sequence[str], known: Container[str] = ()) -> list[Entries]:
    """Columns put together into parameters, in order of first appearance.

    Columns whose indices do not fill a rectangle, or that share their name with a column without an index, stay
    parameters of their own, and so do those whose whole name is ``known``.

    An axis that is numbered, from 0 or from 1, comes in the order of its numbers; other labels come as they stand.
    """
    together: dict[str, dict[tuple[str, ...], int]] = {}
    for position, column in enumerate(columns):
        name, index = (column, ()) if column in known else split(column)
        if index in together.get(name, {}):
            name, index = column, ()  # theta[1] and theta.1
        together.setdefault(name, {})[index] = position
    found = []
    for name, places in together.items():
        labels = _axes(list(places))
        if labels is None:
            found += [Entries(columns[position], (), (position,)) for position in places.values()]
        else:
            found.append(Entries(name, labels, tuple(places[index] for index in product(*labels))))
    return found


def _axes(indices: Sequence[tuple[str, ...]]) -> Labels | None:
    """The labels along each axis; None unless every combination of them stands there once."""
    if len(set(map(len, indices))) > 1:
        return None
    labels = tuple(_ordered(list(dict.fromkeys(axis))) for axis in zip(*indices, strict=True))
    return labels if set(product(*labels)) == set(indices) else None


def _ordered(labels: Sequence[str]) -> tuple[str, ...]:
    for first in (0, 1):
        counted = tuple(str(k + first) for k in range(len(labels)))
        if set(counted) == set(labels):
            return counted
    return tuple(labels)
