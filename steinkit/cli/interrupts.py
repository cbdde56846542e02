"""Control-C: the first ends a command in good order, the second at once."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

INTERRUPTED = 130
_SOON = 0.02  # seconds
_GENERATORS = (
    os.path.join("llvmlite", "binding"),
    *(os.path.join("numba", "core", each) for each in ("codegen.py", "caching.py")),
)
"""Files whose functions LLVM calls back, or that keep what it makes: broken off, they leave functions without code."""


@contextlib.contextmanager
def heeded_interrupts() -> Iterator[None]:
    """Raise the first control-C as soon as nothing breaks by it, and let a second one end the process.

    Without this a second one would leave solvers running while the interpreter shuts down, which aborts the process. A
    first one that comes while a compiler generates code waits for its end; one that is lost because C code called
    Python back is raised once more.
    """
    said = ours = False
    waiting: threading.Timer | None = None

    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal said, ours
        if not said:
            said = True
            print("interrupting; control-C again ends at once", file=sys.stderr, flush=True)
        elif not ours:
            os._exit(INTERRUPTED)
        ours = False
        if _generates_code(frame):
            call_again_soon()
        else:
            raise KeyboardInterrupt

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            call_again_soon()  # raised here it would be lost again
        else:
            report(lost)

    def call_again_soon() -> None:
        nonlocal waiting
        waiting = threading.Timer(_SOON, call_again)
        waiting.daemon = True
        waiting.start()

    def call_again() -> None:
        nonlocal ours
        ours = True
        main = threading.main_thread().ident
        if sys.platform != "win32" and main is not None:
            signal.pthread_kill(main, signal.SIGINT)  # wakes it from a wait, too
        else:
            _thread.interrupt_main()

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # someone else sees to it, or it is ignored, as under nohup
        yield
        return
    report = sys.unraisablehook
    sys.unraisablehook = unraisable
    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        if waiting is not None:
            waiting.cancel()
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = report


def comes_of_interrupt(error: BaseException | None) -> bool:
    """Whether an error was raised from a `KeyboardInterrupt`, as Python does in places, or while handling one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _generates_code(frame: FrameType | None) -> bool:
    while frame is not None:
        if any(each in frame.f_code.co_filename for each in _GENERATORS):
            return True
        frame = frame.f_back
    return False
