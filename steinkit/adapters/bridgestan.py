"""Models of BridgeStan, and draws of their parameters from wherever Stan's draws are kept.

BridgeStan gives a Stan program's log density, its gradient and its transforms in process, at the cost of Stan's own:
some microseconds a call for small models. Any object with the methods used here will do.

Stan says how the entries of its parameters are called, not which transform they have. Values in both spaces show it:
an entry and a coordinate that have the same order at all points, or the opposite one, are the same quantity under a
monotone map, and exp, expit and the identity are recognised by their values. The names of unconstrained coordinates
are not enough: of an array of vectors Stan stores vector after vector and names the first entries first.

References
----------
E. A. Roualdes, B. Ward et al. (2023), "BridgeStan: efficient in-memory access to the methods of a Stan model",
Journal of Open Source Software 8(87).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.adapters.model import Model, Parameter, as_floats
from steinkit.containers.variables import Labels, gather
from steinkit.errors import InputError, UsageError
from steinkit.files.stan import parameter_of
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_PROBES = 16  # points at which values in both spaces are compared
_METHODS = ("log_density_gradient", "param_unconstrain", "param_unc_names")


def from_bridgestan(model: Any, draws: Any) -> tuple[Target, Sample]:
    """A model of BridgeStan as a target in unconstrained space, and draws of its parameters as a sample of it.

    Parameters
    ----------
    model : bridgestan.StanModel
        Or any object with its methods `log_density_gradient`, `param_unconstrain` and `param_unc_names`. Without
        `param_names` it has no parameters with more entries than coordinates, as a simplex has; `param_constrain` lets
        all coordinates be named by their transforms.
    draws : object with draws of every parameter, by name
        A sample that `read_sample` read from CmdStan's files, PyStan's fit, InferenceData, a dict of arrays, a data
        frame. Transformed parameters and generated quantities are left out.

    Returns
    -------
    target : Target
        In unconstrained space, its scores by Stan's automatic differentiation.
    sample : Sample
        The parameters there, with chain labels and draw numbers where the draws have them.

    Raises
    ------
    InputError
        If a parameter has no draws, or draws of another shape, or draws outside of its constraints.
    UsageError
        If the model lacks one of these methods.

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_bridgestan(model, sk.read_sample("draws.csv"))  # doctest: +SKIP
    """
    return bridgestan_model(model).bind(draws)


def is_bridgestan(model: Any) -> bool:
    """Whether an object has the methods of a model of BridgeStan that are needed."""
    return all(_has(model, name) for name in _METHODS)


def bridgestan_model(model: Any) -> Model:
    """What BridgeStan says of a Stan program and its data."""
    if isinstance(model, type):
        raise UsageError(f"a model is wanted, {model.__name__}(...) with its data; received the class {model.__name__}")
    if not is_bridgestan(model):
        missing = [name for name in _METHODS if not _has(model, name)]
        raise UsageError(
            f"a bridgestan.StanModel is wanted, or an object with its methods; {type(model).__name__} lacks "
            f"{', '.join(missing)}"
        )
    if not len(model.param_unc_names()):
        raise InputError("the Stan model has no parameters; nothing was inferred")
    found = _parameters(model)
    back = np.argsort(found.order)

    def gradients(points: Floats) -> list[tuple[float, Floats]]:
        rows = np.ascontiguousarray(points[:, back])
        return [model.log_density_gradient(row, jacobian=True) for row in rows]

    def score(points: Floats) -> Floats:
        slopes = [as_floats(slope).copy() for _, slope in gradients(points)]
        return np.array(slopes).reshape(points.shape)[:, found.order]

    def log_density(points: Floats) -> Floats:
        return np.array([value for value, _ in gradients(points)], dtype=np.float64)

    def constrain(points: Floats) -> dict[str, Floats]:
        values = _rows(model.param_constrain, np.ascontiguousarray(points[:, back]), len(model.param_names()))
        return {name: values[:, columns] for name, columns in found.columns.items()}

    return Model(
        label=f"Stan model {model.name()}" if _has(model, "name") else "Stan model",
        parameters=found.parameters,
        make_target=lambda names, label: Target(score=score, log_density=log_density, names=names, label=label),
        unconstrain=lambda values: _unconstrain(model, found, values),
        constrain=constrain if _has(model, "param_constrain") and _has(model, "param_names") else None,
    )


def _parameters(model: Any) -> StanParameters:
    free_names = list(model.param_unc_names())
    names = list(model.param_names()) if _has(model, "param_names") else free_names
    values, free = _probes(model, len(names), len(free_names))
    return stan_parameters(names, free_names, values, free)


def _probes(model: Any, entries: int, dim: int) -> tuple[Floats, Floats]:
    """A few points in both spaces, (k, entries) and (k, dim); none where Stan has no way to them."""
    make = np.random.default_rng(1)
    if _has(model, "param_constrain") and _has(model, "param_names"):
        free = make.uniform(-2.0, 2.0, (_PROBES, dim))  # as Stan makes initial values
        return _rows(model.param_constrain, free, entries), free
    values = make.random((_PROBES, entries))  # free, positive and of the unit interval
    try:
        with np.errstate(all="ignore"):
            free = _rows(model.param_unconstrain, values, dim)
    except (RuntimeError, ValueError):  # not for simplices, ordered vectors, other bounds
        free = np.full((_PROBES, dim), np.nan)
    known = np.isfinite(free).all(axis=1)
    return values[known], free[known]


def _rows(transform: Callable[[Floats], Any], points: Floats, dim: int) -> Floats:
    return np.array([as_floats(transform(row)).copy() for row in points]).reshape(len(points), dim)


def _has(model: Any, method: str) -> bool:
    return callable(getattr(model, method, None))


def _unconstrain(model: Any, found: StanParameters, values: dict[str, Floats]) -> Floats:
    n = len(next(iter(values.values())))
    vectors = np.empty((n, sum(map(len, found.columns.values()))))
    for name, columns in found.columns.items():
        vectors[:, columns] = values[name].reshape(n, -1)
    rows = []
    for k, vector in enumerate(vectors):
        try:
            rows.append(as_floats(model.param_unconstrain(vector)).copy())
        except (RuntimeError, ValueError) as error:
            raise InputError(
                f"Stan refuses draw {k + 1}: {error}. Were the draws made by another model, or rounded when they were "
                "written? CmdStan writes all digits with sig_figs=18"
            ) from None
    return np.array(rows)[:, found.order]


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
