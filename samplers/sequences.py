"""Independent draws, Sobol' points and kernel herding.

The discrepancies of these sequences decrease at known rates. The rate is about n^-1/2 for independent draws and n^-1,
up to logarithmic factors, for the other two. These sequences therefore serve as references for measures of sample
quality and for samplers.

Kernel herding on [0, 1] uses the space of functions with h(0) = 0 and |h|^2 = integral of h'(x)^2. The kernel of this
space is k(x, y) = min(x, y). The mean embedding of the uniform distribution is mu(x) = x - x^2 / 2. The points are

    x_1 = argmax mu(x),      x_t = argmax over x of  t mu(x) - sum over s < t of k(x, x_s).

The objective is piecewise quadratic. If exactly c previous points are larger than x, the slope at x is t (1 - x) - c.
Each piece has its maximum at 1 - c / t. The next point is one of these maxima. The sequence begins with 1, 1/2, 1/3,
3/4. If several points are tied, the smallest one is selected. In this space, the distance between n points and the
uniform distribution is the L_2 star discrepancy, defined as the square root of the integral of (F_n(x) - x)^2. This
discrepancy is at least 1 / (2 sqrt(3) n).

References
----------
Y. Chen, M. Welling and A. Smola (2010), "Super-samples from kernel herding", UAI, equations 8 and 9.
R. E. Caflisch (1998), "Monte Carlo and quasi-Monte Carlo methods", Acta Numerica 7.
J. Gorham and L. Mackey (2015), "Measuring sample quality with Stein's method", section 5.5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steinkit.arguments import require_flags, whole
from steinkit.errors import UsageError
from steinkit.sample import Floats, default_names
from steinkit.samplers.chains.draws import Draws, StreamKind, chain_seeds, generator
from steinkit.samplers.registry import OwnOption, sampler
from steinkit.target import Target, require_target

# Maxima that differ by less than this fraction of t are treated as equal.
_TIE = 1e-12
_LARGEST_SOBOL = 1 << 30


@sampler()
def iid(target: Target, *, draws: int, chains: int = 1, seed: int | Sequence[int] = 0) -> Draws:
    """Draw independent samples from a target that supports exact sampling.

    Parameters
    ----------
    target : Target
        Target with `Target.can_sample`.
    draws : int
        Draws per chain.
    chains : int, default 1
        Number of independent samples.
    seed : int or sequence of int, default 0
        Seed for the run, or one seed per chain.

    Returns
    -------
    Draws
        Independent draws with a cost of 0. Likelihood evaluations by the sampler of the target are not counted.

    Raises
    ------
    UsageError
        If the target has no sampler, or if a number is not positive.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import iid
    >>> iid(sk.targets.Normal([0.0, 0.0]), draws=5, chains=3).points.shape
    (3, 5, 2)
    """
    draws, chains = whole(draws, "draws", 1), whole(chains, "chains", 1)
    seeds = chain_seeds(seed, chains)
    require_target(target)
    points = np.stack([target.sample(draws, generator(s, StreamKind.PROPOSAL)) for s in seeds])
    return _as_draws(points, target, seeds, {"sampler": "iid", "draws": draws})


@sampler(scramble=OwnOption("", "Scramble the Sobol' points at random."))
def sobol(
    target: Target, *, draws: int, scramble: bool = False, chains: int = 1, seed: int | Sequence[int] = 0
) -> Draws:
    """Compute Sobol' points in the support of a uniform distribution.

    Parameters
    ----------
    target : Uniform
        Uniform distribution in d dimensions.
    draws : int
        Points per chain. Powers of two (minus one, if the points are not scrambled) give the best balance.
    scramble : bool, default False
        Scramble the sequence at random (Owen). Each point then has a uniform distribution, and chains are independent.
        Otherwise, the sequence is the classical Sobol' sequence without its first point, which is a corner of the box.
    chains : int, default 1
        Number of sequences. More than one sequence requires scrambling.
    seed : int or sequence of int, default 0
        Seed for the scrambling.

    Returns
    -------
    Draws
        Points of all sequences, with a cost of 0.

    Raises
    ------
    UsageError
        If the target is not uniform, if chains would be identical, or if a number is not positive.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.samplers.sobol(sk.targets.Uniform(), draws=3).points.ravel()
    array([0.5 , 0.75, 0.25])
    """
    from scipy.stats import qmc

    require_flags(scramble=scramble)
    draws, seeds = whole(draws, "draws", 1), chain_seeds(seed, whole(chains, "chains", 1))
    chains = len(seeds)
    lower, upper = _box(target, "sobol")
    if chains > 1 and not scramble:
        raise UsageError(f"`chains` must be 1 without scrambling; got {chains}; pass scramble=True")
    if draws >= _LARGEST_SOBOL:
        raise UsageError(f"`draws` must be less than {_LARGEST_SOBOL}; got {draws}")
    skipped = 0 if scramble else 1
    exponent = (draws + skipped - 1).bit_length()  # a power of two because SciPy warns about other lengths
    points = np.empty((chains, draws, len(lower)))
    for chain, chain_seed in enumerate(seeds):
        rng = generator(chain_seed, StreamKind.PROPOSAL)
        sequence = qmc.Sobol(len(lower), scramble=scramble, bits=53, rng=rng)
        points[chain] = sequence.random_base2(exponent)[skipped : skipped + draws]
    points = _into_box(points, lower, upper)
    return _as_draws(points, target, seeds, {"sampler": "sobol", "draws": draws, "scramble": scramble})


@sampler()
def herding(target: Target, *, draws: int) -> Draws:
    """Compute the kernel herding sequence for a uniform distribution on an interval.

    Parameters
    ----------
    target : Uniform
        Uniform distribution in one dimension.
    draws : int
        Number of points. The computing time is quadratic in the number of points (about a second for 10,000 points).

    Returns
    -------
    Draws
        A single chain, with a cost of 0. The sequence is deterministic, and shorter sequences are prefixes of longer
        ones.

    Raises
    ------
    UsageError
        If the target is not uniform in one dimension, or the number of draws is not positive.

    Notes
    -----
    The norm of the function space is |h|^2 = integral of h'(x)^2, for functions with h(0) = 0.

    References
    ----------
    Y. Chen, M. Welling and A. Smola (2010), "Super-samples from kernel herding", UAI, equations 8 and 9.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.samplers.herding(sk.targets.Uniform(), draws=4).points.ravel().round(2)
    array([1.  , 0.5 , 0.33, 0.75])
    """
    draws = whole(draws, "draws", 1)
    lower, upper = _box(target, "herding")
    if len(lower) != 1:
        raise UsageError(f"herding requires a one-dimensional target; got dimension {len(lower)} for {target.label!r}")
    points = _into_box(_herd(draws)[None, :, None], lower, upper)
    return _as_draws(points, target, (0,), {"sampler": "herding", "draws": draws})


def _herd(n: int) -> Floats:
    """Compute the first n points of the herding sequence on [0, 1]."""
    points = np.empty(n)
    ascending = np.empty(n)
    for t in range(1, n + 1):
        below = ascending[: t - 1]
        above = np.arange(t - 1, -1, -1.0)  # number of points above each of the t gaps
        tops = 1.0 - above / t
        tops = np.clip(tops, np.append(0.0, below), np.append(below, 1.0))
        sums = np.append(0.0, np.cumsum(below))  # number of points below each gap
        heights = t * (tops - 0.5 * tops**2) - sums - above * tops
        best = int(np.argmax(heights >= heights.max() - _TIE * t))
        points[t - 1] = tops[best]
        ascending[best + 1 : t] = ascending[best : t - 1].copy()
        ascending[best] = tops[best]
    return points


def _box(target: Target, sampler: str) -> tuple[Floats, Floats]:
    from steinkit.targets import Uniform

    require_target(target)
    if not isinstance(target, Uniform):
        raise UsageError(f"{sampler} requires a targets.Uniform; got {target.label!r}")
    return target.lower, target.upper


def _into_box(points: Floats, lower: Floats, upper: Floats) -> Floats:
    """Map [0, 1]^d to the box.

    Points that rounding errors would move outside the box are clipped.
    """
    return np.minimum(lower + (upper - lower) * points, upper)


def _as_draws(points: Floats, target: Target, seeds: tuple[int, ...], settings: dict[str, object]) -> Draws:
    names = target.names or default_names(points.shape[2])
    return Draws(points=points, cost=np.zeros(points.shape[:2]), names=names, seeds=seeds, settings=settings)
