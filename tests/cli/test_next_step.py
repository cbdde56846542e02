"""The suggested next command, on standard error and without JSON."""

import shlex

import numpy as np
import pytest

_NEXT = "next: steinkit "


def _words(outcome):
    """Return the words of the suggested command."""
    *_, last = outcome.err.splitlines()
    assert last.startswith(_NEXT), outcome.err
    assert _NEXT not in outcome.out
    return shlex.split(last.removeprefix(_NEXT), comments=True)


@pytest.fixture
def draws_file(write_csv):
    return write_csv("a b,c", np.random.default_rng(0).standard_normal((300, 2)), "my draws.csv")


def test_suggestions_after_sampling(steinkit):
    sampled = steinkit("sample", "iid", "--target", "normal", "--draws", "400", "-o", "draws.csv")
    judged = steinkit(*_words(sampled))
    assert (judged.code, judged.err) == (0, "")


def test_suggestions_for_biased_draws(steinkit, draws_file):
    judged = steinkit("verdict", draws_file, "--target", "normal", "-p", "mean=1,0")
    assert _words(judged)[:2] == ["repair", draws_file]
    again = steinkit(*_words(judged))
    assert again.code == 0, again
    assert _words(again)[:2] == ["verdict", "repaired.csv"]


def test_suggestions_for_a_parameter_with_a_name_of_weights(steinkit, write_csv):
    file = write_csv("w,b", np.random.default_rng(0).standard_normal((300, 2)), "draws.csv")
    target = ("--target", "normal", "-p", "mean=1,0")
    repaired = steinkit("repair", file, *target, "--weights", "none", "-o", "repaired.csv")
    judged = steinkit(*_words(repaired))
    assert judged.code == 0, judged


def test_suggestions_after_tempered_sampling(steinkit):
    warm = ("--target", "gaussian-mean", "--proposal-scale", "0.5", "--temperature", "2", "--draws", "20")
    words = _words(steinkit("sample", "rwmh", *warm, "-o", "w.csv"))
    assert words == ["verdict", "w.csv", "--target", "gaussian-mean", "-p", "temperature=2"]


@pytest.mark.parametrize("where", [".", "elsewhere"])
def test_suggestions_after_a_sweep(steinkit, folder, write_code, monkeypatch, where):
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
def test_no_suggestions_with_json_or_in_a_pipe(steinkit, draws_file, words):
    outcome = steinkit(*words, stdin=b"a\n1.0\n2.0\n0.5\n")
    assert outcome.code == 0, outcome
    assert "next:" not in outcome.out + outcome.err
