"""Worker processes end with their sweep."""

import os
import signal
import subprocess
import sys
import time

import pytest

SLOW = """
import signal, sys, time
import steinkit as sk
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it in background processes
def sampler(target, *, seed, scale):
    open(f"{sys.argv[1]}/{scale}", "w").close()
    time.sleep(600.0)
given = {"grid": {"scale": [1.0, 2.0]}, "seeds": 1, "measures": ("ess",)}
sk.sweep(sk.targets.Normal([0.0]), sampler, **given, n_jobs=2)
"""


def processes_with(mark):
    """Return the processes with a mark in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as stream:
                if mark.encode() in stream.read():
                    found.append(int(name))
        except OSError:
            continue
    return found


def wait_until(reached, seconds):
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_its_sweep(number, tmp_path):
    mark = f"STEINKIT_TEST={tmp_path}"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(tmp_path)],
        env=os.environ | {"STEINKIT_TEST": str(tmp_path)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        wait_until(lambda: len(os.listdir(tmp_path)) == 2, 120.0)
        assert len(processes_with(mark)) >= 3
    finally:
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # like Ctrl-C
        else:
            process.send_signal(number)
    assert process.wait(30.0) != 0
    wait_until(lambda: not processes_with(mark), 30.0)
