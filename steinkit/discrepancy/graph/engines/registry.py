"""The engines there are: what each is made for, and when `auto` takes it.

An engine is a class here and a module with a function

    solve(program, settings, coordinates=None) -> list of Candidate, one for each of the coordinates, or for all,

which is imported when the engine is first asked for, and knows nothing of this file. To add one, write the module and
its class, whose docstring begins with what it is made for: names, error messages, help and the site's list follow. For
`auto` to try it, name it in `_IN_TURN`. The constants are measured (``benchmarks/engines.py``).

`auto` takes the engine made for a sample's dimension and size. One dimension has an engine of its own, `chain`. In two
and three, `block` certifies to 1e-6 as long as a factorisation can be afforded; in three, `first_order` goes first
for large samples and wide brackets, where it is much faster. In four and more the factor fills, and
`first_order` certifies to 1e-5 in a small share of the time of a factorisation; what is asked for more tightly is left
to `block` on small samples and to `highs` on others.

What an engine leaves open goes on to the next, and the best of what they have proved is returned: the result names
every engine that had a part, and its notes say why. With a time limit, an engine that proves nothing before it ends is
preceded by one that proves a little early.

**The forecast** tells rows, memory and processor time of a program before it is solved. Rows are counted. Memory and
time grow by what an engine does, as far as that is known before it does it:

* `chain` sweeps over n points some ten to thirty times or, from ten thousand on, over blocks of them, so that what is
  done once for every point takes most of the time: more where the answer has many switches, up to what all points take;
* `block` factorises a matrix whose fill the elimination order tells, as often as an interior point method takes
  iterations, which grow slowly with n;
* `first_order` passes over the entries of the matrix, eight coordinates at a time;
* HiGHS's interior point method tells nothing of its factorisations: a power of the rows stands for them.

The constants were fitted to samples of the standard normal, 1e3 to 1e6 draws in one dimension, 1e3 to 1e4 in two and
fewer in up to ten, on one core of a 3 GHz server of 2024; ``benchmarks/predictions.py`` measures how well they do.
Memory and the time of `chain` and `block` come out within a factor of two. The iterations of `first_order` depend on
the sample, and its time may be four times as long or as short. So may that of `highs` and `cvxpy`, and it is longer
where a bracket stays open and HiGHS falls back on its simplex method. Units in which draws lie close together make all
of them harder. What `auto` hands over to a further engine is not foretold.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.describe.writing import alternatives
from steinkit.discrepancy.graph.engines.base import Candidate, Settings, asked_for, best_of
from steinkit.errors import TimeLimitError, UsageError, did_you_mean, warn_of_forecast
from steinkit.runtime.deadlines import in_words

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.programs.stein_program import SteinProgram


_LONG = 10.0  # seconds worth a word beforehand
_LANES = 8  # coordinates that `first_order` takes at once
PORTION = _LANES
"""Coordinates, times threads, that are solved before the next are begun."""

_SECONDS_A_LINK, _SECONDS_A_PROOF = 2e-6, 5e-7  # of a chain, to set it up and to certify it
_SECONDS_AN_ENTRY, _SECONDS_A_TERM = 2e-7, 3e-7  # of the matrix, and of sums, to judge a coordinate
_PROOF_BYTES = 100.0  # a variable, for what is known of a coordinate until it is proved
_CHAIN_ROWS = 5  # a point
_CHAIN_BYTES, _CHAIN_SECONDS = 1000.0, 5.5e-6  # a point, where every edge has controls of its own
_CHAIN_BLOCKS_BYTES, _CHAIN_BLOCKS_SECONDS = (7e6, 250.0), (0.04, 1.2e-6)  # in all and a point, where blocks share them
_WRITING_BYTES = 40.0  # an entry of the matrix, while it is put together
_BLOCK_BYTES = 450.0  # a row, beside the factor
_BLOCK_ITERATIONS, _BLOCK_GROWTH = 15.0, 0.16  # of 1000 points to 1e-6, and their power of n
_BLOCK_ROW_SECONDS, _BLOCK_FLOPS = 6.2e-7, 2.4e10  # an iteration, and in a second
_FIRST_ORDER_BYTES, _FIRST_ORDER_COLUMN_BYTES = 140.0, 1900.0  # an entry, and a column
_FIRST_ORDER_SETUP, _FIRST_ORDER_SECONDS = 5e-7, 4.5e-9  # an entry, and an iteration
_FIRST_ORDER_ITERATIONS, _FIRST_ORDER_GROWTH = 450.0, 0.4  # of 1000 points in 5 dimensions to 1e-3
_FIRST_ORDER_FEW = {1: 75.0, 2: 75.0, 3: 6.7}  # times as many in few dimensions,
_FIRST_ORDER_GROWTH_OF_FEW = 0.7  # where they also grow faster
_FIRST_ORDER_LEAST = 100.0
_HIGHS_BYTES = 2800.0  # a row
_HIGHS_SECONDS, _HIGHS_ROWS, _HIGHS_GROWTH = 2.8, 1.4e4, 2.5
_CVXPY_BYTES, _CVXPY_SECONDS = 1.4, 8.0  # times as much: its layer, and HiGHS's own choice of method


@dataclass(frozen=True, eq=False)
class Case:
    """A program that is to be solved as far as settings say: what engines, and `auto`, choose by."""

    program: SteinProgram
    settings: Settings

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.program.dim

    @cached_property
    def factorisation(self) -> Any:
        """What `block` knows before solving: `flops` and `entries` of a factorisation."""
        from steinkit.discrepancy.graph.engines.block.newton_system import prepare

        return prepare(self.program)

    def with_settings(self, settings: Settings) -> Case:
        """The same case, solved as far as other settings say; what is known of its factorisation stays known."""
        case = Case(self.program, settings)
        vars(case).update(vars(self) | {"settings": settings})
        return case


@dataclass(frozen=True)
class Forecast:
    """What work is expected to cost.

    Attributes
    ----------
    rows : int
        Of the largest program.
    memory : float
        Bytes at the most, beside what is in use before.
    seconds : float
        Processor time.
    """

    rows: int
    memory: float
    seconds: float

    def __str__(self) -> str:
        """In words."""
        return f"about {_time_in_words(self.seconds)} and {in_words(self.memory)}: {self.rows:,} rows a program"


def announced(forecast: Forecast, most_memory: float, *, shown: bool) -> bool:
    """Warn of what does not fit in memory, and say on standard error what takes long, if someone wants to see it.

    Returns
    -------
    bool
        Whether there was reason to warn.
    """
    if forecast.memory > most_memory:
        warn_of_forecast(
            f"the programs of graph are expected to need more than the {in_words(most_memory)} of memory there are: "
            f"{forecast}; thin the sample, choose another engine, or raise max_memory (--max-memory)"
        )
    elif shown and forecast.seconds > _LONG:
        print(f"solving: {forecast}", file=sys.stderr, flush=True)
    return forecast.memory > most_memory


def proof_seconds(program: SteinProgram) -> float:
    """Time it takes to prove what an engine found of one coordinate."""
    if program.dim == 1:
        return _SECONDS_A_PROOF * program.n_points
    rows, entries = program.size
    return _SECONDS_AN_ENTRY * entries + _SECONDS_A_TERM * (rows + program.n_variables)


def least_seconds(program: SteinProgram) -> float:
    """Time that any answer to all coordinates takes, beside its engine's."""
    setting_up = _SECONDS_A_LINK * program.n_points if program.dim == 1 else 0.0
    return setting_up + program.dim * proof_seconds(program)


def of_writing(program: SteinProgram) -> Forecast:
    """The cost of writing the programs down, which is that of the least any engine needs."""
    if program.dim == 1:
        return Forecast(_CHAIN_ROWS * program.n_points, 0.0, 0.0)
    rows, entries = program.size
    return Forecast(rows, _WRITING_BYTES * entries, 0.0)


def of_call(case: Case, of_engine: Forecast) -> Forecast:
    """The cost of all that is left to do once the graph is there: the engine's, proofs, and the answer itself."""
    program, settings = case.program, case.settings
    n, dim, variables = program.n_points, program.dim, program.n_variables
    at_once = min(PORTION * settings.n_jobs, dim)
    memory = of_engine.memory + 8.0 * dim * (n + variables) + at_once * _PROOF_BYTES * variables
    return Forecast(of_engine.rows, memory, of_engine.seconds + dim * proof_seconds(program))


def _time_in_words(seconds: float) -> str:
    """40 s, 12 min, 3 h."""
    for unit, name in ((3600.0, "h"), (60.0, "min")):
        if seconds >= 2.0 * unit:
            return f"{seconds / unit:.2g} {name}" if seconds < 100.0 * unit else f"{seconds / unit:,.0f} {name}"
    return f"{max(seconds, 0.1):.2g} s"


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
    """

    name: str
    module: str
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
                f"engine {self.name} is for {self.serves}, but the sample has {case.dim}; choose {alternatives(others)}"
            )

    def _solve(self, case: Case, coordinates: Sequence[int] | None) -> list[Candidate]:
        further = self.further(case)
        solved: list[Candidate] = self.implementation().solve(case.program, case.settings, coordinates, *further)
        return solved

    def further(self, case: Case) -> tuple[Any, ...]:
        """What its module's `solve` takes beside program, settings and coordinates."""
        return ()

    def cost(self, case: Case) -> Forecast:
        """What it is expected to need."""
        raise NotImplementedError

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

    def cost(self, case: Case) -> Forecast:
        """That of the first engine tried, which is rarely followed by another."""
        first = next(engine for engine in _IN_TURN if engine.suits(case))
        return first.cost(first.as_in_turn(case))


def _handed_over(first: Candidate, second: Candidate) -> Candidate:
    """The best of two engines' candidates, with the history of both."""
    note = f"engine {first.engines[-1]} left a bracket of {first.proof.gap:.1e}: handed over to {second.engines[0]}"
    return replace(best_of(first, second), notes=(*first.notes, note, *second.notes))


class _Chain(Engine):
    """One dimension, to a million draws: interior point, a Riccati sweep along the sorted draws."""

    name, module = "chain", "chain"
    serves, most_dimensions = "one dimension", 1

    def cost(self, case: Case) -> Forecast:
        """The cost of `chain`."""
        n = case.program.n_points
        (memory, a_point), (seconds, a_point_seconds) = _CHAIN_BLOCKS_BYTES, _CHAIN_BLOCKS_SECONDS
        memory, seconds = memory + a_point * n, seconds + a_point_seconds * n
        return Forecast(_CHAIN_ROWS * n, min(_CHAIN_BYTES * n, memory), min(_CHAIN_SECONDS * n, seconds))


class _FirstOrder(Engine):
    """Four dimensions and more, brackets of 1e-5 and wider: restarted Halpern PDHG on all coordinates at once.

    The best there is there, up to its tolerance; elsewhere it proves something early.
    """

    name, module = "first_order", "first_order"

    def cost(self, case: Case) -> Forecast:
        """The cost of `first_order`."""
        rows, entries = case.program.size
        batches = math.ceil(case.dim / _LANES)
        under_way = min(case.settings.n_jobs, batches)
        growth = _FIRST_ORDER_GROWTH_OF_FEW if case.dim in _FIRST_ORDER_FEW else _FIRST_ORDER_GROWTH
        usual = _FIRST_ORDER_ITERATIONS * (case.program.n_points / 1000.0) ** growth
        harder = _FIRST_ORDER_FEW.get(case.dim, 2.0 ** (5 - case.dim)) * math.sqrt(1e-3 / case.settings.tolerance)
        iterations = max(usual * harder, _FIRST_ORDER_LEAST)
        seconds = batches * entries * (_FIRST_ORDER_SETUP + iterations * _FIRST_ORDER_SECONDS)
        columns = case.program.n_variables if rows else 0  # without rows there is nothing to iterate
        memory = _FIRST_ORDER_BYTES * entries + _FIRST_ORDER_COLUMN_BYTES * columns
        return Forecast(rows, under_way * memory, seconds)

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


class _Block(Engine):
    """Two and three dimensions: interior point, a sparse Cholesky factorisation on the spanner.

    Taken where a factorisation fits in memory and, in four dimensions and more, is faster than HiGHS's.
    """

    name, module = "block", "block.newton_system"

    def cost(self, case: Case) -> Forecast:
        """The cost of `block`, after the analysis that finds what it will be."""
        rows, _ = case.program.size
        plan = case.factorisation
        under_way = min(case.settings.n_jobs, case.dim)
        digits = (2.0 - math.log10(case.settings.tolerance)) / 8.0
        iterations = digits * _BLOCK_ITERATIONS * (case.program.n_points / 1000.0) ** _BLOCK_GROWTH
        iteration = _BLOCK_ROW_SECONDS * rows + plan.flops / _BLOCK_FLOPS
        return Forecast(rows, under_way * (8.0 * plan.entries + _BLOCK_BYTES * rows), case.dim * iterations * iteration)

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


class _Highs(Engine):
    """Programs that the others do not close: HiGHS's interior point method on the dual."""

    name, module = "highs", "highs"

    def cost(self, case: Case) -> Forecast:
        """The cost of `highs`."""
        rows, _ = case.program.size
        under_way = min(case.settings.n_jobs, case.dim)
        seconds = case.dim * _HIGHS_SECONDS * (rows / _HIGHS_ROWS) ** _HIGHS_GROWTH
        return Forecast(rows, under_way * _HIGHS_BYTES * rows, seconds)

    def suits(self, case: Case) -> bool:
        return case.dim > 1 or case.program.n_points <= _LONGEST_HIGHS


class _Cvxpy(Engine):
    """Checks by a solver of your choice, cvxpy:SOLVER: the program as CVXPY states it."""

    name, module = "cvxpy", "cvxpy"
    takes_solver = True

    def __init__(self, solver: str = "") -> None:
        self.solver = solver

    def cost(self, case: Case) -> Forecast:
        """The cost of `cvxpy` with HiGHS; other solvers may take more or less."""
        usual = ENGINES["highs"].cost(case)
        return Forecast(usual.rows, _CVXPY_BYTES * usual.memory, _CVXPY_SECONDS * usual.seconds)

    def using(self, solver: str) -> Engine:
        self.implementation().require_solver(solver)
        return _Cvxpy(solver)

    def further(self, case: Case) -> tuple[Any, ...]:
        return (self.solver,)


# In the order in which they are listed.
ENGINES: dict[str, Engine] = {
    engine.name: engine for engine in (_Auto(), _Chain(), _Block(), _FirstOrder(), _Highs(), _Cvxpy())
}
_IN_TURN = [ENGINES[name] for name in ("chain", "first_order", "block", "highs")]
"""What `auto` tries, in that order."""


def engine_choices() -> str:
    """What may be given as an engine, in words."""
    return alternatives([*ENGINES, *(f"{name}:SOLVER" for name, engine in ENGINES.items() if engine.takes_solver)])


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
