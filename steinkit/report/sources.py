"""Sweeps and tunings that a report is made of, and how to run them again: by a configuration as a TOML file."""

from __future__ import annotations

import itertools
import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from steinkit.discrepancy.kernel.base_kernels import kernel_names
from steinkit.errors import printable_document
from steinkit.files.streams import read_bytes
from steinkit.measures import all_options, recorded_settings
from steinkit.result import Document
from steinkit.samplers.registry import sampler_names
from steinkit.sweeps.result import SweepResult, finished
from steinkit.sweeps.run import measure_setting_names
from steinkit.sweeps.store import CONFIGURATION, TUNING, Record, Store, sweep_file
from steinkit.sweeps.tuning import TuningResult
from steinkit.targets import target_names
from steinkit.text import target_label

_SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True, eq=False)
class Found:
    """A sweep or tuning that was read.

    Attributes
    ----------
    name : str
        What the reader knows it by.
    document : dict
        What the command printed.
    is_tuning : bool
    records : sequence of dict
        Cells of the sweep, where they are at hand.
    configuration : dict, optional
        As run.
    file : Path, optional
    """

    name: str
    document: Document
    is_tuning: bool = False
    records: Sequence[Document] = ()
    configuration: Document | None = None
    file: Path | None = None

    @property
    def subject(self) -> str:
        """The sampler and its target."""
        if self.configuration is None:
            return self.name
        return f"{self.configuration['sampler']['name']} on target {target_label(self.configuration['target'])}"

    @property
    def listings(self) -> list[tuple[str, str]]:
        """The file and the command that run a sweep again; of objects of a program what was recorded of them."""
        configuration = self.configuration
        if self.is_tuning or configuration is None:
            return []
        if not is_of_names(configuration):
            known = {key: configuration[key] for key in ("target", "sampler", "measure_settings")}
            title = "Objects of a Python program took part, which a page cannot hold. What was recorded of them:"
            return [(title, json.dumps(known, indent=2))]
        racing = " --racing" if configuration["racing"] else ""
        run = f"steinkit sweep sweep.toml -o {shlex.quote(str(self.file))}{racing}"
        return [("sweep.toml", configuration_text(configuration)), ("command", run)]


def read_sweep_source(source: Any) -> Found | None:
    """A sweep or tuning, by its file or in memory; None if it is neither."""
    if isinstance(source, SweepResult):
        return Found("the sweep", source.to_dict(), records=source.records)
    if isinstance(source, TuningResult):
        return Found("the tuning", source.to_dict(), is_tuning=True)
    if not isinstance(source, str | os.PathLike):
        return None
    file = Path(source) if Path(source).is_file() else sweep_file(source)
    if not file.is_file() or not read_bytes(file, binary=True).startswith(_SQLITE):
        return None
    with Store(file, writing=False) as store:
        document, configuration = store.document(TUNING), store.document(CONFIGURATION)
        records: list[Record] = []
        is_tuning = document is not None and configuration is not None
        if not is_tuning:
            configuration, document, records = finished(store)
    assert document is not None  # `finished` sees to it
    return Found(file.name, printable_document(document), is_tuning, records, configuration, file)


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
            run[name] = all_options()["bounds"].restored(value).tolist() if name == "bounds" else value
    return run | ({"label": configuration["label"]} if configuration["label"] else {})


def _holds_nothing(value: Any) -> bool:
    """Whether there is a None in a value, which TOML has no word for."""
    if isinstance(value, Mapping):
        return any(map(_holds_nothing, value.values()))
    return value is None or (isinstance(value, list) and any(map(_holds_nothing, value)))
