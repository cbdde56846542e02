"""Bars belong to their process: nothing between processes is left when that is ended."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import steinkit as sk
from steinkit.runtime.progress import progress_bar, watched

ENDED = """
import multiprocessing, os, signal
multiprocessing.set_start_method("spawn")  # as in workers
{bar}
os.kill(os.getpid(), signal.SIGKILL)
"""
OURS = "from steinkit.runtime.progress import progress_bar; bar = progress_bar('cells', 3, shown=True)"
PLAIN = "from tqdm import tqdm; bar = tqdm(total=3, disable=True)"  # the control


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.parametrize(("bar", "leaks"), [(OURS, False), (PLAIN, True)])
def test_a_process_that_is_ended_is_not_said_to_leak(bar, leaks):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", ENDED.format(bar=bar)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    assert ("leaked semaphore" in done.stderr) == leaks


def test_a_bar_that_nobody_sees_does_what_a_bar_does(capsys):
    with progress_bar("cells", 3, shown=False) as bar:
        bar.update()
        bar.set_postfix_str("half", refresh=False)
        assert (bar.n, bar.total) == (0, 3)
    assert list(progress_bar("steps", shown=False, steps=range(3))) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_work_that_is_not_told_shows_its_bar_while_it_is_watched(capsys, monkeypatch):
    """The verdict has no option for it: the command line says that somebody watches."""
    monkeypatch.setattr("tqdm.std.time", iter(range(10_000)).__next__)  # a second passes at every look at the clock
    x = np.random.default_rng(0).standard_normal((300, 3))
    sk.verdict(x, scores=-x)
    assert capsys.readouterr().err == ""
    with watched(True):
        sk.verdict(x, scores=-x)
    said = capsys.readouterr().err
    assert "moments" in said
    assert "slices" in said
    with watched(True):
        assert list(progress_bar("steps", shown=False, steps=range(3))) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
