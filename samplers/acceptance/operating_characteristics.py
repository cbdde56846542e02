"""How often a sequential test errs, and how much it reads.

The austerity test looks at shares pi_1 < pi_2 < ... < pi_J = 1 of N data and stops at the first look whose standardised
mean exceeds a threshold, |z_j| > G_j. For many data, at a true mean of

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
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, share
from steinkit.describe.results import Brief
from steinkit.errors import UsageError
from steinkit.sample import Floats

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
    try:
        means = np.asarray(mean, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"mean must be a number or an array of numbers; received {mean!r}") from None
    if not np.isfinite(means).all():
        raise UsageError(f"mean must be finite; received {mean!r}")
    fractions, thresholds = interim_looks(first_fraction, epsilon, alpha)
    flat = np.minimum(np.abs(means), _LARGEST_MEAN).ravel()
    found = [
        _walk(flat[first : first + _MEANS_AT_ONCE], fractions, thresholds)
        for first in range(0, max(len(flat), 1), _MEANS_AT_ONCE)
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
