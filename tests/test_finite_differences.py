"""Numerical gradients and the estimates of their error."""

import warnings

import numpy as np
import pytest
from scipy import stats

import steinkit as sk
from steinkit.finite_differences import numerical_gradient
from steinkit.targets import Beta, Gamma, GaussianMixture, Normal, StudentT

FAMILIES = [
    Normal(0.0, 1e-12, dim=2),
    Normal(1e6, 1.0, dim=2),
    Normal([0.0, 3.0], [1e-6, 1e6]),
    GaussianMixture([[-5.0, 0.0], [5.0, 1.0]], sd=1e-3),
    GaussianMixture([-2.0, 0.0, 7.0], [0.1, 1.0, 4.0], [1.0, 2.0, 3.0]),
    Gamma([0.05, 3.0], 1e3),
    Beta(0.5, 2.0, dim=2),
    StudentT(1.0, dim=3),
]


@pytest.mark.parametrize("target", FAMILIES, ids=repr)
def test_errors_are_within_ten_times_the_uncertainty(target):
    points = target.sample(40, 5)
    gradient, uncertainty = numerical_gradient(target.log_density, points, target.bounds)
    score = target.score(points)
    known = np.isfinite(uncertainty)
    assert known.mean() > 0.7
    slack = 1e-9 * np.abs(score).max(axis=0)
    assert (np.abs(gradient - score) <= 10.0 * uncertainty + slack)[known].all()


def test_matches_scipys_logpdf_of_a_correlated_normal():
    covariance = np.array([[2.0, 0.7], [0.7, 0.5]])
    points = np.random.default_rng(1).normal(size=(20, 2))
    gradient, uncertainty = numerical_gradient(
        lambda x: stats.multivariate_normal(cov=covariance).logpdf(x), points, None
    )
    np.testing.assert_allclose(gradient, -np.linalg.solve(covariance, points.T).T, rtol=1e-7, atol=1e-9)
    assert (uncertainty < 1e-6).all()


def test_steps_never_reach_a_bound():
    bounds = np.array([[0.0, 1.0], [-np.inf, 2.0]])
    points = np.array([[1e-9, 0.0], [0.5, 2.0 - 1e-6], [0.0, 2.0], [1.0, -5.0]])
    visited = []

    def log_density(x):
        visited.append(x.copy())
        return x.sum(axis=1)

    gradient, uncertainty = numerical_gradient(log_density, points, bounds)
    moved = np.concatenate(visited[1:])
    for column, (lower, upper) in enumerate(bounds):
        values = moved[:, column][~np.isin(moved[:, column], points[:, column])]
        assert (values > lower).all()
        assert (values < upper).all()
    on_bound = np.array([[False, False], [False, False], [True, True], [True, False]])
    np.testing.assert_array_equal(np.isinf(uncertainty), on_bound)
    np.testing.assert_allclose(gradient[~on_bound], 1.0, rtol=1e-3)


@pytest.mark.parametrize("outside", [-np.inf, np.nan])
def test_an_undeclared_support(outside):
    def log_density(x):
        return np.where(x[:, 0] > 0.0, np.log(np.abs(x[:, 0])), outside)

    points = np.array([[1e-6], [1e-3], [1.0], [30.0]])
    gradient, uncertainty = numerical_gradient(log_density, points, None)
    np.testing.assert_allclose(gradient, 1.0 / points, rtol=1e-5)
    assert (uncertainty < 1e-5 / points).all()


@pytest.mark.parametrize("constant", [1e8, 1e12, 1e18])
def test_uncertainty_covers_the_rounding_of_a_huge_constant(constant):
    points = np.random.default_rng(2).normal(size=(30, 2))
    gradient, uncertainty = numerical_gradient(lambda x: constant - 0.5 * (x**2).sum(axis=1), points, None)
    assert (np.abs(gradient + points) <= uncertainty + 1e-9).all()


def test_uncertainty_covers_single_precision():
    points = np.random.default_rng(3).normal(size=(30, 2))
    gradient, uncertainty = numerical_gradient(
        lambda x: (-0.5 * (x.astype(np.float32) ** 2).sum(axis=1)).astype(np.float64), points, None
    )
    assert (np.abs(gradient + points) <= 10.0 * uncertainty + 1e-6).all()


def test_one_point_at_the_origin():
    gradient, uncertainty = numerical_gradient(lambda x: np.sin(x[:, 0]), np.zeros((1, 1)), None)
    assert gradient[0, 0] == pytest.approx(1.0, rel=1e-6)
    assert uncertainty[0, 0] < 1e-6


class TestScoreWithoutAScoreFunction:
    """`Target(log_density=...)` alone."""

    @pytest.mark.parametrize("exact", FAMILIES, ids=repr)
    @pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")
    def test_agrees_with_the_score_of_a_family(self, exact):
        points = exact.sample(40, 6)
        made = sk.Target(log_density=exact.log_density, bounds=exact.bounds, dim=exact.dim)
        by_hand = exact.score(points)
        size = np.maximum(np.abs(by_hand), np.median(np.abs(by_hand), axis=0))
        assert np.median(np.abs(made.score(points) - by_hand) / size) < 1e-8
        assert (np.abs(made.score(points) - by_hand) / size).max() < 1e-3

    def test_reports_cost_and_accuracy_once(self):
        evaluations = []

        def log_density(x):
            evaluations.append(len(x))
            return -0.5 * (x**2).sum(axis=1)

        target = sk.Target(log_density=log_density, dim=3, label="mine")
        points = np.random.default_rng(0).normal(size=(50, 3))
        with pytest.warns(sk.SteinkitWarning, match="mine has no score") as caught:
            target.score(points)
        assert f"{sum(evaluations):,} evaluations for 50 draws" in str(caught[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            target.score(points)

    def test_reports_large_errors_each_time(self):
        rng = np.random.default_rng(1)

        def noisy(x):
            return -0.5 * (x**2).sum(axis=1) + 1e-3 * rng.normal(size=len(x))

        target = sk.Target(log_density=noisy, dim=2)
        for _ in range(2):
            with pytest.warns(sk.SteinkitWarning, match="of 100 entries"):
                target.score(np.random.default_rng(2).normal(size=(50, 2)))

    @pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")
    def test_is_noted_in_a_result(self):
        target = sk.Target(log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)
        result = sk.kernel_stein_discrepancy(np.random.default_rng(3).normal(size=40), target)
        assert any("finite differences" in note for note in result.warnings)

    def test_cannot_be_checked_against_itself(self):
        target = sk.Target(log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=1)
        assert target.has_log_density
        assert not target.can_be_checked
        with pytest.raises(sk.UsageError, match="check requires a score that"):
            target.check([[0.0]])

    def test_names_the_draw_without_a_score(self):
        target = sk.Target(log_density=lambda x: np.where(np.abs(x[:, 0]) < 1.0, 0.0, -np.inf), dim=1)
        with pytest.raises(sk.InputError, match="at draw 2"):
            target.score([[0.5], [3.0]])
        nowhere = sk.Target(log_density=lambda x: np.full(len(x), np.nan), dim=1)
        with pytest.raises(sk.InputError, match="at draw 1"):
            nowhere.score([[0.5], [3.0]])
