"""Compile the package's kernels before the tests begin, each once, by two processes with different kernels.

Workers of pytest-xdist begin at the same time, on empty caches, and would compile what most tests need side by side.

    python tests/support/warming.py 0        one half; 1 the other
"""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings

#: Steps of `steinkit warm` that share few kernels with the others, which are the other half.
FIRST_HALF = ("graph Stein discrepancy in one dimension", "verdict")


def fill_cache() -> None:
    """Run both halves side by side; what fails here fails, and is reported, in the tests."""
    halves = [
        subprocess.Popen([sys.executable, __file__, half], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for half in "01"
    ]
    for half in halves:
        half.wait()


def _compile(half: int) -> None:
    from steinkit.cli.other_commands import _steps

    gc.disable()  # a tenth of the time, for what the process leaves when it ends
    warnings.simplefilter("ignore")  # of so few draws
    steps = _steps()
    first = {name: steps.pop(name) for name in FIRST_HALF}
    for work in (steps if half else first).values():
        work()


if __name__ == "__main__":
    _compile(int(sys.argv[1]))
