"""The verdict beside the measures of a sample: one that cannot be had costs nothing else."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from steinkit.errors import Caution, SolverError, SteinkitError, SteinkitWarning
from steinkit.runtime.deadlines import seconds_left
from steinkit.sample import Sample
from steinkit.target import Seed, Target

if TYPE_CHECKING:
    from steinkit.discrepancy.verdict import Verdict

LEVEL = 0.01
"""The p-value from which draws are said not to come from the target, where nobody names another."""


class Judgement(NamedTuple):
    """What came of judging a sample.

    Attributes
    ----------
    verdict : Verdict or None
    unjudged : str or None
        Why there is none, where one was asked for.
    notes : tuple of str
        What a reader should know of either.
    """

    verdict: Verdict | None = None
    unjudged: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judging:
    """How samples are judged.

    Attributes
    ----------
    level : float
        The p-value from which draws are said not to come from the target.
    matters : float, optional
        Size in standard units of moments that matter, if that is asked.
    looks : int
        How often a growing run is looked at.
    """

    level: float = LEVEL
    matters: float | None = None
    looks: int = 1

    def __post_init__(self) -> None:
        from steinkit.discrepancy.verdict import require_sensible

        require_sensible(self.level, self.matters, self.looks)

    def judge(self, sample: Sample, target: Target | None, settings: Mapping[str, Any], *, rng: Seed) -> Judgement:
        """The verdict on a sample and what its reader should know, or why there is none.

        Parameters
        ----------
        sample : Sample
        target : Target, optional
            Without it, and without scores in the sample, nobody asks for a verdict and none is missed.
        settings : mapping
            Of measures; "bounds" are those of the support.
        rng : int, numpy.random.Generator or None
        """
        from steinkit.discrepancy.verdict import verdict

        if target is None and sample.scores is None:
            return Judgement()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SteinkitWarning)  # what they say is in the verdict's warnings too
                found = verdict(
                    sample,
                    target,
                    bounds=settings.get("bounds"),
                    level=self.level,
                    matters=self.matters,
                    looks=self.looks,
                    rng=rng,
                )
        except SteinkitError as error:
            why = str(error)
            if isinstance(error, SolverError) and math.isfinite(seconds_left()):
                why = "time ran out before the draws were judged: allow more (max_seconds, --max-seconds), or thin them"
            return Judgement(None, why, (Caution(f"there is no verdict: {why}"),))
        return Judgement(found, None, found.warnings if found.enough_draws else ())
