"""What is refused before a sweep runs: a folder that is not its own, and settings that its sampler does not allow.

A folder is one to work in if it is new, empty, or that of the same sweep, be it with a larger grid.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steinkit.describe.writing import setting_key
from steinkit.errors import SteinkitWarning, UsageError
from steinkit.files.streams import read_enclosed
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import CONFIGURATION, INDENT, RECORDS, RESULT, TUNING, first_few, unsealed

_DIFFERENCES_NAMED = 3
_NONE = "none"


def require_folder(
    plan: Plan, directory: Path, *, resume: bool = False, force: bool = False, result: str = RESULT
) -> None:
    """Refuse, before anything is written, a folder in which the sweep would cost the user another one's results.

    The grid, the seeds and racing may be other ones: cells are added then, and none is run twice. So may the data and
    the code of the target: their records are told by their fingerprints.

    Parameters
    ----------
    plan : Plan
    directory : Path
    resume : bool
        Whether there must be a sweep in it to go on with.
    force : bool
        Whether to take it whatever it holds. Records of another sweep stay in it, and are not used; what that sweep
        was and found is no longer written there.
    result : str
        The file that the run leaves: sweeping and tuning keep folders of their own.

    Raises
    ------
    UsageError
        If the folder holds another sweep, or other files and no sweep, or there is none to go on with.
    """
    held = [file.name for file in directory.iterdir()] if directory.is_dir() else []
    holds_sweep = CONFIGURATION in held or RECORDS in held
    if resume and not holds_sweep:
        raise UsageError(
            f"--resume: {directory} holds no sweep to go on with; name its folder, or leave out --resume to begin one"
        )
    if force:
        return
    if other := ({RESULT, TUNING} - {result}) & set(held):
        raise UsageError(f"{directory} holds {other.pop()}, of another command; name another folder")
    foreign = sorted(name for name in held if not name.startswith("."))
    if foreign and not holds_sweep and not set(foreign) <= _BEGUN:
        raise UsageError(
            f"{directory} holds other files and no sweep, {foreign[0]} say; name a new folder, or add --force to keep "
            "the sweep among them"
        )
    differences = list(_differences(_configuration(directory), json.loads(json.dumps(plan.document))))
    if differences:
        shown = first_few(differences, _DIFFERENCES_NAMED)
        raise UsageError(
            f"{directory} is the folder of another sweep: {shown}. Name another folder, or add --force to work "
            "in this one: the other's records stay and are not used, and its result is replaced"
        )


_BEGUN = frozenset({"samples", "damaged", "lock", "owner"})  # of a sweep that was ended before its first record


def _configuration(directory: Path) -> dict[str, Any] | None:
    """What the sweep in the folder was; None if there is none, or its document is damaged."""
    try:
        data = read_enclosed(directory, CONFIGURATION)
    except OSError:
        return None
    try:
        return unsealed(data, INDENT)
    except ValueError:
        return None


def _differences(there: Mapping[str, Any] | None, here: Mapping[str, Any]) -> Iterator[str]:
    """What makes two sweeps different ones, in words."""
    if there is None:
        return
    for name, first, second in (
        ("target", there["target"]["name"], here["target"]["name"]),
        ("sampler", there["sampler"]["name"], here["sampler"]["name"]),
        ("measures", there["measures"], here["measures"]),
    ):
        if first != second:
            yield _told(name, first, second)
            return  # options of the one are none of the other
    for first, second in (
        (there["target"]["options"], here["target"]["options"]),
        (there["sampler"]["options"], here["sampler"]["options"]),
        (_given(there["measure_settings"]), _given(here["measure_settings"])),
    ):
        for name in sorted({*first, *second}):
            if first.get(name) != second.get(name):
                yield _told(name, first.get(name, _NONE), second.get(name, _NONE))


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are set, as earlier versions do not know them all, without units, which a run fixes."""
    return {name: value for name, value in settings.items() if value is not None and name != "units"}


def _told(name: str, there: Any, here: Any) -> str:
    first, second = (each if isinstance(each, str) else json.dumps(each) for each in (there, here))
    return f"{name} {first:.40} there, {second:.40} here"


_SETTINGS_NAMED = 3
_SHORTEST = {"draws": 1, "burn_in": 0, "thin": 1}


def require_runnable(plan: Plan) -> None:
    """Run each setting for one draw, and refuse the sweep if its sampler refuses one of them.

    A user's own sampler is not tried, as nobody knows what it does with fewer draws. What goes wrong in another way is
    left to the cells: it may be one seed's bad luck, or what the sweep is to find out.

    Raises
    ------
    UsageError
        If the sampler does not allow a value; the settings are named, each reason once.
    """
    if plan.sampler.is_users:
        return
    refused: dict[str, list[str]] = {}
    for setting in plan.settings:
        if (reason := _refusal(plan, plan.options | setting)) is not None:
            refused.setdefault(reason, []).append(setting_key(setting))
    if refused:
        told = "; ".join(f"{reason} ({first_few(keys, _SETTINGS_NAMED)})" for reason, keys in refused.items())
        raise UsageError(f"nothing was run, for the sampler {plan.sampler.name} refuses settings: {told}")


def _refusal(plan: Plan, options: Mapping[str, Any]) -> str | None:
    """Why the sampler refuses the options, if it does."""
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore", SteinkitWarning)  # of so short a run
        try:
            plan.sampler.run(plan.target, _shortened(options), plan.seeds[:1])
        except UsageError as error:
            return str(error)
    return None


def _shortened(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options for one draw; what is out of range stays, for the sampler to say so."""
    short = {
        name: least
        for name, least in _SHORTEST.items()
        if (name not in options and name == "draws") or (_is_whole(options.get(name)) and options[name] > least)
    }
    return {**options, **short}


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
