"""Draws of named parameters, each with the labels along its axes, and the names of the columns that they become.

A parameter's columns are called ``theta[Choate]``, ``Sigma[0,1]``. Of a table's columns, Stan's ``theta.1.2`` among
them, it is told which are entries of one parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError

Labels = tuple[tuple[str, ...], ...]

_BRACKETS = re.compile(r"(?P<name>.+?)\[(?P<index>[^\[\]]*)\]")
_POINTS = re.compile(r"(?P<name>.+?)\.(?P<index>[1-9]\d*(?:\.[1-9]\d*)*)")  # as Stan counts, from 1


@dataclass(frozen=True, eq=False)
class Variable:
    """Draws of one parameter.

    Attributes
    ----------
    name : str
    values : ndarray, shape (chains, draws, *shape)
    labels : tuple of tuple of str
        The labels along each of the parameter's own axes; "0", "1", ... where nobody gave any.
    """

    name: str
    values: NDArray[Any]
    labels: Labels

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one draw."""
        return self.values.shape[2:]

    @property
    def rows(self) -> NDArray[Any]:
        """One chain's draws after the other's, shape (chains * draws, *shape)."""
        return self.values.reshape(-1, *self.shape)

    @property
    def is_numbered(self) -> bool:
        """Whether nobody labelled its axes: each is counted from 0, or each from 1 as Stan counts."""
        counted = (tuple(tuple(str(k + first) for k in range(n)) for n in self.shape) for first in (0, 1))
        return self.labels in counted

    def has_labels(self, labels: Labels) -> bool:
        """Whether its entries bear these labels along every axis, in whatever order."""
        return [sorted(own) for own in self.labels] == [sorted(others) for others in labels]

    def in_order(self, labels: Labels) -> Variable:
        """The same draws with the entries along every axis in the order of other labels.

        Raises
        ------
        InputError
            If the labels are not the same ones.
        """
        values = self.values
        for axis, (own, wanted) in enumerate(zip(self.labels, labels, strict=True)):
            if sorted(own) != sorted(wanted):
                missing = [label for label in wanted if label not in own] or [x for x in own if x not in wanted]
                raise InputError(
                    f"{self.name}: the draws are labelled {_listed(own)} along axis {axis + 1}, the model has "
                    f"{_listed(wanted)}; {missing[0]!r} is on one side only"
                )
            values = np.take(values, [own.index(label) for label in wanted], axis=2 + axis)
        return replace(self, values=values, labels=labels)


def indexed(name: str, labels: Labels) -> tuple[str, ...]:
    """Names of an array's entries in C order: ``x`` itself for a scalar, ``x[0]``, ``x[a,b]``."""
    return tuple(f"{name}[{','.join(index)}]" if index else name for index in product(*labels))


def positions(shape: Sequence[int]) -> Labels:
    """The labels of axes that nobody labelled: "0", "1", ..."""
    return tuple(tuple(map(str, range(length))) for length in shape)


def _listed(labels: Sequence[str], most: int = 8) -> str:
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more


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


def gather(
    columns: Sequence[str],
    known: Container[str] = (),
    split: Callable[[str], tuple[str, tuple[str, ...]]] = split,
) -> list[Entries]:
    """Columns put together into parameters, in order of first appearance; ``split`` says how their names are read.

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
