"""Progress of long work: a bar on standard error, once a second has passed, gone when the work is done."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


class Bar(tqdm):  # type: ignore[misc]
    """A bar of one process: tqdm's own lock, one between processes, is reported as leaked when a worker is ended."""

    _lock = threading.RLock()


def progress_bar(
    description: str,
    total: int | None = None,
    *,
    shown: bool,
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
    shown : bool
        Whether the user wants to see it; nothing is printed otherwise.
    unit : str
        What follows the count.
    initial : int
        Steps that were done before.
    steps : iterable, optional
    """
    return Bar(
        steps,
        description,
        total,
        unit=unit,
        initial=initial,
        delay=1.0,
        file=sys.stderr,
        disable=not shown,
        leave=False,
    )
