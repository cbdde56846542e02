"""What work costs, for the benchmarks: CPU time, also of runs in turn, and the memory of a process by itself."""

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
    """CPU time of this process, all threads, that a call takes; and what it returns."""
    started = time.process_time()
    result = run()
    return time.process_time() - started, result


def cpu_of_all() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def in_turn(runs: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """CPU seconds of each of several calls, `repeats` times round: a slow moment of the machine strikes them all."""
    found: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            found[name].append(cpu_seconds(run)[0])
    return found


def pulse() -> float:
    """CPU seconds of a fixed loop of Python's: more than at its best where others slow the machine down."""
    return min(cpu_seconds(lambda: sum(k * k for k in range(100_000)))[0] for _ in range(5))


def median_seconds(run: Callable[[], Any], enough: float = 0.2) -> float:
    """Median of the CPU times of a call, after a first that compiles.

    It is repeated until `enough` seconds are spent, or ten times that on fewer than three runs.
    """
    run()
    found: list[float] = []
    while not found or sum(found) < (enough if len(found) > 2 else 10.0 * enough):
        found.append(cpu_seconds(run)[0])
        if len(found) == 25:
            break
    return median(found)


def peak_megabytes() -> float:
    """Peak of this process' resident memory.

    From Linux's own record where there is one: what `getrusage` tells a process may be the peak of its parent.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return next(float(line.split()[1]) / 1024.0 for line in status.open() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024.0 if sys.platform != "darwin" else 1024.0**2)


def in_a_process_of_its_own(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a new process, whose memory peak is its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
        return alone.submit(function, *arguments).result()


class Process(NamedTuple):
    """What a command cost, processes that it started included."""

    cpu: float
    wall: float


def cost_of_command(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Process:
    """Run a command, its output thrown away; Python keeps its bytecode, as for users, whatever this process is told.

    Raises
    ------
    subprocess.CalledProcessError
        If it fails; what it wrote to standard error is in the message.
    """
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **(environment or {})}
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stderr is not None
        said = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, [*command, said])
    wall = time.perf_counter() - started
    return Process(usage.ru_utime + usage.ru_stime, wall)
