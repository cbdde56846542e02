"""A sweep's units: one scale, kept in its records, that adding cells does not change."""

import json

import numpy as np
import pytest

import steinkit as sk
from steinkit.errors import SteinkitWarning
from steinkit.sweeps.run import sweep

_SD = np.array([3.0, 0.2])
DRAWN = sk.targets.Normal([0.0, 0.0], covariance=np.diag(_SD**2))
UNDRAWN = sk.Target(score=lambda x: -x / _SD**2, dim=2, names=("a", "b"))


def spread(target, *, seed, times):
    """Independent draws that are so many times as wide as they should be."""
    return times * _SD * np.random.default_rng(seed).standard_normal((60, 2))


def swept(target=UNDRAWN, times=(0.1, 0.9), **changes):
    given = {"grid": {"times": list(times)}, "seeds": 2, "measures": ("graph", "moments")} | changes
    return sweep(target, spread, **given)


def test_are_the_targets_where_it_can_be_drawn_from():
    found = swept(DRAWN)
    assert found.units["kind"] == "reference"
    assert list(found.units["scale"].values()) == pytest.approx(_SD, rel=0.03)  # of 10,000 draws: .007
    assert found.configuration.measure_settings["units"] == found.units
    assert found.to_dict()["units"] == found.units


def test_are_those_of_the_chain_whose_spread_the_score_agrees_with():
    """Not of the first, a tenth as wide as it should be, nor of the last, five times as wide."""
    found = swept(times=(0.1, 0.9, 5.0))
    chain = spread(None, seed=0, times=0.9)
    assert found.units["kind"] == "pilot"
    assert found.units["scale"] == {name: float(f"{sd:.6g}") for name, sd in zip("ab", chain.std(axis=0), strict=True)}


def test_adding_cells_does_not_change_them(tmp_path):
    first = swept(times=(0.1,), file=tmp_path / "out")
    more = swept(times=(0.1, 0.9), file=tmp_path / "out")
    assert more.units == first.units
    assert more.reused == 2
    assert swept(times=(0.1, 0.9)).units != first.units  # what a folder without cells would have
    again = swept(times=(0.1, 0.9), file=tmp_path / "out")
    assert again.reused == 4
    assert sk.read_sweep(tmp_path / "out").units == first.units


def test_cells_in_other_units_are_other_cells(tmp_path):
    swept(file=tmp_path / "out")
    raw = swept(file=tmp_path / "out", units="raw")
    assert (raw.reused, raw.units) == (0, {"kind": "raw", "scale": {"a": 1.0, "b": 1.0}})
    alone = sk.graph_stein_discrepancy(spread(None, seed=0, times=0.1), UNDRAWN, units="raw", tolerance=1e-2)
    assert raw.records[0].measures["graph"].lower == alone.lower
    given = swept(file=tmp_path / "out", units=_SD)
    assert given.units == {"kind": "given", "scale": {"a": 3.0, "b": 0.2}}


def test_records_in_other_units_are_counted(tmp_path):
    swept(times=(0.9,), file=tmp_path / "out", units="raw")
    again = swept(times=(0.9,), file=tmp_path / "out")
    assert again.reused == 0
    assert any(note.startswith(f"2 cells in {tmp_path / 'out.sqlite'}") for note in again.warnings)


def test_raw_ones_are_not_taken_in_silence_where_no_chain_moves():
    with pytest.warns(SteinkitWarning, match="no scale: raw units were taken; give units"):
        found = swept(times=(0.0,), measures=("ksd",))
    assert found.units == {"kind": "raw", "scale": {}}


def test_racing_scores_all_cells_in_the_same(tmp_path):
    raced = swept(times=(0.9, 3.0), seeds=12, measures=("sliced",), racing=True, file=tmp_path / "out")
    assert "times 3.0" in raced.racing
    draws = sk.Sample(spread(None, seed=11, times=0.9))
    alone = sk.sliced_stein_discrepancy(draws, UNDRAWN, units=raced.units, tolerance=1e-2)
    assert alone.value == raced.records[11].measures["sliced"].value


def test_with_an_operator_they_are_raw():
    operator = sk.RiemannianLangevin(
        covariance=lambda x: np.broadcast_to(np.eye(2), (len(x), 2, 2)), divergence=np.zeros_like
    )
    assert swept(measures=("graph",), operator=operator).units["kind"] == "raw"


def test_effective_size_alone_has_none():
    assert swept(measures=("ess",)).units is None


def test_a_file_gives_them(tmp_path, steinkit):
    (tmp_path / "scale.json").write_text(json.dumps({"units": {"kind": "given", "scale": {"x1": 2.0}}}))
    (tmp_path / "sweep.toml").write_text(
        'target = "normal"\n[sampler]\nname = "rwmh"\ndraws = 30\nstart = [0.0]\n[grid]\nproposal_scale = [1.0]\n'
        '[run]\nseeds = 1\nmeasures = ["ksd"]\nunits = "scale.json"\n'
    )
    outcome = steinkit("sweep", str(tmp_path / "sweep.toml"), "-o", str(tmp_path / "out"), "--json")
    assert outcome.document["units"] == {"kind": "given", "scale": {"x1": 2.0}}
