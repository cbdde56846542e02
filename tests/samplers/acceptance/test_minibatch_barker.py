"""The minibatch Barker test against its formulas and the logistic probability."""

import numpy as np
import pytest
from scipy.special import expit, ndtr
from support.looks import look

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import (
    MinibatchBarkerTest,
)
from steinkit.samplers.acceptance.minibatch_barker import correction_distribution

NODAL = sk.targets.LogisticRegression.nodal()


@pytest.mark.parametrize("sigma", [0.7, 1.0, 1.2])
@pytest.mark.parametrize("delta", [-3.0, -0.4, 0.0, 1.0, 5.0])
def test_the_barker_test_on_all_data_accepts_with_the_logistic_probability(sigma, delta):
    """For each atom of X_corr, the normal number from which on the move is accepted, by bisection."""
    test, correction = MinibatchBarkerTest(sigma=sigma), correction_distribution(sigma)
    upper = np.cumsum(correction.probabilities)
    levels = test.level(upper - 0.5 * correction.probabilities)
    low, high = np.full(len(levels), -60.0), np.full(len(levels), 60.0)
    for _ in range(70):
        middle = 0.5 * (low + high)
        looks = [
            look(seen=1000, mean=(delta - 0.3) / 500, level=level, normal=normal, number=9)
            for level, normal in zip(levels, middle, strict=True)
        ]
        verdicts = [test.decide(each) for each in looks]
        assert all(verdict.decided for verdict in verdicts)
        accepted = np.array([verdict.accepted for verdict in verdicts])
        low, high = np.where(accepted, low, middle), np.where(accepted, middle, high)
    probability = (correction.probabilities * ndtr(-high)).sum()
    assert probability == pytest.approx(expit(delta), abs=max(1e-6, 1.1 * correction.error))
    assert correction.error < (1e-6 if sigma <= 1.0 else 2e-5)


def test_barker_decides_at_its_variance():
    test, scale = MinibatchBarkerTest(100, sigma=1.2), 1000 / 2.0
    edge = 1.44 * 100 / (1 - 0.1) / scale**2
    for factor, decided in ((1 - 1e-9, True), (1 + 1e-9, False)):
        assert test.decide(look(variance=factor * edge)).decided == decided
    jump = MinibatchBarkerTest(100, sigma=1.2, growth="jump").decide(look(variance=4.0 * edge))
    assert jump.wanted == 500  # 1.1 * 4 * 100, in whole batches
    same = MinibatchBarkerTest(100, growth="jump").decide(look(variance=0.0))  # data alike say nothing of the others
    assert (same.decided, same.wanted) == (False, 200)
    assert test.decide(look(variance=4.0 * edge)).wanted == 200


def test_the_clt_bound_is_that_of_the_paper():
    values = np.random.default_rng(0).standard_normal(200_000)
    test = MinibatchBarkerTest(clt_bound=True)
    big = look(seen=200_000, size=1_000_000, mean=0.0, variance=1e-13, number=0)._replace(values=values)
    bound = test.decide(big).diagnostics["clt_bound"]
    # E|X| = sqrt(2/pi), E|X|^3 = 2 sqrt(2/pi) for a normal X
    assert bound * np.sqrt(200_000 / 100) == pytest.approx(1.181, abs=0.01)
    assert not MinibatchBarkerTest(delta=0.01).decide(big).decided
    assert MinibatchBarkerTest(delta=0.03).decide(big).decided


def test_the_clt_bound_is_reported_for_each_draw():
    draws = samplers.barker_mh(NODAL, proposal_scale=0.1, batch_size=20, clt_bound=True, draws=30, chains=2)
    bounds = draws.diagnostics["clt_bound"]
    assert bounds.shape == (2, 30)
    assert (bounds > 8.4 / np.sqrt(53) - 1e-9).all()
