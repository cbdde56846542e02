"""Weights of draws that minimize a Stein discrepancy.

By default, the discrepancy is the graph Stein discrepancy in one dimension and the sum of slices and moments in higher
dimensions. With 500 draws in two dimensions, the quantiles are more accurate with slices than with the graph. Let z be
the draws in standard units and t their scores. The slice of coordinate j is the largest mean of

    phi(z_j) r_j + phi'(z_j),

where |phi|, |phi'| and the Lipschitz constant of phi' are bounded. The mean is zero under the target for r_j = t_j, but
given z_j, the score t_j varies, and this noise limits the accuracy of the marginal distribution. The noise is large if
coordinates are dependent. The Stein operator maps the vector fields phi(z_j) e_k and phi(z_j) z_l e_k, k != j, to

    phi(z_j) t_k    and    phi(z_j) (z_l t_k + [k = l]),

which also have mean zero under the target. Therefore, the residual r_j of the regression of t_j on t_k and on z_l t_k +
[k = l] can replace t_j. Powers of z_j are included in the regression but not subtracted. For a normal target, r_j is
the score of the marginal distribution of z_j, and there is no noise. The regression has a ridge penalty, and draws with
large scores have little weight. With few draws or many coordinates, l = j only. If coordinate k has bounds, its fields
are omitted because they would have to vanish at the bounds. The moments are the features used for the entropy weights
(`stein_regression`), divided by their mean absolute values.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from steinkit.arguments import number
from steinkit.chains import tail_quantiles
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.diagnosis.bias.quantities import Quantities, require_sign
from steinkit.diagnosis.bias.result import LEAST_SIZE
from steinkit.diagnosis.bias.stein_regression import MOST_WORK, ridge
from steinkit.discrepancy.bracket import accepted, relative_width, tolerance_of
from steinkit.discrepancy.graph.discrepancy import graph_on
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.spanner import geometry
from steinkit.discrepancy.weights_program import WeightsProgram
from steinkit.errors import Caution, InputError, UsageError, cautious, require_known, reservations
from steinkit.result import Result, Statement, claimed
from steinkit.runtime.deadlines import (
    deadline,
    interruptible,
    one_thread_in_libraries,
    require_time,
    stop_signal,
    within_time,
)
from steinkit.sample import Floats, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.text import Table, compact, rounded_outwards
from steinkit.units import Units

_KINDS = ("auto", "graph", "slices")
_TITLES = {"graph": "graph Stein discrepancy", "slices": "sum of slices and moments"}
_MOST_GRAPH = 3  # largest dimension for which the Cholesky factor is sparse
FEWEST = 8  # distinct draws
_DRAWS_PER_FIELD, _POWERS = 8, 4  # in the regression of the scores; the powers are 1, z, z^2 and z^3
_INFEASIBLE = 2  # status of linprog
_FEW_WEIGHTS = "draws may be missing in some regions, so the weights may not improve estimates; run the sampler longer"
_MOST_ROWS, _MOST_PLACES = 10, 8


@dataclass(frozen=True, eq=False)
class OptimalWeights(Result):
    """Weights of draws that minimize a Stein discrepancy.

    Attributes
    ----------
    sample : Sample
        The draws with the optimal weights.
    lower, upper : float
        Certified bounds on the smallest discrepancy over all allowed weights of these draws. The discrepancy of the
        returned weights is at most `upper`.
    before : float
        Discrepancy of the given draws with equal weights.
    discrepancy : {"graph", "slices"}
        Kind of discrepancy.
    effective_size : float
        Kish's effective sample size of the weights.
    max_weight : float or None
        Largest allowed weight of a draw, or None if the weights are not limited.
    test_function : ndarray, shape (n,)
        Values, at the draws, of a test function with mean zero under the target. The mean of this function is at least
        `lower` under all allowed weights, which proves the lower bound.
    stein_function : ndarray, shape (n, d)
        Values of the optimal Stein function at the draws, in standard units.
    units : Units
        Standard units of the discrepancy.
    tolerance : float
        Requested relative width of the bracket.
    solver : str
        Solvers that contributed to the bracket.
    seconds : float
        Wall time.
    warnings : tuple of str
        Limitations of the weights.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 1.2 * np.random.default_rng(0).standard_normal((300, 2))
    >>> found = sk.optimal_weights(draws, sk.targets.Normal([0.0, 0.0]))
    >>> found.lower <= found.upper < 0.5 * found.before, found.effective_size < 300
    (True, True)
    """

    sample: Sample
    lower: float
    upper: float
    before: float
    discrepancy: Literal["graph", "slices"]
    effective_size: float
    max_weight: float | None
    test_function: Floats
    stein_function: Floats
    units: Units
    tolerance: float
    solver: str
    seconds: float
    warnings: tuple[str, ...]

    @property
    def weights(self) -> Floats:
        """Weights of the draws, as an array of shape (n,) that sums to one."""
        return self.sample.probabilities

    @property
    def gap(self) -> float:
        """Relative width of the bracket, (upper - lower) / upper."""
        return relative_width(self.lower, self.upper)

    @property
    def bracket(self) -> str:
        """Bracket as text, rounded outward to its significant digits."""
        return "[{}, {}]".format(*rounded_outwards(self.lower, self.upper))

    def headline(self) -> str:
        """State the discrepancy before and after weighting and the effective size.

        Returns
        -------
        str
            A sentence without the final period.
        """
        return (
            f"Optimal weights: discrepancy {compact(self.before)} before, {compact(self.upper)} after; "
            f"{len(self.sample)} weighted draws, effective size {self.effective_size:.0f}"
        )

    def statements(self) -> tuple[Statement, ...]:
        """State the discrepancy and its bracket, the limits and the method.

        Returns
        -------
        tuple of Statement
        """
        proof = claimed("proved", self.lower, self.upper)
        least = f"The smallest discrepancy over all allowed weights is {proof}."
        limits = "Weights cannot replace missing draws, and they do not correct the proportions of separate modes."
        how = f"Computed with the {_TITLES[self.discrepancy]} by solver {self.solver} in {self.seconds:.1f} s."
        return (
            Statement("number", "How good are the weighted draws?", f"{self.headline()}."),
            Statement("comparison", "Could other weights be better?", least),
            Statement("limits", "Which errors can weights not correct?", limits),
            Statement("method", "How was it computed?", how),
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the means, standard deviations, and 5% and 95% quantiles.

        Returns
        -------
        tuple of Table
        """
        return (moments_table(self.sample.with_columns(weights=None), self.sample),)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as it appears in JSON.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        names = ("before", "lower", "upper", "effective_size", "max_weight", "solver")
        found = {"discrepancy": self.discrepancy, "draws": len(self.sample)}
        found |= {name: getattr(self, name) for name in names}
        return found | {"units": self.units.document, "seconds": self.seconds, "warnings": list(self.warnings)}

    def __repr__(self) -> str:
        return (
            f"<OptimalWeights: {len(self.sample)} draws, discrepancy {compact(self.before)} before, in {self.bracket} "
            f"after, effective size {self.effective_size:.0f}{reservations(self.warnings)}>"
        )


def moments_table(before: Sample, after: Sample) -> Table:
    """Return the means, standard deviations and quantiles of two samples."""
    cells = []
    columns = [_described(each) for each in (before, after)]
    for j, name in enumerate(before.names[:_MOST_ROWS]):
        sd = columns[0][1, j]
        with np.errstate(divide="ignore"):
            places = int(np.clip(2.0 - np.floor(np.log10(sd)), 0.0, _MOST_PLACES))
        pairs = zip(*(column[:, j] for column in columns), strict=True)
        cells.append((name, *(f"{old:.{places}f} -> {new:.{places}f}" for old, new in pairs)))
    return Table("Estimates before -> after", ("parameter", "mean", "sd", "5%", "95%"), tuple(cells))


def _described(sample: Sample) -> Floats:
    """Return weighted means, sds, and 5% and 95% quantiles, with shape (4, d)."""
    mean = sample.probabilities @ sample.points
    sd = np.sqrt(sample.probabilities @ (sample.points - mean) ** 2)
    return np.vstack([mean, sd, tail_quantiles(sample)])


@cautious
@within_time
def optimal_weights(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    discrepancy: str = "auto",
    max_weight: float | None = None,
    stein_factors: tuple[float, float, float] = (1.0, 1.0, 1.0),
    tolerance: float | None = None,
    max_seconds: float | None = None,
) -> OptimalWeights:
    """Compute the weights of draws that minimize a Stein discrepancy.

    The weights solve a single linear program. The dual program proves that no other allowed weights of these draws have
    a smaller discrepancy than `OptimalWeights.lower`.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or any object that `as_sample` accepts
        Unweighted draws. Repeated draws receive equal weights.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in the
        sample.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target.
    discrepancy : {"auto", "graph", "slices"}, default "auto"
        "graph" is the graph Stein discrepancy, in up to three dimensions. "slices" is the sum of the univariate
        discrepancies along the coordinates and the absolute means of Stein features. "auto" uses the graph in one
        dimension and slices otherwise. Both discrepancies are computed in units of the standard deviations of the
        draws.
    max_weight : float, optional
        Largest allowed weight of a draw, at least 1/n. By default, the weights are not limited.
    stein_factors : tuple of three floats, default (1, 1, 1)
        Bounds (c1, c2, c3) on the Stein function, its gradient, and the gradient's Lipschitz constant.
    tolerance : float, default 1e-2
        Largest accepted relative width of the bracket, (upper - lower) / upper.
    max_seconds : float, optional
        Time limit in seconds.

    Returns
    -------
    OptimalWeights
        The weighted sample, the bracket for the smallest discrepancy, and the optimal Stein function.

    Raises
    ------
    UsageError
        If an argument is not valid, the draws have weights, or `max_weight` is less than 1/n.
    InputError
        If there are fewer than eight distinct draws, a coordinate is constant, the scores have the wrong sign, or no
        allowed weights make the mean score zero, for example because all draws are on one side of the mode.
    SolverError
        If the relative width of the bracket exceeds 10%.
    TimeLimitError
        If the time limit is exceeded before the programs are built.

    Notes
    -----
    The weights correct the shape of marginal distributions, including quantiles. As a quadrature rule, the weights also
    reduce the sampling error of exact draws. The effective size is usually about half the number of draws. If it is
    less than a fifth of this number, a warning states that the weights may not improve the estimates. Weights cannot
    replace missing draws. The scores do not determine the weights of separate modes. For these, see `repair` and
    `mode_weights`.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015.
    .. [2] Q. Liu and J. D. Lee, "Black-box importance sampling", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 0.1 + 1.2 * np.random.default_rng(0).standard_normal(300)
    >>> found = sk.optimal_weights(draws, sk.targets.Normal([0.0]))
    >>> bool(abs(found.weights @ draws) < 1e-3), found.gap < 0.01
    (True, True)
    """
    began = time.perf_counter()
    require_known([discrepancy], _KINDS, "unknown discrepancy", "the kinds")
    factors, width = SteinFactors.of(stein_factors), tolerance_of(tolerance, 1e-2)
    sample = as_sample(draws)
    if sample.weights is not None:
        raise UsageError("`optimal_weights` requires draws without weights; resample the draws first")
    n = len(sample)
    if max_weight is not None:
        number(max_weight, "max_weight", lambda w: 1.0 / n <= w <= 1.0, f"between 1/n = {1.0 / n:.4g} and 1")
    standard, inner = in_standard_units(ScoredSample.of(sample, target, scores=scores, bounds=bounds))
    points, dim = standard.points, standard.points.dim
    is_graph = discrepancy == "graph" or (discrepancy == "auto" and dim == 1)
    kind: Literal["graph", "slices"] = "graph" if is_graph else "slices"
    if kind == "graph" and dim > _MOST_GRAPH:
        raise UsageError(f"discrepancy 'graph' supports up to {_MOST_GRAPH} dimensions, got {dim}; use 'slices'")
    most = np.minimum(1.0, points.counts * (max_weight or 1.0))
    require_both_sides(standard, most)
    with stop_signal() as stop, one_thread_in_libraries():
        settings = Settings(width, deadline(), interrupted=stop)
        program = weights_program(standard, inner, kind, factors, settings)
        program = replace(program, most=most)
        before = program.bracket(points.weights, width)
        found = interruptible(lambda: program.solve(settings), stop, "computing the weights")
    shares = (found.weights / points.counts)[points.inverse]
    size, warnings = float(1.0 / (shares @ shares)), standard.raw.notes
    if size < LEAST_SIZE * n:
        warnings += (Caution(f"the effective size is only {size:.0f} for {n} draws: {_FEW_WEIGHTS}"),)
    result = OptimalWeights(
        sample=sample.with_columns(weights=shares),
        lower=found.lower,
        upper=found.upper,
        before=0.5 * sum(before),
        discrepancy=kind,
        effective_size=size,
        max_weight=max_weight,
        test_function=found.h[points.inverse],
        stein_function=found.g[points.inverse],
        units=standard.units,
        tolerance=width,
        solver=found.solver,
        seconds=time.perf_counter() - began,
        warnings=warnings,
    )
    return accepted(result, "the smallest discrepancy", "", "Allow more time, or thin the sample")


def in_standard_units(given: ScoredSample) -> tuple[ScoredSample, ScoredSample]:
    """Return the sample in standard units, and its distinct draws in raw units.

    Raises
    ------
    InputError
        If there are too few distinct draws, or the scores have the wrong sign.
    """
    if len(given.points) < FEWEST:
        raise InputError(f"expected at least {FEWEST} distinct draws, got {len(given.points)}")
    standard = given.in_units("own")
    raw = standard.raw
    inner = ScoredSample.of(Sample(raw.points.points, scores=raw.scores, names=raw.points.names), bounds=raw.bounds)
    require_sign(inner.draws, inner.bounds)
    return standard, inner


def weights_program(
    standard: ScoredSample, inner: ScoredSample, kind: str, factors: SteinFactors, settings: Settings
) -> WeightsProgram:
    """Return the linear program in standard units, without limits on weights."""
    points, scores, limits = standard.points, standard.scores, standard.bounds
    z, shares, n = points.points, points.weights, len(points)
    none, most = np.empty((0, n)), np.ones(n)
    if kind == "graph":
        graph, _ = graph_on(z, "spanner", 2.0, settings)
        return WeightsProgram([SteinProgram(z, scores, shares, graph, factors, limits)], none, shares, most)
    pulls = marginal_scores(z, scores, shares, limits)
    programs = []
    for j in range(points.dim):
        u, own = z[:, [j]], None if limits is None else limits[[j]]
        programs.append(SteinProgram(u, pulls[:, [j]], shares, geometry.join_neighbours(u), factors, own))
    features = Quantities.of(inner, {}).stein_features()
    moments = none if features is None else features.T / np.abs(features).mean(axis=0)[:, None]
    return WeightsProgram(programs, moments, shares, most)


@np.errstate(over="ignore")  # draws with very large scores have no weight in the regression
def marginal_scores(z: Floats, scores: Floats, shares: Floats, bounds: Floats | None) -> Floats:
    """Return the scores without noise from other coordinates."""
    n, dim = z.shape
    is_free = np.ones(dim, dtype=bool) if bounds is None else ~np.isfinite(bounds).any(axis=1)
    covariance = np.atleast_2d(np.cov(z.T, aweights=shares)) * (np.eye(dim) + np.outer(is_free, is_free) > 0.0)
    sizes = np.maximum(np.einsum("nj,nj->n", scores @ covariance, scores), 0.0)
    roots = np.sqrt(shares / (1.0 + sizes / dim))[:, None]
    roots /= np.linalg.norm(roots)
    kish, found = 1.0 / float((roots**4).sum()), scores.copy()
    for j in range(dim):
        require_time("removing noise from the scores")
        others = np.flatnonzero(is_free & (np.arange(dim) != j))
        if not len(others):
            continue
        width = len(others) * (dim + 1)
        is_joint = _DRAWS_PER_FIELD * width <= n and n * width**2 < MOST_WORK
        factors = np.arange(dim) if is_joint else np.array([j])
        fields = z[:, factors, None] * scores[:, None, others] + np.eye(dim)[np.ix_(factors, others)]
        features = np.hstack([scores[:, others], fields.reshape(n, -1)])
        columns = roots * np.column_stack([features, scores[:, j]])
        smooth = np.linalg.qr(roots * np.vander(z[:, j], _POWERS))[0]
        columns -= smooth @ (smooth.T @ columns)
        gram = columns.T @ columns
        found[:, j] -= features @ ridge(gram[:-1, :-1], gram[:-1, -1:], gram[-1:, -1], kish)[:, 0]
    return found


def require_both_sides(standard: ScoredSample, most: Floats) -> None:
    """Raise InputError if no weights up to `most` make the mean score zero.

    Only scores of coordinates without bounds are checked.
    """
    free = standard.scores.T
    if standard.bounds is not None:
        free = free[~np.isfinite(standard.bounds).any(axis=1)]
    sizes = np.abs(free).max(axis=1, keepdims=True)
    equal = np.vstack([free / np.where(sizes > 0.0, sizes, 1.0), np.ones(len(standard.scores))])
    right = np.append(np.zeros(len(free)), 1.0)

    def is_impossible(largest: Floats) -> bool:
        limits = [(0.0, most) for most in largest.tolist()]
        return bool(linprog(np.zeros(len(limits)), A_eq=equal, b_eq=right, bounds=limits).status == _INFEASIBLE)

    if not is_impossible(most):
        return
    if is_impossible(np.ones(len(most))):
        raise InputError(
            "all draws are on one side of the mode: no weights make the mean score zero; run the sampler longer"
        )
    raise InputError("no weights up to `max_weight` make the mean score zero: increase `max_weight`")
