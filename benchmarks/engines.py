"""How long engine `highs` takes for one coordinate, against the modelling engine `cvxpy` in the same process.

Both are given coordinate 1 of the same Stein program, to the package's default tolerance, and both call HiGHS: `highs`
hands the dual to its interior point method, `cvxpy` states the primal in CVXPY and leaves the rest to defaults. Times
are CPU times of the process, all threads, for building the solver's model and solving it; medians of runs in turn.
Only one coordinate is solved, because `cvxpy` is slow on the larger instances. The brackets are relative widths proved
by the certificate from what each engine returned. Run it with

    python benchmarks/engines.py [--quick] [--repeats N]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

import steinkit as sk
from steinkit.discrepancy.certificate import certify
from steinkit.discrepancy.engines import Candidate, Settings, engine_named
from steinkit.discrepancy.matrix_form import CoordinateProgram
from steinkit.discrepancy.program import SteinProgram

ENGINES = ("highs", "cvxpy")
TARGETS = {"mixture 1000x2": 0.3, "logit-like 300x7": 0.1}  # CPU time of highs over that of cvxpy, at most
Instance = tuple[np.ndarray, sk.Target]


def normal(n: int, dim: int) -> Instance:
    return np.random.default_rng(0).standard_normal((n, dim)), sk.targets.Normal(np.zeros(dim))


def mixture(n: int) -> Instance:
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 1.0], [1.0, -1.0]])
    component = rng.integers(0, 2, n)
    return means[component] + 0.45 * rng.standard_normal((n, 2)), sk.targets.GaussianMixture(means, sd=0.45)


def logit_like(n: int) -> Instance:
    """As narrow in seven dimensions as the posterior of a logistic regression."""
    draws = 0.3 * np.random.default_rng(0).standard_normal((n, 7))
    return draws, sk.targets.Normal(np.zeros(7), 0.09 * np.ones(7))


INSTANCES: dict[str, Callable[[], Instance]] = {
    "normal 300x2": lambda: normal(300, 2),
    "mixture 1000x2": lambda: mixture(1000),
    "normal 500x3": lambda: normal(500, 3),
    "logit-like 200x7": lambda: logit_like(200),
    "logit-like 300x7": lambda: logit_like(300),
}
QUICK: dict[str, Callable[[], Instance]] = {
    "normal 100x2": lambda: normal(100, 2),
    "mixture 200x2": lambda: mixture(200),
    "normal 100x3": lambda: normal(100, 3),
    "logit-like 50x7": lambda: logit_like(50),
}


@dataclass(frozen=True, eq=False)
class FirstCoordinate:
    """What engines ask of a `SteinProgram`, for its first coordinate alone."""

    first: CoordinateProgram
    tolerance: float
    dim: int = 1

    def coordinates(self) -> Iterator[CoordinateProgram]:
        """The only one there is."""
        return iter([self.first])


def first_coordinate(draws: np.ndarray, target: sk.Target) -> FirstCoordinate:
    """The program of the draws on the 2-spanner, built once for both engines."""
    weights = np.full(len(draws), 1.0 / len(draws))
    program = SteinProgram(draws, target.score(draws), weights, sk.greedy_spanner(draws, 2.0))
    return FirstCoordinate(program.coordinate(0), tolerance=1e-6 if draws.shape[1] <= 3 else 1e-3)


def cpu_seconds(engine: str, program: FirstCoordinate) -> tuple[float, Candidate]:
    """CPU time of one solve, and its answer."""
    solve = engine_named(engine)[1]
    started = time.process_time()
    (candidate,) = solve(program, Settings(program.tolerance))
    return time.process_time() - started, candidate


def compare(name: str, program: FirstCoordinate, repeats: int) -> None:
    """Print one row of the table."""
    seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    gaps = {}
    for _ in range(repeats):
        for engine in ENGINES:
            taken, answer = cpu_seconds(engine, program)
            seconds[engine].append(taken)
            gaps[engine] = certify(answer.program, answer.y, answer.p).gap
    ratio = median(ours / peer for ours, peer in zip(*seconds.values(), strict=True))
    rows = program.first.matrix.shape[0]
    times = " ".join(f"{median(seconds[engine]):11.2f}" for engine in ENGINES)
    brackets = " ".join(f"{gaps[engine]:11.0e}" for engine in ENGINES)
    target = TARGETS.get(name)
    verdict = "" if target is None else f"{target:.2g} " + ("met" if ratio <= target else "MISSED")
    print(f"{name:18}{rows:7} {times} {ratio:8.3f}  {verdict:11} {brackets}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small instances, which have no targets")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each engine, in turn (default: 3)")
    settings = parser.parse_args()
    if settings.repeats < 1:
        parser.error(f"--repeats must be at least 1; received {settings.repeats}")

    warm_up = first_coordinate(*normal(10, 2))
    for engine in ENGINES:
        cpu_seconds(engine, warm_up)
    print(f"One coordinate; CPU seconds, median of {settings.repeats} runs in turn; relative certified brackets")
    times, brackets = (" ".join(f"{f'{engine}, {unit}':>11}" for engine in ENGINES) for unit in ("s", "gap"))
    print(f"{'instance':18}{'rows':>7} {times} {'ratio':>8}  {'target':11} {brackets}")
    for name, make in (QUICK if settings.quick else INSTANCES).items():
        compare(name, first_coordinate(*make()), settings.repeats)


if __name__ == "__main__":
    main()
