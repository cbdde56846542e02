"""Classical Stein discrepancy of a one-dimensional sample."""

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
from steinkit.discrepancy.bracket import Certified, accepted, instance_kept, require_one_coordinate, tolerance_of
from steinkit.discrepancy.classical_bounds import prove
from steinkit.discrepancy.classical_program import ClassicalProgram, solve_cone
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from steinkit.errors import cautious
from steinkit.runtime.deadlines import interruptible, require_time, seconds_left, within_time
from steinkit.sample import Floats
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.units import UnitsLike


@dataclass(frozen=True, eq=False, repr=False)
class ClassicalSteinDiscrepancy(Certified):
    """Classical Stein discrepancy of a sample, with its bracket and Stein function.

    The n points are the distinct points of the sample, in order of first appearance.

    Attributes
    ----------
    lower, upper : float
        Proved bounds on the discrepancy, in `units`.
    g, grad_g : ndarray, shape (n,)
        Values and derivatives, in raw units, of a Stein function that attains `lower`.
    sample : DistinctSample
        Points in raw units, with weights, counts and names.
    scores : ndarray, shape (n, 1)
        Score of the target at the points, in raw units.
    units : Units
        Units of the bracket and the Stein factors.
    stein_factors : tuple of float
        Bounds (c1, c2, c3) on g, on its derivative, and on the Lipschitz constant of the derivative.
    tolerance : float
        Requested relative width of the bracket.
    seconds : dict of str to float
        Wall time of the stages "scores", "solve" and "proof".
    warnings : tuple of str
        Notes on merged or omitted draws and on the width of the bracket.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal(200)
    >>> result = sk.classical_stein_discrepancy(draws, sk.targets.Normal())
    >>> bool(np.isclose(result.sample.weights @ result.test_function, result.lower))
    True
    """

    measure: ClassVar[str] = "classical"
    title: ClassVar[str] = "classical Stein discrepancy"
    meaning: ClassVar[str] = (
        "It is the largest difference between the sample mean and the target mean of a function in the classical Stein "
        "set. The graph Stein discrepancy restricts functions only on a graph of the draws and is never smaller. The "
        "classical discrepancy can be computed only in one dimension and does not detect modes that no draw visited."
    )
    g: Floats
    grad_g: Floats
    scores: Floats
    stein_factors: tuple[float, float, float]

    @property
    def test_function(self) -> Floats:
        """Test function h = g score + g' at each point, as an array of shape (n,).

        The mean of h is 0 under the target and equals `lower` over the sample.
        """
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
    """Compute the classical Stein discrepancy of a one-dimensional sample.

    The discrepancy is the largest mean of h = g score + g' over the sample. The maximum is taken over *all* functions g
    that vanish at the finite bounds of the support and satisfy |g| <= c1 and |g'| <= c2, where g' is Lipschitz with
    constant c3. The graph Stein discrepancy constrains g only at pairs of sample points, so it is never smaller than
    the classical discrepancy. For some Stein factors, the classical discrepancy is related to the Wasserstein distance.
    With (1/2, 1/2, 1), the discrepancy equals the distance to the uniform distribution on [0, 1]. With (1, 4, 2), the
    discrepancy is an upper bound on the distance to the standard normal distribution.

    Parameters
    ----------
    draws : Sample or array_like, shape (n,), (n, 1) or (chains, draws, 1)
        The sample, in any form that `as_sample` accepts. Repeated points are merged, and their weights are added.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in `draws`.
    scores : array_like, shape (n,) or (n, 1), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    bounds : array_like, shape (2,) or (1, 2), optional
        Lower and upper bounds of the support. The default is the bounds of the target.
    units : {"raw", "own"}, array_like of shape (1,), Units or mapping, default "raw"
        Scale by which the draws are divided and the scores are multiplied. The scale is 1 ("raw"), the standard
        deviation of the draws ("own"), or a given scale, as an array or by name, ``{"scale": {...}}``. The bracket and
        the Stein factors refer to the scaled draws.
    stein_factors : tuple of three floats, default (1, 1, 1)
        Bounds (c1, c2, c3) on g, on its derivative, and on the Lipschitz constant of the derivative.
    tolerance : float, default 1e-6
        Largest accepted relative width of the bracket, (upper - lower) / upper.
    max_seconds : float, optional
        Time limit in seconds.

    Returns
    -------
    ClassicalSteinDiscrepancy
        The bracket, and an optimal function g with its derivative at the draws.

    Raises
    ------
    UsageError
        If the sample has several dimensions, or if an argument is not valid. For several dimensions, use
        `graph_stein_discrepancy`.
    InputError
        If the sample, scores and support are inconsistent or not finite, or if they contain nonzero values outside the
        range from 1e-100 to 1e100 in absolute value.
    SolverError
        If the relative width of the bracket exceeds 10%. The error has the bounds as attributes.
    TimeLimitError
        If the time limit is exceeded.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`.

    Notes
    -----
    The discrepancy does not detect modes far from all draws, because they do not change the score at the draws.

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
    requested = tolerance_of(tolerance, 1e-6)
    began = time.perf_counter()
    data = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds).in_units(units)
    require_one_coordinate(data.points.dim, "the classical Stein discrepancy", "graph_stein_discrepancy")
    order = np.argsort(data.points.points[:, 0])
    back = np.argsort(order)
    # To keep the solver and the proof accurate, the unit of the points is 2^length (near sqrt(c1 / c3)), and the unit
    # of g is 2^height (near c1). The optimum is 2^(length - height) times the optimum in the original units.
    length = round(0.5 * (math.log2(factors.value) - math.log2(factors.smoothness)))
    height = round(math.log2(factors.value))
    low, high = (-math.inf, math.inf) if data.bounds is None else np.ldexp(data.bounds[0], -length).tolist()
    program = ClassicalProgram(
        points=np.ldexp(data.points.points[order, 0], -length),
        weights=data.points.weights[order],
        scores=np.ldexp(data.scores[order, 0], length),
        factors=SteinFactors(*np.ldexp(factors, [-height, length - height, 2 * length - height]).tolist()),
        bounds=(low, high),
    )
    scored = time.perf_counter()
    answer, status = interruptible(partial(solve_cone, program, seconds_left()), Event(), "solving the program")
    require_time("solving the program")
    solved = time.perf_counter()
    with instance_kept(points=program.points, scores=program.scores, weights=program.weights, bounds=program.bounds):
        lower, upper, value, slope = prove(program, answer)
    lower, upper = np.ldexp([lower, upper], height - length).tolist()  # exact for Stein factors from 1e-100 to 1e100
    result = ClassicalSteinDiscrepancy(
        lower=lower,
        upper=upper,
        g=np.ldexp(value, height)[back] * data.units.scale,
        grad_g=np.ldexp(slope, height - length)[back],
        sample=data.raw.points,
        scores=data.raw.scores,
        units=data.units,
        stein_factors=(*factors,),
        tolerance=requested,
        seconds={"scores": scored - began, "solve": solved - scored, "proof": time.perf_counter() - solved},
        warnings=data.notes,
    )
    remedy = "Allow more time, rescale the coordinate, thin the sample, or use graph_stein_discrepancy"
    return accepted(result, "the discrepancy", f" (Clarabel ended with {status})", remedy)
