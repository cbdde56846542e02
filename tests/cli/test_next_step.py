"""Each command ends with one that is useful next: on standard error, as it can be typed, and never beside JSON."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

_NEXT = "next: steinkit "


def _words(outcome):
    """The words of the command that comes next, with what stands behind it for the reader left out."""
    *_, last = outcome.err.splitlines()
    assert last.startswith(_NEXT), outcome.err
    assert _NEXT not in outcome.out
    return shlex.split(last.removeprefix(_NEXT), comments=True)


@pytest.fixture
def draws_file(write_csv):
    return write_csv("a b,c", np.random.default_rng(0).standard_normal((60, 2)), "my draws.csv")


def test_a_way_through_the_commands(steinkit, folder):
    """From draws to a page, by what each command says is next."""
    words, walked = ["sample", "iid", "--target", "normal", "--draws", "60", "-o", "draws.csv"], []
    while words[0] != "report":
        outcome = steinkit(*words)
        assert outcome.code == 0, outcome
        walked.append(words[0])
        words = _words(outcome)
    assert walked == ["sample", "score", "score"]
    page = steinkit(*words)
    assert page.code == 0, page
    assert page.err.splitlines()[-1] == "next: open report.html in a browser"
    assert (folder / "report.html").exists()


@pytest.mark.parametrize("command", ["compare", "curve"])
def test_a_name_with_a_blank_and_a_measure_without_a_picture(steinkit, draws_file, folder, command):
    first = steinkit(command, draws_file, "--target", "normal", "--measure", "ess", *_fewest(command))
    assert _words(first)[-2:] == ["-o", f"{command}.json"]
    second = steinkit(*_words(first))
    assert second.code == 0, second
    assert (folder / f"{command}.json").exists()
    assert _words(second)[0] == "report"


def _fewest(command):
    return ("--no-verdict", "--reference", "0") if command == "compare" else ("--n", "30,60")


def test_thinning_and_the_temperature_of_draws(steinkit, draws_file):
    thinned = steinkit("thin", draws_file, "--target", "normal", "-p", "mean=0,0", "--draws", "5", "-o", "t.csv")
    compared = steinkit(*_words(thinned))
    assert compared.code == 0, compared
    assert "mean=0,0" in compared.out
    warm = ("--target", "gaussian-mean", "--proposal-scale", "0.5", "--temperature", "2", "--draws", "20")
    assert _words(steinkit("sample", "rwmh", *warm, "-o", "w.csv")) == [
        "score", "w.csv", "--target", "gaussian-mean", "-p", "temperature=2"
    ]  # fmt: skip


@pytest.mark.parametrize("where", [".", "elsewhere"])
def test_a_sweep_of_a_target_of_ones_own(steinkit, folder, write_code, monkeypatch, where):
    write_code("target = sk.Target(score=lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)\n")
    (folder / "sweep.toml").write_text(
        'target = "model.py:target"\n[sampler]\nname = "rwmh"\ndraws = 60\n[grid]\nproposal_scale = [2.0]\n'
        '[run]\nseeds = 2\nmeasures = ["ess"]\n'
    )
    (folder / where).mkdir(exist_ok=True)
    monkeypatch.chdir(folder / where)
    file = "sweep.toml" if where == "." else "../sweep.toml"
    swept = steinkit("sweep", file, "-o", "out")
    page = steinkit(*_words(swept))
    assert page.code == 0, page
    assert (folder / where / "out.html").exists()
    assert _NEXT not in steinkit("sweep", file, "-o", "out", "--json").err


@pytest.mark.parametrize(
    "words",
    [
        ("score", "my draws.csv", "--target", "normal", "--measure", "ess", "--no-verdict", "--json"),
        ("score", "-", "--target", "normal", "--measure", "ess", "--no-verdict"),
        ("thin", "my draws.csv", "--target", "normal", "--draws", "5", "-o", "t.csv", "--json"),
        ("sample", "iid", "--target", "normal", "--draws", "5", "-o", "-"),
        ("sample", "iid", "--target", "normal", "--draws", "5", "-o", "d.csv", "--json"),
    ],
)
def test_nothing_beside_json_nor_in_a_pipe(steinkit, draws_file, words):
    outcome = steinkit(*words, stdin=b"a\n1.0\n2.0\n0.5\n")
    assert outcome.code == 0, outcome
    assert "next:" not in outcome.out + outcome.err
