"""Kernel Stein discrepancy and Stein thinning.

With the score s = grad log p and a base kernel k, the Stein kernel of the Langevin operator is

    k0(x, y) = tr grad_x grad_y k + <grad_x k, s(y)> + <grad_y k, s(x)> + k <s(x), s(y)>.

This kernel has mean zero under the target in either argument. The module `stein_kernel` defines the Stein kernel for
targets with finite bounds. For a sample with weights w that sum to one,

    V-statistic:  KSD^2 = sum_ij w_i w_j k0(x_i, x_j),
    U-statistic:  KSD^2 = sum_{i != j} w_i w_j k0(x_i, x_j) / sum_{i != j} w_i w_j     over the *draws* i, j.

The U-statistic treats repeated draws as separate draws. The V-statistic is the squared discrepancy of the sample and is
never negative. For independent draws, the U-statistic is an unbiased estimate of the squared discrepancy of their
distribution. The U-statistic may be negative.

**Stein thinning** selects draws greedily, with replacement. The j-th selected draw is the x_i that minimizes

    k0(x_i, x_i) / 2 + sum_{l < j} k0(x_i, x_(l)).

This draw also minimizes the kernel Stein discrepancy of the first j selected draws. With k0 alone, the selected draws
have a smaller spread than the sample. Scores are large in the tails and in narrow regions, so few draws from these
regions are selected. Moment terms for the location and spread of each coordinate are therefore added to k0:

    k0(x, y) + r kappa sum_f f(x) f(y) / (2 d),      f = T e_j / |.|  and  T (x_j - m_j) e_j / |.|,

for the operator T. Here, m is the mean of the sample, |.| is the root mean square of a feature over the draws, and
kappa is the mean of k0(x, x) over the draws. Every f has mean zero under the target, so the sum is again a Stein
kernel. The base kernel of this sum has a part that is linear in x. Setting r = 0 gives the original algorithm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import require_flags, require_type
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.bracket import Documented, require_ordered
from steinkit.discrepancy.kernel.base import BaseKernel, kernel_of
from steinkit.discrepancy.kernel.rounding import pair_sum_rounding
from steinkit.discrepancy.kernel.stein_kernel import SteinKernel, run_pieces, stein_kernel_for
from steinkit.discrepancy.operators import RiemannianLangevin
from steinkit.errors import Caution, InputError, UsageError, caution, cautious, reservations
from steinkit.runtime.compilation import announced_compilation
from steinkit.runtime.deadlines import thread_count, within_time
from steinkit.sample import DistinctSample, Floats, Integers
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.units import Units, UnitsLike


@dataclass(frozen=True, eq=False)
class KernelSteinDiscrepancy(Documented):
    """Kernel Stein discrepancy of a sample, with a bracket for rounding errors.

    The n points are the distinct points of the sample, in order of first appearance.

    Attributes
    ----------
    value : float
        The discrepancy, or its square if `squared` is True.
    lower, upper : float
        Proved bounds on the exact value, for any order of summation. Points and scores are assumed to be exact.
    statistic : {"v", "u"}
    squared : bool
        True if `value` is the squared discrepancy.
    kernel : IMQ or GaussianKernel
        Base kernel with its scale.
    bounds : ndarray, shape (d, 2), or None
        Bounds of the support.
    sample : DistinctSample
        Points in raw units, with weights, counts and names.
    scores : ndarray, shape (n, d)
        Score of the target at the points, in raw units.
    units : Units
        Units of the value and of the kernel's scale.
    witness : ndarray, shape (n,)
        Witness function sum_j w_j k0(x_i, x_j) at each point. The function has mean 0 under the target, and it is
        positive where the sample has too much mass. The mean over the sample is the squared V-statistic.
    seconds : dict of str to float
        Wall time of the stages "scores" and "pairs".
    warnings : tuple of str
        Notes on merged or omitted draws, and on the interpretation of the value.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((500, 2))
    >>> result = sk.kernel_stein_discrepancy(draws, scores=-draws)
    >>> bool(result.lower <= result.value <= result.upper)
    True
    """

    measure: ClassVar[str] = "ksd"
    title: ClassVar[str] = "kernel Stein discrepancy"
    meaning: ClassVar[str] = (
        "The score does not depend on the weights of distant modes. A sample that misses or overrepresents a "
        "mode can have the same discrepancy as an exact sample."
    )

    value: float
    lower: float
    upper: float
    statistic: Literal["v", "u"]
    squared: bool
    kernel: BaseKernel
    bounds: Floats | None
    sample: DistinctSample
    scores: Floats
    units: Units
    witness: Floats
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    def _details(self) -> dict[str, Any]:
        return {"statistic": self.statistic, "squared": self.squared, "kernel": self.kernel.document()}

    @property
    def full_title(self) -> str:
        """Title that includes the name of the statistic."""
        return f"{'squared ' if self.squared else ''}{self.title} ({self.statistic.upper()}-statistic)"

    def _more(self) -> list[str]:
        numbers = ", ".join(f"{key}={value!r}" for key, value in vars(self.kernel).items() if value is not None)
        return [f"The base kernel is {type(self.kernel).__name__}({numbers})."]

    def __repr__(self) -> str:
        what = f"{'squared ' if self.squared else ''}{self.statistic.upper()}-statistic"
        return (
            f"<KernelSteinDiscrepancy {self.value:.6g}, {what}, {self.kernel}, "
            f"{len(self.sample)} points in {self.sample.dim} dimensions{reservations(self.warnings)}>"
        )


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
    statistic: Literal["v", "u"] = "v",
    squared: bool = False,
    operator: RiemannianLangevin | None = None,
    max_seconds: float | None = None,
    n_jobs: int = 1,
) -> KernelSteinDiscrepancy:
    """Compute the kernel Stein discrepancy of a sample.

    The running time is O(n^2 d), and the memory use is O(n d).

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, d) or (chains, draws, d)
        The sample, in any form that `as_sample` accepts. Repeated points are merged, and their weights are added.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in `draws`.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    bounds : array_like, shape (d, 2), optional
        Lower and upper bounds of each coordinate, which are infinite if the coordinate is unbounded. The default is the
        bounds of the target. The Stein functions vanish at finite bounds and are reduced within a distance of about the
        kernel's scale.
    units : {"raw", "own"}, array_like of shape (d,), Units or mapping, default "raw"
        Scale by which the draws are divided and the scores are multiplied. The scale is 1 ("raw"), the standard
        deviations of the draws ("own"), or a scale for each coordinate, as an array or by name, ``{"scale": {...}}``.
        The scale of the kernel is in these units.
    kernel : {"imq", "gaussian"}, IMQ or GaussianKernel, default "imq"
        Base kernel. The names stand for ``IMQ(scale=1, exponent=-0.5)`` and for a Gaussian kernel with the median
        distance as its scale.
    statistic : {"v", "u"}, default "v"
        The V-statistic includes the pairs of a draw with itself, and the U-statistic does not.
    squared : bool, default False
        If True, the squared discrepancy is returned. This option is required for a U-statistic, which may be negative.
    operator : RiemannianLangevin, optional
        Diffusion operator that replaces the Langevin operator, with a diagonal covariance. For a covariance w(x) I and
        its divergence grad w, the discrepancy is that of the base kernel w(x) k(x, y) w(y). A function w that increases
        with |x| controls moments [4]_.
    max_seconds : float, optional
        Time limit in seconds.
    n_jobs : int, default 1
        Number of threads. The value -1 uses all processors. The result does not depend on this number.

    Returns
    -------
    KernelSteinDiscrepancy
        The value, its bracket, and the witness function at the distinct points.

    Raises
    ------
    UsageError
        If an argument is not valid.
    InputError
        If the sample, scores, weights and bounds are inconsistent, if the numbers overflow, if the kernel's scale is
        not between 1e-30 and 1e30, or if a U-statistic of one draw is requested.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    If the target has distant modes, a small value does not prove that a sample is good, because the score does not
    depend on the weights of the modes.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with kernels", ICML 2017.
    .. [2] K. Chwialkowski, H. Strathmann and A. Gretton, "A kernel test of goodness of fit", ICML 2016.
    .. [3] Q. Liu, J. Lee and M. Jordan, "A kernelized Stein discrepancy for goodness-of-fit tests", ICML 2016.
    .. [4] H. Kanagawa, A. Barp, A. Gretton and L. Mackey, "Controlling moments with kernel Stein discrepancies", 2022.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws, target = np.random.default_rng(0).standard_normal((500, 2)), sk.targets.Normal([0.0, 0.0])
    >>> exact, biased = (sk.kernel_stein_discrepancy(x, target).value for x in (draws, draws + 0.3))
    >>> biased > 2 * exact
    True
    """
    require_flags(squared=squared)
    if not isinstance(statistic, str) or statistic not in ("v", "u"):
        raise UsageError(f'`statistic` must be "v" or "u"; got {statistic!r}')
    if statistic == "u" and not squared:
        raise UsageError("`squared` must be True for a U-statistic, which may be negative; got False")
    threads = thread_count(n_jobs)
    began = time.perf_counter()
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds).in_units(units)
    points = prepared.points
    base, notes = kernel_of(kernel).fitted(points.points)
    require_type((RiemannianLangevin, type(None)), "a RiemannianLangevin or None", operator=operator)
    stein = stein_kernel_for(base, prepared, operator)
    seen = time.perf_counter()
    with announced_compilation(), np.errstate(over="ignore", invalid="ignore"):  # `_finite` checks the result
        others, diagonal = stein.sums_over_others(points.weights, threads), stein.diagonal()
        witness = _finite(others + points.weights * diagonal)
        if statistic == "v":
            value, lower, upper = _v_statistic(stein, points, witness)
        else:
            value, lower, upper = _u_statistic(stein, points, prepared.given.probabilities, others, diagonal)
    if statistic == "u" and points.merged:
        notes += (Caution("repeated draws are not independent: pairs of repeats bias the U-statistic upwards"),)
    if not squared:
        value, lower, upper = math.sqrt(value), math.sqrt(lower), math.sqrt(upper)
        lower, upper = math.nextafter(lower, 0.0), math.nextafter(upper, math.inf)
    return KernelSteinDiscrepancy(
        value=value,
        lower=lower,
        upper=upper,
        statistic=statistic,
        squared=squared,
        kernel=base,
        bounds=prepared.raw.bounds,
        sample=prepared.raw.points,
        scores=prepared.raw.scores,
        units=prepared.units,
        witness=witness,
        seconds={"scores": seen - began, "pairs": time.perf_counter() - seen},
        warnings=prepared.notes + notes,
    )


def _finite(values: Floats) -> Floats:
    if not np.isfinite(values).all():
        raise InputError("the kernel Stein discrepancy overflows: rescale draws and scores")
    return values


def _v_statistic(stein: SteinKernel, points: DistinctSample, witness: Floats) -> tuple[float, float, float]:
    """Return the squared V-statistic and its bracket.

    The statistic is not negative.
    """
    value = float(_finite(np.array(points.weights @ witness)))
    error = pair_sum_rounding(stein, points.weights)
    require_ordered(0.0, value + error, witness=witness)
    return max(value, 0.0), max(value - error, 0.0), value + error


def _u_statistic(
    stein: SteinKernel, points: DistinctSample, draw_weights: Floats, others: Floats, diagonal: Floats
) -> tuple[float, float, float]:
    """Return the mean of k0 over pairs of different draws, and its bracket.

    The pairs include repeats of a point.

    The repeats a, b of point i have weight sum_{a != b} v_a v_b = w_i^2 - sum_a v_a^2 on the pair (x_i, x_i). The
    rounding error of this difference is a small multiple of n w_i^2 times the unit roundoff, where n is the number of
    draws. The relative error of the sum over pairs has the same size.
    """
    carried = points.inverse >= 0
    squares = np.bincount(points.inverse[carried], weights=draw_weights[carried] ** 2, minlength=len(points))
    repeats = np.where(points.counts > 1, points.weights**2 - squares, 0.0)
    pairs = float((draw_weights * (1.0 - draw_weights)).sum())
    if carried.sum() < 2 or not pairs > 0.0:
        raise InputError("the U-statistic requires two draws with positive weight; got one: use the V-statistic")
    value = float(_finite(np.array((points.weights @ others + repeats @ diagonal) / pairs)))
    error = pair_sum_rounding(stein, points.weights, further=8 * len(draw_weights)) / pairs
    error += abs(value) * 2.0**-52 * (len(draw_weights) + 8)
    return value, value - error, value + error


def greedy_selection(
    prepared: ScoredSample, m: int, kernel: str | BaseKernel = "imq", moment_weight: float = 0.3
) -> Integers:
    """Select m distinct points of a sample by Stein thinning, and return indices."""
    base, _ = kernel_of(kernel).fitted(prepared.points.points)
    caution(prepared.notes)
    stein = stein_kernel_for(base, prepared)
    return _greedy(stein, _moments(stein, prepared.points.weights, moment_weight), m)


def _moments(stein: SteinKernel, weights: Floats, moment_weight: float) -> Floats:
    """Return features f of shape (2 d, n) for the kernel sum_f f(x) f(y).

    The shape is (0, n) if the moment weight is 0.
    """
    dim = len(stein.points)
    if moment_weight == 0.0:
        return np.empty((0, len(stein)))
    with np.errstate(all="ignore"):  # the kernel sums are checked for overflow
        centred = stein.points - (stein.points @ weights)[:, None]
        found = np.concatenate([stein.drift, stein.drift * centred + stein.covariance_diagonal()])
        size = np.sqrt(found**2 @ weights)[:, None]
        share = moment_weight * float(weights @ stein.diagonal()) / (2 * dim)
        return np.asarray(np.sqrt(share) * found / np.where(size > 0.0, size, 1.0))


def _greedy(stein: SteinKernel, moments: Floats, m: int) -> Integers:
    """Return the indices of the m selected points.

    If several points are tied, the first one is selected.
    """
    n = len(stein)
    chosen = np.empty(m, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        gain = 0.5 * (stein.diagonal() + (moments**2).sum(axis=0))
    row = np.empty((1, n))

    def choose(_: int) -> Iterator[None]:
        for place in range(m):
            chosen[place] = gain.argmin()
            stein.rows(chosen[place : place + 1], out=row)
            with np.errstate(over="ignore", invalid="ignore"):  # an overflow raises an error after the loop
                np.add(gain, row[0], out=gain)
                if len(moments):
                    np.add(gain, moments[:, chosen[place]] @ moments, out=gain)
            yield

    run_pieces(choose, doing="selecting draws")
    if not np.isfinite(gain).all():
        raise InputError("the Stein kernel overflows: rescale draws and scores")
    return chosen
