"""Read thousands of damaged files, and check that each is read correctly or rejected.

    python benchmarks/fuzz_files.py                       # more than 10,000 files, five minutes
    python benchmarks/fuzz_files.py --quick
    python benchmarks/fuzz_files.py --seed 7 --files 2000 --reader csv --reader npz
    python benchmarks/fuzz_files.py --save FOLDER         # stores failures

Valid files of every format are mutated. Bytes are changed, removed, moved and repeated, and format-specific mutations
replace cells, headers, shapes, members, keys and values. A separate process reads each file, with a time limit and a
memory limit. Data that are read without error must be finite. For simple formats, they must be bit-for-bit identical to
those of a second, strict parser. The exit code is 1 if any file caused a traceback, exceeded a limit, or was read
incorrectly. NetCDF and Zarr files that exceed a limit are counted but do not change the exit code. The Zarr format
requires the package zarr and is skipped otherwise.
"""

from __future__ import annotations

import argparse
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fuzzing import corpora, readers

FILES = {  # number of files per reader, chosen based on cost; the total is slightly more than 10,000
    "csv": 2000,
    "gz": 900,
    "stan": 1300,
    "npy": 1300,
    "npz": 1500,
    "netcdf": 1000,
    "zarr": 1000,
    "toml": 1000,
    "units": 500,
    "report": 400,
}
DEADLINE = 10.0  # seconds; half of this limit, in CPU seconds, if the process gets less than half of a processor
LONG = 120.0  # seconds after which a file counts as hanging
MEMORY = 3_000_000_000  # bytes of address space beyond those of a process that has loaded all readers
OUTCOMES = ("read", "refused", "misread", "traceback", "hung", "over memory")
FAULTS = OUTCOMES[2:]
UNTRUSTED = ("netcdf", "zarr")  # damaged files can exceed the limits in other libraries; see SECURITY.md


@dataclass
class Tally:
    """Outcomes of the files of a reader."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    shown: list[str] = field(default_factory=list)

    def add(self, outcome: str, seconds: float, text: str, *, is_fault: bool) -> None:
        """Count a file."""
        self.outcomes[outcome] += 1
        self.slowest = max(self.slowest, seconds)
        if is_fault:
            self.shown.append(text)


class Worker:
    """Process that reads mutated files, one per input line.

    It is restarted after it is killed.
    """

    def __init__(self, memory: int, complaints: IO[bytes]) -> None:
        self.memory = memory
        self.complaints = complaints
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def try_file(self, reader: str, seed: int) -> tuple[str, float, str]:
        """Return the outcome, the seconds and the message of one file."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        begin = time.perf_counter()
        process.stdin.write(f"{reader} {seed}\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            used = _processor_seconds(process.pid)
            while not (answered := selector.select(DEADLINE)):
                waited = time.perf_counter() - begin
                if waited > LONG or _processor_seconds(process.pid) - used > 0.5 * DEADLINE:
                    break
        seconds = time.perf_counter() - begin
        line = process.stdout.readline() if answered else ""
        if line:
            outcome, _, text = line.rstrip("\n").partition("\t")
            return outcome, seconds, text
        self.end()
        return ("traceback" if answered else "hung"), seconds, "the process that read it died" if answered else "hung"

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, __file__, "--worker", str(self.memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.complaints,
                text=True,
            )
            assert self.process.stdout is not None
            if self.process.stdout.readline() != "ready\n":
                self.end()
                self.complaints.seek(0)
                text = self.complaints.read().decode(errors="replace")
                raise RuntimeError(
                    f"the process that reads files could not be started; its output was:\n{text[-5000:]}"
                )
        return self.process

    def end(self) -> None:
        """End the process if there is one."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def _processor_seconds(number: int) -> float:
    """Return the CPU time of a process, without child processes."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def work(memory: int) -> None:
    """Read files on request, and report the outcome of each."""
    import resource

    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        readers.load()
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + memory, resource.RLIM_INFINITY))
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            reader, seed = line.split()
            outcome, text = readers.outcome(reader, corpora.mutated(reader, int(seed)))
            print(f"{outcome}\t{' '.join(text.split())[:300]}", file=answers, flush=True)


def run(names: list[str], files: dict[str, int], seed: int, save: Path | None) -> dict[str, Tally]:
    """Read a number of files with every reader."""
    tallies = {name: Tally() for name in names}
    with tempfile.TemporaryFile() as complaints, Worker(MEMORY, complaints) as worker:
        for name, tally in tallies.items():
            seeds = np.random.SeedSequence([seed, corpora.NAMES.index(name)]).generate_state(files[name], np.uint64)
            for each in map(int, seeds):
                outcome, seconds, text = worker.try_file(name, each)
                is_fault = outcome in FAULTS and not (name in UNTRUSTED and outcome in FAULTS[2:])
                tally.add(outcome, seconds, f"{name} {each}: {outcome}: {text}", is_fault=is_fault)
                if outcome in FAULTS and save is not None:
                    (save / f"{name}-{each}{corpora.ENDINGS[name]}").write_bytes(corpora.mutated(name, each))
            print(f"{name}: {dict(tally.outcomes)}", file=sys.stderr, flush=True)
    return tallies


def main() -> int:
    """Print the table, and return 1 if a file failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="of the mutations")
    parser.add_argument("--files", type=int, help="files per reader")
    parser.add_argument("--reader", action="append", choices=corpora.NAMES, help="repeatable; all of them by default")
    parser.add_argument("--quick", action="store_true", help="a dozen files per reader")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="store the files that failed")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker is not None:
        work(asked.worker)
        return 0
    if asked.save is not None:
        asked.save.mkdir(parents=True, exist_ok=True)
    names = asked.reader or corpora.available()
    most = 12 if asked.quick else asked.files
    begin = time.perf_counter()
    tallies = run(names, {name: most or FILES[name] for name in names}, asked.seed, asked.save)
    print(f"{'reader':10}{'tried':>8}" + "".join(f"{outcome:>13}" for outcome in OUTCOMES) + f"{'slowest, s':>13}")
    for name, tally in [*tallies.items(), ("together", _together(tallies))]:
        counts = "".join(f"{tally.outcomes[outcome]:13}" for outcome in OUTCOMES)
        print(f"{name:10}{tally.outcomes.total():8}{counts}{tally.slowest:13.2f}")
    print(f"seed {asked.seed}, {time.perf_counter() - begin:.0f} s")
    faults = [text for tally in tallies.values() for text in tally.shown]
    print("\n".join(faults[:50]), file=sys.stderr)
    return int(bool(faults))


def _together(tallies: dict[str, Tally]) -> Tally:
    total = Tally()
    for tally in tallies.values():
        total.outcomes += tally.outcomes
        total.slowest = max(total.slowest, tally.slowest)
    return total


if __name__ == "__main__":
    sys.exit(main())
