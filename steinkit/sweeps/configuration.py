"""Sweeps of the command line: configured in TOML, held to what their sampler allows, in a file of their own.

The tables are those of `_TABLES`; ``steinkit sweep --help`` shows a configuration. Paths are relative to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steinkit.errors import OutputError, SteinkitWarning, UsageError, printable, require_known
from steinkit.files.streams import parse_toml, read_bytes
from steinkit.measures.options import UNIT_WORDS, read_units
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.run import make_plan, measure_setting_names
from steinkit.sweeps.store import CONFIGURATION, RESULT, TUNING, Store, sweep_file
from steinkit.text import setting_key

_TABLES = ("target", "target_options", "sampler", "grid", "ranges", "run")
_OWN_RUN_KEYS = ("seeds", "measures", "tolerance", "max_seconds", "racing", "label", "settings")


def read_configuration(path: str | os.PathLike[str]) -> tuple[Plan, bool]:
    """The plan that a TOML file describes, and whether it asks for racing.

    Parameters
    ----------
    path : path

    Raises
    ------
    InputError
        If the file cannot be read or is no TOML.
    UsageError
        If a key is unknown, or a value not allowed.
    """
    file = Path(path)
    found = _read(file)
    run: dict[str, Any] = dict(found.get("run", {}))
    racing = run.pop("racing", False)
    if "ranges" in found or "settings" in run:
        raise UsageError(f"{file}: [ranges], and settings in [run], are for 'steinkit tune'; give a [grid] instead")
    if not isinstance(racing, bool):
        raise UsageError(f"{file}: racing must be true or false; received {racing!r}")
    return _planned(found, run, file), racing


def read_tuning(path: str | os.PathLike[str]) -> Plan:
    """The settings to choose from that a TOML file describes, by a grid or by ranges; errors as above."""
    from steinkit.sweeps.tuning import DEFAULT_SEEDS, DEFAULT_SETTINGS, MEASURES, sobol_settings

    file = Path(path)
    found = _read(file)
    run = {"seeds": DEFAULT_SEEDS, "measures": MEASURES} | found.get("run", {})
    ranges, count = found.pop("ranges", None), run.pop("settings", DEFAULT_SETTINGS)
    run.pop("racing", None)  # which tuning is
    if ranges is None:
        return _planned(found, run, file)
    if "grid" in found or not isinstance(ranges, dict) or isinstance(count, bool) or not isinstance(count, int):
        raise UsageError(f"{file}: give a table [ranges] or [grid], and settings, in [run], as a whole number")
    plan = _planned(found | {"grid": ranges}, run, file)
    return replace(plan, settings=sobol_settings(ranges, count))


def _read(file: Path) -> dict[str, Any]:
    """What a file says, held to the keys that are known."""
    found = parse_toml(read_bytes(file, binary=True), str(file))
    require_known(found, sorted(_TABLES), f"{file}: unknown key", "known")
    _require_kinds(found, file)
    keys = sorted((*_OWN_RUN_KEYS, *measure_setting_names()))
    require_known(found.get("run", {}), keys, f"[run] of {file}: unknown key", "known")
    return found


def _planned(found: Mapping[str, Any], run: dict[str, Any], file: Path) -> Plan:
    if "operator" in run:
        run["operator"] = _operator(run["operator"], file)
    if isinstance(run.get("units"), str) and run["units"] not in UNIT_WORDS:
        run["units"] = read_units(file.parent / run["units"])
    return make_plan(
        found["target"],
        found["sampler"]["name"],
        file.parent,
        grid=found["grid"],
        options={name: value for name, value in found["sampler"].items() if name != "name"},
        target_options=found.get("target_options"),
        **run,
    )


def write_starting_file(path: str | os.PathLike[str]) -> None:
    """Write a configuration with comments, that runs as it stands; a file that is there is not replaced.

    Raises
    ------
    UsageError
        If there is such a file.
    OutputError
        If it cannot be written.
    """
    file = Path(path)
    try:
        with file.open("x", encoding="utf-8") as stream:
            name, output = (printable(shlex.quote(each)) for each in (file.name, file.stem))
            template = Path(__file__).with_name("starting.toml").read_text(encoding="utf-8")
            stream.write(template.format(name=name, output=output))
    except FileExistsError:
        raise UsageError(f"{file} exists and is not replaced; name a new file, or delete it first") from None
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror}; name another place") from None


def _operator(reference: Any, file: Path) -> Any:
    from steinkit.discrepancy.operators import RiemannianLangevin
    from steinkit.targets.registry import load_attribute

    if not isinstance(reference, str):
        raise UsageError(f'{file}: operator must be "path.py:attribute"; received {reference!r}')
    return load_attribute(reference, "operator", RiemannianLangevin, file.parent)


def _require_kinds(found: Mapping[str, Any], file: Path) -> None:
    """Hold the entries to being there and of their kinds."""
    sampler = found.get("sampler")
    name = sampler.get("name") if isinstance(sampler, dict) else None
    needed: dict[str, tuple[Any, type, str]] = {
        "target": (found.get("target"), str, '"NAME" or "path.py:attribute", first'),
        "[sampler]": (sampler, dict, "a table"),
        "name of [sampler]": (name, str, '"NAME" or "path.py:function"'),
        "[grid]": (found.get("grid", {} if "ranges" in found else None), dict, "a table"),
        "[target_options]": (found.get("target_options", {}), dict, "a table"),
        "[run]": (found.get("run", {}), dict, "a table"),
    }
    for entry, (value, kind, wanted) in needed.items():
        if not isinstance(value, kind):
            raise UsageError(f"{file}: expected {entry} to be {wanted}, got {'none' if value is None else repr(value)}")


def require_file(
    plan: Plan, given: str | os.PathLike[str], *, resume: bool = False, force: bool = False, result: str = RESULT
) -> Path:
    """Return the file of a sweep; refuse, before anything is run, one in which it would replace another's result.

    The grid, the seeds and racing may be other ones: cells are added then, and none is run twice. So may the data and
    the code of the target: their records are told by their fingerprints.

    Parameters
    ----------
    plan : Plan
    given : path
    resume : bool
        Whether there must be a sweep in it to go on with.
    force : bool
        Whether to take the file even if it holds another sweep, whose records stay in it and are not used.
    result : str
        The document that the run leaves: sweeping and tuning keep files of their own.

    Raises
    ------
    UsageError
        If the file holds another sweep, or `resume` finds no sweep in it.
    InputError
        If it is damaged, or not the file of a sweep.
    """
    file = sweep_file(given)
    there, other = None, None
    if file.exists():
        with Store(file) as store:
            there, other = store.document(CONFIGURATION), store.document({RESULT: TUNING, TUNING: RESULT}[result])
    if resume and there is None:
        raise UsageError(
            f"--resume: {file} holds no sweep to go on with; name its file, or leave out --resume to begin one"
        )
    if force or there is None:
        return file
    if other is not None:
        raise UsageError(f"{file} holds a {'tuning' if result == RESULT else 'sweep'}; name another file")
    there, here = _identity(there), _identity(json.loads(json.dumps(plan.document)))
    differing = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if differing:
        shown = "; ".join(
            f"{each} {_short(there.get(each))} there, {_short(here.get(each))} here" for each in differing
        )
        raise UsageError(
            f"{file} is the file of another sweep: {shown}. Name another file, or add --force to work with this one: "
            "the other's records stay and are not used, and its result is replaced"
        )
    return file


def _identity(document: Mapping[str, Any]) -> dict[str, Any]:
    """What makes two sweeps different ones, by names."""
    target, sampler, settings = (document[name] for name in ("target", "sampler", "measure_settings"))
    known = {"target": target["name"], "sampler": sampler["name"], "measures": document["measures"]}
    return {**known, **target["options"], **sampler["options"], **settings, "units": None}  # which a run fixes


def _short(value: Any) -> str:
    return f"{value if isinstance(value, str) else 'none' if value is None else json.dumps(value):.40}"


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
    refused: dict[str, list[str]] = {}
    for setting in () if plan.sampler.is_users else plan.settings:
        options = {"draws": 1} | plan.options | setting
        for name, least in _SHORTEST.items():
            if type(options.get(name)) is int:  # what is out of range stays, for the sampler to say so
                options[name] = min(options[name], least)
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore", SteinkitWarning)  # of so short a run
            try:
                plan.sampler.run(plan.target, options, plan.seeds[:1])
            except UsageError as error:
                refused.setdefault(str(error), []).append(setting_key(setting))
    if refused:
        told = "; ".join(f"{reason} ({keys[0]}{', ...' * (len(keys) > 1)})" for reason, keys in refused.items())
        raise UsageError(f"nothing was run, for the sampler {plan.sampler.name} refuses settings: {told}")
