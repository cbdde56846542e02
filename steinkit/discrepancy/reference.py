"""What the discrepancy of a good sample would be: independent draws from the target, of the same size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from steinkit.discrepancy.bracket import Reference
from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy
from steinkit.errors import UsageError, cautious
from steinkit.runtime.progress import progress_bar
from steinkit.sample import as_sample
from steinkit.target import Seed, Target

__all__ = ["Reference", "reference_discrepancy"]


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
        Draws in each sample: as many as the sample under test has.
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

    Raises
    ------
    UsageError
        If the target cannot be drawn from, or n or repeats is not positive.
    """
    if not target.can_sample:
        raise UsageError(f"{target.label} cannot be drawn from, so there is no reference; pass sampler= to Target")
    if n < 1 or repeats < 1:
        raise UsageError(f"n and repeats must be at least 1; received {n} and {repeats}")
    generators = np.random.default_rng(rng).spawn(repeats)
    brackets, coordinates = np.empty((2, repeats)), []
    for k in progress_bar("reference samples", shown=progress, unit="it", steps=range(repeats)):
        result = discrepancy(as_sample(target.sample(n, generators[k])), target, **settings)
        brackets[:, k] = result.lower, result.upper
        coordinates.append(getattr(result, "coordinate_values", None))
    known = None if any(each is None for each in coordinates) else np.array(coordinates, dtype=np.float64)
    return Reference(lower=brackets[0], upper=brackets[1], n=n, coordinates=known)
