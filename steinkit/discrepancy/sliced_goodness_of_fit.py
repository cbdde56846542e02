"""The cross-fitted test of the sliced graph Stein discrepancy: whether chance explains what the slices find.

On one half of the draws the worst phi of every coordinate and of every principal axis is found; its test function h has
mean zero under the target whatever phi is, so that the mean of h over the *other* half, over its standard error, is a
z-score with no selection in it. The halves change places, and

    z = (z_1 + z_2) / sqrt(3):

both learn the same defect, so that their z are positively dependent, and dividing by sqrt(2) rejects right samples too
often. The test is one-sided, since phi was made to make h large, with Bonferroni over the directions.

**Rounded draws** would all lie on the knots of phi, where its slope is not what it is between them, and right samples
would be rejected. So rounding is undone before phi is learnt: every value is moved to a place drawn evenly from those
that are rounded to it. The score stays; what it lacks is the square of the unit over twelve.

It sees shapes that moments do not; like all that the score shows it does not see the weights of separate modes.

**The worst phi** along a direction is wanted for what it is, not for what is proved of it. A test function h has mean
zero under the target whatever phi is. So the slice's program is written down and solved here without what
`graph_stein_discrepancy` reports of it; phi is the same. A program that is left open to more than the tolerance goes
the long way, with its solvers, errors and all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.autocorrelation import tail_probability
from steinkit.blind_spots import far_apart
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.bracket import instance_kept
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers.base import Settings
from steinkit.discrepancy.graph.spanner.geometry import unjoined
from steinkit.discrepancy.sliced import Slice, finite_projection, merged, solve_slice
from steinkit.draws import Draws
from steinkit.errors import cautious, reservations
from steinkit.runtime.compilation import small_work
from steinkit.runtime.deadlines import (
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
"""Of the programs: a tighter one finds no more faults (``benchmarks/sliced.py``)."""


@dataclass(frozen=True, eq=False)
class Half:
    """Draws to learn from.

    Attributes
    ----------
    points, scores : ndarray, shape (n, d)
    share : ndarray, shape (n,)
        Their probabilities.
    """

    points: Floats
    scores: Floats
    share: Floats

    @cached_property
    def _distinct(self) -> DistinctSample:
        """Points beside their scores: where rounding made points equal, their scores may differ."""
        return Sample(np.hstack([self.points, self.scores]), weights=self.share).distinct()

    def along(self, direction: Floats) -> Sequence[Floats]:
        """The distinct u, their mean of s.w, and their weights with what these are beyond doubles."""
        found = self._distinct
        along, pulls = finite_projection(direction, *np.hsplit(found.points, 2))
        order = np.argsort(along)
        u = along[order]
        if (u[1:] == u[:-1]).any():
            u, mass, pull = merged(along, pulls, (found.weights, found.weights_low))
            return u, pull, *mass
        return u, pulls[order], found.weights[order], found.weights_low[order]


def learn(half: Half, direction: Floats, bounds: Floats | None, settings: Settings) -> Slice:
    """Find the worst phi along a direction.

    Parameters
    ----------
    half : Half
    direction : ndarray, shape (d,)
    bounds : ndarray, shape (1, 2), optional
        Of v.x; see `solve_slice`.
    settings : Settings

    Raises
    ------
    InputError, SolverError
        As `solve_slice` does.
    """
    from steinkit.discrepancy.graph.solvers import chain

    require_time("slices were solved")
    u, pull, weights, low = half.along(direction)
    program = SteinProgram(u[:, None], pull[:, None], weights, unjoined(len(u)), bounds=bounds, weights_low=low)
    with instance_kept(**program.arrays):
        (candidate,) = chain.solve(program, settings)
        proof = candidate.proof
    if proof.gap > settings.tolerance:
        settings.interrupted.require("slices were solved")
        with small_work(math.inf):  # whatever solvers it takes
            return solve_slice(
                direction, half.points, half.scores, (half.share, np.zeros_like(half.share)),
                bounds=bounds, stein_factors=(1.0, 1.0, 1.0), tolerance=settings.tolerance,
            )  # fmt: skip
    phi, slope = candidate.program.stein_function(proof.feasible)
    low_end, high_end = (-np.inf, np.inf) if bounds is None else map(float, bounds[0])
    return Slice(direction, proof.lower, proof.upper, u, phi, slope[:, 0], (low_end, high_end))


_SMALLEST_AXIS = 1e-9  # variance of a principal axis, relative to the largest, below which rounding decides
_LARGEST = 5  # directions that are kept
_INTERPRETED = 8e-5  # seconds a draw and direction, where kernels are not compiled


@dataclass(frozen=True, eq=False)
class LargeSlice:
    """A direction with a large z.

    Attributes
    ----------
    name : str
    z : float
    direction : ndarray, shape (d,)
        v, in standard units; of a principal axis that of the first half of the draws.
    """

    name: str
    z: float
    direction: Floats


@dataclass(frozen=True, eq=False)
class SlicedSteinTest:
    """What the sliced test found.

    Attributes
    ----------
    p_value : float
        Probability of slices as large for a right sample, corrected for their number.
    z : ndarray, shape (directions,)
        Of the coordinates, then of the principal axes; large where the sample is wrong.
    direction_names : tuple of str
        Of the coordinates, then of the principal axes.
    autocorrelation_time : ndarray, shape (directions,)
        Of the test functions.
    n_effective : float
        Draws over the median of these; for weighted draws Kish's effective size.
    seconds : dict
        Wall time spent on "scores" and "solve".
    warnings : tuple of str
        What a reader should know before the number.
    largest : tuple of LargeSlice
        The up to five directions with the largest z, that first.
    """

    p_value: float
    z: Floats
    direction_names: tuple[str, ...]
    autocorrelation_time: Floats
    n_effective: float
    seconds: dict[str, float]
    warnings: tuple[str, ...]
    largest: tuple[LargeSlice, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<SlicedSteinTest p = {self.p_value:.2g} along {len(self.z)} directions, {self.n_effective:.0f} effective "
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
    """Test whether draws come from their target by univariate Stein functions learnt on half of them.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        In the order in which they were made.
    target : Target, optional
        Exactly one of `target`, `scores` and scores stored in the sample is needed.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit; a warning says what is taken for their order.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given. Bounded coordinates are in no principal axis.
    max_seconds : float, optional
        Time, from the call on, after which to give up.

    Returns
    -------
    SlicedSteinTest
        The p-value, and z of every direction.

    Raises
    ------
    UsageError, InputError, SolverError
        As `sliced_stein_discrepancy` does; or if there are fewer than eight draws.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 5))
    >>> target = sk.targets.Normal(0.0, dim=5)
    >>> sk.sliced_stein_test(draws, target).p_value > 0.05, sk.sliced_stein_test(0.9 * draws, target).p_value < 0.01
    (True, True)
    """
    began = time.perf_counter()
    sample = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    scored = time.perf_counter()
    found = slices_of(sample)
    return replace(found, seconds={"scores": scored - began, "solve": time.perf_counter() - scored})


def slices_of(sample: ScoredSample) -> SlicedSteinTest:
    """Test a scored sample by its slices."""
    laid_out = sample.draws
    units = sample.own_units.from_bounds(sample.bounds)
    points, scaled = units.points(laid_out.unrounded(sample.bounds)), units.scores(laid_out.scores)
    limits = None if sample.bounds is None else units.limits(sample.bounds)
    h, directions = _test_functions(points, scaled, laid_out, limits)
    z, times = _scores_of(h, laid_out)
    n_effective = laid_out.n_effective(float(np.median(times)))
    names = (
        *sample.points.names,
        *(f"principal axis {k + 1}" for k in range(len(z) - points.shape[1])),
    )
    return SlicedSteinTest(
        p_value=min(1.0, len(z) * tail_probability(float(z.max()), n_effective)),
        z=z,
        direction_names=names,
        autocorrelation_time=times,
        n_effective=n_effective,
        seconds={},
        warnings=(
            *sample.notes,
            *far_apart(sample.points, sample.scores, units),
            *laid_out.warnings(n_effective),
        ),
        largest=tuple(
            LargeSlice(names[k], float(z[k]), directions[k]) for k in np.argsort(-z, kind="stable")[:_LARGEST]
        ),
    )


def _test_functions(points: Floats, scores: Floats, draws: Draws, limits: Floats | None) -> tuple[Floats, Floats]:
    """h of every direction at every draw, shape (k, n), and the directions learnt on the first half, shape (k, d)."""
    from steinkit.runtime.compilation import announced_compilation

    dim = points.shape[1]
    free = np.arange(dim) if limits is None else np.flatnonzero(~np.isfinite(limits).any(axis=1))
    bounds: list[Floats | None] = [None] * dim if limits is None else [limits[k : k + 1] for k in range(dim)]
    halves = [Half(points[rows], scores[rows], draws.shares[rows] / draws.shares[rows].sum()) for rows in draws.halves]

    def learnt(settings: Settings) -> tuple[Floats, Floats]:
        axes = [_principal_axes(half.points, half.share, free) for half in halves]
        directions = np.stack([np.vstack([np.eye(dim), each]) for each in axes])
        limited = bounds + [None] * (directions.shape[1] - dim)
        h = np.empty((directions.shape[1], len(points)))
        with np.errstate(all="ignore"):  # what overflows in a solver proves nothing
            for known, vectors, other, rows in zip(halves, directions, halves[::-1], draws.halves[::-1], strict=True):
                for k, (vector, limits) in enumerate(zip(vectors, limited, strict=True)):
                    h[k, rows] = learn(known, vector, limits, settings).test_function(other.points, other.scores)
                    bar.update()
        return h, directions[0]

    slices = dim + (len(free) if len(free) > 1 else 0)
    bar = progress_bar("slices", 2 * slices)
    small = small_work(_INTERPRETED * slices * len(points))
    with bar, small, one_thread_in_libraries(), announced_compilation(), stop_signal() as stop:
        settings = Settings(TOLERANCE, deadline=deadline(), interrupted=stop)
        return interruptible(partial(learnt, settings), stop, "slices were solved")


def _principal_axes(points: Floats, share: Floats, free: Integers) -> Floats:
    """Rows v, along which v.x has standard deviation one, of the coordinates without bounds; none of fewer than two."""
    if len(free) < 2:
        return np.empty((0, points.shape[1]))
    deviations = points[:, free] - share @ points[:, free]
    variances, vectors = np.linalg.eigh((deviations * share[:, None]).T @ deviations)
    axes = np.zeros((len(free), points.shape[1]))
    axes[:, free] = (vectors / np.sqrt(np.maximum(variances, _SMALLEST_AXIS * variances[-1]))).T
    return axes


def _scores_of(h: Floats, draws: Draws) -> tuple[Floats, Floats]:
    """The z-scores of both halves together, and the autocorrelation times of the test functions."""
    shares = [draws.shares[half] / draws.shares[half].sum() for half in draws.halves]
    means = [h[:, half] @ share for half, share in zip(draws.halves, shares, strict=True)]
    deviations = np.empty_like(h)  # from their own half's mean: the halves have different functions
    for half, mean in zip(draws.halves, means, strict=True):
        deviations[:, half] = h[:, half] - mean[:, None]
    times = draws.autocorrelation_times(np.ldexp(deviations, -_exponents(deviations)))
    inflation = np.maximum(times, np.median(times))
    z = np.zeros(len(h))
    for half, share, mean in zip(draws.halves, shares, means, strict=True):
        size = _exponents(deviations[:, half])
        spread = np.ldexp(deviations[:, half], -size) ** 2
        variance = spread @ share**2 if draws.is_weighted else spread.sum(axis=1) / (len(half) - 1) / len(half)
        with np.errstate(divide="ignore", invalid="ignore"):
            z += np.where(mean == 0.0, 0.0, np.ldexp(mean, -size[:, 0]) / np.sqrt(variance * inflation))
    return z / np.sqrt(3.0), times


def _exponents(values: Floats) -> NDArray[np.int32]:
    """Of the power of two above all values of each row, one a row: what is large may be too large for its square."""
    found: NDArray[np.int32] = np.frexp(np.abs(values).max(axis=1, keepdims=True))[1]
    return found
