"""``steinkit tune``: read a TOML file, write an SQLite file, and choose a setting."""

import pytest

import steinkit as sk

CONFIGURATION = """
target = "logistic-posterior"
[sampler]
name = "sgld"
batch_size = 10
budget = 20000
[grid]
step_size = [1e-4, 0.01, 0.03, 0.1, 1.0]
[run]
seeds = 1
"""


def test_the_json_document_has_fixed_keys(steinkit, folder):
    (folder / "tune.toml").write_text(CONFIGURATION)
    answer = steinkit("tune", "tune.toml", "-o", "out", "--cost", "0.5", "--json")
    assert answer.code == 0, answer.err
    assert set(answer.document) == {
        "setting", "bias", "margin", "resource", "spent", "full", "seconds", "full_seconds", "unjudged", "seeds",
        "rungs", "verdict", "warnings", "version",
    }  # fmt: skip
    assert 1e-3 < answer.document["setting"]["step_size"] < 0.5
    again = steinkit("tune", "tune.toml", "-o", "out", "--cost", "0.5")
    assert "of the 100,000 likelihood evaluations" in " ".join(again.out.split())


@pytest.mark.parametrize(
    ("changed", "new", "match"),
    [
        ("[grid]", "[ranges]", "ranges"),
        ("budget = 20000", "", "budget"),
        ("step_size = [1e-4, 0.01, 0.03, 0.1, 1.0]", "", "grid"),
        ("step_size", "stepsize", "stepsize"),
    ],
)
def test_mistakes_are_reported(steinkit, folder, changed, new, match):
    assert changed in CONFIGURATION
    (folder / "tune.toml").write_text(CONFIGURATION.replace(changed, new))
    answer = steinkit("tune", "tune.toml", "-o", "out")
    assert answer.code == 2
    assert match in answer.err


def test_a_file_contains_the_result_of_the_last_run(steinkit, folder):
    short = CONFIGURATION.replace("[1e-4, 0.01, ", "[").replace("20000", "5000") + 'measures = ["moments"]\n'
    (folder / "sweep.toml").write_text(short)
    (folder / "tune.toml").write_text(short)
    assert steinkit("sweep", "sweep.toml", "-o", "out").code == 0
    assert steinkit("tune", "tune.toml", "-o", "out", "--cost", "0.5").code == 0
    with pytest.raises(sk.InputError, match="TuningResult"):
        sk.read_sweep("out")
    assert steinkit("sweep", "sweep.toml", "-o", "out", "--json").document["reused"] == 3
    assert sk.read_sweep("out").cells == 3
