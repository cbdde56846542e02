"""Engine `auto`: the engine made for a sample's dimension and size, and hand-overs where brackets stay open.

One dimension has an engine of its own, `chain`. In two and three, `block` certifies to 1e-6 as long as a factorisation
can be afforded. In four and more its factor fills, and `first_order` certifies to 1e-5 in a small share of the time of
a factorisation; what is asked for more tightly is left to `block` on small samples and to `highs` on others.

What an engine leaves open goes on to the next, and the best of what they have proved is returned: the result names
every engine that had a part, and its notes say why. With a time limit, an engine that proves nothing before it ends is
preceded by one that proves a little early. The constants are measured (``benchmarks/engines.py``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from steinkit.discrepancy.graph.engines.base import Candidate, Settings, each_coordinate
from steinkit.discrepancy.graph.programs.certificate import Certificate, Form, certify
from steinkit.discrepancy.graph.programs.relative_form import suitable_programs
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.sample import Floats

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.engines.block.engine import Plan

_FIRST_ORDER = 1e-5
"""Tightest bracket that `first_order` reaches at less cost than others, in four dimensions and more."""
_LOOSE = 1e-3
"""Bracket that `first_order` reaches soon wherever it works at all."""
_FLOPS_A_ROW = 5e4
"""Cost of a factorisation for a row of the program from which on `highs` is faster than `block`, in four dimensions and
more; in two and three HiGHS's own factorisation fills as fast."""
_FEW_ROWS = 1000
"""Rows below which neither takes long."""
_COSTLY_FLOPS = 1e9
"""Cost of a factorisation above which, in two and three dimensions, `first_order` tries loose tolerances first."""
_MOST_ENTRIES = 5e8
"""Numbers in the factors under way that memory is expected to hold: 4 GB."""
_FLOPS_A_SECOND = 5e9
"""What a factorisation does, at the least, on samples so large that a time limit matters."""
_FACTORISATIONS = 20
_EARLY = 0.3
"""Share of the time left that an engine which only goes before another may take."""
_LONGEST_BLOCK, _LONGEST_HIGHS = 20_000, 2_000
"""Points in one dimension up to which what `chain` leaves open is worth a general engine."""

Stage = Callable[[list[int]], list[Candidate]]


def solve(program: SteinProgram, settings: Settings) -> list[Candidate]:
    """Solve all coordinates, each by as many engines as it takes."""
    stages = _Stages(program, settings)
    answers: dict[int, tuple[Candidate, Certificate]] = {}
    for stage in stages.in_order():
        left = [j for j in range(program.dim) if j not in answers or answers[j][1].gap > settings.tolerance]
        if not left or (answers and settings.stopped):
            break
        for j, candidate in zip(left, stage(left), strict=True):
            proof = certify(candidate.program, candidate.y, candidate.p)
            answers[j] = _joined(*answers[j], candidate, proof) if j in answers else (candidate, proof)
    return [answers[j][0] for j in range(program.dim)]


class _Stages:
    """Ways of solving the coordinates of a program that are asked for by number."""

    def __init__(self, program: SteinProgram, settings: Settings) -> None:
        self.program = program
        self.settings = settings

    def in_order(self) -> Iterator[Stage]:
        """The engines to try, best first; only the first is asked for all coordinates."""
        if self.program.dim == 1:
            yield self.chain
            if self.program.n_points <= _LONGEST_BLOCK:
                yield self.block
            if self.program.n_points <= _LONGEST_HIGHS:
                yield self.highs
            return
        if self._begins_with_first_order():
            yield self.first_order
        if self._block_is_affordable():
            yield self.block
        yield self.highs

    def _begins_with_first_order(self) -> bool:
        """Whether `first_order` is the best there is, or should prove something before time is up."""
        if self.program.dim >= 4:
            return self.settings.tolerance >= _FIRST_ORDER or math.isfinite(self.settings.deadline)
        if self.settings.tolerance >= _LOOSE and self.plan.flops > _COSTLY_FLOPS:
            return True
        expected = self.program.dim * _FACTORISATIONS * self.plan.flops / _FLOPS_A_SECOND
        return bool(expected > _EARLY * self.settings.seconds_left)

    def _block_is_affordable(self) -> bool:
        """Whether a factorisation fits in memory and, in four dimensions and more, is faster than HiGHS's."""
        under_way = min(self.settings.n_jobs, self.program.dim)
        if self.plan.entries * under_way > _MOST_ENTRIES:
            return False
        rows = max(len(self.program.edge_rows[1]), _FEW_ROWS)
        return self.program.dim <= 3 or bool(self.plan.flops <= _FLOPS_A_ROW * rows)

    @cached_property
    def plan(self) -> Plan:
        """What `block` knows before solving."""
        from steinkit.discrepancy.graph.engines.block import engine as block

        return block.prepare(self.program)

    def chain(self, left: list[int]) -> list[Candidate]:
        """Interior point method on the chain."""
        from steinkit.discrepancy.graph.engines.chain import engine as chain

        return chain.solve(self.program, self.settings)

    def block(self, left: list[int]) -> list[Candidate]:
        """Interior point method with a sparse factorisation of our own."""
        from steinkit.discrepancy.graph.engines.block import engine as block

        tasks = self.plan.tasks()
        return each_coordinate(block.solve_coordinate, [tasks[j] for j in left], self.settings)

    def first_order(self, left: list[int]) -> list[Candidate]:
        """First-order method, no further than it goes with ease; the first engine, so all coordinates are left."""
        from steinkit.discrepancy.graph.engines.first_order import engine as first_order

        settings = self.settings
        if self.program.dim <= 3 or settings.tolerance < _FIRST_ORDER:
            early = time.monotonic() + _EARLY * settings.seconds_left
            settings = replace(settings, tolerance=max(settings.tolerance, _LOOSE), deadline=early)
        return first_order.solve(self.program, settings)

    def highs(self, left: list[int]) -> list[Candidate]:
        """HiGHS."""
        from steinkit.discrepancy.graph.engines import highs

        programs = suitable_programs(self.program)
        return each_coordinate(highs.solve_coordinate, [programs[j] for j in left], self.settings)


@dataclass(frozen=True, eq=False)
class _TwoForms:
    """One program in two forms: candidates for its solution in one, multipliers in the other."""

    primal: Form
    dual: Form

    def lower_bound(self, y: Floats) -> tuple[float, Floats]:
        """By the first form."""
        return self.primal.lower_bound(y)

    def upper_bound(self, p: Floats) -> float:
        """By the second form."""
        return self.dual.upper_bound(p)

    def stein_function(self, y: Floats) -> tuple[Floats, Floats]:
        """By the first form."""
        return self.primal.stein_function(y)


def _joined(
    first: Candidate, first_proof: Certificate, second: Candidate, second_proof: Certificate
) -> tuple[Candidate, Certificate]:
    """The better y and the better p of two candidates, with the history of both."""
    higher = second_proof.lower >= first_proof.lower
    primal, lower = (second, second_proof) if higher else (first, first_proof)
    dual, upper = (second, second_proof) if second_proof.upper <= first_proof.upper else (first, first_proof)
    note = f"engine {first.engines[-1]} left a bracket of {first_proof.gap:.1e}: handed over to {second.engines[0]}"
    joined = Candidate(
        _TwoForms(primal.program, dual.program),
        primal.y,
        dual.p,
        engines=(*first.engines, *second.engines),
        notes=(*first.notes, note, *second.notes),
        iterations=first.iterations + second.iterations,
    )
    return joined, Certificate(lower.lower, max(lower.lower, upper.upper), lower.feasible)
