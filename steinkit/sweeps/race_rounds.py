"""A sweep as a race: rounds of cells, and what they saved."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from steinkit.describe.settings import setting_key
from steinkit.errors import UsageError
from steinkit.measures import find_measure
from steinkit.sweeps.choice import why_unranked
from steinkit.sweeps.execution import Execution, seconds_of
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.racing import Bracket, Race
from steinkit.sweeps.records import Record
from steinkit.sweeps.tasks import Cell

_LOOSE = 1e-2
"""Tolerance of early rounds where the final one is tighter: scores are then several times cheaper."""


def loose_tolerance(plan: Plan) -> float | None:
    """Tolerance of the early rounds; None where the final one is loose enough for them."""
    final = plan.measure_settings["tolerance"]
    return None if final is not None and final >= _LOOSE else _LOOSE


def race_rounds(plan: Plan, execution: Execution) -> tuple[list[Record], dict[str, Any]]:
    """Run the rounds of a race by the first measure.

    Returns
    -------
    list of dict
        The last record of every cell that was run, settings in the order of the grid and seeds in theirs.
    dict
        What was dropped, and the work done and saved.

    Raises
    ------
    UsageError
        If samples must not be ordered by the measure's values in half of a round's cells.
    """
    race = Race(
        len(plan.settings),
        plan.seeds,
        smaller_is_better=find_measure(plan.measures[0]).smaller_is_better,
        tolerance=loose_tolerance(plan),
        names=[setting_key(setting) for setting in plan.settings],
    )
    found: dict[Cell, Record] = {}
    brackets: dict[Cell, Bracket | None] = {}
    distinct: dict[str, Record] = {}
    while (coming := race.next_round(brackets)) is not None:
        cells = [(setting, seed) for setting in coming.settings for seed in coming.seeds]
        computed = execution.records(cells, coming.tolerance)
        _require_ranked(list(computed.values()), plan.measures[0])
        found |= computed
        distinct |= {record["cell"]: record for record in computed.values()}
        brackets |= {cell: _bracket(record, plan.measures[0]) for cell, record in computed.items()}
    dropped = {setting_key(plan.settings[i]): reason for i, reason in sorted(race.dropped.items())}
    records = [found[cell] for cell in plan.cells if cell in found]
    return records, {"dropped": dropped, **_work(list(distinct.values()), records, plan)}


def _require_ranked(records: Sequence[Record], measure: str) -> None:
    """Refuse to drop settings by values that may be small for the wrong reason."""
    reasons = [reason for record in records if (reason := why_unranked(record, measure))]
    if reasons and 2 * len(reasons) >= len(records):
        raise UsageError(
            f"settings cannot race by measure {measure}, the first: in {len(reasons)} of {len(records)} cells, "
            f"{reasons[0]}"
        )


def _bracket(record: Record, measure: str) -> Bracket | None:
    """The certified bracket of a cell; the value itself where the measure proves nothing."""
    for entry in record["results"]:
        if entry["measure"] == measure and entry["value"] is not None:
            return entry.get("lower", entry["value"]), entry.get("upper", entry["value"])
    return None


def _work(run: Sequence[Record], last: Sequence[Record], plan: Plan) -> dict[str, Any]:
    """Work done, and an estimate of that of the full sweep: each setting's median over its cells, for all seeds.

    The median leaves out what workers need to warm up. Cells of a dropped setting that were scored loosely stand in for
    finally scored ones. Both make the estimate low rather than high. What the chains of a setting share when they run
    together weighs on fewer of them in a race, which makes it high: by little, where scores take most of the time.
    """
    spent = math.fsum(map(seconds_of, run))
    full = 0.0
    for setting in plan.settings:
        seconds = [seconds_of(record) for record in last if record["settings"] == setting]
        full += len(plan.seeds) * statistics.median(seconds)
    return {
        "cells_run": len(run),
        "cells_full": len(plan.cells),
        "seconds_spent": spent,
        "seconds_full_estimate": full,
        "saved": 1.0 - spent / full if full > 0.0 else 0.0,
    }
