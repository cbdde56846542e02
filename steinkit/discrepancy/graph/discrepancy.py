"""Computation of the graph Stein discrepancy, from the graph to the certificate.

The coordinates are solved in batches of eight per thread. For each coordinate, a solver stores several arrays with one
entry for each of the n (d + 1) variables. Solving all coordinates at once would require many times the memory of the
result. The remaining time is divided equally among the batches. Only the bracket and the Stein function of each
solution are kept.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import require_type
from steinkit.containers.reading import DrawsLike
from steinkit.discrepancy.bracket import accepted, instance_kept, sum_of_brackets, tolerance_of
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.graph.solvers import Candidate, Settings, registry, solver_named
from steinkit.discrepancy.graph.spanner import geometry
from steinkit.discrepancy.operators import RiemannianLangevin
from steinkit.errors import Caution, TimeLimitError, UsageError, cautious
from steinkit.runtime import deadlines
from steinkit.sample import Floats
from steinkit.scored_sample import ScoredSample
from steinkit.target import Target
from steinkit.units import Units, UnitsLike


@cautious
@deadlines.within_time
def graph_stein_discrepancy(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    units: UnitsLike = "raw",
    dilation: float = 2.0,
    graph: Literal["spanner", "complete"] = "spanner",
    stein_factors: tuple[float, float, float] = (1.0, 1.0, 1.0),
    operator: RiemannianLangevin | None = None,
    solver: str = "auto",
    tolerance: float | None = None,
    max_seconds: float | None = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> GraphSteinDiscrepancy:
    """Compute the graph Stein discrepancy of a sample, with a certified bracket.

    The discrepancy is the largest sample mean of the functions h = <g, grad log p> + div g, which have mean zero under
    the target. The Stein factors bound the values, gradients and second differences of g at the points and along the
    edges of a graph. Only the score grad log p of the target is required.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or any input of `as_sample`
        The sample. Repeated points are merged, and their weights are added.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in the
        sample. A target replaces stored scores.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Non-negative weights of the draws, which are normalized. By default, the weights are equal.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds (lower, upper) of the support, per coordinate. The default is the bounds of the target.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping, default "raw"
        Units of the draws and scores. With the value "raw", the draws are not rescaled, as in the definition. With the
        value "own", the units are the standard deviations of the sample. Alternatively, one scale per coordinate can be
        given as an array or by name, ``{"scale": {...}}``. The bracket, the graph and the saturation refer to the
        scaled draws. The function g and its gradient are converted back to raw coordinates.
    dilation : float, default 2.0
        Dilation t > 1 of the spanner. The discrepancy is at least the discrepancy of the complete graph and at most 2
        t^2 times as large. A smaller t gives more edges and takes longer.
    graph : {"spanner", "complete"}, default "spanner"
        Graph on the points, with L1 distances as lengths. In one dimension, consecutive points are joined. This graph
        gives exactly the value of the complete graph.
    stein_factors : tuple of three floats, default (1.0, 1.0, 1.0)
        Bounds (c1, c2, c3) on g, on its gradient, and on the Lipschitz constant of its gradient.
    operator : RiemannianLangevin, optional
        Diffusion operator h = <a grad log p + div a, g> + <a, grad g> that replaces the Langevin operator (a = I). The
        covariance coefficient a(x) is a function of raw coordinates. A coefficient that grows in the tails is suitable
        for heavy-tailed targets. On a bounded support, the off-diagonal entries of a(x) must vanish on the faces. The
        values of different operators cannot be compared.
    solver : str, default "auto"
        With the value "auto", the solver is chosen based on the dimension, size and tolerance; another solver takes
        over if a bracket is too wide. The other values are "chain" (one dimension only), "block", "first_order",
        "highs", "cvxpy", and "cvxpy:NAME" for an LP solver that CVXPY supports.
    tolerance : float, optional
        Largest relative width (upper - lower)/upper of the bracket. The default is 1e-6 in up to three dimensions and
        1e-3 in more dimensions.
    max_seconds : float, optional
        Time limit in seconds. The time includes building the graph and any compilation on first use. Solvers stop at
        the limit and return the best bracket found.
    n_jobs : int, default 1
        Number of threads. The value -1 uses one thread per processor. The result does not depend on this number.
    progress : bool, default False
        If True, progress is shown on standard error.

    Returns
    -------
    GraphSteinDiscrepancy
        The bracket, the values of the coordinates, the optimal function g, the test function h, the graph, timings and
        warnings.

    Raises
    ------
    UsageError
        If an argument is not valid.
    InputError
        If the sample, the scores, the support or the operator are inconsistent or not finite.
    SolverError
        If the relative width of the bracket exceeds 10%. The error contains the bracket.
    TimeLimitError
        If the time limit is exceeded before the programs are built.
    CrossedBracketError
        If two bounds contradict each other, which indicates a bug in steinkit.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`, or if the discrepancy is saturated.

    Notes
    -----
    Discrepancies can be compared between samples of the same size for the same target. A mode that no draw visited is
    not detected if it does not change the score at the draws. The discrepancy saturates if the distance between
    neighboring draws is a substantial fraction of a unit, as is the case for 1000 draws in three or more dimensions. A
    sample that is too narrow may then have a smaller discrepancy than exact draws. A warning reports saturation, and
    such samples are not ranked (`GraphSteinDiscrepancy.is_saturated`).

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, sections 3 and 4.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((300, 2))
    >>> result = sk.graph_stein_discrepancy(draws, sk.targets.Normal([0.0, 0.0]))
    >>> round(result.value, 6), len(result.graph.edges)
    (0.819838, 445)
    """
    factors = SteinFactors.of(stein_factors)
    chosen = solver_named(solver)
    began = time.perf_counter()
    data = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds).in_units(units)
    sample = data.points
    coefficients = scaled = None
    if operator is not None:
        require_type(RiemannianLangevin, "a RiemannianLangevin or None", operator=operator)
        raw = data.raw
        coefficients = operator.coefficients(raw.points.points, raw.scores, bounds=raw.bounds, names=raw.points.names)
        scaled = coefficients.in_units(data.units)
    usual = 1e-6 if sample.dim <= 3 else 1e-3
    settings = Settings(tolerance_of(tolerance, usual), deadlines.deadline(), deadlines.thread_count(n_jobs), progress)
    scored = time.perf_counter()
    from steinkit.runtime.compilation import GRAPH_SECONDS, announced_compilation, small_work

    small = small_work(GRAPH_SECONDS * len(sample)) if sample.dim == 1 else nullcontext()
    program = SteinProgram(
        sample.points,
        data.scores,
        sample.weights,
        geometry.unjoined(len(sample)),
        factors,
        data.bounds,
        scaled,
        sample.weights_low,
    )
    answers = None
    with small, announced_compilation(), deadlines.stop_signal() as stop:
        settings = replace(settings, interrupted=stop)
        try:
            network, stretch = graph_on(sample.points, graph, dilation, settings)
            program = replace(program, graph=network)
            spanned = time.perf_counter()
            deadlines.require_time("setting up the programs")
            with instance_kept(**program.arrays):
                chosen.require_suitable(program)
                written = time.perf_counter()
                answers = Answers(program)
                solving = partial(solve_in_portions, chosen, program, settings, answers)
                deadlines.interruptible(solving, stop, "solving the programs")
        except TimeLimitError as error:
            known = Answers(program) if answers is None else answers
            raise error.within(*sum_of_brackets(known.lower, known.upper)) from None
    solved = time.perf_counter()
    g, slopes = _in_raw_units(answers.g, answers.slopes, data.units, is_langevin=operator is None)
    total = sum_of_brackets(answers.lower, answers.upper)
    result = GraphSteinDiscrepancy(
        lower=total[0],
        upper=total[1],
        coordinate_lower=answers.lower,
        coordinate_upper=answers.upper,
        g=g,
        slopes=slopes,
        scores=data.raw.scores,
        sample=data.raw.points,
        units=data.units,
        graph=network,
        dilation=stretch,
        stein_factors=(*factors,),
        solver=" + ".join(dict.fromkeys(answers.solvers)),
        tolerance=settings.tolerance,
        seconds={
            "scores": scored - began,
            "graph": spanned - scored,
            "program": written - spanned,
            "solve": solved - written,
        },
        warnings=data.notes + tuple(f"{sample.names[j]}: {note}" for j, note in answers.notes),
        bounds=data.raw.bounds,
        operator=operator,
        coefficients=coefficients,
    )
    if result.unranked:
        result = replace(result, warnings=(*result.warnings, Caution(result.unranked)))
    if answers.late:
        return accepted(result, "the discrepancy", " (time ran out)", "Allow more time, or thin the sample")
    remedy = "Thin the sample" if " + " in result.solver else "Use solver auto, or thin the sample"
    return accepted(result, "the discrepancy", f" (solver {result.solver} could not narrow the bracket)", remedy)


def graph_on(points: Floats, kind: str, dilation: float, settings: Settings) -> tuple[geometry.Graph, float]:
    """Build the graph on the points and return it with its dilation."""
    if not isinstance(kind, str) or kind not in ("spanner", "complete"):
        raise UsageError(f"graph must be 'spanner' or 'complete'; got {kind!r}")
    stretch = geometry.checked_dilation(dilation)
    if points.shape[1] == 1:
        return geometry.join_neighbours(points), 1.0
    if kind == "complete":
        return geometry.complete_graph(points), 1.0
    from steinkit.discrepancy.graph.spanner.greedy import span_greedily

    return span_greedily(points, stretch, n_jobs=settings.n_jobs, progress=settings.progress), stretch


def _in_raw_units(g: Floats, slopes: Floats, units: Units, *, is_langevin: bool) -> tuple[Floats, Floats]:
    """Convert a Stein function of scaled draws to raw coordinates.

    For z = (x - m) / S, the returned function of x has the same T g at every point. The Langevin operator in z is the
    operator with covariance S^2 in x, so the Langevin operator in x has g = S g_z. For other operators, the
    coefficients in z are b / S and S^-1 a S^-1, so g = g_z / S.
    """
    if units.kind == "raw":
        return g, slopes
    along = units.scale if slopes.shape[2] == g.shape[1] else units.scale[:, None]
    if is_langevin:
        return g * units.scale, slopes * units.scale[:, None] / along
    return g / units.scale, slopes / units.scale[:, None] / along


class Answers:
    """Best bounds found so far for each coordinate.

    Attributes
    ----------
    lower, upper : ndarray, shape (d,)
        Brackets, which are initially [0, c1 sum |b_gamma| + c2 sum |b_Gamma|].
    g : ndarray, shape (n, d)
        Functions that attain the lower bounds.
    slopes : ndarray, shape (n, d, k)
        Gradients of these functions (k = d), or only the derivatives of g_j in direction j (k = 1) if all others are
        zero.
    late : bool
        True if the time limit stopped a solver.
    solvers : list of str
        Solvers that contributed to the bracket.
    notes : list of (int, str)
        Pairs of a coordinate and a message for the user.
    """

    def __init__(self, program: SteinProgram) -> None:
        n, dim = program.points.shape
        self.lower, self.upper = np.zeros(dim), program.trivial_bounds
        self.g = np.zeros((n, dim))
        self.slopes: Floats = np.zeros((dim, 1 if program.is_loose else dim, n)).transpose(2, 0, 1)
        self.late = False
        self.solvers: list[str] = []
        self.notes: list[tuple[int, str]] = []

    def take(self, j: int, candidate: Candidate) -> None:
        """Store the certified bounds and the Stein function for coordinate j."""
        proof = candidate.proof
        self.g[:, j], self.slopes[:, j] = candidate.program.stein_function(proof.feasible)
        self.lower[j], self.upper[j] = proof.lower, proof.upper
        self.solvers += candidate.solvers
        self.notes += [(j, note) for note in candidate.notes]


def solve_in_portions(solver: registry.Solver, program: SteinProgram, settings: Settings, answers: Answers) -> None:
    """Solve and certify the coordinates in batches until the time limit is reached.

    Raises
    ------
    TimeLimitError
        If the time limit is exceeded before the first batch is solved.
    """
    size = registry.PORTION * settings.n_jobs
    portions = [range(begin, min(begin + size, program.dim)) for begin in range(0, program.dim, size)]
    for number, portion in enumerate(portions):
        left = settings.seconds_left
        if number and left == 0.0:
            answers.late = True
            return
        end = time.monotonic() + left / (len(portions) - number)
        try:
            candidates = solver(program, replace(settings, deadline=end), portion)
        except TimeLimitError:
            if not number:
                raise
            answers.late = True
            return
        answers.late |= time.monotonic() >= end
        for j, candidate in zip(portion, candidates, strict=True):
            answers.take(j, candidate)
        del candidates, candidate  # this frees memory before the next batch
