"""The draws on the page of a score: those that were scored, or words that say why there are none."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from support.page_checks import ESS_SCORE

import steinkit as sk
from steinkit.cli import commands
from steinkit.report.parts import score_part
from steinkit.report.sources import read_source

_MODEL = "import steinkit as sk\ntarget = sk.targets.Normal([0.0] * 3)\n"


def _score(*words):
    assert commands.main(["score", *words], standalone_mode=False) == 0


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A folder with draws that are too wide, in two dimensions and in three, and their scores."""
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
    """A copy of it, as the working folder."""
    shutil.copytree(scored, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _part(name, target=None):
    return score_part(read_source(name), target)


def _drawn(part):
    return [each for each in part.pictures if each.title.startswith("The draws of")]


def _not_shown(part):
    return [each for each in part.reservations if each.startswith("the draws are not shown: ")]


def _change(file, keys, value):
    document = json.loads((file).read_text(encoding="utf-8"))
    place = document
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    file.write_text(json.dumps(document), encoding="utf-8")


def test_the_draws_that_were_scored_are_shown(folder):
    points = sk.read_sample("two.csv").points
    (folder / "two.csv").unlink()  # nothing is read or measured again
    part = _part("two.json")
    (picture,) = _drawn(part)
    assert _not_shown(part) == []
    assert picture.title == "The draws of two.csv"
    assert "no more than 5 independent samples show" in picture.caption
    assert "Grey regions hold 50, 90 and 99% of the target" in picture.caption
    assert f"150 draws, b from {points[:, 1].min():.3g} to {points[:, 1].max():.3g}, a from" in picture.description


def test_a_document_alone_shows_none_and_says_why(folder):
    (folder / "two.json.npz").unlink()
    part = _part("two.json")
    assert _drawn(part) == []
    (reservation,) = _not_shown(part)
    assert "steinkit score -o keeps what a page shows the draws with" in reservation


def test_arrays_of_another_document_are_refused(folder):
    shutil.copy(folder / "three.json.npz", folder / "two.json.npz")
    with pytest.raises(sk.InputError, match=r"two\.json\.npz belongs to another result"):
        _part("two.json")


def test_code_of_the_users_own_is_not_run_unasked(folder):
    (folder / "model.py").write_text("raise SystemExit(1)", encoding="utf-8")
    part = _part("three.json")
    (picture,) = _drawn(part)
    assert _not_shown(part) == []
    assert "no more than chance makes" in picture.caption


def test_a_measure_without_a_picture_asks_for_no_draws(folder):
    _change(folder / "two.json", ["results"], ESS_SCORE["results"])
    (folder / "two.json.npz").unlink()
    part = _part("two.json")
    assert (_drawn(part), _not_shown(part)) == ([], [])


def test_a_score_in_memory_makes_the_page_of_its_files(folder):
    found = sk.read_result("two.json")
    part = score_part(read_source(found))
    assert part.headline == _part("two.json").headline
    assert len(_drawn(part)) == 1
