"""Modes that a chain missed and other chains found."""

import math
from pathlib import Path

import numpy as np
import pytest

import steinkit as sk
from steinkit.diagnosis.missed_modes import missed_mode

TWO_MODES = sk.targets.GaussianMixture([[-4.0, 0.0], [4.0, 0.0]], sd=1.0)
RNG = np.random.default_rng(0)
LEFT, RIGHT = (sk.Sample(RNG.normal([at, 0.0], 1.0, (200, 2)), names=("a", "b")) for at in (-4.0, 4.0))


def test_missed_mode_is_located_at_the_densest_draw():
    mode = missed_mode(LEFT, {3: LEFT, 5: RIGHT}, TWO_MODES)
    assert (mode.chain, mode.of) == (5, 200)
    assert math.dist([mode.place["a"], mode.place["b"]], [4.0, 0.0]) < 1.0
    assert 100 < mode.draws <= 200


def test_only_draws_in_the_missed_mode_count():
    mode = missed_mode(LEFT, {0: sk.Sample(np.concatenate([LEFT.points[:150], RIGHT.points[:50]]))}, TWO_MODES)
    assert 25 < mode.draws <= 50
    assert mode.of == 200


def test_chain_with_the_densest_draw_is_reported():
    fringe = sk.Sample(RIGHT.points + np.array([0.5, 0.0]))
    peak = sk.Sample(np.concatenate([RIGHT.points, [[4.0, 0.0]]]))
    for others in ([fringe, peak], [peak, fringe]):
        mode = missed_mode(LEFT, dict(enumerate(others)), TWO_MODES)
        assert others[mode.chain] is peak
        assert mode.place == {"a": 4.0, "b": 0.0}


def bent_draws():
    x = RNG.standard_normal(300)
    return sk.Sample(np.column_stack([x, x**2 + 0.5 * RNG.standard_normal(300)]))


BENT = sk.Target(log_density=lambda x: -0.5 * x[:, 0] ** 2 - 2.0 * (x[:, 1] - x[:, 0] ** 2) ** 2, dim=2)
NORMAL = np.random.default_rng(1).standard_normal((400, 2))


@pytest.mark.parametrize(
    ("own", "others", "target"),
    [
        (LEFT, [LEFT], TWO_MODES),
        (LEFT, [sk.Sample(3.0 * LEFT.points)], TWO_MODES),
        (LEFT, [sk.Sample(LEFT.points + np.array([0.0, 30.0]))], TWO_MODES),
        (sk.Sample(np.concatenate([LEFT.points, RIGHT.points])), [RIGHT, LEFT], TWO_MODES),
        (sk.Sample(NORMAL[NORMAL[:, 0] < 0.0]), [sk.Sample(NORMAL)], sk.targets.Normal([0.0, 0.0])),
        *[(bent_draws(), [bent_draws(), bent_draws()], BENT) for _ in range(5)],
    ],
)
def test_no_mode_is_missed(own, others, target):
    assert missed_mode(own, dict(enumerate(others)), target) is None


def test_visited_mode_with_a_lower_density_is_not_missed():
    """For N(0, 1) and N(20, 2^2), all of the denser half of exact draws lie in the first mode."""
    target = sk.Target(
        log_density=lambda x: np.logaddexp(-0.5 * x[:, 0] ** 2, np.log(0.3) - 0.125 * (x[:, 0] - 20.0) ** 2), dim=1
    )
    rng = np.random.default_rng(2)
    first, second = rng.standard_normal((2, 400, 1)) * [[[1.0]], [[2.0]]] + [[[0.0]], [[20.0]]]
    best = np.concatenate([first[:250], second[:150]])
    assert missed_mode(sk.Sample(best), {0: sk.Sample(second[150:])}, target) is None
    assert missed_mode(sk.Sample(first), {0: sk.Sample(second[150:])}, target) is not None


def test_draws_in_the_valley_do_not_hide_a_missed_mode():
    strays = np.column_stack([np.linspace(-0.1, 0.1, 80), np.zeros(80)])
    mode = missed_mode(sk.Sample(np.concatenate([LEFT.points, strays]), names=("a", "b")), {0: RIGHT}, TWO_MODES)
    assert 100 < mode.draws <= 200


def test_mode_beyond_a_shallow_valley_is_missed():
    """Between the modes of this posterior the density is a quarter of that at the modes."""
    target = sk.targets.MixturePosterior()
    draws = sk.read_sample(str(Path(__file__).parents[2] / "examples" / "data" / "metropolis.csv")).points
    upper, lower = (sk.Sample(draws[side]) for side in (draws[:, 1] > 0.4, draws[:, 1] < 0.4))
    assert missed_mode(upper, {0: lower}, target) is not None
    assert missed_mode(sk.Sample(draws[::2]), {0: sk.Sample(draws[1::2])}, target) is None
