"""The bar that `progress` shows, in a module of its own so that tqdm is imported for those only who watch."""

from __future__ import annotations

import threading

from tqdm import tqdm


class Bar(tqdm):  # type: ignore[misc]
    """A bar of one process: tqdm's own lock, one between processes, is reported as leaked when a worker is ended."""

    _lock = threading.RLock()
