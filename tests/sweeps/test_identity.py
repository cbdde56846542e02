"""Identity of cells: cells of an earlier run are recognized, and others are not mistaken for them."""

import pytest

import steinkit as sk
from steinkit.sweeps import plan as plan_module
from steinkit.sweeps.identity import target_fingerprint
from steinkit.sweeps.plan import read_plan

_HEAD = """
target = "normal"
[target_options]
mean = [0.0, 0.0]
[sampler]
name = "rwmh"
draws = 40
[grid]
proposal_scale = [0.2, 2.5]
[run]
"""
_ALL = """
seeds = [3, 1]
measures = ["ksd", "graph"]
bounds = [[-inf, 9.0], [-9.0, inf]]
stein_factors = [1, 2, 0.5]
kernel = "gaussian"
statistic = "u"
dilation = 3.0
graph = "complete"
solver = "highs"
tolerance = 1e-3
max_seconds = 60
label = "x"
"""


@pytest.fixture
def planned(tmp_path, monkeypatch):
    """Return the plan for a [run] table, with a fixed version."""
    monkeypatch.setattr(plan_module, "__version__", "1.0")

    def plan(run):
        (tmp_path / "sweep.toml").write_text(_HEAD + run)
        return read_plan(tmp_path / "sweep.toml")

    return plan


def test_the_same_file_makes_the_same_cells_and_any_change_makes_others(planned):
    runs = [_ALL, _ALL, _ALL.replace("1e-3", "2e-3"), _ALL.replace('"x"', '"y"'), _ALL.replace("[1, 2,", "[1, 3,")]
    first, again, *others = (planned(run).fingerprint(1, 1) for run in runs)
    assert first == again
    assert len({first, *others}) == 4
    assert len({planned(_ALL).fingerprint(*place) for place in planned(_ALL).places}) == 4


def _normal(names):
    return sk.Target(score=lambda x: -x, dim=2, names=names)


def test_targets_are_distinguished_by_their_names():
    named = [target_fingerprint(_normal(names)) for names in (["a", "b"], ["a", "c"], ["b", "a"], ["a", "b"])]
    assert len(set(named)) == 3
    assert named[0] == named[3]
    assert target_fingerprint(_normal(None)) not in named
