"""The exit codes of the command line, all of them; those of errors are the `exit_code` of their classes."""

from __future__ import annotations

from steinkit.errors import CrossedBracketError, InputError, SolverError, UsageError

FINE = 0
FAILED = 1
INTERRUPTED = 130

EXIT_CODES = {
    FINE: "done",
    FAILED: "failed by --fail-above or --fail-if-biased",
    UsageError.exit_code: "wrong usage",
    InputError.exit_code: "bad input or output",
    SolverError.exit_code: "no certified answer",
    CrossedBracketError.exit_code: "a defect of steinkit",
    INTERRUPTED: "interrupted",
}
"""What each means: ``steinkit --help`` prints them."""
