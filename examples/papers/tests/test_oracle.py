"""The austerity test with thresholds from a scan of all data for each step."""

import _oracle_austerity as oracle
import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from support.sequential_walks import decided_on_data

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    MetropolisTest,
    RandomWalk,
    metropolis_hastings,
    operating_characteristics,
    worst_case_design,
)

SIZE = 3000
POSTERIOR = sk.targets.GaussianMean.simulate(SIZE, [0.0, 0.0], rng=1)
RUN = {"proposal": RandomWalk(0.03), "start": POSTERIOR.posterior_mean, "chains": 5, "draws": 60, "seed": 3}


@pytest.mark.parametrize(("first", "epsilon", "alpha"), [(0.05, 0.05, 0.5), (0.1, 0.01, 1.0), (0.04, 0.2, 0.75)])
def test_the_error_of_the_whole_test_is_epsilon_at_every_mean(first, epsilon, alpha):
    farthest = -ndtri(epsilon) * np.sqrt(1.0 / first - 1.0)
    means = np.linspace(-0.99, 0.99, 23) * farthest
    thresholds = oracle.oracle_thresholds(means, first_fraction=first, epsilon=epsilon, alpha=alpha)
    errors = [
        float(operating_characteristics(mean, first_fraction=first, epsilon=ndtr(-G), alpha=alpha).error)
        for mean, G in zip(means, thresholds, strict=True)
    ]
    np.testing.assert_allclose(errors, epsilon, rtol=0.02)
    beyond = oracle.oracle_thresholds(
        np.array([1.01, 50.0]) * farthest, first_fraction=first, epsilon=epsilon, alpha=alpha
    )
    np.testing.assert_array_equal(beyond, 0.0)


def test_the_error_on_data_is_epsilon_and_that_of_the_plain_test_larger():
    rng = np.random.default_rng(5)
    terms, mean, epsilon = rng.gamma(4.0, size=4000), 1.0, 0.05
    found, _ = decided_on_data(oracle.OracleAusterityTest(epsilon, 200), terms, mean, 2000, rng, bound=mean)
    usual, _ = decided_on_data(AusterityTest(epsilon, 200), terms, mean, 2000, rng)
    assert abs(found[0] - epsilon) < 4.0 * found[1]
    assert usual[0] > epsilon + 2.0 * usual[1]


def test_a_chain_counts_scans_separately_and_reads_less_than_a_fixed_test():
    draws = metropolis_hastings(POSTERIOR, test=oracle.OracleAusterityTest(0.05, 150), **RUN)
    np.testing.assert_array_equal(draws.diagnostics["oracle_cost"], SIZE * np.arange(1, 61) * np.ones((5, 1)))
    np.testing.assert_array_equal(draws.cost, draws.batch_sizes.cumsum(axis=1))
    fixed = worst_case_design(0.05, first_fractions=[0.05], alphas=[0.5]).test(SIZE)
    assert draws.batch_sizes.mean() < 0.85 * metropolis_hastings(POSTERIOR, test=fixed, **RUN).batch_sizes.mean()


def test_the_bound_is_the_standardized_mean_of_all_data():
    ratios = []

    class Recording(oracle.OracleAusterityTest):
        def first_batch(self, size):
            return size

        def reads_all(self, size):
            return False

        def decide(self, stage):
            mu_0 = (stage.level - stage.offset) * 2.0 / SIZE
            sd = np.sqrt(stage.variance * (SIZE - 1) / SIZE)
            ratios.append(stage.bound / ((stage.mean - mu_0) * np.sqrt(SIZE - 1) / sd))
            return super().decide(stage)

    metropolis_hastings(POSTERIOR, test=Recording(0.1), temperature=2.0, **RUN)
    np.testing.assert_allclose(ratios, np.ones(5 * 60), atol=1e-7)


def test_limits_of_epsilon():
    exact = metropolis_hastings(POSTERIOR, test=MetropolisTest(), **RUN)
    found = metropolis_hastings(POSTERIOR, test=oracle.OracleAusterityTest(0.0, 500), **RUN)
    np.testing.assert_array_equal(found.points, exact.points)
    assert (found.diagnostics["oracle_cost"] == 0.0).all()
    first_stage = metropolis_hastings(POSTERIOR, test=oracle.OracleAusterityTest(0.5, 100), **RUN)
    assert (first_stage.batch_sizes == 100).all()
