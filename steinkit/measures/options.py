"""What a measure is, its settings as options, the units that samples are judged in, and what taking it gives.

One declaration says what a setting is by default, and how it is written. From a measure's options follow those of the
command line, the keys of a sweep's table [run], the arguments of `compare`, `curve` and `sweep`, and what records hold.

One sample is taken in its own standard deviations, and independent ones beside it each in theirs. Several samples, and
the cells of a sweep, are taken in one scale. With a diffusion operator, a function of raw coordinates, it is raw ones.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from steinkit.errors import Caution, InputError, UsageError, did_you_mean
from steinkit.files.streams import parse_json, read_bytes
from steinkit.measurement import Measurement
from steinkit.result import Claim
from steinkit.sample import Sample
from steinkit.target import Target, as_bounds, require_target

if TYPE_CHECKING:
    from steinkit.units import Units, UnitsLike

UNIT_WORDS = ("own", "reference", "raw")


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is known of a setting.

    Attributes
    ----------
    default : object
    help : str or callable
        A line of help without its full stop, or a function that returns it. Empty where the command line has no
        option for it.
    read : callable
        Reads a word of the command line: a type of Python's, or a function that raises ValueError with what is wanted.
    choices : callable, optional
        Gives the words allowed.
    flag : str
        Name on the command line, if it is not the setting's own.
    switched_on : object, optional
        The value that the option stands for where it takes no word.
    metavar : str, optional
        What the word is called in ``--help``.
    implies : mapping
        By words of the command line: other settings that go with them.
    changes_value : bool
        False of what costs or saves time only: no record holds it, and no sweep takes it.
    of_one_sample : bool
        True of what belongs to ``steinkit score``, and not to references, comparisons, curves and sweeps.
    of_solver : bool
        True of what says how a value is found, and not what is measured.
    default_text : str
        The default in words, where `default` is None and the value is chosen later.
    may_be_object : bool
        Whether values may be more than numbers, words and lists of them.
    checked, recorded : callable
        Give a value in its usual form, or a UsageError if it has none; and as JSON keeps it.
    """

    default: Any = None
    help: str | Callable[[], str] = ""
    read: Callable[[str], Any] = float
    choices: Callable[[], tuple[str, ...]] | None = None
    flag: str = ""
    switched_on: Any = None
    metavar: str | None = None
    implies: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    changes_value: bool = True
    of_one_sample: bool = False
    of_solver: bool = False
    default_text: str = ""

    may_be_object: bool = False
    checked: Callable[[Any], Any] = _as_it_is
    recorded: Callable[[Any], Any] = _as_it_is


def _bounds(value: Any) -> Any:
    return None if value is None else as_bounds(value, None)


def _recorded_bounds(value: Any) -> Any:
    """Pairs with null for an infinity, which JSON lacks."""
    pairs = [] if value is None else as_bounds(value, None).tolist()
    return [[end if np.isfinite(end) else None for end in pair] for pair in pairs] or None


def _stein_factors(value: Any) -> tuple[float, float, float]:
    try:
        first, second, third = map(float, value)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"stein_factors must be three numbers; received {value!r}") from None
    return first, second, third


def _units(value: Any) -> Any:
    if isinstance(value, str) and value not in UNIT_WORDS:
        hint = did_you_mean(value, UNIT_WORDS)
        raise UsageError(
            f"units must be {', '.join(UNIT_WORDS)}, or a scale for each coordinate; received {value!r}{hint}"
        )
    return value


def _recorded_units(value: Any) -> Any:
    """A word, a list, or a scale by names."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    return value.document if hasattr(value, "document") else np.asarray(value, dtype=np.float64).tolist()


_SHARED = {
    "bounds": Option(
        read=str,
        may_be_object=True,
        checked=_bounds,
        recorded=_recorded_bounds,
        metavar="LOWER,UPPER",
        help="Support: once for all, for each in order, or NAME=LOWER,UPPER",
    ),
    "tolerance": Option(
        of_solver=True,
        metavar="X",
        default_text="1e-6; graph from 4-D 1e-3",
        help="Largest relative width of a bracket",
    ),
    "max_seconds": Option(
        of_solver=True,
        metavar="S",
        help="Stop after S seconds, with the best bracket or exit code 4",
    ),
    "stein_factors": Option(
        default=(1.0, 1.0, 1.0),
        read=lambda text: _stein_factors(text.split(",")),
        checked=_stein_factors,
        recorded=lambda value: [float(factor) for factor in value],
        metavar="C1,C2,C3",
        help="Bounds on g and its derivatives",
    ),
    "operator": Option(
        read=str,
        may_be_object=True,
        metavar="PATH.PY:NAME",
        help="RiemannianLangevin instance; the file is run",
    ),
    "units": Option(
        read=lambda text: read_units(text),
        may_be_object=True,
        checked=_units,
        recorded=_recorded_units,
        metavar="UNITS",
        default_text="own",
        help="own (sds), reference (the target's), raw or JSON file",
    ),
    "n_jobs": Option(
        default=1,
        read=int,
        flag="jobs",
        of_solver=True,
        metavar="N",
        changes_value=False,
        help="Processors to use; -1 for all",
    ),
    "progress": Option(default=False, read=bool, changes_value=False),
}


def shared(*names: str) -> dict[str, Option]:
    """Settings that several measures have, by their names."""
    return {name: _SHARED[name] for name in names}


Take = Callable[[Sample, Target | None, Mapping[str, Any]], Measurement]


@dataclass(frozen=True)
class Measure:
    """All that is known of a measure.

    Attributes
    ----------
    name, title : str
        By which users ask for it, and by which sentences call it.
    function : str or callable, (sample, target, settings) -> Measurement
        Takes the measure of a sample against a target, with the measure's own settings by their names; or the name of
        a function within `steinkit` that does, imported when first called.
    options : mapping of str to Option
        What it can be told.
    smaller_is_better : bool
        Whether it is a distance from the target.
    claim : {"proved", "found", "estimated"}
        What its values claim: a bracket that is proved, one of which a part is extrapolated, none.
    needs : {"draws", "scores", "target"}
        What it looks at. One that looks at the draws alone cannot see bias.
    reuses_scores : bool
        Whether scores of all draws, evaluated once, serve for the first n of them as well.
    max_dim : int, optional
        Largest dimension it takes.
    has_picture : bool
        Whether `steinkit.plots.picture` draws its results.
    refuses : mapping of str to str
        Settings of other measures that would make its value one of something else, and why; an operator is, for all
        that look at scores and have no such option.
    fixed : mapping
        What the function is told besides, whatever the settings.
    """

    name: str
    title: str
    function: str | Take
    options: Mapping[str, Option] = field(default_factory=dict)
    _: KW_ONLY
    smaller_is_better: bool = True
    claim: Claim = "proved"
    needs: Literal["draws", "scores", "target"] = "scores"
    reuses_scores: bool = False
    max_dim: int | None = None
    has_picture: bool = False
    refuses: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_bracket(self) -> bool:
        """Whether its values come with a bracket."""
        return self.claim != "estimated"

    @property
    def preference(self) -> str:
        """Which values are wanted."""
        return f"{'smaller' if self.smaller_is_better else 'larger'} is better"

    @property
    def better(self) -> str:
        """The claim of one value against another whose bracket lies apart: "proved better"."""
        return f"{self.claim} better" if self.has_bracket else "better"

    def take(self, sample: Sample, target: Target | None, settings: Mapping[str, Any]) -> Measurement:
        """Take it of a sample against a target, with its own settings by their names."""
        if not isinstance(self.function, str):
            return self.function(sample, target, settings)
        module, _, name = self.function.rpartition(".")
        function = getattr(importlib.import_module(f"steinkit.{module}"), name)
        given = {name: value for name, value in settings.items() if value is not None}  # else the function's default
        found: Measurement = function(sample, target, **self.fixed, **given)
        return found

    @property
    def refused(self) -> Mapping[str, str]:
        """All that it refuses, and why."""
        if self.needs == "draws" or "operator" in self.options:
            return self.refuses
        reason = f"measure {self.name} supports only the Langevin operator; operator= is for graph and ksd"
        return {"operator": reason, **self.refuses}

    def settings_from(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Its own settings among those given, and the defaults of the others.

        Raises
        ------
        UsageError
            If there is one that it refuses.
        """
        for name, reason in self.refused.items():
            if given.get(name) is not None:
                raise UsageError(reason)
        return {name: given.get(name, option.default) for name, option in self.options.items()}


def units_of_one(
    sample: Sample, target: Target | None, settings: Mapping[str, Any]
) -> tuple[UnitsLike, tuple[str, ...]]:
    """The units of a sample judged by itself, and what its reader should know of them.

    Raises
    ------
    UsageError
        If those of a reference are asked for that cannot be had.
    """
    from steinkit.scored_sample import named_after
    from steinkit.units import common_units

    units, still = settings.get("units"), _still(sample)
    if isinstance(units, str) and units == "reference":
        return common_units(units, named_after(sample, target).distinct(), target), ()
    if units is not None:
        return units, ()
    if settings.get("operator") is not None:
        return "raw", ()
    return ("raw", (_why_raw(still),)) if still else ("own", ())


def units_of_several(
    samples: Iterable[Sample], target: Target | None, settings: Mapping[str, Any]
) -> tuple[Units | None, tuple[str, ...]]:
    """The one scale for all samples that are to be compared, and what their reader should know of it.

    Where the target cannot be drawn from the first sample with a scale of its own is the pilot; None without samples.

    Raises
    ------
    UsageError, InputError
        As `steinkit.units.common_units` does.
    """
    from steinkit.scored_sample import named_after
    from steinkit.units import common_units, is_open

    require_target(target, optional=True)
    dim = None if target is None else target.dim
    pilots = [named_after(each, target) for each in samples if dim in (None, each.dim)]  # others their measures refuse
    if not pilots:
        return None, ()
    units, pilot, source, notes = settings.get("units"), pilots[0], target, tuple[str, ...]()
    if units is None and settings.get("operator") is not None:
        units = "raw"
    elif is_open(units):
        if settings.get("bounds") is not None and (target is None or target.bounds is None):
            source = None  # cut off by bounds the target is not what is drawn from
        if source is None or not source.can_sample:
            moving = [each for each in pilots if not _still(each)]
            if moving:
                pilot = moving[0]
            else:
                units, notes = "raw", (_why_raw(_still(pilot)),)
    return common_units(units, pilot.distinct(), source), notes


def read_units(path: str | os.PathLike[str]) -> Any:
    """Return one of the words for units, or the units that a JSON file holds: a scale, or the key "units" of a result.

    Raises
    ------
    InputError
        If the file cannot be read or holds no units.
    """
    if path in UNIT_WORDS:
        return path
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


def _still(sample: Sample) -> list[str]:
    """The coordinates that are the same in all draws that carry weight."""
    points = sample.points if sample.weights is None else sample.points[sample.weights > 0.0]
    return [sample.names[j] for j in np.flatnonzero((points == points[0]).all(axis=0))]


def _why_raw(still: list[str]) -> str:
    from steinkit.units import without_units

    return Caution(f"{without_units(still)}: raw units were taken")
