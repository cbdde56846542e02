"""Births, deaths and updates have the ratios of their densities."""

import math

import numpy as np
import pytest
from applications.tests.problems import FEATURES, RESPONSES, regression
from applications.variable_selection import JumpMoves, SparseLogisticRegression, select_variables
from scipy import stats
from support.monte_carlo import LIMIT

SCALES = {"update_scale": 0.35, "birth_scale": 0.5}


def step_density(before, after, moves):
    """Compute q(after | before) of a move that changes one coefficient, from the definition of the moves."""
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
    """Return states of all sizes, and proposals from them."""
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


def test_moves_are_chosen_with_their_probabilities():
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
    """Compute mu_0 of (36) to (38), as printed, with p(gamma -> gamma') = b_k / (D - k) or d_k / k."""
    X, y = regression(50, 5, [0.5], seed=1)
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
