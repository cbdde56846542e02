"""Parameters of a Stan program, constrained and unconstrained, told from Stan's names and from values at a few points.

Stan says how the entries of its parameters are called, not which transform they have. Values in both spaces show it:
an entry and a coordinate that have the same order at all points, or the opposite one, are the same quantity under a
monotone map, and exp, expit and the identity are recognised by their values. The names of unconstrained coordinates
are not enough: of an array of vectors Stan stores vector after vector and names the first entries first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.adapters.model import Parameter
from steinkit.containers.variables import Labels, gather
from steinkit.errors import InputError
from steinkit.files.stan import parameter_of
from steinkit.sample import Floats

_FEWEST = 8  # points at which a common order is no chance: of one in 8!, about 2e-5


@dataclass(frozen=True, eq=False)
class StanParameters:
    """The parameters of a program and where their entries stand in its vectors.

    Attributes
    ----------
    parameters : tuple of Parameter
    labels : dict of str to tuple of tuple of str
        Along the axes of each parameter, as Stan counts: from 1.
    columns : dict of str to ndarray of int
        Position of each parameter's entries, in C order, in Stan's constrained vector.
    order : ndarray of int, shape (d,)
        Position in Stan's unconstrained vector of our coordinates, parameter after parameter.
    """

    parameters: tuple[Parameter, ...]
    labels: dict[str, Labels]
    columns: dict[str, NDArray[np.intp]]
    order: NDArray[np.intp]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of our coordinates with Stan's labels: ``log tau``, ``theta[1]``, ``simplex w[0]``."""
        return tuple(name for each in self.parameters for name in each.free_names(self.labels[each.name]))


def stan_parameters(names: Sequence[str], free_names: Sequence[str], values: Floats, free: Floats) -> StanParameters:
    """Find the parameters of a program.

    Parameters
    ----------
    names, free_names : sequence of str
        Of the entries of Stan's constrained and unconstrained vectors: ``theta.1``, ``pair:1.2``.
    values, free : ndarray, shapes (k, len(names)) and (k, len(free_names))
        The same points in both spaces; without rows all that names do not say is left open.
    """
    parameters, labels, columns, order = [], {}, {}, []
    blocks: dict[str, list[int]] = {}
    for position, entry in enumerate(free_names):
        blocks.setdefault(parameter_of(entry)[0], []).append(position)
    for each in gather(names, split=parameter_of):
        name, places = each.name, np.array(each.columns, dtype=np.intp)
        shape = tuple(map(len, each.labels))
        own = np.array(blocks.pop(name, []), dtype=np.intp)
        space, free_shape, first = _transform(values[:, places], free[:, own], shape)
        parameters.append(Parameter(name, shape, space, free_shape))
        labels[name], columns[name] = each.labels, places
        order.append(own[first])
    if blocks:
        raise InputError(
            f"Stan names unconstrained coordinates of {', '.join(blocks)}, and no such parameter; are both lists of "
            "names of one program?"
        )
    return StanParameters(tuple(parameters), labels, columns, np.concatenate(order))


def _transform(
    values: Floats, free: Floats, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...], NDArray[np.intp] | slice]:
    """Space of a parameter, its unconstrained shape, and the order of its coordinates that follows its entries."""
    entries, size = values.shape[1], free.shape[1]
    if size == entries and len(values) < _FEWEST:
        return "other", (size,) if shape else (), slice(None)
    if size == entries:
        partner = _partners(values, free)
        if partner is not None:
            return _elementwise(values, free[:, partner]), shape, partner
        if len(shape) == 1 and _same(np.diff(values, axis=1), np.exp(free[:, 1:])):
            return "ordered", shape, slice(None)
    if len(shape) == 1 and size == entries - 1 and len(values) and _same(values.sum(axis=1), np.ones(len(values))):
        return "simplex", (size,), slice(None)
    return "other", (size,), slice(None)


def _partners(values: Floats, free: Floats) -> NDArray[np.intp] | None:
    """The coordinate of every entry, where each has one that is ordered alike or the other way round at all points."""

    def order(column: Floats) -> tuple[int, ...]:
        return tuple(np.argsort(column, kind="stable").tolist())

    coordinates = {order(column): k for k, column in enumerate(free.T)}
    found = [coordinates.get(order(column), coordinates.get(order(-column), -1)) for column in values.T]
    partner = np.array(found, dtype=np.intp)
    return partner if sorted(found) == list(range(len(found))) else None


def _elementwise(values: Floats, free: Floats) -> str:
    with np.errstate(over="ignore"):
        if _same(values, free):
            return "real"
        if _same(values, np.exp(free)):
            return "positive"
        return "interval" if _same(values, 1.0 / (1.0 + np.exp(-free))) else "other"


def _same(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=1e-6, atol=1e-12))
