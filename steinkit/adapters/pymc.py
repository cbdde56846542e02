"""Conversion of PyMC models and of draws from `pymc.sample` or nutpie.

PyMC samples value variables. Each free variable has one value variable, which is the variable itself or its transform
(``tau_log__``). `Model.logp` is the joint log density of the value variables, including log |J|. `Transform.forward`
applies the transforms.

The PyTensor graphs of the log density, the gradient and the transforms are defined for one point. These graphs are
vectorized over points (`vectorize_graph`). The gradient of the sum over points contains the gradient at each point. The
graphs are evaluated with NumPy, without a compiler.

nutpie can store unconstrained draws together with their gradients. In this case, no model is required. nutpie names a
coordinate after the value variable and the position of the entry, such as ``tau_log__`` or ``theta_0``. These names are
recognized from the stored value variables.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from steinkit.adapters.model import Model, Parameter, check, from_stored, hold_stored, refuse_discrete
from steinkit.containers.named_draws import Labels, NamedDraws, positions, spans
from steinkit.containers.objects import is_tree
from steinkit.containers.reading import read_draws
from steinkit.errors import InputError, UsageError, import_extra
from steinkit.sample import Floats, Sample
from steinkit.target import Target

# `Parameter` space for each transform name.
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
_BOXES: dict[str, tuple[Any, ...]] = {"circular": (None, None), "log": (0.0, None), "logodds": (0.0, 1.0)}


def from_pymc(model: Any, draws: Any, *, approximation: Any = None) -> tuple[Target, Sample]:
    """Convert a PyMC model and draws to a target and a sample in unconstrained space.

    Parameters
    ----------
    model : pymc.Model
        Model with continuous free variables. The current values of `pymc.Data` containers are used.
    draws : InferenceData, DataTree, Dataset, or dict of arrays
        Result of `pymc.sample`. The draws are those of the variables in the model, not of the transformed variables.
    approximation : pymc.MeanField or pymc.FullRank, optional
        Result of `pymc.fit` that generated the draws. The sample then contains the log density of the approximation,
        and `verdict` computes the Pareto k.

    Returns
    -------
    Target
        The posterior in unconstrained space. NumPy evaluates its density, vectorized over draws, after one or two
        seconds of compilation. A variable without a transform keeps its bounds.
    Sample
        Draws of the unconstrained variables, named by the coordinates of the model, such as ``mu``, ``log tau`` and
        ``theta[Choate]``. Deterministic variables are ignored.

    Raises
    ------
    InputError
        If the model has discrete variables, if its density is random (`pymc.Minibatch`), in single precision or without
        a gradient, or if the draws of a parameter are missing or have different shapes or labels.
    MissingDependencyError
        If PyMC is not installed (``pip install -e '.[pymc]'``).

    Examples
    --------
    >>> import pymc as pm, steinkit as sk  # doctest: +SKIP
    >>> with pm.Model() as model:  # doctest: +SKIP
    ...     tau = pm.HalfCauchy("tau", 5.0)
    ...     draws = pm.sample()
    >>> target, sample = sk.from_pymc(model, draws)  # doctest: +SKIP
    >>> sk.verdict(sample, target)  # doctest: +SKIP
    """
    target, sample = pymc_model(model).bind(draws)
    if approximation is not None:
        sample = sample.with_columns(log_q=_log_q(approximation, model, sample.points))
    return target, sample


def _log_q(approximation: Any, model: Any, points: Floats) -> Floats:
    """Return the log density of a normal approximation, up to a constant.

    Raise InputError if the approximation is not normal.
    """
    if not all(hasattr(approximation, name) for name in ("mean", "cov", "ordering")) or not approximation.has_logq:
        raise InputError(
            f"expected a mean-field or full-rank approximation of pymc.fit, got {type(approximation).__name__}; for "
            "other approximations, pass the log density to verdict as log_q="
        )
    places = {name: np.arange(points.shape[1])[place] for name, place, *_ in approximation.ordering.values()}
    order = np.concatenate([places[model.rvs_to_values[rv].name] for rv in model.free_RVs])
    mean, covariance = approximation.mean.eval()[order], approximation.cov.eval()[np.ix_(order, order)]
    z = np.linalg.solve(np.linalg.cholesky(covariance), (points - mean).T)
    return np.asarray(-0.5 * (z**2).sum(axis=0))


def pymc_model(model: Any) -> Model:
    """Return the posterior defined by a PyMC model.

    The function `from_pymc` also converts draws.
    """
    pymc = import_extra("pymc", "PyMC", "pymc")
    if not isinstance(model, pymc.Model):
        raise UsageError(f"expected a pymc.Model, got {type(model).__name__}")
    label = f"PyMC model {model.name}" if model.name else "PyMC model"
    _require_smooth(model, label)
    shapes = {name: tuple(map(int, shape)) for name, shape in model.eval_rv_shapes().items()}
    parameters = tuple(_parameter(model, rv, shapes) for rv in model.free_RVs)
    bounds = np.concatenate([_bounds(model, rv, each) for rv, each in zip(model.free_RVs, parameters, strict=True)])
    graphs = Graphs(model, [each.free_shape for each in parameters], label)

    def make_target(names: tuple[str, ...], label: str) -> Target:
        limits = bounds if np.isfinite(bounds).any() else None
        return Target(graphs.score, log_density=graphs.log_density, names=names, bounds=limits, label=label)

    return Model(label, parameters, make_target, graphs.unconstrain, graphs.constrain)


def _require_smooth(model: Any, label: str) -> None:
    """Raise InputError for models without a score."""
    if not model.free_RVs:
        raise InputError(f"expected free variables in {label}, got none")
    named = [rv.name for rv in model.basic_RVs if type(rv.type).__name__ == "XTensorType"]
    if named:
        raise InputError(
            f"{label} has variables from pymc.dims ({', '.join(named)}), which are not supported; define them with "
            'pymc and dims="..."'
        )
    refuse_discrete([rv.name for rv in model.free_RVs if rv.dtype[:5] != "float"], label)
    single = [rv.name for rv in model.free_RVs if rv.dtype != "float64"]
    if single:
        raise InputError(
            f"expected double precision in {label}, got single precision of {', '.join(single)}; set "
            "pytensor.config.floatX = 'float64' before building the model"
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
    """Return the labels of a variable along each axis.

    Return None if no axis has labels.
    """
    dims = model.named_vars_to_dims.get(name) or (None,) * len(shape)
    values = [model.coords.get(dim) for dim in dims]
    if not any(value is not None for value in values):
        return None
    numbered = positions(shape)
    index = import_extra("pandas", "pandas", "pymc").Index  # convert dates in the same way as xarray does
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
    """Return the bounds of the coordinates of a variable.

    The bounds of a transformed variable are infinite.

    Raises
    ------
    InputError
        If the variable is not transformed and its support is not a box with fixed bounds.
    """
    default: Any = None
    if model.rvs_to_transforms[rv] is None:
        default = import_extra("pymc.distributions.transforms", "PyMC", "pymc")._default_transform(rv.owner.op, rv)
    limits = _BOXES.get(default.name if default else "circular")
    if default and default.name == "interval":
        given = default.args_fn(*rv.owner.inputs)
        limits = tuple(None if limit is None else _constant(limit, model, rv) for limit in given)
    if limits is None:
        raise InputError(
            f"{rv.name} has no transform (transform=None, default_transform=None), and its support "
            f"({SPACES.get(default.name, default.name)}) is not a box; use PyMC's default transform"
        )
    ends = [infinite if limit is None else limit for limit, infinite in zip(limits, (-np.inf, np.inf), strict=True)]
    return np.stack([np.broadcast_to(end, parameter.free_shape).ravel() for end in ends], axis=1)


def _constant(limit: Any, model: Any, rv: Any) -> Any:
    """Return the value of a bound, or raise InputError if it is not constant."""
    tensor = _pytensor("tensor").as_tensor_variable(limit)
    ancestors = _pytensor("graph.traversal").ancestors([tensor])
    others = sorted({each.name for each in ancestors if each in model.basic_RVs})
    if others:
        raise InputError(
            f"{rv.name} has no transform, and its support depends on {', '.join(others)}; use PyMC's default transform"
        )
    return tensor.eval()


_BLOCK_FLOATS = 1 << 20  # number of log density terms evaluated at once


class Graphs:
    """Functions of a PyMC model that are compiled on their first call.

    Parameters
    ----------
    model : pymc.Model
    free_shapes : sequence of tuple of int
        Shapes of the value variables, in the order of the model's free variables.
    label : str
        Name of the model in messages.

    Attributes
    ----------
    log_density : callable, (n, d) -> (n,)
    score : callable, (n, d) -> (n, d)
        Gradient of the log density.
    """

    def __init__(self, model: Any, free_shapes: Sequence[tuple[int, ...]], label: str) -> None:
        self._model = model
        self._shapes = list(free_shapes)
        self._label = label
        self._values = [model.rvs_to_values[rv] for rv in model.free_RVs]
        self._data = _data_as_constants(model)
        terms = _log_density_terms(model, self._data, label)
        self._block = max(1, _BLOCK_FLOATS // max(1, sum(map(prod, self._shapes_of(terms)))))
        self.log_density = self._lazily(lambda: self._function(*self._total(terms)))
        self.score = self._lazily(lambda: self._gradient_of(*self._total(terms)))

    def unconstrain(self, draws: dict[str, Floats]) -> Floats:
        """Transform draws of the variables to an unconstrained array of shape (n, d)."""
        with np.errstate(divide="ignore", invalid="ignore"):  # `Model` reports values that are not finite
            return np.asarray(self._forward(*(draws[rv.name] for rv in self._model.free_RVs)), dtype=np.float64)

    @cached_property
    def _forward(self) -> Any:
        """Transforms of all free variables, which may depend on other variables."""
        replace, tensor = _pytensor("graph.replace"), _pytensor("tensor")
        transformed, inputs = [], {}
        for rv in self._model.free_RVs:
            transform = self._model.rvs_to_transforms[rv]
            value = rv if transform is None else transform.forward(rv, *rv.owner.inputs)
            transformed.append(tensor.as_tensor_variable(value))
            inputs[rv] = tensor.tensor(rv.name, dtype="float64", shape=rv.type.shape)
        observed = {rv: self._model.rvs_to_values[rv] for rv in self._model.observed_RVs}
        one = replace.clone_replace(transformed, {**inputs, **observed}, rebuild_strict=False)
        one = replace.clone_replace(one, self._data, rebuild_strict=False)
        many = {x: tensor.tensor(x.name, dtype="float64", shape=(None, *x.type.shape)) for x in inputs.values()}
        columns = [
            each.reshape((each.shape[0], prod(shape)))
            for each, shape in zip(replace.vectorize_graph(one, many), self._shapes, strict=True)
        ]
        return self._function(list(many.values()), tensor.concatenate(columns, axis=1), on_unused_input="ignore")

    def constrain(self, points: Floats) -> dict[str, Floats]:
        """Transform an unconstrained array of shape (n, d) to draws of the variables."""
        return dict(zip([rv.name for rv in self._model.free_RVs], self._backward(points), strict=True))

    @cached_property
    def _backward(self) -> Any:
        replace, tensor = _pytensor("graph.replace"), _pytensor("tensor")
        points, at_points = self._points()
        own = []
        for rv, value in zip(self._model.free_RVs, self._values, strict=True):
            transform = self._model.rvs_to_transforms[rv]
            back = value if transform is None else transform.backward(value, *rv.owner.inputs)
            own.append(tensor.as_tensor_variable(back))
        own = replace.clone_replace(self._model.replace_rvs_by_values(own), self._data, rebuild_strict=False)
        return self._function([points], replace.vectorize_graph(own, at_points), on_unused_input="ignore")

    def _total(self, terms: list[Any]) -> tuple[list[Any], Any]:
        """Return a symbolic matrix of n points and the sum of terms at each point."""
        points, at_points = self._points()
        value = _pytensor("graph.replace").vectorize_graph(sum(term.sum() for term in terms), at_points)
        return [points], value + 0.0 * points.sum(axis=1)  # the shape is also (n,) for flat priors

    def _points(self) -> tuple[Any, dict[Any, Any]]:
        """Return a symbolic matrix of n points and the value variables at each point."""
        tensor = _pytensor("tensor")
        points = tensor.matrix("points", dtype="float64")
        at_points = {}
        for value, shape, span in zip(self._values, self._shapes, spans(self._shapes), strict=True):
            block = points[:, span].reshape((points.shape[0], *shape))
            at_points[value] = tensor.specify_shape(block, (None, *value.type.shape))
        return points, at_points

    def _gradient_of(self, inputs: list[Any], values: Any) -> Any:
        """Return the gradient of the sum of values with respect to the first input."""
        gradient = _pytensor("gradient")
        try:
            derivative = gradient.grad(values.sum(), inputs[0])
        except (gradient.NullTypeGradError, NotImplementedError) as error:
            raise InputError(f"the log density of {self._label} has no gradient in PyTensor: {error}") from None
        return self._function(inputs, derivative)

    def _function(self, inputs: list[Any], outputs: Any, **options: Any) -> Any:
        compile_graph = import_extra("pytensor", "PyTensor", "pymc").function
        with warnings.catch_warnings():  # NumPy has its own BLAS
            warnings.filterwarnings("ignore", message="PyTensor could not link to a BLAS", category=UserWarning)
            return compile_graph(inputs, outputs, mode=_numpy_mode(), **options)

    def _lazily(self, compiled: Callable[[], Any]) -> Callable[..., Floats]:
        """Return a function that is compiled on its first call.

        The returned function processes the points in blocks.
        """
        compiled = cache(compiled)

        def function(points: Floats) -> Floats:
            begins = range(0, max(1, len(points)), self._block)
            with np.errstate(all="ignore"):  # `Target` reports values that are not finite
                return np.concatenate([compiled()(points[begin : begin + self._block]) for begin in begins])

        return function

    def _shapes_of(self, terms: list[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the terms in the log density."""
        known = [term.type.shape for term in terms]
        if all(None not in shape for shape in known):
            return known
        tensor, pytensor = _pytensor("tensor"), import_extra("pytensor", "PyTensor", "pymc")
        outputs = [tensor.as_tensor(term.shape) for term in terms]
        function = pytensor.function(self._values, outputs, mode="FAST_COMPILE", on_unused_input="ignore")
        with np.errstate(all="ignore"):
            return [tuple(map(int, shape)) for shape in function(*map(np.zeros, self._shapes))]


def _pytensor(module: str) -> Any:
    return import_extra(f"pytensor.{module}", "PyTensor", "pymc")


def _numpy_mode() -> Any:
    """Return a PyTensor compilation mode that evaluates graphs with NumPy.

    The mode applies the usual graph rewrites with the following exceptions. Elementwise operations are not fused
    because fusion is useful only with a compiler. The rewrite `slogdet_specialization` fails for determinants of
    several matrices (PyTensor 2.38).
    """
    modes = _pytensor("compile.mode")
    mode = modes.Mode(linker="py", optimizer="fast_run").excluding("fusion", "inplace", "slogdet_specialization")
    # after the rewrites that improve stability and those that merge sums and products
    return mode.register((_in_functions_of_numpy(), 48.5))


def _in_functions_of_numpy() -> Any:
    """Return a graph rewriter that inserts vectorized NumPy functions.

    These functions replace operations that PyTensor evaluates entry by entry in Python.

    The replaced operations are log(1 + exp(x)) and sums and products of three or more arrays.
    """
    rewriting, tensor = _pytensor("graph.rewriting.basic"), _pytensor("tensor")
    softplus, elementwise = _pytensor("scalar.math").Softplus, _pytensor("tensor.elemwise").Elemwise
    scalar = _pytensor("scalar.basic")
    pairwise = {scalar.Add: tensor.add, scalar.Mul: tensor.mul}

    @rewriting.node_rewriter([elementwise])
    def replace(fgraph: Any, node: Any) -> Any:
        kind, x = type(node.op.scalar_op), node.inputs
        if kind is softplus:
            made = tensor.maximum(x[0], 0) + tensor.log1p(tensor.exp(-abs(x[0])))
        elif kind in pairwise and len(x) > 2:
            made = reduce(pairwise[kind], x)
        else:
            return None
        return [made.astype(node.outputs[0].dtype)]

    return rewriting.WalkingGraphRewriter(replace)


def _data_as_constants(model: Any) -> dict[Any, Any]:
    """Return the current `pymc.Data` values and dimension lengths."""
    tensor, shared = _pytensor("tensor"), _pytensor("compile.sharedvalue")
    found = [*model.data_vars, *model.dim_lengths.values()]
    return {
        each: tensor.constant(each.get_value(), name=each.name, dtype=each.type.dtype)
        for each in found
        if isinstance(each, shared.SharedVariable)
    }


def _log_density_terms(model: Any, data: dict[Any, Any], label: str) -> list[Any]:
    """Return the terms of the log density, including log |J|.

    The log density has one term per free variable, observed variable and potential.

    Raises
    ------
    InputError
        If a term is random.
    """
    tensor, replace, traversal = _pytensor("tensor"), _pytensor("graph.replace"), _pytensor("graph.traversal")
    terms = [tensor.as_tensor_variable(term) for term in model.logp(sum=False)]
    if any(_is_random(node.op) for node in traversal.apply_ancestors(terms)):
        raise InputError(
            f"the log density of {label} is random (pymc.Minibatch, pymc.Simulator); pass the model with all of its "
            "data"
        )
    if data:
        terms = list(replace.clone_replace(terms, data, rebuild_strict=False))
    return _without_checks(terms)


def _without_checks(terms: list[Any]) -> list[Any]:
    """Replace ParameterValueError checks with expressions that give minus infinity.

    This must be done before vectorization. After vectorization, a check would apply to all points at once.
    """
    switch = import_extra("pymc.logprob.utils", "PyMC", "pymc").local_check_parameter_to_ninf_switch
    graph = import_extra("pytensor.graph.fg", "PyTensor", "pymc").FunctionGraph(outputs=terms, copy_inputs=False)
    _pytensor("graph.rewriting.basic").WalkingGraphRewriter(switch).rewrite(graph)
    return list(graph.outputs)


def _is_random(op: Any) -> bool:
    """Return True if an operation or one of its inner operations is random."""
    inner = getattr(op, "fgraph", None)
    if inner is not None and any(_is_random(node.op) for node in inner.apply_nodes):
        return True
    return isinstance(op, _pytensor("tensor.random.op").RandomVariable)


_POINTS, _GRADIENTS, _LOG_DENSITY = "unconstrained_draw", "gradient", "logp"
_HOW = "nutpie.sample(model, store_unconstrained=True, store_gradient=True)"


def from_nutpie(trace: Any, model: Any = None) -> tuple[Target, Sample]:
    """Convert nutpie draws to a target and a sample in unconstrained space.

    Parameters
    ----------
    trace : InferenceData or DataTree
        Result of ``nutpie.sample(..., store_unconstrained=True, store_gradient=True)``.
    model : pymc.Model, optional
        The model that was compiled for nutpie. If it is not given, the score is known only at the stored draws.

    Returns
    -------
    Target
        The target returned by `from_pymc`, if the model is given.
    Sample
        Stored draws, with stored gradients as scores, and with the coordinate names used by `from_pymc`. Without the
        model, a coordinate of an interval is named ``unconstrained p``, because the interval may be open on one side.
        If the trace does not identify the variables, as for Stan models, the names assigned by nutpie are used.

    Raises
    ------
    InputError
        If the draws or gradients were not stored, if they belong to a different model, or if they do not match the
        stored log densities.
    UsageError
        If ``trace`` is not an InferenceData or DataTree.

    Examples
    --------
    >>> import nutpie, steinkit as sk  # doctest: +SKIP
    >>> compiled = nutpie.compile_pymc_model(model)  # doctest: +SKIP
    >>> trace = nutpie.sample(compiled, store_unconstrained=True, store_gradient=True)  # doctest: +SKIP
    >>> target, sample = sk.from_nutpie(trace)  # doctest: +SKIP
    """
    stats = _stats(trace, (_POINTS,) if model is not None else (_POINTS, _GRADIENTS))
    points = _matrix(stats, _POINTS)
    scores = _matrix(stats, _GRADIENTS) if _GRADIENTS in stats.labels else None
    stored = stats.labels[_POINTS][0]
    if model is not None:
        return _of_model(model, stats, stored, points, scores)
    log_p = _matrix(stats, _LOG_DENSITY)[:, 0] if _LOG_DENSITY in stats.labels else None
    sample = Sample(points, scores=scores, names=_names(trace, stored), log_p=log_p, **_extra(stats))
    return from_stored(sample, "gradients stored by nutpie")


def _of_model(
    model: Any, stats: NamedDraws, stored: tuple[str, ...], points: Floats, scores: Floats | None
) -> tuple[Target, Sample]:
    """Return the target and the stored draws in the coordinate order of the model."""
    found = pymc_model(model)
    values = [model.rvs_to_values[rv].name for rv in model.free_RVs]
    wanted = [
        label
        for name, each in zip(values, found.parameters, strict=True)
        for label in _stored_labels(name, each.free_shape)
    ]
    if sorted(wanted) != sorted(stored):
        missing = [label for label in wanted if label not in stored] or [x for x in stored if x not in wanted]
        raise InputError(
            f"expected the {len(wanted)} coordinates of the model, got {len(stored)}; {missing[0]!r} "
            f"appears in only one of the two lists; pass the model that was compiled"
        )
    order = [stored.index(label) for label in wanted]
    scores = None if scores is None else scores[:, order]
    sample = Sample(points[:, order], scores=scores, names=found.names, **_extra(stats))
    target = found.target_of(sample)
    check(target, sample)
    hold_stored(target, sample, sample.scores, "pass the model that was compiled")
    return target, sample


def _stats(trace: Any, wanted: tuple[str, ...]) -> NamedDraws:
    """Return the statistics in a trace, or raise InputError if some are missing."""
    if not is_tree(trace):
        raise UsageError(
            "expected from_nutpie(trace, model) with the InferenceData or DataTree returned by nutpie.sample, got "
            f"{type(trace).__name__}"
        )
    try:
        stats = read_draws(trace, group="sample_stats")
    except InputError as error:
        raise InputError(f"{error}; pass the nutpie trace, or use from_pymc(model, trace)") from None
    missing = [name for name in wanted if name not in stats.labels]
    if missing:
        raise InputError(f"{stats.source} has no {' and no '.join(missing)}; use {_HOW}, or from_pymc(model, trace)")
    return stats


def _extra(stats: NamedDraws) -> dict[str, Any]:
    """Return the labels, divergences and energies of all draws."""
    return {"chain": stats.chain, "draw": stats.draw, **stats.per_draw}


def _matrix(stats: NamedDraws, name: str) -> Floats:
    """Return a statistic for all draws, ordered by chain.

    The array has shape (n, number of entries).
    """
    rows = stats.variable(name).rows
    return np.asarray(rows.reshape(len(rows), -1), dtype=np.float64)


def _names(trace: Any, stored: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the coordinates.

    If the trace identifies the variables, the names are the same as in `from_pymc`.
    """
    labels = dict(read_draws(trace).labels)
    with suppress(InputError):  # old nutpie versions store these variables in the posterior group
        labels.update(read_draws(trace, group="unconstrained_posterior").labels)
    renamed: dict[str, str] = {}
    for name in labels:
        own = _stored_labels(name, tuple(map(len, labels[name])))
        if set(own) <= set(stored):
            renamed.update(zip(own, _coordinates(name, labels), strict=True))
    return tuple(renamed.get(label, label) for label in stored)


def _coordinates(name: str, labels: Mapping[str, Labels]) -> tuple[str, ...]:
    """Return the names of a value variable's coordinates.

    The coordinate of ``tau_log__`` is named ``log tau``.
    """
    own = labels[name]
    variable, space = name, "real"
    if name.endswith("__"):
        variable, _, transform = name.removesuffix("__").rpartition("_")
        known = [each for each in SPACES if name.endswith(f"_{each}__")]
        if known:
            transform = max(known, key=len)
            variable = name.removesuffix(f"_{transform}__")
        space = SPACES.get(transform, "other")  # an interval may be open on one side
    constrained = labels.get(variable, own)
    free = tuple(map(len, own))
    return Parameter(variable, tuple(map(len, constrained)), space, free).free_names(constrained)


def _stored_labels(name: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names used by nutpie for the coordinates of a value variable.

    Examples are ``theta_0`` and ``Sigma_0.1``.
    """
    return [f"{name}_{'.'.join(map(str, index))}" if index else name for index in product(*map(range, shape))]
