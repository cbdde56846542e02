"""A user's sampler is identified by its file, its position in it, and the values that it holds."""

import importlib
import math
import sys
import threading

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import UsageError
from steinkit.sweeps.identity import code_identity
from steinkit.sweeps.run import sweep

SAMPLER = """
import numba
import numpy as np

SCALE = 1.0

def helper(x):
    return x * SCALE

@numba.njit
def compiled(x):
    return 2.0 * x

def draw(target, *, seed, scale):
    return helper(scale) * np.random.default_rng(seed).standard_normal(20)

def holding(held):
    def one(target, *, seed, scale):
        return held
    return one

first, second = (lambda target, seed: 1.0, lambda target, seed: 2.0)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Import the sampler's module again after a replacement in its text."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(old="", new=""):
        assert old in SAMPLER
        (tmp_path / "own_sampler.py").write_text(SAMPLER.replace(old, new) if old else SAMPLER)
        sys.modules.pop("own_sampler", None)
        importlib.invalidate_caches()
        return importlib.import_module("own_sampler")

    yield load
    sys.modules.pop("own_sampler", None)


@pytest.mark.parametrize("sampler", ["draw", "first", "compiled"])
def test_any_edit_of_the_file_makes_another_sampler(module, sampler):
    edited = ("SCALE = 1.0", "SCALE = 0.5"), ("return x * SCALE", "return SCALE * x"), ("", "")
    before, *others, again = (code_identity(getattr(module(*each), sampler)) for each in (("", ""), *edited))
    assert None not in (before, *others)
    assert len({before, *others}) == 3
    assert again == before


def test_functions_of_one_file_are_distinguished(module):
    found = module()
    samplers = [found.draw, found.first, found.second, found.compiled]
    assert len({code_identity(each) for each in samplers}) == len(samplers)


def test_a_file_edited_after_its_import_is_not_identified_with_the_imported_one(module, tmp_path):
    stale = module().draw
    (tmp_path / "own_sampler.py").write_text(SAMPLER.replace("helper(scale) *", "helper(scale) /"))
    assert code_identity(stale) != code_identity(module("helper(scale) *", "helper(scale) /").draw)


def test_similar_values_are_distinguished(module):
    holding = module().holding
    values = [1, 1.0, "1", True, [1], [[1]], {"a": 1}, None]
    found = [code_identity(holding(value)) for value in values]
    assert None not in found
    assert len(set(found)) == len(values)
    assert code_identity(holding(0.1)) == code_identity(holding(0.1))


@pytest.mark.parametrize(
    "held", [threading.Lock(), np.random.default_rng(0), {1, 2}, object(), np.ones(1), [[sys.stdin]], len, math.nan]
)
def test_functions_that_contain_objects_cannot_be_identified(module, held):
    assert code_identity(module().holding(held)) is None


def test_functions_without_a_file_cannot_be_identified():
    namespace = {}
    exec("def hidden(target, *, seed, scale): return [0.0]", namespace)
    assert code_identity(namespace["hidden"]) is None
    assert code_identity(namespace) is None


def test_cells_of_an_edited_file_are_run_again(tmp_path, module):
    def swept(sampler, **changes):
        given = {"grid": {"scale": [0.5, 1.0, 2.0]}, "seeds": 8, "measures": ("ksd",)}
        return sweep(sk.targets.Normal([1.0]), sampler, file=tmp_path / "out", **given | changes)

    before = swept(module().draw)
    after = swept(module("SCALE = 1.0", "SCALE = 0.5").draw)
    assert (before.reused, after.reused) == (0, 0)
    assert (before.criteria["ksd"].best, after.criteria["ksd"].best) == ({"scale": 1.0}, {"scale": 2.0})
    assert any("24 cells" in note for note in after.warnings)
    found = module()
    assert swept(found.draw).reused == 24
    with pytest.raises(UsageError, match="label="):
        swept(found.holding(object()))
    assert swept(found.holding(object()), label="mine").cells == 24
