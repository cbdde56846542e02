"""Densities, scores, cdfs and samplers of all families, against SciPy and exact moments."""

import numpy as np
import pytest
from scipy import stats
from scipy.differentiate import derivative

import steinkit as sk
from steinkit.targets import (
    Beta,
    Gamma,
    GaussianMixture,
    Normal,
    StudentT,
    Uniform,
)

ONE_DIMENSION = {
    "normal": (Normal(1.0, 4.0), stats.norm(1.0, 2.0)),
    "student": (StudentT(5.0, 1.0, 4.0), stats.t(5.0, 1.0, 2.0)),
    "uniform": (Uniform(-1.0, 3.0), stats.uniform(-1.0, 4.0)),
    "gamma": (Gamma(2.5, 3.0), stats.gamma(2.5, scale=1.0 / 3.0)),
    "gamma below 1": (Gamma(0.3, 0.01), stats.gamma(0.3, scale=100.0)),
    "beta": (Beta(2.0, 0.7), stats.beta(2.0, 0.7)),
}
COVARIANCE = np.array([[2.0, -0.6, 0.1], [-0.6, 1.0, 0.3], [0.1, 0.3, 0.5]])
MEAN = np.array([1.0, -2.0, 0.5])

# families with a score of mean zero and finite variance
ZERO_MEAN_SCORE = [
    Normal(MEAN, COVARIANCE),
    GaussianMixture([[-2.0, 0.0], [2.0, 1.0]], [[1.0, 0.2], [0.3, 2.0]], [1.0, 3.0]),
    StudentT(3.0, MEAN, COVARIANCE),
    StudentT(1.0, dim=2),
    Uniform(0.0, 1.0, dim=2),
    Gamma([3.5, 9.0], [0.1, 10.0]),
    Beta([3.5, 4.0], 3.0),
]


@pytest.mark.parametrize(("target", "reference"), ONE_DIMENSION.values(), ids=ONE_DIMENSION)
def test_density_score_and_cdf_match_scipy(target, reference):
    x = reference.ppf(np.linspace(0.02, 0.98, 25))
    np.testing.assert_allclose(target.log_density(x[:, None]), reference.logpdf(x), rtol=1e-11, atol=1e-11)
    if target.has_cdf:
        np.testing.assert_allclose(target.cdf(x), reference.cdf(x), rtol=1e-11)
    low, high = reference.support()
    distance = np.minimum(np.minimum(x - low, high - x), reference.std())
    slope = derivative(reference.logpdf, x, initial_step=0.4 * distance)
    np.testing.assert_allclose(target.score(x)[:, 0], slope.df, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("target", "reference"), ONE_DIMENSION.values(), ids=ONE_DIMENSION)
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_draws_follow_the_cdf(target, reference, seed):
    draws = target.sample(4000, seed)[:, 0]
    assert stats.kstest(draws, reference.cdf).pvalue > 1e-3


@pytest.mark.parametrize(("target", "reference"), list(ONE_DIMENSION.values())[:-1], ids=list(ONE_DIMENSION)[:-1])
def test_the_cdf_outside_the_bulk(target, reference):
    x = np.array([-1e3, -1.5, 0.0, 1.0, 1e5])
    np.testing.assert_allclose(target.cdf(x), reference.cdf(x), rtol=1e-9, atol=1e-300)


def test_densities_are_zero_outside_the_support():
    outside = [[-0.5], [1.5]]
    assert np.isneginf(Uniform().log_density(outside)).all()
    assert np.isneginf(Beta(2.0, 2.0).log_density(outside)).all()
    assert np.isneginf(Gamma(2.0).log_density([[-0.5]])).all()


@pytest.mark.parametrize(
    ("target", "reference"),
    [
        (Normal(MEAN, COVARIANCE), stats.multivariate_normal(MEAN, COVARIANCE)),
        (Normal(MEAN, np.diag(COVARIANCE)), stats.multivariate_normal(MEAN, np.diag(np.diag(COVARIANCE)))),
        (Normal(MEAN, 3.0), stats.multivariate_normal(MEAN, 3.0 * np.eye(3))),
        (StudentT(3.5, MEAN, COVARIANCE), stats.multivariate_t(MEAN, COVARIANCE, df=3.5)),
        (StudentT(3.5, MEAN, 2.0), stats.multivariate_t(MEAN, 2.0 * np.eye(3), df=3.5)),
    ],
    ids=["full", "diagonal", "scalar", "student", "student scalar"],
)
def test_multivariate_densities_match_scipy(target, reference):
    points = 2.0 * np.random.default_rng(1).normal(size=(30, 3))
    np.testing.assert_allclose(target.log_density(points), reference.logpdf(points), rtol=1e-12)
    assert target.check(points).compared == points.size


def mixture_log_density(points):
    parts = [
        np.log(w) + stats.multivariate_normal(m, c).logpdf(points)
        for w, m, c in zip([0.2, 0.8], [[0.0, 0.0], [3.0, 1.0]], [COVARIANCE[:2, :2], np.eye(2)], strict=True)
    ]
    return np.logaddexp(*parts)


def test_mixture_matches_its_definition():
    target = GaussianMixture([[0.0, 0.0], [3.0, 1.0]], np.stack([COVARIANCE[:2, :2], np.eye(2)]), [1.0, 4.0])
    points = 2.0 * np.random.default_rng(2).normal(size=(30, 2))
    np.testing.assert_allclose(target.log_density(points), mixture_log_density(points), rtol=1e-12)
    assert target.check(points).compared == points.size


def test_mixture_is_stable_far_from_its_modes():
    target = GaussianMixture([-1.0, 1.0], sd=1e-3)
    score = target.score([[-500.0], [0.0], [500.0]])[:, 0]
    np.testing.assert_allclose(score, [499.0 * 1e6, 0.0, -499.0 * 1e6], rtol=1e-9, atol=1e-3)


def test_mixture_cdf_in_one_dimension():
    target = GaussianMixture([-2.0, 3.0], [1.0, 0.25], [1.0, 3.0])
    x = np.linspace(-5.0, 6.0, 23)
    expected = 0.25 * stats.norm.cdf(x, -2.0, 1.0) + 0.75 * stats.norm.cdf(x, 3.0, 0.5)
    np.testing.assert_allclose(target.cdf(x), expected, rtol=1e-12)
    for seed in (1, 2, 3):
        assert stats.kstest(target.sample(4000, seed)[:, 0], target.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "covariances", [0.25, [0.25, 0.25], [[0.25] * 3] * 2, [0.25 * np.eye(3)] * 2], ids=["1", "k", "kd", "kdd"]
)
def test_forms_of_mixture_covariances_agree(covariances):
    means = [[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]]
    points = np.random.default_rng(3).normal(size=(5, 3))
    expected = GaussianMixture(means, sd=0.5).score(points)
    np.testing.assert_allclose(GaussianMixture(means, covariances).score(points), expected, rtol=1e-12)


@pytest.mark.parametrize("target", ZERO_MEAN_SCORE, ids=repr)
@pytest.mark.parametrize("seed", [21, 22, 23])
def test_the_score_averages_to_zero_over_the_target(target, seed):
    scores = target.score(target.sample(5000, seed))
    error = scores.std(axis=0) / np.sqrt(len(scores))
    assert (np.abs(scores.mean(axis=0)) <= 4.5 * error).all()


@pytest.mark.parametrize("target", [t for t in ZERO_MEAN_SCORE if not isinstance(t, Uniform)], ids=repr)
def test_scores_satisfy_steins_identity(target):
    """E[x_j score_j] = -1, which detects a wrong sign or scale; a box has an additional boundary term."""
    draws = target.sample(20000, 31)
    products = draws * target.score(draws)
    error = products.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(products.mean(axis=0) + 1.0) <= 4.5 * error).all()


@pytest.mark.parametrize("seed", [41, 42])
def test_moments_of_draws(seed):
    n = 20000
    normal = Normal(MEAN, COVARIANCE).sample(n, seed)
    spread = np.sqrt(np.outer(np.diag(COVARIANCE), np.diag(COVARIANCE)) + COVARIANCE**2)
    np.testing.assert_array_less(np.abs(normal.mean(axis=0) - MEAN), 4.5 * np.sqrt(np.diag(COVARIANCE) / n))
    np.testing.assert_array_less(np.abs(np.cov(normal.T) - COVARIANCE), 4.5 * spread / np.sqrt(n))
    student = StudentT(12.0, MEAN, COVARIANCE).sample(n, seed)
    kurtosis = 2.0 * 10.0 / 8.0  # var(x_j x_k) of a t exceeds the normal's by about (df - 2) / (df - 4)
    tolerance = 4.5 * kurtosis * spread / np.sqrt(n)
    np.testing.assert_array_less(np.abs(np.cov(student.T) - 1.2 * COVARIANCE), tolerance)


def test_components_of_a_multivariate_student_share_their_scale():
    draws = StudentT(3.0, dim=2).sample(20000, 5)
    sizes = np.log(np.abs(draws))
    assert np.corrcoef(sizes.T)[0, 1] > 0.1


def test_scalars_broadcast_and_vectors_fix_the_dimension():
    assert Normal().dim == 1
    assert Normal(dim=4).sample(3, 0).shape == (3, 4)
    assert Normal([1.0, 2.0]).dim == 2
    assert Gamma(2.0, [1.0, 2.0, 3.0]).bounds.shape == (3, 2)
    assert not Normal(dim=2).has_cdf


def test_scores_on_a_bound_where_they_are_finite():
    np.testing.assert_array_equal(Gamma(1.0, 2.0).score([0.0, 1.0]), [[-2.0], [-2.0]])
    np.testing.assert_array_equal(Beta(1.0, 1.0).score([0.0, 1.0]), [[0.0], [0.0]])
    np.testing.assert_array_equal(Beta(1.0, 3.0).score([0.0]), [[-2.0]])
    np.testing.assert_array_equal(Uniform().score([0.0, 1.0]), [[0.0], [0.0]])


@pytest.mark.parametrize(
    ("target", "point"), [(Gamma(2.0), 0.0), (Gamma(0.5), 0.0), (Beta(1.0, 3.0), 1.0), (Beta(0.5, 1.0), 0.0)]
)
def test_an_infinite_score_on_a_bound_is_rejected(target, point):
    with pytest.raises(sk.InputError, match="at draw 2"):
        target.score([0.5, point])


@pytest.mark.parametrize("target", [Uniform(), Gamma(2.0), Beta(2.0, 2.0)], ids=repr)
def test_draws_outside_the_support_are_rejected(target):
    with pytest.raises(sk.InputError, match="at draw 2"):
        target.score([0.5, -0.1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Normal(covariance=-1.0), r"covariance.*-1\.0"),
        (lambda: Normal(covariance=[[1.0, 2.0], [2.0, 1.0]]), "eigenvalue -1"),
        (lambda: Normal(covariance=[[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: Normal([0.0, 1.0], [1.0, 1.0, 1.0]), "mean: 2, covariance: 3"),
        (lambda: Normal([0.0, 1.0], dim=3), r"mean: 2, dim: 3"),
        (lambda: Normal(np.inf), "mean.*inf"),
        (lambda: Normal("zero"), "mean.*zero"),
        (lambda: Normal(dim=0), "dim"),
        (lambda: StudentT(0.0), "df.*0.0"),
        (lambda: StudentT([1.0, 2.0]), "df"),
        (lambda: StudentT(3.0, scale_matrix=[[1.0, 2.0], [2.0, 1.0]]), "scale_matrix"),
        (lambda: Uniform(1.0, 1.0), "lower.*1.0 and 1.0"),
        (lambda: Gamma(-1.0), "shape.*-1.0"),
        (lambda: Beta(1.0, np.nan), "b.*nan"),
        (lambda: GaussianMixture([0.0, 1.0], weights=[1.0]), "weights.*2"),
        (lambda: GaussianMixture([0.0, 1.0], weights=[1.0, 0.0]), "weights"),
        (lambda: GaussianMixture([0.0, 1.0], 1.0, sd=1.0), "sd.*covariances"),
        (lambda: GaussianMixture([0.0, 1.0], [1.0, 1.0, 1.0]), "covariances"),
        (lambda: GaussianMixture([0.0, 1.0], [1.0, -1.0]), "covariance of component 2"),
    ],
)
def test_invalid_parameters_are_rejected(make, message):
    with pytest.raises(sk.UsageError, match=message):
        make()
