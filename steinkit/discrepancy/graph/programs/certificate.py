"""The proof of an answer: a bracket that holds whatever solver produced the candidate.

A linear program can be written in several forms, whose variables and multipliers differ: the matrix form in the values
and gradients of g, the same with near points expressed relative to one another, the chain form of one dimension. Each
form turns any candidate (y, p) into bounds of its optimum: a lower one by making y feasible, an upper one by weak
duality from p. Neither asks how y and p were found, so a solver that stops early, or lies, only widens the bracket.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from steinkit.discrepancy.bracket import relative_width, require_ordered
from steinkit.sample import Floats


class Form(Protocol):
    """One coordinate's linear program in the variables of some form."""

    def lower_bound(self, y: Floats, /) -> tuple[float, Floats]:
        """Objective of y once made feasible, rounded down, and the feasible point; 0 and zeros if y proves nothing."""

    def upper_bound(self, p: Floats, /) -> float:
        """What the multipliers p prove of the optimum, rounded up; never more than is known without them."""

    def stein_function(self, y: Floats, /) -> tuple[Floats, Floats]:
        """Map variables back to g_j, shape (n,), and its gradient, shape (n, d)."""


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proof that an optimum lies in [lower, upper].

    Attributes
    ----------
    lower, upper : float
    feasible : ndarray, shape (N,)
        A feasible y whose objective is `lower`.
    """

    lower: float
    upper: float
    feasible: Floats

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return relative_width(self.lower, self.upper)


def certify(program: Form, y: Floats, p: Floats) -> Certificate:
    """Bracket the optimum of a program by any candidate.

    Parameters
    ----------
    program : Form
        With N variables and m multipliers.
    y : ndarray, shape (N,)
        Candidate solution, feasible or not.
    p : ndarray, shape (m,)
        Candidate multipliers.

    Returns
    -------
    Certificate
        Entries that are not finite count as zero.

    Raises
    ------
    CrossedBracketError
        If the bounds contradict each other, so that one of the two proofs is false.
    """
    lower, feasible = program.lower_bound(np.where(np.isfinite(y), y, 0.0))
    upper = program.upper_bound(np.where(np.isfinite(p), p, 0.0))
    require_ordered(lower, upper, y=y, p=p)
    return Certificate(lower, upper, feasible)
