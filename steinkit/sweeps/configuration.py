"""Sweeps of the command line, configured in TOML; ``steinkit sweep --help`` shows a file. Paths are relative to it."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from steinkit.errors import OutputError, UsageError, printable, require_known
from steinkit.files.streams import parse_toml, read_bytes
from steinkit.measures.options import UNIT_WORDS, read_units
from steinkit.sweeps.plan import Plan, make_plan, measure_setting_names
from steinkit.sweeps.tuning import DEFAULT_SEEDS, DEFAULT_SETTINGS, MEASURES, sobol_settings

_TABLES = ("grid", "ranges", "run", "sampler", "target", "target_options")
_RUN = ("seeds", "measures", "tolerance", "max_seconds", "racing", "label", "settings")


def read_configuration(path: str | os.PathLike[str]) -> tuple[Plan, bool]:
    """Read the plan that a TOML file describes, and whether it asks for racing.

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
    found = _read(path)
    racing = found["run"].pop("racing", False)
    if found["ranges"] or "settings" in found["run"]:
        raise UsageError(f"{path}: [ranges], and settings in [run], are for 'steinkit tune'; give a [grid] instead")
    if not isinstance(racing, bool):
        raise UsageError(f"{path}: racing must be true or false; received {racing!r}")
    return _planned(found, found["grid"], Path(path)), racing


def read_tuning(path: str | os.PathLike[str]) -> Plan:
    """Read the settings to choose from that a TOML file describes, by a grid or by ranges; errors as above."""
    found = _read(path)
    found["run"] = {"seeds": DEFAULT_SEEDS, "measures": MEASURES} | found["run"]
    ranges, count = found["ranges"], found["run"].pop("settings", DEFAULT_SETTINGS)
    found["run"].pop("racing", None)  # which tuning is
    if ranges and found["grid"]:
        raise UsageError(f"{path}: give a table [ranges] or [grid], not both")
    plan = _planned(found, ranges or found["grid"], Path(path))
    return replace(plan, settings=sobol_settings(ranges, count)) if ranges else plan


def _read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says, held to the keys that are known; tables that are not there are empty."""
    data = read_bytes(path, binary=True)
    found = parse_toml(data, str(path))
    require_known(found, _TABLES, f"{path}: unknown key", "known")
    target, tables = found.get("target"), {name: found.get(name, {}) for name in _TABLES if name != "target"}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise UsageError(f"{path}: expected [{name}] to be a table, got {table!r}")
    if not isinstance(target, str):
        raise UsageError(f'{path}: expected target to be "NAME" or "path.py:attribute", got {target!r}')
    require_known(tables["run"], sorted((*_RUN, *measure_setting_names())), f"[run] of {path}: unknown key", "known")
    return {**tables, "target": target, "text": data.decode("utf-8-sig")}


def _planned(found: dict[str, Any], grid: dict[str, Any], file: Path) -> Plan:
    sampler, run = dict(found["sampler"]), found["run"]
    name = sampler.pop("name", None)
    if not isinstance(name, str):
        raise UsageError(f'{file}: expected name of [sampler] to be "NAME" or "path.py:function", got {name!r}')
    if isinstance(units := run.get("units"), str) and units not in UNIT_WORDS:
        run["units"] = read_units(file.parent / units)
    given = {"options": sampler, "target_options": found["target_options"], **run}
    return replace(make_plan(found["target"], name, file.parent, grid=grid, **given), text=found["text"])


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
