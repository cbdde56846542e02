"""Walks on the orthogonal matrices compared with quadrature and Haar's measure, and controls that must fail."""

import math

import numpy as np
import pytest
from applications.ica import IndependentComponents, StiefelWalk, amari_distance, orthogonal_mh
from applications.tests.problems import MIXING, mixtures, orthogonal_matrices
from scipy import integrate
from support.monte_carlo import LIMIT

from steinkit.samplers.acceptance.interface import MetropolisTest
from steinkit.samplers.acceptance.sequential import AusterityTest
from steinkit.samplers.metropolis import metropolis_hastings


def excess(points):
    """Return the largest entry of W W' - I."""
    D = math.isqrt(points.shape[-1])
    W = points.reshape(-1, D, D)
    return np.abs(W @ W.swapaxes(1, 2) - np.eye(D)).max()


def rotation(angle):
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


@pytest.mark.parametrize("D", [2, 3, 6])
def test_a_move_and_its_reverse_have_the_same_probability(D):
    """-xi is as likely as xi and leads back: q(W' | W) = q(W | W')."""
    walk, states = StiefelWalk(0.7), orthogonal_matrices(50, D)
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
    walk, states = StiefelWalk(0.3), orthogonal_matrices(20, 4)
    rng = np.random.default_rng(3)
    for _ in range(3000):
        states, _ = walk.propose(states, rng.standard_normal((20, 6)), None)
    assert excess(states) < 1e-14


def test_a_start_near_the_manifold_returns_to_it():
    states = orthogonal_matrices(1, 4) * (1.0 + 1e-9)
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
    """Compute E cos 4 phi and E sin 4 phi of the angle of W by quadrature; the density has period pi / 2."""

    def density(phi):
        z = PLANE.data[0] @ rotation(phi).T
        return np.exp(-2.0 * np.log(2.0 * np.cosh(0.5 * z)).sum() + 75.0)

    total, cosine, sine = (
        integrate.quad(lambda phi, f=f: density(phi) * f(4.0 * phi), 0.0, 0.5 * math.pi, epsrel=1e-9)[0]
        for f in (lambda x: 1.0, math.cos, math.sin)
    )
    return np.array([cosine, sine]) / total


def plane_errors(draws):
    """Return the errors of the two moments, and their standard errors."""
    phi = np.arctan2(draws.points[:, :, 2], draws.points[:, :, 0])
    means = np.stack([np.cos(4.0 * phi).mean(axis=1), np.sin(4.0 * phi).mean(axis=1)], axis=1)
    return means.mean(axis=0) - plane_moments(), means.std(axis=0, ddof=1) / math.sqrt(len(means))


class DriftingWalk(StiefelWalk):
    """Control: asymmetric rotations with a log ratio of zero."""

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


@pytest.mark.parametrize("test", [MetropolisTest(), AusterityTest(0.05, 500)], ids=["exact", "austerity"])
def test_mixed_sources_are_unmixed(test):
    posterior = IndependentComponents.from_mixtures(mixtures() + np.array([5.0, -3.0, 1.0]))
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
