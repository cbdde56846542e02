"""Compile the package's kernels before the tests, in two processes with different kernels.

Workers of pytest-xdist start at the same time and would all compile the kernels that most tests need.

    python tests/support/warming.py 0        one half; 1 the other
"""

import gc
import subprocess
import sys
import warnings

#: Steps of `steinkit warm` that take half of the time and share few kernels with the others.
FIRST_HALF = (
    "graph Stein discrepancy",
    "graph Stein discrepancy in many dimensions",
    "kernel Stein discrepancy",
)


def fill_cache() -> None:
    """Run both halves at the same time; errors are reported by the tests."""
    halves = [
        subprocess.Popen([sys.executable, __file__, half], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for half in "01"
    ]
    for half in halves:
        half.wait()


def _compile(half: int) -> None:
    from steinkit.cli.other_commands import _steps

    gc.disable()  # saves a tenth of the time, because the process ends without cleanup
    warnings.simplefilter("ignore")  # warnings about too few draws
    steps = _steps()
    first = {name: steps.pop(name) for name in FIRST_HALF}
    for work in (steps if half else first).values():
        work()


if __name__ == "__main__":
    _compile(int(sys.argv[1]))
