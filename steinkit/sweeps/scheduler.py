"""Successive elimination of settings in sweeps, and successive halving in tuning.

Both methods proceed in rungs of increasing cost [1]_. On each rung, the remaining settings are run and scored, and only
some of these settings advance to the next rung.

In successive elimination [2]_ (option `racing`), the first three rungs use an eighth, a quarter and half of the seeds,
but at least five seeds. The last rung uses all the seeds. The leader b of a rung is the setting with the smallest
median loss. Setting i is dropped if it is distinguished from b (`steinkit.sweeps.choice`). This test compares the
certified lower bounds of i with the upper bounds of b over resamples of the seeds. The error probability of 0.05 is
divided by the number of comparisons, which is R (k - 1) for k settings and R rungs before the last. The setting with
the smallest true median is therefore kept with a probability of at least 0.95. A wide bracket alone never causes a
setting to be dropped.

In tuning [3]_, the rungs use chains of increasing length. Scores of short chains do not reliably predict the order of
long chains, so no statistical test is used to drop settings. Instead, the third of the settings with the smallest
median losses advances.

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
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from steinkit.arguments import number
from steinkit.errors import UsageError
from steinkit.measures import find_measure
from steinkit.sample import Floats
from steinkit.sweeps.cells import Record, Setting
from steinkit.sweeps.choice import is_above, median_losses
from steinkit.text import setting_key

_SHARES = (1 / 8, 1 / 4, 1 / 2)  # fractions of the seeds used on the rungs of successive elimination
_ERROR = 0.05  # bound on the probability of dropping the setting with the smallest true median
_FEWEST_SEEDS = 5  # four seeds cannot distinguish eight settings at the 95% level
_ETA = 3  # in tuning, the inverse of this number is the fraction of settings that advance


@dataclass(frozen=True)
class Rung(Record):
    """A rung of tuning.

    Attributes
    ----------
    length : int
        Length of the chains, in draws or in likelihood evaluations at individual data points.
    measure : str
        The measure that orders the settings.
    losses : dict of str to float
        Median losses over the seeds, keyed by setting. A loss is infinite if half of the cells have no value.
    kept : tuple of dict
        Settings that advance, from best to worst.

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

    @classmethod
    def of(cls, length: int, measure: str, settings: Sequence[Setting], losses: Floats, most: int) -> Rung:
        """Select the settings with the smallest median losses, breaking ties by order.

        Parameters
        ----------
        length : int
            Length of the chains.
        measure : str
            The measure that orders the settings.
        settings : sequence of dict
            All settings of the rung.
        losses : ndarray, shape (settings, seeds, 2)
            Brackets of the losses.
        most : int
            Number of settings to select.

        Returns
        -------
        Rung
            The rung with its selected settings.
        """
        medians = median_losses(losses)
        kept = tuple(settings[k] for k in np.argsort(medians, kind="stable")[:most])
        return cls(length, measure, dict(zip(map(setting_key, settings), medians.tolist(), strict=True)), kept)

    @property
    def ranked(self) -> list[str]:
        """Settings, from best to worst."""
        return sorted(self.losses, key=self.losses.__getitem__)


def ladder(settings: int, full: int, cost: float) -> list[tuple[int, int]]:
    """Return the number of settings and the chain length on each rung.

    The chains have the maximum length that `cost` allows. Here, `cost` is a fraction of the cost of the full grid.

    Raises
    ------
    UsageError
        If the cost is not in (0, 1], or is too small for one step of each setting.
    """
    number(cost, "cost", lambda share: 0.0 < share <= 1.0, "a fraction of the full grid's cost in (0, 1]")
    last = next(r for r in range(64) if _ETA**r >= settings)
    counts = [math.ceil(settings / _ETA**r) for r in range(last + 1)]
    for stretch in np.geomspace(_ETA**last, 1e-6, 2000):
        lengths = [int(full * min(1.0, stretch * _ETA ** (r - last)) * (1 + 1e-12)) for r in range(last + 1)]
        pairs = zip(counts, lengths, [0, *lengths], strict=False)  # rungs with the same chain length are run only once
        spent = sum(count * length for count, length, known in pairs if length != known)
        if lengths[0] and spent <= cost * settings * full:
            return list(zip(counts, lengths, strict=True))
    raise UsageError(
        f"cost must allow one step of each of {settings} settings; got {cost:g}: increase it, or use longer chains"
    )


def eliminate(
    settings: Sequence[Setting],
    seeds: Sequence[int],
    losses_of: Callable[[Sequence[int], Sequence[int]], tuple[str, Floats]],
) -> dict[str, str]:
    """Return the reasons for dropping settings before all seeds are run.

    Parameters
    ----------
    settings : sequence of dict
        The settings.
    seeds : sequence of int
        All seeds.
    losses_of : callable
        Function that takes the indices of settings and seeds. It returns the measure that ranks these settings and
        an array of certified brackets for their losses. The array has shape (settings, seeds, 2), and its entries are
        infinite for failed cells.
    """
    sizes = sorted({max(_FEWEST_SEEDS, math.ceil(share * len(seeds))) for share in _SHARES})
    sizes = [size for size in sizes if size < len(seeds)]
    names, alive, dropped = list(map(setting_key, settings)), list(range(len(settings))), dict[str, str]()
    for size in sizes:
        if len(alive) == 1:
            break
        measure, losses = losses_of(alive, seeds[:size])
        best, (lower, upper) = int(median_losses(losses).argmin()), losses.transpose(2, 0, 1)
        leader, error = alive[best], _ERROR / (len(sizes) * (len(settings) - 1))
        for i, bounds in zip(tuple(alive), lower, strict=True):
            if i != leader and is_above(bounds, upper[best], error=error):
                dropped[names[i]] = _reason(bounds, upper[best], names[leader], measure)
                alive.remove(i)
    return {name: dropped[name] for name in names if name in dropped}


def _reason(lower: Floats, upper: Floats, leader: str, measure: str) -> str:
    """Return the reason for dropping a setting, with bounds on both medians."""
    sides, sign = ("at least", "at most"), 1.0
    if not find_measure(measure).smaller_is_better:
        sides, sign = sides[::-1], -1.0
    own, other = sign * float(np.median(lower)), sign * float(np.median(upper))
    median = f"median {sides[0]} {own:.4g}" if math.isfinite(own) else "no finite median"
    failed = f", {np.isinf(lower).sum()} of them failed" if np.isinf(lower).any() else ""
    return f"{median} over {len(lower)} seeds{failed}; {leader} has {sides[1]} {other:.4g}"
