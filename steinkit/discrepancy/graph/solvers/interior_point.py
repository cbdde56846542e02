"""Mehrotra's predictor-corrector interior point method for Stein programs, shared by the solvers `chain` and `block`.

A program is seen through its rows, all scaled to |B x| <= 1, boxes included:

    maximise b'x   subject to   -1 <= B x <= 1,
    minimise 1'(z+ + z-)   subject to   B'(z+ - z-) = b,   z+, z- >= 0.

x = 0 is strictly feasible, and so is the dual from the start, because the boxes can balance any b. With slacks
s+ = 1 - B x, s- = 1 + B x the central path is s z = omega mu in every row, omega being weights of mean one. A Newton
step with targets c for the products solves

    (B' W B) dx = b + B'(c-/s- - c+/s+),      W = z+/s+ + z-/s-,

and is all that is asked of the program's linear algebra (`NewtonSystem`). An iteration is [1]_ a predictor (c = 0), a
corrector (c = sigma mu omega plus the predictor's second-order term, sigma = (mu_affine/mu)^3), and while the step
stays short a few of Gondzio's correctors [2]_, which pull products far from the path back towards it.

Every iteration bounds the optimum from both sides, so the method stops as soon as the bracket is narrow enough. The
bounds that count are the certificate's; these only decide when to stop.

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
_LONG_STEP = 0.9  # a step as long needs no further corrector
_WORTHWHILE = 0.02  # what a corrector must add to the steps' lengths
_SHORTEST_STEP = 1e-5
_MOST_ITERATIONS = 100
_FAR, _FAR_FROM_GOAL = 0.1, 10.0  # shares above which the program's bounds are not looked at; the latter of the goal
_SHARE_OF_TOLERANCE, _MOST_ROOM = 0.8, 1e-5  # leave room for the certificate's rounding allowance


class Correctors(NamedTuple):
    """Gondzio's correctors: how many, and what one aims at.

    Attributes
    ----------
    most : int
        An iteration; they pay where a factorisation costs many solves.
    longer_by, times : float
        Steps longer by so much, or so many times as long, whichever is more, but no longer than 1.
    lowest, highest : float
        Products there, in units of sigma mu. Bolder aims save solves, and leave brackets a little wider where rounding
        ends the method.
    """

    most: int
    longer_by: float = 0.2
    times: float = 1.3
    lowest: float = 0.1
    highest: float = 10.0


class NewtonSystem(Protocol):
    """Linear algebra of a program's rows.

    Attributes
    ----------
    start : ndarray, shape (rows,)
        Multipliers p of the rows, of largest size about one, with B'p = b.
    omega : ndarray, shape (rows,)
        Weights of the rows in the barrier, positive, of mean one.
    """

    start: Floats
    omega: Floats

    def factorise(self, weights: Floats, /) -> None:
        """Factorise H = B' diag(weights) B; may be left unfinished once the settings' signal is set."""

    def step(self, force: Floats, change: Floats, /) -> None:
        """Set `change` to B dx, where H dx = b + B'force."""

    def bounds(self, rows: Floats, multipliers: Floats, /) -> tuple[float, float]:
        """Return a lower and an upper bound of the optimum from row values B x and any multipliers of the rows."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the interior point method stopped.

    Attributes
    ----------
    rows : ndarray, shape (rows,)
        Row values B x that gave the best lower bound.
    multipliers : ndarray, shape (rows,)
        Multipliers z+ - z- that gave the best upper bound.
    lower, upper : float
        Those bounds, in the system's units.
    iterations : int
    """

    rows: Floats
    multipliers: Floats
    lower: float
    upper: float
    iterations: int


def solve(system: NewtonSystem, settings: Settings, correctors: Correctors) -> Solution:
    """Follow the central path until the bracket is as narrow as asked for, or nothing is gained."""
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

    goal = max(_SHARE_OF_TOLERANCE * settings.tolerance, settings.tolerance - _MOST_ROOM)
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
    """Row values, slacks and multipliers, and the work space of an iteration."""

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
        """Set the rows' weights, and find the gap between the barrier's own bounds; returns its share of the upper."""
        self.gap = float(barrier.newton_weights(self.interior, self.weights))
        return self.gap / (self.gap + float(np.einsum("i,i", self.rows, self.system.start)))

    def iterate(self, correctors: Correctors) -> bool:
        """Take one predictor-corrector step; false if there is none to take."""
        interior, gap, products = self.interior, self.gap, 2 * len(self.rows)
        if not (math.isfinite(gap) and gap > 0.0):
            return False
        self.system.factorise(self.weights)
        if self.settings.interrupted.is_set():  # it may be unfinished
            return False
        self.force[:] = 0.0
        self.system.step(self.force, self.change)
        affine = barrier.affine_gap(interior, self.weights, gap, self.change)
        if not math.isfinite(affine):
            return False
        mu = gap / products
        ratio = min(1.0, max(0.0, affine / gap))  # a gap may grow beyond all powers
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
        """Lengthen a short step by correctors while each is worth its solve; returns the steps' lengths."""
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
            if not sum(longer) > sum(lengths) + _WORTHWHILE:  # or it is no number
                break
            lengths = longer
            self.change, self.trial = self.trial, self.change
            self.targets, self.trial_targets = self.trial_targets, self.targets
        return lengths
