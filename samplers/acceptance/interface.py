"""What every acceptance test is: looks at a growing share of the data, until one of them decides.

A Metropolis-Hastings step from theta proposes theta' and accepts it with a probability that depends on

    Delta = (N / T) mean_i l_i + offset,        l_i = log p(x_i | theta') - log p(x_i | theta),
    offset = log [rho(theta') q(theta | theta')] - log [rho(theta) q(theta' | theta)],

where rho is the prior, q the proposal, T the temperature. At a look a test has seen b of the N data, their mean and
variance. It accepts if Delta exceeds a *level*, a function of one uniform number drawn for the step, as far as it can
tell; where it cannot yet tell it asks for more data.

**Exact tests** read all the data at the first look:

Metropolis: accept with probability min(1, exp(Delta)), that is if log u < Delta
Barker:     accept with probability 1 / (1 + exp(-Delta)), that is if log(u / (1 - u)) < Delta
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from steinkit.arguments import batch_within, share
from steinkit.sample import Floats

# Variance of the l_i, relative to their squared mean, that rounding alone can produce. Where the l_i seen differ by no
# more, their variance says nothing of the data to come: identical rows in the first batch would end a test with false
# certainty.
ROUNDING = 1e-14


def option(metavar: str, text: str) -> dict[str, str]:
    """What is said of an option of one sampler or test only, of a test as its field's metadata, on the command line.

    Parameters
    ----------
    metavar : str
        What is to be given: ``X`` for a number, ``N`` for a whole one, names for a choice, with ``|`` between them;
        empty for a flag.
    text : str
        Help.
    """
    return {"metavar": metavar, "text": text}


class Look(NamedTuple):
    """What the test of a chain sees at a look; or what those of n chains see, each field but ``size`` an array (n,).

    Attributes
    ----------
    size : int
        Number of data N.
    number : int
        Number of this look in its test, from 0.
    seen : int
        Number of data seen so far b, each of them once.
    mean, variance : float
        Of the b values l_i; the variance with divisor b - 1.
    offset, temperature : float
    level : float
        What `AcceptanceTest.level` made of the step's uniform number.
    normal : float
        A standard normal number for the step, where the test wants one.
    bound : float
        What `AcceptanceTest.bounds` made of the move, where the test needs it: a bound of all |l_i|, say.
    values : ndarray, shape (b,), or None
        The l_i themselves, where the test wants them.
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
    values: Any = None


class Verdict(NamedTuple):
    """What a test says of a chain; or of n chains, each field an array (n,).

    Attributes
    ----------
    decided, accepted : bool
        ``accepted`` counts where ``decided``.
    wanted : int
        Data to have seen by the next look, where not decided; more than N is read as N.
    diagnostics : dict of str to float
        What `AcceptanceTest.diagnostics` names.
    """

    decided: Any
    accepted: Any
    wanted: Any
    diagnostics: dict[str, Any] = {}  # noqa: RUF012 (never changed)


@dataclass
class Moves:
    """Moves of n chains whose tests are about to begin.

    Attributes
    ----------
    model : PosteriorModel
        The terms of the posterior.
    scanned : ndarray, shape (n,)
        Data that scans have read, to which each scan adds N.
    states, proposals : ndarray, shape (n, d)
    offset, temperature, level : ndarray, shape (n,)
        As in `Look`.
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
        """Number of data N."""
        return int(self.model.size)

    def largest_difference(self) -> Floats:
        """Largest |l_i| of each move, shape (n,): a scan of all the data, whose cost is counted apart."""
        self.scanned += self.size
        largest: Floats = self.model.largest_difference(self.states, self.proposals)
        return largest

    def difference_moments(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation (divisor N) of the l_i of each move, each (n,): a scan, counted apart."""
        self.scanned += self.size
        moments: tuple[Floats, Floats] = self.model.difference_moments(self.proposals, self.states)
        return moments


@dataclass(frozen=True)
class AcceptanceTest:
    """An acceptance test, which says what it needs.

    To add one, derive from this class, in a file of its own, as a frozen dataclass whose fields are the options of the
    test; and export it from `steinkit.samplers` (``__init__.pyi``) under a name that ends in Test. The command line
    then knows it by its ``name``, and its options by what `option` says of them.

    Attributes
    ----------
    name : str
    needs_all_data : bool
        Whether the test looks once, at all the data; the current state's log likelihood is then kept. Such a test also
        serves targets without data.
    needs_normal, needs_values : bool
        Whether looks carry a normal number and the single l_i.
    needs_bound : bool
        Whether looks carry what `bounds` makes of the move before its test begins.
    constant_bound : float or None
        That, if it is the same for all moves.
    diagnostics : tuple of str
        Names of what its verdicts report beside the decision; ``oracle_cost``, the cost of scans, is filled in.
    """

    name: ClassVar[str]

    needs_all_data = False
    needs_normal = False
    needs_bound = False

    @property
    def needs_values(self) -> bool:  # noqa: D102
        return False

    @property
    def constant_bound(self) -> float | None:  # noqa: D102
        return None

    @property
    def diagnostics(self) -> tuple[str, ...]:  # noqa: D102
        return ()

    def reads_all(self, size: int) -> bool:
        """Whether each test of N data reads them all, whatever they are: then at once, as with ``needs_all_data``.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        bool
            ``needs_all_data``, if not overridden.
        """
        return self.needs_all_data

    def first_batch(self, size: int) -> int:
        """Data to have seen by the first look.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            At least 1, at most N.

        Raises
        ------
        UsageError
            If the options ask for more data than there are.
        """
        raise NotImplementedError

    def level(self, uniforms: Floats) -> Floats:
        """Make levels of uniform numbers, one by one: log u, if not overridden.

        Parameters
        ----------
        uniforms : ndarray
            Independent and uniform on (0, 1), of any shape.

        Returns
        -------
        ndarray
            Of the same shape: what Delta is to exceed for the move to be accepted.
        """
        return np.log(uniforms)

    def bounds(self, moves: Moves) -> Floats:
        """What looks carry as ``bound``, where the test needs it.

        Parameters
        ----------
        moves : interface.Moves
            Those of the n chains whose tests begin: states and proposals (n, d), and functions that scan all the data.

        Returns
        -------
        ndarray, shape (n,)
            One number a move. Tests that do not need it have none to give.
        """
        raise NotImplementedError

    def decide(self, look: Look) -> Verdict:
        """Decide, or ask for more data. At ``seen == size`` a test must decide.

        Parameters
        ----------
        look : interface.Look
            Level, and what one chain has seen of the data.

        Returns
        -------
        interface.Verdict
            ``decided``, ``accepted`` (which counts where decided), and ``wanted``, the data to have seen by the next
            look.
        """
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """Name and options, for `Draws.settings`.

        Returns
        -------
        dict
            "test", and the options by their names; functions are told by theirs.
        """
        options = {each.name: getattr(self, each.name) for each in fields(self)}
        return {"test": self.name} | {
            name: getattr(value, "__name__", "function") if callable(value) else value
            for name, value in options.items()
        }


def exceeds_level(look: Look) -> tuple[bool, bool, int]:
    """Accept if (N / T) mean + offset > level; decided at once."""
    return True, look.mean * (look.size / look.temperature) + look.offset > look.level, look.seen


@dataclass(frozen=True)
class _ExactTest(AcceptanceTest):
    """One look at all the data, which compares Delta with the level."""

    needs_all_data = True

    def first_batch(self, size: int) -> int:
        """All N data.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            N.
        """
        return size

    def decide(self, look: Look) -> Verdict:
        """Compare Delta with the level.

        Parameters
        ----------
        look : interface.Look
            Level, and the mean of all the l_i.

        Returns
        -------
        interface.Verdict
            ``decided``, always, and ``accepted``, if Delta is above the level.
        """
        return Verdict(*exceeds_level(look))


@dataclass(frozen=True)
class MetropolisTest(_ExactTest):
    """The Metropolis-Hastings test.

    References
    ----------
    W. K. Hastings (1970), "Monte Carlo sampling methods using Markov chains and their applications".
    """

    name = "metropolis"


@dataclass(frozen=True)
class BarkerTest(_ExactTest):
    """Barker's test of 1965: it accepts less often than Metropolis, at most half of the moves that change nothing.

    Not the Barker proposal of Livingstone and Zanella (2022), a way to propose that uses gradients.

    References
    ----------
    A. A. Barker (1965), "Monte Carlo calculations of the radial distribution functions for a proton-electron
    plasma".
    """

    name = "barker"

    def level(self, uniforms: Floats) -> Floats:
        """Logistic numbers, log(u / (1 - u)).

        Parameters
        ----------
        uniforms : ndarray
            Independent and uniform on (0, 1), of any shape.

        Returns
        -------
        ndarray
            Of the same shape.
        """
        return np.log(uniforms) - np.log1p(-uniforms)


@dataclass(frozen=True)
class SequentialTest(AcceptanceTest):
    """A test that approximates Metropolis's on growing batches, with an error epsilon.

    Where such a test reads all the data it is Metropolis's: mean > mu_0 is the same as Delta > log u.
    """

    default_batch: ClassVar[int]

    epsilon: float
    batch_size: int | None = None

    def __post_init__(self) -> None:
        share(self.epsilon, "epsilon")
        if self.batch_size is not None:
            batch_within(self.batch_size, 1, self.batch_size)

    def first_batch(self, size: int) -> int:
        """Data of the first look; all at epsilon = 0.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        int
            At least 1, at most N.

        Raises
        ------
        UsageError
            If ``batch_size`` is more than N.
        """
        batch = batch_within(self.batch_size, self.default_batch, size)
        return batch if self.epsilon > 0.0 else size

    def reads_all(self, size: int) -> bool:
        """Whether the first look sees all the data: at epsilon = 0, and if one batch holds them all.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        bool
            If true, it is Metropolis's test.

        Raises
        ------
        UsageError
            If ``batch_size`` is more than N.
        """
        return self.first_batch(size) == size
