"""Engine `auto`: the engine made for a sample's dimension and size, and hand-overs where brackets stay open.

One dimension has an engine of its own, `chain`. In two and three, `block` certifies to 1e-6 as long as a factorisation
can be afforded; in three, `first_order` goes first where it is foretold to be much faster, for large samples and wide
brackets. In four and more the factor fills, and `first_order` certifies to 1e-5 in a small share of the time of
a factorisation; what is asked for more tightly is left to `block` on small samples and to `highs` on others.

What an engine leaves open goes on to the next, and the best of what they have proved is returned: the result names
every engine that had a part, and its notes say why. With a time limit, an engine that proves nothing before it ends is
preceded by one that proves a little early. When an engine's turn comes, and what it suits, is declared in `registry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from steinkit.discrepancy.bracket import require_ordered
from steinkit.discrepancy.graph.engines.base import Candidate, asked_for
from steinkit.discrepancy.graph.engines.case import Case
from steinkit.discrepancy.graph.programs.certificate import Form
from steinkit.errors import TimeLimitError
from steinkit.sample import Floats


class Tried(Protocol):
    """An engine that has a turn."""

    def suits(self, case: Case) -> bool:
        """Whether to try it on what the engines before it have left open."""

    def continue_on(self, case: Case, coordinates: Sequence[int]) -> list[Candidate]:
        """Solve the coordinates that are still open."""


def solve(case: Case, coordinates: Sequence[int] | None, engines: Sequence[Tried]) -> list[Candidate]:
    """Solve coordinates, each by as many of the engines, in their order, as it takes."""
    settings = case.settings
    asked = asked_for(case.program, coordinates)
    answers: dict[int, Candidate] = {}
    for engine in engines:
        left = [j for j in asked if j not in answers or answers[j].proof.gap > settings.tolerance]
        if not left or (answers and settings.stopped):
            break
        try:
            candidates = engine.continue_on(case, left) if engine.suits(case) else None
        except TimeLimitError:
            if not answers:
                raise
            break
        if candidates is None:
            continue
        for j, candidate in zip(left, candidates, strict=True):
            answers[j] = _joined(answers[j], candidate) if j in answers else candidate
    return [answers[j] for j in asked]


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


def _joined(first: Candidate, second: Candidate) -> Candidate:
    """The better y and the better p of two candidates, with the history of both."""
    primal = second if second.proof.lower >= first.proof.lower else first
    dual = second if second.proof.upper <= first.proof.upper else first
    note = f"engine {first.engines[-1]} left a bracket of {first.proof.gap:.1e}: handed over to {second.engines[0]}"
    require_ordered(primal.proof.lower, dual.proof.upper, y=primal.y, p=dual.p)
    return Candidate(
        _TwoForms(primal.program, dual.program),
        primal.y,
        dual.p,
        engines=(*first.engines, *second.engines),
        notes=(*first.notes, note, *second.notes),
        iterations=first.iterations + second.iterations,
    )
