"""Stein thinning: the draws that together come nearest to the target.

Greedily, draw after draw, repeats allowed: the j-th is the x_i among the n draws that minimises

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

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import checked
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.kernel.base_kernels import BaseKernel, kernel_of
from steinkit.discrepancy.kernel.stein_kernel import SteinKernel, run_pieces, stein_kernel_for
from steinkit.discrepancy.operators import RiemannianLangevin
from steinkit.discrepancy.preparation import prepare
from steinkit.discrepancy.units import UnitsLike
from steinkit.errors import InputError, UsageError, caution
from steinkit.runtime.deadlines import require_time, within_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.target import Target


@checked
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

    Time O(n m d), memory O(n d). What the discrepancy cannot see, thinning cannot mend: shares of modes far apart.

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
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or m < 1:
        raise UsageError(f"m must be a positive whole number of draws; received {m!r}")
    if not 0.0 <= moment_weight < np.inf:
        raise UsageError(f"moment_weight must be a finite number, zero or more; received {moment_weight!r}")
    prepared = prepare(draws, target, scores=scores, weights=None, bounds=bounds)
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
    if sample.chain is None:
        return np.arange(len(sample))
    numbers = np.empty(len(sample), dtype=np.int64)
    for label in np.unique(sample.chain):
        rows = np.flatnonzero(sample.chain == label)
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
