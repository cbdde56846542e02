"""Successive halving [1]_ for races [2]_ and tuning [3]_.

It proceeds in rungs of growing cost.

On each rung, all remaining settings are run at the cost of the rung and scored; some of them continue.

The rungs of a race have increasing numbers of seeds: an eighth, a quarter and half of them (at least five), then all.
The leader b of a rung is the setting with the smallest median loss. Setting i is dropped if it is distinguished from b
(`steinkit.sweeps.choice`), by its certified lower bounds and b's upper ones over resamples of the seeds. The allowed
error is divided by the number of comparisons, R (k - 1) for k settings and R such rungs. A loose bracket therefore
keeps a setting in the race, and the setting with the smallest true median remains with probability 0.95 or more.

The rungs of tuning have chains of increasing length. The order of short chains predicts that of long chains poorly, so
the number of settings that continue is fixed: the third with the smallest medians.

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

import numpy as np

from steinkit.arguments import number
from steinkit.errors import UsageError
from steinkit.result import in_json
from steinkit.sample import Floats
from steinkit.sweeps.cells import Interval, Place, Setting
from steinkit.sweeps.choice import is_above
from steinkit.text import setting_key

Losses = Mapping[Place, Interval]

_SHARES = (1 / 8, 1 / 4, 1 / 2)  # of the seeds, on the rungs of a race before the last
_ERROR = 0.05  # probability that a race drops the setting with the smallest true median
_FEWEST_SEEDS = 5  # four seeds cannot distinguish eight settings at 95 %
_ETA = 3  # tuning keeps one in three settings


@dataclass(frozen=True)
class Rung:
    """A rung of tuning.

    Attributes
    ----------
    length : int
        Length of its chains, in draws or likelihood evaluations of single data points.
    measure : str
        The measure that orders the settings.
    losses : dict of str to float
        Medians over the seeds, by setting; infinite if half of the cells have no value.
    kept : tuple of dict
        Settings that continue, best first.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.Rung(100, "bias", {"step_size 1": 0.4, "step_size 0.1": 0.2}, ({"step_size": 0.1},)).ranked
    ['step_size 0.1', 'step_size 1']
    """

    length: int
    measure: str
    losses: dict[str, float]
    kept: tuple[Setting, ...]

    @property
    def ranked(self) -> list[str]:
        """The settings, best first."""
        return sorted(self.losses, key=self.losses.__getitem__)

    def to_dict(self) -> Setting:
        """Return the rung as JSON values.

        Returns
        -------
        dict
            Strings, finite numbers, lists and dicts.
        """
        return {name: in_json(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Stage:
    """Cost of a rung.

    Attributes
    ----------
    seeds : tuple of int
        Seeds that every setting is run with.
    length : int
        Length of the chains; 0 for full length.
    most : int, optional
        Number of settings that continue; by default those that are not distinguished from the best.
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
    """Return the settings and the length of the chains on each rung of tuning.

    An item is a number of settings and a length. The cost limits the lengths.

    Raises
    ------
    UsageError
        If the cost is not in (0, 1], or too small for one step of each setting.
    """
    number(cost, "cost", lambda share: 0.0 < share <= 1.0, "a fraction of the full grid's cost, above 0 and at most 1")
    last = next(r for r in range(64) if _ETA**r >= settings)
    counts = [math.ceil(settings / _ETA**r) for r in range(last + 1)]
    for stretch in np.geomspace(_ETA**last, 1e-6, 2000):
        lengths = [int(full * min(1.0, stretch * _ETA ** (r - last)) * (1 + 1e-12)) for r in range(last + 1)]
        pairs = zip(counts, lengths, [0, *lengths], strict=False)  # chains of the same length are not run again
        spent = sum(count * length for count, length, known in pairs if length != known)
        if lengths[0] and spent <= cost * settings * full:
            return list(zip(counts, lengths, strict=True))
    raise UsageError(
        f"cost must allow one step of each of {settings} settings; got {cost:g}: increase it, or use longer chains"
    )


def climb(
    settings: Sequence[Setting],
    stages: Sequence[Stage],
    losses_of: Callable[[Stage, Sequence[int]], tuple[str, Losses]],
    dropped: dict[str, str],
    *,
    sign: int = 1,
) -> Iterator[Rung]:
    """Run stages in order, each with the remaining settings.

    Parameters
    ----------
    settings : sequence of dict
        The settings.
    stages : sequence of Stage
        Cost of each rung.
    losses_of : callable
        Runs a stage with settings given by their indices. It returns the measure that orders the settings, and
        certified brackets of their losses, infinite for failed cells.
    dropped : dict
        Receives the settings that are distinguished from the best, with the reasons.
    sign : int
        Factor from a loss to the measure, 1 or -1.
    """
    names, alive = list(map(setting_key, settings)), list(range(len(settings)))
    error = _ERROR / max(1, (len(stages) - 1) * (len(settings) - 1))
    for stage in stages:
        is_last = stage is stages[-1]
        if len(alive) == 1 and stage.most is None and not is_last:
            continue  # a single setting proceeds to the last rung of a race
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
    """Return the reason why a setting is dropped: its median bound and the leader's."""
    own, other = sign * float(np.median(lower)), sign * float(np.median(upper))
    side, other_side = ("at least", "at most")[::sign]
    failed = f", {np.isinf(lower).sum()} of them failed" if np.isinf(lower).any() else ""
    median = f"median {side} {own:.4g}" if math.isfinite(own) else "no finite median"
    return f"{median} over {len(lower)} seeds{failed}; {leader} has {other_side} {other:.4g}"
