"""What every acceptance test is: looks at a growing share of the data, until one of them decides.

A Metropolis-Hastings step from theta proposes theta' and accepts it with a probability that depends on

    Delta = (N / T) mean_i l_i + offset,        l_i = log p(x_i | theta') - log p(x_i | theta),
    offset = log [rho(theta') q(theta | theta')] - log [rho(theta) q(theta' | theta)],

where rho is the prior, q the proposal, T the temperature. At a look a test has seen b of the N data, their mean and
variance. It accepts if Delta exceeds a *level*, a function of one uniform number drawn for the step, as far as it can
tell; where it cannot yet tell it asks for more data.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from steinkit.sample import Floats, Integers

Booleans = NDArray[np.bool_]

# Variance of the l_i, relative to their squared mean, that rounding alone can produce.
_ROUNDING = 1e-14


class Look(NamedTuple):
    """What the tests of n chains see at a look.

    Attributes
    ----------
    size : int
        Number of data N.
    number : ndarray of int, shape (n,)
        Number of this look in its test, from 0.
    seen : ndarray of int, shape (n,)
        Number of data seen so far b, each of them once.
    mean, variance : ndarray, shape (n,)
        Of the b values l_i; the variance with divisor b - 1.
    offset : ndarray, shape (n,)
    temperature : ndarray, shape (n,)
    level : ndarray, shape (n,)
        What `AcceptanceTest.level` made of the step's uniform number.
    normal : ndarray, shape (n,), or None
        A standard normal number for the step, where the test wants one.
    bound : ndarray, shape (n,), or None
        Bound of all |l_i|, or the standardised mean of all l_i, where the test wants one from a scan of all the data.
    values : list of n ndarray of shape (b,), or None
        The l_i themselves, where the test wants them.
    """

    size: int
    number: Integers
    seen: Integers
    mean: Floats
    variance: Floats
    offset: Floats
    temperature: Floats
    level: Floats
    normal: Floats | None = None
    bound: Floats | None = None
    values: list[Floats] | None = None


class Verdict(NamedTuple):
    """What the tests say of n chains.

    Attributes
    ----------
    decided, accepted : ndarray of bool, shape (n,)
        ``accepted`` counts where ``decided``.
    wanted : ndarray of int, shape (n,)
        Data to have seen by the next look, where not decided; more than N is read as N.
    diagnostics : dict of str to ndarray of shape (n,)
    """

    decided: Booleans
    accepted: Booleans
    wanted: Integers
    diagnostics: dict[str, Floats] = {}  # noqa: RUF012 (never changed)


class AcceptanceTest(Protocol):
    """An acceptance test. `MetropolisTest` is the shortest example.

    Attributes
    ----------
    needs_all_data : bool
        Whether the test looks once, at all the data; the current state's log likelihood is then kept.
    needs_normal, needs_values : bool
        Whether looks carry a normal number and the single l_i.
    diagnostics : tuple of str
        Names of what its verdicts report beside the decision.
    """

    @property
    def needs_all_data(self) -> bool: ...  # noqa: D102
    @property
    def needs_normal(self) -> bool: ...  # noqa: D102
    @property
    def needs_values(self) -> bool: ...  # noqa: D102
    @property
    def diagnostics(self) -> tuple[str, ...]: ...  # noqa: D102

    def first_batch(self, size: int) -> int:
        """Data to have seen by the first look; UsageError if that is more than there are."""
        ...

    def level(self, uniforms: Floats) -> Floats:
        """Make levels of uniform numbers in (0, 1), one by one."""
        ...

    def decide(self, look: Look) -> Verdict:
        """Decide, or ask for more data. At ``seen == size`` a test must decide."""
        ...

    def described(self) -> dict[str, Any]:
        """Name and options, for `Draws.settings`."""
        ...


def varies(look: Look) -> Booleans:
    """Whether the l_i seen so far differ by more than rounding.

    Where they do not, their variance says nothing of the data to come: identical rows in the first batch would
    otherwise end a test with false certainty.
    """
    return look.variance > _ROUNDING * look.mean**2
