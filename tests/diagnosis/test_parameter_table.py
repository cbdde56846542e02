"""The table of a verdict by parameter, against ArviZ."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk

DRAWS = Path(__file__).parents[1] / "data" / "arviz" / "centered_eight.nc"

# arviz_stats.summary(tree, ci_prob=0.9, ci_kind="eti", round_to=None) of ArviZ's centered_eight.nc, arviz-stats 0.8.0.
# The sd of ArviZ has divisor n. Its tail ESS is that of ess(method="tail", prob=(0.05, 0.95)).
COLUMNS = ("mean", "sd", "q5", "q95", "ess_bulk", "ess_tail", "r_hat", "mcse_mean")
ARVIZ = {
    "mu": (4.485933103402339, 3.4856419942373504, -1.1520023872638865, 10.020467944718044, 240.99310388243433,
           658.6979683209769, 1.0204658098967794, 0.22578649321824482),
    "theta[Choate]": (6.4600642349116635, 5.866034174814936, -2.072041059407276, 16.403862375106062,
                      365.04959922068764, 710.0078498744205, 1.0110471286219855, 0.30047431261856256),
    "tau": (4.124222787491915, 3.1013611434765216, 1.0539799650892243, 10.106177840610401, 66.569678376277,
            38.18310070991432, 1.0624371764120308, 0.2621122290330698),
}  # fmt: skip
BFMI, DEPTH, DIVERGENT = 0.26978302, 6, 48  # arviz_stats.base.array_stats.bfmi, and maximum and sum of sample_stats


@pytest.fixture(scope="module")
def eight():
    """The verdict on ArviZ's example; the scores do not affect the columns of ArviZ."""
    sample = sk.read_sample(DRAWS)
    return sk.verdict(sample, scores=-sample.points)


def test_moments_and_diagnostics_are_those_of_arviz(eight):
    frame = eight.to_frame()
    n = eight.draws
    for name, values in ARVIZ.items():
        wanted = dict(zip(COLUMNS, values, strict=True))
        wanted["sd"] *= np.sqrt(n / (n - 1.0))
        for column, value in wanted.items():
            assert frame.loc[name, column] == pytest.approx(value, rel=1e-9), (name, column)
    assert (eight.tree_depth, eight.divergent) == (DEPTH, DIVERGENT)
    per_chain = n / 4
    assert eight.bfmi == pytest.approx(BFMI * per_chain / (per_chain - 1.0), rel=1e-6)  # the sums of ArviZ have n terms
    assert eight.to_dict()["tree_depth"] == DEPTH


def test_a_node_for_arviz_holds_the_table_and_is_saved_with_the_fit(eight, tmp_path):
    import xarray

    with xarray.open_datatree(DRAWS, engine="h5netcdf") as opened:
        fit = opened.load()
    fit["verdict"] = eight.to_datatree()
    fit.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "fit.nc", engine="h5netcdf") as stored:
        node = stored["verdict"].load()
    assert float(node["ess_bulk"].sel(parameter="tau")) == pytest.approx(ARVIZ["tau"][4], rel=1e-9)
    assert node.attrs["label"] == eight.label
    assert node.attrs["divergent"] == DIVERGENT
    assert len(sk.read_sample(tmp_path / "fit.nc")) == eight.draws  # the other groups are still read


def test_columns_of_biases_are_those_of_the_estimate():
    draws = np.random.default_rng(0).standard_normal((1000, 3)) * [1.0, 1.0, 0.8] + [0.3, 0.0, 0.0]
    found = sk.verdict(draws, sk.targets.Normal(0.0, dim=3))
    frame = found.to_frame()
    assert found.bias.reliable.all()
    for column in ("mean_bias", "mean_margin", "sd_bias", "sd_margin"):
        np.testing.assert_array_equal(frame[column], getattr(found.bias, column))
    assert abs(frame.loc["x1", "corrected_mean"]) < abs(frame.loc["x1", "mean"])
    lines = found.table(2).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == [
        found.bias.quantities[0].name,
        found.bias.quantities[1].name,
        "and",
    ]


def test_unreliable_biases_are_missing(eight):
    frame = eight.to_frame()
    assert not eight.bias.reliable.all()
    for name, reliable in zip(eight.bias.names, eight.bias.reliable, strict=True):
        assert np.isfinite(frame.loc[name, "corrected_mean"]) == (reliable and eight.known_bias is not None)
    assert "?" in eight.table()


def test_whole_weights_act_like_repeated_draws():
    rng = np.random.default_rng(3)
    draws, times = rng.standard_normal((400, 2)), rng.integers(0, 4, 400)
    frame = sk.verdict(draws, sk.targets.Normal([0.0, 0.0]), weights=times).to_frame()
    repeated = np.sort(np.repeat(draws, times, axis=0), axis=0)
    np.testing.assert_allclose(frame["mean"], repeated.mean(axis=0), rtol=1e-12)
    for column, probability in (("q5", 0.05), ("q95", 0.95)):
        np.testing.assert_array_equal(frame[column], repeated[int(np.ceil(probability * len(repeated))) - 1])
    assert frame[["mcse_mean", "ess_bulk", "ess_tail", "r_hat"]].isna().all(axis=None)


def test_functions_of_the_target_have_moments_and_biases():
    target = sk.Target(lambda x: -x, functions={"square": lambda x: x[:, 0] ** 2}, names=["a"])
    draws = np.random.default_rng(0).standard_normal(2000)
    frame = sk.verdict(draws, target).to_frame()
    assert list(frame.index) == ["a", "square"]
    assert frame.loc["square", "mean"] == pytest.approx((draws**2).mean(), rel=1e-12)
    assert np.isnan(frame.loc["square", "ess_bulk"])


def test_a_frame_needs_pandas_or_polars(eight, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sk.MissingDependencyError):
        eight.to_frame()


class TestCommandLine:
    FILE = str(Path(__file__).parents[2] / "examples" / "data" / "sgld_5e-3.csv")

    def test_the_table_lists_quantiles_and_diagnostics(self, steinkit):
        result = steinkit("verdict", self.FILE, "--target", "mixture-posterior", "--table")
        plain = steinkit("verdict", self.FILE, "--target", "mixture-posterior")
        assert "tail ESS" in result.out
        assert "tail ESS" not in plain.out

    def test_json_has_one_row_per_parameter(self, steinkit):
        document = json.loads(steinkit("verdict", self.FILE, "--target", "mixture-posterior", "--table", "--json").out)
        rows = document["verdicts"][0]["parameters"]
        draws = sk.read_sample(self.FILE)
        assert [row["name"] for row in rows] == list(draws.names)
        assert rows[0]["q95"] == np.quantile(draws.points[:, 0], 0.95)
        assert rows[0]["r_hat"] is None
