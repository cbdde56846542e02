"""Draws of named parameters, each with the labels along its axes: what models speak of, before it becomes columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import InputError

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
    def columns(self) -> tuple[str, ...]:
        """Names of the entries of one draw, in C order: ``theta[Choate]``, ``Sigma[0,1]``."""
        return indexed(self.name, self.labels)

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
