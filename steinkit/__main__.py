"""The command ``steinkit``, ``python -m steinkit`` as well, and what control-C does before and after its work."""

import atexit
import contextlib
import os
import signal
import sys
from types import FrameType
from typing import NoReturn


def run() -> NoReturn:
    """Run the command line; control-C ends it in silence before it begins, and leaves its code alone once it is done.

    Python itself would show a traceback of its imports, or die of it when all is written.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        # Registered first, called last: as Python ends it puts all other handlers back to the system's, which kills.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    from steinkit.cli import main

    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else 0

        def leave(number: int, frame: FrameType | None) -> None:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            os._exit(code)

        if ours:
            signal.signal(signal.SIGINT, leave)
        raise


if __name__ == "__main__":
    run()
