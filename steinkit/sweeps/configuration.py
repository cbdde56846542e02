"""Configuration of sweeps in TOML files.

``steinkit sweep --help`` shows a file. Paths are relative to the file.
"""

from __future__ import annotations

import os
from pathlib import Path

from steinkit.errors import UsageError, require_known
from steinkit.files.streams import parse_toml, read_bytes
from steinkit.measures.options import UNIT_WORDS, read_units
from steinkit.sweeps.plan import Plan, make_plan, measure_setting_names
from steinkit.sweeps.tuning import DEFAULT_SEEDS, MEASURES

_TABLES = ("grid", "run", "sampler", "target_options")
_RUN = ("seeds", "measures", "tolerance", "max_seconds", "racing", "label")


def read_configuration(path: str | os.PathLike[str], *, for_tuning: bool = False) -> tuple[Plan, bool]:
    """Return the plan in a TOML file, and True if the file requests racing.

    Parameters
    ----------
    path : path
        The file.
    for_tuning : bool
        If True, the default seeds and measures are those of `tune`.

    Raises
    ------
    InputError
        If the file cannot be read or is not valid TOML.
    UsageError
        If a key is unknown, or a value is not allowed.
    """
    file = Path(path)
    found = parse_toml(read_bytes(path, binary=True), str(path))
    require_known(found, (*_TABLES, "target"), f"{path}: unknown key", "the keys")
    target, tables = found.get("target"), {name: found.get(name, {}) for name in _TABLES}
    for table, values in tables.items():
        if not isinstance(values, dict):
            raise UsageError(f"{path}: expected [{table}] to be a table, got {values!r}")
    run, sampler = tables["run"], dict(tables["sampler"])
    require_known(run, sorted((*_RUN, *measure_setting_names())), f"[run] of {path}: unknown key", "the keys")
    name, racing = sampler.pop("name", None), run.pop("racing", False)
    if not isinstance(target, str):
        raise UsageError(f'{path}: expected target to be "NAME" or "path.py:attribute", got {target!r}')
    if not isinstance(name, str):
        raise UsageError(f'{path}: expected name of [sampler] to be "NAME" or "path.py:function", got {name!r}')
    if not isinstance(racing, bool):
        raise UsageError(f"{path}: racing must be true or false; got {racing!r}")
    if isinstance(units := run.get("units"), str) and units not in UNIT_WORDS:
        run["units"] = read_units(file.parent / units)
    if for_tuning:
        run = {"seeds": DEFAULT_SEEDS, "measures": MEASURES} | run
    given = {"options": sampler, "target_options": tables["target_options"], **run}
    return make_plan(target, name, file.parent, grid=tables["grid"], **given), racing
