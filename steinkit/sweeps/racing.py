"""Racing: most seeds for the settings that may win, few for those that cannot [1]_.

A race runs all settings with an eighth of the seeds, the rest with a quarter, then with half (never fewer than five),
and what is left with all of them at the final tolerance. After each round the leader b is the setting with the smallest
median loss, and setting i is dropped if it is told apart from b (see `steinkit.sweeps.choice`): its certified lower
bounds against b's upper ones, over resamples of the seeds, with the allowed error divided by the number of comparisons
that a race of k settings and R rounds can make, R (k - 1). So a loose bracket keeps a setting in the race, it never
drops one, and the setting whose true median is least stays in with probability 1 - error at least.

References
----------
.. [1] O. Maron and A. W. Moore, "Hoeffding races: accelerating model selection search for classification and function
   approximation", NeurIPS 1993.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.sweeps.choice import is_above

Bracket = tuple[float, float]

_SHARES = (1 / 8, 1 / 4, 1 / 2)  # of the seeds, in the rounds before the last
_FEWEST_SEEDS = 5  # with four, eight settings cannot be told apart at 95 %


@dataclass(frozen=True)
class Round:
    """What to run next.

    Attributes
    ----------
    settings : tuple of int
        Numbers of the settings still in the race.
    seeds : tuple of int
        Seeds to have of each of them; those of earlier rounds come first.
    tolerance : float or None
        Tolerance of their scores; None is the final one.
    """

    settings: tuple[int, ...]
    seeds: tuple[int, ...]
    tolerance: float | None


class Race:
    """A race of settings; `next_round` is called until it returns None.

    Parameters
    ----------
    n_settings : int
    seeds : sequence of int
        Seeds of the last round, in the order in which rounds take them.
    smaller_is_better : bool
    tolerance : float, optional
        Of the rounds before the last. None scores at the final tolerance from the start, so that the last round finds
        those scores ready; a loose tolerance pays only where it makes a score several times cheaper.
    error : float
        Probability, at most, with which the race drops the setting whose true median is least.
    names : sequence of str, optional
        What reasons call the settings; by default "setting 1" and so on.

    Attributes
    ----------
    dropped : dict of int to str
        Numbers of the settings dropped so far, with the reasons.

    Raises
    ------
    UsageError
        If there is no setting or no seed, a seed is given twice, or tolerance or error does not lie between 0 and 1.
    """

    def __init__(
        self,
        n_settings: int,
        seeds: Sequence[int],
        *,
        smaller_is_better: bool = True,
        tolerance: float | None = None,
        error: float = 0.05,
        names: Sequence[str] | None = None,
    ) -> None:
        _require_options(n_settings, seeds, tolerance, error)
        self.dropped: dict[int, str] = {}
        self._names = names or [f"setting {i + 1}" for i in range(n_settings)]
        self._seeds = tuple(seeds)
        self._in_race = tuple(range(n_settings))
        self._smaller_is_better = smaller_is_better
        self._tolerance = tolerance
        self._sizes = _round_sizes(len(seeds))
        self._error = error / max(1, len(self._sizes) * (n_settings - 1))
        self._last: Round | None = None

    def next_round(self, brackets: Mapping[tuple[int, int], Bracket | None]) -> Round | None:
        """Drop what cannot win by the brackets known, and say what to run next.

        Parameters
        ----------
        brackets : mapping of (setting number, seed) to (lower, upper), or to None
            Certified brackets of the measure, of every cell of the round before and perhaps others; None for a cell
            that failed, which counts as the worst value there is.

        Returns
        -------
        Round or None
            None after the last round.

        Raises
        ------
        UsageError
            If a cell of the round before is missing.
        """
        if self._last is not None:
            _require_cells(self._last, brackets)
            if self._is_final(self._last):
                return None
            self._drop(self._last.seeds, brackets)
        if self._sizes and len(self._in_race) > 1:
            self._last = Round(self._in_race, self._seeds[: self._sizes.pop(0)], self._tolerance)
        else:
            self._last = Round(self._in_race, self._seeds, None)
        return self._last

    def _is_final(self, current: Round) -> bool:
        return len(current.seeds) == len(self._seeds)

    def _drop(self, seeds: tuple[int, ...], brackets: Mapping[tuple[int, int], Bracket | None]) -> None:
        losses = np.array([[self._loss(brackets[i, seed]) for seed in seeds] for i in self._in_race])
        lower, upper = losses[:, :, 0], losses[:, :, 1]
        medians = np.median(0.5 * lower + 0.5 * upper, axis=1)
        leader = int(medians.argmin())
        out = {
            i: self._reason(lower[row], upper[leader], self._in_race[leader])
            for row, i in enumerate(self._in_race)
            if row != leader and is_above(lower[row], upper[leader], error=self._error)
        }
        self.dropped.update(out)
        self._in_race = tuple(i for i in self._in_race if i not in out)

    def _loss(self, bracket: Bracket | None) -> Bracket:
        """Smaller is better; infinite where the cell failed."""
        if bracket is None:
            return math.inf, math.inf
        return bracket if self._smaller_is_better else (-bracket[1], -bracket[0])

    def _reason(self, lower: Floats, leader: Floats, number: int) -> str:
        """Why a setting is out: its median bound, on the side that favours it, beside the leader's, on the other."""
        sign = 1.0 if self._smaller_is_better else -1.0
        own, other = sign * float(np.median(lower)), sign * float(np.median(leader))
        side, other_side = ("at least", "at most") if self._smaller_is_better else ("at most", "at least")
        failed = int(np.isinf(lower).sum())
        failures = f", {failed} of them failed" if failed else ""
        median = f"median {side} {own:.4g}" if math.isfinite(own) else "no finite median"
        return (
            f"{median} over {len(lower)} seeds{failures}, where {self._names[number]} has {other_side} {other:.4g}: "
            "beyond the spread of the seeds"
        )


def _round_sizes(seeds: int) -> list[int]:
    """Numbers of seeds in the rounds before the last, growing."""
    sizes = {max(_FEWEST_SEEDS, math.ceil(share * seeds)) for share in _SHARES}
    return sorted(size for size in sizes if size < seeds)


def _require_cells(current: Round, brackets: Mapping[tuple[int, int], Bracket | None]) -> None:
    missing = [(i, seed) for i in current.settings for seed in current.seeds if (i, seed) not in brackets]
    if missing:
        raise UsageError(
            f"{len(missing)} cells of the last round are missing, such as setting number {missing[0][0]} with seed "
            f"{missing[0][1]}; pass every one of them, None where it failed"
        )


def _require_options(n_settings: int, seeds: Sequence[int], tolerance: float | None, error: float) -> None:
    if n_settings < 1:
        raise UsageError(f"a race needs at least one setting; received {n_settings}")
    if not seeds or len(set(seeds)) < len(seeds):
        raise UsageError(f"a race needs seeds that differ; received {list(seeds)}")
    for name, value in (("tolerance", tolerance), ("error", error)):
        if value is not None and not 0.0 < value < 1.0:
            raise UsageError(f"{name} must lie between 0 and 1; received {value}")
