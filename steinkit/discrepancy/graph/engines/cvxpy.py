"""The programs as a modelling language states them: CVXPY, with HiGHS or any other LP solver it knows.

The reference among the engines, and the door to other solvers.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Event

import cvxpy as cp
import numpy as np

from steinkit.discrepancy.graph.engines.base import Candidate, Settings, asked_for, each_coordinate, unsolved
from steinkit.discrepancy.graph.engines.highs import spend_header
from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.errors import TimeLimitError, UsageError
from steinkit.runtime.deadlines import interruptible, time_limit

_DEFAULT = "HIGHS"
_TIME_LIMITS = {"HIGHS": "time_limit", "CLARABEL": "time_limit", "OSQP": "time_limit", "SCS": "time_limit_secs"}
_SETUP_SECONDS = 2e-6  # an entry of the matrix, before a solver begins
_USABLE = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE, cp.USER_LIMIT)


def require_solver(solver: str) -> None:
    """Refuse what is no LP solver that CVXPY knows by name ("" for HiGHS); UsageError."""
    known = linear_solvers()
    if (solver.upper() or _DEFAULT) not in known:
        raise UsageError(f"CVXPY has no LP solver {solver!r} installed here; it has {', '.join(known)}")


def solve(
    program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None, solver: str = ""
) -> list[Candidate]:
    """Solve coordinates by a solver that CVXPY knows by name ("" for HiGHS)."""
    name = solver.upper() or _DEFAULT
    label = f"cvxpy:{name}" if solver else "cvxpy"
    if np.isfinite(settings.deadline) and name not in _TIME_LIMITS:
        raise UsageError(
            f"steinkit cannot pass max_seconds (--max-seconds) to {name}; leave it out, or choose one of "
            f"{', '.join(_TIME_LIMITS)}"
        )
    programs = [program.coordinate(j) for j in asked_for(program, coordinates)]
    with warnings.catch_warnings():  # in this thread only: the filters are the whole process's
        warnings.simplefilter("ignore")  # "may be inaccurate": the certificate says by how much
        return each_coordinate(lambda one, _: solve_coordinate(one, settings, name, label), programs, settings)


def linear_solvers() -> list[str]:
    """Names of the installed solvers that CVXPY can give a linear program to."""
    x = cp.Variable(1)
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 0])
    usable = []
    for name in cp.installed_solvers():
        try:
            problem.get_problem_data(name)
        except (cp.SolverError, ValueError):
            continue
        usable.append(name)
    return sorted(usable)


def solve_coordinate(program: CoordinateProgram, settings: Settings, solver: str, label: str = "cvxpy") -> Candidate:
    """State max b'y, |A y| <= r, |y| <= u and solve it; multipliers of the rows come from CVXPY's dual values.

    A solver that does not keep to its time limit is not waited for.
    """
    if not settings.has_time(_SETUP_SECONDS * program.matrix.nnz):
        return unsolved(program, label)
    m, n = program.matrix.shape
    y = cp.Variable(n)
    box = [y <= program.box, y >= -program.box]
    rows = [program.matrix @ y <= program.radius, program.matrix @ y >= -program.radius] if m else []
    problem = cp.Problem(cp.Maximize(program.objective @ y), rows + box)
    left = max(settings.seconds_left, 1e-3)
    options = {_TIME_LIMITS[solver]: left} if np.isfinite(left) else {}
    notes: tuple[str, ...] = ()
    if solver == _DEFAULT:
        spend_header()
    try:
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
        with time_limit(left):
            solving = partial(chain.solve_via_data, problem, data, solver_opts=options)
            solution = interruptible(solving, Event(), f"{solver} was solving")
        problem.unpack_results(solution, chain, inverse)
    except TimeLimitError:
        return replace(unsolved(program, label), notes=(f"{solver} did not keep to its time limit",))
    except (cp.SolverError, ValueError) as error:  # CVXPY raises the latter where a solver has no solution to unpack
        notes = (f"{solver} failed: {str(error).strip().splitlines()[0]:.100}",)
    if problem.status not in _USABLE or y.value is None:
        notes = notes or (f"{solver} ended with status {problem.status!r} and no usable answer",)
        return Candidate(program, np.zeros(n), np.zeros(m), (label,), notes)
    if problem.status != cp.OPTIMAL:
        notes = (f"{solver} ended with status {problem.status!r}",)
    p = np.zeros(m)
    if m and rows[0].dual_value is not None:
        p = np.asarray(rows[0].dual_value - rows[1].dual_value, dtype=np.float64)
    return Candidate(program, np.asarray(y.value, dtype=np.float64), p, (label,), notes)
