"""``steinkit sweep``: a TOML file in, an SQLite file and a choice out."""

import json
import re
from pathlib import Path

import pytest

import steinkit as sk
from steinkit.sweeps.configuration import read_configuration
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
    print("looking")
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


def test_the_document_is_the_contract(steinkit, write_toml, folder):
    first = steinkit("sweep", write_toml(), "-o", "out", "--json")
    assert first.code == 0, first.err
    document = first.document
    assert set(document) == {
        "criteria", "refused", "verdict", "unjudged", "missed", "cells", "failed", "failures", "reused", "seconds",
        "racing", "units", "warnings", "version",
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


@pytest.fixture
def write_short_sighted(write_toml, write_code):
    """A sweep of random walks on a target that fails far out, so that those of long steps fail."""

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


def test_words_say_what_is_best_and_what_fails(steinkit, write_short_sighted):
    found = steinkit("sweep", write_short_sighted("[1.0, 1e6]"), "-o", "out")
    assert found.code == 0
    assert "proposal scale 1e+06, seeds 0 to 4: " in " ".join(found.out.lower().split())
    assert "too far out" in " ".join(found.out.split())
    assert re.search(r"^proposal scale 1e\+06 +worse +worst .* 0 +5\s", found.out, re.MULTILINE)


def test_nothing_scored_is_exit_code_4(steinkit, write_short_sighted):
    found = steinkit("sweep", write_short_sighted("[1e6]"), "-o", "out", "--json")
    assert found.code == 4
    assert found.document["criteria"] == {}
    assert found.document["failed"] == 5


def test_racing_by_flag_or_by_file(steinkit, write_toml):
    by_flag = steinkit("sweep", write_toml("seeds = 5", "seeds = 12"), "-o", "a", "--racing", "--json")
    by_file = steinkit("sweep", write_toml("seeds = 5", "seeds = 12\nracing = true"), "-o", "b", "--json")
    assert by_flag.document["racing"]["dropped"] == by_file.document["racing"]["dropped"]
    assert set(by_file.document["racing"]) == {
        "dropped", "cells_run", "cells_full",
    }  # fmt: skip


def test_paths_are_relative_to_the_file_and_prints_are_no_results(
    steinkit, write_toml, folder, write_code, monkeypatch
):
    write_code(MODEL)
    write_toml('"gaussian-mean"\n[target_options]\ndata = [-0.4, 0.1, 0.3, 0.8]', '"model.py:target"')
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    found = steinkit("sweep", "../sweep.toml", "-o", "out", "--json")
    assert found.code == 0, found.err
    assert found.document["cells"] == 10  # and so standard output is nothing but the document
    monkeypatch.chdir(folder)
    assert steinkit("sweep", "sweep.toml", "-o", "elsewhere/out", "--json").document["reused"] == 10
    write_code(MODEL + "# another version\n")
    changed = steinkit("sweep", "sweep.toml", "-o", "elsewhere/out", "--json")
    assert changed.document["reused"] == 0
    assert "10 cells" in changed.err
    assert "other data" in changed.err


def test_a_data_file_is_relative_and_its_content_counts(steinkit, write_toml, folder):
    write_toml("data = [-0.4, 0.1, 0.3, 0.8]", 'data = "data.csv"')
    (folder / "data.csv").write_text("y\n-0.4\n0.1\n0.3\n0.8\n")
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 0
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 10
    (folder / "data.csv").write_text("y\n-0.4\n0.1\n0.3\n0.9\n")
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 0


def test_control_c_keeps_what_is_finished_and_says_how_to_go_on(steinkit, write_toml, write_code):
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
    assert "0 finished cells (of 10 in the full sweep) are kept in out.sqlite; run the same sweep with" in found.err


@pytest.mark.parametrize(
    ("changed", "new", "code", "said"),
    [
        ("seeds = 5", "sedes = 5", 2, 'did you mean "seeds"'),
        ("seeds = 5", "seeds = 5\nstein_factor = [1, 1, 1]", 2, 'did you mean "stein_factors"'),
        ("seeds = 5", "seeds = 5\nracing = 1", 2, "racing must be true or false"),
        ("seeds = 5", "seeds = 'many'", 2, "positive number of seeds"),
        ('measures = ["graph"]', "measures = 3", 2, "list of different measures"),
        ("data = [-0.4, 0.1, 0.3, 0.8]", "data = 1979-05-27", 2, "target option data must be"),
        ("[grid]", "[gird]", 2, 'did you mean "grid"'),
        ("proposal_scale", "proposal_scal", 2, 'did you mean "proposal_scale"'),
        ('name = "rwmh"', 'name = "rwmg"', 2, 'did you mean "rwmh"'),
        ('name = "rwmh"', 'name = "ula"', 2, "your own is named path.py:function"),
        ('name = "rwmh"', 'name = "own.py:ula"', 3, "there is no file own.py"),
        ('name = "rwmh"', 'name = "own.py"', 2, "path.py:attribute"),
        ('name = "rwmh"', "", 2, 'expected name of [sampler] to be "NAME" or "path.py:function", got None'),
        ('target = "gaussian-mean"', "", 2, 'expected target to be "NAME" or "path.py:attribute", got None'),
        ("data = ", "date = ", 2, 'did you mean "data"'),
        ("data = [-0.4, 0.1, 0.3, 0.8]", 'data = "none.csv"', 3, "none.csv does not exist"),
        ("data = [-0.4, 0.1, 0.3, 0.8]", 'data = "0.1,0.3"', 3, "0.1,0.3 does not exist"),
        ('"gaussian-mean"', '"none.py:target"', 2, "target options are for built-in targets"),
        ("[run]", "[run", 3, "is not valid TOML"),
        ("[run]", "[run]\nseed = 3", 2, "unknown key 'seed'"),
    ],
)
def test_mistakes_are_named(steinkit, write_toml, changed, new, code, said):
    found = steinkit("sweep", write_toml(changed, new), "-o", "out")
    assert said in found.err
    assert found.code == code


def test_a_configuration_that_is_not_there(steinkit):
    found = steinkit("sweep", "none.toml", "-o", "out")
    assert (found.code, "none.toml does not exist" in found.err) == (3, True)


@pytest.mark.parametrize(
    ("changed", "new", "said"),
    [
        ("proposal_scale = [0.02, 1.0]", "proposal_scale = [1.0, -1.0, 0.0]", "(proposal_scale -1.0)"),
        ("draws = 40", "draws = -40", "draws must be a whole number of at least 1; got -40"),
        ("draws = 40", "draws = 40\nthin = 0", "thin must be"),
        ("draws = 40", "draws = 40\nburn_in = -1", "burn_in must be"),
        ("proposal_scale = [0.02, 1.0]", "proposal_scale = ['wide']", "proposal_scale"),
    ],
)
def test_a_value_that_the_sampler_refuses_is_told_once_and_before_anything_is_run(
    steinkit, write_toml, folder, changed, new, said
):
    found = steinkit("sweep", write_toml(changed, new), "-o", "out")
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert "nothing was run" in found.err
    assert said in found.err
    assert not (folder / "out.sqlite").exists()


def test_a_long_run_is_not_rehearsed_at_length(write_toml, monkeypatch):
    file = write_toml("draws = 40", "draws = 1_000_000_000_000\nburn_in = 1_000_000_000\nthin = 1_000_000_000")
    plan, _ = read_configuration(file)
    plan.require(is_kept=True)


def test_two_sweeps_live_in_one_file(steinkit, write_toml):
    steinkit("sweep", write_toml(), "-o", "out")
    other = steinkit("sweep", write_toml("draws = 40", "draws = 50", "other.toml"), "-o", "out", "--json")
    assert (other.code, other.document["reused"]) == (0, 0)
    assert "10 cells in out.sqlite: of another sweep" in other.err
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 10


def test_a_larger_grid_and_more_seeds_are_the_same_sweep(steinkit, write_toml):
    steinkit("sweep", write_toml(), "-o", "out")
    write_toml("[0.02, 1.0]", "[0.02, 1.0, 3.0]")
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 10


def test_what_is_no_sweeps_file_is_refused(steinkit, write_toml, folder):
    file = write_toml()
    among = steinkit("sweep", file, "-o", ".")
    assert (among.code, "expected the file of a sweep, got the folder ." in among.err) == (2, True)
    assert [each.name for each in folder.iterdir()] == ["sweep.toml"]
    (folder / "mine.db").write_text("mine" * 1000)
    other = steinkit("sweep", file, "-o", "mine.db")
    assert (other.code, "mine.db is damaged, or not the file of a sweep" in other.err) == (3, True)
    assert (folder / "mine.db").read_text() == "mine" * 1000


def test_a_sweep_that_was_ended_at_once_is_begun_again(steinkit, write_toml, folder):
    (folder / "out.sqlite").touch()
    assert steinkit("sweep", write_toml(), "-o", "out").code == 0


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
    """A sweep, in a folder of its own, of a sampler that the file beside it holds."""

    def write(name="model.py:ula", options="draws = 40", code=ULA):
        write_code(code)
        sampler = f'[sampler]\nname = "{name}"\n{options}\n[grid]\nstep = [0.1, 0.5]\n'
        run = '[run]\nseeds = 3\nmeasures = ["ksd"]\n'
        (folder / "inner").mkdir(exist_ok=True)
        (folder / "model.py").rename(folder / "inner" / "model.py")
        (folder / "inner" / "own.toml").write_text('target = "normal"\n' + sampler + run)
        return "inner/own.toml"

    return write


def test_a_sampler_of_ones_own_is_named_with_its_file(steinkit, write_own, folder):
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


def test_another_text_of_the_file_is_another_sampler(steinkit, write_own):
    assert steinkit("sweep", write_own(), "-o", "out").code == 0
    found = steinkit("sweep", write_own(code=ULA.replace("2 * step", "3 * step")), "-o", "out")
    assert (found.code, "6 cells, 0 of them from before" in " ".join(found.out.split())) == (0, True)
    assert "6 cells in out.sqlite: of another sweep, other data, other code" in found.err


@pytest.mark.parametrize(
    ("name", "options", "code", "said"),
    [
        ("model.py:ulla", "", 2, "has no attribute 'ulla' (did you mean \"ula\"?)"),
        ("model.py:number", "", 2, "expected sampler to be a name or a function (target, *, seed, **options)"),
        ("model.py:ula", "drows = 3", 2, "unexpected keyword argument 'drows'"),
        ("model.py:ula", "seed = 3", 2, "seed is not an option of a sweep's sampler"),
        ("model.py:flat", "", 4, "has 1 coordinates, the sampler's draws have 3; return an array of shape"),
        ("model.py:nothing", "", 4, "6 failed"),
    ],
)
def test_mistakes_in_a_sampler_of_ones_own_are_named(steinkit, write_own, name, options, code, said):
    found = steinkit("sweep", write_own(name, options), "-o", "out")
    assert said in found.err + found.out
    assert found.code == code
    assert "Traceback" not in found.err


def test_worker_processes_are_sent_the_files_that_a_sampler_imports(steinkit, write_own, folder):
    file = write_own(code="import own_noise" + ULA.replace("rng.standard_normal(1)", "own_noise.of(rng)"))
    (folder / "inner" / "own_noise.py").write_text("def of(rng):\n    return rng.standard_normal(1)\n")
    apart = steinkit("sweep", file, "-o", "apart", "--jobs", "2", "--json")
    assert (apart.code, apart.document["failed"]) == (0, 0), apart.err
    assert apart.document["criteria"] == steinkit("sweep", file, "-o", "here", "--json").document["criteria"]


def test_a_file_that_raises_is_named_with_its_line(steinkit, write_own):
    found = steinkit("sweep", write_own(code="ula = 1 / 0\n"), "-o", "out")
    assert (found.code, "model.py, line 3 raised ZeroDivisionError" in found.err) == (3, True)


def test_a_starting_file_runs_as_it_stands(steinkit, folder):
    found = steinkit("sweep", "--init", "my sweep.toml")
    assert (found.code, found.out) == (0, "my sweep.toml is written.\n")
    assert "next: steinkit sweep 'my sweep.toml' -o 'my sweep'" in found.err
    text = (folder / "my sweep.toml").read_text()
    assert "steinkit sweep 'my sweep.toml' -o 'my sweep'" in text
    plan, racing = read_configuration("my sweep.toml")
    plan.require(is_kept=True)
    assert (plan.sampler.name, len(plan.places), racing) == ("sgld", 20, False)
    (folder / "short.toml").write_text(text.replace("draws = 500", "draws = 20"))
    run = steinkit("sweep", "short.toml", "-o", "out", "--json")
    assert (run.code, run.document["failed"]) == (0, 0)


def test_a_starting_file_replaces_nothing(steinkit, folder):
    (folder / "kept.toml").write_text("mine")
    found = steinkit("sweep", "--init", "kept.toml")
    assert (found.code, found.out) == (2, "")
    assert "kept.toml exists and is not replaced" in found.err
    assert (folder / "kept.toml").read_text() == "mine"
    nowhere = steinkit("sweep", "--init", "no/new.toml")
    assert (nowhere.code, "no/new.toml cannot be written" in nowhere.err) == (3, True)


def test_a_byte_order_mark_is_no_part_of_a_configuration(write_toml, folder):
    file = folder / write_toml()
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert read_configuration(file)[0].sampler.name == "rwmh"


class TestTheBestSettingsDraws:
    """What a report says of them stands in the terminal's first lines."""

    def test_too_few_effective_draws_are_told(self, steinkit, write_toml):
        first = steinkit("sweep", write_toml(), "-o", "out").out
        found = sk.read_sweep("out")
        assert not found.verdict.enough_draws
        assert " ".join(first.split()).startswith(f"Seed 0: {found.verdict.sentence}")

    def test_biased_ones_are_told(self, steinkit, folder):
        """Unadjusted Langevin steps of .5 on a standard normal have variance 1 / (1 - .5 / 4)."""
        (folder / "own.py").write_text(
            "import numpy as np\n"
            "def ula(target, *, seed, step_size):\n"
            "    rng, x, kept = np.random.default_rng(seed), np.zeros(1), []\n"
            "    for _ in range(6000):\n"
            "        x = x + 0.5 * step_size * target.score(x[None])[0]\n"
            "        x = x + np.sqrt(step_size) * rng.standard_normal(1)\n"
            "        kept.append(x)\n"
            "    return np.array(kept[::3])\n"
        )
        (folder / "own.toml").write_text(
            'target = "normal"\n[target_options]\nmean = [0.0]\n[sampler]\nname = "own.py:ula"\n'
            "[grid]\nstep_size = [1.5]\n[run]\nseeds = 1\nmeasures = ['ksd']\n"
        )
        found = steinkit("sweep", "own.toml", "-o", "own", "--json").document
        assert found["verdict"]["p"] < 1e-6
        assert found["verdict"]["findings"]

    def test_a_mode_that_other_settings_found_is_told(self, steinkit, folder):
        """Of two modes that lie far apart the chain of short steps stays in the one where it begins."""
        (folder / "model.py").write_text(
            "import numpy as np, steinkit as sk\n"
            "def parts(x):\n"
            "    return -0.5 * (x[:, 0] + 4.0) ** 2, -0.5 * (x[:, 0] - 4.0) ** 2\n"
            "def score(x):\n"
            "    left, right = parts(x)\n"
            "    share = 1.0 / (1.0 + np.exp(right - left))\n"
            "    return (-x[:, 0] + 4.0 - 8.0 * share)[:, None]\n"
            "target = sk.Target(score=score, log_density=lambda x: np.logaddexp(*parts(x)), dim=1)\n"
        )
        (folder / "modes.toml").write_text(
            'target = "model.py:target"\n[sampler]\nname = "rwmh"\nstart = [-4.0]\ndraws = 500\n'
            "[grid]\nproposal_scale = [2.0, 8.0]\n[run]\nseeds = 1\nmeasures = ['graph']\n"
        )
        outcome = steinkit("sweep", "modes.toml", "-o", "modes")
        assert outcome.code == 0, outcome.err
        found = sk.read_sweep(folder / "modes")
        assert found.criteria["graph"].best == {"proposal_scale": 2.0}
        assert found.settings[found.missed.chain] == {"proposal_scale": 8.0}
        assert found.missed.place["x1"] > 2.0
        assert "missed a mode that others found" in " ".join(outcome.out.split())
