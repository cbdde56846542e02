"""Standard output is for results: the header that HiGHS writes there, once a process, is logged to nowhere instead.

From highspy 1.16 on a solver's constructor writes it, before any option can be set, also where CVXPY only asks for
HiGHS's infinity. HiGHS writes it once: a first solver that logs, but not to the console, spends it for all that follow;
one without any output does not. The null device is the log in case logging nowhere comes to mean no output.
"""

from __future__ import annotations

import os
from functools import cache

import highspy


class _LogsNowhere(highspy.Highs):  # type: ignore[misc]
    """A solver that has options before its constructor's first message."""

    def enableCallbacks(self) -> None:  # noqa: N802
        self.setOptionValue("log_to_console", False)
        self.setOptionValue("log_file", os.devnull)
        super().enableCallbacks()


@cache
def spend() -> None:
    """Call it before the first solver is made in a process; later calls do nothing."""
    _LogsNowhere()
