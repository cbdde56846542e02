"""Draws by the names of their parameters, with the labels along their axes, and their flattening into a sample.

A parameter's columns are called ``theta[Choate]``, ``Sigma[0,1]``. Of a table's columns, Stan's ``theta.1.2`` among
them, it is told which are entries of one parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.columns import COLUMNS_BESIDE, lay_out, require_numbers, sample_from_table, split
from steinkit.errors import InputError, listed
from steinkit.sample import BESIDE, Sample, default_names

Labels = tuple[tuple[str, ...], ...]


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
                    f"{self.name}: the draws are labelled {listed(own)} along axis {axis + 1}, the model has "
                    f"{listed(wanted)}; {missing[0]!r} is on one side only"
                )
            values = np.take(values, [own.index(label) for label in wanted], axis=2 + axis)
        return replace(self, values=values, labels=labels)


def indexed(name: str, labels: Labels) -> tuple[str, ...]:
    """Names of an array's entries in C order: ``x`` itself for a scalar, ``x[0]``, ``x[a,b]``."""
    return tuple(f"{name}[{','.join(index)}]" if index else name for index in product(*labels))


def positions(shape: Sequence[int]) -> Labels:
    """The labels of axes that nobody labelled: "0", "1", ..."""
    return tuple(tuple(map(str, range(length))) for length in shape)


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


@dataclass(frozen=True, eq=False)
class NamedDraws:
    """Draws of named parameters; each parameter's are read when they are asked for.

    Attributes
    ----------
    source : str
        What messages call the container.
    labels : mapping of str to tuple of tuple of str
        Along the axes of each parameter, in the container's order. The name is empty where nobody gave one.
    lead : tuple of int
        Numbers of chains and of draws.
    read : callable, str -> ndarray, shape (chains, draws, *shape)
        The draws of one parameter.
    chain, draw : ndarray of int, shape (chains * draws,), optional
        Labels of each draw.
    weights, cost, divergent, energy : ndarray, shape (chains * draws,), optional
        As of `Sample`.
    unlabelled : collection of str
        The parameters whose labels are positions that nobody gave; a model's labels are theirs by position.
    """

    source: str
    labels: Mapping[str, Labels]
    lead: tuple[int, int]
    read: Callable[[str], NDArray[Any]]
    chain: NDArray[Any] | None = None
    draw: NDArray[Any] | None = None
    weights: NDArray[Any] | None = None
    cost: NDArray[Any] | None = None
    divergent: NDArray[Any] | None = None
    energy: NDArray[Any] | None = None
    unlabelled: Collection[str] = ()

    def variable(self, name: str) -> Variable:
        """The draws of one parameter.

        Raises
        ------
        InputError
            If they are no real numbers.
        """
        values = self.read(name)
        require_numbers(values, f'variable "{name}"', self.source, "leave it out with columns= (--columns)")
        return Variable(name, values, self.labels[name])

    def columns(self, name: str) -> tuple[str, ...]:
        """Names of a parameter's columns; its labels alone, or ``x1, x2, ...``, where it has no name."""
        labels = self.labels[name]
        if name:
            return indexed(name, labels)
        plain = indexed("", labels)
        unnamed = not labels or all(axis == tuple(map(str, range(len(axis)))) for axis in labels)
        return default_names(len(plain)) if unnamed else tuple(each.strip("[]") for each in plain)

    def sample(self, columns: Sequence[str] | None = None) -> Sample:
        """The draws as a sample, a column for each entry of each parameter; parameters not asked for are not read.

        Raises
        ------
        InputError
            If a value is no finite number, the chains have different lengths, or two columns have the same name.
        """
        if 0 in self.lead:
            raise InputError(f"{self.source} is empty: {self.lead[0]} chains of {self.lead[1]} draws")
        header: list[str] = []
        spans: dict[str, range] = {}
        for name in self.labels:
            names = self.columns(name)
            spans[name] = range(len(header), len(header) + len(names))
            header += names
        beside = {
            name: column
            for name, column in zip(COLUMNS_BESIDE, (getattr(self, each) for each in BESIDE), strict=True)
            if column is not None
        }
        layout = lay_out([*header, *beside], self.source, columns, tuple(beside))
        values = np.full((self.lead[0] * self.lead[1], len(layout.header)), np.nan)
        used = set(layout.used)
        for name, span in spans.items():
            if not used.isdisjoint(span):
                values[:, span.start : span.stop] = self.variable(name).values.reshape(len(values), -1)
        for name, column in beside.items():
            require_numbers(column, f'variable "{name}"', self.source, "leave it out")
            values[:, layout.reserved[name]] = column
        return sample_from_table(values, layout, self.source, self._place, chain=self.chain, draw=self.draw)

    def _place(self, row: int) -> str:
        chain = "" if self.chain is None else f"chain {self.chain[row]}, "
        return f"{chain}draw {row + 1 if self.draw is None else self.draw[row]}"


def row_labels(chain: Any, draw: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of chains, shape (chains,), and of the draws in each, shape (draws,), as labels of each draw."""
    return np.repeat(np.asarray(chain), len(draw)), np.tile(np.asarray(draw), len(chain))
