"""The posterior of the unmixing matrix, whitening, and the distance of unmixing matrices."""

import math

import numpy as np
import pytest
from applications.ica import IndependentComponents, StiefelWalk, amari_distance, orthogonal_mh
from applications.tests.problems import mixtures, orthogonal_matrices

from steinkit.errors import InputError, UsageError


def test_the_likelihood_is_the_papers():
    rng = np.random.default_rng(2)
    for D in (2, 4):
        posterior = IndependentComponents(rng.laplace(size=(7, D)))
        theta = orthogonal_matrices(1, D)[0]
        z = posterior.data[0] @ theta.reshape(D, D).T
        wanted = -np.log(4.0 * np.cosh(0.5 * z) ** 2).sum(axis=1)
        np.testing.assert_allclose(posterior.log_likelihood(theta, *posterior.data), wanted, rtol=1e-13)
        step, gradient = 1e-6, posterior.grad_log_likelihood(theta, *posterior.data)
        for j in range(D * D):
            ends = [
                posterior.log_likelihood(theta + s * np.eye(D * D)[j], *posterior.data).sum() for s in (-step, step)
            ]
            assert gradient[j] == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5, abs=1e-7)
    many = 1200  # number of sources, which requires several logarithms; cosh overflows at large values
    terms = IndependentComponents._log_likelihood(np.eye(many).ravel(), np.full((2, many), 3.0))
    np.testing.assert_allclose(terms, -many * 2.0 * math.log(2.0 * math.cosh(1.5)), rtol=1e-12)
    assert IndependentComponents._log_likelihood(np.eye(2).ravel(), np.full((1, 2), 2000.0))[0] == -4000.0


def test_the_prior_is_the_manifold():
    posterior = IndependentComponents(np.zeros((3, 3)))
    points = np.stack([*orthogonal_matrices(2, 3), 1.001 * orthogonal_matrices(1, 3)[0], np.zeros(9)])
    assert posterior.log_prior(points).tolist() == [0.0, 0.0, -np.inf, -np.inf]


def test_mixtures_are_whitened():
    posterior = IndependentComponents.from_mixtures(mixtures() + 10.0)
    x = posterior.data[0]
    np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(3), atol=1e-11)
    np.testing.assert_allclose((mixtures() + 10.0 - posterior.centre) @ posterior.whitening.T, x, atol=1e-12)
    unmixing = posterior.unmixing_matrices(orthogonal_matrices(5, 3).reshape(5, 1, 9))
    assert unmixing.shape == (5, 1, 3, 3)
    covariance = np.cov(mixtures().T, ddof=0)
    np.testing.assert_allclose(unmixing[2, 0] @ covariance @ unmixing[2, 0].T, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("unit", [1e-200, 1e150])
def test_units_of_the_mixtures_do_not_matter(unit):
    wanted, found = (IndependentComponents.from_mixtures(x).data[0] for x in (mixtures(), mixtures() * unit))
    np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_amari_distance_ignores_order_signs_and_scales():
    rng = np.random.default_rng(4)
    B = rng.standard_normal((4, 4))
    order = rng.permutation(4)
    same = (rng.uniform(0.5, 2.0, 4) * [1, -1, -1, 1])[:, None] * B[order]
    assert amari_distance(same, B) == pytest.approx(0.0, abs=1e-12)
    assert amari_distance(B.T, B) > 0.1
    mixed = np.array([[1.0, 1.0, 1.0, 1.0], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    assert amari_distance(mixed @ B, B) == pytest.approx(1.0)
    # by hand: P = [[2, 1], [0, 4]], rows 1/2 and 0, columns 0 and 1/4, over 2 D (D - 1) = 4
    assert amari_distance([[2.0, 1.0], [0.0, 4.0]], np.eye(2)) == pytest.approx(0.75 / 4)
    stack = rng.standard_normal((3, 5, 4, 4))
    together = amari_distance(stack, B)
    assert together.shape == (3, 5)
    assert together[1, 2] == pytest.approx(float(amari_distance(stack[1, 2], B)))
    assert (together > 0.0).all()
    assert (together <= 1.0).all()


def test_wrong_use_is_named():
    posterior = IndependentComponents.from_mixtures(mixtures())
    with pytest.raises(InputError, match="covariance of the mixtures is singular"):
        IndependentComponents.from_mixtures(np.column_stack([mixtures(), mixtures().sum(axis=1)]))
    with pytest.raises(UsageError, match="D >= 2"):
        IndependentComponents(np.ones((5, 1)))
    with pytest.raises(UsageError, match="data"):
        IndependentComponents([[1.0, np.nan]])
    with pytest.raises(UsageError, match="no score"):
        posterior.score(orthogonal_matrices(1, 3))
    with pytest.raises(UsageError, match="proposal_scale"):
        StiefelWalk(0.0)
    with pytest.raises(UsageError, match="steinkit Target or Posterior, got NoneType"):
        orthogonal_mh(None, proposal_scale=0.1, draws=1)
    with pytest.raises(UsageError, match=r"D\^2 coordinates"):
        StiefelWalk(0.1).noise_width(5)
    with pytest.raises(InputError, match="chain 1 cannot start"):
        orthogonal_mh(posterior, proposal_scale=0.1, draws=1, start=np.ones(9))
    with pytest.raises(UsageError, match="points must have shape"):
        posterior.unmixing_matrices(np.ones(4))
    with pytest.raises(UsageError, match="square matrices"):
        amari_distance(np.eye(3), np.eye(2))
    with pytest.raises(InputError, match="second is singular"):
        amari_distance(np.eye(2), np.ones((2, 2)))
    with pytest.raises(InputError, match="first holds a singular"):
        amari_distance(np.diag([1.0, 0.0]), np.eye(2))
