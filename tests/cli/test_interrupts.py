"""Control-C during work, imports and callbacks from C code."""

import ctypes
import os
import signal
import subprocess
import sys

import pytest

from steinkit.cli.terminal import comes_of_interrupt, heeded_interrupts


@pytest.fixture(autouse=True)
def heeded():
    """Restore Python's handler for SIGINT, which background processes ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_in_a_callback_of_c_code_ends_the_process():
    """ctypes discards exceptions raised in callbacks."""
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
def test_other_unraisable_errors_are_reported(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with heeded_interrupts():
        ctypes.CFUNCTYPE(None)(lambda: 1 // 0)()
    assert [each.exc_type for each in seen] == [ZeroDivisionError]


def test_errors_raised_from_an_interrupt():
    class Named:
        def __set_name__(self, owner, name):
            raise KeyboardInterrupt

    with pytest.raises((RuntimeError, KeyboardInterrupt)) as made:  # KeyboardInterrupt since Python 3.12
        type("Owner", (), {"attribute": Named()})
    assert comes_of_interrupt(made.value)
    assert not comes_of_interrupt(ValueError("of itself"))


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_an_interrupt_during_imports_prints_no_traceback():
    script = """
import os, signal, sys
from steinkit.__main__ import run
signal.signal(signal.SIGINT, signal.default_int_handler)
def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, type("Finder", (), {"find_spec": staticmethod(interrupt)}))
sys.argv = ["steinkit", "samplers"]
run()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-2, "", "")


def test_exit_code(steinkit, sample_file, write_code):
    model = write_code("def score(x):\n    raise KeyboardInterrupt\n")
    outcome = steinkit("score", sample_file, "--target", f"{model}:score", "-o", "result.json")
    assert (outcome.code, outcome.out) == (130, "")
    assert "interrupted" in outcome.err
    assert not os.path.exists("result.json")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_interrupt_ends_the_process(monkeypatch):
    ended = []
    monkeypatch.setattr("os._exit", ended.append)

    def interrupt_twice():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            assert ended == []
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), heeded_interrupts():
        interrupt_twice()
    assert ended == [130]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ignored_interrupts_remain_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with heeded_interrupts():
        signal.raise_signal(signal.SIGINT)
