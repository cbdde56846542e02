"""Test small versions of the benchmarks: each prints results for every instance.

They run with ``pytest -m benchmark`` and in `.ci/run weekly`, which also runs the benchmarks that search for defects.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.scripts import output_of

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
RECORDED = {  # benchmark: file of its record
    "approximate_fits": "approximate_fits.json",
    "solvers": "solvers.json",
    "fresh_families": "fresh_families.json",
    "measure_costs": "measure_costs.json",
    "second_witness": "second_witness.json",
    "sequential": "sequential.json",
    "spanner": "spanner.json",
    "verdict": "families.json",
}
STARTERS = ("false_alarms.py", "measures.py", "scaling.py", "large_samples.py")


@pytest.mark.benchmark
@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("solvers.py", "highs, s"),
        ("measures.py", "over 1 thread"),
        ("scaling.py", "coordinate s"),
        ("spanner.py", "edges"),
        ("samplers.py", "papers"),
        ("sweeps.py", "winner kept"),
        ("tune.py", "tuned"),
        ("sequential.py", "time ratio"),
        ("measure_costs.py", "wasserstein"),
        ("irls.py", "passes"),
        ("sliced.py", "chosen:"),
        ("large_samples.py", "CPU s"),
        ("verdict.py", "fraction rejected"),
        ("false_alarms.py", "all together"),
        ("faults.py", "rejected"),
        ("bias.py", "covered"),
        ("mode_weights.py", "rejected"),
        ("large_data.py", "false rejections"),
        ("limits.py", "SuperLU, minimum degree"),
        ("approximate_fits.py", "beyond the margin"),
        ("second_witness.py", "invariance test"),
        ("fresh_families.py", "invariance test"),
        ("waits.py", "| 100 chains: SGLD, batch 5 | times faster |"),
    ],
)
def test_runs_and_prints_a_table(name, columns, tmp_path):
    """Run in this process, except for benchmarks that start others to measure their memory use."""
    kept = ["--record", str(tmp_path)] if name.removesuffix(".py") in RECORDED else []
    if name in STARTERS:
        command = [sys.executable, BENCHMARKS / name, "--quick", *kept]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        printed = done.stdout
    else:
        printed = output_of(BENCHMARKS / name, "--quick", *kept, folder=tmp_path, warned="ignore")
    assert columns in printed
    assert sum(any(letter.isdigit() for letter in line) for line in printed.splitlines()) >= 3
    if kept:  # the stored records have the format written by this code
        record = RECORDED[name.removesuffix(".py")]
        small, full = (json.loads((folder / record).read_text()) for folder in (tmp_path, BENCHMARKS / "records"))
        assert small.keys() == full.keys()
        assert {*map(frozenset, small["rows"])} <= {*map(frozenset, full["rows"])}


@pytest.mark.benchmark
@pytest.mark.parametrize("package", ["pymc", "numpyro", "blackjax", "stan"])
def test_fits_of_the_ecosystem_are_judged_without_errors(package, tmp_path):
    pytest.importorskip(package)
    printed = output_of(
        BENCHMARKS / "ecosystem_fits.py", "--quick", "--only", package, folder=tmp_path, warned="ignore"
    )
    rows = [line for line in printed.splitlines() if line.startswith("counts with offset")]
    assert rows
    assert "Error:" not in printed
    nuts = [line for line in rows if " NUTS " in line]
    assert all(" passed " in line for line in nuts)


def test_a_package_that_is_missing_is_skipped_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    printed = output_of(BENCHMARKS / "ecosystem_fits.py", "--quick", folder=tmp_path, warned="ignore")
    assert "pymc: skipped, pymc not installed" in printed
    assert "together: 0 of 0 reliable estimates covered" in printed


@pytest.fixture
def tables():
    """The module that generates the tables of the documentation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import tables

        yield tables
        for name in ("tables", "records"):
            sys.modules.pop(name)


def test_tables_of_the_documentation_agree_with_the_records(tables):
    for name, written in tables.WRITTEN.items():
        assert (BENCHMARKS / "tables" / f"{name}.md").read_text() == f"{written()}\n", "run benchmarks/tables.py"
    assert {path.stem for path in (BENCHMARKS / "tables").glob("*.md")} == set(tables.WRITTEN)
