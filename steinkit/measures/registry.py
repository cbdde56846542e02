"""The measures there are, and the settings they take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from steinkit.describe.numbers import listed
from steinkit.errors import UsageError, did_you_mean
from steinkit.measures.base import Measure, Measurement
from steinkit.measures.definitions import BIAS, CLASSICAL, ESS, GRAPH, KSD, MOMENTS, SLICED, WASSERSTEIN
from steinkit.measures.options import Option
from steinkit.measures.units import units_of_one
from steinkit.sample import Sample
from steinkit.target import Target

_SATURATES_FROM = 3  # dimensions
_MEASURES = {measure.name: measure for measure in (GRAPH, SLICED, MOMENTS, BIAS, CLASSICAL, WASSERSTEIN, KSD, ESS)}


def measure_names() -> tuple[str, ...]:
    """Names of the measures."""
    return tuple(_MEASURES)


def find_measure(name: str) -> Measure:
    """The measure of this name.

    Raises
    ------
    UsageError
        If there is none.
    """
    if name not in _MEASURES:
        known = ", ".join(_MEASURES)
        raise UsageError(f"no measure named {name!r}{did_you_mean(name, _MEASURES)}; the measures are {known}")
    return _MEASURES[name]


def default_measure(dim: int, *, operator: object = None) -> str:
    """The measure to take of samples where nobody names one.

    Up to two dimensions the graph Stein discrepancy, which sees most. Above it saturates at sizes that people have, and
    then prefers samples that are too narrow; the sliced one does not. It knows the Langevin operator only, though: with
    another operator it is the graph's again.
    """
    return GRAPH.name if dim < _SATURATES_FROM or operator is not None else SLICED.name


def all_options() -> dict[str, Option]:
    """The settings of all measures by their names; those that measures share stand at the first."""
    return {name: option for measure in _MEASURES.values() for name, option in measure.options.items()}


def require_taken(settings: Mapping[str, Any], measures: Sequence[str]) -> None:
    """Refuse settings that nobody reads.

    Parameters
    ----------
    settings : mapping
        Settings by their names.
    measures : sequence of str
        The measures that are to be taken.

    Raises
    ------
    UsageError
        If no measure has such a setting, or none of those to be taken; the message names those that have.
    """
    require_known(settings)
    chosen = [find_measure(name) for name in measures]
    for name in settings:
        if not any(name in measure.options or name in measure.refuses for measure in chosen):
            takers = takers_of(name)
            raise UsageError(
                f"{name} is a setting of {listed(takers, most=len(takers))}, and the measures are "
                f"{', '.join(measures)}; leave it out, or measure {' or '.join(takers)} as well"
            )


def require_known(settings: Mapping[str, Any]) -> None:
    """Refuse settings that no measure has.

    Raises
    ------
    UsageError
        If there is one; the message names those there are.
    """
    known = all_options()
    for name in settings:
        if name not in known:
            raise UsageError(
                f"no measure has a setting {name!r}{did_you_mean(name, known)}; the settings are {', '.join(known)}"
            )


def recorded_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings that values depend on, as JSON keeps them; of an operator a record holds the fingerprint instead."""
    return {
        name: option.recorded(settings.get(name, option.default))
        for name, option in all_options().items()
        if option.changes_value
    }


def restored_settings(record: Mapping[str, Any], measure: str) -> dict[str, Any]:
    """The settings of a measure that such a record holds.

    Raises
    ------
    UsageError
        If it was taken with an operator.
    """
    return {
        name: option.restored(record[name]) for name, option in find_measure(measure).options.items() if name in record
    }


def takers_of(setting: str) -> tuple[str, ...]:
    """Names of the measures that have a setting."""
    return tuple(name for name, measure in _MEASURES.items() if setting in measure.options)


def take_measure(
    name: str,
    sample: Sample,
    target: Target | None = None,
    settings: Mapping[str, Any] | None = None,
    *,
    value_alone: bool = False,
    **changes: Any,
) -> Measurement:
    """Take one measure of a sample.

    Parameters
    ----------
    name : str
        One of `measure_names`.
    sample : Sample
    target : Target, optional
        Not needed for ess, nor where the sample stores scores, but by wasserstein.
    settings : mapping, optional
        Settings by their names, which may be of several measures: the measure reads its own.
    value_alone : bool
        Whether the document may lack what the value does not need.
    **changes
        Settings that differ.

    Raises
    ------
    UsageError, InputError, SolverError
        As the measure's own function does.
    """
    measure = find_measure(name)
    if measure.needs == "target" and target is None:
        raise UsageError(f"measure {name} needs a target; stored scores are not enough for it")
    given = {**(settings or {}), **changes}
    require_known(given)
    notes: tuple[str, ...] = ()
    if "units" in measure.options:
        given["units"], notes = units_of_one(sample, target, given)
    take = measure.take_value if value_alone and measure.take_value is not None else measure.take
    found = take(sample, target, measure.settings_from(given))
    return replace(found, warnings=(*found.warnings, *notes)) if notes else found
