"""How well the cost of a solve is foretold: rows, memory and processor time, predicted and measured.

Every case runs in a process of its own, so that the peak of its memory is its own. There the engine's kernels are
compiled on a small sample and what is in use is noted; then the sample's programs are set up, their cost is foretold,
and they are solved and certified. Memory is the peak beyond what was in use before. Cases that take over a second, and
over 200 MB, are expected within a factor of two, rows to one in a hundred: the exit code is 1 if one is not. Times of
"first_order", "highs" and "cvxpy" are shown and not judged: nothing tells their iterations before they are over.
Three to five minutes of processor time:

    python benchmarks/predictions.py [--quick] [--only ENGINE] [--seed S]

After an engine has become faster, or on another machine, the last lines say by what its constants in
`steinkit/discrepancy/graph/engines/registry.py` are to be multiplied: the geometric means of measured to predicted
over the cases that matter. Multiply those in seconds (divide those a second), and run it again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from steinkit.discrepancy.graph.engines import Settings, engine_named
from steinkit.discrepancy.graph.engines.registry import Case
from steinkit.discrepancy.graph.programs.matrix_form import certify
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import complete_graph, sorted_graph
from steinkit.discrepancy.graph.spanner.greedy import span_greedily

SECONDS, BYTES, ROWS, FACTOR = 1.0, 200e6, 1000, 2.0
UNJUDGED = ("first_order", "highs", "cvxpy")


class Instance(NamedTuple):
    """A sample, and how it is solved."""

    engine: str
    n: int
    dim: int
    tolerance: float
    kind: str = "spanner"
    draws: str = "normal"


INSTANCES = (
    Instance("chain", 1000, 1, 1e-6),
    Instance("block", 300, 2, 1e-6),
    Instance("first_order", 300, 5, 1e-3),
    Instance("chain", 100_000, 1, 1e-6),
    Instance("chain", 500_000, 1, 1e-6),
    Instance("block", 3000, 2, 1e-6),
    Instance("block", 12_000, 2, 1e-6),
    Instance("block", 1200, 3, 1e-6),
    Instance("block", 4000, 3, 1e-6),
    Instance("block", 500, 5, 1e-3),
    Instance("block", 250, 3, 1e-6, "complete"),
    Instance("block", 3000, 2, 1e-6, draws="mixture"),
    Instance("block", 1200, 3, 1e-6, draws="student"),
    Instance("first_order", 8000, 4, 1e-3),
    Instance("first_order", 8000, 5, 1e-3),
    Instance("first_order", 3000, 5, 1e-5),
    Instance("first_order", 4000, 4, 1e-3, draws="correlated"),
    Instance("first_order", 4000, 5, 1e-4, draws="mixture"),
    Instance("first_order", 4000, 4, 1e-4, draws="student"),
    Instance("first_order", 400, 3, 1e-3, "complete"),
    Instance("first_order", 200, 2, 1e-3, "complete"),
    Instance("first_order", 300, 4, 1e-3, "complete", "correlated"),
    Instance("highs", 1500, 2, 1e-6),
    Instance("highs", 800, 3, 1e-6),
    Instance("highs", 300, 5, 1e-3),
    Instance("highs", 800, 3, 1e-6, draws="mixture"),
    Instance("highs", 80, 3, 1e-6, "complete"),
    Instance("cvxpy", 1000, 2, 1e-6),
    Instance("cvxpy", 500, 3, 1e-6),
)
QUICK = 3  # the first few


def sample_of(instance: Instance, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draws and scores, each of shape (n, d)."""
    n, dim = instance.n, instance.dim
    rng = np.random.default_rng([seed, n, dim])
    draws = rng.standard_normal((n, dim))
    if instance.draws == "student":
        draws = rng.standard_t(4.0, (n, dim))
        return draws, -5.0 * draws / (4.0 + draws**2)
    if instance.draws == "mixture":  # modes at 0 and at 2 in every coordinate, whose shares draws tell
        draws[: n // 2] += 2.0
        share = 1.0 / (1.0 + np.exp(2.0 * dim - 2.0 * draws.sum(axis=1)))
        return draws, 2.0 * share[:, None] - draws
    if instance.draws == "correlated":
        covariance = np.full((dim, dim), 0.8) + 0.2 * np.eye(dim)
        draws = draws @ np.linalg.cholesky(covariance).T
        return draws, -np.linalg.solve(covariance, draws.T).T
    return draws, -draws


def program_of(instance: Instance, seed: int) -> SteinProgram:
    """The programs of a sample."""
    draws, scores = sample_of(instance, seed)
    if instance.dim == 1:
        order = draws[:, 0].argsort()
        draws, scores = draws[order], scores[order]
        graph = sorted_graph(draws)
    elif instance.kind == "complete":
        graph = complete_graph(draws)
    else:
        graph = span_greedily(draws, 2.0, n_jobs=1, progress=False)
    return SteinProgram(draws, scores, np.full(len(draws), 1.0 / len(draws)), graph)


def peak() -> int:
    """Most bytes that the process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measured(instance: Instance, seed: int) -> dict[str, Any]:
    """What was foretold of an instance, and what came true."""
    engine, settings = engine_named(instance.engine), Settings(instance.tolerance)

    def solve(case: Case) -> tuple[int, float]:
        """Multipliers of the first coordinate, one a row, and the widest gap."""
        found = engine.work_on(case)
        return len(found[0].p), max(certify(each.program, each.y, each.p).gap for each in found)

    solve(Case(program_of(instance._replace(n=60), seed), settings))
    program = program_of(instance, seed)
    held = peak()
    case = Case(program, settings)
    forecast = engine.forecast(case)
    began = time.process_time()
    rows, gap = solve(case)
    took = time.process_time() - began
    return {
        "rows": [forecast.rows, rows],
        "memory": [forecast.memory, peak() - held],
        "seconds": [forecast.seconds, took],
        "gap": gap,
    }


def in_own_process(instance: Instance, seed: int) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__).resolve()), "--one", json.dumps(instance), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def failures(instance: Instance, found: dict[str, Any]) -> list[str]:
    """What was not foretold within a factor of two, of what matters."""
    judged = {"rows": ROWS, "memory": BYTES}
    if instance.engine not in UNJUDGED:
        judged["seconds"] = SECONDS
    off = []
    for name, least in judged.items():
        predicted, true = found[name]
        factor = 1.01 if name == "rows" else FACTOR
        if true > least and not true / factor <= predicted <= true * factor:
            off.append(name)
    return off


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few small instances only")
    parser.add_argument("--only", default="", help="an engine")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(Instance(*json.loads(arguments.one)), arguments.seed)))
        return
    instances = [
        each for each in (INSTANCES[:QUICK] if arguments.quick else INSTANCES) if arguments.only in each.engine
    ]
    print(f"{'engine':12s} {'draws':>11s} {'to':>6s} {'rows':>9s} {'of':>9s} {'MB':>7s} {'of':>7s} {'ratio':>6s} "
          f"{'s':>7s} {'of':>7s} {'ratio':>6s}   predicted, of measured")  # fmt: skip
    off = 0
    ratios: dict[tuple[str, str], list[float]] = {}
    for instance in instances:
        outcome = in_own_process(instance, arguments.seed)
        (rows, true_rows), (memory, true_memory), (seconds, true_seconds) = (
            outcome[name] for name in ("rows", "memory", "seconds")
        )
        bad = failures(instance, outcome)
        off += bool(bad)
        said = f"OFF: {', '.join(bad)}" if bad else ""
        print(f"{instance.engine:12s} {f'{instance.n}x{instance.dim}':>11s} {instance.tolerance:6.0e} {rows:9d} "
              f"{true_rows:9d} {memory / 1e6:7.1f} {true_memory / 1e6:7.1f} {memory / max(true_memory, 1):6.2f} "
              f"{seconds:7.2f} {true_seconds:7.2f} {seconds / true_seconds:6.2f}   "
              f"{instance.kind if instance.kind != 'spanner' else ''} "
              f"{instance.draws if instance.draws != 'normal' else ''} {said}", flush=True)  # fmt: skip
        for name, true, predicted, least in (("seconds", true_seconds, seconds, SECONDS),
                                             ("memory", true_memory, memory, BYTES)):  # fmt: skip
            if true > least:
                ratios.setdefault((instance.engine, name), []).append(true / predicted)
    print(f"{off} of {len(instances)} instances were not foretold within a factor of two where it matters")
    for (engine, name), found in ratios.items():
        print(f"measured to predicted {name} of {engine}: {np.exp(np.log(found).mean()):.2f} "
              f"({min(found):.2f} to {max(found):.2f}, {len(found)} cases)")  # fmt: skip
    sys.exit(bool(off))


if __name__ == "__main__":
    main()
