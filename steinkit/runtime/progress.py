"""Progress of long work: a bar on standard error, once a second has passed, gone when the work is done."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any, Self

from steinkit.errors import UsageError, during

_watched: ContextVar[bool] = ContextVar("whether the user watches what runs", default=False)


def watched(shown: bool) -> contextlib.AbstractContextManager[None]:
    """Show, while this lasts, the progress of work that is not told itself whether to show it."""
    return during(_watched, shown)


class _HiddenBar:
    """What stands for a bar that nobody wants to see."""

    def __init__(self, steps: Iterable[Any] | None, total: int | None) -> None:
        self._steps = steps or ()
        self.total, self.n = total, 0

    def __iter__(self) -> Iterator[Any]:
        return iter(self._steps)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        pass

    def update(self, n: float = 1) -> None:
        pass

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        pass

    def close(self) -> None:
        pass


@cache
def _bar() -> Any:
    """tqdm for one process: its own lock, one between processes, is reported as leaked when a worker is ended."""
    from tqdm import tqdm  # for those only who watch

    return type("Bar", (tqdm,), {"_lock": threading.RLock()})


def progress_bar(
    description: str,
    total: int | None = None,
    *,
    shown: bool | None = None,
    unit: str = "",
    initial: int = 0,
    steps: Iterable[Any] | None = None,
) -> Any:
    """A bar to update, as a context manager; or, given `steps`, an iterator over them that updates itself.

    Parameters
    ----------
    description : str
        What is going on, in the plural of what is counted: "coordinates", "reference samples".
    total : int, optional
        Steps expected, where they are known.
    shown : bool, optional
        Whether the user wants to see it; nothing is printed otherwise. By default what `watched` says.
    unit : str
        What follows the count.
    initial : int
        Steps that were done before.
    steps : iterable, optional
    """
    if not isinstance(shown, bool | None):
        raise UsageError(f"expected progress to be True or False, got {shown!r}")
    if not (_watched.get() if shown is None else shown):
        return _HiddenBar(steps, total)
    return _bar()(
        steps,
        description,
        total,
        unit=unit,
        initial=initial,
        delay=1.0,
        file=sys.stderr,
        leave=False,
    )
