"""``steinkit verdict``: text, JSON and exit codes for one or several files."""

from pathlib import Path

import numpy as np
import pytest

import steinkit as sk

RIGHT = np.random.default_rng(0).standard_normal((1000, 2))
SHIFTED = RIGHT + np.array([0.3, 0.0])
NORMAL = ("--target", "normal", "-p", "mean=0,0")


@pytest.fixture
def files(write_csv):
    return {
        "right": write_csv("a,b", RIGHT, name="right.csv"),
        "shifted": write_csv("a,b", SHIFTED, name="shifted.csv"),
    }


def test_text_is_that_of_the_library(steinkit, files):
    answer = steinkit("verdict", files["shifted"], *NORMAL)
    found = sk.verdict(sk.Sample(SHIFTED, names=("a", "b")), sk.targets.Normal([0.0, 0.0]))
    assert answer.code == 0
    assert " ".join(found.sentences(with_sizes=False)) in " ".join(answer.out.split())
    assert found.bias.table() in answer.out
    assert "Not tested: " in answer.out
    assert "steinkit repair" in answer.err


def test_several_files(steinkit, files):
    answer = steinkit("verdict", files["right"], files["shifted"], *NORMAL)
    assert answer.code == 0
    head, first, second = answer.out.splitlines()[:3]
    assert head.split() == ["sample", "verdict", "p", "ESS", "largest", "bias"]
    assert "no bias seen" in first
    assert "biased" in second
    assert "a: mean 0.2" in second


@pytest.mark.parametrize("dim", [1, 60])
def test_text_fits_a_screen(steinkit, write_csv, dim):
    draws = 1.3 * np.random.default_rng(1).standard_normal((600, dim))
    file = write_csv(",".join(f"x{k}" for k in range(dim)), draws, name="wide.csv")
    target = ("--target", "normal", "-p", f"mean={','.join(['0'] * dim)}")
    assert len(steinkit("verdict", file, *target).out.splitlines()) <= 25
    everything = steinkit("verdict", file, *target, "--all").out
    assert all(f"\nx{k} " in everything for k in range(dim))
    assert "Tests: moments" in everything


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("right", ("--fail-if-biased", "0.01"), 0),
        ("shifted", ("--fail-if-biased", "0.01"), 1),
        ("right", ("--fail-if-bias", "0.1"), 0),
        ("shifted", ("--fail-if-bias", "0.1"), 1),
        ("shifted", ("--fail-if-bias", "0.4"), 0),
    ],
)
def test_fail_options(steinkit, files, name, options, code):
    assert steinkit("verdict", files[name], *NORMAL, *options).code == code


def test_the_document_is_written(steinkit, files, tmp_path):
    printed = steinkit("verdict", files["right"], *NORMAL, "--json", "-o", str(tmp_path / "kept.json"))
    assert (tmp_path / "kept.json").read_text() == printed.out


def test_a_file_that_is_too_short(steinkit, write_csv):
    file = write_csv("a,b", RIGHT[:5], name="few.csv")
    answer = steinkit("verdict", file, *NORMAL)
    assert answer.code == 3
    assert "There is no verdict" in answer.out
    assert "at least 8 draws" in answer.out
    (line,) = answer.err.splitlines()  # no next step is suggested for a file that cannot be tested
    assert line.startswith("warning: there is no verdict: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere.csv", *NORMAL), "nowhere.csv"),
        (("right.csv", "right.csv", *NORMAL), "right.csv twice"),
        (("right.csv",), "--target"),
        (("right.csv", *NORMAL, "--fail-if-bias", "-1"), "--fail-if-bias"),
    ],
)
def test_mistakes(steinkit, files, monkeypatch, words, message):
    monkeypatch.chdir(Path(files["right"]).parent)
    answer = steinkit("verdict", *words)
    assert answer.code in (2, 3)
    assert message in answer.err


def test_score_batch(steinkit, write_csv):
    """Scores from batches of a built-in posterior."""
    nodal = sk.targets.LogisticRegression.nodal()
    draws = sk.samplers.mala(nodal, step_size=0.1, draws=500, thin=20, burn_in=500).points[0]
    file = write_csv(",".join(nodal.names), draws)
    few = ("--score-batch", "20", "--seed", "3")
    answer = steinkit("verdict", file, "--target", "logistic-posterior", *few, "--json")
    (entry,) = answer.document["verdicts"]
    found = sk.verdict(draws, nodal, score_batch=20, rng=3)
    assert entry["verdict"]["p"] == found.p
    assert entry["verdict"]["score_noise"] == found.score_noise
    assert "batches of 20" in answer.err
    refused = steinkit("verdict", file, "--target", "normal", "-p", "mean=0,0,0,0,0,0", *few)
    assert "requires a Posterior" in refused.out


def test_a_page_of_a_saved_verdict(steinkit, files, tmp_path):
    saved = tmp_path / "verdict.json"
    assert steinkit("verdict", files["shifted"], *NORMAL, "-o", str(saved)).code == 0
    assert sk.read_result(saved).findings[0].parameters == ("a",)
    assert steinkit("report", str(saved), "-o", str(tmp_path / "page.html")).code == 0
    assert "a is too high" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert steinkit("verdict", *files.values(), *NORMAL, "-o", str(tmp_path / "both.json")).code == 0
    refused = steinkit("report", str(tmp_path / "both.json"), "-o", str(tmp_path / "page.html"))
    assert (refused.code, "both.json.npz" in refused.err) == (3, True)


def test_missing_verdicts_exit_with_4(steinkit, write_csv):
    few = write_csv("a,b", RIGHT[:50], name="few.csv")
    walk = write_csv("a,b", np.cumsum(RIGHT, axis=0), name="walk.csv")
    full = write_csv("a,b", RIGHT, name="full.csv")
    for answer in (steinkit("verdict", few, *NORMAL), steinkit("verdict", walk, *NORMAL)):
        assert answer.code == 4
        assert "Too few effective draws" in answer.out
    assert steinkit("verdict", full, few, *NORMAL).code == 4
    assert steinkit("verdict", full, *NORMAL, "--max-seconds", "0.001").code == 4
    assert steinkit("verdict", full, "--target", "normal", "-p", "mean=0,0,0").code == 3
