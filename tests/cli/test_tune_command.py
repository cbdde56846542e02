"""``steinkit tune``: a TOML file in, an SQLite file and a choice out."""

import pytest

import steinkit as sk

CONFIGURATION = """
target = "logistic-posterior"
[sampler]
name = "sgld"
batch_size = 10
budget = 20000
[ranges]
step_size = [1e-4, 1.0]
[run]
settings = 9
seeds = 1
"""


@pytest.fixture
def write_toml(folder):
    def write(changed="", new=""):
        assert changed in CONFIGURATION
        (folder / "tune.toml").write_text(CONFIGURATION.replace(changed, new) if changed else CONFIGURATION)
        return "tune.toml"

    return write


def test_the_document_is_the_contract(steinkit, write_toml):
    answer = steinkit("tune", write_toml(), "-o", "out", "--cost", "0.5", "--json")
    assert answer.code == 0, answer.err
    assert set(answer.document) == {
        "setting", "bias", "margin", "resource", "spent", "full", "seconds", "full_seconds", "unjudged", "seeds",
        "rungs", "verdict", "warnings", "version",
    }  # fmt: skip
    assert 1e-3 < answer.document["setting"]["step_size"] < 0.5
    again = steinkit("tune", "tune.toml", "-o", "out", "--cost", "0.5")
    assert "Step size" in again.out
    assert "of the 180,000 of the full grid" in " ".join(again.out.split())


def test_a_file_may_ask_for_racing_which_tuning_is(steinkit, write_toml):
    files = write_toml("[run]", "[run]\nracing = true")
    assert steinkit("tune", files, "-o", "out", "--cost", "0.5", "--json").code == 0


@pytest.mark.parametrize(
    ("changed", "new", "message"),
    [
        ("[ranges]", "[grid]\nthin = [1, 2]\n[ranges]", "give a table [ranges] or [grid]"),
        ("settings = 9", "settings = 1", "settings must be a whole number of at least 2"),
        ("[1e-4, 1.0]", "[1e-4]", "the range of step_size must be two positive numbers"),
        ("[1e-4, 1.0]", '["a", "b"]', "the range of step_size must be two positive numbers"),
        ("budget = 20000", "", "must be a fixed option: budget"),
        ("[ranges]\nstep_size = [1e-4, 1.0]", "", "grid must name at least one option"),
        ("step_size", "stepsize", "has no option 'stepsize'"),
    ],
)
def test_what_is_refused(steinkit, write_toml, changed, new, message):
    answer = steinkit("tune", write_toml(changed, new), "-o", "out")
    assert answer.code == 2
    assert message in answer.err


def test_a_file_holds_the_result_of_the_last_run(steinkit, write_toml, folder):
    sweep = CONFIGURATION.replace("[ranges]\nstep_size = [1e-4, 1.0]", "[grid]\nstep_size = [0.01]")
    (folder / "sweep.toml").write_text(sweep.replace("settings = 9\n", ""))
    assert steinkit("sweep", "sweep.toml", "-o", "out").code == 0
    assert steinkit("tune", write_toml(), "-o", "out", "--cost", "0.5").code == 0
    with pytest.raises(sk.InputError, match="holds a TuningResult, not a sweep"):
        sk.read_sweep("out")
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 1
    assert sk.read_sweep("out").cells == 1


def test_a_sweep_refuses_ranges(steinkit, write_toml):
    answer = steinkit("sweep", write_toml(), "-o", "out")
    assert answer.code == 2
    assert "are for 'steinkit tune'" in answer.err
