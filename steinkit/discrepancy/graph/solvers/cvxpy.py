"""Solver `cvxpy`, which calls HiGHS or another LP solver through CVXPY.

The LP solvers receive the same linear programs as the solver `highs`: first the scaled dual in relative variables, and
then the program itself. The programs must be scaled. If the variables are the values and gradients of g, the radii
D^2/2 are smaller than the absolute tolerances of the solvers. For 100 or more draws in one dimension, the solution
would not yield a useful lower bound.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from threading import Event

import cvxpy as cp
import numpy as np

from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import suitable_programs
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import highs
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings, each_coordinate
from steinkit.errors import TimeLimitError, UsageError
from steinkit.runtime.deadlines import interruptible, time_limit

_DEFAULT = "HIGHS"
_TIME_LIMITS = {"HIGHS": "time_limit", "CLARABEL": "time_limit", "OSQP": "time_limit", "SCS": "time_limit_secs"}


def require_solver(solver: str) -> None:
    """Check that CVXPY can call a solver with this name ("" for HiGHS).

    Raises
    ------
    UsageError
        If the solver is not installed.
    """
    known = sorted(cp.installed_solvers())
    if (solver.upper() or _DEFAULT) not in known:
        raise UsageError(f"CVXPY cannot find an installed solver named {solver!r}; choose one of {', '.join(known)}")


def solve(
    program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None, solver: str = ""
) -> list[Candidate]:
    """Solve the given coordinates with an LP solver via CVXPY ("" for HiGHS)."""
    name = solver.upper() or _DEFAULT
    label = f"cvxpy:{name}" if solver else "cvxpy"
    if np.isfinite(settings.deadline) and name not in _TIME_LIMITS:
        raise UsageError(
            f"max_seconds (--max-seconds) is not supported with solver {name}; omit it, or choose one of "
            f"{', '.join(_TIME_LIMITS)}"
        )
    programs = suitable_programs(program, coordinates)
    with warnings.catch_warnings():  # set outside the worker threads because warning filters are global
        warnings.simplefilter("ignore")  # the solution may be inaccurate, but the certificate provides an error bound
        return each_coordinate(partial(solve_coordinate, solver=name, label=label), label, settings, programs)


def solve_coordinate(program: CoordinateProgram, settings: Settings, solver: str, label: str = "cvxpy") -> Candidate:
    """Solve one coordinate with CVXPY in the same way as the solver `highs`."""
    notes: list[str] = []
    run = partial(_run, solver=solver, notes=notes)
    found = highs.solve_coordinate(program, settings, run, label, tuned=solver == _DEFAULT)
    return replace(found, notes=(*dict.fromkeys(notes), *found.notes))


def _run(
    program: highs.LinearProgram, options: dict[str, object], settings: Settings, solver: str, notes: list[str]
) -> highs.Point:
    """Solve a linear program with CVXPY.

    Return the column values and the row multipliers, or zeros if the solver returns none. The options apply only to
    HiGHS. A solver that exceeds its time limit is abandoned.
    """
    (lower, upper), nothing = program.rows, (np.zeros(len(program.cost)), np.zeros(len(program.rows[0])))
    x = cp.Variable(len(program.cost), bounds=list(program.columns))
    is_equality = lower is upper
    rows = [program.matrix @ x == lower] if is_equality else [program.matrix @ x <= upper, program.matrix @ x >= lower]
    problem = cp.Problem(cp.Minimize(program.cost @ x), rows)
    left = max(settings.seconds_left, 1e-3)
    options = dict(options) if solver == _DEFAULT else {}
    if np.isfinite(left):
        options[_TIME_LIMITS[solver]] = left
    if solver == _DEFAULT:
        highs.spend_header()
    try:
        data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
        with time_limit(left):
            solving = partial(chain.solve_via_data, problem, data, solver_opts=options)
            solution = interruptible(solving, Event(), f"running {solver}")
        problem.unpack_results(solution, chain, inverse)
    except TimeLimitError:
        notes.append(f"{solver} exceeded its time limit")
        return nothing
    except (cp.SolverError, ValueError) as error:  # CVXPY raises ValueError if there is no solution to unpack
        notes.append(f"{solver} failed: {str(error).strip().splitlines()[0]:.100}")
        return nothing
    if problem.status != cp.OPTIMAL:
        notes.append(f"{solver} ended with status {problem.status!r}")
    if x.value is None or rows[0].dual_value is None:
        return nothing
    return np.asarray(x.value), np.asarray((0.0 if is_equality else rows[1].dual_value) - rows[0].dual_value)
