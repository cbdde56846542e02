"""Acceptance tests against exact probabilities, their own formulas, and each other."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, ndtr

import steinkit as sk
from steinkit import samplers
from steinkit.samplers import (
    AusterityTest,
    BarkerTest,
    ConcentrationTest,
    Langevin,
    MetropolisTest,
    MinibatchBarkerTest,
    RandomWalk,
    metropolis_hastings,
)
from steinkit.samplers.acceptance.correction import correction_distribution
from steinkit.samplers.acceptance.interface import Look
from steinkit.samplers.chains import gradients
from steinkit.samplers.chains.random_streams import Kind

NODAL = sk.targets.LogisticRegression.nodal()


def look(**changes):
    """One chain's look at 100 of 1000 data; numbers are wrapped into arrays."""
    values = {
        "number": 0,
        "seen": 100,
        "mean": 0.001,
        "variance": 0.02,
        "offset": 0.3,
        "temperature": 2.0,
        "level": -0.7,
        "normal": 0.4,
        "bound": 1.5,
    } | changes
    size = values.pop("size", 1000)
    return Look(size=size, **{name: np.atleast_1d(value) for name, value in values.items()})


# --- reading everything, every test is the exact one ---


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
        verdict = test.decide(
            look(seen=np.full(len(levels), 1000), mean=(delta - 0.3) / 500, level=levels, normal=middle, number=9)
        )
        assert verdict.decided.all()
        low, high = np.where(verdict.accepted, low, middle), np.where(verdict.accepted, middle, high)
    probability = (correction.probabilities * ndtr(-high)).sum()
    assert probability == pytest.approx(expit(delta), abs=max(1e-6, 1.1 * correction.error))
    assert correction.error < (1e-6 if sigma <= 1.0 else 2e-5)


# --- formulas ---


def threshold(epsilon, b, size, alpha):
    return stats.t(b - 1).isf(epsilon) * (b / size) ** (0.5 - alpha)


@pytest.mark.parametrize("alpha", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("number", [0, 3, 8])
def test_austerity_decides_at_its_threshold(alpha, number):
    test, b = AusterityTest(0.05, 100, alpha), 100 * (number + 1)
    s = np.sqrt(0.02 / b * (1 - (b - 1) / 999))
    mu_0 = 2.0 / 1000 * (-0.7 - 0.3)
    edge = threshold(0.05, b, 1000, alpha) * s
    for side in (-1.0, 1.0):
        for factor, decided in ((1 - 1e-9, False), (1 + 1e-9, True)):
            verdict = test.decide(look(number=number, seen=b, mean=mu_0 + side * factor * edge))
            assert verdict.decided[0] == decided
            assert verdict.accepted[0] == (side > 0)
            assert verdict.wanted[0] == b + 100


@pytest.mark.parametrize("seen", [100, 400, 800])
def test_concentration_decides_at_its_bound(seen):
    test, N, number = ConcentrationTest(0.05, 100, factor=1.5, power=3.0), 1000, 2
    L = np.log(5 / (0.05 * 2 / (3 * 3**3)))
    rho = 1 - (seen - 1) / N if seen <= N / 2 else (1 - seen / N) * (1 + 1 / seen)
    c = np.sqrt(0.02) * np.sqrt(2 * rho * L / seen) + (7 / 3 + 3 / np.sqrt(2)) * 2 * 1.5 * L / seen
    mu_0 = 2.0 / N * (-0.7 - 0.3)
    for factor, decided in ((1 - 1e-9, False), (1 + 1e-9, True)):
        verdict = test.decide(look(number=number, seen=seen, mean=mu_0 - factor * c))
        assert verdict.decided[0] == decided
        assert not verdict.accepted[0]
        assert verdict.wanted[0] == 1.5 * seen


def test_barker_decides_at_its_variance():
    test, scale = MinibatchBarkerTest(100, sigma=1.2), 1000 / 2.0
    edge = 1.44 * 100 / (1 - 0.1) / scale**2
    for factor, decided in ((1 - 1e-9, True), (1 + 1e-9, False)):
        assert test.decide(look(variance=factor * edge)).decided[0] == decided
    jump = MinibatchBarkerTest(100, sigma=1.2, growth="jump").decide(look(variance=4.0 * edge))
    assert jump.wanted[0] == 500  # 1.1 * 4 * 100, in whole batches
    assert test.decide(look(variance=4.0 * edge)).wanted[0] == 200


def test_the_clt_bound_is_that_of_the_paper():
    values = np.random.default_rng(0).standard_normal(200_000)
    test = MinibatchBarkerTest(clt_bound=True)
    big = look(seen=200_000, size=1_000_000, mean=0.0, variance=1e-13, number=0)._replace(values=[values])
    bound = test.decide(big).diagnostics["clt_bound"][0]
    # E|X| = sqrt(2/pi), E|X|^3 = 2 sqrt(2/pi) for a normal X
    assert bound * np.sqrt(200_000 / 100) == pytest.approx(1.181, abs=0.01)
    assert not MinibatchBarkerTest(delta=0.01).decide(big).decided[0]
    assert MinibatchBarkerTest(delta=0.03).decide(big).decided[0]


def test_the_clt_bound_is_reported_for_each_draw():
    draws = samplers.barker_mh(NODAL, proposal_scale=0.1, batch_size=20, clt_bound=True, draws=30, chains=2)
    bounds = draws.diagnostics["clt_bound"]
    assert bounds.shape == (2, 30)
    assert (bounds > 8.4 / np.sqrt(53) - 1e-9).all()


# --- identical data ---


@pytest.mark.parametrize("test", [AusterityTest(0.1, 100), AusterityTest(0.5, 100), MinibatchBarkerTest(100)], ids=repr)
def test_identical_values_end_no_test(test):
    for variance in (0.0, 1e-22):
        assert not test.decide(look(mean=-0.3, variance=variance)).decided[0]
        assert test.decide(look(mean=-0.3, variance=variance, seen=1000, number=9)).decided[0]
    assert not test.decide(look(mean=0.0, variance=0.0)).decided[0]


def test_identical_rows_in_a_batch_end_no_test():
    """Three of 53 data differ from the rest: a first batch of 5 holds none of them in 73.5 % of all tests."""
    posterior = sk.targets.GaussianMean(np.r_[np.zeros(50), 3.0, 4.0, 5.0])
    for function, more in ((samplers.approximate_mh, {"epsilon": 0.4}), (samplers.barker_mh, {"sigma": 1.3})):
        draws = function(posterior, proposal_scale=0.3, batch_size=5, chains=200, draws=20, **more)
        share = (draws.batch_sizes == 5).mean()
        assert 0.0 < share < 0.265 + 0.03


def test_cost_counts_each_datum_once_a_test():
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


def test_a_bound_of_the_users_serves_like_the_oracles():
    norms = np.linalg.norm(NODAL.data[0], axis=1).max()

    def bound(states, proposals):
        return norms * np.linalg.norm(proposals - states, axis=1)

    run = {"proposal_scale": 0.01, "batch_size": 5, "epsilon": 0.3, "chains": 4, "draws": 50}
    oracle, users = (samplers.subsampling_mh(NODAL, bound=b, **run) for b in ("oracle", bound))
    assert users.diagnostics == {}
    assert (users.mean_batch_size >= oracle.mean_batch_size).all()  # the bound is looser
    with pytest.raises(sk.InputError, match=r"bound must return shape \(4,\)"):
        samplers.subsampling_mh(NODAL, bound=lambda states, proposals: -1.0, **run)


# --- acceptance frequencies ---


def largest(states, proposals):
    """Bound of |l_i| = |x_i - (theta + theta') / 2| |theta' - theta| for standard normal data."""
    return 5.0 * np.abs(proposals - states)[:, 0]


PAIRS, REPEATS = 200, 25
TEMPERATURE = 100.0


@pytest.fixture(scope="module")
def pairs():
    """200 pairs of states of a posterior of 40000 data, tempered, and the exact log ratios."""
    posterior = sk.targets.GaussianMean.simulate(40_000, prior_variance=2.0)
    rng = np.random.default_rng(5)
    tempered = np.sqrt(TEMPERATURE * posterior.posterior_variance)
    states = posterior.posterior_mean + tempered * rng.standard_normal((PAIRS, 1))
    proposals = states + 1.2 * tempered * rng.standard_normal((PAIRS, 1))
    delta = [posterior.tempered(TEMPERATURE).log_density(x) for x in (states, proposals)]
    return posterior, states, proposals, delta[1] - delta[0]


def frequencies(pairs, test):
    """How often each pair's move is accepted, in 25 chains of one step each."""
    posterior, states, proposals, _ = pairs
    everywhere = np.repeat(proposals, REPEATS, axis=0)
    proposal = samplers.CustomProposal(lambda thetas, noise: everywhere)
    draws = metropolis_hastings(
        posterior,
        proposal=proposal,
        test=test,
        temperature=TEMPERATURE,
        chains=PAIRS * REPEATS,
        draws=1,
        start=np.repeat(states, REPEATS, axis=0),
        seed=17,
    )
    return draws.accepted.reshape(PAIRS, REPEATS).mean(axis=1), draws.batch_sizes.mean()


def pooled(frequency, probability):
    """Chi-square of all pairs together, in standard deviations above its mean; and the mean error."""
    open_ = (probability > 1e-3) & (probability < 1 - 1e-3)
    variance = probability * (1 - probability) / REPEATS
    chi_square = ((frequency - probability)[open_] ** 2 / variance[open_]).sum()
    return (chi_square - open_.sum()) / np.sqrt(2 * open_.sum()), (frequency - probability).mean()


@pytest.mark.parametrize(
    ("test", "faithful"),
    [
        (AusterityTest(0.005, 500), True),
        (ConcentrationTest(0.2, 1000, bound=largest), True),
        (MinibatchBarkerTest(500), True),
        (MinibatchBarkerTest(500, sigma=1.3, growth="jump"), True),
        (AusterityTest(0.4, 500), False),
    ],
    ids=lambda value: value if isinstance(value, bool) else type(value).__name__,
)
def test_acceptance_frequencies(pairs, test, faithful, record_property):
    exact = expit(pairs[3]) if isinstance(test, MinibatchBarkerTest) else np.minimum(1.0, np.exp(pairs[3]))
    frequency, mean_batch = frequencies(pairs, test)
    excess, error = pooled(frequency, exact)
    record_property("excess", float(excess))
    record_property("mean error", float(error))
    print(f"{test}: mean batch {mean_batch:.0f}, chi-square {excess:+.1f} sd, mean error {error:+.4f}")
    assert (excess < 4.5) == faithful


def test_exact_frequencies():
    posterior = sk.targets.GaussianMean.simulate(30)
    states, proposals = np.full((4000, 1), 0.1), np.full((4000, 1), 0.4)
    delta = np.diff(posterior.log_density([[0.1], [0.4]]))[0]
    proposal = samplers.CustomProposal(lambda thetas, noise: proposals)
    for test, probability in ((MetropolisTest(), min(1.0, np.exp(delta))), (BarkerTest(), expit(delta))):
        draws = metropolis_hastings(posterior, proposal=proposal, test=test, chains=4000, draws=1, start=states)
        error = np.sqrt(probability * (1 - probability) / 4000)
        assert abs(draws.accepted.mean() - probability) < 4.5 * error


def test_a_temperature_schedule_is_asked_by_the_number_of_the_step():
    asked = []

    def schedule(steps):
        asked.append(steps.copy())
        return np.where(steps < 20, 100.0, 1.0)

    draws = samplers.barker_mh(
        NODAL, proposal_scale=0.5, batch_size=10, temperature=schedule, draws=60, chains=3, seed=1
    )
    np.testing.assert_array_equal(np.sort(np.concatenate(asked))[3:], np.repeat(np.arange(60), 3))
    hot, cold = draws.batch_sizes[:, :20], draws.batch_sizes[:, 20:]
    assert hot.mean() < 15 < 30 < cold.mean()
    assert draws.settings["temperature"] == "schedule"
    constant = samplers.barker_mh(
        NODAL, proposal_scale=0.5, batch_size=10, temperature=100.0, draws=20, chains=3, seed=1
    )
    np.testing.assert_array_equal(constant.points, draws.points[:, :20])


# --- the pitfall of Langevin dynamics without a test (Korattikara, Chen and Welling 2014, section 6.4) ---


PITFALL = {"step_size": 5e-6, "batch_size": 500, "chains": 50, "seed": 2}


@pytest.mark.slow
def test_a_test_mends_langevin_dynamics():
    posterior = sk.targets.LassoRegression.toy()
    options = PITFALL | {"start": posterior.sample(50, rng=1), "draws": 250}
    runs = {
        "uncorrected": samplers.sgld(posterior, **options),
        "exact": samplers.corrected_sgld(posterior, test=MetropolisTest(), **options | {"draws": 150}),
        "epsilon .1": samplers.corrected_sgld(posterior, epsilon=0.1, **options),
        "epsilon .5": samplers.corrected_sgld(posterior, epsilon=0.5, **options),
    }
    distance, share = {}, {}
    for name, draws in runs.items():
        distance[name] = stats.kstest(draws.points.ravel(), posterior.cdf).statistic
        share[name] = 0.0 if draws.batch_sizes is None else draws.batch_sizes.mean() / posterior.size
        print(
            f"{name}: mean {draws.points.mean():.5f}, sd {draws.points.std():.5f}, KS {distance[name]:.3f}, "
            f"data {share[name]:.3f}, acceptance {1.0 if draws.acceptance is None else draws.acceptance.mean():.3f}"
        )
    assert distance["uncorrected"] > 0.25
    assert max(distance["exact"], distance["epsilon .1"], distance["epsilon .5"]) < 0.12
    assert share["exact"] == 1.0 > share["epsilon .1"] > share["epsilon .5"] == pytest.approx(0.05)


def test_a_test_on_the_proposals_own_minibatch_accepts_too_much(monkeypatch):
    """At epsilon = 1/2 a test reads one batch: with the proposal's order it is the proposal's minibatch."""
    posterior = sk.targets.LassoRegression.toy()
    options = PITFALL | {"epsilon": 0.5, "draws": 100, "start": posterior.sample(50, rng=1)}
    apart = samplers.corrected_sgld(posterior, **options)
    walk = gradients.data_walk
    monkeypatch.setattr(
        gradients, "data_walk", lambda data, seeds, kind, rows: walk(data, seeds, Kind.TEST_ORDER, rows)
    )
    together = samplers.corrected_sgld(posterior, **options)
    print("acceptance", apart.acceptance.mean(), together.acceptance.mean())
    assert apart.acceptance.mean() < 0.85 < 0.9 < together.acceptance.mean()
