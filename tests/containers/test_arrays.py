"""Draws in arrays and dicts of arrays."""

import numpy as np
import pytest
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.containers.reading import read_draws

STEPS, WALKERS, RHO = 300, 16, 0.9


@pytest.fixture(scope="module")
def walks():
    """Return stationary AR(1) walkers, (steps, walkers, 1); the ESS per draw is (1 - rho) / (1 + rho)."""
    return autoregression(np.random.default_rng(0).standard_normal((STEPS, WALKERS, 1)), RHO)


def test_ess_depends_on_the_axis_of_the_chains(walks):
    worth = STEPS * WALKERS * (1.0 - RHO) / (1.0 + RHO)
    right = sk.chain_diagnostics(sk.as_sample(walks, dims=("draw", "chain"))).bulk_ess[0]
    wrong = sk.chain_diagnostics(sk.Sample(walks)).bulk_ess[0]
    assert 0.7 * worth < right < 1.4 * worth
    assert wrong > 0.8 * STEPS * WALKERS


def test_ambiguous_axes_must_be_stated(walks):
    with pytest.raises(sk.InputError, match=r"300 chains of 16 draws.*dims=.*emcee"):
        sk.chain_diagnostics(walks)
    with pytest.raises(sk.InputError, match="more chains than draws"):
        sk.moment_stein_discrepancy(walks, sk.targets.Normal([0.0]))
    told = sk.as_sample(walks, dims=("chain", "draw"))
    np.testing.assert_array_equal(told.points, sk.Sample(walks).points)
    # unambiguous because there are more draws than chains
    assert sk.as_sample(walks.swapaxes(0, 1)).chain.max() == WALKERS - 1


def test_the_axes_that_dims_names():
    array = np.arange(24.0).reshape(2, 4, 3)
    as_steps = sk.as_sample(array, dims=("draw", "chain"))
    np.testing.assert_array_equal(as_steps.points[as_steps.chain == 3], array[:, 3])
    np.testing.assert_array_equal(as_steps.draw, np.tile([0, 1], 4))
    flat = sk.as_sample(array[..., 0], dims=("chain", "draw"))
    assert flat.points.shape == (8, 1)
    np.testing.assert_array_equal(flat.chain, np.repeat([0, 1], 4))
    assert sk.as_sample(array[..., 0], dims=("draw",)).points.shape == (2, 4)
    with pytest.raises(sk.UsageError, match=r"dims must be .*\('step',\)"):
        sk.as_sample(array, dims=("step",))
    with pytest.raises(sk.InputError, match=r"\(2, 4, 3\)"):
        sk.as_sample(array, dims=("draw",))
    with pytest.raises(sk.UsageError, match=r"dims= .*Sample"):
        sk.as_sample(sk.Sample(array), dims=("draw",))


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        (np.ma.masked_greater(np.arange(5.0), 2.0), "2 masked entries; drop those draws first"),
        (np.zeros(3, complex), "real numbers .*complex128"),
        (np.array([1.0, None]), "real numbers .*object"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (np.array([1, 2], "m8[s]"), "timedelta64"),
        (["a", "b"], "real numbers .*<U1"),
        ("draws.csv", "read a file with read_sample"),
        (object(), "got object"),
        (None, "got NoneType"),
        ([{"mu": np.zeros(3)}] * 2, "a list of dict"),
        ([[1.0, 2.0], [3.0]], "same number of coordinates"),
        ({}, "is empty"),
        ({"mu": 3.0}, '"mu" .*single number'),
        ({"mu": {"a": np.zeros(3)}}, '"mu", got dict'),
        (
            {"mu": np.zeros(5), "theta": np.zeros((6, 2))},
            r'"mu \(5,\)", "theta \(6, 2\)"',
        ),
        ({"mu": np.zeros(5), "theta": ["a"] * 5}, 'variable "theta", got <U1'),
        ({"mu": np.ma.masked_less(np.arange(3.0), 1.0)}, 'variable "mu" has 1 masked'),
        ({"mu": np.array([0.0, np.inf])}, 'draw 2, column "mu" is inf'),
        ({"mu": np.zeros((4, 50)), "x": np.zeros((4, 50, 2))}, "4 draws with 50 entries each or 4 chains of 50 draws"),
    ],
)
def test_invalid_draws_are_refused(draws, message):
    with pytest.raises(sk.InputError, match=message):
        sk.as_sample(draws)


def test_a_dict_of_arrays_is_read_by_name():
    theta = np.arange(30.0).reshape(5, 3, 2)
    draws = {"theta": theta, "weight": np.arange(5.0)}
    with pytest.raises(sk.InputError, match=r'"weight".*--weights'):
        sk.as_sample(draws)
    weighted = sk.as_sample(draws, weights="weight", columns=["theta"])
    np.testing.assert_array_equal(weighted.weights, np.arange(5.0))
    other = sk.as_sample(draws | {"w": np.ones(5)}, weights="w")
    with pytest.raises(sk.UsageError, match="'theta'"):
        sk.as_sample(draws, weights="theta", columns=["theta"])
    assert (other.names[-1], other.weights.tolist()) == ("weight", [1.0] * 5)
    sample = sk.as_sample(draws, weights="none")
    assert sample.names == (
        "theta[0,0]",
        "theta[0,1]",
        "theta[1,0]",
        "theta[1,1]",
        "theta[2,0]",
        "theta[2,1]",
        "weight",
    )
    np.testing.assert_array_equal(sample.points, np.column_stack([theta.reshape(5, 6), np.arange(5.0)]))
    assert sample.chain is None
    chains = sk.as_sample({"theta": theta}, dims=("draw", "chain"))
    np.testing.assert_array_equal(chains.points, theta.swapaxes(0, 1).reshape(15, 2))
    np.testing.assert_array_equal(chains.chain, np.repeat([0, 1, 2], 5))


def test_log_weights_in_a_dict_may_be_integers_but_not_booleans():
    draws = {"mu": np.zeros(3), "lw": np.array([-2, -1, -3])}
    with pytest.warns(sk.ReadingWarning, match="exponentiated"):
        np.testing.assert_allclose(sk.as_sample(draws, weights="lw").weights, np.exp([-1.0, 0.0, -2.0]))
    with pytest.raises(sk.InputError, match='log weights "lw", got bool'):
        sk.as_sample({"mu": np.zeros(3), "lw": np.ones(3, dtype=bool)}, weights="lw")


def test_square_matrices_in_a_dict_are_not_ambiguous():
    assert sk.as_sample({"beta": np.zeros((100, 3)), "Sigma": np.zeros((100, 3, 3))}).points.shape == (100, 12)


def test_shapes_of_a_model_determine_the_leading_axes():
    array = np.arange(48.0).reshape(2, 6, 4)
    assert read_draws({"theta": array}, shapes={"theta": (6, 4)}).variable("theta").values.shape == (1, 2, 6, 4)
    two = read_draws({"theta": array, "lp": np.zeros(3)}, shapes={"theta": (4,)})
    assert two.variable("theta").values.shape == (2, 6, 4)
    assert list(two.labels) == ["theta"]
    np.testing.assert_array_equal(two.chain, np.repeat([0, 1], 6))
    with pytest.raises(sk.InputError, match=r'"theta \(2, 6, 4\), one draw \(2, 6, 4\)"'):
        read_draws({"theta": array}, shapes={"theta": (2, 6, 4)})
    with pytest.raises(sk.InputError, match="leading axes"):
        read_draws({"theta": array[0], "mu": array[0]}, shapes={"theta": (4,), "mu": ()})
    with pytest.warns(sk.ReadingWarning, match=r"more chains than draws \(6 chains of 2 draws\)"):
        read_draws({"theta": array.reshape(6, 2, 4)}, shapes={"theta": (4,)})


@pytest.mark.parametrize(("option", "words"), [("dims", "dims "), ("columns", "columns must be")])
def test_options_of_another_type_are_refused(option, words):
    with pytest.raises(sk.UsageError, match=f"{words}.*got 3"):
        sk.as_sample(np.zeros((20, 2)), **{option: 3})
