"""Solver `first_order`: the restarted reflected Halpern PDHG method.

Each program max b'y, |A y| <= r, |y| <= u is equivalent to the saddle point problem

    min over p, max over |y| <= u of   b'y - p'A y + r'|p|.

The variables and rows are scaled to u = 1 and r = 1. A step z = (y, p) -> z+ of the primal-dual hybrid gradient method
[1]_ is

    y+ = clip(y + tau (b - A'p), -1, 1),    p+ = soft(p + sigma A (2 y+ - y), sigma),

with diagonal steps sigma = omega eta/sum |a| and tau = eta/(omega sum |a|). The sum in sigma runs over the entries of a
row, and the sum in tau runs over the entries of a column [2]_. The reflected Halpern iteration converges faster [3]_.
The step of this iteration is z <- w (2 z+ - z) + (1 - w) z_0, with w = k/(k + 1) in the k-th step after a restart at
z_0. The method restarts when its fixed-point residual has decreased sufficiently or begins to increase. The primal
weight omega is then rebalanced, based on the distances that y and p have moved.

The iteration uses single precision. The width of the bracket is usually limited by small constraint violations in y.
Relaxed Kaczmarz sweeps [4]_ in double precision remove these violations before every check of the bracket. The width
then decreases approximately as 1/k^2, where k is the number of iterations. This rate is used to schedule the next check
of the bracket. In four or more dimensions, a relative bracket width of 1e-3 takes a few hundred passes over A, and a
width of 1e-5 takes a few thousand. Most rows never bind, and only the rows that are nearly binding are processed
between two checks. If some edges are a hundred times shorter than the others, the method may stall, even in double
precision. In this case, a note is attached to the candidate.

To improve memory locality, columns are ordered by point (gamma_i, Gamma_i1, ..., Gamma_id together).

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

import numpy as np
from scipy import sparse

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import suitable_programs
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import first_order_kernels as kernels
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings, each_coordinate
from steinkit.sample import Floats

_SMALLEST_RADIUS = 1e-30  # relative to the largest |A y|; keeps the scaled rows within the range of single precision
_RELAXATION = 1.6  # lambda in (0, 2); the projection (lambda = 1) takes four times as many sweeps
_NEAR = 1e-2  # points closer than this have relative variables because the method stalls on short edges
_CHECK_EVERY = 50  # number of iterations
_FIRST_CHECK = 100
_MOST_ITERATIONS = 20_000

_ACTIVE = 0.8  # rows are skipped while |a'y| is smaller at every check and their multipliers are zero
_ETA = 0.99  # less than one to allow for rounding errors
# restart if the residual is below the first fraction of its initial value, or below the second and growing
_SUFFICIENT, _NECESSARY = 0.4, 0.8
_LONGEST, _YOUNG = 0.36, 200  # restart after this fraction of all iterations, but not before this number

_MARGIN, _EXCESS = 0.05, 0.02  # margin inside the rows and accepted excess after repair, in units of the tolerance
# the larger of these two limits applies to the sweeps per repair; about twenty sweeps are typical
_SWEEPS, _SWEEPS_PER_ITERATION = 100, 0.5
_SHARE_OF_TOLERANCE = 0.99  # leaves a margin for the rounding allowance of the certificate
_DENSEST_CHECKS, _SPARSEST_CHECKS = 1.05, 1.5

_STALLED = 0.7  # factor by which the bracket must shrink while the number of iterations doubles
_PATIENCE = 2000


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve the programs of the given coordinates (all by default).

    If a bracket is wider than the tolerance, its candidate includes a note.
    """
    return each_coordinate(solve_coordinate, "first_order", settings, suitable_programs(program, coordinates, _NEAR))


def solve_coordinate(program: CoordinateProgram, settings: Settings) -> Candidate:
    """Iterate until the bracket is narrow enough or no longer shrinks.

    The time limit also ends the iteration.
    """
    run = Iteration(program, settings)
    history: list[tuple[int, float]] = []
    next_check = _FIRST_CHECK
    while True:
        run.advance()
        stopped = settings.stopped
        if stopped or run.iterations >= next_check:
            run.check()
            history.append((run.iterations, run.gap))
            if stopped or run.gap <= _SHARE_OF_TOLERANCE * settings.tolerance or _has_stalled(history):
                return run.candidate()
            # the widths decrease approximately as 1/k^2, where k is the number of iterations
            factor = min(max(np.sqrt(run.gap / settings.tolerance), _DENSEST_CHECKS), _SPARSEST_CHECKS)
            next_check = min(int(run.iterations * factor), _MOST_ITERATIONS)
        run.restart()


def _has_stalled(history: list[tuple[int, float]]) -> bool:
    """Return True if the bracket barely shrank while the iteration count doubled.

    Also return True if the iteration limit has been reached.
    """
    now, gap = history[-1]
    before = [earlier for iterations, earlier in history if 2 * iterations <= now]
    return now >= _MOST_ITERATIONS or (now >= _PATIENCE and gap > _STALLED * before[-1])


class Iteration:
    """State of the iteration for one program.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (m, N)
        The scaled matrix A, with columns ordered by point.
    objective : ndarray, shape (N,)
        The scaled objective b, with a largest entry of 1.
    tau, sigma : ndarray, shapes (N,), (m,)
        Steps without the factors omega and eta.
    y, p : ndarray, shapes (N,), (m,)
        The point (y+, p+) that is checked.
    active : ndarray of bool, shape (m,)
        Rows that were nearly binding at any check. All other multipliers are zero.
    iterations : int
        Number of iterations so far.
    lower, upper : float
        Best bounds so far, ignoring rounding errors.
    """

    def __init__(self, program: CoordinateProgram, settings: Settings) -> None:
        self.program, self.tolerance, self.stop = program, settings.tolerance, settings.interrupted.flag
        least = np.maximum(_SMALLEST_RADIUS * (program.magnitudes @ program.box), np.finfo(float).tiny)
        self.radius = np.maximum(program.radius, least)
        self.order = np.arange(len(program.box)).reshape(-1, program.n_points).T.ravel()
        scaled = sparse.diags_array(1.0 / self.radius) @ program.matrix @ sparse.diags_array(program.box)
        self.matrix = sparse.csr_array(sparse.csr_array(scaled)[:, self.order])
        objective = (program.objective * program.box)[self.order]
        self.scale = float(np.abs(objective).max()) or 1.0
        self.objective = objective / self.scale
        magnitudes = abs(self.matrix)
        self.tau, self.sigma = (_inverse(np.asarray(magnitudes.sum(axis=axis))) for axis in (0, 1))
        self.relaxed = _RELAXATION * _inverse(np.asarray((self.matrix**2).sum(axis=1)))

        places = self.matrix.indptr.astype(np.uint32), self.matrix.indices.astype(np.uint32)
        self.rows = kernels.MatrixRows(*places, self.matrix.data.astype(np.float32))
        self.exact_rows = kernels.MatrixRows(*places, self.matrix.data)
        m, n = self.matrix.shape
        self.iterates = kernels.Iterates(*(np.zeros(size, np.float32) for size in (n, n, n, m, m, n)))
        self.y, self.p, self.best_y, self.best_p = np.zeros(n), np.zeros(m), np.zeros(n), np.zeros(m)
        self.active = np.ones(m, dtype=np.bool_)
        self.lower, self.upper = 0.0, float(np.abs(self.objective).sum())
        self.omega = (float(np.linalg.norm(self.objective)) or 1.0) / np.sqrt(m)
        self.iterations = self.age = 0
        self.residual = self.first_residual = self.last_residual = np.inf

    @property
    def gap(self) -> float:
        """Relative width of the bracket, or 0 if rounding errors make the bounds cross."""
        return max(relative_width(self.lower, self.upper), 0.0)

    def advance(self) -> None:
        """Iterate up to the next check, and compute (y+, p+)."""
        tau, sigma = _ETA / self.omega * self.tau, _ETA * self.omega * self.sigma
        k, state = self.age + np.arange(1, _CHECK_EVERY + 1), self.iterates
        objective, *steps, weights = (each.astype(np.float32) for each in (self.objective, tau, sigma, k / (k + 1.0)))
        active = np.flatnonzero(self.active).astype(np.uint32)
        kernels.halpern_steps(self.rows, objective, *steps, state, weights, active, self.stop)
        self.age += _CHECK_EVERY
        self.iterations += _CHECK_EVERY
        y, p, pull = (each.astype(np.float64) for each in (state.y, state.p, state.pull))
        self.y = np.clip(y + tau * (self.objective - pull), -1.0, 1.0)
        activity = self.matrix @ (2.0 * self.y - y)
        moved = p + sigma * activity
        self.p = moved - np.clip(moved, -sigma, sigma)
        near = (np.abs(activity) >= _ACTIVE) | (p != 0.0) | (self.p != 0.0)
        self.active = near | (self.active & (self.iterations > _CHECK_EVERY))
        on_y, on_p = self._squares(y, p)
        self.residual = np.sqrt(on_y * self.omega + on_p / self.omega)

    def _squares(self, y: Floats, p: Floats) -> tuple[float, float]:
        """Return the squared distances of (y+, p+) from a point.

        The norms are weighted by the reciprocals of the steps tau and sigma.
        """
        return float(((self.y - y) ** 2 / self.tau).sum()), float(((self.p - p) ** 2 / self.sigma).sum())

    def check(self) -> None:
        """Update the bounds with p, and with y before and after the repair."""
        upper = float(np.abs(self.p).sum() + np.abs(self.objective - self.matrix.T @ self.p).sum())
        if upper < self.upper:
            self.upper, self.best_p = upper, self.p
        self._raise_lower(self.y)
        repaired, sweeps = self.y.copy(), max(_SWEEPS, int(_SWEEPS_PER_ITERATION * self.iterations))
        limit, most = 1.0 - _MARGIN * self.tolerance, 1.0 + _EXCESS * self.tolerance
        kernels.repair(self.exact_rows, self.relaxed, repaired, limit, most, sweeps, self.stop)
        self._raise_lower(repaired)

    def _raise_lower(self, y: Floats) -> None:
        lower = float(self.objective @ y) / max(1.0, float(np.abs(self.matrix @ y).max()))
        if lower > self.lower:
            self.lower, self.best_y = lower, y

    def restart(self) -> None:
        """Restart at (y+, p+) if the progress is sufficient or has stalled.

        A restart also rebalances the primal and dual steps.
        """
        if self.age == _CHECK_EVERY:
            self.first_residual = self.last_residual = self.residual
            return
        enough = self.residual <= _SUFFICIENT * self.first_residual
        worse_again = self.last_residual < self.residual <= _NECESSARY * self.first_residual
        self.last_residual = self.residual
        if not (enough or worse_again or self.age > max(_LONGEST * self.iterations, _YOUNG)):
            return
        state = self.iterates
        on_y, on_p = self._squares(state.anchor_y, state.anchor_p)
        state.y[:] = state.anchor_y[:] = self.y
        state.p[:] = state.anchor_p[:] = self.p
        state.pull[:] = self.matrix.T @ self.p
        if 0.0 < on_y < np.inf and 0.0 < on_p < np.inf:
            self.omega = np.sqrt(self.omega * np.sqrt(on_p / on_y))
        self.age = 0

    def candidate(self) -> Candidate:
        """Return the best y and p in the unscaled variables of the program."""
        y = np.empty_like(self.best_y)
        y[self.order] = self.best_y
        notes: tuple[str, ...] = ()
        if self.gap > self.tolerance:
            at = f"at a relative bracket width of {self.gap:.1e} after {self.iterations} iterations"
            notes = (f"the first-order method stopped {at}",)
        p = self.best_p * self.scale / self.radius
        return Candidate(self.program, y * self.program.box, p, ("first_order",), notes, self.iterations)


def _inverse(sums: Floats) -> Floats:
    """Return the reciprocals of sums, with the largest reciprocal for zero sums.

    Any step is valid for an empty row.
    """
    least = sums[sums > 0.0].min(initial=np.inf)
    return 1.0 / np.where(sums > 0.0, sums, least)
