"""Solver `chain`: the program of one dimension by an interior point method, on as few variables as its answer has.

The optimal function is bang-bang: |g''| = c3 nearly everywhere, and of a million edges' controls (a, e), the residuals
of the Taylor rows, some thousands differ from those of the edge before. So blocks of neighbouring edges share their
controls (in optimal control: move blocking). That restricts the program. The blocks' program is one of a chain again,
of some thousands of nodes, and its solution a feasible point of the whole one, but for rows of nodes inside of blocks,
which are left out. The multipliers of its boxes determine a dual point of the whole program by the costate's recursion,
with forces phi and kappa on the controls of every edge. Where forces of both signs meet in a block, and nowhere else,
its controls should not be shared: with w = c3 h/2, and nothing exceeded inside of blocks,

    upper bound - optimum of the blocks' program = sum over blocks of  sum w |f| - |sum w f|,   f = phi, kappa.

Blocks that matter in this sum are split, as are those in which rows are exceeded, until the bracket of the whole
program is narrow enough. This is aggregation of columns, with the bounds of its error [1]_. On small samples, and where
too many blocks are needed, the method works edge by edge.

The Newton systems of the chain are solved by a Riccati sweep, so an iteration costs O(n). What keeps the number of
iterations from growing with n is a barrier weighted by length: the rows of an edge aim at products omega mu in
proportion to h, those of a node to the mean of its two edges, so that the central path is that of the continuous
problem however finely it is sampled.

References
----------
.. [1] P. H. Zipkin, "Bounds on the effect of aggregating variables in linear programs", Oper. Res. 28 (1980).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, ROWS, Chain, costate_bound
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import interior_point
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings
from steinkit.discrepancy.graph.solvers.chain_kernels import (
    GAINS,
    Blocks,
    aggregate,
    blocks_bound,
    riccati_factorise,
    riccati_solve,
    unfold,
)
from steinkit.discrepancy.graph.solvers.interior_point import Solution
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers

_LEAST_WEIGHT = 0.03  # of a row in the barrier, before the mean is made one
# A sweep costs no more than two passes over the rows: more correctors do not pay.
_CORRECTORS = interior_point.Correctors(1)
_UNASKED = np.empty(0)  # the edges' forces, which the interior point method does not look at
_SMALLEST_BOX = 1e-140  # of c1, as its square is divided by
_RESOLVED = 1e-13  # of the last nodes' largest gamma: what a double-precision sweep resolves of a far bound's row
_MANY = 1000  # points for every digit asked for, from which on blocks pay
_FIRST_BLOCKS = 100  # by length, and as many by number of points
_PARTS = 8  # of a block that is split
_MOST_BLOCKS = 0.5  # of the points
_FIRST_TOLERANCE = 1e-2
_NEXT_TOLERANCE = 0.03  # of the bracket so far
# Shares of the tolerance: what the last blocks' program is solved to; what all blocks that are not split may lose
# together, and exceed; what may be left, or all but so much if that is more, as the certificate allows for rounding.
_SOLVED, _LOST, _EXCEEDED, _LEFT, _MOST_ROOM = 0.3, 0.2, 0.1, 0.8, 1e-5


class ChainSystem:
    """Newton systems of a chain, in the rows of `interior_point`.

    The objective is scaled so that the first multipliers are at most one, and a far bound is held to what a sweep in
    double precision resolves; the certificate asks for the rest.

    Parameters
    ----------
    chain : Chain
    progress : progress bar
        Told of every bracket.
    lag : ndarray, shape (n,), optional
        Shears beside the controls, for blocks of edges; see `chain_kernels`.
    push : ndarray, shape (2, n), optional
        Weights of the controls (a, e) in the objective.

    Attributes
    ----------
    start, omega : ndarray, shape (5n,)
        See `interior_point.NewtonSystem`.
    scale : float
        What the objective was divided by.
    """

    @np.errstate(over="ignore", invalid="ignore")  # from what is not finite the method takes no step
    def __init__(self, chain: Chain, progress: Any, lag: Floats | None = None, push: Floats | None = None) -> None:
        n = len(chain.kind)
        box, far_radius = np.maximum(chain.box, _SMALLEST_BOX * chain.c1), chain.far_radius
        if chain.far >= 0.0:
            resolved = _RESOLVED * min(chain.c1, chain.c2 * (float(chain.step[-1]) + chain.far))
            far_radius = max(far_radius, resolved)
            box[-1] = max(box[-1], resolved)
        start = np.zeros((n, ROWS))
        start[:, 0], start[:, 1] = chain.value * box, chain.slope * chain.c2
        if push is not None:
            start[:, 2:4] = push.T
        at_bound = (chain.kind == BOUNDED) & (chain.c2 * chain.step < chain.c1)
        start[at_bound, 0] = 0.0  # gamma = t chord
        start[at_bound, 4] = chain.value[at_bound] * chain.step[at_bound] * chain.c2
        self.scale = float(np.abs(start).max())
        self.start: Floats = (start / self.scale).ravel()
        lag = np.empty(0) if lag is None else lag
        self.omega = _length_weights(chain.step + 2.0 * lag if len(lag) else chain.step).ravel()
        self.progress = progress
        self._rounded = chain._replace(box=box, far_radius=far_radius)
        self.blocks = Blocks(chain.kind, chain.step, lag, box, self.start, chain.c2, chain.c3, chain.far, far_radius)
        self._gains, self._feed = np.zeros(GAINS * n), np.empty(2 * n)

    def factorise(self, weights: Floats) -> None:
        """Riccati sweep over the weighted rows."""
        riccati_factorise(self.blocks, weights, self._gains)

    def step(self, force: Floats, change: Floats) -> None:
        """Newton step; see `interior_point.NewtonSystem`."""
        riccati_solve(self.blocks, self._gains, force, self._feed, change)

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Objective of the rows, which are feasible but for rounding, and an upper bound."""
        lower, upper = float(np.einsum("i,i", rows, self.start)), self.upper_bound(multipliers)
        self.progress.set_postfix_str(f"bracket {relative_width(lower, upper):.0e}", refresh=False)
        self.progress.update()
        return lower, upper

    def upper_bound(self, multipliers: Floats) -> float:
        """The costate bound."""
        return float(costate_bound(self._scaled, multipliers, _UNASKED))

    @cached_property
    def _scaled(self) -> Chain:
        """The chain of the scaled objective."""
        weights = ("value", "slope", "value_low", "slope_low")
        return self._rounded._replace(**{name: getattr(self._rounded, name) / self.scale for name in weights})

    def solve(self, settings: Settings) -> interior_point.Solution:
        """Rows and multipliers within the tolerance, or as near as they come."""
        return interior_point.solve(self, settings, _CORRECTORS)

    @np.errstate(over="ignore", invalid="ignore")
    def candidate(self, chain: Chain, solution: interior_point.Solution) -> tuple[Floats, Floats]:
        """Variables and multipliers of the chain form from the rows'."""
        rows = solution.rows.reshape(-1, ROWS)
        y = rows[:, 2:4].copy()
        free, bounded = chain.kind == FREE, chain.kind == BOUNDED
        y[free] = rows[free, :2]
        y[bounded, 0] = rows[bounded, 4]
        return y.ravel(), self.multipliers(chain, solution).ravel()

    def multipliers(self, chain: Chain, solution: interior_point.Solution) -> Floats:
        """Multipliers of the chain's rows, shape (n, 5)."""
        p = self.scale * solution.multipliers.reshape(-1, ROWS)
        p[:, 0] *= chain.box / self.blocks.box
        return p


def _length_weights(length: Floats) -> Floats:
    """Weights of the rows in the barrier, shape (n, 5): by length of the edge, shape (n,), of mean one."""
    of_edge, of_node = length.copy(), 0.5 * length
    of_node[:-1] += 0.5 * length[1:]
    mean = float(of_edge.mean()) or 1.0
    of_edge, of_node = of_edge / mean + _LEAST_WEIGHT, of_node / mean + _LEAST_WEIGHT
    mean = (2.0 * float(of_node.mean()) + (ROWS - 2) * float(of_edge.mean())) / ROWS
    omega = np.empty((len(length), ROWS))
    omega[:, :2] = (of_node / mean)[:, None]
    omega[:, 2:] = (of_edge / mean)[:, None]
    return omega


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve the one coordinate of a one-dimensional program.

    Parameters
    ----------
    program : SteinProgram
        Its graph is not used: on a line the sorted sample gives the complete graph's value.
    settings : Settings
    coordinates : sequence of int, optional
        There is one only.

    Returns
    -------
    list of one Candidate

    Raises
    ------
    UsageError
        If the program has more than one dimension.
    """
    form = ChainProgram(program)
    with progress_bar("interior point", shown=settings.progress, unit=" steps") as progress:
        many = -_MANY * math.log10(settings.tolerance)
        answer = _by_blocks(form, settings, progress) if form.n_points >= many else None
        if answer is None or (answer.proof.gap > settings.tolerance and not settings.stopped):
            answer = _edge_by_edge(form, settings, progress)
    gap = answer.proof.gap
    if gap > settings.tolerance and not settings.stopped:
        return [replace(answer, notes=(f"the chain's interior point method stopped at a bracket of {gap:.1e}",))]
    return [answer]


def _edge_by_edge(form: ChainProgram, settings: Settings, progress: Any) -> Candidate:
    """The answer with controls of every edge's own."""
    system = ChainSystem(form.chain, progress)
    solution = system.solve(settings)
    y, p = system.candidate(form.chain, solution)
    return Candidate(form, y, p, ("chain",), iterations=solution.iterations)


def _by_blocks(form: ChainProgram, settings: Settings, progress: Any) -> Candidate | None:
    """The answer with controls that blocks share; None if that takes too many blocks."""
    chain, n = form.chain, form.n_points
    whole, tightest = _Unfolded(chain), _SOLVED * settings.tolerance
    goal = max(_LEFT * settings.tolerance, settings.tolerance - _MOST_ROOM)
    ends, gap, asked, iterations = _first_ends(chain), 1.0, max(_FIRST_TOLERANCE, tightest), 0
    while len(ends) <= _MOST_BLOCKS * n:
        system = AggregatedSystem(chain, ends, progress)
        solution = system.solve(replace(settings, tolerance=asked))
        iterations += solution.iterations
        if settings.stopped and relative_width(solution.lower, solution.upper) >= gap:
            break  # what was unfolded before proves more
        gap = whole.unfold(system, solution)
        progress.set_postfix_str(f"bracket {gap:.0e}", refresh=False)
        if settings.stopped or gap <= goal:
            break
        split = whole.blocks_to_split(settings.tolerance)
        if split.any():
            ends = _split(ends, split)
            asked = max(tightest, min(_NEXT_TOLERANCE * gap, asked))
        elif asked > tightest:
            asked = tightest
        else:
            break
    else:
        return None
    return Candidate(form, whole.y, whole.p.ravel(), ("chain",), iterations=iterations)


class AggregatedSystem(ChainSystem):
    """Newton systems of a chain whose edges share their controls in blocks.

    Parameters
    ----------
    chain : Chain
    ends : ndarray of int, shape (m,)
        The last node of each block, ascending; blocks of starts are theirs alone.
    progress : progress bar

    Attributes
    ----------
    ends : ndarray of int, shape (m,)
    short : Chain
        The blocks as edges.
    """

    def __init__(self, chain: Chain, ends: Integers, progress: Any) -> None:
        shears, weights = np.empty((2, len(ends))), np.zeros((4, len(ends)))
        aggregate(chain, ends, shears, weights)
        self.ends = ends
        self.short = chain._replace(
            kind=np.where(_sizes(ends) == 1, chain.kind[ends], EDGE), step=shears[0], box=chain.box[ends],
            value=weights[0], slope=weights[1],
        )  # fmt: skip
        super().__init__(self.short, progress, lag=shears[1], push=weights[2:])

    def upper_bound(self, multipliers: Floats) -> float:
        """Upper bound of the blocks' program, which decides when to stop."""
        return float(blocks_bound(self.blocks, multipliers))


class _Unfolded:
    """What the solution of a blocks' program is worth in the whole one.

    Attributes
    ----------
    y : ndarray, shape (2n,)
    p : ndarray, shape (n, 5)
        Zero but at the blocks' ends: the rest of a dual point follows from its boxes.
    """

    def __init__(self, chain: Chain) -> None:
        n = len(chain.kind)
        self.chain = chain
        self.y, self.p = np.zeros(2 * n), np.zeros((n, ROWS))
        self._forces = np.empty((n, 2))
        self._ends = np.empty(0, dtype=np.int64)
        self._worst = np.empty(0)
        self._upper = 0.0

    def unfold(self, system: AggregatedSystem, solution: Solution) -> float:
        """Set y and p, and return the relative width of the bracket that they prove, but for rounding."""
        self.p[self._ends] = 0.0
        self._ends = ends = system.ends
        self.p[ends] = system.multipliers(system.short, solution)
        self._worst = np.empty(len(ends))
        unfold(self.chain, ends, solution.rows, self.y, self._worst)
        self._upper = float(costate_bound(self.chain, self.p.ravel(), self._forces.ravel()))
        lower = system.scale * solution.lower / max(1.0, float(self._worst.max()))
        return relative_width(lower, self._upper)

    def blocks_to_split(self, tolerance: float) -> NDArray[np.bool_]:
        """All in which rows are exceeded, and those that lose most; the others lose too little to matter."""
        sizes = _sizes(self._ends)
        starts = self._ends - sizes + 1
        work = self._forces * (0.5 * self.chain.c3 * self.chain.step)[:, None]
        most = np.add.reduceat(np.abs(work), starts)
        lost = (most - np.abs(np.add.reduceat(work, starts))).sum(axis=1)
        ascending = np.argsort(lost, kind="stable")
        split = self._worst > 1.0 + _EXCEEDED * tolerance
        split[ascending[np.cumsum(lost[ascending]) > _LOST * tolerance * self._upper]] = True
        return split & (sizes > 1)


def _sizes(ends: Integers) -> Integers:
    """Numbers of nodes in blocks."""
    return np.diff(ends, prepend=-1)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _first_ends(chain: Chain) -> Integers:
    """Ends of blocks that are short, in nodes and in length; starts are blocks of their own."""
    n = len(chain.kind)
    is_end = np.zeros(n, dtype=bool)
    count = max(1, n // _FIRST_BLOCKS)
    is_end[count - 1 :: count] = True
    position = np.cumsum(chain.step)
    stretch = np.floor(position * (_FIRST_BLOCKS / position[-1]))
    is_end[:-1] |= stretch[1:] != stretch[:-1]
    is_start = chain.kind < EDGE
    is_end |= is_start
    is_end[:-1] |= is_start[1:]
    is_end[-1] = True
    return np.flatnonzero(is_end)


def _split(ends: Integers, split: NDArray[np.bool_]) -> Integers:
    """Ends after splitting some blocks into equal parts."""
    last, size = ends[split], _sizes(ends)[split]
    return np.unique(np.concatenate([ends, *(last - size * part // _PARTS for part in range(1, _PARTS))]))
