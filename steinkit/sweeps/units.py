"""The one scale of a sweep: fixed before its first cell, part of every fingerprint, the same when cells are added.

It is the scale of independent draws where the target can be drawn from. Where it cannot, a pilot gives it: the first
chain of the sweep that can be run. Which one that is depends on the grid; so a folder that holds cells of the same
target keeps the scale that these were scored in, whatever is added to it. Scales are kept to six digits, so that they
are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steinkit.measures import find_measure
from steinkit.measures.units import units_of_several
from steinkit.sample import Sample, as_sample, default_names
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.store import Store
from steinkit.sweeps.tasks import run_chains_of_setting

_DIGITS = 6
_TRIED = 8  # settings whose chains may be the pilot


def in_fixed_units(plan: Plan, store: Store) -> tuple[Plan, tuple[str, ...]]:
    """The plan with the units that its cells are scored in, as JSON keeps them, and what to say of them.

    Raises
    ------
    UsageError, InputError
        If units were asked for that cannot be had.
    """
    if not any("units" in find_measure(name).options for name in plan.measures):
        return plan, ()
    asked, notes = plan.measure_settings.get("units"), ()
    units: Any = None
    if asked is None or (isinstance(asked, str) and asked == "own"):
        units = _kept(plan, store)
    if units is None:
        sample = _named_like(plan) if _needs_no_pilot(plan) else _pilot(plan)
        found, notes = units_of_several([] if sample is None else [sample], plan.target, plan.measure_settings)
        units = "raw" if found is None else _rounded(found.document)
    return replace(plan, measure_settings=plan.measure_settings | {"units": units}), notes


def _kept(plan: Plan, store: Store) -> Mapping[str, Any] | None:
    """The scale of a pilot that cells of the same target were scored in."""
    for record in store.records.values():
        units = record["measure_settings"].get("units")
        if isinstance(units, Mapping) and units["kind"] == "pilot" and record["target"] == plan.identity.document:
            return units
    return None


def _needs_no_pilot(plan: Plan) -> bool:
    """Whether nothing of the chains is needed but the number of their coordinates, and that is known."""
    settings, target = plan.measure_settings, plan.target
    asked = settings.get("units")
    given = asked is not None and not (isinstance(asked, str) and asked == "own")
    cut = settings.get("bounds") is not None and target.bounds is None
    drawn = target.can_sample and not cut
    return (given or drawn or settings.get("operator") is not None) and (target.can_sample or target.dim is not None)


def _named_like(plan: Plan) -> Sample:
    """A sample of no meaning, with the target's number of coordinates and their names."""
    dim = plan.target.dim or as_sample(plan.target.sample(2, 0)).dim
    return Sample([[0.0] * dim, [1.0] * dim], names=plan.target.names or default_names(dim))


def _pilot(plan: Plan) -> Sample | None:
    """The first chain that can be run, a setting after the other; None if none of the first few can."""
    for setting in plan.settings[:_TRIED]:
        (run,) = run_chains_of_setting(plan.target, plan.sampler, plan.options | setting, plan.seeds[:1])
        if run.sample is not None and not _stands_still(run.sample):
            return run.sample
    return None


def _stands_still(sample: Sample) -> bool:
    return bool((sample.points == sample.points[0]).all(axis=0).any())


def _rounded(document: Mapping[str, Any]) -> dict[str, Any]:
    scale = {name: float(f"{value:.{_DIGITS}g}") for name, value in document["scale"].items()}
    return {"kind": document["kind"], "scale": scale}
