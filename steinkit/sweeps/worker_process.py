"""The process of a worker: it does one piece of work after another, and ends when the sweep's process does."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle

from steinkit.sweeps.workers import called

UP, ANSWERED, INTERRUPTED, FAILED = "up", "answered", "interrupted", "failed"
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of linux/prctl.h


def serve(connection: Connection, parent: int) -> None:
    """Say that it is up, receive what all work shares, then work; each answer is a pair of its kind and its value.

    Parameters
    ----------
    connection : multiprocessing.connection.Connection
        To the sweep's process, of which work comes as `pickled` pairs of function and arguments.
    parent : int
        Number of that process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # control-C reaches every process of a terminal; the parent decides
    _end_with(parent)
    received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, received), daemon=True).start()
    connection.send_bytes(cloudpickle.dumps((UP, None)))
    shared = received.get()
    loaded: list[Any] = []
    while True:
        payload = received.get()
        connection.send_bytes(_answer(shared, loaded, payload))


def _end_with(parent: int) -> None:
    """Have the kernel end this process with its parent, however that ends; elsewhere than on Linux `_listen` does."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)


def _listen(connection: Connection, received: queue.SimpleQueue[bytes]) -> None:
    """Pass on what comes, beside the work; when the other end is gone, so is this process."""
    try:
        while True:
            received.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(1)


def _answer(shared: bytes, loaded: list[Any], payload: bytes) -> bytes:
    """The answer to a piece of work; what all share is unpickled with the first."""
    try:
        if not loaded:
            loaded.append(cloudpickle.loads(shared))
        return bytes(cloudpickle.dumps((ANSWERED, called(loaded[0], payload))))
    except KeyboardInterrupt:
        return bytes(cloudpickle.dumps((INTERRUPTED, None)))
    except Exception as error:  # of sending and receiving: work catches its own
        return bytes(cloudpickle.dumps((FAILED, f"{type(error).__name__}: {error}")))
