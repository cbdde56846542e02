"""What a report is made from, and how to find it again: by commands, and by a sweep's configuration as a TOML file.

A source is a sweep's file, a JSON document that a command printed, or a result in memory.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import tomli_w

from steinkit.comparison import Comparison
from steinkit.curves import Curve
from steinkit.discrepancy.kernel.base_kernels import kernel_names
from steinkit.errors import InputError, UsageError, printable, printable_document
from steinkit.files.streams import parse_json, read_bytes
from steinkit.measures import all_options, recorded_settings
from steinkit.measures.scoring import Scores
from steinkit.report.elements import Listing, Part, Picture
from steinkit.result import Document, Result, Statement, answers
from steinkit.samplers.registry import sampler_names
from steinkit.saved_results import has_arrays, restored
from steinkit.sweeps.result import SweepResult, finished
from steinkit.sweeps.run import measure_setting_names
from steinkit.sweeps.store import CONFIGURATION, TUNING, Record, Store, sweep_file
from steinkit.sweeps.tuning import TuningResult
from steinkit.targets import target_names
from steinkit.text import Table, count, files_label, target_label, units_label

Source: TypeAlias = str | os.PathLike[str] | Result
Kind = Literal["sweep", "tuning", "comparison", "curve", "score"]

_KINDS: dict[Kind, tuple[type[Result], tuple[str, ...], str]] = {
    "sweep": (SweepResult, ("criteria", "cells"), "ran the sweep"),
    "tuning": (TuningResult, ("setting", "rungs"), "tuned it"),
    "comparison": (Comparison, ("samples", "ranking"), "compared them"),
    "curve": (Curve, ("measure", "n", "values"), "measured it"),
    "score": (Scores, ("sample", "results"), "scored it"),
}
"""The class of each, keys that only documents of that kind have, and what the version of steinkit did."""
_SQLITE = b"SQLite format 3\0"
_WANTED = "give the file of a sweep or tuning, or what score, compare, curve, sweep or tune print with --json"


@dataclass(frozen=True, eq=False)
class Found:
    """A source that was read.

    Attributes
    ----------
    name : str
        What the reader knows it by.
    kind : {"sweep", "tuning", "comparison", "curve", "score"}
    document : dict
        What the command printed or would print, control characters of texts escaped.
    records : sequence of dict
        Cells of the sweep, where they are at hand.
    configuration : dict, optional
        Of the sweep or tuning, as run.
    file : Path, optional
        Of the sweep or tuning.
    hashes : dict of str to str
        SHA-256 of the files read, by their names.
    address : str, optional
        Where it was read from, as it was given; None for a result in memory.
    result : Result, optional
        That of the document, where it is in memory or its arrays were kept.
    """

    name: str
    kind: Kind
    document: Document
    records: Sequence[Document] = ()
    configuration: Document | None = None
    file: Path | None = None
    hashes: Mapping[str, str] | None = None
    address: str | None = None
    result: Result | None = None

    @property
    def sample(self) -> str:
        """What the measured sample is called: its file, where the document says that."""
        files = self.document.get("files", ())
        return files_label(files) if files else self.name

    @property
    def subject(self) -> str:
        """The sample or samples and their target, of which a headline speaks."""
        document, configuration = self.document, self.configuration
        if self.kind in ("sweep", "tuning"):
            if configuration is None:
                return self.name
            return f"{configuration['sampler']['name']} on target {target_label(configuration['target'])}"
        what = count(len(document["samples"]), "sample") if self.kind == "comparison" else self.sample
        if document.get("target") is not None:
            return f"{what} against target {target_label(document['target'])}"
        return what

    @property
    def listings(self) -> tuple[Listing, ...]:
        """The command that printed the document, where that says it, or the files and commands that run a sweep again.

        Where objects of a program took part in a sweep, what was recorded of them.
        """
        if "command" in self.document:
            return (Listing("The command", shlex.join(["steinkit", *self.document["command"]])),)
        configuration = self.configuration
        if self.kind != "sweep" or configuration is None:
            return ()
        if not is_of_names(configuration):
            known = {key: configuration[key] for key in ("target", "sampler", "measure_settings")}
            title = "Objects of a Python program took part, which a page cannot hold. What was recorded of them:"
            return (Listing(title, json.dumps(known, indent=2)),)
        racing = " --racing" if configuration["racing"] else ""
        run = f"steinkit sweep sweep.toml -o {shlex.quote(str(self.file))}{racing}"
        return Listing("sweep.toml", configuration_text(configuration)), Listing("The sweep", run)

    def part(
        self,
        headline: str,
        statements: Sequence[Statement],
        *facts: tuple[str, str],
        reservations: Iterable[str] = (),
        pictures: Iterable[Picture] = (),
        tables: Iterable[Table] = (),
    ) -> Part:
        """What a page says of it; below all else facts: those given, the units, the version that made it, hashes."""
        units = units_label(self.document.get("units"))
        known = [("units", units)] if units else []
        known += [(f"steinkit that {_KINDS[self.kind][2]}", self.document["version"])]
        known += [(f"SHA-256 of {name}", value) for name, value in (self.hashes or {}).items()]
        return Part(
            source=self.name,
            subject=self.subject,
            headline=headline,
            answers=answers(statements),
            reservations=(*self.document["warnings"], *reservations),
            pictures=tuple(pictures),
            tables=tuple(tables),
            facts=(*facts, *known),
            listings=self.listings,
        )


def read_source(source: Source) -> Found:
    """Read a source; texts in it are made fit to be shown, for pictures draw them, too.

    Raises
    ------
    InputError
        If a file holds no finished sweep or tuning, and no document that commands print.
    UsageError
        If the source is something else.
    """
    found = _read(source)
    return replace(found, name=printable(found.name), document=printable_document(found.document))


def _read(source: Source) -> Found:
    for kind, (made, *_) in _KINDS.items():
        if isinstance(source, made):
            records = source.records if isinstance(source, SweepResult) else ()
            return Found(f"the {kind}", kind, source.to_dict(), records, result=source)
    if not isinstance(source, str | os.PathLike):
        raise UsageError(
            "a report is made of the file of a sweep or tuning, a JSON document, or a result in memory; received "
            f"{type(source).__name__}"
        )
    if source != "-" and not Path(source).is_file() and (file := sweep_file(source)).is_file():
        source = file  # which was named without its ending
    data = read_bytes(source, binary=True)
    if data.startswith(_SQLITE):
        return _read_file(Path(source), data)
    return _found_in(data, "standard input" if source == "-" else Path(source).name, str(source))


def _read_file(file: Path, data: bytes) -> Found:
    with Store(file, writing=False) as store:
        document, configuration = store.document(TUNING), store.document(CONFIGURATION)
        records: list[Record] = []
        is_tuning = document is not None and configuration is not None
        if not is_tuning:
            configuration, document, records = finished(store)
    kind: Kind = "tuning" if is_tuning else "sweep"
    assert document is not None  # `finished` sees to it
    return Found(file.name, kind, document, records, configuration, file, {file.name: _hash(data)}, str(file))


def _found_in(data: bytes, name: str, source: str) -> Found:
    try:
        document = parse_json(data, name)
    except InputError as error:
        raise InputError(f"{error}; {_WANTED}") from None
    for kind, (_, keys, _) in _KINDS.items():
        if isinstance(document, dict) and all(key in document for key in keys):
            result = restored(data, source) if kind == "score" and has_arrays(source) else None
            return Found(name, kind, document, hashes={name: _hash(data)}, address=source, result=result)
    raise InputError(f"{name} is JSON, but not a result that a report can show; {_WANTED}")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


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
