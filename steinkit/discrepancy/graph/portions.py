"""The coordinates' programs a portion at a time: of an answer only its bracket and its Stein function are kept.

While an engine works on a coordinate it holds several arrays of the program's n (d + 1) variables. For all coordinates
at once these would take many times the memory of the answer, and the first would take the time of the last. So eight
coordinates for each thread are solved and proved, which is what `first_order` does side by side, each portion in its
share of the time that is left; then the next.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from steinkit.discrepancy.graph.engines import Candidate
from steinkit.discrepancy.graph.engines.forecast import PORTION, Case, proof_seconds
from steinkit.discrepancy.graph.engines.registry import Engine
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.errors import TimeLimitError
from steinkit.sample import Floats


class Answers:
    """What is known of every coordinate.

    Attributes
    ----------
    lower, upper : ndarray, shape (d,)
        Brackets: at first those that need no engine.
    g : ndarray, shape (n, d)
        Functions that attain the lower ends.
    slopes : ndarray, shape (n, d, k)
        Their gradients, k = d; or their derivatives along their own coordinates, k = 1, where the others are zero.
    late : bool
        Whether time ran out.
    engines, notes : list
        Of those that had a part; and what the user should know, each with the number of its coordinate.
    """

    def __init__(self, program: SteinProgram) -> None:
        n, dim = program.points.shape
        self.lower, self.upper = np.zeros(dim), program.trivial_bounds
        self.g = np.zeros((n, dim))
        self.slopes: Floats = np.zeros((dim, 1 if program.is_loose else dim, n)).transpose(2, 0, 1)
        self.late = False
        self.engines: list[str] = []
        self.notes: list[tuple[int, str]] = []

    def take(self, j: int, candidate: Candidate) -> None:
        """Keep what an engine proves of a coordinate."""
        proof = candidate.proof
        self.g[:, j], self.slopes[:, j] = candidate.program.stein_function(proof.feasible)
        self.lower[j], self.upper[j] = proof.lower, proof.upper
        self.engines += candidate.engines
        self.notes += [(j, note) for note in candidate.notes]


def solve_in_portions(solver: Engine, case: Case, answers: Answers) -> None:
    """Solve and prove all coordinates, or as many as there is time for.

    Raises
    ------
    TimeLimitError
        If there was no time for any.
    """
    at_once, proof = PORTION * case.settings.n_jobs, proof_seconds(case.program)
    portions = [range(begin, min(begin + at_once, case.dim)) for begin in range(0, case.dim, at_once)]
    for number, portion in enumerate(portions):
        left = case.settings.seconds_left
        ends = time.monotonic() + left / (len(portions) - number) - proof * len(portion)
        if number and left == 0.0:
            break
        try:
            candidates = solver.work_on(case.with_settings(replace(case.settings, deadline=ends)), portion)
        except TimeLimitError:
            if not number:
                raise
            break
        answers.late |= time.monotonic() >= ends
        for j, candidate in zip(portion, candidates, strict=True):
            answers.take(j, candidate)
        del candidates, candidate  # before the next ones come
    else:
        return
    answers.late = True
