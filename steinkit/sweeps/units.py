"""The one scale of a sweep: fixed before its first cell, part of every fingerprint, the same when cells are added.

It is the scale of independent draws where the target can be drawn from. Where it cannot, a pilot gives it: of the
first seed's chains of a few settings, evenly spread over the grid, the one whose spreads the score agrees with best.
Under the target the mean of (x_j - m_j) s_j(x) is -1; a chain that hardly moved has less, one that ran away has more,
and their standard deviations are no unit for anybody. Which chain it is depends on the grid; so a folder that holds
cells of the same target keeps the scale that these were scored in, whatever is added to it. Scales are kept to six
digits, so that they are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from steinkit.containers.reading import as_sample
from steinkit.discrepancy.preparation import is_open
from steinkit.errors import Caution
from steinkit.measures import find_measure
from steinkit.measures.units import units_of_several
from steinkit.sample import Sample, default_names
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import Store
from steinkit.sweeps.tasks import run_setting
from steinkit.sweeps.workers import Lost, Workers, answers
from steinkit.target import Target

_DIGITS = 6
_TRIED = 8  # settings whose chains may be the pilot
_WHY_RAW = (
    "of the first seed's chains of a few settings none could be run and moved in every coordinate, so that there is no "
    "scale: raw units were taken; give units"
)


def in_fixed_units(plan: Plan, store: Store, workers: Workers) -> tuple[Plan, tuple[str, ...]]:
    """The plan with the units that its cells are scored in, as JSON keeps them, and what to say of them.

    Raises
    ------
    UsageError, InputError
        If units were asked for that cannot be had.
    """
    if not any("units" in find_measure(name).options for name in plan.measures):
        return plan, ()
    notes: tuple[str, ...] = ()
    units: Any = _kept(plan, store) if is_open(plan.measure_settings.get("units")) else None
    if units is None:
        sample = _named_like(plan) if _needs_no_pilot(plan) else _pilot(plan, workers)
        found, notes = units_of_several([] if sample is None else [sample], plan.target, plan.measure_settings)
        if found is None:
            units, notes = {"kind": "raw", "scale": {}}, (Caution(_WHY_RAW),)
        else:
            units = _rounded(found.document)
    return replace(plan, measure_settings=plan.measure_settings | {"units": units}), notes


def _kept(plan: Plan, store: Store) -> Mapping[str, Any] | None:
    """The scale of a pilot that cells of the same target were scored in."""
    for record in store.records.values():
        units = record["measure_settings"].get("units")
        if isinstance(units, Mapping) and units["kind"] == "pilot" and record["target"] == plan.identity:
            return units
    return None


def _needs_no_pilot(plan: Plan) -> bool:
    """Whether nothing of the chains is needed but the number of their coordinates, and that is known."""
    settings, target = plan.measure_settings, plan.target
    given = not is_open(settings.get("units"))
    cut = settings.get("bounds") is not None and target.bounds is None
    drawn = target.can_sample and not cut
    return (given or drawn or settings.get("operator") is not None) and (target.can_sample or target.dim is not None)


def _named_like(plan: Plan) -> Sample:
    """A sample of no meaning, with the target's number of coordinates and their names."""
    dim = plan.target.dim or as_sample(plan.target.sample(2, 0)).dim
    return Sample(np.array([[0.0] * dim, [1.0] * dim]), names=plan.target.names or default_names(dim))


def _pilot(plan: Plan, workers: Workers) -> Sample | None:
    """Of a few chains the one whose spreads the score agrees with best; None if none of them can be run."""
    places = np.linspace(0, len(plan.settings) - 1, min(len(plan.settings), _TRIED)).round().astype(int)
    arguments = [(k, plan.sampler, plan.options | plan.settings[k], plan.seeds[:1]) for k in places.tolist()]
    found = [answer for answer in answers(workers, run_setting, arguments) if not isinstance(answer, Lost)]
    best, least = None, math.inf
    for _, (run,) in sorted(found, key=lambda answer: answer[0]):
        if run.sample is None or _stands_still(run.sample):
            continue
        off = _disagreement(run.sample, plan.target)
        if best is None or off < least:
            best, least = run.sample, off
    return best


def _disagreement(sample: Sample, target: Target) -> float:
    """How far the mean of (x - m) s(x) is from -1, over the coordinates; infinite where it cannot be had."""
    try:
        scores = target.score(sample.points)
    except Exception:  # a user's own; the cells say what it says
        return math.inf
    weights = sample.probabilities
    with np.errstate(over="ignore", invalid="ignore"):
        means = weights @ ((sample.points - weights @ sample.points) * scores)
    return float(np.abs(1.0 + means).mean()) if np.isfinite(means).all() else math.inf


def _stands_still(sample: Sample) -> bool:
    return bool((sample.points == sample.points[0]).all(axis=0).any())


def _rounded(document: Mapping[str, Any]) -> dict[str, Any]:
    scale = {name: float(f"{value:.{_DIGITS}g}") for name, value in document["scale"].items()}
    return {"kind": document["kind"], "scale": scale}
