"""Modes that a chain missed and others found, and what is none."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit.diagnosis.missed_modes import missed_mode

TWO_MODES = sk.targets.GaussianMixture([[-4.0, 0.0], [4.0, 0.0]], sd=1.0)
RNG = np.random.default_rng(0)
LEFT, RIGHT = (sk.Sample(RNG.normal([at, 0.0], 1.0, (200, 2)), names=("a", "b")) for at in (-4.0, 4.0))


def test_the_mode_that_is_missed_is_where_the_others_draws_are_densest():
    mode = missed_mode(LEFT, {3: LEFT, 5: RIGHT}, TWO_MODES)
    assert (mode.chain, mode.of) == (5, 200)
    assert math.dist([mode.place["a"], mode.place["b"]], [4.0, 0.0]) < 1.0
    assert 100 < mode.draws <= 200


def test_of_a_chain_that_was_in_both_modes_only_draws_in_the_one_that_was_missed_count():
    other = sk.Sample(np.concatenate([LEFT.points[:150], RIGHT.points[:50]]))
    mode = missed_mode(LEFT, {0: other}, TWO_MODES)
    assert 25 < mode.draws <= 50
    assert mode.of == 200


def test_of_several_chains_the_one_with_the_densest_draw_is_told():
    fringe, peak = (
        sk.Sample(RIGHT.points + np.array([0.5, 0.0])),
        sk.Sample(np.concatenate([RIGHT.points, [[4.0, 0.0]]])),
    )
    for others in ([fringe, peak], [peak, fringe]):
        mode = missed_mode(LEFT, dict(enumerate(others)), TWO_MODES)
        assert others[mode.chain] is peak
        assert mode.place == {"a": 4.0, "b": 0.0}


@pytest.mark.parametrize(
    "other",
    [
        LEFT,
        sk.Sample(3.0 * LEFT.points),  # goes astray, where the target has little
        sk.Sample(LEFT.points + np.array([0.0, 30.0])),
    ],
)
def test_nothing_is_missed_where_the_others_found_no_mode(other):
    assert missed_mode(LEFT, {0: other}, TWO_MODES) is None


def test_a_chain_that_was_in_both_missed_none():
    both = sk.Sample(np.concatenate([LEFT.points, RIGHT.points]))
    assert missed_mode(both, {0: RIGHT, 1: LEFT}, TWO_MODES) is None


def test_a_mode_that_is_less_dense_is_not_missed_by_a_chain_that_was_in_it():
    """Of N(0, 1) and N(20, 2^2): all of the denser half of right draws lie in the first."""
    target = sk.Target(
        score=lambda x: x,  # not looked at
        log_density=lambda x: np.logaddexp(-0.5 * x[:, 0] ** 2, np.log(0.3) - 0.125 * (x[:, 0] - 20.0) ** 2),
        dim=1,
    )
    rng = np.random.default_rng(2)
    first, second = rng.standard_normal((2, 400, 1)) * [[[1.0]], [[2.0]]] + [[[0.0]], [[20.0]]]
    best = np.concatenate([first[:250], second[:150]])
    assert missed_mode(sk.Sample(best), {0: sk.Sample(second[150:])}, target) is None
    assert missed_mode(sk.Sample(first), {0: sk.Sample(second[150:])}, target) is not None


def test_strays_on_the_way_to_a_mode_do_not_hide_that_it_was_missed():
    """They are the nearest draws to the other mode, and the valley's floor is no deeper than they lie."""
    strays = np.column_stack([np.linspace(-0.1, 0.1, 80), np.zeros(80)])
    mode = missed_mode(sk.Sample(np.concatenate([LEFT.points, strays]), names=("a", "b")), {0: RIGHT}, TWO_MODES)
    assert mode is not None
    assert 100 < mode.draws <= 200


def test_the_far_end_of_one_mode_is_no_other_mode():
    normal = sk.targets.Normal([0.0, 0.0])
    draws = np.random.default_rng(1).standard_normal((400, 2))
    half = sk.Sample(draws[draws[:, 0] < 0.0])
    assert missed_mode(half, {0: sk.Sample(draws)}, normal) is None


def test_a_bent_mode_is_one():
    """Straight ways between draws lead out of a banana; ways to the nearest draw hardly do."""

    def log_density(x):
        return -0.5 * x[:, 0] ** 2 - 2.0 * (x[:, 1] - x[:, 0] ** 2) ** 2

    def drawn():
        x = rng.standard_normal(300)
        return sk.Sample(np.column_stack([x, x**2 + 0.5 * rng.standard_normal(300)]))

    bent = sk.Target(score=lambda x: x, log_density=log_density, dim=2)  # the score is not looked at
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert missed_mode(drawn(), {0: drawn(), 1: drawn()}, bent) is None


def test_a_mode_beyond_a_shallow_valley_is_missed_too():
    """The posterior of Welling and Teh: between its modes the density is a quarter of that at them."""
    target = sk.targets.MixturePosterior()
    draws = sk.read_sample(str(Path(__file__).parents[2] / "examples" / "data" / "metropolis.csv")).points
    upper, lower = (sk.Sample(draws[side]) for side in (draws[:, 1] > 0.4, draws[:, 1] < 0.4))
    assert missed_mode(upper, {0: lower}, target) is not None
    assert missed_mode(sk.Sample(draws[::2]), {0: sk.Sample(draws[1::2])}, target) is None
