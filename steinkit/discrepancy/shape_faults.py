"""What bounded moments and slices find wrong, with its coordinates: shapes, and dependence beyond correlation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from steinkit.describe.writing import compact
from steinkit.discrepancy.blame import ALONG_AXIS, Blame, loaded
from steinkit.discrepancy.cross_fitting import Draws, tail_probability
from steinkit.discrepancy.moments.bounded import BoundedFeature, BoundedMoments
from steinkit.discrepancy.sliced.goodness_of_fit import SlicedSteinTest
from steinkit.discrepancy.sliced.misplaced_mass import misplaced_mass
from steinkit.discrepancy.units import Units
from steinkit.sample import Floats

_LEAST_SHARE = 0.5  # of the largest z of its kind, below which nothing is named beside it


def shape_faults(
    bounded: BoundedMoments,
    sliced: SlicedSteinTest,
    standardised: Draws,
    units: Units,
    limits: Floats | None,
    at_most: Mapping[str, float],
) -> list[Blame]:
    """Shapes that are wrong and dependence that no correlation shows, each coordinate or pair once, worst first.

    Parameters
    ----------
    bounded : BoundedMoments
    sliced : SlicedSteinTest
    standardised : Draws
        In these units.
    units : Units
        The draws' own standard deviations.
    limits : ndarray, shape (d, 2), optional
        Bounds of the support, in raw units.
    at_most : mapping
        The p-values of "bounded" and "sliced", corrected for all features and directions, above which nothing is named.
    """
    names = units.names
    directions = len(sliced.z)
    slices = [
        (each.z, each.direction)
        for each in sliced.largest
        if directions * tail_probability(each.z, sliced.n_effective) <= at_most["sliced"]
    ]
    features = [each for each in bounded.largest if each.p_value <= at_most["bounded"]]
    own = [(abs(each.z), np.eye(len(names))[each.coordinates[0]]) for each in features if len(each.coordinates) == 1]
    shapes: dict[frozenset[str], Blame] = {}
    for z, direction in _clear([*slices, *own]):
        fault = _shape(z, direction, standardised, units, limits)
        shapes.setdefault(frozenset(fault.coordinates), fault)
    pairs: dict[frozenset[str], Blame] = {}
    for feature in features:
        if len(feature.coordinates) == 2:
            fault = _given(feature, names)
            pairs.setdefault(frozenset(fault.coordinates), fault)
    largest = max((abs(fault.z) for fault in pairs.values()), default=0.0)
    clear = [fault for fault in pairs.values() if abs(fault.z) >= _LEAST_SHARE * largest]
    return sorted([*shapes.values(), *clear], key=lambda each: -abs(each.z))


def _clear(found: Sequence[tuple[float, Floats]]) -> list[tuple[float, Floats]]:
    """Those about as clear as the clearest, that first, and coordinates before axes."""
    least = _LEAST_SHARE * max((z for z, _ in found), default=0.0)
    kept = [each for each in found if each[0] >= least]
    return sorted(kept, key=lambda each: (np.count_nonzero(each[1]) > 1, -each[0]))


def _shape(z: float, direction: Floats, standardised: Draws, units: Units, limits: Floats | None) -> Blame:
    """The shape along a coordinate, with where draws are too many or too few; or along an axis."""
    involved = np.flatnonzero(direction)
    if len(involved) > 1:
        named = tuple(units.names[j] for j in loaded(direction[None]))
        return Blame("shape", named, z, math.nan, ALONG_AXIS)
    j = int(involved[0])
    bounds = (-math.inf, math.inf)
    if limits is not None:
        low, high = ((limits[j] - units.centre[j]) / units.scale[j]).tolist()
        bounds = (low, high)
    mass = misplaced_mass(standardised.points[:, j], standardised.scores[:, j], standardised.shares, bounds)
    low, high = (units.centre[j] + units.scale[j] * end for end in (mass.low, mass.high))
    return Blame("shape", (units.names[j],), z, abs(mass.excess), f"too {_many(mass.excess)} draws {_where(low, high)}")


def _many(excess: float) -> str:
    return "many" if excess > 0.0 else "few"


def _where(low: float, high: float) -> str:
    if math.isinf(low):
        return f"below {compact(high, 3)}"
    if math.isinf(high):
        return f"above {compact(low, 3)}"
    ends = compact(low, 3), compact(high, 3)
    return f"at {ends[0]}" if ends[0] == ends[1] else f"between {ends[0]} and {ends[1]}"


def _given(feature: BoundedFeature, names: Sequence[str]) -> Blame:
    """A location or spread that depends on another coordinate's distance from its median otherwise than it ought to.

    A positive mean says that near the median of x_i the score of x_j is larger than far from it, and x_j too low; or
    1 + c_j t_j, and x_j too narrow.
    """
    other, own = (names[k] for k in feature.coordinates)
    near = {
        ("location given", True): "too low",
        ("location given", False): "too high",
        ("spread given", True): "too narrow",
        ("spread given", False): "too wide",
    }[feature.kind, feature.mean > 0.0]
    size = abs(feature.mean)
    return Blame(feature.kind, (own, other), feature.z, size, f"{near} where {other} is near its median")  # type: ignore[arg-type]
