"""The engines there are: what each is made for, and when `auto` takes it.

An engine is a class here and a module with a function

    solve(program, settings, coordinates=None) -> list of Candidate, one for each of the coordinates, or for all,

which is imported when the engine is first asked for, and knows nothing of this file. To add one, write the module and
its class: names, error messages, help and the choice of `auto` follow. The constants are measured
(``benchmarks/engines.py``).

`auto` takes the engine made for a sample's dimension and size. One dimension has an engine of its own, `chain`. In two
and three, `block` certifies to 1e-6 as long as a factorisation can be afforded; in three, `first_order` goes first
where it is foretold to be much faster, for large samples and wide brackets. In four and more the factor fills, and
`first_order` certifies to 1e-5 in a small share of the time of a factorisation; what is asked for more tightly is left
to `block` on small samples and to `highs` on others.

What an engine leaves open goes on to the next, and the best of what they have proved is returned: the result names
every engine that had a part, and its notes say why. With a time limit, an engine that proves nothing before it ends is
preceded by one that proves a little early.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.discrepancy.graph.engines import forecast
from steinkit.discrepancy.graph.engines.base import Candidate, Settings, asked_for, best_of
from steinkit.discrepancy.graph.engines.forecast import Case, Forecast
from steinkit.errors import TimeLimitError, UsageError, did_you_mean

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.programs.stein_program import SteinProgram

_TIGHTEST = 1e-5  # bracket that `first_order` reaches at less cost than others, in four dimensions and more
_LOOSE = 1e-3  # bracket that it reaches soon wherever it works at all
# Cost of a factorisation for a row of the program from which on `highs` is faster than `block`, in four dimensions and
# more; in two and three HiGHS's own factorisation fills as fast. Below some rows neither takes long.
_FLOPS_A_ROW, _FEW_ROWS = 5e4, 1000
# In three dimensions `first_order` goes first where it is foretold to take this many times less than `block`, which is
# foretold to a factor of two as against its four, and where there is a second to be saved. In two it never wins.
_CLEARLY_LESS, _LONG_BLOCK = 3.0, 1.0
_MOST_ENTRIES = 5e8  # numbers in the factors under way that memory is expected to hold: 4 GB
_EARLY = 0.3  # share of the time left that an engine which only goes before another may take
# Points in one dimension up to which what `chain` leaves open is worth a general engine.
_LONGEST_BLOCK, _LONGEST_HIGHS = 20_000, 2_000


class Engine:
    """A way of solving Stein programs.

    Attributes
    ----------
    name : str
    module : str
        Where it is, inside this package.
    serves : str
        The samples it can be asked for, where these are not all.
    most_dimensions : float
    takes_solver : bool
        Whether a solver's name may follow its own, as in "cvxpy:CLARABEL".
    cost : callable
        Foretells what it needs for a case.
    """

    name: str
    module: str
    cost: Callable[[Case], Forecast]
    serves = "any dimension"
    most_dimensions = math.inf
    takes_solver = False

    def implementation(self) -> Any:
        """The module, with its compiled kernels."""
        return import_module(f"{__package__}.{self.module}")

    def using(self, solver: str) -> Engine:
        """The engine, ready to run, with a solver where it takes one ("" for its default)."""
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
        """Refuse a sample that the engine is not made for; UsageError."""
        if case.dim > self.most_dimensions:
            others = [engine.name for engine in ENGINES.values() if engine.most_dimensions >= case.dim]
            raise UsageError(
                f"engine {self.name} is for {self.serves}, but the sample has {case.dim}; choose {_listed(others)}"
            )

    def _solve(self, case: Case, coordinates: Sequence[int] | None) -> list[Candidate]:
        solved: list[Candidate] = self.implementation().solve(case.program, case.settings, coordinates)
        return solved

    def forecast(self, case: Case) -> Forecast:
        """What solving all coordinates will cost."""
        self.require_suitable(case)
        with np.errstate(all="ignore"):
            return self.cost(case)

    def suits(self, case: Case) -> bool:
        """Whether `auto` should try it on what the engines before it have left open."""
        return case.dim <= self.most_dimensions

    def as_in_turn(self, case: Case) -> Case:
        """The case with the settings that `auto` gives the engine."""
        return case


class _Auto(Engine):
    name, module = "auto", "registry"

    def _solve(self, case: Case, coordinates: Sequence[int] | None) -> list[Candidate]:
        """Solve coordinates, each by as many of the engines, in their order, as it takes."""
        settings, asked = case.settings, asked_for(case.program, coordinates)
        answers: dict[int, Candidate] = {}
        for engine in _IN_TURN:
            left = [j for j in asked if j not in answers or answers[j].proof.gap > settings.tolerance]
            if not left or (answers and settings.stopped):
                break
            try:
                if not engine.suits(case):
                    continue
                candidates = engine.work_on(engine.as_in_turn(case), left)
            except TimeLimitError:
                if not answers:
                    raise
                break
            for j, candidate in zip(left, candidates, strict=True):
                answers[j] = _handed_over(answers[j], candidate) if j in answers else candidate
        return [answers[j] for j in asked]

    def forecast(self, case: Case) -> Forecast:
        """What the first engine tried will cost, which is rarely followed by another."""
        with np.errstate(all="ignore"):
            first = next(engine for engine in _IN_TURN if engine.suits(case))
        return first.forecast(first.as_in_turn(case))


def _handed_over(first: Candidate, second: Candidate) -> Candidate:
    """The best of two engines' candidates, with the history of both."""
    note = f"engine {first.engines[-1]} left a bracket of {first.proof.gap:.1e}: handed over to {second.engines[0]}"
    return replace(best_of(first, second), notes=(*first.notes, note, *second.notes))


class _Chain(Engine):
    name, module = "chain", "chain"
    cost = staticmethod(forecast.of_chain)
    serves, most_dimensions = "one dimension", 1


class _FirstOrder(Engine):
    """The best there is in four dimensions and more, up to its tolerance; elsewhere it proves something early."""

    name, module = "first_order", "first_order"
    cost = staticmethod(forecast.of_first_order)

    def suits(self, case: Case) -> bool:
        settings = case.settings
        if case.dim <= 2:
            return False
        if case.dim >= 4:
            return settings.tolerance >= _TIGHTEST or math.isfinite(settings.deadline)
        by_block = forecast.of_block(case).seconds
        if by_block / min(settings.n_jobs, case.dim) > _EARLY * settings.seconds_left:
            return True
        least = _CLEARLY_LESS * forecast.of_first_order(case).seconds
        return settings.tolerance >= _LOOSE and by_block > max(least, _LONG_BLOCK)

    def as_in_turn(self, case: Case) -> Case:
        settings = case.settings
        if case.dim <= 3 or settings.tolerance < _TIGHTEST:  # no further than it goes with ease
            early = time.monotonic() + _EARLY * settings.seconds_left
            settings = replace(settings, tolerance=max(settings.tolerance, _LOOSE), deadline=early)
        return case.with_settings(settings)


class _Block(Engine):
    """Taken where a factorisation fits in memory and, in four dimensions and more, is faster than HiGHS's."""

    name, module = "block", "block.newton_system"
    cost = staticmethod(forecast.of_block)

    def suits(self, case: Case) -> bool:
        if case.dim == 1:
            return case.program.n_points <= _LONGEST_BLOCK
        under_way = min(case.settings.n_jobs, case.dim)
        if case.factorisation.entries * under_way > _MOST_ENTRIES:
            return False
        rows = max(len(case.program.edge_rows[1]), _FEW_ROWS)
        return case.dim <= 3 or bool(case.factorisation.flops <= _FLOPS_A_ROW * rows)

    def _solve(self, case: Case, coordinates: Sequence[int] | None) -> list[Candidate]:
        asked = asked_for(case.program, coordinates)
        solved: list[Candidate] = self.implementation().solve_planned(case.factorisation, case.settings, asked)
        return solved


class _Highs(Engine):
    name, module = "highs", "highs"
    cost = staticmethod(forecast.of_highs)

    def suits(self, case: Case) -> bool:
        return case.dim > 1 or case.program.n_points <= _LONGEST_HIGHS


class _Cvxpy(Engine):
    name, module = "cvxpy", "cvxpy"
    cost = staticmethod(forecast.of_cvxpy)
    takes_solver = True

    def __init__(self, solver: str = "") -> None:
        self.solver = solver

    def using(self, solver: str) -> Engine:
        self.implementation().require_solver(solver)
        return _Cvxpy(solver)

    def _solve(self, case: Case, coordinates: Sequence[int] | None) -> list[Candidate]:
        solved: list[Candidate] = self.implementation().solve(case.program, case.settings, coordinates, self.solver)
        return solved


# In the order in which they are listed.
ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (_Auto(), _Chain(), _Block(), _FirstOrder(), _Highs(), _Cvxpy())
}
_IN_TURN = [ENGINES[name] for name in ("chain", "first_order", "block", "highs")]
"""What `auto` tries, in that order."""


def engine_choices() -> str:
    """What may be given as an engine, in words."""
    return _listed([*ENGINES, *(f"{name}:SOLVER" for name, engine in ENGINES.items() if engine.takes_solver)])


def engine_named(name: str) -> Engine:
    """Find an engine by the name a user gives, "cvxpy:SOLVER" for a solver that CVXPY knows.

    Raises
    ------
    UsageError
        If there is no such engine or solver; the message lists those there are.
    """
    base, colon, solver = name.partition(":")
    engine = ENGINES.get(base)
    if engine is None or (colon and not engine.takes_solver):
        hint = did_you_mean(base, tuple(ENGINES))
        raise UsageError(f"unknown engine {name!r}{hint}; choose {engine_choices()}")
    return engine.using(solver)


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
