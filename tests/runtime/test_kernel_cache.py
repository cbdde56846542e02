"""Machine code is cached for other processes."""

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
sys.path.insert(0, {folder!r})
from numbers_of_someone import doubled
values = [doubled(x) for x in {arguments}]
stats = doubled.compiled().stats
print(json.dumps([values, *(sum(found.values()) for found in (stats.cache_hits, stats.cache_misses))]))
"""


@pytest.fixture
def call(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "numbers_of_someone.py").write_text(KERNEL)

    def outcome(arguments):
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        code = CALL.format(folder=str(tmp_path / "code"), arguments=arguments)
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return json.loads(done.stdout)

    return outcome


def test_code_is_cached_for_other_processes_until_its_file_changes(call, tmp_path):
    assert call([1]) == [[2], 0, 1]
    assert call([1, 0.5]) == [[2, 1.0], 1, 1]
    (tmp_path / "code" / "numbers_of_someone.py").write_text(KERNEL.replace("x + x", "10 * x + x"))
    assert call([1]) == [[11], 0, 1]
