"""The austerity test whose thresholds an oracle chooses for each step."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from support.sequential_walks import looks_at_data

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    MetropolisTest,
    OracleAusterityTest,
    RandomWalk,
    metropolis_hastings,
    operating_characteristics,
    worst_case_design,
)
from steinkit.samplers.acceptance.sequential import oracle_thresholds

SIZE = 3000
POSTERIOR = sk.targets.GaussianMean.simulate(SIZE, [0.0, 0.0], rng=1)
RUN = {"proposal": RandomWalk(0.03), "start": POSTERIOR.posterior_mean, "chains": 5, "draws": 60, "seed": 3}


@pytest.mark.parametrize(("first", "epsilon", "alpha"), [(0.05, 0.05, 0.5), (0.1, 0.01, 1.0), (0.04, 0.2, 0.75)])
def test_the_whole_test_errs_with_epsilon_at_every_mean(first, epsilon, alpha):
    farthest = -ndtri(epsilon) * np.sqrt(1.0 / first - 1.0)
    means = np.linspace(-0.99, 0.99, 23) * farthest
    thresholds = oracle_thresholds(means, first_fraction=first, epsilon=epsilon, alpha=alpha)
    errors = [
        float(operating_characteristics(mean, first_fraction=first, epsilon=ndtr(-G), alpha=alpha).error)
        for mean, G in zip(means, thresholds, strict=True)
    ]
    np.testing.assert_allclose(errors, epsilon, rtol=0.02)
    beyond = oracle_thresholds(np.array([1.01, 50.0]) * farthest, first_fraction=first, epsilon=epsilon, alpha=alpha)
    np.testing.assert_array_equal(beyond, 0.0)


def test_on_data_it_errs_with_epsilon_where_the_plain_test_errs_more():
    rng = np.random.default_rng(5)
    terms, mean, epsilon = rng.gamma(4.0, size=4000), 1.0, 0.05
    oracle, _ = looks_at_data(OracleAusterityTest(epsilon, 200), terms, mean, 2000, rng, bound=mean)
    usual, _ = looks_at_data(AusterityTest(epsilon, 200), terms, mean, 2000, rng)
    assert abs(oracle[0] - epsilon) < 4.0 * oracle[1]
    assert usual[0] > epsilon + 2.0 * usual[1]


def test_a_chain_counts_the_scans_apart():
    draws = metropolis_hastings(POSTERIOR, test=OracleAusterityTest(0.05, 150), **RUN)
    np.testing.assert_array_equal(draws.diagnostics["oracle_cost"], SIZE * np.arange(1, 61) * np.ones((5, 1)))
    np.testing.assert_array_equal(draws.cost, draws.batch_sizes.cumsum(axis=1))
    assert draws.settings["test"] == "oracle-austerity"


def test_a_chain_is_told_the_standardised_mean_of_all_the_data():
    gaps = []

    class Listening(OracleAusterityTest):
        def first_batch(self, size):
            return size

        def reads_all(self, size):
            return False

        def decide(self, look):
            mu_0 = (look.level - look.offset) * 2.0 / SIZE
            sd = np.sqrt(look.variance * (SIZE - 1) / SIZE)
            wanted = (look.mean - mu_0) * np.sqrt(SIZE - 1) / sd
            if look.seen == SIZE:
                gaps.append(look.bound / wanted - 1.0)
            return super().decide(look)

    metropolis_hastings(POSTERIOR, test=Listening(0.1), temperature=2.0, **RUN)
    assert len(gaps) == 5 * 60
    np.testing.assert_allclose(gaps, 0.0, atol=1e-7)


def test_it_reads_less_than_the_fixed_test_with_the_same_guarantee():
    oracle = metropolis_hastings(POSTERIOR, test=OracleAusterityTest(0.05, 150), **RUN)
    fixed = worst_case_design(0.05, first_fractions=[0.05], alphas=[0.5]).test(SIZE)
    assert oracle.batch_sizes.mean() < 0.85 * metropolis_hastings(POSTERIOR, test=fixed, **RUN).batch_sizes.mean()


def test_with_no_error_allowed_it_is_metropolis():
    exact = metropolis_hastings(POSTERIOR, test=MetropolisTest(), **RUN)
    found = metropolis_hastings(POSTERIOR, test=OracleAusterityTest(0.0, 500), **RUN)
    np.testing.assert_array_equal(found.points, exact.points)
    assert (found.batch_sizes == SIZE).all()
    assert (found.diagnostics["oracle_cost"] == 0.0).all()


def test_with_any_error_allowed_the_first_look_decides():
    draws = metropolis_hastings(POSTERIOR, test=OracleAusterityTest(0.5, 100), **RUN)
    assert (draws.batch_sizes == 100).all()


def test_settings_out_of_range_are_refused():
    for options, message in (
        ({"epsilon": 1.5}, "epsilon"),
        ({"alpha": 0.2}, "alpha"),
        ({"batch_size": 0}, "batch_size"),
    ):
        with pytest.raises(sk.UsageError, match=f"{message} must be"):
            OracleAusterityTest(**options)
