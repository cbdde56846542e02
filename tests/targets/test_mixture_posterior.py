"""Mixture posterior: moments by quadrature, and exact draws by rejection."""

import numpy as np
import pytest
from scipy import integrate, stats

import steinkit as sk
from steinkit.targets import MixturePosterior

MEAN, SD = np.array([0.5192, 0.0474]), np.array([0.6772, 1.3215])  # of the bundled data, to four digits


def direct_log_density(theta, y):
    """Compute the log density from its definition, term by term."""
    first = np.exp(-((y - theta[0]) ** 2) / 4.0) / np.sqrt(4.0 * np.pi)
    second = np.exp(-((y - theta[0] - theta[1]) ** 2) / 4.0) / np.sqrt(4.0 * np.pi)
    return np.log(0.5 * first + 0.5 * second).sum() - theta[0] ** 2 / 20.0 - theta[1] ** 2 / 2.0


def test_log_density_agrees_with_the_definition():
    target = MixturePosterior()
    points = np.random.default_rng(0).normal(size=(20, 2)) * [2.0, 1.5]
    expected = [direct_log_density(theta, target.data[0]) for theta in points]
    np.testing.assert_allclose(target.log_density(points), expected, rtol=1e-12)


def test_moments_by_quadrature():
    target = MixturePosterior()
    axes = np.linspace(-4.5, 5.5, 151), np.linspace(-6.0, 6.0, 181)
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    heights = target.log_density(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    density = np.exp(heights - heights.max())

    def expectation(values):
        inner = integrate.simpson(values * density, x=axes[1])
        return integrate.simpson(inner, x=axes[0])

    total = expectation(1.0)
    mean = np.array([expectation(grid[..., j]) for j in range(2)]) / total
    second = np.array([expectation(grid[..., j] ** 2) for j in range(2)]) / total
    np.testing.assert_allclose(mean, MEAN, atol=6e-5)
    np.testing.assert_allclose(np.sqrt(second - mean**2), SD, atol=6e-5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_draws_have_the_exact_moments(seed):
    n = 4000
    draws = MixturePosterior().sample(n, seed)
    assert draws.shape == (n, 2)
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - MEAN), 4.5 * SD / np.sqrt(n))
    squares = (draws - MEAN) ** 2
    error = squares.std(axis=0) / np.sqrt(n)
    np.testing.assert_array_less(np.abs(squares.mean(axis=0) - SD**2), 4.5 * error)


def test_zero_draws():
    assert MixturePosterior().sample(0, 1).shape == (0, 2)


@pytest.mark.parametrize("theta", [[1e4, 1e4], [-1e5, 3.0], [0.0, 0.0]])
def test_terms_are_stable_far_away(theta):
    target = MixturePosterior()
    assert np.isfinite(target.log_density([theta])).all()
    assert np.isfinite(target.score([theta])).all()


def test_a_bound_that_is_exceeded_is_an_error():
    target = MixturePosterior()
    target.__dict__["_largest_log_likelihood"] = target._largest_log_likelihood - 1.0
    with pytest.raises(sk.InputError, match="exceeds the maximum"):
        target.sample(1000, 1)


def test_too_many_data_for_rejection_are_an_error(monkeypatch):
    monkeypatch.setattr("steinkit.targets.mean_posteriors._LEAST_ACCEPTANCE", 1e-4)
    far = MixturePosterior(np.full(300, 25.0), variance=0.01)
    with pytest.raises(sk.InputError, match="proposals from the prior"):
        far.sample(5, 1)


def test_given_data_and_variances():
    target = MixturePosterior([0.5], variance=1.0, prior_variances=[1.0, 1e-8])
    # theta_2 = 0 in effect: y ~ N(theta_1, 1), theta_1 ~ N(0, 1), posterior N(1/4, 1/2)
    np.testing.assert_allclose(target.score([[0.25, 0.0]])[0, 0], 0.0, atol=1e-12)
    draws = target.sample(4000, 1)[:, 0]
    assert abs(draws.mean() - 0.25) < 4.5 * np.sqrt(0.5 / 4000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"data": [[1.0, 2.0]]}, "data"),
        ({"data": [1.0, np.nan]}, "data.*nan"),
        ({"variance": 0.0}, "variance"),
        ({"variance": [1.0, 2.0]}, "variance"),
        ({"prior_variances": [1.0, 1.0, 1.0]}, "prior_variances"),
    ],
)
def test_bad_parameters_are_rejected(settings, message):
    with pytest.raises(sk.UsageError, match=message):
        MixturePosterior(**settings)


def test_simulated_data_have_the_distribution_of_the_mixture():
    target = MixturePosterior.simulate(20_000, theta=(-1.0, 4.0), variance=0.5, rng=3)
    assert target.size == 20_000

    def cdf(y):
        return 0.5 * (stats.norm.cdf(y, -1.0, np.sqrt(0.5)) + stats.norm.cdf(y, 3.0, np.sqrt(0.5)))

    assert stats.kstest(target.data[0], cdf).pvalue > 1e-3
    np.testing.assert_array_equal(
        MixturePosterior.simulate(5, rng=3).data[0], MixturePosterior.simulate(5, rng=3).data[0]
    )


def test_large_data_have_no_exact_draws():
    assert MixturePosterior.simulate(10_000).can_sample
    assert not MixturePosterior.simulate(10_001).can_sample


def test_bad_simulations_are_rejected():
    with pytest.raises(sk.UsageError, match="theta"):
        MixturePosterior.simulate(10, theta=[1.0])
    with pytest.raises(sk.UsageError, match=r"size.*0"):
        MixturePosterior.simulate(0)
    with pytest.raises(sk.UsageError, match="variance"):
        MixturePosterior.simulate(10, variance=-1.0)
