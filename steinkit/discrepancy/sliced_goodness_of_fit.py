"""Goodness-of-fit test with sliced Stein functions.

The functions are learned on one half of the draws and tested on the other half.

On one half of the draws, the program of every coordinate and every principal axis is solved for the optimal phi. The
test function h of phi has mean zero under the target for any phi. The mean of h over the *other* half, divided by its
standard error, is therefore a z-score without selection bias. The halves are then exchanged. The z-score of a direction
is

    z = (z_1 + z_2) / sqrt(3).

The same bias is learned from both halves, so z_1 and z_2 are positively dependent. With the divisor sqrt(2), the test
would therefore reject exact samples too often. Because phi maximizes h, the test is one-sided. The p-value includes a
Bonferroni correction for the number of directions.

**Rounded draws** would lie on the nodes of phi. The slope of phi at the nodes differs from the slope between nodes, so
exact samples would be rejected. Before phi is learned, each value is therefore replaced by a uniform draw from the
interval of numbers that round to this value. The score is left unchanged. The resulting error is on the order of the
squared rounding unit divided by twelve.

The test detects errors in shape that moments do not detect. The test does not detect incorrect mode weights because
scores do not depend on the weights.

**Solution.** No proof of optimality is required because h has mean zero under the target for any phi. The programs of
all directions are therefore solved together by `chain.approximately`, which restricts phi to functions with few nodes.
The mean of h is at least 90% of its maximum. If the bracket of a restricted program is wider than the tolerance,
`solve_slice` tries all of its solvers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from steinkit.autocorrelation import tail_probability
from steinkit.blind_spots import far_apart
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers.base import Settings
from steinkit.discrepancy.graph.spanner.geometry import unjoined
from steinkit.discrepancy.sliced import Slice, merged, projected, solve_slice
from steinkit.draws import ChainDraws
from steinkit.errors import cautious, reservations
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import (
    blocks,
    deadline,
    interruptible,
    one_thread_in_libraries,
    require_time,
    stop_signal,
    within_time,
)
from steinkit.runtime.progress import progress_bar
from steinkit.sample import DistinctSample, Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target

TOLERANCE = 0.1
"""Relative width of the brackets. A smaller width does not increase the power (``benchmarks/sliced.py``)."""


@dataclass(frozen=True, eq=False)
class Half:
    """Half of the draws, used to learn functions.

    Attributes
    ----------
    points, scores : ndarray, shape (n, d)
    share : ndarray, shape (n,)
        Probabilities of the draws.
    """

    points: Floats
    scores: Floats
    share: Floats

    @cached_property
    def _distinct(self) -> DistinctSample:
        """Distinct rows of points and scores.

        Points that are equal after rounding may have different scores.
        """
        return Sample(np.hstack([self.points, self.scores]), weights=self.share).distinct()

    def along(self, directions: Floats) -> Iterator[Sequence[Floats]]:
        """Yield the distinct u of each direction with their weights and means of s.w.

        Each weight consists of a high and a low part.
        """
        found = self._distinct
        for along, pulls in zip(*projected(directions, *np.hsplit(found.points, 2)), strict=True):
            order = np.argsort(along)
            u = along[order]
            if (u[1:] == u[:-1]).any():
                u, mass, pull = merged(along, pulls, (found.weights, found.weights_low))
                yield u, pull, *mass
            else:
                yield u, pulls[order], found.weights[order], found.weights_low[order]


def learn(half: Half, directions: Floats, bounds: Sequence[Floats | None], settings: Settings) -> list[Slice]:
    """Learn a function phi for each of several directions.

    Parameters
    ----------
    half : Half
    directions : ndarray, shape (k, d)
    bounds : sequence of (ndarray of shape (1, 2), or None), length k
        Bounds of v.x. See `solve_slice`. A direction with two finite bounds must be the only direction.
    settings : Settings

    Raises
    ------
    InputError, SolverError
        See `solve_slice`.
    """
    from steinkit.discrepancy.graph.solvers import chain

    require_time("solving slices")
    data = list(half.along(directions))
    programs = [
        SteinProgram(u[:, None], pull[:, None], weights, unjoined(len(u)), bounds=limits, weights_low=low)
        for (u, pull, weights, low), limits in zip(data, bounds, strict=True)
    ]
    learned = []
    found = zip(directions, bounds, data, chain.approximately(programs, settings), strict=True)
    for direction, limits, (u, *_), (lower, upper, phi, slope) in found:
        if relative_width(lower, upper) <= settings.tolerance:
            ends = (-np.inf, np.inf) if limits is None else tuple(limits[0].tolist())
            learned.append(Slice(direction, lower, upper, u, phi, slope[:, 0], ends))
            continue
        settings.interrupted.require("solving slices")
        with small_work(math.inf):
            learned.append(solve_slice(
                direction, half.points, half.scores, (half.share, np.zeros_like(half.share)),
                bounds=limits, stein_factors=(1.0, 1.0, 1.0), tolerance=settings.tolerance,
            ))  # fmt: skip
    return learned


_SMALLEST_AXIS = 1e-9  # smallest relative variance of a principal axis that exceeds rounding errors
_NODES = 1 << 16  # maximum number of nodes in the programs that are solved together
_LARGEST = 5  # maximum number of reported directions
_INTERPRETED = 1e-5  # seconds per draw and direction, excluding compilation


@dataclass(frozen=True, eq=False)
class LargeSlice:
    """Direction with a large z-score.

    Attributes
    ----------
    name : str
    z : float
    direction : ndarray, shape (d,)
        Vector v in standard units. For a principal axis, the vector is computed from the first half of the draws.
    """

    name: str
    z: float
    direction: Floats


@dataclass(frozen=True, eq=False)
class SlicedSteinTest:
    """Result of the sliced test.

    Attributes
    ----------
    p : float
        p-value of the z-scores, corrected for their number.
    z : ndarray, shape (directions,)
        z-scores of the coordinates, followed by those of the principal axes. The z-scores are large if the sample is
        biased.
    direction_names : tuple of str
        Names of the coordinates, followed by those of the principal axes.
    autocorrelation_time : ndarray, shape (directions,)
        Autocorrelation times of the test functions.
    n_effective : float
        Number of draws, or Kish's effective size of weighted draws, divided by the median of these times.
    seconds : dict of str to float
        Wall time of the stages "scores" and "solve".
    warnings : tuple of str
        Notes on the sample and on the reliability of the p-value.
    largest : tuple of LargeSlice
        At most five directions with the largest z-scores, in descending order.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 2)) * [1.0, 1.2]
    >>> test = sk.sliced_stein_test(draws, sk.targets.Normal([0.0, 0.0]))
    >>> test.direction_names
    ('x1', 'x2', 'principal axis 1', 'principal axis 2')
    """

    p: float
    z: Floats
    direction_names: tuple[str, ...]
    autocorrelation_time: Floats
    n_effective: float
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    largest: tuple[LargeSlice, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<SlicedSteinTest p = {self.p:.2g} along {len(self.z)} directions, {self.n_effective:.0f} effective "
            f"draws{reservations(self.warnings)}>"
        )


@cautious
@within_time
def sliced_stein_test(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    max_seconds: float | None = None,
) -> SlicedSteinTest:
    """Test draws against their target with sliced Stein functions.

    The functions are learned on one half of the draws and tested on the other half.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, d) or (chains, draws, d)
        The sample in temporal order, in any form that `as_sample` accepts.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in `draws`.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target. The principal axes exclude bounded coordinates.
    max_seconds : float, optional
        Time limit in seconds.

    Returns
    -------
    SlicedSteinTest
        The p-value, and the z-score of every direction.

    Raises
    ------
    UsageError, InputError, SolverError
        See `sliced_stein_discrepancy`. InputError is also raised if there are fewer than eight draws.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 5))
    >>> target = sk.targets.Normal(0.0, dim=5)
    >>> sk.sliced_stein_test(draws, target).p > 0.05, sk.sliced_stein_test(0.9 * draws, target).p < 0.01
    (True, True)
    """
    began = time.perf_counter()
    sample = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    scored = time.perf_counter()
    found = slices_of(sample)
    return replace(found, seconds={"scores": scored - began, "solve": time.perf_counter() - scored})


def slices_of(sample: ScoredSample) -> SlicedSteinTest:
    """Test a scored sample with sliced Stein functions."""
    laid_out = sample.draws
    units = sample.own_units.from_bounds(sample.bounds)
    points, scaled = units.points(laid_out.unrounded(sample.bounds)), units.scores(laid_out.scores)
    limits = None if sample.bounds is None else units.limits(sample.bounds)
    h, directions = _test_functions(points, scaled, laid_out, limits)
    z, times = _scores_of(h, laid_out)
    n_effective = laid_out.size / float(np.median(times))
    names = (*sample.points.names, *(f"principal axis {k + 1}" for k in range(len(z) - points.shape[1])))
    return SlicedSteinTest(
        p=min(1.0, len(z) * tail_probability(float(z.max()), n_effective)),
        z=z,
        direction_names=names,
        autocorrelation_time=times,
        n_effective=n_effective,
        seconds={},
        warnings=(*sample.notes, *far_apart(sample.points, sample.scores, units), *laid_out.warnings(n_effective)),
        largest=tuple(
            LargeSlice(names[k], float(z[k]), directions[k]) for k in np.argsort(-z, kind="stable")[:_LARGEST]
        ),
    )


def _test_functions(points: Floats, scores: Floats, draws: ChainDraws, limits: Floats | None) -> tuple[Floats, Floats]:
    """Return the test functions h of the k directions at each of the n draws.

    The directions of the first half are also returned as an array of shape (k, d).
    """
    from steinkit.runtime.compilation import announced_compilation

    dim = points.shape[1]
    free = np.arange(dim) if limits is None else np.flatnonzero(~np.isfinite(limits).any(axis=1))
    bounds: list[Floats | None] = [None] * dim if limits is None else [limits[k : k + 1] for k in range(dim)]
    halves = [Half(points[rows], scores[rows], draws.shares[rows] / draws.shares[rows].sum()) for rows in draws.halves]

    def values(settings: Settings) -> tuple[Floats, Floats]:
        axes = [_principal_axes(half.points, half.share, free) for half in halves]
        directions = np.stack([np.vstack([np.eye(dim), each]) for each in axes])
        limited = bounds + [None] * (directions.shape[1] - dim)
        h = np.empty((directions.shape[1], len(points)))
        with np.errstate(all="ignore"):  # solvers may overflow
            for known, vectors, other, rows in zip(halves, directions, halves[::-1], draws.halves[::-1], strict=True):
                for some in _together(limited, len(rows)):
                    learned = learn(known, vectors[some], [limited[k] for k in some], settings)
                    for k, each, *on in zip(
                        some, learned, *projected(vectors[some], other.points, other.scores), strict=True
                    ):
                        h[k, rows] = each.along(*on)
                    bar.update(len(some))
        return h, directions[0]

    slices = dim + (len(free) if len(free) > 1 else 0)
    bar = progress_bar("slices", 2 * slices)
    small = small_work(_INTERPRETED * slices * len(points))
    with bar, small, one_thread_in_libraries(), announced_compilation(), stop_signal() as stop:
        settings = Settings(TOLERANCE, deadline=deadline(), interrupted=stop)
        return interruptible(partial(values, settings), stop, "solving slices")


def _together(bounds: Sequence[Floats | None], draws: int) -> Iterator[list[int]]:
    """Yield groups of directions that are solved together."""
    alone = [k for k, each in enumerate(bounds) if each is not None and np.isfinite(each).all()]
    yield from ([k] for k in alone)
    others = [k for k in range(len(bounds)) if k not in alone]
    for some in blocks(len(others), max(1, _NODES // draws)):
        yield others[some]


def _principal_axes(points: Floats, share: Floats, free: Integers) -> Floats:
    """Return principal axes of the unbounded coordinates, scaled to unit variance.

    The array has no rows if there are fewer than two such coordinates.
    """
    if len(free) < 2:
        return np.empty((0, points.shape[1]))
    deviations = points[:, free] - share @ points[:, free]
    variances, vectors = np.linalg.eigh((deviations * share[:, None]).T @ deviations)
    axes = np.zeros((len(free), points.shape[1]))
    axes[:, free] = (vectors / np.sqrt(np.maximum(variances, _SMALLEST_AXIS * variances[-1]))).T
    return axes


def _scores_of(h: Floats, draws: ChainDraws) -> tuple[Floats, Floats]:
    """Return the combined z-scores of both halves.

    The autocorrelation times of the test functions are also returned.
    """
    shares = [draws.shares[half] / draws.shares[half].sum() for half in draws.halves]
    means = [h[:, half] @ share for half, share in zip(draws.halves, shares, strict=True)]
    deviations = np.empty_like(h)  # relative to the mean of each half; the functions differ between the halves
    for half, mean in zip(draws.halves, means, strict=True):
        deviations[:, half] = h[:, half] - mean[:, None]
    times = draws.autocorrelation_times(deviations)
    inflation = np.maximum(times, np.median(times))
    z = np.zeros(len(h))
    for half, share, mean in zip(draws.halves, shares, means, strict=True):
        spread = deviations[:, half] ** 2
        variance = spread @ share**2 if draws.is_weighted else spread.sum(axis=1) / (len(half) - 1) / len(half)
        with np.errstate(divide="ignore", invalid="ignore"):
            z += np.where(mean == 0.0, 0.0, mean / np.sqrt(variance * inflation))
    return z / np.sqrt(3.0), times
