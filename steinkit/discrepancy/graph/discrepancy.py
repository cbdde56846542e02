"""The graph Stein discrepancy: graph, programs, solver, certificate.

Programs are solved a portion at a time, and of an answer only its bracket and its Stein function are kept. While an
solver works on a coordinate it holds several arrays of the program's n (d + 1) variables. For all coordinates at once
these would take many times the memory of the answer, and the first would take the time of the last. So eight
coordinates for each thread are solved and proved, which is what `first_order` does side by side, each portion in its
share of the time that is left; then the next.
"""

from __future__ import annotations

import time
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
from steinkit.discrepancy.operators import Coefficients, RiemannianLangevin
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
    """Measure how far a sample is from its target, bias included, with proof.

    The graph Stein discrepancy is the largest gap between the sample's mean and the target's mean, which is zero,
    over the functions h = <g, grad log p> + div g with g, its gradient and the gradient's Lipschitz constant bounded
    by the Stein factors along the edges of a graph on the sample's points. It needs the score of the target only.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        The sample. Repeated points are merged and their weights summed.
    target : Target, optional
        What the sample claims to represent. Exactly one of `target`, `scores` and scores stored in the sample is
        needed; a target given with a sample that stores scores takes their place.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the target's support, (lower, upper) for each coordinate; the target's own if not given.
    units : {"own", "raw"}, array_like of shape (d,), Units, or mapping
        In which draws and scores are taken: none, which is the definition; the sample's own standard deviations; or a
        scale for each coordinate, as an array or by name, {"scale": {...}}. The brackets are then those of the scaled
        draws, as are graph and saturation; g and its gradient are in raw coordinates again.
    dilation : float
        Stretch t > 1 of the spanner. A smaller one costs more edges and time; the value lies between the complete
        graph's and 2 t^2 times that.
    graph : {"spanner", "complete"}
        Graph on the points, in the L1 metric. In one dimension it is always the sorted sample, which gives the
        complete graph's value exactly.
    stein_factors : tuple of three floats
        Bounds (c1, c2, c3) on g, on its gradient and on the gradient's Lipschitz constant.
    operator : RiemannianLangevin, optional
        Diffusion operator in place of Langevin's, h = <a grad log p + div a, g> + <a, grad g> for a covariance
        coefficient a(x): one that grows in the tails suits a target with heavy ones. On a bounded support its
        off-diagonal entries must vanish on the faces. Values of different operators are not comparable. It is a
        function of raw coordinates; in units of scale S it is the same diffusion's, with S^-1 a S^-1.
    solver : str
        "auto" chooses by dimension, size and tolerance, and hands over where a bracket stays open; or one of "chain"
        (one dimension), "block", "first_order", "highs", "cvxpy", or "cvxpy:NAME" for an LP solver that CVXPY knows.
        ``steinkit score --help`` lists them.
    tolerance : float, optional
        Widest relative bracket (upper - lower)/upper accepted; 1e-6 up to three dimensions, 1e-3 above.
    max_seconds : float, optional
        Time, from the call on, after which solvers stop with the best bracket found. The graph counts, and so does a
        first compilation, which cannot be cut short. If half of the time passes before the spanner is there, a coarser
        one takes its place; a warning and `unranked` say so, and `dilation` is what is proved of it.
    n_jobs : int
        Coordinates solved side by side; -1 for one a processor. It does not change the answer.
    progress : bool
        Show progress on standard error.

    Returns
    -------
    GraphSteinDiscrepancy
        Bracket, coordinates, the optimal g and the test function, graph, timings and warnings.

    Raises
    ------
    UsageError
        If a setting cannot be honoured.
    InputError
        If the sample, the scores, the support or the operator do not fit together, or hold values that are not finite.
    SolverError
        If no solver certified the answer to within 10 %; the error carries the bracket. `TimeLimitError` if time ran
        out before there was a program to solve.
    CrossedBracketError
        If two proofs contradict each other, which is a defect of steinkit.

    Warns
    -----
    SteinkitWarning
        If the bracket is wider than `tolerance`.

    Notes
    -----
    A discrepancy is comparable between samples of the same size and target. It cannot see a mode that no draw has
    visited, if that mode does not change the score at the draws. Where neighbouring draws lie a good part of a unit
    apart, as a thousand do in three dimensions and more, it saturates: a sample that is too narrow may score lower than
    a right one. A warning says so, and samples are then not ordered by it (`GraphSteinDiscrepancy.is_saturated`).

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
    coefficients = _coefficients(operator, data.raw)
    usual = 1e-6 if sample.dim <= 3 else 1e-3
    settings = Settings(tolerance_of(tolerance, usual), deadlines.deadline(), deadlines.thread_count(n_jobs), progress)
    scored = time.perf_counter()
    from steinkit.runtime.compilation import announced_compilation

    scaled = None if coefficients is None else coefficients.in_units(data.units)
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
    with announced_compilation(), deadlines.stop_signal() as stop:
        settings = replace(settings, interrupted=stop)
        try:
            network, stretch = _graph_on(sample.points, graph, dilation, settings)
            program = replace(program, graph=network)
            spanned = time.perf_counter()
            deadlines.require_time("the programs were written down", registry.least_seconds(program))
            with instance_kept(**program.arrays):
                case = registry.Case(program, settings)
                chosen.require_suitable(case)
                written = time.perf_counter()
                answers = Answers(program)
                solving = partial(solve_in_portions, chosen, case, answers)
                deadlines.interruptible(solving, stop, "the programs were solved")
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
        dilation_asked=dilation if dilation < stretch else None,
        stein_factors=(factors.value, factors.gradient, factors.smoothness),
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
    choose = "Thin the sample" if " + " in result.solver else "Let solver auto choose, or thin the sample"
    return accepted(result, "the discrepancy", f" (solver {result.solver} could not close it)", choose)


def _coefficients(operator: RiemannianLangevin | None, data: ScoredSample) -> Coefficients | None:
    """The operator at the sample's points; None for Langevin's."""
    if operator is None:
        return None
    require_type(RiemannianLangevin, "a RiemannianLangevin or None", operator=operator)
    sample = data.points
    return operator.coefficients(sample.points, data.scores, bounds=data.bounds, names=sample.names, first=sample.first)


def _graph_on(points: Floats, kind: str, dilation: float, settings: Settings) -> tuple[geometry.Graph, float]:
    """The graph on the points and its stretch."""
    if not isinstance(kind, str) or kind not in ("spanner", "complete"):
        raise UsageError(f"graph must be 'spanner' or 'complete'; received {kind!r}")
    stretch = geometry.checked_dilation(dilation)
    if points.shape[1] == 1:
        return geometry.join_neighbours(points), 1.0
    if kind == "complete":
        return geometry.join_all_pairs(points), 1.0
    from steinkit.discrepancy.graph.spanner.greedy import span_in_time

    return span_in_time(points, stretch, n_jobs=settings.n_jobs, progress=settings.progress)


def _in_raw_units(g: Floats, slopes: Floats, units: Units, *, is_langevin: bool) -> tuple[Floats, Floats]:
    """A Stein function of z = (x - m) / S as one of x, such that T g stays the same at every point.

    Langevin's operator in z is that of the covariance S^2 in x, whose flow S g_z is what Langevin's takes for g. The
    coefficients b, a of another operator are b / S and S^-1 a S^-1 in z, so that it is g_z / S.
    """
    if units.kind == "raw":
        return g, slopes
    along = units.scale if slopes.shape[2] == g.shape[1] else units.scale[:, None]
    with np.errstate(over="ignore"):  # infinite where it is, in raw units
        if is_langevin:
            return g * units.scale, slopes * units.scale[:, None] / along
        return g / units.scale, slopes / units.scale[:, None] / along


class Answers:
    """What is known of every coordinate.

    Attributes
    ----------
    lower, upper : ndarray, shape (d,)
        Brackets: at first those that need no solver.
    g : ndarray, shape (n, d)
        Functions that attain the lower ends.
    slopes : ndarray, shape (n, d, k)
        Their gradients, k = d; or their derivatives along their own coordinates, k = 1, where the others are zero.
    late : bool
        Whether time ran out.
    solvers, notes : list
        Of those that had a part; and what the user should know, each with the number of its coordinate.
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
        """Keep what a solver proves of a coordinate."""
        proof = candidate.proof
        self.g[:, j], slopes = candidate.program.stein_function(proof.feasible)
        own = slopes.shape[1] < self.slopes.shape[2]  # a coordinate between near bounds may be loose by itself
        self.slopes[:, j, slice(j, j + 1) if own else slice(None)] = slopes
        self.lower[j], self.upper[j] = proof.lower, proof.upper
        self.solvers += candidate.solvers
        self.notes += [(j, note) for note in candidate.notes]


def solve_in_portions(solver: registry.Solver, case: registry.Case, answers: Answers) -> None:
    """Solve and prove all coordinates, or as many as there is time for.

    Raises
    ------
    TimeLimitError
        If there was no time for any.
    """
    at_once, proof = registry.PORTION * case.settings.n_jobs, registry.proof_seconds(case.program)
    portions = [range(begin, min(begin + at_once, case.dim)) for begin in range(0, case.dim, at_once)]
    for number, portion in enumerate(portions):
        left = case.settings.seconds_left
        ends = time.monotonic() + left / (len(portions) - number) - proof * len(portion)
        if number and left == 0.0:
            break
        try:
            candidates = solver.work_on(case.with_settings(replace(case.settings, deadline=ends)), portion)
        except TimeLimitError:
            if not number:
                raise
            break
        answers.late |= time.monotonic() >= ends
        for j, candidate in zip(portion, candidates, strict=True):
            answers.take(j, candidate)
        del candidates, candidate  # before the next ones come
    else:
        return
    answers.late = True
