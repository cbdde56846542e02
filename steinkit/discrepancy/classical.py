"""The classical Stein discrepancy of one dimension: sample, cone program, proof."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.bracket import Measured, accepted, instance_kept, outwards, tolerance_of
from steinkit.discrepancy.classical_bounds import prove
from steinkit.discrepancy.classical_program import ClassicalProgram, solve_cone
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.errors import TimeLimitError, UsageError, cautious
from steinkit.runtime.deadlines import interruptible, require_time, seconds_left, within_time
from steinkit.sample import Floats
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.units import UnitsLike

_TOLERANCE = 1e-6
_SECONDS_TO_SET_UP = 4e-5  # a point, by CVXPY, which looks at no clock


@dataclass(frozen=True, eq=False, repr=False)
class ClassicalSteinDiscrepancy(Measured):
    """A classical Stein discrepancy with its certificate. The n points are the distinct points in order of appearance.

    Attributes
    ----------
    lower, upper : float
        The discrepancy, in `units`, lies in [lower, upper], whatever the solver said.
    g, grad_g : ndarray, shape (n,)
        Values and derivatives, at the points and in raw units, of a Stein function that attains `lower`.
    sample : DistinctSample
        Points, in raw units, weights, counts, names.
    scores : ndarray, shape (n, 1)
        Score of the target at the points, in raw units.
    units : Units
        In which the bracket and the Stein factors are meant.
    stein_factors : tuple of float
        Bounds (c1, c2, c3) on g, on its derivative and on the derivative's Lipschitz constant.
    tolerance : float
        The relative width of the bracket that was asked for.
    seconds : dict
        Wall time spent on "scores", "solve" and "proof".
    warnings : tuple of str
        What was merged or left out, or not reached.
    """

    measure: ClassVar[str] = "classical"
    title: ClassVar[str] = "classical Stein discrepancy"
    meaning: ClassVar[str] = (
        "It is the largest gap between sample and target over all admitted functions, not only over those that a graph "
        "on the draws holds together: never above the graph Stein discrepancy. It is known in one dimension only, and "
        "does not see a mode that no draw has visited either."
    )
    g: Floats
    grad_g: Floats
    scores: Floats
    stein_factors: tuple[float, float, float]

    @property
    def test_function(self) -> Floats:
        """h = g score + g' at the points, shape (n,): mean zero under the target, `lower` under the sample."""
        with np.errstate(over="ignore"):  # infinite where it is
            return np.asarray(self.g * self.scores[:, 0] + self.grad_g)


@cautious
@within_time
def classical_stein_discrepancy(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    units: UnitsLike = "raw",
    stein_factors: tuple[float, float, float] = (1.0, 1.0, 1.0),
    tolerance: float | None = None,
    max_seconds: float | None = None,
) -> ClassicalSteinDiscrepancy:
    """Measure how far a sample in one dimension is from its target by the classical Stein set, with proof.

    The classical Stein discrepancy is the largest mean of h = g score + g' under the sample over *all* functions with
    |g| <= c1, |g'| <= c2 and g' Lipschitz with constant c3 that vanish at the support's finite bounds. The graph Stein
    discrepancy asks the same of g between the sample's points only, and is never smaller. With the right Stein factors
    the classical one bounds the Wasserstein distance: (1/2, 1/2, 1) for the uniform distribution on [0, 1], where the
    two are equal, and (1, 4, 2) for the standard normal one.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, 1) or (chains, draws, 1), or what else `as_sample` takes
        The sample. Repeated points are merged and their weights summed.
    target : Target, optional
        What the sample claims to represent. Exactly one of `target`, `scores` and scores stored in the sample is
        needed.
    scores : array_like, shape (n,) or (n, 1), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit.
    bounds : array_like, shape (2,) or (1, 2), optional
        Bounds (lower, upper) of the target's support; the target's own if not given.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        In which draws and scores are taken: none, which is the definition; the sample's own standard deviations; or a
        scale for each coordinate, as an array or by name, {"scale": {...}}. The bracket and the Stein factors
        are then those of the scaled draws; g and its derivative are in raw coordinates again.
    stein_factors : tuple of three floats
        Bounds (c1, c2, c3) on g, on its derivative and on the derivative's Lipschitz constant.
    tolerance : float, optional
        Widest relative bracket (upper - lower)/upper accepted; 1e-6 if not given.
    max_seconds : float, optional
        Time, from the call on, after which to give up: the error then carries the bracket that is known.

    Returns
    -------
    ClassicalSteinDiscrepancy
        Bracket, and the optimal g with its derivative at the draws.

    Raises
    ------
    UsageError
        If a setting cannot be honoured, or the sample has more than one dimension, where `graph_stein_discrepancy`
        serves.
    InputError
        If the sample, the scores or the support do not fit together, hold values that are not finite, or values other
        than 0 that are not between 1e-100 and 1e100 in size.
    SolverError
        If the answer could not be certified to within 10 %; the error carries the bracket.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`.

    Notes
    -----
    A mode that no draw has visited, far from the others, changes the score nowhere near the draws and is not seen.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, sections 3 and 4.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(7).random(1000)
    >>> result = sk.classical_stein_discrepancy(draws, sk.targets.Uniform(), stein_factors=(0.5, 0.5, 1.0))
    >>> round(result.value, 9)
    0.006062289
    """
    factors = SteinFactors.of(stein_factors)
    wanted = tolerance_of(tolerance, _TOLERANCE)
    began = time.perf_counter()
    data = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds).in_units(units)
    given, order = _program(data, factors)
    # in powers of two nearest to sqrt(c1 / c3), a length, and c1: a solver and the proof do best where both are about 1
    length = round(0.5 * (math.log2(factors.value) - math.log2(factors.smoothness)))
    height = round(math.log2(factors.value))
    program = given.in_units(length, height)
    scored = time.perf_counter()
    try:
        require_time("the program was written down", _SECONDS_TO_SET_UP * len(order))
        answer = interruptible(partial(solve_cone, program, seconds_left()), Event(), "the program was solved")
    except TimeLimitError as error:
        raise error.within(0.0, _trivial_bound(given, factors)) from None
    solved = time.perf_counter()
    with instance_kept(points=program.points, scores=program.scores, weights=program.weights, bounds=program.bounds):
        lower, upper, value, slope = prove(program, answer)
    lower, upper = outwards(lower, height - length), outwards(upper, height - length, up=True)
    g, grad_g = np.empty(len(order)), np.empty(len(order))
    with np.errstate(over="ignore"):  # infinite where it is, in raw units
        g[order] = np.ldexp(value, height) * data.units.scale
        grad_g[order] = np.ldexp(slope, height - length)
    proved = time.perf_counter()
    result = ClassicalSteinDiscrepancy(
        lower=lower,
        upper=upper,
        g=g,
        grad_g=grad_g,
        sample=data.raw.points,
        scores=data.raw.scores,
        units=data.units,
        stein_factors=(factors.value, factors.gradient, factors.smoothness),
        tolerance=wanted,
        seconds={"scores": scored - began, "solve": solved - scored, "proof": proved - solved},
        warnings=data.notes,
    )
    remedy = "Allow more time, rescale the coordinate, thin the sample, or use graph_stein_discrepancy"
    return accepted(result, "the discrepancy", f" (Clarabel ended with {answer.status})", remedy)


def _trivial_bound(program: ClassicalProgram, factors: SteinFactors) -> float:
    """What |g| <= c1 and |g'| <= c2 alone prove, rounded up."""
    mean = float(program.weights @ np.abs(program.scores))
    return (factors.value * mean + factors.gradient) * (1.0 + 1e-9)


def _program(data: ScoredSample, factors: SteinFactors) -> tuple[ClassicalProgram, np.ndarray]:
    """The program of the sorted points, and the order that sorts them."""
    points = data.points
    if points.dim != 1:
        raise UsageError(
            f"the classical Stein discrepancy can be computed only in one dimension; the draws have {points.dim}: "
            "use graph_stein_discrepancy"
        )
    order = np.argsort(points.points[:, 0])
    limits = (-np.inf, np.inf) if data.bounds is None else (float(data.bounds[0, 0]), float(data.bounds[0, 1]))
    x, q, s = points.points[order, 0], points.weights[order], data.scores[order, 0]
    return ClassicalProgram(x, q, s, factors, limits), order
