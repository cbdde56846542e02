"""A trial run: an exact chain that records, for each move it proposes, what a sequential test of it depends on.

Whether theta' is accepted depends on the data through the mean and the standard deviation (divisor N) of the N
differences l_i = log p(x_i | theta') - log p(x_i | theta). With the uniform number u of the step,

    Delta = (N / T) mean + offset,        offset = log [rho(theta') q(theta | theta') / (rho(theta) q(theta' | theta))],
    mu(u) = k (Delta - log u),            k = T sqrt(N - 1) / (N sd),

where mu is the standardised mean of `operating_characteristics` and Metropolis accepts if mu > 0. So a move is known to
any design by two numbers, Delta and k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import whole
from steinkit.describe.results import Brief
from steinkit.errors import InputError
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.samplers.acceptance.exact import exceeds_level
from steinkit.samplers.acceptance.interface import AcceptanceTest, Look, Verdict
from steinkit.samplers.chains.options import RunOptions, Temperature
from steinkit.samplers.chains.proposals import Proposal
from steinkit.samplers.chains.run import run_chains


@dataclass(frozen=True, eq=False, repr=False)
class TrialRun(Brief):
    """Moves that a chain proposed, for designing the tests of longer ones.

    Parameters
    ----------
    size : int
        Number of data N.
    mean, sd : array_like, shape (n,)
        Mean and standard deviation, with divisor N, of each move's l_i.
    offset : array_like, shape (n,)
        Log prior ratio and log proposal ratio of each move; 0 for a flat prior and a symmetric proposal.
    temperature : float or array_like, shape (n,)
        T that divides the log likelihood.
    cost : float
        Likelihood evaluations of single data spent.
    skipped : int
        Proposals left out: outside the support, or with a datum of no likelihood; no test reads on for them.
    settings : mapping
        How the run was made.

    Raises
    ------
    UsageError
        If size is not a whole number of at least 2.
    InputError
        If the arrays are empty, no numbers, differ in length or are not finite, or a standard deviation or temperature
        is not positive.
    """

    size: int
    mean: ArrayLike
    sd: ArrayLike
    offset: ArrayLike = 0.0
    temperature: ArrayLike = 1.0
    cost: float = 0.0
    skipped: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole(self.size, "size", 2)
        shape = _numbers(self.mean, "mean").shape
        if len(shape) != 1 or not shape[0]:
            raise InputError(f"a trial run needs moves: mean must have shape (n,), n > 0; received shape {shape}")
        for name, wants_positive in {"mean": False, "sd": True, "offset": False, "temperature": True}.items():
            values = _numbers(getattr(self, name), name)
            if values.shape not in {(), shape}:
                raise InputError(f"{name} must have shape {shape}, one number a move; received shape {values.shape}")
            values = np.broadcast_to(values, shape)
            wrong = ~(np.isfinite(values) & ((values > 0.0) | (not wants_positive)))
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                wanted = "a positive number" if wants_positive else "a finite number"
                raise InputError(f"move {row}: {name} is {values[row]}, {wanted} is wanted; leave that move out")
            object.__setattr__(self, name, values)

    @property
    def log_ratio(self) -> Floats:
        """Delta of each move, (n,): it is accepted with probability min(1, exp(Delta))."""
        mean, offset, T = (np.asarray(each, dtype=np.float64) for each in (self.mean, self.offset, self.temperature))
        return np.asarray(self.size / T * mean + offset, dtype=np.float64)

    @property
    def sharpness(self) -> Floats:
        """k of each move, (n,): standardised mean of its test for each unit of Delta - log u."""
        sd, T = (np.asarray(each, dtype=np.float64) for each in (self.sd, self.temperature))
        return np.asarray(T * (math.sqrt(self.size - 1.0) / (self.size * sd)), dtype=np.float64)


def trial_run(
    posterior: Posterior,
    *,
    proposal: Proposal,
    draws: int = 100,
    temperature: Temperature = 1.0,
    chains: int = 1,
    burn_in: int = 0,
    thin: int = 1,
    seed: int = 0,
    start: ArrayLike | None = None,
    progress: bool = False,
) -> TrialRun:
    """Run exact Metropolis-Hastings chains and keep, of each move proposed, what a sequential test depends on.

    Parameters
    ----------
    posterior : Posterior
        That of the runs to come.
    proposal : Proposal
        `RandomWalk`, `Langevin` or `CustomProposal`, as in the runs to come.
    draws : int
        Moves to record, for each chain.
    temperature : float or callable, (n,) -> (n,)
        T that divides the log likelihood; or a schedule, T of the steps with the given numbers, from 0.
    chains : int
        Number of chains.
    burn_in, thin : int
        Moves left out at the beginning, and of how many moves one is recorded. With thin above 1 they depend less on
        each other, and say more of the runs to come.
    seed : int
        Of the run.
    start : array_like, shape (d,) or (chains, d), optional
        First state of all chains, or of each; zeros if not given.
    progress : bool
        Show a bar on standard error if the run takes more than a second.

    Returns
    -------
    TrialRun
        The moves of all chains, one chain after the other.

    Raises
    ------
    UsageError
        If an option is out of range.
    InputError
        If a function of the posterior returns a wrong shape or NaN, no move can be used, or a move changes the
        likelihood of all data alike, as one that stays does.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 5.2 and appendix D.
    """
    options = RunOptions(
        chains=chains, draws=draws, burn_in=burn_in, thin=thin, seed=seed, start=start, progress=progress
    )
    run = run_chains("trial_run", posterior, proposal, _Scan(), options, temperature)
    moves = {name: values.ravel() for name, values in run.diagnostics.items()}
    usable = np.isfinite(moves["mean"])  # NaN without a look, minus infinity without likelihood
    if not usable.any():
        raise InputError(
            f"all {usable.size} proposals of the trial run lie outside the support or have no likelihood; use a "
            "smaller proposal, or another start"
        )
    still = usable & (moves["sd"] == 0.0)
    if still.any():
        raise InputError(
            f"{int(still.sum())} of {usable.size} proposals of the trial run do not tell the data apart: all l_i are "
            "equal, and a test would read them all; use a larger proposal, or one that does not stay where it is"
        )
    return TrialRun(
        size=posterior.size,
        **{name: values[usable] for name, values in moves.items()},
        cost=float(run.cost[:, -1].sum()),
        skipped=int((~usable).sum()),
        settings=run.settings,
    )


def _numbers(values: ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be a number, or one for each move; received {values!r}") from None


@dataclass(frozen=True)
class _Scan(AcceptanceTest):
    """Metropolis's test on all the data, but from minibatches, where the l_i are formed; it reports their moments."""

    name = "metropolis"
    diagnostics = ("mean", "sd", "offset", "temperature")

    def first_batch(self, size: int) -> int:
        """All data."""
        return size

    def decide(self, look: Look) -> Verdict:
        """Accept if Delta > log u."""
        N = look.size
        moments = {
            "mean": look.mean,
            "sd": math.sqrt(look.variance * ((N - 1.0) / N)),
            "offset": look.offset,
            "temperature": look.temperature,
        }
        return Verdict(*exceeds_level(look), moments)
