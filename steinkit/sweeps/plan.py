"""The cells of a sweep, settings times seeds, the fingerprints by which their records are known again, and their scale.

One scale serves all cells. It is fixed before the first of them and part of every fingerprint: that of independent
draws where the target can be drawn from. Where it cannot, a pilot gives it: of the first seed's chains of a few
settings, evenly spread over the grid, the one whose spreads the score agrees with best. Under the target the mean of
(x_j - m_j) s_j(x) is -1; a chain that hardly moved has less, one that ran away has more, and their standard deviations
are no unit for anybody. Which chain it is depends on the grid; so a file that holds cells of the same target keeps
the scale that these were scored in, whatever is added to it. Scales are kept to six digits, so that they are the same
on every machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from steinkit import __version__
from steinkit.containers.reading import as_sample
from steinkit.errors import Caution, UsageError
from steinkit.measures import find_measure, recorded_settings
from steinkit.measures.options import units_of_several
from steinkit.sample import Sample, default_names
from steinkit.sweeps.identity import digest, operator_fingerprint, recordable
from steinkit.sweeps.store import Record, Store
from steinkit.sweeps.tasks import Run, Scores, SweptSampler, run_chains
from steinkit.sweeps.workers import Lost, Workers
from steinkit.target import Target
from steinkit.units import is_open

MOST_CELLS = 1_000_000


@dataclass(frozen=True, eq=False)
class Plan:
    """What a sweep is to compute.

    Attributes
    ----------
    target : Target
    identity : dict
        Of the target, as records hold it: its name, its options, and the hash of what it does and holds.
    sampler : SweptSampler
    options : dict
        Options of the sampler that are the same in all settings.
    settings : tuple of dict
        Points of the grid, the last option varying fastest.
    seeds : tuple of int
    measures : tuple of str
    measure_settings : dict
        By their names, with the final tolerance.
    label : str
        The user's own words, part of every fingerprint.
    """

    target: Target
    identity: dict[str, Any]
    sampler: SweptSampler
    options: dict[str, Any]
    settings: tuple[dict[str, Any], ...]
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    measure_settings: dict[str, Any]
    label: str

    def __post_init__(self) -> None:
        for setting in self.settings:
            self.sampler.require_options(self.options | setting)
        if len(self.seeds) > 1 and not self.sampler.is_random:
            same = f"{len(self.seeds)} seeds would give the same draws"
            raise UsageError(f"sampler {self.sampler.name!r} is not random, and {same}; give seeds=1")

    @property
    def cells(self) -> list[tuple[int, int]]:
        """Number of the setting and seed of every cell."""
        return list(itertools.product(range(len(self.settings)), self.seeds))

    def require_identifiable(self) -> None:
        """Refuse to keep records of a sampler that another run could not tell from something else.

        Raises
        ------
        UsageError
            If the sampler cannot be told, and there is no label.
        """
        if self.sampler.is_users and self.sampler.code is None and not self.label:
            raise UsageError(
                f"what the sampler {self.sampler.name} does cannot be told by its source file and the values that it "
                "holds, so its records could be mistaken for another's; pass label=, words of yours that change when "
                "it does, or leave out the file"
            )

    def description(self, setting: int, seed: int) -> dict[str, Any]:
        """What is computed in a cell: all that its outcome depends on."""
        label = {"label": self.label} if self.label else {}
        return {"settings": self.settings[setting], "seed": seed, **self._described(), **label}

    def fingerprint(self, setting: int, seed: int) -> str:
        """Hash of a cell's description."""
        return digest(self.description(setting, seed))

    def keeps_draws(self, seed: int) -> bool:
        """Whether the draws of chains of a seed are kept with their records."""
        return seed == self.seeds[0]

    def record(self, cell: tuple[int, int], run: Run, scores: Scores, attempts: int) -> Record:
        """The record of a finished cell, which sweeps have attempted the given number of times."""
        sample = run.sample
        cost = None if sample is None else sample.cost
        described = self.description(*cell)
        return {
            "cell": digest(described),
            **described,
            "status": "failed" if scores.reason else "ok",
            "reason": scores.reason,
            "attempts": attempts,
            "results": scores.results,
            "draws": 0 if sample is None else len(sample),
            "cost_per_draw": None if cost is None else float(cost.max()) / len(cost),
            "acceptance": run.acceptance if run.acceptance is not None and np.isfinite(run.acceptance) else None,
            "seconds": {"sampling": run.seconds, "scoring": scores.seconds},
            "warnings": scores.warnings,
        }

    @property
    def document(self) -> dict[str, Any]:
        """The configuration as run."""
        cells = {"settings": list(self.settings), "seeds": list(self.seeds), "label": self.label}
        return self._described() | cells

    def _described(self) -> dict[str, Any]:
        """What is the same in all cells."""
        code = {"code": self.sampler.code} if self.sampler.is_users else {}
        settings = recorded_settings(self.measure_settings)
        del settings["operator"]  # to stand last
        return {
            "sampler": {"name": self.sampler.name, "options": self.options, **code},
            "target": self.identity,
            "measures": list(self.measures),
            "measure_settings": settings | {"operator": self._operator},
            "version": __version__,
        }

    @cached_property
    def _operator(self) -> str | None:
        operator = self.measure_settings.get("operator")
        return None if operator is None else operator_fingerprint(operator, self.target)


def grid_settings(grid: Mapping[str, Sequence[Any]], options: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """All combinations of the grid's values, the last option varying fastest.

    Raises
    ------
    UsageError
        If the grid is empty, an option has no values or one of them twice, or is fixed as well.
    """
    if not isinstance(grid, Mapping) or not grid:
        raise UsageError(f"grid must name at least one option and its values, step_size=[...] say; received {grid!r}")
    columns: dict[str, list[Any]] = {}
    for name, values in grid.items():
        listed = [] if isinstance(values, str | Mapping) or not np.iterable(values) else list(values)
        if not listed:
            raise UsageError(f"the grid's {name} must be a list of at least one value; received {values!r}")
        if name in options:
            raise UsageError(f"{name} is in the grid and fixed too; leave it out of one of them")
        column = [recordable(value, f"the grid's {name}") for value in listed]
        seen = set()
        for value in column:
            if (key := _hashable(value)) in seen:
                raise UsageError(f"the grid's {name} holds {value!r} twice; give it once")
            seen.add(key)
        columns[name] = column
    if (count := math.prod(map(len, columns.values()))) > MOST_CELLS:
        raise UsageError(f"a grid may have {MOST_CELLS:,} settings at most; it has {count:,}: give fewer values")
    return tuple(dict(zip(columns, values, strict=True)) for values in itertools.product(*columns.values()))


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def seed_list(seeds: int | Sequence[int]) -> tuple[int, ...]:
    """The seeds themselves: 0, 1, ... up to a number of them, or those given.

    Raises
    ------
    UsageError
        If they are not whole numbers of at least 0, all different, or there are none.
    """
    if isinstance(seeds, int) and not isinstance(seeds, bool):
        if seeds > MOST_CELLS:
            raise UsageError(f"seeds may be {MOST_CELLS:,} at most, each of them a cell; received {seeds!r:.40}")
        given = list(range(seeds))
    else:
        given = list(seeds) if np.iterable(seeds) and not isinstance(seeds, str) else []
    if not given:
        raise UsageError(f"seeds must be a positive number of seeds, or a list of them; received {seeds!r}")
    if wrong := [s for s in given if isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 0]:
        raise UsageError(f"seeds must be whole numbers of at least 0; received {wrong[0]!r}")
    if len(set(given)) < len(given):
        raise UsageError("a seed is given twice, and would give the same draws twice; give each once")
    return tuple(map(int, given))


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
            scale = {name: float(f"{value:.{_DIGITS}g}") for name, value in found.document["scale"].items()}
            units = {"kind": found.document["kind"], "scale": scale}
    return replace(plan, measure_settings=plan.measure_settings | {"units": units}), notes


def _kept(plan: Plan, store: Store) -> Mapping[str, Any] | None:
    """The scale of a pilot that cells of the same target were scored in."""
    of_target = (record for record in store.records.values() if record["target"] == plan.identity)
    scales = (record["measure_settings"].get("units") for record in of_target)
    return next((units for units in scales if isinstance(units, Mapping) and units["kind"] == "pilot"), None)


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
    tasks = {k: (plan.sampler, plan.options | plan.settings[k], plan.seeds[:1]) for k in places.tolist()}
    found = {k: answer for k, answer in workers.answers(run_chains, tasks) if not isinstance(answer, Lost)}
    samples = [run.sample for _, (run,) in sorted(found.items()) if run.sample is not None]
    moved = [each for each in samples if not (each.points == each.points[0]).all(axis=0).any()]
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
