"""What the discrepancy of a good sample would be: that of independent draws from the target, or of a long run's blocks.

A chain of n draws worth n_e independent ones scores, where it is right, about what n_e independent draws do, and more
than n: beside n independent draws slow mixing would be taken for bias. So a right sample to compare with is one of as
many draws as the effective size of the sample under test. That is generous: what a discrepancy sees beside the slowest
mean decorrelates sooner, so that right chains of 1000 draws with ESS 85 to 100 score .4 to .7 times as much.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steinkit.arguments import generator_from, require_functions, whole
from steinkit.chains import chain_diagnostics, split_chains
from steinkit.containers.reading import as_sample
from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy
from steinkit.errors import InputError, cautious
from steinkit.measurement import Reference
from steinkit.runtime.deadlines import Shares
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Sample
from steinkit.target import Seed, Target, require_target

__all__ = ["LongRun", "Reference", "effective_size", "reference_discrepancy"]

_ERROR = 10.0  # times the root of n: how much less than n the ESS of independent draws is, at most
_FEWEST = 10
_MOST_BLOCKS = 20


@cautious
def reference_discrepancy(
    target: Target,
    n: int,
    repeats: int = 5,
    *,
    discrepancy: Callable[..., Any] = graph_stein_discrepancy,
    rng: Seed = 0,
    progress: bool = False,
    **settings: Any,
) -> Reference:
    """Score independent samples of n draws from the target, to give a discrepancy a scale.

    A discrepancy shrinks with the number of draws, at a rate and from a level that depend on the target: the bare
    number means little until it is put beside that of a sample known to be right.

    Parameters
    ----------
    target : Target
        One that can be drawn from (``target.can_sample``).
    n : int
        Draws in each sample: as many as the sample under test is worth, its ESS where it is a chain.
    repeats : int
        Samples to score.
    discrepancy : callable
        What to score them by: takes draws, a target and `settings`, and returns something with a bracket `lower`,
        `upper`, such as `graph_stein_discrepancy` or `kernel_stein_discrepancy`.
    rng : int, numpy.random.Generator or None
        Seed; sample k is the same however many repeats are asked for.
    progress : bool
        Show progress on standard error.
    **settings
        Passed on to `discrepancy`: those of the score to compare with.

    Returns
    -------
    Reference
        The brackets of all samples.

    Raises
    ------
    UsageError
        If the target cannot be drawn from, or n or repeats is not positive.
    """
    require_target(target)
    require_functions(discrepancy=discrepancy)
    whole(n, "n", 1)
    whole(repeats, "repeats", 1)
    generators = generator_from(rng).spawn(repeats)
    draws = (as_sample(target.sample(n, generator)) for generator in generators)
    return _of_right_samples(draws, repeats, n, lambda each: discrepancy(each, target, **settings), progress)


@dataclass(frozen=True, eq=False)
class LongRun:
    """Draws of a long run that is known to be right, to be cut into samples to compare with.

    Attributes
    ----------
    draws : Sample
        Without burn-in, chain by chain in their order.
    name : str
        What sentences call it.
    """

    draws: Sample
    name: str

    def like(self, sample: Sample) -> LongRun:
        """The run with the coordinates of a sample, in their order.

        Raises
        ------
        InputError
            If it lacks one.
        """
        if set(sample.names) - set(self.draws.names):
            raise InputError(
                f"{self.name} holds {', '.join(self.draws.names)}, and the sample {', '.join(sample.names)}: a "
                "reference needs the sample's coordinates under their names"
            )
        return replace(self, draws=self.draws.select(sample.names))

    def blocks(self, size: int) -> list[Sample]:
        """Blocks of successive draws that are worth `size` independent ones each, evenly spread over the run.

        Raises
        ------
        InputError
            If the run is not worth that many.
        """
        worth = _worth(self.draws)
        width = math.ceil(size * len(self.draws) / worth)
        count = min(len(self.draws) // width, _MOST_BLOCKS)
        if not count:
            raise InputError(
                f"{self.name} is worth {worth:.0f} independent draws, fewer than the {size} of the sample: give a "
                "longer run"
            )
        rows = np.concatenate(split_chains(self.draws)[0])
        begins = np.linspace(0, len(rows) - width, count).round().astype(int)
        return [self.draws[rows[begin : begin + width]] for begin in begins]

    def reference(
        self, target: Target | None, size: int, *, discrepancy: Callable[..., Any], progress: bool = False
    ) -> Reference:
        """Score blocks of this effective size; see `reference_discrepancy`."""
        blocks = self.blocks(size)
        n = len(blocks[0])
        found = _of_right_samples(iter(blocks), len(blocks), n, lambda each: discrepancy(each, target), progress)
        return replace(found, effective=size, run=self.name)


def effective_size(sample: Sample) -> int:
    """Independent draws that a right sample to compare with has: the effective size, no more than there are draws.

    The smallest bulk ESS of the coordinates, and of the weights; all draws where that is not defined, or where they
    could be independent.
    """
    n, worth = len(sample), _worth(sample)
    if worth >= n - _ERROR * math.sqrt(n):
        return n
    digits = 1 - math.floor(math.log10(worth))
    return min(n, max(_FEWEST, int(round(worth, digits))))


def _worth(sample: Sample) -> float:
    diagnosed = chain_diagnostics(sample)
    ess = diagnosed.min_ess
    return float(min(diagnosed.weight_ess, len(sample), ess if math.isfinite(ess) else math.inf))


def _of_right_samples(
    samples: Iterator[Sample], repeats: int, n: int, score: Callable[[Sample], Any], progress: bool
) -> Reference:
    """The reference that the scores of right samples of n draws make, each in its share of the time left."""
    shares, results = Shares(repeats), []
    for _ in progress_bar("reference samples", shown=progress, unit="it", steps=range(repeats)):
        with shares.one():
            results.append(score(next(samples)))
    lower, upper = (np.array([float(getattr(each, side)) for each in results]) for side in ("lower", "upper"))
    found = [[term.value for term in getattr(each, "terms", ())] for each in results]
    known = np.array(found, dtype=np.float64) if all(found) else None
    return Reference(lower=lower, upper=upper, n=n, coordinates=known)
