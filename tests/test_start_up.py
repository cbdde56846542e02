"""Commands import only the modules that they need."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import click

import steinkit.cli
from steinkit.cli import commands, load_command

HEAVY = ["cvxpy", "matplotlib", "numba", "joblib", "networkx"]


def imported_after(statements, modules):
    code = f"import json, sys\n{statements}\nprint(json.dumps([m for m in {modules} if m in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_imports_are_light():
    modules = "import steinkit, steinkit.samplers, steinkit.cli"
    work = "sk = steinkit; sk.targets.Normal([0.0, 0.0]); sk.Sample([[1.0, 2.0]])"
    assert imported_after(f"{modules}; {work}", HEAVY) == []


def test_the_list_of_commands_needs_no_numpy():
    listing = "from steinkit.cli import commands; commands.main(['--help'], standalone_mode=False)"
    assert imported_after(listing, ["numpy", "scipy", "steinkit.cli.score_commands"]) == []


def test_the_list_of_commands():
    files = Path(steinkit.cli.__file__).parent.glob("*_commands.py")
    modules = [importlib.import_module(f"steinkit.cli.{file.stem}") for file in files]
    found = {each.name for module in modules for each in vars(module).values() if isinstance(each, click.Command)}
    assert sorted(commands.list_commands(None)) == sorted(found - {None})
    for name in commands.list_commands(None):
        assert load_command(name).name == name


def test_heavy_modules_are_detected():
    assert imported_after("import networkx", HEAVY) == ["networkx"]


DATA = Path(__file__).parents[1] / "examples/data"
DEAR = ["joblib", "matplotlib", "cvxpy", "networkx", "dask", "pandas", "xarray", "arviz_stats", "scipy.stats", "h5py"]


def imported_by(*arguments, first="pass"):
    run = f"{first}; from steinkit.cli import commands; commands.main({list(arguments)}, standalone_mode=False)"
    return imported_after(run, [*DEAR, "highspy", "scipy.integrate", "scipy.optimize", "numba"])


def test_imports_of_the_score_command():
    small = "import steinkit as sk; sk.graph_stein_discrepancy([[0.0], [1.0]], sk.targets.Normal([0.0]))"
    csv, options = str(DATA / "sgld_5e-3.csv"), ["--reference", "0", "--tolerance", "0.1"]
    found = imported_by("score", csv, "--target", "mixture-posterior", *options, first=small)
    assert "numba" in found
    assert set(found).isdisjoint(DEAR)


def test_a_small_verdict_needs_neither_numba_nor_a_solver():
    assert imported_by("verdict", str(DATA / "sgld_nodal.csv"), "--target", "logistic-posterior") == []


def test_default_paths_need_no_cvxpy():
    work = f"""
import sys
sys.modules["cvxpy"] = sys.modules["clarabel"] = None  # importing them fails
import steinkit as sk
draws, target = sk.read_sample({str(DATA / "sgld_nodal.csv")!r}), sk.targets.LogisticRegression.nodal()
assert sk.verdict(draws, target).is_biased
assert sk.estimate_bias(draws, target).reliable.any()
plane, normal = draws.points[:200, :2], sk.targets.Normal([0.0, 0.0])
assert sk.graph_stein_discrepancy(plane, normal).gap < 1e-3
assert sk.graph_stein_discrepancy(plane[:, :1], sk.targets.Normal([0.0])).gap < 1e-3
assert sk.sliced_stein_discrepancy(plane, normal).gap < 1e-3"""
    assert imported_after(work, ["steinkit"]) == ["steinkit"]
