"""Results of sweeps and tuning."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from steinkit import __version__, text
from steinkit.diagnosis.missed_modes import MissedMode
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.diagnosis.verdict_text import unjudged_sentence
from steinkit.errors import Caution, InputError, about, reservations
from steinkit.measures import find_measure
from steinkit.result import Result, Statement, in_json, named
from steinkit.sweeps import text as sentences
from steinkit.sweeps.cells import Cell, Record, Setting
from steinkit.sweeps.choice import Choice, UnrankedError, choose
from steinkit.sweeps.plan import Configuration, Plan
from steinkit.sweeps.scheduler import Rung
from steinkit.sweeps.store import Store, sweep_file
from steinkit.text import Table

_RESOURCES = {"budget": "likelihood evaluations at individual data points", "draws": "draws"}


@dataclass(frozen=True)
class Failure(Record):
    """Cells that share a setting and failed for the same reason."""

    settings: Setting
    seeds: tuple[int, ...]
    reason: str


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Chosen(Result):
    """Base class for results that include a chosen setting."""

    seeds: tuple[int, ...]
    configuration: Configuration
    warnings: tuple[str, ...]
    seconds: float = 0.0
    verdict: Verdict | None = None
    unjudged: str | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.headline()}{reservations(self.warnings)}>"

    @property
    def subject(self) -> str:
        """Names of the sampler and the target."""
        return self.configuration.subject

    @property
    def units(self) -> Setting | None:
        """Units of all the cells, as stored in JSON documents.

        The value is None if no measure has units.
        """
        units: Setting | None = self.configuration.measure_settings["units"]
        return units

    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return a description of the run as a list of terms and values.

        Returns
        -------
        tuple of pairs of str
            Terms and values.
        """
        known = (*self.configuration.facts(), ("seeds", text.seeds_label(self.seeds)))
        return known if self.units is None else (*known, ("units", text.units_label(self.units)))

    def _judged(self, chain: str) -> Statement:
        """Return a statement about the verdict on the best setting's chain."""
        found = self.verdict
        parts: tuple[str, ...] = () if self.unjudged is None else (unjudged_sentence(self.unjudged),)
        if found is not None:
            parts = (f"{chain}: {found.sentence}", found.modes_sentence, found.untested_sentence)
        return Statement("number", "Can draws from the best setting be used?", " ".join(filter(None, parts)))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SweepResult(_Chosen):
    """Result of a sweep, with its cells and the best setting under each measure.

    Attributes
    ----------
    records : tuple of Cell
        Cells in the order of the grid and of the seeds. With racing, dropped settings have cells for only some of the
        seeds.
    settings : tuple of dict
        Points of the grid.
    seeds : tuple of int
        Seeds for the chains of every setting.
    configuration : Configuration
        Description of the sweep that is common to all cells.
    criteria : dict of str to Choice
        The choice under each measure that can order the settings.
    refused : dict of str to str
        Reasons why the other measures cannot order the settings.
    racing : dict of str to str, or None
        With racing, the reasons why settings were dropped, keyed by setting. None without racing.
    reused : int
        Number of cells that were reused from earlier runs.
    warnings : tuple of str
        Warnings about the cells and the choices.
    seconds : float
        Wall time of the run.
    verdict : Verdict or None
        Verdict on the draws of the best setting with the first seed.
    unjudged : str or None
        Reason why there is no verdict.
    missed : MissedMode or None
        A mode that these draws missed. `missed.chain` is the index of a setting with draws in this mode.
    by_budget : dict of int to dict of str to Choice
        The choice under each measure at each budget, if the sweep has budgets. The other attributes describe the
        largest budget.

    Examples
    --------
    >>> import steinkit as sk
    >>> found = sk.sweep("normal", "iid", grid={"draws": [10, 200]}, seeds=5, measures=["ksd"])
    >>> found.leading, found.cells, found.failed
    ('ksd', 10, 0)
    """

    records: tuple[Cell, ...]
    settings: tuple[Setting, ...]
    criteria: dict[str, Choice]
    refused: dict[str, str]
    racing: dict[str, str] | None
    reused: int
    missed: MissedMode | None = None
    by_budget: dict[int, dict[str, Choice]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, plan: Plan, cells: Sequence[Cell], notes: Sequence[str], racing: dict[str, str] | None, reused: int
    ) -> SweepResult:
        """Choose a setting based on each measure and collect the warnings.

        Parameters
        ----------
        plan : Plan
            The plan of the sweep.
        cells : sequence of Cell
            Finished cells.
        notes : sequence of str
            Warnings from the run.
        racing : dict of str to str, or None
            The dropped settings, with the reasons why they were dropped.
        reused : int
            Number of cells from earlier runs.

        Returns
        -------
        SweepResult
            The result.
        """
        criteria: dict[str, Choice] = {}
        refused: dict[str, str] = {}
        running = [i for i, each in enumerate(plan.settings) if text.setting_key(each) not in (racing or ())]
        warnings = [*notes, *_cell_warnings(cells)]
        for name in plan.measures:
            try:
                eligible = running if name == plan.measures[0] else None
                criteria[name] = choose(cells, name, plan.settings, eligible=eligible)
                warnings += [about(name, note) for note in criteria[name].warnings]
            except UnrankedError as error:
                refused[name] = str(error)
                warnings.append(Caution(refused[name]))
            except InputError:
                warnings.append(f"no cell has a value of measure {name}, so no setting can be chosen by this measure")
        return cls(
            records=tuple(cells),
            settings=plan.settings,
            seeds=plan.seeds,
            configuration=plan.configuration,
            criteria=criteria,
            refused=refused,
            racing=racing,
            reused=reused,
            warnings=tuple(warnings),
        )

    def choices_at(self, measure: str) -> dict[int, Choice]:
        """Return the choice under one measure at each budget.

        Parameters
        ----------
        measure : str
            Name of the measure.

        Returns
        -------
        dict of int to Choice
            The choices, keyed by budget. Budgets at which the measure cannot order the settings are omitted.
        """
        return {budget: each[measure] for budget, each in self.by_budget.items() if measure in each}

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.records)

    @property
    def full(self) -> int:
        """Number of cells in the full grid with all seeds."""
        return len(self.settings) * len(self.seeds)

    @property
    def failed(self) -> int:
        """Number of failed cells."""
        return sum(cell.reason is not None for cell in self.records)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Failed cells, grouped by setting and reason."""
        grouped: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.records:
            if cell.reason is not None:
                grouped.setdefault((text.setting_key(cell.settings), cell.reason), []).append(cell)
        return tuple(Failure(c[0].settings, tuple(x.seed for x in c), key[1]) for key, c in grouped.items())

    @property
    def leading(self) -> str | None:
        """Measure that determines the choice, or None if no setting was chosen.

        The leading measure is the first discrepancy or, if there are no discrepancies, the first measure.
        """
        return min(self.criteria, key=lambda name: not find_measure(name).smaller_is_better, default=None)

    @property
    def blind(self) -> str | None:
        """First measure that uses only the draws and therefore cannot detect bias."""
        return next((name for name in self.criteria if find_measure(name).needs == "draws"), None)

    def headline(self) -> str:
        """State the choice in one sentence.

        The sentence includes any problems found in the draws from the best setting.

        Returns
        -------
        str
            The sentence without the final period.
        """
        name = self.leading
        headline = f"No setting could be chosen: {self.failed} of {text.count(self.cells, 'cell')} failed"
        if self.refused and name == self.blind:
            titles = text.listed([find_measure(each).title for each in self.refused])
            headline = f"No setting is chosen: {titles} cannot order the settings reliably"
        elif name is not None:
            headline = sentences.choice_headline(self.criteria[name])
        problems = ["is biased"] if self.verdict is not None and self.verdict.is_biased else []
        problems += ["missed a mode that other chains visited"] if self.missed is not None else []
        return headline + (f"; the chain of this setting {' and '.join(problems)}" if problems else "")

    def statements(self) -> tuple[Statement, ...]:
        """State the choice, its limitations and the quality of the chosen draws.

        Returns
        -------
        tuple of Statement
            Statements in reading order.
        """
        found = [self._judged(f"Seed {self.seeds[0]}")]
        if self.missed is not None:
            found.append(Statement("limits", "Did the chain visit all modes?", self._missed_sentence(self.missed)))
        if self.leading is not None:
            if at_budgets := self.choices_at(self.leading):
                found.append(sentences.budget_statement(at_budgets))
            blind = None if self.blind is None else self.criteria[self.blind]
            found += sentences.choice_statements(self.criteria[self.leading], blind)
        if self.failures:
            cells = [
                f"{text.count(len(each.seeds), 'cell')} with {text.setting_label(each.settings)} ({each.reason})"
                for each in self.failures
            ]
            failed = f"{self.failed} of {text.count(self.cells, 'cell')} failed and were assigned the worst value"
            found.append(Statement("limits", "Did any cells fail?", f"{failed}: {text.listed(cells)}."))
        if self.racing is not None:
            lines = [f"With racing, {self.cells} of the {self.full} cells in the full sweep were run."]
            lines += [f"Dropped {name}: {reason}." for name, reason in self.racing.items()]
            found += [Statement("limits", "Were all cells run?", each) for each in lines]
        at = f" with the largest of {len(self.by_budget)} budgets" if self.by_budget else ""
        run = f"{text.count(len(self.settings), 'setting')}, {text.count(len(self.seeds), 'seed')}: "
        run += f"{text.count(self.cells, 'cell')}{at}, {self.reused} of them reused, {self.failed} failed; "
        return (*found, Statement("method", "What was run?", f"{run}{self.seconds:.1f} s"))

    def _missed_sentence(self, mode: MissedMode) -> str:
        finder, draws = text.setting_label(self.settings[mode.chain]), text.count(mode.of, "draw")
        densest = named([f"{name} {text.compact(value)}" for name, value in mode.place.items()])
        return (
            f"The chain of the best setting missed a mode that other chains visited. {mode.draws} of {draws} with "
            f"{finder} have a density above the 10% quantile of that chain, but are separated from the chain by a "
            f"region where the density drops to less than half. The draw with the largest density is at {densest}. "
            "Run longer chains, or start them in all modes."
        )

    def tables(self) -> tuple[Table, ...]:
        """Return a table of the settings for each measure, and a table of the failures.

        The table for the leading measure comes first.

        Returns
        -------
        tuple of Table
            Tables in descending order of importance.
        """
        choices = sorted(self.criteria.values(), key=lambda choice: choice.measure != self.leading)
        rows = [
            (text.setting_label(each.settings), text.seeds_label(each.seeds), each.reason) for each in self.failures
        ]
        failed = [Table("Failures", ("setting", "seeds", "reason"), tuple(rows))] if rows else []
        at_budgets = self.choices_at(self.leading) if self.leading else {}
        by_budget = [sentences.budget_table(at_budgets)] if at_budgets else []
        return (*by_budget, *map(sentences.choice_table, choices), *failed)

    def to_dict(self) -> Setting:
        """Return the document printed by ``steinkit sweep --json``.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        names = ("criteria", "refused", "verdict", "unjudged", "cells", "failed", "failures", "reused", "seconds")
        found = {name: in_json(getattr(self, name)) for name in (*names, "units", "warnings")}
        found["by_budget"] = {str(budget): in_json(each) for budget, each in self.by_budget.items()}
        racing = {"dropped": self.racing, "cells_run": self.cells, "cells_full": self.full}
        missed = None if self.missed is None else {"settings": self.settings[self.missed.chain], **vars(self.missed)}
        return found | {"racing": None if self.racing is None else racing, "missed": missed, "version": __version__}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TuningResult(_Chosen):
    """Result of tuning, with the chosen setting and the cost of choosing it.

    Attributes
    ----------
    setting : dict
        The best setting.
    bias, margin : float or None
        Bias of the setting's chains on the last rung and its margin of error (95%), in posterior standard deviations.
        Both are medians over the seeds, or None if the estimates are not reliable.
    rungs : tuple of Rung
        Losses and order of the settings on each rung.
    seeds : tuple of int
        Seeds for the chains of every setting.
    resource : str
        Unit of chain lengths: "budget" (likelihood evaluations at individual data points) or "draws".
    spent, full : int
        Cost of the choice, and cost of the full grid of all settings and seeds, in units of the resource.
    seconds, full_seconds : float
        Computing time that all processes spent on sampling and scoring, and the estimated time for the full grid.
    verdict : Verdict or None
        Verdict on a new chain of full length with a seed that was not used for the choice.
    unjudged : str or None
        Reason why there is no verdict.
    configuration : Configuration
        Description of the run.
    warnings : tuple of str
        Warnings about the choice.

    Examples
    --------
    >>> import steinkit as sk
    >>> grid = {"proposal_scale": [0.01, 2.0]}
    >>> found = sk.tune(sk.targets.Normal([0.0]), "rwmh", grid=grid, options={"draws": 500}, seeds=1, cost=1.0)
    >>> found.setting, found.tried, found.resource
    ({'proposal_scale': 2.0}, 2, 'draws')
    """

    setting: Setting
    bias: float | None
    margin: float | None
    rungs: tuple[Rung, ...]
    resource: str
    spent: int
    full: int
    full_seconds: float

    @property
    def share(self) -> float:
        """Cost of the choice as a fraction of the full grid's cost."""
        return self.spent / self.full

    @property
    def tried(self) -> int:
        """Number of settings."""
        return len(self.rungs[0].losses)

    def headline(self) -> str:
        """State the chosen setting in one sentence.

        Returns
        -------
        str
            The sentence without the final period.
        """
        best = f"{text.setting_label(self.setting)} is the best of {text.count(self.tried, 'setting')}"
        return text.sentence(f"{best}, found at {self.share:.1%} of the full grid's cost")

    def statements(self) -> tuple[Statement, ...]:
        """Report the chosen setting, the verdict on a new chain, and the cost.

        Returns
        -------
        tuple of Statement
            Statements in reading order.
        """
        known = "The bias of the draws could not be estimated."
        if self.bias is not None and self.margin is not None:
            of = f", the median of {len(self.seeds)} seeds" if len(self.seeds) > 1 else ""
            known = f"The bias of the new chain is {self.bias:.2g} ± {max(self.margin, 0.001):.1g} sd{of}."
        cost = (
            f"The choice used {self.spent:,} of the {self.full:,} {_RESOURCES[self.resource]} of the full grid. "
            f"Sampling and scoring took {self.seconds:.0f} s; the full grid would take about {self.full_seconds:.0f} s."
        )
        return (
            Statement("choice", "Which setting is best?", f"{self.headline()}. {known}"),
            self._judged("A fresh chain"),
            Statement("comparison", "How much did the choice cost?", cost),
        )

    def tables(self) -> tuple[Table, ...]:
        """Return tables of the losses on each rung and the biases of the new chain.

        Returns
        -------
        tuple of Table
            Tables in descending order of importance.
        """
        names = dict.fromkeys(name for rung in reversed(self.rungs) for name in rung.ranked)
        columns = ("setting", *(f"{rung.measure} at {rung.length:,}" for rung in self.rungs))
        rows = [
            (name, *(sentences.shown(rung.losses[name]) if name in rung.losses else "" for rung in self.rungs))
            for name in names
        ]
        caption = f"Medians of a measure over the seeds, by chain length in {_RESOURCES[self.resource]}"
        fresh = () if self.verdict is None else self.verdict.tables()
        ranks = Table(caption, columns, tuple(rows), 0)
        return ranks, *(replace(each, caption=f"A fresh chain: {each.caption}") for each in fresh)

    def to_dict(self) -> Setting:
        """Return the document printed by ``steinkit tune --json``.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        found = {name: in_json(value) for name, value in vars(self).items() if name != "configuration"}
        return found | {"version": __version__}


def read_sweep(file: str | os.PathLike[str]) -> SweepResult:
    """Read the result of a finished sweep.

    Parameters
    ----------
    file : path
        File that was passed to the sweep as the argument ``file``.

    Returns
    -------
    SweepResult
        The result that `sweep` returned.

    Raises
    ------
    UsageError
        If the path is a folder, or a process is using the file.
    InputError
        If the file does not contain a finished sweep, or is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> import steinkit as sk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "sweep")
    ...     found = sk.sweep("normal", "iid", grid={"draws": [10]}, seeds=2, measures=["ksd"], file=file)
    ...     print(sk.read_sweep(file).criteria["ksd"].best)
    {'draws': 10}
    """
    with Store(sweep_file(file), writing=False) as store:
        found = store.result()
    if not isinstance(found, SweepResult):
        raise InputError(f"expected {store.file} to contain a sweep result, got a {type(found).__name__}")
    return found


def _cell_warnings(cells: Sequence[Cell]) -> list[str]:
    """Return one warning per measure that summarizes the warnings of its cells.

    The summary quotes the first warning for each measure as an example.
    """
    found: dict[str, list[str]] = {}
    for cell in cells:
        for note in cell.warnings:
            example = f"{note} ({text.setting_key(cell.settings)}, seed {cell.seed})"
            found.setdefault(note.partition(":")[0], []).append(example)
    return [f"{text.count(len(notes), 'warning')} from the measure {notes[0]}" for notes in found.values()]
