"""Verify certified brackets on thousands of adversarial samples, in rational arithmetic.

The families of samples stress the certificates: nearly cancelling scores, repeated draws, clusters of width 1e-11,
numbers and gaps at the ends of the accepted range, lattices, draws at and near bounds, tight spanners, complete graphs,
extreme weights, scales that differ by hundreds of powers of two, diffusion operators, slices, the classical
discrepancy, and Wasserstein distances. The solvers alternate. The optimum is computed exactly by a dual simplex method
on integers, and verified by weak duality; for larger samples and nonlinear programs it is enclosed by rational feasible
points. The function g of a graph discrepancy must satisfy every row of the program up to the rounding of its values.
The last five families compare results that must agree: permuted draws, split weights, scaling by a power of two, units
of one, and all solvers. The oracle is in `tests/support`.

    certified   a valid bracket                       wrong     rational arithmetic contradicts the bracket
    refused     a typed error with a valid bracket    crashed   any other exception, or a NumPy warning
    unjudged    the oracle did not finish             hung      no result within the deadline; the process was killed

    python benchmarks/torture.py [--seed N] [--samples N] [--family TEXT] [--solver NAME] [--jobs N] [--quick]
    python benchmarks/torture.py --save DIR ...      save samples that are wrong, crashed or hung
    python benchmarks/torture.py --replay FILE       repeat a saved sample

The exit code is 1 if any sample has an incorrect bracket, crashes, hangs or is not checked.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.adversaries import SAME, Instance
from support.ordeal import ALL, Outcome, make, put

VERDICTS = ("certified", "refused", "wrong", "crashed", "hung", "unjudged")
BAD = VERDICTS[2:]
STARTING = 1200.0  # seconds for a new process to compile or load all kernels
JUDGING = 120.0  # seconds for the oracle
FEWER = {
    "classical": 0.6,
    "larger": 0.4,
    "hurried": 0.1,
    "solvers agree": 0.2,
    "repeats": 0.7,
}  # number of samples, relative to an equal share per family


@dataclass
class Row:
    """Counts of the outcomes of a family or solver."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(VERDICTS, 0))
    gap: float = 0.0
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.counts[outcome.verdict] += 1
        self.gap = max(self.gap, outcome.gap) if outcome.gap == outcome.gap else self.gap
        self.seconds = max(self.seconds, outcome.seconds)

    def show(self, name: str) -> str:
        """Return a line of the table."""
        numbers = "".join(f"{self.counts[verdict]:10d}" for verdict in VERDICTS)
        return f"{name:18}{sum(self.counts.values()):7d}{numbers}{self.gap:10.0e}{self.seconds:8.2f}"


@dataclass(frozen=True)
class Task:
    """Family, seed and solver of a sample."""

    family: str
    seed: int
    solver: str = ""

    def instance(self) -> Instance:
        """Return the instance."""
        made = make(self.family, self.seed)
        return made.by(self.solver) if self.solver in made.solvers else made


def work(pipe) -> None:
    """Process tasks from a pipe; report when steinkit has finished, and then the outcome."""
    for family in ("plain", "classical", "sliced", "wide"):
        for seed in range(6):
            put(make(family, seed), family, seed)
    pipe.send("ready")
    while (task := pipe.recv()) is not None:
        instance = task.instance()
        outcome = put(instance, task.family, task.seed, lambda: pipe.send("answered"))
        pipe.send((instance.solver if instance.measure == "graph" else instance.measure, outcome))


class Worker:
    """A process that runs tasks in sequence and is killed at a timeout."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.process: multiprocessing.Process | None = None

    def start(self) -> None:
        """Start the process and wait until all kernels are compiled or loaded."""
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        if not self.pipe.poll(STARTING) or self.pipe.recv() != "ready":
            raise SystemExit("a worker did not start")

    def put(self, task: Task) -> tuple[str, Outcome]:
        """Run a task; return its solver and outcome."""
        if self.process is None:
            self.start()
        solver = task.instance().solver
        try:
            self.pipe.send(task)
            for seconds, verdict in ((self.deadline, "hung"), (JUDGING, "unjudged")):
                if not self.has_message_within(seconds):
                    self.end()
                    return solver, Outcome(verdict, f"no message within {seconds:g} s", float("nan"), seconds)
                message = self.pipe.recv()
            return message
        except EOFError:
            self.end()
            return solver, Outcome("crashed", "the process died", float("nan"), 0.0)

    def has_message_within(self, seconds: float) -> bool:
        """Wait for a message until the process has used half of the given time on a processor."""
        began, used = time.monotonic(), self.processor_seconds
        while not self.pipe.poll(seconds):
            if self.processor_seconds - used > 0.5 * seconds or time.monotonic() - began > STARTING:
                return False
        return True

    @property
    def processor_seconds(self) -> float:
        """CPU time of the process from /proc; the wall time if it is not available."""
        try:
            numbers = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:
            return time.monotonic()
        return sum(map(int, numbers)) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Kill the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def finish(self) -> None:
        """Ask the process to exit, and kill it if it does not."""
        if self.process is not None:
            self.pipe.send(None)
            self.process.join(10.0)
        self.end()


def tasks(settings: argparse.Namespace) -> list[Task]:
    """Return the tasks, distributed over the families."""
    families = [name for name in ALL if settings.family in name]
    if not families:
        raise SystemExit(f"no family matches {settings.family!r}; choose {', '.join(ALL)}")
    shares = {name: FEWER.get(name, FEWER["larger"] if name in SAME else 1.0) for name in families}
    unit = settings.samples / sum(shares.values())
    counts = {name: math.ceil(unit * share) for name, share in shares.items()}
    first = 1_000_000 * settings.seed
    return [Task(name, first + k, settings.solver) for name, count in counts.items() for k in range(count)]


def outcomes(asked: Sequence[Task], jobs: int, deadline: float) -> Iterator[tuple[Task, str, Outcome]]:
    """Yield the outcomes of all tasks, from one or several processes."""
    if jobs == 1:
        worker = Worker(deadline)
        for task in asked:
            yield task, *worker.put(task)
        worker.finish()
        return
    from concurrent.futures import ThreadPoolExecutor, as_completed

    workers = [Worker(deadline) for _ in range(jobs)]

    def share(number: int, task: Task) -> tuple[Task, str, Outcome]:
        return task, *workers[number].put(task)

    pools = [ThreadPoolExecutor(1) for _ in workers]
    futures = [pools[k % jobs].submit(share, k % jobs, task) for k, task in enumerate(asked)]
    for future in as_completed(futures):
        yield future.result()
    for worker in workers:
        worker.finish()


def keep(folder: Path, task: Task, outcome: Outcome) -> Path:
    """Save a sample that failed."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{task.family.replace(' ', '_')}-{task.seed}{'-' * bool(task.solver)}{task.solver}.json"
    record = {"family": task.family, "seed": task.seed, "verdict": outcome.verdict, "why": outcome.why}
    file.write_text(json.dumps({**record, "instance": json.loads(task.instance().as_json())}, indent=1) + "\n")
    return file


def replay(file: Path) -> int:
    """Repeat a saved sample."""
    record = json.loads(file.read_text())
    instance = Instance.from_json(json.dumps(record["instance"]))
    outcome = put(instance, record["family"], record["seed"])
    print(f"{outcome.verdict} in {outcome.seconds:.2f} s, gap {outcome.gap:.1e} {outcome.why}")
    return int(outcome.verdict in BAD)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    parser.add_argument("--samples", type=int, default=5000, metavar="N", help="number of samples (default: 5000)")
    parser.add_argument("--family", default="", metavar="TEXT", help="only families with TEXT in their name")
    parser.add_argument("--solver", default="", metavar="NAME", help="solver for all graph discrepancies")
    parser.add_argument("--deadline", type=float, default=20.0, metavar="S", help="seconds per sample (default: 20)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="number of processes (default: 1)")
    parser.add_argument("--quick", action="store_true", help="run 60 samples")
    parser.add_argument("--save", type=Path, metavar="DIR", help="directory for failing samples")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="repeat a saved sample")
    settings = parser.parse_args(arguments)
    if settings.samples < 1 or settings.jobs < 1 or settings.seed < 0:
        parser.error("--samples and --jobs must be at least 1, --seed not negative")
    if settings.replay is not None:
        return replay(settings.replay)
    settings.samples = 60 if settings.quick else settings.samples

    began, asked = time.monotonic(), tasks(settings)
    families: dict[str, Row] = {}
    solvers: dict[str, Row] = {}
    total, failures = Row(), []
    for done, (task, solver, outcome) in enumerate(outcomes(asked, settings.jobs, settings.deadline), 1):
        for rows, name in ((families, task.family), (solvers, solver)):
            rows.setdefault(name, Row()).add(outcome)
        total.add(outcome)
        if outcome.verdict in BAD:
            failures.append(f"{task.family} {task.seed} by {solver}: {outcome.verdict}: {outcome.why}")
            if settings.save is not None:
                failures[-1] += f" [{keep(settings.save, task, outcome)}]"
            print(failures[-1], file=sys.stderr, flush=True)
        if done % 250 == 0:
            print(f"{done} of {len(asked)}, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)

    print(
        f"{'class':18}{'tried':>7}" + "".join(f"{verdict:>10}" for verdict in VERDICTS) + f"{'worst gap':>10}{'s':>8}"
    )
    for rows in (families, solvers):
        print("\n".join(row.show(name) for name, row in rows.items()), end="\n\n")
    print(total.show("all"))
    print(f"seed {settings.seed}, {time.monotonic() - began:.0f} s")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
