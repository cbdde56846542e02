"""Conversion of BridgeStan models, PyStan 3 fits and CmdStan files.

A PyStan fit contains Stan's diagnostic output, which includes the unconstrained draws and gradients. These gradients
are the scores at the draws, so no model is required. Each call to `grad_log_prob` in PyStan starts an HTTP server and
takes 13 ms. If `model` is given, the compiled module is called directly, which takes 0.07 ms for 20 parameters.

With ``output diagnostic_file=FILE``, CmdStan writes the unconstrained draws and the gradients used by the sampler. The
gradients include the gradient of log |J|. Use ``sig_figs=18`` because the values are rounded to six or eight digits by
default.

BridgeStan evaluates the log density, gradient and transforms of a Stan program within the Python process. An evaluation
takes microseconds for small models. Any object with the same methods can be used.

Stan provides the names of the parameter entries but not their transforms. The transforms are recognized by comparing
values in both spaces. If an entry and a coordinate sort the points in the same or the opposite order, a monotone map
relates them. This map is compared with exp, expit and the identity. The order of the names of unconstrained coordinates
is not reliable. Stan stores an array of vectors one vector at a time. In contrast, the list of names starts with the
first entries of all vectors.

References
----------
E. A. Roualdes, B. Ward et al. (2023), "BridgeStan: efficient in-memory access to the methods of a Stan model",
Journal of Open Source Software 8(87).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.adapters.model import Model, Parameter, as_floats, check, from_stored, hold_stored
from steinkit.containers.columns import DIAGNOSTICS
from steinkit.containers.named_draws import Labels, gather
from steinkit.containers.objects import stan_fit_lengths
from steinkit.errors import InputError, UsageError, import_extra
from steinkit.files import read_sample
from steinkit.files.stan import latent_columns, parameter_of
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_PROBES = 16  # number of points used to compare values in both spaces
_METHODS = ("log_density_gradient", "param_names", "param_unc_names", "param_constrain", "param_unconstrain")


def from_bridgestan(model: Any, draws: Any) -> tuple[Target, Sample]:
    """Convert a BridgeStan model and its draws to a target and a sample.

    Parameters
    ----------
    model : bridgestan.StanModel
        A model, or any object with the methods `log_density_gradient`, `param_names`, `param_unc_names`,
        `param_constrain` and `param_unconstrain`.
    draws : object with draws of every parameter, by name
        A sample from CmdStan files (`read_sample`), a PyStan fit, InferenceData, a dict of arrays, or a data frame.
        Transformed parameters and generated quantities are ignored.

    Returns
    -------
    target : Target
        Target in unconstrained space, with scores computed by Stan's automatic differentiation.
    sample : Sample
        Draws of the unconstrained parameters, with the labels of chains and draws.

    Raises
    ------
    InputError
        If a parameter has no draws, draws of a different shape, or draws that violate its constraints.
    UsageError
        If the model lacks one of the required methods.

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_bridgestan(model, sk.read_sample("draws.csv"))  # doctest: +SKIP
    """
    return bridgestan_model(model).bind(draws)


def is_bridgestan(model: Any) -> bool:
    """Return True if an object has the required methods of a BridgeStan model."""
    return all(_has(model, name) for name in _METHODS)


def bridgestan_model(model: Any) -> Model:
    """Return the posterior defined by a BridgeStan model."""
    if isinstance(model, type):
        raise UsageError(f"expected a model instance, {model.__name__}(...), got the class {model.__name__}")
    if not is_bridgestan(model):
        missing = [name for name in _METHODS if not _has(model, name)]
        raise UsageError(
            f"expected a bridgestan.StanModel or an object with its methods, got {type(model).__name__} without "
            f"{', '.join(missing)}"
        )
    names, free_names = list(model.param_names()), list(model.param_unc_names())
    if not free_names:
        raise InputError("expected a Stan model with parameters, got none")
    # generate points in the same way as Stan generates initial values
    free = np.random.default_rng(1).uniform(-2.0, 2.0, (_PROBES, len(free_names)))
    found = stan_parameters(names, free_names, _rows(model.param_constrain, free, len(names)), free)
    back = np.argsort(found.order)

    def gradients(points: Floats) -> list[tuple[float, Floats]]:
        return [model.log_density_gradient(row, jacobian=True) for row in np.ascontiguousarray(points[:, back])]

    def score(points: Floats) -> Floats:
        slopes = [as_floats(slope).copy() for _, slope in gradients(points)]
        return np.array(slopes).reshape(points.shape)[:, found.order]

    def log_density(points: Floats) -> Floats:
        return np.array([value for value, _ in gradients(points)], dtype=np.float64)

    def constrain(points: Floats) -> dict[str, Floats]:
        values = _rows(model.param_constrain, np.ascontiguousarray(points[:, back]), len(names))
        return {name: values[:, columns] for name, columns in found.columns.items()}

    return Model(
        label=f"Stan model {model.name()}" if _has(model, "name") else "Stan model",
        parameters=found.parameters,
        make_target=lambda names, label: Target(score=score, log_density=log_density, names=names, label=label),
        unconstrain=lambda values: _unconstrain(model, found, values),
        constrain=constrain,
    )


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
                f"Stan rejects draw {k + 1}: {error}. The draws may come from another model or be "
                "rounded; CmdStan writes all digits with sig_figs=18"
            ) from None
    return np.array(rows)[:, found.order]


_FEWEST = 8  # number of points; the same order occurs by chance with probability 1 / 8!, about 2e-5


@dataclass(frozen=True, eq=False)
class StanParameters:
    """Parameters of a Stan program and their positions in its vectors.

    Attributes
    ----------
    parameters : tuple of Parameter
    labels : dict of str to tuple of tuple of str
        Labels along the axes of each parameter, counted from 1.
    columns : dict of str to ndarray of int
        Positions of the entries of each parameter, in C order, in Stan's constrained vector.
    order : ndarray of int, shape (d,)
        Positions of the coordinates, parameter by parameter, in Stan's unconstrained vector.
    """

    parameters: tuple[Parameter, ...]
    labels: dict[str, Labels]
    columns: dict[str, NDArray[np.intp]]
    order: NDArray[np.intp]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, such as ``log tau`` and ``theta[1]``."""
        return tuple(name for each in self.parameters for name in each.free_names(self.labels[each.name]))


def stan_parameters(names: Sequence[str], free_names: Sequence[str], values: Floats, free: Floats) -> StanParameters:
    """Find a program's parameters and their transforms.

    Parameters
    ----------
    names, free_names : sequence of str
        Names of the entries in Stan's constrained and unconstrained vectors, such as ``theta.1`` and ``pair:1.2``.
    values, free : ndarray, shapes (k, len(names)) and (k, len(free_names))
        The same points in both spaces.
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
            "expected entries and coordinates of the same parameters, got coordinates of "
            f"{', '.join(blocks)} without entries"
        )
    return StanParameters(tuple(parameters), labels, columns, np.concatenate(order))


def _transform(
    values: Floats, free: Floats, shape: tuple[int, ...]
) -> tuple[str, tuple[int, ...], NDArray[np.intp] | slice]:
    """Return the space and the unconstrained coordinates of a parameter.

    The returned tuple contains the name of the space, the unconstrained shape and the coordinate of each entry.
    """
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
    """Return the coordinate that corresponds to each entry, or None.

    Sorting the points by an entry gives the same order as sorting them by the corresponding coordinate, or the reverse
    order. An entry without such a coordinate is mapped to None.
    """

    def order(column: Floats) -> tuple[int, ...]:
        return tuple(np.argsort(column, kind="stable").tolist())

    coordinates = {order(column): k for k, column in enumerate(free.T)}
    found = [coordinates.get(order(column), coordinates.get(order(-column), -1)) for column in values.T]
    return np.array(found, dtype=np.intp) if sorted(found) == list(range(len(found))) else None


def _elementwise(values: Floats, free: Floats) -> str:
    with np.errstate(over="ignore"):
        if _same(values, free):
            return "real"
        if _same(values, np.exp(free)):
            return "positive"
        return "interval" if _same(values, 1.0 / (1.0 + np.exp(-free))) else "other"


def _same(one: Floats, other: Floats) -> bool:
    return bool(np.allclose(one, other, rtol=1e-6, atol=1e-12))


_COMPARED = 64  # number of draws used to determine the transforms
_PYSTAN = "PyStan model"


def from_pystan(fit: Any, model: Any = None) -> tuple[Target, Sample]:
    """Convert a PyStan fit to a target and a sample with scores.

    Parameters
    ----------
    fit : stan.fit.Fit
        Result of a sampler with gradients. Warm-up draws, transformed parameters and generated quantities are ignored.
    model : stan.model.Model, optional
        The model that was fitted (`stan.build`). Without the model, the target is known only at the draws, which is
        sufficient for a verdict.

    Returns
    -------
    Target, Sample
        Both results are in unconstrained space. The names of the coordinates include their transforms, as in ``log
        tau`` and ``theta[1]``.

    Raises
    ------
    InputError
        If the fit contains no gradients, or if they do not match the stored log densities or the model.
    MissingDependencyError
        If a model is given and PyStan is not installed (``pip install -e '.[pystan]'``).

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_pystan(fit)  # doctest: +SKIP
    """
    if not hasattr(fit, "stan_outputs") or not hasattr(fit, "num_warmup"):
        raise UsageError(f"expected a PyStan 3 fit, as returned by posterior.sample(), got {type(fit).__name__}")
    chains = [_Chain(output, fit) for output in fit.stan_outputs]
    found = chains[0].parameters()
    sample = Sample(
        points=np.stack([chain.coordinates[:, found.order] for chain in chains]),
        scores=np.stack([-chain.gradients[:, found.order] for chain in chains]),
        log_p=np.stack([chain.log_density for chain in chains]),
        names=found.names,
        **{own: np.stack([chain.extra[own] for chain in chains]) for own in chains[0].extra},
    )
    stored = from_stored(sample, _PYSTAN)
    if model is None:
        return stored
    target = _target(model, found)
    remedy = "to test this fit against this model, use the sample of this fit and the target from a fit of this model"
    hold_stored(target, sample, sample.scores, remedy)
    check(target, sample)
    return target, sample


class _Chain:
    """Output of one chain after warm-up.

    The lines have the form ``{"topic": "diagnostic", "values": {...}}``.
    """

    def __init__(self, output: bytes, fit: Any) -> None:
        self._warmup, draws = stan_fit_lengths(fit)
        self._output = output
        header, rows = self._table("diagnostic")
        columns = latent_columns(header)
        if columns is None or "lp__" not in header:
            raise InputError(
                "the fit contains no gradients because it was created with fixed_param or with a PyStan version older "
                "than 3; use from_bridgestan, or a Sample and a Target"
            )
        if len(rows) != draws:
            raise InputError(f"expected gradients for {draws} draws in a chain, got {len(rows)}; sample again")
        coordinates, gradients = columns
        self.names = [header[k] for k in coordinates]
        self.coordinates = rows[:, coordinates]  # unconstrained draws, shape (n, d), in Stan's order
        self.gradients = rows[:, gradients]  # gradients of the potential energy, with shape (n, d)
        self.log_density = rows[:, header.index("lp__")]  # log densities with log |J|, shape (n,)
        self.extra = {own: rows[:, header.index(name)] for name, own in DIAGNOSTICS.items() if name in header}

    def parameters(self) -> StanParameters:
        """Return the parameters, identified by their names and values."""
        header, rows = self._table("sample", _COMPARED)
        free = {parameter_of(name)[0] for name in self.names}
        places = [k for k, name in enumerate(header) if parameter_of(name)[0] in free]
        names = [header[k] for k in places]
        return stan_parameters(names, self.names, rows[:, places], self.coordinates[: len(rows)])

    def _table(self, topic: str, most: int | None = None) -> tuple[list[str], Floats]:
        """Return the names and values in a topic's rows after warm-up."""
        header: list[str] = []
        rows = []
        marked = f'"{topic}"'.encode()
        for message in (json.loads(line) for line in self._output.splitlines() if marked in line):
            if message["topic"] != topic or not isinstance(message["values"], dict):
                continue
            header = header or list(message["values"])
            rows.append(list(message["values"].values()))
            if most is not None and len(rows) == self._warmup + most:
                break
        kept = rows[self._warmup :]
        return header, np.array(kept, dtype=np.float64).reshape(len(kept), len(header))


def _target(model: Any, found: StanParameters) -> Target:
    """Return a compiled model as a target.

    The model is called without the PyStan server.
    """
    models = import_extra("httpstan.models", "PyStan", "pystan")
    try:
        module = models.import_services_extension_module(model.model_name)
    except KeyError:
        raise InputError(
            f"the compiled model {model.model_name} is not in the PyStan cache; run stan.build again"
        ) from None
    back = np.argsort(found.order)

    def rows(points: Floats) -> list[list[float]]:
        return [row.tolist() for row in points[:, back]]

    def score(points: Floats) -> Floats:
        slopes = np.array([module.log_prob_grad(model.data, row, True) for row in rows(points)], dtype=np.float64)
        return slopes.reshape(points.shape)[:, found.order]

    def log_density(points: Floats) -> Floats:
        return np.array([module.log_prob(model.data, row, True) for row in rows(points)], dtype=np.float64)

    return Target(score=score, log_density=log_density, names=found.names, label=_PYSTAN)


def from_cmdstan(files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> tuple[Target, Sample]:
    """Convert CmdStan diagnostic files to a target and a sample.

    The sample contains scores. The target is known only at the draws.

    Parameters
    ----------
    files : path or sequence of paths
        Diagnostic files of a sampler, with one file per chain, or a file name pattern.

    Returns
    -------
    Target, Sample
        The coordinates have names such as ``unconstrained tau``, because the files do not state the transform of tau.

    Raises
    ------
    InputError
        If a file contains no gradients, or if the gradients do not match the stored log densities.
    UsageError
        If ``files`` are not paths.

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_cmdstan("diagnostic-*.csv")  # doctest: +SKIP
    """
    sample = read_sample(files, format="stan")
    if sample.scores is None or sample.log_p is None:
        raise InputError(
            f"expected gradients in {files}, got draws only; run CmdStan with output diagnostic_file=FILE, or use "
            "from_bridgestan"
        )
    return from_stored(sample, "Stan model")
