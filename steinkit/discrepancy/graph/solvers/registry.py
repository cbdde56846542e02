"""The solvers there are: what each is made for, and when `auto` takes it.

A solver is a class here and a module with a function

    solve(program, settings, coordinates=None) -> list of Candidate, one for each of the coordinates, or for all,

which is imported when the solver is first asked for, and knows nothing of this file. To add one, write the module and
its class, whose docstring begins with what it is made for: names, error messages, help and the site's list follow. For
`auto` to try it, name it in `_IN_TURN`. The constants are measured (``benchmarks/solvers.py``).

`auto` takes the solver made for a sample's dimension and size. One dimension has a solver of its own, `chain`. In two
and three, `block` certifies to 1e-6 as long as a factorisation can be afforded; in three, `first_order` goes first
for large samples and wide brackets, where it is much faster. In four and more the factor fills, and
`first_order` certifies to 1e-5 in a small share of the time of a factorisation; what is asked for more tightly is left
to `block` on small samples and to `highs` on others.

What a solver leaves open goes on to the next, and the best of what they have proved is returned: the result names
every solver that had a part, and its notes say why. With a time limit, a solver that proves nothing before it ends is
preceded by one that proves a little early.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.arguments import require_type
from steinkit.discrepancy.graph.solvers.base import Candidate, Settings, asked_for, best_of
from steinkit.errors import TimeLimitError, UsageError, did_you_mean
from steinkit.text import alternatives

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.programs.stein_program import SteinProgram


PORTION = 8
"""Coordinates, times threads, that are solved before the next are begun: as many as `first_order` takes at once."""

_SECONDS_A_LINK, _SECONDS_A_PROOF = 2e-6, 5e-7  # of a chain, to set it up and to certify it
_SECONDS_AN_ENTRY, _SECONDS_A_TERM = 2e-7, 3e-7  # of the matrix, and of sums, to judge a coordinate


@dataclass(frozen=True, eq=False)
class Case:
    """A program that is to be solved as far as settings say: what solvers, and `auto`, choose by."""

    program: SteinProgram
    settings: Settings
    _known: dict[str, Any] = field(default_factory=dict)  # of the program, whatever the settings

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.program.dim

    @property
    def factorisation(self) -> Any:
        """What `block` knows before solving: `flops` and `entries` of a factorisation."""
        from steinkit.discrepancy.graph.solvers.block.newton_system import prepare

        if "factorisation" not in self._known:
            self._known["factorisation"] = prepare(self.program)
        return self._known["factorisation"]

    def with_settings(self, settings: Settings) -> Case:
        """The same case, solved as far as other settings say; what is known of its factorisation stays known."""
        return replace(self, settings=settings)


def proof_seconds(program: SteinProgram) -> float:
    """Time it takes to prove what a solver found of one coordinate."""
    if program.dim == 1:
        return _SECONDS_A_PROOF * program.n_points
    rows, entries = program.size
    return _SECONDS_AN_ENTRY * entries + _SECONDS_A_TERM * (rows + program.n_variables)


def least_seconds(program: SteinProgram) -> float:
    """Time that any answer to all coordinates takes, beside its solver's."""
    setting_up = _SECONDS_A_LINK * program.n_points if program.dim == 1 else 0.0
    return setting_up + program.dim * proof_seconds(program)


_TIGHTEST = 1e-5  # bracket that `first_order` reaches at less cost than others, in four dimensions and more
_LOOSE = 1e-3  # bracket that it reaches soon wherever it works at all
# Cost of a factorisation for a row of the program from which on `highs` is faster than `block`, in four dimensions and
# more; in two and three HiGHS's own factorisation fills as fast. Below some rows neither takes long.
_FLOPS_A_ROW, _FEW_ROWS = 5e4, 1000
# In three dimensions `first_order` goes first where the operations of a factorisation, times the bracket asked for, are
# more than this: 2000 draws to 0.1, 5000 to 0.01. With a time limit, where they are more than so many a second left. In
# two dimensions it never wins.
_MUCH_WORK, _FLOPS_A_SECOND = 5e7, 1.6e8
_MOST_ENTRIES = 5e8  # numbers in the factors under way that memory is expected to hold: 4 GB
_EARLY = 0.3  # share of the time left that a solver which only goes before another may take
# Points in one dimension up to which what `chain` leaves open is worth a general solver.
_LONGEST_BLOCK, _LONGEST_HIGHS = 20_000, 2_000


class Solver:
    """A way of solving Stein programs.

    Attributes
    ----------
    name : str
    module : str
        Where it is, inside this package.
    serves : str
        The samples it can be asked for, where these are not all.
    most_dimensions : float
    takes_backend : bool
        Whether a backend's name may follow its own, as in "cvxpy:CLARABEL".
    """

    name: str
    module: str
    serves = "any dimension"
    most_dimensions = math.inf
    takes_backend = False

    def implementation(self) -> Any:
        """The module, with its compiled kernels."""
        return import_module(f"{__package__}.{self.module}")

    def using(self, backend: str) -> Solver:
        """Return the solver, ready to run, with a backend if it takes one ("" for its default)."""
        self.implementation()
        return self

    def __call__(
        self, program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None
    ) -> list[Candidate]:
        """Solve coordinates of a program."""
        return self.work_on(Case(program, settings), coordinates)

    def work_on(self, case: Case, coordinates: Sequence[int] | None = None) -> list[Candidate]:
        """Solve coordinates of a case, without NumPy's warnings: what overflows in a solver proves nothing."""
        self.require_suitable(case)
        with np.errstate(all="ignore"):
            return self._solve(case, coordinates)

    def require_suitable(self, case: Case) -> None:
        """Refuse a sample that the solver is not made for; UsageError."""
        if case.dim > self.most_dimensions:
            others = [solver.name for solver in SOLVERS.values() if solver.most_dimensions >= case.dim]
            raise UsageError(
                f"solver {self.name} is for {self.serves}, but the sample has {case.dim}; choose {alternatives(others)}"
            )

    def _solve(self, case: Case, coordinates: Sequence[int] | None) -> list[Candidate]:
        further = self.further(case)
        solved: list[Candidate] = self.implementation().solve(case.program, case.settings, coordinates, *further)
        return solved

    def further(self, case: Case) -> tuple[Any, ...]:
        """What its module's `solve` takes beside program, settings and coordinates."""
        return ()

    def suits(self, case: Case) -> bool:
        """Whether `auto` should try it on what the solvers before it have left open."""
        return case.dim <= self.most_dimensions

    def as_in_turn(self, case: Case) -> Case:
        """The case with the settings that `auto` gives the solver."""
        return case


class _Auto(Solver):
    name, module = "auto", "registry"

    def _solve(self, case: Case, coordinates: Sequence[int] | None) -> list[Candidate]:
        """Solve coordinates, each by as many of the solvers, in their order, as it takes."""
        settings, asked = case.settings, asked_for(case.program, coordinates)
        answers: dict[int, Candidate] = {}
        for solver in _IN_TURN:
            left = [j for j in asked if j not in answers or answers[j].proof.gap > settings.tolerance]
            if not left or (answers and settings.stopped):
                break
            try:
                if not solver.suits(case):
                    continue
                candidates = solver.work_on(solver.as_in_turn(case), left)
            except TimeLimitError:
                if not answers:
                    raise
                break
            for j, candidate in zip(left, candidates, strict=True):
                answers[j] = _handed_over(answers[j], candidate) if j in answers else candidate
        return [answers[j] for j in asked]


def _handed_over(first: Candidate, second: Candidate) -> Candidate:
    """The best of two solvers' candidates, with the history of both."""
    note = f"solver {first.solvers[-1]} left a bracket of {first.proof.gap:.1e}: handed over to {second.solvers[0]}"
    return replace(best_of(first, second), notes=(*first.notes, note, *second.notes))


class _Chain(Solver):
    """One dimension, to a million draws: interior point, a Riccati sweep along the sorted draws."""

    name, module = "chain", "chain"
    serves, most_dimensions = "one dimension", 1


class _FirstOrder(Solver):
    """Four dimensions and more, brackets of 1e-5 and wider: restarted Halpern PDHG on all coordinates at once.

    The best there is there, up to its tolerance; elsewhere it proves something early.
    """

    name, module = "first_order", "first_order"

    def suits(self, case: Case) -> bool:
        settings = case.settings
        if case.dim <= 2:
            return False
        if case.dim >= 4:
            return settings.tolerance >= _TIGHTEST or math.isfinite(settings.deadline)
        flops = float(case.factorisation.flops)
        if flops > _FLOPS_A_SECOND * settings.seconds_left:
            return True
        return settings.tolerance >= _LOOSE and flops * settings.tolerance > _MUCH_WORK

    def as_in_turn(self, case: Case) -> Case:
        settings = case.settings
        if case.dim <= 3 or settings.tolerance < _TIGHTEST:  # no further than it goes with ease
            early = time.monotonic() + _EARLY * settings.seconds_left
            settings = replace(settings, tolerance=max(settings.tolerance, _LOOSE), deadline=early)
        return case.with_settings(settings)


class _Block(Solver):
    """Two and three dimensions: interior point, a sparse Cholesky factorisation on the spanner.

    Taken where a factorisation fits in memory and, in four dimensions and more, is faster than HiGHS's.
    """

    name, module = "block", "block.newton_system"

    def suits(self, case: Case) -> bool:
        if case.dim == 1:
            return case.program.n_points <= _LONGEST_BLOCK
        under_way = min(case.settings.n_jobs, case.dim)
        if case.factorisation.entries * under_way > _MOST_ENTRIES:
            return False
        if case.dim <= 3:
            return True
        return bool(case.factorisation.flops <= _FLOPS_A_ROW * max(len(case.program.edge_rows[1]), _FEW_ROWS))

    def further(self, case: Case) -> tuple[Any, ...]:
        return (case.factorisation,)


class _Highs(Solver):
    """Programs that the others do not close: HiGHS's interior point method on the dual."""

    name, module = "highs", "highs"

    def suits(self, case: Case) -> bool:
        return case.dim > 1 or case.program.n_points <= _LONGEST_HIGHS


class _Cvxpy(Solver):
    """Checks by one of CVXPY's solvers, cvxpy:NAME: the program as CVXPY states it."""

    name, module = "cvxpy", "cvxpy"
    takes_backend = True

    def __init__(self, backend: str = "") -> None:
        self.backend = backend

    def using(self, backend: str) -> Solver:
        self.implementation().require_solver(backend)
        return _Cvxpy(backend)

    def further(self, case: Case) -> tuple[Any, ...]:
        return (self.backend,)


# In the order in which they are listed.
SOLVERS: dict[str, Solver] = {
    solver.name: solver for solver in (_Auto(), _Chain(), _Block(), _FirstOrder(), _Highs(), _Cvxpy())
}
_IN_TURN = [SOLVERS[name] for name in ("chain", "first_order", "block", "highs")]
"""What `auto` tries, in that order."""


def solver_choices() -> str:
    """What may be given as a solver, in words."""
    return alternatives([*SOLVERS, *(f"{name}:NAME" for name, solver in SOLVERS.items() if solver.takes_backend)])


def solver_named(name: str) -> Solver:
    """Find a solver by its name; "cvxpy:NAME" selects one of CVXPY's solvers.

    Raises
    ------
    UsageError
        If there is no such solver; the message lists the solvers that exist.
    """
    require_type(str, "the name of a solver", solver=name)
    base, colon, backend = name.partition(":")
    solver = SOLVERS.get(base)
    if solver is None or (colon and not solver.takes_backend):
        hint = did_you_mean(base, tuple(SOLVERS))
        raise UsageError(f"unknown solver {name!r}{hint}; choose {solver_choices()}")
    return solver.using(backend)
