"""Kernels are announced while they are compiled, and those without an entry from Python are called by kernels only."""

import ast
from contextvars import Context
from pathlib import Path

import numba
import pytest

import steinkit
from steinkit.runtime import compilation
from steinkit.runtime.compilation import announced_compilation, kernel

PACKAGE = Path(steinkit.__file__).parent
REPOSITORY = Path(__file__).parents[2]
WITHOUT_ENTRY = {"inner_kernel", "inner_array_kernel"}


def double(x):
    return 2.0 * x


@pytest.fixture
def said_nothing(monkeypatch):
    monkeypatch.setattr(compilation, "_said", set())


@pytest.mark.usefixtures("said_nothing")
def test_it_is_said_once_that_kernels_are_compiled_and_whether_they_are_kept(capsys, monkeypatch):
    monkeypatch.setattr(double, "__module__", "steinkit.somewhere")
    kept, not_kept = [kernel(double) for _ in range(2)], [numba.njit(double) for _ in range(2)]
    for function in (*kept, *not_kept):
        function._cache.load_overload = lambda *_: None  # as if nobody had compiled it yet
        with announced_compilation(), announced_compilation():
            assert function(1.5) == 3.0
    first, second = capsys.readouterr().err.splitlines()
    assert "then they are cached" in first
    assert "not cached" in second


@pytest.mark.usefixtures("said_nothing")
def test_threads_that_look_on_at_once_say_it_once(capsys, monkeypatch):
    monkeypatch.setattr(double, "__module__", "steinkit.somewhere")
    threads = [Context() for _ in range(2)]
    looking_on = [announced_compilation() for _ in threads]
    for thread, each in zip(threads, looking_on, strict=True):
        thread.run(each.__enter__)
    assert numba.njit(double)(1.5) == 3.0
    for thread, each in zip(threads, looking_on, strict=True):
        thread.run(each.__exit__, None, None, None)
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("said_nothing")
def test_nothing_is_said_of_other_peoples_functions_and_of_what_they_call(capsys, monkeypatch):
    inner = numba.njit(double)
    monkeypatch.setattr(double, "__module__", "steinkit.somewhere")
    with announced_compilation():
        assert numba.njit(lambda x: inner(x))(1.5) == 3.0
    assert not capsys.readouterr().err


def _without_entry(path):
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    return {each.name for each in functions for mark in each.decorator_list if getattr(mark, "id", "") in WITHOUT_ENTRY}


def _named(text):
    """What a module takes from modules of kernels: (module, name)."""
    nodes = list(ast.walk(ast.parse(text)))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    module = {each.asname or each.name: each.name for node in imports for each in node.names}
    for node in imports:
        yield from (((node.module or "").split(".")[-1], each.name) for each in node.names)
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield module.get(node.value.id, ""), node.attr


def test_python_does_not_call_what_has_no_entry_from_python():
    kernels = list(PACKAGE.rglob("*_kernels.py"))
    closed = {(path.stem, name) for path in kernels for name in _without_entry(path)}
    assert ("cholesky_kernels", "_forward") in closed
    assert ("cholesky_kernels", "solve") not in closed
    callers = [path for folder in ("tests", "benchmarks", "examples") for path in (REPOSITORY / folder).rglob("*.py")]
    assert REPOSITORY / "benchmarks/limits.py" in callers  # which calls kernels
    for path in {*PACKAGE.rglob("*.py"), *callers} - set(kernels):
        text = path.read_text()
        if "_kernels" in text:
            assert not closed & set(_named(text)), path
    forbidden = "from steinkit.x import cholesky_kernels as a\na._forward(1)"
    assert closed & set(_named(forbidden)) == {("cholesky_kernels", "_forward")}
