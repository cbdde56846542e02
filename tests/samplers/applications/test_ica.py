"""The walk on orthogonal matrices: symmetric, on the manifold, in detailed balance; and independent components."""

import math

import numpy as np
import pytest
from scipy import integrate
from support.monte_carlo import LIMIT

from steinkit.errors import InputError, UsageError
from steinkit.samplers.acceptance.austerity import AusterityTest
from steinkit.samplers.acceptance.exact import MetropolisTest
from steinkit.samplers.applications.ica.independent_components import IndependentComponents, amari_distance
from steinkit.samplers.applications.ica.stiefel_walk import StiefelWalk, orthogonal_mh
from steinkit.samplers.general import metropolis_hastings


def excess(points):
    """Largest entry of W W' - I."""
    D = math.isqrt(points.shape[-1])
    W = points.reshape(-1, D, D)
    return np.abs(W @ W.swapaxes(1, 2) - np.eye(D)).max()


def matrices(count, D, seed=0):
    """Orthogonal matrices, row after row, of both determinants."""
    W = np.linalg.qr(np.random.default_rng(seed).standard_normal((count, D, D)))[0]
    W[::2, 0] *= -1.0
    return np.ascontiguousarray(W).reshape(count, D * D)


def rotation(angle):
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


@pytest.mark.parametrize("D", [2, 3, 6])
def test_a_move_and_its_reverse_have_the_same_probability(D):
    """-xi is as likely as xi and leads back: q(W' | W) = q(W | W')."""
    walk, states = StiefelWalk(0.7), matrices(50, D)
    noise = np.random.default_rng(1).standard_normal((50, walk.noise_width(D * D)))
    proposals, ratio = walk.propose(states, noise, None)
    back, _ = walk.propose(proposals, -noise, None)
    np.testing.assert_allclose(back, states, atol=1e-13)
    assert not ratio.any()
    assert excess(proposals) < 1e-14
    assert np.abs(proposals - states).max() > 0.3
    signs = [np.sign(np.linalg.det(points.reshape(-1, D, D))) for points in (states, proposals)]
    np.testing.assert_array_equal(*signs)
    assert set(signs[0].tolist()) == {-1.0, 1.0}


def test_a_small_move_turns_each_plane_by_scale_times_noise():
    noise = np.array([[1.0, -2.0, 0.5]])
    proposals, _ = StiefelWalk(1e-4).propose(np.eye(3).reshape(1, 9), noise, None)
    turned = (proposals.reshape(3, 3) - np.eye(3)) / 1e-4
    np.testing.assert_allclose(turned[np.triu_indices(3, 1)], noise[0], atol=1e-3)
    np.testing.assert_allclose(turned, -turned.T, atol=1e-3)


def test_long_walks_stay_on_the_manifold():
    walk, states = StiefelWalk(0.3), matrices(20, 4)
    rng = np.random.default_rng(3)
    for _ in range(3000):
        states, _ = walk.propose(states, rng.standard_normal((20, 6)), None)
    assert excess(states) < 1e-14


def test_a_start_a_little_off_the_manifold_comes_back():
    states = matrices(1, 4) * (1.0 + 1e-9)
    assert excess(states) > 1e-10
    proposals, _ = StiefelWalk(0.3).propose(states, np.ones((1, 6)), None)
    assert excess(proposals) < 1e-14


def test_without_data_the_walk_is_uniform():
    """Haar's measure on the rotations of space: E w^2 = 1/3, E w^4 = 1/5, E trace = 0, E trace^2 = 1."""
    posterior = IndependentComponents(np.zeros((1, 3)))
    points = orthogonal_mh(posterior, proposal_scale=0.8, chains=200, burn_in=30, draws=60, thin=2).points
    trace = points[:, :, [0, 4, 8]].sum(axis=2)
    for values, wanted in ((points**2, 1 / 3), (points**4, 1 / 5), (trace, 0.0), (trace**2, 1.0)):
        means = values.mean(axis=1)
        error = means.std(axis=0, ddof=1) / math.sqrt(len(means))
        assert (np.abs(means.mean(axis=0) - wanted) / error).max() < LIMIT


PLANE = IndependentComponents(np.random.default_rng(5).laplace(size=(25, 2)) @ rotation(0.4).T)


def plane_moments():
    """E cos 4 phi and E sin 4 phi of the angle of W by quadrature; the density has period pi / 2."""

    def density(phi):
        z = PLANE.data[0] @ rotation(phi).T
        return np.exp(-2.0 * np.log(2.0 * np.cosh(0.5 * z)).sum() + 75.0)

    total, cosine, sine = (
        integrate.quad(lambda phi, f=f: density(phi) * f(4.0 * phi), 0.0, 0.5 * math.pi, epsrel=1e-9)[0]
        for f in (lambda x: 1.0, math.cos, math.sin)
    )
    return np.array([cosine, sine]) / total


def plane_errors(draws):
    """Errors of the two moments, and their standard errors."""
    phi = np.arctan2(draws.points[:, :, 2], draws.points[:, :, 0])
    means = np.stack([np.cos(4.0 * phi).mean(axis=1), np.sin(4.0 * phi).mean(axis=1)], axis=1)
    return means.mean(axis=0) - plane_moments(), means.std(axis=0, ddof=1) / math.sqrt(len(means))


class DriftingWalk(StiefelWalk):
    """Control: turns one way more often than the other, and says nothing of it."""

    def propose(self, states, noise, gradient):
        return super().propose(states, noise + 1.0, gradient)


def test_chains_in_the_plane_agree_with_quadrature():
    run = {"test": MetropolisTest(), "chains": 150, "burn_in": 40, "draws": 200, "start": np.eye(2).ravel()}
    assert np.abs(plane_moments()).max() > 0.3
    draws = metropolis_hastings(PLANE, proposal=StiefelWalk(0.5), **run)
    error, standard_error = plane_errors(draws)
    assert (np.abs(error) / standard_error).max() < LIMIT
    assert draws.acceptance.min() > 0.3
    error, standard_error = plane_errors(metropolis_hastings(PLANE, proposal=DriftingWalk(0.5), **run))
    assert (np.abs(error) / standard_error).max() > 2 * LIMIT
    run["test"] = AusterityTest(0.0, 10)
    error, standard_error = plane_errors(metropolis_hastings(PLANE, proposal=StiefelWalk(0.5), **run | {"draws": 80}))
    assert (np.abs(error) / standard_error).max() < LIMIT


MIXING = np.array([[1.0, 0.6, -0.3], [0.2, 1.0, 0.5], [-0.4, 0.3, 1.0]])


@pytest.fixture(scope="module")
def mixtures():
    rng = np.random.default_rng(0)
    z = rng.laplace(size=(5000, 3))
    z[:, 2] *= np.sqrt(np.abs(z[:, 2]))
    return z @ MIXING.T


@pytest.mark.parametrize("test", [MetropolisTest(), AusterityTest(0.05, 500)], ids=["exact", "austerity"])
def test_mixed_sources_are_unmixed(test, mixtures):
    posterior = IndependentComponents.from_mixtures(mixtures + np.array([5.0, -3.0, 1.0]))
    draws = orthogonal_mh(posterior, proposal_scale=0.03, test=test, chains=3, draws=250, seed=2)
    distances = amari_distance(posterior.unmixing_matrices(draws.points), np.linalg.inv(MIXING))
    assert distances[:, 0].min() > 0.15
    assert distances[:, -100:].mean(axis=1).max() < 0.05
    assert excess(draws.points) < 1e-13
    assert draws.batch_sizes.mean() == 5000 if isinstance(test, MetropolisTest) else draws.batch_sizes.mean() < 3000


@pytest.mark.parametrize("test", [MetropolisTest(), AusterityTest(0.1, 5)], ids=["exact", "austerity"])
def test_a_chain_is_the_same_alone_and_among_others(test):
    posterior = IndependentComponents(np.random.default_rng(1).laplace(size=(40, 3)))
    many = orthogonal_mh(posterior, proposal_scale=0.3, test=test, chains=40, draws=30, seed=5)
    assert len(np.unique(many.points[:, -1, 0])) > 35
    for chain in (0, 17, 39):
        one = orthogonal_mh(posterior, proposal_scale=0.3, test=test, draws=30, seed=[many.seeds[chain]])
        assert one.points[0].tobytes() == many.points[chain].tobytes()
        assert one.cost[0].tobytes() == many.cost[chain].tobytes()


def test_the_likelihood_is_the_papers():
    rng = np.random.default_rng(2)
    for D in (2, 4):
        posterior = IndependentComponents(rng.laplace(size=(7, D)))
        theta = matrices(1, D)[0]
        z = posterior.data[0] @ theta.reshape(D, D).T
        wanted = -np.log(4.0 * np.cosh(0.5 * z) ** 2).sum(axis=1)
        np.testing.assert_allclose(posterior.log_likelihood(theta, *posterior.data), wanted, rtol=1e-13)
        step, gradient = 1e-6, posterior.grad_log_likelihood(theta, *posterior.data)
        for j in range(D * D):
            ends = [
                posterior.log_likelihood(theta + s * np.eye(D * D)[j], *posterior.data).sum() for s in (-step, step)
            ]
            assert gradient[j] == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5, abs=1e-7)
    many = 1200  # sources: more than one logarithm serves; and far out, where cosh overflows
    terms = IndependentComponents._log_likelihood(np.eye(many).ravel(), np.full((2, many), 3.0))
    np.testing.assert_allclose(terms, -many * 2.0 * math.log(2.0 * math.cosh(1.5)), rtol=1e-12)
    assert IndependentComponents._log_likelihood(np.eye(2).ravel(), np.full((1, 2), 2000.0))[0] == -4000.0


def test_the_prior_is_the_manifold():
    posterior = IndependentComponents(np.zeros((3, 3)))
    points = np.stack([*matrices(2, 3), 1.001 * matrices(1, 3)[0], np.zeros(9)])
    assert posterior.log_prior(points).tolist() == [0.0, 0.0, -np.inf, -np.inf]


def test_mixtures_are_whitened(mixtures):
    posterior = IndependentComponents.from_mixtures(mixtures + 10.0)
    x = posterior.data[0]
    np.testing.assert_allclose(x.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(x.T @ x / len(x), np.eye(3), atol=1e-11)
    np.testing.assert_allclose((mixtures + 10.0 - posterior.centre) @ posterior.whitening.T, x, atol=1e-12)
    unmixing = posterior.unmixing_matrices(matrices(5, 3).reshape(5, 1, 9))
    assert unmixing.shape == (5, 1, 3, 3)
    covariance = np.cov(mixtures.T, ddof=0)
    np.testing.assert_allclose(unmixing[2, 0] @ covariance @ unmixing[2, 0].T, np.eye(3), atol=1e-10)


@pytest.mark.parametrize("unit", [1e-200, 1e150])
def test_units_of_the_mixtures_do_not_matter(unit, mixtures):
    wanted, found = (IndependentComponents.from_mixtures(x).data[0] for x in (mixtures, mixtures * unit))
    np.testing.assert_allclose(found, wanted, atol=1e-10)


def test_amari_distance_knows_what_is_free():
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


def test_wrong_use_is_named(mixtures):
    posterior = IndependentComponents.from_mixtures(mixtures)
    with pytest.raises(InputError, match="covariance of the mixtures is singular"):
        IndependentComponents.from_mixtures(np.column_stack([mixtures, mixtures.sum(axis=1)]))
    with pytest.raises(UsageError, match="D at least 2"):
        IndependentComponents(np.ones((5, 1)))
    with pytest.raises(UsageError, match="data"):
        IndependentComponents([[1.0, np.nan]])
    with pytest.raises(UsageError, match="no score"):
        posterior.score(matrices(1, 3))
    with pytest.raises(UsageError, match="proposal_scale"):
        StiefelWalk(0.0)
    with pytest.raises(UsageError, match=r"needs a steinkit\.Target or steinkit\.Posterior; received NoneType"):
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
