"""Test that moves the draws with a Markov kernel that preserves the target.

Suppose that a Markov kernel leaves the target P invariant and moves a draw x to y. If x has the distribution P, then y
also has this distribution, and

    E f(y) = E f(x)        for every function f with an expectation under P.

The test compares the mean of D = f(y) - f(x) over the draws with zero. The functions f are bounded, so P need not have
moments. The Markov kernel evaluates the density at points that no draw visited. The test can therefore detect errors in
tails, in the necks of funnels and at edges of the support. The scores at the draws contain no information about these
errors. The map f -> E[f(y) | x] - f(x) is a Stein operator of P (Barbour 1988).

**Functions.** Let z_j = (x_j - median) / scale, where the scale is half the distance between the 16% and 84%
quantiles, and let c be z clipped to [-3, 3]. The functions are

    location c_j,   spread c_j^2,   tails 1[z_j < -1] and 1[z_j > 1],   dependence c_i c_j,
    and the log density, clipped to five standard deviations about its median.

**The Markov kernel** (`steinkit.diagnosis.exact_moves`) consists of a Hamiltonian Monte Carlo transition, four
random-scale Metropolis moves, and, for hierarchical structures, two group-scale moves. Hamiltonian Monte Carlo is
omitted if the target has no gradient or no log density. f(y) is averaged over the second half of the transitions, which
reduces the variance of D if the kernel mixes fast.

**Standard errors.** Equal draws are merged into one draw with their total weight and therefore count as one
observation. The variance of the mean of D accounts for the autocorrelation within chains. The p-value is computed from
Student's t distribution, with a Bonferroni correction for the functions and the analyses.

**Three analyses**, after 4, 12 and 36 transitions, use the fractions 0.1, 0.6 and 0.3 of the level. The test stops
after the first analysis if its p-value is below 0.00001, and after the second analysis unless its p-value is between
0.00001 and 0.15.

References
----------
A. D. Barbour (1988), "Stein's method and Poisson process convergence", Journal of Applied Probability 25A.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from
from steinkit.autocorrelation import long_run_times, tail_probability
from steinkit.containers.reading import DrawsLike
from steinkit.diagnosis import exact_moves
from steinkit.diagnosis.bias.drift import Drift
from steinkit.diagnosis.exact_moves import Composite, Density, RandomScale, State
from steinkit.draws import ChainDraws
from steinkit.errors import InputError, UsageError
from steinkit.finding import Finding, Kind
from steinkit.result import Result, Statement, in_json
from steinkit.runtime.deadlines import one_thread_in_libraries, seconds_left, within_time
from steinkit.sample import Floats, Integers, first_occurrences
from steinkit.scored_sample import ScoredSample
from steinkit.target import Seed, Target
from steinkit.text import compact, probability
from steinkit.units import require_variation

_ANALYSES = ((4, 0.1), (12, 0.6), (36, 0.3))
"""Number of transitions before each analysis, and the fraction of the level that the analysis uses."""

_CLEAR, _OPEN = 1e-5, 0.15  # the test stops if the p-value of an analysis is below the first number or above the second
_CLIP, _HEIGHTS = 3.0, 5.0
_MOST_PAIRS = 2016
_FOR_MEDIAN = 64  # number of functions that define the usual autocorrelation time
_MOST_NUMBERS, _MOST_DRAWS, _FEWEST = 50_000, 20_000, 100  # limits on the size and the number of moved draws
_SECONDS = 10.0  # default time limit for evaluating the density
_PATIENCE = 3.0  # the test is omitted if it would take longer than this multiple of the time limit
_PROBED, _MANY = 64, 16  # number of draws used to time the density, and the factor for a second measurement
_SHARE_OF_PROBES = 0.1  # largest fraction of the time limit for the second measurement
_EDGE = 0.005  # the support has an edge if more than this fraction of small moves end at zero density
_STUCK = 0.02  # acceptance rate below which the test is omitted
_PROBED_FOR_EDGE = 200  # number of draws that are moved once to detect an edge when the test is omitted
_QUADRATURE = 0.1  # largest error of a log ratio


@dataclass(frozen=True, eq=False)
class InvarianceTest(Result):
    """Result of testing draws with an exact Markov kernel.

    Attributes
    ----------
    p : float or None
        The p-value, or None if the test was not possible.
    reason : str
        Reason why the test was not possible, or an empty string if it was possible.
    z : float
        Largest change in the mean of a function, in standard errors.
    finding : Finding or None
        The finding that corresponds to the function with the smallest p-value.
    draws : int
        Number of distinct draws that were moved.
    transitions : int
        Number of transitions of each draw.
    acceptance : float
        Acceptance rate.
    evaluations : int
        Number of points at which the log density or the score was evaluated.
    edge : float
        Fraction of small moves within the bounds that end at a point with zero density.
    drift : Drift or None
        Changes in means and standard deviations under the Markov kernel.
    warnings : tuple of str
        Notes on draws that the test did not use.
    is_slow : bool
        True if evaluating the log density at all the draws is too slow. The verdict then omits the short exact run.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(1).standard_normal((1000, 2)) + [0.5, 0.0]
    >>> found = sk.invariance_test(draws, sk.targets.Normal([0.0, 0.0]))
    >>> str(found.finding), found.transitions
    ('x1 is too high', 4)
    """

    p: float | None
    reason: str = ""
    z: float = math.nan
    finding: Finding | None = None
    draws: int = 0
    transitions: int = 0
    acceptance: float = math.nan
    evaluations: int = 0
    edge: float = 0.0
    drift: Drift | None = None
    warnings: tuple[str, ...] = ()
    is_slow: bool = False

    @property
    def has_edge(self) -> bool:
        """True if the support has an edge, other than a bound, near the draws.

        Stein's identity does not hold for such a target.
        """
        return self.edge > _EDGE

    def headline(self) -> str:
        """State the largest change, or the reason for omitting the test.

        Returns
        -------
        str
            A sentence without the final period.
        """
        if self.p is None:
            return f"Invariance was not tested: {self.reason}"
        moved = f"An exact Markov kernel moved {self.draws} draws {self.transitions} times"
        return f"{moved}; the largest change in a mean is {self.z:.1f} standard errors ({probability(self.p)})"

    def statements(self) -> tuple[Statement, ...]:
        """State whether the moves leave the distribution of the draws unchanged.

        Returns
        -------
        tuple of Statement
        """
        return (Statement("number", "Are the draws invariant?", ". ".join([self.headline(), *self.warnings]) + "."),)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as it appears in JSON.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        names = ("p", "reason", "draws", "transitions", "evaluations", "edge", "z", "acceptance", "warnings")
        return {"measure": "invariance", **{name: in_json(getattr(self, name)) for name in names}}


@within_time
def invariance_test(
    draws: DrawsLike,
    target: Target,
    *,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    max_seconds: float | None = None,
    rng: Seed = 0,
) -> InvarianceTest:
    """Test draws by moving them with an exact Markov kernel for the target.

    The moves do not change the distribution of exact draws. The test does not require reference draws, moments of the
    target or a smooth density. The test accounts for weights, repeated draws and autocorrelation.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or any object that `as_sample` accepts
        Draws in the order in which they were generated.
    target : Target
        A target with a log density or a score function. Without a log density, changes in the log density are computed
        by integrating the score along the moves.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target. The log density is -inf beyond any other edge of
        the support.
    max_seconds : float, optional
        Time limit in seconds.
    rng : int, numpy.random.Generator or None
        Seed for the Markov kernel.

    Returns
    -------
    InvarianceTest
        The result of the test. If the density is random or too slow, or almost no proposal is accepted, `p` is None and
        `reason` explains why.

    Raises
    ------
    UsageError, InputError
        If the shapes of draws, weights and bounds do not match the target, or a value is not valid.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    The test moves at most max(50,000 / d, 1,000) draws of d coordinates. These draws are spread evenly over the sample.
    If evaluating the density for all of them would take longer than ten seconds (or half of `max_seconds`), only every
    second, fourth, ... draw is moved, and a warning states how many draws were moved. Only in this case does the result
    depend on the speed of the machine.

    References
    ----------
    .. [1] A. D. Barbour, "Stein's method and Poisson process convergence", Journal of Applied Probability 25A, 1988.
    .. [2] J. Geweke, "Getting it right: joint distribution tests of posterior simulators", JASA 99, 2004.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> target = sk.targets.Normal([0.0, 0.0])
    >>> draws = np.random.default_rng(1).standard_normal((1000, 2))
    >>> sk.invariance_test(draws, target).p > 0.05, sk.invariance_test(1.2 * draws, target).p < 0.001
    (True, True)
    """
    if target is None:
        raise UsageError(
            "the invariance test requires a target: it evaluates the density at points other than the draws"
        )
    prepared = ScoredSample.of(draws, target, weights=weights, bounds=bounds)
    require_variation(prepared.points.points, prepared.points.names)
    return invariance_of(prepared, rng)


def invariance_of(prepared: ScoredSample, rng: Seed) -> InvarianceTest:
    """Test a scored sample against its target."""
    assert prepared.target is not None
    density = Density(prepared.target, prepared.bounds)
    with one_thread_in_libraries():
        try:
            cloud, note, is_slow = _affordable(_distinct(prepared.draws, density), density)
        except InputError as error:  # the density is random or too slow
            return replace(untested(prepared, str(error), rng), is_slow=isinstance(error, _TooSlowError))
        known, n = prepared.target.has_log_density, len(cloud.points)
        state = State(cloud.points, prepared.target.log_density(cloud.points) if known else np.zeros(n))
        if not np.isfinite(state.log_density).all():
            prepared.target.log_density_of_draws(prepared.given.points)  # raises an error that identifies the draw
        try:
            found = _analysed(cloud, density, state, generator_from(rng))
        except InputError as error:  # the score is known only at the draws
            return untested(prepared, str(error), rng)
    return replace(found, warnings=(*note, *found.warnings), evaluations=density.evaluations, is_slow=is_slow)


def untested(prepared: ScoredSample, reason: str, rng: Seed) -> InvarianceTest:
    """Return a result without a p-value, but with an estimate of `edge`.

    For this estimate, at most two hundred draws are moved once.
    """
    target, draws = prepared.target, prepared.draws
    if target is None or not target.has_log_density:
        return InvarianceTest(None, reason)
    density, generator = Density(target, prepared.bounds), generator_from(rng)
    probe = RandomScale(density, exact_moves.axes(draws.points, draws.shares)[1], generator)
    ends = time.perf_counter() + min(_SECONDS, 0.5 * seconds_left())
    for rows in np.array_split(generator.permutation(len(draws.points))[:_PROBED_FOR_EDGE], 2):
        probe.move(State(draws.points[rows], np.zeros(len(rows))))
        if time.perf_counter() > ends:
            break
    return InvarianceTest(None, reason, edge=probe.outside, evaluations=density.evaluations)


def _distinct(draws: ChainDraws, density: Density) -> ChainDraws:
    """Merge equal draws.

    Coarsely rounded draws are first replaced by random points that round to the given values.
    """
    points, target = draws.points, density.target
    if draws.is_coarse.any():
        finer = draws.unrounded(density.bounds)
        inside = np.isfinite(target.proposal_log_density(finer)) if target.has_log_density else np.ones(len(finer))
        points = np.where(inside[:, None] > 0, finer, points)
    first, group = first_occurrences(points)
    shares = np.asarray(np.bincount(group, weights=draws.shares), dtype=np.float64)
    return replace(draws.only(first), points=points[first], shares=shares)


class _TooSlowError(InputError):
    """Error raised if the log density is too slow for the test."""


def _affordable(cloud: ChainDraws, density: Density) -> tuple[ChainDraws, tuple[str, ...], bool]:
    """Thin the draws if moving all of them would take too long.

    Raise InputError if too few draws remain.
    """
    n, dim = cloud.points.shape
    most = min(max(_MOST_NUMBERS // dim, 10 * _FEWEST), _MOST_DRAWS)
    step, allowed = -(-n // most), min(_SECONDS, 0.5 * seconds_left())
    for probed in (_PROBED, _MANY * _PROBED):
        some = State(cloud.points[:probed], np.zeros(min(n, probed)))
        values, times = [], []
        for _ in range(3):  # the first evaluation may include compilation
            began = time.perf_counter()
            values.append(density.at(some, some.points))
            times.append(time.perf_counter() - began)
        if not all(np.array_equal(values[0], each, equal_nan=True) for each in values):
            raise InputError("the log density is random: evaluations at the same draws differ")
        once = min(times) / len(some.points)
        seconds = once * _ANALYSES[1][0] * exact_moves.evaluations_per_transition(density.target)
        if n / step * seconds <= allowed or 3 * _MANY * min(times) > _SHARE_OF_PROBES * allowed:
            break  # otherwise, most of the time may be a fixed cost per call
    slow = 1
    while n / (step * slow) * seconds > allowed and n / (step * slow) >= 2 * _FEWEST:
        slow *= 2
    moved = cloud.only(slice(None, None, step * slow)) if step * slow > 1 else cloud
    if len(moved.points) * seconds > _PATIENCE * allowed:
        raise _TooSlowError("the log density is too slow to evaluate")  # without the time, which differs between runs
    note = f"Invariance was tested on {len(moved.points)} of {n} distinct draws"
    cost = " because the density is slow to evaluate" if slow > 1 else ""
    return moved, (note + cost,) if step * slow > 1 else (), slow > 1


def _analysed(cloud: ChainDraws, density: Density, state: State, rng: np.random.Generator) -> InvarianceTest:
    """Move the draws, and test the changes in the means of the functions."""
    points, known = cloud.points, density.target.has_log_density
    functions = _Functions.of(cloud, state.log_density, known)
    kernel = Composite(density, state, cloud.shares, rng)
    if not known and (reason := _unsuited(density, state, kernel.scales.directions)):
        return InvarianceTest(None, reason)
    before, done, p, rates = functions(state), 0, 1.0, list[float]()
    for total, share in _ANALYSES:
        later = [k for k in range(done + 1, total + 1) if 2 * k > total]
        means: Floats = np.zeros_like(before)
        squares = np.zeros((2, *points.shape))
        for k in range(done + 1, total + 1):
            state, rate = kernel.move(state)
            rates.append(rate)
            if k in later:
                means += functions(state) / len(later)
                squares += np.stack([state.points, state.points**2]) / len(later)
        worst, z, this = _largest_change(means - before, cloud)
        done, p = total, min(p, this / share)
        if this < _CLEAR or (share > _ANALYSES[0][1] and this > _OPEN):
            break
    accepted, edge = float(np.mean(rates)), kernel.scales.outside
    if accepted < _STUCK:
        return InvarianceTest(None, f"the Markov kernel accepts only {accepted:.1%} of its moves", edge=edge)
    return InvarianceTest(
        p=p,
        z=z,
        finding=functions.finding(worst, z, cloud.names),
        draws=len(points),
        transitions=done,
        acceptance=accepted,
        edge=edge,
        drift=Drift.of(cloud, squares[0], squares[1]),
    )


def _unsuited(density: Density, start: State, directions: Floats) -> str:
    """Return the reason, if any, why scores cannot be integrated along moves."""
    some = State(start.points[:_PROBED], start.log_density[:_PROBED])
    there = some.points + directions[np.arange(len(some.points)) % len(directions)]
    rough, fine = density.at(some, there), density.at(some, there, nodes=3 * exact_moves.NODES)
    with np.errstate(invalid="ignore"):
        error = np.abs(rough - fine)[fine > -_HEIGHTS]
    if not error.max(initial=0.0) > _QUADRATURE:
        return ""
    return (
        f"the score is not smooth enough for integration along moves (errors of {error.max():.2g}); pass log_density="
    )


@dataclass(frozen=True, eq=False)
class _Functions:
    """Bounded functions of draws, in robust units.

    Attributes
    ----------
    centre, scale : ndarray, shape (d,)
    level, spread : float
        Median and scale of the log density. If `spread` is 0, the log density is not used.
    pairs : ndarray of int, shape (2, number of pairs)
        Pairs of coordinates.
    correlation : ndarray
        Correlations of these pairs.
    """

    centre: Floats
    scale: Floats
    level: float
    spread: float
    pairs: Integers
    correlation: Floats

    @classmethod
    def of(cls, cloud: ChainDraws, heights: Floats, has_heights: bool) -> _Functions:
        """Estimate the center and the scale from quantiles of the draws."""
        points, shares = cloud.points, cloud.shares
        middle, scale = exact_moves.robust_units(points, shares)
        pairs = np.stack(np.triu_indices(points.shape[1], 1))
        if pairs.shape[1] > _MOST_PAIRS:
            pairs = pairs[:, np.linspace(0, pairs.shape[1] - 1, _MOST_PAIRS).astype(np.int64)]
        c = np.clip((points - middle) / scale, -_CLIP, _CLIP)
        c -= shares @ c
        correlation = np.array([shares @ (c[:, i] * c[:, j]) for i, j in pairs.T])
        below, level, above = (float(each) for each in exact_moves.quantiles(heights[:, None], shares)[:, 0])
        return cls(middle, scale, level, has_heights * 0.5 * (above - below), pairs, correlation)

    def __call__(self, state: State) -> Floats:
        """Evaluate the functions and return an array of shape (k, n)."""
        z = np.ascontiguousarray(((state.points - self.centre) / self.scale).T)
        c = np.clip(z, -_CLIP, _CLIP)
        parts = [c, c * c, z < -1.0, z > 1.0, c[self.pairs[0]] * c[self.pairs[1]]]
        if self.spread > 0.0:
            parts.append(np.clip((state.log_density - self.level) / self.spread, -_HEIGHTS, _HEIGHTS)[None])
        return np.vstack(parts)

    def finding(self, k: int, z: float, names: Sequence[str]) -> Finding:
        """Return the finding for the k-th function, with z > 0 if its mean increased."""
        dim = len(self.centre)
        block, j = divmod(k, dim)
        kind = Kind.SHAPE
        named: tuple[str, ...] = (names[j],)
        if k >= 4 * dim + len(self.correlation):
            kind, named, direction = Kind.SCALE, tuple(names), "too wide" if z > 0.0 else "too narrow"
        elif k >= 4 * dim:
            kind, named = Kind.DEPENDENCE, tuple(names[i] for i in self.pairs[:, k - 4 * dim])
            direction = f"correlation too {'weak' if z * self.correlation[k - 4 * dim] > 0.0 else 'strong'}"
        elif block >= 2:
            side, offset = (("below", -1.0), ("above", 1.0))[block - 2]
            threshold = compact(self.centre[j] + offset * self.scale[j])
            direction = f"too {'few' if z > 0.0 else 'many'} draws {side} {threshold}"
        else:
            kind = (Kind.LOCATION, Kind.SCALE)[block]
            direction = (("too low", "too high"), ("too narrow", "too wide"))[block][z < 0.0]
        return Finding(kind, named, direction, z, source="invariance")


def _largest_change(changes: Floats, cloud: ChainDraws) -> tuple[int, float, float]:
    """Return the most significantly changed function, its z-score and its p-value.

    The p-value is corrected for the number of functions.
    """
    mean = changes @ cloud.shares
    parts = (changes - mean[:, None]) * cloud.shares
    error = np.sqrt(np.einsum("kn,kn->k", parts, parts))
    z = np.divide(mean, error, out=np.zeros_like(mean), where=error > 0.0)
    size = 1.0 / float(cloud.shares @ cloud.shares)

    spread = np.unique(np.linspace(0, len(mean) - 1, _FOR_MEDIAN).round().astype(np.int64))
    times = long_run_times(parts, cloud.chains)
    slower = np.maximum(times, np.median(times[spread]))
    z /= np.sqrt(slower)
    tails = tail_probability(np.abs(z), size / slower)
    worst = int(np.lexsort((-np.abs(z), tails))[0])  # tails may underflow
    return worst, float(z[worst]), min(1.0, 2.0 * len(mean) * float(tails[worst]))
