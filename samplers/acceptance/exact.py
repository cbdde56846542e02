"""Exact acceptance tests, on all the data, and what tests share that are exact where they read all of them at once.

Metropolis: accept with probability min(1, exp(Delta)), that is if log u < Delta
Barker:     accept with probability 1 / (1 + exp(-Delta)), that is if log(u / (1 - u)) < Delta
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steinkit.arguments import batch_within, share
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import AcceptanceTest, Look, Verdict


def exceeds_level(look: Look) -> tuple[bool, bool, int]:
    """Accept if (N / T) mean + offset > level; decided at once."""
    return True, look.mean * (look.size / look.temperature) + look.offset > look.level, look.seen


@dataclass(frozen=True)
class _ExactTest(AcceptanceTest):
    """One look at all the data, which compares Delta with the level."""

    needs_all_data = True

    def first_batch(self, size: int) -> int:
        """All N data.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            N.
        """
        return size

    def decide(self, look: Look) -> Verdict:
        """Compare Delta with the level.

        Parameters
        ----------
        look : interface.Look
            Level, and the mean of all the l_i.

        Returns
        -------
        interface.Verdict
            ``decided``, always, and ``accepted``, if Delta is above the level.
        """
        return Verdict(*exceeds_level(look))


@dataclass(frozen=True)
class MetropolisTest(_ExactTest):
    """The Metropolis-Hastings test.

    References
    ----------
    W. K. Hastings (1970), "Monte Carlo sampling methods using Markov chains and their applications".
    """

    name = "metropolis"


@dataclass(frozen=True)
class BarkerTest(_ExactTest):
    """Barker's test of 1965: it accepts less often than Metropolis, at most half of the moves that change nothing.

    Not the Barker proposal of Livingstone and Zanella (2022), a way to propose that uses gradients.

    References
    ----------
    A. A. Barker (1965), "Monte Carlo calculations of the radial distribution functions for a proton-electron
    plasma".
    """

    name = "barker"

    def level(self, uniforms: Floats) -> Floats:
        """Logistic numbers, log(u / (1 - u)).

        Parameters
        ----------
        uniforms : ndarray
            Independent and uniform on (0, 1), of any shape.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        return np.log(uniforms) - np.log1p(-uniforms)


@dataclass(frozen=True)
class SequentialTest(AcceptanceTest):
    """A test that approximates Metropolis's on growing batches, with an error epsilon.

    Where such a test reads all the data it is Metropolis's: mean > mu_0 is the same as Delta > log u.
    """

    default_batch: ClassVar[int]

    epsilon: float
    batch_size: int | None = None

    def __post_init__(self) -> None:
        share(self.epsilon, "epsilon")
        if self.batch_size is not None:
            batch_within(self.batch_size, 1, self.batch_size)

    def first_batch(self, size: int) -> int:
        """Data of the first look; all at epsilon = 0.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            At least 1, at most N.

        Raises
        ------
        UsageError
            If ``batch_size`` is more than N.
        """
        batch = batch_within(self.batch_size, self.default_batch, size)
        return batch if self.epsilon > 0.0 else size

    def reads_all(self, size: int) -> bool:
        """Whether the first look sees all the data: at epsilon = 0, and if one batch holds them all.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        bool
            If true, it is Metropolis's test.

        Raises
        ------
        UsageError
            If ``batch_size`` is more than N.
        """
        return self.first_batch(size) == size
