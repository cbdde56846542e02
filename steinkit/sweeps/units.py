"""The one scale of a sweep's cells, fixed before the first of them and part of every fingerprint.

It is that of independent draws where the target can be drawn from. Where it cannot, a pilot gives it: of the first
seed's chains of a few settings, evenly spread over the grid, the one whose spreads the score agrees with best. Under
the target the mean of (x_j - m_j) s_j(x) is -1; a chain that hardly moved has less, one that ran away has more, and
their standard deviations are no unit for anybody. Which chain it is depends on the grid; so a file that holds cells of
the same target keeps the scale that these were scored in, whatever is added to it. Scales are kept to six digits, so
that they are the same on every machine.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from steinkit.containers.reading import as_sample
from steinkit.errors import Caution
from steinkit.measures import find_measure
from steinkit.measures.options import units_of_several
from steinkit.sample import Sample
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import Store
from steinkit.sweeps.tasks import Chain, run_chains
from steinkit.sweeps.workers import Workers
from steinkit.target import Target
from steinkit.units import is_open

_DIGITS = 6
_TRIED = 8  # settings whose chains may be the pilot
_WHY_RAW = (
    "of the first seed's chains of a few settings none could be run and moved in every coordinate, so that there is no "
    "scale: raw units were taken; give units"
)


def in_fixed_units(plan: Plan, store: Store, workers: Workers) -> tuple[Plan, tuple[str, ...]]:
    """Return the plan with the units that its cells are scored in, as JSON keeps them, and what to say of them.

    Raises
    ------
    UsageError, InputError
        If units were asked for that cannot be had.
    """
    if not any("units" in find_measure(name).options for name in plan.measures):
        return plan, ()
    notes: tuple[str, ...] = ()
    units: Any = (
        store.pilot_units(plan.identity["fingerprint"]) if is_open(plan.measure_settings.get("units")) else None
    )
    if units is None:
        is_cut = plan.measure_settings.get("bounds") is not None and plan.target.bounds is None
        is_drawn = plan.target.can_sample and not is_cut
        sample = as_sample(plan.target.sample(2, 0)) if is_drawn else _pilot(plan, workers)
        found, notes = units_of_several([] if sample is None else [sample], plan.target, plan.measure_settings)
        units = {"kind": "raw", "scale": {}}
        if found is None:
            notes = (Caution(_WHY_RAW),)
        else:
            scale = {name: float(f"{value:.{_DIGITS}g}") for name, value in found.document["scale"].items()}
            units = {"kind": found.document["kind"], "scale": scale}
    return replace(plan, measure_settings=plan.measure_settings | {"units": units}), notes


def _pilot(plan: Plan, workers: Workers) -> Sample | None:
    """Of a few chains the one whose spreads the score agrees with best; None if none of them can be run."""
    places = np.linspace(0, len(plan.settings) - 1, min(len(plan.settings), _TRIED)).round().astype(int)
    answers = workers.answers(plan, run_chains, {k: (k, plan.seeds[:1]) for k in places.tolist()})
    found = {k: chain.sample for k, chain in answers if isinstance(chain, Chain) and chain.sample is not None}
    moved = [found[k] for k in sorted(found) if not (found[k].points == found[k].points[0]).all(axis=0).any()]
    return min(moved, key=lambda each: _disagreement(each, plan.target), default=None)


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
