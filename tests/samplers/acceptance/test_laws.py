"""How often each test accepts moves whose log ratios are known, on partial data, against the law that it is to follow.

200,000 decisions on each move, from seeds, by the rules of compiled code. A test may differ from its law by an error
bound of its own, plus the binomial standard error:

    exact tests           none
    minibatch Barker      the correction distribution's, for its l_i are normal here
    austerity             the dynamic programme's, of normal walks, which knows nothing of the test's code
    concentration         epsilon, at most; and what a wrong level would do is more than that
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
from steinkit.samplers.acceptance.interface import Look
from steinkit.samplers.acceptance.rules import rule_of, verdicts

DECISIONS, SIZE, TEMPERATURE, OFFSET = 200_000, 400, 3.0, 0.25
STEP = 20  # tests look at multiples of so many data


@dataclass(frozen=True)
class Orders:
    """Means and variances of the first 20, 40, ..., 400 of 400 normal scores, in 200,000 random orders.

    The scores have mean 0 and variance 1, with divisor N - 1; every move's l_i are a multiple of them and a constant.
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
    """A move with the log ratio (N / T) mean l_i + offset = delta, and (N / T) times the l_i's deviation = spread."""

    delta: float
    spread: float

    @property
    def shift(self):
        return (self.delta - OFFSET) * TEMPERATURE / SIZE

    @property
    def scale(self):
        return self.spread * TEMPERATURE / SIZE


def decisions(test, move, orders, seed):
    """Whether each of 200,000 tests accepts, and the data that it reads."""
    rng, rule = np.random.default_rng(seed), rule_of(test, SIZE)
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
        looks = Look(SIZE, numbers, b, mean, variance, offset, temperature, level[rows], normal[rows], bound)
        verdict = verdicts(test, rule, looks)
        accepted[rows[verdict.decided]] = verdict.accepted[verdict.decided]
        rows, wanted, number = rows[~verdict.decided], verdict.wanted[~verdict.decided], number + 1
        seen[rows] = np.minimum(wanted, SIZE)
    return accepted, seen


def require_law(accepted, probability, allowed):
    """4.5 standard errors, and what the test itself allows."""
    error = np.sqrt(probability * (1.0 - probability) / len(accepted))
    assert abs(accepted.mean() - probability) <= allowed + 4.5 * error


@pytest.mark.parametrize("delta", [-2.0, -0.3, 0.0, 0.8, 2.5])
def test_exact_tests(delta, orders):
    for test, probability in ((MetropolisTest(), min(1.0, np.exp(delta))), (BarkerTest(), expit(delta))):
        accepted, read = decisions(test, Move(delta, 1.0), orders, 2)
        require_law(accepted, probability, 0.0)
        assert (read == SIZE).all()


@pytest.mark.parametrize("delta", [-2.0, -0.7, 0.0, 1.2])
@pytest.mark.parametrize(
    ("options", "spread"), [({}, 9.0), ({"sigma": 1.3}, 12.0), ({"growth": "jump"}, 14.0), ({"sigma": 0.8}, 6.0)]
)
def test_the_minibatch_barker_test(options, spread, delta, orders):
    test = MinibatchBarkerTest(100, **options)
    accepted, read = decisions(test, Move(delta, spread), orders, 4)
    assert 100 <= read.mean() < 0.9 * SIZE
    require_law(accepted, expit(delta), correction_distribution(test.sigma).error)


@pytest.mark.parametrize("delta", [-2.0, -0.7, 0.0, 1.2])
@pytest.mark.parametrize(("epsilon", "alpha"), [(0.05, 0.5), (0.2, 0.5), (0.1, 1.0)])
def test_the_austerity_test(epsilon, alpha, delta, orders):
    move = Move(delta, 20.0)
    accepted, read = decisions(AusterityTest(epsilon, 40, alpha), move, orders, 6)
    moves = TrialRun(SIZE, [move.shift], [move.scale * np.sqrt(1.0 - 1.0 / SIZE)], OFFSET, TEMPERATURE)
    foreseen = acceptance_bias(moves, first_fraction=0.1, epsilon=epsilon, alpha=alpha)
    require_law(accepted, foreseen.probability[0] + foreseen.bias[0], 0.002)
    assert abs(read.mean() / SIZE - foreseen.data_use[0]) < 0.005


@pytest.mark.parametrize("delta", [-2.0, -0.7, 0.0, 1.2])
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_the_concentration_test(epsilon, delta, orders):
    accepted, read = decisions(ConcentrationTest(epsilon, 40), Move(delta, 0.3), orders, 8)
    require_law(accepted, min(1.0, np.exp(delta)), epsilon)
    assert read.mean() < 0.85 * SIZE
