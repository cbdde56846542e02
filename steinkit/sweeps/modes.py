"""What the draws of a sweep's best setting are worth: the verdict on them, and whether they missed a mode.

No Stein discrepancy sees a mode that no draw has come near, so that a sweep may choose a chain that stays in one. The
draws that were kept of other settings say where else to look: at a draw of theirs where the target is denser than at a
tenth of the best chain's draws, and which is cut off from those of these that are at least half as dense, or of their
denser half. Cut off means that on the straight way to the nearest of them, in standard units of all draws together, the
density falls below half of that at the draw and below three quarters of that at the other end. Where the log density is
concave it never does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import SteinkitError
from steinkit.measures.scoring import Judging
from steinkit.sample import Floats, Sample
from steinkit.sweeps.cells import Setting
from steinkit.sweeps.plan import Plan
from steinkit.sweeps.sampler import quiet
from steinkit.sweeps.store import Store
from steinkit.target import Target

_FALL, _FALL_BEYOND = float(np.log(2.0)), float(np.log(4.0 / 3.0))  # of the log density, from either end to the valley
_AS_DENSE = 0.1  # quantile of the log density at the best chain's draws
_STEPS = np.linspace(0.0, 1.0, 18)[1:-1]  # of the way
_LOOKED_AT = 500  # draws of a chain


@dataclass(frozen=True)
class MissedMode:
    """A mode that the best setting's chain missed.

    Attributes
    ----------
    settings : dict
        Of the chain that found it.
    place : dict of str to float
        The draw of that chain where the target is densest.
    draws, of : int
        How many of that chain's draws that were looked at lie in such modes, and how many were looked at.
    """

    settings: dict[str, Any]
    place: dict[str, float]
    draws: int
    of: int


def judge_best(plan: Plan, store: Store, best: Setting) -> dict[str, Any]:
    """Judge the draws of the first seed that were kept of the best setting.

    Parameters
    ----------
    plan : Plan
    store : Store
    best : mapping

    Returns
    -------
    dict
        The fields "verdict", "unjudged" and "missed" of a `SweepResult`.
    """
    names = [plan.fingerprint(i, plan.seeds[0]) for i in range(len(plan.settings))]
    kept = {i: store.draws(name) for i, name in enumerate(names) if name in store.with_draws}
    own = kept.pop(plan.settings.index(dict(best)), None)
    if own is None:
        return {"verdict": None, "unjudged": "no draws of the best setting were kept", "missed": None}
    mode: MissedMode | None = None
    with quiet():
        judged = Judging().judge(own, plan.target, plan.measure_settings, rng=0)
        if plan.target.has_log_density:
            try:
                found = missed_mode(own, kept, plan.target)
            except SteinkitError:  # of a density that fails at draws of another setting
                found = None
            if found is not None:
                chain, point, draws, of = found
                place = dict(zip(own.names, point.tolist(), strict=True))
                mode = MissedMode(dict(plan.settings[chain]), place, draws, of)
    return {"verdict": judged.verdict, "unjudged": judged.unjudged, "missed": mode}


def missed_mode(best: Sample, others: Mapping[int, Sample], target: Target) -> tuple[int, Floats, int, int] | None:
    """Look for modes that the best chain missed in draws of other chains.

    Parameters
    ----------
    best : Sample
    others : mapping of int to Sample
    target : Target
        With a log density.

    Returns
    -------
    tuple or None
        The key of the chain with the densest of these draws, that draw, how many of its draws lie in such modes, and
        how many were looked at; None if none is seen.
    """
    if not others:
        return None
    own, looked_at = _some(best), {key: _some(each) for key, each in others.items()}
    scale = np.concatenate([own, *looked_at.values()]).std(axis=0)
    scale[scale == 0.0] = 1.0
    at_own = target.log_density(own)
    level = np.quantile(at_own, _AS_DENSE)
    found: list[tuple[float, tuple[int, Floats, int, int]]] = []
    for key, points in looked_at.items():
        density = target.log_density(points)
        cut_off = density >= level
        if cut_off.any():
            cut_off[cut_off] = _cut_off(points[cut_off], density[cut_off], own, at_own, scale, target)
        if cut_off.any():
            top = int(np.argmax(np.where(cut_off, density, -np.inf)))
            found.append((float(density[top]), (key, points[top], int(cut_off.sum()), len(points))))
    return max(found, key=lambda each: each[0])[1] if found else None


def _cut_off(
    points: Floats, density: Floats, own: Floats, at_own: Floats, scale: Floats, target: Target
) -> NDArray[np.bool_]:
    """Which points lie beyond a valley of the density, seen from the nearest of the best chain's draws.

    Strays on the way to a mode, where the density is low, are not draws in it; those in a mode that is less dense are.
    """
    from scipy.spatial.distance import cdist

    least = np.minimum(density - _FALL, np.median(at_own))[:, None]
    nearest = np.where(at_own >= least, cdist(points / scale, own / scale), np.inf).argmin(axis=1)
    way = points[:, None] + _STEPS[:, None] * (own[nearest] - points)[:, None]
    lowest = target.log_density(way.reshape(-1, points.shape[1])).reshape(len(points), -1).min(axis=1)
    cut_off: NDArray[np.bool_] = lowest < np.minimum(density - _FALL, at_own[nearest] - _FALL_BEYOND)
    return cut_off


def _some(sample: Sample) -> Floats:
    """Draws that carry weight, evenly spaced where there are many."""
    points = sample.points[sample.probabilities > 0.0]
    places = np.linspace(0, len(points) - 1, min(len(points), _LOOKED_AT)).round().astype(int)
    some: Floats = points[np.unique(places)]
    return some
