"""A run that leaves its target as it is, and moves what is wrong towards it."""

import numpy as np
import pytest
from scipy.special import digamma, polygamma

import steinkit as sk
from steinkit.diagnosis.exact_kernels import Density, Hamiltonian, State
from steinkit.diagnosis.exact_run import ExactRun
from steinkit.errors import InputError

N = 2000


def moved(points, target, moves, seed=0):
    shares = np.full(len(points), 1.0 / len(points))
    return ExactRun(points, shares, target, target.bounds, np.random.default_rng(seed)).move(moves)


def errors(points, mean, sd):
    """Of means and of variances, in standard errors of independent draws."""
    z = (points - mean) / sd
    squares = z**2 - 1.0
    root = np.sqrt(len(points))
    return np.concatenate([root * z.mean(axis=0), root * squares.mean(axis=0) / squares.std(axis=0)])


@pytest.mark.parametrize("seed", range(3))
def test_a_normal_target_stays_as_it_is(seed):
    mean, root = np.array([3.0, -1.0, 100.0]), np.array([[1.0, 0.0, 0.0], [0.9, 0.3, 0.0], [2.0, 1.0, 10.0]])
    target = sk.targets.Normal(mean, covariance=root @ root.T)
    points = target.sample(N, np.random.default_rng([1, seed]))
    found = moved(points, target, 5, seed)
    assert np.abs(errors(found.points, mean, np.linalg.norm(root, axis=1))).max() < 4.5
    assert np.abs(np.corrcoef(found.points.T) - np.corrcoef(points.T)).max() < 0.06
    assert (found.points != points).any(axis=1).mean() > 0.95
    assert found.scores() == pytest.approx(target.score(found.points), abs=1e-12)
    assert found.gradients == 35


@pytest.mark.parametrize(
    ("target", "mean", "sd"),
    [
        (sk.targets.Gamma(2.0, dim=2), 2.0, np.sqrt(2.0)),
        (sk.targets.Beta(1.5, 3.0, dim=2), 1.0 / 3.0, np.sqrt(1.5 * 3.0 / (4.5**2 * 5.5))),
        (sk.targets.Uniform(0.0, 1.0, dim=2), 0.5, np.sqrt(1.0 / 12.0)),
    ],
    ids=["gamma", "beta", "uniform"],
)
def test_a_bounded_target_stays_as_it_is_and_within_its_bounds(target, mean, sd):
    found = moved(target.sample(N, np.random.default_rng(2)), target, 8)
    assert np.abs(errors(found.points, mean, sd)).max() < 4.5
    assert (found.points > target.bounds[:, 0]).all()
    assert (found.points < target.bounds[:, 1]).all()


def test_a_score_that_is_wrong_slows_it_and_misleads_it_not():
    """The density alone decides: any force makes a reversible path that keeps volumes."""
    target = sk.Target(lambda x: -0.6 * x + 0.2, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2)
    found = moved(np.random.default_rng(3).standard_normal((N, 2)), target, 8)
    assert np.abs(errors(found.points, 0.0, 1.0)).max() < 4.5


def log_gamma(shape, dim):
    """Logarithms of gamma variables: skewed, with means and variances that are known."""
    return sk.Target(lambda x: shape - np.exp(x), log_density=lambda x: (shape * x - np.exp(x)).sum(axis=1), dim=dim)


def test_draws_of_the_normal_approximation_move_to_where_the_target_is():
    shape, dim = 2.0, 6
    points = np.log(shape) + np.random.default_rng(4).standard_normal((N, dim)) / np.sqrt(shape)
    mean, sd = digamma(shape), np.sqrt(polygamma(1, shape))
    off = (points.mean(axis=0) - mean) / sd
    assert off.min() > 0.25
    after = moved(points, log_gamma(shape, dim), 10)
    assert np.abs(errors(after.points, mean, sd)).max() < 4.5
    assert np.abs(errors(points, mean, sd)).max() > 4.5  # a control


def test_steps_adapt_to_a_mass_matrix_that_is_too_small():
    target = sk.targets.Normal(np.zeros(4))
    points = target.sample(400, np.random.default_rng(5))
    kernel = Hamiltonian(Density(target, None), 10.0 * np.eye(4), np.random.default_rng(0))
    state = State(points, target.log_density(points))
    kernel.tune(state)
    assert kernel.move(state)[1] > 0.4


def test_the_log_density_of_exact_draws_stays_and_that_of_narrow_ones_falls():
    target = sk.targets.Normal(np.zeros(3))
    points = target.sample(N, np.random.default_rng(9))
    assert abs(moved(points, target, 4).climb) < 4.0
    assert moved(0.8 * points, target, 4).climb < -8.0


def test_the_same_seed_moves_alike_and_the_draws_given_stay():
    target = sk.targets.Normal(np.zeros(2))
    points = target.sample(100, np.random.default_rng(6))
    before = points.copy()
    first, second, other = (moved(points, target, 3, seed) for seed in (1, 1, 2))
    assert (points == before).all()
    assert (first.points == second.points).all()
    assert (first.points != other.points).any()


def test_no_run_starts_where_there_is_no_density():
    target = sk.Target(
        lambda x: -x, log_density=lambda x: np.where(x[:, 0] > 1.5, -np.inf, -0.5 * (x**2).sum(axis=1)), dim=1
    )
    points = np.linspace(-2.0, 2.0, 20)[:, None]
    with pytest.raises(InputError, match=r"log density at draw 18 is -inf .*: drop that draw"):
        moved(points, target, 1)


def test_a_density_that_raises_or_runs_away_at_a_proposal_rejects_it():
    """A scale below zero raises, as in a model; the fourth power sends long steps to infinity."""

    def log_density(x):
        if (x[:, 0] <= 0.0).any():
            raise ValueError("sigma > 0")
        return 2.0 * np.log(x[:, 0]) - x[:, 0]

    target = sk.Target(lambda x: 2.0 / x - 1.0, log_density=log_density, dim=1)
    found = moved(np.random.default_rng(7).gamma(3.0, size=(N, 1)), target, 4)
    assert np.abs(errors(found.points, 3.0, np.sqrt(3.0))).max() < 4.5
    steep = sk.Target(lambda x: -4.0 * x**3, log_density=lambda x: -(x**4).sum(axis=1), dim=1)
    start = np.random.default_rng(8).uniform(-1.0, 1.0, (400, 1))
    kernel = Hamiltonian(Density(steep, None), np.array([[1e6]]), np.random.default_rng(0))
    state = State(start, steep.log_density(start))
    kernel.tune(state)
    far, _ = kernel.move(state)
    assert np.isfinite(far.points).all()
    assert np.abs(far.points).max() < 3.0
