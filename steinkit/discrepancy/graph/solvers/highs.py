"""HiGHS on the explicit dual of a Stein program.

The dual of max b'y, |A y| <= r, |y| <= u is

    minimise r'(p+ + p-) + u'(s+ + s-)   subject to   A'(p+ - p-) + s+ - s- = b,   all >= 0,

and y is the multiplier of its rows. HiGHS's interior point method (IPX) solves it, without the crossover to a vertex
that nobody needs here. Where the certified bracket stays wider than asked for, the method goes on to a tolerance of
1e-10; where that does not close it, the primal program goes to the dual simplex method with feasibility tolerances of
1e-10. The certificate decides, never the solver's own status.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import highspy
import numpy as np
from scipy import sparse

from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import suitable_forms
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers.base import (
    Candidate,
    Settings,
    asked_for,
    best_of,
    closed_form,
    each_coordinate,
    unsolved,
)
from steinkit.sample import Floats

Point = tuple[Floats, Floats]


class LinearProgram(NamedTuple):
    """Minimize cost'x subject to bounds on the columns x and on the rows matrix @ x."""

    matrix: sparse.csc_array
    cost: Floats
    columns: tuple[Floats, Floats]
    rows: tuple[Floats, Floats]


Run = Callable[[LinearProgram, dict[str, Any], Settings], Point]

_INTERIOR_POINT = {"solver": "ipx", "run_crossover": "off", "ipm_iteration_limit": 200}  # 30 is usual; it may stall
_DUAL_SIMPLEX = {
    "solver": "simplex",
    "simplex_strategy": 1,
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
_TIGHTEST = 1e-10
_COST_SCALE = 10.0
_SETUP_SECONDS = 1e-6  # an entry of the matrix, at the least, before HiGHS looks at the clock
_SMALLEST_RADIUS = 1e-24  # keeps coefficients below 1e12


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve coordinates by HiGHS, in relative variables where points lie close together."""
    forms = suitable_forms(program)
    programs = [forms[j].coordinate(j) for j in asked_for(program, coordinates)]
    return each_coordinate(solve_coordinate, programs, settings)


def solve_coordinate(
    program: CoordinateProgram, settings: Settings, run: Run | None = None, label: str = "highs", *, tuned: bool = True
) -> Candidate:
    """Solve one coordinate, going on to costlier methods while its bracket is wider than the tolerance.

    Parameters
    ----------
    program : CoordinateProgram
    settings : Settings
    run : callable, optional
        Solves a linear program with options of HiGHS and returns column values and row multipliers. HiGHS by default.
    label : str
        Name of the solver.
    tuned : bool
        Whether `run` heeds the options. If not, the dual program is solved once only.
    """
    if not len(program.radius):
        return closed_form(program, label)
    if not settings.has_time(_SETUP_SECONDS * program.matrix.nnz):
        return unsolved(program, label)
    run = _run if run is None else run
    matching = min(max(0.03 * settings.tolerance, 1e-8), 1e-5)
    methods: list[tuple[str, Callable[[], Point]]] = [
        ("the dual program", lambda: _interior_point(program, settings, run, matching)),
        (f"the dual program at {_TIGHTEST:g}", lambda: _interior_point(program, settings, run, _TIGHTEST)),
        ("the program itself", lambda: _dual_simplex(program, settings, run)),
    ]
    if not tuned:
        del methods[1]
    history, best = [], unsolved(program, label)
    for name, method in methods:
        found = Candidate(program, *method(), (label,))
        history.append(f"{name}: {found.proof.gap:.1e}")
        best = found if len(history) == 1 else best_of(best, found)
        if best.proof.gap <= settings.tolerance or settings.stopped:
            break
    if len(history) > 1:
        best = replace(best, notes=(f"{label} needed a fallback; bracket widths from {'; '.join(history)}",))
    return best


def _interior_point(program: CoordinateProgram, settings: Settings, run: Run, tolerance: float) -> Point:
    """Candidate (y, p) from IPX on the explicit dual.

    It is scaled, for IPX measures feasibility in absolute terms: each row by r^(-1/2), because the radii D^2/2 of near
    points fall below any tolerance, and half the power leaves no coefficient so large that HiGHS refuses it; b and the
    costs to ordinary size. On points 1e-4 apart this narrows the bracket from 1e-2 to 1e-8; it saves iterations too.
    """
    m, n = program.matrix.shape
    row_scale = np.maximum(program.radius, _SMALLEST_RADIUS) ** -0.5
    size = np.abs(program.objective[program.objective != 0.0])
    mean = float(size.mean()) if len(size) else 1.0
    objective_scale = 1.0 / mean if mean > 0.0 else 1.0  # 0 where it underflows
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
    primal, dual = run(lp, _INTERIOR_POINT | {"ipm_optimality_tolerance": tolerance}, settings)
    return dual / _COST_SCALE, row_scale * (primal[:m] - primal[m : 2 * m]) / objective_scale


def _dual_simplex(program: CoordinateProgram, settings: Settings, run: Run) -> Point:
    """Candidate (y, p) from the dual simplex method on the program as it stands, rows as ranges."""
    lp = LinearProgram(
        matrix=program.matrix.tocsc(),
        cost=-program.objective,
        columns=(-program.box, program.box),
        rows=(-program.radius, program.radius),
    )
    primal, dual = run(lp, _DUAL_SIMPLEX, settings)
    return primal, -dual


def _run(program: LinearProgram, options: dict[str, Any], settings: Settings) -> Point:
    """Column values and row multipliers of the point where HiGHS stopped, whatever its status; zeros if it has none."""
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
        # HiGHS keeps one pool of threads a process and refuses a number other than the one it started with
        highs.setOptionValue("threads", 0)
        highs.run()
    solution = highs.getSolution()
    primal, dual = np.array(solution.col_value), np.array(solution.row_dual)
    if not (solution.value_valid and solution.dual_valid):
        return np.zeros(lp.num_col_), np.zeros(lp.num_row_)
    return primal, dual


class _LogsNowhere(highspy.Highs):  # type: ignore[misc]
    """A solver that has options before its constructor's first message."""

    def enableCallbacks(self) -> None:  # noqa: N802
        self.setOptionValue("log_to_console", False)
        self.setOptionValue("log_file", os.devnull)
        super().enableCallbacks()


@cache
def spend_header() -> None:
    """Keep HiGHS's header from standard output, which is for results: called before a process's first solver is made.

    From highspy 1.16 on a solver's constructor writes it, before any option can be set, also where CVXPY only asks for
    HiGHS's infinity. HiGHS writes it once: a first solver that logs, but not to the console, spends it for all that
    follow; one without any output does not. The null device is the log in case logging nowhere comes to mean no output.
    """
    _LogsNowhere()
