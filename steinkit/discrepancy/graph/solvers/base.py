"""Settings, candidates, and the loop over coordinates, shared by all solvers."""

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

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Settings:
    """Stopping rules and resources for a solver.

    Attributes
    ----------
    tolerance : float
        Relative width (upper - lower)/upper of the bracket at which a coordinate is finished.
    deadline : float, default inf
        Value of `time.monotonic` at which the solver stops with its best candidate.
    n_jobs : int, default 1
        Number of threads that solve coordinates in parallel.
    progress : bool, default False
        If True, a progress bar is shown on standard error.
    interrupted : StopSignal
        Signal that is set on an interrupt and at the global deadline. Solvers and compiled kernels stop when the signal
        is set.
    """

    tolerance: float
    deadline: float = float("inf")
    n_jobs: int = 1
    progress: bool = False
    interrupted: StopSignal = field(default_factory=StopSignal)

    @property
    def seconds_left(self) -> float:
        """Return the seconds left before the deadline, or 0 after the deadline."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def stopped(self) -> bool:
        """Return True after the deadline or an interrupt."""
        return self.seconds_left == 0.0 or self.interrupted.is_set()


@dataclass(frozen=True, eq=False)
class Candidate:
    """A solver's result for one coordinate.

    Attributes
    ----------
    program : Form
        Program that defines the variables `y` and `p`.
    y : ndarray, shape (N,)
        Primal variables, which may be infeasible.
    p : ndarray, shape (m,)
        Multipliers of the rows.
    solvers : tuple of str
        Names of the solvers that contributed, in order.
    notes : tuple of str
        Messages for the user, such as a change of solver.
    iterations : int
        Number of iterations, or 0 if it is unknown.
    """

    program: Form
    y: Floats
    p: Floats
    solvers: tuple[str, ...]
    notes: tuple[str, ...] = ()
    iterations: int = 0

    @cached_property
    def proof(self) -> Certificate:
        """Certified bounds computed from `y` and `p`."""
        return certify(self.program, self.y, self.p)


class _TwoForms(NamedTuple):
    """Program in two forms: one for primal candidates and one for multipliers."""

    lower_bound: Callable[[Floats], tuple[float, Floats]]
    upper_bound: Callable[[Floats], float]
    stein_function: Callable[[Floats], tuple[Floats, Floats]]


def best_of(first: Candidate, second: Candidate) -> Candidate:
    """Combine the better y and the better p of two candidates.

    If the candidates are tied, the first one is used.
    """
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
    """Return the given coordinates, or all coordinates if None."""
    return range(program.dim) if coordinates is None else coordinates


def each_coordinate(
    solve: Callable[..., Candidate],
    solver: str,
    settings: Settings,
    programs: Sequence[CoordinateProgram],
    *further: Sequence[Any],
) -> list[Candidate]:
    """Solve one program per coordinate in parallel threads.

    Each thread uses one BLAS thread. The function `solve` is called with a program, with its items of `further`, and
    with the settings. It is not called for programs without rows, where y = u sign(b) is optimal, or when there is no
    time left, where the candidate is zero.
    """

    def work(task: tuple[CoordinateProgram, Any]) -> Candidate:
        program = task[0]
        if not len(program.radius):
            return Candidate(program, np.copysign(program.box, program.objective), np.empty(0), (solver,))
        if settings.stopped:
            return Candidate(program, np.zeros(len(program.box)), np.zeros(len(program.radius)), (solver,))
        return solve(*task, settings)

    tasks = list(zip(programs, *further, strict=True))
    with one_thread_in_libraries(), progress_bar("coordinates", len(tasks), shown=settings.progress) as bar:
        return side_by_side(work, tasks, settings, done=bar.update)


def side_by_side(
    work: Callable[[Task], Done], tasks: Sequence[Task], settings: Settings, done: Callable[[], Any] = lambda: None
) -> list[Done]:
    """Apply `work` to the tasks in parallel threads, and return the results in order.

    The function `done` is called after each task. If an exception occurs, including KeyboardInterrupt,
    `Settings.interrupted` is set. The other tasks then end, and the exception propagates. NumPy warnings are suppressed
    because the certificate rejects values that overflow in a solver.
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
