"""Quantities with estimated biases, and rejected input."""

import numpy as np
import pytest
from support.bias_samples import normal_mixture, quantities

import steinkit as sk
from steinkit.errors import InputError, UsageError

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((200, 2))


def test_coordinates_come_first_then_functions_in_their_order():
    functions = {"b": lambda x: x[:, 0] ** 2, "a": lambda x: np.exp(x[:, 1])}
    weights = 1.0 + np.arange(200) % 3
    found = quantities(POINTS, -POINTS, functions=functions, weights=weights)
    assert found.names == ("x1", "x2", "b", "a")
    assert found.dim == 2
    assert found.values()[:, 2] == pytest.approx(POINTS[:, 0] ** 2)
    assert found.centre == pytest.approx(np.average(found.values(), axis=0, weights=weights))
    deviations = found.values() - found.centre
    assert found.scale == pytest.approx(np.sqrt(np.average(deviations**2, axis=0, weights=weights)))


def test_estimates_scale_with_the_units():
    first = quantities(POINTS, -POINTS, functions={"square": lambda x: x[:, 0] ** 2}).by_regression()
    scaled = {"square": lambda x: (x[:, 0] / 1000.0) ** 2}
    second = quantities(1000.0 * POINTS, -POINTS / 1000.0, functions=scaled).by_regression()
    assert second.mean == pytest.approx(first.mean * [1000.0, 1000.0, 1.0], rel=1e-6, abs=1e-6)
    assert second.sd == pytest.approx(first.sd * [1000.0, 1000.0, 1.0], rel=1e-6)
    assert second.mean_error == pytest.approx(first.mean_error, rel=1e-5, abs=1e-9)


def test_functions_are_evaluated_again_at_moved_draws():
    found = quantities(POINTS, -POINTS, functions={"square": lambda x: x[:, 0] ** 2})
    there = found.moved(POINTS + 1.0, -POINTS - 1.0)
    assert there.values()[:, 2] == pytest.approx((POINTS[:, 0] + 1.0) ** 2)
    assert (there.centre == found.centre).all()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x, r"'f' must return an array of shape \(200,\) .* \(200, 2\)$"),
        (lambda x: 1.0, r"'f' must return an array of shape \(200,\) .* \(\)$"),
        (lambda x: np.where(np.arange(200) == 4, np.nan, x[:, 0]), "'f' is nan at draw 5"),
        (lambda x: np.where(np.arange(200) == 0, np.inf, x[:, 0]), "'f' is inf at draw 1"),
        (lambda x: x[:, 7], "'f' raised IndexError"),
        (lambda x: ["a"] * 200, "'f' raised ValueError"),
        (lambda x: np.ones(200), "f is constant in all draws"),
    ],
)
def test_invalid_functions_are_rejected(function, message):
    with pytest.raises(InputError, match=message):
        quantities(POINTS, -POINTS, functions={"f": function})


def test_function_may_change_its_argument():
    def careless(x):
        x *= 2.0
        return x[:, 0]

    found = quantities(POINTS, -POINTS, functions={"careless": careless})
    assert found.centre[2] == pytest.approx(2.0 * found.centre[0])


@pytest.mark.parametrize("functions", [[np.sum], {"f": 3.0}, np.sum])
def test_functions_must_be_a_mapping_to_callables(functions):
    with pytest.raises(UsageError, match="functions must be a mapping"):
        sk.estimate_bias(POINTS, scores=-POINTS, functions=functions)


def test_scores_of_the_opposite_sign_are_rejected():
    with pytest.raises(InputError, match="wrong sign"):
        quantities(POINTS, POINTS)
    quantities(3.0 * POINTS + 5.0, -3.0 * POINTS - 5.0)  # biased draws are accepted
    quantities(0.1 * POINTS + 5.0, -0.1 * POINTS - 5.0)
    for k in range(10):  # between distant modes, the mean of (x - m) s is very noisy
        points, target = normal_mixture([[0.0], [60.0]], [0.5, 0.5], 1000, np.random.default_rng([1, k]))
        quantities(points, target.score(points))


@pytest.mark.parametrize(
    ("points", "scores", "message"),
    [
        (np.column_stack([POINTS[:, 0], np.full(200, 3.0)]), -POINTS, "x2 is constant in all draws"),
        (POINTS[:10].repeat(10, axis=1), -POINTS[:10].repeat(10, axis=1), "10 draws of 20 coordinates"),
        (POINTS[:1], -POINTS[:1], "at least 8 draws, got 1"),
    ],
)
def test_unusable_draws_are_rejected(points, scores, message):
    with pytest.raises(InputError, match=message):
        quantities(points, scores)


def test_weights_use_the_richest_affordable_features():
    few = RNG.standard_normal((60, 12))
    assert quantities(few, -few).entropy_weights() is None
    wide = 1.2 * POINTS + 0.2
    weights = quantities(wide, -wide).entropy_weights()
    assert weights @ wide == pytest.approx(0.0, abs=0.01)
    assert weights @ (wide[:, 0] * wide[:, 1]) == pytest.approx(0.0, abs=0.02)
    assert weights @ wide**2 == pytest.approx(1.0, abs=0.02)


def test_slow_chains_and_valleys_hide_the_weights_of_regions():
    assert quantities(POINTS, -POINTS).hidden_shares() == ("", False)
    walk = np.cumsum(RNG.standard_normal((200, 2)), axis=0)
    reason, is_multimodal = quantities(walk, -walk / 100.0).hidden_shares()
    assert "slowest" in reason
    assert not is_multimodal
    points, target = normal_mixture([[0.0, 0.0], [0.0, 8.0]], [0.7, 0.3], 400, np.random.default_rng(2))
    reason, is_multimodal = quantities(points, target.score(points)).hidden_shares()
    assert is_multimodal
    assert "valley of the density along x2" in reason
