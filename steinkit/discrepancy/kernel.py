"""The kernel Stein discrepancy: the largest gap between sample and target over the unit ball of a Stein kernel.

With the score s = grad log p and a base kernel k, the Stein kernel is

    k0(x, y) = tr grad_x grad_y k + <grad_x k, s(y)> + <grad_y k, s(x)> + k <s(x), s(y)>,

whose mean under the target is zero in either argument. For a sample with weights w that sum to one,

    V-statistic:  KSD^2 = sum_ij w_i w_j k0(x_i, x_j),
    U-statistic:  KSD^2 = sum_{i != j} w_i w_j k0(x_i, x_j) / sum_{i != j} w_i w_j     over the *draws* i, j.

A draw that repeats an earlier one is another draw: its pairs with the earlier one count in both. The V-statistic is the
squared discrepancy of the sample itself, never negative. The U-statistic estimates the squared discrepancy of the
distribution that independent draws come from, without bias, and can be negative.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit.compilation import announced_compilation
from steinkit.discrepancy.kernels import BaseKernel, compiled_form, fitted
from steinkit.discrepancy.preparation import Prepared, prepare
from steinkit.discrepancy.stein_kernels import IMQ_FAMILY, add_rows, stein_row
from steinkit.discrepancy.threads import interruptible, thread_count
from steinkit.errors import InputError, UsageError
from steinkit.sample import DistinctSample, Floats, Sample, as_sample
from steinkit.target import Target

_STRIPES = 16  # fixed, so that sums are added in the same order whatever the number of threads
_ROWS_A_CALL = 64


@dataclass(frozen=True, eq=False)
class KernelSteinDiscrepancy:
    """A kernel Stein discrepancy. The n points are the sample's distinct points in order of first appearance.

    Attributes
    ----------
    value : float
    statistic : str
        "v" or "u".
    squared : bool
        Whether `value` is the squared discrepancy or its root.
    kernel : IMQ, GaussianKernel or MaternKernel
        The base kernel with its parameters, the scale filled in.
    sample : DistinctSample
        Points, weights, counts, names.
    scores : ndarray, shape (n, d)
        Score of the target at the points.
    witness : ndarray, shape (n,)
        sum_j w_j k0(x_i, x_j) at each point i: proportional to the function of mean zero under the target that tells
        sample and target apart best. Its mean under the sample is the squared V-statistic, whatever `statistic` is.
    seconds : dict
        Wall time spent on "scores" and "pairs".
    warnings : tuple of str
        What was merged or left out, and what a reader should know before the number.
    """

    value: float
    statistic: Literal["v", "u"]
    squared: bool
    kernel: BaseKernel
    sample: DistinctSample
    scores: Floats
    witness: Floats
    seconds: dict[str, float]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        what = f"{'squared ' if self.squared else ''}{self.statistic.upper()}-statistic"
        return (
            f"<KernelSteinDiscrepancy {self.value:.6g}, {what}, {self.kernel}, "
            f"{len(self.sample)} points in {self.sample.dim} dimensions>"
        )


def kernel_stein_discrepancy(
    draws: Sample | ArrayLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    kernel: str | BaseKernel = "imq",
    statistic: Literal["v", "u"] = "v",
    squared: bool = False,
    n_jobs: int = 1,
) -> KernelSteinDiscrepancy:
    """Measure how far a sample is from its target with a Stein kernel: closed form, time O(n^2 d), memory O(n d).

    A value near zero proves little where modes lie far apart: the score does not know the modes' shares, so a sample
    that misses a mode can have a small discrepancy.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, d) or (chains, draws, d)
    target : Target, optional
        Without finite bounds.
    scores : array_like, shape (n, d), optional
        Scores at the draws in place of a target.
    weights : array_like, shape (n,), optional
    kernel : {"imq", "gaussian", "matern"} or IMQ, GaussianKernel, MaternKernel
        Names stand for ``IMQ(scale=1, exponent=-0.5)``, and for Gaussian and Matern kernels scaled by the median
        distance.
    statistic : {"v", "u"}
    squared : bool
        Give the squared discrepancy. A U-statistic can be negative, so it is given squared only.
    n_jobs : int
        Threads; -1 for all processors. The result does not depend on it.

    Returns
    -------
    KernelSteinDiscrepancy

    Raises
    ------
    UsageError
        If a setting cannot be honoured, or the target has finite bounds.
    InputError
        If sample, scores and weights do not fit together, the numbers overflow, or a U-statistic is asked of one draw.

    References
    ----------
    Gorham and Mackey (2017), Measuring sample quality with kernels, ICML. Chwialkowski, Strathmann and Gretton (2016),
    A kernel test of goodness of fit, ICML. Liu, Lee and Jordan (2016), A kernelized Stein discrepancy, ICML.
    """
    if statistic not in ("v", "u"):
        raise UsageError(f'statistic must be "v" or "u"; received {statistic!r}')
    if statistic == "u" and not squared:
        raise UsageError("a U-statistic can be negative and then has no root; ask for it with squared=True")
    threads = thread_count(n_jobs)
    began = time.perf_counter()
    prepared = prepare_on_whole_space(draws, target, scores=scores, weights=weights)
    points = prepared.points
    base, notes = fitted(kernel, points.points)
    seen = time.perf_counter()
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        others, diagonal = _sums_over_others(base, prepared, threads)
        witness = others + points.weights * diagonal
        if statistic == "v":
            power = max(float(points.weights @ witness), 0.0)  # k0 is positive definite; rounding may say otherwise
        else:
            power = _u_statistic(points, _draw_probabilities(draws, weights), others, diagonal)
    if not (np.isfinite(power) and np.isfinite(witness).all()):
        raise InputError("the discrepancy overflows: draws or scores are too large; rescale them")
    if statistic == "u" and points.merged:
        notes += (
            "repeated draws are not independent: pairs of repeats raise the U-statistic above its unbiased value",
        )
    return KernelSteinDiscrepancy(
        value=power if squared else float(np.sqrt(power)),
        statistic=statistic,
        squared=squared,
        kernel=base,
        sample=points,
        scores=prepared.scores,
        witness=witness,
        seconds={"scores": seen - began, "pairs": time.perf_counter() - seen},
        warnings=prepared.notes + notes,
    )


def prepare_on_whole_space(
    draws: Sample | ArrayLike, target: Target | None, *, scores: ArrayLike | None, weights: ArrayLike | None
) -> Prepared:
    """`prepare`, for measures that know no bounds of the support."""
    if isinstance(target, Target) and target.bounds is not None and np.isfinite(target.bounds).any():
        raise UsageError(
            "the kernel Stein discrepancy does not treat finite bounds of the support yet, and this target has some; "
            "use graph_stein_discrepancy, or transform the coordinates to the whole space"
        )
    return prepare(draws, target, scores=scores, weights=weights, bounds=None)


def _draw_probabilities(draws: Sample | ArrayLike, weights: ArrayLike | None) -> Floats:
    """Probability of each draw, repeats apart, shape (draws,)."""
    sample = as_sample(draws)
    return sample.probabilities if weights is None else replace(sample, weights=np.asarray(weights)).probabilities


def _u_statistic(points: DistinctSample, draw_weights: Floats, others: Floats, diagonal: Floats) -> float:
    """Mean of k0 over pairs of different draws, two repeats of one point among them.

    Repeats a, b of point i put sum_{a != b} v_a v_b = w_i^2 - sum_a v_a^2 on the pair (x_i, x_i).
    """
    carried = points.inverse >= 0
    squares = np.bincount(points.inverse[carried], weights=draw_weights[carried] ** 2, minlength=len(points))
    repeats = np.where(points.counts > 1, points.weights**2 - squares, 0.0)
    pairs = float((draw_weights * (1.0 - draw_weights)).sum())
    if carried.sum() < 2 or not pairs > 0.0:
        raise InputError("a U-statistic needs two draws that carry weight; this sample has one: add draws, or use V")
    return float(points.weights @ others + repeats @ diagonal) / pairs


def _sums_over_others(base: BaseKernel, prepared: Prepared, threads: int) -> tuple[Floats, Floats]:
    """sum_{j != i} w_j k0(x_i, x_j) and k0(x_i, x_i), both of shape (n,)."""
    form = compiled_form(base)
    weights = prepared.points.weights
    n = len(weights)
    across, upright = columns(prepared)
    stripes = min(_STRIPES, n)
    sums = np.zeros((stripes, n))
    interrupted = Event()

    def fill(stripe: int) -> None:
        reach = _ROWS_A_CALL * stripes
        for first in range(stripe, n, reach):
            if interrupted.is_set():
                return
            last = min(first + reach, n)
            add_rows(*form, across, upright, weights, first, last, stripes, sums[stripe])

    def work() -> None:
        if threads == 1:
            for stripe in range(stripes):
                fill(stripe)
            return
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, range(stripes)))

    with announced_compilation():
        interruptible(work, interrupted)
    return sums.sum(axis=0), stein_diagonal(base, prepared.scores)


def columns(prepared: Prepared) -> tuple[Floats, Floats]:
    """Points and scores transposed, (d, n), as the compiled kernels take them."""
    return np.ascontiguousarray(prepared.points.points.T), np.ascontiguousarray(prepared.scores.T)


def stein_diagonal(base: BaseKernel, scores: Floats) -> Floats:
    """k0(x, x) = -2 d phi'(0) + phi(0) |s(x)|^2 for scores (n, d), shape (n,)."""
    family, scale, exponent = compiled_form(base)
    nowhere = np.zeros((scores.shape[1], 1))
    at_rest = np.empty(1)
    with announced_compilation():
        stein_row(family, scale, exponent, nowhere, nowhere, 0, 0, at_rest)
    with np.errstate(over="ignore"):  # the callers refuse what is not finite
        height = np.power(scale, 2.0 * exponent) if family == IMQ_FAMILY else 1.0
        return np.asarray(at_rest[0] + height * (scores**2).sum(axis=1))
