"""A model of another package as a target in unconstrained space, and gradients that its sampler stored.

The density in unconstrained space is that of the parameters times |J|, the Jacobian of the inverse of the model's
own transforms: where x = f(theta) and theta has density p, log q(x) = log p(f^-1(x)) + log |det d f^-1 / dx|.

The check needs no model. By Stein's identity E (x_j - E x_j) s_j = -1 for the score s of the distribution that the
draws come from, in any coordinate and any units; so stored gradients of the wrong sign give about 1 everywhere. Where
log densities were stored too, they must rise along the gradients: for draws x, y near each other
log p(y) - log p(x) = (s(x) + s(y)) / 2 . (y - x), exactly for a Gaussian, whatever distribution the draws have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.named_draws import Labels, NamedDraws, Variable, indexed, positions
from steinkit.containers.reading import read_draws
from steinkit.errors import Caution, InputError, caution, did_you_mean
from steinkit.sample import BESIDE, Floats, Sample
from steinkit.target import Functions, Target

_ROUNDING = 1e-5  # relative to a draw's size, or the usual one: what rounded draws lose on the way there and back
_CHECKED = 10  # draws at which what a model says is compared with something else

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

    @cached_property
    def _back(self) -> Callable[[Floats], Mapping[str, Floats]] | None:
        return None if self.constrain is None else _remembered(self.constrain)

    @property
    def target(self) -> Target:
        """The posterior in unconstrained space, with these names."""
        return self.make_target(self.names, self.label)

    def target_of(self, sample: Sample) -> Target:
        """The same with the names that a sample bears, whose labels may be the draws' own.

        Its functions are the entries of the model's parameters on their own scale, those that vary in the sample.
        """
        target = self.make_target(sample.names, self.label)
        if self._back is not None:
            target.functions = self._on_own_scale(sample, self._back)
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
        points = self.unconstrain({name: variable.rows.astype(np.float64) for name, variable in found.items()})
        self._require_inside(points, names, found)
        self._require_return(points, found)
        kept = {name: getattr(given, name) for name in (*BESIDE, "chain", "draw")}
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

    def _require_return(self, points: Floats, found: Mapping[str, Variable]) -> None:
        """Refuse draws off the support that transforms do not notice, as a simplex whose entries do not sum to one."""
        if self._back is None:
            return
        back = self._back(points)
        for each in self.parameters:
            draws = found[each.name].rows
            given, returned = (array.reshape(len(points), -1) for array in (draws, back[each.name]))
            sizes = np.abs(draws).sum(axis=-1) if draws.ndim > 1 else np.abs(draws)
            size = sizes.reshape(len(points), -1).max(axis=1, initial=0.0)
            off = np.abs(returned - given).max(axis=1, initial=0.0) > _ROUNDING * np.maximum(size, np.median(size))
            if off.any():
                row = int(off.argmax())
                raise InputError(
                    f"draw {row + 1} of {each.name} is {draws[row].tolist()}, which the model's transform to "
                    f"unconstrained space and back makes {returned[row].tolist()} ({int(off.sum())} such draws): it "
                    f"lies outside the model's support ({each.space}); were draws rounded, or made by another model?"
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


def check(target: Target, sample: Sample) -> None:
    """Hold a target's score to finite differences of its log density at some of a sample's draws.

    Raises
    ------
    InputError
        If the score is not the gradient of the log density there.
    """
    points = sample.points[some_of(len(sample))]
    target.check_once(points, target.score(points), sample.names)


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


_FACTOR = 1.5  # from which on a scale is said to be wrong; a spread that is off by a fifth gives 1.44
_FEWEST = 20  # draws from which the check can tell anything
_COMPARED = 100  # draws at which stored gradients are held to a target's score
_SAME = 0.01  # largest median difference between these, relative to the score: samplers store single precision
_ACCURACY = 1e-6  # of the gradients of one model that two compilers make


def from_stored(sample: Sample, label: str, log_density: Floats | None = None) -> tuple[Target, Sample]:
    """A sample with the scores that a sampler stored, checked, and a target that is known at its draws only.

    Parameters
    ----------
    sample : Sample
        With scores.
    label : str
    log_density : ndarray, shape (n,), optional
        Stored too, for the check.

    Returns
    -------
    Target, Sample
        The target raises InputError where it is asked elsewhere; it has no log density, which is of use elsewhere only.

    Raises
    ------
    InputError
        As `check_stored` does.
    """
    assert sample.scores is not None
    check_stored(sample, log_density)
    places = {point.tobytes(): k for k, point in enumerate(sample.points)}

    def rows(points: Floats) -> list[int]:
        try:
            return [places[point.tobytes()] for point in np.ascontiguousarray(points)]
        except KeyError:
            raise InputError(
                f"{label}: the score is known at the {len(sample)} stored draws only; for others give the model"
            ) from None

    scores = sample.scores
    target = Target(
        score=lambda points: scores[rows(points)],
        names=sample.names,
        label=label,
    )
    return target, sample


def hold_stored(target: Target, sample: Sample, stored: Floats | None, remedy: str = "") -> None:
    """Hold gradients that a sampler stored at a sample's draws to a target's score there.

    Parameters
    ----------
    target : Target
    sample : Sample
    stored : ndarray, shape (n, d), or None
        Without them nothing is said.
    remedy : str
        What to do if they are not the same. Then they must be so to the accuracy of two compilers; else, in whatever
        precision they are, about so at most draws.

    Raises
    ------
    InputError
        If they are those of another density, and there is a remedy.

    Warns
    -----
    SteinkitWarning
        The same, without one.
    """
    if stored is None:
        return
    places = some_of(len(sample), _COMPARED)
    score, found = target.score(sample.points[places]), stored[places]
    usual = np.max if remedy else np.median  # terms as large as the largest may cancel elsewhere
    scale = np.abs(score) + usual(np.abs(score), axis=0)
    difference = np.abs(found - score) / np.where(scale > 0.0, scale, 1.0)
    off = difference.max(axis=0) if remedy else np.median(difference, axis=0)
    if off.max() <= (_ACCURACY if remedy else _SAME):
        return
    column = int(off.argmax())
    row = int(difference[:, column].argmax())
    said = (
        f"the gradients that the sampler stored are not those of {target.label}: at draw {places[row] + 1}, coordinate "
        f"{sample.names[column]!r}, it stored {found[row, column]:.6g}, and the score is {score[row, column]:.6g}; the "
        f"draws were made for another density: other priors, or other data{f'; {remedy}' if remedy else '?'}"
    )
    if remedy:
        raise InputError(said)
    caution([Caution(said)])


def check_stored(sample: Sample, log_density: Floats | None = None) -> None:
    """Hold stored scores to Stein's identity, or to the stored log densities where there are some.

    Raises
    ------
    InputError
        If the scores have the wrong sign, or another scale than the log densities.

    Warns
    -----
    SteinkitWarning
        If by the moments alone they seem to have another scale: draws that are too wide or too narrow in every
        coordinate alike look the same.
    """
    assert sample.scores is not None
    if len(sample) < _FEWEST:
        return
    if log_density is not None:
        _against_log_density(sample.points, sample.scores, log_density)
        return
    weights = sample.probabilities[:, None]
    spread = sample.points - (weights * sample.points).sum(axis=0)
    varies = np.ptp(sample.points, axis=0) > 0.0
    moment = float(np.median((weights * spread * sample.scores).sum(axis=0)[varies])) if varies.any() else -1.0
    found = f"the median over coordinates of E (x - E x) s is {moment:.3g}, and -1 for draws from the target"
    if moment > 0.0:
        raise InputError(
            f"the stored gradients have the wrong sign: {found}; were gradients of the potential energy, -log p, "
            "stored? Negate them"
        )
    if not 1.0 / _FACTOR < -moment < _FACTOR:
        said = f"the stored gradients have another scale than the draws: {found}; are they of other parameters?"
        caution([Caution(said)])


def _against_log_density(points: Floats, scores: Floats, log_density: Floats) -> None:
    """Compare differences of log densities with those that gradients predict, from each draw to a near one."""
    from scipy.spatial import cKDTree

    scale = points.std(axis=0)
    moving = scale > 0.0
    if not moving.any():
        return
    first = np.unique(points, axis=0, return_index=True)[1]  # repeats of a point say nothing
    if len(first) < _FEWEST:
        return
    places = points[first][:, moving] / scale[moving]
    near = np.asarray(cKDTree(places).query(places, k=2)[1])[:, 1]
    step = points[first[near]] - points[first]
    predicted = 0.5 * ((scores[first] + scores[first[near]]) * step).sum(axis=1)
    found = log_density[first[near]] - log_density[first]
    if not predicted.any():
        return
    # the median of ratios, weighted by how much is predicted: a few long steps through a curved density do not count
    order = np.argsort(found / np.where(predicted == 0.0, np.nan, predicted))
    mass = np.cumsum(np.abs(predicted[order]))
    ratio = float((found[order] / predicted[order])[np.searchsorted(mass, 0.5 * mass[-1])])
    if not 1.0 / _FACTOR < ratio < _FACTOR:
        remedy = "negate them" if -_FACTOR < ratio < -1.0 / _FACTOR else "were they stored for other parameters?"
        raise InputError(
            f"the stored gradients are not those of the stored log densities, which change {ratio:.3g} times as much "
            f"between near draws as the gradients say; {remedy}"
        )
