"""Variable selection against the enumeration of all models; and wrong moves that must fail the same check."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import integrate, special, stats
from support.monte_carlo import LIMIT

from steinkit.errors import InputError, UsageError
from steinkit.samplers.acceptance.austerity import AusterityTest
from steinkit.samplers.acceptance.exact import BarkerTest, MetropolisTest
from steinkit.samplers.applications.variable_selection.moves import JumpMoves
from steinkit.samplers.applications.variable_selection.reversible_jump import VariableSelection, select_variables
from steinkit.samplers.applications.variable_selection.sparse_logistic import SparseLogisticRegression
from steinkit.samplers.general import metropolis_hastings
from steinkit.targets.logistic import LogisticRegression

A, B, RATE = 1.5, 0.5, 0.8
SCALES = {"update_scale": 0.35, "birth_scale": 0.5}
RUN = {"chains": 120, "burn_in": 50, "draws": 350}
MODELS = [model for k in (1, 2, 3) for model in combinations(range(3), k)]


def simulated(size, dim, coefficients, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((size, dim))
    X[:, -1] += X[:, 0]
    y = rng.random(size) < special.expit(X[:, : len(coefficients)] @ coefficients)
    return X, y


FEATURES, RESPONSES = simulated(120, 3, [0.4, 0.25], seed=3)
POSTERIOR = SparseLogisticRegression(FEATURES, RESPONSES, size_rate=RATE, scale_prior=(A, B))


def evidence(model, nodes):
    """Integral of likelihood and prior over the coefficients of a model; the prior is smooth on either side of 0."""
    k, signs = len(model), np.where(RESPONSES, 1.0, -1.0)
    x, w = np.polynomial.legendre.leggauss(nodes)
    axis, weights = np.concatenate((x - 1.0, x + 1.0)) * 1.25, np.concatenate((w, w)) * 1.25
    beta = np.stack(np.meshgrid(*[axis] * k, indexing="ij"), axis=-1).reshape(-1, k)
    weight = np.prod(np.stack(np.meshgrid(*[weights] * k, indexing="ij"), axis=-1).reshape(-1, k), axis=1)
    log_likelihood = np.zeros(len(beta))
    for row, sign in zip(FEATURES[:, model], signs, strict=True):
        log_likelihood -= np.logaddexp(0.0, -sign * (beta @ row))
    # Laplace densities with nu ~ InvGamma(A, B) integrated out; 2^-k is in the rate
    laplace = special.gamma(A + k) * B**A / special.gamma(A) * (B + np.abs(beta).sum(axis=1)) ** -(A + k)
    prior = RATE**k / (special.comb(3, k) * special.factorial(k)) * laplace
    return float(weight @ (prior * np.exp(log_likelihood + 75.0)))


@pytest.fixture(scope="module")
def probabilities():
    """Posterior probabilities of the models, by quadrature."""
    values = np.array([evidence(model, 20) for model in MODELS])
    return dict(zip(MODELS, values / values.sum(), strict=True))


def errors(found, probabilities):
    """Errors of the inclusion probabilities, and of those of the sizes, in standard errors."""
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
    found = select_variables(POSTERIOR, test=test, seed=1, **SCALES, **RUN)
    assert np.abs(errors(found, probabilities)).max() < LIMIT
    truth = [sum(p for model, p in probabilities.items() if j in model) for j in range(3)]
    np.testing.assert_array_less(np.abs(found.inclusion - truth), LIMIT * found.inclusion_error)
    assert found.inclusion_error.max() < 0.015
    assert (found.model_changes > 0.05).all()


@pytest.mark.parametrize("share", [0.15, 0.8])
def test_the_shares_of_the_moves_do_not_matter(share, probabilities):
    found = select_variables(POSTERIOR, update_probability=share, seed=2, **SCALES, **RUN)
    assert np.abs(errors(found, probabilities)).max() < LIMIT


class DeathByName(JumpMoves):
    """Control: deaths as if the coefficient that dies were not chosen among k."""

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
def test_wrong_probabilities_of_the_moves_are_found_out(moves, probabilities):
    proposal = moves(**SCALES)
    start = [0.3, 0.0, 0.0]
    draws = metropolis_hastings(POSTERIOR, proposal=proposal, test=MetropolisTest(), start=start, seed=3, **RUN)
    assert np.abs(errors(VariableSelection(draws), probabilities)).max() > 2 * LIMIT


def test_the_austerity_chain_is_biased_a_little_and_reads_less(probabilities):
    truth = np.array([sum(p for model, p in probabilities.items() if j in model) for j in range(3)])
    run = SCALES | RUN | {"draws": 120, "seed": 4}
    bias, read = {}, {}
    for epsilon in (0.02, 0.3):
        found = select_variables(POSTERIOR, test=AusterityTest(epsilon, 20), **run)
        bias[epsilon] = np.abs(found.inclusion - truth).max()
        read[epsilon] = found.draws.batch_sizes.mean() / 120
    assert bias[0.02] < 0.05
    assert bias[0.3] > 0.08
    assert read[0.3] < 0.5 * read[0.02] < 0.4
    exact = select_variables(POSTERIOR, test=AusterityTest(0.0, 60), **run)
    assert np.abs(errors(exact, probabilities)).max() < LIMIT


def step_density(before, after, moves):
    """q(after | before) of a move that changes one coefficient, from the definition of the moves."""
    (j,) = np.flatnonzero(before != after)
    k, D = np.count_nonzero(before), len(before)
    jump = 1.0 - moves.update_probability
    if before[j] == 0.0:
        share = jump if k == 1 else jump / 2
        return share / (D - k) * stats.norm.pdf(after[j], scale=moves.birth_scale)
    if after[j] == 0.0:
        return (jump if k == D else jump / 2) / k
    return moves.update_probability / k * stats.norm.pdf(after[j] - before[j], scale=moves.update_scale)


def moves_of(dim, count, seed):
    """States of all sizes, and proposals from them."""
    rng = np.random.default_rng(seed)
    moves = JumpMoves(0.4, 0.7, 0.3)
    states = rng.standard_normal((count, dim))
    sizes = rng.integers(1, dim + 1, count)
    states[rng.permuted(np.tile(np.arange(dim), (count, 1)), axis=1) >= sizes[:, None]] = 0.0
    return moves, states, *moves.propose(states, rng.standard_normal((count, 3)), None)


def test_ratios_are_those_of_the_densities_of_the_moves():
    for dim in (2, 3, 5):
        moves, states, proposals, ratio = moves_of(dim, 300, dim)
        for before, after, found in zip(states, proposals, ratio, strict=True):
            wanted = math.log(step_density(after, before, moves) / step_density(before, after, moves))
            assert found == pytest.approx(wanted, abs=1e-9)
        changes = np.count_nonzero(proposals, axis=1) - np.count_nonzero(states, axis=1)
        assert set(changes.tolist()) == {-1, 0, 1}


def test_moves_are_chosen_as_often_as_they_say():
    moves = JumpMoves(0.4, 0.7, 0.3)
    noise = np.random.default_rng(1).standard_normal((40_000, 3))
    for k, births, deaths in ((1, 0.7, 0.0), (2, 0.35, 0.35), (4, 0.0, 0.7)):
        states = np.tile(np.where(np.arange(4) < k, 1.0, 0.0), (len(noise), 1))
        proposals, _ = moves.propose(states, noise, None)
        sizes = np.count_nonzero(proposals, axis=1)
        for share, kind, choices in (
            (births, sizes > k, np.arange(4) >= k),
            (deaths, sizes < k, np.arange(4) < k),
            (0.3, sizes == k, np.arange(4) < k),
        ):
            touched = ((proposals != states) & kind[:, None]).mean(axis=0)
            wanted = share * choices / choices.sum() if share else np.zeros(4)
            np.testing.assert_array_less(
                np.abs(touched - wanted), LIMIT * np.sqrt(wanted * (1.0 - wanted) / len(noise)) + 1e-12
            )


def test_one_feature_is_only_updated():
    posterior = SparseLogisticRegression(FEATURES[:, :1], RESPONSES)
    found = select_variables(posterior, draws=50, chains=3, **SCALES)
    assert found.sizes.tolist() == [0.0, 1.0]
    assert found.draws.acceptance.min() > 0.1


def test_levels_are_those_of_the_papers_equations():
    """mu_0 of (36) to (38), as printed, with p(gamma -> gamma') = b_k / (D - k) or d_k / k."""
    X, y = simulated(50, 5, [0.5], seed=1)
    lam, u, N, D = 0.3, 0.37, 50, 5
    births, deaths = np.array([0.0, 0.7, 0.35, 0.35, 0.35, 0.0]), np.array([0.0, 0.0, 0.35, 0.35, 0.35, 0.7])
    posterior = SparseLogisticRegression(X, y, size_rate=lam, scale_prior=None)
    _, states, proposals, ratio = moves_of(5, 200, 9)
    offsets = posterior.log_prior(proposals) - posterior.log_prior(states) + ratio
    for before, after, offset in zip(states, proposals, offsets, strict=True):
        (j,) = np.flatnonzero(before != after)
        k, to = np.count_nonzero(before), np.count_nonzero(after)
        s, t = np.abs(before).sum(), np.abs(after).sum()
        if to == k:
            inside = u * s**-k / t**-k
        elif to > k:
            there, back = births[k] / (D - k), deaths[k + 1] / (k + 1)
            normal = stats.norm.pdf(after[j], scale=0.7)
            inside = u * s**-k * there * normal * (D - k) / (t ** -(k + 1) * back * lam * k)
        else:
            there, back = deaths[k] / k, births[k - 1] / (D - k + 1)
            normal = stats.norm.pdf(before[j], scale=0.7)
            inside = u * s**-k * there * lam * (k - 1) / (t ** -(k - 1) * back * normal * (D - k + 1))
        assert (math.log(u) - offset) / N == pytest.approx(math.log(inside) / N, abs=1e-9)


def test_the_prior_is_the_hierarchy_with_the_scale_integrated_out():
    states = np.array([[0.4, 0.0, 0.0], [0.0, -1.2, 0.0], [0.4, 0.7, 0.0], [0.1, -0.2, 0.3]])

    def hierarchy(theta):
        k, s = np.count_nonzero(theta), np.abs(theta).sum()

        def integrand(nu):
            return (2.0 * nu) ** -k * math.exp(-s / nu) * stats.invgamma.pdf(nu, A, scale=B)

        scale, _ = integrate.quad(integrand, 0.0, np.inf, epsabs=0.0, epsrel=1e-10)
        return math.log(scale * (2.0 * RATE) ** k / (special.comb(3, k) * special.factorial(k)))

    differences = POSTERIOR.log_prior(states) - [hierarchy(theta) for theta in states]
    np.testing.assert_allclose(differences, differences[0], atol=1e-8)


def test_the_authors_prior_and_its_pole():
    posterior = SparseLogisticRegression(FEATURES, RESPONSES, size_rate=0.2, scale_prior=None)
    states = np.array([[0.4, 0.0, 0.0], [0.4, 0.7, 0.0], [0.1, -0.2, 0.3]])
    k = np.array([1, 2, 3])
    wanted = k * math.log(0.2) + special.betaln(k, 3 - k + 1) - k * np.log([0.4, 1.1, 0.6])
    differences = posterior.log_prior(states) - wanted
    np.testing.assert_allclose(differences, differences[0], atol=1e-12)
    rise = posterior.log_prior(states * 1e-3) - posterior.log_prior(states)
    np.testing.assert_allclose(rise, k * math.log(1e3), rtol=1e-12)
    assert POSTERIOR.log_prior(np.zeros((1, 3)))[0] == posterior.log_prior(np.zeros((1, 3)))[0] == -np.inf


def test_gradients_of_the_prior_within_a_model():
    state, step = np.array([[0.4, -0.7, 0.0]]), 1e-6
    gradient = POSTERIOR.grad_log_prior(state)[0]
    for j in (0, 1):
        move = step * np.eye(3)[j]
        change = POSTERIOR.log_prior(state + move) - POSTERIOR.log_prior(state - move)
        assert gradient[j] == pytest.approx(change[0] / (2 * step), rel=1e-6)
    assert gradient[2] == 0.0


@pytest.mark.parametrize("test", [MetropolisTest(), AusterityTest(0.1, 15)], ids=["exact", "austerity"])
@pytest.mark.parametrize("posterior", [POSTERIOR, POSTERIOR.compiled()], ids=["plain", "compiled"])
def test_a_chain_is_the_same_alone_and_among_others(test, posterior):
    many = select_variables(posterior, test=test, chains=40, draws=30, seed=7, **SCALES).draws
    assert len(np.unique(many.points[:, -1], axis=0)) > 30
    for chain in (0, 21, 39):
        one = select_variables(posterior, test=test, seed=[many.seeds[chain]], draws=30, **SCALES).draws
        assert one.points[0].tobytes() == many.points[chain].tobytes()
        assert one.cost[0].tobytes() == many.cost[chain].tobytes()


def test_chains_start_at_the_feature_that_pulls_hardest():
    X, y = simulated(300, 6, [0.0, 0.0, -2.0], seed=2)
    found = select_variables(SparseLogisticRegression(X, y), draws=1, chains=20, **SCALES)
    assert (found.draws.points[:, 0, 2] != 0.0).mean() > 0.8
    assert found.draws.settings["start"] == [0.0, 0.0, -0.5, 0.0, 0.0, 0.0]


def test_the_result_counts_only_draws_that_are_there():
    found = select_variables(POSTERIOR, test=AusterityTest(0.2, 12), budget=3000, chains=6, seed=1, **SCALES)
    draws = found.draws
    assert draws.lengths is not None
    for chain, length in enumerate(draws.lengths):
        points = draws.points[chain, :length]
        np.testing.assert_allclose(found.chain_inclusion[chain], (points != 0.0).mean(axis=0))
        changed = ((points[1:] != 0.0) != (points[:-1] != 0.0)).any(axis=1)
        assert found.model_changes[chain] == pytest.approx(changed.mean())
    assert found.sizes.sum() == pytest.approx(1.0)
    assert found.sizes[0] == 0.0
    assert sum(found.models.values()) == pytest.approx(1.0)
    assert list(found.models.values()) == sorted(found.models.values(), reverse=True)
    assert found.sizes[1] == pytest.approx(sum(p for model, p in found.models.items() if len(model) == 1))
    alone = select_variables(POSTERIOR, draws=10, **SCALES)
    assert np.isnan(alone.inclusion_error).all()


def test_wrong_use_is_named():
    with pytest.raises(InputError, match="chain 1 cannot start"):
        select_variables(POSTERIOR, draws=1, start=np.zeros(3), **SCALES)
    with pytest.raises(UsageError, match=r"needs a samplers\.SparseLogisticRegression; received LogisticRegression"):
        select_variables(LogisticRegression(FEATURES, RESPONSES), draws=1, **SCALES)
    with pytest.raises(UsageError, match="has no score: a coefficient is 0"):
        POSTERIOR.score(np.ones((1, 3)))
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
