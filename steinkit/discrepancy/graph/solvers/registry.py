"""List of solvers, and the rules that `auto` uses to choose a solver.

Every solver is a module in this package with a function

    solve(program, settings, coordinates=None) -> list of Candidate.

The function solves the programs that `suitable_programs` returns, with one candidate per requested coordinate. By
default, all coordinates are requested. The module is imported on first use. To add a solver, write the module, add an
entry to `SOLVERS`, and call it in `_in_turn` if `auto` should use it.

The solver `auto` applies these rules. In one dimension, `chain` is the fastest solver for every size. In two and three
dimensions, `block` certifies brackets with a relative width of 1e-6. For large samples and wide brackets in three
dimensions, `first_order` is faster and runs first. In four or more dimensions, the Cholesky factor is nearly dense, and
`first_order` reaches a width of 1e-5 in a fraction of the time for one factorization. Narrower brackets are computed by
`block` for small samples and by `highs` for other samples.

If the bracket from one solver is wider than the tolerance, the next solver continues, and the better of the two bounds
is kept on each side. The result lists every solver that contributed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.arguments import require_type
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings, asked_for, best_of
from steinkit.errors import TimeLimitError, UsageError, did_you_mean
from steinkit.text import alternatives, count

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.programs.stein_program import SteinProgram

PORTION = 8
"""Number of coordinates that a thread solves at a time, limited to save memory."""

_TIGHTEST = 1e-5  # narrowest bracket that `first_order` reaches at low cost in four or more dimensions
_LOOSE = 1e-3  # bracket that `first_order` reaches quickly if it converges
# Maximum numbers of floating-point operations per factorization for `block`, in up to three dimensions and in higher
# dimensions.
_MOST_FLOPS, _MOST_FLOPS_ABOVE = 1e12, 5e7
# In three dimensions, `first_order` precedes `block` if the product of the operations and the tolerance exceeds the
# first number (2000 draws at 0.1, 5000 draws at 0.01). With a time limit, it also precedes `block` if the operations
# exceed the second number.
_MUCH_WORK, _LONG_WORK = 5e7, 1e9
_EARLY = 0.3  # fraction of the remaining time for a solver that runs before another solver
# maximum numbers of points in one dimension for solvers that run after `chain`
_LONGEST_BLOCK, _LONGEST_HIGHS = 20_000, 2_000


@dataclass(frozen=True)
class Solver:
    """Named solver for Stein programs.

    Attributes
    ----------
    name : str
    purpose : str
        One sentence for the documentation.
    module : str
        Module of this package that implements the solver, or an empty string for `auto`.
    most_dimensions : float, default inf
        Largest supported dimension.
    backend : str, default ""
        LP solver that CVXPY calls, or an empty string for the default solver.
    """

    name: str
    purpose: str
    module: str = ""
    most_dimensions: float = math.inf
    backend: str = ""

    def __call__(
        self, program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None
    ) -> list[Candidate]:
        """Solve a program for the given coordinates (default: all)."""
        self.require_suitable(program)
        with np.errstate(all="ignore"):  # the certificate rejects values that overflow
            if not self.module:
                return _solve_in_turn(program, settings, asked_for(program, coordinates))
            backend = (self.backend,) if self.name == "cvxpy" else ()
            solved: list[Candidate] = self.implementation().solve(program, settings, coordinates, *backend)
        return solved

    def implementation(self) -> Any:
        """Import the module that implements the solver."""
        return import_module(f"{__package__}.{self.module}")

    def require_suitable(self, program: SteinProgram) -> None:
        """Raise a UsageError if the solver does not support the dimension of the program."""
        if program.dim > self.most_dimensions:
            others = [solver.name for solver in SOLVERS.values() if solver.most_dimensions >= program.dim]
            most = count(int(self.most_dimensions), "dimension")
            raise UsageError(
                f"solver {self.name} supports at most {most}; got {program.dim}; choose {alternatives(others)}"
            )


SOLVERS: dict[str, Solver] = {
    solver.name: solver
    for solver in (
        Solver("auto", "Chooses the solver by dimension, sample size and tolerance."),
        Solver(
            "chain",
            "One dimension, up to a million draws: an interior point method with a Riccati recursion.",
            "chain",
            most_dimensions=1,
        ),
        Solver(
            "block",
            "Two and three dimensions: an interior point method with a sparse Cholesky factorization.",
            "block.newton_system",
        ),
        Solver(
            "first_order",
            "Four or more dimensions with brackets of 1e-5 or wider: the restarted Halpern PDHG method.",
            "first_order",
        ),
        Solver(
            "highs",
            "Programs that no other solver can solve to the tolerance: HiGHS applied to the dual program.",
            "highs",
        ),
        Solver("cvxpy", "Independent checks: any LP solver that CVXPY supports, `cvxpy:NAME`.", "cvxpy"),
    )
}
"""Solvers by name, in the order used in the documentation."""


def _solve_in_turn(program: SteinProgram, settings: Settings, asked: Sequence[int]) -> list[Candidate]:
    """Solve coordinates with successive solvers until the brackets are narrow enough."""
    answers: dict[int, Candidate] = {}
    solvers = _in_turn(program, settings)
    while left := [j for j in asked if j not in answers or answers[j].proof.gap > settings.tolerance]:
        if answers and settings.stopped:
            break
        try:
            name, own = next(solvers)
            candidates = SOLVERS[name](program, own, left)
        except StopIteration:
            break
        except TimeLimitError:
            if not answers:
                raise
            break
        for j, candidate in zip(left, candidates, strict=True):
            answers[j] = _continued(answers[j], candidate) if j in answers else candidate
    return [answers[j] for j in asked]


def _in_turn(program: SteinProgram, settings: Settings) -> Iterator[tuple[str, Settings]]:
    """Yield the solvers that `auto` tries, in order, with their settings."""
    n, dim, tolerance = program.n_points, program.dim, settings.tolerance
    is_limited = math.isfinite(settings.deadline)
    if dim == 1:
        yield "chain", settings
        if n <= _LONGEST_BLOCK:
            yield "block", settings
        if n <= _LONGEST_HIGHS:
            yield "highs", settings
        return
    if dim >= 4 and tolerance >= _TIGHTEST:
        yield "first_order", settings
    elif dim >= 4 and is_limited:
        yield "first_order", _early(settings)
    from steinkit.discrepancy.graph.solvers.block.newton_system import prepare

    flops = max(pattern.symbolic.flops for pattern in prepare(program))
    if dim == 3 and ((tolerance >= _LOOSE and flops * tolerance > _MUCH_WORK) or (is_limited and flops > _LONG_WORK)):
        yield "first_order", _early(settings)
    if flops <= (_MOST_FLOPS if dim <= 3 else _MOST_FLOPS_ABOVE):
        yield "block", settings
    yield "highs", settings


def _early(settings: Settings) -> Settings:
    """Return settings with a larger tolerance.

    A fast solver runs with these settings before a slow one.
    """
    end = time.monotonic() + _EARLY * settings.seconds_left
    return replace(settings, tolerance=max(settings.tolerance, _LOOSE), deadline=end)


def _continued(first: Candidate, second: Candidate) -> Candidate:
    """Combine the bounds from two successive solvers, and note the solver change."""
    width = f"a relative bracket width of {first.proof.gap:.1e}"
    note = f"solver {first.solvers[-1]} ended at {width}; {second.solvers[0]} continued"
    return replace(best_of(first, second), notes=(*first.notes, note, *second.notes))


def solver_choices() -> str:
    """Return the accepted solver names as text."""
    return alternatives([*SOLVERS, "cvxpy:NAME"])


def solver_named(name: str) -> Solver:
    """Return the solver with the given name.

    The name "cvxpy:NAME" selects an LP solver via CVXPY.

    Raises
    ------
    UsageError
        If there is no such solver. The message lists the available solvers.
    """
    require_type(str, "the name of a solver", solver=name)
    base, colon, backend = name.partition(":")
    solver = SOLVERS.get(base)
    if solver is None or (colon and base != "cvxpy"):
        hint = did_you_mean(base, tuple(SOLVERS))
        raise UsageError(f"unknown solver {name!r}{hint}; choose {solver_choices()}")
    if solver.module:
        module = solver.implementation()  # raises import errors before the computation begins
        if base == "cvxpy":
            module.require_solver(backend)
    return replace(solver, backend=backend)
