"""How wide a bracket may be: what was asked for, and what is no answer any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from steinkit.discrepancy.bracket import Bracketed
from steinkit.errors import Caution, SolverError

WIDEST_BRACKET = 0.1  # relative width

Result = TypeVar("Result", bound=Any)


def accepted(result: Result, number: str, cause: str, remedy: str) -> Result:
    """Refuse a result whose bracket is no answer, and add a caution to one wider than the tolerance.

    Parameters
    ----------
    result : dataclass that is `Bracketed`, with `tolerance` and `warnings`
    number : str
        What lies in the bracket.
    cause, remedy : str
        Why the bracket is so wide, in brackets or empty; and what may help, as a sentence without its stop.

    Raises
    ------
    SolverError
        If the bracket is wider than `WIDEST_BRACKET`.
    """
    if result.gap <= result.tolerance:
        return result
    bracket = (
        f"{number} lies in {result.bracket}: the bracket's relative width is {result.gap:.1e}, "
        f"{result.tolerance:g} was asked for{cause}"
    )
    refuse_wide(result, bracket, remedy)
    return replace(result, warnings=(*result.warnings, Caution(bracket)))


def refuse_wide(result: Bracketed, bracket: str, remedy: str) -> None:
    """Refuse a result whose bracket is no answer.

    Parameters
    ----------
    result : Bracketed
    bracket : str
        What lies in which bracket.
    remedy : str
        What may help, as a sentence without its stop.

    Raises
    ------
    SolverError
        If the bracket is wider than `WIDEST_BRACKET`.
    """
    if result.gap > WIDEST_BRACKET:
        raise SolverError(
            f"no certified answer: {bracket}; more than {WIDEST_BRACKET:.0%} is not reported as a value. {remedy}",
            result.lower,
            result.upper,
        )
