"""Progress bars: resources, hidden bars, and the default."""

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
PLAIN = "from tqdm import tqdm; bar = tqdm(total=3, disable=True)"  # control: tqdm itself


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
@pytest.mark.parametrize(("bar", "leaks"), [(OURS, False), (PLAIN, True)])
def test_a_killed_process_leaks_no_semaphore(bar, leaks):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", ENDED.format(bar=bar)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL
    assert ("leaked semaphore" in done.stderr) == leaks


def test_a_hidden_bar_has_the_same_interface(capsys):
    with progress_bar("cells", 3, shown=False) as bar:
        bar.update()
        bar.set_postfix_str("half", refresh=False)
        assert (bar.n, bar.total) == (0, 3)
    assert list(progress_bar("steps", shown=False, steps=range(3))) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_watched_sets_the_default(capsys, monkeypatch):
    monkeypatch.setattr("tqdm.std.time", iter(range(10_000)).__next__)  # each reading of the clock advances one second
    x = np.random.default_rng(0).standard_normal((300, 3))
    sk.verdict(x, scores=-x)
    assert capsys.readouterr().err == ""
    with watched(True):
        sk.verdict(x, scores=-x)
    shown = capsys.readouterr().err
    assert "moments" in shown
    assert "slices" in shown
    with watched(True):
        assert list(progress_bar("steps", shown=False, steps=range(3))) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")
