"""A user's sampler is told by its code, the values that it holds, its file and the user's modules behind it."""

import importlib
import inspect
import linecache
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import steinkit as sk
from steinkit.sweeps.identity import code_identity
from steinkit.sweeps.run import sweep

SAMPLER = """
import dataclasses, enum, functools, logging, math
import numba
import numpy as np
import own_tools
from own_tools import shifted

SCALE = 1.0
TABLE = {"a": [1.0, np.array([1.0, 2.0])]}
UNUSED = 1.0
CACHE = []
logger = logging.getLogger(__name__)

class Kind(enum.Enum):
    ONE = 1

@dataclasses.dataclass
class Options:
    width: float = 2.0
    def total(self):
        return self.width * INNER

class Plain:
    FACTOR = 1.0
    def __init__(self, held):
        self.held = held

INNER = 3.0
OPTIONS = Options()
PLAIN = Plain(5.0)
WITH = functools.partial(math.hypot, 3.0)

def helper(x):
    return further(x) * SCALE

def further(x):
    return [TABLE["a"][0] * each for each in [x]][0]

@numba.njit
def compiled(x):
    return 2.0 * x

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

def twice(function):
    @functools.wraps(function)
    def both(*args, **kwargs):
        return 1.0 * function(*args, **kwargs)
    return both

def draw(target, *, seed, scale):
    logger.debug("drawing")
    rng = np.random.default_rng(seed)
    return helper(scale) * rng.standard_normal(20) + own_tools.SHIFT + shifted(0.0)

def by_objects(target, *, seed, scale):
    return OPTIONS.total() + PLAIN.held + WITH(4.0) + compiled(1.0) + even(2) + Kind.ONE.value

@twice
def decorated(target, *, seed, scale):
    return scale

def importing(target, *, seed, scale):
    import own_tools as tools
    import numpy
    return tools.SHIFT

first, second = (lambda target, seed: 1.0, lambda target, seed: 2.0)
"""
TOOLS = """
SHIFT = 0.0
DEEP = 1.0
OTHER = 2.0
def shifted(x):
    return x + inner()
def inner():
    return DEEP
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The sampler's module, imported anew, with something replaced in its text or in that of the tools it imports."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(old="", new="", tools=("", "")):
        assert old in SAMPLER
        assert tools[0] in TOOLS
        (tmp_path / "own_sampler.py").write_text(SAMPLER.replace(old, new) if old else SAMPLER)
        (tmp_path / "own_tools.py").write_text(TOOLS.replace(*tools) if tools[0] else TOOLS)
        forget()
        return importlib.import_module("own_sampler")

    def forget():
        for name in ("own_sampler", "own_tools"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        linecache.clearcache()

    yield load
    forget()


@pytest.fixture
def identity(module):
    """What a sampler of such a module does."""
    return lambda sampler, *replaced, **tools: code_identity(getattr(module(*replaced, **tools), sampler))


@pytest.mark.parametrize(
    ("sampler", "old", "new"),
    [
        ("draw", "SCALE = 1.0", "SCALE = 0.5"),
        ("draw", "further(x) * SCALE", "further(x) / SCALE"),
        ("draw", "np.array([1.0, 2.0])", "np.array([1.0, 2.5])"),
        ("draw", 'TABLE["a"][0] * each', 'TABLE["a"][0] / each'),
        ("by_objects", "width: float = 2.0", "width: float = 2.5"),
        ("by_objects", "INNER = 3.0", "INNER = 3.5"),
        ("by_objects", "PLAIN = Plain(5.0)", "PLAIN = Plain(5.5)"),
        ("by_objects", "FACTOR = 1.0", "FACTOR = 1.5"),
        ("by_objects", "math.hypot, 3.0", "math.hypot, 3.5"),
        ("by_objects", "math.hypot, 3.0", "math.fmod, 3.0"),
        ("by_objects", "return 2.0 * x", "return 2.5 * x"),
        ("by_objects", "return n != 0 and", "return n > 0 and"),
        ("by_objects", "ONE = 1", "ONE = 1.5"),
        ("decorated", "return 1.0 * function", "return 1.5 * function"),
        ("decorated", "return scale", "return -scale"),
        ("first", "seed: 1.0", "seed: 1.5"),
    ],
)
def test_what_a_sampler_takes_is_part_of_what_it_does(identity, sampler, old, new):
    before, after = identity(sampler), identity(sampler, old, new)
    assert None not in (before, after)
    assert before != after


@pytest.mark.parametrize("sampler", ["by_function", "by_method", "by_default"])
def test_what_a_package_wraps_without_a_word_is_part_of_it(module, tmp_path, monkeypatch, sampler):
    """A decorator that does not say what it wraps: the function is the package's, what it holds is the user's."""
    (tmp_path / "site-packages").mkdir()
    (tmp_path / "site-packages" / "own_package.py").write_text(
        "def plain(function):\n    def wrapper(*args, **kwargs):\n        return function(*args, **kwargs)\n"
        "    return wrapper\n\n"
        "def by_default(function):\n    def wrapper(*args, function=function, **kwargs):\n"
        "        return function(*args, **kwargs)\n    return wrapper\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    wrapped = """import own_package
STEP = 1.0
def stepped(x):
    return x * STEP

@own_package.plain
def go(x):
    return stepped(x)

@own_package.by_default
def gone(x):
    return stepped(x)

class Going:
    @own_package.plain
    def go(self, x):
        return stepped(x)

GOING = Going()

def by_function(target, *, seed, scale):
    return go(scale)

def by_method(target, *, seed, scale):
    return GOING.go(scale)

def by_default(target, *, seed, scale):
    return gone(scale)

def draw("""
    found = []
    for step in ("1.0", "0.5", "1.0"):
        found.append(
            code_identity(getattr(module("def draw(", wrapped.replace("STEP = 1.0", f"STEP = {step}")), sampler))
        )
    sys.modules.pop("own_package")
    assert None not in found
    assert found[0] == found[2] != found[1]


def test_classes_made_by_exec_are_not_taken_for_each_other():
    def sampler(added):
        there = {"__name__": __name__}
        exec(f"class Adding:\n    def __call__(self, x):\n        return x + {added}\n", there)
        adding = there["Adding"]()
        return lambda target, seed: adding(1.0)

    first, second = (code_identity(sampler(added)) for added in (1, 2))
    assert first is None or first != second


@pytest.mark.parametrize("tools", [("SHIFT = 0.0", "SHIFT = 1.0"), ("DEEP = 1.0", "DEEP = 2.0")])
def test_modules_of_the_users_own_are_followed(identity, tools):
    assert identity("draw") != identity("draw", tools=tools)


def test_so_are_modules_that_a_function_imports_itself(module, identity):
    before = module().importing
    first = code_identity(before)
    del sys.modules["own_tools"]
    assert code_identity(before) == first  # imported yet or not
    assert identity("importing", tools=("SHIFT = 0.0", "SHIFT = 1.0")) != first


def test_modules_of_a_package_are_followed_from_one_to_the_next(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    files = {
        "__init__.py": "",
        "draws.py": "from .steps import step\ndef draw(target, *, seed, scale):\n    return step(scale)\n",
        "steps.py": "from own_chains import sizes\nfrom .unread import *\ndef step(x):\n    return x * sizes.SIZE\n",
        "sizes.py": "SIZE = 1.0\n",
        "unread.py": "",
        "apart.py": "",
    }
    folder = tmp_path / "own_chains"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    draw = importlib.import_module("own_chains.draws").draw
    whole = code_identity(draw)
    assert whole is not None
    for name, text in files.items():
        (folder / name).write_text(text + "# edited\n")
        assert (code_identity(draw) == whole) == (name == "apart.py"), name
        (folder / name).write_text(text)
    assert code_identity(draw) == whole
    for name in [name for name in sys.modules if name.startswith("own_chains")]:
        del sys.modules[name]


def test_the_same_files_give_the_same_identity(identity):
    for name in ("draw", "by_objects", "decorated"):
        assert identity(name) == identity(name)


def test_two_functions_of_one_line_are_two(identity):
    assert identity("first") != identity("second")


def test_a_file_edited_since_it_was_imported_is_not_taken_for_what_is_run(module, tmp_path):
    stale = module().draw
    (tmp_path / "own_sampler.py").write_text(SAMPLER.replace("helper(scale) *", "helper(scale) /"))
    assert "helper(scale) /" in inspect.getsource(stale)
    assert code_identity(stale) != code_identity(module("helper(scale) *", "helper(scale) /").draw)


def test_a_set_in_a_function_is_the_same_in_every_process(tmp_path):
    (tmp_path / "script.py").write_text(
        "from steinkit.sweeps.identity import code_identity\n"
        'print(code_identity(lambda target, seed: seed in {"a", "b", "c", "d"}))\n'
    )
    command = [sys.executable, tmp_path / "script.py"]
    path = os.pathsep.join(filter(None, sys.path))
    environments = [{**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": str(k)} for k in range(3)]
    found = {subprocess.run(command, env=each, capture_output=True, check=True).stdout for each in environments}
    assert len(found) == 1
    assert found != {b"None\n"}


def test_a_module_that_is_compiled_and_one_that_is_loaded_are_the_same(tmp_path):
    (tmp_path / "own_sampler.py").write_text(SAMPLER)
    (tmp_path / "own_tools.py").write_text(TOOLS)
    command = [
        sys.executable,
        "-c",
        "import own_sampler as c; from steinkit.sweeps.identity import code_identity\n"
        "print([code_identity(each) for each in (c.draw, c.by_objects, c.decorated, c.first)])",
    ]
    path = os.pathsep.join(filter(None, [str(tmp_path), *sys.path]))
    runs = [
        subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, check=True).stdout
        for _ in range(2)
    ]
    assert list(tmp_path.glob("__pycache__/own_sampler*"))
    assert runs[0] == runs[1]
    assert b"None" not in runs[0]


def test_a_sweep_with_another_constant_runs_anew(tmp_path, module):
    def swept(sampler):
        given = {"grid": {"scale": [0.5, 1.0, 2.0]}, "seeds": 8, "measures": ("ksd",)}
        return sweep(sk.targets.Normal([1.0]), sampler, directory=tmp_path / "out", **given)

    before = swept(module().draw)
    after = swept(module("SCALE = 1.0", "SCALE = 0.5").draw)
    assert (before.reused, after.reused) == (0, 0)
    assert (before.criteria["ksd"].best, after.criteria["ksd"].best) == ({"scale": 1.0}, {"scale": 2.0})
    assert any("other code of the sampler" in note for note in after.warnings)
    assert swept(module().draw).reused == 24


def test_values_that_look_alike_are_told_apart():
    def holding(value):
        return code_identity(lambda target, seed: value)

    values = [1, 1.0, "1", True, (1,), [1], {1}, b"1", {1: 1}, 1 + 0j, None, ...]
    values += [np.float64(1.0), np.int64(1), np.ones(1), np.ones((1, 1)), np.ones(1, dtype=int)]
    assert len({holding(value) for value in values}) == len(values)
    assert holding(0.1) == holding(0.1)
    assert holding({"a", "b", "c"}) == holding({"c", "b", "a"})
    assert holding(threading.Lock()) is holding(np.random.default_rng(0)) is None
    samples = [sk.Sample([[1.0], [2.0]]), sk.Sample([[1.0], [2.0]], weights=[1.0, 2.0])]
    assert len({holding(each) for each in [*samples, sk.targets.Normal([0.0]), sk.targets.Normal([1.0])]}) == 4
