"""Random walk on the orthogonal matrices, the square case of the Stiefel manifold.

    W' = Q W,        Q = (I - A/2)^-1 (I + A/2),        A = -A',   a_ij = scale xi_ij above the diagonal

Cayley's transform makes Q orthogonal, and Q' where A is -A. A and -A have the same law, so Q and Q^-1 have:
the density of W' given W, in Haar's measure, is a function f of W' W^-1 with f(Q) = f(Q^-1). So the walk is symmetric,

    q(W' | W) = f(W' W^-1) = f(W W'^-1) = q(W | W'),

and Metropolis-Hastings with it is in detailed balance with any density in that measure, with no ratio in its test. Q
is a rotation, by an angle of about scale in each plane: the walk keeps the sign of det W. Where the density does not
change with the signs of the rows of W, as in independent component analysis, either half of the group tells all.

Products of orthogonal matrices drift from the manifold by rounding, slowly. Each W' takes one step of Newton and
Schulz's iteration towards the nearest orthogonal matrix, W (3 I - W' W) / 2, which turns a small distance e into about
e^2: what is left is the rounding of one step, however long the chain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import UsageError
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.samplers.acceptance.exact import MetropolisTest
from steinkit.samplers.acceptance.interface import AcceptanceTest
from steinkit.samplers.arguments import positive
from steinkit.samplers.chains.likelihood_terms import as_target
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import Gradient, Proposal
from steinkit.samplers.chains.run import run_chains
from steinkit.samplers.draws import Draws


def orthogonal_mh(
    posterior: Posterior,
    *,
    proposal_scale: float,
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
) -> Draws:
    """Metropolis-Hastings on orthogonal matrices, with any acceptance test.

    Parameters
    ----------
    posterior : Posterior
        Of an orthogonal matrix W, row after row, its prior in Haar's measure: `IndependentComponents`, say.
    proposal_scale : float
        Standard deviation, in radians, of the rotation in each plane.
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
    start : array_like, shape (D^2,) or (chains, D^2), optional
        First matrices, orthogonal; the identity if not given. The sign of the determinant stays what it is.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Returns
    -------
    Draws
        Points of D^2 coordinates, orthogonal to rounding.

    Raises
    ------
    UsageError
        If an option is out of range, the dimension is not a square, or budget does not pay one step.
    InputError
        If start is not orthogonal, or a function of the posterior returns a wrong shape or NaN.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 6.2.
    """
    walk = StiefelWalk(proposal_scale)
    dim = as_target(posterior).dim
    if start is None and dim is not None:
        start = np.eye(_side(dim)).ravel()
    options = RunOptions(chains, draws, budget, burn_in, thin, seed, start, progress)
    judge = MetropolisTest() if test is None else test
    return run_chains("orthogonal_mh", posterior, walk, judge, options, temperature)


@dataclass(frozen=True)
class StiefelWalk(Proposal):
    """Symmetric moves on the orthogonal matrices: a state is W, row after row.

    Parameters
    ----------
    proposal_scale : float
        Standard deviation, in radians, of the rotation in each plane.

    Raises
    ------
    UsageError
        If the scale is not positive.
    """

    proposal_scale: float

    def __post_init__(self) -> None:
        positive(self.proposal_scale, "proposal_scale")

    def noise_width(self, dim: int) -> int:
        """One number for each of the D (D - 1) / 2 planes.

        Parameters
        ----------
        dim : int
            Number of coordinates, D^2.

        Returns
        -------
        int
            D (D - 1) / 2.

        Raises
        ------
        UsageError
            If dim is not the square of a number D of at least 2.
        """
        D = _side(dim)
        return D * (D - 1) // 2

    def propose(self, states: Floats, noise: Floats, gradient: Gradient | None) -> tuple[Floats, Floats]:
        """Q W, on the manifold; the ratio is zero.

        Parameters
        ----------
        states : ndarray, shape (n, D^2)
            Orthogonal matrices W, row after row.
        noise : ndarray, shape (n, D (D - 1) / 2)
            Standard normal numbers: times the scale, the entries of A above its diagonal.
        gradient : None
            Not needed.

        Returns
        -------
        proposals : ndarray, shape (n, D^2)
            Matrices Q W, orthogonal to rounding.
        log_ratio : ndarray, shape (n,)
            Zeros: the walk is symmetric in Haar's measure.
        """
        D = _side(states.shape[1])
        W = states.reshape(-1, D, D)
        above, across = np.triu_indices(D, 1)
        half = np.zeros(W.shape)
        half[:, above, across] = 0.5 * self.proposal_scale * noise
        half -= half.swapaxes(1, 2)
        identity = np.eye(D)
        moved = np.linalg.solve(identity - half, (identity + half) @ W)
        nearest = moved @ (1.5 * identity - 0.5 * moved.swapaxes(1, 2) @ moved)
        return nearest.reshape(states.shape), np.zeros(len(states))


def _side(dim: int) -> int:
    """D of matrices of D^2 entries."""
    D = math.isqrt(dim)
    if dim != D * D or D < 2:
        raise UsageError(f"a walk on orthogonal matrices needs D^2 coordinates, D at least 2; received {dim}")
    return D
