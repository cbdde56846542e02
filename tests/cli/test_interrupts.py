"""The first control-C of a command is never lost, wherever it comes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

import pytest

from steinkit.cli.terminal import comes_of_interrupt, heeded_interrupts


@pytest.fixture(autouse=True)
def heeded():
    """SIGINT as Python takes it: what runs in the background is started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_one_that_comes_while_c_code_calls_back_ends_the_process():
    """Raised there it would be lost: ctypes takes no exception on."""
    script = """
import ctypes, os, signal, time
from steinkit.cli.terminal import heeded_interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.01)
with heeded_interrupts():
    ctypes.CFUNCTYPE(None)(interrupted)()
    print("lost")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.count("interrupting") == 1


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_other_exceptions_that_nobody_can_take_are_reported_as_before(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with heeded_interrupts():
        ctypes.CFUNCTYPE(None)(lambda: 1 // 0)()
    assert [each.exc_type for each in seen] == [ZeroDivisionError]


def test_an_error_that_python_makes_of_an_interrupt_is_one():
    class Named:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    with pytest.raises((RuntimeError, KeyboardInterrupt)) as made:  # the latter from Python 3.12
        type("Owner", (), {"attribute": Named()})
    assert comes_of_interrupt(made.value)
    assert not comes_of_interrupt(ValueError("of itself"))


WHEN = {
    "while modules are imported": "sys.meta_path.insert(0, type('Finder', (), {'find_spec': staticmethod(interrupt)}))",
    "when the work is done": "atexit.register(interrupt)",
    "while the interpreter ends": """
class Last:
    def __del__(self, kill=os.kill, me=os.getpid()):
        kill(me, 2)
sys.last = Last()
""",
}


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
@pytest.mark.parametrize(("when", "code"), [(when, -2 if "import" in when else 0) for when in WHEN])
def test_before_and_after_the_work_one_brings_no_traceback(when, code):
    """Before, the process ends by the signal, of which shells make 130; after, the result and its code stand."""
    script = f"""
import atexit, os, signal, sys
from steinkit.__main__ import run
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
{WHEN[when]}
sys.argv = ["steinkit", "samplers"]
run()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr
    assert ("rwmh" in done.stdout) == (code == 0)
