"""A model of another package as a target in unconstrained space, and the way there from draws of its parameters.

The density in unconstrained space is that of the parameters times |J|, the Jacobian of the inverse of the model's
own transforms: where x = f(theta) and theta has density p, log q(x) = log p(f^-1(x)) + log |det d f^-1 / dx|.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.named_draws import NamedDraws
from steinkit.containers.reading import read_draws
from steinkit.containers.variables import Labels, Variable, indexed, positions
from steinkit.errors import InputError, did_you_mean
from steinkit.sample import Floats, Sample
from steinkit.target import Functions, Target

_SUM = 1e-5  # by which the entries of a simplex may miss one: what single precision leaves
_CHECKED = 5  # draws at which what a model says is compared with something else

# What an unconstrained coordinate is called, by the space that it comes from; coordinates of others keep their name.
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
    """A free parameter of a model.

    Attributes
    ----------
    name : str
        As its draws are named.
    shape : tuple of int
        Of one draw, as the user sees it.
    space : str
        Where it lives: "real", "positive", "interval", "circular", "ordered", "simplex", "cholesky", "correlation", or
        "other".
    free_shape : tuple of int
        Of one draw in unconstrained space.
    labels : tuple of tuple of str, optional
        Along each axis of `shape`; those of the draws where the model has none.
    """

    name: str
    shape: tuple[int, ...]
    space: str
    free_shape: tuple[int, ...]
    labels: Labels | None = None

    def free_names(self, labels: Labels) -> tuple[str, ...]:
        """Names of its unconstrained coordinates in C order: ``log tau``, ``theta[Choate]``, ``simplex w[0]``.

        An axis that the transform shortens is counted from 0; the others keep their labels.
        """
        if len(self.free_shape) == len(self.shape):
            kept = zip(labels, self.shape, self.free_shape, strict=True)
            along = tuple(own if n == m else positions([m])[0] for own, n, m in kept)
        else:
            along = positions(self.free_shape)
        return tuple(_PREFIXES[self.space] + name for name in indexed(self.name, along))


@dataclass(frozen=True, eq=False)
class Model:
    """What a model of another package says of its posterior.

    Attributes
    ----------
    label : str
        How reports call the target.
    parameters : tuple of Parameter
        In the order in which their coordinates follow one another.
    make_target : callable, (names, label) -> Target
        The posterior in unconstrained space.
    unconstrain : callable, {name: (n, *shape)} -> (n, d)
        The model's own transforms of all parameters, ravelled in their order.
    constrain : callable, (n, d) -> {name: (n, *shape)}, optional
        The way back.
    """

    label: str
    parameters: tuple[Parameter, ...]
    make_target: Callable[[tuple[str, ...], str], Target]
    unconstrain: Callable[[dict[str, Floats]], Floats]
    constrain: Callable[[Floats], Mapping[str, Floats]] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the unconstrained coordinates, numbered where the model has no labels for them."""
        return self._names({})

    @property
    def target(self) -> Target:
        """The posterior in unconstrained space, with these names."""
        return self.make_target(self.names, self.label)

    def target_of(self, sample: Sample) -> Target:
        """The same with the names that a sample bears, whose labels may be the draws' own.

        Its functions are the entries of the model's parameters on their own scale, those that vary in the sample.
        """
        target = self.make_target(sample.names, self.label)
        if self.constrain is not None:
            target.functions = self._on_own_scale(sample, _remembered(self.constrain))
        return target

    def _on_own_scale(self, sample: Sample, constrain: Callable[[Floats], Mapping[str, Floats]]) -> Functions:
        def entry(parameter: str, column: int, points: Floats) -> Floats:
            return constrain(points)[parameter].reshape(len(points), -1)[:, column]

        values, functions, start = constrain(sample.points), {}, 0
        for each in self.parameters:
            free_names = sample.names[start : start + math.prod(each.free_shape)]
            start += len(free_names)
            if each.space == "real":
                continue
            rows = values[each.name].reshape(len(sample), -1)
            names = indexed(each.name, each.labels or positions(each.shape))
            if each.shape == each.free_shape:  # their labels may be the draws'
                names = tuple(name.removeprefix(_PREFIXES[each.space]) for name in free_names)
            for column in np.flatnonzero((rows != rows[0]).any(axis=0)):
                functions[names[column]] = partial(entry, each.name, int(column))
        return functions

    def sample(self, draws: Any, dims: Sequence[str] | None = None) -> Sample:
        """Draws of the model's parameters as a sample in unconstrained space.

        Parameters
        ----------
        draws : object with draws of every free parameter, by name
            As `as_sample` takes them. What else it holds (deterministic quantities, predictions) is left out; labels of
            chains and draws, weights and costs are kept.
        dims : sequence of str, optional
            As of `as_sample`, of a dict of arrays whose leading axes the caller knows.

        Returns
        -------
        Sample

        Raises
        ------
        InputError
            If a parameter has no draws, or draws of another shape or with other labels than the model's, or if a draw
            lies outside the model's support.
        """
        given = read_draws(draws, dims=dims, shapes={each.name: each.shape for each in self.parameters})
        found = {each.name: self._draws_of(each, given) for each in self.parameters}
        names = self._names({name: variable.labels for name, variable in found.items()})
        for each in self.parameters:
            if each.space == "simplex":
                _require_simplex(found[each.name])
        points = self.unconstrain({name: variable.rows.astype(np.float64) for name, variable in found.items()})
        self._require_inside(points, names, found)
        kept = {name: getattr(given, name) for name in ("weights", "cost", "chain", "draw")}
        return Sample(points=points, names=names, **kept)

    def bind(self, draws: Any, dims: Sequence[str] | None = None) -> tuple[Target, Sample]:
        """The target, and draws of the model's parameters as a sample of it: `sample`, and the score checked.

        Raises
        ------
        InputError
            As `sample` does, or if the score is not the gradient of the log density.
        """
        sample = self.sample(draws, dims)
        target = self.target_of(sample)
        check(target, sample)
        return target, sample

    def _names(self, labels: Mapping[str, Labels]) -> tuple[str, ...]:
        """Names of all unconstrained coordinates, the labels of the model's own first."""
        every: list[str] = []
        for each in self.parameters:
            own = each.labels or labels.get(each.name) or positions(each.shape)
            every += each.free_names(own)
        return tuple(every)

    def _draws_of(self, parameter: Parameter, given: NamedDraws) -> Variable:
        name = parameter.name
        if name not in given.labels:
            hint = did_you_mean(name, given.labels) or f"; they are of {', '.join(given.labels)}"
            raise InputError(f"the draws have no parameter {name!r} of {self.label}{hint}")
        variable = given.variable(name)
        if variable.shape != parameter.shape:
            raise InputError(
                f"{name} has shape {parameter.shape} in {self.label}; its draws have shape {variable.shape}: were they "
                "made by another model, or with other data?"
            )
        numbered = variable.is_numbered and not variable.has_labels(parameter.labels or ())
        if name in given.unlabelled:
            return variable.in_order(positions(variable.shape))
        if parameter.labels is None or numbered:
            return variable  # it goes by position
        return variable.in_order(parameter.labels)

    def _require_inside(self, points: Floats, names: tuple[str, ...], found: Mapping[str, Variable]) -> None:
        bad = np.argwhere(~np.isfinite(points))
        if not bad.size:
            return
        row, column = bad[0]
        sizes = np.cumsum([int(np.prod(each.free_shape)) for each in self.parameters])
        parameter = self.parameters[int(np.searchsorted(sizes, column, side="right"))]
        value = found[parameter.name].rows[row].tolist()
        raise InputError(
            f"draw {row + 1} of {parameter.name} is {value}, where {names[column]!r} is {points[row, column]} "
            f"({len(np.unique(bad[:, 0]))} such draws): it lies outside the model's support ({parameter.space}), or "
            "on its edge; drop it"
        )


def _remembered(function: Callable[[Floats], Mapping[str, Floats]]) -> Callable[[Floats], Mapping[str, Floats]]:
    """The function, which is not called again for the points that it was called for last."""
    last: list[Any] = []

    def called(points: Floats) -> Mapping[str, Floats]:
        if not last or not np.array_equal(last[0], points):
            last[:] = points.copy(), function(points)
        found: Mapping[str, Floats] = last[1]
        return found

    return called


def _require_simplex(variable: Variable) -> None:
    """Refuse draws whose entries do not sum to one, of which a transform by ratios takes no notice."""
    off = np.abs(variable.rows.sum(axis=-1, dtype=np.float64) - 1.0).reshape(len(variable.rows), -1).max(axis=1)
    if (off > _SUM).any():
        row = int((off > _SUM).argmax())
        raise InputError(
            f"draw {row + 1} of {variable.name} is {variable.rows[row].tolist()}, whose entries do not sum to 1 "
            f"({int((off > _SUM).sum())} such draws): it lies outside the model's support (simplex); were the draws "
            "rounded, or made by another model?"
        )


def check(target: Target, sample: Sample) -> None:
    """Hold a target's score to finite differences of its log density at some of a sample's draws.

    Raises
    ------
    InputError
        If the score is not the gradient of the log density there.
    """
    target.check(sample.points[some_of(len(sample))])


def some_of(n: int, most: int = _CHECKED) -> NDArray[np.intp]:
    """Positions of a few of n draws, spread over all of them: where what a model says is compared with something."""
    return np.unique(np.linspace(0, n - 1, most).astype(np.intp))


def refuse_discrete(names: Sequence[str], label: str) -> None:
    """Refuse a model with discrete variables, which have no score."""
    if names:
        raise InputError(
            f"{label} has discrete variables ({', '.join(names)}): a score needs a density that is smooth in all of "
            "them; sum them out of the model, or score the continuous ones given fixed values of these"
        )


def as_floats(array: Any) -> NDArray[np.float64]:
    """An array of any package as NumPy's, in double precision."""
    return np.asarray(array, dtype=np.float64)
