"""Machine code that one user or process has compiled serves the others."""

import json
import os
import subprocess
import sys

import pytest

KERNEL = """
from steinkit.runtime.compilation import kernel

@kernel
def doubled(x):
    return x + x
"""
CALL = """
import json, sys
{before}
sys.path.insert(0, {folder!r})
from numbers_of_someone import doubled
values = [doubled(x) for x in {arguments}]
counts = [sum(found.values()) for found in (doubled.stats.cache_hits, doubled.stats.cache_misses)]
print(json.dumps([[v if v.imag == 0.0 else str(v) for v in values], *counts]))
"""
UNWRITABLE = """
from numba.core import caching
def refuse(self):
    raise PermissionError("not yours")
name = "InTreeCacheLocator"  # with an underscore in older versions
getattr(caching, name if hasattr(caching, name) else f"_{name}").ensure_cache_path = refuse
"""


@pytest.fixture
def call(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "numbers_of_someone.py").write_text(KERNEL)

    def started(arguments, before="", **variables):
        code = CALL.format(before=before, folder=str(tmp_path / "code"), arguments=arguments)
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        environment |= {"XDG_CACHE_HOME": str(tmp_path / "own"), **variables}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        return subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)

    return started


def outcome(process):
    said, _ = process.communicate(timeout=300)
    return json.loads(said)


@pytest.mark.skipif(sys.platform != "linux", reason="the user's cache folder is elsewhere")
def test_code_compiled_by_two_at_once_serves_a_user_who_cannot_write_there(call, tmp_path):
    """Of two types: without a lock each process might number its file like the other's."""
    assert [outcome(process) for process in (call([1]), call([0.5]))] == [[[2], 0, 1], [[1.0], 0, 1]]
    assert outcome(call([1, 0.5, 1j], UNWRITABLE)) == [[2, 1.0, "2j"], 2, 1]  # the last compiled for the own folder
    assert outcome(call([1], NUMBA_CACHE_DIR=str(tmp_path / "named"))) == [[2], 0, 1]  # the control
    assert any((tmp_path / "own").rglob("*.nbc"))


def test_kept_code_is_loaded_without_what_only_the_compiler_needs(call, tmp_path):
    """Of a kernel that makes an array, which takes more of Numba's run time than one of numbers does."""
    kernel = KERNEL.replace("@kernel", "import numpy as np\n\n@kernel").replace("x + x", "np.full(2, x)[0] + x")
    (tmp_path / "code" / "numbers_of_someone.py").write_text(kernel)
    then = "map(lambda take: take(), (lambda: 3.0, lambda: 5.0 if 'numba.np.random.legacy' in sys.modules else 7.0))"
    assert outcome(call(then)) == [[6.0, 10.0], 0, 1]  # compiled for the first
    assert outcome(call(then)) == [[6.0, 14.0], 1, 0]
    assert outcome(call([1])) == [[2], 0, 1]  # and a type that is not kept is compiled as ever


def test_what_two_need_at_once_is_compiled_once(call, tmp_path):
    """Both are ready before either begins, and compiling takes longer than beginning."""
    meet = f"""
import os, time
from pathlib import Path
import steinkit.runtime.compilation
Path({str(tmp_path)!r}, f"ready-{{os.getpid()}}").touch()
while len(list(Path({str(tmp_path)!r}).glob("ready-*"))) < 2:
    time.sleep(0.01)
"""
    found = [outcome(process) for process in [call([1, 0.5, 1j], meet) for _ in range(2)]]
    assert [values for values, *_ in found] == [[2, 1.0, "2j"]] * 2
    assert sum(misses for *_, misses in found) == sum(hits for _, hits, _ in found) == 3


def test_a_process_that_was_forked_compiles_too(call, tmp_path):
    """What the module made when it was imported belongs to the process before."""
    fork = f"""
import os, sys
sys.path.insert(0, {str(tmp_path / "code")!r})
import numbers_of_someone
if os.fork():
    os.wait()
    os._exit(0)
"""
    assert outcome(call([1], fork)) == [[2], 0, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="files are locked in another way there")
def test_who_waits_in_vain_for_another_process_compiles_for_itself(call, tmp_path):
    """The other was stopped, and will not let go: nothing is written beside it, and nobody waits to do so."""
    import fcntl

    hasty = "from steinkit.runtime import compilation; compilation.PATIENCE = 0.1"
    assert outcome(call([1])) == [[2], 0, 1]
    (lock,) = (tmp_path / "code").rglob("*.lock")
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert outcome(call([1, 0.5], hasty)) == [[2, 1.0], 1, 1]
    assert len(list((tmp_path / "code").rglob("*.nbc"))) == 1


def test_code_kept_for_a_type_that_has_moved_since_is_compiled_anew(call, tmp_path):
    """Numba reads the types in an index before it compares dates: a moved class ended the first call after it."""
    for home in ("first_home", "second_home"):
        module, kernels = (tmp_path / "code" / f"{name}.py" for name in (home, "numbers_of_someone"))
        module.write_text("import typing\nclass Point(typing.NamedTuple):\n    x: float\n")
        kernels.write_text(KERNEL.replace("x + x", "x[0] + x[0]") + f"\nfrom {home} import Point\n")
        found = call("[__import__('numbers_of_someone').Point(1.0)]")
        assert outcome(found) == [[2.0], 0, 1]
        module.unlink()


def test_a_kernel_is_compiled_anew_where_one_that_it_calls_has_changed(call, tmp_path):
    """It stands in another file, and the code of both is in the caller's."""
    own = tmp_path / "code" / "numbers_of_someone.py"
    other = tmp_path / "code" / "sums_of_someone.py"
    other.write_text(KERNEL.replace("doubled(x)", "total(x, y)").replace("x + x", "x + y"))
    own.write_text("from sums_of_someone import total\n" + KERNEL.replace("x + x", "total(x, x)"))
    assert outcome(call([1])) == [[2], 0, 1]
    assert outcome(call([1])) == [[2], 1, 0]  # the control
    other.write_text(other.read_text().replace("x + y", "10 * x + y"))
    assert outcome(call([1])) == [[11], 0, 1]
