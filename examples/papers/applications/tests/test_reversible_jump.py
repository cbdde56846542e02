"""Chains over models compared with enumeration, and controls that must fail."""

import math
from itertools import combinations

import numpy as np
import pytest
from applications.tests.problems import FEATURES, RATE, RESPONSES, SPARSE_POSTERIOR, A, B, regression
from applications.variable_selection import (
    JumpMoves,
    SparseLogisticRegression,
    VariableSelection,
    select_variables,
)
from scipy import special
from support.monte_carlo import LIMIT

from steinkit.errors import InputError, UsageError
from steinkit.samplers.acceptance.interface import BarkerTest, MetropolisTest
from steinkit.samplers.acceptance.sequential import AusterityTest
from steinkit.samplers.metropolis import metropolis_hastings
from steinkit.targets.regression import LogisticRegression

SCALES = {"update_scale": 0.35, "birth_scale": 0.5}

RUN = {"chains": 120, "burn_in": 50, "draws": 350}

MODELS = [model for k in (1, 2, 3) for model in combinations(range(3), k)]


def evidence(model, nodes, features=FEATURES, responses=RESPONSES):
    """Integrate likelihood times prior over the coefficients of a model, separately on each side of 0."""
    k, signs = len(model), np.where(responses, 1.0, -1.0)
    x, w = np.polynomial.legendre.leggauss(nodes)
    axis, weights = np.concatenate((x - 1.0, x + 1.0)) * 1.25, np.concatenate((w, w)) * 1.25
    beta = np.stack(np.meshgrid(*[axis] * k, indexing="ij"), axis=-1).reshape(-1, k)
    weight = np.prod(np.stack(np.meshgrid(*[weights] * k, indexing="ij"), axis=-1).reshape(-1, k), axis=1)
    log_likelihood = np.zeros(len(beta))
    for row, sign in zip(features[:, model], signs, strict=True):
        log_likelihood -= np.logaddexp(0.0, -sign * (beta @ row))
    # Laplace densities after integrating out nu ~ InvGamma(A, B); the rate includes 2^-k
    laplace = special.gamma(A + k) * B**A / special.gamma(A) * (B + np.abs(beta).sum(axis=1)) ** -(A + k)
    prior = RATE**k / (special.comb(features.shape[1], k) * special.factorial(k)) * laplace
    return float(weight @ (prior * np.exp(log_likelihood + 75.0)))


@pytest.fixture(scope="module")
def probabilities():
    """Compute the posterior probabilities of the models by quadrature."""
    values = np.array([evidence(model, 20) for model in MODELS])
    return dict(zip(MODELS, values / values.sum(), strict=True))


def errors(found, probabilities):
    """Return the errors of the probabilities of features and sizes, in standard errors."""
    included = found.included
    k = included.sum(axis=2)
    statistics = [included[:, :, j].mean(axis=1) for j in range(3)] + [(k == size).mean(axis=1) for size in (1, 2, 3)]
    truths = [sum(p for model, p in probabilities.items() if j in model) for j in range(3)]
    truths += [sum(p for model, p in probabilities.items() if len(model) == size) for size in (1, 2, 3)]
    means = np.array(statistics)
    return (means.mean(axis=1) - truths) / (means.std(axis=1, ddof=1) / math.sqrt(means.shape[1]))


def test_the_enumeration_is_converged_and_not_trivial(probabilities):
    finer = np.array([evidence(model, 28) for model in MODELS[:-1]])
    coarser = np.array([evidence(model, 20) for model in MODELS[:-1]])
    np.testing.assert_allclose(coarser, finer, rtol=1e-6)
    assert min(probabilities.values()) > 0.01
    assert max(probabilities.values()) < 0.6


@pytest.mark.parametrize("test", [MetropolisTest(), BarkerTest()], ids=repr)
def test_exact_chains_find_the_models_of_the_enumeration(test, probabilities):
    found = select_variables(SPARSE_POSTERIOR, test=test, seed=1, **SCALES, **RUN)
    assert np.abs(errors(found, probabilities)).max() < LIMIT
    truth = [sum(p for model, p in probabilities.items() if j in model) for j in range(3)]
    error = found.chain_inclusion.std(axis=0, ddof=1) / np.sqrt(len(found.chain_inclusion))
    np.testing.assert_array_less(np.abs(found.inclusion - truth), LIMIT * error)
    assert error.max() < 0.015


@pytest.mark.parametrize("share", [0.15, 0.8])
def test_the_shares_of_the_moves_do_not_matter(share, probabilities):
    found = select_variables(SPARSE_POSTERIOR, update_probability=share, seed=2, **SCALES, **RUN)
    assert np.abs(errors(found, probabilities)).max() < LIMIT


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dim", [2, 3])
def test_data_of_any_size_have_the_enumerated_models(dim, seed):
    rng = np.random.default_rng([dim, seed])
    features, responses = regression(int(rng.integers(3, 40)), dim, rng.normal(size=dim - 1), seed=seed)
    models = [model for k in range(1, dim + 1) for model in combinations(range(dim), k)]
    p = np.array([evidence(model, 20, features, responses) for model in models])
    truth = [sum(each for model, each in zip(models, p / p.sum(), strict=True) if j in model) for j in range(dim)]
    posterior = SparseLogisticRegression(features, responses, size_rate=RATE, scale_prior=(A, B))
    found = select_variables(posterior, test=MetropolisTest(), seed=seed, **SCALES, **RUN)
    means = found.included.mean(axis=1)
    assert (np.abs(means.mean(axis=0) - truth) < LIMIT * means.std(axis=0, ddof=1) / math.sqrt(len(means))).all()


class DeathByName(JumpMoves):
    """Control: ratios of deaths without the choice among k coefficients."""

    def propose(self, states, noise, gradient):
        proposals, ratio = super().propose(states, noise, gradient)
        k = np.count_nonzero(states, axis=1)
        return proposals, ratio + np.where(np.count_nonzero(proposals, axis=1) < k, np.log(k), 0.0)


class EdgesForgotten(JumpMoves):
    """Control: ratios as if births and deaths were equally frequent in all models, k = 1 and k = D included."""

    def propose(self, states, noise, gradient):
        proposals, ratio = super().propose(states, noise, gradient)
        k, to = np.count_nonzero(states, axis=1), np.count_nonzero(proposals, axis=1)
        births, deaths = self.move_probabilities(k, states.shape[1])
        back_births, back_deaths = self.move_probabilities(to, states.shape[1])
        with np.errstate(all="ignore"):
            chances = np.where(to > k, back_deaths / births, np.where(to < k, back_births / deaths, 1.0))
        return proposals, ratio - np.log(chances)


@pytest.mark.parametrize("moves", [DeathByName, EdgesForgotten])
def test_wrong_probabilities_of_the_moves_are_detected(moves, probabilities):
    proposal = moves(**SCALES)
    start = [0.3, 0.0, 0.0]
    draws = metropolis_hastings(SPARSE_POSTERIOR, proposal=proposal, test=MetropolisTest(), start=start, seed=3, **RUN)
    assert np.abs(errors(VariableSelection(draws), probabilities)).max() > 2 * LIMIT


def test_the_austerity_chain_is_biased_a_little_and_reads_less(probabilities):
    truth = np.array([sum(p for model, p in probabilities.items() if j in model) for j in range(3)])
    run = SCALES | RUN | {"draws": 120, "seed": 4}
    bias, read = {}, {}
    for epsilon in (0.02, 0.3):
        found = select_variables(SPARSE_POSTERIOR, test=AusterityTest(epsilon, 20), **run)
        bias[epsilon] = np.abs(found.inclusion - truth).max()
        read[epsilon] = found.draws.batch_sizes.mean() / 120
    assert bias[0.02] < 0.05
    assert bias[0.3] > 0.08
    assert read[0.3] < 0.5 * read[0.02] < 0.4
    exact = select_variables(SPARSE_POSTERIOR, test=AusterityTest(0.0, 60), **run)
    assert np.abs(errors(exact, probabilities)).max() < LIMIT


@pytest.mark.parametrize("test", [MetropolisTest(), AusterityTest(0.1, 15)], ids=["exact", "austerity"])
def test_a_chain_is_the_same_alone_and_among_others(test):
    many = select_variables(SPARSE_POSTERIOR, test=test, chains=40, draws=30, seed=7, **SCALES).draws
    assert len(np.unique(many.points[:, -1], axis=0)) > 30
    for chain in (0, 21, 39):
        one = select_variables(SPARSE_POSTERIOR, test=test, seed=[many.seeds[chain]], draws=30, **SCALES).draws
        assert one.points[0].tobytes() == many.points[chain].tobytes()
        assert one.cost[0].tobytes() == many.cost[chain].tobytes()


def test_chains_start_at_the_feature_that_pulls_hardest():
    X, y = regression(300, 6, [0.0, 0.0, -2.0], seed=2)
    found = select_variables(SparseLogisticRegression(X, y), draws=1, chains=20, **SCALES)
    assert (found.draws.points[:, 0, 2] != 0.0).mean() > 0.8
    assert found.draws.settings["start"] == [0.0, 0.0, -0.5, 0.0, 0.0, 0.0]


def test_the_result_counts_only_draws_that_are_there():
    found = select_variables(SPARSE_POSTERIOR, test=AusterityTest(0.2, 12), budget=3000, chains=6, seed=1, **SCALES)
    draws = found.draws
    assert draws.lengths is not None
    for chain, length in enumerate(draws.lengths):
        points = draws.points[chain, :length]
        np.testing.assert_allclose(found.chain_inclusion[chain], (points != 0.0).mean(axis=0))
    assert found.sizes.sum() == pytest.approx(1.0)
    assert found.sizes[0] == 0.0
    assert sum(found.models.values()) == pytest.approx(1.0)
    assert list(found.models.values()) == sorted(found.models.values(), reverse=True)
    assert found.sizes[1] == pytest.approx(sum(p for model, p in found.models.items() if len(model) == 1))


def test_wrong_use_is_named():
    with pytest.raises(InputError, match="chain 1 cannot start"):
        select_variables(SPARSE_POSTERIOR, draws=1, start=np.zeros(3), **SCALES)
    with pytest.raises(UsageError, match=r"requires a SparseLogisticRegression; got LogisticRegression"):
        select_variables(LogisticRegression(FEATURES, RESPONSES), draws=1, **SCALES)
    with pytest.raises(UsageError, match="has no score: a coefficient is 0"):
        SPARSE_POSTERIOR.score(np.ones((1, 3)))
    for options, message in (
        ({"update_scale": 0.0, "birth_scale": 1.0}, "update_scale"),
        ({"update_scale": 1.0, "birth_scale": math.inf}, "birth_scale"),
        (SCALES | {"update_probability": 1.0}, "update_probability"),
    ):
        with pytest.raises(UsageError, match=message):
            JumpMoves(**options)
    for prior in ((1.0,), (0.0, 1.0), (1.0, -1.0), "ab", 3.0):
        with pytest.raises(UsageError, match="scale_prior"):
            SparseLogisticRegression(FEATURES, RESPONSES, scale_prior=prior)
    with pytest.raises(UsageError, match="size_rate"):
        SparseLogisticRegression(FEATURES, RESPONSES, size_rate=0.0)
    with pytest.raises(UsageError, match="two values"):
        SparseLogisticRegression(FEATURES, np.arange(120))
