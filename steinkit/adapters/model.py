"""Models from other packages in unconstrained space, and stored gradients.

Let theta have density p, and let x = f(theta) be the transform defined by the model. The density q in unconstrained
space is given by log q(x) = log p(f^-1(x)) + log |det d f^-1 / dx|.

Stored gradients are checked without a model. Let s be the score of the distribution of the draws. By Stein's identity,
E (x_j - E x_j) s_j = -1 in any coordinate system and in any units. Gradients with the wrong sign give a value of
about 1. Stored log densities are compared with the gradients using the equation
log p(y) - log p(x) = <s(x) + s(y), y - x> / 2 for neighboring draws x and y. The equation is exact for a Gaussian
target and any distribution of the draws.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.named_draws import Labels, NamedDraws, Variable, indexed, positions, spans
from steinkit.containers.reading import read_draws
from steinkit.errors import Caution, InputError, caution, did_you_mean
from steinkit.sample import Floats, Sample
from steinkit.target import Functions, Target

_ROUNDING = 1e-5  # error of rounded draws after both transforms, relative to the larger of draw and median magnitude
_CHECKED = 10  # number of draws used to compare scores with log densities

_PREFIXES = {
    "real": "",
    "positive": "log ",
    "interval": "logit ",
    "circular": "angle of ",
    "ordered": "ordered ",
    "simplex": "simplex ",
    "cholesky": "cholesky ",
    "correlation": "correlation ",
    "other": "unconstrained ",
}


@dataclass(frozen=True)
class Parameter:
    """Free parameter of a model.

    Attributes
    ----------
    name : str
        Name of the parameter in the draws.
    shape : tuple of int
        Shape of one draw on the scale of the parameter.
    space : {"real", "positive", "interval", "circular", "ordered", "simplex", "cholesky", "correlation", "other"}
        Support.
    free_shape : tuple of int
        Shape of one draw in unconstrained space.
    labels : tuple of tuple of str, optional
        Labels along each axis of `shape`. The default is the labels of the draws.
    """

    name: str
    shape: tuple[int, ...]
    space: str
    free_shape: tuple[int, ...]
    labels: Labels | None = None

    def free_names(self, labels: Labels) -> tuple[str, ...]:
        """Return the names of the unconstrained coordinates.

        Examples are ``log tau``, ``theta[Choate]`` and ``simplex w[0]``.

        The names are in C order. If the transform shortens an axis, the entries along this axis are numbered from 0.
        The other axes keep their labels.
        """
        if len(self.free_shape) == len(self.shape):
            kept = zip(labels, self.shape, self.free_shape, strict=True)
            along = tuple(own if n == m else positions([m])[0] for own, n, m in kept)
        else:
            along = positions(self.free_shape)
        return tuple(_PREFIXES[self.space] + name for name in indexed(self.name, along))


@dataclass(frozen=True, eq=False)
class Model:
    """Posterior defined by a model from another package.

    Attributes
    ----------
    label : str
        Name of the target in reports.
    parameters : tuple of Parameter
        The parameters, in the order of their coordinates.
    make_target : callable, (names, label) -> Target
        Function that creates the posterior in unconstrained space.
    unconstrain : callable, {name: (n, *shape)} -> (n, d)
        Function that applies the transforms of the model to all parameters.
    constrain : callable, (n, d) -> {name: (n, *shape)}, optional
        Function for the inverse transform.
    """

    label: str
    parameters: tuple[Parameter, ...]
    make_target: Callable[[tuple[str, ...], str], Target]
    unconstrain: Callable[[dict[str, Floats]], Floats]
    constrain: Callable[[Floats], Mapping[str, Floats]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unconstrained coordinates, numbered if there are no labels."""
        return self._names({})

    @cached_property
    def _back(self) -> Callable[[Floats], Mapping[str, Floats]] | None:
        return None if self.constrain is None else _remembered(self.constrain)

    @property
    def target(self) -> Target:
        """Posterior in unconstrained space."""
        return self.make_target(self.names, self.label)

    def target_of(self, sample: Sample) -> Target:
        """Return the posterior with the parameter names used in a sample.

        If the model has no labels, the names contain the labels of the draws.

        The functions of the posterior return the parameter entries on their original scale. Entries that are constant
        in the sample are omitted.
        """
        target = self.make_target(sample.names, self.label)
        if self._back is not None:
            target.functions = self._on_own_scale(sample, self._back)
        return target

    def _on_own_scale(self, sample: Sample, constrain: Callable[[Floats], Mapping[str, Floats]]) -> Functions:
        def entry(parameter: str, column: int, points: Floats) -> Floats:
            return constrain(points)[parameter].reshape(len(points), -1)[:, column]

        values, functions = constrain(sample.points), {}
        for each, span in zip(self.parameters, spans(each.free_shape for each in self.parameters), strict=True):
            if each.space == "real":
                continue
            rows = values[each.name].reshape(len(sample), -1)
            names = indexed(each.name, each.labels or positions(each.shape))
            if each.shape == each.free_shape:  # the labels may come from the draws
                names = tuple(name.removeprefix(_PREFIXES[each.space]) for name in sample.names[span])
            for column in np.flatnonzero((rows != rows[0]).any(axis=0)):
                functions[names[column]] = partial(entry, each.name, int(column))
        return functions

    def sample(self, draws: Any, dims: Sequence[str] | None = None) -> Sample:
        """Transform draws of the parameters to a sample in unconstrained space.

        Parameters
        ----------
        draws : object with draws of every free parameter, by name
            Draws in a form that `as_sample` accepts. Other quantities are ignored. Labels, weights and costs are kept.
            If the draws are a `Sample` with the names of the unconstrained coordinates, such as a sample written by
            `steinkit repair`, they are not transformed.
        dims : sequence of str, optional
            Leading axes of a dict of arrays. See `as_sample`.

        Raises
        ------
        InputError
            If a parameter has no draws, draws of a different shape, or draws with different labels, or if a draw is
            outside the support of the model.
        """
        if isinstance(draws, Sample) and sorted(draws.names) == sorted(self.names):
            return draws if draws.names == self.names else draws.select(self.names)
        given = read_draws(draws, dims=dims, shapes={each.name: each.shape for each in self.parameters})
        found = {each.name: self._draws_of(each, given) for each in self.parameters}
        names = self._names({name: variable.labels for name, variable in found.items()})
        points = self.unconstrain({name: variable.rows.astype(np.float64) for name, variable in found.items()})
        self._require_inside(points, names, found)
        self._require_return(points, found)
        return Sample(points=points, names=names, chain=given.chain, draw=given.draw, **given.per_draw)

    def bind(self, draws: Any, dims: Sequence[str] | None = None) -> tuple[Target, Sample]:
        """Check the score and return the target and its sample.

        Raises
        ------
        InputError
            See `sample`. The error is also raised if the score is not the gradient of the log density.
        """
        sample = self.sample(draws, dims)
        target = self.target_of(sample)
        check(target, sample)
        return target, sample

    def _names(self, labels: Mapping[str, Labels]) -> tuple[str, ...]:
        """Return the names of all unconstrained coordinates.

        Labels in the model take precedence over labels in the draws.
        """
        pairs = ((each, each.labels or labels.get(each.name) or positions(each.shape)) for each in self.parameters)
        return tuple(name for each, own in pairs for name in each.free_names(own))

    def _draws_of(self, parameter: Parameter, given: NamedDraws) -> Variable:
        name = parameter.name
        if name not in given.labels:
            hint = did_you_mean(name, given.labels) or f"; they have {', '.join(given.labels)}"
            raise InputError(f"expected draws of the parameter {name!r} of {self.label}, got none{hint}")
        variable = given.variable(name)
        if variable.shape != parameter.shape:
            raise InputError(
                f"expected draws of {name} with shape {parameter.shape} of {self.label}, got shape {variable.shape}; "
                "they may come from a different model or different data"
            )
        numbered = variable.is_numbered and not variable.has_labels(parameter.labels or ())
        if name in given.unlabelled:
            return variable.in_order(positions(variable.shape))
        if parameter.labels is None or numbered:
            return variable  # assigned by position
        return variable.in_order(parameter.labels)

    def _require_inside(self, points: Floats, names: tuple[str, ...], found: Mapping[str, Variable]) -> None:
        bad = np.argwhere(~np.isfinite(points))
        if not bad.size:
            return
        row, column = bad[0]
        places = zip(self.parameters, spans(each.free_shape for each in self.parameters), strict=True)
        parameter = next(each for each, span in places if column < span.stop)
        value = found[parameter.name].rows[row].tolist()
        raise InputError(
            f"draw {row + 1} of {parameter.name}, {value}, is outside the support of the model ({parameter.space}) or "
            f"at its boundary: {names[column]!r} is {points[row, column]} ({len(np.unique(bad[:, 0]))} such draws); "
            "remove it"
        )

    def _require_return(self, points: Floats, found: Mapping[str, Variable]) -> None:
        """Reject draws that are not reproduced by the transform and its inverse.

        Some transforms return finite points even for draws outside the support, such as a simplex with sum 2.
        """
        if self._back is None:
            return
        back = self._back(points)
        for each in self.parameters:
            draws = found[each.name].rows
            given, returned = (array.reshape(len(points), -1) for array in (draws, back[each.name]))
            sizes = np.abs(draws).sum(axis=-1) if draws.ndim > 1 else np.abs(draws)
            size = sizes.reshape(len(points), -1).max(axis=1, initial=0.0)
            outside = np.abs(returned - given).max(axis=1, initial=0.0) > _ROUNDING * np.maximum(size, np.median(size))
            if outside.any():
                row = int(outside.argmax())
                raise InputError(
                    f"draw {row + 1} of {each.name}, {draws[row].tolist()}, is outside the support of the model "
                    f"({each.space}): the transform and its inverse give {returned[row].tolist()} "
                    f"({int(outside.sum())} such draws); draws may be rounded, or belong to a different model"
                )


def _remembered(function: Callable[[Floats], Mapping[str, Floats]]) -> Callable[[Floats], Mapping[str, Floats]]:
    """Return a function that stores its last result."""
    last: list[Any] = []

    def called(points: Floats) -> Mapping[str, Floats]:
        if not last or not np.array_equal(last[0], points):
            last[:] = points.copy(), function(points)
        found: Mapping[str, Floats] = last[1]
        return found

    return called


def check(target: Target, sample: Sample) -> None:
    """Compare the score of a target with its log density at a few draws.

    The log density is differentiated by finite differences.

    Raises
    ------
    InputError
        If the score is not the gradient of the log density at these draws.
    """
    points = sample.points[some_of(len(sample))]
    target.check_once(points, target.score(points), sample.names)


def some_of(n: int, most: int = _CHECKED) -> NDArray[np.intp]:
    """Return at most ``most`` evenly spaced indices of n draws."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.intp))


def refuse_discrete(names: Sequence[str], label: str) -> None:
    """Raise InputError if there are discrete variables, which have no score."""
    if names:
        raise InputError(
            f"expected continuous variables in {label}, got the discrete {', '.join(names)}; marginalize them, or "
            "condition on fixed values"
        )


def as_floats(array: Any) -> NDArray[np.float64]:
    """Convert an array from any package to a double-precision NumPy array."""
    return np.asarray(array, dtype=np.float64)


_FACTOR = 1.5  # a larger ratio of scales is an error; if the sds of the draws are biased by 20%, the ratio is 1.44
_FEWEST = 20  # minimum number of draws required for the check
_COMPARED = 100  # number of draws used to compare stored gradients with the score of a target
_SAME = 0.01  # largest median difference relative to the score; allows for single-precision gradients
_ACCURACY = 1e-6  # largest difference between gradients of the same model from two compilers


def from_stored(sample: Sample, label: str) -> tuple[Target, Sample]:
    """Check stored scores and return a target that is known only at the draws.

    Parameters
    ----------
    sample : Sample
        Sample with scores, and with stored log densities if they are known.
    label : str
        Name of the target in reports.

    Returns
    -------
    Target, Sample
        The target raises InputError at points other than the draws. The target has no log density.

    Raises
    ------
    InputError
        See `check_stored`.
    """
    assert sample.scores is not None
    check_stored(sample)
    places = {point.tobytes(): k for k, point in enumerate(sample.points)}

    def rows(points: Floats) -> list[int]:
        try:
            return [places[point.tobytes()] for point in np.ascontiguousarray(points)]
        except KeyError:
            raise InputError(
                f"{label}: the score is known only at the {len(sample)} stored draws; pass the model as well"
            ) from None

    scores = sample.scores
    return Target(score=lambda points: scores[rows(points)], names=sample.names, label=label), sample


def hold_stored(target: Target, sample: Sample, stored: Floats | None, remedy: str = "") -> None:
    """Compare gradients stored by a sampler with the score of a target.

    Parameters
    ----------
    target : Target
    sample : Sample
    stored : ndarray, shape (n, d), or None
        Stored gradients. If None, nothing is compared.
    remedy : str, optional
        Instruction for the error message. If a remedy is given, the gradients must agree at all draws up to the
        rounding differences between compilers. If the remedy is empty, the gradients must agree approximately for the
        majority of the draws, in single or double precision.

    Raises
    ------
    InputError
        If the gradients differ and a remedy is given.

    Warns
    -----
    SteinkitWarning
        If the gradients differ and no remedy is given.
    """
    if stored is None:
        return
    places = some_of(len(sample), _COMPARED)
    score, found = target.score(sample.points[places]), stored[places]
    typical = np.max if remedy else np.median  # at other draws, terms of the size of the largest score may cancel
    scale = np.abs(score) + typical(np.abs(score), axis=0)
    difference = np.abs(found - score) / np.where(scale > 0.0, scale, 1.0)
    error = difference.max(axis=0) if remedy else np.median(difference, axis=0)
    if error.max() <= (_ACCURACY if remedy else _SAME):
        return
    column = int(error.argmax())
    row = int(difference[:, column].argmax())
    message = (
        f"the stored gradients do not match {target.label}: at draw {places[row] + 1}, coordinate "
        f"{sample.names[column]!r}, the sampler stored {found[row, column]:.6g}, but the score is "
        f"{score[row, column]:.6g}. The draws come from a density with different priors or data; "
        f"{remedy or 'check the model and its data'}"
    )
    if remedy:
        raise InputError(message)
    caution([Caution(message)])


def check_stored(sample: Sample) -> None:
    """Check stored scores against stored log densities or with Stein's identity.

    Raises
    ------
    InputError
        If the scores have the wrong sign, or if their scale differs from the scale of the log densities.

    Warns
    -----
    SteinkitWarning
        If Stein's identity indicates an incorrect scale of the scores. Draws that are too wide or too narrow in every
        coordinate cause the same warning.
    """
    assert sample.scores is not None
    if len(sample) < _FEWEST:
        return
    if sample.log_p is not None:
        _against_log_density(sample.points, sample.scores, sample.log_p)
        return
    weights = sample.probabilities[:, None]
    spread = sample.points - (weights * sample.points).sum(axis=0)
    varies = np.ptp(sample.points, axis=0) > 0.0
    moment = float(np.median((weights * spread * sample.scores).sum(axis=0)[varies])) if varies.any() else -1.0
    found = f"the median over coordinates of E (x - E x) s is {moment:.3g}, but should be -1 for draws from the target"
    if moment > 0.0:
        raise InputError(
            f"the stored gradients have the wrong sign: {found}. Negate gradients of the potential energy, -log p"
        )
    if not 1.0 / _FACTOR < -moment < _FACTOR:
        message = f"the stored gradients and the draws have different scales: {found}. Check their parameters and units"
        caution([Caution(message)])


def _against_log_density(points: Floats, scores: Floats, log_density: Floats) -> None:
    """Compare stored log densities with stored gradients.

    The gradients predict how much the log density changes between neighboring draws.
    """
    from scipy.spatial import cKDTree

    scale = points.std(axis=0)
    moving = scale > 0.0
    if not moving.any():
        return
    first = np.unique(points, axis=0, return_index=True)[1]  # repeated points contain no information
    if len(first) < _FEWEST:
        return
    places = points[first][:, moving] / scale[moving]
    near = np.asarray(cKDTree(places).query(places, k=2)[1])[:, 1]
    step = points[first[near]] - points[first]
    predicted = 0.5 * ((scores[first] + scores[first[near]]) * step).sum(axis=1)
    found = log_density[first[near]] - log_density[first]
    if not predicted.any():
        return
    # the weighted median of the ratios is robust to a few long steps in a curved density
    order = np.argsort(found / np.where(predicted == 0.0, np.nan, predicted))
    mass = np.cumsum(np.abs(predicted[order]))
    ratio = float((found[order] / predicted[order])[np.searchsorted(mass, 0.5 * mass[-1])])
    if not 1.0 / _FACTOR < ratio < _FACTOR:
        remedy = "negate them" if -_FACTOR < ratio < -1.0 / _FACTOR else "check their parameterization"
        raise InputError(
            f"the stored gradients do not match the stored log densities, which change {ratio:.3g} times as much "
            f"between neighboring draws as the gradients predict; {remedy}"
        )
