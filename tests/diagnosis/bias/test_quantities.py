"""What biases are estimated of, and what is refused before anything is estimated."""

import numpy as np
import pytest
from support.bias_samples import normal_mixture, quantities

import steinkit as sk
from steinkit.errors import InputError, UsageError

RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((200, 2))


def test_coordinates_come_first_then_functions_in_their_order():
    found = quantities(POINTS, -POINTS, functions={"b": lambda x: x[:, 0] ** 2, "a": lambda x: np.exp(x[:, 1])})
    assert found.names == ("x1", "x2", "b", "a")
    assert found.dim == 2
    assert found.values()[:, 2] == pytest.approx(POINTS[:, 0] ** 2)
    assert found.centre == pytest.approx(found.values().mean(axis=0))
    assert found.scale == pytest.approx(found.values().std(axis=0))


def test_weights_count_in_centre_and_scale():
    weights = np.linspace(0.1, 1.0, 200)
    found = quantities(POINTS, -POINTS, weights=weights)
    assert found.centre == pytest.approx(np.average(POINTS, axis=0, weights=weights))
    deviations = POINTS - found.centre
    assert found.scale == pytest.approx(np.sqrt(np.average(deviations**2, axis=0, weights=weights)))


def test_units_of_the_draws_carry_over():
    functions = {"square": lambda x: x[:, 0] ** 2}
    scaled = {"square": lambda x: (x[:, 0] / 1000.0) ** 2}
    a = quantities(POINTS, -POINTS, functions=functions)
    b = quantities(1000.0 * POINTS, -POINTS / 1000.0, functions=scaled)
    first, second = a.by_regression(), b.by_regression()
    assert second.mean == pytest.approx(first.mean * [1000.0, 1000.0, 1.0], rel=1e-6, abs=1e-6)
    assert second.sd == pytest.approx(first.sd * [1000.0, 1000.0, 1.0], rel=1e-6)
    assert second.mean_error == pytest.approx(first.mean_error, rel=1e-5, abs=1e-9)


def test_where_draws_have_gone_functions_are_taken_again():
    found = quantities(POINTS, -POINTS, functions={"square": lambda x: x[:, 0] ** 2})
    there = found.moved(POINTS + 1.0, -POINTS - 1.0)
    assert there.means() == pytest.approx([*(POINTS.mean(axis=0) + 1.0), ((POINTS[:, 0] + 1.0) ** 2).mean()])
    assert (there.centre == found.centre).all()


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            lambda x: x,
            r"function 'f' must return shape \(200,\) for points of shape \(200, 2\); it returned \(200, 2\)",
        ),
        (lambda x: 1.0, r"function 'f' must return shape \(200,\) for points of shape \(200, 2\); it returned \(\)"),
        (lambda x: np.where(np.arange(200) == 4, np.nan, x[:, 0]), "function 'f' is nan at draw 5; it must be finite"),
        (lambda x: np.where(np.arange(200) == 0, np.inf, x[:, 0]), "function 'f' is inf at draw 1; it must be finite"),
        (lambda x: x[:, 7], "function 'f' raised IndexError"),
        (lambda x: ["a"] * 200, "function 'f' raised ValueError"),
        (lambda x: np.ones(200), r"f is the same in all draws, .*"),
    ],
)
def test_functions_that_do_not_serve_are_refused(function, said):
    with pytest.raises(InputError, match=said):
        quantities(POINTS, -POINTS, functions={"f": function})


def test_a_function_may_write_to_its_argument():
    def careless(x):
        x *= 2.0
        return x[:, 0]

    found = quantities(POINTS, -POINTS, functions={"careless": careless})
    assert found.centre[2] == pytest.approx(2.0 * found.centre[0])


@pytest.mark.parametrize("functions", [[np.sum], {"f": 3.0}, np.sum])
def test_functions_are_a_mapping_to_callables(functions):
    with pytest.raises(UsageError, match="functions must be a mapping"):
        sk.estimate_bias(POINTS, scores=-POINTS, functions=functions)


def test_a_function_has_a_name_of_its_own():
    with pytest.raises(UsageError, match="'x2' is a coordinate of the draws; give the function another name"):
        quantities(POINTS, -POINTS, functions={"x2": lambda x: x[:, 0]})


def test_scores_of_the_opposite_sign_are_refused():
    with pytest.raises(
        InputError, match="scores of the opposite sign do: is the score the gradient of the log density"
    ):
        quantities(POINTS, POINTS)
    quantities(3.0 * POINTS + 5.0, -3.0 * POINTS - 5.0)  # wrong draws are no reason
    quantities(0.1 * POINTS + 5.0, -0.1 * POINTS - 5.0)


def test_scores_of_modes_far_apart_are_not_said_to_have_it():
    """There the mean of (x - m) s is -1 with a noise of ten or more."""
    for k in range(10):
        points, target = normal_mixture([[0.0], [60.0]], [0.5, 0.5], 1000, np.random.default_rng([1, k]))
        quantities(points, target.score(points))


def test_what_does_not_vary_and_too_few_draws_are_refused():
    still = np.column_stack([POINTS[:, 0], np.full(200, 3.0)])
    with pytest.raises(InputError, match=r"x2 is the same in all draws, .*"):
        quantities(still, -POINTS)
    with pytest.raises(InputError, match=r"10 draws are too few for 20 coordinates: take as many draws as coordinates"):
        quantities(RNG.standard_normal((10, 20)), RNG.standard_normal((10, 20)))
    with pytest.raises(InputError, match="at least 8 draws, got 1"):
        quantities(POINTS[:1], -POINTS[:1])


def test_weights_are_found_for_the_richest_features_that_there_are_draws_for():
    few = RNG.standard_normal((60, 12))
    assert quantities(few, -few).entropy_weights() is None
    wide = 1.2 * POINTS + 0.2
    found = quantities(wide, -wide)
    weights = found.entropy_weights()
    assert weights @ wide == pytest.approx(0.0, abs=0.01)
    assert weights @ (wide[:, 0] * wide[:, 1]) == pytest.approx(0.0, abs=0.02)  # of pairs
    assert weights @ wide**2 == pytest.approx(1.0, abs=0.02)


def test_shares_are_hidden_by_slow_chains_and_by_valleys():
    found = quantities(POINTS, -POINTS)
    assert found.hidden_shares() == ("", False)
    walk = np.cumsum(RNG.standard_normal((200, 2)), axis=0)
    slow = quantities(walk, -walk / 100.0)
    said, falls_apart = slow.hidden_shares()
    assert "effective draws of what changes slowest, where 30 are wanted" in said
    assert not falls_apart
    points, target = normal_mixture([[0.0, 0.0], [0.0, 8.0]], [0.7, 0.3], 400, np.random.default_rng(2))
    apart = quantities(points, target.score(points))
    said, falls_apart = apart.hidden_shares()
    assert falls_apart
    assert "the draws fall into groups along x2" in said
    assert "beyond a valley of the density), whose shares the score does not know" in said
