"""Plans of sweeps, created from arguments or TOML files.

A plan lists the cells of a sweep, one for each combination of a setting and a seed. A cell is identified by its setting
and seed, the sampler, the target, the measures and their options, the label, the steinkit version, and SHA-256 hashes
of the user's files.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steinkit import __version__
from steinkit.arguments import number, positive, require_lists, require_mappings, require_type, whole
from steinkit.errors import UsageError, require_known
from steinkit.files.streams import parse_toml, read_bytes
from steinkit.measures import all_options, default_measure, find_measure, recorded_settings
from steinkit.measures.options import UNIT_WORDS, read_units
from steinkit.sweeps.cells import Place, Setting
from steinkit.sweeps.identity import digest, recordable, target_fingerprint
from steinkit.sweeps.sampler import SweptSampler, swept_sampler
from steinkit.target import Target
from steinkit.text import setting_key, setting_label, value_label

DEFAULT_SEEDS = 20
_TABLES = ("grid", "run", "sampler", "target_options")
_RUN = ("seeds", "measures", "budgets", "tolerance", "max_seconds", "label")


@dataclass(frozen=True)
class Configuration:
    """Part of a sweep's description that all cells share.

    All values can be stored as JSON.

    Attributes
    ----------
    target : str
        Name of the target.
    target_options : dict
        Options of a built-in target.
    target_fingerprint : str
        Hash of the target's values and files.
    sampler : str
        Name of the sampler.
    options : dict
        Options of the sampler that are the same in all settings.
    code : str or None
        Hash of a user-supplied sampler function.
    measures : tuple of str
        Names of the measures.
    measure_settings : dict
        Options of the measures.
    label, version : str
        The user's label, and the version of steinkit.
    """

    target: str
    target_options: Setting
    target_fingerprint: str
    sampler: str
    options: Setting
    code: str | None
    measures: tuple[str, ...]
    measure_settings: Setting
    label: str
    version: str

    @property
    def subject(self) -> str:
        """The sampler and the target."""
        options = ", ".join(f"{name}={value_label(value)}" for name, value in self.target_options.items())
        return f"{self.sampler} on target {self.target}{options and f' ({options})'}"

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the names and values of the non-empty attributes."""
        values = vars(self) | {"measures": ", ".join(self.measures), "measure_settings": None}
        return tuple(
            (name.replace("_", " "), setting_label(value) if isinstance(value, dict) else str(value))
            for name, value in values.items()
            if value
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of a sweep: its target, sampler, settings, seeds and measures.

    Attributes
    ----------
    target : Target
        The target.
    sampler : SweptSampler
        The sampler.
    settings : tuple of dict
        Points of the grid, ordered so that the last option varies fastest.
    seeds : tuple of int
        Seeds for the chains of every setting.
    measure_settings : dict
        Options of the measures. The values may be objects.
    configuration : Configuration
        Description of the sweep that is stored in its file.
    budgets : tuple of int
        Budgets of the chains in ascending order. The sampler option ``budget`` is the largest budget. Empty if the
        chains have a single length.
    """

    target: Target
    sampler: SweptSampler
    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    measure_settings: Setting
    configuration: Configuration
    budgets: tuple[int, ...] = ()

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return self.configuration.measures

    @property
    def places(self) -> list[Place]:
        """Setting index and seed of each cell."""
        return list(itertools.product(range(len(self.settings)), self.seeds))

    def options(self, setting: int) -> Setting:
        """Return all options of the sampler for a setting."""
        return self.configuration.options | self.settings[setting]

    def with_options(self, **options: Any) -> Plan:
        """Return a copy of the plan with different fixed sampler options."""
        known = self.configuration
        return replace(self, configuration=replace(known, options=known.options | options))

    def with_units(self, units: Setting) -> Plan:
        """Return a copy of the plan with common units for all cells."""
        known = replace(self.configuration, measure_settings=self.configuration.measure_settings | {"units": units})
        return replace(self, measure_settings=self.measure_settings | {"units": units}, configuration=known)

    def require(self, *, is_kept: bool) -> None:
        """Validate the options of the sampler.

        Raises UsageError if the sampler rejects an option, or if cells are to be stored (`is_kept`) but cannot be
        identified.
        """
        name = self.sampler.name
        if is_kept and self.sampler.code is None and not self.configuration.label:
            raise UsageError(
                f"cells of the sampler {name} cannot be identified, because the sampler is not defined in a file or "
                "contains values other than numbers and strings; pass label= and choose a new label whenever the "
                "sampler changes, or do not pass an output file"
            )
        for setting, values in enumerate(self.settings):
            try:
                self.sampler.require(self.target, self.options(setting), self.seeds[0])
            except UsageError as error:
                raise UsageError(f"the sampler {name} rejects {setting_key(values)}: {error}") from None

    @cached_property
    def run(self) -> str:
        """Hash of the configuration."""
        return digest(vars(self.configuration))

    def fingerprint(self, setting: int, seed: int) -> str:
        """Return a hash of all inputs that determine a cell."""
        return digest(self.run, self.settings[setting], seed)


def make_plan(
    target: Target | str,
    sampler: str | Callable[..., Any],
    folder: Path = Path(),
    /,
    *,
    grid: Mapping[str, Sequence[Any]],
    options: Mapping[str, object] | None = None,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] | None = None,
    budgets: Sequence[int] | None = None,
    target_options: Mapping[str, object] | None = None,
    label: str = "",
    **measure_settings: Any,
) -> Plan:
    """Create a plan from the arguments of `sweep`.

    Relative paths are resolved against `folder`.

    Raises
    ------
    UsageError
        See `sweep`.
    """
    require_mappings(options=options, target_options=target_options)
    require_type(str, "a string", label=label)
    require_lists(budgets=budgets)
    require_type((str, Target), "a steinkit.Target or its name", target=target)
    fixed = {name: recordable(value, name) for name, value in (options or {}).items()}
    lengths = tuple(sorted({whole(budget, "every budget", 1) for budget in (() if budgets is None else budgets)}))
    if lengths and ("budget" in fixed or "budget" in grid):
        raise UsageError("budget must not be an option of the sampler if budgets are given")
    fixed |= {"budget": lengths[-1]} if lengths else {}
    described = {name: recordable(value, f"target option {name}") for name, value in (target_options or {}).items()}
    checked = _measure_settings(**measure_settings)
    made, files = _found_target(target, described, folder)
    if measures is None:
        measures = ("bias", default_measure(made.dim or 1), "ess")
    require_type((list, tuple), "a list of measures", measures=measures)
    for name in measures:
        find_measure(name)
    if not measures or len(set(measures)) < len(measures):
        raise UsageError(f"measures must be a list of distinct measures; got {measures!r}")
    found, settings, seeds = swept_sampler(sampler, folder), _grid_settings(grid), _seed_list(seeds)
    if len(seeds) > 1 and found.known is not None and "seed" not in found.known:
        raise UsageError(f"seeds must be 1 because the sampler {found.name!r} is deterministic; got {len(seeds)}")
    configuration = Configuration(
        target=target if isinstance(target, str) else target.label,
        target_options=described,
        target_fingerprint=target_fingerprint(made, files),
        sampler=found.name,
        options=fixed,
        code=found.code,
        measures=tuple(measures),
        measure_settings=recorded_settings(checked),
        label=label,
        version=__version__,
    )
    return Plan(made, found, settings, seeds, checked, configuration, lengths)


def _grid_settings(grid: Mapping[str, Sequence[Any]]) -> tuple[Setting, ...]:
    """Return all combinations of the values, with the last option varying fastest."""
    if not isinstance(grid, Mapping) or not grid:
        raise UsageError(f"grid must map at least one option to a list of values, step_size=[...]; got {grid!r}")
    columns = {}
    for name, values in grid.items():
        listed = [] if isinstance(values, str | Mapping) or not np.iterable(values) else list(values)
        if not listed:
            raise UsageError(f"the grid's {name} must be a non-empty list of values; got {values!r}")
        columns[name] = [recordable(value, f"the grid's {name}") for value in listed]
        if any(value in columns[name][:k] for k, value in enumerate(columns[name])):
            raise UsageError(f"the grid's {name} must have distinct values; got {values!r}")
    return tuple(dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values()))


def _seed_list(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """Return the given list of seeds, or the seeds 0, ..., n - 1 for an integer n."""
    if not np.iterable(seeds):
        return tuple(range(whole(seeds, "seeds", 1)))
    found = tuple(whole(seed, "every seed", 0) for seed in seeds)
    if not found or len(set(found)) < len(found):
        raise UsageError(f"seeds must be an integer or a list of distinct seeds; got {found}")
    return found


def measure_setting_names() -> tuple[str, ...]:
    """Return the names of the measure options that a sweep accepts.

    The options ``tolerance`` and ``max_seconds`` are omitted because they are separate arguments of `sweep`.
    """
    taken = {name for name, option in all_options().items() if option.changes_value}
    return tuple(sorted(taken - {"tolerance", "max_seconds", "operator"}))


def _measure_settings(*, tolerance: float = 1e-2, max_seconds: float | None = None, **given: Any) -> Setting:
    """Return the options of the measures in their standard form."""
    require_known(given, (*measure_setting_names(), "seeds"), "sweep has no option", "the options of the measures")
    number(tolerance, "tolerance", lambda width: 0.0 < width < 1.0, "between 0 and 1")
    if max_seconds is not None:
        positive(max_seconds, "max_seconds")
    found = {"tolerance": float(tolerance), "max_seconds": max_seconds}
    for name, value in given.items():
        option = all_options()[name]
        found[name] = option.checked(value if option.may_be_object else recordable(value, name))
    return found


def _found_target(target: Target | str, options: Setting, folder: Path) -> tuple[Target, list[Path]]:
    """Return a target and the files where it is defined.

    A string is the name of a built-in target, or ``path.py:attribute``.
    """
    from steinkit.targets import load_target, make_target

    is_built_in = isinstance(target, str) and not (":" in target or target.endswith(".py"))
    if options and not is_built_in:
        raise UsageError(f"target_options must be empty unless the target is built in; got {', '.join(options)}")
    if isinstance(target, Target):
        return target, []
    if not is_built_in:
        return load_target(str(folder / target)), [folder / target.rpartition(":")[0]]
    files = [folder / data] if isinstance(data := options.get("data"), str) else []
    resolved = options | {"data": str(files[0])} if files else options
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in resolved.items()}
    return make_target(target, texts, 1), files


def read_plan(path: str | os.PathLike[str], *, budgets: Sequence[int] = (), **defaults: Any) -> Plan:
    """Create the plan described by a TOML file.

    ``steinkit sweep --help`` shows an example. Relative paths are resolved against the folder of this file.

    Parameters
    ----------
    path : path
        Path of the file.
    budgets : sequence of int
        Budgets, which replace those in the file.
    **defaults
        Values for keys that are missing from the [run] table.

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
    grid, run, sampler, target_options = tables = [found.get(name, {}) for name in _TABLES]
    for title, table in zip(_TABLES, tables, strict=True):
        if not isinstance(table, dict):
            raise UsageError(f"{path}: expected [{title}] to be a table, got {table!r}")
    require_known(run, sorted((*_RUN, *measure_setting_names())), f"[run] in {path}: unknown key", "the keys")
    target, options = found.get("target", ""), dict(sampler)
    name = options.pop("name", "")
    for key, value in (("target", target), ("name of [sampler]", name)):
        if not value or not isinstance(value, str):
            raise UsageError(f'{path}: expected {key} to be "NAME" or "path.py:attribute", got {value!r}')
    if isinstance(units := run.get("units"), str) and units not in UNIT_WORDS:
        run["units"] = read_units(file.parent / units)
    given = {"grid": grid, "options": options, "target_options": target_options, **defaults, **run}
    given |= {"budgets": budgets} if budgets else {}
    return make_plan(target, name, file.parent, **given)
