"""Kill sweeps, fill their disk and damage their files, and count the cells that are lost or run twice.

Kills: ``steinkit sweep`` is started repeatedly, and at a random moment the command or one of its workers receives KILL,
TERM or INT. The sweep is then resumed from its file. Every cell of the file must remain unchanged, and all cells must
be equal to those of an undisturbed sweep. The sweep must end within five seconds (two after INT, which Ctrl-C sends),
or within half of that in CPU time if the machine is busy. Five seconds later, none of its processes may remain. Full
disk: the file reaches a size limit, or its folder becomes read-only. The sweep must report this, lose no finished cell,
and resume. Damage: bytes of a finished sweep's file are overwritten, or its end is removed. Damage to the structure
must be reported, but SQLite cannot detect a changed number in a cell. The exit code is 1 if any check fails.

    python benchmarks/kills.py [--kills 100] [--seed 0] [--quick]

The run takes about fifteen minutes on two cores. The program requires Linux, because it finds processes in /proc.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import steinkit as sk
from steinkit.errors import SteinkitError
from steinkit.sweeps.cells import Cell
from steinkit.sweeps.store import Store

MODEL = """
import time
import steinkit as sk

def score(points):
    time.sleep(0.01)
    return -points

target = sk.Target(score=score, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)
"""
CONFIGURATION = """
target = "model.py:target"
[sampler]
name = "rwmh"
draws = 100
[grid]
proposal_scale = [0.3, 1.0, 3.0, 9.0]
[run]
seeds = 6
measures = ["ksd"]
"""
MARK = "STEINKIT_KILLS"
CASES = tuple(
    (name, victim, jobs)
    for name, (victim, jobs) in itertools.product(
        ("KILL", "TERM", "INT"),
        (("parent", 1), ("parent", 2), ("worker", 2)),  # one job has no workers
    )
)
END, INTERRUPTED = 5.0, 2.0  # time limits for processes to end, in seconds
BOUND = ("setpriv", "--bounding-set", "-dac_override")  # makes permissions apply to the root user
SIZES = (1, 30_000, 70_000, 75_000, 80_000, 90_000)  # bytes to which the file is limited, as on a full disk
LONG = 600.0  # seconds after which a sweep counts as hanging, even on a busy machine
WORKER = "popen_loky"  # part of a worker's command


@dataclass(frozen=True)
class Ended:
    """Outcome of a kill."""

    case: str
    lost: int = 0
    different: int = 0
    orphans: int = 0
    failed: bool = False


class Sweep:
    """A sweep in a folder, run as a command."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options, self.mark = folder, options, str(folder)
        self.file = folder / "out.sqlite"
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(MODEL)
        (folder / "sweep.toml").write_text(CONFIGURATION)

    def start(self, most_bytes: int | None = None, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start the command, optionally through another one or with a limit on the size of its files."""
        command = [*before, sys.executable, "-m", "steinkit", "sweep", str(self.folder / "sweep.toml")]
        return subprocess.Popen(
            [*command, "-o", str(self.file), *self.options],
            env=os.environ | {MARK: self.mark},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE if most_bytes or before else subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=None
            if most_bytes is None
            else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
        )

    @property
    def cells(self) -> dict[str, Cell]:
        """Cells in the file."""
        if not self.file.exists() or not self.file.stat().st_size:
            return {}
        with Store(self.file) as store:
            return store.cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="two kills, and one size of a full disk")
    options = parser.parse_args()
    # background jobs of a shell ignore INT
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        wrong = kills_table(place, 2 if options.quick else options.kills, options.seed)
        wrong += room_table(place, SIZES[1:2] if options.quick else SIZES)
        wrong += damage_table(place)
    print(f"\n{wrong} wrong; {time.monotonic() - began:.0f} s")
    if wrong:
        sys.exit(1)


def kills_table(folder: Path, kills: int, seed: int) -> int:
    """Print the outcomes of the kills; return the number of failures."""
    wanted: dict[str, Cell] = {}
    seconds: dict[int, float] = {}
    for k, jobs in enumerate((1, 1, 2)):  # the first run loads everything
        undisturbed = Sweep(folder / f"undisturbed-{k}", "--jobs", str(jobs))
        began = time.monotonic()
        if undisturbed.start().wait(LONG) != 0:
            raise SystemExit("the sweep fails without a kill")
        seconds[jobs], found = time.monotonic() - began, timeless(undisturbed.cells)
        if wanted and found != wanted:
            raise SystemExit("cells depend on the number of jobs")
        wanted = found
    ended = []
    for k in range(kills):
        name, victim, jobs = CASES[k % len(CASES)]
        rng = np.random.default_rng([seed, k])
        case = f"{name} {victim}, {jobs} job{'s' * (jobs > 1)}"
        sweeps = (Sweep(folder / f"kill-{k}-{attempt}", "--jobs", str(jobs)) for attempt in itertools.count())
        ended.append(killed_once(sweeps, case, name, victim, seconds[jobs], wanted, rng))
        print(f"kill {k + 1} of {kills}: {ended[-1]}", file=sys.stderr)
    print(f"Kills of sweeps of {len(wanted)} cells, at random moments of about {seconds[1]:.1f} s")
    columns = ("kills", "lost", "different", "orphans", "failed")
    print(f"{'signal to':26}" + "".join(f"{each:>11}" for each in columns))
    for case in dict.fromkeys(each.case for each in ended):
        rows = [each for each in ended if each.case == case]
        counts = [len(rows), *(sum(getattr(each, column) for each in rows) for column in columns[1:])]
        print(f"{case:26}" + "".join(f"{each:11}" for each in counts))
    return sum(each != Ended(each.case) for each in ended)


def killed_once(
    sweeps: Iterator[Sweep],
    case: str,
    name: str,
    victim: str,
    seconds: float,
    wanted: dict[str, Cell],
    rng: np.random.Generator,
) -> Ended:
    """Kill a running sweep or one of its workers, then resume the sweep."""
    for sweep in sweeps:
        process = sweep.start()
        time.sleep(rng.uniform(0.0, seconds))
        if send(sweep, process, signal.Signals[f"SIG{name}"], victim):
            break
        process.wait(LONG)  # the sweep had finished
    limit = INTERRUPTED if name == "INT" else END
    if not ends(process, LONG if victim == "worker" else limit):
        process.kill()
        return Ended(case, failed=True)
    orphans = left_after(sweep.mark, END)
    kept = sweep.cells
    failed = process.returncode != 0 and sweep.start().wait(LONG) != 0
    cells = sweep.cells
    found = timeless(cells)
    return Ended(
        case,
        lost=sum(cells.get(name) != cell for name, cell in kept.items()) + len(wanted.keys() - found.keys()),
        different=sum(found[name] != wanted.get(name) for name in found),
        orphans=orphans,
        failed=failed,
    )


def ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Return True if a process ends in time, or uses less than half of that time on a busy processor."""
    began, used = time.monotonic(), processor_seconds(process.pid)
    while time.monotonic() - began < LONG:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            if processor_seconds(process.pid) - used > 0.5 * seconds:
                return False
        else:
            return True
    return False


def processor_seconds(number: int) -> float:
    """Return the CPU time of a process, in seconds."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def processes(mark: str) -> dict[int, str]:
    """Return the commands of processes with a mark in their environment, by process number."""
    found = {}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"{MARK}={mark}\0".encode() in Path(f"/proc/{number}/environ").read_bytes():
                found[int(number)] = Path(f"/proc/{number}/cmdline").read_bytes().decode()
        except OSError:
            continue
    return found


def send(sweep: Sweep, process: subprocess.Popen[bytes], number: signal.Signals, victim: str) -> bool:
    """Send a signal to the sweep, or to a worker if there is one.

    Return False if the sweep has already ended.
    """
    while process.poll() is None:
        if victim == "parent":
            # Ctrl-C reaches every process of a terminal
            os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
            return True
        workers = [each for each, command in processes(sweep.mark).items() if WORKER in command]
        if workers:
            try:
                os.kill(workers[-1], number)
            except ProcessLookupError:
                return False
            return True
        time.sleep(0.01)
    return False


def left_after(mark: str, seconds: float) -> int:
    """Return the number of processes of an ended sweep that remain after some seconds."""
    until = time.monotonic() + seconds
    while (left := len(processes(mark))) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def timeless(cells: dict[str, Cell]) -> dict[str, Cell]:
    """Return cells without their times, by name."""
    return {name: replace(cell, sampling=0.0, scoring=0.0) for name, cell in cells.items()}


def room_table(folder: Path, sizes: Sequence[int]) -> int:
    """Print the outcomes of files limited to some sizes, and of a read-only folder; return the number of failures."""
    wanted = timeless(finished(folder / "whole").cells)
    rows: dict[str, Counter[str]] = {}
    for size in sizes:
        sweep = Sweep(folder / f"full-{size}")
        process = sweep.start(size)
        message = process.communicate(timeout=LONG)[1].decode()
        kept = sweep.cells
        again = sweep.start().wait(LONG)
        cells = sweep.cells
        right = process.returncode == 3 and "cannot be written" in message and again == 0
        right &= timeless(cells) == wanted and all(cells[name] == cell for name, cell in kept.items())
        rows.setdefault("full disk", Counter())["right" if right else "wrong"] += 1
        if not right:
            print(f"full at {size}: {process.returncode}, {again}, {len(kept)} kept, {message}", file=sys.stderr)
    sweep = finished(folder / "read-only")
    before = sweep.file.read_bytes()
    os.chmod(sweep.file, 0o444)
    os.chmod(sweep.folder, 0o555)
    process = sweep.start(before=("env",) if os.getuid() else BOUND)
    message = process.communicate(timeout=LONG)[1].decode()
    os.chmod(sweep.folder, 0o755)
    right = process.returncode == 3 and "cannot be written" in message and sweep.file.read_bytes() == before
    rows["read-only folder"] = Counter(["right" if right else "wrong"])
    if not right:
        print(f"read-only: {process.returncode}, {message}", file=sys.stderr)
    print(f"\n{'Full disk':26}{'right':>11}{'wrong':>11}")
    for name, counts in rows.items():
        print(f"{name:26}{counts['right']:11}{counts['wrong']:11}")
    return sum(counts["wrong"] for counts in rows.values())


def finished(folder: Path) -> Sweep:
    sweep = Sweep(folder)
    if sweep.start().wait(LONG) != 0:
        raise SystemExit("the sweep fails without a kill")
    return sweep


def damage_table(folder: Path) -> int:
    """Print the outcomes of damaged pages and of a removed end; return the number of undetected ones."""
    whole = folder / "raced.sqlite"
    wanted = raced(whole)
    data, page = whole.read_bytes(), 4096
    harmed = {f"page {k}": data[: k * page] + b"\xa5" * page + data[(k + 1) * page :] for k in range(len(data) // page)}
    harmed |= {f"cut at {size}": data[:size] for size in range(page // 2, len(data), 3 * page // 2)}
    counts: Counter[str] = Counter()
    for name, content in harmed.items():
        copy = folder / "copy.sqlite"
        copy.write_bytes(content)
        found = outcome(copy, wanted)
        counts[found] += 1
        if found in ("undetected", "crashed"):
            print(f"{name}: {found}", file=sys.stderr)
    columns = ("reported", "irrelevant", "undetected", "crashed")
    print(f"\n{'Overwritten pages, removed ends':34}{'tried':>7}" + "".join(f"{each:>15}" for each in columns))
    print(f"{'':34}{counts.total():7}" + "".join(f"{counts[each]:15}" for each in columns))
    return counts["undetected"] + counts["crashed"]


def raced(file: Path) -> sk.SweepResult:
    """Run a sweep with successive elimination, which also stores cells of its early rungs."""
    grid = {"proposal_scale": [0.05, 1.0, 3.0]}
    given = {"seeds": 8, "measures": ("ksd", "ess"), "racing": True, "file": file}
    return sk.sweep(sk.targets.Normal([0.0]), "rwmh", grid=grid, options={"draws": 40}, **given)


def outcome(file: Path, wanted: sk.SweepResult) -> str:
    """Return whether damage was reported, irrelevant or undetected, or raised an error."""
    outcomes = []
    for act in (sk.read_sweep, raced):
        try:
            same = [timeless({"": r}) for r in act(file).records] == [timeless({"": r}) for r in wanted.records]
            outcomes.append("irrelevant" if same else "undetected")
        except SteinkitError as error:
            outcomes.append("reported" if file.name in str(error) else "crashed")
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            outcomes.append("crashed")
    return next(each for each in ("crashed", "undetected", "reported", "irrelevant") if each in outcomes)


if __name__ == "__main__":
    main()
