"""Acceptance frequencies of moves with known log ratios, on partial data, against the theory of each test.

Each move is decided 200,000 times by the compiled rules. The frequency of a test may differ from its theoretical value
by an error bound plus a multiple of the binomial standard error. The error bounds are

    exact tests           0
    minibatch Barker      the error of the correction distribution, because the l_i are normal here
    austerity             the error of the normal approximation by `acceptance_bias`
    concentration         epsilon
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit, ndtri

from steinkit.samplers import (
    AusterityTest,
    BarkerTest,
    ConcentrationTest,
    MetropolisTest,
    MinibatchBarkerTest,
    TrialRun,
    acceptance_bias,
    correction_distribution,
)
from steinkit.samplers.acceptance import rules
from steinkit.samplers.acceptance.interface import Stage

DECISIONS, SIZE, TEMPERATURE, OFFSET = 200_000, 400, 3.0, 0.25
STEP = 20  # all stages are multiples of it


@dataclass(frozen=True)
class Orders:
    """Means and variances of the first 20, 40, ..., 400 of 400 normal scores, in 200,000 random orders.

    The scores have mean 0 and variance 1, with divisor N - 1. The l_i of a move are a linear function of the scores.
    """

    scores: np.ndarray
    means: np.ndarray  # (DECISIONS, SIZE / STEP)
    variances: np.ndarray


@pytest.fixture(scope="module")
def orders():
    scores = ndtri((np.arange(SIZE) + 0.5) / SIZE)
    scores /= scores.std(ddof=1)
    rng, b = np.random.default_rng(1), np.arange(STEP, SIZE + 1, STEP)
    means, squares = np.empty((2, DECISIONS, len(b)))
    for first in range(0, DECISIONS, 2000):
        order = rng.permuted(np.broadcast_to(scores, (2000, SIZE)), axis=1).reshape(2000, -1, STEP)
        means[first : first + 2000] = order.sum(axis=2).cumsum(axis=1) / b
        squares[first : first + 2000] = (order**2).sum(axis=2).cumsum(axis=1)
    return Orders(scores, means, (squares - b * means**2) / (b - 1))


@dataclass(frozen=True)
class Move:
    """Move with (N / T) mean l_i + offset = delta and (N / T) sd l_i = spread."""

    delta: float
    spread: float

    @property
    def shift(self):
        return (self.delta - OFFSET) * TEMPERATURE / SIZE

    @property
    def scale(self):
        return self.spread * TEMPERATURE / SIZE


def decisions(test, move, orders, seed):
    """Return whether each of 200,000 tests accepts, and the data points that it reads."""
    rng, rule = np.random.default_rng(seed), rules.rule_of(test, SIZE)
    level, normal = test.level(1.0 - rng.random(DECISIONS)), rng.standard_normal(DECISIONS)
    largest = np.abs(move.shift + move.scale * orders.scores).max()
    accepted, seen = np.zeros(DECISIONS, dtype=bool), np.full(DECISIONS, min(test.first_batch(SIZE), SIZE))
    rows, number = np.arange(DECISIONS), 0
    while rows.size:
        b, at = seen[rows], seen[rows] // STEP - 1
        mean = move.shift + move.scale * orders.means[rows, at]
        variance = move.scale**2 * orders.variances[rows, at]
        offset, temperature, bound = (np.full(len(rows), value) for value in (OFFSET, TEMPERATURE, largest))
        numbers = np.full(len(rows), number)
        stages = Stage(SIZE, numbers, b, mean, variance, offset, temperature, level[rows], normal[rows], bound)
        found = rules.decisions(test, rule, stages)
        accepted[rows[found.decided]] = found.accepted[found.decided]
        rows, sizes, number = rows[~found.decided], found.next_size[~found.decided], number + 1
        seen[rows] = np.minimum(sizes, SIZE)
    return accepted, seen


def require_frequency(accepted, probability, allowed):
    """Require agreement within 4.5 standard errors plus an error bound."""
    error = np.sqrt(probability * (1.0 - probability) / len(accepted))
    assert abs(accepted.mean() - probability) <= allowed + 4.5 * error


@pytest.mark.parametrize("delta", [-2.0, -0.3, 0.0, 0.8, 2.5])
def test_exact_tests(delta, orders):
    for test, probability in ((MetropolisTest(), min(1.0, np.exp(delta))), (BarkerTest(), expit(delta))):
        accepted, read = decisions(test, Move(delta, 1.0), orders, 2)
        require_frequency(accepted, probability, 0.0)
        assert (read == SIZE).all()


@pytest.mark.parametrize("delta", [-2.0, -0.7, 0.0, 1.2])
@pytest.mark.parametrize(("options", "spread"), [({}, 9.0), ({"sigma": 1.3}, 12.0), ({"sigma": 0.8}, 6.0)])
def test_the_minibatch_barker_test(options, spread, delta, orders):
    test = MinibatchBarkerTest(100, **options)
    accepted, read = decisions(test, Move(delta, spread), orders, 4)
    assert 100 <= read.mean() < 0.9 * SIZE
    require_frequency(accepted, expit(delta), correction_distribution(test.sigma).error)


@pytest.mark.parametrize("delta", [-2.0, -0.7, 0.0, 1.2])
@pytest.mark.parametrize(("epsilon", "alpha"), [(0.05, 0.5), (0.2, 0.5), (0.1, 1.0)])
def test_the_austerity_test(epsilon, alpha, delta, orders):
    move = Move(delta, 20.0)
    accepted, read = decisions(AusterityTest(epsilon, 40, alpha), move, orders, 6)
    moves = TrialRun(SIZE, [move.shift], [move.scale * np.sqrt(1.0 - 1.0 / SIZE)], OFFSET, TEMPERATURE)
    expected = acceptance_bias(moves, first_fraction=0.1, epsilon=epsilon, alpha=alpha)
    require_frequency(accepted, expected.probability[0] + expected.bias[0], 0.002)
    assert abs(read.mean() / SIZE - expected.data_use[0]) < 0.005


@pytest.mark.parametrize("delta", [-2.0, -0.7, 0.0, 1.2])
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_the_concentration_test(epsilon, delta, orders):
    accepted, read = decisions(ConcentrationTest(epsilon, 40), Move(delta, 0.3), orders, 8)
    require_frequency(accepted, min(1.0, np.exp(delta)), epsilon)
    assert read.mean() < 0.85 * SIZE
