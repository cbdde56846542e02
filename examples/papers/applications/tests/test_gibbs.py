"""Gibbs chains compared with exact distributions, and controls that must fail."""

from itertools import product

import numpy as np
import pytest
from applications.gibbs import MarkovField, Sweeps, approximate_gibbs
from applications.gibbs_kernels import (
    block_length,
    random_below,
    random_stride,
    shuffle_on,
    sums,
)
from scipy import stats
from scipy.special import expit, logit

from steinkit.errors import InputError, UsageError
from steinkit.samplers import AusterityTest, BarkerTest, ConcentrationTest, MetropolisTest, MinibatchBarkerTest

FIELD = MarkovField.simulate(8, scale=0.3, rng=5)

START = np.array([0, 1, 1, 0, 1, 0, 0, 1])


@pytest.fixture
def printed_threshold(monkeypatch):
    """Exact test with the level printed in the paper, log u / log(1 - u)."""
    monkeypatch.setattr(BarkerTest, "level", lambda self, u: np.log(u) / np.log1p(-u))


class OwnTest(AusterityTest):
    """Test without compiled code."""


def sweeps_from(field, test, start, number):
    """Return states after one sweep from the same start, for independent repetitions, (number, D)."""
    sweeps = Sweeps(field, test, range(100))
    reached = np.empty((number // 100, 100, field.dim), dtype=np.uint8)
    reached[:] = start
    for step, states in enumerate(reached):
        sweeps.sweep(states, np.arange(100), np.full(100, step))
    return reached.reshape(-1, field.dim)


def stationary_draws(field, test):
    """Return 4000 nearly independent states of a chain, (n, D)."""
    draws = approximate_gibbs(field, test=test, chains=200, draws=20, burn_in=30, thin=8, seed=2)
    return draws.points.reshape(-1, field.dim)


def counts(states):
    """Return the count of each state, (2^D,); the first variable is the highest bit."""
    states = states.astype(int)
    return np.bincount(states @ (1 << np.arange(states.shape[1])[::-1]), minlength=1 << states.shape[1])


def p_value(found, p):
    """Return the p-value of a chi-square test; cells with fewer than five expected draws are merged."""
    expected = found.sum() * p.ravel()
    rare = expected < 5.0
    found, expected = (np.append(x[~rare], x[rare].sum()) for x in (found, expected))
    kept = expected > 0.0
    return stats.chisquare(found[kept], expected[kept]).pvalue


def after_one_sweep(field, start):
    """Compute P(y) after a sweep: prod over i of P(y_i | y_<i, start_>i)."""
    p = field.probabilities()
    reached = np.empty(p.shape)
    for y in product((0, 1), repeat=field.dim):
        factors = []
        for i in range(field.dim):
            both = p[(*y[:i], slice(None), *start[i + 1 :])]
            factors.append(both[y[i]] / both.sum())
        reached[y] = np.prod(factors)
    return reached


def austerity_updates(field, variable, state, test, number, rng):
    """Return True if the test, with a new permutation of the terms, sets the variable to 1 by definition."""
    differences, pairs = field.terms.differences[variable], field.terms.pairs[variable]
    terms = differences[np.arange(field.size), 2 * state[pairs[:, 0]] + state[pairs[:, 1]]]
    N, mu_0 = field.size, logit(rng.random(number)) / field.size
    read = rng.permuted(np.tile(terms, (number, 1)), axis=1)
    undecided, ones = np.ones(number, dtype=bool), np.zeros(number, dtype=bool)
    for b in [*range(test.batch_size, N, test.batch_size), N]:
        gap = read[:, :b].mean(axis=1) - mu_0
        s = np.std(read[:, :b], axis=1, ddof=1) / np.sqrt(b) * np.sqrt(1.0 - (b - 1.0) / (N - 1.0))
        sure = stats.t.sf(np.abs(gap) / s, b - 1) < test.epsilon if b < N else np.ones(number, dtype=bool)
        ones |= undecided & sure & (gap > 0.0)
        undecided &= ~sure
    return ones


@pytest.mark.parametrize("test", [BarkerTest(), MetropolisTest(), AusterityTest(0.0, 4)], ids=repr)
def test_exact_sweeps_have_the_exact_distribution(test):
    one = counts(sweeps_from(FIELD, test, START, 10_000))
    assert p_value(one, after_one_sweep(FIELD, START)) > 1e-4
    assert p_value(counts(stationary_draws(FIELD, test)), FIELD.probabilities()) > 1e-4
    # control: one sweep does not reach the stationary distribution
    assert p_value(one, FIELD.probabilities()) < 1e-10


@pytest.mark.parametrize("test", [BarkerTest(), MetropolisTest(), AusterityTest(0.0, 1)], ids=repr)
@pytest.mark.parametrize("seed", range(2))
def test_fields_of_any_size_have_the_enumerated_distribution(seed, test):
    """Three to seven variables, weak to strong potentials, one sweep and many."""
    rng = np.random.default_rng(seed)
    field = MarkovField.simulate(int(rng.integers(3, 8)), scale=float(rng.uniform(0.05, 0.6)), rng=seed)
    start = rng.integers(0, 2, field.dim)
    one = counts(sweeps_from(field, test, start, 10_000))
    assert p_value(one, after_one_sweep(field, start)) > 1e-5
    assert p_value(counts(stationary_draws(field, test)), field.probabilities()) > 1e-5


@pytest.mark.usefixtures("printed_threshold")
def test_the_printed_threshold_fails_the_same_tests():
    one = counts(sweeps_from(FIELD, BarkerTest(), START, 20_000))
    assert p_value(one, after_one_sweep(FIELD, START)) < 1e-10
    stationary = counts(stationary_draws(FIELD, BarkerTest()))
    assert p_value(stationary, FIELD.probabilities()) < 1e-10
    distance = 0.5 * np.abs(stationary / stationary.sum() - FIELD.probabilities().ravel()).sum()
    assert distance > 0.2


def test_one_long_chain_has_the_stationary_probabilities():
    draws = approximate_gibbs(FIELD, test=BarkerTest(), chains=40, draws=2000, burn_in=40, seed=3)
    p = FIELD.probabilities()
    for i in range(8):
        marginal = np.moveaxis(p, i, 0)[1].sum()
        means = draws.points[:, :, i].mean(axis=1)
        assert abs(means.mean() - marginal) < 4.5 * means.std(ddof=1) / np.sqrt(40)


def share_of_ones(field, test, state, number):
    """Return the frequency with which variable 0 becomes 1 in the first update, and its standard error."""
    share = sweeps_from(field, test, state, number)[:, 0].mean()
    return share, np.sqrt(share * (1.0 - share) / number)


def test_an_austerity_update_agrees_with_its_definition():
    field, test = MarkovField.simulate(12, scale=0.2, rng=3), AusterityTest(0.2, 11)
    states = np.random.default_rng(0).integers(0, 2, (200, 12)).astype(np.uint8)
    exact = field.conditional(0, states)
    for which, sign in ((np.argmax(exact), 1.0), (np.argmin(exact), -1.0)):
        expected = austerity_updates(field, 0, states[which], test, 40_000, np.random.default_rng(1)).mean()
        share, error = share_of_ones(field, test, states[which], 40_000)
        assert abs(share - expected) < 4.5 * np.sqrt(2.0) * error
        # large probabilities become smaller, and small ones larger, as in the paper's figure 14
        assert sign * (exact[which] - expected) > 10.0 * error


def beginnings(number, size):
    """Return origins, strides and orders of tests."""
    orders = np.tile(np.arange(size // block_length(size)), (number, 1))
    origins, strides = np.empty((2, number), dtype=np.int64)
    for k, seed in enumerate(np.random.default_rng(0).integers(0, 1 << 53, number).astype(np.uint64)):
        after, origins[k] = random_below(seed, size)
        after, strides[k] = random_stride(np.uint64(after), size)
        shuffle_on(orders[k], np.uint64(after), 0, orders.shape[1])
    return origins, strides, orders


@pytest.mark.parametrize("in_strides", [True, False])
def test_minibatches_vary_as_random_ones_do(in_strides):
    """Without strides the blocks always contain the same terms, and their variance differs."""
    field, number, n, away = MarkovField.simulate(100, rng=1), 500, 500, []
    origins, strides, orders = beginnings(number, field.size)
    state = np.random.default_rng(2).integers(0, 2, 100).astype(np.uint8)
    for i in range(20):
        terms = field.terms.differences[i], field.terms.pairs[i]
        l = terms[0][np.arange(field.size), 2 * state[terms[1][:, 0]] + state[terms[1][:, 1]]]  # noqa: E741
        taken = strides if in_strides else np.ones_like(strides)
        sampled = [
            sums(*terms, state, *places, 0, n, 0.0)[0] / n for places in zip(origins, taken, orders, strict=True)
        ]
        squares = (np.array(sampled) - l.mean()) ** 2 / (l.var(ddof=1) * (1.0 / n - 1.0 / field.size))
        away.append((squares.mean() - 1.0) / (squares.std() / np.sqrt(number)))
    chi_square = float(np.sum(np.square(away)))
    assert (stats.chi2(20).sf(chi_square) > 1e-3) == in_strides


@pytest.mark.parametrize(("size", "length"), [(55, 1), (300, 2), (4851, 32)])
def test_terms_are_read_once_each_in_an_order_that_is_random(size, length):
    assert block_length(size) == length
    number = 2000
    origins, strides, orders = beginnings(number, size)
    np.testing.assert_array_equal(np.sort(orders, axis=1), np.tile(np.arange(size // length), (number, 1)))
    assert (np.gcd(strides, size) == 1).all()
    for draws, values in (
        (origins, size),
        (strides, size),
        (orders[:, 0], size // length),
        (orders[:, 7], size // length),
    ):
        assert stats.kstest((draws + np.random.default_rng(1).random(number)) / values, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(orders[:, 0], orders[:, 1])[0, 1]) < 4.5 / np.sqrt(number) + 1.0 / (size // length - 1)
    # the sum over positions is the same in both orders
    for bit in range(size.bit_length()):
        terms = np.repeat((np.arange(size) >> bit & 1).astype(float)[:, None], 4, axis=1)
        pairs, state = np.zeros((size, 2), dtype=np.uint16), np.zeros(3, dtype=np.uint8)
        halves = [
            sums(terms, pairs, state, origins[0], strides[0], orders[0], *part, 0.0)[0]
            for part in ((0, 41), (41, size))
        ]
        assert sum(halves) == terms[:, 0].sum()


@pytest.mark.parametrize(
    ("test", "allowed"),
    [(MinibatchBarkerTest(200), 0.005), (ConcentrationTest(0.01, 100, bound=0.5), 0.01)],
    ids=["barker", "concentration"],
)
def test_conditionals_by_other_tests_are_within_their_errors(test, allowed):
    field = MarkovField.simulate(40, scale=0.02, rng=4)
    state = np.random.default_rng(1).integers(0, 2, 40)
    exact = field.conditional(0, state[None])[0]
    assert 0.02 < exact < 0.98
    share, error = share_of_ones(field, test, state, 3000)
    assert abs(share - exact) < allowed + 4.5 * error


def test_minibatches_read_less_and_err_more_as_epsilon_grows():
    field = MarkovField.simulate(40, rng=4)
    run = {"chains": 20, "draws": 20, "seed": 1}
    cost = [
        approximate_gibbs(field, test=AusterityTest(e, 75), **run).cost[:, -1].mean() for e in (0.0, 0.01, 0.1, 0.25)
    ]
    assert cost[0] == 20 * 40 * field.size
    assert cost[0] > cost[1] > cost[2] > cost[3] > 20 * 40 * 75
    assert cost[3] < 0.4 * cost[0]


def test_terms_that_are_all_equal_end_no_test_early():
    field = MarkovField(np.broadcast_to(0.1 * np.arange(2)[:, None, None], (35, 2, 2, 2)))
    # the log odds of variable 0 are 15 terms of .1; its potentials are the first in every triple that contains it
    assert field.log_odds(0, np.zeros((1, 7)))[0] == pytest.approx(1.5)
    share, error = share_of_ones(field, AusterityTest(0.5, 2), np.zeros(7), 20_000)
    assert abs(share - expit(1.5)) < 4.5 * error


def test_compiled_sweeps_agree_with_the_python_code_of_the_test():
    field, chains = MarkovField.simulate(25, scale=0.05, rng=6), np.arange(5)
    states = [np.zeros((5, 25), dtype=np.uint8) for _ in range(2)]
    sweeps = [Sweeps(field, kind(0.1, 30, 0.75), range(5)) for kind in (AusterityTest, OwnTest)]
    for step in range(20):
        read = [one.sweep(x, chains, np.full(5, step)) for one, x in zip(sweeps, states, strict=True)]
        np.testing.assert_array_equal(*read)
        np.testing.assert_array_equal(*states)
    assert len(np.unique(states[0], axis=0)) > 1
    assert 30 * 25 < read[0].mean() < 0.9 * field.size * 25


@pytest.mark.parametrize("test", [AusterityTest(0.1, 5), MinibatchBarkerTest(5), OwnTest(0.1, 5)], ids=repr)
def test_a_chain_depends_only_on_its_seed(test):
    together = approximate_gibbs(FIELD, test=test, chains=5, draws=30, seed=9)
    alone = approximate_gibbs(FIELD, test=test, draws=30, seed=together.seeds[3:4])
    np.testing.assert_array_equal(alone.points[0], together.points[3])
    np.testing.assert_array_equal(alone.cost[0], together.cost[3])
    assert not np.array_equal(together.points[0], together.points[3])


def test_budget_burn_in_and_thinning():
    every = approximate_gibbs(FIELD, test=AusterityTest(0.1, 5), chains=8, draws=40, seed=4)
    some = approximate_gibbs(FIELD, test=AusterityTest(0.1, 5), chains=8, draws=10, burn_in=10, thin=3, seed=4)
    np.testing.assert_array_equal(some.points, every.points[:, 12:40:3])
    np.testing.assert_array_equal(some.cost, every.cost[:, 12:40:3])
    paid = approximate_gibbs(FIELD, test=AusterityTest(0.1, 5), chains=8, budget=1500, seed=4)
    lengths = paid.present.sum(axis=1)
    assert len(set(lengths)) > 1  # chains end at different lengths
    for k, length in enumerate(lengths):
        np.testing.assert_array_equal(paid.points[k, :length], every.points[k, :length])
        assert paid.cost[k, length - 1] > 1500 - 8 * 5
    assert every.names[:2] == ("x1", "x2")
    assert every.settings["sampler"] == "approximate_gibbs"
    assert every.settings["epsilon"] == 0.1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"field": np.zeros((1, 2, 2, 2))}, UsageError, "samples a MarkovField; got ndarray"),
        ({"test": "austerity"}, UsageError, r"such as AusterityTest\(0.05\)"),
        ({"test": AusterityTest}, UsageError, r"such as AusterityTest\(0.05\)"),
        ({"test": AusterityTest(0.1, 22)}, UsageError, "at most the number of data points, 21"),
        ({"test": ConcentrationTest()}, UsageError, "a number for bound"),
        ({"budget": 167}, UsageError, "budget.* 168"),
        ({"start": np.zeros(7)}, InputError, r"shape \(8,\), or \(1, 8\)"),
        ({"start": np.full(8, 2)}, InputError, "is 2; variables are 0 or 1"),
    ],
)
def test_unsupported_options_of_gibbs_sampling_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        approximate_gibbs(**{"field": FIELD, "test": BarkerTest(), "draws": 1} | options)
