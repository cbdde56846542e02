"""Successive halving [1]_, in rungs of growing cost, with confidence intervals: of races [2]_ and of tuning [3]_.

Settings climb a ladder. On each rung all that are left are run, at the cost of the rung, and scored; some go on.

A race of a sweep has rungs of more and more seeds: an eighth of them, a quarter, half (never fewer than five), all.
The leader b of a rung is the setting with the smallest median loss, and setting i is dropped if it is told apart from b
(see `steinkit.sweeps.choice`): its certified lower bounds against b's upper ones, over resamples of the seeds, with the
allowed error divided by the number of comparisons that a race of k settings and R such rungs can make, R (k - 1). So a
loose bracket keeps a setting in the race, it never drops one, and the setting whose true median is least stays in with
probability .95 at least.

Tuning has rungs of longer and longer chains, whose cost is bounded. How sure an order of short chains is says little
of long ones, so that the number of settings that go on is fixed: a third of them, those with the smallest medians.

References
----------
.. [1] K. Jamieson and A. Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization", AISTATS
   2016.
.. [2] O. Maron and A. W. Moore, "Hoeffding races: accelerating model selection search for classification and function
   approximation", NeurIPS 1993.
.. [3] J. Coullon, L. South and C. Nemeth, "Efficient and generalizable tuning strategies for stochastic gradient MCMC",
   Statistics and Computing 33, 2023.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.arguments import number
from steinkit.errors import UsageError
from steinkit.result import in_json
from steinkit.sample import Floats
from steinkit.sweeps.cells import Interval, Place
from steinkit.sweeps.choice import is_above
from steinkit.text import setting_key

Losses = Mapping[Place, Interval]

_SHARES = (1 / 8, 1 / 4, 1 / 2)  # of the seeds, on the rungs of a race before the last
_ERROR = 0.05  # probability, at most, with which a race drops the setting whose true median is least
_FEWEST_SEEDS = 5  # with four, eight settings cannot be told apart at 95 %
_ETA = 3  # in tuning one in three settings goes on


@dataclass(frozen=True)
class Rung:
    """A rung of the ladder.

    Attributes
    ----------
    length : int
        Of its chains, in draws or gradient evaluations.
    measure : str
        By which it goes.
    losses : dict of str to float
        Medians over the seeds, by setting; infinite where half the cells have no value.
    kept : tuple of dict
        Settings that go on, best first.
    """

    length: int
    measure: str
    losses: dict[str, float]
    kept: tuple[dict[str, Any], ...]

    @property
    def ranked(self) -> list[str]:
        """The settings, best first."""
        return sorted(self.losses, key=self.losses.__getitem__)

    def to_dict(self) -> dict[str, Any]:
        """List the rung as JSON documents hold it.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {name: in_json(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Stage:
    """What a rung costs.

    Attributes
    ----------
    seeds : tuple of int
    length : int
        Of the chains; 0 is the full one.
    most : int, optional
        Settings that go on; by default those that are not told apart from the best.
    """

    seeds: tuple[int, ...]
    length: int = 0
    most: int | None = None


def race_stages(seeds: Sequence[int]) -> list[Stage]:
    """Return the stages of a race."""
    sizes = {max(_FEWEST_SEEDS, math.ceil(share * len(seeds))) for share in _SHARES}
    early = sorted(size for size in sizes if size < len(seeds))
    return [Stage(tuple(seeds[:size])) for size in (*early, len(seeds))]


def ladder(settings: int, full: int, cost: float) -> list[tuple[int, int]]:
    """Return how many settings each rung of tuning has, and the length of its chains: the longest that the cost pays.

    Raises
    ------
    UsageError
        If it does not pay one step of each, or is no share.
    """
    number(cost, "cost", lambda share: 0.0 < share <= 1.0, "a share of the full grid's cost, above 0 and at most 1")
    last = next(r for r in range(64) if _ETA**r >= settings)
    counts = [math.ceil(settings / _ETA**r) for r in range(last + 1)]
    for stretch in np.geomspace(_ETA**last, 1e-6, 2000):
        rungs = [
            (count, int(full * min(1.0, stretch * _ETA ** (r - last)) * (1 + 1e-12))) for r, count in enumerate(counts)
        ]
        below = [0, *(length for _, length in rungs)]  # whose chains cost nothing where they are as long
        spent = sum(count * length for (count, length), known in zip(rungs, below, strict=False) if length != known)
        if rungs[0][1] and spent <= cost * settings * full:
            return rungs
    raise UsageError(f"cost {cost:g} of {settings} settings does not pay one step of each; give more, or longer chains")


def climb(
    settings: Sequence[dict[str, Any]],
    stages: Sequence[Stage],
    losses_of: Callable[[Stage, Sequence[int]], tuple[str, Losses]],
    dropped: dict[str, str],
    *,
    sign: int = 1,
) -> Iterator[Rung]:
    """Run stages one after another, each with the settings that are left.

    Parameters
    ----------
    settings : sequence of dict
    stages : sequence of Stage
    losses_of : callable
        Runs a stage with some settings, given by their numbers. Returns the measure that the rung goes by, and
        certified brackets of the losses by it, infinite where a cell failed.
    dropped : dict
        Takes the settings that are told apart from the best, with the reasons.
    sign : int
        A loss times this is the measure.
    """
    names, alive = list(map(setting_key, settings)), list(range(len(settings)))
    error = _ERROR / max(1, (len(stages) - 1) * (len(settings) - 1))
    for stage in stages:
        is_last = stage is stages[-1]
        if len(alive) == 1 and stage.most is None and not is_last:
            continue  # a single setting goes to the last rung of a race
        measure, losses = losses_of(stage, alive)
        lower, upper = np.array([[losses[i, seed] for seed in stage.seeds] for i in alive]).transpose(2, 0, 1)
        medians = np.median(0.5 * lower + 0.5 * upper, axis=1)
        order = np.argsort(medians, kind="stable")
        leader, kept = int(order[0]), [alive[row] for row in order[: stage.most]]
        if stage.most is None and not is_last:
            for row, i in enumerate(alive):
                if row != leader and is_above(lower[row], upper[leader], error=error):
                    dropped[names[i]] = _reason(lower[row], upper[leader], names[alive[leader]], sign)
            kept = [i for i in kept if names[i] not in dropped]
        found = {names[i]: float(median) for i, median in zip(alive, medians, strict=True)}
        yield Rung(stage.length, measure, found, tuple(settings[i] for i in kept))
        alive = kept if stage.most is not None else sorted(kept)


def _reason(lower: Floats, upper: Floats, leader: str, sign: int) -> str:
    """Why a setting is out: its median bound, on the side that favors it, and the leader's, on the other."""
    own, other = sign * float(np.median(lower)), sign * float(np.median(upper))
    side, other_side = ("at least", "at most")[::sign]
    failed = int(np.isinf(lower).sum())
    failures = f", {failed} of them failed" if failed else ""
    median = f"median {side} {own:.4g}" if math.isfinite(own) else "no finite median"
    return (
        f"{median} over {len(lower)} seeds{failures}, where {leader} has {other_side} {other:.4g}: "
        "beyond the spread of the seeds"
    )
