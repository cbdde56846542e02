"""What all solvers share: their settings, their answer, and the loop over coordinates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from steinkit.discrepancy.bracket import require_ordered
from steinkit.discrepancy.graph.programs.matrix_form import Certificate, certify
from steinkit.runtime.deadlines import StopSignal, one_thread_in_libraries
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram, Form
    from steinkit.discrepancy.graph.programs.stein_program import SteinProgram

_AT_ONCE = 0.1  # seconds

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Settings:
    """How far and how long a solver should go.

    Attributes
    ----------
    tolerance : float
        Relative width (upper - lower)/upper of the bracket at which a coordinate is done.
    deadline : float
        Moment of `time.monotonic` at which to stop with the best candidate found; infinite if there is none.
    n_jobs : int
        Coordinates solved side by side.
    progress : bool
        Show a bar on standard error once a second has passed.
    interrupted : StopSignal
        Set when the user interrupts, or when no time at all is left; solvers and their kernels look at it and stop.
    """

    tolerance: float
    deadline: float = float("inf")
    n_jobs: int = 1
    progress: bool = False
    interrupted: StopSignal = field(default_factory=StopSignal)

    @property
    def seconds_left(self) -> float:
        """Time until the deadline, never negative."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def stopped(self) -> bool:
        """Whether to stop now: out of time, or interrupted."""
        return self.seconds_left == 0.0 or self.interrupted.is_set()

    def has_time(self, seconds: float) -> bool:
        """Whether to begin what takes so long before it looks at the clock; what is done at once is always begun."""
        return seconds <= max(self.seconds_left, _AT_ONCE)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A solver's answer for one coordinate, to be judged by the certificate.

    Attributes
    ----------
    program : Form
        The program, in whose variables the answer is given.
    y : ndarray, shape (N,)
    p : ndarray, shape (m,)
    solvers : tuple of str
        Names of the solvers that had a part in it, in their order.
    notes : tuple of str
        What the user should know: hand-overs, time limits.
    iterations : int
        Iterations of an iterative solver; 0 where they are not known.
    """

    program: Form
    y: Floats
    p: Floats
    solvers: tuple[str, ...]
    notes: tuple[str, ...] = ()
    iterations: int = 0

    @cached_property
    def proof(self) -> Certificate:
        """What it proves, found when first asked for."""
        return certify(self.program, self.y, self.p)


class _TwoForms(NamedTuple):
    """One program in two forms: candidates for its solution in one, multipliers in the other."""

    lower_bound: Callable[[Floats], tuple[float, Floats]]
    upper_bound: Callable[[Floats], float]
    stein_function: Callable[[Floats], tuple[Floats, Floats]]


def best_of(first: Candidate, second: Candidate) -> Candidate:
    """The better y and the better p of two candidates for one program; the first's where they prove the same."""
    primal = second if second.proof.lower > first.proof.lower else first
    dual = second if second.proof.upper < first.proof.upper else first
    require_ordered(primal.proof.lower, dual.proof.upper, y=primal.y, p=dual.p)
    return Candidate(
        _TwoForms(primal.program.lower_bound, dual.program.upper_bound, primal.program.stein_function),
        primal.y,
        dual.p,
        solvers=tuple(dict.fromkeys((*first.solvers, *second.solvers))),
        notes=(*first.notes, *second.notes),
        iterations=first.iterations + second.iterations,
    )


def asked_for(program: SteinProgram, coordinates: Sequence[int] | None) -> Sequence[int]:
    """The coordinates to solve: those given, or all."""
    return range(program.dim) if coordinates is None else coordinates


def closed_form(program: CoordinateProgram, solver: str) -> Candidate:
    """The answer where there are no rows and the boxes decide: y = u sign(b)."""
    return Candidate(program, np.copysign(program.box, program.objective), np.empty(0), (solver,))


def unsolved(program: CoordinateProgram, solver: str) -> Candidate:
    """What a solver has to say that was given no time: that it is nothing."""
    return Candidate(program, np.zeros(len(program.box)), np.zeros(len(program.radius)), (solver,))


def each_coordinate(
    solve: Callable[[Task, Settings], Candidate], tasks: Sequence[Task], settings: Settings
) -> list[Candidate]:
    """Apply a solver of one coordinate to the tasks of all, side by side in threads, with one BLAS thread each."""
    with one_thread_in_libraries(), progress_bar("coordinates", len(tasks), shown=settings.progress) as bar:
        return side_by_side(lambda task: solve(task, settings), tasks, settings, done=bar.update)


def side_by_side(
    work: Callable[[Task], Done], tasks: Sequence[Task], settings: Settings, done: Callable[[], Any] = lambda: None
) -> list[Done]:
    """Do work in threads, in the order of the tasks, and call `done` after each.

    NumPy's warnings are off: what overflows in a solver proves nothing, and the certificate says so. An interrupt
    (control-C) stops the work under way through `Settings.interrupted` and is raised again.
    """

    def quietly(task: Task) -> Done:
        with np.errstate(all="ignore"):
            return work(task)

    with ThreadPoolExecutor(max_workers=min(settings.n_jobs, len(tasks))) as pool:
        futures = [pool.submit(copy_context().run, quietly, task) for task in tasks]
        try:
            for future in as_completed(futures):
                future.result()
                done()
        except BaseException:
            settings.interrupted.set()
            pool.shutdown(cancel_futures=True)
            raise
        return [future.result() for future in futures]
