"""Divergences and energies are preserved by every container, and identify the affected parameters."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import steinkit as sk
from steinkit.chains import bfmi, touched_by_divergences
from steinkit.sample import split_chains

EIGHT = Path(__file__).parent / "data" / "arviz" / "centered_eight.nc"
RNG = np.random.default_rng(4)
POINTS = RNG.standard_normal((2, 30, 3))
DIVERGENT = RNG.random((2, 30)) < 0.2
ENERGY = RNG.standard_normal((2, 30)).round(3)
NAMES = ("a", "b", "energy")  # `energy` is also the name of a parameter


def a_sample():
    return sk.Sample(POINTS, names=NAMES, divergent=DIVERGENT, energy=ENERGY)


def assert_same(found):
    assert found.names[:2] == ("a", "b")
    np.testing.assert_array_equal(found.divergent, DIVERGENT.ravel())
    assert found.divergent.dtype == bool
    np.testing.assert_array_equal(found.energy, ENERGY.ravel())


def test_samples_keep_them_when_draws_or_columns_are_selected():
    sample = a_sample()
    assert_same(sample)
    assert_same(sample.with_columns(names=["a", "b", "c"], weights=np.ones(60)))
    assert_same(sample.select(["a", "b"]))
    assert_same(sk.as_sample(sample, columns=["a", "b"]))
    np.testing.assert_array_equal(sample[7::3].divergent, DIVERGENT.ravel()[7::3])
    np.testing.assert_array_equal(sample[sample.divergent].energy, ENERGY.ravel()[DIVERGENT.ravel()])
    repeated = sample[np.repeat(np.arange(60), 2)]
    distinct = repeated.distinct()
    np.testing.assert_array_equal(repeated.divergent[distinct.first], DIVERGENT.ravel())
    assert sk.Sample(POINTS).divergent is None
    assert sk.Sample(POINTS, energy=np.full((2, 30), np.nan)).energy.shape == (60,)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"divergent": np.full(60, 0.5)}, "divergent: row 1 is 0.5 .*expected 0 or 1"),
        ({"divergent": np.full(60, np.nan)}, "divergent: row 1 is nan"),
        ({"divergent": np.zeros(59)}, "divergent must contain one number per draw, 60 in total"),
        ({"energy": np.zeros((3, 20))}, "energy must contain one number per draw"),
    ],
)
def test_invalid_values_are_rejected(settings, message):
    with pytest.raises(sk.InputError, match=message):
        sk.Sample(POINTS, **settings)


@pytest.mark.parametrize("ending", ["csv", "npz", "nc"])
@pytest.mark.filterwarnings("error")
def test_files_preserve_them(tmp_path, ending):
    if ending == "nc":
        pytest.importorskip("h5netcdf")
    path = tmp_path / f"draws.{ending}"
    sk.write_sample(a_sample(), path)
    found = sk.read_sample(path)
    assert_same(found)
    assert found.names == NAMES
    other = tmp_path / f"other.{ending}"
    sk.write_sample(a_sample(), other)
    joined = sk.read_sample([path, other])
    np.testing.assert_array_equal(joined.divergent, np.tile(DIVERGENT.ravel(), 2))


def test_files_of_stan_contain_them(tmp_path):
    path = tmp_path / "output.csv"
    path.write_text(
        "# method = sample (Default)\nlp__,accept_stat__,stepsize__,treedepth__,n_leapfrog__,divergent__,energy__,mu\n"
        "-1,0.9,0.5,3,7,0,2.5,0.1\n-2,0.9,0.5,3,7,1,3.5,0.2\n"
    )
    found = sk.read_sample(path)
    assert found.names == ("mu",)
    assert found.divergent.tolist() == [False, True]
    assert found.energy.tolist() == [2.5, 3.5]


def tree(xarray, stats, **posterior):
    dims, n = ("chain", "draw"), {"chain": range(2), "draw": range(30)}
    values = {"a": POINTS[..., 0], "b": POINTS[..., 1], **posterior}
    return {
        "posterior": xarray.Dataset({name: (dims, each) for name, each in values.items()}, coords=n),
        "sample_stats": xarray.Dataset({name: (dims, each) for name, each in stats.items()}, coords=n),
    }


def test_groups_of_statistics_contain_them():
    xarray = pytest.importorskip("xarray")
    stats = {"diverging": DIVERGENT, "energy": ENERGY, "lp": ENERGY}
    groups = tree(xarray, stats)
    assert_same(sk.as_sample(xarray.DataTree.from_dict(groups)))
    groups["sample_stats"] = groups["sample_stats"].transpose()
    assert_same(sk.as_sample(xarray.DataTree.from_dict(groups)))
    assert sk.as_sample(groups["posterior"]).divergent is None
    groups["sample_stats"] = groups["sample_stats"].assign_coords(draw=range(30, 60))  # labels of other draws
    assert sk.as_sample(xarray.DataTree.from_dict(groups)).divergent is None
    inside = sk.as_sample(tree(xarray, {}, diverging=DIVERGENT)["posterior"])
    assert inside.names == ("a", "b")
    np.testing.assert_array_equal(inside.divergent, DIVERGENT.ravel())


def test_fits_of_cmdstanpy_and_pystan_contain_them():
    columns = ["lp__", "divergent__", "energy__", "a", "b"]
    table = np.stack([ENERGY, DIVERGENT, ENERGY, POINTS[..., 0], POINTS[..., 1]], axis=-1).swapaxes(0, 1)
    frame = pytest.importorskip("pandas").DataFrame(table.swapaxes(0, 1).reshape(60, 5), columns=columns)
    frame.insert(0, "chain__", np.repeat([1, 2], 30))
    assert_same(sk.as_sample(SimpleNamespace(draws_pd=lambda: frame)))

    class Fit(dict):
        param_names, constrained_param_names, dims = ("a", "b"), ("a", "b"), ((), ())
        num_chains, num_warmup, num_samples, num_thin, save_warmup = 2, 0, 30, 1, False
        sample_and_sampler_param_names = ("lp__", "divergent__", "energy__")

    values = {"a": POINTS[..., 0], "b": POINTS[..., 1], "divergent__": DIVERGENT, "energy__": ENERGY}
    assert_same(sk.as_sample(Fit({name: each.T.reshape(-1) for name, each in values.items()})))


def test_bfmi_of_independent_energies_is_two():
    """The variance of a random walk of n steps is about n / 6."""
    independent = RNG.standard_normal(4000)
    walk = np.cumsum(RNG.standard_normal(4000))
    energy = np.concatenate([independent, walk, np.full(100, 2.0), [1.0, 2.0, np.nan, 3.0]])
    chains = np.split(np.arange(len(energy)), [4000, 8000, 8100])
    found = bfmi(energy, chains)
    assert found[0] == pytest.approx(2.0, abs=0.1)
    assert found[1] < 0.01
    assert np.isnan(found[2:]).all()
    assert bfmi(np.array([1.0, 3.0, 2.0, 2.0]), [np.arange(4)])[0] == pytest.approx((4 + 1 + 0) / 3 / 0.5)


def test_divergences_touch_parameters_by_location_or_spread():
    points = RNG.standard_normal((2000, 6))
    low, narrow = points[:, 2] < -2.0, (np.abs(points[:, 4]) < 0.2) & (RNG.random(2000) < 0.3)
    assert touched_by_divergences(points, low).tolist() == [j == 2 for j in range(6)]
    assert touched_by_divergences(points, narrow).tolist() == [j == 4 for j in range(6)]
    assert touched_by_divergences(points, low | narrow).tolist() == [j in (2, 4) for j in range(6)]


def test_unclear_divergences_touch_all_parameters():
    points = np.random.default_rng(8).standard_normal((2000, 6))
    points[:, 5] = 1.0
    none, few, any_ = (np.arange(2000) < k for k in (0, 4, 40))
    assert not touched_by_divergences(points, none).any()
    for unclear in (few, any_, ~none):
        assert touched_by_divergences(points, unclear).all()


def test_false_alarms_occur_in_one_of_a_hundred_samples():
    rng = np.random.default_rng(9)
    points, marks = rng.standard_normal((400, 300, 10)), rng.random((400, 300)) < 0.05
    clear = sum(not touched_by_divergences(x, mark).all() for x, mark in zip(points, marks, strict=True))
    assert clear <= 10  # the expected number is 4


def test_divergences_of_the_centered_eight_schools_are_read():
    pytest.importorskip("h5netcdf")
    sample = sk.read_sample(EIGHT)
    assert (len(sample), sample.divergent.sum()) == (2000, 48)
    assert sample.dim == 10
    assert (bfmi(sample.energy, split_chains(sample)[0]) < 0.4).all()
    standing_out = touched_by_divergences(sample.points, sample.divergent)
    assert [name for name, each in zip(sample.names, standing_out, strict=True) if each] == ["tau"]
    memory = sk.as_sample(pytest.importorskip("xarray").open_datatree(EIGHT, engine="h5netcdf"))
    np.testing.assert_array_equal(memory.divergent, sample.divergent)
    np.testing.assert_array_equal(memory.energy, sample.energy)
