"""Targets from a user's file, and errors with the line number."""

import importlib
import sys

import numpy as np
import pytest

import steinkit as sk
from steinkit.targets import load_target

MODEL = """
from __future__ import annotations
from dataclasses import dataclass
import steinkit as sk

@dataclass
class Settings:
    scale: float = 2.0

def score(x):
    return -x / Settings().scale

def with_option(x, scale=3.0):
    return -x / scale

target = sk.Target(score, dim=2, label="mine")

def make():
    return sk.targets.Normal(dim=3)

def make_number():
    return 3

def make_nothing():
    return 1 / 0

def two(x, y):
    return x

number = 3
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize(
    ("attribute", "divisor", "dim"), [("target", 2.0, 2), ("make", 1.0, 3), ("score", 2.0, 3), ("with_option", 3.0, 3)]
)
def test_targets_factories_and_scores_are_loaded(model, attribute, divisor, dim):
    points = np.ones((4, dim))
    np.testing.assert_allclose(load_target(f"{model}:{attribute}").score(points), -points / divisor)


def test_the_label_of_a_score_function_is_its_reference(model):
    assert load_target(f"{model}:score").label == f"{model}:score"
    assert load_target(f"{model}:target").label == "mine"


def test_files_of_the_same_folder_are_imported_temporarily(tmp_path):
    (tmp_path / "steinkit_test_sibling.py").write_text("def score(x):\n    return -7 * x\n")
    (tmp_path / "main.py").write_text("from steinkit_test_sibling import score\n")
    importlib.import_module("cloudpickle")  # the module remains loaded
    path, modules = list(sys.path), set(sys.modules)
    try:
        target = load_target(f"{tmp_path / 'main.py'}:score")
        np.testing.assert_array_equal(target.score([[1.0]]), [[-7.0]])
        assert sys.path == path
        assert set(sys.modules) - modules == {"steinkit_test_sibling"}
    finally:
        sys.modules.pop("steinkit_test_sibling", None)


def test_two_files_do_not_share_a_module(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(f"K = {ord(name)}.0\ndef score(x):\n    return K * x\n")
    first, second = (load_target(f"{tmp_path / name}.py:score") for name in ("a", "b"))
    assert first.score([[1.0]]) == [[97.0]]
    assert second.score([[1.0]]) == [[98.0]]


@pytest.mark.parametrize(
    ("attribute", "error", "message"),
    [
        ("targt", sk.UsageError, '''no attribute 'targt' [(]did you mean "target"'''),
        ("zzz", sk.UsageError, "no attribute 'zzz'; it defines (?!.*(np|sk)\\b).*make"),
        ("number", sk.UsageError, "got int"),
        ("two", sk.UsageError, "got a function of 2 parameters.*functools.partial"),
        ("make_number", sk.UsageError, "got int"),
        ("make_nothing", sk.InputError, r"model\.py, line 25 raised ZeroDivisionError: division by zero"),
    ],
)
def test_invalid_attributes_are_rejected(model, attribute, error, message):
    with pytest.raises(error, match=message):
        load_target(f"{model}:{attribute}")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1\ny = undefined\n", r"bad\.py, line 2 raised NameError: name 'undefined' is not defined"),
        ("x = 1\ndef f(:\n", r"bad\.py, line 2: invalid syntax"),
        ("import not_a_module_at_all\n", "line 1 raised ModuleNotFoundError"),
        ("import sys\nsys.exit(3)\n", "line 2 raised SystemExit: 3"),
        ("import steinkit as sk\n\nsk.targets.Normal(covariance=-1.0)\n", "line 3 raised UsageError: .*covariance"),
    ],
)
def test_code_that_fails_is_reported_by_line(tmp_path, code, message):
    path = tmp_path / "bad.py"
    path.write_text(code)
    before = list(sys.path), set(sys.modules)
    with pytest.raises(sk.InputError, match=message) as caught:
        load_target(f"{path}:target")
    assert caught.value.__cause__ is None
    assert before[0] == sys.path
    assert "steinkit_user_code" not in sys.modules


@pytest.mark.parametrize(
    "reference", ["model.py", "model:target", "model.py:", ":target", "model.py:a.b", "model.py:1"]
)
def test_invalid_references_are_rejected(reference):
    with pytest.raises(sk.UsageError, match=r"path\.py:attribute"):
        load_target(reference)


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(sk.InputError, match="there is no file"):
        load_target(f"{tmp_path / 'none.py'}:target")


def test_errors_of_a_model_name_the_reference(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(
        "class Stan:\n"
        "    def log_density_gradient(self, x): ...\n"
        "    def param_unconstrain(self, x): ...\n"
        "    def param_unc_names(self): return []\n"
        "    def param_names(self): return []\n"
        "    def param_constrain(self, x): ...\n"
        "model = Stan()\n"
    )
    with pytest.raises(sk.SteinkitError) as caught:
        load_target(f"{path}:model")
    assert str(caught.value).startswith(f"{path}:model: ")
    assert "Error" not in str(caught.value)
