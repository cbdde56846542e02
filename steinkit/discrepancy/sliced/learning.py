"""The worst function phi along a direction, for a test: what phi is counts, not what is proved of it.

A test function h has mean zero under the target whatever phi is. So the slice's program is written down and solved here
without what `graph_stein_discrepancy` reports of it; phi is the same. A program that is left open to more than the
tolerance goes the long way, with its engines, errors and all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steinkit.discrepancy.bracket import instance_kept
from steinkit.discrepancy.graph.engines.base import Settings
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import unjoined
from steinkit.discrepancy.sliced.slices import Slice, finite_projection, merged, solve_slice
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import require_time
from steinkit.sample import DistinctSample, Floats, Integers, Sample

TOLERANCE = 1e-2
"""Of the programs: a tighter one makes a test hardly stronger."""

_LARGE = 2.0**900  # a product of larger numbers has no rounding error that a kernel finds


@dataclass(frozen=True, eq=False)
class Half:
    """Draws to learn from.

    Attributes
    ----------
    points, scores : ndarray, shape (n, d)
    share : ndarray, shape (n,)
        Their probabilities.
    """

    points: Floats
    scores: Floats
    share: Floats

    @cached_property
    def _untied(self) -> DistinctSample:
        """The draws' weights where no two share a u."""
        return Sample(np.arange(float(len(self.share))), weights=self.share).distinct()

    def along(self, direction: Floats) -> Sequence[Floats]:
        """The distinct u, their mean of s.w, and their weights with what these are beyond doubles."""
        along, pulls = finite_projection(direction, self.points, self.scores)
        order = np.argsort(along)
        u = along[order]
        if (u[1:] == u[:-1]).any():
            return _joined(along, pulls, self.share, order)
        return u, pulls[order], self._untied.weights[order], self._untied.weights_low[order]


def learn(half: Half, direction: Floats, bounds: Floats | None, settings: Settings) -> Slice:
    """Find the worst phi along a direction.

    Parameters
    ----------
    half : Half
    direction : ndarray, shape (d,)
    bounds : ndarray, shape (1, 2), optional
        Of v.x; see `solve_slice`.
    settings : Settings

    Raises
    ------
    InputError, SolverError
        As `solve_slice` does.
    """
    from steinkit.discrepancy.graph.engines import chain

    require_time("slices were solved")
    u, pull, weights, low = half.along(direction)
    program = SteinProgram(u[:, None], pull[:, None], weights, unjoined(len(u)), bounds=bounds, weights_low=low)
    with instance_kept(**program.arrays):
        (candidate,) = chain.solve(program, settings)
        proof = candidate.proof
    if proof.gap > settings.tolerance:
        settings.interrupted.require("slices were solved")
        with small_work(math.inf):  # whatever engines it takes
            return solve_slice(
                direction, half.points, half.scores, (half.share, np.zeros_like(half.share)),
                bounds=bounds, stein_factors=(1.0, 1.0, 1.0), tolerance=settings.tolerance,
            )  # fmt: skip
    phi, slope = candidate.program.stein_function(proof.feasible)
    low_end, high_end = (-np.inf, np.inf) if bounds is None else map(float, bounds[0])
    return Slice(direction, proof.lower, proof.upper, u, phi, slope[:, 0], (low_end, high_end))


def _joined(along: Floats, pulls: Floats, share: Floats, order: Integers) -> Sequence[Floats]:
    """What `Half.along` finds where draws share a u."""
    if np.abs(pulls).max() > _LARGE:
        u, weights, pull = merged(along, pulls, (share, np.zeros_like(share)))
        joined = Sample(u, weights=weights).distinct()
        return u, pull, joined.weights, joined.weights_low
    from steinkit.discrepancy.sliced.tie_kernels import Points, merge_ties

    points = Points(*np.empty((4, len(order))))
    count = merge_ties(along, pulls, share, order, points)
    return [each[:count] for each in points]
