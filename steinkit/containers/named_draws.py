"""Draws by the names of their parameters, whatever container they stand in, and their flattening into a sample."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.columns import require_numbers, sample_from_table, sort_columns
from steinkit.containers.variables import Labels, Variable, indexed
from steinkit.errors import InputError
from steinkit.sample import Floats, Sample, default_names


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
    weights, cost : ndarray, shape (chains * draws,), optional
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
            name: column for name, column in (("weight", self.weights), ("cost", self.cost)) if column is not None
        }
        layout = sort_columns([*header, *beside], self.source, tuple(beside)).select(columns, self.source)
        values = np.full((self.lead[0] * self.lead[1], len(layout.header)), np.nan)
        used = set(layout.used)
        for name, span in spans.items():
            if not used.isdisjoint(span):
                values[:, span.start : span.stop] = self.variable(name).values.reshape(len(values), -1)
        for name, column in beside.items():
            values[:, layout.reserved[name]] = column
        self._require_equal_chains(values[:, layout.coordinates[0]].reshape(self.lead), values, layout.coordinates)
        return sample_from_table(values, layout, self.source, self._place, chain=self.chain, draw=self.draw)

    def _place(self, row: int) -> str:
        chain = "" if self.chain is None else f"chain {self.chain[row]}, "
        return f"{chain}draw {row + 1 if self.draw is None else self.draw[row]}"

    def _require_equal_chains(self, first: Floats, values: Floats, coordinates: tuple[int, ...]) -> None:
        """Refuse shorter chains that were filled up with NaN to make a rectangle."""
        if not np.isnan(first[:, -1]).any():
            return
        missing = np.isnan(values[:, coordinates]).all(axis=1).reshape(self.lead)
        lengths = (~missing).sum(axis=1)
        draws = missing.shape[1]
        padded = missing == (np.arange(draws) >= lengths[:, None])
        if padded.all() and 0 < lengths.min() < lengths.max():
            short = int(lengths.argmin())
            raise InputError(
                f"{self.source}: chain number {short + 1} ends after {lengths[short]} of {draws} draws; cut all "
                f"chains to {lengths[short]} draws, or store chains of unequal length as .npz or .csv"
            )


def row_labels(chain: Any, draw: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Labels of chains, shape (chains,), and of the draws in each, shape (draws,), as labels of each draw."""
    return np.repeat(np.asarray(chain), len(draw)), np.tile(np.asarray(draw), len(chain))
