"""Models of BridgeStan, and draws of their parameters from wherever Stan's draws are kept.

BridgeStan gives a Stan program's log density, its gradient and its transforms in process, at the cost of Stan's own:
some microseconds a call for small models. Any object with the methods used here will do.

References
----------
E. A. Roualdes, B. Ward et al. (2023), "BridgeStan: efficient in-memory access to the methods of a Stan model",
Journal of Open Source Software 8(87).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steinkit.adapters.model import Model, as_floats
from steinkit.adapters.stan_parameters import StanParameters, stan_parameters
from steinkit.errors import InputError, UsageError
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
