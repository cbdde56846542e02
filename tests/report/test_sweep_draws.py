"""The draws behind a sweep's verdict: which settings, and of the right target alone."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import InputError, UsageError
from steinkit.report.sources import read_source
from steinkit.report.sweep_draws import scored_draws, telling_settings
from steinkit.report.sweep_part import sweep_part
from steinkit.sweeps.choice import choose

_STEPS = (5e-2, 1e-2, 5e-3, 1e-3, 1e-4)


def _choice(measure, values):
    settings = [{"step_size": step} for step in _STEPS]
    records = [
        {"settings": setting, "seed": seed, "results": [{"measure": measure, "value": value + 0.01 * seed}]}
        for setting, value in zip(settings, values, strict=True)
        for seed in range(6)
    ]
    return choose(records, measure, settings)


def test_one_setting_on_either_side_of_the_best():
    graph = _choice("graph", [30.0, 5.0, 2.0, 4.0, 9.0])
    told = telling_settings(graph, _choice("ess", [90.0, 20.0, 10.0, 5.0, 1.0]), "step_size")
    assert {name: setting["step_size"] for name, setting in told.items()} == {
        "smaller": 1e-3,  # the middle of two
        "best": 5e-3,
        "larger": 5e-2,  # what effective sample size picks
    }


def test_a_best_one_at_the_end_has_one_side():
    told = telling_settings(_choice("graph", [1.0, 5.0, 6.0, 7.0, 9.0]), None, "step_size")
    assert set(told) == {"smaller", "best"}


def test_the_draws_kept_are_those_scored(sweep_folder):
    found = read_source(sweep_folder)
    target, scored = scored_draws(found, list(found.sweep.settings), None)
    assert target.score(np.array([[1.0, -2.0]])) == pytest.approx(np.array([[-1.0, 2.0]]))
    for k, setting in enumerate(found.sweep.settings):
        (record,) = [each for each in found.sweep.records if each["settings"] == setting and each["seed"] == 0]
        assert scored[k].value == pytest.approx(record["results"][0]["value"], rel=1e-12)


def test_another_target_is_refused(sweep_folder):
    found = read_source(sweep_folder)
    with pytest.raises(InputError, match="not the one that the sweep was run with"):
        scored_draws(found, list(found.sweep.settings), sk.targets.Normal([0.0, 1.0]))


def test_code_is_not_run_unasked(sweep_folder, tmp_path):
    folder = shutil.copytree(sweep_folder, tmp_path / "own")
    configuration = json.loads((folder / "sweep.json").read_text())
    configuration["target"]["name"] = "model.py:target"
    (folder / "sweep.json").write_text(json.dumps(configuration))
    found = read_source(folder)
    with pytest.raises(UsageError, match="does not run unasked"):
        scored_draws(found, list(found.sweep.settings), None)


@pytest.fixture(scope="module")
def without_draws(sweep_folder):
    return sweep_part(read_source(sweep_folder), sk.targets.Normal([0.0, 1.0]))


def test_a_page_without_draws_says_why(without_draws):
    (note,) = [note for note in without_draws.reservations if note.startswith("the draws are not shown")]
    assert "the target normal is not the one that the sweep was run with" in note
    assert [picture.title for picture in without_draws.pictures] == [
        "Which proposal scale?",
        "Coordinate by coordinate",
    ]


def test_the_printed_document_alone_gives_the_same_verdict(sweep_folder, write_json, without_draws):
    alone = read_source(write_json(read_source(sweep_folder).document))
    assert alone.kind == "sweep"
    part = sweep_part(alone, None)
    assert part.headline == without_draws.headline
    assert part.tables == without_draws.tables
    assert part.pictures == without_draws.pictures[:1]  # coordinates are in the records
