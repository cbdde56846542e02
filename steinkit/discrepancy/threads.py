"""How many threads a number of jobs means."""

from __future__ import annotations

import joblib

from steinkit.errors import UsageError


def thread_count(n_jobs: int) -> int:
    """Threads to start for ``n_jobs`` in joblib's convention (-1: all processors), never more than processors.

    Raises
    ------
    UsageError
        If ``n_jobs`` is 0.
    """
    if n_jobs == 0:
        raise UsageError("n_jobs (--jobs) must be a positive number, or -1 for all processors; received 0")
    processors = joblib.effective_n_jobs(-1)
    return int(min(joblib.effective_n_jobs(n_jobs), processors))
