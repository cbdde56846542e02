"""PyMC: a model, and what `pm.sample` drew from it.

PyMC samples value variables, one for each free variable: the variable itself, or its transform (``tau_log__``). Their
joint density, log |J| included, is `Model.logp`, and the transforms are PyMC's own, `Transform.forward`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.adapters.model import Model, Parameter, refuse_discrete
from steinkit.adapters.pymc_graphs import Graphs
from steinkit.containers.variables import Labels, positions
from steinkit.errors import InputError, UsageError, imported
from steinkit.posterior import Posterior
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Target

# What PyMC calls a transform, and where the variables live that it is for.
SPACES = {
    "log": "positive",
    "log_exp_m1": "other",
    "logodds": "interval",
    "circular": "circular",
    "ordered": "ordered",
    "simplex": "simplex",
    "sumto1": "simplex",
    "cholesky-cov-packed": "cholesky",
    "cholesky-cov": "cholesky",
    "cholesky_corr": "correlation",
}


def from_pymc(model: Any, draws: Any, *, mode: Any = None) -> tuple[Target, Sample]:
    """A PyMC model and draws of its parameters as a target and a sample, in the space that PyMC samples in.

    Parameters
    ----------
    model : pymc.Model
        With continuous free variables. Data of `pymc.Data` are taken as they are now.
    draws : InferenceData, DataTree, Dataset, or dict of arrays
        What `pymc.sample` returns; of the variables as the model names them, not of the transformed ones.
    mode : optional
        PyTensor's mode. Unless given, NumPy runs the graph, vectorised over draws, which takes a second or two to
        compile. ``"NUMBA"``, ``"JAX"`` or PyTensor's own default (``pytensor.config.mode``) take half a minute, and
        pay for it where one score of all the data takes milliseconds.

    Returns
    -------
    Target
        A `Posterior` where observed variables have one length N along their first axis, so that they tell N data;
        everything else, potentials included, is its prior. Its likelihood terms are computed for all data however
        small the batch: a batch of a PyMC model costs what all data cost. Else a plain `Target`. A variable that the
        model was told not to transform stays as it is, with its bounds.
    Sample
        Of the unconstrained variables, named by the model's coordinates: ``mu``, ``log tau``, ``theta[Choate]``.
        Deterministic variables are left out.

    Raises
    ------
    InputError
        If the model has discrete variables, or a density that is random (`pymc.Minibatch`), in single precision or
        without gradient; or if the draws are not of its parameters, with their shapes and labels.
    MissingDependencyError
        If PyMC is not installed (``pip install 'steinkit[pymc]'``).

    Examples
    --------
    >>> import pymc as pm, steinkit as sk  # doctest: +SKIP
    >>> with pm.Model() as model:  # doctest: +SKIP
    ...     tau = pm.HalfCauchy("tau", 5.0)
    ...     draws = pm.sample()
    >>> target, sample = sk.from_pymc(model, draws)  # doctest: +SKIP
    >>> sk.verdict(sample, target)  # doctest: +SKIP
    """
    return pymc_model(model, mode=mode).bind(draws)


def pymc_model(model: Any, *, mode: Any = None) -> Model:
    """What a PyMC model says of its posterior; `from_pymc` without draws."""
    pymc = imported("pymc", "PyMC", "pymc")
    if not isinstance(model, pymc.Model):
        raise UsageError(f"from_pymc takes a pymc.Model; received {type(model).__name__}")
    label = f"PyMC model {model.name}" if model.name else "PyMC model"
    _require_smooth(model, label)
    shapes = {name: tuple(map(int, shape)) for name, shape in model.eval_rv_shapes().items()}
    parameters = tuple(_parameter(model, rv, shapes) for rv in model.free_RVs)
    bounds = np.concatenate([_bounds(model, rv, each) for rv, each in zip(model.free_RVs, parameters, strict=True)])
    graphs = Graphs(model, [each.free_shape for each in parameters], mode, label)

    def make_target(names: tuple[str, ...], label: str) -> Target:
        limits = bounds if np.isfinite(bounds).any() else None
        if graphs.data_length is not None:
            return _PyMCPosterior(graphs, graphs.data_length, names, limits, label)
        return Target(graphs.score, log_density=graphs.log_density, names=names, bounds=limits, label=label)

    return Model(label, parameters, make_target, graphs.unconstrain, graphs.constrain)


class _PyMCPosterior(Posterior):
    """The posterior of a PyMC model in unconstrained space; its data are the numbers 0 to N - 1 of the data.

    The model computes the likelihood of all data, from which a batch is taken: it costs what all data cost.
    """

    def __init__(self, graphs: Graphs, size: int, names: tuple[str, ...], bounds: Floats | None, label: str) -> None:
        self._graphs = graphs
        super().__init__(
            data=(np.arange(size),),
            log_likelihood=lambda theta, rows: graphs.log_likelihood(theta[None])[0, rows],
            grad_log_likelihood=lambda theta, rows: self._gradient(theta[None], rows[None])[0],
            log_prior=graphs.log_prior,
            grad_log_prior=graphs.grad_log_prior,
            log_likelihood_many=lambda thetas, rows: np.take_along_axis(graphs.log_likelihood(thetas), rows, axis=1),
            grad_log_likelihood_many=self._gradient,
            names=names,
            bounds=bounds,
            label=label,
        )

    def _gradient(self, thetas: Floats, rows: Integers) -> Floats:
        """Gradient of the log likelihood of each parameter's own batch, (K, d) and (K, b) -> (K, d)."""
        times = np.zeros((len(thetas), self.size))
        np.add.at(times, (np.arange(len(thetas))[:, None], rows), 1.0)
        return self._graphs.grad_log_likelihood(thetas, times)

    def _score_over_data(self, points: Floats) -> Floats:
        return self._graphs.score(points)

    def _log_density_over_data(self, points: Floats) -> Floats:
        return self._graphs.log_density(points)


def _require_smooth(model: Any, label: str) -> None:
    """Refuse models whose density has no score."""
    if not model.free_RVs:
        raise InputError(f"{label} has no free variables; nothing was inferred")
    named = [rv.name for rv in model.basic_RVs if type(rv.type).__name__ == "XTensorType"]
    if named:
        raise InputError(
            f"{label} has variables of pymc.dims ({', '.join(named)}), whose transforms are not read; write them "
            'with pymc itself and dims="..."'
        )
    refuse_discrete([rv.name for rv in model.free_RVs if rv.dtype[:5] != "float"], label)
    single = [rv.name for rv in model.free_RVs if rv.dtype != "float64"]
    if single:
        raise InputError(
            f"{label} is in single precision ({', '.join(single)}): a score needs double precision; set "
            "pytensor.config.floatX = 'float64' before the model is built"
        )


def _parameter(model: Any, rv: Any, shapes: dict[str, tuple[int, ...]]) -> Parameter:
    return Parameter(
        name=rv.name,
        shape=shapes[rv.name],
        space=_space(model.rvs_to_transforms[rv], rv),
        free_shape=shapes[model.rvs_to_values[rv].name],
        labels=_labels(model, rv.name, shapes[rv.name]),
    )


def _labels(model: Any, name: str, shape: tuple[int, ...]) -> Labels | None:
    """The model's own labels along each axis of a variable, its coordinates' values; None if no axis has any."""
    dims = model.named_vars_to_dims.get(name) or (None,) * len(shape)
    values = [model.coords.get(dim) for dim in dims]
    if not any(value is not None for value in values):
        return None
    numbered = positions(shape)
    index = imported("pandas", "pandas", "pymc").Index  # as xarray keeps coordinates, dates above all
    return tuple(
        numbered[axis] if value is None else tuple(map(str, index(value).values)) for axis, value in enumerate(values)
    )


def _space(transform: Any, rv: Any) -> str:
    if transform is None:
        return "real"
    if transform.name == "interval":
        lower, upper = transform.args_fn(*rv.owner.inputs)
        return "other" if lower is None or upper is None else "interval"
    return SPACES.get(transform.name, "other")


def _bounds(model: Any, rv: Any, parameter: Parameter) -> Floats:
    """Bounds of a variable's coordinates, shape (k, 2): infinite ones unless the model leaves it untransformed.

    Raises
    ------
    InputError
        If it is left untransformed where its support is no box with fixed bounds.
    """
    free = np.broadcast_to([-np.inf, np.inf], (*parameter.free_shape, 2)).reshape(-1, 2)
    if model.rvs_to_transforms[rv] is not None:
        return free
    transforms = imported("pymc.distributions.transforms", "PyMC", "pymc")
    usual = transforms._default_transform(rv.owner.op, rv)
    if usual is None or usual.name == "circular":
        return free
    if usual.name == "log":
        limits: tuple[Any, Any] = (0.0, np.inf)
    elif usual.name == "logodds":
        limits = (0.0, 1.0)
    elif usual.name == "interval":
        limits = tuple(_constant(limit, model, rv) for limit in usual.args_fn(*rv.owner.inputs))
    else:
        raise InputError(
            f"{rv.name} is left untransformed (transform=None, default_transform=None), and its support "
            f"({SPACES.get(usual.name, usual.name)}) is not a box: leave PyMC its default transform"
        )
    lower, upper = (-np.inf if limits[0] is None else limits[0]), (np.inf if limits[1] is None else limits[1])
    return np.stack([np.broadcast_to(limit, parameter.free_shape).ravel() for limit in (lower, upper)], axis=1)


def _constant(limit: Any, model: Any, rv: Any) -> Any:
    """The value of a bound; InputError if it is no constant."""
    if limit is None:
        return None
    tensor = imported("pytensor.tensor", "PyTensor", "pymc").as_tensor_variable(limit)
    ancestors = imported("pytensor.graph.traversal", "PyTensor", "pymc").ancestors([tensor])
    others = sorted({each.name for each in ancestors if each in model.basic_RVs})
    if others:
        raise InputError(
            f"{rv.name} is left untransformed, and its support depends on {', '.join(others)}: leave PyMC its default "
            "transform"
        )
    return tensor.eval()
