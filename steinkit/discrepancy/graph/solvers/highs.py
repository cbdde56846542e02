"""Solver `highs`, which applies HiGHS to the explicit dual of a Stein program.

The dual of max b'y, |A y| <= r, |y| <= u is

    minimize r'(p+ + p-) + u'(s+ + s-)   subject to   A'(p+ - p-) + s+ - s- = b,   all >= 0,

and y contains the multipliers of its rows. The HiGHS interior point method, IPX, solves the dual without crossover to a
vertex. If the certified bracket is wider than the tolerance, IPX runs again with a tolerance of 1e-10. If the bracket
is still too wide, the dual simplex method solves the primal program with feasibility tolerances of 1e-10. The stopping
decision depends only on the certificate, and the status that HiGHS reports is ignored.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy import sparse

from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import suitable_programs
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings, best_of, each_coordinate
from steinkit.sample import Floats

Point = tuple[Floats, Floats]


class LinearProgram(NamedTuple):
    """Linear program that minimizes cost @ x with bounds on x and on matrix @ x."""

    matrix: sparse.csc_array
    cost: Floats
    columns: tuple[Floats, Floats]
    rows: tuple[Floats, Floats]


Run = Callable[[LinearProgram, dict[str, object], Settings], Point]

# maximum number of iterations; about 30 is typical
INTERIOR_POINT = {"solver": "ipx", "run_crossover": "off", "ipm_iteration_limit": 200}
_DUAL_SIMPLEX = {
    "solver": "simplex",
    "simplex_strategy": 1,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
_TIGHTEST = 1e-10
_COST_SCALE = 10.0
_SMALLEST_RADIUS = 1e-24  # keeps the coefficients below 1e12


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve the programs of the given coordinates with HiGHS.

    Relative variables are used when points lie close together.
    """
    return each_coordinate(solve_coordinate, "highs", settings, suitable_programs(program, coordinates))


def solve_coordinate(
    program: CoordinateProgram, settings: Settings, run: Run | None = None, label: str = "highs", *, tuned: bool = True
) -> Candidate:
    """Solve the program of one coordinate.

    Slower methods are tried while the bracket is wider than the tolerance.

    Parameters
    ----------
    program : CoordinateProgram
    settings : Settings
    run : callable, optional
        Function that solves a linear program with HiGHS options and returns the column values and the row multipliers.
        The default is HiGHS.
    label : str, default "highs"
        Name of the solver.
    tuned : bool, default True
        True if `run` uses the options. Otherwise, the dual program is solved only once.
    """
    run = run_highs if run is None else run
    matching = min(max(0.03 * settings.tolerance, 1e-8), 1e-5)
    best = Candidate(program, *_interior_point(program, settings, run, matching), (label,))
    history = [f"the dual program: {best.proof.gap:.1e}"]
    fallbacks: dict[str, Callable[[], Point]] = {
        f"the dual program at {_TIGHTEST:g}": partial(_interior_point, program, settings, run, _TIGHTEST),
        "the program itself": partial(_dual_simplex, program, settings, run),
    }
    for name, method in list(fallbacks.items())[0 if tuned else 1 :]:
        if best.proof.gap <= settings.tolerance or settings.stopped:
            break
        found = Candidate(program, *method(), (label,))
        history.append(f"{name}: {found.proof.gap:.1e}")
        best = best_of(best, found)
    if len(history) > 1:
        best = replace(best, notes=(f"{label} required a fallback; bracket widths were {'; '.join(history)}",))
    return best


def _interior_point(program: CoordinateProgram, settings: Settings, run: Run, tolerance: float) -> Point:
    """Compute a candidate (y, p) by running IPX on the scaled dual program.

    IPX measures feasibility in absolute terms. The rows are scaled by r^(-1/2) because the radii D^2/2 of close points
    are smaller than any tolerance. A scale of 1/r would produce coefficients that HiGHS rejects. The vector b and the
    costs are scaled to order one. For points at a distance of 1e-4, this scaling narrows the bracket from 1e-2 to 1e-8.
    """
    m, n = program.matrix.shape
    row_scale = np.maximum(program.radius, _SMALLEST_RADIUS) ** -0.5
    size = np.abs(program.objective[program.objective != 0.0])
    objective_scale = 1.0 / float(size.mean()) if len(size) else 1.0
    transposed = sparse.csr_array(sparse.diags_array(row_scale) @ program.matrix).T
    identity = sparse.eye_array(n, format="csc")
    row_cost, box_cost = _COST_SCALE * row_scale * program.radius, _COST_SCALE * program.box
    right_side = objective_scale * program.objective
    lp = LinearProgram(
        matrix=sparse.hstack([transposed, -transposed, identity, -identity], format="csc"),
        cost=np.concatenate([row_cost, row_cost, box_cost, box_cost]),
        columns=(np.zeros(2 * (m + n)), np.full(2 * (m + n), highspy.kHighsInf)),
        rows=(right_side, right_side),
    )
    primal, dual = run(lp, INTERIOR_POINT | {"ipm_optimality_tolerance": tolerance}, settings)
    return dual / _COST_SCALE, row_scale * (primal[:m] - primal[m : 2 * m]) / objective_scale


def _dual_simplex(program: CoordinateProgram, settings: Settings, run: Run) -> Point:
    """Compute a candidate (y, p) by the dual simplex method.

    The method solves the primal program with ranged rows.
    """
    lp = LinearProgram(
        matrix=program.matrix.tocsc(),
        cost=-program.objective,
        columns=(-program.box, program.box),
        rows=(-program.radius, program.radius),
    )
    primal, dual = run(lp, _DUAL_SIMPLEX, settings)
    return primal, -dual


def run_highs(program: LinearProgram, options: dict[str, object], settings: Settings) -> Point:
    """Solve a program with HiGHS, and return column values and row multipliers.

    The status is ignored. The results are zero if there is no solution.
    """
    spend_header()
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = program.matrix.shape
    lp.col_cost_ = program.cost
    lp.col_lower_, lp.col_upper_ = program.columns
    lp.row_lower_, lp.row_upper_ = program.rows
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = program.matrix.indptr
    lp.a_matrix_.index_ = program.matrix.indices
    lp.a_matrix_.value_ = program.matrix.data
    highs = highspy.Highs()
    highs.silent()
    for name, value in options.items():
        highs.setOptionValue(name, value)
    if np.isfinite(settings.seconds_left):
        highs.setOptionValue("time_limit", settings.seconds_left)

    def stop_if_interrupted(event: Any) -> None:
        if settings.interrupted.is_set():
            event.interrupt()

    highs.cbIpmInterrupt += stop_if_interrupted
    highs.cbSimplexInterrupt += stop_if_interrupted
    highs.passModel(lp)
    highs.setOptionValue("threads", 1)
    if highs.run() == highspy.HighsStatus.kError:
        # HiGHS has one thread pool per process and rejects any thread count other than the one set first.
        highs.setOptionValue("threads", 0)
        highs.run()
    solution = highs.getSolution()
    primal, dual = np.array(solution.col_value), np.array(solution.row_dual)
    if not (solution.value_valid and solution.dual_valid):
        return np.zeros(lp.num_col_), np.zeros(lp.num_row_)
    return primal, dual


class _LogsNowhere(highspy.Highs):  # type: ignore[misc]
    """HiGHS instance that disables output during its construction.

    Otherwise, the constructor prints a header.
    """

    def enableCallbacks(self) -> None:  # noqa: N802
        self.setOptionValue("log_to_console", False)
        self.setOptionValue("log_file", os.devnull)
        super().enableCallbacks()


@cache
def spend_header() -> None:
    """Prevent HiGHS from printing its header to standard output.

    The function must be called before a process creates its first instance.

    Since highspy 1.16, the constructor prints a header before any option can be set. The header is printed even when
    CVXPY only reads the HiGHS value of infinity. HiGHS prints the header once per process. An instance that logs to the
    null device consumes the header, but an instance without output does not.
    """
    _LogsNowhere()
