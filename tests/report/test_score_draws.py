"""The draws on the page of a score: those that were scored, or words that say why there are none."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest
from support.page_checks import ESS_SCORE

import steinkit as sk
from steinkit.cli import commands
from steinkit.plots.excess import Judged, right_share
from steinkit.report.score_part import score_part
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
    part = _part("two.json")
    (picture,) = _drawn(part)
    assert _not_shown(part) == []
    assert picture.title == "The draws of two.csv"
    assert "no more than 5 independent samples show" in picture.caption
    points = sk.read_sample("two.csv").points
    assert f"150 draws, b from {points[:, 1].min():.3g} to {points[:, 1].max():.3g}, a from" in picture.description


def test_files_beside_the_document_are_found_from_another_folder(folder, monkeypatch):
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert len(_drawn(_part("../two.json"))) == 1


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "two.csv").unlink(), "two.csv does not exist"),
        (lambda folder: shutil.copy(folder / "three.csv", folder / "two.csv"), "not those that were scored"),
        (
            lambda folder: sk.write_sample(sk.read_sample("two.csv")[::-1], "two.csv"),
            "the draws there are not those that were scored",
        ),
        (lambda folder: _change(folder / "two.json", ["files"], ["-"]), "came from standard input"),
        (lambda folder: _change(folder / "two.json", ["settings", "operator"], "a.py:b"), "operator a.py:b is code of"),
        (lambda folder: _change(folder / "two.json", ["results", 0, "seconds"], {"solve": 61.0}), "took 61 s"),
        (lambda folder: _change(folder / "two.json", ["target", "options"], {"mean": "0,1"}), "the target has changed"),
    ],
)
def test_without_them_the_page_says_why_and_shows_none(folder, spoil, said):
    spoil(folder)
    part = _part("two.json")
    assert _drawn(part) == []
    (reservation,) = _not_shown(part)
    assert said in reservation


def test_documents_of_older_versions_show_none(folder):
    document = json.loads((folder / "two.json").read_text(encoding="utf-8"))
    del document["reading"], document["settings"]
    (folder / "two.json").write_text(json.dumps(document), encoding="utf-8")
    part = _part("two.json")
    assert _drawn(part) == []
    assert "does not say how its files were read" in _not_shown(part)[0]


def test_code_of_the_users_own_is_run_when_it_is_passed(folder):
    unasked = _part("three.json")
    assert _drawn(unasked) == []
    assert "pass it with --target" in _not_shown(unasked)[0]
    part = _part("three.json", "model.py:target")
    (picture,) = _drawn(part)
    assert _not_shown(part) == []
    assert "no more than chance makes" in picture.caption
    assert len(read_source("three.json").document["verdict"]["blame"][0]["coordinates"]) == 3  # all are off together
    assert "the target has changed" in _not_shown(_part("three.json", sk.targets.Normal([1.0] * 3)))[0]


def test_a_measure_without_a_picture_asks_for_no_draws(folder):
    _change(folder / "two.json", ["results"], ESS_SCORE["results"])
    (folder / "two.csv").unlink()
    part = _part("two.json")
    assert (_drawn(part), _not_shown(part)) == ([], [])


def test_pictures_judge_by_the_document_as_by_the_verdict():
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.5):
        x = rng.standard_normal((400, 1)) + shift
        found = sk.verdict(x, scores=-x)
        assert right_share(1.0, Judged.of(found.document)) == right_share(1.0, found)
    assert right_share(1.0, Judged.of({**found.document, "ksd_equivalent_draws": None, "ess": None})) == 1.0


def test_a_pipe_in_the_place_of_the_draws_is_not_waited_for(folder):
    (folder / "two.csv").unlink()
    os.mkfifo(folder / "two.csv")
    part = _part("two.json")
    assert not _drawn(part)
    assert _not_shown(part) == ["the draws are not shown: two.csv is neither a file nor a folder"]


@pytest.mark.parametrize("wrong", [{"bounds": 3}, {"bounds": ["a"]}, {"stein_factors": 1.0}])
def test_settings_of_another_kind_are_told(folder, wrong):
    document = json.loads((folder / "two.json").read_text(encoding="utf-8"))
    document["settings"] |= wrong
    (folder / "two.json").write_text(json.dumps(document), encoding="utf-8")
    (said,) = _not_shown(_part("two.json"))
    assert "the document's settings are not those of a score" in said
