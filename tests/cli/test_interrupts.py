"""The first control-C of a command is never lost, wherever it comes."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

import pytest

from steinkit.cli import _second_interrupt_ends_all


@pytest.fixture(autouse=True)
def heeded():
    """SIGINT as Python takes it: what runs in the background is started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_one_that_comes_while_c_code_calls_back_is_raised_after_it(capfd):
    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)  # the handler raises here, and ctypes takes no exception on

    callback = ctypes.CFUNCTYPE(None)(interrupted)
    hook = sys.unraisablehook

    def work() -> None:
        callback()
        for _ in range(500):
            time.sleep(0.01)

    with _second_interrupt_ends_all(), pytest.raises(KeyboardInterrupt):
        work()
    assert sys.unraisablehook is hook
    assert capfd.readouterr().err.count("interrupting") == 1


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_other_exceptions_that_nobody_can_take_are_reported_as_before(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with _second_interrupt_ends_all():
        ctypes.CFUNCTYPE(None)(lambda: 1 // 0)()
    assert [each.exc_type for each in seen] == [ZeroDivisionError]
