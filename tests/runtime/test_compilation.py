"""Announcement of compilation, and calls to kernels from Python and from kernels."""

import subprocess
import sys
from contextvars import Context

import numba
import numpy as np
import pytest

from steinkit.runtime import compilation
from steinkit.runtime.compilation import announced_compilation, array_kernel, inner_kernel, kernel


def double(x):
    return 2.0 * x


@pytest.fixture
def fresh(monkeypatch):
    """Simulate a new process on a machine without cached code."""
    monkeypatch.setattr(compilation, "_announced", [])
    monkeypatch.setattr(compilation, "_is_kept", lambda compiled: False)


@pytest.mark.usefixtures("fresh")
def test_compilation_is_announced_once(capsys):
    for function in (kernel(double), kernel(double)):
        with announced_compilation(), announced_compilation():
            assert function(1.5) == 3.0
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("fresh")
def test_compilation_is_announced_once_in_several_threads(capsys):
    threads = [Context() for _ in range(2)]
    blocks = [announced_compilation() for _ in threads]
    for thread, block in zip(threads, blocks, strict=True):
        thread.run(block.__enter__)
    for thread in threads:
        assert thread.run(kernel(double), 1.5) == 3.0
    for thread, block in zip(threads, blocks, strict=True):
        thread.run(block.__exit__, None, None, None)
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("fresh")
def test_compilation_is_not_announced_outside_a_block(capsys):
    assert kernel(double)(1.5) == 3.0
    assert not capsys.readouterr().err


@array_kernel
def quotient(x):
    return 1.0 / x


@inner_kernel
def half(x):
    return 0.5 * x


@kernel
def both(x):
    return quotient(half(x))


@kernel
def checked_quotient(x):
    return 1.0 / x


def test_kernels_call_other_kernels_with_their_own_error_models():
    assert both(4.0) == numba.njit(lambda x: quotient(half(x)))(4.0) == 0.5
    assert quotient(0.0) == both(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        checked_quotient(0.0)


INTERRUPT = """
import signal, sys
import numba
from llvmlite.binding import ffi
from steinkit.runtime.compilation import kernel

dispose, functions = ffi.lib.LLVMPY_DisposeString, ffi.lib._fntab

def interrupt(string):
    functions["LLVMPY_DisposeString"] = dispose
    dispose(string)
    signal.raise_signal(signal.SIGINT)

functions["LLVMPY_DisposeString"] = interrupt
try:
    kernel(eval("lambda x: x + 1"))(1)
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_an_interrupt_while_numba_releases_memory_does_not_abort_the_process():
    done = subprocess.run([sys.executable, "-c", INTERRUPT], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_an_interrupt_while_functions_are_compiled_during_an_import():
    code = INTERRUPT.replace('kernel(eval("lambda x: x + 1"))(1)', "import steinkit.targets.likelihood_kernels")
    done = subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_a_kernel_without_a_twin_is_compiled_in_a_block_of_small_work():
    triple = kernel(eval("lambda x: 3 * x"))
    with compilation.small_work(0.0):
        assert triple(2) == 6
    assert triple.compiled().signatures
