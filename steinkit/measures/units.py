"""In what units samples are judged where nobody says, or says it by a word.

One sample is taken in its own standard deviations, and independent ones beside it each in theirs. Several samples, and
the cells of a sweep, are taken in one scale. With a diffusion operator, a function of raw coordinates, it is raw ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.errors import Caution, InputError
from steinkit.files.streams import parse_json, read_bytes
from steinkit.measures.options import UNIT_WORDS
from steinkit.sample import Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.units import Units, UnitsLike


def units_of_one(
    sample: Sample, target: Target | None, settings: Mapping[str, Any]
) -> tuple[UnitsLike, tuple[str, ...]]:
    """The units of a sample judged by itself, and what its reader should know of them.

    Raises
    ------
    UsageError
        If those of a reference are asked for that cannot be had.
    """
    units = settings.get("units")
    if isinstance(units, str) and units == "reference":
        return _common(units, sample, target), ()
    if units is not None:
        return units, ()
    if settings.get("operator") is not None:
        return "raw", ()
    if _is_still(sample):
        return "raw", (_why_raw(sample),)
    return "own", ()


def units_of_several(
    samples: Iterable[Sample], target: Target | None, settings: Mapping[str, Any]
) -> tuple[Units | None, tuple[str, ...]]:
    """The one scale for all samples that are to be compared, and what their reader should know of it.

    Where the target cannot be drawn from the first sample with a scale of its own is the pilot; None without samples.

    Raises
    ------
    UsageError, InputError
        As `steinkit.discrepancy.units.common_units` does.
    """
    from steinkit.discrepancy.units import Units, is_open

    dim = None if target is None else target.dim
    pilots = [sample for sample in samples if dim in (None, sample.dim)]  # of the others their measures will complain
    if not pilots:
        return None, ()
    units = settings.get("units")
    if units is None and settings.get("operator") is not None:
        return Units.of("raw", _named(pilots[0], target).distinct()), ()
    has_own_bounds = settings.get("bounds") is not None and (target is None or target.bounds is None)
    source = None if has_own_bounds else target  # cut off by bounds it is not what is drawn from
    asked = not is_open(units)
    if asked or (source is not None and source.can_sample):
        return _common(units, pilots[0], target if asked else source), ()
    moving = next((sample for sample in pilots if not _is_still(sample)), None)
    if moving is None:
        return Units.of("raw", _named(pilots[0], target).distinct()), (_why_raw(pilots[0]),)
    return _common(units, moving, None, names_of=target), ()


def read_units(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """The units that a JSON file holds: a scale, or the key "units" of a document that a command printed.

    Raises
    ------
    InputError
        If the file cannot be read, or holds no units.
    """
    if not os.path.exists(path):
        words = ", ".join(UNIT_WORDS)
        raise InputError(f"units {path}: there is no such file, and the words are {words}")
    found = parse_json(read_bytes(path, binary=True), f"units {path}: the file")
    if isinstance(found, dict) and isinstance(found.get("units"), dict):
        found = found["units"]
    if not isinstance(found, dict) or "scale" not in found:
        raise InputError(
            f'units {path}: the file must hold {{"scale": {{"NAME": NUMBER, ...}}}}, or a document with such "units"'
        )
    return found


def _common(units: UnitsLike | None, pilot: Sample, target: Target | None, *, names_of: Target | None = None) -> Units:
    from steinkit.discrepancy.units import common_units

    return common_units(units, _named(pilot, target or names_of).distinct(), target)


def _named(sample: Sample, target: Target | None) -> Sample:
    """The sample under the target's names where nobody named its coordinates."""
    if target is None or target.names is None or not sample.has_default_names or len(target.names) != sample.dim:
        return sample
    return replace(sample, names=target.names)


def _is_still(sample: Sample) -> bool:
    """Whether a coordinate is the same in all draws that carry weight."""
    return bool(_still(sample).any())


def _still(sample: Sample) -> Any:
    points = sample.points if sample.weights is None else sample.points[sample.weights > 0.0]
    return np.all(points == points[0], axis=0)


def _why_raw(sample: Sample) -> str:
    from steinkit.discrepancy.units import without_units

    still = [sample.names[j] for j in np.flatnonzero(_still(sample))]
    return Caution(f"{without_units(still)}: raw units were taken")
