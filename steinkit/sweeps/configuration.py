"""Sweeps written down in TOML: what to draw from, the sampler, the grid, and how to run and to score.

The tables are those of `_TABLES`; ``steinkit sweep --help`` shows a file. Paths are relative to the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.files.streams import read_bytes
from steinkit.measures.options import UNIT_WORDS
from steinkit.measures.units import read_units
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.run import (
    DEFAULT_SEEDS,
    DEFAULT_TOLERANCE,
    make_measure_settings,
    make_plan,
    measure_setting_names,
)

_TABLES = ("target", "target_options", "sampler", "grid", "run")
_OWN_RUN_KEYS = ("seeds", "measures", "tolerance", "max_seconds", "max_memory", "racing", "label")


def read_configuration(path: str | os.PathLike[str], max_memory: float | None = None) -> tuple[Plan, bool]:
    """The plan that a TOML file describes, and whether it asks for racing.

    Parameters
    ----------
    path : path
    max_memory : float, optional
        Bytes, in place of those that the file names.

    Raises
    ------
    InputError
        If the file cannot be read or is no TOML.
    UsageError
        If a key is unknown, or a value not allowed.
    """
    file = Path(path)
    found = _parsed(file)
    _require_known(found, _TABLES, f"{file}")
    _require_kinds(found, file)
    run: dict[str, Any] = dict(found.get("run", {}))
    _require_known(run, (*_OWN_RUN_KEYS, *measure_setting_names()), f"[run] of {file}")
    racing, label, in_file = run.pop("racing", False), run.pop("label", ""), run.pop("max_memory", None)
    if not isinstance(racing, bool):
        raise UsageError(f"{file}: racing must be true or false; received {racing!r}")
    if "operator" in run:
        run["operator"] = _operator(run["operator"], file)
    if isinstance(run.get("units"), str) and run["units"] not in UNIT_WORDS:
        run["units"] = read_units(file.parent / run["units"])
    plan = make_plan(
        found["target"],
        found["sampler"]["name"],
        grid=found["grid"],
        options={name: value for name, value in found["sampler"].items() if name != "name"},
        seeds=run.pop("seeds", DEFAULT_SEEDS),
        measures=run.pop("measures", None),
        target_options=found.get("target_options", {}),
        measure_settings=make_measure_settings(
            run,
            run.pop("tolerance", DEFAULT_TOLERANCE),
            run.pop("max_seconds", None),
            in_file if max_memory is None else max_memory,
        ),
        label=label,
        folder=file.parent,
    )
    return plan, racing


def _operator(reference: Any, file: Path) -> Any:
    from steinkit.discrepancy.operators import RiemannianLangevin
    from steinkit.targets.user_code import load_attribute

    if not isinstance(reference, str):
        raise UsageError(f'{file}: operator must be "path.py:attribute"; received {reference!r}')
    return load_attribute(reference, "operator", RiemannianLangevin, file.parent)


def _parsed(file: Path) -> dict[str, Any]:
    if not os.path.exists(file):
        raise InputError(f"{file} does not exist; name the TOML file that describes the sweep")
    try:
        return tomllib.loads(read_bytes(file, binary=True).decode())
    except UnicodeDecodeError as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    except InputError:
        raise
    except (tomllib.TOMLDecodeError, ValueError, OverflowError, RecursionError) as error:  # dates beyond the calendar
        raise InputError(f"{file} is not valid TOML: {error}") from None


def _require_known(given: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    known = sorted(known)
    for name in given:
        if name not in known:
            raise UsageError(f"{where}: unknown key {name!r}{did_you_mean(name, known)}; known are {', '.join(known)}")


def _require_kinds(found: Mapping[str, Any], file: Path) -> None:
    """Hold the entries to being there and of their kinds."""
    if not isinstance(found.get("target"), str):
        raise UsageError(
            f'{file}: target = "NAME" or "path.py:attribute" must stand first; {_received(found, "target")}'
        )
    for table in ("sampler", "grid"):
        if not isinstance(found.get(table), dict):
            raise UsageError(f"{file}: a table [{table}] is needed; {_received(found, table)}")
    for table in ("target_options", "run"):
        if not isinstance(found.get(table, {}), dict):
            raise UsageError(f"{file}: {table} must be a table, [{table}]; {_received(found, table)}")
    if not isinstance(found["sampler"].get("name"), str):
        raise UsageError(f'{file}: [sampler] needs name = "..."; {_received(found["sampler"], "name")}')


def _received(found: Mapping[str, Any], key: str) -> str:
    return f"received {found[key]!r}" if key in found else "there is none"
