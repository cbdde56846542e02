"""CPU times of all tasks for which users wait, compared with goals.

Chains are compared with a plain NumPy loop of one chain (`plain_loops`), in alternating runs, by CPU time per step and
chain. A ratio is the speedup. For a logistic regression of the size of MNIST's 7 against 9 (12,214 rows, d = 51 with
the intercept), the CPU time per data point of the tests is compared with that of the exact likelihood. All other values
are CPU seconds, as medians of several runs for short tasks, except for the sweep, which is measured in wall seconds
with two jobs. Large tasks and commands run in separate processes, and their peak resident memory is reported. Kernels
are loaded before the measurement, except for commands, which include loading, and for the first score, which includes
compilation. The goals apply to one type of machine that runs no other programs. A fixed loop before and after each row
reports the slowdown relative to its fastest run so far.

    python benchmarks/waits.py [--quick] [--only NAME] [--mnist FILE] [--json]

FILE is a CSV file of the regression with a column `response`, with the values 0 and 1 or -1 and 1, and an intercept
among the other columns. By default, the design is Gaussian, with the spectrum and the separation of such data.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from costs import (
    cost_of_command,
    cpu_of_all,
    cpu_seconds,
    in_turn,
    median_seconds,
    peak_megabytes,
    pulse,
)
from instances import normal, stein_program
from solvers import measure, ours
from waits_of_chains import chains, data
from waits_table import HEAD, Row, Scope
from waits_table import line as table_line

import steinkit as sk

SAMPLE = Path(__file__).parents[1] / "examples" / "data" / "sgld_5e-3.csv"
TOGETHER = 0.1  # seconds; rows measured within this time share a reference measurement


def spanner(scope: Scope) -> Iterator[Row]:
    """Measure the greedy spanner of N(0, I) in the plane."""
    for n, start, wanted in ((1000, ".057", 0.02), (3000, ".22", 0.15), (10_000, "4.0", 0.8)):
        points = normal(scope.of(n), 2)[0]
        enough = 0.1 * scope.repeats if n < 10_000 else 0.0
        now = median_seconds(partial(sk.greedy_spanner, points), enough)
        yield Row(f"spanner {len(points)}x2", "CPU s", start, scope.wanted(wanted), now)
    for n, start, wanted in ((30_000, "40", 3.0), (100_000, "-", 15.0))[: scope.large]:
        size = scope.of(n)
        yield _large(scope, f"spanner {size}x2", start, wanted, "spanner", size, 120.0)


def large_scores(scope: Scope) -> Iterator[Row]:
    """Measure complete discrepancies of many draws, with graph and certificate."""
    for n, start, wanted, most in ((30_000, "52", 15.0, 150.0), (100_000, "fails", 90.0, 360.0))[: scope.large]:
        size = scope.of(n)
        yield _large(scope, f"score {size}x2 to 1e-3, whole", start, wanted, "score", size, most)


def _large(scope: Scope, work: str, start: str, wanted: float, what: str, n: int, most: float) -> Row:
    now, peak, remark = scope.alone(_alone, what, n, most)
    return Row(
        work, "CPU s", start, scope.wanted(wanted), now, f"peak {peak:.0f} MB" + (f"; {remark}" if remark else "")
    )


def _alone(what: str, n: int, most: float) -> tuple[float | None, float, str]:
    """Return the CPU seconds of a spanner or score (None after the time limit), the peak memory, and a remark."""

    def take(n: int, seconds: float | None) -> str:
        draws, target = normal(n, 2)
        if what == "spanner":
            return f"{len(sk.greedy_spanner(draws, max_seconds=seconds))} edges"
        found = sk.graph_stein_discrepancy(draws, target, tolerance=1e-3, max_seconds=seconds)
        width = (found.upper - found.lower) / found.upper
        return f"bracket {width:.0e}, dilation {found.dilation:g}, {len(found.graph)} edges"

    warnings.simplefilter("ignore", sk.SteinkitWarning)  # separate process; the remark reports the outcome
    take(100, None)
    try:
        seconds, remark = cpu_seconds(partial(take, n, most))
    except sk.SolverError:  # including time limits
        return None, peak_megabytes(), f"no answer within {most:g} s"
    return seconds, peak_megabytes(), remark


def small_scores(scope: Scope) -> Iterator[Row]:
    """Measure complete discrepancies of a thousand draws."""
    draws, target = normal(scope.of(1000), 2)
    runs = {
        tolerance: partial(sk.graph_stein_discrepancy, draws, target, tolerance=tolerance) for tolerance in (1e-6, 1e-2)
    }
    for run in runs.values():
        run()
    found = in_turn(runs, 5 * scope.repeats)
    for tolerance, start, wanted in ((1e-6, ".155", 0.08), (1e-2, ".123", 0.045)):
        yield Row(
            f"score {len(draws)}x2, whole, to {tolerance:.0e}",
            "CPU s",
            start,
            scope.wanted(wanted),
            median(found[tolerance]),
        )


def programs(scope: Scope) -> Iterator[Row]:
    """Measure the program of one coordinate, on a given graph."""
    for n, dim, solver, tolerance, start, wanted in (
        (3000, 3, "block", 1e-6, "2.5", 1.5), (1000, 5, "first_order", 1e-3, ".03-.06", 0.03),
    ):  # fmt: skip
        ours(solver, stein_program(*normal(20, dim)), 1e-2)
        size = scope.of(n)
        program = stein_program(*normal(size, dim))
        found = measure(partial(ours, solver, program, tolerance), scope.repeats)
        yield Row(
            f"program {size}x{dim} to {tolerance:.0e}, a coordinate",
            "CPU s",
            start,
            scope.wanted(wanted),
            found.seconds,
            f"solver {solver}, bracket {found.gap:.0e}, {found.iterations} iterations",
        )


def line(scope: Scope) -> Iterator[Row]:
    """Measure a million draws in one dimension."""
    size = scope.of(1_000_000)
    seconds, gap, peak = scope.alone(_on_a_line, size)
    remark = f"bracket {gap:.0e}, peak {peak:.0f} MB"
    yield Row(f"program {size}x1 to 1e-06", "CPU s", "12.7", scope.wanted(5.0), seconds, remark)


def _on_a_line(n: int) -> tuple[float, float, float]:
    ours("chain", stein_program(*normal(20, 1)), 1e-2)
    found = measure(partial(ours, "chain", stein_program(*normal(n, 1)), 1e-6), 1)
    return found.seconds, found.gap, peak_megabytes()


def sweep(scope: Scope) -> Iterator[Row]:
    """Measure Gorham and Mackey, section 5.3: eight step sizes, 50 seeds, 1000 draws."""
    from sweeps import FINAL, STEP_SIZES, run

    full = scope.factor == 1
    seeds, draws, jobs = (50, 1000, 2) if full else (1, 40, 1)
    run(jobs, min(draws, 50), n_jobs=jobs)  # imports and compilation
    started, spent = time.perf_counter(), cpu_of_all()
    run(seeds, draws, n_jobs=jobs, tolerance=FINAL)
    wall, cpu = time.perf_counter() - started, cpu_of_all() - spent
    work = f"sweep {len(STEP_SIZES)} x {seeds} x {draws}, --jobs {jobs}"
    yield Row(
        work,
        "wall s",
        "32",
        scope.wanted(12.0),
        wall,
        f"{cpu:.3g} CPU s in all, {1e3 * cpu / len(STEP_SIZES) / seeds:.0f} ms a cell",
    )


def start_up(scope: Scope) -> Iterator[Row]:
    """Measure commands in separate processes, and Python's startup with NumPy and SciPy."""
    python, full = [sys.executable, "-c", "import numpy, scipy.sparse.linalg"], scope.factor == 1
    cost_of_command(python)
    bare = median(cost_of_command(python).cpu for _ in range(scope.repeats))
    command = [sys.executable, "-m", "steinkit"]
    score = [*command, "score", str(SAMPLE), "--target", "mixture-posterior"]
    alone = [*score, "--reference", "0"]
    for work, words, start, wanted in (
        ("steinkit --help", [*command, "--help"], ".5", 0.2),
        ("a warm score of 1000x2, no verdict", [*alone, "--no-verdict"], "1.3", 0.8),
        ("a warm score with its verdict", alone, "2.4", 1.5),
        ("a warm score with verdict and reference samples", score, "", None),
    )[: 4 if full else 1]:
        cost_of_command(words)
        found = [cost_of_command(words) for _ in range(scope.repeats)]
        yield _command(scope, work, start, wanted, median(each.cpu for each in found), bare)
    if not full:
        return
    with tempfile.TemporaryDirectory() as folder:
        ten = Path(folder) / "ten.csv"
        np.savetxt(ten, normal(1000, 10)[0], delimiter=",", header=",".join("abcdefghij"), comments="")
        ten_dimensions = [*command, "score", str(ten), "--target", "normal", "-p", "mean=0", "-p", "dim=10"]
        for work, words, start, wanted in (
            ("the first score ever, no verdict", [*alone, "--no-verdict"], "15-21", 8.0),
            ("the first score ever, with its verdict", alone, "", None),
            ("the first score ever, verdict and reference samples", score, "27.6", 5.0),
            ("the first score ever, of 1000x10", ten_dimensions, "", 8.0),
        ):
            empty = tempfile.mkdtemp(dir=folder)
            yield _command(scope, work, start, wanted, cost_of_command(words, {"NUMBA_CACHE_DIR": empty}).cpu, bare)


def _command(scope: Scope, work: str, start: str, wanted: float | None, now: float, bare: float) -> Row:
    remark = f"{now / bare:.3g} times starting Python with NumPy and SciPy"
    return Row(work, "CPU s", start, wanted and scope.wanted(wanted), now, remark)


PARTS: dict[str, Callable[[Scope], Iterator[Row]]] = {
    "chains": chains,
    "data": data,
    "spanner": spanner,
    "small scores": small_scores,
    "programs": programs,
    "line": line,
    "start-up": start_up,
    "sweep": sweep,
    "large scores": large_scores,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", default="", metavar="NAME", help=f"parts with NAME in their name: {', '.join(PARTS)}")
    parser.add_argument("--mnist", metavar="FILE", help="data of a regression on MNIST's 7 and 9")
    parser.add_argument("--json", action="store_true", help="print a JSON document instead of the table")
    settings = parser.parse_args()
    chosen = {name: part for name, part in PARTS.items() if settings.only in name}
    if not chosen:
        parser.error(
            f"--only must be contained in the name of a part, one of {', '.join(PARTS)}; got {settings.only!r}"
        )
    scope = Scope(100, 1, 1, settings.mnist) if settings.quick else Scope(1, 3, 2, settings.mnist)
    found: list[tuple[Row, float]] = []
    before = best = pulse()
    if not settings.json:
        print(HEAD, flush=True)
    for name, part in chosen.items():
        began = last = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sk.SteinkitWarning)  # for samples that are too small
            for row in part(scope):
                if time.perf_counter() - last > TOGETHER or not found:
                    after = pulse()
                    load, before, best = 0.5 * (before + after), after, min(best, after)
                found.append((row, load))
                last = time.perf_counter()
                if not settings.json:
                    print(table_line(row, load / best), flush=True)
                print(f"{last - began:7.1f} s  {name}: {row.work}", file=sys.stderr, flush=True)
    if settings.json:
        rows = [asdict(row) | {"reached": row.reached, "slower": load / best} for row, load in found]
        print(json.dumps(rows, indent=1))
    else:
        print(f"\nThe fixed loop that measures the speed of the machine took at least {1e3 * best:.2f} ms.")


if __name__ == "__main__":
    main()
