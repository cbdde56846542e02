"""Whether calls end when `max_seconds` says, whatever they are at: a table of what was asked and what it took.

Every call is on more work than the time asked for allows, or nearly so. It may take a tenth and a second more than was
asked; the exit code is 1 if one takes longer. Kernels are compiled before, on small samples: a first compilation counts
in a user's time, but cannot be cut short. Outcomes are an answer, with its relative width where it is a bracket, or the
error with the bracket it carries. Times are those of a clock on the wall, so that on a machine with other work to do
calls are late that would not be; processor times stand beside them. Run it with

    python benchmarks/deadlines.py [--quick] [--only TEXT] [--seed S]
"""

from __future__ import annotations

import argparse
import contextlib
import io
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
from steinkit.errors import SolverError, SteinkitWarning


class Case(NamedTuple):
    """A call that is held to a time: it takes its draws and that time."""

    name: str
    shape: tuple[int, int]
    seconds: float
    call: Callable[[np.ndarray, float], Any]


def target(draws: np.ndarray) -> sk.Target:
    return sk.targets.Normal(0.0, dim=draws.shape[1])


def graph(**settings: Any) -> Callable[[np.ndarray, float], Any]:
    return lambda x, s: sk.graph_stein_discrepancy(x, target(x), max_seconds=s, **settings)


def ksd(**settings: Any) -> Callable[[np.ndarray, float], Any]:
    return lambda x, s: sk.kernel_stein_discrepancy(x, target(x), max_seconds=s, **settings)


def distance(x: np.ndarray, seconds: float) -> Any:
    return sk.wasserstein_distance(x, target(x), max_seconds=seconds)


def between(x: np.ndarray, seconds: float) -> Any:
    half = len(x) // 2
    return sk.wasserstein_distance(x[:half], x[half:] + 1.0, max_seconds=seconds)


def judged(x: np.ndarray, seconds: float) -> Any:
    return sk.compare({"a": x, "b": 1.1 * x}, target(x), measures=["graph", "ksd"], max_seconds=seconds)


def from_command_line(*options: str) -> Callable[[np.ndarray, float], Any]:
    """``steinkit score`` on a file, reading included."""

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
    Case("graph, coarser spanner", (60_000, 2), 6.0, graph(tolerance=1e-2)),
    Case("graph, block", (3000, 3), 3.0, graph(engine="block")),
    Case("graph, first_order", (3000, 5), 3.0, graph(engine="first_order", tolerance=1e-6)),
    Case("graph, highs", (3000, 3), 3.0, graph(engine="highs")),
    Case("graph, cvxpy", (2000, 3), 3.0, graph(engine="cvxpy")),
    Case("graph, cvxpy:CLARABEL", (2000, 3), 3.0, graph(engine="cvxpy:CLARABEL")),
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
    Case("wasserstein, two samples", (6000, 2), 2.0, between),
    Case("wasserstein, to a target", (300_000, 1), 1.0, distance),
    Case("verdict", (100_000, 20), 4.0, lambda x, s: sk.verdict(x, target(x), max_seconds=s)),
    Case("curve", (20_000, 3), 5.0, lambda x, s: sk.curve(x, target(x), measure="graph", max_seconds=s)),
    Case("compare", (20_000, 3), 6.0, judged),
    Case("steinkit score", (30_000, 3), 10.0, from_command_line("--measure", "graph")),
    Case("steinkit score, all", (20_000, 2), 6.0, from_command_line("--measure", "graph", "--measure", "ksd")),
)  # fmt: skip


def outcome(call: Callable[[], Any]) -> str:
    """What came of a call, in a few words."""
    try:
        found = call()
    except SolverError as error:
        return f"{type(error).__name__}, in [{error.lower:.3g}, {error.upper:.3g}]"
    if isinstance(found, str):
        return found
    if hasattr(found, "gap"):
        coarse = f", dilation {found.dilation:.3g}" if getattr(found, "dilation_asked", None) else ""
        return f"answer to {found.gap:.0e} by {getattr(found, 'engine', 'its own solver')}{coarse}"
    return "answer"


def warm_up(cases: tuple[Case, ...]) -> None:
    """Compile the kernels."""
    for case in cases:
        n, dim = case.shape
        print(f"compiling for {case.name}", file=sys.stderr)
        outcome(lambda: case.call(np.random.default_rng(0).standard_normal((min(n, 120), dim)), 600.0))  # noqa: B023


def rows(cases: tuple[Case, ...], seed: int) -> Iterator[tuple[Case, float, float, str]]:
    """Cases with the time and the processor time they took, and what came of them."""
    for number, case in enumerate(cases):
        draws = np.random.default_rng([seed, number]).standard_normal(case.shape)
        began, worked = time.monotonic(), time.process_time()
        found = outcome(lambda: case.call(draws, case.seconds))  # noqa: B023
        yield case, time.monotonic() - began, time.process_time() - worked, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few cases only, and no exit code")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", SteinkitWarning)
    cases = tuple(case for case in CASES if arguments.only in case.name)
    if arguments.quick:
        cases = tuple(case for case in cases if case.seconds <= 1.0)
    warm_up(cases)
    late = 0
    print(f"{'call':28s} {'draws':>12s} {'asked':>6s} {'took':>7s} {'CPU s':>7s}       outcome")
    for case, took, worked, found in rows(cases, arguments.seed):
        is_late = took > 1.1 * case.seconds + 1.0
        late += is_late
        size = "x".join(map(str, case.shape))
        mark = "LATE" if is_late else ""
        print(
            f"{case.name:28s} {size:>12s} {case.seconds:6.1f} {took:7.2f} {worked:7.2f} {mark:>5s} {found}", flush=True
        )
    print(f"{late} of {len(cases)} calls took more than a tenth and a second over what was asked")
    if late and not arguments.quick:
        sys.exit(1)


if __name__ == "__main__":
    main()
