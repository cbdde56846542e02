"""Interface for acceptance tests, and the two exact tests.

A Metropolis-Hastings step from theta proposes theta' and accepts it with a probability that depends on

    Delta = (N / T) mean_i l_i + offset,        l_i = log p(x_i | theta') - log p(x_i | theta),
    offset = log [rho(theta') q(theta | theta')] - log [rho(theta) q(theta' | theta)],

where rho is the prior, q is the proposal density and T is the temperature. A test reads the data in stages. The state
of a test consists of the number b of data points read so far and the mean and variance of the corresponding l_i. The
test accepts the proposal if Delta exceeds a *level*. In each step, the level is computed from one uniform random
number. If the data read so far do not determine the decision, the test requests more data.

**Exact tests** read all the data in a single stage:

Metropolis: accept with probability min(1, exp(Delta)), that is, if log u < Delta
Barker:     accept with probability 1 / (1 + exp(-Delta)), that is, if log(u / (1 - u)) < Delta
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from steinkit.arguments import batch_within, share
from steinkit.sample import Floats

# Largest variance of the l_i, relative to their squared mean, that rounding errors can explain. A variance below this
# value contains no information about the unread data. Therefore, a first batch of identical rows must not end the test.
ROUNDING = 1e-14


class Stage(NamedTuple):
    """State of a test at one stage.

    For n chains, all fields except ``size`` are arrays of shape (n,).

    Attributes
    ----------
    size : int
        Number of data points N.
    number : int
        Number of the stage within the test, counted from 0.
    seen : int
        Number of data points b read so far, each counted once.
    mean, variance : float
        Mean and variance (with divisor b - 1) of the b values l_i.
    offset, temperature : float
        Offset and temperature T in the formula for Delta.
    level : float
        Threshold for Delta, from `AcceptanceTest.level`.
    normal : float
        Standard normal random number for the step, used by some tests.
    bound : float
        Value of `AcceptanceTest.bounds` for the move, used by some tests.
    """

    size: Any
    number: Any
    seen: Any
    mean: Any
    variance: Any
    offset: Any
    temperature: Any
    level: Any
    normal: Any = 0.0
    bound: Any = 0.0


class Decision(NamedTuple):
    """Outcome of one stage of a test.

    For n chains, each field is an array of shape (n,).

    Attributes
    ----------
    decided, accepted : bool
        True if the test has reached a decision, and True if it accepts the move. The field ``accepted`` is valid only
        if ``decided`` is True.
    next_size : int
        Number of data points in the next stage if the test is not decided. At most N data points are read in total.
    diagnostics : dict of str to float
        Values of the quantities named in `AcceptanceTest.diagnostics`.
    """

    decided: Any
    accepted: Any
    next_size: Any
    diagnostics: dict[str, Any] = {}  # noqa: RUF012 (never changed)


@dataclass
class Moves:
    """Proposed moves of n chains before testing begins.

    Attributes
    ----------
    model : PosteriorModel
        Terms of the posterior.
    scanned : ndarray, shape (n,)
        Number of data points read by scans so far. Each scan adds N.
    states, proposals : ndarray, shape (n, d)
        Current and proposed states.
    offset, temperature, level : ndarray, shape (n,)
        Same quantities as in `Stage`.
    """

    model: Any
    scanned: Floats
    states: Floats
    proposals: Floats
    offset: Floats
    temperature: Floats
    level: Floats

    @property
    def size(self) -> int:
        """Number of data points N."""
        return int(self.model.size)

    def log_ratios(self) -> Iterator[Floats]:
        """Scan all the data and yield the N values l_i of each move.

        Yields
        ------
        ndarray, shape (N,)
            The cost of the scan is counted separately, in ``scanned``.
        """
        self.scanned += self.size
        yield from self.model.differences(self.proposals, self.states)


@dataclass(frozen=True)
class AcceptanceTest:
    """Base class of acceptance tests.

    To add a test, derive a frozen dataclass from this class. The fields of the dataclass are the options of the test.

    Attributes
    ----------
    name : str
        Name of the test in `Draws.settings`.
    needs_all_data : bool
        True if the test has a single stage that reads all the data. In this case, the log likelihood of the current
        state is stored, and the test can be used for targets without data.
    needs_normal : bool
        True if the stages contain a standard normal random number.
    needs_bound : bool
        True if the stages contain the value of `bounds` for the move.
    constant_bound : float or None
        The value of `bounds` if it is the same for all moves.
    diagnostics : tuple of str
        Names of additional quantities reported for each decision. If it contains ``oracle_cost``, the run computes this
        quantity, which is the cost of the scans.
    """

    name: ClassVar[str]

    needs_all_data = False
    needs_normal = False
    needs_bound = False

    @property
    def constant_bound(self) -> float | None:  # noqa: D102
        return None

    @property
    def diagnostics(self) -> tuple[str, ...]:  # noqa: D102
        return ()

    def reads_all(self, size: int) -> bool:
        """Return True if each test reads all the data in its first stage.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        bool
            By default, True if `needs_all_data` is True.
        """
        return self.needs_all_data

    def first_batch(self, size: int) -> int:
        """Return the number of data points in the first stage.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        int
            At least 1 and at most N.

        Raises
        ------
        UsageError
            If the options require more than N data points.
        """
        raise NotImplementedError

    def level(self, uniforms: Floats) -> Floats:
        """Compute the threshold for Delta from uniform random numbers (default: log u).

        Parameters
        ----------
        uniforms : ndarray
            Independent uniform random numbers on (0, 1), in an array of any shape.

        Returns
        -------
        ndarray
            Thresholds, in an array of the same shape. A move is accepted if Delta exceeds its threshold.
        """
        return np.log(uniforms)

    def bounds(self, moves: Moves) -> Floats:
        """Compute the ``bound`` used in all stages of each test, if one is required.

        Parameters
        ----------
        moves : interface.Moves
            Moves of the n chains. The moves contain states and proposals of shape (n, d) and log ratios for all the
            data.

        Returns
        -------
        ndarray, shape (n,)
            One number per move.
        """
        raise NotImplementedError

    def decide(self, stage: Stage) -> Decision:
        """Accept or reject the moves, or request more data.

        A decision is required if ``seen == size``.

        Parameters
        ----------
        stage : interface.Stage
            Threshold and statistics of the data read so far, for one chain.

        Returns
        -------
        interface.Decision
            ``decided``, ``accepted`` (valid only if decided), and ``next_size``, which is the number of data points
            that the next stage reads.
        """
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """Return the name and the options of the test for `Draws.settings`.

        Returns
        -------
        dict
            The name, with the key "test", and the options by name.
        """
        return {"test": self.name} | {each.name: getattr(self, each.name) for each in fields(self)}


def exceeds_level(stage: Stage) -> tuple[bool, bool, int]:
    """Accept if (N / T) mean + offset > level.

    The test always reaches a decision.
    """
    return True, stage.mean * (stage.size / stage.temperature) + stage.offset > stage.level, stage.seen


@dataclass(frozen=True)
class _ExactTest(AcceptanceTest):
    """Single-stage test that computes Delta from all the data."""

    needs_all_data = True

    def first_batch(self, size: int) -> int:
        """Return N because the test reads all the data.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        int
            N.
        """
        return size

    def decide(self, stage: Stage) -> Decision:
        """Compare Delta with the level.

        Parameters
        ----------
        stage : interface.Stage
            Level, and the mean of all l_i.

        Returns
        -------
        interface.Decision
            The final decision of the test, which accepts if Delta exceeds the level.
        """
        return Decision(*exceeds_level(stage))


@dataclass(frozen=True)
class MetropolisTest(_ExactTest):
    """Metropolis-Hastings test: accept with probability min(1, exp(Delta)).

    References
    ----------
    W. K. Hastings (1970), "Monte Carlo sampling methods using Markov chains and their applications".

    Examples
    --------
    >>> from steinkit.samplers import MetropolisTest
    >>> MetropolisTest().first_batch(1000)
    1000
    """

    name = "metropolis"


@dataclass(frozen=True)
class BarkerTest(_ExactTest):
    """Barker's test (1965): accept with probability 1 / (1 + exp(-Delta)).

    This test accepts less often than the Metropolis test. For example, it accepts half of the moves that leave the
    density unchanged. The test is unrelated to the gradient-based Barker proposal of Livingstone and Zanella (2022).

    References
    ----------
    A. A. Barker (1965), "Monte Carlo calculations of the radial distribution functions for a proton-electron
    plasma".

    Examples
    --------
    >>> import numpy as np
    >>> from steinkit.samplers import BarkerTest
    >>> BarkerTest().level(np.array([0.5]))
    array([0.])
    """

    name = "barker"

    def level(self, uniforms: Floats) -> Floats:
        """Compute logistic random numbers log(u / (1 - u)).

        Parameters
        ----------
        uniforms : ndarray
            Independent uniform random numbers on (0, 1), in an array of any shape.

        Returns
        -------
        ndarray
            Thresholds for Delta, in an array of the same shape.
        """
        return np.log(uniforms) - np.log1p(-uniforms)


@dataclass(frozen=True)
class SequentialTest(AcceptanceTest):
    """Approximate Metropolis test that reads growing batches, with error `epsilon`.

    A sequential test that reads all the data is identical to the Metropolis test because mean > mu_0 is equivalent to
    Delta > log u.
    """

    default_batch: ClassVar[int]

    epsilon: float
    batch_size: int | None = None

    def __post_init__(self) -> None:
        share(self.epsilon, "epsilon")
        if self.batch_size is not None:
            batch_within(self.batch_size, 1, self.batch_size)

    def first_batch(self, size: int) -> int:
        """Return the number of data points in the first stage.

        If epsilon is 0, return N.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        int
            At least 1 and at most N.

        Raises
        ------
        UsageError
            If ``batch_size`` exceeds N.
        """
        batch = batch_within(self.batch_size, self.default_batch, size)
        return batch if self.epsilon > 0.0 else size

    def reads_all(self, size: int) -> bool:
        """Return True if the first stage reads all the data.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        bool
            True if epsilon is 0 or one batch contains all the data. In these cases, the test is equivalent to the
            Metropolis test.

        Raises
        ------
        UsageError
            If ``batch_size`` exceeds N.
        """
        return self.first_batch(size) == size
