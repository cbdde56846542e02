"""Solver `first_order`, the restarted reflected Halpern PDHG method.

Each program max b'y, |A y| <= r, |y| <= u is equivalent to the saddle point problem

    min over p, max over |y| <= u of   b'y - p'A y + r'|p|,

A step z = (y, p) -> z+ of the primal-dual hybrid gradient method [1]_ is

    y+ = clip(y + tau (b - A'p), -u, u),    p+ = soft(p + sigma A (2 y+ - y), sigma r),

with diagonal steps sigma = omega eta/(r sum |a|) and tau = eta/(omega sum |a|/r). The sums are over the entries of a
row and of a column [2]_. The reflected Halpern iteration converges faster [3]_. It is z <- w (2 z+ - z) + (1 - w) z_0,
with w = k/(k + 1) in the k-th step after a restart at z_0. A coordinate restarts when its fixed-point residual has
decreased sufficiently or begins to increase. Its primal weight omega is then rebalanced by the distances that y and p
have moved.

The coordinates share the sparse matrix A, so eight coordinates are solved together in single precision. The bracket is
usually limited by small violations of rows by y. Relaxed Kaczmarz sweeps [4]_ in double precision remove these
violations before every check of the bracket. The width then decreases approximately as 1/k^2 with the number of
iterations k. This rate determines the next check. In four or more dimensions, a bracket of 1e-3 takes a few hundred
passes over A, and a bracket of 1e-5 takes a few thousand. If some edges are shorter than a hundredth of the others, the
method may stall, even in double precision. A note reports this.

For locality of memory accesses, columns are ordered by point (gamma_i, Gamma_i1, ..., Gamma_id together), and rows by
the points that they join. The rows of the edges come first. They are followed by the rows that bounds add to single
coordinates, in one group per coordinate.

References
----------
.. [1] A. Chambolle and T. Pock, "A first-order primal-dual algorithm for convex problems with applications to imaging",
   J. Math. Imaging Vis. 40 (2011).
.. [2] T. Pock and A. Chambolle, "Diagonal preconditioning for first order primal-dual algorithms in convex
   optimization", ICCV 2011, lemma 2.
.. [3] H. Lu and J. Yang, "Restarted Halpern PDHG for linear programming", arXiv:2407.16144 (2024).
.. [4] S. Agmon, "The relaxation method for linear inequalities", Canad. J. Math. 6 (1954).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram, power_of_two
from steinkit.discrepancy.graph.programs.relative_form import AnyForm, suitable_forms
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import first_order_kernels as kernels
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings, asked_for, closed_form, side_by_side, unsolved
from steinkit.discrepancy.graph.solvers.first_order_kernels import LANES, LaneColumns, LaneRows
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers

_SMALLEST_RADIUS = 1e-30  # keeps steps within single precision; the certificate uses the exact radii
_RELAXATION = 1.6  # lambda in (0, 2); the projection (lambda = 1) takes four times as many sweeps
_NEAR = 1e-2  # distance below which points have relative variables, because the method stalls on short edges
_CHECK_EVERY = 50  # number of iterations
_FIRST_CHECK = 100
_MOST_ITERATIONS = 20_000

_ETA = 0.99  # the value is below one to allow for rounding errors
# restart if the residual is below the first fraction of its initial value, or below the second and increasing
_SUFFICIENT, _NECESSARY = 0.4, 0.8
_LONGEST, _YOUNG = 0.36, 200  # restart after this fraction of all iterations, but not before this number

_MARGIN, _EXCESS = 0.05, 0.02  # margin inside the rows and accepted excess of the repair, in units of the tolerance
# the larger number limits the sweeps of a repair, which are usually about twenty
_SWEEPS, _SWEEPS_PER_ITERATION = 100, 0.5
_SHARE_OF_TOLERANCE = 0.99  # leaves a margin for the rounding allowance of the certificate
_DENSEST_CHECKS, _SPARSEST_CHECKS = 1.05, 1.5

_STALLED = 0.7  # factor by which the bracket must shrink while the number of iterations doubles
_PATIENCE = 2000


@dataclass(frozen=True, eq=False)
class Layout:
    """Arrays of up to eight programs, with one lane per program.

    Unused lanes have b = 0.

    Attributes
    ----------
    programs : list of CoordinateProgram
        Programs of the lanes, at most eight.
    rows, columns : LaneRows, LaneColumns
        Arrays in single precision, with the steps sigma and tau of the iteration.
    exact_rows, exact_columns : LaneRows, LaneColumns
        Arrays in double precision. The rows have the steps lambda/||a||^2 of the repair.
    scale : ndarray, shape (programs,)
        Largest entries of the objectives, which were used as divisors.
    units, row_units : ndarray
        Powers of two that make the iteration independent of the units of the sample. The products y * units are the
        variables of the program, and rows and radii were divided by row_units.
    column_order, row_order : ndarray of int
        Order of the columns and of the rows of the edges.
    """

    programs: list[CoordinateProgram]
    rows: LaneRows
    columns: LaneColumns
    exact_rows: LaneRows
    exact_columns: LaneColumns
    scale: Floats
    units: Floats
    row_units: Floats
    column_order: Integers
    row_order: Integers

    def variables(self, lane: int, y: Floats) -> Floats:
        """Return the variables of one lane in the order of its program."""
        found = np.empty(len(self.column_order))
        found[self.column_order] = y[:, lane] * self.units
        return found

    def multipliers(self, lane: int, p: Floats) -> Floats:
        """Return the multipliers of one lane in the order and units of its program."""
        shared = len(self.row_order)
        found = np.empty(len(self.programs[lane].radius))
        p = p[:, lane].astype(np.float64) / self.row_units
        found[self.row_order] = p[:shared]
        groups = self.rows.groups
        found[shared:] = p[groups[lane + 1] : groups[lane + 2]]
        found *= self.scale[lane]
        return found


def lay_out(programs: list[CoordinateProgram], shared: int) -> Layout:
    """Build the arrays of up to eight programs with the same first `shared` rows."""
    first = programs[0]
    n = first.n_points
    column_order = np.arange(len(first.box)).reshape(-1, n).T.ravel()
    row_order = _along_the_edges(first.matrix[:shared], n)
    extra = [sparse.csr_array(program.matrix[shared:]) for program in programs]
    matrix = sparse.vstack([first.matrix[:shared][row_order], *extra], format="csr")[:, column_order]
    matrix = sparse.csr_array(matrix)
    matrix.sort_indices()
    radius = np.concatenate([first.radius[:shared][row_order], *(program.radius[shared:] for program in programs)])
    groups = np.cumsum([0, shared, *(part.shape[0] for part in extra)])
    member = np.zeros((len(programs) + 1, LANES))
    member[0] = 1.0
    member[1:, : len(programs)] = np.eye(len(programs))

    objective, box = np.zeros((2, len(column_order), LANES))
    for lane, program in enumerate(programs):
        objective[:, lane], box[:, lane] = program.objective[column_order], program.box[column_order]
    units, row_units = power_of_two(box.max(axis=1)), power_of_two(np.maximum(radius, _SMALLEST_RADIUS))
    matrix.data *= units[matrix.indices] / np.repeat(row_units, np.diff(matrix.indptr))
    objective, box, radius = objective * units[:, None], box / units[:, None], radius / row_units
    scale = np.abs(objective).max(axis=0)
    scale[scale == 0.0] = 1.0
    objective /= scale
    sigma, tau = _steps(matrix, np.maximum(radius, _SMALLEST_RADIUS), groups, member)
    squares = np.asarray((matrix**2).sum(axis=1))

    def rows(dtype: type, step: Floats) -> LaneRows:
        return LaneRows(
            matrix.indptr.astype(np.uint64),
            matrix.indices.astype(np.uint32),
            matrix.data.astype(dtype),
            radius.astype(dtype),
            step.astype(dtype),
            groups,
            member.astype(dtype),
        )

    def columns(dtype: type) -> LaneColumns:
        return LaneColumns(objective.astype(dtype), box.astype(dtype), tau.astype(dtype))

    return Layout(
        programs,
        rows(np.float32, sigma),
        columns(np.float32),
        rows(np.float64, _RELAXATION / squares),
        columns(np.float64),
        scale,
        units,
        row_units,
        column_order,
        row_order,
    )


def _along_the_edges(matrix: sparse.csr_array, n_points: int) -> Integers:
    """Return the order of the rows by the points that they join."""
    if not matrix.shape[0]:
        return np.arange(0)
    point = matrix.indices % n_points
    start = matrix.indptr[:-1]
    return np.lexsort((np.maximum.reduceat(point, start), np.minimum.reduceat(point, start)))


def _steps(matrix: sparse.csr_array, radius: Floats, groups: Integers, member: Floats) -> tuple[Floats, Floats]:
    """Return the diagonal steps per row, and per column and lane.

    The steps are 1/(r sum |a|) and 1/sum(|a|/r).
    """
    magnitudes = sparse.csr_array(abs(matrix))
    sigma = 1.0 / (radius * np.asarray(magnitudes.sum(axis=1)))
    sums = np.zeros((matrix.shape[1], LANES))
    for begin, end, lanes in zip(groups[:-1], groups[1:], member, strict=True):
        sums += np.outer(magnitudes[begin:end].T @ (1.0 / radius[begin:end]), lanes)
    held = sums[sums > 0.0]
    least = held.min() if held.size else 1.0  # any step is valid for a column without rows
    return sigma, 1.0 / np.maximum(sums, least)


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve the given coordinates, or all by default.

    Groups of up to eight coordinates are solved together, with one group per thread. A candidate has a note if its
    bracket is wider than the tolerance.
    """
    batches = _batches(program, asked_for(program, coordinates))
    with progress_bar("first order", shown=settings.progress, unit=" iterations") as bar:
        solved = side_by_side(lambda batch: _solve_batch(*batch, settings, bar), batches, settings)
    return [candidate for candidates in solved for candidate in candidates]


def _batches(program: SteinProgram, coordinates: Sequence[int]) -> list[tuple[list[CoordinateProgram], int]]:
    """Return groups of at most eight programs, and their common leading rows."""
    forms = suitable_forms(program, _NEAR)
    batches: list[tuple[list[CoordinateProgram], int]] = []
    previous: AnyForm | None = None
    for j in coordinates:
        form = forms[j]
        if form is not previous or len(batches[-1][0]) == LANES:
            batches.append(([], len(form.edge_rows[1])))
        batches[-1][0].append(form.coordinate(j))
        previous = form
    return batches


def _solve_batch(programs: list[CoordinateProgram], shared: int, settings: Settings, bar: Any) -> list[Candidate]:
    """Iterate until the brackets are narrow enough or no longer shrink.

    The time limit also ends the iteration.
    """
    if not any(len(program.radius) for program in programs):
        return [closed_form(program, "first_order") for program in programs]
    if settings.stopped:
        return [unsolved(program, "first_order") for program in programs]
    batch = _Batch(lay_out(programs, shared), settings)
    history: list[tuple[int, float]] = []
    next_check = _FIRST_CHECK
    while True:
        batch.advance()
        bar.update(_CHECK_EVERY)
        stopped = settings.stopped
        if stopped or batch.iterations >= next_check:
            batch.check()
            history.append((batch.iterations, batch.widest))
            bar.set_postfix_str(f"widest bracket {batch.widest:.1e}", refresh=False)
            if stopped or batch.widest <= _SHARE_OF_TOLERANCE * settings.tolerance or _has_stalled(history):
                return batch.candidates()
            # the widths decrease approximately as 1/k^2 in the iterations k
            factor = min(max(np.sqrt(batch.widest / settings.tolerance), _DENSEST_CHECKS), _SPARSEST_CHECKS)
            next_check = min(int(batch.iterations * factor), _MOST_ITERATIONS)
        batch.restart()


def _has_stalled(history: list[tuple[int, float]]) -> bool:
    """Return True if the bracket hardly shrank while the iterations doubled.

    The result is also True after too many iterations.
    """
    now, widest = history[-1]
    before = [gap for iterations, gap in history if 2 * iterations <= now]
    return now >= _MOST_ITERATIONS or (now >= _PATIENCE and widest > _STALLED * before[-1])


class _Batch:
    """State of the iteration for up to eight programs.

    Attributes
    ----------
    iterations : int
        Number of iterations so far.
    lower, upper : ndarray, shape (8,)
        Best bounds so far, in units of the scale of the layout.
    """

    def __init__(self, layout: Layout, settings: Settings) -> None:
        self.layout = layout
        self.tolerance, self.stop = settings.tolerance, settings.interrupted.flag
        variables, multipliers = layout.exact_columns.box.shape[0], len(layout.rows.radius)

        def lanes(count: int) -> Floats:
            return np.zeros((count, LANES), np.float32)

        self.state = kernels.State(*map(lanes, (variables, variables, variables, multipliers, multipliers, variables)))
        self.y, self.p = lanes(variables), lanes(multipliers)
        self.best_y, self.best_p = np.zeros((variables, LANES)), lanes(multipliers)
        self.pull = np.zeros((variables, LANES))

        norm = np.sqrt((layout.exact_columns.objective**2).sum(axis=0))
        self.live = norm > 0.0
        self.lower, self.upper = np.zeros(LANES), np.where(self.live, np.inf, 0.0)
        self.omega = np.where(self.live, norm, 1.0) / np.sqrt(multipliers)
        self.iterations = 0
        self.age = np.zeros(LANES, np.int64)
        self.lengths = np.zeros((4, LANES))
        self.first_residual, self.last_residual = np.full((2, LANES), np.inf)

    @property
    def steps(self) -> Floats:
        """Factors of tau and sigma per lane, shape (2, 8)."""
        return np.array([_ETA / self.omega, _ETA * self.omega], np.float32)

    @property
    def gaps(self) -> Floats:
        """Relative width of each bracket.

        The width is 1 if a bound is infinite, and 0 if rounding errors make the bounds cross.
        """
        open_end = np.isinf(self.upper)
        upper = np.where(open_end | ~self.live | (self.upper == 0.0), 1.0, self.upper)
        width = np.maximum((upper - self.lower) / upper, 0.0)
        return np.where(self.live, np.where(open_end, 1.0, width), 0.0)

    @property
    def widest(self) -> float:
        """Relative width of the widest bracket."""
        return float(self.gaps.max())

    def advance(self) -> None:
        """Iterate up to the next check, and compute the point (y+, p+) that is checked."""
        rows, columns, steps = self.layout.rows, self.layout.columns, self.steps
        k = self.age + np.arange(1, _CHECK_EVERY + 1)[:, None]
        kernels.halpern_steps(rows, columns, self.state, steps, (k / (k + 1.0)).astype(np.float32), self.stop)
        kernels.pdhg_step(rows, columns, self.state, steps, self.y, self.p, self.lengths)
        self.age += _CHECK_EVERY
        self.iterations += _CHECK_EVERY

    def check(self) -> None:
        """Update the bounds by p, and by y before and after its repair."""
        y = self.y.astype(np.float64)
        self._update_bounds(y)
        sweeps = max(_SWEEPS, int(_SWEEPS_PER_ITERATION * self.iterations))
        margin, excess = _MARGIN * self.tolerance, _EXCESS * self.tolerance
        kernels.repair(self.layout.exact_rows, self.layout.exact_columns, y, margin, excess, sweeps, self.stop)
        self._update_bounds(y)

    def _update_bounds(self, y: Floats) -> None:
        """Keep y and p in the lanes with improved bounds."""
        found = np.empty((3, LANES))
        kernels.bounds(self.layout.exact_rows, self.layout.exact_columns, y, self.p, self.pull, found)
        upper, value, largest = found
        lower = value / np.maximum(largest, 1.0)
        better = lower > self.lower
        self.best_y[:, better], self.lower[better] = y[:, better], lower[better]
        better = upper < self.upper
        self.best_p[:, better], self.upper[better] = self.p[:, better], upper[better]

    def restart(self) -> None:
        """Restart lanes at (y+, p+).

        Lanes are restarted if their progress is sufficient or ends.

        The steps of these lanes are rebalanced.
        """
        moved, away = self.lengths[:2], self.lengths[2:]
        residual = np.sqrt(moved[0] * self.omega + moved[1] / self.omega)
        fresh = self.age == _CHECK_EVERY
        self.first_residual = np.where(fresh, residual, self.first_residual)
        enough = residual <= _SUFFICIENT * self.first_residual
        worse_again = (residual <= _NECESSARY * self.first_residual) & (residual > self.last_residual)
        long = (self.age > _LONGEST * self.iterations) & (self.age > _YOUNG)
        chosen = self.live & ~fresh & (enough | worse_again | long)
        self.last_residual = np.where(chosen, np.inf, residual)
        if not chosen.any():
            return
        kernels.restart(self.layout.rows, self.state, chosen[None].astype(np.float32), self.y, self.p)
        rebalanced = chosen & (away > 0.0).all(axis=0) & np.isfinite(away).all(axis=0)
        ratio = np.sqrt(away[1] / np.where(rebalanced, away[0], 1.0))
        self.omega = np.where(rebalanced, np.sqrt(self.omega * ratio), self.omega)
        self.age[chosen] = 0

    def candidates(self) -> list[Candidate]:
        """Return the best y and p of each program, in its own variables."""
        found = []
        for lane, (program, gap) in enumerate(zip(self.layout.programs, self.gaps, strict=False)):
            y = self.layout.variables(lane, self.best_y)
            p = self.layout.multipliers(lane, self.best_p)
            notes: tuple[str, ...] = ()
            if gap > self.tolerance:
                notes = (
                    f"the first-order method stopped at a bracket of {gap:.1e} after {self.iterations} iterations",
                )
            found.append(Candidate(program, y, p, ("first_order",), notes, self.iterations))
        return found
