"""Kernel test compared with full matrices, its level and power; errors."""

import itertools
import math

import numpy as np
import pytest
from scipy.signal import lfilter
from support.autoregressions import autoregression
from support.stein_matrix import stein_matrix

import steinkit as sk
from steinkit.discrepancy.kernel import goodness_of_fit
from steinkit.discrepancy.kernel.base import IMQ
from steinkit.discrepancy.kernel.stein_kernel import stein_kernel_for
from steinkit.scored_sample import ScoredSample

NORMAL = sk.targets.Normal([0.0])


def rejecting(n, rng):
    """Return a Metropolis chain for N(0, 1) that rejects half of its proposals."""
    draws = np.zeros(n)
    for i in range(1, n):
        proposal = draws[i - 1] + 3.0 * rng.standard_normal()
        accepted = math.log(rng.random()) < 0.5 * (draws[i - 1] ** 2 - proposal**2)
        draws[i] = proposal if accepted else draws[i - 1]
    return draws


def integrated_time(matrix):
    """Return the integrated autocorrelation time of the rows of a matrix, from sums over all lags."""
    n = len(matrix)
    covariance = np.zeros(n)
    for i, row in enumerate(matrix):
        others = row != row[i]
        centred = np.where(others, row - row[others].mean(), 0.0)
        covariance += [centred[: n - lag] @ centred[lag:] for lag in range(n)]
    total, smallest = -covariance[0], math.inf
    for lag in range(0, n - 1, 2):
        smallest = min(smallest, covariance[lag] + covariance[lag + 1])
        if smallest <= 0.0:
            break
        total += 2.0 * smallest
    return max(total / covariance[0], 1.0)


@pytest.mark.parametrize(
    "make", [rejecting, lambda n, rng: autoregression(rng.standard_normal(n), 0.6)], ids=["rejecting", "smooth"]
)
def test_statistic_and_bootstrap_mean_match_the_full_matrix(make):
    draws = make(300, np.random.default_rng(1))
    matrix, lags = (
        stein_matrix(IMQ(), draws[:, None], -draws[:, None]),
        np.abs(np.subtract.outer(np.arange(300), np.arange(300))),
    )
    test = sk.kernel_stein_test(draws, NORMAL, flip_probability=0.15, n_bootstrap=4000)
    assert test.statistic == pytest.approx(matrix.sum() / 300, rel=1e-11)
    mean = (0.7**lags * matrix).sum() / 300
    assert test.bootstrap.mean() == pytest.approx(mean, abs=4.0 * test.bootstrap.std() / math.sqrt(4000))
    reached = (test.bootstrap >= test.statistic).sum()
    assert test.p == (1 + reached) / 4001


def test_signs_are_correlated_within_chains_only():
    points, chains = np.array([0, 1, 2, 3, 4, 5, 5]), [slice(0, 4), slice(4, 7)]
    sums = goodness_of_fit._sign_sums(points, chains, 6, 0.1, 40_000, np.random.default_rng(0)).astype(float)
    found = sums.T @ sums / 40_000
    wanted = np.zeros((6, 6))
    wanted[:4, :4] = 0.8 ** np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    wanted[4, 4], wanted[4, 5], wanted[5, 4], wanted[5, 5] = 1.0, 0.8 + 0.64, 0.8 + 0.64, 2.0 + 2.0 * 0.8
    np.testing.assert_allclose(found, wanted, atol=4.0 * 4.0 / math.sqrt(40_000))


@pytest.mark.parametrize("far", [1.0, 300.0, 1e5])
def test_errors_of_single_precision_are_within_the_allowance(far):
    x = np.random.default_rng(1).normal(size=(500, 3))
    x[5] = far
    prepared = ScoredSample.of(x, scores=-x).in_units("own")
    stein = stein_kernel_for(IMQ().fitted(prepared.points.points)[0], prepared)
    signs = np.where(np.random.default_rng(2).random((200, 500)) < 0.5, np.float32(-1), np.float32(1))
    rough, exact = (goodness_of_fit._pair_sums(stein, signs, 1, which) for which in (True, False))
    exact -= stein.diagonal().sum()
    assert np.abs(rough - exact).max() < 0.1 * goodness_of_fit._ROUGH * np.abs(exact).max()
    assert rough[0] == pytest.approx(exact[0], abs=1e-9 * np.abs(exact).max())  # the statistic itself


def test_p_value_is_exact_despite_single_precision(monkeypatch):
    """The p-value is exact if single precision errors are within the allowance, here a large one."""
    x = np.random.default_rng(3).normal(size=(100, 2))
    prepared = ScoredSample.of(x, scores=-x)
    exact = goodness_of_fit._test(prepared, "imq", rng=1)
    pair_sums, noise = goodness_of_fit._pair_sums, np.random.default_rng(2).uniform(-0.2, 0.2, 1001)
    noise[0] = 0.0

    def erring(stein, signs, threads, rough=False):
        sums = pair_sums(stein, signs, threads, rough)
        return sums + noise * np.abs(sums).max() if rough else sums

    monkeypatch.setattr(goodness_of_fit, "_ROUGH", 0.4)
    monkeypatch.setattr(goodness_of_fit, "_pair_sums", erring)
    assert goodness_of_fit._test(prepared, "imq", rng=1, only_p=True).p == exact.p


@pytest.mark.parametrize(
    "make", [rejecting, lambda n, rng: autoregression(rng.standard_normal(n), 0.8)], ids=["rejecting", "smooth"]
)
def test_autocorrelation_time_of_the_rows(make):
    draws = make(150, np.random.default_rng(3))
    test = sk.kernel_stein_test(draws, NORMAL, n_bootstrap=1)
    assert test.autocorrelation_time == pytest.approx(
        integrated_time(stein_matrix(IMQ(), draws[:, None], -draws[:, None])), rel=1e-9
    )
    assert 1.5 < test.autocorrelation_time < 12.0


def antithetic(chains, n, dim, rng, phi=-0.9):
    """Return exact chains for N(0, I) with alternating odd functions and slow even ones."""
    noise = rng.standard_normal((chains, n, dim))
    noise[:, 1:] *= math.sqrt(1.0 - phi**2)
    return lfilter([1.0], [1.0, -phi], noise, axis=1)


def test_autocorrelation_time_of_antithetic_draws():
    """Autocorrelations are (-.9)^t for draws and .81^t for squares, with times of .05 and 1.81 / .19 = 9.5."""
    times = [
        sk.kernel_stein_test(
            antithetic(1, 4000, dim, np.random.default_rng(dim))[0], sk.targets.Normal(0.0, dim=dim), n_bootstrap=1
        ).autocorrelation_time
        for dim in (1, 3, 10)
    ]
    assert all(6.0 < time < 16.0 for time in times)


def test_slowest_square_determines_the_time():
    x = np.random.default_rng(0).standard_normal((4000, 10))
    x[:, 4] = antithetic(1, 4000, 1, np.random.default_rng(1))[0, :, 0]
    test = sk.kernel_stein_test(x, sk.targets.Normal(0.0, dim=10), n_bootstrap=1)
    assert 6.0 < test.autocorrelation_time < 16.0


@pytest.mark.slow
@pytest.mark.parametrize(("chains", "n"), [(1, 1000), (4, 300)])
def test_level_of_antithetic_chains(chains, n):
    """One rejection of 15 is expected; with signs for independent draws the test rejects nearly all chains."""
    right, quick = 0, 0
    for k in range(15):
        draws = antithetic(chains, n, 10, np.random.default_rng([5, k]))
        target = sk.targets.Normal(0.0, dim=10)
        right += sk.kernel_stein_test(draws, target, n_bootstrap=199, rng=k).p <= 0.05
        quick += sk.kernel_stein_test(draws, target, n_bootstrap=199, rng=k, flip_probability=0.5).p <= 0.05
    assert right <= 4
    assert quick > 11


def test_p_value_is_invariant_to_the_order_of_chains():
    chains = antithetic(4, 100, 3, np.random.default_rng(0), phi=0.7)
    target = sk.targets.Normal(0.0, dim=3)
    found = {sk.kernel_stein_test(chains[list(order)], target).p for order in itertools.permutations(range(4))}
    assert len(found) == 1


def rejections(repetitions, make, **arguments):
    tests = (
        sk.kernel_stein_test(make(np.random.default_rng([7, k])), NORMAL, n_bootstrap=99, rng=k, **arguments)
        for k in range(repetitions)
    )
    return sum(test.p <= 0.05 for test in tests)


@pytest.mark.slow
def test_level_and_power_on_a_chain():
    """Four rejections of 80 are expected, with standard deviation 1.9, and more for flip probability 1/2."""
    right = rejections(80, lambda rng: autoregression(rng.standard_normal(400), 0.5))
    assert 1 <= right <= 10
    assert rejections(80, lambda rng: autoregression(rng.standard_normal(400), 0.5), flip_probability=0.5) > 12
    assert rejections(50, lambda rng: autoregression(rng.standard_normal(500), 0.5) + 0.3) > 42


def test_level_of_independent_draws_in_two_chains():
    right = rejections(120, lambda rng: rng.standard_normal((2, 60, 1)))
    assert 1 <= right <= 13  # 6 with standard deviation 2.4


def test_labels_define_chains_and_their_order():
    chains = np.stack([autoregression(np.random.default_rng(k).standard_normal(100), 0.7) for k in range(3)])[
        :, :, None
    ]
    test = sk.kernel_stein_test(chains, NORMAL, n_bootstrap=50)
    shuffled = sk.Sample(chains)[np.random.default_rng(9).permutation(300)]
    again = sk.kernel_stein_test(shuffled, NORMAL, n_bootstrap=50)
    assert again.autocorrelation_time == pytest.approx(test.autocorrelation_time, rel=0.2)  # estimated from other rows
    fixed = {"flip_probability": test.flip_probability, "n_bootstrap": 50}
    np.testing.assert_allclose(
        sk.kernel_stein_test(shuffled, NORMAL, **fixed).bootstrap, test.bootstrap, rtol=1e-9, atol=1e-10
    )
    unlabelled = sk.kernel_stein_test(shuffled.points, NORMAL, n_bootstrap=50)
    assert unlabelled.autocorrelation_time < 1.3 < test.autocorrelation_time


def test_results_do_not_depend_on_threads_and_number_of_replicates():
    draws = np.random.default_rng(0).standard_normal((700, 2))
    first, second, more = (
        sk.kernel_stein_test(draws, scores=-draws, n_bootstrap=b, n_jobs=j, rng=3)
        for b, j in ((200, 1), (200, 2), (300, 1))
    )
    np.testing.assert_array_equal(first.bootstrap, second.bootstrap)
    np.testing.assert_allclose(more.bootstrap[:200], first.bootstrap, rtol=1e-10)
    assert first.p == second.p
    assert (sk.kernel_stein_test(draws, scores=-draws, n_bootstrap=200, rng=4).bootstrap != first.bootstrap).any()


def test_signs_that_never_flip_are_ties():
    draws = autoregression(np.random.default_rng(0).standard_normal(20), 0.5)
    assert sk.kernel_stein_test(draws, NORMAL, flip_probability=1e-9, n_bootstrap=99).p == 1.0


def test_bounds_are_used():
    rng = np.random.default_rng(0)
    uniform = sk.targets.Uniform()
    right = [sk.kernel_stein_test(rng.random(100), uniform, n_bootstrap=99).p <= 0.05 for _ in range(60)]
    assert sum(right) <= 9  # 3 with standard deviation 1.7
    assert sk.kernel_stein_test(rng.beta(3.0, 3.0, 400), uniform).p < 0.01
    draws = rng.random(50)
    given = sk.kernel_stein_test(draws, scores=np.zeros((50, 1)), bounds=[(0.0, 1.0)])
    assert given.statistic == sk.kernel_stein_test(draws, uniform).statistic


def test_short_chains_are_reported():
    walk = autoregression(np.random.default_rng(0).standard_normal(100), 0.97)
    assert "independent" in sk.kernel_stein_test(walk, NORMAL, n_bootstrap=9).warnings[0]
    assert sk.kernel_stein_test(walk[::50], NORMAL, flip_probability=0.5, n_bootstrap=9).warnings == ()


def test_invalid_arguments_are_refused():
    for flip_probability in (0.0, 0.6, math.nan):
        with pytest.raises(sk.UsageError, match="flip_probability"):
            sk.kernel_stein_test([0.0, 1.0], NORMAL, flip_probability=flip_probability)
    for n_bootstrap in (0, 2.5, True):
        with pytest.raises(sk.UsageError, match="n_bootstrap"):
            sk.kernel_stein_test([0.0, 1.0], NORMAL, n_bootstrap=n_bootstrap)
    with pytest.raises(sk.InputError, match="weights from 1 to 2"):
        sk.kernel_stein_test(sk.Sample([0.0, 1.0], weights=[1.0, 2.0]), NORMAL)
    assert sk.kernel_stein_test(sk.Sample([0.0, 1.0], weights=[2.0, 2.0]), NORMAL, n_bootstrap=9).p > 0.0
    with pytest.raises(sk.InputError, match="two different draws"):
        sk.kernel_stein_test([0.3, 0.3, 0.3], NORMAL)
    with pytest.raises(sk.InputError, match="rescale"):
        sk.kernel_stein_test([[0.0], [1.0]], scores=[[1e200], [1.0]])
    with pytest.raises(sk.UsageError, match="score"):
        sk.kernel_stein_test([0.0, 1.0])


def test_huge_scores():
    x = np.random.default_rng(4).standard_normal((200, 2))
    huge = sk.kernel_stein_test(x, scores=-1e80 * x)
    assert huge.autocorrelation_time == pytest.approx(
        sk.kernel_stein_test(x, scores=-1e60 * x).autocorrelation_time, rel=1e-9
    )
    assert huge.p < 0.01
