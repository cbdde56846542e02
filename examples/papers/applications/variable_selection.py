"""Reversible-jump variable selection in logistic regression.

The sampler is Metropolis-Hastings with the update, birth and death moves of `JumpMoves` on the posterior of
`SparseLogisticRegression`. Let k be the number of features in the model, and let s = |theta|_1. Under the authors'
prior (their equations 36 to 38), a test accepts if the mean of the log-likelihood ratios exceeds

    update    1/N log [u s^-k / s'^-k]
    birth     1/N log [u s^-k p(gamma -> gamma') N(theta'_j) (D - k) / (s'^-(k+1) p(gamma' -> gamma) lambda k)]
    death     1/N log [u s^-k p(gamma -> gamma') lambda (k-1) / (s'^-(k-1) p(gamma' -> gamma) N(theta_j) (D-k+1))]

The proper prior has Gamma(a + k) (b + s)^-(a+k) in place of Gamma(k) s^-k. Any acceptance test can be used.

**Moves.** A move changes a coefficient, adds a coefficient (birth) or removes a coefficient (death). A state is a
vector theta in R^D. The model consists of its k nonzero coefficients, 1 <= k <= D.

    update    theta_j += update_scale xi,          j is chosen at random from the k coefficients in the model
    birth     theta_j  = birth_scale xi,           j is chosen at random from the D - k coefficients outside (if k < D)
    death     theta_j  = 0,                        j is chosen at random from the k coefficients in the model (if k > 1)

Let b_k and d_k be the probabilities of a birth and of a death in a model with k coefficients. The Jacobian is 1, and

    birth    log q(theta | theta') / q(theta' | theta) = log [d_{k+1} / (k + 1)] - log [b_k N(theta'_j) / (D - k)]
    death    the same with the opposite sign, for the reverse birth from the model with k - 1 coefficients

where N is the density of a new coefficient, which is normal with mean 0 and standard deviation birth_scale. The authors
write p(gamma -> gamma') for b_k / (D - k) and d_{k+1} / (k + 1), which include the choice of the coefficient.

**Posterior.** A feature is in the model if its coefficient is not 0. The number k of features in the model is at least
1. With y_i in {-1, +1}, the model is

    P(y_i | x_i, theta) = sigma(y_i x_i'theta)
    theta_j ~ Laplace(0, nu) for the features in the model,      nu ~ InvGamma(a, b)
    P(model) proportional to lambda^k / (binom(D, k) k!)

If nu is integrated out and lambda includes the factor 2^-k of the Laplace density, the prior is, up to a constant,

    prior(theta) = lambda^k (D - k)! Gamma(a + k) (b + s)^-(a + k)

The authors use a = b = 0, which corresponds to the prior 1 / nu and gives lambda^k B(k, D - k + 1) s^-k. The posterior
is then improper because s^-k is not integrable near theta = 0 in any of the models. A sufficiently long chain converges
to 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import number, positive
from steinkit.errors import UsageError
from steinkit.posterior import Posterior
from steinkit.sample import Floats, Integers
from steinkit.samplers.acceptance.interface import AcceptanceTest, MetropolisTest
from steinkit.samplers.chains.draws import Draws, RunKeywords, RunOptions, takes_run_options
from steinkit.samplers.chains.gradients import Gradient, Proposal
from steinkit.samplers.chains.run import run_chains
from steinkit.targets.regression import LogisticRegression


@takes_run_options
def select_variables(
    posterior: SparseLogisticRegression,
    *,
    update_scale: float,
    birth_scale: float,
    update_probability: float = 1.0 / 3.0,
    test: AcceptanceTest | None = None,
    temperature: float = 1.0,
    **run: Unpack[RunKeywords],
) -> VariableSelection:
    """Run reversible-jump chains over the sets of features of a logistic regression.

    Parameters
    ----------
    posterior : SparseLogisticRegression
        Posterior of the coefficients of D features.
    update_scale : float
        Standard deviation of the change of a coefficient.
    birth_scale : float
        Standard deviation of a coefficient that enters the model.
    update_probability : float
        Probability of a move that changes a coefficient, in (0, 1). The other moves are births and deaths.
    test : AcceptanceTest, optional
        Acceptance test. The default, `MetropolisTest()`, is exact and reads all the data. `AusterityTest` reads part of
        the data.
    temperature : float
        Temperature T, by which the log likelihood is divided.
    chains : int
        Number of chains.
    draws, budget : int, optional
        Number of draws per chain, and number of likelihood evaluations per chain, including burn-in. At least one of
        them is required. If both are given, a chain ends when it reaches either limit.
    burn_in, thin : int
        Number of steps to discard at the beginning, and number of steps per kept draw.
    seed : int, or sequence of int
        Seed for the run, or one seed for each chain (see `RunOptions`).
    start : array_like, shape (D,) or (chains, D), optional
        Initial coefficients. At least one of them must be nonzero. By default, the initial model contains only the
        feature with the steepest increase of the likelihood at 0. Its coefficient has the corresponding sign and the
        magnitude `birth_scale`.
    progress : bool
        If True, show a progress bar on standard error for runs of more than a second.

    Returns
    -------
    VariableSelection
        Draws with statistics of the features.

    Raises
    ------
    UsageError
        If an option is out of range, or if the budget is too small for one step.
    InputError
        If a chain starts without features. The message names the chain.

    Notes
    -----
    Chains change one feature at a time and may remain in a local mode. Chains from different initial states should
    therefore be compared.

    References
    ----------
    P. J. Green (1995), "Reversible jump Markov chain Monte Carlo computation and Bayesian model determination".
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    sections 6.3 and E.
    """
    if not isinstance(posterior, SparseLogisticRegression):
        raise UsageError(f"variable selection requires a SparseLogisticRegression; got {type(posterior).__name__}")
    moves = JumpMoves(update_scale, birth_scale, update_probability)
    if run.get("start") is None:
        run["start"] = _steepest_feature(posterior, birth_scale)
    options = RunOptions(**run)
    judge = MetropolisTest() if test is None else test
    return VariableSelection(run_chains("select_variables", posterior, moves, judge, options, temperature))


@dataclass(frozen=True, eq=False)
class VariableSelection:
    """Inclusion of features in chains over models.

    Parameters
    ----------
    draws : Draws
        Draws of the coefficients, which are 0 for the features that are not in the model.

    Notes
    -----
    Models that no chain visited do not contribute.
    """

    draws: Draws

    @property
    def included(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Indicators of the features in the model of each draw, shape (chains, draws, D).

        They are False beyond the end of a chain.
        """
        return np.asarray((self.draws.points != 0.0) & self.draws.present[:, :, None])

    @property
    def chain_inclusion(self) -> Floats:
        """Inclusion frequency of each feature in each chain, shape (chains, D).

        It is NaN for a chain without draws.
        """
        counts = self.draws.present.sum(axis=1)[:, None]
        sums = self.included.sum(axis=1).astype(np.float64)
        return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))

    @property
    def inclusion(self) -> Floats:
        """Inclusion probability of each feature, averaged over the chains, shape (D,)."""
        return np.asarray(np.nanmean(self.chain_inclusion, axis=0))

    @property
    def sizes(self) -> Floats:
        """Frequency of models with 0, 1, ..., D features, shape (D + 1,)."""
        k = self.included.sum(axis=2)[self.draws.present]
        return np.bincount(k, minlength=self.draws.points.shape[2] + 1) / len(k)

    @property
    def models(self) -> dict[tuple[int, ...], float]:
        """Frequencies of the visited models, in descending order.

        The keys are tuples of the indices of the features in each model.
        """
        found, counts = np.unique(self.included[self.draws.present], axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return {tuple(np.flatnonzero(found[i]).tolist()): float(counts[i] / counts.sum()) for i in order}


def _steepest_feature(posterior: SparseLogisticRegression, size: float) -> Floats:
    """Return coefficients, shape (D,), with one nonzero entry of this size.

    The entry belongs to the feature for which the likelihood increases fastest.
    """
    slopes = posterior.grad_log_likelihood(np.zeros(posterior.data[0].shape[1]), *posterior.data)
    j = int(np.abs(slopes).argmax())
    start = np.zeros(len(slopes))
    start[j] = size if slopes[j] >= 0.0 else -size
    return start


@dataclass(frozen=True)
class JumpMoves(Proposal):
    """Update, birth and death moves of reversible-jump variable selection.

    Parameters
    ----------
    update_scale : float
        Standard deviation of the change of a coefficient.
    birth_scale : float
        Standard deviation of a coefficient that enters the model.
    update_probability : float
        Probability of update moves, in (0, 1). The other moves are births and deaths with equal probabilities, or only
        births at k = 1 and only deaths at k = D. If D = 1, all moves are updates.

    Raises
    ------
    UsageError
        If a parameter is out of range.

    References
    ----------
    P. J. Green (1995), "Reversible jump Markov chain Monte Carlo computation and Bayesian model determination".
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section E, equations 36 to 38.
    """

    update_scale: float
    birth_scale: float
    update_probability: float = 1.0 / 3.0

    def __post_init__(self) -> None:
        positive(self.update_scale, "update_scale")
        positive(self.birth_scale, "birth_scale")
        number(self.update_probability, "update_probability", lambda p: 0.0 < p < 1.0, "above 0 and below 1")

    def noise_width(self, dim: int) -> int:
        """Return the number of random numbers per move.

        They determine the kind of move, the coefficient and its value.

        Parameters
        ----------
        dim : int
            Number of features D.

        Returns
        -------
        int
            Number of random numbers, which is 3.
        """
        return 3

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Propose one move for each state.

        Parameters
        ----------
        states : ndarray, shape (n, D)
            Coefficients, which are nonzero for the features in the model.
        noise : ndarray, shape (n, 3)
            Standard normal numbers, which determine the kind of move, the coefficient and its value.
        gradient : None
            Unused argument of the interface.

        Returns
        -------
        proposals : ndarray, shape (n, D)
            States in which one coefficient has been changed, added or removed.
        log_ratio : ndarray, shape (n,)
            Log ratios log q(theta | theta') - log q(theta' | theta). The log ratio is -inf if a coefficient becomes
            exactly 0 without a death.
        """
        from scipy.special import ndtr

        D = states.shape[1]
        active = states != 0.0
        k = active.sum(axis=1)
        kind, place = ndtr(noise[:, 0]), ndtr(noise[:, 1])
        births, deaths = self.move_probabilities(k, D)
        born = kind < births
        dies = ~born & (kind < births + deaths)
        rows, j = np.arange(len(states)), _pick(active ^ born[:, None], place)
        old = states[rows, j]
        new = np.where(born, self.birth_scale, old + self.update_scale * noise[:, 2])
        new[born] *= noise[born, 2]
        new[dies] = 0.0
        ratio = np.zeros(len(states))
        ratio[born] = self.log_birth_ratio(k[born], D, new[born])
        ratio[dies] = -self.log_birth_ratio(k[dies] - 1, D, old[dies])
        ratio[(new == 0.0) & ~dies] = -np.inf  # a coefficient of exactly 0 would leave the model without a death
        proposals = states.copy()
        proposals[rows, j] = new
        return proposals, ratio

    def move_probabilities(self, k: Integers, dim: int) -> tuple[Floats, Floats]:
        """Return the probabilities b_k and d_k of a birth and of a death.

        Parameters
        ----------
        k : ndarray of int, shape (n,)
            Numbers of coefficients in the models, each from 1 to D.
        dim : int
            Number of features D.

        Returns
        -------
        births : ndarray, shape (n,)
            Probabilities b_k, which are 0 at k = D.
        deaths : ndarray, shape (n,)
            Probabilities d_k, which are 0 at k = 1.
        """
        jump = 1.0 - self.update_probability
        can_be_born, can_die = k < dim, k > 1
        half = np.where(can_be_born & can_die, 0.5 * jump, jump)
        return np.where(can_be_born, half, 0.0), np.where(can_die, half, 0.0)

    def log_birth_ratio(self, k: Integers, dim: int, value: Floats) -> Floats:
        """Return the log ratio of a death and its reverse birth.

        The probabilities of both moves include the choice of the coefficient j.

        Parameters
        ----------
        k : ndarray of int, shape (n,)
            Numbers of coefficients before the births, each from 1 to D - 1.
        dim : int
            Number of features D.
        value : ndarray, shape (n,)
            Values of the added coefficients.

        Returns
        -------
        ndarray, shape (n,)
            Log ratios log [d_{k+1} / (k + 1)] - log [b_k N(value) / (D - k)].
        """
        births, deaths = self.move_probabilities(k, dim)[0], self.move_probabilities(k + 1, dim)[1]
        log_normal = -0.5 * (value / self.birth_scale) ** 2 - math.log(self.birth_scale * math.sqrt(2.0 * math.pi))
        return np.asarray(np.log(deaths / (k + 1)) - np.log(births / (dim - k)) - log_normal, dtype=np.float64)


def _pick(choices: NDArray[np.bool_], uniforms: Floats) -> Integers:
    """Choose one of the true entries of each row at random, (n, D), (n,) -> (n,)."""
    counts = choices.sum(axis=1)
    wanted = np.minimum((uniforms * counts).astype(np.int64), counts - 1)  # a uniform number may round to 1
    return np.asarray((choices.cumsum(axis=1) == wanted[:, None] + 1).argmax(axis=1), dtype=np.int64)


class SparseLogisticRegression(Posterior):
    """Posterior of the sparse coefficients of a logistic regression.

    Parameters
    ----------
    features : array_like, shape (N, D)
        Features with one row per data point. They should have comparable scales because their coefficients have the
        same prior. An intercept, which is a column of ones, is treated like the other features.
    responses : array_like, shape (N,)
        Responses with two values, either 0 and 1 or -1 and +1. Both values must occur.
    size_rate : float
        Parameter lambda of the prior, which includes the factor 2^-k. Smaller values give fewer features.
    scale_prior : (float, float) or None
        Parameters a and b of the inverse gamma prior on the scale nu of the Laplace prior. If None, the improper prior
        1 / nu is used, which gives an improper posterior.
    names : sequence of str, optional
        Names of the coefficients.

    Raises
    ------
    UsageError
        If the shapes disagree, or if a value is not valid.

    Notes
    -----
    The distribution has atoms at 0 and no density on R^D. Therefore, samplers that move all coordinates and Stein
    discrepancies are not applicable. The function `select_variables` draws from this posterior.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.3.
    X. Chen, Z. J. Wang and M. J. McKeown (2011), "A Bayesian lasso via reversible-jump MCMC".
    """

    def __init__(
        self,
        features: ArrayLike,
        responses: ArrayLike,
        *,
        size_rate: float = 1.0,
        scale_prior: tuple[float, float] | None = (1.0, 1.0),
        names: Sequence[str] | None = None,
    ) -> None:
        from scipy.special import gammaln

        self._regression = LogisticRegression(features, responses)
        self.size_rate, self.scale_prior = positive(size_rate, "size_rate"), _as_scale_prior(scale_prior)
        D = self._regression.data[0].shape[1]
        self._a, self._b = self.scale_prior or (0.0, 0.0)
        k = np.arange(1, D + 1)
        log_sizes = k * math.log(self.size_rate) + gammaln(D - k + 1) + gammaln(self._a + k)
        self._log_sizes = np.concatenate(([-np.inf], log_sizes))  # the model without features is excluded
        terms = ("data", "log_likelihood", "grad_log_likelihood", "log_likelihood_many", "grad_log_likelihood_many")
        super().__init__(
            **{name: getattr(self._regression, name) for name in terms},
            log_prior=self._log_prior,
            grad_log_prior=self._grad_log_prior,
            dim=D,
            names=names,
            label="sparse-logistic-posterior",
        )

    def __repr__(self) -> str:
        return (
            f"SparseLogisticRegression({self.size} data, D={self.dim}, size_rate={self.size_rate:g}, "
            f"scale_prior={self.scale_prior})"
        )

    def _log_prior(self, thetas: Floats) -> Floats:
        k, s = np.count_nonzero(thetas, axis=1), np.abs(thetas).sum(axis=1)
        scale = np.where(k > 0, self._b + s, 1.0)
        return np.asarray(self._log_sizes[k] - (self._a + k) * np.log(scale), dtype=np.float64)

    def _grad_log_prior(self, thetas: Floats) -> Floats:
        """Compute the gradient with respect to the coefficients in the model."""
        k, s = np.count_nonzero(thetas, axis=1), np.abs(thetas).sum(axis=1)
        scale = np.where(k > 0, self._b + s, 1.0)
        return np.asarray(-((self._a + k) / scale)[:, None] * np.sign(thetas), dtype=np.float64)

    def _score_over_data(self, points: Floats) -> NoReturn:
        raise UsageError(
            f"{self.label} has no score: a coefficient is 0 with positive probability; to score coefficients, take the "
            "draws of one model and steinkit.targets.LogisticRegression of its features"
        )


def _as_scale_prior(scale_prior: tuple[float, float] | None) -> tuple[float, float] | None:
    if scale_prior is None:
        return None
    if not isinstance(scale_prior, Sequence) or isinstance(scale_prior, str) or len(scale_prior) != 2:
        raise UsageError(f"scale_prior must be two positive numbers (a, b), or None; got {scale_prior!r}")
    return positive(scale_prior[0], "a of scale_prior"), positive(scale_prior[1], "b of scale_prior")
