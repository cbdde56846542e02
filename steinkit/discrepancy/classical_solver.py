"""The program of `classical_program` in the words of CVXPY, solved by Clarabel."""

from __future__ import annotations

import contextlib
import math
import warnings

import cvxpy as cp
import numpy as np

from steinkit.discrepancy.classical_program import ClassicalProgram, ConeAnswer, pointwise_optimum
from steinkit.sample import Floats

_SOLVER = {"tol_gap_rel": 1e-10, "tol_feas": 1e-10, "tol_gap_abs": 1e-12, "max_threads": 1, "accept_unknown": True}


def solve_cone(program: ClassicalProgram, seconds: float = math.inf) -> ConeAnswer:
    """Solve the program with Clarabel; components of one point without a bound need no solver.

    Parameters
    ----------
    program : ClassicalProgram
    seconds : float
        Time after which Clarabel stops, without an answer.
    """
    c, h, n, gaps = program.factors, program.lengths, len(program.points), len(program.lengths)
    pull, weights = program.weights * program.scores, program.weights
    best_value, best_slope = pointwise_optimum(program, pull, weights)
    coupled = abs(program.difference).sum(axis=0) > 0.0
    scale = float((coupled * np.maximum(abs(pull), weights)).max())
    if scale == 0.0:
        zero = np.zeros((2, gaps))
        return ConeAnswer(best_value, best_slope, zero[0], zero[0], zero[0], zero[0], zero, "closed form")

    value, slope = cp.Variable(n), cp.Variable(n)
    bend, turn, over, under = (cp.Variable(gaps) for _ in range(4))
    width = c.smoothness * h
    D, M, E = program.difference, program.mean, program.turning
    rows = [
        D @ value == cp.multiply(h, M @ slope) + cp.multiply(0.5 * width * h, bend),
        E @ slope == cp.multiply(np.where(np.arange(gaps) < len(program.inner), width, 1.0), turn),
        M @ slope - cp.multiply(width, over) <= c.gradient - 0.5 * width,
        -(M @ slope) - cp.multiply(width, under) <= c.gradient - 0.5 * width,
    ]
    limits = [cp.abs(slope) <= c.gradient]
    curvature = math.sqrt(2.0 / c.value) / math.sqrt(c.smoothness)
    for sign, cut in ((1.0, over), (-1.0, under)):  # a sum of (a x)^2 <= 1 + l x is ||(l x, 2 a x)|| <= 2 + l x
        limits.append(cp.SOC(2.0 - 2.0 * sign * bend, cp.vstack([2.0 * bend, 2.0 * turn, 4.0 * cut])))
        limits.append(cp.SOC(2.0 - sign * value / c.value, cp.vstack([value / c.value, curvature * slope])))
    worth = (coupled * pull / scale) @ value + (coupled * weights / scale) @ slope
    problem = cp.Problem(cp.Maximize(worth), rows + limits)
    options = _SOLVER if math.isinf(seconds) else _SOLVER | {"time_limit": max(seconds, 1e-3)}
    with warnings.catch_warnings(), contextlib.suppress(cp.SolverError, ValueError):  # of numbers that overflow
        warnings.simplefilter("ignore")  # "may be inaccurate": the proof says by how much
        problem.solve(solver=cp.CLARABEL, **options)

    def found(numbers: Floats | None, size: int) -> Floats:
        return np.zeros(size) if numbers is None else np.asarray(numbers, dtype=np.float64)

    tension, torque, *cuts = (scale * found(row.dual_value, gaps) for row in rows)
    return ConeAnswer(
        value=np.where(coupled, found(value.value, n), best_value),
        slope=np.where(coupled, found(slope.value, n), best_slope),
        bend=found(bend.value, gaps),
        turn=found(turn.value, gaps),
        tension=tension,
        torque=-torque,
        cut=np.array(cuts),
        status=str(problem.status),
    )
