"""The benchmarks run, at small size, and print a figure for every instance."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("engines.py", "highs, s"),
        ("measures.py", "over 1 thread"),
        ("scaling.py", "coordinate s"),
        ("spanner.py", "edges"),
        ("samplers.py", "papers"),
        ("sweeps.py", "winner kept"),
        ("sequential.py", "time ratio"),
        ("irls.py", "passes"),
    ],
)
def test_runs_and_prints_a_table(name, columns):
    command = [sys.executable, BENCHMARKS / name, "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert columns in done.stdout
    assert sum(any(letter.isdigit() for letter in line) for line in done.stdout.splitlines()) >= 3
