"""How to find results again: the commands, and the configuration of a sweep as a TOML file."""

from __future__ import annotations

import itertools
import json
import math
import shlex
from collections.abc import Mapping
from typing import Any

import tomli_w

from steinkit.discrepancy.kernel.base_kernels import kernel_names
from steinkit.measures.registry import recorded_settings
from steinkit.report.elements import Listing
from steinkit.samplers.registry import sampler_names
from steinkit.sweeps.run import measure_setting_names
from steinkit.targets import target_names


def sweep_listings(configuration: Mapping[str, Any], folder: str) -> tuple[Listing, ...]:
    """The files and commands that run a sweep again; without them where objects of a program took part."""
    if not is_of_names(configuration):
        known = {key: configuration[key] for key in ("target", "sampler", "measure_settings")}
        title = "Objects of a Python program took part, which a page cannot hold. What was recorded of them:"
        return (Listing(title, json.dumps(known, indent=2)),)
    run = f"steinkit sweep sweep.toml -o {shlex.quote(folder)}" + (" --racing" if configuration["racing"] else "")
    return Listing("sweep.toml", configuration_text(configuration)), Listing("The sweep", run)


def command_listings(document: Mapping[str, Any]) -> tuple[Listing, ...]:
    """The command that printed a document, where the document says it."""
    if "command" not in document:
        return ()
    return (Listing("The command", shlex.join(["steinkit", *document["command"]])),)


def is_of_names(configuration: Mapping[str, Any]) -> bool:
    """Whether all that a sweep was made of has a name that a configuration file can hold."""
    target, settings = configuration["target"]["name"], configuration["measure_settings"]
    sampler = configuration["sampler"]["name"]
    return (
        (target in target_names() or ".py:" in target)
        and (sampler in sampler_names() or ".py:" in sampler)
        and settings["operator"] is None
        and settings["kernel"] in kernel_names()
        and _grid(configuration) is not None
        and not any(map(_holds_nothing, (configuration["target"], configuration["sampler"], configuration["settings"])))
    )


def configuration_text(configuration: Mapping[str, Any]) -> str:
    """A sweep's configuration as a file for ``steinkit sweep``."""
    target, sampler = configuration["target"], configuration["sampler"]
    grid = _grid(configuration)
    assert grid is not None  # is_of_names saw to it
    tables = {
        "target": target["name"],
        "target_options": target["options"],
        "sampler": {"name": sampler["name"], **sampler["options"]},
        "grid": grid,
        "run": _run(configuration),
    }
    return tomli_w.dumps({name: entries for name, entries in tables.items() if entries})


def _grid(configuration: Mapping[str, Any]) -> dict[str, list[Any]] | None:
    """The values of every option, if the settings are all their combinations in order."""
    settings = configuration["settings"]
    grid: dict[str, list[Any]] = {name: [] for name in settings[0]}
    for setting in settings:
        for name, value in setting.items():
            if value not in grid.setdefault(name, []):
                grid[name].append(value)
    product = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    return grid if product == list(settings) else None


def _run(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Seeds, measures, and the settings of the measures that are not the usual ones."""
    seeds, settings = configuration["seeds"], configuration["measure_settings"]
    run: dict[str, Any] = {
        "seeds": len(seeds) if seeds == list(range(len(seeds))) else seeds,
        "measures": configuration["measures"],
        "tolerance": settings["tolerance"],
    }
    if settings["max_seconds"] is not None:
        run["max_seconds"] = settings["max_seconds"]
    usual = recorded_settings({})
    for name in measure_setting_names():
        value = settings.get(name)
        if value is not None and value != usual[name]:
            run[name] = _bounds(value) if name == "bounds" else value
    return run | ({"label": configuration["label"]} if configuration["label"] else {})


def _bounds(pairs: list[list[float | None]]) -> list[list[float]]:
    ends = (-math.inf, math.inf)
    return [[end if found is None else found for found, end in zip(pair, ends, strict=True)] for pair in pairs]


def _holds_nothing(value: Any) -> bool:
    """Whether there is a None in a value, which TOML has no word for."""
    if isinstance(value, Mapping):
        return any(map(_holds_nothing, value.values()))
    return value is None or (isinstance(value, list) and any(map(_holds_nothing, value)))
