"""CPU time and memory of benchmarks."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple


def cpu_seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU time of a call and its result.

    The time includes all threads of this process.
    """
    started = time.process_time()
    result = run()
    return time.process_time() - started, result


def cpu_of_all() -> float:
    """Return the CPU seconds of this process and of its ended child processes."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def in_turn(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Return the CPU seconds of several calls.

    The calls run in `repeats` alternating rounds, which distribute the load of the machine.
    """
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            found[name].append(cpu_seconds(run)[0])
    return found


def pulse() -> float:
    """Return the CPU seconds of a fixed Python loop, which increase with the load of the machine."""
    return min(cpu_seconds(lambda: sum(k * k for k in range(100_000)))[0] for _ in range(5))


def median_seconds(run: Callable[[], Any], enough: float = 0.2) -> float:
    """Return the median CPU time of a call, after a first call that compiles.

    The call is repeated until `enough` seconds are spent, or ten times that limit if there are fewer than three runs.
    """
    run()
    found: list[float] = []
    while not found or sum(found) < (enough if len(found) > 2 else 10.0 * enough):
        found.append(cpu_seconds(run)[0])
        if len(found) == 25:
            break
    return median(found)


def peak_megabytes() -> float:
    """Return the peak resident memory of this process.

    The value is from Linux's own record if available, because `getrusage` may report the peak of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(float(line.split()[1]) / 1024.0 for line in status.open() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0 if sys.platform != "darwin" else 1024.0**2)


def in_a_process_of_its_own(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function in a new process, with a separate memory peak."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
        return alone.submit(function, *arguments).result()


class Process(NamedTuple):
    """Cost of a command, including its child processes."""

    cpu: float
    wall: float


def cost_of_command(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
    """Run a command, and discard its output.

    Python keeps its bytecode, as for users.

    Raises
    ------
    subprocess.CalledProcessError
        If the command fails. The message contains its standard error.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(environment or {})}
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        text = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, [*command, text])
    wall = time.perf_counter() - started
    return Process(usage.ru_utime + usage.ru_stime, wall)
