"""L1-regularized regression, against its definition, quadrature, and published moments."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import steinkit as sk
from steinkit.targets import LassoRegression


def direct_log_density(theta, features, responses, precision, rate):
    residuals = stats.norm.logpdf(responses, features @ theta, 1.0 / np.sqrt(precision))
    return residuals.sum() + stats.laplace.logpdf(theta, 0.0, 1.0 / rate).sum()


def small(slope, n=30, precision=2.0, rate=3.0):
    """Return a posterior of one coefficient with mass on both sides of 0."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 1))
    return LassoRegression(x, slope * x[:, 0] + rng.normal(size=n), precision, rate)


def moments(target, low, high):
    """Compute the mass below 0, the mean and the sd by quadrature."""
    peak = target.log_density(np.linspace(low, high, 2001)[:, None]).max()

    def integral(function, a, b):
        return quad(lambda t: function(t) * np.exp(target.log_density([[t]])[0] - peak), a, b, epsabs=1e-13)[0]

    total = integral(lambda t: 1.0, low, 0.0) + integral(lambda t: 1.0, 0.0, high)
    first = (integral(lambda t: t, low, 0.0) + integral(lambda t: t, 0.0, high)) / total
    second = (integral(lambda t: t**2, low, 0.0) + integral(lambda t: t**2, 0.0, high)) / total
    return integral(lambda t: 1.0, low, 0.0) / total, first, np.sqrt(second - first**2)


def test_log_density_agrees_with_the_definition():
    rng = np.random.default_rng(1)
    features, responses = rng.normal(size=(20, 3)), rng.normal(size=20)
    target = LassoRegression(features, responses, 2.5, 1.5)
    thetas = rng.normal(size=(6, 3))
    expected = [direct_log_density(theta, features, responses, 2.5, 1.5) for theta in thetas]
    found = target.log_density(thetas)
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], rtol=1e-10, atol=1e-10)
    assert target.check(thetas).compared == thetas.size
    assert not target.can_sample
    assert not target.has_cdf


def test_score_by_hand():
    target = LassoRegression([[1.0, 0.0], [0.0, 2.0]], [3.0, 1.0], precision=2.0, prior_rate=0.5)
    # residuals 2 and 5: 2 * (1 * 2) - .5, 2 * (2 * 5) + .5
    np.testing.assert_allclose(target.score([[1.0, -2.0]]), [[3.5, 20.5]])
    np.testing.assert_allclose(target.score([[0.0, 0.0]]), [[6.0, 4.0]])


@pytest.mark.parametrize("slope", [0.05, -0.1, 1.0])
def test_draws_and_cdf_in_one_dimension(slope):
    target = small(slope)
    below, mean, sd = moments(target, slope - 3.0, slope + 3.0)
    assert target.cdf(0.0)[0] == pytest.approx(below, abs=1e-9)
    n = 40_000
    draws = target.sample(n, 1)[:, 0]
    assert abs(draws.mean() - mean) < 4.5 * sd / np.sqrt(n)
    assert draws.std() == pytest.approx(sd, rel=0.02)
    assert stats.kstest(draws, target.cdf).pvalue > 1e-3
    grid = np.linspace(mean - 5 * sd, mean + 5 * sd, 101)
    density = np.exp(target.log_density(grid[:, None]) - target.log_density([[mean]]))
    slopes = (target.cdf(grid + 1e-5) - target.cdf(grid - 1e-5)) / 2e-5
    scale = slopes[50] / density[50]
    away = np.abs(grid) > 1e-4
    np.testing.assert_allclose(slopes[away], scale * density[away], atol=1e-6 * scale)


def test_toy_problem_has_the_published_posterior_for_any_seed():
    for seed in (0, 7):
        target = LassoRegression.toy(rng=seed)
        assert target.size == 10_000
        _, mean, sd = moments(target, -0.05, 0.1)
        assert mean == pytest.approx(0.01004, abs=1e-5)
        assert sd == pytest.approx(0.00699, abs=1e-5)
        assert target.score([[0.005]])[0, 0] == pytest.approx(0.0, abs=1e-6)
    features, responses = target.data
    assert (features**2).sum() == pytest.approx(10_000 / 3)
    assert np.var(responses - 0.5 * features[:, 0]) == pytest.approx(1 / 3, rel=0.05)
    assert abs(features).max() < 1.05


def test_from_csv(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("dose,y,age\n1.5,1,30\n0,0.5,41\n2,-1,50\n")
    target = LassoRegression.from_csv(path, "y", intercept=True, prior_rate=2.0)
    assert target.names == ("intercept", "dose", "age")
    np.testing.assert_array_equal(target.data[1], [1.0, 0.5, -1.0])
    with pytest.raises(sk.UsageError, match=r'''no column 'yy' [(]did you mean "y"'''):
        LassoRegression.from_csv(path, "yy")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"features": [1.0, 2.0]}, "features"),
        ({"responses": [1.0]}, "responses"),
        ({"precision": 0.0}, "precision.*0.0"),
        ({"prior_rate": -1.0}, "prior_rate"),
        ({"prior_rate": [1.0, 2.0]}, "prior_rate"),
        ({"responses": [1.0, np.nan]}, "responses.*nan"),
    ],
)
def test_bad_parameters_are_rejected(settings, message):
    with pytest.raises(sk.UsageError, match=message):
        LassoRegression(**{"features": [[1.0], [2.0]], "responses": [1.0, 2.0], **settings})


def test_bad_size_is_rejected():
    with pytest.raises(sk.UsageError, match=r"size.*1"):
        LassoRegression.toy(1)
