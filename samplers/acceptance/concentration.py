"""The concentration test: the Metropolis rule, decided by a bound that holds at every sample size.

With mu_0 = (T / N) (log u - offset) as in the Metropolis rule, after b data drawn without replacement, of standard
deviation s, the test decides for the sign of mean - mu_0 if |mean - mu_0| exceeds the empirical Bernstein-Serfling
bound

    c_b = s sqrt(2 rho_b L / b) + (7/3 + 3/sqrt 2) 2 C L / b,        L = log(5 / delta_j),
    rho_b = 1 - (b - 1) / N  if b <= N / 2,  else (1 - b / N) (1 + 1 / b),

where C bounds |l_i| for all N data, or at b = N. Looks come at sizes that grow by a factor gamma; look j = 1, 2, ...
may err with probability delta_j = epsilon (p - 1) / (p j^p), so that all of them together err with at most epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, positive
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats
from steinkit.samplers.acceptance.exact import SequentialTest
from steinkit.samplers.acceptance.interface import Look, Moves, Verdict, option

Bound = float | str | Callable[[Floats, Floats], ArrayLike]

RANGE_FACTOR = 7.0 / 3.0 + 3.0 / math.sqrt(2.0)


def concentration(look: Look, epsilon: float, factor: float, power: float) -> tuple[bool, bool, int]:
    """Accept if mean > mu_0, decided if |mean - mu_0| > c_b or b = N, with ``look.bound`` for C; next look at gamma b.

    c_b = s sqrt(2 rho_b L / b) + (7/3 + 3/sqrt 2) 2 C L / b,   L = log(5 / delta_j),
    delta_j = epsilon (p - 1) / (p j^p),   rho_b = 1 - (b - 1) / N for b <= N / 2, else (1 - b / N) (1 + 1 / b).
    """
    N, b = look.size, look.seen
    gap = look.mean - (look.level - look.offset) / (N / look.temperature)
    delta = epsilon * (power - 1.0) / (power * (look.number + 1.0) ** power)
    L = math.log(5.0 / delta) if delta > 0.0 else math.inf  # then nothing is decided before b = N
    rho = 1.0 - (b - 1.0) / N if 2 * b <= N else (1.0 - b / N) * (1.0 + 1.0 / b)
    c = math.sqrt(look.variance * 2.0 * rho * L / b) + RANGE_FACTOR * 2.0 * look.bound * L / b
    return abs(gap) > c or b == N, gap > 0.0, math.ceil(min(factor * b, N))


@dataclass(frozen=True)
class ConcentrationTest(SequentialTest):
    """Approximation of the Metropolis test by a concentration inequality: safe, and hungry for data.

    Parameters
    ----------
    epsilon : float
        Error allowed for the *whole* test, in [0, 1]; 0 reads all the data.
    batch_size : int, optional
        Data at the first look; 100 if not given, or N where that is less.
    bound : float, callable or "oracle"
        C, a bound of |log p(x_i | theta') - log p(x_i | theta)| for all data: one number for all moves; or a function
        of the states and the proposals, (n, d), (n, d) -> (n,); or "oracle", which scans all the data at each step for
        the smallest bound there is. What the scan costs is counted apart, as diagnostic ``oracle_cost``.
    factor : float
        Growth gamma of the data from look to look, above 1.
    power : float
        Power p, above 1: how fast the error allowed falls from look to look.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.

    Notes
    -----
    With a C that is too small the error is not bounded by epsilon. The test does not find out.

    References
    ----------
    R. Bardenet, A. Doucet and C. Holmes (2014), "Towards scaling up Markov chain Monte Carlo: an adaptive subsampling
    approach", algorithm 2.
    R. Bardenet and O.-A. Maillard (2015), "Concentration inequalities for sampling without replacement", theorem 4.3.
    """

    name = "concentration"
    needs_bound = True
    default_batch = 100

    epsilon: float = 0.01
    bound: Bound = field(
        default="oracle",
        metadata=option("X|oracle", "Bound of a datum's log likelihood ratio in the concentration test."),
    )
    factor: float = field(
        default=2.0, metadata=option("X", "Growth of the concentration test's batch from look to look.")
    )
    power: float = field(default=2.0, metadata=option("X", "How fast the error it allows falls from look to look."))

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.factor, "factor", lambda x: 1.0 < x < math.inf, "above 1")
        number(self.power, "power", lambda x: 1.0 < x < math.inf, "above 1")
        if isinstance(self.bound, str) and self.bound != "oracle":
            raise UsageError(f'bound must be a number, a function, or "oracle"; received {self.bound!r}')
        if not isinstance(self.bound, str) and not callable(self.bound):
            positive(self.bound, "bound")

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """The cost of the oracle's scans, apart, where there are any."""
        return ("oracle_cost",) if self.bound == "oracle" else ()

    @property
    def constant_bound(self) -> float | None:
        """C, if it is a number."""
        return None if isinstance(self.bound, str) or callable(self.bound) else float(self.bound)

    def bounds(self, moves: Moves) -> Floats:
        """C of each move: as given, or by a scan.

        Parameters
        ----------
        moves : interface.Moves
            Those of the n chains whose tests begin: states and proposals (n, d), and functions that scan all the data.

        Returns
        -------
        ndarray, shape (n,)
            Bounds of the |l_i| of each move, none below zero.

        Raises
        ------
        InputError
            If the function that gives C returns another shape, or a number below zero or NaN.
        """
        if not callable(self.bound):
            constant = self.constant_bound
            return moves.largest_difference() if constant is None else np.full(len(moves.states), constant)
        values = np.asarray(self.bound(moves.states, moves.proposals), dtype=np.float64)
        if values.shape != (len(moves.states),) or not (values >= 0.0).all():
            raise InputError(f"bound must return shape ({len(moves.states)},), none below zero; it returned {values}")
        return values

    def decide(self, look: Look) -> Verdict:
        """Decide where the mean is further from mu_0 than the bound c_b, and at b = N.

        Parameters
        ----------
        look : interface.Look
            Level, the C of the move, and what has been seen of the data.

        Returns
        -------
        interface.Verdict
            ``decided``, ``accepted`` (which counts where decided), and ``wanted``, the data to have seen by the next
            look: gamma b, rounded up.
        """
        return Verdict(*concentration(look, self.epsilon, self.factor, self.power))
