"""Reference discrepancies, computed from exact samples.

The samples are independent draws from the target or blocks of a long run.

An exact chain of n draws with effective sample size n_e has about the same discrepancy as n_e independent draws. In a
comparison with n independent draws, slow mixing would appear as bias. Reference samples therefore have the effective
sample size of the tested sample. The discrepancies of these samples tend to be too large because a discrepancy depends
on functions that decorrelate faster than the slowest mean. For example, exact chains of 1000 draws with an ESS of 85 to
100 have 0.4 to 0.7 times the discrepancy of the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steinkit.arguments import generator_from, require_functions, whole
from steinkit.chains import chain_diagnostics
from steinkit.containers.reading import as_sample
from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy
from steinkit.errors import InputError, cautious
from steinkit.measurement import Reference
from steinkit.runtime.deadlines import Shares
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Sample, split_chains
from steinkit.target import Seed, Target, require_target

__all__ = ["LongRun", "Reference", "effective_size", "reference_discrepancy"]

_ERROR = 10.0  # the estimated ESS of n independent draws is at least n - _ERROR sqrt(n)
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
    """Compute the discrepancies of independent samples from the target.

    The discrepancy of exact draws depends on the target and the number of draws, and serves as a reference.

    Parameters
    ----------
    target : Target
        Target that can be sampled (``target.can_sample``).
    n : int
        Number of draws per sample, which should be the effective sample size of the tested sample.
    repeats : int, default 5
        Number of samples.
    discrepancy : callable, default `graph_stein_discrepancy`
        Function of draws, target and `settings` that returns a result with a bracket `lower`, `upper`.
    rng : int, numpy.random.Generator or None, default 0
        Random seed. The first samples do not depend on `repeats`.
    progress : bool, default False
        If True, progress is shown on standard error.
    **settings
        Arguments of `discrepancy`, which should be the same as for the tested sample.

    Returns
    -------
    Reference
        Brackets of all samples.

    Raises
    ------
    UsageError
        If the target cannot be sampled, or if `n` or `repeats` is not positive.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> target = sk.targets.Normal([0.0, 0.0])
    >>> reference = sk.reference_discrepancy(target, 100, repeats=3)
    >>> draws = 0.8 + np.random.default_rng(0).standard_normal((100, 2))
    >>> result = sk.graph_stein_discrepancy(draws, target)
    >>> reference.place(result.lower, result.upper)
    'above'
    """
    require_target(target)
    require_functions(discrepancy=discrepancy)
    whole(n, "n", 1)
    whole(repeats, "repeats", 1)
    generators = generator_from(rng).spawn(repeats)
    draws = (as_sample(target.sample(n, generator)) for generator in generators)
    return _of_exact_samples(draws, repeats, n, lambda each: discrepancy(each, target, **settings), progress)


@dataclass(frozen=True, eq=False)
class LongRun:
    """Long exact run that provides reference samples.

    Attributes
    ----------
    draws : Sample
        Draws without burn-in, ordered by chain and time.
    name : str
        Name of the run for reports.
    """

    draws: Sample
    name: str

    def like(self, sample: Sample) -> LongRun:
        """Return the run restricted to the coordinates of a sample.

        Raises InputError if a coordinate is missing.
        """
        if set(sample.names) - set(self.draws.names):
            raise InputError(
                f"{self.name} must have the coordinates of the sample, {', '.join(sample.names)}; got "
                f"{', '.join(self.draws.names)}"
            )
        return replace(self, draws=self.draws.select(sample.names))

    def blocks(self, size: int) -> list[Sample]:
        """Return evenly spaced blocks of the run with the given effective size.

        Raises InputError if the run is too short.
        """
        run_size = _ess(self.draws)
        width = math.ceil(size * len(self.draws) / run_size)
        count = min(len(self.draws) // width, _MOST_BLOCKS)
        if not count:
            raise InputError(
                f"{self.name} must have at least the effective size of the sample, {size}; got {run_size:.0f}: use a "
                "longer run"
            )
        rows = np.concatenate(split_chains(self.draws)[0])
        begins = np.linspace(0, len(rows) - width, count).round().astype(int)
        return [self.draws[rows[begin : begin + width]] for begin in begins]

    def reference(
        self, target: Target | None, size: int, *, discrepancy: Callable[..., Any], progress: bool = False
    ) -> Reference:
        """Compute the discrepancies of blocks of the given effective size.

        See `reference_discrepancy`.
        """
        blocks = self.blocks(size)
        n = len(blocks[0])
        found = _of_exact_samples(iter(blocks), len(blocks), n, lambda each: discrepancy(each, target), progress)
        return replace(found, effective=size, run=self.name)


def effective_size(sample: Sample) -> int:
    """Return the effective size of reference samples, rounded to two digits.

    The size is the smallest of the ESS values of the coordinates and the weights.

    If the ESS is undefined or differs from the number of draws by no more than its error, the size is the number of
    draws.
    """
    n, ess = len(sample), _ess(sample)
    if ess >= n - _ERROR * math.sqrt(n):
        return n
    return min(n, max(_FEWEST, int(round(ess, 1 - math.floor(math.log10(ess))))))


def _ess(sample: Sample) -> float:
    diagnosed = chain_diagnostics(sample)
    ess = diagnosed.min_ess
    return float(min(diagnosed.weight_ess, len(sample), ess if math.isfinite(ess) else math.inf))


def _of_exact_samples(
    samples: Iterator[Sample], repeats: int, n: int, score: Callable[[Sample], Any], progress: bool
) -> Reference:
    """Compute the discrepancies of exact samples with n draws each.

    The remaining time is divided equally among the computations.
    """
    shares, results = Shares(repeats), []
    for _ in progress_bar("reference samples", shown=progress, unit="it", steps=range(repeats)):
        with shares.one():
            results.append(score(next(samples)))
    lower, upper = (np.array([float(getattr(each, side)) for each in results]) for side in ("lower", "upper"))
    found = [[term.value for term in getattr(each, "terms", ())] for each in results]
    known = np.array(found, dtype=np.float64) if all(found) else None
    return Reference(lower=lower, upper=upper, n=n, coordinates=known)
