"""Units of the parameters in a discrepancy.

A discrepancy in raw units depends on the unit of each parameter. For example, the discrepancy changes if a length is
converted from meters to miles. A discrepancy in standard units does not depend on the raw units. The transformation to
standard units is

    x -> (x - m) / sd,      score -> sd score,      bounds -> (bounds - m) / sd.

The standard deviations can be computed from the sample itself. A standard deviation that is too large does not hide an
error because the scores are multiplied by the same factor. To compare several samples, the units of one sample or of a
reference are used for all samples.
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

UnitsKind = Literal["own", "reference", "pilot", "given", "raw"]

_REFERENCE_DRAWS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Units(Brief):
    """Center and scale of each parameter.

    Attributes
    ----------
    kind : {"own", "reference", "pilot", "given", "raw"}
        Origin of the scale. The scale consists of the standard deviations of the sample itself ("own"), of draws from
        the target ("reference") or of a pilot sample ("pilot"), is specified by the user ("given"), or is 1 ("raw").
    centre : ndarray, shape (d,)
        Origin of each parameter, in its raw unit.
    scale : ndarray, shape (d,)
        Positive scale of each parameter, in its raw unit.
    names : tuple of str
        Names of the parameters.

    Examples
    --------
    >>> import steinkit as sk
    >>> units = sk.Units.of("own", sk.Sample([[0.0, 1.0], [2.0, 5.0]]).distinct())
    >>> units.document
    {'kind': 'own', 'scale': {'x1': 1.0, 'x2': 2.0}}
    """

    kind: UnitsKind
    centre: Floats
    scale: Floats
    names: tuple[str, ...]

    @classmethod
    def of(cls, units: UnitsLike, sample: DistinctSample) -> Units:
        """Convert any accepted form of the argument to the units of a sample.

        Parameters
        ----------
        units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
            "own" selects the standard deviations of the sample, and "raw" the scale 1. An array contains the scale of
            each parameter. A mapping such as `document` must have an item "scale", which is a sequence or a mapping of
            names to scales.
        sample : DistinctSample
            See `Sample.distinct`.

        Returns
        -------
        Units
            Units in the order of the parameters of the sample.

        Raises
        ------
        UsageError
            If `units` has none of these forms.
        InputError
            If a parameter is constant, so that its standard deviation is zero, or if the names of the parameters
            differ.
        """
        if isinstance(units, Units):
            return units if units.names == sample.names else units._of_names(sample.names)
        if isinstance(units, Mapping):
            kind, scale = units.get("kind", "given"), units.get("scale")
            if scale is None or kind not in get_args(UnitsKind):
                raise UsageError(
                    'units must have an item "scale", as in {"scale": [1.0, 0.5]}, and may have a "kind" '
                    f"({', '.join(get_args(UnitsKind))}); got {dict(units)!r}"
                )
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
                raise UsageError(f"units must be 'own', 'raw' or a scale for each parameter; got {units!r}{hint}")
            return cls._own(sample)
        expected = f"{sample.dim} positive numbers, one per parameter"
        scale = real_numbers(units, "units", expected)
        if scale.shape != (sample.dim,) or not (np.isfinite(scale) & (scale > 0.0)).all():
            raise UsageError(f"units must be {expected}; got {units!r}")
        return cls("given", sample.weights @ sample.points, scale, sample.names)

    @classmethod
    def reference(cls, target: Target, names: tuple[str, ...], rng: Seed = 0) -> Units:
        """Return the standard deviations of 10,000 independent draws from a target.

        Parameters
        ----------
        target : Target
            A target with a sampler.
        names : tuple of str
            Names of the d parameters.
        rng : int, numpy.random.Generator or None, default 0
            Random seed.

        Returns
        -------
        Units
            Units, centered at the mean of these draws.

        Raises
        ------
        UsageError
            If the target has no sampler.
        InputError
            If the dimension of the target is not d.
        """
        drawn = as_sample(target.sample(_REFERENCE_DRAWS, generator_from(rng)))
        if drawn.dim != len(names):
            raise InputError(
                f"the target has {drawn.dim} parameters, but the draws have {len(names)}: {', '.join(names)}"
            )
        return replace(cls._own(replace(drawn, names=names).distinct()), kind="reference")

    @classmethod
    def _own(cls, sample: DistinctSample) -> Units:
        centre, scale = sample.weights @ sample.points, np.zeros(sample.dim)
        with np.errstate(over="ignore", invalid="ignore"):  # overflow raises an error after the loop
            for j, column in enumerate(sample.points.T):
                if (column != column[0]).any():  # for a constant column, the computed mean has a rounding error
                    deviations = column - centre[j]
                    largest = float(np.abs(deviations).max())  # squares of unscaled deviations may overflow
                    deviations /= largest
                    deviations *= deviations
                    scale[j] = largest * np.sqrt(sample.weights @ deviations)
        if not np.isfinite(scale).all():
            raise InputError("the range of the draws overflows; rescale the draws")
        if still := [name for name, unit in zip(sample.names, scale, strict=True) if not unit > 0.0]:
            raise InputError(f"{without_units(still)}; omit constant parameters, or pass units=")
        return cls("own", centre, scale, sample.names)

    @property
    def document(self) -> dict[str, Any]:
        """Units as a JSON document."""
        return {"kind": self.kind, "scale": dict(zip(self.names, self.scale.tolist(), strict=True))}

    def from_bounds(self, bounds: Floats | None) -> Units:
        """Return a copy that places the origin of bounded parameters at a bound.

        Distances to this bound are then computed without rounding errors.

        Parameters
        ----------
        bounds : ndarray, shape (d, 2), or None
            Lower and upper bounds of each parameter, in raw units, which are infinite if there is no bound.

        Returns
        -------
        Units
            Units, centered at the lower bound, or at the upper bound if the lower one is infinite.
        """
        if bounds is None:
            return self
        lower, upper = bounds.T
        centre = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, self.centre))
        return replace(self, centre=centre)

    def points(self, points: Floats) -> Floats:
        """Convert points to these units.

        Parameters
        ----------
        points : ndarray, shape (..., d)
            Points in raw units.

        Returns
        -------
        ndarray, shape (..., d)
            (points - centre) / scale.

        Raises
        ------
        InputError
            If a nonzero result is not between 1e-100 and 1e100 in absolute value.
        """
        with np.errstate(over="ignore"):
            return finite_in_units((points - self.centre) / self.scale, "draws")

    def limits(self, bounds: Floats) -> Floats:
        """Convert bounds to these units.

        Parameters
        ----------
        bounds : ndarray, shape (d, 2)
            Lower and upper bounds of each parameter, in raw units.

        Returns
        -------
        ndarray, shape (d, 2)
            Values of (bounds - centre) / scale, which are infinite if they overflow.
        """
        with np.errstate(over="ignore"):
            return np.asarray((bounds - self.centre[:, None]) / self.scale[:, None])

    def scores(self, scores: Floats) -> Floats:
        """Convert scores to these units.

        Parameters
        ----------
        scores : ndarray, shape (..., d)
            Gradients of a log density, per raw unit.

        Returns
        -------
        ndarray, shape (..., d)
            scores * scale.

        Raises
        ------
        InputError
            If a nonzero result is not between 1e-100 and 1e100 in absolute value.
        """
        with np.errstate(over="ignore"):
            return finite_in_units(scores * self.scale, "scores")

    def _of_names(self, names: tuple[str, ...]) -> Units:
        """Reorder these units to match the given names. Default names always match."""
        if len(names) == len(self.names) and default_names(len(names)) in (names, self.names):
            return replace(self, names=names)
        _require_names(self.names, names)
        order = [self.names.index(name) for name in names]
        return replace(self, centre=self.centre[order], scale=self.scale[order], names=names)


UnitsLike = str | ArrayLike | Mapping[str, Any] | Units


def common_units(units: UnitsLike | None, pilot: DistinctSample, target: Target | None = None, rng: Seed = 0) -> Units:
    """Return common units for several samples.

    Parameters
    ----------
    units : {"own", "reference", "raw"}, array_like of shape (d,), Units, mapping, or None
        "reference" selects the standard deviations of the target. "own" and None select the standard deviations of the
        target if it has a sampler, and the standard deviations of the pilot sample otherwise, because the units must
        not differ between samples. For other forms, see `Units.of`.
    pilot : DistinctSample
        One of the samples, or a separate sample.
    target : Target, optional
        Target of the samples.
    rng : int, numpy.random.Generator or None, default 0
        Random seed for the draws from the target.

    Returns
    -------
    Units
        Units to be passed as the argument ``units`` of every measurement.

    Raises
    ------
    UsageError
        If "reference" is requested and the target has no sampler. See also `Units.of`.
    InputError
        See `Units.of` and `Units.reference`.

    Examples
    --------
    >>> import steinkit as sk
    >>> pilot = sk.Sample([[0.0, 1.0], [2.0, 5.0]]).distinct()
    >>> sk.common_units(None, pilot).document
    {'kind': 'pilot', 'scale': {'x1': 1.0, 'x2': 2.0}}
    """
    require_target(target, optional=True)
    require_type(DistinctSample, "a DistinctSample, as returned by Sample.distinct()", pilot=pilot)
    is_reference = isinstance(units, str) and units == "reference"
    if is_reference and target is None:
        raise UsageError("units='reference' requires a target with a sampler; got no target")
    if units is not None and not is_open(units) and not is_reference:
        return Units.of(units, pilot)
    if target is not None and (is_reference or target.can_sample):
        return Units.reference(target, pilot.names, rng)
    return replace(Units.of("own", pilot), kind="pilot")


def is_open(units: UnitsLike | None) -> bool:
    """Return True if `units` leads to a different scale for each sample."""
    return units is None or (isinstance(units, str) and units == "own")


def without_units(names: Sequence[str]) -> str:
    """Return a clause about parameters without variation."""
    if len(names) == 1:
        return f"{names[0]} is constant in all draws, so its standard deviation cannot be used as a unit"
    return f"{listed(names)} are constant in all draws, so their standard deviations cannot be used as units"


def require_variation(values: Floats, names: tuple[str, ...]) -> None:
    """Raise InputError if any column of an array is constant."""
    still = np.flatnonzero((values == values[0]).all(axis=0))
    if len(still):
        raise InputError(f"{without_units([names[k] for k in still])}; omit constant parameters")


def finite_in_units(values: Floats, what: str = "numbers") -> Floats:
    """Return the values, or raise InputError if any value is out of range.

    Each value must be 0 or between 1e-100 and 1e100 in absolute value.
    """
    if not np.isfinite(values).all():
        raise InputError(f"{what} overflow in these units; rescale them or use other units")
    require_range(values, f"{what} in these units")
    return values


def _require_names(names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    if sorted(names) != sorted(expected):
        raise InputError(f"expected units for the parameters {', '.join(expected)}, got units for {', '.join(names)}")
