"""Design of sequential tests: their random walk, the bias of acceptance probabilities, and the search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from support.sequential_walks import direct_pass, looks_at_data, simulated_walks

import steinkit as sk
from steinkit.samplers import (
    AusterityTest,
    CustomProposal,
    RandomWalk,
    TrialRun,
    acceptance_bias,
    approximate_mh,
    average_design,
    metropolis_hastings,
    operating_characteristics,
    stationary_error_bound,
    trial_run,
    worst_case_design,
)

SIZE = 4000
POSTERIOR = sk.targets.GaussianMean.simulate(SIZE, [0.0, 0.0, 0.0], rng=1)
RUN = {"proposal": RandomWalk(0.03), "start": POSTERIOR.posterior_mean, "burn_in": 20, "thin": 3}


@pytest.fixture(scope="module")
def trial():
    return trial_run(POSTERIOR, draws=150, seed=1, **RUN)


# --- the random walk ---


@pytest.mark.parametrize(
    ("epsilon", "error", "data_use"),
    [(0.01, (0.0838, 0.0141), (0.907, 0.723)), (0.05, (0.282, 0.0758), (0.652, 0.487))],
)
def test_values_of_an_earlier_implementation(epsilon, error, data_use):
    found = operating_characteristics([0.0, 1.0], first_fraction=0.05, epsilon=epsilon)
    np.testing.assert_allclose(found.error, error, atol=5e-4)
    np.testing.assert_allclose(found.data_use, data_use, atol=1e-3)


@pytest.mark.parametrize("alpha", [0.5, 0.7, 1.0])
@pytest.mark.parametrize(("first", "epsilon"), [(0.05, 0.01), (0.05, 0.2), (0.03, 1e-4), (0.3, 0.05), (0.5, 0.01)])
def test_one_pass_for_all_means_equals_a_pass_for_each(first, epsilon, alpha):
    means = np.array([-3.0, -0.4, 0.0, 0.7, 2.0, 9.0])
    found = operating_characteristics(means, first_fraction=first, epsilon=epsilon, alpha=alpha)
    wanted = np.array([direct_pass(mean, first, epsilon, alpha, nodes=256) for mean in means])
    tilted = np.stack([found.error, found.data_use, found.undecided], axis=1)
    np.testing.assert_allclose(tilted, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize(("first", "epsilon"), [(0.1, 0.05), (0.02, 0.01), (0.35, 0.2)])
def test_simulated_walks_agree(first, epsilon, alpha):
    for mean in (0.0, 0.8, -2.0):
        found = operating_characteristics(mean, first_fraction=first, epsilon=epsilon, alpha=alpha)
        error, data_use = simulated_walks(mean, first, epsilon, alpha, 20_000, np.random.default_rng(7))
        assert abs(error[0] - found.error) < 4.0 * error[1] + 1e-4
        assert abs(data_use[0] - found.data_use) < 4.0 * data_use[1]


def test_simulation_would_find_looks_taken_for_independent():
    """Control: were the z_j independent, a test would err far more often than the walk does."""
    looks, epsilon = 20, 0.01
    independent = 0.5 * (1.0 - (1.0 - 2.0 * epsilon) ** (looks - 1))
    error, _ = simulated_walks(0.0, 1 / looks, epsilon, 0.5, 20_000, np.random.default_rng(0))
    assert abs(error[0] - independent) > 10.0 * error[1]


@pytest.mark.parametrize("mean", [0.0, 1.0])
@pytest.mark.parametrize(("epsilon", "alpha"), [(0.05, 0.5), (0.1, 1.0)])
def test_the_austerity_test_on_data_does_what_the_walk_says(epsilon, alpha, mean):
    rng = np.random.default_rng(11)
    test = AusterityTest(epsilon, 250, alpha)
    error, data_use = looks_at_data(test, rng.gamma(4.0, size=5000), mean, 2000, rng)
    found = operating_characteristics(mean, first_fraction=0.05, epsilon=epsilon, alpha=alpha)
    assert abs(error[0] - found.error) < 4.0 * error[1]
    assert abs(data_use[0] - found.data_use) < 4.0 * data_use[1]


@given(
    first=st.floats(0.04, 1.0),
    epsilon=st.floats(1e-5, 0.5),
    alpha=st.floats(0.5, 1.0),
    means=st.lists(st.floats(-30.0, 30.0), min_size=2, max_size=5),
)
def test_laws_of_the_characteristics(first, epsilon, alpha, means):
    settings = {"first_fraction": first, "epsilon": epsilon, "alpha": alpha}
    at_zero = operating_characteristics(0.0, **settings)
    assert at_zero.error == pytest.approx(0.5 * (1.0 - at_zero.undecided), abs=1e-12)
    ordered = np.sort(np.abs(means))
    found, mirrored = (operating_characteristics(sign * ordered, **settings) for sign in (1.0, -1.0))
    np.testing.assert_array_equal(found.error, mirrored.error)
    assert (np.diff(found.error) <= 1e-12).all()
    assert (np.diff(found.data_use) <= 1e-11).all()
    assert (found.error <= at_zero.error + 1e-12).all()
    assert (first - 1e-11 <= found.data_use).all()
    assert (found.data_use <= 1.0 + 1e-11).all()


def test_tests_with_one_or_two_looks_have_closed_forms():
    mean = np.array([0.0, 0.5, 2.0, 40.0])
    for epsilon in (0.0, 0.1):
        found = operating_characteristics(mean, first_fraction=1.0 if epsilon else 0.1, epsilon=epsilon)
        np.testing.assert_array_equal([found.error, found.data_use], [np.zeros(4), np.ones(4)])
    for first, epsilon in ((0.5, 0.03), (0.8, 0.2)):
        drift, G = np.sqrt(first / (1 - first)), -ndtri(epsilon)
        found = operating_characteristics(mean, first_fraction=first, epsilon=epsilon)
        np.testing.assert_allclose(found.error, ndtr(-G - mean * drift), atol=1e-13)
        stops = ndtr(-G - mean * drift) + ndtr(mean * drift - G)
        np.testing.assert_allclose(found.data_use, 1 - (1 - first) * stops, atol=1e-13)
    at_once = operating_characteristics(mean, first_fraction=0.1, epsilon=0.7)
    np.testing.assert_allclose(at_once.error, ndtr(-mean / 3.0), atol=1e-13)
    np.testing.assert_allclose(at_once.data_use, 0.1, atol=1e-13)


def test_far_means_and_steep_thresholds_leave_no_nan():
    found = operating_characteristics([[0.0, 1e3], [1e6, -1e9]], first_fraction=0.01, epsilon=1e-6, alpha=1.0)
    assert found.error.shape == (2, 2)
    assert np.isfinite([found.error, found.data_use, found.undecided]).all()
    assert found.data_use[1, 1] == pytest.approx(0.01)
    assert operating_characteristics(-1e300, first_fraction=0.1, epsilon=0.1).error == 0.0


@pytest.mark.parametrize("first", [1e-5, 1e-12])
def test_more_looks_than_can_be_analysed_are_refused(first):
    for ask in (
        lambda: operating_characteristics(0.0, first_fraction=first, epsilon=0.1),
        lambda: worst_case_design(0.1, first_fractions=[0.5, first]),
    ):
        with pytest.raises(sk.UsageError, match=r"looks; at most 10000 can be analysed: read at least 0\.0001"):
            ask()
    assert operating_characteristics(0.0, first_fraction=first, epsilon=0.0).data_use == 1.0


# --- acceptance probabilities ---


@pytest.mark.parametrize(("first", "epsilon", "alpha"), [(0.05, 0.05, 0.5), (0.02, 0.2, 0.75), (0.1, 0.02, 1.0)])
@pytest.mark.parametrize("log_ratio", [-60.0, -3.0, -0.2, 0.0, 1.5])
@pytest.mark.parametrize("sharpness", [0.05, 1.0, 30.0])
def test_bias_is_the_integral_over_u(log_ratio, sharpness, first, epsilon, alpha):
    size = 1000
    move = TrialRun(size, [log_ratio / size], [np.sqrt(size - 1) / (size * sharpness)])
    found = acceptance_bias(move, first_fraction=first, epsilon=epsilon, alpha=alpha)
    settings = {"first_fraction": first, "epsilon": epsilon, "alpha": alpha}
    P = min(1.0, np.exp(log_ratio))
    nodes, weights = np.polynomial.legendre.leggauss(16)

    def integral(lower, upper, name):
        cuts = np.concatenate(([0.0], np.geomspace(1e-8, 0.5, 16), 1.0 - np.geomspace(0.5, 1e-8, 16)[1:], [1.0]))
        low, high = lower + (upper - lower) * cuts[:-1, None], lower + (upper - lower) * cuts[1:, None]
        u = low + 0.5 * (high - low) * (nodes + 1.0)
        curve = getattr(operating_characteristics(sharpness * (log_ratio - np.log(u)), **settings), name)
        return float((curve * weights * 0.5 * (high - low)).sum())

    above, below = (integral(P, 1.0, "error") if P < 1.0 else 0.0), integral(0.0, P, "error")
    assert found.probability[0] == pytest.approx(P)
    assert found.bias[0] == pytest.approx(above - below, abs=2e-5)
    assert found.error[0] == pytest.approx(above + below, abs=2e-5)
    read = (integral(P, 1.0, "data_use") if P < 1.0 else 0.0) + integral(0.0, P, "data_use")
    assert found.data_use[0] == pytest.approx(read, abs=2e-5)


def test_errors_cancel_and_are_bounded_by_the_worst(trial):
    settings = {"first_fraction": 0.05, "epsilon": 0.05}
    found = acceptance_bias(trial, **settings)
    worst = operating_characteristics(0.0, **settings).error
    assert (np.abs(found.bias) <= found.error + 1e-7).all()
    assert (found.error <= worst + 1e-7).all()
    assert (found.bias[found.probability == 1.0] <= 0.0).all()
    middle = TrialRun(SIZE, [np.log(0.5) / SIZE], [1.0 / np.sqrt(SIZE) / 0.3])
    one = acceptance_bias(middle, **settings)
    assert abs(one.bias[0]) < 0.3 * one.error[0]


@pytest.mark.parametrize("epsilon", [0.3, 0.1, 0.01, 1e-3])
def test_theorem_1_on_a_chain_of_known_contraction(epsilon):
    """Nine states, uniform proposals; Dobrushin's coefficient of the exact chain is a contraction."""
    rng = np.random.default_rng(2)
    states, size = np.linspace(-0.05, 0.05, 9), 2000
    data = rng.standard_normal(size)
    terms = -0.5 * (data - states[:, None]) ** 2
    differences = terms[None] - terms[:, None]
    pairs = ~np.eye(9, dtype=bool)
    moves = TrialRun(size, differences.mean(axis=2)[pairs], differences.std(axis=2)[pairs])
    found = acceptance_bias(moves, first_fraction=0.1, epsilon=epsilon)

    def kernel(probabilities):
        chain = np.zeros((9, 9))
        chain[pairs] = probabilities / 8.0
        return chain + np.diag(1.0 - chain.sum(axis=1))

    def stationary(chain):
        return np.linalg.matrix_power(chain, 20_000)[0]

    exact, approximate = kernel(found.probability), kernel(found.probability + found.bias)
    posterior = np.exp(terms.sum(axis=1) - terms.sum(axis=1).max())
    np.testing.assert_allclose(stationary(exact), posterior / posterior.sum(), atol=1e-9)
    contraction = 0.5 * np.abs(exact[:, None] - exact[None]).sum(axis=2).max()
    distance = 0.5 * np.abs(stationary(exact) - stationary(approximate)).sum()
    bound = stationary_error_bound(float(np.abs(found.bias).max()), contraction)
    assert 1e-6 < distance <= bound
    assert bound < 1.0 or epsilon >= 0.1


def test_a_bound_needs_a_contraction():
    assert stationary_error_bound(0.2, 0.5) == pytest.approx(0.4)
    assert stationary_error_bound(0.9, 0.9) == 1.0
    with pytest.raises(sk.UsageError, match=r"contraction must be a number, in \[0, 1\), else there is no bound"):
        stationary_error_bound(0.1, 1.0)
    with pytest.raises(sk.UsageError, match="largest_bias must be"):
        stationary_error_bound(-0.1, 0.5)


# --- the trial run ---


def test_a_trial_run_records_the_moments_of_every_proposal():
    seen = []

    def move(states, noise):
        proposals = states + 0.03 * noise
        seen.append((states[0].copy(), proposals[0].copy()))
        return proposals

    run = trial_run(POSTERIOR, proposal=CustomProposal(move), draws=12, burn_in=3, thin=2, temperature=2.0, seed=4)
    data = POSTERIOR.data[0]
    wanted = [(POSTERIOR.log_likelihood(there, data), here, there) for here, there in seen[4::2][:12]]
    terms = [after - POSTERIOR.log_likelihood(here, data) for after, here, _ in wanted]
    np.testing.assert_allclose(run.mean, [t.mean() for t in terms], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(run.sd, [t.std() for t in terms], rtol=1e-9)
    prior = [float(np.diff(POSTERIOR.log_prior(np.stack([here, there])))[0]) for _, here, there in wanted]
    np.testing.assert_allclose(run.offset, prior, atol=1e-12)
    np.testing.assert_allclose(run.log_ratio, [t.sum() / 2.0 + p for t, p in zip(terms, prior, strict=True)], atol=1e-9)
    u = 0.3
    mu_0 = 2.0 / SIZE * (np.log(u) - run.offset)
    standardised = (run.mean - mu_0) * np.sqrt(SIZE - 1) / run.sd
    np.testing.assert_allclose(run.sharpness * (run.log_ratio - np.log(u)), standardised, rtol=1e-9, atol=1e-9)
    assert run.cost == SIZE * (3 + 2 * 12)


def test_a_trial_run_is_that_of_exact_metropolis():
    exact = sk.samplers.rwmh(POSTERIOR, proposal_scale=0.03, draws=60, seed=3)
    run = trial_run(POSTERIOR, proposal=RandomWalk(0.03), draws=60, seed=3)
    surely = run.log_ratio > 0.0
    assert exact.accepted.ravel()[surely].all()
    assert surely.any()
    assert run.skipped == 0


def test_proposals_outside_the_support_are_left_out():
    bounded = sk.Posterior(
        data=(np.random.default_rng(0).standard_normal(300),),
        log_likelihood=lambda theta, y: -0.5 * (y - theta[0]) ** 2,
        grad_log_likelihood=lambda theta, y: (y - theta[0]).sum(keepdims=True),
        log_prior=lambda thetas: np.zeros(len(thetas)),
        grad_log_prior=lambda thetas: np.zeros(thetas.shape),
        dim=1,
        bounds=[(0.0, np.inf)],
    )
    run = trial_run(bounded, proposal=RandomWalk(0.5), draws=80, start=[0.05])
    assert run.skipped > 5
    assert len(run.mean) == 80 - run.skipped


def test_proposals_that_stay_are_named():
    with pytest.raises(sk.InputError, match="6 of 6 proposals of the trial run do not tell the data apart"):
        trial_run(POSTERIOR, proposal=CustomProposal(lambda states, noise: states.copy()), draws=6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mean": []}, r"mean must have shape \(n,\), n > 0"),
        ({"sd": [1.0, 0.0]}, "move 1: sd is 0.0, a positive number is wanted"),
        ({"offset": [np.nan, 0.0]}, "move 0: offset is nan"),
        ({"sd": [1.0, 2.0, 3.0]}, r"sd must have shape \(2,\)"),
        ({"mean": ["much", 0.0]}, "mean must be a number, or one for each move; received"),
        ({"size": 1}, "size must be a whole number of at least 2"),
    ],
)
def test_moves_that_are_none_are_refused(changes, message):
    with pytest.raises((sk.InputError, sk.UsageError), match=message):
        TrialRun(**({"size": 10, "mean": [0.0, 1.0], "sd": [1.0, 1.0]} | changes))


# --- designs ---


@pytest.mark.parametrize("target", [0.1, 0.01])
def test_the_worst_case_design_exhausts_its_target_and_nothing_beats_it(target):
    fractions, alphas = [0.05, 0.2], [0.5, 1.0]
    design = worst_case_design(target, first_fractions=fractions, alphas=alphas)
    assert 0.995 * target < design.error <= target
    for first in fractions:
        for alpha in alphas:
            for epsilon in np.geomspace(1e-5, 0.5, 40):
                found = operating_characteristics(0.0, first_fraction=first, epsilon=epsilon, alpha=alpha)
                assert found.error > target or found.data_use >= design.data_use - 1e-3 * target


def test_the_average_design_exhausts_its_target_and_nothing_beats_it(trial):
    batches, alphas, target = [200, 800], [0.5, 1.0], 0.02
    design = average_design(trial, target, batch_sizes=batches, alphas=alphas)
    assert 0.99 * target < design.error <= target
    for batch in batches:
        for alpha in alphas:
            for epsilon in np.geomspace(1e-3, 0.5, 9):
                found = acceptance_bias(trial, first_fraction=batch / SIZE, epsilon=epsilon, alpha=alpha)
                enough = np.abs(found.bias).mean() > target
                assert enough or found.data_use.mean() >= design.data_use - 1e-3


def test_the_average_design_holds_on_new_moves_and_reads_less_than_the_worst_case(trial):
    target = 0.02
    average = average_design(trial, target, batch_sizes=[150, 400], alphas=[0.5])
    worst = worst_case_design(target, first_fractions=[150 / SIZE, 400 / SIZE], alphas=[0.5])
    new = trial_run(POSTERIOR, draws=300, seed=2, **RUN)
    found, careful = (
        acceptance_bias(new, first_fraction=d.first_fraction, epsilon=d.epsilon, alpha=d.alpha)
        for d in (average, worst)
    )
    assert np.abs(found.bias).mean() == pytest.approx(target, rel=0.2)
    assert np.abs(careful.bias).mean() < 0.3 * target
    assert found.data_use.mean() < 0.8 * careful.data_use.mean()


def test_a_chain_with_the_design_reads_what_was_promised(trial):
    design = average_design(trial, 0.01, batch_sizes=[200], alphas=[0.5])
    run = {"start": POSTERIOR.posterior_mean, "chains": 10, "draws": 60, "burn_in": 20, "seed": 3}
    draws = approximate_mh(POSTERIOR, proposal_scale=0.03, **design.options(SIZE), **run)
    read = draws.batch_sizes / SIZE
    assert read.mean() == pytest.approx(design.data_use, abs=4.0 * read.mean(axis=1).std() / np.sqrt(10) + 0.02)
    same = metropolis_hastings(POSTERIOR, proposal=RandomWalk(0.03), test=design.test(SIZE), **run)
    np.testing.assert_array_equal(same.points, draws.points)


def test_default_batches_of_many_data_are_neither_small_nor_all_tried():
    rng, size = np.random.default_rng(0), 20_000
    moves = TrialRun(size, rng.normal(-1.0, 1.5, 20) / size, np.full(20, 3.5 / np.sqrt(size)))
    found = average_design(moves, 0.02, alphas=[0.75])
    batches = np.geomspace(100, size / 2, 6).round().astype(int).tolist()
    every = average_design(moves, 0.02, batch_sizes=batches, alphas=[0.75])
    assert found.data_use < 1.01 * every.data_use
    assert found.first_fraction < 0.2
    huge = TrialRun(10**8, [-1e-8], [1e-8])  # decided at once: the smallest batch is best
    assert average_design(huge, 0.01, alphas=[0.5]).first_fraction == pytest.approx(1e-3)


def test_a_design_becomes_a_test():
    design = worst_case_design(0.1, first_fractions=[0.1], alphas=[0.75])
    assert design.test(1234) == AusterityTest(design.epsilon, 123, 0.75)
    assert design.options(3)["batch_size"] == 1
    assert design.criterion == "worst case"
    easy = average_design(TrialRun(1000, [1.0], [1e-3]), 0.1, batch_sizes=[100])
    assert (easy.epsilon, easy.data_use) == (0.5, pytest.approx(0.1))


def test_settings_out_of_range_are_refused(trial):
    for wrong in ({"first_fraction": 0.0}, {"first_fraction": 1.1}, {"epsilon": -0.1}, {"alpha": 0.4}):
        with pytest.raises(sk.UsageError, match=f"{next(iter(wrong))} must be"):
            operating_characteristics(0.0, **({"first_fraction": 0.1, "epsilon": 0.1} | wrong))
    with pytest.raises(sk.UsageError, match="mean must be a number or an array of numbers; received 'far'"):
        operating_characteristics("far", first_fraction=0.1, epsilon=0.1)
    with pytest.raises(sk.UsageError, match=r"a sequence of first shares of the data to choose from; received 0\.1"):
        worst_case_design(0.1, first_fractions=0.1)
    with pytest.raises(sk.UsageError, match="alpha must be a number"):
        worst_case_design(0.1, alphas="constant")
    with pytest.raises(sk.UsageError, match="batch_sizes must be a sequence of whole numbers; received 100"):
        average_design(trial, 0.1, batch_sizes=100)
    with pytest.raises(sk.UsageError, match="mean must be finite"):
        operating_characteristics([0.0, np.nan], first_fraction=0.1, epsilon=0.1)
    for target in (0.0, 0.5, np.nan, "much"):
        with pytest.raises(sk.UsageError, match="target_error must be"):
            worst_case_design(target)
    with pytest.raises(sk.UsageError, match="at least one first share"):
        worst_case_design(0.1, first_fractions=[])
    with pytest.raises(sk.UsageError, match="at most the number of data, 4000; received 5000"):
        average_design(trial, 0.1, batch_sizes=[5000])
    with pytest.raises(sk.UsageError, match="53 data are too few for batches of 100; give batch_sizes"):
        average_design(TrialRun(53, [0.1], [1.0]), 0.1)


def test_quadrature_by_an_adaptive_rule_agrees_once():
    """The fixed rule of the other test against scipy's, for one move."""
    move = TrialRun(1000, [-0.4 / 1000], [np.sqrt(999) / 1000])
    found = acceptance_bias(move, first_fraction=0.1, epsilon=0.1)

    def error(u):
        return float(operating_characteristics(-0.4 - np.log(u), first_fraction=0.1, epsilon=0.1).error)

    P = np.exp(-0.4)
    wanted = quad(error, P, 1.0)[0] - quad(error, 0.0, P, epsabs=1e-9)[0]
    assert found.bias[0] == pytest.approx(wanted, abs=1e-7)
