"""The kernel Stein discrepancy: the largest gap between sample and target over the unit ball of a Stein kernel.

With the score s = grad log p and a base kernel k, the Stein kernel of the Langevin operator is

    k0(x, y) = tr grad_x grad_y k + <grad_x k, s(y)> + <grad_y k, s(x)> + k <s(x), s(y)>,

whose mean under the target is zero in either argument. `stein_kernel` has it for other operators, `boundary` for
targets with finite bounds. For a sample with weights w that sum to one,

    V-statistic:  KSD^2 = sum_ij w_i w_j k0(x_i, x_j),
    U-statistic:  KSD^2 = sum_{i != j} w_i w_j k0(x_i, x_j) / sum_{i != j} w_i w_j     over the *draws* i, j.

A draw that repeats an earlier one is another draw: its pairs with the earlier one count in both. The V-statistic is the
squared discrepancy of the sample itself, never negative. The U-statistic estimates the squared discrepancy of the
distribution that independent draws come from, without bias, and can be negative.

**Stein thinning** chooses the draws that together come nearest to the target. Greedily, draw after draw, repeats
allowed: the j-th is the x_i among the n draws that minimises

    k0(x_i, x_i) / 2 + sum_{l < j} k0(x_i, x_(l)),

which is the one that makes the kernel Stein discrepancy of the j draws chosen so far smallest. Left to itself it keeps
less than the sample's spread: scores are largest in the tails and in narrow places, and few draws are chosen there. So
k0 is taken with moments, which ask for location and spread coordinate by coordinate:

    k0(x, y) + r kappa sum_f f(x) f(y) / (2 d),      f = T e_j / |.|  and  T (x_j - m_j) e_j / |.|,

for the operator T, the sample's mean m, the root mean square |.| of a feature over the draws, and the mean kappa of
k0(x, x) over them. Every f has mean zero under the target, so that this is a Stein kernel, too: its base kernel has a
part linear in x. r = 0 gives the paper's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, require_flags, whole
from steinkit.chains import split_chains
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.bracket import outwards, require_ordered
from steinkit.discrepancy.kernel.base_kernels import BaseKernel, kernel_of
from steinkit.discrepancy.kernel.rounding import pair_sum_rounding
from steinkit.discrepancy.kernel.stein_kernel import SteinKernel, run_pieces, stein_kernel_at, stein_kernel_for
from steinkit.discrepancy.operators import RiemannianLangevin
from steinkit.errors import Caution, InputError, UsageError, caution, cautious, reservations
from steinkit.measurement import BracketResult
from steinkit.runtime.compilation import announced_compilation
from steinkit.runtime.deadlines import require_time, thread_count, within_time
from steinkit.sample import DistinctSample, Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.units import Units, UnitsLike

_ROWS_AT_ONCE = 64
_EPS = 2.0**-50  # relative, of a product with a power of two that is not whole, and the same of that power's exponent


@dataclass(frozen=True)
class BootstrapTest:
    """Result of a kernel test on the same draws; see `steinkit.kernel_stein_test`.

    Attributes
    ----------
    p_value, flip_probability : float
    bootstrap : int
        Replicates.
    """

    p_value: float
    flip_probability: float
    bootstrap: int

    def __str__(self) -> str:
        return (
            f"Under the target such a number or a larger one has probability p = {self.p_value:.3g} (wild bootstrap, "
            f"{self.bootstrap} replicates, signs that flip with probability {self.flip_probability:.3g})."
        )


@dataclass(frozen=True, eq=False)
class KernelSteinDiscrepancy(BracketResult):
    """A kernel Stein discrepancy. The n points are the sample's distinct points in order of first appearance.

    Attributes
    ----------
    value : float
        The discrepancy, or its square: see `squared`.
    lower, upper : float
        The number that `value` is a rounded form of lies between them: proved from the sizes of the terms, whatever
        the order of summation. Points and scores are taken as exact. A U-statistic's lie around the squared
        discrepancy, as its value does.
    statistic : str
        "v" or "u".
    squared : bool
        Whether `value` is the squared discrepancy or its root.
    kernel : IMQ, GaussianKernel or MaternKernel
        The base kernel with its parameters, the scale filled in.
    operator : RiemannianLangevin, or None
        None for Langevin's.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support that were respected.
    sample : DistinctSample
        Points, in raw units, weights, counts, names.
    scores : ndarray, shape (n, d)
        Score of the target at the points, in raw units.
    units : Units
        In which the value and the kernel's scale are meant.
    witness : ndarray, shape (n,)
        sum_j w_j k0(x_i, x_j) at each point i; see `witness_at`. Its mean under the sample is the squared V-statistic,
        whatever `statistic` is.
    seconds : dict
        Wall time spent on "scores" and "pairs".
    warnings : tuple of str
        What was merged or left out, and what a reader should know before the number.
    test : BootstrapTest, optional
        Of the draws, where it was asked for.
    """

    measure: ClassVar[str] = "ksd"
    title: ClassVar[str] = "kernel Stein discrepancy"
    meaning: ClassVar[str] = (
        "The score does not know the mode weights that lie far apart: a sample that misses one, or visits it too "
        "often, can score as well as a right one."
    )

    value: float
    lower: float
    upper: float
    statistic: Literal["v", "u"]
    squared: bool
    kernel: BaseKernel
    operator: RiemannianLangevin | None
    bounds: Floats | None
    sample: DistinctSample
    scores: Floats
    units: Units
    witness: Floats
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    test: BootstrapTest | None = None

    def to_dict(self) -> dict[str, Any]:
        """List the number, its bracket and its kernel as ``steinkit score --json`` does.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {
            "measure": self.measure,
            "value": self.value,
            "lower": self.lower,
            "upper": self.upper,
            "statistic": self.statistic,
            "squared": self.squared,
            "kernel": self.kernel.document(),
            **({} if self.test is None else asdict(self.test)),
            "seconds": self.seconds,
        }

    @property
    def full_title(self) -> str:
        """The title with the statistic."""
        return f"{'squared ' if self.squared else ''}{self.title} ({self.statistic.upper()}-statistic)"

    def _more(self) -> list[str]:
        numbers = ", ".join(f"{key}={value!r}" for key, value in vars(self.kernel).items() if value is not None)
        kernel = f"Its kernel is {type(self.kernel).__name__}({numbers})."
        return [kernel if self.test is None else f"{kernel} {self.test}"]

    def __repr__(self) -> str:
        what = f"{'squared ' if self.squared else ''}{self.statistic.upper()}-statistic"
        return (
            f"<KernelSteinDiscrepancy {self.value:.6g}, {what}, {self.kernel}, "
            f"{len(self.sample)} points in {self.sample.dim} dimensions{reservations(self.warnings)}>"
        )

    def witness_at(self, points: DrawsLike, target: Target | None = None, *, scores: ArrayLike | None = None) -> Floats:
        """The witness function h(x) = sum_j w_j k0(x, x_j) at any points: where, and which way, the sample goes wrong.

        Its mean under the target is zero and its mean under the sample the squared V-statistic: h is positive where
        the sample has too much mass. Divided by the V-statistic's root, it is the function of the Stein kernel's unit
        ball that tells sample and target apart best. Time O(m n d) for m points, or O(m n d^2) for an operator whose
        covariance is a full matrix; memory O((m + n) d) or O((m + n) d^2).

        Parameters
        ----------
        points : Sample or array_like, shape (m,), (m, d) or (chains, draws, d)
            Within the bounds.
        target : Target, optional
            The target of the discrepancy.
        scores : array_like, shape (m, d), optional
            Its scores at the points in place of a target.

        Returns
        -------
        ndarray, shape (m,)
            h at the points, in the unit of the squared discrepancy.

        Raises
        ------
        UsageError
            If there is no score, or more than one; a target's is taken before one stored in the points.
        InputError
            If the points have another dimension than the sample, or lie outside the bounds, or the numbers overflow.
        """
        given = replace(as_sample(points), weights=None)
        if given.dim != self.sample.dim:
            raise InputError(f"the points have {given.dim} coordinates, the sample has {self.sample.dim}")
        there = ScoredSample.of(given, target, scores=scores, bounds=self.bounds)
        here = len(there.points)
        both = stein_kernel_at(
            self.kernel,
            np.concatenate([there.points.points, self.sample.points]),
            np.concatenate([there.scores, self.scores]),
            self.bounds,
            self.operator,
            units=self.units,
            names=self.sample.names,
        )
        values = np.empty(here)

        def fill(_: int) -> Iterator[None]:
            for first in range(0, here, _ROWS_AT_ONCE):
                some = np.arange(first, min(first + _ROWS_AT_ONCE, here))
                rows = both.rows(some, here)[:, here:]
                with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
                    values[some] = [both.factor * (row @ self.sample.weights) for row in rows]
                yield

        run_pieces(fill)
        return _finite(values)[there.points.inverse]


@cautious
@within_time
def kernel_stein_discrepancy(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    units: UnitsLike = "raw",
    kernel: str | BaseKernel = "imq",
    operator: RiemannianLangevin | None = None,
    statistic: Literal["v", "u"] = "v",
    squared: bool = False,
    max_seconds: float | None = None,
    n_jobs: int = 1,
) -> KernelSteinDiscrepancy:
    """Measure how far a sample is from its target with a Stein kernel: closed form, time O(n^2 d), memory O(n d).

    An operator whose covariance is a full matrix takes time O(n^2 d^2) and memory O(n d^2).

    A value near zero proves little where modes lie far apart: the score does not know the modes' shares, so a sample
    that misses a mode can have a small discrepancy.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        The sample. Repeated points are merged and their weights summed.
    target : Target, optional
        What the sample claims to represent. Exactly one of `target`, `scores` and scores stored in the sample is
        needed.
    scores : array_like, shape (n, d), optional
        Scores at the draws in place of a target.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit.
    bounds : array_like, shape (d, 2), optional
        Bounds of the support, rows (lower, upper), infinities where there are none; the target's own if not given. The
        Stein functions vanish at finite bounds, within a distance of the order of the kernel's scale.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        In which draws and scores are taken: none, which is the definition; the sample's own standard deviations; or a
        scale for each coordinate, as an array or by name, {"scale": {...}}. The value and the kernel's scale are
        then those of the scaled draws.
    kernel : {"imq", "gaussian", "matern"} or IMQ, GaussianKernel, MaternKernel
        Names stand for ``IMQ(scale=1, exponent=-0.5)``, and for Gaussian and Matern kernels scaled by the median
        distance.
    operator : RiemannianLangevin, optional
        Another Stein operator than Langevin's: a function of raw coordinates. In units of scale S it is the same
        diffusion's, with S^-1 a S^-1.
    statistic : {"v", "u"}
        With the pairs of a draw with itself, or without.
    squared : bool
        Give the squared discrepancy. A U-statistic can be negative, so it is given squared only.
    max_seconds : float, optional
        Time, from the call on, after which to give up.
    n_jobs : int
        Threads; -1 for all processors. The result does not depend on it.

    Returns
    -------
    KernelSteinDiscrepancy
        The value, a bracket for its rounding, and the witness at the distinct points.

    Raises
    ------
    UsageError
        If a setting cannot be honoured.
    InputError
        If sample, scores, weights, bounds and operator do not fit together, the numbers overflow, or a U-statistic is
        asked of one draw.
    TimeLimitError
        If `max_seconds` pass first.

    References
    ----------
    Gorham and Mackey (2017), Measuring sample quality with kernels, ICML. Chwialkowski, Strathmann and Gretton (2016),
    A kernel test of goodness of fit, ICML. Liu, Lee and Jordan (2016), A kernelized Stein discrepancy, ICML.
    """
    require_flags(squared=squared)
    if not isinstance(statistic, str) or statistic not in ("v", "u"):
        raise UsageError(f'statistic must be "v" or "u"; received {statistic!r}')
    if statistic == "u" and not squared:
        raise UsageError("a U-statistic can be negative and then has no root; ask for it with squared=True")
    threads = thread_count(n_jobs)
    began = time.perf_counter()
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds).in_units(units)
    points = prepared.points
    base, notes = kernel_of(kernel).fitted(points.points)
    stein = stein_kernel_for(base, prepared, operator)
    seen = time.perf_counter()
    with announced_compilation(), np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        others, diagonal = stein.sums_over_others(points.weights, threads), stein.diagonal()
        witness = others + points.weights * diagonal
        shown = _finite(stein.factor * witness)
        if statistic == "v":
            power, lower, upper = _v_statistic(stein, points, witness)
        else:
            shares = prepared.given.probabilities
            power, lower, upper = _u_statistic(stein, points, shares, others, diagonal)
    if statistic == "u" and points.merged:
        said = "repeated draws are not independent: pairs of repeats raise the U-statistic above its unbiased value"
        notes += (Caution(said),)
    exponent = stein.exponent
    if not squared:
        power, exponent = math.sqrt(power), 0.5 * exponent
        lower, upper = math.nextafter(math.sqrt(lower), 0.0), math.nextafter(math.sqrt(upper), math.inf)
    power, lower, upper = _times_power(power, lower, upper, exponent)
    return KernelSteinDiscrepancy(
        value=power,
        lower=lower,
        upper=upper,
        statistic=statistic,
        squared=squared,
        kernel=base,
        operator=operator,
        bounds=prepared.raw.bounds,
        sample=prepared.raw.points,
        scores=prepared.raw.scores,
        units=prepared.units,
        witness=shown,
        seconds={"scores": seen - began, "pairs": time.perf_counter() - seen},
        warnings=prepared.notes + notes,
    )


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise InputError("the discrepancy overflows: draws or scores are too large; rescale them")
    return values


def _times_power(value: float, lower: float, upper: float, exponent: float) -> tuple[float, float, float]:
    """A number and its bracket times 2^exponent, the bracket rounded outwards."""
    whole = math.floor(exponent)
    if whole != exponent:
        part, error = 2.0 ** (exponent - whole), _EPS * (1.0 + abs(exponent))
        value *= part
        lower, upper = part * (lower - error * abs(lower)), part * (upper + error * abs(upper))
    with np.errstate(over="ignore"):
        value = float(np.ldexp(value, whole))
    _finite(np.array([value]))
    return value, outwards(lower, whole), outwards(upper, whole, up=True)


def _v_statistic(stein: SteinKernel, points: DistinctSample, witness: Floats) -> tuple[float, float, float]:
    """Squared V-statistic and its bracket; k0 is positive semi-definite, though rounding may say otherwise."""
    power = float(points.weights @ witness)
    error = pair_sum_rounding(stein, points.weights)
    _finite(np.array([power]))
    require_ordered(0.0, power + error, witness=witness)
    return max(power, 0.0), max(power - error, 0.0), power + error


def _u_statistic(
    stein: SteinKernel, points: DistinctSample, draw_weights: Floats, others: Floats, diagonal: Floats
) -> tuple[float, float, float]:
    """Mean of k0 over pairs of different draws, two repeats of one point among them, and its bracket.

    Repeats a, b of point i put sum_{a != b} v_a v_b = w_i^2 - sum_a v_a^2 on the pair (x_i, x_i). That difference has
    an error of a few times the number of draws in units of roundoff times w_i^2, as has the sum over pairs relatively.
    """
    carried = points.inverse >= 0
    squares = np.bincount(points.inverse[carried], weights=draw_weights[carried] ** 2, minlength=len(points))
    repeats = np.where(points.counts > 1, points.weights**2 - squares, 0.0)
    pairs = float((draw_weights * (1.0 - draw_weights)).sum())
    if carried.sum() < 2 or not pairs > 0.0:
        raise InputError("a U-statistic needs two draws that carry weight; this sample has one: add draws, or use V")
    power = float(points.weights @ others + repeats @ diagonal) / pairs
    _finite(np.array([power]))
    draws = len(draw_weights)
    error = pair_sum_rounding(stein, points.weights, further=8 * draws) / pairs
    error += abs(power) * 2.0**-52 * (draws + 8)
    return power, power - error, power + error


@within_time
def thin(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    m: int,
    scores: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    units: UnitsLike = "own",
    kernel: str | BaseKernel = "imq",
    moment_weight: float = 0.3,
    operator: RiemannianLangevin | None = None,
    max_seconds: float | None = None,
) -> Sample:
    """Choose m draws that represent the target well, correcting bias and burn-in as far as the draws allow.

    Time O(n m d), memory O(n d). What the discrepancy cannot see, thinning cannot mend: mode weights far apart.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        Weights are not used, but draws of weight zero are never chosen.
    target : Target, optional
        What the draws are to represent. Exactly one of `target`, `scores` and scores stored in the sample is needed.
    m : int
        How many draws to choose; may exceed n.
    scores : array_like, shape (n, d) or (chains, draws, d), optional
        Scores at the draws in place of a target.
    bounds : array_like, shape (d, 2), optional
        Bounds of the support; the target's own if not given.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        In which draws and scores are taken: the sample's own standard deviations; none, which is the paper's
        definition; or a scale for each coordinate, as an array or by name, {"scale": {...}}. Raw units lose the
        coordinates whose scale is far from the kernel's.
    kernel : {"imq", "gaussian", "matern"} or IMQ, GaussianKernel, MaternKernel
        As in `kernel_stein_discrepancy`. Its scale is in the units.
    moment_weight : float
        How much locations and spreads count beside the kernel; 0 is the paper's algorithm. Three blocks of 1000
        draws of each of thirteen real posteriors keep, in 50 draws, at least .8 of the standard deviation of every
        coordinate in 36 of 39 (worst .67, in a funnel); with 0 in 22 (worst .00, where modes lie far apart), for a
        kernel Stein discrepancy that is some 6 % lower. .3 was chosen on one block of each, on which all 13 do; of the
        others 23 of 26, and 14 with 0.
    operator : RiemannianLangevin, optional
        Another Stein operator than Langevin's.
    max_seconds : float, optional
        Time, from the call on, after which thinning ends without an answer.

    Returns
    -------
    Sample
        The m draws in the order of their choice, equally weighted, with all that is known of them; a draw may come
        more than once. Equal draws are represented by the first of them. `draw` tells which draws they are: where the
        sample has no draw numbers, they are counted from 0 in each chain, in the order given, so that without chains
        ``thinned.draw`` holds the rows that were chosen.

    Raises
    ------
    UsageError
        If m is not a positive whole number, or another setting cannot be honoured.
    InputError
        If sample, scores and bounds do not fit together, or the numbers overflow.
    TimeLimitError
        If time runs out before the last draw is chosen.

    References
    ----------
    Riabiz et al. (2022), Optimal thinning of MCMC output, JRSS B 84(4), algorithm 1.
    """
    whole(m, "m", 1)
    number(moment_weight, "moment_weight", lambda weight: 0.0 <= weight < np.inf, "at least 0 and finite")
    prepared = ScoredSample.of(draws, target, scores=scores, bounds=bounds)
    require_time("draws were chosen")
    prepared = prepared.in_units(units)
    require_time("draws were chosen")
    base, _ = kernel_of(kernel).fitted(prepared.points.points)
    caution(prepared.notes)
    stein = stein_kernel_for(base, prepared, operator)
    chosen = _greedy(stein, _moments(stein, prepared.points.weights, moment_weight), int(m))
    sample = prepared.given
    if sample.draw is None:
        sample = replace(sample, draw=_numbers(sample))
    thinned = replace(sample, weights=None)[prepared.points.first[chosen]]
    return thinned if scores is None else replace(thinned, scores=prepared.raw.scores[chosen])


def _numbers(sample: Sample) -> Integers:
    """Number of each draw within its chain, from 0, in the order given; shape (n,)."""
    numbers = np.empty(len(sample), dtype=np.int64)
    for rows in split_chains(sample)[0]:
        numbers[rows] = np.arange(len(rows))
    return numbers


def _moments(stein: SteinKernel, weights: Floats, moment_weight: float) -> Floats:
    """Features whose inner products are what moments add to the kernel, shape (2 d, n), or none at all."""
    dim = len(stein.points)
    if moment_weight == 0.0:
        return np.empty((0, len(stein)))
    with np.errstate(all="ignore"):  # what is not finite is refused with the kernel
        centred = stein.points - (stein.points @ weights)[:, None]
        found = np.concatenate([stein.drift, stein.drift * centred + stein.covariance_diagonal()])
        size = np.sqrt(found**2 @ weights)[:, None]
        share = moment_weight * float(weights @ stein.diagonal()) / (2 * dim)
        return np.asarray(np.sqrt(share) * found / np.where(size > 0.0, size, 1.0))


def _greedy(stein: SteinKernel, moments: Floats, m: int) -> Integers:
    """Numbers of the m points chosen; of equally good points the first."""
    n = len(stein)
    chosen = np.empty(m, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        gain = 0.5 * (stein.diagonal() + (moments**2).sum(axis=0))
    row = np.empty((1, n))

    def choose(_: int) -> Iterator[None]:
        for place in range(m):
            chosen[place] = gain.argmin()
            stein.rows(chosen[place : place + 1], out=row)
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
                np.add(gain, row[0], out=gain)
                if len(moments):
                    np.add(gain, moments[:, chosen[place]] @ moments, out=gain)
            yield

    run_pieces(choose, doing="draws were chosen")
    if not np.isfinite(gain).all():
        raise InputError("the Stein kernel overflows: draws or scores are too large; rescale them")
    return chosen
