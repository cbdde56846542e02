"""Running means compared with NumPy, risks with closed forms, standard errors with those of AR(1) chains."""

import math

import numpy as np
import pytest
from _running_means import LongRunMean, long_run_mean, risk, running_means
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.errors import InputError, UsageError


def test_means_of_the_first_draws_equal_numpys():
    points = np.random.default_rng(0).standard_normal((3, 50, 2))
    found = running_means(sk.Sample(points), n=[1, 7, 50])
    for c in range(3):
        for k, n in enumerate((1, 7, 50)):
            assert found.means[c, k] == pytest.approx(points[c, :n].mean(axis=0))
    assert found.draws.tolist() == [[1, 7, 50]] * 3


def test_a_budget_refers_to_one_chain_and_a_chain_without_draws_has_no_mean():
    points = np.array([[[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]])
    cost = np.array([2.0, 4.0, 6.0, 3.0, 9.0, 27.0])
    found = running_means(sk.Sample(points, cost=cost), budget=[2.0, 6.0, 100.0])
    assert found.draws.tolist() == [[1, 3, 3], [0, 1, 3]]
    assert found.means[:, :, 0] == pytest.approx(np.array([[1.0, 2.0, 2.0], [math.nan, 4.0, 5.0]]), nan_ok=True)


@pytest.mark.parametrize("columns", [None, 3])
def test_quantities_are_taken_in_blocks_with_weights(columns):
    rng = np.random.default_rng(1)
    points, weights = rng.standard_normal((10_000, 2)), rng.random(10_000)
    sizes = []

    def quantity(x):
        sizes.append(len(x))
        return x[:, 0] ** 2 if columns is None else np.column_stack([x, x[:, 0] * x[:, 1]])

    found = running_means(sk.Sample(points, weights=weights), quantity, n=[5000, 10_000])
    right = np.average(quantity(points).reshape(10_000, -1), axis=0, weights=weights)
    assert found.means[0, 1] == pytest.approx(right)
    assert found.means.shape == (1, 2, columns or 1)
    assert max(sizes[:-1]) <= 4096


@pytest.mark.parametrize("given", [{}, {"n": [1], "budget": [1.0]}, {"n": [0]}, {"n": []}, {"budget": [1.0]}])
def test_invalid_grids_are_refused(given):
    with pytest.raises(UsageError):
        running_means(np.zeros(3), **given)


@pytest.mark.parametrize("quantity", [lambda x: 1.0, lambda x: np.full(len(x), math.nan), lambda x: np.ones((1, 1, 1))])
def test_invalid_quantities_are_refused(quantity):
    with pytest.raises(InputError, match="quantity"):
        running_means(np.arange(4.0), quantity, n=[2])


def test_the_risk_of_independent_draws_is_variance_over_n_and_squared_bias():
    """Draws from N(b, 1) compared with the true mean 0: b^2 + 1/n, over many chains."""
    rng = np.random.default_rng(2)
    bias = 0.3
    found = risk(running_means(sk.Sample(rng.standard_normal((1500, 20, 1)) + bias), n=[1, 5, 20]), [0.0])
    n = np.array([1.0, 5.0, 20.0])
    assert found.value == pytest.approx(bias**2 + 1.0 / n, rel=0.1)
    assert found.variance == pytest.approx(1.0 / n, rel=0.1)
    assert found.squared_bias + found.variance == pytest.approx(found.value)
    assert found.squared_bias[2] == pytest.approx(bias**2, rel=0.15)


def test_the_estimate_of_the_squared_bias_is_unbiased():
    """Without bias its mean over many sets of chains is 0, and some values are negative."""
    rng = np.random.default_rng(3)
    sets = [risk(running_means(sk.Sample(rng.standard_normal((4, 10, 1))), n=[10]), [0.0]) for _ in range(300)]
    bias = np.array([each.squared_bias[0] for each in sets])
    assert abs(bias.mean()) < 4.0 * bias.std() / math.sqrt(300)
    assert (bias < 0.0).any()


def test_the_interval_of_a_risk_covers_it():
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(60):
        found = risk(running_means(sk.Sample(rng.standard_normal((30, 10, 1))), n=[10]), [0.0], rng=rng)
        held += found.interval[0, 0] <= 0.1 <= found.interval[0, 1]
    assert held >= 46  # the squares are skewed, and a percentile interval of 30 covers about 90%


def test_the_risk_of_several_quantities_is_the_mean_of_theirs():
    points = np.random.default_rng(5).standard_normal((6, 40, 3)) * [1.0, 2.0, 3.0]
    together = risk(running_means(sk.Sample(points), n=[4, 40]), np.zeros(3))
    alone = [risk(running_means(sk.Sample(points[:, :, [j]]), n=[4, 40]), [0.0]).value for j in range(3)]
    assert together.value == pytest.approx(np.mean(alone, axis=0))


def test_the_lower_limit_is_the_error_of_the_long_run():
    found = running_means(sk.Sample(np.random.default_rng(6).standard_normal((3, 9, 2))), n=[9])
    truth = LongRunMean(np.zeros(2), np.array([0.1, 0.3]))
    assert risk(found, truth).floor == pytest.approx(0.05)
    assert risk(found, np.zeros(2)).floor == 0.0


def test_the_risk_is_nan_before_the_first_draw_of_a_chain():
    points, cost = np.zeros((2, 2, 1)), np.array([1.0, 2.0, 2.0, 4.0])
    found = risk(running_means(sk.Sample(points, cost=cost), budget=[1.0, 2.0]), [1.0])
    assert math.isnan(found.value[0])
    assert found.value[1] == 1.0


def test_a_risk_requires_two_chains_and_one_true_value_per_quantity():
    found = running_means(np.zeros(4), n=[4])
    with pytest.raises(UsageError, match="two chains"):
        risk(found, [0.0])
    with pytest.raises(UsageError, match="truth"):
        risk(running_means(sk.Sample(np.zeros((2, 4, 1))), n=[4]), [0.0, 0.0])


def test_the_error_of_a_long_autoregressive_run():
    """The mean of n draws with correlation phi^t has variance (1 + phi) / (1 - phi) / n."""
    rng, phi, chains, n = np.random.default_rng(7), 0.8, 4, 10_000
    found = [
        long_run_mean(sk.Sample(autoregression(rng.standard_normal((n, chains)), phi).T[:, :, None])) for _ in range(20)
    ]
    right = math.sqrt((1.0 + phi) / (1.0 - phi) / (chains * n))
    assert np.mean([each.standard_error[0] for each in found]) == pytest.approx(right, rel=0.1)
    z = np.array([each.value[0] / each.standard_error[0] for each in found])
    assert 0.5 < z.std() < 1.6


def test_the_mean_of_a_long_run_omits_draws_outside_batches():
    points = np.arange(10.0)  # batches of three: the first draw is omitted
    assert long_run_mean(points).value[0] == pytest.approx(points[1:].mean())
    assert long_run_mean(points, lambda x: x[:, 0] ** 2).value[0] == pytest.approx((points[1:] ** 2).mean())


def test_a_long_run_requires_equal_weights():
    with pytest.raises(UsageError, match="unequal weights"):
        long_run_mean(sk.Sample(np.arange(3.0), weights=np.arange(3.0)))
    with pytest.raises(UsageError, match="two batches"):
        long_run_mean(np.zeros(1))
