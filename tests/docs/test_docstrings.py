"""Docstrings of public names: their sections are complete, and their examples run."""

import doctest
import importlib
import inspect

import pytest

MODULES = ("steinkit", "steinkit.samplers", "steinkit.targets", "steinkit.plots")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


def public_objects():
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            each = getattr(module, name)
            if callable(each) and each.__module__.startswith("steinkit"):
                found.setdefault(id(each), (f"{module.__name__}.{name}", each))
    return list(found.values())


OBJECTS = public_objects()
FUNCTIONS = [(name, each) for name, each in OBJECTS if inspect.isfunction(each)]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_functions_document_parameters_result_and_an_example(name, function):
    text = inspect.getdoc(function)
    signature = inspect.signature(function)
    assert "Examples\n--------\n" in text
    assert not signature.parameters or "Parameters\n----------\n" in text
    assert signature.return_annotation in (None, "None") or "Returns\n-------\n" in text


@pytest.mark.parametrize(("name", "each"), OBJECTS, ids=[name for name, _ in OBJECTS])
def test_examples_run(name, each, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestFinder(recurse=False).find(each, name, globs={})
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report = []
    for example in examples:
        runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
