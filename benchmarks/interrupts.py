"""Interrupt every command at random moments, and check that it ends without errors or partial files.

Every command with a noticeable run time is run once without interruption. It is then run repeatedly and receives the
signal INT (Ctrl-C) at a random moment. The command must end within two seconds with exit code 130. Python must not
print "Exception ignored" or a traceback, and each output file must be complete or absent. If a command ends before the
signal, it is run again. If a command gets less than half of a processor, the two seconds are CPU seconds. The exit code
is 1 if any requirement is violated.

    python benchmarks/interrupts.py [--interrupts 60] [--seed 0] [--quick]

The run takes about ten minutes on two cores. The program requires a system that sends INT to processes, so it does not
run on Windows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

SOON = 2.0  # time limit for a command to end, in seconds
HUNG = 60.0  # seconds after which a command is killed
LONG = 600.0  # seconds after which a command counts as hanging
INTERRUPTED = 130
TICKS = os.sysconf("SC_CLK_TCK")
STARTING = 0.2  # CPU time in seconds that Python needs to start before it runs steinkit

MODEL = """
import numpy as np
import steinkit as sk

target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=60)
plane = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2)
"""
SWEEP = """
target = "normal"
[target_options]
mean = [0.0, 0.0]
[sampler]
name = "rwmh"
draws = 400
[grid]
proposal_scale = [0.3, 1.0, 3.0]
[run]
seeds = 4
measures = ["graph"]
"""
WIDE, FLAT = ("--target", "model.py:target"), ("--target", "model.py:plane")
WALK = ("--proposal-scale", "1", "--start", "0,0")
COMMANDS: dict[str, tuple[str, ...]] = {
    "verdict": ("verdict", "wide.csv", *WIDE, "-o", "verdict.json"),
    "score": ("score", "flat.csv", *FLAT, "--reference", "0", "-o", "score.json", "--plot", "score.png"),
    "score, sliced": ("score", "wide.csv", *WIDE, "-o", "sliced.json"),
    "compare": ("compare", "flat.csv", "other.csv", *FLAT, "-o", "compare.json"),
    "curve": ("curve", "flat.csv", *FLAT, "-o", "curve.json"),
    "repair": ("repair", "wide.csv", *WIDE, "-o", "repaired.csv"),
    "thin": ("thin", "flat.csv", *FLAT, "--draws", "1000", "-o", "thinned.csv"),
    "sample": ("sample", "rwmh", *FLAT, *WALK, "--draws", "100000", "-o", "sampled.csv"),
    "sweep": ("sweep", "sweep.toml", "-o", "swept", "--jobs", "2"),
    "design": ("design", "--target-error", "0.001", "--target", "gaussian-mean", "--proposal-scale", "0.1"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--interrupts", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="one interrupt of each of three commands")
    options = parser.parse_args()
    names = ["verdict", "score", "sweep"] if options.quick else list(COMMANDS)
    began, rng = time.monotonic(), np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        seconds = {name: undisturbed(Path(folder) / f"whole {k}", name) for k, name in enumerate(names)}
        found: dict[str, Counter[str]] = {name: Counter() for name in names}
        for k in range(3 if options.quick else options.interrupts):
            name = names[k % len(names)]
            text = interrupted(Path(folder) / str(k), name, seconds[name], rng)
            found[name][text or "right"] += 1
            print(f"interrupt {k + 1}, {name}: {text or 'right'}", file=sys.stderr)
    wrong = sum(counts.total() - counts["right"] for counts in found.values())
    print(f"{'command':16}{'runs, s':>9}{'interrupts':>12}{'right':>7}  otherwise")
    for name, counts in found.items():
        others = "; ".join(f"{text} ({count})" for text, count in counts.items() if text != "right")
        print(f"{name:16}{seconds[name]:9.1f}{counts.total():12}{counts['right']:7}  {others}".rstrip())
    print(f"\n{wrong} wrong; {time.monotonic() - began:.0f} s")
    if wrong:
        sys.exit(1)


def undisturbed(folder: Path, name: str) -> float:
    """Return the run time of a command, from its second run.

    The first run compiles kernels.
    """
    for attempt in range(2):
        began = time.monotonic()
        process = started(folder / str(attempt), name)
        _, errors = process.communicate(timeout=LONG)
        if process.returncode != 0:
            raise SystemExit(f"{name} fails without an interrupt:\n{errors}")
        if half_written(folder / str(attempt)):
            raise SystemExit(f"{name} leaves files that the check calls half-written")
    return time.monotonic() - began


def started(folder: Path, name: str) -> subprocess.Popen[str]:
    """Start the command in a separate folder with its input files."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for file, shape in (("wide", (800, 60)), ("flat", (1500, 2)), ("other", (1500, 2))):
        head = ",".join(f"x{j}" for j in range(shape[1]))
        np.savetxt(folder / f"{file}.csv", 0.1 + rng.standard_normal(shape), delimiter=",", header=head, comments="")
    (folder / "model.py").write_text(MODEL)
    (folder / "sweep.toml").write_text(SWEEP)
    return subprocess.Popen(
        [sys.executable, "-m", "steinkit", *COMMANDS[name]],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        restore_signals=True,
        preexec_fn=heed_interrupts,
    )


def heed_interrupts() -> None:
    """Accept INT, which background processes of a shell ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def interrupted(folder: Path, name: str, seconds: float, rng: np.random.Generator) -> str:
    """Return the problems after an interrupt at a random moment.

    The list is empty if there are none.
    """
    for attempt in range(100):
        process = started(folder / str(attempt), name)
        began = processor_seconds(process.pid)
        while process.poll() is None and processor_seconds(process.pid) - began < STARTING:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, seconds))
        if process.poll() is not None:
            process.communicate()
            continue  # the command had finished
        sent, worked = time.monotonic(), processor_seconds(process.pid)
        process.send_signal(signal.SIGINT)
        try:
            _, errors = process.communicate(timeout=HUNG)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return f"did not end within {HUNG:.0f} s"
        took, worked = time.monotonic() - sent, processor_seconds(process.pid) - worked
        if process.returncode == 0:
            continue  # the command had almost finished
        # the second code occurs before steinkit starts; shells report 130
        if process.returncode not in (INTERRUPTED, -signal.SIGINT):
            return f"exit code {process.returncode}: {errors.strip().splitlines()[-1:]}"
        for text in ("Exception ignored", "Traceback"):
            if text in errors:
                return f"printed {errors!r}"
        if took > SOON and worked > min(SOON, 0.5 * took):
            return f"took {took:.1f} s, {worked:.1f} CPU s"
        return half_written(folder / str(attempt))
    raise SystemExit(f"{name} always ended before the interrupt")


def processor_seconds(process: int) -> float:
    """Return the CPU time of all ended processes and of this one, from /proc."""
    ended = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    try:
        return (
            ended + sum(map(int, Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13])) / TICKS
        )
    except OSError:
        return ended


def half_written(folder: Path) -> str:
    """Return the first incomplete file, or an empty string if all files are complete."""
    left = [path for path in folder.rglob("*.tmp") if path.is_file()]
    if left:
        return f"left {left[0].name}"
    for path in folder.rglob("*"):
        if path.suffix in IS_WHOLE and path.is_file() and not IS_WHOLE[path.suffix](path.read_bytes()):
            return f"{path.name} is half-written"
    return ""


def is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


IS_WHOLE: dict[str, Callable[[bytes], bool]] = {
    ".json": is_json,
    ".png": lambda data: data.endswith(b"IEND\xaeB`\x82"),
    ".csv": lambda data: data.endswith(b"\n") and len({line.count(b",") for line in data.splitlines()}) == 1,
    ".npz": lambda data: data.rfind(b"PK\x05\x06") >= 0,  # end of a ZIP file
}


if __name__ == "__main__":
    if os.name != "posix":
        raise SystemExit("INT can be sent only on POSIX systems")
    main()
