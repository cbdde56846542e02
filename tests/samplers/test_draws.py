import numpy as np
import pytest

import steinkit as sk
from steinkit.samplers import Draws


def two_chains():
    points = np.arange(12.0).reshape(2, 3, 2)
    return Draws(
        points=points,
        cost=np.array([[5.0, 10.0, 15.0], [4.0, 8.0, 12.0]]),
        weights=np.array([[1.0, 0.5, 0.25], [1.0, 0.5, 0.25]]),
        accepted=np.array([[True, False, True], [False, False, True]]),
        names=("a", "b"),
    )


def test_to_sample_concatenates_chains():
    sample = two_chains().to_sample()
    assert sample.names == ("a", "b")
    np.testing.assert_array_equal(sample.points, np.arange(12.0).reshape(6, 2))
    np.testing.assert_array_equal(sample.chain, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(sample.draw, [0, 1, 2, 0, 1, 2])
    np.testing.assert_array_equal(sample.cost, [5, 10, 15, 4, 8, 12])
    np.testing.assert_array_equal(sample.weights, [1, 0.5, 0.25, 1, 0.5, 0.25])


def test_acceptance_rate_of_each_chain():
    draws = two_chains()
    assert draws.chains == 2
    np.testing.assert_allclose(draws.acceptance, [2 / 3, 1 / 3])
    assert Draws(points=np.zeros((1, 2, 1)), cost=np.zeros((1, 2))).acceptance is None


def test_arrays_must_have_one_entry_per_draw():
    with pytest.raises(sk.InputError, match=r"\(chains, draws, d\); got \(3, 2\)"):
        Draws(points=np.zeros((3, 2)), cost=np.zeros(3))
    with pytest.raises(sk.InputError, match=r"cost.*\(2, 3\); got \(2, 4\)"):
        Draws(points=np.zeros((2, 3, 1)), cost=np.zeros((2, 4)))
    with pytest.raises(sk.InputError, match="oracle"):
        Draws(points=np.zeros((2, 3, 1)), cost=np.zeros((2, 3)), diagnostics={"oracle": np.zeros(3)})


def test_chains_of_different_lengths():
    points = np.arange(12.0).reshape(2, 3, 2)
    points[1, 2] = np.nan
    draws = Draws(
        points=points,
        cost=np.array([[5.0, 10.0, 15.0], [4.0, 8.0, np.nan]]),
        accepted=np.array([[True, False, True], [False, True, False]]),
        batch_sizes=np.array([[1, 2, 3], [4, 6, 0]]),
        lengths=np.array([3, 2]),
    )
    np.testing.assert_array_equal(draws.present, [[True, True, True], [True, True, False]])
    np.testing.assert_allclose(draws.acceptance, [2 / 3, 1 / 2])
    np.testing.assert_allclose(draws.mean_batch_size, [2.0, 5.0])
    sample = draws.to_sample()
    np.testing.assert_array_equal(sample.points, np.arange(10.0).reshape(5, 2))
    np.testing.assert_array_equal(sample.chain, [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(sample.draw, [0, 1, 2, 0, 1])
    np.testing.assert_array_equal(sample.cost, [5, 10, 15, 4, 8])
