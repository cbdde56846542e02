"""Kernels are announced while they are compiled, and can be called from Python, from kernels and by plain Python."""

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
    """As in a process that has said nothing, on a machine where nothing is kept."""
    monkeypatch.setattr(compilation, "_said", set())
    monkeypatch.setattr(compilation, "_is_kept", lambda compiled: False)


@pytest.mark.usefixtures("fresh")
def test_it_is_said_once_that_kernels_are_compiled(capsys):
    for function in (kernel(double), kernel(double)):
        with announced_compilation(), announced_compilation():
            assert function(1.5) == 3.0
    (said,) = capsys.readouterr().err.splitlines()
    assert said == compilation.KEPT


@pytest.mark.usefixtures("fresh")
def test_threads_that_look_on_at_once_say_it_once(capsys):
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
def test_nothing_is_said_outside_of_a_block(capsys):
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


def test_kernels_call_kernels_and_inner_kernels_with_their_own_rules():
    assert both(4.0) == numba.njit(lambda x: quotient(half(x)))(4.0) == 0.5
    assert quotient(0.0) == both(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        checked_quotient(0.0)
