"""Sequences that are no chains: independent draws, Sobol points, and kernel herding.

Their discrepancies fall at known rates, about n^-1/2 for independent draws and n^-1 (up to logarithms) for the other
two: yardsticks for a measure of sample quality, and for samplers.

Kernel herding on [0, 1], in the space of functions with h(0) = 0 and |h|^2 = integral of h'(x)^2, whose kernel is
k(x, y) = min(x, y) and in which the uniform distribution has the mean embedding mu(x) = x - x^2 / 2, is

    x_1 = argmax mu(x),      x_t = argmax over x of  t mu(x) - sum over s < t of k(x, x_s).

The function to maximise is made of parabolas: where c of the points so far lie above x its slope is t (1 - x) - c. Each
parabola has its top at 1 - c / t, which is hence the next point: 1, 1/2, 1/3, 3/4, ...; where two tops are of
the same height the lower point is taken. The distance in this space of n points from the uniform distribution is
the square root of the integral of (F_n(x) - x)^2, the L_2 star discrepancy, which cannot fall below 1 / (2 sqrt(3) n).

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
from steinkit.samplers.acceptance.interface import option
from steinkit.samplers.chains.draws import Draws, Kind, chain_seeds, generator
from steinkit.samplers.chains.likelihood_terms import as_target
from steinkit.samplers.registry import sampler
from steinkit.target import Target, require_target

# Heights of two parabolas closer than this share of one step's are one and the same.
_TIE = 1e-12
_LARGEST_SOBOL = 1 << 30


@sampler()
def iid(target: Target, *, draws: int, chains: int = 1, seed: int | Sequence[int] = 0) -> Draws:
    """Independent draws from a target that can be drawn from.

    Parameters
    ----------
    target : Target
        One with a sampler (`Target.can_sample`).
    draws : int
        Draws of each chain.
    chains : int
        Number of independent samples.
    seed : int or sequence of int
        Seed of the run, or one for each chain.

    Returns
    -------
    Draws
        With a cost of 0: evaluations of the likelihood that a target's own sampler may need are not counted.

    Raises
    ------
    UsageError
        If the target cannot be drawn from, or a number is not positive.

    Examples
    --------
    >>> import steinkit as sk
    >>> from steinkit.samplers import iid
    >>> iid(sk.targets.Normal([0.0, 0.0]), draws=5, chains=3).points.shape
    (3, 5, 2)
    """
    draws, chains = whole(draws, "draws", 1), whole(chains, "chains", 1)
    seeds = chain_seeds(seed, chains)
    points = np.stack([as_target(target).sample(draws, generator(s, Kind.PROPOSAL)) for s in seeds])
    return _as_draws(points, target, seeds, {"sampler": "iid", "draws": draws})


@sampler(scramble=option("", "Scramble the Sobol points at random."))
def sobol(
    target: Target, *, draws: int, scramble: bool = False, chains: int = 1, seed: int | Sequence[int] = 0
) -> Draws:
    """The first points of Sobol's low-discrepancy sequence, in the box of a uniform distribution.

    Parameters
    ----------
    target : Uniform
        Of d dimensions, whose box the points fill.
    draws : int
        Points of each chain. Powers of two (less one, if not scrambled) are balanced best.
    scramble : bool
        Scramble the sequence at random (Owen): every point is then uniform, and chains are independent. If not,
        the sequence is the classical one without its first point, the corner of the box.
    chains : int
        Number of sequences; more than one must be scrambled.
    seed : int or sequence of int
        Of the scrambling.

    Returns
    -------
    Draws
        With a cost of 0.

    Raises
    ------
    UsageError
        If the target is not uniform, several chains would be the same, or a number is not positive.
    """
    from scipy.stats import qmc

    require_flags(scramble=scramble)
    draws, seeds = whole(draws, "draws", 1), chain_seeds(seed, whole(chains, "chains", 1))
    chains = len(seeds)
    lower, upper = _box(target, "sobol")
    if chains > 1 and not scramble:
        raise UsageError(f"{chains} chains of the same Sobol points; ask for one, or for scramble=True")
    if draws >= _LARGEST_SOBOL:
        raise UsageError(f"draws must be below {_LARGEST_SOBOL} for Sobol points; received {draws}")
    skipped = 0 if scramble else 1
    exponent = (draws + skipped - 1).bit_length()  # of the next power of two, which scipy makes without a warning
    points = np.empty((chains, draws, len(lower)))
    for chain, chain_seed in enumerate(seeds):
        rng = generator(chain_seed, Kind.PROPOSAL)
        sequence = qmc.Sobol(len(lower), scramble=scramble, bits=53, rng=rng)
        points[chain] = sequence.random_base2(exponent)[skipped : skipped + draws]
    points = _into_box(points, lower, upper)
    return _as_draws(points, target, seeds, {"sampler": "sobol", "draws": draws, "scramble": scramble})


@sampler()
def herding(target: Target, *, draws: int) -> Draws:
    """Kernel herding of a uniform distribution on an interval, with the norm |h|^2 = integral of h'(x)^2.

    Parameters
    ----------
    target : Uniform
        Of one dimension.
    draws : int
        Number of points; the time grows with its square (10,000 take about a second).

    Returns
    -------
    Draws
        One chain; the sequence is deterministic, and shorter ones are its beginnings.

    Raises
    ------
    UsageError
        If the target is not uniform in one dimension, or the number of draws not positive.
    """
    draws = whole(draws, "draws", 1)
    lower, upper = _box(target, "herding")
    if len(lower) != 1:
        raise UsageError(f"herding is for one dimension; the target {target.label!r} has {len(lower)}")
    points = _into_box(_herd(draws)[None, :, None], lower, upper)
    return _as_draws(points, target, (0,), {"sampler": "herding", "draws": draws})


def _herd(n: int) -> Floats:
    """The first n points of the herding sequence on [0, 1]."""
    points = np.empty(n)
    ascending = np.empty(n)
    for t in range(1, n + 1):
        below = ascending[: t - 1]
        above = np.arange(t - 1, -1, -1.0)  # points above each of the t gaps between those so far
        tops = 1.0 - above / t
        tops = np.clip(tops, np.append(0.0, below), np.append(below, 1.0))
        sums = np.append(0.0, np.cumsum(below))  # of the points below each gap
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
        raise UsageError(f"{sampler} is for uniform targets; received {target.label!r}: use targets.Uniform, or iid")
    return target.lower, target.upper


def _into_box(points: Floats, lower: Floats, upper: Floats) -> Floats:
    """Map [0, 1]^d to the box; rounding must not lead out of it."""
    return np.minimum(lower + (upper - lower) * points, upper)


def _as_draws(points: Floats, target: Target, seeds: tuple[int, ...], settings: dict[str, object]) -> Draws:
    names = target.names or default_names(points.shape[2])
    return Draws(points=points, cost=np.zeros(points.shape[:2]), names=names, seeds=seeds, settings=settings)
