"""What a sweep found: its records, the choice by each measure, and how to read both from its file again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from steinkit import __version__
from steinkit.errors import Caution, InputError, about, reservations
from steinkit.measures import find_measure
from steinkit.result import Result, in_json
from steinkit.sweeps.choice import Choice, UnrankedError, bracket_of, choose
from steinkit.sweeps.store import CONFIGURATION, RESULT, TUNING, Record, Store, sweep_file
from steinkit.sweeps.text import text
from steinkit.text import setting_key


@dataclass(frozen=True, eq=False)
class SweepResult(Result):
    """A sweep's cells and the settings chosen from them.

    Attributes
    ----------
    records : tuple of dict
        One a cell, settings in the order of the grid and seeds in theirs within; each says all that it depends on.
        With racing, settings dropped early have cells with some of the seeds only.
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


def read_sweep(file: str | os.PathLike[str]) -> SweepResult:
    """Read the result of a sweep that is finished.

    Parameters
    ----------
    file : path
        The ``file`` that the sweep was given.

    Returns
    -------
    SweepResult
        As the sweep returned it, from the cells in the file.

    Raises
    ------
    UsageError
        If it is a folder, or a process is at work on it.
    InputError
        If it holds no finished sweep, or is damaged.
    """
    with Store(sweep_file(file), writing=False) as store:
        configuration, found, records = finished(store)
    kept = {name: found[name] for name in ("racing", "reused", "seconds", "units")}
    kept |= {name: tuple(configuration[name]) for name in ("settings", "seeds", "measures")}
    return replace(SweepResult.of(records, (), **kept), warnings=tuple(found["warnings"]))


def finished(store: Store) -> tuple[dict[str, Any], dict[str, Any], list[Record]]:
    """Return the configuration of a finished sweep, its JSON document, and its records.

    Raises
    ------
    InputError
        If the file holds no finished sweep.
    """
    configuration, result = store.document(CONFIGURATION), store.document(RESULT)
    if configuration is None or result is None:
        held = "a tuning" if store.document(TUNING) else "no finished sweep"
        raise InputError(f"{store.file} holds {held}; run 'steinkit sweep CONFIG.toml -o {store.file}' to its end")
    try:
        return configuration, result["result"], [store.records[cell] for cell in result["records"]]
    except (KeyError, TypeError) as error:
        raise InputError(f"{store.file} lacks a record of its sweep ({error}); run the sweep again") from None


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
