"""Units: the scale in which distances between draws are meant.

A discrepancy in raw units depends on whether a coordinate is given in metres or in miles. In standard units

    x -> (x - m) / sd,      score -> sd score,      bounds -> (bounds - m) / sd,

it does not. The standard deviations may be the sample's own: one that is too wide does not hide behind its own, since
the scores are multiplied by it as well. Several samples are compared in the units of one of them, or of a reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from, real_numbers, require_range, require_type
from steinkit.containers.reading import as_sample
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.result import Brief
from steinkit.sample import DistinctSample, Floats, default_names
from steinkit.target import Seed, Target, require_target
from steinkit.text import listed

Kind = Literal["own", "reference", "pilot", "given", "raw"]

_REFERENCE_DRAWS = 10_000
_WANTED = "'own', 'raw', or a scale for each coordinate"


@dataclass(frozen=True, eq=False, repr=False)
class Units(Brief):
    """Centre and scale of every coordinate.

    Attributes
    ----------
    kind : {"own", "reference", "pilot", "given", "raw"}
        Whether the scale is the sample's own standard deviations, those of draws from the target or of a pilot sample,
        was given, or is 1.
    centre : ndarray, shape (d,)
        Origin of each coordinate, in the draws' unit.
    scale : ndarray, shape (d,)
        Unit of each coordinate, in the draws' unit; positive.
    names : tuple of str
        Of the coordinates.
    """

    kind: Kind
    centre: Floats
    scale: Floats
    names: tuple[str, ...]

    @classmethod
    def of(cls, units: UnitsLike, sample: DistinctSample) -> Units:
        """What a user means by units, for a sample.

        Parameters
        ----------
        units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
            The sample's own standard deviations; none; a scale for each coordinate; or a mapping as `document` makes
            it, of which "scale", by the names of the coordinates or in their order, is enough.
        sample : DistinctSample
            Whose coordinates they are to be units of, as `Sample.distinct` gives it.

        Returns
        -------
        Units
            Of the sample's coordinates, in their order.

        Raises
        ------
        UsageError
            If it is no such thing.
        InputError
            If a coordinate never changes, which then has no unit of its own; or if the units are those of coordinates
            of other names.
        """
        if isinstance(units, Units):
            return units._of_names(sample.names)
        if isinstance(units, Mapping):
            if "scale" not in units:
                raise UsageError(f'units need the key "scale", as in {{"scale": [1.0, 0.5]}}; received {dict(units)!r}')
            kind, scale = units.get("kind", "given"), units["scale"]
            if kind not in get_args(Kind):
                known = ", ".join(get_args(Kind))
                raise UsageError(f"the kind of units must be one of {known}; received {kind!r}")
            if kind == "raw":
                return cls.of("raw", sample)
            if isinstance(scale, Mapping):
                scale = {str(name): value for name, value in scale.items()}
                _require_names(tuple(scale), sample.names)
                scale = [scale[name] for name in sample.names]
            return replace(cls.of(scale, sample), kind=kind)
        if isinstance(units, str):
            if units == "raw":
                return cls("raw", np.zeros(sample.dim), np.ones(sample.dim), sample.names)
            if units != "own":
                hint = did_you_mean(units, ("own", "raw"))
                raise UsageError(f"units must be {_WANTED}; received {units!r}{hint}")
            return cls._own(sample)
        return cls("given", sample.weights @ sample.points, _checked(units, sample.dim), sample.names)

    @classmethod
    def reference(cls, target: Target, names: tuple[str, ...], rng: Seed = 0) -> Units:
        """The standard deviations of 10,000 independent draws from the target.

        Parameters
        ----------
        target : Target
            One that can be drawn from.
        names : tuple of str
            Of the d coordinates.
        rng : int, numpy.random.Generator or None
            Seed of the draws.

        Returns
        -------
        Units
            Centred at the mean of these draws.

        Raises
        ------
        UsageError
            If the target cannot be drawn from.
        InputError
            If it has another number of coordinates than there are names.
        """
        drawn = as_sample(target.sample(_REFERENCE_DRAWS, generator_from(rng)))
        if drawn.dim != len(names):
            raise InputError(f"the target has {drawn.dim} coordinates, the draws have {len(names)}: {', '.join(names)}")
        return replace(cls._own(replace(drawn, names=names).distinct()), kind="reference")

    @classmethod
    def _own(cls, sample: DistinctSample) -> Units:
        centre, scale = sample.weights @ sample.points, np.zeros(sample.dim)
        for j, column in enumerate(sample.points.T):
            with np.errstate(over="ignore"):  # refused at once
                deviations = column - centre[j]
                if not np.isfinite(deviations).all():
                    raise InputError("the range of the draws overflows: rescale them")
            largest = float(np.abs(deviations).max())  # squares of the deviations themselves may overflow
            if (column != column[0]).any():  # the mean of a constant is rounded
                deviations /= largest
                deviations *= deviations
                scale[j] = largest * np.sqrt(sample.weights @ deviations)
        still = [name for name, unit in zip(sample.names, scale, strict=True) if not unit > 0.0]
        if still:
            raise InputError(f"{without_units(still)}: leave out what does not vary, give units, or take raw ones")
        return cls("own", centre, scale, sample.names)

    @property
    def document(self) -> dict[str, Any]:
        """The units as JSON keeps them."""
        return {"kind": self.kind, "scale": dict(zip(self.names, self.scale.tolist(), strict=True))}

    def from_bounds(self, bounds: Floats | None) -> Units:
        """These units with the origin of bounded coordinates at a bound, so that distances to it are not rounded.

        Parameters
        ----------
        bounds : ndarray, shape (d, 2), or None
            Lower and upper bound of each coordinate, in the draws' unit; infinite where there is none.

        Returns
        -------
        Units
            Centred at the lower bound, where that is infinite at the upper one, else where these are.
        """
        if bounds is None:
            return self
        lower, upper = bounds.T
        centre = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, self.centre))
        return replace(self, centre=centre)

    def points(self, points: Floats) -> Floats:
        """Points in these units.

        Parameters
        ----------
        points : ndarray, shape (..., d)
            In the draws' unit.

        Returns
        -------
        ndarray, shape (..., d)
            (points - centre) / scale.

        Raises
        ------
        InputError
            If one overflows.
        """
        with np.errstate(over="ignore"):
            return finite_in_units((points - self.centre) / self.scale, "draws")

    def limits(self, bounds: Floats) -> Floats:
        """Bounds in these units.

        Parameters
        ----------
        bounds : ndarray, shape (d, 2)
            Lower and upper bound of each coordinate, in the draws' unit.

        Returns
        -------
        ndarray, shape (d, 2)
            (bounds - centre) / scale; one that overflows is infinite, as good as none.
        """
        with np.errstate(over="ignore"):
            return np.asarray((bounds - self.centre[:, None]) / self.scale[:, None])

    def scores(self, scores: Floats) -> Floats:
        """Scores in these units.

        Parameters
        ----------
        scores : ndarray, shape (..., d)
            Gradients of a log density, in one over the draws' unit.

        Returns
        -------
        ndarray, shape (..., d)
            scores * scale.

        Raises
        ------
        InputError
            If one overflows.
        """
        with np.errstate(over="ignore"):
            return finite_in_units(scores * self.scale, "scores")

    def _of_names(self, names: tuple[str, ...]) -> Units:
        """These units for coordinates of these names; names that nobody gave stand for any."""
        if names == self.names:
            return self
        if len(names) == len(self.names) and default_names(len(names)) in (names, self.names):
            return replace(self, names=names)
        _require_names(self.names, names)
        order = [self.names.index(name) for name in names]
        return replace(self, centre=self.centre[order], scale=self.scale[order], names=names)


UnitsLike = str | ArrayLike | Mapping[str, Any] | Units


def common_units(units: UnitsLike | None, pilot: DistinctSample, target: Target | None = None, rng: Seed = 0) -> Units:
    """The one scale for all samples that are to be compared.

    Parameters
    ----------
    units : {"own", "reference", "raw"}, array_like of shape (d,), Units, mapping, or None
        What was given is taken as it is. "reference" are the target's standard deviations. "own" and None, which of
        several samples would be several scales, are the target's where it can be drawn from, else the pilot's.
    pilot : DistinctSample
        A sample of those to be compared, or one made for this.
    target : Target, optional
        What the samples are to represent.
    rng : int, numpy.random.Generator or None
        Seed of the draws from the target.

    Returns
    -------
    Units
        To be given as ``units`` wherever one of the samples is measured.

    Raises
    ------
    UsageError
        If "reference" is asked for and the target cannot be drawn from; or as `Units.of` does.
    InputError
        As `Units.of` and `Units.reference` do.
    """
    require_target(target, optional=True)
    require_type(DistinctSample, "a DistinctSample, as Sample.distinct() returns it", pilot=pilot)
    if isinstance(units, str) and units == "reference":
        if target is None:
            raise UsageError("units of a reference need a target that can be drawn from; stored scores have none")
        return Units.reference(target, pilot.names, rng)
    if units is not None and not is_open(units):
        return Units.of(units, pilot)
    if target is not None and target.can_sample:
        return Units.reference(target, pilot.names, rng)
    return replace(Units.of("own", pilot), kind="pilot")


def is_open(units: UnitsLike | None) -> bool:
    """Whether every sample would have a scale of its own, so that the one of several is still to be fixed."""
    return units is None or (isinstance(units, str) and units == "own")


def without_units(names: Sequence[str]) -> str:
    """What is said of coordinates that do not vary."""
    if len(names) == 1:
        return f"{names[0]} is the same in all draws, so it has no unit of its own"
    return f"{listed(names)} are the same in all draws, so they have no units of their own"


def require_variation(values: Floats, names: tuple[str, ...]) -> None:
    """Refuse columns, (n, m), of which one never changes; InputError names it."""
    still = np.flatnonzero((values == values[0]).all(axis=0))
    if len(still):
        raise InputError(f"{without_units([names[k] for k in still])}: leave out what does not vary")


def finite_in_units(values: Floats, what: str = "numbers") -> Floats:
    """Return the values; InputError if one of them is not finite, or neither 0 nor between 1e-100 and 1e100 in size."""
    if not np.isfinite(values).all():
        raise InputError("draws or scores overflow in these units: rescale them, or take other units")
    require_range(values, f"{what} in these units")
    return values


def _checked(scale: ArrayLike, dim: int) -> Floats:
    wanted = f"{dim} positive numbers, one a coordinate"
    values = real_numbers(scale, "units", wanted)
    if values.shape != (dim,) or not (np.isfinite(values).all() and (values > 0.0).all()):
        raise UsageError(f"units must be {wanted}; received {scale!r}")
    return values


def _require_names(known: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    if sorted(known) != sorted(wanted):
        raise InputError(
            f"the units are those of {', '.join(known)}, but the draws have the coordinates {', '.join(wanted)}: "
            "give units for these names, or rename the draws"
        )
