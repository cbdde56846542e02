"""Figures of a score on its page are drawn from the stored result, without new computations."""

import shutil

import numpy as np
import pytest

import steinkit as sk
from steinkit.cli import commands
from steinkit.plots import figures
from steinkit.report.page import _target_of, write_report

_MODEL = "import steinkit as sk\ntarget = sk.targets.Normal([0.0] * 3)\n"


def _score(*words):
    assert commands.main(["score", *words], standalone_mode=False) == 0


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """Return a folder with draws that are too wide, in two and three dimensions, and their scores."""
    folder = tmp_path_factory.mktemp("scored")
    rng = np.random.default_rng(0)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        sk.write_sample(sk.Sample(1.5 * rng.standard_normal((150, 2)), names=["a", "b"]), "two.csv")
        sk.write_sample(sk.Sample(1.5 * rng.standard_normal((150, 3)), names=["a", "b", "c"]), "three.csv")
        (folder / "model.py").write_text(_MODEL, encoding="utf-8")
        normal = ["--target", "normal", "-p", "mean=0,0", "--no-verdict", "--json"]
        _score("two.csv", *normal, "--columns", "b,a", "-o", "two.json")
        _score("three.csv", "--target", "model.py:target", "--json", "-o", "three.json")
    return folder


@pytest.fixture
def folder(scored, tmp_path, monkeypatch):
    """Return a copy of this folder as the working folder."""
    shutil.copytree(scored, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _figures(name):
    found = sk.read_result(name)
    return figures(found, _target_of(found, None))


def test_the_scored_draws_are_shown(folder):
    points = sk.read_sample("two.csv").points
    (folder / "two.csv").unlink()
    shown, *_ = _figures("two.json")
    assert shown.name == "The draws of two.csv"
    assert "99%" in shown.caption
    assert f"150 draws, b from {points[:, 1].min():.3g} to {points[:, 1].max():.3g}, a from" in shown.alt
    legend = [text.get_text() for text in shown.draw().axes[0].get_legend().get_texts()]
    assert "as in 5 independent samples" in legend


def test_a_document_without_arrays_is_refused(folder):
    (folder / "two.json.npz").unlink()
    with pytest.raises(sk.InputError, match=r"two\.json\.npz"):
        write_report("two.json", "page.html")


def test_arrays_of_another_document_are_refused(folder):
    shutil.copy(folder / "three.json.npz", folder / "two.json.npz")
    with pytest.raises(sk.InputError, match=r"two\.json\.npz"):
        write_report("two.json", "page.html")


def test_user_code_runs_only_on_request(folder):
    (folder / "model.py").write_text("raise SystemExit(1)", encoding="utf-8")
    assert any(each.name == "The draws of three.csv" for each in _figures("three.json"))
