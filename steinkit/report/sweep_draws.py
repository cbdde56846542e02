"""The draws behind a sweep's verdict: three of its settings, on one scale, with the test function h of each.

And whether the best setting's chain missed a mode that chains of other settings found. No Stein discrepancy sees a mode
that no draw has come near, so that a sweep may choose a chain that stays in one. The draws that were kept of other
settings say where else to look: at a draw of theirs where the target is denser than at a tenth of the best chain's
draws, and which is cut off from those of these that are at least half as dense, or of their denser half. Cut off means
that on the straight way to the nearest of them, in standard units of all draws together, the density falls below half
of that at the draw and below three quarters of that at the other end. Where the log density is concave it never does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from steinkit.diagnosis.verdict_result import Verdict
from steinkit.errors import InputError, SteinkitError, UsageError
from steinkit.report.sources import Found
from steinkit.result import FindMeasure
from steinkit.sample import Floats, Sample
from steinkit.sweeps.identity import target_fingerprint
from steinkit.sweeps.run import named_target
from steinkit.sweeps.store import Store
from steinkit.sweeps.tasks import judge_again, score_again
from steinkit.sweeps.text import leading
from steinkit.target import Target
from steinkit.text import compact, count, setting_key, setting_label

Setting = Mapping[str, Any]
FindTarget = Callable[[int], Target]


def telling_settings(choice: Mapping[str, Any], blind: Mapping[str, Any] | None, parameter: str) -> dict[str, Setting]:
    """A setting on either side of the best one along a parameter, and the best one itself, by what to call them.

    On each side it is the pick of effective sample size if that lies there, else the middle one.

    Parameters
    ----------
    choice, blind : mapping
        Choices of a sweep's document: that of the verdict, and that of effective sample size.
    parameter : str
    """
    others = {name: value for name, value in choice["best"].items() if name != parameter}
    line = [row["settings"] for row in choice["table"] if {**row["settings"], **others} == row["settings"]]
    values = [setting[parameter] for setting in line]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        line.sort(key=lambda setting: float(setting[parameter]))
    at = next(k for k, setting in enumerate(line) if setting == choice["best"])
    found: dict[str, Setting] = {}
    for name, side in (("smaller", line[:at]), ("best", [choice["best"]]), ("larger", line[at + 1 :])):
        if not side:
            continue
        picked = [setting for setting in side if blind is not None and setting == blind["best"]]
        found[name] = (picked or [side[len(side) // 2]])[0]
    return found


def scored_draws(
    found: Found, settings: Sequence[Setting], measure: str, target: Target | str | None
) -> tuple[Target | None, dict[int, Any]]:
    """The draws of the first seed of some settings, scored again; by the settings' places in the sequence.

    Parameters
    ----------
    found : Found
        A sweep's file.
    settings : sequence of mapping
    measure : str
    target : Target or str, optional
        What was drawn from, or its name; by default the built-in target that the sweep names.

    Raises
    ------
    SteinkitError
        If the target is not that of the sweep, or draws cannot be had or scored.
    """
    kept = _kept(found, settings)
    if not kept:
        return None, {}
    made = sweep_target(found, target, next(iter(kept.values()))[1].dim)
    return made, {k: score_again(made, sample, measure, record).result for k, (record, sample) in kept.items()}


class JudgedDraws(NamedTuple):
    """What draws of the best setting are worth.

    Parameters
    ----------
    verdict : Verdict
    seed : int
    missed : str
        Where chains of other settings found a mode that they missed; empty if none is seen.
    """

    verdict: Verdict
    seed: int
    missed: str


def judged_draws(found: Found, measure: str, target_of: FindTarget) -> JudgedDraws | None:
    """Judge the draws that were kept of the best setting's first seed, if there are.

    A missed mode is not seen without draws of another setting, or a log density of the target.

    Parameters
    ----------
    found : Found
    measure : str
        Whose best setting it is.
    target_of : callable
        The sweep's target, given the dimension of its draws.

    Raises
    ------
    SteinkitError
        If the draws cannot be had or judged.
    """
    if found.file is None or found.configuration is None:
        return None
    settings, best = found.configuration["settings"], found.document["criteria"][measure]["best"]
    kept = _kept(found, settings)
    if settings.index(best) not in kept:
        return None
    record, own = kept.pop(settings.index(best))
    samples = {k: sample for k, (_, sample) in kept.items()}
    target = target_of(own.dim)
    judgement = judge_again(target, own, measure, record)
    if judgement.verdict is None:
        raise InputError(f"there is no verdict: {judgement.unjudged}")
    mode = missed_mode(own, list(samples.values()), target) if target.has_log_density and samples else None
    missed = "" if mode is None else mode.described(setting_label(settings[list(samples)[mode.chain]]))
    return JudgedDraws(judgement.verdict, record["seed"], missed)


def best_in_words(found: Found, find: FindMeasure, target_of: FindTarget) -> list[str]:
    """What a terminal says of draws of the best setting: the verdict, and the mode that they missed.

    Parameters
    ----------
    found : Found
    find : callable
        The measure of a name.
    target_of : callable
        As `judged_draws` takes it.
    """
    name = leading(found.document, find)
    if name is None:
        return []
    draws = f"Draws of the best setting, {setting_key(found.document['criteria'][name]['best'])}"
    try:
        judged = judged_draws(found, name, target_of)
    except SteinkitError as error:
        return [f"{draws}, were not judged: {error}."]
    if judged is None:
        return [f"{draws}, were not judged: none were kept."]
    said = f"{draws}, seed {judged.seed}: {judged.verdict.sentence}"
    return [said, *filter(None, (judged.verdict.modes_sentence, judged.missed))]


def sweep_target(found: Found, target: Target | str | None, dim: int) -> Target:
    """The target of a sweep, held to be the same as it was.

    Parameters
    ----------
    found : Found
        A sweep's file.
    target : Target or str, optional
        As `scored_draws` takes it.
    dim : int
        Of the draws.

    Raises
    ------
    UsageError, InputError
        If it is code of the user's own and not named, or is another one.
    """
    assert found.configuration is not None  # a file has one
    known = found.configuration["target"]
    files: tuple[Path, ...] = ()
    if target is None:
        if ".py:" in known["name"]:
            raise UsageError(
                f"the target {known['name']} is code of your own, which a report does not run unasked; pass it with "
                "--target (in Python target=)"
            )
        target, files = named_target(known["name"], known["options"], dim)
    elif isinstance(target, str):
        target, files = named_target(target, {} if ".py:" in target else known["options"], dim)
    if known["fingerprint"] != target_fingerprint(target, files):
        raise InputError(
            f"the target {known['name']} is not the one that the sweep was run with: its data, its score or its file "
            "have changed"
        )
    return target


def _kept(found: Found, settings: Sequence[Setting]) -> dict[int, tuple[Mapping[str, Any], Sample]]:
    """Records and draws that the sweep kept, by places of their settings; others failed before they had draws."""
    assert found.file is not None
    kept: dict[int, tuple[Mapping[str, Any], Sample]] = {}
    with Store(found.file, writing=False) as store:
        for k, setting in enumerate(settings):
            there = (r for r in found.records if r["settings"] == setting and r["cell"] in store.with_draws)
            for record in itertools.islice(there, 1):
                kept[k] = record, store.draws(record["cell"])
    return kept


Booleans: TypeAlias = NDArray[np.bool_]

_FALL, _FALL_BEYOND = float(np.log(2.0)), float(np.log(4.0 / 3.0))  # of the log density, from either end to the valley
_AS_DENSE = 0.1  # quantile of the log density at the best chain's draws
_STEPS = np.linspace(0.0, 1.0, 18)[1:-1]  # of the way
_LOOKED_AT = 500  # draws of a chain
_SHOWN_NUMBERS = 4  # of a point


@dataclass(frozen=True, eq=False)
class MissedMode:
    """A draw of another chain in a mode that the best chain missed.

    Attributes
    ----------
    chain : int
        Which of the other chains.
    point : array, shape (d,)
        The one where the target is densest.
    names : tuple of str
        Of the coordinates.
    draws, of : int
        How many of this chain's draws that were looked at lie in such modes, and how many were looked at.
    """

    chain: int
    point: Floats
    names: tuple[str, ...]
    draws: int
    of: int

    def described(self, chain: str) -> str:
        """What was found, the other chain called by its setting."""
        place = [f"{name} {compact(value)}" for name, value in zip(self.names, self.point, strict=True)]
        shown = ", ".join([*place[:_SHOWN_NUMBERS], *(["..."] if len(place) > _SHOWN_NUMBERS else [])])
        return (
            f"The chain of the best setting missed a mode that others found: {self.draws} of "
            f"{count(self.of, 'draw')} looked at of {chain} lie where the target is denser than at a tenth of its "
            "own draws, but beyond a valley of less than half their density, seen from its draws that are about as "
            f"dense; the densest at {shown}. A Stein discrepancy does not see what no draw has come near: run longer "
            "chains, or start them in all modes."
        )


def missed_mode(best: Sample, others: Sequence[Sample], target: Target) -> MissedMode | None:
    """The mode with the densest draw of other chains that the best one missed; None if none is seen.

    Parameters
    ----------
    best : Sample
    others : sequence of Sample
    target : Target
        With a log density.
    """
    own, looked_at = _some(best), [_some(each) for each in others]
    scale = np.concatenate([own, *looked_at]).std(axis=0)
    scale[scale == 0.0] = 1.0
    at_own = target.log_density(own)
    level = np.quantile(at_own, _AS_DENSE)
    found: tuple[float, MissedMode] | None = None
    for chain, points in enumerate(looked_at):
        density = target.log_density(points)
        cut_off = np.zeros(len(points), dtype=bool)
        dense = density >= level
        if dense.any():
            cut_off[dense] = _cut_off(points[dense], density[dense], own, at_own, scale, target)
        if cut_off.any():
            top = int(np.argmax(np.where(cut_off, density, -np.inf)))
            if found is None or density[top] > found[0]:
                mode = MissedMode(chain, points[top], best.names, int(cut_off.sum()), len(points))
                found = float(density[top]), mode
    return None if found is None else found[1]


def _cut_off(points: Floats, density: Floats, own: Floats, at_own: Floats, scale: Floats, target: Target) -> Booleans:
    """Which points lie beyond a valley of the density, seen from the nearest of the best chain's draws.

    Strays on the way to a mode, where the density is low, are not draws in it; those in a mode that is less dense are.
    """
    from scipy.spatial.distance import cdist

    least = np.minimum(density - _FALL, np.median(at_own))[:, None]
    nearest = np.where(at_own >= least, cdist(points / scale, own / scale), np.inf).argmin(axis=1)
    way = points[:, None] + _STEPS[:, None] * (own[nearest] - points)[:, None]
    lowest = target.log_density(way.reshape(-1, points.shape[1])).reshape(len(points), -1).min(axis=1)
    cut_off: Booleans = lowest < np.minimum(density - _FALL, at_own[nearest] - _FALL_BEYOND)
    return cut_off


def _some(sample: Sample) -> Floats:
    """Draws that carry weight, evenly spaced where there are many."""
    points = sample.points[sample.probabilities > 0.0]
    places = np.linspace(0, len(points) - 1, min(len(points), _LOOKED_AT)).round().astype(int)
    some: Floats = points[np.unique(places)]
    return some
