"""Sweeps that are killed, and folders of sweeps that are damaged: what is lost, done twice, left behind or believed.

Kills: ``steinkit sweep`` is started again and again, and at a random moment it, or one of its workers, is sent KILL,
TERM or INT. A sweep that was ended goes on in its folder. Its records must be those of a sweep that nobody disturbed,
each once, with those that were there when it was killed among them. It ends within five seconds, or half as many of a
processor where the machine gives it less than half of one; five seconds later no process of it may be left. Damage: a
bit of a file of a finished sweep's folder is flipped, or the file cut off; reading the folder and running the sweep
again must give the same result, or name the file. Strangers: a file or folder in it is replaced by a link to something
outside, or by a pipe; what is outside must stay as it is, and an answer come at once, in words. The exit code is 1 if
anything is otherwise.

    python benchmarks/kills.py [--kills 100] [--flips 500] [--seed 0] [--quick]

It takes some five minutes on two cores, and Linux, in whose /proc it looks processes up.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import steinkit as sk
from steinkit.errors import SteinkitError

MODEL = """
import time
import steinkit as sk

def score(points):
    time.sleep(0.05)
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
CASES = tuple(itertools.product(("KILL", "TERM", "INT"), ("worker", "parent"), (1, 2)))
END = 5.0  # seconds that processes have to end
STRANGE = (  # what a stranger's folder may hold in another shape
    *("lock", "records.jsonl", "sweep.json", "result.json"),
    *("damaged/records.jsonl", "samples", "damaged", "samples/draws.npz"),
)
PRECIOUS = b"precious\n"
LONG = 600.0  # seconds after which a sweep hangs, on a machine however busy


@dataclass(frozen=True)
class Ended:
    """What came of a kill."""

    case: tuple[str, str, int]
    lost: int = 0
    repeated: int = 0
    different: int = 0
    orphans: int = 0
    failed: bool = False


class Sweep:
    """A sweep in a folder, as a command that may be killed."""

    def __init__(self, folder: Path, jobs: int) -> None:
        self.folder, self.jobs, self.mark = folder, jobs, str(folder)
        folder.mkdir(parents=True)
        (folder / "model.py").write_text(MODEL)
        (folder / "sweep.toml").write_text(CONFIGURATION)

    def start(self) -> subprocess.Popen[bytes]:
        """The command, started."""
        command = [sys.executable, "-m", "steinkit", "sweep", str(self.folder / "sweep.toml")]
        return subprocess.Popen(
            [*command, "-o", str(self.folder / "out"), "--jobs", str(self.jobs)],
            env=os.environ | {MARK: self.mark},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def lines(self) -> list[bytes]:
        """Records that are there to their end."""
        path = self.folder / "out" / "records.jsonl"
        return path.read_bytes().split(b"\n")[:-1] if path.exists() else []

    @property
    def processes(self) -> dict[int, str]:
        """Commands of the processes of this sweep, by their numbers."""
        found = {}
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                if f"{MARK}={self.mark}\0".encode() in Path(f"/proc/{number}/environ").read_bytes():
                    found[int(number)] = Path(f"/proc/{number}/cmdline").read_bytes().decode()
            except OSError:
                continue
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--flips", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="2 kills and 10 flips")
    options = parser.parse_args()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background job would hand on that INT is ignored
    kills, flips = (2, 10) if options.quick else (options.kills, options.flips)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        wrong = kills_table(Path(folder), kills, options.seed)
        wrong += damage_table(Path(folder), flips, options.seed)
        wrong += strangers_table(Path(folder))
    print(f"\n{wrong} wrong; {time.monotonic() - began:.0f} s")
    if wrong:
        sys.exit(1)


def kills_table(folder: Path, kills: int, seed: int) -> int:
    """Print what came of the kills; how many went wrong."""
    wanted, seconds = {}, {}
    for k, jobs in enumerate((1, 1, 2)):  # the first loads everything
        undisturbed = Sweep(folder / f"undisturbed-{k}", jobs)
        began = time.monotonic()
        if undisturbed.start().wait(LONG) != 0:
            raise SystemExit("the sweep fails without being disturbed")
        seconds[jobs], wanted[jobs] = time.monotonic() - began, records_of(undisturbed.lines)
    if wanted[1] != wanted[2]:
        raise SystemExit("records depend on the number of jobs")

    def run(k: int) -> Ended:
        case = CASES[k % len(CASES)]
        rng = np.random.default_rng([seed, k])
        ended = killed_once(folder / f"kill-{k}", case, seconds[case[2]], wanted[1], rng)
        print(f"kill {k + 1} of {kills}: {ended}", file=sys.stderr)
        return ended

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(run, range(kills)))
    print(f"Kills of sweeps of {len(wanted[1])} cells, at random moments of some {seconds[1]:.1f} s")
    columns = ("kills", "lost", "repeated", "different", "orphans", "failed")
    print(f"{'signal to':26}" + "".join(f"{each:>11}" for each in columns))
    for case in dict.fromkeys(each.case for each in found):
        rows = [each for each in found if each.case == case]
        counts = [len(rows), *(sum(getattr(each, column) for each in rows) for column in columns[1:])]
        name = f"{case[0]} {case[1]}, {case[2]} job{'s' * (case[2] > 1)}"
        print(f"{name:26}" + "".join(f"{each:11}" for each in counts))
    return sum(each != Ended(each.case) for each in found)


def killed_once(
    folder: Path, case: tuple[str, str, int], seconds: float, wanted: dict[str, str], rng: np.random.Generator
) -> Ended:
    """Kill a sweep, or a worker of it, at a moment at which it runs; then let it go on to its end."""
    name, victim, jobs = case
    for attempt in itertools.count():
        sweep = Sweep(folder / str(attempt), jobs)
        process = sweep.start()
        time.sleep(rng.uniform(0.0, seconds))
        if send(sweep, process, signal.Signals[f"SIG{name}"], victim):
            break
        process.wait(LONG)  # it was done before
    if not ends(process, LONG if victim == "worker" else END):
        process.kill()
        return Ended(case, failed=True)
    orphans = left_after(sweep, END)
    kept = sweep.lines
    failed = victim == "worker" and process.returncode != 0
    if process.returncode != 0:
        failed |= sweep.start().wait(LONG) != 0
    lines = sweep.lines
    counts, found = Counter(json.loads(line)["cell"] for line in lines), records_of(lines)
    return Ended(
        case,
        lost=len(set(kept) - set(lines)) + len(wanted.keys() - found.keys()),
        repeated=sum(count - 1 for count in counts.values()),
        different=sum(found[cell] != wanted.get(cell) for cell in found),
        orphans=orphans,
        failed=bool(failed),
    )


def ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a process ends in time; one that gets less than half of a processor has half of the time on that."""
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
    """What a process has used, itself."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def send(sweep: Sweep, process: subprocess.Popen[bytes], number: signal.Signals, victim: str) -> bool:
    """Send the signal, to a worker once there is one; whether there was somebody to send it to."""
    while process.poll() is None:
        if victim == "parent":
            process.send_signal(number)
            return True
        workers = [each for each, command in sweep.processes.items() if "popen_loky" in command]
        if workers:
            try:
                os.kill(workers[0], number)
            except ProcessLookupError:
                return False
            return True
        time.sleep(0.01)
    return False


def left_after(sweep: Sweep, seconds: float) -> int:
    """How many processes of a sweep that has ended are there when so much time is over."""
    until = time.monotonic() + seconds
    while (left := len(sweep.processes)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def records_of(lines: list[bytes]) -> dict[str, str]:
    """Records without what differs from run to run, by their cells."""
    return {record["cell"]: timeless(record) for record in map(json.loads, lines)}


def timeless(record: dict[str, object]) -> str:
    results = [{**entry, "seconds": None} for entry in record["results"]]
    return json.dumps({**record, "seconds": None, "checksum": None, "results": results}, sort_keys=True)


def damage_table(folder: Path, flips: int, seed: int) -> int:
    """Print what came of damage to each kind of file; how many went wrong."""
    whole = folder / "whole"
    wanted = raced(whole)
    files = sorted(path.relative_to(whole) for path in whole.glob("**/*") if path.is_file() and path.stat().st_size)
    rng = np.random.default_rng([seed, 1 << 20])
    found: dict[str, Counter[str]] = {}
    for k in range(flips):
        copy = shutil.copytree(whole, folder / "copy")
        file = files[k % len(files)]
        harm(copy / file, rng)
        kind = "samples/*.npz" if file.suffix == ".npz" else str(file)
        said = outcome(copy, copy / file, wanted)
        found.setdefault(kind, Counter())[said] += 1
        if said in ("in silence", "crashed"):
            print(f"flip {k + 1}: {file} {said}", file=sys.stderr)
        shutil.rmtree(copy)
        if (k + 1) % 100 == 0:
            print(f"flip {k + 1} of {flips}", file=sys.stderr)
    columns = ("named", "of no account", "in silence", "crashed")
    print(f"\n{'Bits flipped, or ends cut off, of':34}{'tried':>7}" + "".join(f"{each:>15}" for each in columns))
    for kind, counts in found.items():
        print(f"{kind:34}{counts.total():7}" + "".join(f"{counts[each]:15}" for each in columns))
    return sum(counts["in silence"] + counts["crashed"] for counts in found.values())


def strangers_table(folder: Path) -> int:
    """Print what came of links and pipes in a folder; how many did harm."""
    found: dict[str, Counter[str]] = {}
    for kind, name, begun in itertools.product(("link", "pipe"), STRANGE, (True, False)):
        place = folder / "stranger"
        if begun:
            shutil.copytree(folder / "whole", place / "out")
        else:
            (place / "out").mkdir(parents=True)
        (place / "outside").mkdir()
        for victim in (place / "victim", place / "outside" / "draws.npz", place / "outside" / ".steinkit-0.tmp"):
            victim.write_bytes(PRECIOUS)
        replace_by(kind, place / "out" / name, place / ("outside" if name in ("samples", "damaged") else "victim"))
        said = {said_of(act, place / "out") for act in ("read", "sweep")}
        outside = list((place / "outside").iterdir())
        if len(outside) != 2 or any(each.read_bytes() != PRECIOUS for each in (place / "victim", *outside)):
            said = {"harmed"}
        counts = found.setdefault(f"{kind} as {name}", Counter())
        counts[next(each for each in ("harmed", "crashed", "refused", "of no account") if each in said)] += 1
        shutil.rmtree(place)
    columns = ("refused", "of no account", "harmed", "crashed")
    print(f"\n{'A stranger left a':34}{'tried':>7}" + "".join(f"{each:>15}" for each in columns))
    for kind, counts in found.items():
        print(f"{kind:34}{counts.total():7}" + "".join(f"{counts[each]:15}" for each in columns))
    return sum(counts["harmed"] + counts["crashed"] for counts in found.values())


def replace_by(kind: str, path: Path, victim: Path) -> None:
    """Put a link to a victim, or a pipe, in the place of a file or folder; records then hold a damaged line."""
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    records = path.parent / "records.jsonl" if path.parent.name == "out" else path.parent.parent / "records.jsonl"
    if records != path:
        with open(records, "ab") as stream:
            stream.write(b"damaged\n")
    if kind == "link":
        path.symlink_to(victim)
    else:
        os.mkfifo(path)


def said_of(act: str, folder: Path) -> str:
    """What came of reading a folder, or running its sweep again; who waits for a pipe is interrupted."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(int(LONG))
    try:
        if act == "read":
            sk.read_sweep(folder)
        else:
            raced(folder)
    except SteinkitError:
        return "refused"
    except (Exception, KeyboardInterrupt) as error:
        print(f"{folder}: {type(error).__name__}: {error}", file=sys.stderr)
        return "crashed"
    finally:
        signal.alarm(0)
    return "of no account"


def raced(folder: Path) -> sk.SweepResult:
    """A race in a folder, so that there are records of its rounds, too."""
    grid = {"proposal_scale": [0.05, 1.0, 3.0]}
    given = {"seeds": 8, "measures": ("ksd", "ess"), "racing": True, "directory": folder}
    return sk.sweep(sk.targets.Normal([0.0]), "rwmh", grid=grid, options={"draws": 40}, **given)


def harm(path: Path, rng: np.random.Generator) -> None:
    """Flip a bit, or cut off the end of one file in four."""
    data = bytearray(path.read_bytes())
    if rng.random() < 0.25:
        del data[int(rng.integers(len(data))) :]
    else:
        bit = int(rng.integers(8 * len(data)))
        data[bit // 8] ^= 1 << bit % 8
    path.write_bytes(data)


def outcome(folder: Path, path: Path, wanted: sk.SweepResult) -> str:
    """Whether damage was named, changed nothing, was used in silence, or ended in an error that is no answer."""
    records = records_in(wanted)
    named = False
    try:
        try:
            if records_in(sk.read_sweep(folder)) != records:
                return "in silence"
        except SteinkitError as error:
            named = path.name in str(error)
            if not named:
                return "crashed"
        again = raced(folder)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return "crashed"
    named |= any(path.name in note for note in again.warnings)
    if records_in(again) != records or again.criteria["ksd"].to_dict() != wanted.criteria["ksd"].to_dict():
        return "in silence"
    return "named" if named else "of no account"


def records_in(result: sk.SweepResult) -> list[str]:
    return [timeless(record) for record in result.records]


if __name__ == "__main__":
    main()
