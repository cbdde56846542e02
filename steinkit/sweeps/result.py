"""What a sweep found: its records, the choice by each measure, and how to read both from its folder again."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steinkit import __version__
from steinkit.describe.numbers import sentence
from steinkit.errors import InputError
from steinkit.measures import find_measure
from steinkit.sweeps.choice import Choice, choose
from steinkit.sweeps.store import CONFIGURATION, RECORDS, RESULT, parse_records

Record = dict[str, Any]
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class SweepResult:
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
    measures : tuple of str
    criteria : dict of str to Choice
        The best setting by each measure that at least one cell has a value of.
    cells, failed, reused : int
        Cells in all, those that failed, and those whose records were there before.
    seconds : float
        Wall time of the run.
    racing : dict, optional
        What racing dropped and saved.
    warnings : tuple of str
    """

    records: tuple[Record, ...]
    settings: tuple[dict[str, Any], ...]
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    criteria: dict[str, Choice]
    cells: int
    failed: int
    reused: int
    seconds: float
    racing: dict[str, Any] | None
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        best = "; ".join(f"best by {name}: {words(choice.best)}" for name, choice in self.criteria.items())
        return f"<SweepResult of {self.cells} cells, {self.failed} failed; {best or 'no choice'}>"

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

    @property
    def document(self) -> dict[str, Any]:
        """What ``steinkit sweep --json`` prints."""
        return {
            "criteria": {name: choice.document for name, choice in self.criteria.items()},
            "cells": self.cells,
            "failed": self.failed,
            "failures": self.failures,
            "reused": self.reused,
            "seconds": self.seconds,
            "racing": self.racing,
            "warnings": list(self.warnings),
            "version": __version__,
        }

    def summary(self) -> str:
        """The choice by each measure, the ties and the failures, in words."""
        lines = [
            f"{len(self.settings)} settings, {len(self.seeds)} seeds: {self.cells} cells, {self.reused} of them from "
            f"before, {self.failed} failed; {self.seconds:.1f} s"
        ]
        for name, choice in self.criteria.items():
            lines += ["", *_choice_lines(name, choice)]
        lines += _agreement(self.criteria)
        if self.racing is not None:
            lines += ["", *_racing_lines(self.racing)]
        if self.failed:
            lines += ["", "Failed:", *_failure_lines(self.failures)]
        return "\n".join(lines)


def make_result(
    records: Sequence[Record],
    settings: Sequence[dict[str, Any]],
    seeds: Sequence[int],
    measures: Sequence[str],
    *,
    reused: int,
    seconds: float,
    racing: dict[str, Any] | None,
    notes: Sequence[str],
) -> SweepResult:
    """Choose by every measure, and gather what there is to warn of."""
    criteria: dict[str, Choice] = {}
    running = [i for i, each in enumerate(settings) if racing is None or words(each) not in racing["dropped"]]
    warnings = [*notes, *_cell_warnings(records)]
    for name in measures:
        if any(_has_value(record, name) for record in records):
            criteria[name] = choose(records, name, settings, eligible=running if name == measures[0] else None)
            warnings += [f"{name}: {note}" for note in criteria[name].warnings]
        else:
            warnings.append(f"no cell has a value of measure {name}, so that no setting is chosen by it")
    return SweepResult(
        records=tuple(records),
        settings=tuple(settings),
        seeds=tuple(seeds),
        measures=tuple(measures),
        criteria=criteria,
        cells=len(records),
        failed=sum(record["status"] == "failed" for record in records),
        reused=reused,
        seconds=seconds,
        racing=racing,
        warnings=tuple(warnings),
    )


def read_sweep(directory: str | os.PathLike[str]) -> SweepResult:
    """The result of a sweep that is finished, from its folder.

    Parameters
    ----------
    directory : path

    Raises
    ------
    InputError
        If the folder holds no finished sweep.
    """
    folder = Path(directory)
    configuration, result = (_read_document(folder / name, folder) for name in (CONFIGURATION, RESULT))
    known = parse_records((folder / RECORDS).read_bytes(), folder / RECORDS)
    missing = [cell for cell in result["records"] if cell not in known]
    if missing:
        raise InputError(f"{folder / RECORDS} lacks {len(missing)} records of the sweep; run it again on the folder")
    found = result["result"]
    made = make_result(
        [known[cell] for cell in result["records"]],
        configuration["settings"],
        configuration["seeds"],
        configuration["measures"],
        reused=found["reused"],
        seconds=found["seconds"],
        racing=found["racing"],
        notes=(),
    )
    return SweepResult(**vars(made) | {"warnings": tuple(found["warnings"])})


def words(settings: Mapping[str, Any]) -> str:
    """A setting in words."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _read_document(path: Path, folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{folder} holds no finished sweep: there is no {path.name} in it; run 'steinkit sweep CONFIG.toml -o "
            f"{folder}' to its end"
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    return found


def _has_value(record: Record, measure: str) -> bool:
    return any(entry["measure"] == measure and entry["value"] is not None for entry in record["results"])


def _cell_warnings(records: Sequence[Record]) -> list[str]:
    """Warnings of the cells, each measure's with the first as an example."""
    first: dict[str, tuple[str, Record]] = {}
    counts: dict[str, int] = {}
    for record in records:
        for measure in dict.fromkeys(note.partition(":")[0] for note in record["warnings"]):
            counts[measure] = counts.get(measure, 0) + 1
            if measure not in first:
                first[measure] = (next(n for n in record["warnings"] if n.startswith(f"{measure}:")), record)
    return [
        f"{counts[measure]} cell{'s' * (counts[measure] > 1)} came with warnings of measure {note}"
        f" ({words(record['settings'])}, seed {record['seed']})"
        for measure, (note, record) in first.items()
    ]


def _choice_lines(name: str, choice: Choice) -> list[str]:
    measure = find_measure(name)
    better = "smallest" if measure.smaller_is_better else "largest"
    interval = "" if choice.interval is None else f" ({choice.level:.0%} interval {_ends(choice.interval)})"
    lines = [
        f"By {measure.title} ({better} median): {words(choice.best)}, median {choice.median:.4g}{interval}",
    ]
    if choice.ties:
        lines.append(f"  cannot be told from it: {'; '.join(map(words, choice.ties))}")
    width = max(len(words(row.settings)) for row in choice.rows)
    for row in choice.rows:
        shown = "no cells" if not row.scored + row.failed else f"{row.median:<10.4g}"
        ends = "" if row.interval is None else _ends(row.interval)
        failed = f"  {row.failed} failed" if row.failed else ""
        lines.append(f"  {words(row.settings):<{width}}  {shown}  {ends}{failed}".rstrip())
    return lines


def _ends(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.4g} to {interval[1]:.4g}"


def _agreement(criteria: Mapping[str, Choice]) -> list[str]:
    """What a measure that does not see bias, effective sample size, would have chosen instead."""
    others = [choice for name, choice in criteria.items() if find_measure(name).has_bracket]
    blind = next((choice for name, choice in criteria.items() if find_measure(name).needs == "draws"), None)
    if blind is None or not others:
        return []
    chosen, title = others[0], sentence(find_measure(blind.measure).title)
    if blind.best == chosen.best:
        return ["", f"{title}, which does not see bias, chooses the same: {words(blind.best)}."]
    return [
        "",
        f"{title}, which does not see bias, would have chosen {words(blind.best)}; by measure "
        f"{chosen.measure} that is {'as good' if blind.best in chosen.ties else 'worse'}.",
    ]


def _racing_lines(report: Mapping[str, Any]) -> list[str]:
    lines = [
        f"Racing ran {report['cells_run']} cells where the full sweep has {report['cells_full']}, in "
        f"{report['seconds_spent']:.1f} s of work instead of about {report['seconds_full_estimate']:.1f} s "
        f"({report['saved']:.0%} saved)."
    ]
    return lines + [f"  dropped {name}: {reason}" for name, reason in report["dropped"].items()]


def _failure_lines(failures: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line a setting, with the first of its reasons."""
    seeds: dict[str, list[int]] = {}
    reasons: dict[str, str] = {}
    for entry in failures:
        name = words(entry["settings"])
        seeds.setdefault(name, []).extend(entry["seeds"])
        reasons.setdefault(name, entry["reason"])
    return [f"  {name}, {_seeds(seeds[name])}: {reason}" for name, reason in reasons.items()]


def _seeds(seeds: Sequence[int]) -> str:
    shown = ", ".join(map(str, seeds[:_SHOWN])) + (", ..." if len(seeds) > _SHOWN else "")
    return f"seed{'s' * (len(seeds) > 1)} {shown}"
