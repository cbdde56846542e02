"""Mehrotra's predictor-corrector interior point method.

All constraints, including the boxes, are scaled to rows |B x| <= 1:

    maximize b'x             subject to   -1 <= B x <= 1,
    minimize 1'(z+ + z-)     subject to   B'(z+ - z-) = b,   z+, z- >= 0.

The point x = 0 is strictly feasible. The dual also has a strictly feasible start because the boxes can balance any b.
With the slacks s+ = 1 - B x and s- = 1 + B x, and weights omega of mean one, the central path is s z = omega mu in
every row. A Newton step with target products c solves

    (B' W B) dx = b + B'(c-/s- - c+/s+),      W = z+/s+ + z-/s-,

a system that a `NewtonSystem` solves. An iteration [1]_ consists of a predictor, a corrector and, while the step is
short, a few of Gondzio's correctors [2]_. The predictor uses c = 0. The corrector uses c = sigma mu omega plus the
second-order term of the predictor, with sigma = (mu_affine/mu)^3. Gondzio's correctors move products that are far from
the central path back toward it.

Every iteration computes lower and upper bounds on the optimum, and the method stops once the bracket is narrow enough.
These bounds ignore rounding errors. The reported bounds are computed by the certificate.

References
----------
.. [1] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992).
.. [2] J. Gondzio, "Multiple centrality corrections in a primal-dual method for linear programming", Comput. Optim.
   Appl. 6 (1996).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.solvers import barrier_kernels as barrier
from steinkit.discrepancy.graph.solvers.base import Settings
from steinkit.sample import Floats

_FIRST_MU = 0.3
_LEAST_SIGMA, _MOST_SIGMA = 1e-6, 0.5
_STEP_FRACTION = 0.995
_LONG_STEP = 0.9  # step length above which no additional corrector is computed
_WORTHWHILE = 0.02  # smallest gain in the sum of the step lengths for which a corrector is accepted
_SHORTEST_STEP = 1e-5
_MOST_ITERATIONS = 100
# relative gaps above which bounds are not computed; the second gap is in units of the goal
_FAR, _FAR_FROM_GOAL = 0.1, 10.0
_SHARE_OF_TOLERANCE, _MOST_MARGIN = 0.8, 1e-5  # the goal leaves a margin for the rounding allowance of the certificate


class Correctors(NamedTuple):
    """Parameters for Gondzio's correctors.

    Attributes
    ----------
    most : int
        Maximum number of correctors per iteration. A larger value is useful if a factorization costs as much as many
        solves.
    longer_by, times : float
        Parameters of the target step length, which is the larger of the current length plus `longer_by` and the current
        length times `times`, but at most 1.
    lowest, highest : float
        Target interval of the products, in units of sigma mu.
    """

    most: int
    longer_by: float = 0.2
    times: float = 1.3
    lowest: float = 0.1
    highest: float = 10.0


class NewtonSystem(Protocol):
    """Linear algebra for the constraint rows B of a program.

    Attributes
    ----------
    start : ndarray, shape (rows,)
        Multipliers p of the rows with B'p = b, scaled to a largest entry of about one.
    omega : ndarray, shape (rows,)
        Positive weights of the rows in the barrier, with mean one.
    """

    start: Floats
    omega: Floats

    def factorise(self, weights: Floats, /) -> None:
        """Factorize H = B' diag(weights) B.

        The factorization may be left unfinished after an interrupt.
        """

    def step(self, force: Floats, change: Floats, /) -> None:
        """Set `change` to B dx, where H dx = b + B'force."""

    def bounds(self, rows: Floats, multipliers: Floats, /) -> tuple[float, float]:
        """Return a lower and an upper bound on the optimum.

        The bounds follow from the row values B x and any multipliers.
        """


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of the interior point method.

    Attributes
    ----------
    rows : ndarray, shape (rows,)
        Row values B x that give the best lower bound.
    multipliers : ndarray, shape (rows,)
        Multipliers z+ - z- that give the best upper bound.
    lower, upper : float
        The best bounds, in the units of the system.
    iterations : int
        Number of iterations.
    """

    rows: Floats
    multipliers: Floats
    lower: float
    upper: float
    iterations: int


def solve(system: NewtonSystem, settings: Settings, correctors: Correctors) -> Solution:
    """Follow the central path until the bracket is narrow enough.

    The method also stops if the steps become too short.
    """
    state = _State(system, settings)
    best_rows, best_multipliers, multipliers = state.rows.copy(), system.start.copy(), np.empty_like(state.rows)
    lower, upper = system.bounds(best_rows, best_multipliers)

    def judge() -> None:
        nonlocal lower, upper, multipliers, best_multipliers
        np.subtract(state.interior.z_up, state.interior.z_low, out=multipliers)
        new_lower, new_upper = system.bounds(state.rows, multipliers)
        if new_lower > lower:
            lower = new_lower
            best_rows[:] = state.rows
        if new_upper < upper:
            upper = new_upper
            best_multipliers, multipliers = multipliers, best_multipliers

    goal = max(_SHARE_OF_TOLERANCE * settings.tolerance, settings.tolerance - _MOST_MARGIN)
    iteration, is_far = 0, False
    while relative_width(lower, upper) > goal and iteration < _MOST_ITERATIONS:
        if settings.stopped or not state.iterate(correctors):
            break
        iteration += 1
        is_far = state.weigh() > max(_FAR, _FAR_FROM_GOAL * goal)
        if not is_far:
            judge()
    if is_far:
        judge()
    return Solution(best_rows, best_multipliers, lower, upper, iteration)


class _State:
    """Row values, slacks, multipliers and work arrays for an iteration."""

    def __init__(self, system: NewtonSystem, settings: Settings) -> None:
        self.system, self.settings = system, settings
        start, omega = system.start, system.omega
        n = len(start)
        self.rows = np.zeros(n)
        least = _FIRST_MU * omega
        self.interior = barrier.Interior(
            np.ones(n), np.ones(n), least + np.maximum(start, 0.0), least + np.maximum(-start, 0.0)
        )
        self.weights, self.force, self.change = np.empty(n), np.empty(n), np.empty(n)
        self.trial = np.empty(n)
        self.targets, self.trial_targets = (barrier.Targets(np.empty(n), np.empty(n)) for _ in range(2))
        self.weigh()

    def weigh(self) -> float:
        """Set the row weights and return the relative duality gap."""
        self.gap = float(barrier.newton_weights(self.interior, self.weights))
        return self.gap / (self.gap + float(np.einsum("i,i", self.rows, self.system.start)))

    def iterate(self, correctors: Correctors) -> bool:
        """Take one predictor-corrector step.

        Return False if no step is possible.
        """
        interior, gap, products = self.interior, self.gap, 2 * len(self.rows)
        if not (math.isfinite(gap) and gap > 0.0):
            return False
        self.system.factorise(self.weights)
        if self.settings.interrupted.is_set():  # the factorization may be unfinished
            return False
        self.force[:] = 0.0
        self.system.step(self.force, self.change)
        affine = barrier.affine_gap(interior, self.weights, gap, self.change)
        if not math.isfinite(affine):
            return False
        mu = gap / products
        ratio = min(1.0, max(0.0, affine / gap))
        centre = min(max(ratio**3, _LEAST_SIGMA), _MOST_SIGMA) * mu
        barrier.mehrotra_targets(interior, self.system.omega, self.change, centre, mu, self.targets, self.force)
        self.system.step(self.force, self.change)
        lengths = barrier.step_lengths(interior, self.change, self.targets)
        if not math.isfinite(lengths[0]):
            return False
        primal, dual = self._correct(lengths, centre, correctors)
        lengths = _STEP_FRACTION * primal, _STEP_FRACTION * dual
        barrier.advance(self.rows, interior, self.change, self.targets, lengths)
        return max(lengths) > _SHORTEST_STEP

    def _correct(self, lengths: tuple[float, float], centre: float, correctors: Correctors) -> tuple[float, float]:
        """Lengthen a short step with Gondzio's correctors, and return step lengths."""
        most, longer_by, times, lowest, highest = correctors
        interval = lowest * centre, highest * centre
        for _ in range(most):
            if min(lengths) >= _LONG_STEP:
                break
            primal, dual = (min(1.0, max(times * length, length + longer_by)) for length in lengths)
            barrier.gondzio_targets(
                self.interior, self.system.omega, self.change, self.targets, (primal, dual), interval,
                self.trial_targets, self.force,
            )  # fmt: skip
            self.system.step(self.force, self.trial)
            longer = barrier.step_lengths(self.interior, self.trial, self.trial_targets)
            if not sum(longer) > sum(lengths) + _WORTHWHILE:  # this condition is also False for NaN
                break
            lengths = longer
            self.change, self.trial = self.trial, self.change
            self.targets, self.trial_targets = self.trial_targets, self.targets
        return lengths
