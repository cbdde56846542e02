"""The verdict on the draws of a sweep's best setting, and the modes that they missed."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.sweeps.run import sweep


@pytest.mark.parametrize("width", [1.0, 0.6])
def test_the_verdict_is_on_the_best_settings_draws_with_the_first_seed(width):
    def drawn(target, *, seed, scale):
        return scale * np.random.default_rng(seed).standard_normal((300, 2))

    target = sk.targets.Normal([0.0, 0.0])
    found = sweep(target, drawn, grid={"scale": [width, 0.2]}, seeds=[3, 1], units="raw")
    alone = sk.verdict(drawn(target, seed=3, scale=width), target)
    assert found.criteria[found.leading].best == {"scale": width}
    assert (found.verdict.p, found.verdict.is_biased) == (alone.p, width == 0.6)
    assert ("is biased" in found.headline()) == (width == 0.6)
    assert found.missed is None


def test_there_is_no_verdict_without_stored_draws():
    def drawn(target, *, seed, scale):
        if seed == 0:
            raise ValueError("not this one")
        return scale * np.random.default_rng(seed).standard_normal((50, 1))

    found = sweep(sk.targets.Normal([0.0]), drawn, grid={"scale": [1.0]}, seeds=4, measures=["ksd"])
    assert found.verdict is None
    assert found.unjudged


def test_a_mode_that_the_best_setting_missed_is_reported(tmp_path):
    """The first setting stays in one mode; the second visits both, with noise."""

    def visiting(target, *, seed, noise):
        rng = np.random.default_rng(seed)
        draws = rng.standard_normal((60, 2)) - [4.0, 0.0]
        return draws if noise == 0.0 else noise * draws + [8.0, 0.0] * rng.integers(0, 2, (60, 1))

    options = {"means": [[-4.0, 0.0], [4.0, 0.0]], "sd": 1.0}
    grid = {"noise": [0.0, 1.4]}
    given = {"target_options": options, "grid": grid, "seeds": 2, "units": "raw"}
    found = sweep("gaussian-mixture", visiting, file=tmp_path / "out", **given)
    assert found.criteria[found.leading].best == {"noise": 0.0}
    assert found.settings[found.missed.chain] == {"noise": 1.4}
    assert found.missed.place["x1"] == pytest.approx(4.0, abs=1.5)
    assert found.missed.draws > 5
    assert found.to_dict()["missed"]["settings"] == {"noise": 1.4}
    assert "missed a mode" in found.headline()
    assert "missed a mode" in found.summary()
    assert sk.read_sweep(tmp_path / "out").missed == found.missed
