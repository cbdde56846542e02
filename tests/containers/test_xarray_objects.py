"""Draws in objects of xarray and ArviZ."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.containers.reading import read_draws

xarray = pytest.importorskip("xarray")

BOTH = ("chain", "draw")
THETA = np.arange(24.0).reshape(2, 4, 3)
LABELS = ["b", "a", "c"]


@pytest.fixture
def posterior():
    return xarray.Dataset(
        {
            "mu": (BOTH, THETA[..., 0] + 0.5),
            "theta": ((*BOTH, "school"), THETA),
            "weight": (BOTH, -THETA[..., 1]),
            "data": (("row",), np.ones(7)),
        },
        coords={"school": LABELS, "chain": [3, 5], "draw": [10, 11, 12, 13]},
    )


class Groups(dict):
    """Substitute for InferenceData: groups by name, listed by a method."""

    def groups(self):
        return list(self)


def trees(posterior):
    stats = xarray.Dataset({"lp": (BOTH, np.full((2, 4), np.nan))})
    made = {"posterior": posterior, "sample_stats": stats, "prior": posterior[["mu"]] + 1.0}
    yield Groups(made)
    if hasattr(xarray, "DataTree"):
        tree = xarray.DataTree.from_dict(made)
        yield tree
        yield tree["posterior"]


def test_groups_and_datasets_give_the_same_draws_and_never_sample_stats(posterior):
    for draws in (posterior, *trees(posterior)):
        sample = sk.as_sample(draws)
        assert sample.names == ("mu", "theta[b]", "theta[a]", "theta[c]", "weight")
        np.testing.assert_array_equal(sample.points[:, 1:4], THETA.reshape(8, 3))
        np.testing.assert_array_equal(sample.points[:, 4], -THETA[..., 1].ravel())
        np.testing.assert_array_equal(sample.chain, np.repeat([3, 5], 4))
        np.testing.assert_array_equal(sample.draw, np.tile([10, 11, 12, 13], 2))
        assert sample.weights is None


def test_a_group_by_name(posterior):
    for draws in list(trees(posterior))[:2]:
        np.testing.assert_array_equal(sk.as_sample(draws, group="prior").points[:, 0], THETA[..., 0].ravel() + 1.5)
        with pytest.raises(sk.InputError, match=r'has no group "pior" [(]did you mean "prior"'):
            sk.as_sample(draws, group="pior")
        with pytest.raises(sk.InputError, match='"posterior", "sample_stats", "prior"'):
            sk.as_sample(draws, group="x")
    with pytest.raises(sk.InputError, match=r'no group "posterior".*"observed_data"'):
        sk.as_sample(Groups(observed_data=posterior))
    for other in (posterior, np.zeros(3), {"mu": np.zeros(3)}):
        with pytest.raises(sk.UsageError, match="group= "):
            sk.as_sample(other, group="prior")


def test_every_public_function_takes_them(posterior):
    target = sk.targets.Normal(np.zeros(3))
    theta = posterior["theta"].rename({"school": "k"}).drop_vars("k")
    wanted = sk.moment_stein_discrepancy(sk.Sample(THETA), scores=-THETA, units="raw")
    assert sk.moment_stein_discrepancy(theta, scores=-THETA, units="raw").value == wanted.value
    assert sk.thin(theta.rename(None), target, m=2).points.shape == (2, 3)
    assert sk.chain_diagnostics(posterior).names == sk.as_sample(posterior).names
    compared = sk.compare({"a": theta.rename(None)}, target, measures=["moments"], verdict=False)
    assert not compared.samples[0].errors
    with pytest.raises(sk.UsageError, match=r"mapping of names to samples.*got Dataset"):
        sk.compare(posterior, target)  # its variables are not samples


def test_an_array_is_read_by_the_names_of_its_dimensions(posterior):
    for dims in (("school", "draw", "chain"), ("draw", "school", "chain"), (*BOTH, "school")):
        sample = sk.as_sample(posterior["theta"].transpose(*dims))
        assert sample.names == ("theta[b]", "theta[a]", "theta[c]")
        np.testing.assert_array_equal(sample.points, THETA.reshape(8, 3))
    one = sk.as_sample(posterior["theta"].sel(chain=5))
    np.testing.assert_array_equal(one.points, THETA[1])
    assert one.chain is None
    np.testing.assert_array_equal(one.draw, [10, 11, 12, 13])


def test_an_array_without_a_name_is_called_by_its_labels():
    both = xarray.Dataset({"mu": (BOTH, THETA[..., 0]), "tau": (BOTH, THETA[..., 1])}).to_array()
    assert sk.as_sample(both).names == ("mu", "tau")
    assert sk.as_sample(xarray.DataArray(THETA[0], dims=("draw", "k"))).has_default_names


def test_errors_for_missing_dimensions_list_the_others():
    with pytest.raises(sk.InputError, match=r"\(sample, k\).*rename"):
        sk.as_sample(xarray.DataArray(THETA[0], dims=("sample", "k")))
    with pytest.raises(sk.InputError, match=r'Dataset.*"mu\(sample\)".*rename'):
        sk.as_sample(xarray.Dataset({"mu": (("sample",), np.zeros(3))}))


def test_stacked_draws_keep_their_labels(posterior):
    stacked = posterior.stack(sample=BOTH)  # like arviz.extract
    whole = sk.as_sample(stacked)
    np.testing.assert_array_equal(whole.points, sk.as_sample(posterior).points)
    np.testing.assert_array_equal(whole.chain, np.repeat([3, 5], 4))
    assert read_draws(stacked).lead == (2, 4)
    some = sk.as_sample(stacked.isel(sample=[6, 1, 3]))
    np.testing.assert_array_equal(some.points[:, 1:4], THETA.reshape(8, 3)[[6, 1, 3]])
    np.testing.assert_array_equal(some.chain, [5, 3, 3])
    np.testing.assert_array_equal(some.draw, [12, 11, 13])
    np.testing.assert_array_equal(sk.as_sample(stacked["theta"]).points, THETA.reshape(8, 3))


def test_labels_along_every_axis_or_positions():
    values = np.zeros((2, 4, 2, 2))
    named = xarray.Dataset({"S": ((*BOTH, "i", "j"), values)}, coords={"i": [2000, 2001], "j": ["p", "q"]})
    assert sk.as_sample(named).names == ("S[2000,p]", "S[2000,q]", "S[2001,p]", "S[2001,q]")
    doubled = named.assign_coords(j=["p", "p"])
    assert sk.as_sample(doubled).names == ("S[2000,0]", "S[2000,1]", "S[2001,0]", "S[2001,1]")
    commas = named.assign_coords(i=["a,b", "a"], j=["c", "b,c"])  # the label a,b,c occurs twice
    assert sk.as_sample(commas).names == ("S[0,0]", "S[0,1]", "S[1,0]", "S[1,1]")


def test_variables_by_name(posterior):
    given = read_draws(posterior)
    found = {name: given.variable(name) for name in given.labels}
    assert list(found) == ["mu", "theta", "weight"]
    assert found["theta"].labels == (("b", "a", "c"),)
    np.testing.assert_array_equal(found["theta"].values, THETA)
    np.testing.assert_array_equal(found["theta"].in_order((("a", "b", "c"),)).values, THETA[..., [1, 0, 2]])


def test_variables_that_are_not_selected_are_not_read(posterior):
    posterior["kind"] = (BOTH, np.full((2, 4), "oak"))
    with pytest.raises(sk.InputError, match='variable "kind", got <U3'):
        sk.as_sample(posterior)
    assert sk.as_sample(posterior, columns=["theta"]).names == ("theta[b]", "theta[a]", "theta[c]")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.0, np.nan, 1.0], [2.0, 3.0, 4.0]], 'the Dataset, chain 0, draw 1, column "mu" is nan'),
        ([[0.0, 1.0, 2.0], [3.0, np.nan, np.nan]], r'chain 1, draw 1, column "mu" is nan \(2 such'),
        (np.zeros((2, 0)), "the Dataset is empty: 2 chains of 0 draws"),
        (np.zeros((2, 3), "M8[ns]"), "datetime64"),
        (np.zeros((2, 3), complex), "complex128"),
    ],
)
def test_errors_name_the_place(values, message):
    with pytest.raises(sk.InputError, match=message):
        sk.as_sample(xarray.Dataset({"mu": (BOTH, values)}))


# raised by a call within ArviZ
@pytest.mark.filterwarnings("ignore:The inplace keyword in DataFrame.sort_index is deprecated")
def test_inference_data_of_arviz():
    arviz = pytest.importorskip("arviz")
    data = arviz.from_dict(
        posterior={"mu": THETA[..., 0], "theta": THETA},
        sample_stats={"lp": THETA[..., 0]},
        coords={"school": LABELS},
        dims={"theta": ["school"]},
    )
    sample = sk.as_sample(data)
    assert sample.names == ("mu", "theta[b]", "theta[a]", "theta[c]")
    np.testing.assert_array_equal(sample.points[:, 1:], THETA.reshape(8, 3))
    np.testing.assert_array_equal(sk.as_sample(arviz.extract(data)).points, sample.points)


def test_positions_in_another_order_are_still_positions():
    """An axis that ArviZ numbered and `isel` reordered."""
    counted = xarray.Dataset({"theta": (("chain", "draw", "theta_dim_0"), np.zeros((2, 5, 3)))})
    counted = counted.assign_coords(theta_dim_0=[0, 1, 2])
    assert list(read_draws(counted).unlabelled) == ["theta"]
    assert list(read_draws(counted.isel(theta_dim_0=[2, 0, 1])).unlabelled) == ["theta"]
    assert not read_draws(counted.assign_coords(theta_dim_0=[5, 3, 4])).unlabelled


def test_groups_are_strings():
    tree = xarray.DataTree.from_dict({"posterior": xarray.Dataset({"x": ("draw", np.zeros(5))})})
    with pytest.raises(sk.UsageError, match=r"group .* got 3"):
        sk.as_sample(tree, group=3)


def test_invalid_attributes_are_ignored():
    dataset = xarray.Dataset({"a": (("chain", "draw"), [[1.0, 2.0]])}, attrs={"steinkit_labels": 3})
    assert sk.as_sample(dataset).chain is None
