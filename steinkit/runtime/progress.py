"""Progress bars on standard error.

A progress bar appears after one second and is removed when the work ends.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache
from typing import Any

from steinkit.errors import UsageError, during

_watched: ContextVar[bool] = ContextVar("watched", default=False)


def watched(shown: bool) -> contextlib.AbstractContextManager[None]:
    """Set the default for ``shown`` in `progress_bar` inside a block."""
    return during(_watched, shown)


@cache
def _bar() -> Any:
    """Return tqdm with a single-process lock and no monitor thread.

    The default lock is shared among processes, and Python reports it as leaked when a worker exits.
    """
    from tqdm import tqdm

    return type("Bar", (tqdm,), {"_lock": threading.RLock(), "monitor_interval": 0})


def progress_bar(
    description: str,
    total: int | None = None,
    *,
    shown: bool | None = None,
    unit: str = "",
    initial: int = 0,
    steps: Iterable[Any] | None = None,
) -> Any:
    """Return a progress bar.

    The bar can be used as a context manager with explicit updates or as an iterator over steps.

    Parameters
    ----------
    description : str
        Plural noun for the steps, such as "coordinates" or "reference samples".
    total : int, optional
        Expected number of steps.
    shown : bool, optional
        If False, nothing is printed. The default is the value of `watched`, or False.
    unit : str
        Unit that is printed after the count.
    initial : int, default 0
        Number of completed steps.
    steps : iterable, optional
        Steps over which the bar iterates.
    """
    if not isinstance(shown, bool | None):
        raise UsageError(f"progress must be True or False; got {shown!r}")
    return _bar()(
        steps,
        description,
        total,
        unit=unit,
        initial=initial,
        delay=1.0,
        miniters=1,
        file=sys.stderr,
        leave=False,
        disable=not (_watched.get() if shown is None else shown),
    )
