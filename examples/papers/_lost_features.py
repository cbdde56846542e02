"""Stationary inclusion probability of a feature with births and deaths by a sequential test."""

from __future__ import annotations

import numpy as np
from applications.variable_selection import JumpMoves, SparseLogisticRegression

from steinkit.samplers import TrialRun, acceptance_bias


def balance(
    posterior: SparseLogisticRegression, moves: JumpMoves, states: np.ndarray, feature: int, epsilon: float, batch: int
) -> dict[str, float]:
    """Compute the acceptance of deaths and births of a feature at states (n, D) of a chain.

    The fraction of states with the feature is b / (b + d), where b is the probability of an accepted birth if it is
    missing, and d that of an accepted death if it is present. If all states have the feature, births are evaluated at
    states from which it was removed. Models with one feature are omitted. The test is approximated by a random walk
    with normal steps; "distance" is that of a death from acceptance, in standard deviations of a sum of N independent
    terms.
    """
    has, size = states[:, feature] != 0.0, np.count_nonzero(states, axis=1)
    with_it, without = states[has & (size > 1)], states[~has]
    taken_out = with_it.copy()
    taken_out[:, feature] = 0.0
    if not len(without):
        without = taken_out
    first, dim = batch / posterior.size, states.shape[1]

    size = np.count_nonzero(without, axis=1)
    born = without.copy()
    born[:, feature] = moves.birth_scale * np.random.default_rng(0).standard_normal(len(born))
    birth = _trial(posterior, without, born, moves.log_birth_ratio(size, dim, born[:, feature]))
    bias = acceptance_bias(birth, first_fraction=first, epsilon=epsilon)
    births = bias.probability + bias.bias
    b = float((births * moves.move_probabilities(size, dim)[0] / (dim - size)).mean())
    if not len(with_it):
        return {"birth": float(births.mean()), "death": np.nan, "distance": np.nan, "share": np.nan}

    size = np.count_nonzero(with_it, axis=1)
    death = _trial(posterior, with_it, taken_out, -moves.log_birth_ratio(size - 1, dim, with_it[:, feature]))
    bias = acceptance_bias(death, first_fraction=first, epsilon=epsilon)
    deaths = bias.probability + bias.bias
    d = float((deaths * moves.move_probabilities(size, dim)[1] / size).mean())
    distance = float((death.log_ratio * death.sharpness).mean())
    return {"birth": float(births.mean()), "death": float(deaths.mean()), "distance": distance, "share": b / (b + d)}


def _trial(
    posterior: SparseLogisticRegression, states: np.ndarray, proposals: np.ndarray, ratio: np.ndarray
) -> TrialRun:
    """Return the quantities that determine a sequential test of these moves."""
    differences = np.array(
        [
            posterior.log_likelihood(proposal, *posterior.data) - posterior.log_likelihood(state, *posterior.data)
            for state, proposal in zip(states, proposals, strict=True)
        ]
    )
    prior = posterior.log_prior(proposals) - posterior.log_prior(states)
    return TrialRun(posterior.size, differences.mean(axis=1), differences.std(axis=1), prior + ratio)
