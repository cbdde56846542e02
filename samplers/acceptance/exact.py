"""Exact acceptance tests, on all the data.

Metropolis: accept with probability min(1, exp(Delta)), that is if log u < Delta
Barker:     accept with probability 1 / (1 + exp(-Delta)), that is if log(u / (1 - u)) < Delta
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import Look, Verdict


@dataclass(frozen=True)
class MetropolisTest:
    """The Metropolis-Hastings test.

    References
    ----------
    W. K. Hastings (1970), "Monte Carlo sampling methods using Markov chains and their applications".
    """

    needs_all_data = True
    needs_normal = False
    needs_values = False
    diagnostics: ClassVar[tuple[str, ...]] = ()

    def first_batch(self, size: int) -> int:
        """All N data."""
        return size

    def level(self, uniforms: Floats) -> Floats:
        """Log u."""
        return np.log(uniforms)

    def decide(self, look: Look) -> Verdict:
        """Compare Delta with the level."""
        return _compare(look)

    def described(self) -> dict[str, Any]:
        """Name of the test."""
        return {"test": "metropolis"}


@dataclass(frozen=True)
class BarkerTest:
    """Barker's test: it accepts less often than Metropolis, at most half of the moves that change nothing.

    References
    ----------
    A. A. Barker (1965), "Monte Carlo calculations of the radial distribution functions for a proton-electron
    plasma".
    """

    needs_all_data = True
    needs_normal = False
    needs_values = False
    diagnostics: ClassVar[tuple[str, ...]] = ()

    def first_batch(self, size: int) -> int:
        """All N data."""
        return size

    def level(self, uniforms: Floats) -> Floats:
        """log(u / (1 - u)), a logistic number."""
        return np.log(uniforms) - np.log1p(-uniforms)

    def decide(self, look: Look) -> Verdict:
        """Compare Delta with the level."""
        return _compare(look)

    def described(self) -> dict[str, Any]:
        """Name of the test."""
        return {"test": "barker"}


def _compare(look: Look) -> Verdict:
    delta = look.size / look.temperature * look.mean + look.offset
    return Verdict(np.ones(len(delta), dtype=bool), delta > look.level, look.seen)
