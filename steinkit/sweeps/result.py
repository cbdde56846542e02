"""What a sweep found: its records, the choice by each measure, and how to read both from its folder again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steinkit import __version__
from steinkit.arguments import checked
from steinkit.describe.results import Result, in_json
from steinkit.describe.sweep import text
from steinkit.describe.writing import setting_key
from steinkit.errors import Caution, InputError, about, reservations
from steinkit.files.streams import read_enclosed
from steinkit.measures import find_measure
from steinkit.sweeps.choice import Choice, UnrankedError, bracket_of, choose
from steinkit.sweeps.store import CONFIGURATION, INDENT, RECORDS, RESULT, TUNING, Record, parse_records, unsealed


@dataclass(frozen=True, eq=False)
class SweepResult(Result):
    """A sweep's cells and the settings chosen from them.

    Attributes
    ----------
    records : tuple of dict
        One a cell, settings in the order of the grid and seeds in theirs within; each says all that it depends on.
        With racing, settings dropped early have cells with some of the seeds only, which are scored to 1e-2 where
        the final tolerance is tighter.
    settings : tuple of dict
        Points of the grid.
    seeds : tuple of int
        With which each setting was run.
    measures : tuple of str
        By which each cell was scored.
    criteria : dict of str to Choice
        The best setting by each measure that at least one cell has a value of.
    refused : dict of str to str
        By measures whose values settings must not be ordered by: why not.
    reused : int
        Cells whose records were there before.
    seconds : float
        Wall time of the run.
    racing : dict, optional
        What racing dropped and saved.
    units : dict, optional
        The one scale that all cells were scored in, as JSON keeps it; None where no measure has units.
    warnings : tuple of str
        What a reader should know before the choice.
    """

    records: tuple[Record, ...]
    settings: tuple[dict[str, Any], ...]
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    criteria: dict[str, Choice]
    refused: dict[str, str]
    reused: int
    seconds: float
    racing: dict[str, Any] | None
    units: dict[str, Any] | None
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, records: Sequence[Record], notes: Sequence[str], **known: Any) -> SweepResult:
        """Choose by every measure, say why there is no choice by others, and warn of the cells and both.

        Parameters
        ----------
        records : sequence of dict
            What the cells have recorded.
        notes : sequence of str
            Warnings that come first.
        **known
            The other fields.

        Returns
        -------
        SweepResult
            With criteria, refusals and warnings.
        """
        criteria: dict[str, Choice] = {}
        refused: dict[str, str] = {}
        settings, measures, dropped = known["settings"], known["measures"], (known["racing"] or {}).get("dropped", ())
        running = [i for i, each in enumerate(settings) if setting_key(each) not in dropped]
        warnings = [*notes, *_cell_warnings(records)]
        for name in measures:
            if all(bracket_of(record, name) is None for record in records):
                warnings.append(f"no cell has a value of measure {name}, so that no setting is chosen by it")
                continue
            try:
                criteria[name] = choose(records, name, settings, eligible=running if name == measures[0] else None)
            except UnrankedError as error:
                refused[name] = str(error)
                warnings.append(Caution(refused[name]))
                continue
            warnings += [about(name, note) for note in criteria[name].warnings]
        return cls(tuple(records), criteria=criteria, refused=refused, warnings=tuple(warnings), **known)

    def __repr__(self) -> str:
        best = "; ".join(f"best by {name}: {setting_key(choice.best)}" for name, choice in self.criteria.items())
        found = f"{self.cells} cells, {self.failed} failed; {best or 'no choice'}{reservations(self.warnings)}"
        return f"<SweepResult of {found}>"

    @property
    def cells(self) -> int:
        """Cells in all."""
        return len(self.records)

    @property
    def failed(self) -> int:
        """Cells that failed."""
        return sum(record["status"] == "failed" for record in self.records)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """What failed and why: one entry for each reason that cells of a setting gave."""
        grouped: dict[tuple[str, str], dict[str, Any]] = {}
        for record in self.records:
            if record["status"] == "failed":
                key = (json.dumps(record["settings"]), record["reason"])
                entry = {"settings": record["settings"], "seeds": [], "reason": record["reason"]}
                grouped.setdefault(key, entry)["seeds"].append(record["seed"])
        return list(grouped.values())

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit sweep --json`` prints.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        names = ("criteria", "refused", "cells", "failed", "failures", "reused", "seconds", "racing", "units")
        return {name: in_json(getattr(self, name)) for name in (*names, "warnings")} | {"version": __version__}

    def summary(self) -> str:
        """The choice by each measure, the ties and the failures, in words.

        Returns
        -------
        str
            Of several lines, as ``steinkit sweep`` prints it.
        """
        return text(self.to_dict(), find_measure, len(self.settings), len(self.seeds))


@checked
def read_sweep(directory: str | os.PathLike[str]) -> SweepResult:
    """The result of a sweep that is finished, from its folder.

    Parameters
    ----------
    directory : path
        The ``directory`` that the sweep was given.

    Returns
    -------
    SweepResult
        As the sweep returned it, from the cells in the folder.

    Raises
    ------
    InputError
        If the folder holds no finished sweep.
    """
    configuration, found, records = read_folder(directory)
    kept = {name: found[name] for name in ("racing", "reused", "seconds", "units")}
    kept |= {name: tuple(configuration[name]) for name in ("settings", "seeds", "measures")}
    return replace(SweepResult.of(records, (), **kept), warnings=tuple(found["warnings"]))


def read_folder(directory: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any], list[Record]]:
    """What a finished sweep left in its folder: its configuration, what it printed with --json, its records.

    Raises
    ------
    InputError
        If the folder holds no finished sweep.
    """
    folder = Path(directory)
    configuration = _read_document(folder, CONFIGURATION, ("settings", "seeds", "measures"))
    result = _read_document(folder, RESULT, ("result", "records"))
    known, damaged = parse_records(_read_file(folder, RECORDS))
    cells = result["records"]
    if not isinstance(cells, list) or not all(isinstance(cell, str) for cell in cells):
        raise InputError(f"{folder / RESULT} does not list its records by name; run the sweep again on the folder")
    missing = [cell for cell in cells if cell not in known]
    if missing:
        lines = f", damaged in line {min(damaged)}," if damaged else ""
        raise InputError(
            f"{folder / RECORDS}{lines} lacks {len(missing)} records of the sweep; run it again on the folder"
        )
    return configuration, result["result"], [known[cell] for cell in cells]


def _read_document(folder: Path, name: str, keys: Sequence[str]) -> dict[str, Any]:
    data = _read_file(folder, name)
    try:
        found = unsealed(data, INDENT)
    except ValueError as error:
        raise InputError(
            f"{folder / name} is not as a sweep wrote it ({error}): it is damaged; run the sweep again on the folder"
        ) from None
    if any(key not in found for key in keys):
        raise InputError(
            f"{folder / name} is not what a sweep writes, with {', '.join(keys)}; name a folder that it made"
        )
    return found


def _read_file(folder: Path, name: str) -> bytes:
    try:
        return read_enclosed(folder, name)
    except FileNotFoundError:
        if Path(folder, TUNING).is_file():
            raise InputError(f"{folder} holds a tuning, not a sweep; read_result reads its {TUNING}") from None
        raise InputError(
            f"{folder} holds no finished sweep: there is no {name} in it; run 'steinkit sweep CONFIG.toml -o {folder}' "
            "to its end"
        ) from None
    except OSError as error:
        raise InputError(f"{folder / name} cannot be read: {error}") from None


def _cell_warnings(records: Sequence[Record]) -> list[str]:
    """Warnings of the cells, each measure's with the first as an example."""
    told: dict[str, list[tuple[str, Record]]] = {}  # by measures, a cell's first note
    for record in records:
        for measure in dict.fromkeys(note.partition(":")[0] for note in record["warnings"]):
            note = next(each for each in record["warnings"] if each.startswith(f"{measure}:"))
            told.setdefault(measure, []).append((note, record))
    return [
        f"{len(cells)} cell{'s' * (len(cells) > 1)} came with warnings of measure {cells[0][0]}"
        f" ({setting_key(cells[0][1]['settings'])}, seed {cells[0][1]['seed']})"
        for cells in told.values()
    ]
