"""Starting up is quick: what a command does not need it does not import."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import steinkit.cli
from steinkit.cli import commands

HEAVY = ["cvxpy", "matplotlib", "numba", "joblib", "networkx"]


def imported_after(statements, modules):
    code = f"import json, sys\n{statements}\nprint(json.dumps([m for m in {modules} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


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
    assert imported_after(statements, HEAVY) == []


def test_the_list_of_commands_needs_no_numbers():
    listing = "from steinkit.cli import commands; commands.main(['--help'], standalone_mode=False)"
    assert imported_after(listing, ["numpy", "scipy", "steinkit.cli.score_commands"]) == []


def test_every_command_is_listed_and_every_one_listed_is_there():
    files = Path(steinkit.cli.__file__).parent.glob("*_commands.py")
    modules = [importlib.import_module(f"steinkit.cli.{file.stem}") for file in files]
    found = {each.name for module in modules for each in vars(module).values() if isinstance(each, click.Command)}
    assert commands.list_commands(None) == sorted(found - {None})
    for name in commands.list_commands(None):
        assert commands.get_command(None, name).name == name


def test_the_probe_sees_heavy_modules():
    assert imported_after("import networkx", HEAVY) == ["networkx"]


def test_a_score_in_one_thread_imports_no_machinery_of_processes():
    modules = "import steinkit as sk, steinkit.discrepancy.graph.spanner.greedy"
    score = f"{modules}; sk.graph_stein_discrepancy([[0.0], [1.0]], sk.targets.Normal([0.0]))"
    assert imported_after(score, ["joblib", "tqdm", "matplotlib", "cvxpy", "networkx"]) == []


def test_a_score_on_the_command_line_imports_no_package_that_it_has_no_use_for():
    csv = Path(__file__).parents[1] / "examples/data/sgld_5e-3.csv"
    arguments = ["score", str(csv), "--target", "mixture-posterior", "--reference", "0", "--tolerance", "0.1"]
    score = f"from steinkit.cli import commands; commands.main({arguments}, standalone_mode=False)"
    dear = [
        "joblib",
        "tqdm",
        "matplotlib",
        "cvxpy",
        "networkx",
        "dask",
        "pandas",
        "xarray",
        "arviz_stats",
        "scipy.stats",
    ]
    assert imported_after(score, [*dear, "numba"]) == ["numba"]
