"""What a sweep or tuning found: cells, choices and rungs, and how to read them from its file again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from steinkit import __version__
from steinkit.diagnosis import verdict_text
from steinkit.diagnosis.missed_modes import MissedMode
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.errors import Caution, InputError, about, reservations
from steinkit.measures import find_measure
from steinkit.result import Result, Statement, in_json
from steinkit.sweeps import text as words
from steinkit.sweeps.cells import Cell
from steinkit.sweeps.choice import Choice, UnrankedError, choose
from steinkit.sweeps.plan import Configuration, Plan
from steinkit.sweeps.scheduler import Rung
from steinkit.sweeps.store import Store, sweep_file
from steinkit.text import (
    Table,
    count,
    listed,
    seeds_label,
    sentence,
    setting_key,
    setting_label,
    units_label,
    value_label,
)

_BEST_DRAWS = "May draws of the best setting be used?"


@dataclass(frozen=True)
class Failure:
    """What failed and why: one for each reason that cells of a setting gave."""

    settings: dict[str, Any]
    seeds: tuple[int, ...]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """List the failure as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {name: in_json(value) for name, value in vars(self).items()}


@dataclass(frozen=True, eq=False)
class SweepResult(Result):
    """A sweep's cells and the settings chosen from them.

    Attributes
    ----------
    records : tuple of Cell
        Settings in the order of the grid and seeds in theirs within. With racing, settings dropped early have cells
        with some of the seeds only.
    settings : tuple of dict
        Points of the grid.
    seeds : tuple of int
        With which each setting was run.
    configuration : Configuration
        What was run.
    text : str
        The configuration file, where there is one.
    criteria : dict of str to Choice
        The best setting by each measure that at least one cell has a value of.
    refused : dict of str to str
        By measures whose values settings must not be ordered by: why not.
    racing : dict of str to str, or None
        With racing: the settings that were dropped, and why.
    reused : int
        Cells that were there before.
    warnings : tuple of str
        What a reader should know before the choice.
    seconds : float
        Wall time of the run.
    verdict : Verdict or None
        On the first seed's draws of the best setting.
    unjudged : str or None
        Why there is none.
    missed : MissedMode or None
        A mode that these draws missed and those of another setting found, whose number it holds.
    """

    records: tuple[Cell, ...]
    settings: tuple[dict[str, Any], ...]
    seeds: tuple[int, ...]
    configuration: Configuration
    text: str
    criteria: dict[str, Choice]
    refused: dict[str, str]
    racing: dict[str, str] | None
    reused: int
    warnings: tuple[str, ...]
    seconds: float = 0.0
    verdict: Verdict | None = None
    unjudged: str | None = None
    missed: MissedMode | None = None

    @classmethod
    def of(
        cls, plan: Plan, cells: Sequence[Cell], notes: Sequence[str], racing: dict[str, str] | None, reused: int
    ) -> SweepResult:
        """Choose by every measure, say why there is no choice by others, and warn of the cells and both.

        Parameters
        ----------
        plan : Plan
            Configuration of the sweep.
        cells : sequence of Cell
            Finished cells.
        notes : sequence of str
            Warnings of the run.
        racing : dict or None
            Reasons by setting that a race dropped.
        reused : int
            Number of cells from before.

        Returns
        -------
        SweepResult
            The result.
        """
        criteria: dict[str, Choice] = {}
        refused: dict[str, str] = {}
        running = [i for i, each in enumerate(plan.settings) if setting_key(each) not in (racing or ())]
        warnings = [*notes, *_cell_warnings(cells)]
        for name in plan.measures:
            if not any(name in cell.measures for cell in cells):
                warnings.append(f"no cell has a value of measure {name}, so that no setting is chosen by it")
                continue
            try:
                eligible = running if name == plan.measures[0] else None
                criteria[name] = choose(cells, name, plan.settings, eligible=eligible)
            except UnrankedError as error:
                refused[name] = str(error)
                warnings.append(Caution(refused[name]))
                continue
            warnings += [about(name, note) for note in criteria[name].warnings]
        known = plan.settings, plan.seeds, plan.configuration, plan.text
        return cls(tuple(cells), *known, criteria, refused, racing, reused, tuple(warnings))

    def __repr__(self) -> str:
        best = "; ".join(f"best by {name}: {setting_key(choice.best)}" for name, choice in self.criteria.items())
        found = f"{self.cells} cells, {self.failed} failed; {best or 'no choice'}{reservations(self.warnings)}"
        return f"<SweepResult of {found}>"

    @property
    def cells(self) -> int:
        """Cells in all."""
        return len(self.records)

    @property
    def full(self) -> int:
        """Cells of the whole grid with all seeds."""
        return len(self.settings) * len(self.seeds)

    @property
    def measures(self) -> tuple[str, ...]:
        """By which each cell was scored."""
        return self.configuration.measures

    @property
    def units(self) -> dict[str, Any] | None:
        """The one scale that all cells were scored in, as JSON keeps it; None where no measure has units."""
        units: dict[str, Any] | None = self.configuration.measure_settings["units"]
        return units

    @property
    def failed(self) -> int:
        """Cells that failed."""
        return sum(cell.reason is not None for cell in self.records)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What failed and why."""
        grouped: dict[tuple[str, str], tuple[dict[str, Any], list[int]]] = {}
        for cell in self.records:
            if cell.reason is not None:
                grouped.setdefault((setting_key(cell.settings), cell.reason), (cell.settings, []))[1].append(cell.seed)
        return tuple(Failure(settings, tuple(seeds), reason) for (_, reason), (settings, seeds) in grouped.items())

    @property
    def leading(self) -> str | None:
        """The measure that the sweep goes by: the first discrepancy, else the first; None without a choice."""
        names = [*self.criteria]
        return next((name for name in names if find_measure(name).smaller_is_better), names[0] if names else None)

    @property
    def blind(self) -> str | None:
        """The first measure of a choice that looks at the draws alone, and so does not see bias."""
        return next((name for name in self.criteria if find_measure(name).needs == "draws"), None)

    @property
    def draws(self) -> int | None:
        """Draws of each chain, if they all have the same number."""
        lengths = {cell.draws for cell in self.records if cell.draws}
        return lengths.pop() if len(lengths) == 1 else None

    @property
    def subject(self) -> str:
        """The sampler and the target."""
        return self.configuration.subject

    def headline(self) -> str:
        """Say the choice in one sentence, and what is wrong with draws of the best setting.

        Returns
        -------
        str
            Without its full stop.
        """
        name, faults = self.leading, ["is biased"] if self.verdict is not None and self.verdict.is_biased else []
        faults += ["missed a mode that others found"] if self.missed is not None else []
        said = f"No setting could be chosen: {self.failed} of {count(self.cells, 'cell')} failed"
        if self.refused and name == self.blind:
            titles = listed([find_measure(each).title for each in self.refused])
            said = f"No setting is chosen by {titles}, which may prefer wrong ones here"
        elif name is not None:
            said = words.choice_headline(self.criteria[name])
        return said + (f"; its chain {' and '.join(faults)}" if faults else "")

    def statements(self) -> tuple[Statement, ...]:
        """Say whether draws of the best setting may be used, which it is and how sure that is, and the limits.

        Returns
        -------
        tuple of Statement
            In the order in which they are read.
        """
        found: list[Statement] = []
        if self.verdict is not None:
            found += verdict_text.chosen_statements(self.verdict, self.seeds[0])
        elif self.unjudged is not None:
            found.append(Statement("number", _BEST_DRAWS, verdict_text.unjudged_sentence(self.unjudged)))
        if self.missed is not None:
            said = words.missed_sentence(self.missed, self.settings[self.missed.chain])
            found.append(Statement("limits", "Did its chain visit all modes?", said))
        found += [
            Statement("choice", "Which setting?", f"By {find_measure(name).title} none is chosen: {reason}.")
            for name, reason in self.refused.items()
        ]
        choice = None if self.leading is None else self.criteria[self.leading]
        if choice is not None:
            found += words.choice_statements(choice)
            blind, bias = None if self.blind is None else self.criteria[self.blind], self.criteria.get("bias")
            if bias is not None and choice is not blind:
                asked = "How wrong are its numbers?"
                found.append(Statement("number", asked, words.sizes_sentence(choice, bias, blind)))
            if blind is not None and choice is not blind:
                asked = f"What would {find_measure(blind.measure).title} have picked?"
                found.append(Statement("comparison", asked, words.blind_sentence(choice, blind)))
        failures = [(setting_label(each.settings), each.seeds, each.reason) for each in self.failures]
        found += words.failure_statements(failures, self.failed, self.cells)
        found += [] if self.racing is None else words.race_statements(self.racing, self.cells, self.full)
        if choice is not None:
            found.append(Statement("limits", "What does this not prove?", words.limits_sentence(choice, self.draws)))
        run = f"{count(len(self.settings), 'setting')}, {count(len(self.seeds), 'seed')}: {count(self.cells, 'cell')}, "
        run += f"{self.reused} of them from before, {self.failed} failed; {self.seconds:.1f} s"
        return (*found, Statement("method", "What was run?", run))

    def tables(self) -> tuple[Table, ...]:
        """List the settings by each measure, the leading one first, and what failed.

        Returns
        -------
        tuple of Table
            The most telling one first.
        """
        choices = sorted(self.criteria.values(), key=lambda choice: choice.measure != self.leading)
        rows = [(setting_label(each.settings), seeds_label(each.seeds), each.reason) for each in self.failures]
        failed = [Table("Failures", ("setting", "seeds", "reason"), tuple(rows))] if rows else []
        return (*map(words.choice_table, choices), *failed)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List what was run, and how long it took.

        Returns
        -------
        tuple of pairs of str
            Term and value.
        """
        return (
            ("cells", f"{self.cells}: {self.failed} failed, {self.reused} were reused"),
            *self.configuration.facts(),
            ("seeds", seeds_label(self.seeds)),
            ("racing", value_label(self.racing is not None)),
            *([] if self.units is None else [("units", units_label(self.units))]),
            ("wall time of the last run" if self.reused else "wall time", f"{self.seconds:.1f} s"),
            ("work of all cells", f"{sum(cell.seconds for cell in self.records):.1f} s"),
            *([("CONFIG.toml", self.text)] if self.text else []),
        )

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit sweep --json`` prints.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        names = ["criteria", "refused", "verdict", "unjudged", "cells", "failed", "failures", "reused", "seconds"]
        found = {name: in_json(getattr(self, name)) for name in (*names, "units", "warnings")}
        raced = {"dropped": self.racing, "cells_run": self.cells, "cells_full": self.full}
        missed = None if self.missed is None else {"settings": self.settings[self.missed.chain], **vars(self.missed)}
        return found | {"racing": None if self.racing is None else raced, "missed": missed, "version": __version__}


@dataclass(frozen=True, eq=False)
class TuningResult(Result):
    """The setting chosen, and what it rests on.

    Attributes
    ----------
    setting : dict
    bias, margin : float or None
        Of the setting's chains on the last rung, medians over the seeds, in standard deviations; None if not known.
    rungs : tuple of Rung
    seeds : tuple of int
    resource : str
        In what lengths are counted: "budget", gradient or likelihood evaluations of single data, or "draws".
    spent, full : int
        In that, by the choice, and what the full grid of all settings and seeds would have cost.
    seconds, full_seconds : float
        Work of all processes together, sampling and scores; and that of the full grid, judged by the last rung.
    verdict : Verdict or None
        On a fresh chain of full length, from a seed that took no part in the choice.
    unjudged : str or None
        Why there is none.
    configuration : Configuration
        What was run.
    warnings : tuple of str
        What a reader should know before the choice.
    """

    setting: dict[str, Any]
    bias: float | None
    margin: float | None
    rungs: tuple[Rung, ...]
    seeds: tuple[int, ...]
    resource: str
    spent: int
    full: int
    seconds: float
    full_seconds: float
    verdict: Verdict | None
    unjudged: str | None
    configuration: Configuration
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<TuningResult: {setting_key(self.setting)}, at {self.share:.0%} of the full grid's cost>"

    @property
    def share(self) -> float:
        """Share of the full grid's cost that was spent."""
        return self.spent / self.full

    @property
    def tried(self) -> int:
        """Settings tried."""
        return len(self.rungs[0].losses)

    @property
    def subject(self) -> str:
        """The sampler and the target."""
        return self.configuration.subject

    def headline(self) -> str:
        """Say the setting in one sentence.

        Returns
        -------
        str
            Without its full stop.
        """
        best = f"{setting_label(self.setting)} is the best of {count(self.tried, 'setting')}"
        return sentence(f"{best}, at {self.share:.1%} of the full grid's cost")

    def statements(self) -> tuple[Statement, ...]:
        """Say the setting, its bias, the verdict on a fresh chain, the cost, and how each rung ordered settings.

        Returns
        -------
        tuple of Statement
            In the order in which they are read.
        """
        known, unit = "How far its draws are off is not known.", words.RESOURCES[self.resource]
        if self.bias is not None and self.margin is not None:
            of = f", the median of {len(self.seeds)} seeds" if len(self.seeds) > 1 else ""
            known = f"Its bias is {self.bias:.2g} ± {max(self.margin, 0.001):.1g} sd{of}."
        chosen = f"{sentence(setting_label(self.setting))} is the best of {count(self.tried, 'setting')}. {known}"
        judged = verdict_text.unjudged_sentence(self.unjudged) if self.unjudged else ""
        if self.verdict is not None:
            said = self.verdict.sentence, self.verdict.modes_sentence, self.verdict.untested_sentence
            judged = " ".join(filter(None, said))
        cost = (
            f"The choice took {self.spent:,} {unit}, {self.share:.1%} of the {self.full:,} of the full grid. Its work "
            f"took {self.seconds:.0f} s, scores and any compilation included; that of the full grid would take about "
            f"{self.full_seconds:.0f} s."
        )
        return (
            Statement("choice", "Which setting is best?", chosen),
            Statement("number", "May draws of a fresh chain be used?", judged and f"A fresh chain: {judged}"),
            Statement("comparison", "What did the choice cost?", cost),
            Statement("comparison", "How was it chosen?", words.ladder_sentence(self.rungs, self.resource)),
        )

    def tables(self) -> tuple[Table, ...]:
        """List what each setting lost on each rung, and the biases of the fresh chain.

        Returns
        -------
        tuple of Table
            The most telling one first.
        """
        fresh = () if self.verdict is None else self.verdict.tables()
        ranks = words.rungs_table(self.rungs, self.resource)
        return ranks, *(replace(each, caption=f"A fresh chain: {each.caption}") for each in fresh)

    def facts(self) -> tuple[tuple[str, str], ...]:
        """List what was run.

        Returns
        -------
        tuple of pairs of str
            Term and value.
        """
        return (*self.configuration.facts(), ("seeds", seeds_label(self.seeds)))

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit tune --json`` prints.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        names = ["setting", "bias", "margin", "resource", "spent", "full", "seconds", "full_seconds", "unjudged"]
        names += ["seeds", "rungs", "verdict", "warnings"]
        return {name: in_json(getattr(self, name)) for name in names} | {"version": __version__}


def read_sweep(file: str | os.PathLike[str]) -> SweepResult:
    """Read the result of a sweep that is finished.

    Parameters
    ----------
    file : path
        The ``file`` that the sweep was given.

    Returns
    -------
    SweepResult
        As the sweep returned it.

    Raises
    ------
    UsageError
        If it is a folder, or a process is at work on it.
    InputError
        If it holds no finished sweep, or is damaged.
    """
    with Store(sweep_file(file), writing=False) as store:
        found = store.result()
    if not isinstance(found, SweepResult):
        raise InputError(f"{store.file} holds a {type(found).__name__}, not a sweep; run 'steinkit sweep' with it")
    return found


def _cell_warnings(cells: Sequence[Cell]) -> list[str]:
    """Warnings of the cells, each measure's with the first as an example."""
    found = []
    for measure in dict.fromkeys(note.partition(":")[0] for cell in cells for note in cell.warnings):
        those = [(each, cell) for cell in cells for each in cell.warnings if each.startswith(f"{measure}:")]
        told, (note, first) = len({id(cell) for _, cell in those}), those[0]
        example = f"({setting_key(first.settings)}, seed {first.seed})"
        found.append(f"{told} cell{'s' * (told > 1)} came with warnings of measure {note} {example}")
    return found
