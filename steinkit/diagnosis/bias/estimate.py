"""Biases of means and standard deviations, with margins of error.

An estimate is reliable if its margin of error is small. If the drift of the draws under an exact Markov kernel is known
(`steinkit.diagnosis.bias.drift`), the estimate must also agree with this drift. If an estimate is not reliable and the
target has a log density, a short exact run (`steinkit.diagnosis.exact_moves.ExactRun`) moves the draws, and the same
regression and criteria are applied to the moved draws.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.arguments import generator_from
from steinkit.chains import LOW_BFMI, smallest_bfmi, touched_by_divergences
from steinkit.containers.reading import DrawsLike
from steinkit.diagnosis.bias.drift import Drift
from steinkit.diagnosis.bias.quantities import Quantities, varying
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.bias.stein_regression import Estimates, location_and_scale
from steinkit.diagnosis.exact_moves import Density, ExactRun, groups_of
from steinkit.draws import ChainDraws
from steinkit.errors import UsageError, cautious, require_known
from steinkit.runtime.deadlines import one_thread_in_libraries, require_time, within_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Functions, Seed, Target, as_functions

_METHODS = ("auto", "regression", "run")
_WIDEST = 0.3  # largest margin of error of a reliable bias estimate, in standard deviations
_MARGINS = 2.0  # width of a margin of error, in standard errors
_CHECKED = 4  # number of moves used to measure the drift, at a cost of 28 gradients per draw
_MOVES = (4, 4, 6, 10, 16)  # number of moves before each estimate; a run costs 28 to 280 gradients per draw
_LEAST_EXPLAINED = 0.2  # features must explain this fraction of a quantity's variance to detect its bias
_CLIMB, _DRIFTS = 3.5, 6.0  # limits on changes in log density and coordinates after convergence, in standard errors
_NOT_CONVERGED = "a short exact run has not converged"
_DISAGREE = "the regression and an exact Markov kernel disagree"
_TOO_WIDE = "the margin of error is too wide"
_MOSTLY_TOO_WIDE = "the margins of error of most quantities are too wide"
_UNEXPLAINED = "the Stein features do not explain enough variation to detect a bias"
_TOO_FEW = "there are too few draws for joint features of all coordinates; use at least six draws per coordinate"


@cautious
@within_time
def estimate_bias(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    functions: Functions | None = None,
    method: str = "auto",
    max_seconds: float | None = None,
    rng: Seed = 0,
) -> BiasEstimate:
    """Estimate the biases of the means and standard deviations of a sample.

    No reference draws are needed. Stein features have mean zero under the target, and a regression of each quantity on
    the features corrects the mean of the quantity.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or any object that `as_sample` accepts
        Draws in the order in which they were generated.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in the
        sample. An exact run requires a target with a log density.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target.
    functions : mapping of str to callable, optional
        Additional quantities, such as probabilities or predictions. Each function maps draws of shape (n, d) to n
        values. The functions of the target are always included.
    method : {"auto", "regression", "run"}
        "regression" uses Stein features and needs only scores. "run" moves every draw with a short exact MCMC run and
        applies the regression to the moved draws. "auto" (default) starts with the regression. If the target has a log
        density, "auto" then compares the regression with the drift of the draws under an exact Markov kernel (28
        gradients per draw), and uses the run if an estimate is not reliable.
    max_seconds : float, optional
        Time limit in seconds.
    rng : int, numpy.random.Generator or None
        Seed for the run.

    Returns
    -------
    BiasEstimate
        Biases in the units of each quantity and in standard deviations, with margins of error.

    Raises
    ------
    UsageError, InputError
        If the arguments are inconsistent, if there are fewer draws than coordinates, if a quantity is constant, if a
        function fails or returns an array with a different shape, if the scores have the wrong sign, or if
        `method="run"` is requested without a log density.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    The estimate cannot account for regions that no draw visited. No estimate is reliable if a valley of the density
    separates groups of draws, or if there are fewer than thirty effective draws in the slowest mixing direction. In
    these cases, the scores do not determine the weights of regions.

    References
    ----------
    .. [1] A. Mira, R. Solgi and D. Imparato, "Zero variance Markov chain Monte Carlo for Bayesian estimators",
       Statistics and Computing 23, 2013.
    .. [2] Q. Liu and J. D. Lee, "Black-box importance sampling", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = 1.0 + 0.8 * np.random.default_rng(0).standard_normal((1000, 2))
    >>> found = sk.estimate_bias(draws, sk.targets.Normal([0.0, 0.0]))
    >>> found.mean_bias.round(1).tolist(), np.exp(found.sd_bias).round(1).tolist()
    ([1.0, 1.0], [0.8, 0.8])
    """
    require_known([method], _METHODS, "unknown method", "the methods")
    if method == "run" and (target is None or not target.has_log_density):
        raise UsageError('`method` "run" requires a target with a log density')
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    brought, left_out = varying(target.functions if target is not None else {}, prepared.points.points)
    functions = {**brought, **as_functions({} if functions is None else functions)}
    return bias_of(prepared, functions=functions, left_out=left_out, method=method, rng=rng)


def bias_of(
    prepared: ScoredSample,
    *,
    functions: Functions,
    left_out: tuple[str, ...] = (),
    method: str = "regression",
    rng: Seed = 0,
    drift: Drift | None = None,
    unusable: str = "",
) -> BiasEstimate:
    """Estimate the biases of a scored sample.

    Parameters
    ----------
    prepared : ScoredSample
    functions, method, rng
        See `estimate_bias`. The functions must vary over the draws.
    left_out : tuple of str
        Notes on functions that are constant over the draws.
    drift : Drift, optional
        Drift of these draws under an exact Markov kernel. Reliable estimates must agree with it. If no drift is given,
        the method "auto" measures the drift if the target has a log density.
    unusable : str
        Reason why no estimate is reliable, or an empty string (default).
    """
    target = prepared.target
    can_run = target is not None and target.has_log_density
    with one_thread_in_libraries():
        require_time("estimating biases")
        quantities = Quantities.of(prepared, functions)
        require_time("estimating biases")
        found, slowest = quantities.by_regression(), prepared.standard_draws.of_slowest_change
        hidden, is_multimodal = quantities.hidden_shares(slowest)
        hidden = unusable or hidden
        tilted, dependence = quantities.entropy_weights(), quantities.hidden_dependence()
        run = None
        if method == "auto" and can_run and drift is None and not hidden:
            run = _start(quantities, target, rng)
            there = run.move(_CHECKED).points
            drift = Drift.of(quantities.draws, there, there**2)
        reason = _reason(found, quantities, hidden or dependence, _contradicted(found, quantities.draws, drift))
        unranked = hidden or dependence or (_TOO_FEW if _TOO_FEW in reason else "")
        at_least, moved = np.zeros(len(reason)), None
        if method == "run" or (method == "auto" and can_run and any(reason) and not hidden):
            moved = run or _start(quantities, target, rng)
            found, reason, at_least = _by_run(quantities, moved, found, hidden)
            unranked = next(filter(None, reason), "")
    reason = _with_missed_regions(prepared, quantities, reason)
    carried = np.flatnonzero(prepared.points.inverse >= 0)[quantities.draws.rows]
    weights = None
    if tilted is not None:
        weights = np.zeros(len(prepared.given))
        weights[carried] = tilted
    unit_error = (quantities.centre - found.mean) / found.sd * found.log_sd_error
    return BiasEstimate(
        names=quantities.names,
        mean=found.mean,
        sd=found.sd,
        draws_mean=quantities.centre,
        draws_sd=quantities.scale,
        mean_margin=_MARGINS * np.hypot(found.mean_error, unit_error),
        sd_margin=_MARGINS * found.log_sd_error,
        reason=reason,
        at_least=at_least,
        weights=weights,
        method="regression" if moved is None else "run",
        moved=None if moved is None else _sample_of(prepared, carried, moved),
        gradients=0 if moved is None else moved.gradients,
        hidden=hidden,
        unranked=f"the biases could not be estimated: {unranked}" if unranked else "",
        is_multimodal=is_multimodal,
        draws=len(prepared.given),
        features=quantities.operand.sets[-1],
        warnings=(*prepared.notes, *quantities.draws.disorder, *left_out),
    )


def _reason(found: Estimates, quantities: Quantities, hidden: str, disagree: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the reason why each estimate is unreliable, or "" if it is reliable."""
    if hidden:
        return (hidden,) * len(found.mean)
    biases = np.array([(quantities.centre - found.mean) / found.sd, np.log(quantities.scale / found.sd)])
    margins = _MARGINS * np.array([found.mean_error, found.log_sd_error])
    reach = np.where(np.abs(biases) > margins, margins, np.abs(biases) + margins)
    errors = np.nan_to_num(np.max(reach, axis=0), nan=np.inf, posinf=np.inf)
    finite = errors[np.isfinite(errors)]
    mostly = np.full(len(errors), len(finite) > 0 and np.median(finite) > _WIDEST)
    conditions = [errors == np.inf, errors > _WIDEST, mostly, disagree, found.explained < _LEAST_EXPLAINED]
    reasons = [_TOO_FEW, _TOO_WIDE, _MOSTLY_TOO_WIDE, _DISAGREE, _UNEXPLAINED]
    return tuple(np.select(conditions, reasons, "").tolist())  # the first that applies


def _with_missed_regions(prepared: ScoredSample, quantities: Quantities, reasons: tuple[str, ...]) -> tuple[str, ...]:
    """Add reasons why draws may miss regions (divergences or a low E-BFMI)."""
    given, dim = prepared.given, quantities.dim
    touched, reason = np.zeros(dim, dtype=bool), ""
    if given.divergent is not None and given.divergent.any():
        touched = touched_by_divergences(given.points, given.divergent)
        for group in groups_of(given.points, prepared.bounds):
            touched[group.members] |= touched[group.scale]
        reason = f"{given.divergent.sum()} transitions diverged, so the draws may miss a region"
    if (bfmi := smallest_bfmi(given)) is not None and bfmi < LOW_BFMI:
        touched, reason = np.ones(dim, dtype=bool), f"the E-BFMI is {bfmi:.2f}, so the draws may miss the tails"
    everything = np.append(touched, np.full(len(reasons) - dim, touched.any()))
    return tuple(other or (reason if hit else "") for hit, other in zip(everything, reasons, strict=True))


def _contradicted(found: Estimates, draws: ChainDraws, drift: Drift | None, moving: bool = False) -> NDArray[np.bool_]:
    """Return a mask of the quantities for which the drift contradicts the estimates.

    If any coordinate is masked, all functions are masked as well. If `moving` is true, every significant drift counts
    as a contradiction.
    """
    if drift is None:
        return np.zeros(len(found.mean), dtype=bool)
    centre, scale = location_and_scale(draws.points, draws.shares)
    none = np.zeros(len(centre))
    mean, sd, *margins = (each[: len(none)] for each in (found.mean, found.sd, found.mean_error, found.log_sd_error))
    margin, sd_margin = (_MARGINS * each for each in margins)
    contradicted = drift.contradicts((centre - mean) / sd, margin, np.log(scale / sd), sd_margin)
    if moving:
        contradicted |= drift.contradicts(none, margin, none, sd_margin)
    return np.append(contradicted, np.full(len(found.mean) - len(none), contradicted.any()))


def _start(quantities: Quantities, target: Target | None, rng: Seed) -> ExactRun:
    assert target is not None
    draws = quantities.draws
    return ExactRun(draws.points, draws.shares, Density(target, quantities.bounds), generator_from(rng))


def _by_run(
    quantities: Quantities, run: ExactRun, found: Estimates, hidden: str
) -> tuple[Estimates, tuple[str, ...], Floats]:
    """Move the draws until their estimates are reliable or the run ends.

    Slowly mixing quantities may not have converged when the run ends. The errors therefore include the change in the
    estimate during the last moves, and each margin covers a remaining change of up to twice this size. For standard
    deviations, the larger of the changes in the estimate and in the draws is used because features may not detect a
    tail that fills slowly.

    Returns the estimates, the reasons why some of them are unreliable and, for each quantity without a reliable
    estimate, the distance in sd by which the run moved its mean. The distance is 0 if noise explains the change.
    """
    scale = quantities.scale
    for times in _MOVES:
        before = replace(quantities.draws, points=run.points)
        run.move(times)
        there = quantities.moved(run.points, run.scores())
        now, mean, sd = there.by_regression(), *location_and_scale(there.values(), there.draws.shares)
        with np.errstate(divide="ignore", invalid="ignore"):  # a function may be constant at the moved draws
            changes = np.abs(np.log([now.sd / found.sd, sd / scale]))
        log_sd_change = np.nan_to_num(changes.max(axis=0), nan=np.inf, posinf=np.inf)
        mean_error = np.hypot(now.mean_error, (now.mean - found.mean) / now.sd)
        found = replace(now, mean_error=mean_error, log_sd_error=np.hypot(now.log_sd_error, log_sd_change))
        scale = sd
        drift = Drift.of(before, run.points, run.points**2)
        not_converged = _NOT_CONVERGED if abs(run.climb) > _CLIMB or drift.largest() > _DRIFTS else ""
        unknown = hidden or there.hidden_shares()[0] or there.hidden_dependence() or not_converged
        reason = _reason(found, quantities, unknown, _contradicted(found, before, drift, moving=True))
        if not any(reason):
            break
    went = np.abs(mean - quantities.centre) / found.sd
    noise = _MARGINS * math.sqrt(2.0 / len(there.draws.points))  # upper bound for paired draws
    is_unknown = np.array([each != "" and not hidden for each in reason])
    return found, reason, np.where(is_unknown & (went > noise), went, 0.0)


def _sample_of(prepared: ScoredSample, rows: Integers, run: ExactRun) -> Sample:
    """Return the moved draws in the order of the original draws."""
    order = np.argsort(rows, kind="stable")
    points, scores, names = run.points[order], run.scores()[order], prepared.points.names
    given = prepared.given[rows[order]]
    return Sample(points, given.weights, scores, chain=given.chain, draw=given.draw, names=names)
