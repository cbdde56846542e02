"""Exact runs: exact draws keep their distribution, and biased draws move towards the target."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from support.bias_samples import log_gamma

import steinkit as sk
from steinkit.diagnosis.exact_moves import Density, ExactRun, Hamiltonian, State
from steinkit.errors import InputError

N = 2000


def moved(points, target, moves, seed=0):
    shares = np.full(len(points), 1.0 / len(points))
    return ExactRun(points, shares, Density(target, target.bounds), np.random.default_rng(seed)).move(moves)


def errors(points, mean, sd):
    """Return the errors of means and variances, in standard errors of independent draws."""
    z = (points - mean) / sd
    squares = z**2 - 1.0
    root = np.sqrt(len(points))
    return np.concatenate([root * z.mean(axis=0), root * squares.mean(axis=0) / squares.std(axis=0)])


@pytest.mark.parametrize("seed", range(3))
def test_draws_of_a_normal_target_keep_their_distribution(seed):
    mean, root = np.array([3.0, -1.0, 100.0]), np.array([[1.0, 0.0, 0.0], [0.9, 0.3, 0.0], [2.0, 1.0, 10.0]])
    target = sk.targets.Normal(mean, covariance=root @ root.T)
    points = target.sample(N, np.random.default_rng([1, seed]))
    before = points.copy()
    found = moved(points, target, 5, seed)
    assert (points == before).all()
    assert np.abs(errors(found.points, mean, np.linalg.norm(root, axis=1))).max() < 4.5
    assert np.abs(np.corrcoef(found.points.T) - np.corrcoef(points.T)).max() < 0.06
    assert (found.points != points).any(axis=1).mean() > 0.95
    assert found.scores() == pytest.approx(target.score(found.points), abs=1e-12)
    assert found.gradients == 35
    assert (moved(points, target, 5, seed).points == found.points).all()
    assert (moved(points, target, 5, seed + 1).points != found.points).any()


@pytest.mark.parametrize(
    ("target", "mean", "sd"),
    [
        (sk.targets.Gamma(2.0, dim=2), 2.0, np.sqrt(2.0)),
        (sk.targets.Beta(1.5, 3.0, dim=2), 1.0 / 3.0, np.sqrt(1.5 * 3.0 / (4.5**2 * 5.5))),
        (sk.targets.Uniform(0.0, 1.0, dim=2), 0.5, np.sqrt(1.0 / 12.0)),
    ],
    ids=["gamma", "beta", "uniform"],
)
def test_draws_of_a_bounded_target_keep_their_distribution_and_bounds(target, mean, sd):
    found = moved(target.sample(N, np.random.default_rng(2)), target, 8)
    assert np.abs(errors(found.points, mean, sd)).max() < 4.5
    assert (found.points > target.bounds[:, 0]).all()
    assert (found.points < target.bounds[:, 1]).all()


def test_draws_keep_their_distribution_with_an_incorrect_score():
    """Every force yields a reversible, volume-preserving trajectory, and acceptance depends on the density."""
    target = sk.Target(lambda x: -0.6 * x + 0.2, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2)
    found = moved(np.random.default_rng(3).standard_normal((N, 2)), target, 8)
    assert np.abs(errors(found.points, 0.0, 1.0)).max() < 4.5


def test_draws_of_a_laplace_approximation_move_to_the_target():
    shape, dim = 2.0, 6
    points = np.log(shape) + np.random.default_rng(4).standard_normal((N, dim)) / np.sqrt(shape)
    mean, sd = digamma(shape), np.sqrt(polygamma(1, shape))
    after = moved(points, log_gamma(dim, shape), 10)
    assert np.abs(errors(after.points, mean, sd)).max() < 4.5 < np.abs(errors(points, mean, sd)).max()


def test_step_length_adapts_to_a_wrong_mass_matrix():
    target = sk.targets.Normal(np.zeros(4))
    points = target.sample(400, np.random.default_rng(5))
    kernel = Hamiltonian(Density(target, None), 10.0 * np.eye(4), np.random.default_rng(0))
    state = State(points, target.log_density(points))
    kernel.tune(state)
    assert kernel.move(state)[1] > 0.4


def test_log_density_of_narrow_draws_falls():
    target = sk.targets.Normal(np.zeros(3))
    points = target.sample(N, np.random.default_rng(9))
    assert abs(moved(points, target, 4).climb) < 4.0
    assert moved(0.8 * points, target, 4).climb < -8.0


def test_draws_with_zero_density_are_rejected():
    target = sk.Target(
        lambda x: -x, log_density=lambda x: np.where(x[:, 0] > 1.5, -np.inf, -0.5 * (x**2).sum(axis=1)), dim=1
    )
    with pytest.raises(InputError, match=r"-inf at draw 18"):
        moved(np.linspace(-2.0, 2.0, 20)[:, None], target, 1)


def test_proposals_with_an_exception_are_rejected():
    def log_density(x):
        if (x[:, 0] <= 0.0).any():
            raise ValueError("sigma > 0")
        return 2.0 * np.log(x[:, 0]) - x[:, 0]

    target = sk.Target(lambda x: 2.0 / x - 1.0, log_density=log_density, dim=1)
    found = moved(np.random.default_rng(7).gamma(3.0, size=(N, 1)), target, 4)
    assert np.abs(errors(found.points, 3.0, np.sqrt(3.0))).max() < 4.5


def test_divergent_trajectories_are_rejected():
    steep = sk.Target(lambda x: -4.0 * x**3, log_density=lambda x: -(x**4).sum(axis=1), dim=1)
    start = np.random.default_rng(8).uniform(-1.0, 1.0, (400, 1))
    kernel = Hamiltonian(Density(steep, None), np.array([[1e6]]), np.random.default_rng(0))
    state = State(start, steep.log_density(start))
    kernel.tune(state)
    far, _ = kernel.move(state)
    assert np.isfinite(far.points).all()
    assert np.abs(far.points).max() < 3.0
