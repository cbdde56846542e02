"""Sequential approximations to the Metropolis test, and their error and data use.

**The austerity test** is a sequential t test. The Metropolis test accepts if the mean of all N differences l_i exceeds

    mu_0 = (T / N) (log u - offset).

Suppose that b data points have been drawn without replacement and that their l_i have variance v. Let

    s^2 = v / b (1 - (b - 1) / (N - 1)),        t = (mean - mu_0) / s.

The test bases its decision on the sign of t if 1 - F_{b-1}(|t|) < epsilon or b = N, where F_{b-1} is the distribution
function of Student's t with b - 1 degrees of freedom. Otherwise, the test reads m more data points. Equivalently, the
test ends at stage j if |mean - mu_0| > G_j s, with G_j = F_{b-1}^{-1}(1 - epsilon). The Wang-Tsiatis family raises the
thresholds of the early stages:

    G_j = F_{b-1}^{-1}(1 - epsilon) pi_j^(1/2 - alpha),        pi_j = b_j / N.

The value alpha = 1/2 gives constant thresholds (Pocock), and alpha = 1 gives the thresholds of O'Brien and Fleming.

**The concentration test** uses a bound that holds at every sample size. Define mu_0 as above, and let s be the standard
deviation of b values l_i drawn without replacement. The test bases its decision on the sign of mean - mu_0 if |mean -
mu_0| exceeds the empirical Bernstein-Serfling bound

    c_b = s sqrt(2 rho_b L / b) + (7/3 + 3/sqrt 2) 2 C L / b,        L = log(5 / delta_j),
    rho_b = 1 - (b - 1) / N  if b <= N / 2,  else (1 - b / N) (1 + 1 / b),

where C is an upper bound on |l_i| for all N data points. The test also ends if b = N. The sample size grows by a factor
of gamma per stage. The error of stage j = 1, 2, ... is at most delta_j = epsilon / (2 j^2), so the error of the whole
test is at most epsilon.

**Error and data use.** The austerity test analyzes fractions pi_1 < pi_2 < ... < pi_J = 1 of N data points and stops at
the first stage with a standardized mean |z_j| > G_j. Define the true standardized mean as

    mu = (mean of all l_i - mu_0) sqrt(N - 1) / sigma_l.

For large N, the z_j form a Gaussian random walk. With t_j = pi_j / (1 - pi_j) and c_j^2 = t_{j-1} / t_j, the
distribution of the walk is

    z_1 ~ N(mu sqrt(t_1), 1),    z_j given z_{j-1} ~ N(c_j z_{j-1} + mu (1 - c_j^2) sqrt(t_j), 1 - c_j^2),

that is, z_j = B(t_j) / sqrt(t_j) for a Brownian motion B with drift mu. Given its endpoint, the path does not depend on
the drift. Let g_j(z) be the probability that a walk at z in stage j did not stop earlier. It satisfies

    g_1 = 1,    g_j(z) = integral over |y| <= G_{j-1} of N(y; c_j z, 1 - c_j^2) g_{j-1}(y) dy.

This probability is therefore the same for every mu, and one pass over the stages gives the error and the data use for
all means. With the standard normal density phi,

    error(mu)    = sum_{j < J} integral over z < -G_j of phi(z - mu sqrt(t_j)) g_j(z) dz         for mu >= 0,
    data use(mu) = pi_1 + sum_{j < J} (pi_{j+1} - pi_j) A_j,
    A_j          = integral over |z| <= G_j of phi(z - mu sqrt(t_j)) g_j(z) dz,

where A_j is the probability of continuing after stage j. The error and the data use are even functions of mu. The last
stage reads all the data and makes no error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, positive, share
from steinkit.errors import UsageError
from steinkit.result import Brief
from steinkit.sample import Floats
from steinkit.samplers.acceptance.interface import ROUNDING, Decision, Moves, SequentialTest, Stage
from steinkit.targets.family import as_finite

# Number of Gauss-Legendre nodes in each half of an interval, per standard deviation of the random-walk steps.
_NODES_PER_STEP = 8.0
# A normal density is negligible beyond this number of standard deviations.
_FAR = 9.0
# A walk stops when its probability of continuing is below this value.
_NEGLIGIBLE = 1e-15
# Number of means processed together. This value limits the memory use.
_MEANS_AT_ONCE = 2048
# Maximum number of stages. The analysis then takes one to two minutes, and the time is quadratic in the number of
# stages.
_MOST_STAGES = 10_000
# Larger means are replaced by this value to avoid overflow. With either mean, the test ends at the first stage.
_LARGEST_MEAN = 1e100
# This value replaces infinite thresholds. Its product with a standard error neither overflows nor yields NaN.
NEVER = 1e150
# Rate at which the error allowed by the concentration test decreases from stage to stage.
_POWER = 2.0
_RANGE_FACTOR = 7.0 / 3.0 + 3.0 / math.sqrt(2.0)


@dataclass(frozen=True, eq=False, repr=False)
class OperatingCharacteristics(Brief):
    """Error and data use of a sequential test at given means.

    Attributes
    ----------
    mean : ndarray
        Standardized mean mu, (mean of all l_i - mu_0) sqrt(N - 1) / sigma_l.
    error : ndarray, like mean
        Probability of a decision based on the wrong sign of mu. At mu = 0, it is the probability of deciding in favor
        of a given sign before reaching the end of the data.
    data_use : ndarray, like mean
        Expected fraction of the data read.
    undecided : ndarray, like mean
        Probability that all the data are read.

    Examples
    --------
    >>> from steinkit.samplers import operating_characteristics
    >>> found = operating_characteristics([0.0, 1.0], first_fraction=0.05, epsilon=0.01)
    >>> found.data_use.round(3)
    array([0.907, 0.723])
    """

    mean: Floats
    error: Floats
    data_use: Floats
    undecided: Floats


def operating_characteristics(
    mean: ArrayLike, *, first_fraction: float, epsilon: float, alpha: float = 0.5
) -> OperatingCharacteristics:
    """Compute the error and the data use of the austerity test.

    Parameters
    ----------
    mean : float or array_like
        Standardized means mu, of any shape.
    first_fraction : float
        Fraction pi_1 = batch_size / N of the data read at each stage, in (0, 1]. The fraction must be at least 1e-4
        unless epsilon is 0.
    epsilon : float
        Error allowed per stage, in [0, 1]. The thresholds are Phi^-1(1 - epsilon) pi_j^(1/2 - alpha).
    alpha : float, default 0.5
        Wang-Tsiatis exponent, in [1/2, 1]. The value 1/2 gives constant thresholds.

    Returns
    -------
    OperatingCharacteristics
        The error and the data use, in arrays with the shape of `mean`.

    Raises
    ------
    UsageError
        If a parameter is out of range, if the test has too many stages, or if a mean is not finite.

    Notes
    -----
    Dynamic programming over the random walk of the test computes these values to about 1e-13. The values are valid for
    a test on data if the batch means are approximately normal. This condition requires more than a few dozen data
    points per batch and no dominant data points.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    section 5.1, appendix A, eq. 10, 11, 18, 19.

    Examples
    --------
    >>> from steinkit.samplers import operating_characteristics
    >>> found = operating_characteristics(1.0, first_fraction=0.05, epsilon=0.01)
    >>> print(f"{found.error:.4f}, {found.data_use:.3f}")
    0.0141, 0.723
    """
    means = as_finite(mean, "mean")
    fractions, thresholds = interim_stages(first_fraction, epsilon, alpha)
    flat = np.minimum(np.abs(means), _LARGEST_MEAN).ravel()
    blocks = (flat[first : first + _MEANS_AT_ONCE] for first in range(0, len(flat), _MEANS_AT_ONCE))
    found = [_walk(block, fractions, thresholds) for block in blocks]
    error, data_use, undecided = (np.concatenate(each).reshape(means.shape) for each in zip(*found, strict=True))
    return OperatingCharacteristics(means, error, data_use, undecided)


def nodes_on_two_scales(lower: Floats, upper: Floats, k: Floats, number: int) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights that resolve the scales 1 and 1 / k.

    The substitution x = lower + h (e^y - 1), with the smaller scale h, resolves both scales near the lower end.

    Parameters
    ----------
    lower, upper : ndarray, of the same shape
        Limits of integration.
    k : ndarray
        Standardized mean of the test per unit of x, broadcast against the limits.
    number : int
        Number of nodes m.

    Returns
    -------
    tuple of ndarray
        Nodes and weights. The shape of each array is that of the limits with m appended.
    """
    nodes, weights = _legendre(number)
    h = np.minimum(1.0, 1.0 / k)
    half = 0.5 * np.log1p((upper - lower) / h)[..., None]
    y, h = half * (nodes + 1.0), np.asarray(h)[..., None]
    return lower[..., None] + h * np.expm1(y), half * weights * h * np.exp(y)


def interim_stages(first_fraction: float, epsilon: float, alpha: float = 0.5) -> tuple[Floats, Floats]:
    """Return the fractions pi_j and thresholds G_j of stages 1 to J - 1.

    The arrays are empty if epsilon is 0.

    Raises
    ------
    UsageError
        If a parameter is out of range, or if the test has too many stages.
    """
    from scipy.special import ndtri

    number(first_fraction, "first_fraction", lambda x: 0.0 < x <= 1.0, "in (0, 1]")
    share(epsilon, "epsilon")
    number(alpha, "alpha", lambda a: 0.5 <= a <= 1.0, "in [1/2, 1]")
    stages = 0 if epsilon == 0.0 else math.ceil(1.0 / first_fraction - 1e-9) - 1
    if stages >= _MOST_STAGES:
        raise UsageError(
            f"`first_fraction` must be at least {1.0 / _MOST_STAGES:g} (at most {_MOST_STAGES} stages); "
            f"got {first_fraction:g}"
        )
    fractions = np.arange(1, stages + 1, dtype=np.float64) * float(first_fraction)
    threshold = -float(ndtri(min(epsilon, 0.5))) if stages else 0.0
    return np.asarray(fractions, dtype=np.float64), np.asarray(threshold * fractions ** (0.5 - alpha), dtype=np.float64)


def _walk(means: Floats, fractions: Floats, thresholds: Floats) -> tuple[Floats, Floats, Floats]:
    """Compute the error and the data use of a test at non-negative means.

    The third result is the probability that the test reaches its last stage.
    """
    error, continuing = np.zeros(len(means)), np.ones(len(means))
    rows = np.arange(len(means))  # means with a non-negligible probability of continuing
    data_use = np.full(len(means), fractions[0] if len(fractions) else 1.0)
    following = np.append(fractions[1:], 1.0)
    before = np.append(0.0, fractions[:-1])[: len(fractions)]
    steps = np.append(np.sqrt((fractions - before) / (fractions * (1.0 - before))), 1.0)  # standard deviations of steps
    drift = np.sqrt(fractions / (1.0 - fractions))
    inner = mass = np.empty(0)  # nodes in [-G, G] at the previous stage, and weights times g at the nodes
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
        center = means[rows, None] * drift[j]
        error[rows] += _density(outer + center) @ outer_mass
        open_ = _density(inner - center) @ mass
        data_use[rows] += (following[j] - fractions[j]) * open_
        continuing[rows] = open_
        rows = rows[open_ > _NEGLIGIBLE]
        if not rows.size:
            break
    return error, data_use, continuing


def _density(values: Floats) -> Floats:
    density: Floats = np.exp(-0.5 * values**2) / math.sqrt(2.0 * math.pi)
    return density


def _nodes(lower: float, upper: float, steps: float) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights for an interval.

    The interval is 2 * ``steps`` standard deviations long.
    """
    required = max(8.0, _NODES_PER_STEP * steps)
    ladder = 2 ** math.ceil(2.0 * math.log2(required) - 1e-9)  # few distinct sizes, so nodes can be reused
    nodes, weights = _legendre(math.ceil(math.sqrt(ladder)))
    scale = 0.5 * (upper - lower)
    return lower + scale * (nodes + 1.0), scale * weights


@lru_cache(maxsize=64)
def _legendre(count: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


def sequential_t_test(stage: Stage, threshold: float, batch: int) -> tuple[bool, bool, int]:
    """Accept if mean > mu_0.

    The test ends if |mean - mu_0| > G_j s or b = N.
    """
    N, b = stage.size, stage.seen
    gap = stage.mean - (stage.level - stage.offset) / (N / stage.temperature)
    s = math.sqrt(stage.variance / b * (1.0 - (b - 1.0) / max(N - 1, 1)))
    varies = stage.variance > ROUNDING * stage.mean * stage.mean
    return (varies and abs(gap) > threshold * s) or b == N, gap > 0.0, b + batch


@dataclass(frozen=True)
class AusterityTest(SequentialTest):
    """Sequential t test that approximates the Metropolis test.

    Parameters
    ----------
    epsilon : float, default 0.05
        Error allowed at *one* stage, in [0, 1]. The error of a whole test with several stages is larger. With a value
        of 0, the test reads all the data in one stage and is exact. With a value of 1/2 or above, the test decides in
        the first stage.
    batch_size : int, optional
        Number of data points m added per stage. The default is min(500, N).
    alpha : float, default 0.5
        Exponent of the thresholds, in [1/2, 1]. For alpha = 1/2, the thresholds are constant. Larger values of
        alpha raise the thresholds of the early stages.

    Raises
    ------
    UsageError
        If a parameter is out of range.

    Notes
    -----
    If all l_i read so far are equal, the test requests more data, because t would be infinite.

    References
    ----------
    A. Korattikara, Y. Chen and M. Welling (2014), "Austerity in MCMC land: cutting the Metropolis-Hastings budget",
    algorithm 1.
    S. K. Wang and A. A. Tsiatis (1987), "Approximately optimal one-parameter boundaries for group sequential trials".

    Examples
    --------
    >>> from steinkit.samplers import AusterityTest
    >>> AusterityTest(epsilon=0.05, batch_size=100).thresholds(400).round(3)
    array([1.66 , 1.653, 1.65 ])
    """

    name = "austerity"
    default_batch = 500

    epsilon: float = 0.05
    alpha: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.alpha, "alpha", lambda a: 0.5 <= a <= 1.0, "in [1/2, 1]")

    def decide(self, stage: Stage) -> Decision:
        """Return a decision if |mean - mu_0| exceeds G_j standard errors, or if b = N.

        Parameters
        ----------
        stage : interface.Stage
            Level, and statistics of the data read so far.

        Returns
        -------
        interface.Decision
            ``decided``, ``accepted`` (valid only if decided), and ``next_size``, which is m.
        """
        at_end = stage.seen == stage.size
        threshold = 0.0 if at_end else self.thresholds(stage.size)[stage.number]
        return Decision(*sequential_t_test(stage, threshold, self.first_batch(stage.size)))

    def thresholds(self, size: int) -> Floats:
        """Compute the thresholds G_j for all stages except the last.

        Parameters
        ----------
        size : int
            Number of data points N.

        Returns
        -------
        ndarray, shape (ceil(N / m) - 1,)
            The thresholds in standard errors of the mean. For stages that cannot reach a decision, the thresholds are
            about 1e150 instead of infinity.
        """
        return _thresholds(self.epsilon, self.alpha, self.first_batch(size), size)


@lru_cache(maxsize=64)
def _thresholds(epsilon: float, alpha: float, batch: int, size: int) -> Floats:
    """Compute thresholds from Student's t quantiles for all stages except the last."""
    from scipy.special import stdtrit

    b = np.arange(batch, size, batch, dtype=np.float64)
    quantiles = np.full(len(b), NEVER)
    testable = b > 1.0
    if epsilon > 0.0:
        quantiles[testable] = -stdtrit(b[testable] - 1.0, min(epsilon, 0.5))
    thresholds: Floats = np.clip(quantiles, 0.0, NEVER) * (b / size) ** (0.5 - alpha)
    thresholds.setflags(write=False)
    return thresholds


Bound = float | str


def concentration(stage: Stage, epsilon: float, factor: float) -> tuple[bool, bool, int]:
    """Accept if mean > mu_0.

    The test ends if |mean - mu_0| > c_b or b = N.

    The bound c_b is defined in the module docstring. The next stage reads gamma b data points.
    """
    N, b = stage.size, stage.seen
    gap = stage.mean - (stage.level - stage.offset) / (N / stage.temperature)
    delta = epsilon * (_POWER - 1.0) / (_POWER * (stage.number + 1.0) ** _POWER)
    L = math.log(5.0 / delta) if delta > 0.0 else math.inf  # no decision before b = N if epsilon is 0
    rho = 1.0 - (b - 1.0) / N if 2 * b <= N else (1.0 - b / N) * (1.0 + 1.0 / b)
    c = math.sqrt(stage.variance * 2.0 * rho * L / b) + _RANGE_FACTOR * 2.0 * stage.bound * L / b
    return abs(gap) > c or b == N, gap > 0.0, math.ceil(min(factor * b, N))


@dataclass(frozen=True)
class ConcentrationTest(SequentialTest):
    """Approximate Metropolis test based on a concentration inequality.

    The error bound holds at every sample size. The test reads more data than the other sequential tests.

    Parameters
    ----------
    epsilon : float, default 0.01
        Error allowed for the *whole* test, in [0, 1]. With a value of 0, the test reads all the data.
    batch_size : int, optional
        Number of data points in the first stage. The default is min(100, N).
    bound : float or "oracle", default "oracle"
        Bound C on |log p(x_i | theta') - log p(x_i | theta)| over all data points and moves. The value "oracle" scans
        all the data at each step for the smallest valid bound. The diagnostic ``oracle_cost`` reports the cost of the
        scans.
    factor : float, default 2.0
        Growth factor gamma of the sample size per stage, which must be above 1.

    Raises
    ------
    UsageError
        If a parameter is out of range.

    Notes
    -----
    If C is smaller than a log ratio, the error may exceed epsilon. The test does not detect this.

    References
    ----------
    R. Bardenet, A. Doucet and C. Holmes (2014), "Towards scaling up Markov chain Monte Carlo: an adaptive subsampling
    approach", algorithm 2.
    R. Bardenet and O.-A. Maillard (2015), "Concentration inequalities for sampling without replacement", theorem 4.3.

    Examples
    --------
    >>> from steinkit.samplers import ConcentrationTest
    >>> ConcentrationTest(0.05, bound=2.0).first_batch(10_000)
    100
    """

    name = "concentration"
    needs_bound = True
    default_batch = 100

    epsilon: float = 0.01
    bound: Bound = "oracle"
    factor: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        number(self.factor, "factor", lambda x: 1.0 < x < math.inf, "above 1")
        if isinstance(self.bound, str) and self.bound != "oracle":
            raise UsageError(f'`bound` must be a positive number or "oracle"; got {self.bound!r}')
        if not isinstance(self.bound, str):
            positive(self.bound, "bound")

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """Name of the scan cost if the bound is "oracle", and an empty string otherwise."""
        return ("oracle_cost",) if self.bound == "oracle" else ()

    @property
    def constant_bound(self) -> float | None:
        """Bound C if it is a number, and None otherwise."""
        return None if isinstance(self.bound, str) else float(self.bound)

    def bounds(self, moves: Moves) -> Floats:
        """Return the given bound C, or compute it for each move by scanning the data.

        Parameters
        ----------
        moves : interface.Moves
            Moves of the n chains. The moves contain states and proposals of shape (n, d) and log ratios for all the
            data.

        Returns
        -------
        ndarray, shape (n,)
            Bounds on |l_i|, one per move.
        """
        if self.constant_bound is not None:
            return np.full(len(moves.states), self.constant_bound)
        return np.array([np.abs(terms).max() for terms in moves.log_ratios()])

    def decide(self, stage: Stage) -> Decision:
        """Return a decision if |mean - mu_0| exceeds the bound c_b, or if b = N.

        Parameters
        ----------
        stage : interface.Stage
            Level, bound C of the move, and statistics of the data read so far.

        Returns
        -------
        interface.Decision
            ``decided``, ``accepted`` (valid only if decided), and ``next_size``, which is gamma b rounded up.
        """
        return Decision(*concentration(stage, self.epsilon, self.factor))
