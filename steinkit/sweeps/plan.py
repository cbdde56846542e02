"""What a sweep is to compute: its cells, settings times seeds, and the fingerprints by which they are known again.

A cell is identified by its setting, its seed, the sampler, the target, the measures and their settings, the label,
steinkit's version and the SHA-256 of the user's files.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steinkit import __version__
from steinkit.arguments import number, positive, require_mappings
from steinkit.errors import UsageError, require_known
from steinkit.measures import all_options, default_measure, find_measure, recorded_settings
from steinkit.sweeps.cells import Place
from steinkit.sweeps.identity import digest, operator_fingerprint, recordable, target_fingerprint
from steinkit.sweeps.sampler import SweptSampler, swept_sampler
from steinkit.target import Target
from steinkit.text import setting_key, setting_label, value_label

DEFAULT_SEEDS = 20
MOST_CELLS = 1_000_000


@dataclass(frozen=True)
class Configuration:
    """What is the same in all cells of a sweep.

    Attributes
    ----------
    target : str
        Its name; `target_options` are those of a built-in one, and `fingerprint` hashes what it does and holds.
    sampler : str
        Its name; `options` are those that are the same in all settings, and `code` hashes a user's function.
    measures : tuple of str
    measure_settings : dict
        As JSON keeps them.
    label, version : str
        The user's own words, and steinkit's version.
    """

    target: str
    target_options: dict[str, Any]
    fingerprint: str
    sampler: str
    options: dict[str, Any]
    code: str | None
    measures: tuple[str, ...]
    measure_settings: dict[str, Any]
    label: str
    version: str

    @property
    def subject(self) -> str:
        """The sampler and the target."""
        options = ", ".join(f"{name}={value_label(value)}" for name, value in self.target_options.items())
        return f"{self.sampler} on target {self.target}{f' ({options})' if options else ''}"

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List what was run."""
        found = {
            "target": self.target + (f" ({setting_label(self.target_options)})" if self.target_options else ""),
            "target fingerprint": self.fingerprint,
            "sampler": self.sampler,
            **{f"sampler {name.replace('_', ' ')}": value_label(value) for name, value in self.options.items()},
            "hash of the sampler's code": self.code or "",
            "measures": ", ".join(self.measures),
            "label": self.label,
            "steinkit that ran it": self.version,
        }
        return tuple((name, value) for name, value in found.items() if value)


@dataclass(frozen=True, eq=False)
class Plan:
    """What a sweep is to compute.

    Attributes
    ----------
    target : Target
    identity : dict
        Of the target: its name, its options, and the hash of what it does and holds, as in `Configuration`.
    sampler : SweptSampler
    options : dict
        Options of the sampler that are the same in all settings.
    settings : tuple of dict
        Points of the grid, the last option varying fastest.
    seeds : tuple of int
    measures : tuple of str
    measure_settings : dict
        By their names, with the final tolerance.
    label : str
        The user's own words, part of every fingerprint.
    text : str
        The configuration file, where there is one.
    """

    target: Target
    identity: dict[str, Any]
    sampler: SweptSampler
    options: dict[str, Any]
    settings: tuple[dict[str, Any], ...]
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    measure_settings: dict[str, Any]
    label: str = ""
    text: str = ""

    @property
    def places(self) -> list[Place]:
        """Number of the setting and seed of every cell."""
        return list(itertools.product(range(len(self.settings)), self.seeds))

    def require(self, *, is_kept: bool) -> None:
        """Refuse settings that the sampler does not allow, and records that nobody could tell from others.

        Raises
        ------
        UsageError
            If there are such.
        """
        name = self.sampler.name
        if is_kept and self.sampler.code is None and not self.label:
            raise UsageError(
                f"the sampler {name} comes from no file, or holds more than numbers and words, so its cells could be "
                "mistaken for another's; pass label=, words of yours that change when it does, or leave out the file"
            )
        for setting in self.settings:
            try:
                self.sampler.require(self.target, self.options | setting, self.seeds[0])
            except UsageError as error:
                said = f"nothing was run, for the sampler {name} refuses a setting: {error} ({setting_key(setting)})"
                raise UsageError(said) from None

    def fingerprint(self, setting: int, seed: int) -> str:
        """Hash all that a cell's outcome depends on."""
        return digest(self.run, self.settings[setting], seed)

    @cached_property
    def run(self) -> str:
        """Hash of what is the same in all cells."""
        return digest(vars(self.configuration))

    @cached_property
    def configuration(self) -> Configuration:
        """What is the same in all cells, as records keep it."""
        settings, operator = recorded_settings(self.measure_settings), self.measure_settings.get("operator")
        settings["operator"] = None if operator is None else operator_fingerprint(operator, self.target)
        return Configuration(
            **self.identity,
            sampler=self.sampler.name,
            options=self.options,
            code=self.sampler.code,
            measures=self.measures,
            measure_settings=settings,
            label=self.label,
            version=__version__,
        )


def make_plan(
    target: Target | str,
    sampler: str | Callable[..., Any],
    folder: Path = Path(),
    /,
    *,
    grid: Mapping[str, Sequence[Any]],
    options: Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = DEFAULT_SEEDS,
    measures: Sequence[str] | None = None,
    target_options: Mapping[str, Any] | None = None,
    label: str = "",
    **given: Any,
) -> Plan:
    """Hold what a user gave `sweep` together, and lay out the cells; files named in it are relative to the folder.

    Raises
    ------
    UsageError
        As `sweep` does.
    """
    require_mappings(options=options, target_options=target_options)
    measure_settings = _measure_settings(**given)
    fixed = {name: recordable(value, name) for name, value in (options or {}).items()}
    made, identity = _identified(target, target_options or {}, fixed, folder)
    if measures is None:
        operator = measure_settings.get("operator")
        default = default_measure(made.dim or _start_dimension(fixed), operator=operator)
        measures = (*([] if operator else ["bias"]), default, "ess")
    listed = isinstance(measures, list | tuple) and all(isinstance(name, str) for name in measures)
    if not listed or not measures or len(set(measures)) < len(measures):
        raise UsageError(f"measures must be a list of different measures, ('graph', 'ess') say; received {measures!r}")
    for name in measures:
        find_measure(name)
    if not isinstance(label, str):
        raise UsageError(f"label must be words; received {label!r}")
    found, settings, listed_seeds = swept_sampler(sampler, folder), _grid_settings(grid, fixed), _seed_list(seeds)
    if (cells := len(settings) * len(listed_seeds)) > MOST_CELLS:
        raise UsageError(f"a sweep may have {MOST_CELLS:,} cells at most; {cells:,} are asked for: give fewer values")
    if len(listed_seeds) > 1 and not found.is_random:
        same = f"{len(listed_seeds)} seeds would give the same draws"
        raise UsageError(f"sampler {found.name!r} is not random, and {same}; give seeds=1")
    return Plan(made, identity, found, fixed, settings, listed_seeds, tuple(measures), measure_settings, label)


def _grid_settings(grid: Mapping[str, Sequence[Any]], options: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """All combinations of the grid's values, the last option varying fastest."""
    if not isinstance(grid, Mapping) or not grid:
        raise UsageError(f"grid must name at least one option and its values, step_size=[...] say; received {grid!r}")
    columns: dict[str, list[Any]] = {}
    for name, values in grid.items():
        listed = [] if isinstance(values, str | Mapping) or not np.iterable(values) else list(values)
        if not listed:
            raise UsageError(f"the grid's {name} must be a list of at least one value; received {values!r}")
        if name in options:
            raise UsageError(f"{name} is in the grid and fixed too; leave it out of one of them")
        columns[name] = [recordable(value, f"the grid's {name}") for value in listed]
        if len(set(map(_hashable, columns[name]))) < len(listed):
            raise UsageError(f"the grid's {name} holds a value twice; give it once")
    if (count := math.prod(map(len, columns.values()))) > MOST_CELLS:
        raise UsageError(f"a grid may have {MOST_CELLS:,} settings at most; it has {count:,}: give fewer values")
    return tuple(dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values()))


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _seed_list(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds themselves: 0, 1, ... up to a number of them, or those given."""
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        given = list(range(min(seeds, MOST_CELLS + 1)))
    else:
        given = list(seeds) if np.iterable(seeds) and not isinstance(seeds, str) else []
    if not given:
        raise UsageError(f"seeds must be a positive number of seeds, or a list of them; received {seeds!r}")
    for seed in given:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 63:
            raise UsageError(f"seeds must be whole numbers of at least 0 and below 2^63; received {seed!r}")
    if len(set(given)) < len(given):
        raise UsageError("a seed is given twice, and would give the same draws twice; give each once")
    return tuple(map(int, given))


def measure_setting_names() -> tuple[str, ...]:
    """Settings of the measures that a sweep takes in addition to tolerance and max_seconds."""
    taken = (name for name, option in all_options().items() if option.changes_value)
    return tuple(sorted(set(taken) - {"tolerance", "max_seconds"}))


def _measure_settings(*, tolerance: float = 1e-2, max_seconds: float | None = None, **given: Any) -> dict[str, Any]:
    """The measures' settings by their names."""
    require_known(given, (*measure_setting_names(), "seeds"), "sweep has no option", "the settings of the measures")
    number(tolerance, "tolerance", lambda width: 0.0 < width < 1.0, "between 0 and 1")
    if max_seconds is not None:
        positive(max_seconds, "max_seconds")
    options = all_options()
    found = {
        name: options[name].checked(value if options[name].may_be_object else recordable(value, name))
        for name, value in given.items()
    }
    return found | {"tolerance": float(tolerance), "max_seconds": recordable(max_seconds, "max_seconds")}


def _identified(
    target: Target | str, target_options: Mapping[str, Any], options: Mapping[str, Any], folder: Path
) -> tuple[Target, dict[str, Any]]:
    """The target, and how records know it."""
    if not isinstance(target, str | Target):
        raise UsageError(f"target must be a steinkit.Target, or the name of one; received {type(target).__name__}")
    described = {key: recordable(value, f"target option {key}") for key, value in target_options.items()}
    if isinstance(target, str):
        name, (made, files) = target, _named_target(target, described, _start_dimension(options), folder)
    elif target_options:
        raise UsageError("target_options are for a target given by its name; this one is made already")
    else:
        name, made, files = target.label, target, []
    return made, {"target": name, "target_options": described, "fingerprint": target_fingerprint(made, files)}


def _named_target(name: str, options: dict[str, Any], dim: int, folder: Path) -> tuple[Target, list[Path]]:
    """The target that a name means, built-in or ``path.py:attribute``, and the files it was made from."""
    from steinkit.targets import load_target, make_target

    if ":" in name or name.endswith(".py"):
        if options:
            raise UsageError("target options are for built-in targets; set them inside your Python file instead")
        path = name.rpartition(":")[0] or name
        return load_target(f"{folder / path}{name.removeprefix(path)}"), [folder / path]
    files = [folder / data] if isinstance(data := options.get("data"), str) else []
    resolved = options | {"data": str(files[0])} if files else options
    return make_target(
        name, {key: v if isinstance(v, str) else json.dumps(v) for key, v in resolved.items()}, dim
    ), files


def _start_dimension(options: Mapping[str, Any]) -> int:
    """Dimension that a sampler's start or proposal scale fixes; 1 where they fix none."""
    for name in ("start", "proposal_scale"):
        try:
            shape = np.shape(options.get(name, ()))
        except ValueError:
            raise UsageError(f"{name} must be rows of the same length; received {options[name]!r}") from None
        if not isinstance(options.get(name), str) and len(shape) and shape[-1]:
            return int(shape[-1])
    return 1
