"""A configuration written by a report is the one that was run."""

from __future__ import annotations

import copy
import json
import tomllib
from pathlib import Path

import pytest

from steinkit.report.sources import Found, configuration_text, is_of_names
from steinkit.sweeps.configuration import read_configuration

_CONFIGURATION = """
target = "normal"
[target_options]
mean = [0.0, 1.5]
[sampler]
name = "rwmh"
draws = 50
start = [0.0, 0.0]
[grid]
proposal_scale = [1e-5, 1.0, 2.5e6]
thin = [1, 2]
[run]
seeds = [4, 2, 7]
measures = ["graph", "ess"]
tolerance = 2e-2
max_seconds = 10.0
stein_factors = [1.0, 0.5, 0.25]
bounds = [[-inf, 3.5], [0.0, inf]]
dilation = 3.0
label = 'say "x"'
"""


@pytest.fixture
def configuration(tmp_path):
    (tmp_path / "first.toml").write_text(_CONFIGURATION)
    plan, racing = read_configuration(tmp_path / "first.toml")
    return json.loads(json.dumps(plan.document)) | {"racing": racing}


def test_round_trip(configuration, tmp_path):
    (tmp_path / "again.toml").write_text(configuration_text(configuration))
    plan, _ = read_configuration(tmp_path / "again.toml")
    assert json.loads(json.dumps(plan.document)) | {"racing": False} == configuration


def test_whole_numbers_of_seeds_are_counted(configuration):
    def written(seeds):
        return tomllib.loads(configuration_text(configuration | {"seeds": seeds}))["run"]["seeds"]

    assert written([0, 1, 2, 3, 4]) == 5
    assert written([4, 2, 7]) == [4, 2, 7]


def test_hostile_names_stay_names(configuration):
    hostile = 'a"]\n[run]\nseeds = 1 # \x7f\x00\\ \u2028 é'
    changed = copy.deepcopy(configuration) | {"label": hostile}
    changed["target"]["options"] = {hostile: [hostile, True, 1e-300], "mean": [0.0, 1.5]}
    found = tomllib.loads(configuration_text(changed))
    assert found["target_options"] == changed["target"]["options"]
    assert found["run"]["label"] == hostile
    assert found["run"]["seeds"] == [4, 2, 7]


def test_what_toml_has_no_word_for_has_no_configuration_file(configuration):
    for place in ("options", "settings"):
        changed = copy.deepcopy(configuration)
        if place == "options":
            changed["sampler"]["options"]["budget"] = None
        else:
            changed["settings"] = [{**setting, "temperature": [None]} for setting in changed["settings"]]
        assert not is_of_names(changed)


def sweep_listings(configuration):
    return Found("my sweep", {}, configuration=configuration, file=Path("my sweep.sqlite")).listings


def test_commands(configuration):
    listings = dict(sweep_listings(configuration | {"racing": True}))
    assert listings["command"] == "steinkit sweep sweep.toml -o 'my sweep.sqlite' --racing"


def test_objects_of_a_program_have_no_configuration_file(configuration):
    assert is_of_names(configuration)
    for change in ({"target": {"name": "Target", "options": {}}}, {"sampler": {"name": "mine.py", "options": {}}}):
        changed = copy.deepcopy(configuration) | change
        assert not is_of_names(changed)
        assert sweep_listings(changed)[0][0].startswith("Objects of a Python program")
    partial = configuration | {"settings": configuration["settings"][:-1]}  # no grid has these
    assert not is_of_names(partial)
