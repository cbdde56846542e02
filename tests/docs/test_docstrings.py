"""Docstrings of public names: their sections are complete, and their examples run."""

import doctest
import importlib
import inspect

import pytest

MODULES = ("steinkit", "steinkit.samplers", "steinkit.targets", "steinkit.plots", "steinkit.testing")
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
EXAMPLES = [
    (name, example)
    for name, each in OBJECTS
    for example in doctest.DocTestFinder(recurse=False, exclude_empty=True).find(each, name, globs={})
    if example.examples
]


def test_functions_document_parameters_result_and_an_example():
    missing = []
    for name, function in OBJECTS:
        if not inspect.isfunction(function):
            continue
        text, signature = inspect.getdoc(function), inspect.signature(function)
        sections = {"Examples"}
        sections |= {"Parameters"} if signature.parameters else set()
        sections |= {"Returns"} if signature.return_annotation not in (None, "None") else set()
        missing += [(name, each) for each in sorted(sections) if f"{each}\n{'-' * len(each)}\n" not in text]
    assert missing == []


@pytest.mark.parametrize("example", [each for _, each in EXAMPLES], ids=[name for name, _ in EXAMPLES])
def test_examples_run(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    report = []
    runner.run(example, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)
