"""Models of BridgeStan, and draws of their parameters from wherever Stan's draws are kept.

BridgeStan gives a Stan program's log density, its gradient and its transforms in process, at the cost of Stan's own:
some microseconds a call for small models. Any object with the methods used here will do.

References
----------
E. A. Roualdes, B. Ward et al. (2023), "BridgeStan: efficient in-memory access to the methods of a Stan model",
Journal of Open Source Software 8(87).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.adapters.model import Model, as_floats
from steinkit.adapters.stan_parameters import StanParameters, stan_parameters
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_PROBES = 16  # points at which values in both spaces are compared
_METHODS = ("log_density_gradient", "param_unconstrain", "param_unc_names", "param_names")


def from_bridgestan(model: Any, draws: Any) -> tuple[Target, Sample]:
    """A model of BridgeStan as a target in unconstrained space, and draws of its parameters as a sample of it.

    Parameters
    ----------
    model : bridgestan.StanModel
        Or any object with its methods `log_density_gradient`, `param_unconstrain`, `param_unc_names`, `param_names`
        and, for coordinates to be named by their transforms, `param_constrain`.
    draws : object with draws of every parameter, by name
        A sample that `read_sample` read from CmdStan's files, PyStan's fit, InferenceData, a dict of arrays, a data
        frame. Transformed parameters and generated quantities are left out.

    Returns
    -------
    Target, Sample

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


def bridgestan_model(model: Any) -> Model:
    """What BridgeStan says of a Stan program and its data."""
    missing = [name for name in _METHODS if not callable(getattr(model, name, None))]
    if missing:
        raise UsageError(
            f"a bridgestan.StanModel is wanted, or an object with its methods; {type(model).__name__} lacks "
            f"{', '.join(missing)}"
        )
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

    return Model(
        label=f"Stan model {model.name()}" if callable(getattr(model, "name", None)) else "Stan model",
        parameters=found.parameters,
        make_target=lambda names, label: Target(score=score, log_density=log_density, names=names, label=label),
        unconstrain=lambda values: _unconstrain(model, found, values),
    )


def _parameters(model: Any) -> StanParameters:
    names, free_names = list(model.param_names()), list(model.param_unc_names())
    free = np.zeros((0, len(free_names)))
    if callable(getattr(model, "param_constrain", None)):
        free = np.random.default_rng(1).uniform(-2.0, 2.0, (_PROBES, len(free_names)))  # as Stan makes initial values
    values = [as_floats(model.param_constrain(row)).copy() for row in free]
    return stan_parameters(names, free_names, np.array(values).reshape(len(free), len(names)), free)


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
