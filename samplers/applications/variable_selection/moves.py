"""Moves between models: a coefficient changes, is born or dies.

A state is a vector theta in R^D whose coefficients that are not 0 are those of the model; k of them, 1 <= k <= D.

    update    theta_j += update_scale xi,          j one of the k coefficients in the model, at random
    birth     theta_j  = birth_scale xi,           j one of the D - k outside, at random; not at k = D
    death     theta_j  = 0,                        j one of the k inside, at random; not at k = 1

With b_k and d_k the probabilities of a birth and of a death in a model of k coefficients, and the Jacobian 1,

    birth    log q(theta | theta') / q(theta' | theta) = log [d_{k+1} / (k + 1)] - log [b_k N(theta'_j) / (D - k)]
    death    the same with the opposite sign, from the model of k - 1

N being the density of a birth, normal with mean 0 and standard deviation birth_scale. The authors write p(gamma ->
gamma') for b_k / (D - k) and d_{k+1} / (k + 1): the choice of the coefficient is part of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from steinkit.sample import Floats, Integers
from steinkit.samplers.arguments import number, positive
from steinkit.samplers.chains.proposals import Gradient, Proposal


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
        Share of update moves, in (0, 1). Births and deaths share the rest, half and half; all of it are births at
        k = 1, deaths at k = D. With one feature all moves are updates.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.

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
        """One number for the kind of move, one for the coefficient, one for its value.

        Parameters
        ----------
        dim : int
            Number of features D.

        Returns
        -------
        int
            3.
        """
        return 3

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """One move of each state, and its ratio.

        Parameters
        ----------
        states : ndarray, shape (n, D)
            Coefficients, those of the model not 0.
        noise : ndarray, shape (n, 3)
            Standard normal numbers: for the kind of move, the coefficient and its value.
        gradient : None
            Not needed.

        Returns
        -------
        proposals : ndarray, shape (n, D)
            The states with one coefficient changed, born or dead.
        log_ratio : ndarray, shape (n,)
            log q(theta | theta') - log q(theta' | theta); -inf where a coefficient comes to be exactly 0 otherwise than
            by death.
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
        ratio[(new == 0.0) & ~dies] = -np.inf  # a coefficient of exactly 0 would leave the model by no death
        proposals = states.copy()
        proposals[rows, j] = new
        return proposals, ratio

    def move_probabilities(self, k: Integers, dim: int) -> tuple[Floats, Floats]:
        """Probabilities b_k and d_k of a birth and of a death.

        Parameters
        ----------
        k : ndarray of int, shape (n,)
            Numbers of coefficients in models, each from 1 to D.
        dim : int
            Number of features D.

        Returns
        -------
        births : ndarray, shape (n,)
            b_k, 0 at k = D.
        deaths : ndarray, shape (n,)
            d_k, 0 at k = 1.
        """
        jump = 1.0 - self.update_probability
        can_be_born, can_die = k < dim, k > 1
        half = np.where(can_be_born & can_die, 0.5 * jump, jump)
        return np.where(can_be_born, half, 0.0), np.where(can_die, half, 0.0)

    def log_birth_ratio(self, k: Integers, dim: int, value: Floats) -> Floats:
        """Log ratio of a death in a model of k + 1 to the birth in one of k that it undoes, each with its choice of j.

        Parameters
        ----------
        k : ndarray of int, shape (n,)
            Numbers of coefficients before the births, each from 1 to D - 1.
        dim : int
            Number of features D.
        value : ndarray, shape (n,)
            The coefficients that are born.

        Returns
        -------
        ndarray, shape (n,)
            log [d_{k+1} / (k + 1)] - log [b_k N(value) / (D - k)].
        """
        births, deaths = self.move_probabilities(k, dim)[0], self.move_probabilities(k + 1, dim)[1]
        log_normal = -0.5 * (value / self.birth_scale) ** 2 - math.log(self.birth_scale * math.sqrt(2.0 * math.pi))
        return np.asarray(np.log(deaths / (k + 1)) - np.log(births / (dim - k)) - log_normal, dtype=np.float64)


def _pick(choices: NDArray[np.bool_], uniforms: Floats) -> Integers:
    """One of the true entries of each row, at random: (n, D), (n,) -> (n,)."""
    counts = choices.sum(axis=1)
    wanted = np.minimum((uniforms * counts).astype(np.int64), counts - 1)  # a uniform number may round to 1
    return np.asarray((choices.cumsum(axis=1) == wanted[:, None] + 1).argmax(axis=1), dtype=np.int64)
