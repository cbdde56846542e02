"""Solver `chain`, an interior point method for one dimension.

The residuals (a, e) of the Taylor rows of an edge are its controls. The optimal function is bang-bang: |g''| = c3
almost everywhere. Among a million edges, only a few thousand have controls that differ from those of the preceding
edge. Therefore, blocks of neighboring edges share their controls, as in move blocking in optimal control. The
restricted program is again a chain program, with a few thousand nodes. The solution of the restricted program satisfies
all rows of the full program except possibly the omitted rows of nodes inside blocks. The multipliers of the boxes
determine a dual point of the full program through the costate recursion, with forces phi and kappa on the controls of
every edge. Sharing controls widens the bracket only where forces of both signs occur in a block. Let w = c3 h/2. If no
omitted row is violated,

    upper bound - optimum of the restricted program = sum over blocks of  sum w |f| - |sum w f|,   f = phi, kappa.

The blocks with the largest terms and the blocks with violated rows are split until the bracket of the full program is
narrow enough. This method is known as column aggregation with error bounds [1]_. If the sample is small or too many
blocks are required, every edge has its own controls.

The Newton systems are solved by a Riccati recursion, so an iteration takes O(n) time. The barrier is weighted by edge
length. For the rows of an edge, the target products omega mu are proportional to h. For the rows of a node, these
products are proportional to the mean h of the two adjacent edges. The central path then approximates the central path
of the continuous problem, and the number of iterations is nearly independent of n.

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

_LEAST_WEIGHT = 0.03  # smallest barrier weight of any row before normalization
_CORRECTORS = interior_point.Correctors(1)  # a Riccati recursion costs no more than two passes over the rows
_NO_FORCES = np.empty(0)
_SMALLEST_BOX = 1e-140  # smallest box in units of c1; its square is a divisor
_RESOLVED = 1e-13  # relative precision of the far bound's row in double precision, in units of the largest gamma there
_MANY = 1000  # minimum number of points per requested digit for which blocks are used
# number of initial blocks of equal length, and number of initial blocks with equal numbers of points
_FIRST_BLOCKS = 100
_FEW_BLOCKS = 50  # the same numbers for `approximately`
_LEAST_SCALE = 1e-300
_PARTS = 8  # number of parts into which a block is split
_MOST_BLOCKS = 0.5  # maximum ratio of the number of blocks to the number of points
_FIRST_TOLERANCE = 1e-2
_NEXT_TOLERANCE = 0.03  # relative to the current bracket
# Fractions of the tolerance. They apply to the solution of the last restricted program, to the total loss of the blocks
# that are not split, to violated rows, and to the final bracket, with a margin for the rounding allowance of the
# certificate.
_SOLVED, _LOST, _EXCEEDED, _LEFT, _MOST_MARGIN = 0.3, 0.2, 0.1, 0.8, 1e-5


class ChainSystem:
    """Newton systems for a chain.

    The class implements `interior_point.NewtonSystem`.

    The objective is scaled to make all initial multipliers at most one. The radius of the far bound's row is at least
    the resolution of double precision, but the certificate uses the exact radius.

    Parameters
    ----------
    chain : Chain
        The chain.
    progress : progress bar
        Progress bar that receives every bracket.
    lag : ndarray, shape (n,), optional
        Shears before and after the controls of blocks. See `chain_kernels`.
    push : ndarray, shape (2, n), optional
        Coefficients of the controls (a, e) in the objective.

    Attributes
    ----------
    start, omega : ndarray, shape (5n,)
        See `interior_point.NewtonSystem`.
    scale : float
        Divisor of the objective.
    """

    @np.errstate(over="ignore", invalid="ignore")  # the interior point method stops if values are not finite
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
        """Factorize the Newton matrix by a backward Riccati recursion."""
        riccati_factorise(self.blocks, weights, self._gains)

    def step(self, force: Floats, change: Floats) -> None:
        """Set `change` to the Newton step.

        See `interior_point.NewtonSystem`.
        """
        riccati_solve(self.blocks, self._gains, force, self._feed, change)

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Return the objective and an upper bound.

        The rows are satisfied up to rounding errors.
        """
        lower, upper = float(np.einsum("i,i", rows, self.start)), self.upper_bound(multipliers)
        self.progress.set_postfix_str(f"bracket {relative_width(lower, upper):.0e}", refresh=False)
        self.progress.update()
        return lower, upper

    def upper_bound(self, multipliers: Floats) -> float:
        """Return the costate bound."""
        return float(costate_bound(self._scaled, multipliers, _NO_FORCES))

    @cached_property
    def _scaled(self) -> Chain:
        """Chain with the scaled objective."""
        weights = ("value", "slope", "value_low", "slope_low")
        return self._rounded._replace(**{name: getattr(self._rounded, name) / self.scale for name in weights})

    def solve(self, settings: Settings) -> interior_point.Solution:
        """Solve the program to within the tolerance if possible."""
        return interior_point.solve(self, settings, _CORRECTORS)

    def multipliers(self, chain: Chain, solution: interior_point.Solution) -> Floats:
        """Return the multipliers of the chain's rows as an array of shape (n, 5)."""
        p = self.scale * solution.multipliers.reshape(-1, ROWS)
        p[:, 0] *= chain.box / self.blocks.box
        return p


def variables_of(chain: Chain, rows: Floats) -> Floats:
    """Return the variables of the chain form from the rows of the nodes."""
    values = rows.reshape(-1, ROWS)
    y = values[:, 2:4].copy()
    free, bounded = chain.kind == FREE, chain.kind == BOUNDED
    y[free] = values[free, :2]
    y[bounded, 0] = values[bounded, 4]
    return y.ravel()


def _length_weights(length: Floats) -> Floats:
    """Return the barrier weights of the rows, which depend on edge lengths.

    Their mean is one.
    """
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
    """Solve a one-dimensional program.

    The program's graph and the argument `coordinates` are ignored.

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
        note = f"the chain's interior point method stopped at a relative bracket width of {gap:.1e}"
        return [replace(answer, notes=(note,))]
    return [answer]


def approximately(programs: Sequence[SteinProgram], settings: Settings) -> list[tuple[float, float, Floats, Floats]]:
    """Solve several programs together, without certificates.

    Controls are shared within a few blocks. The programs have the same Stein factors. A program with two bounds of the
    support must be the only one.

    Returns
    -------
    list of tuple
        For each program, bounds on the optimum of the restricted program, up to rounding errors, and the function g of
        shape (n,) and its derivative of shape (n, 1), in the order of the sample. They satisfy the rows of the nodes
        at which blocks end.
    """
    forms = [ChainProgram(program) for program in programs]
    system = _JoinedSystem([form.chain for form in forms])
    solution = system.solve(settings)
    found = _Unfolded(system.chain)
    found.unfold(system, solution)
    starts = np.cumsum([form.n_points for form in forms])[:-1]
    values, slopes = np.split(found.values, starts), np.split(found.slopes, starts)
    functions = [form.in_order_of_sample(*each) for form, *each in zip(forms, values, slopes, strict=True)]
    return [(*bounds, *each) for bounds, each in zip(system.of_each.T.tolist(), functions, strict=True)]


def _edge_by_edge(form: ChainProgram, settings: Settings, progress: Any) -> Candidate:
    """Solve the program with separate controls for every edge."""
    system = ChainSystem(form.chain, progress)
    solution = system.solve(settings)
    y, p = variables_of(form.chain, solution.rows), system.multipliers(form.chain, solution).ravel()
    return Candidate(form, y, p, ("chain",), iterations=solution.iterations)


def _by_blocks(form: ChainProgram, settings: Settings, progress: Any) -> Candidate | None:
    """Solve the program with controls that are shared within blocks.

    Return None if too many blocks are required.
    """
    chain, n = form.chain, form.n_points
    whole, tightest = _Unfolded(chain), _SOLVED * settings.tolerance
    goal = max(_LEFT * settings.tolerance, settings.tolerance - _MOST_MARGIN)
    ends, gap, asked, iterations = _first_ends(chain, _FIRST_BLOCKS), 1.0, max(_FIRST_TOLERANCE, tightest), 0
    while len(ends) <= _MOST_BLOCKS * n:
        system = AggregatedSystem(chain, ends, progress)
        solution = system.solve(replace(settings, tolerance=asked))
        iterations += solution.iterations
        if settings.stopped and relative_width(solution.lower, solution.upper) >= gap:
            break  # the preceding bracket is narrower
        gap = whole.bracket(system, solution)
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
    """Newton systems for a chain with controls shared within blocks of edges.

    Parameters
    ----------
    chain : Chain
        The full chain.
    ends : ndarray of int, shape (m,)
        Last node of each block, in ascending order. The start of a segment is a separate block.
    progress : progress bar
        Progress bar that receives every bracket.

    Attributes
    ----------
    short : Chain
        The chain of the blocks.
    """

    def __init__(self, chain: Chain, ends: Integers, progress: Any) -> None:
        shears, weights = np.empty((2, len(ends))), np.zeros((4, len(ends)))
        aggregate(chain, ends, *shears, *weights)
        self.ends = ends
        self.short = chain._replace(
            kind=np.where(_sizes(ends) == 1, chain.kind[ends], EDGE), step=shears[0], box=chain.box[ends],
            value=weights[0], slope=weights[1],
        )  # fmt: skip
        super().__init__(self.short, progress, lag=shears[1], push=weights[2:])

    def upper_bound(self, multipliers: Floats) -> float:
        """Return the upper bound on the restricted optimum for the stopping rule."""
        return float(blocks_bound(self.blocks, multipliers))


class _JoinedSystem(AggregatedSystem):
    """Newton systems for several chains, solved until each bracket is narrow enough.

    The objective of every chain is scaled to a largest coefficient of one.

    Attributes
    ----------
    chain : Chain
        The segments of all chains.
    of_each : ndarray, shape (2, chains)
        Bounds on the restricted optimum of each chain, up to rounding errors.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        scales = [max(np.abs(chain.value).max(), np.abs(chain.slope).max(), _LEAST_SCALE) for chain in chains]
        arrays = {
            name: np.concatenate([getattr(chain, name) for chain in chains])
            for name in ("kind", "step", "box", "value", "slope")
        }
        each = np.repeat(scales, [len(chain.kind) for chain in chains])
        self.chain = chains[-1]._replace(**arrays | {name: arrays[name] / each for name in ("value", "slope")})
        ends = [_first_ends(chain, _FEW_BLOCKS) for chain in chains]
        nodes = np.cumsum([0, *(len(chain.kind) for chain in chains)])
        super().__init__(self.chain, np.concatenate([at + own for at, own in zip(nodes[:-1], ends, strict=True)]), None)
        self._first = ROWS * np.cumsum([0, *map(len, ends[:-1])])
        self._scales, self._worst = self.scale * np.array(scales), math.inf
        self.of_each = np.outer([0.0, math.inf], np.ones(len(chains)))

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Return one minus the largest relative width of the brackets, and one."""
        lower = np.add.reduceat(rows * self.start, self._first)
        upper = np.add.reduceat(np.abs(multipliers), self._first)  # because B'p = b at every Newton step
        worst = float(np.max((upper - lower) / upper))
        if worst < self._worst:
            self._worst, self.of_each = worst, self._scales * [lower, upper]
        return 1.0 - worst, 1.0


class _Unfolded:
    """Solution of a restricted program, expressed in the full program's variables.

    Attributes
    ----------
    y : ndarray, shape (2n,)
        Variables of the full chain.
    p : ndarray, shape (n, 5)
        Multipliers, which are zero except at the ends of blocks because the boxes determine the dual point.
    values, slopes : ndarray, shape (n,)
        The function gamma and its derivative at the nodes, up to rounding errors.
    """

    def __init__(self, chain: Chain) -> None:
        n = len(chain.kind)
        self.chain = chain
        self.y, self.p = np.zeros(2 * n), np.zeros((n, ROWS))
        self.values, self.slopes = np.empty(n), np.empty(n)
        self._forces = np.empty((n, 2))
        self._ends = np.empty(0, dtype=np.int64)
        self._worst = np.empty(0)
        self._upper = 0.0

    def unfold(self, system: AggregatedSystem, solution: Solution) -> None:
        """Set y, the values and the slopes."""
        self._worst = np.empty(len(system.ends))
        unfold(self.chain, system.ends, solution.rows, self.y, self.values, self.slopes, self._worst)

    def bracket(self, system: AggregatedSystem, solution: Solution) -> float:
        """Set y and p, and return the relative width of the resulting bracket.

        The width is not rounded outward.
        """
        self.unfold(system, solution)
        self.p[self._ends] = 0.0
        self._ends = ends = system.ends
        self.p[ends] = system.multipliers(system.short, solution)
        self._upper = float(costate_bound(self.chain, self.p.ravel(), self._forces.ravel()))
        lower = system.scale * solution.lower / max(1.0, float(self._worst.max()))
        return relative_width(lower, self._upper)

    def blocks_to_split(self, tolerance: float) -> NDArray[np.bool_]:
        """Return a mask of the blocks with violated rows or large losses."""
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
    """Return the number of nodes in each block."""
    return np.diff(ends, prepend=-1)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _first_ends(chain: Chain, blocks: int) -> Integers:
    """Return the ends of the initial blocks, which are short and have few nodes."""
    n = len(chain.kind)
    is_end = np.zeros(n, dtype=bool)
    count = max(1, n // blocks)
    is_end[count - 1 :: count] = True
    position = np.cumsum(chain.step)
    stretch = np.minimum(np.floor(position * (blocks / position[-1])), blocks - 1)  # the last entry may be rounded up
    is_end[:-1] |= stretch[1:] != stretch[:-1]
    is_start = chain.kind < EDGE
    is_end |= is_start
    is_end[:-1] |= is_start[1:]
    is_end[-1] = True
    return np.flatnonzero(is_end)


def _split(ends: Integers, split: NDArray[np.bool_]) -> Integers:
    """Return the block ends after splitting some blocks into equal parts."""
    last, size = ends[split], _sizes(ends)[split]
    return np.unique(np.concatenate([ends, *(last - size * part // _PARTS for part in range(1, _PARTS))]))
