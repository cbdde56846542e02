"""Stan: models of BridgeStan, fits of PyStan 3 with the gradients that they hold, and gradients that CmdStan wrote.

A fit keeps all that Stan wrote while it sampled, the unconstrained draws and gradients of its diagnostics among them.
They are the scores of these draws: nothing is evaluated, and no model is needed. PyStan's own `grad_log_prob` starts an
HTTP server for every call, 13 ms each; with `model=` the compiled module that this server calls is called directly,
0.07 ms each for 20 parameters.

``output diagnostic_file=FILE`` of a sampler writes unconstrained draws with the gradients that the sampler used;
``log_prob unconstrained_params=FILE`` writes log densities and gradients of draws in a file of their own. Both are in
unconstrained space with log |J| included. Say ``sig_figs=18``, else values are rounded to six digits or eight.

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

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.adapters.model import Model, Parameter, as_floats, check, from_stored, hold_stored
from steinkit.containers.columns import DIAGNOSTICS
from steinkit.containers.named_draws import Labels, gather
from steinkit.containers.objects import stan_fit_lengths
from steinkit.containers.reading import as_sample
from steinkit.errors import InputError, UsageError, imported, listed
from steinkit.files import matching_files, read_sample
from steinkit.files.stan import is_log_prob, latent_columns, parameter_of, read_stan_file, readable
from steinkit.files.streams import read_bytes
from steinkit.sample import Floats, Sample
from steinkit.target import Target

_PROBES = 16  # points at which values in both spaces are compared
_METHODS = ("log_density_gradient", "param_names", "param_unc_names", "param_constrain", "param_unconstrain")


def from_bridgestan(model: Any, draws: Any) -> tuple[Target, Sample]:
    """A model of BridgeStan as a target in unconstrained space, and draws of its parameters as a sample of it.

    Parameters
    ----------
    model : bridgestan.StanModel
        Or any object with its methods `log_density_gradient`, `param_names`, `param_unc_names`, `param_constrain` and
        `param_unconstrain`.
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
        constrain=constrain,
    )


def _parameters(model: Any) -> StanParameters:
    names, free_names = list(model.param_names()), list(model.param_unc_names())
    free = np.random.default_rng(1).uniform(-2.0, 2.0, (_PROBES, len(free_names)))  # as Stan makes initial values
    return stan_parameters(names, free_names, _rows(model.param_constrain, free, len(names)), free)


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


_COMPARED = 64  # draws whose values in both spaces tell which transform a parameter has
_PYSTAN = "PyStan model"


def from_pystan(fit: Any, model: Any = None) -> tuple[Target, Sample]:
    """A fit of PyStan as a sample in unconstrained space with its scores, and the target that it was drawn from.

    Parameters
    ----------
    fit : stan.fit.Fit
        Of a sampler with gradients. Warm-up draws are left out, and transformed parameters and generated quantities.
    model : stan.model.Model, optional
        That the fit was drawn from, as `stan.build` returns it. Without it the target is known at the fit's draws only,
        which is enough to judge them.

    Returns
    -------
    Target, Sample
        Coordinates are named by what their transforms are found to be: ``log tau``, ``theta[1]``.

    Raises
    ------
    InputError
        If the fit holds no gradients; if these are not those of the log densities stored with them, or not those of
        `model`.
    MissingDependencyError
        If a model is given and PyStan is not installed (``pip install 'steinkit[pystan]'``).

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_pystan(fit)  # doctest: +SKIP
    """
    if not hasattr(fit, "stan_outputs") or not hasattr(fit, "num_warmup"):
        raise UsageError(
            f"a fit of PyStan 3 is wanted, as posterior.sample() returns it; received {type(fit).__name__}"
        )
    chains = [_Chain(output, fit) for output in fit.stan_outputs]
    found = chains[0].parameters()
    sample = Sample(
        points=np.stack([chain.coordinates[:, found.order] for chain in chains]),
        scores=np.stack([-chain.gradients[:, found.order] for chain in chains]),
        names=found.names,
        **{own: np.stack([chain.beside[own] for chain in chains]) for own in chains[0].beside},
    )
    log_density = np.concatenate([chain.log_density for chain in chains])
    stored = from_stored(sample, _PYSTAN, log_density)
    if model is None:
        return stored
    target = _target(model, found)
    remedy = "to judge this fit against it, take the sample of from_pystan(fit) and the target of the model's own fit"
    hold_stored(target, sample, sample.scores, remedy)
    check(target, sample)
    return target, sample


class _Chain:
    """What Stan wrote of one chain, warm-up left out; a line each: ``{"topic": "diagnostic", "values": {...}}``."""

    def __init__(self, output: bytes, fit: Any) -> None:
        self._warmup, draws = stan_fit_lengths(fit)
        self._output = output
        header, rows = self._table("diagnostic")
        columns = latent_columns(header)
        if columns is None or columns.log_density is None:
            raise InputError(
                "the fit holds no gradients: it was made without them (fixed_param), or by a PyStan before 3. Give its "
                "draws and a model: from_bridgestan, or Sample and Target"
            )
        if len(rows) != draws:
            raise InputError(f"the fit holds {len(rows)} gradients of a chain of {draws} draws; sample again")
        self.names = [header[k] for k in columns.coordinates]
        self.coordinates = rows[:, columns.coordinates]  # unconstrained, (n, d), in Stan's order
        self.gradients = rows[:, columns.gradients]  # of the potential energy, (n, d)
        self.log_density = rows[:, columns.log_density]  # with log |J|, (n,)
        self.beside = {own: rows[:, header.index(name)] for name, own in DIAGNOSTICS.items() if name in header}

    def parameters(self) -> StanParameters:
        """The parameters, by their names and by values in both spaces."""
        header, rows = self._table("sample", _COMPARED)
        free = {parameter_of(name)[0] for name in self.names}
        places = [k for k, name in enumerate(header) if parameter_of(name)[0] in free]
        names = [header[k] for k in places]
        return stan_parameters(names, self.names, rows[:, places], self.coordinates[: len(rows)])

    def _table(self, topic: str, most: int | None = None) -> tuple[list[str], Floats]:
        """Names and values of the rows of a topic after warm-up."""
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
    """A compiled model as a target in unconstrained space, called without PyStan's server."""
    models = imported("httpstan.models", "PyStan", "pystan")
    try:
        module = models.import_services_extension_module(model.model_name)
    except KeyError:
        raise InputError(f"the compiled {model.model_name} is not in PyStan's cache; run stan.build again") from None
    back = np.argsort(found.order)

    def rows(points: Floats) -> list[list[float]]:
        return [row.tolist() for row in points[:, back]]

    def score(points: Floats) -> Floats:
        slopes = np.array([module.log_prob_grad(model.data, row, True) for row in rows(points)], dtype=np.float64)
        return slopes.reshape(points.shape)[:, found.order]

    def log_density(points: Floats) -> Floats:
        return np.array([module.log_prob(model.data, row, True) for row in rows(points)], dtype=np.float64)

    return Target(score=score, log_density=log_density, names=found.names, label=_PYSTAN)


_Path = str | os.PathLike[str]
_LABEL = "Stan model"


def from_cmdstan(draws: Any, gradients: _Path | Sequence[_Path] | None = None) -> tuple[Target, Sample]:
    """Draws with the gradients that CmdStan stored, and the target, known at these draws.

    Parameters
    ----------
    draws : path or sequence of paths, or draws
        Diagnostic files of a sampler, one a chain. With `gradients`: the unconstrained draws that log_prob was given,
        as its JSON file (variable params_r), an array, a `Sample` or what else `as_sample` takes.
    gradients : path or sequence of paths, optional
        Output of log_prob, rows in the order of the draws.

    Returns
    -------
    Target, Sample
        Coordinates are called ``unconstrained tau``: the files do not say which transform tau has.

    Raises
    ------
    InputError
        If a file holds no gradients, if there are not as many as draws or for other coordinates, or if they are not
        those of the log densities stored with them. Constrained draws of a few of many coordinates are not told from
        unconstrained ones.

    Examples
    --------
    >>> import steinkit as sk
    >>> target, sample = sk.from_cmdstan("diagnostic-*.csv")  # doctest: +SKIP
    >>> target, sample = sk.from_cmdstan("unconstrained.json", "log_prob.csv")  # doctest: +SKIP
    """
    if gradients is None:
        sample, log_density = _diagnostics(_files(draws))
    else:
        sample, log_density = _log_prob(draws, _files(gradients))
    return from_stored(sample, _LABEL, log_density)


def _diagnostics(files: list[str]) -> tuple[Sample, Floats]:
    sample = read_sample(files)
    if sample.scores is None:
        raise InputError(
            f"{files[0]} holds draws and no gradients; let CmdStan write them with output diagnostic_file=FILE, or "
            "give gradients=, the output of its method log_prob"
        )
    return sample, _columns(files, ["lp__"])[1][:, 0]


def _log_prob(draws: Any, files: list[str]) -> tuple[Sample, Floats]:
    header, values = _columns(files)
    if not is_log_prob(header):
        raise InputError(
            f"{files[0]} is not the output of CmdStan's log_prob, whose columns are lp__ and g_NAME for every "
            f"coordinate; its columns begin {', '.join(header[:4])}"
        )
    names = [readable(name.removeprefix("g_")) for name in header[1:]]
    sample = _unconstrained(draws, names)
    if len(sample) != len(values):
        raise InputError(f"there are {len(sample)} draws and gradients of {len(values)}; give the draws of these files")
    return sample.with_columns(names=tuple(map(_called, names)), scores=values[:, 1:]), values[:, 0]


def _unconstrained(draws: Any, names: list[str]) -> Sample:
    """Draws of the coordinates that gradients are given for, in their order."""
    if isinstance(draws, str | os.PathLike):
        if Path(draws).suffix != ".json":
            raise InputError(
                f"{os.fspath(draws)} is not a JSON file of unconstrained draws, as CmdStan's log_prob takes it. The "
                "draws of an output file are constrained: their gradients are in other coordinates; use its diagnostic "
                "file, or from_bridgestan"
            )
        draws = _params_r(draws)
    sample = as_sample(draws)
    if not sample.has_default_names:
        return sample.select(names if names[0] in sample.names else list(map(_called, names)))
    if sample.dim != len(names):
        raise InputError(f"the draws have {sample.dim} coordinates and the gradients {len(names)}: {', '.join(names)}")
    return sample


def _called(name: str) -> str:
    return f"unconstrained {name}"


def _params_r(file: _Path) -> Floats:
    try:
        found = json.loads(read_bytes(file, binary=False))["params_r"]
        return np.atleast_2d(np.array(found, dtype=np.float64))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{os.fspath(file)} is not a JSON file with rows of unconstrained parameters as params_r ({error!r})"
        ) from None


def _files(given: Any) -> list[str]:
    several = [given] if isinstance(given, str | os.PathLike) else given
    if not isinstance(several, Sequence) or not all(isinstance(each, str | os.PathLike) for each in several):
        raise UsageError(
            f"a path or several are wanted; received {type(given).__name__}. Draws in memory go with gradients="
        )
    return [file for each in several for file in matching_files(each) or [os.fspath(each)]]


def _columns(files: list[str], names: Sequence[str] = ()) -> tuple[list[str], Floats]:
    """The first file's header, and columns of all files by their names, or by that header."""
    found = [read_stan_file(read_bytes(file, binary=False), file) for file in files]
    wanted, values = list(names) or found[0].header, []
    for file, each in zip(files, found, strict=True):
        if missing := [name for name in wanted if name not in each.header]:
            raise InputError(
                f'{file} has no column "{missing[0]}"; it has {listed(each.header)}; give files of one kind'
            )
        values.append(each.values[:, [each.header.index(name) for name in wanted]])
    return found[0].header, np.concatenate(values)
