"""Units of a sweep: one scale for all cells, which is part of their identity."""

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
    """Draw independent points with the target's standard deviations multiplied by a factor."""
    return times * _SD * np.random.default_rng(seed).standard_normal((60, 2))


def swept(target=UNDRAWN, times=(0.1, 0.9), **changes):
    given = {"grid": {"times": list(times)}, "seeds": 2, "measures": ("graph", "moments")} | changes
    return sweep(target, spread, **given)


def test_units_are_standard_deviations_of_draws_from_the_target():
    found = swept(DRAWN)
    assert found.units["kind"] == "reference"
    assert list(found.units["scale"].values()) == pytest.approx(_SD, rel=0.03)  # standard error .007
    assert found.configuration.measure_settings["units"] == found.units
    assert found.to_dict()["units"] == found.units


def test_units_are_sds_of_the_chain_that_agrees_best_with_the_score(tmp_path):
    """The units are from neither the first setting, which is too narrow, nor the last, which is too wide."""
    first = swept(times=(0.1, 0.9, 5.0), measures=("ksd",), file=tmp_path / "out")
    chain = spread(None, seed=0, times=0.9)
    assert first.units["kind"] == "pilot"
    assert first.units["scale"] == {name: float(f"{sd:.6g}") for name, sd in zip("ab", chain.std(axis=0), strict=True)}
    more = swept(times=(0.1, 1.0, 0.9, 5.0), measures=("ksd",), file=tmp_path / "out")
    assert (more.units, more.reused) == (first.units, 6)
    assert swept(times=(0.1, 1.0), measures=("ksd",)).units != first.units


def test_units_are_part_of_the_identity_of_cells(tmp_path):
    swept(file=tmp_path / "out")
    raw = swept(file=tmp_path / "out", units="raw")
    assert (raw.reused, raw.units) == (0, {"kind": "raw", "scale": {"a": 1.0, "b": 1.0}})
    alone = sk.graph_stein_discrepancy(spread(None, seed=0, times=0.1), UNDRAWN, units="raw", tolerance=1e-2)
    assert raw.records[0].measures["graph"].lower == alone.lower
    assert swept(file=tmp_path / "out", units=_SD).units == {"kind": "given", "scale": {"a": 3.0, "b": 0.2}}


def test_units_are_raw_with_a_warning_if_no_chain_moves():
    with pytest.warns(SteinkitWarning, match="raw units"):
        found = swept(times=(0.0,), measures=("ksd",))
    assert found.units["kind"] == "raw"


def test_units_are_the_same_for_all_cells_with_racing(tmp_path):
    raced = swept(times=(0.9, 3.0), seeds=12, measures=("sliced",), racing=True, file=tmp_path / "out")
    assert "times 3.0" in raced.racing
    draws = sk.Sample(spread(None, seed=11, times=0.9))
    alone = sk.sliced_stein_discrepancy(draws, UNDRAWN, units=raced.units, tolerance=1e-2)
    assert alone.value == raced.records[11].measures["sliced"].value


def test_units_are_none_for_the_effective_sample_size():
    assert swept(measures=("ess",)).units is None


def test_units_may_come_from_a_file(tmp_path, steinkit):
    (tmp_path / "scale.json").write_text(json.dumps({"units": {"kind": "given", "scale": {"x1": 2.0}}}))
    (tmp_path / "sweep.toml").write_text(
        'target = "normal"\n[sampler]\nname = "rwmh"\ndraws = 30\nstart = [0.0]\n[grid]\nproposal_scale = [1.0]\n'
        '[run]\nseeds = 1\nmeasures = ["ksd"]\nunits = "scale.json"\n'
    )
    outcome = steinkit("sweep", str(tmp_path / "sweep.toml"), "-o", str(tmp_path / "out"), "--json")
    assert outcome.document["units"] == {"kind": "given", "scale": {"x1": 2.0}}
