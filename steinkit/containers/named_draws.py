"""Draws of named parameters, and their conversion to a sample.

The columns of a parameter have names such as ``theta[Choate]`` or ``Sigma[0,1]``. Conversely, table columns with such
names, or with Stan names such as ``theta.1.2``, are combined into parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.columns import (
    ALL,
    Selection,
    lay_out,
    require_numbers,
    sample_from_table,
    split,
    weight_column,
    weights_from,
)
from steinkit.errors import InputError, quoted
from steinkit.sample import Sample, default_names

Labels = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Variable:
    """Draws of one parameter.

    Attributes
    ----------
    name : str
    values : ndarray, shape (chains, draws, *shape)
    labels : tuple of tuple of str
        Labels along each axis of the parameter. The default labels are "0", "1", ...
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
        """Draws of all chains, as an array of shape (chains * draws, *shape)."""
        return self.values.reshape(-1, *self.shape)

    @property
    def is_numbered(self) -> bool:
        """True if the labels of all axes are numbered from 0, or all from 1."""
        return self.labels in (positions(self.shape), positions(self.shape, 1))

    def has_labels(self, labels: Labels) -> bool:
        """Return True if the axes have these labels in any order."""
        return [sorted(own) for own in self.labels] == [sorted(others) for others in labels]

    def in_order(self, labels: Labels) -> Variable:
        """Return the draws with the entries in the order of the given labels.

        Raises
        ------
        InputError
            If the labels differ.
        """
        values = self.values
        for axis, (own, wanted) in enumerate(zip(self.labels, labels, strict=True)):
            if sorted(own) != sorted(wanted):
                raise InputError(
                    f"{self.name}: the draws have the labels {quoted(own)} along axis {axis + 1}, but the model has "
                    f"{quoted(wanted)}; {min({*own} ^ {*wanted})!r} appears in only one of the two lists"
                )
            values = np.take(values, [own.index(label) for label in wanted], axis=2 + axis)
        return replace(self, values=values, labels=labels)


def indexed(name: str, labels: Labels) -> tuple[str, ...]:
    """Return the names of an array's entries in C order.

    The name of a scalar is ``x``. Entries have names such as ``x[0]`` or ``x[a,b]``.
    """
    return tuple(f"{name}[{','.join(index)}]" if index else name for index in product(*labels))


def positions(shape: Sequence[int], first: int = 0) -> Labels:
    """Return default axis labels, which are consecutive numbers from ``first``."""
    return tuple(tuple(map(str, range(first, first + length))) for length in shape)


def spans(shapes: Iterable[Sequence[int]]) -> Iterator[slice]:
    """Yield the positions of each array in a vector of the entries of all arrays."""
    end = 0
    for shape in shapes:
        begin, end = end, end + math.prod(shape)
        yield slice(begin, end)


@dataclass(frozen=True)
class Entries:
    """Columns that contain the entries of one parameter.

    Attributes
    ----------
    name : str
    labels : tuple of tuple of str
        Labels along each axis. The tuple is empty for a scalar.
    columns : tuple of int
        Columns of the entries in C order.
    """

    name: str
    labels: Labels
    columns: tuple[int, ...]


def gather(
    columns: Sequence[str],
    known: Container[str] = (),
    split: Callable[[str], tuple[str, tuple[str, ...]]] = split,
) -> list[Entries]:
    """Combine columns into parameters, in the order of their first columns.

    Columns remain separate parameters if their indices do not form a complete array, if another column has the same
    name without an index, or if the full name is in `known`. If the labels of an axis are consecutive numbers from 0 or
    1, they are sorted. Other labels keep their order.

    Parameters
    ----------
    columns : sequence of str
    known : container of str
        Names of parameters that are not split.
    split : callable, str -> (str, tuple of str)
        Function that splits a column name into a parameter name and an index.
    """
    together: dict[str, dict[tuple[str, ...], int]] = {}
    for position, column in enumerate(columns):
        name, index = (column, ()) if column in known else split(column)
        if index in together.get(name, {}):
            name, index = column, ()  # both theta[1] and theta.1 exist
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
    """Return the labels along each axis, or None.

    Return None unless every combination of labels occurs exactly once.
    """
    if len(set(map(len, indices))) > 1:
        return None
    labels = tuple(_ordered(list(dict.fromkeys(axis))) for axis in zip(*indices, strict=True))
    return labels if set(product(*labels)) == set(indices) else None


def _ordered(labels: Sequence[str]) -> tuple[str, ...]:
    counted = (positions([len(labels)], first)[0] for first in (0, 1))
    return next((numbers for numbers in counted if set(numbers) == set(labels)), tuple(labels))


@dataclass(frozen=True, eq=False)
class NamedDraws:
    """Draws of named parameters, read on demand.

    Attributes
    ----------
    source : str
        Name of the container, for messages.
    labels : mapping of str to tuple of tuple of str
        Labels along the axes of each parameter, in the order of the container. The name of an unnamed parameter is
        empty.
    lead : tuple of int
        Number of chains, and number of draws per chain.
    read : callable, str -> ndarray, shape (chains, draws, *shape)
        Function that returns the draws of one parameter.
    chain, draw : ndarray of int, shape (chains * draws,), optional
        Chain label and draw label of each draw.
    per_draw : dict of str to ndarray, shape (chains * draws,)
        Attributes of `Sample` with one number per draw, such as ``weights`` and ``divergent``.
    unlabelled : collection of str
        Parameters with default labels. Model labels are assigned to these parameters by position.
    """

    source: str
    labels: Mapping[str, Labels]
    lead: tuple[int, int]
    read: Callable[[str], NDArray[Any]]
    chain: NDArray[Any] | None = None
    draw: NDArray[Any] | None = None
    per_draw: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    unlabelled: Collection[str] = ()

    def variable(self, name: str) -> Variable:
        """Return the draws of one parameter.

        Raises
        ------
        InputError
            If the draws are not real numbers.
        """
        values = self.read(name)
        require_numbers(values, f'variable "{name}"', self.source, "select others with columns= (--columns)")
        return Variable(name, values, self.labels[name])

    def columns(self, name: str) -> tuple[str, ...]:
        """Return the names of a parameter's columns.

        The columns of an unnamed parameter are named by their labels, or ``x1, x2, ...``.
        """
        labels = self.labels[name]
        if name:
            return indexed(name, labels)
        plain = indexed("", labels)
        unnamed = labels == positions(tuple(map(len, labels)))
        return default_names(len(plain)) if unnamed else tuple(each.strip("[]") for each in plain)

    def with_weights(self, selection: Selection) -> NamedDraws:
        """Return the draws with the selected variable, if any, as weights.

        Raises
        ------
        InputError
            If there is no such variable with one number per draw, or if its values are not valid weights.
        """
        scalars = [name for name, labels in self.labels.items() if labels == ()]
        if selection.weights in self.labels and selection.weights not in scalars:
            raise InputError(f'{self.source}: expected weights with one number per draw, got "{selection.weights}"')
        weights = weight_column(scalars, self.source, selection, None)
        if weights is None:
            return self
        values = weights_from(self.variable(weights).rows, weights, self.source)
        labels = {name: own for name, own in self.labels.items() if name != weights}
        return replace(self, labels=labels, per_draw={**self.per_draw, "weights": values})

    def sample(self, selection: Selection = ALL) -> Sample:
        """Return the draws as a sample with one column per entry.

        Parameters that are not selected are not read.

        Raises
        ------
        InputError
            If a value is not finite, or two columns have the same name.
        """
        if 0 in self.lead:
            raise InputError(f"{self.source} is empty: {self.lead[0]} chains of {self.lead[1]} draws")
        draws = self.with_weights(selection)
        names = {name: draws.columns(name) for name in draws.labels}
        header = [column for own in names.values() for column in own]
        layout = lay_out(header, self.source, selection, {})
        values = np.full((math.prod(self.lead), len(header)), np.nan)
        is_used = np.isin(np.arange(len(header)), layout.used)
        for name, span in zip(names, spans([len(own)] for own in names.values()), strict=True):
            if is_used[span].any():
                values[:, span] = draws.variable(name).rows.reshape(len(values), -1)
        labels = {"chain": self.chain, "draw": self.draw}
        return sample_from_table(values, layout, self.source, self._place, **labels, **draws.per_draw)

    def _place(self, row: int) -> str:
        chain = "" if self.chain is None else f"chain {self.chain[row]}, "
        return f"{chain}draw {row + 1 if self.draw is None else self.draw[row]}"


def row_labels(chain: Any, draw: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the chain label and the draw label of each draw.

    The arguments are the labels of the chains and the labels of the draws within a chain.
    """
    return np.repeat(np.asarray(chain), len(draw)), np.tile(np.asarray(draw), len(chain))
