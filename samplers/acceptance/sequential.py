"""Sequential tests of the Metropolis rule: the austerity test, the concentration test, and how often they err.

**The austerity test** is a sequential t test. Metropolis accepts if the mean l of all N differences l_i exceeds

    mu_0 = (T / N) (log u - offset).

After b data, drawn without replacement, with their mean and variance v,

    s^2 = v / b (1 - (b - 1) / (N - 1)),        t = (mean - mu_0) / s,

and the test decides for the sign of t if 1 - F_{b-1}(|t|) < epsilon, F being Student's distribution function with
b - 1 degrees of freedom, or at b = N. Otherwise it draws m more. In other words: it decides if |mean - mu_0| > G_j s,
with G_j = F_{b-1}^{-1}(1 - epsilon). Wang and Tsiatis's family makes early looks stricter or late ones:

    G_j = F_{b-1}^{-1}(1 - epsilon) pi_j^(1/2 - alpha),        pi_j = b_j / N,

alpha = 1/2 being the constant threshold (Pocock) and alpha = 1 that of O'Brien and Fleming.

The oracle's variant scans all the data for the true mean and spread of the l_i at each step, and chooses for that step
the epsilon at which the whole test errs with the probability it is allowed. It shows what a better choice of thresholds
could save at most. Who knew the standardised mean mu of a step could choose the smallest threshold G at which the whole
test errs with probability epsilon there,

    G(mu) = the solution of error(mu; pi_1, G) = epsilon,    0 where the first look alone errs less,

where a fixed test must be made for the means it is likely to meet. What it reads is what no design can better.

**The concentration test** decides by a bound that holds at every sample size. With mu_0 = (T / N) (log u - offset) as
in the Metropolis rule, after b data drawn without replacement, of standard deviation s, the test decides for the sign
of mean - mu_0 if |mean - mu_0| exceeds the empirical Bernstein-Serfling bound

    c_b = s sqrt(2 rho_b L / b) + (7/3 + 3/sqrt 2) 2 C L / b,        L = log(5 / delta_j),
    rho_b = 1 - (b - 1) / N  if b <= N / 2,  else (1 - b / N) (1 + 1 / b),

where C bounds |l_i| for all N data, or at b = N. Looks come at sizes that grow by a factor gamma; look j = 1, 2, ...
may err with probability delta_j = epsilon (p - 1) / (p j^p), so that all of them together err with at most epsilon.

**How often a sequential test errs, and how much it reads.** The austerity test looks at shares
pi_1 < pi_2 < ... < pi_J = 1 of N data and stops at the first look whose standardised mean exceeds a threshold,
|z_j| > G_j. For many data, at a true mean of

    mu = (mean of all l_i - mu_0) sqrt(N - 1) / sigma_l

in standard units, the z_j form a Gaussian random walk: with t_j = pi_j / (1 - pi_j) and c_j^2 = t_{j-1} / t_j,

    z_1 ~ N(mu sqrt(t_1), 1),    z_j given z_{j-1} ~ N(c_j z_{j-1} + mu (1 - c_j^2) sqrt(t_j), 1 - c_j^2),

that is z_j = B(t_j) / sqrt(t_j) for a Brownian motion B with drift mu. Only its end point depends on the drift: the
probability that a walk has not stopped before look j, given where it is at that look,

    g_1 = 1,    g_j(z) = integral over |y| <= G_{j-1} of N(y; c_j z, 1 - c_j^2) g_{j-1}(y) dy,

is the same for every mu. So one pass gives the error and the data use for all means at once, phi being the standard
normal density:

    error(mu)    = sum_{j < J} integral over z < -G_j of phi(z - mu sqrt(t_j)) g_j(z) dz         for mu >= 0,
    data use(mu) = pi_1 + sum_{j < J} (pi_{j+1} - pi_j) A_j,
    A_j          = integral over |z| <= G_j of phi(z - mu sqrt(t_j)) g_j(z) dz,

where A_j is the probability to go on after look j. Both are even in mu. The last look, at all data, does not err.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, positive, share
from steinkit.errors import InputError, UsageError
from steinkit.result import Brief
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import ROUNDING, Look, Moves, SequentialTest, Verdict, option
from steinkit.targets.family import as_finite

# Gauss-Legendre nodes: so many for each standard deviation of the walk's steps, in half an interval.
_NODES_PER_STEP = 8.0
# Standard deviations beyond which a normal density is nought.
_FAR = 9.0
# Probability to go on below which nothing more can happen that counts.
_NOUGHT = 1e-15
# Means treated at once: bounds the memory.
_MEANS_AT_ONCE = 2048
# Looks of the longest test analysed: a minute or two, and the square of their number counts.
_MOST_LOOKS = 10_000
# Means beyond are treated as this one: the first look decides, and squares do not overflow.
_LARGEST_MEAN = 1e100


@dataclass(frozen=True, eq=False, repr=False)
class OperatingCharacteristics(Brief):
    """What a sequential test does at each of the given means.

    Attributes
    ----------
    mean : ndarray
        Standardised mean mu, (mean of all l_i - mu_0) sqrt(N - 1) / sigma_l.
    error : ndarray, like mean
        Probability that the test decides for the wrong sign of mu; at mu = 0, that it decides before it has read all
        the data, for one given sign.
    data_use : ndarray, like mean
        Expected share of the data read.
    undecided : ndarray, like mean
        Probability that all the data are read.
    """

    mean: Floats
    error: Floats
    data_use: Floats
    undecided: Floats


def operating_characteristics(
    mean: ArrayLike, *, first_fraction: float, epsilon: float, alpha: float = 0.5
) -> OperatingCharacteristics:
    """Error and data use of the austerity test, by dynamic programming over its random walk.

    Parameters
    ----------
    mean : float or array_like
        Standardised means mu, of any shape.
    first_fraction : float
        Share pi_1 of the data read at each look, in (0, 1]: batch_size / N. From 1e-4 on, unless epsilon is 0.
    epsilon : float
        Error allowed at one look, in [0, 1]: the thresholds are Phi^-1(1 - epsilon) pi_j^(1/2 - alpha).
    alpha : float
        Wang-Tsiatis exponent, in [1/2, 1]: 1/2 for constant thresholds.

    Returns
    -------
    OperatingCharacteristics
        With arrays of the shape of mean.

    Raises
    ------
    UsageError
        If a parameter lies outside its range, the test has too many looks, or a mean is not a finite number.

    Notes
    -----
    The numbers are exact for the random walk, to some 1e-13. A test on data follows the walk as far as the means of its
    batches are normal: with batches of a few dozen, or a few data that outweigh all others, it need not.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 5.1, appendix A, eq. 10, 11, 18, 19.
    """
    means = as_finite(mean, "mean")
    fractions, thresholds = interim_looks(first_fraction, epsilon, alpha)
    flat = np.minimum(np.abs(means), _LARGEST_MEAN).ravel()
    found = [
        _walk(flat[first : first + _MEANS_AT_ONCE], fractions, thresholds)
        for first in range(0, len(flat), _MEANS_AT_ONCE)
    ]
    error, data_use, undecided = (np.concatenate(each).reshape(means.shape) for each in zip(*found, strict=True))
    return OperatingCharacteristics(means, error, data_use, undecided)


def nodes_on_two_scales(lower: Floats, upper: Floats, k: Floats, number: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights of integrals that change on the scales 1 and 1 / k from their lower ends on.

    The substitution x = lower + h (e^y - 1), with h the smaller scale, shows both to the rule.

    Parameters
    ----------
    lower, upper : ndarray, of one shape
        Ends of the integrals.
    k : ndarray
        Standardised mean of the test by unit of x; broadcast against the ends.
    number : int
        Of nodes m.

    Returns
    -------
    tuple of ndarray
        Nodes and weights, each of the shape of the ends with m appended.
    """
    nodes, weights = np.polynomial.legendre.leggauss(number)
    h = np.minimum(1.0, 1.0 / k)
    half = 0.5 * np.log1p((upper - lower) / h)[..., None]
    y, h = half * (nodes + 1.0), np.asarray(h)[..., None]
    return lower[..., None] + h * np.expm1(y), half * weights * h * np.exp(y)


def interim_looks(first_fraction: float, epsilon: float, alpha: float = 0.5) -> tuple[Floats, Floats]:
    """Shares pi_j and thresholds G_j of the looks before the last, each (J - 1,); none where epsilon is 0.

    Raises
    ------
    UsageError
        If a parameter lies outside its range, or there are more looks than can be analysed.
    """
    from scipy.special import ndtri

    number(first_fraction, "first_fraction", lambda x: 0.0 < x <= 1.0, "in (0, 1]")
    share(epsilon, "epsilon")
    number(alpha, "alpha", lambda a: 0.5 <= a <= 1.0, "in [1/2, 1]")
    looks = 0 if epsilon == 0.0 else math.ceil(1.0 / first_fraction - 1e-9) - 1
    if looks >= _MOST_LOOKS:
        raise UsageError(
            f"a first share of {first_fraction:g} of the data makes {looks + 1:.3g} looks; at most {_MOST_LOOKS} can "
            f"be analysed: read at least {1.0 / _MOST_LOOKS:g} of the data at each look"
        )
    fractions = np.arange(1, looks + 1, dtype=np.float64) * float(first_fraction)
    threshold = -float(ndtri(min(epsilon, 0.5))) if looks else 0.0
    return np.asarray(fractions, dtype=np.float64), np.asarray(threshold * fractions ** (0.5 - alpha), dtype=np.float64)


def _walk(means: Floats, fractions: Floats, thresholds: Floats) -> tuple[Floats, Floats, Floats]:
    """Error, data use and probability of no decision at means (n,) >= 0."""
    error, going_on = np.zeros(len(means)), np.ones(len(means))
    rows = np.arange(len(means))  # those that may still be open
    data_use = np.full(len(means), fractions[0] if len(fractions) else 1.0)
    following = np.append(fractions[1:], 1.0)
    steps = np.append(_step_deviations(fractions), 1.0)
    drift = np.sqrt(fractions / (1.0 - fractions))
    inner = mass = np.empty(0)  # nodes in [-G, G] at the look before, and weight times g there
    for j, (G, step) in enumerate(zip(thresholds, steps[:-1], strict=True)):
        c = math.sqrt(1.0 - step**2)
        reach = min(_FAR, (thresholds[j - 1] + _FAR * step) / c) if j else _FAR
        width = min(step, steps[j + 1])
        half, half_weights = _nodes(0.0, G, 0.5 * G / width)
        outer, outer_weights = _nodes(G, max(G, reach), 0.5 * (max(G, reach) - G) / step)
        survival = np.ones(len(half) + len(outer))
        if j:
            gaps = (inner - c * np.concatenate((half, outer))[:, None]) / step
            survival = np.exp(-0.5 * gaps**2) @ (mass / (step * math.sqrt(2.0 * math.pi)))
        half_mass, outer_mass = half_weights * survival[: len(half)], outer_weights * survival[len(half) :]
        inner, mass = np.concatenate((-half, half)), np.concatenate((half_mass, half_mass))
        centre = means[rows, None] * drift[j]
        error[rows] += _density(outer + centre) @ outer_mass
        still = _density(inner - centre) @ mass
        data_use[rows] += (following[j] - fractions[j]) * still
        going_on[rows] = still
        rows = rows[still > _NOUGHT]
        if not rows.size:
            break
    return error, data_use, going_on


def _step_deviations(fractions: Floats) -> Floats:
    """Standard deviation of each step of the walk, (1 - c_j^2)^(1/2); 1 for the first."""
    before = np.append(0.0, fractions[:-1])[: len(fractions)]
    return np.asarray(np.sqrt((fractions - before) / (fractions * (1.0 - before))), dtype=np.float64)


def _density(values: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * values**2) / math.sqrt(2.0 * math.pi)
    return density


def _nodes(lower: float, upper: float, steps: float) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights that resolve half an interval of so many standard deviations."""
    wanted = max(8.0, _NODES_PER_STEP * steps)
    ladder = 2 ** math.ceil(2.0 * math.log2(wanted) - 1e-9)  # few sizes, each computed once
    nodes, weights = _legendre(math.ceil(math.sqrt(ladder)))
    scale = 0.5 * (upper - lower)
    return lower + scale * (nodes + 1.0), scale * weights


@lru_cache(maxsize=64)
def _legendre(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


# Stands for infinity at epsilon = 0: times a standard error it neither overflows nor makes NaN.
_NEVER = 1e150
# Thresholds and means of the table; in between it is interpolated.
_THRESHOLDS, _MEANS = 40, 128


def sequential_t_test(look: Look, threshold: float, batch: int) -> tuple[bool, bool, int]:
    """Accept if mean > mu_0, decided if |mean - mu_0| > G_j s or b = N, with s^2 = v / b (1 - (b - 1) / (N - 1))."""
    N, b = look.size, look.seen
    gap = look.mean - (look.level - look.offset) / (N / look.temperature)
    s = math.sqrt(look.variance / b * (1.0 - (b - 1.0) / max(N - 1, 1)))
    varies = look.variance > ROUNDING * look.mean * look.mean
    return (varies and abs(gap) > threshold * s) or b == N, gap > 0.0, b + batch


@dataclass(frozen=True)
class _AusterityTest(SequentialTest):
    """What the austerity test and its oracle's variant share."""

    default_batch = 500

    epsilon: float = 0.05
    alpha: float = field(default=0.5, metadata=option("X", "Wang-Tsiatis exponent of the austerity test, in [0.5, 1]."))

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.alpha, "alpha", lambda a: 0.5 <= a <= 1.0, "in [1/2, 1]")


@dataclass(frozen=True)
class AusterityTest(_AusterityTest):
    """Sequential approximation of the Metropolis test.

    Parameters
    ----------
    epsilon : float
        Error allowed at *one* look, in [0, 1]; a whole test, with its several looks, errs more often. 0 reads all
        the data at once and is exact, 1/2 and above decide at the first look.
    batch_size : int, optional
        Data m added at each look; 500 if not given, or N where that is less.
    alpha : float
        Exponent of the thresholds, in [1/2, 1]: 1/2 constant, 1 stricter in the beginning.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.

    Notes
    -----
    Where all l_i seen so far are equal, s = 0, the test goes on: t would be infinite whatever the other data say.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    algorithm 1.
    S. K. Wang and A. A. Tsiatis (1987), "Approximately optimal one-parameter boundaries for group sequential trials".
    """

    name = "austerity"

    def decide(self, look: Look) -> Verdict:
        """Decide where the mean is more than G_j standard errors away from mu_0, and at b = N.

        Parameters
        ----------
        look : interface.Look
            Level, and what has been seen of the data.

        Returns
        -------
        interface.Verdict
            ``decided``, ``accepted`` (which counts where decided), and ``wanted``, the data to have seen by the next
            look: m more.
        """
        at_end = look.seen == look.size
        threshold = 0.0 if at_end else self.thresholds(look.size)[look.number]
        return Verdict(*sequential_t_test(look, threshold, self.first_batch(look.size)))

    def thresholds(self, size: int) -> Floats:
        """G_j of the looks before the last.

        Parameters
        ----------
        size : int
            Number of data N.

        Returns
        -------
        ndarray, shape (ceil(N / m) - 1,)
            In standard errors of the mean; about 1e150, for infinity, where a look cannot decide.
        """
        return _thresholds(self.epsilon, self.alpha, self.first_batch(size), size)


@dataclass(frozen=True)
class OracleAusterityTest(_AusterityTest):
    """The austerity test with thresholds chosen for each step by a scan of all the data: a yardstick, not a saving.

    Parameters
    ----------
    epsilon : float
        Error of each *whole* test, in [0, 1], under a normal approximation. 0 reads all the data.
    batch_size : int, optional
        Data m added at each look; 500 if not given, or N where that is less.
    alpha : float
        Exponent of the thresholds, in [1/2, 1]: 1/2 constant, 1 stricter in the beginning.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.

    Notes
    -----
    What the scans cost is counted apart, as diagnostic ``oracle_cost``. Nothing is scanned for tests that read all the
    data anyway.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 5.
    """

    name = "oracle-austerity"
    needs_bound = True
    diagnostics = ("oracle_cost",)

    def bounds(self, moves: Moves) -> Floats:
        """Standardised means of all the l_i, by a scan.

        Parameters
        ----------
        moves : interface.Moves
            Those of the n chains whose tests begin: states and proposals (n, d), and functions that scan all the data.

        Returns
        -------
        ndarray, shape (n,)
            (mean - mu_0) sqrt(N - 1) / sd, the standard deviation sd having divisor N.
        """
        N = moves.size
        mean, sd = moves.difference_moments()
        mu_0 = (moves.level - moves.offset) * (moves.temperature / N)
        return (mean - mu_0) * math.sqrt(N - 1.0) / sd

    def decide(self, look: Look) -> Verdict:
        """Decide as the austerity test would, with the epsilon of this step.

        Parameters
        ----------
        look : interface.Look
            Level, and what has been seen of the data; as ``bound``, the standardised mean that `bounds` makes.

        Returns
        -------
        interface.Verdict
            ``decided``, ``accepted`` (which counts where decided), and ``wanted``, the data to have seen by the next
            look: m more.
        """
        from scipy.special import ndtr, stdtrit

        b, N, batch = look.seen, look.size, self.first_batch(look.size)
        bound = np.array([look.bound])
        G = oracle_thresholds(bound, first_fraction=batch / N, epsilon=self.epsilon, alpha=self.alpha)[0]
        quantile = -stdtrit(b - 1.0, ndtr(-G)) if b > 1 and np.isfinite(G) else _NEVER
        threshold = min(max(float(quantile), 0.0), _NEVER) * (b / N) ** (0.5 - self.alpha)
        return Verdict(*sequential_t_test(look, threshold, batch))


@lru_cache(maxsize=64)
def _thresholds(epsilon: float, alpha: float, batch: int, size: int) -> Floats:
    """G_j of the looks before the last; Student's distribution is inverted here, once for each of them."""
    from scipy.special import stdtrit

    b = np.arange(batch, size, batch, dtype=np.float64)
    quantiles = np.full(len(b), _NEVER)
    testable = b > 1.0
    if epsilon > 0.0:
        quantiles[testable] = -stdtrit(b[testable] - 1.0, min(epsilon, 0.5))
    thresholds: Floats = np.clip(quantiles, 0.0, _NEVER) * (b / size) ** (0.5 - alpha)
    thresholds.setflags(write=False)
    return thresholds


def oracle_thresholds(means: Floats, *, first_fraction: float, epsilon: float, alpha: float = 0.5) -> Floats:
    """Threshold G_0 for which a test errs with probability epsilon at each mean, to about 1 % of epsilon.

    Parameters
    ----------
    means : ndarray, shape (n,)
        Standardised means of the steps, known from all the data. NaN gives NaN.
    first_fraction : float
        Share of the data read at each look, in (0, 1].
    epsilon : float
        Error of the *whole* test, in [0, 1].
    alpha : float
        Wang-Tsiatis exponent, in [1/2, 1].

    Returns
    -------
    ndarray, shape (n,)
        At least 0; infinite where epsilon is 0.

    Raises
    ------
    UsageError
        If a parameter lies outside its range.
    """
    interim_looks(first_fraction, epsilon, alpha)
    if epsilon == 0.0:
        return np.full(len(means), np.inf)
    grid, thresholds = _table(float(first_fraction), float(epsilon), float(alpha))
    return np.interp(np.abs(means), grid, thresholds, right=0.0)


@lru_cache(maxsize=16)
def _table(first_fraction: float, epsilon: float, alpha: float) -> tuple[Floats, Floats]:
    """Means and their thresholds."""
    from scipy.special import ndtr, ndtri

    looks = len(interim_looks(first_fraction, epsilon, alpha)[0])
    if not looks or epsilon >= 0.5:
        return np.zeros(1), np.zeros(1)
    # a look errs with at most Phi(-G): at the highest threshold the whole test errs with at most epsilon
    highest = -float(ndtri(epsilon / looks))
    levels = np.linspace(0.0, highest, _THRESHOLDS)
    farthest = -float(ndtri(epsilon)) * np.sqrt(1.0 / first_fraction - 1.0)
    means = np.linspace(0.0, farthest, _MEANS)
    errors = np.stack(
        [
            operating_characteristics(means, first_fraction=first_fraction, epsilon=float(ndtr(-G)), alpha=alpha).error
            for G in levels
        ]
    )
    found = [np.interp(-np.log(epsilon), -np.log(np.maximum(column, 1e-300)), levels) for column in errors.T]
    return means, np.array(found)


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
        metadata=option("X|oracle", "Bound on the log likelihood ratio of a data point (concentration test)."),
    )
    factor: float = field(default=2.0, metadata=option("X", "Growth of the batch per stage (concentration test)."))
    power: float = field(
        default=2.0, metadata=option("X", "Decrease of the allowed error per stage (concentration test).")
    )

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
