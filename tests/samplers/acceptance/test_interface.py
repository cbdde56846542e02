"""Properties of all acceptance tests: exact on all data, and thresholds as in their formulas."""

import numpy as np
import pytest
from scipy import stats
from support.stages import stage

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import (
    AusterityTest,
    ConcentrationTest,
    Langevin,
    MetropolisTest,
    MinibatchBarkerTest,
    RandomWalk,
    metropolis_hastings,
)

NODAL = sk.targets.LogisticRegression.nodal()


@pytest.mark.parametrize(
    "proposal", [RandomWalk(0.3), Langevin(0.05), Langevin(0.05, 20)], ids=["walk", "mala", "sgld"]
)
@pytest.mark.parametrize(
    "test",
    [
        AusterityTest(0.0, 53),
        AusterityTest(0.0, 10),
        AusterityTest(0.0, 2, alpha=1.0),
        AusterityTest(0.1, 53),
        ConcentrationTest(0.0, 7),
        ConcentrationTest(0.0, 53, bound=2.0),
    ],
    ids=repr,
)
def test_on_all_data_the_decisions_are_those_of_metropolis(test, proposal):
    run = {"chains": 5, "draws": 60, "seed": 3}
    exact = metropolis_hastings(NODAL, proposal=proposal, test=MetropolisTest(), **run)
    found = metropolis_hastings(NODAL, proposal=proposal, test=test, **run)
    np.testing.assert_array_equal(found.accepted, exact.accepted)
    np.testing.assert_allclose(found.points, exact.points, rtol=1e-12)
    assert (found.batch_sizes == 53).all()
    assert 0.05 < exact.accepted.mean() < 0.95


@pytest.mark.parametrize("test", [AusterityTest(0.1, 100), AusterityTest(0.5, 100), MinibatchBarkerTest(100)], ids=repr)
def test_identical_values_do_not_end_a_test(test):
    for variance in (0.0, 1e-22):
        assert not test.decide(stage(mean=-0.3, variance=variance)).decided
        assert test.decide(stage(mean=-0.3, variance=variance, seen=1000, number=9)).decided
    assert not test.decide(stage(mean=0.0, variance=0.0)).decided


@pytest.mark.parametrize("alpha", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("number", [0, 3, 8])
def test_austerity_decides_at_its_threshold(alpha, number):
    test, b = AusterityTest(0.05, 100, alpha), 100 * (number + 1)
    s = np.sqrt(0.02 / b * (1 - (b - 1) / 999))
    edge = stats.t(b - 1).isf(0.05) * (b / 1000) ** (0.5 - alpha) * s
    require_edge(test, edge, b + 100, number=number, seen=b)


@pytest.mark.parametrize("seen", [100, 400, 800])
def test_concentration_decides_at_its_bound(seen):
    N, number = 1000, 2
    L = np.log(5 / (0.05 / (2 * 3**2)))
    rho = 1 - (seen - 1) / N if seen <= N / 2 else (1 - seen / N) * (1 + 1 / seen)
    c = np.sqrt(0.02) * np.sqrt(2 * rho * L / seen) + (7 / 3 + 3 / np.sqrt(2)) * 2 * 1.5 * L / seen
    require_edge(ConcentrationTest(0.05, 100, factor=1.5), c, min(1.5 * seen, N), number=number, seen=seen)


def require_edge(test, edge, next_size, **changes):
    """Require a decision if and only if the mean differs from mu_0 by more than ``edge``."""
    mu_0 = 2.0 / 1000 * (-0.7 - 0.3)
    for side in (-1.0, 1.0):
        for factor, decided in ((1 - 1e-9, False), (1 + 1e-9, True)):
            decision = test.decide(stage(mean=mu_0 + side * factor * edge, **changes))
            assert decision.decided == decided
            assert decision.accepted == (side > 0)
            assert decision.next_size == next_size


WALK = {"proposal_scale": 0.3, "chains": 2, "draws": 25, "seed": 5}


@pytest.mark.parametrize(
    ("exact", "found"),
    [
        (samplers.rwmh, lambda target: samplers.approximate_mh(target, epsilon=0.0, batch_size=4, **WALK)),
        (samplers.rwmh, lambda target: samplers.approximate_mh(target, epsilon=0.1, **WALK)),
        (samplers.rwmh, lambda target: samplers.subsampling_mh(target, epsilon=0.0, batch_size=4, **WALK)),
        (samplers.rwmh, lambda target: samplers.subsampling_mh(target, **WALK)),
        (None, lambda target: samplers.barker_mh(target, batch_size=53, **WALK)),
    ],
    ids=["austerity at 0", "austerity in one batch", "concentration at 0", "concentration in one batch", "Barker"],
)
def test_a_test_on_all_data_reads_them_once_and_stores_the_log_likelihood(exact, found):
    """53 rows for each proposal and for the start of each chain, in one call each."""
    calls = []

    def log_likelihood(theta, *batch):
        calls.append(len(batch[0]))
        return NODAL.log_likelihood(theta, *batch)

    parts = (NODAL.grad_log_likelihood, NODAL.log_prior, NODAL.grad_log_prior)
    target = sk.Posterior(NODAL.data, log_likelihood, *parts, dim=6)
    target.check_shapes(np.zeros(6))  # only the first check evaluates
    calls.clear()
    draws = found(target)
    assert calls == [53] * (2 * (25 + 1))
    np.testing.assert_array_equal(draws.cost, np.tile(53.0 * np.arange(1, 26), (2, 1)))
    assert all((values == 0.0).all() for values in draws.diagnostics.values())
    if exact is not None:
        assert draws.points.tobytes() == exact(target, **WALK).points.tobytes()


def test_a_target_without_data_is_rejected():
    with pytest.raises(sk.UsageError, match="Posterior"):
        samplers.approximate_mh(sk.targets.Normal(mean=[0.0]), epsilon=0.0, **WALK)


def test_diagnostics_of_proposals_outside_the_support_are_nan():
    class Reporting(MetropolisTest):
        diagnostics = ("delta",)

        def decide(self, stage):
            delta = stage.size / stage.temperature * stage.mean + stage.offset
            return super().decide(stage)._replace(diagnostics={"delta": delta})

    target = sk.Target(log_density=lambda x: -0.5 * x[:, 0] ** 2, score=lambda x: -x, dim=1, bounds=[[0.0, np.inf]])
    draws = metropolis_hastings(target, proposal=RandomWalk(3.0), test=Reporting(), start=[0.5], draws=200)
    unknown = np.isnan(draws.diagnostics["delta"])
    assert unknown.any()
    assert not draws.accepted[unknown].any()
    assert not unknown[draws.accepted].any()


def test_a_batch_of_identical_rows_does_not_end_a_test():
    """Three of 53 data points differ; a first batch of 5 contains none of them with probability 73.5%."""
    posterior = sk.targets.GaussianMean(np.r_[np.zeros(50), 3.0, 4.0, 5.0])
    for function, more in ((samplers.approximate_mh, {"epsilon": 0.4}), (samplers.barker_mh, {"sigma": 1.3})):
        draws = function(posterior, proposal_scale=0.3, batch_size=5, chains=200, draws=20, **more)
        share = (draws.batch_sizes == 5).mean()
        assert 0.0 < share < 0.265 + 0.03


def test_cost_counts_each_data_point_once_per_test():
    runs = [
        samplers.approximate_mh(NODAL, proposal_scale=0.1, batch_size=2, epsilon=0.1, chains=4, draws=200),
        samplers.approximate_mh(NODAL, proposal_scale=0.1, batch_size=2, epsilon=0.0, chains=4, draws=20),
        samplers.barker_mh(NODAL, proposal_scale=0.3, batch_size=10, chains=4, draws=50),
        samplers.subsampling_mh(NODAL, proposal_scale=0.3, batch_size=10, chains=4, draws=50),
    ]
    for draws in runs:
        np.testing.assert_array_equal(np.cumsum(draws.batch_sizes, axis=1), draws.cost)
        assert draws.batch_sizes.max() <= 53
    assert (runs[1].batch_sizes == 53).all()
    assert 2 < runs[0].batch_sizes.mean() < 40
    np.testing.assert_array_equal(runs[3].diagnostics["oracle_cost"][0], 53 * np.arange(1, 51))
    corrected = samplers.corrected_sgld(NODAL, step_size=0.1, batch_size=10, chains=2, draws=30)
    np.testing.assert_array_equal(np.cumsum(corrected.batch_sizes + 10, axis=1), corrected.cost)
