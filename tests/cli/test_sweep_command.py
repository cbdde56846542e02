"""``steinkit sweep``: read a TOML file, write an SQLite file, and choose a setting."""

import json
import re
from pathlib import Path

import pytest

import steinkit as sk
from steinkit.sweeps.plan import read_plan
from steinkit.sweeps.store import Store

CONFIGURATION = """
target = "gaussian-mean"
[target_options]
data = [-0.4, 0.1, 0.3, 0.8]
[sampler]
name = "rwmh"
draws = 40
[grid]
proposal_scale = [0.02, 1.0]
[run]
seeds = 5
measures = ["graph"]
"""
MODEL = """
def score(points):
    print("called")
    return -points

target = sk.Target(score=score, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)
"""


@pytest.fixture
def write_toml(folder):
    def write(changed="", new="", name="sweep.toml"):
        assert changed in CONFIGURATION
        (folder / name).write_text(CONFIGURATION.replace(changed, new) if changed else CONFIGURATION)
        return name

    return write


def test_the_json_document_has_fixed_keys(steinkit, write_toml, folder):
    first = steinkit("sweep", write_toml(), "-o", "out", "--json")
    assert first.code == 0, first.err
    document = first.document
    assert set(document) == {
        "criteria", "refused", "verdict", "unjudged", "missed", "cells", "failed", "failures", "reused", "seconds",
        "racing", "units", "warnings", "version", "by_budget",
    }  # fmt: skip
    graph = document["criteria"]["graph"]
    assert {"best", "ties", "median", "interval"} <= set(graph)
    assert graph["best"] == {"proposal_scale": 1.0}
    assert graph["interval"][0] <= graph["median"] <= graph["interval"][1]
    assert (document["cells"], document["failed"], document["reused"], document["racing"]) == (10, 0, 0, None)
    again = steinkit("sweep", "sweep.toml", "-o", "out", "--json").document
    assert again["reused"] == 10
    assert again["criteria"] == document["criteria"]
    with Store(folder / "out.sqlite", writing=False) as store:
        configuration = store.result().configuration
        assert len(store.cells) == 10
    assert (configuration.target, configuration.sampler) == ("gaussian-mean", "rwmh")
    assert configuration.options == {"draws": 40}


def test_budgets_of_the_command_replace_those_of_the_file(steinkit, write_toml):
    write_toml("draws = 40\n", "")
    file = Path("sweep.toml")
    file.write_text(file.read_text() + "budgets = [160, 320]\n")
    found = steinkit("sweep", "sweep.toml", "-o", "out", "--json")
    assert found.code == 0, found.err
    assert list(found.document["by_budget"]) == ["160", "320"]
    assert found.document["by_budget"]["320"] == found.document["criteria"]
    again = steinkit("sweep", "sweep.toml", "-o", "out", "--budgets", "200,320")
    assert re.search(r"^ *budget +best setting", again.out, re.MULTILINE)
    assert "10 of them reused" in " ".join(again.out.split())
    assert "whole numbers" in steinkit("sweep", "sweep.toml", "-o", "out", "--budgets", "many").err


@pytest.fixture
def write_failing(write_toml, write_code):
    """Write a sweep of random walks on a target that fails far out, so that long steps fail."""

    def write(scales):
        write_code(
            "def log_density(x):\n"
            "    if (np.abs(x) > 9.0).any():\n"
            "        raise ValueError('too far out')\n"
            "    return -0.5 * (x**2).sum(axis=1)\n"
            "target = sk.Target(score=lambda x: -x, log_density=log_density, dim=1)\n"
        )
        write_toml('"gaussian-mean"\n[target_options]\ndata = [-0.4, 0.1, 0.3, 0.8]', '"model.py:target"')
        file = Path("sweep.toml")
        file.write_text(file.read_text().replace("[0.02, 1.0]", scales))
        return "sweep.toml"

    return write


def test_the_summary_contains_failures(steinkit, write_failing):
    found = steinkit("sweep", write_failing("[1.0, 1e6]"), "-o", "out")
    assert found.code == 0
    assert "too far out" in " ".join(found.out.split())
    assert re.search(r"^proposal scale 1e\+06 +worse +worst .* 0 +5\s", found.out, re.MULTILINE)


def test_the_exit_code_is_4_without_scored_cells(steinkit, write_failing):
    found = steinkit("sweep", write_failing("[1e6]"), "-o", "out", "--json")
    assert found.code == 4
    assert found.document["criteria"] == {}
    assert found.document["failed"] == 5


def test_paths_are_relative_to_the_file_and_printed_text_is_not_output(
    steinkit, write_toml, folder, write_code, monkeypatch
):
    write_code(MODEL)
    write_toml('"gaussian-mean"\n[target_options]\ndata = [-0.4, 0.1, 0.3, 0.8]', '"model.py:target"')
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    found = steinkit("sweep", "../sweep.toml", "-o", "out", "--json")
    assert found.code == 0, found.err
    assert found.document["cells"] == 10
    monkeypatch.chdir(folder)
    assert steinkit("sweep", "sweep.toml", "-o", "elsewhere/out", "--json").document["reused"] == 10
    write_code(MODEL + "# another version\n")
    changed = steinkit("sweep", "sweep.toml", "-o", "elsewhere/out", "--json")
    assert changed.document["reused"] == 0
    assert "10 cells" in changed.err


def test_a_data_file_is_relative_and_part_of_the_identity(steinkit, write_toml, folder):
    write_toml("data = [-0.4, 0.1, 0.3, 0.8]", 'data = "data.csv"')
    (folder / "data.csv").write_text("y\n-0.4\n0.1\n0.3\n0.8\n")
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 0
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 10
    (folder / "data.csv").write_text("y\n-0.4\n0.1\n0.3\n0.9\n")
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 0


def test_an_interrupt_reports_how_to_resume(steinkit, write_toml, write_code):
    write_code(
        "def score(points):\n"
        "    if len(points) > 5:\n"
        "        raise KeyboardInterrupt\n"
        "    return -points\n"
        "target = sk.Target(score=score, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)\n"
    )
    write_toml('"gaussian-mean"\n[target_options]\ndata = [-0.4, 0.1, 0.3, 0.8]', '"model.py:target"')
    found = steinkit("sweep", "sweep.toml", "-o", "out")
    assert found.code == 130
    assert "0 finished cells kept in out.sqlite" in found.err


@pytest.mark.parametrize(
    ("changed", "new", "code", "match"),
    [
        ("seeds = 5", "sedes = 5", 2, 'did you mean "seeds"'),
        ("seeds = 5", "seeds = 5\nstein_factor = [1, 1, 1]", 2, 'did you mean "stein_factors"'),
        ("seeds = 5", "seeds = 5\nracing = true", 2, "unknown key 'racing'"),
        ("[grid]", "[gird]", 2, 'did you mean "grid"'),
        ("proposal_scale", "proposal_scal", 2, 'did you mean "proposal_scale"'),
        ('name = "rwmh"', 'name = "ula"', 2, "path.py:function"),
        ('name = "rwmh"', 'name = "own.py:ula"', 3, "own.py"),
        ('target = "gaussian-mean"', "", 2, "expected target"),
        ("data = [-0.4, 0.1, 0.3, 0.8]", 'data = "none.csv"', 3, "none.csv"),
        ('"gaussian-mean"', '"none.py:target"', 2, "target_options"),
        ("[run]", "[run", 3, "TOML"),
        ("proposal_scale = [0.02, 1.0]", "proposal_scale = [1.0, -1.0, 0.0]", 2, "proposal_scale -1.0"),
    ],
)
def test_mistakes_are_reported_before_anything_is_run(steinkit, write_toml, folder, changed, new, code, match):
    found = steinkit("sweep", write_toml(changed, new), "-o", "out")
    assert match in found.err
    assert (found.code, found.out, found.err.count("\n")) == (code, "", 1)
    assert not (folder / "out.sqlite").exists()


def test_a_missing_configuration(steinkit):
    found = steinkit("sweep", "none.toml", "-o", "out")
    assert (found.code, "none.toml" in found.err) == (3, True)


def test_options_are_checked_with_a_short_run(write_toml, monkeypatch):
    file = write_toml("draws = 40", "draws = 1_000_000_000_000\nburn_in = 1_000_000_000\nthin = 1_000_000_000")
    read_plan(file).require(is_kept=True)


ULA = """
def ula(target, *, seed, step, draws=50):
    rng = np.random.default_rng(seed)
    x, path = np.zeros(1), []
    for _ in range(draws):
        x = x + step * target.score(x[None, :])[0] + np.sqrt(2 * step) * rng.standard_normal(1)
        path.append(x)
    return np.array(path)

flat = lambda target, *, seed, step: np.zeros((20, 3))
nothing = lambda target, *, seed, step: None
number = 3
"""


@pytest.fixture
def write_own(folder, write_code):
    """Write a sweep in a separate folder, with a sampler from a file in that folder."""

    def write(name="model.py:ula", options="draws = 40", code=ULA):
        write_code(code)
        sampler = f'[sampler]\nname = "{name}"\n{options}\n[grid]\nstep = [0.1, 0.5]\n'
        run = '[run]\nseeds = 3\nmeasures = ["ksd"]\n'
        (folder / "inner").mkdir(exist_ok=True)
        (folder / "model.py").rename(folder / "inner" / "model.py")
        (folder / "inner" / "own.toml").write_text('target = "normal"\n' + sampler + run)
        return "inner/own.toml"

    return write


def test_a_sampler_from_a_file(steinkit, write_own, folder):
    first = steinkit("sweep", write_own(), "-o", "out", "--json")
    assert (first.code, first.document["failed"], first.document["cells"]) == (0, 0, 6), first.err
    with Store(folder / "out.sqlite", writing=False) as store:
        kept = store.result().configuration
    assert (kept.sampler, kept.options, len(kept.code)) == ("model.py:ula", {"draws": 40}, 32)
    scope = {}
    exec("import numpy as np" + ULA, scope)
    wanted = sk.sweep(
        "normal", scope["ula"], grid={"step": [0.1, 0.5]}, options={"draws": 40}, seeds=3, measures=["ksd"]
    )
    assert first.document["criteria"] == json.loads(json.dumps(wanted.to_dict()["criteria"]))
    assert steinkit("sweep", "inner/own.toml", "-o", "out", "--json", "--jobs", "2").document["reused"] == 6


@pytest.mark.parametrize(
    ("name", "options", "code", "match"),
    [
        ("model.py:ulla", "", 2, 'did you mean "ula"'),
        ("model.py:number", "", 2, "sampler"),
        ("model.py:ula", "seed = 3", 2, "seed"),
        ("model.py:ula", "drows = 3", 4, "drows"),
        ("model.py:flat", "", 4, "got 3"),
        ("model.py:nothing", "", 4, "6 of 6 cells failed"),
    ],
)
def test_mistakes_in_a_users_sampler_are_reported(steinkit, write_own, name, options, code, match):
    found = steinkit("sweep", write_own(name, options), "-o", "out")
    assert match in " ".join((found.err + found.out).split())
    assert found.code == code
    assert "Traceback" not in found.err


def test_workers_find_the_modules_that_a_sampler_imports(steinkit, write_own, folder):
    file = write_own(code="import own_noise" + ULA.replace("rng.standard_normal(1)", "own_noise.of(rng)"))
    (folder / "inner" / "own_noise.py").write_text("def of(rng):\n    return rng.standard_normal(1)\n")
    apart = steinkit("sweep", file, "-o", "apart", "--jobs", "2", "--json")
    assert (apart.code, apart.document["failed"]) == (0, 0), apart.err
    assert apart.document["criteria"] == steinkit("sweep", file, "-o", "here", "--json").document["criteria"]


def test_a_byte_order_mark_is_ignored(write_toml, folder):
    file = folder / write_toml()
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert read_plan(file).sampler.name == "rwmh"


def test_the_summary_begins_with_the_verdict_on_the_best_settings_draws(steinkit, write_toml):
    first = steinkit("sweep", write_toml(), "-o", "out").out
    found = sk.read_sweep("out")
    assert not found.verdict.enough_draws
    assert " ".join(first.split()).startswith(f"Seed 0: {found.verdict.sentence}")
