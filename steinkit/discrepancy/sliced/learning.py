"""Functions phi of many slices of the same draws, for a test: what phi is counts, not what is proved of it.

A test function h has mean zero under the target whatever phi is. So the slices' programs are written down and solved
here without what `graph_stein_discrepancy` reports of each of them, many side by side; phi is the same. A program that
is left open to more than the tolerance goes the long way, with its engines, errors and all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from steinkit.discrepancy.bracket import instance_kept, require_ordered
from steinkit.discrepancy.graph.engines.base import Candidate, Settings
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import unjoined
from steinkit.discrepancy.sliced.slices import Slice, finite_projection, merged, solve_slice
from steinkit.runtime.deadlines import deadline, require_time, stop_signal
from steinkit.sample import Floats, Integers, Sample

TOLERANCE = 1e-2
"""Of the programs: a tighter one makes a test hardly stronger."""

_STEIN_FACTORS = (1.0, 1.0, 1.0)
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


def learn(half: Half, directions: Floats, bounds: Sequence[Floats | None], use: Callable[[int, Slice], None]) -> None:
    """Find the worst phi of every direction.

    Parameters
    ----------
    half : Half
    directions : ndarray, shape (k, d)
    bounds : sequence of k ndarrays of shape (1, 2), or None
        Of v.x; see `solve_slice`.
    use : callable
        Given the number and the slice of each direction, in any order, as soon as it is found.

    Raises
    ------
    InputError, SolverError
        As `solve_slice` does.
    """
    from steinkit.runtime.compilation import announced_compilation
    from steinkit.runtime.threads import interruptible

    left: set[int] = set(range(len(directions)))

    def work(settings: Settings) -> None:
        with np.errstate(all="ignore"):  # what overflows in a solver proves nothing
            for k, found in _solved(half, directions, bounds, settings):
                use(k, found)
                left.discard(k)

    with announced_compilation(), stop_signal() as stop:
        settings = Settings(tolerance=TOLERANCE, deadline=deadline(), interrupted=stop)
        interruptible(partial(work, settings), stop)
    for k in sorted(left):
        found = solve_slice(
            directions[k], half.points, half.scores, (half.share, np.zeros_like(half.share)),
            bounds=bounds[k], stein_factors=_STEIN_FACTORS, tolerance=TOLERANCE,
        )  # fmt: skip
        use(k, found)


def _solved(
    half: Half, directions: Floats, bounds: Sequence[Floats | None], settings: Settings
) -> Iterator[tuple[int, Slice]]:
    """The slices that are solved to within the tolerance."""
    from steinkit.discrepancy.graph.engines.chain.abreast import solve_abreast

    programs: dict[int, SteinProgram] = {}
    for k, candidate in solve_abreast(_written(half, directions, bounds, settings, programs), settings):
        found = _slice(directions[k], programs.pop(k), candidate)
        if found.gap <= settings.tolerance:
            yield k, found


def _written(
    half: Half,
    directions: Floats,
    bounds: Sequence[Floats | None],
    settings: Settings,
    programs: dict[int, SteinProgram],
) -> Iterator[SteinProgram]:
    """The programs along the directions, kept by their number until they are solved."""
    alone = Sample(np.arange(float(len(half.share))), weights=half.share).distinct()  # as if no two draws shared a u
    for k, direction in enumerate(directions):
        if settings.interrupted.is_set():
            return
        require_time("slices were solved")
        along, pulls = finite_projection(direction, half.points, half.scores)
        order = np.argsort(along)
        u = along[order]
        if (u[1:] == u[:-1]).any():
            u, pull, *weights = _joined(along, pulls, half.share, order)
        else:
            pull, weights = pulls[order], [alone.weights[order], alone.weights_low[order]]
        high, low = weights
        programs[k] = SteinProgram(u[:, None], pull[:, None], high, unjoined(len(u)), bounds=bounds[k], weights_low=low)
        yield programs[k]


def _joined(along: Floats, pulls: Floats, share: Floats, order: Integers) -> Sequence[Floats]:
    """The distinct u, their mean of s.w, and their weights with what these are beyond doubles."""
    if np.abs(pulls).max() > _LARGE:
        u, weights, pull = merged(along, pulls, (share, np.zeros_like(share)))
        joined = Sample(u, weights=weights).distinct()
        return u, pull, joined.weights, joined.weights_low
    from steinkit.discrepancy.sliced.tie_kernels import Points, merge_ties

    points = Points(*np.empty((4, len(order))))
    count = merge_ties(along, pulls, share, order, points)
    return [each[:count] for each in points]


def _slice(direction: Floats, program: SteinProgram, candidate: Candidate) -> Slice:
    """What an answer is worth; its bracket does not allow for the rounding of s.w, and may be none at all."""
    from steinkit.discrepancy.graph.programs.chain_form import ChainProgram

    form = candidate.program
    assert isinstance(form, ChainProgram)
    lower, y = form.lower_bound(np.where(np.isfinite(candidate.y), candidate.y, 0.0))
    upper = form.costate_bound(np.where(np.isfinite(candidate.p), candidate.p, 0.0))
    upper = np.inf if np.isnan(upper) else upper
    with instance_kept(**program.arrays):
        require_ordered(lower, upper, y=candidate.y, p=candidate.p)
    phi, slope = form.stein_function(y)
    low, high = (-np.inf, np.inf) if program.bounds is None else map(float, program.bounds[0])
    return Slice(direction, lower, upper, program.points[:, 0], phi, slope[:, 0], (low, high))
