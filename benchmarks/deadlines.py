"""Check that all computations end within `max_seconds`.

There are two kinds of calls. The calls in CASES require at least about the time that is allowed. The other calls
compute all measures for samples with 1000 to a million draws and one to a thousand coordinates. The draws are
independent, or from a random walk if similar neighbors change the computing time. A call is late if it takes more than
one and a half times its limit plus two seconds. The exit code is 1 if a call is late.

Each call runs in a process that is forked from this one, so that its memory can be measured and remaining threads
cannot affect other calls. Kernels are compiled in advance on small samples because compilation cannot be interrupted.
For each call, the table lists either the result (with the relative width of its bracket) or the error. Times are wall
times, so calls may be late on a busy machine. If a call gets less than half of a processor, its CPU time is used
instead. After ten minutes, a call is treated as hanging.

    python benchmarks/deadlines.py [--quick] [--only TEXT] [--cases N] [--seed S] [--most GIGABYTES]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import multiprocessing
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import steinkit as sk
from steinkit.cli import commands
from steinkit.errors import SolverError, SteinkitError, SteinkitWarning

_HUNG = 600.0  # seconds
SHAPES = (
    (1000, 1), (1000, 3), (1000, 30), (1000, 300), (1000, 1000), (2000, 200), (10_000, 2), (10_000, 10), (10_000, 100),
    (30_000, 3), (100_000, 1), (100_000, 5), (100_000, 50), (300_000, 30), (1_000_000, 1), (1_000_000, 10),
)  # fmt: skip
CAPS = (1.0, 6.0)  # seconds
QUICK = (
    *((name, (1000, 300), 1.0) for name in ("graph", "moments", "sliced test")),
    *((name, (1000, 3), 1.0) for name in ("graph", "graph, walk")),
    ("verdict", (100_000, 5), 1.0),
)


class Case(NamedTuple):
    """Call with a time limit, as a function of the draws and the limit."""

    name: str
    shape: tuple[int, int]
    seconds: float
    call: Callable[[np.ndarray, float], Any]
    walk: bool = False

    @property
    def jobs(self) -> int:
        """Number of processors that the call may use."""
        return 2 if "2 jobs" in self.name else 1

    def draws(self, generator: np.random.Generator) -> np.ndarray:
        """Return standard normal draws, or draws from a slow random walk."""
        independent = generator.standard_normal(self.shape)
        return 0.02 * independent.cumsum(axis=0) if self.walk else independent


def target(draws: np.ndarray) -> sk.Target:
    return sk.targets.Normal(0.0, dim=draws.shape[1])


def graph(**settings: Any) -> Callable[[np.ndarray, float], Any]:
    return lambda x, s: sk.graph_stein_discrepancy(x, target(x), max_seconds=s, **settings)


def ksd(**settings: Any) -> Callable[[np.ndarray, float], Any]:
    return lambda x, s: sk.kernel_stein_discrepancy(x, target(x), max_seconds=s, **settings)


def distance(x: np.ndarray, seconds: float) -> Any:
    return sk.wasserstein_distance(x, target(x), max_seconds=seconds)


def judged(x: np.ndarray, seconds: float) -> Any:
    return sk.compare({"a": x, "b": 1.1 * x}, target(x), measures=["graph", "ksd"], max_seconds=seconds)


def from_command_line(*options: str) -> Callable[[np.ndarray, float], Any]:
    """Run ``steinkit score`` on a file, including reading the file."""

    def call(x: np.ndarray, seconds: float) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "draws.npz"
            np.savez(path, points=x)
            arguments = ["--target", "normal", "-p", f"dim={x.shape[1]}", "--max-seconds", str(seconds), *options]
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                code = commands.main(["score", str(path), *arguments], standalone_mode=False)
        return f"exit code {code}"

    return call


CASES = (
    Case("greedy spanner", (30_000, 3), 2.0, lambda x, s: sk.greedy_spanner(x, max_seconds=s)),
    Case("greedy spanner, 2 jobs", (30_000, 5), 1.0, lambda x, s: sk.greedy_spanner(x, max_seconds=s, n_jobs=2)),
    Case("graph, chain", (1_000_000, 1), 1.0, graph()),
    Case("graph, chain", (1_000_000, 1), 8.0, graph()),
    Case("graph", (30_000, 3), 10.0, graph()),
    Case("graph, spanner out of time", (60_000, 2), 6.0, graph(tolerance=1e-2)),
    Case("graph, block", (3000, 3), 3.0, graph(solver="block")),
    Case("graph, first_order", (3000, 5), 3.0, graph(solver="first_order", tolerance=1e-6)),
    Case("graph, highs", (3000, 3), 3.0, graph(solver="highs")),
    Case("graph, cvxpy", (2000, 3), 3.0, graph(solver="cvxpy")),
    Case("graph, cvxpy:CLARABEL", (2000, 3), 3.0, graph(solver="cvxpy:CLARABEL")),
    Case("graph, complete", (1500, 3), 1.0, graph(graph="complete")),
    Case("graph, complete", (1500, 3), 3.0, graph(graph="complete")),
    Case("graph, complete", (1500, 3), 12.0, graph(graph="complete")),
    Case("graph, complete", (3000, 2), 3.0, graph(graph="complete")),
    Case("graph, complete", (600, 8), 3.0, graph(graph="complete")),
    Case("graph, own units", (20_000, 4), 2.0, graph(units="own")),
    Case("classical", (200_000, 1), 3.0, lambda x, s: sk.classical_stein_discrepancy(x, target(x), max_seconds=s)),
    Case("ksd", (50_000, 5), 2.0, ksd()),
    Case("ksd, 2 jobs", (50_000, 5), 2.0, ksd(n_jobs=2)),
    Case("kernel test", (10_000, 5), 2.0, lambda x, s: sk.kernel_stein_test(x, target(x), max_seconds=s)),
    Case("moments", (100_000, 60), 1.0, lambda x, s: sk.moment_stein_discrepancy(x, target(x), max_seconds=s)),
    Case("sliced", (100_000, 20), 2.0, lambda x, s: sk.sliced_stein_discrepancy(x, target(x), max_seconds=s)),
    Case("sliced test", (100_000, 20), 2.0, lambda x, s: sk.sliced_stein_test(x, target(x), max_seconds=s)),
    Case("wasserstein, to a target", (300_000, 1), 1.0, distance),
    Case("verdict", (100_000, 20), 4.0, lambda x, s: sk.verdict(x, target(x), max_seconds=s)),
    Case("curve", (20_000, 3), 5.0, lambda x, s: sk.curve(x, target(x), measure="graph", max_seconds=s)),
    Case("compare", (20_000, 3), 6.0, judged),
    Case("steinkit score", (30_000, 3), 10.0, from_command_line("--measure", "graph")),
    Case("steinkit score, all", (20_000, 2), 6.0, from_command_line("--measure", "graph", "--measure", "ksd")),
)  # fmt: skip


MEASURES: dict[str, Callable[[np.ndarray, float], Any]] = {
    "graph": graph(),
    "ksd": ksd(),
    "kernel test": lambda x, s: sk.kernel_stein_test(x, target(x), max_seconds=s),
    "thin": lambda x, s: sk.thin(sk.as_sample(x), target(x), m=100, max_seconds=s),
    "moments": lambda x, s: sk.moment_stein_discrepancy(x, target(x), max_seconds=s),
    "sliced": lambda x, s: sk.sliced_stein_discrepancy(x, target(x), max_seconds=s),
    "sliced test": lambda x, s: sk.sliced_stein_test(x, target(x), max_seconds=s),
    "verdict": lambda x, s: sk.verdict(x, target(x), max_seconds=s),
    "bias": lambda x, s: sk.estimate_bias(x, target(x), max_seconds=s),
    "repair": lambda x, s: sk.repair(x, target(x), max_seconds=s),
}
ON_A_LINE: dict[str, Callable[[np.ndarray, float], Any]] = {
    "classical": lambda x, s: sk.classical_stein_discrepancy(x, target(x), max_seconds=s),
    "wasserstein, to a target": distance,
}
WALKS = ("graph", "moments", "verdict", "bias")


def over_sizes() -> Iterator[Case]:
    """Return all measures, sizes and limits."""
    for shape, seconds in itertools.product(SHAPES, CAPS):
        for name, call in (MEASURES | ON_A_LINE if shape[1] == 1 else MEASURES).items():
            yield Case(name, shape, seconds, call)
            if name in WALKS:
                yield Case(f"{name}, walk", shape, seconds, call, walk=True)


def outcome(call: Callable[[], Any]) -> str:
    """Describe the outcome of a call."""
    try:
        found = call()
    except SolverError as error:
        return f"{type(error).__name__}, in [{error.lower:.3g}, {error.upper:.3g}]"
    except SteinkitError as error:
        return f"{type(error).__name__}: {error!s:.60}"
    if isinstance(found, str):
        return found
    if hasattr(found, "gap"):
        return f"answer to {found.gap:.0e} by {getattr(found, 'solver', 'its own solver')}"
    return "answer"


class Cost(NamedTuple):
    """Time of a call, additional memory in bytes, and outcome."""

    seconds: float
    processor: float
    memory: float
    outcome: str

    def faults(self, case: Case) -> str:
        """Return the problems in capital letters."""
        limit = 1.5 * case.seconds + 2.0
        is_starved = self.processor < 0.5 * self.seconds
        late = self.seconds > (_HUNG if is_starved else limit) or self.processor > limit * case.jobs
        return " ".join(["LATE"] * late + ["KILLED"] * (self.outcome == "killed"))


def peak_memory() -> float:
    """Return the peak memory of this process since `forget_peak`, or 0 if it is unknown."""
    with contextlib.suppress(OSError):
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        return 1024.0 * float(found.group(1)) if found else 0.0
    return 0.0


def forget_peak() -> None:
    """Reset the memory measurement."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def cost_of(case: Case, draws: np.ndarray, pipe: Any) -> None:
    """Make a call, and send its measurements."""
    warnings.simplefilter("ignore", SteinkitWarning)
    forget_peak()
    start, began, worked = peak_memory(), time.monotonic(), time.process_time()
    found = outcome(lambda: case.call(draws, case.seconds))
    took, worked = time.monotonic() - began, time.process_time() - worked
    pipe.send(Cost(took, worked, peak_memory() - start, found))
    pipe.close()
    os._exit(0)  # without waiting for remaining threads


def measured(case: Case, draws: np.ndarray) -> Cost:
    """Measure a call in a separate process."""
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else None)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=cost_of, args=(case, draws, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        return Cost(0.0, 0.0, 0.0, "killed")
    finally:
        process.join()


def compiled(cases: list[Case]) -> None:
    """Compile the kernels."""
    known = set()
    for case in cases:
        if (case.name, min(case.shape[1], 4)) not in known:
            known.add((case.name, min(case.shape[1], 4)))
            print(f"compiling for {case.name}", file=sys.stderr)
            n, dim = min(case.shape[0], 120), min(case.shape[1], 8)
            draws = np.random.default_rng(0).standard_normal((n, dim))
            outcome(lambda: case.call(draws, 600.0))  # noqa: B023


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few short cases only")
    parser.add_argument("--only", default="", help="cases with TEXT in their name")
    parser.add_argument("--cases", type=int, help="number of cases, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=float, default=0.1, help="gigabytes of draws in the largest cases")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", SteinkitWarning)
    sizes = list(over_sizes())
    cases = [case for case in (*CASES, *sizes) if arguments.only in case.name]
    cases = [case for case in cases if 8e-9 * np.prod(case.shape) <= arguments.most]
    if arguments.quick:
        cases = [case for case in sizes if case[:3] in QUICK]
    if arguments.cases:
        chosen = np.random.default_rng(arguments.seed).permutation(len(cases))[: arguments.cases]
        cases = [cases[k] for k in sorted(chosen)]
    compiled(cases)
    wrong = 0
    heads = f"{'asked':>5s} {'took':>6s} {'CPU s':>6s} {'MB':>5s}"
    print(f"{'call':26s} {'draws':>11s} {heads}       outcome")
    for number, case in enumerate(cases):
        found = measured(case, case.draws(np.random.default_rng([arguments.seed, number])))
        faults = found.faults(case)
        wrong += bool(faults)
        size = "x".join(map(str, case.shape))
        print(
            f"{case.name:26s} {size:>11s} {case.seconds:5.1f} {found.seconds:6.2f} {found.processor:6.2f} "
            f"{1e-6 * found.memory:5.0f} {faults:>6s} {found.outcome}",
            flush=True,
        )
    print(f"{wrong} of {len(cases)} calls were late")
    if wrong:
        sys.exit(1)


if __name__ == "__main__":
    main()
