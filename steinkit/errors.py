"""What can go wrong, in one place.

Every message says what was received, what is wanted, and what to do. The command line turns each class into its exit
code: 2 wrong usage, 3 bad input, 4 no certified answer.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SteinkitError(Exception):
    """Base class of every error that steinkit raises on purpose."""

    exit_code = 3


class UsageError(SteinkitError, ValueError):
    """A setting that cannot be honoured: an unknown engine, a dilation of 1 or less."""

    exit_code = 2


class MissingDependencyError(SteinkitError, ImportError):
    """An optional package is needed for this and is not installed."""

    exit_code = 2


class InputError(SteinkitError, ValueError):
    """Data that cannot be scored: a missing file, a NaN, a draw outside the support."""


class OutputError(SteinkitError, OSError):
    """A result could not be written where it was asked for."""


class SolverError(SteinkitError, RuntimeError):
    """No engine could certify the answer to within 10 %.

    Attributes
    ----------
    lower, upper : float
        The bracket that *was* proved; the discrepancy lies inside it.
    """

    exit_code = 4

    def __init__(self, message: str, lower: float, upper: float) -> None:
        super().__init__(message)
        self.lower = lower
        self.upper = upper


class SteinkitWarning(UserWarning):
    """An answer that comes with a reservation, such as a bracket wider than asked for."""


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """``'; did you mean "theta1"?'``, or nothing where no known word comes near."""
    near = difflib.get_close_matches(word, list(known), n=3, cutoff=cutoff)
    return "; did you mean {}?".format(" or ".join(f'"{name}"' for name in near)) if near else ""


class AbandonedWork(KeyboardInterrupt):
    """The user interrupted, and a thread that cannot be stopped is still at work."""
