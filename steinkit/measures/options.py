"""Settings of the measures, the corresponding options, and units.

Each setting of a measure is declared once. These declarations define the command-line options, the keys in the [run]
table of a sweep, the arguments of `compare`, `curve` and `sweep`, and the settings in records.

A single sample and each of its reference samples are measured in units of their own standard deviations. Several
samples, and the cells of a sweep, are compared on a common scale. Diffusion operators are functions of the raw
coordinates and are therefore used with raw units.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np

from steinkit.errors import Caution, InputError, UsageError, did_you_mean
from steinkit.files.streams import parse_json, read_bytes
from steinkit.measurement import Measurement
from steinkit.result import Claim
from steinkit.sample import Sample
from steinkit.scored_sample import selected
from steinkit.target import Target, as_bounds, require_target
from steinkit.units import Units, UnitsLike, common_units, is_open, without_units

UNIT_WORDS = ("own", "reference", "raw")


def on_call(path: str) -> Callable[..., Any]:
    """Return a function that imports and calls a steinkit function.

    The path has the form "module.name". The module is imported on the first call.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(f"steinkit.{module}"), name)(*args, **kwargs)

    return call


@dataclass(frozen=True, kw_only=True)
class Option:
    """A setting of a measure.

    Attributes
    ----------
    default : object
        Default value.
    help : str or callable
        A line of help without the final period, or a function that returns such a line. The help is empty if the
        command line has no such option.
    read : callable
        Converter for command-line text: a Python type, or a function that raises ValueError with the expected form.
    choices : callable, optional
        Function that returns the allowed words.
    flag : str
        Name on the command line, if it differs from the name of the setting.
    metavar : str, optional
        Name of the value in ``--help``.
    changes_value : bool
        False if the setting affects only the cost. Records do not include such a setting, and sweeps have no key for
        it.
    of_solver : bool
        True if the setting affects the computation of a value, but not its definition.
    default_text : str
        Description of the default, if `default` is None and the value is chosen later.
    may_be_object : bool
        True if values may have types other than numbers, text and lists of these.
    checked : callable
        Function that returns a value in its standard form, or raises UsageError.
    """

    default: Any = None
    help: str | Callable[[], str] = ""
    read: Callable[[str], Any] = float
    choices: Callable[[], tuple[str, ...]] | None = None
    flag: str = ""
    metavar: str | None = None
    changes_value: bool = True
    of_solver: bool = False
    default_text: str = ""

    may_be_object: bool = False
    checked: Callable[[Any], Any] = lambda value: value


def _stein_factors(value: Any) -> tuple[float, float, float]:
    try:
        first, second, third = map(float, value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"`stein_factors` must be three numbers; got {value!r}") from None
    return first, second, third


def _units(value: Any) -> Any:
    if isinstance(value, str) and value not in UNIT_WORDS:
        hint = did_you_mean(value, UNIT_WORDS)
        raise UsageError(f"`units` must be {', '.join(UNIT_WORDS)}, or a scale per coordinate; got {value!r}{hint}")
    return value


def recorded(value: Any) -> Any:
    """Convert a value to a form that can be stored as JSON.

    Arrays are converted to lists, infinity to None, and other objects to their repr.
    """
    if isinstance(value, np.ndarray | list | tuple):
        return [recorded(each) for each in np.asarray(value).tolist()]
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, float) and np.isinf(value):
        return None
    if isinstance(value, str | int | float | None):
        return value
    return value.document if isinstance(value, Units) else repr(value)


_SHARED = {
    "bounds": Option(
        read=str,
        may_be_object=True,
        checked=lambda value: None if value is None else as_bounds(value, None),
        metavar="LOWER,UPPER",
        help="Bounds of the support: one pair, one per parameter, or NAME=LOWER,UPPER",
    ),
    "tolerance": Option(
        of_solver=True,
        metavar="X",
        default_text="1e-6, or 1e-3 for graph in four or more dimensions",
        help="Maximum relative width of a bracket",
    ),
    "max_seconds": Option(
        of_solver=True, metavar="S", help="Stop after S seconds, with the best bracket or exit code 4"
    ),
    "stein_factors": Option(
        default=(1.0, 1.0, 1.0),
        read=lambda text: _stein_factors(text.split(",")),
        checked=_stein_factors,
        metavar="C1,C2,C3",
        help="Bounds on g and its derivatives",
    ),
    "operator": Option(
        read=str, may_be_object=True, metavar="PATH.PY:NAME", help="RiemannianLangevin instance (executes the file)"
    ),
    "units": Option(
        read=lambda text: read_units(text),
        may_be_object=True,
        checked=_units,
        metavar="UNITS",
        default_text="own",
        help="Scale: own (sds of the draws), reference (sds of the target), raw or a JSON file",
    ),
    "n_jobs": Option(
        default=1,
        read=int,
        flag="jobs",
        of_solver=True,
        metavar="N",
        changes_value=False,
        help="Number of processors; -1 for all",
    ),
    "progress": Option(default=False, read=bool, changes_value=False),
}


def shared(*names: str) -> dict[str, Option]:
    """Return the options shared by several measures, keyed by name."""
    return {name: _SHARED[name] for name in names}


@dataclass(frozen=True)
class Measure:
    """A measure of sample quality.

    Attributes
    ----------
    name, title : str
        Name on the command line, and name in sentences.
    function : callable, (sample, target, **settings) -> Measurement
        Function that measures a sample against a target. A setting of None stands for the default of the function.
    options : mapping of str to Option
        Settings of the measure.
    smaller_is_better : bool
        True if the measure is a distance from the target.
    claim : {"proved", "found", "estimated"}
        Status of the values, which have a proved bracket, a partly extrapolated bracket, or no bracket.
    needs : {"draws", "scores", "target"}
        Input that the measure requires. A measure that requires only draws cannot detect bias.
    has_plot : bool
        True if `steinkit.plots.plot` draws its results.
    refuses : mapping of str to str
        Settings of other measures that this measure rejects because they contradict it, with the reasons. A measure
        that requires scores and has no option "operator" also rejects an operator.
    plain_seconds : float
        CPU seconds per coordinate of a draw if kernels run as plain Python, or infinity if not known.
    """

    name: str
    title: str
    function: Callable[..., Measurement]
    options: Mapping[str, Option] = field(default_factory=dict)
    _: KW_ONLY
    smaller_is_better: bool = True
    claim: Claim = "proved"
    needs: Literal["draws", "scores", "target"] = "scores"
    has_plot: bool = False
    refuses: Mapping[str, str] = field(default_factory=dict)
    plain_seconds: float = math.inf

    @property
    def has_bracket(self) -> bool:
        """True if values of the measure have brackets."""
        return self.claim != "estimated"

    @property
    def preference(self) -> str:
        """Text that states which values are better, such as "smaller is better"."""
        return f"{'smaller' if self.smaller_is_better else 'larger'} is better"

    @property
    def better(self) -> str:
        """Text for a better sample with a disjoint bracket: "proved better"."""
        return f"{self.claim} better" if self.has_bracket else "better"

    @property
    def refused(self) -> Mapping[str, str]:
        """Settings that the measure rejects, with the reasons."""
        if self.needs == "draws" or "operator" in self.options:
            return self.refuses
        reason = f"measure {self.name} supports only the Langevin operator; operator= requires measure graph"
        return {"operator": reason, **self.refuses}

    def take(self, sample: Sample, target: Target | None, given: Mapping[str, Any]) -> Measurement:
        """Measure a sample, using the given settings that this measure accepts.

        Raises
        ------
        UsageError
            If the measure refuses a setting.
        """
        for name, reason in self.refused.items():
            if given.get(name) is not None:
                raise UsageError(reason)
        settings = {name: given.get(name, option.default) for name, option in self.options.items()}
        return self.function(sample, target, **{name: value for name, value in settings.items() if value is not None})


def units_of_one(
    sample: Sample, target: Target | None, settings: Mapping[str, Any]
) -> tuple[UnitsLike, tuple[str, ...]]:
    """Return the units for a single sample, and notes about these units.

    Raises
    ------
    UsageError
        If units of the target are requested and the target has no sampler.
    """
    units, constant = settings.get("units"), _constant(sample)
    if isinstance(units, str) and units == "reference":
        return common_units(units, selected(sample, target)[0].distinct(), target), ()
    if units is not None:
        return units, ()
    if settings.get("operator") is not None:
        return "raw", ()
    return ("raw", _raw_note(constant)) if constant else ("own", ())


def units_of_several(
    samples: Iterable[Sample], target: Target | None, settings: Mapping[str, Any]
) -> tuple[Units | None, tuple[str, ...]]:
    """Return the common scale of several samples, and notes about this scale.

    The scale is None if there are no samples.

    If the target has no sampler, the scale comes from the first sample without constant coordinates.

    Raises
    ------
    UsageError, InputError
        See `steinkit.units.common_units`.
    """
    require_target(target, optional=True)
    dim = None if target is None else target.dim
    # the measures reject other units
    pilots = [selected(each, target)[0] for each in samples if dim in (None, each.dim)]
    if not pilots:
        return None, ()
    units, pilot, source, notes = settings.get("units"), pilots[0], target, tuple[str, ...]()
    if units is None and settings.get("operator") is not None:
        units = "raw"
    elif is_open(units):
        if settings.get("bounds") is not None and (target is None or target.bounds is None):
            source = None  # the target's sampler ignores the bounds
        if source is None or not source.can_sample:
            pilot = next((each for each in pilots if not _constant(each)), pilot)
            if constant := _constant(pilot):
                units, notes = "raw", _raw_note(constant)
    return common_units(units, pilot.distinct(), source), notes


def read_units(path: str | os.PathLike[str]) -> Any:
    """Return the name of predefined units, or the units read from a JSON file.

    The file contains a scale, or a result with the key "units".

    Raises
    ------
    InputError
        If the file cannot be read or contains no units.
    """
    if path in UNIT_WORDS:
        return path
    if not os.path.exists(path):
        raise InputError(f"units must be {', '.join(UNIT_WORDS)}, or an existing file; got {path}")
    found = parse_json(read_bytes(path, binary=True), f"units {path}: the file")
    if isinstance(found, dict) and isinstance(found.get("units"), dict):
        found = found["units"]
    if not isinstance(found, dict) or "scale" not in found:
        raise InputError(
            f'units {path}: the file must contain {{"scale": {{"NAME": NUMBER, ...}}}}, or a document with such "units"'
        )
    return found


def _constant(sample: Sample) -> list[str]:
    """Return the names of constant coordinates.

    A coordinate is constant if it has the same value in all draws with positive weight.
    """
    points = sample.points if sample.weights is None else sample.points[sample.weights > 0.0]
    return [sample.names[j] for j in np.flatnonzero((points == points[0]).all(axis=0))]


def _raw_note(constant: list[str]) -> tuple[str, ...]:
    return (Caution(f"{without_units(constant)}; raw units were used"),)
