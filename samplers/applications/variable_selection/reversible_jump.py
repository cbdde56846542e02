"""Reversible-jump variable selection in logistic regression.

Metropolis-Hastings with the update, birth and death moves of `moves` on the
posterior of `sparse_logistic`. With k features in the model and s = |theta|_1, a test accepts if the
mean of the log-likelihood ratios exceeds, under the authors' prior (their equations 36 to 38),

    update    1/N log [u s^-k / s'^-k]
    birth     1/N log [u s^-k p(gamma -> gamma') N(theta'_j) (D - k) / (s'^-(k+1) p(gamma' -> gamma) lambda k)]
    death     1/N log [u s^-k p(gamma -> gamma') lambda (k-1) / (s'^-(k-1) p(gamma' -> gamma) N(theta_j) (D-k+1))]

and with Gamma(a + k) (b + s)^-(a+k) for Gamma(k) s^-k under the proper one. Any acceptance test may be the judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import UsageError
from steinkit.sample import Floats
from steinkit.samplers.acceptance.exact import MetropolisTest
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.applications.variable_selection.moves import JumpMoves
from steinkit.samplers.applications.variable_selection.sparse_logistic import SparseLogisticRegression
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.run import run_chains
from steinkit.samplers.draws import Draws


def select_variables(
    posterior: SparseLogisticRegression,
    *,
    update_scale: float,
    birth_scale: float,
    update_probability: float = 1.0 / 3.0,
    test: AcceptanceTest | None = None,
    temperature: Temperature = 1.0,
    chains: int = 1,
    draws: int | None = None,
    budget: int | None = None,
    burn_in: int = 0,
    thin: int = 1,
    seed: int | Sequence[int] = 0,
    start: ArrayLike | None = None,
    progress: bool = False,
) -> VariableSelection:
    """Reversible-jump chains over the sets of features of a logistic regression.

    Parameters
    ----------
    posterior : SparseLogisticRegression
        Of the coefficients of D features.
    update_scale : float
        Standard deviation of the change of a coefficient.
    birth_scale : float
        Standard deviation of a coefficient that enters the model.
    update_probability : float
        Share of moves that change a coefficient, in (0, 1); births and deaths share the rest.
    test : AcceptanceTest, optional
        `MetropolisTest()` if not given: exact, on all the data. `AusterityTest` reads as much as it needs.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Draws to keep of each chain, and likelihood evaluations that it may spend, burn-in included. One of the two is
        needed; with both, what is reached first ends a chain.
    burn_in, thin : int
        Steps left out at the beginning, and of how many steps one is kept.
    seed : int, or sequence of int
        Of the run, or of each chain: see `RunOptions`.
    start : array_like, shape (D,) or (chains, D), optional
        First coefficients, not all of them 0. If not given, the one feature in whose direction the likelihood rises
        fastest from 0, with a coefficient of that sign and the size of birth_scale.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Returns
    -------
    VariableSelection
        The draws, and what they say of the features.

    Raises
    ------
    UsageError
        If an option is out of range, or budget does not pay one step.
    InputError
        If start lies in no model; the message names the chain.

    Notes
    -----
    Chains change models one feature at a time and are easily caught in a good one: compare chains from different
    starts before trusting any number.

    References
    ----------
    P. J. Green (1995), "Reversible jump Markov chain Monte Carlo computation and Bayesian model determination".
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    sections 6.3 and E.
    """
    if not isinstance(posterior, SparseLogisticRegression):
        raise UsageError(
            f"variable selection needs a samplers.SparseLogisticRegression; received {type(posterior).__name__}"
        )
    moves = JumpMoves(update_scale, birth_scale, update_probability)
    if start is None:
        start = _steepest_feature(posterior, birth_scale)
    options = RunOptions(chains, draws, budget, burn_in, thin, seed, start, progress)
    judge = MetropolisTest() if test is None else test
    return VariableSelection(run_chains("select_variables", posterior, moves, judge, options, temperature))


@dataclass(frozen=True, eq=False)
class VariableSelection:
    """What chains over models say of the features.

    Parameters
    ----------
    draws : Draws
        Coefficients, 0 for the features that are not in the model of a draw.

    Notes
    -----
    No number here sees a model that no chain has visited.
    """

    draws: Draws

    @property
    def included(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Whether a feature is in the model of a draw, shape (chains, draws, D); False beyond a chain's end."""
        return np.asarray((self.draws.points != 0.0) & self.draws.present[:, :, None])

    @property
    def chain_inclusion(self) -> Floats:
        """Share of the draws of each chain whose models have each feature, shape (chains, D); NaN without draws."""
        counts = self.draws.present.sum(axis=1)[:, None]
        sums = self.included.sum(axis=1).astype(np.float64)
        return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))

    @property
    def inclusion(self) -> Floats:
        """Probability that each feature is in the model, the mean over the chains, shape (D,)."""
        return np.asarray(np.nanmean(self.chain_inclusion, axis=0))

    @property
    def inclusion_error(self) -> Floats:
        """Standard error of `inclusion`, from the spread of the chains, shape (D,); NaN for a single chain.

        It knows of no bias: neither of a test's, nor of a start from which no chain has got away.
        """
        shares = self.chain_inclusion[self.draws.present.any(axis=1)]
        if len(shares) < 2:
            return np.full(shares.shape[1], np.nan)
        return np.asarray(shares.std(axis=0, ddof=1) / np.sqrt(len(shares)))

    @property
    def sizes(self) -> Floats:
        """Share of the draws whose models have 0, 1, ..., D features, shape (D + 1,)."""
        k = self.included.sum(axis=2)[self.draws.present]
        return np.bincount(k, minlength=self.draws.points.shape[2] + 1) / len(k)

    @property
    def models(self) -> dict[tuple[int, ...], float]:
        """Share of the draws in each model visited, by the numbers of its features, the most frequent first."""
        found, counts = np.unique(self.included[self.draws.present], axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {tuple(np.flatnonzero(found[i]).tolist()): float(counts[i] / counts.sum()) for i in order}

    @property
    def model_changes(self) -> Floats:
        """Share of the draws of each chain whose model is not that of the draw before, shape (chains,)."""
        present = self.draws.present[:, 1:]
        changed = (self.included[:, 1:] != self.included[:, :-1]).any(axis=2) & present
        return np.asarray(changed.sum(axis=1) / np.maximum(present.sum(axis=1), 1))


def _steepest_feature(posterior: SparseLogisticRegression, size: float) -> Floats:
    """One coefficient of the given size, where the likelihood rises fastest from 0; the others 0, shape (D,)."""
    slopes = posterior.grad_log_likelihood(np.zeros(posterior.data[0].shape[1]), *posterior.data)
    j = int(np.abs(slopes).argmax())
    start = np.zeros(len(slopes))
    start[j] = size if slopes[j] >= 0.0 else -size
    return start
