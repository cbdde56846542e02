"""Starting up is quick: what a command does not need it does not import."""

import json
import subprocess
import sys

import pytest

HEAVY = ["cvxpy", "matplotlib", "numba", "joblib", "networkx"]


def heavy_modules_after(statements):
    code = f"import json, sys; {statements}; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "statements",
    [
        "import steinkit",
        "import steinkit as sk; sk.targets.Normal([0.0, 0.0]); sk.Sample([[1.0, 2.0]])",
        "import steinkit.cli",
        "import steinkit.samplers",
    ],
)
def test_nothing_heavy_is_imported(statements):
    assert heavy_modules_after(statements) == []


def test_the_probe_sees_heavy_modules():
    assert heavy_modules_after("import networkx") == ["networkx"]
