"""Entry point of ``steinkit`` and ``python -m steinkit``."""

import signal
from typing import NoReturn


def run() -> NoReturn:
    """Run the command line.

    If Control-C is pressed while modules are being imported, the process ends without a traceback.
    """
    handles = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handles:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from steinkit.cli import main

    if handles:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main()


if __name__ == "__main__":
    run()
