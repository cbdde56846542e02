"""How wrong are the numbers: biases of means and standard deviations in the parameters' own units, with margins.

A bias counts as reliable where its margin is small and, if draws moved by an exact Markov kernel are at hand, where the
regression and their drift agree (`steinkit.diagnosis.bias.drift`). Otherwise a short exact run decides, where there
is a log density (`steinkit.diagnosis.exact_run`): the same regression where the draws went, held to the same rule.
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
from steinkit.diagnosis.bias.quantities import Quantities, location_and_scale, varying
from steinkit.diagnosis.bias.result import BiasEstimate, Method
from steinkit.diagnosis.bias.stein_regression import Estimates
from steinkit.diagnosis.exact_kernels import groups_of
from steinkit.diagnosis.exact_run import ExactRun
from steinkit.draws import Draws
from steinkit.errors import InputError, UsageError, cautious, require_known
from steinkit.runtime.deadlines import one_thread_in_libraries, within_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Functions, Seed, Target, as_functions

_METHODS = ("auto", "regression", "weights", "run")
_WIDEST = 0.3  # margin of a bias, or largest bias of a quantity that is called exact, in standard deviations
_MARGINS = 2.0  # claimed errors in a margin
_WITNESS = 4  # moves whose drift a regression is compared with: 28 gradients per draw
_MOVES = (4, 4, 6)  # of a run, from one estimate to the next: 28 to 98 gradients per draw
_LEAST_EXPLAINED = 0.2  # of a quantity's variance, below which features cannot see its bias
_CLIMB, _DRIFTS = 3.5, 6.0  # standard errors by which the log density and any coordinate of a settled run change
_UNSETTLED = "a short exact run has not settled"
_DISAGREE = "the regression and an exact Markov kernel disagree"
_TOO_WIDE = "the margin is too wide"
_UNEXPLAINED = "its variation is not explained by the features, which cannot see its bias"
_TOO_FEW = "too few draws for functions of all coordinates together; take six times as many as coordinates"


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
    """Estimate how far means and standard deviations of draws are off, without any reference draws.

    Stein features of the draws have known means under the target; what they say of each quantity is taken from it.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        In the order in which they were made.
    target : Target, optional
        Exactly one of `target`, `scores` and scores stored in the sample is needed. An exact run needs a target with a
        log density.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit; autocorrelation is then not allowed for.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given.
    functions : mapping of str to callable, optional
        Further quantities: functions of the draws, (n, d) -> (n,), such as probabilities or predictions; beside those
        that the target brings.
    method : {"auto", "regression", "weights", "run"}
        "regression" on Stein features, for which scores suffice. "weights" of largest entropy. "run": a short exact run
        of Hamiltonian Monte Carlo from every draw, and the regression where the draws have gone. "auto" is the
        regression; where the target has a log density, it is compared with the drift of the draws under 28 gradients
        per draw of Hamiltonian Monte Carlo, and the run takes its place where it is not reliable.
    max_seconds : float, optional
        Time, from the call on, after which to give up.
    rng : int, numpy.random.Generator or None
        Seed of the run.

    Returns
    -------
    BiasEstimate
        In the quantities' own units and in standard deviations, with margins.

    Raises
    ------
    UsageError, InputError
        As `moment_stein_discrepancy` does; or if there are fewer draws than coordinates, a quantity never changes,
        a function fails or returns another shape, the scores have the opposite sign, or a run is asked for that cannot
        be made.
    TimeLimitError
        If `max_seconds` pass first.

    Notes
    -----
    Regions that no draw has visited are not seen. Where the draws fall into groups with a valley of the density between
    them, or what changes slowest has fewer than thirty effective draws, nothing is reliable: the score does not
    know the weights of regions.

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
        raise UsageError("a run needs a target with a log density; give one, or take another method")
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
    slowest: float | None = None,
    drift: Drift | None = None,
    unusable: str = "",
) -> BiasEstimate:
    """Estimate the biases of a prepared sample, and of functions that vary.

    Parameters
    ----------
    prepared : ScoredSample
    functions, left_out, method, rng
        As for `estimate_bias`.
    slowest : float, optional
        `Draws.of_slowest_change`, where it is known.
    drift : Drift, optional
        Drift of these draws under an exact Markov kernel, which reliable biases must agree with. Without it "auto"
        measures one, if the target has a log density.
    unusable : str
        Why no estimate is reliable; empty by default.
    """
    target = prepared.target
    can_run = target is not None and target.has_log_density
    with one_thread_in_libraries():
        quantities = Quantities.of(prepared, functions)
        found, (hidden, falls_apart) = quantities.by_regression(), quantities.hidden_shares(slowest)
        hidden = unusable or hidden
        tilted = quantities.entropy_weights()
        used: Method = "regression"
        if method == "weights":
            if tilted is None:
                raise InputError(
                    f"weights need more than {6 * quantities.dim} draws of {quantities.dim} coordinates; received "
                    f"{len(quantities.operand.points)}"
                )
            found, used = quantities.by_weights(tilted, found), "weights"
        dependence, moved = quantities.hidden_dependence(), None
        run = None
        if method == "auto" and can_run and drift is None and not hidden:
            run = _start(quantities, target, rng)
            drift = _drift(quantities.draws, run.move(_WITNESS).points)
        reason = _reason(found, quantities, hidden or dependence, _contradicted(found, quantities.draws, drift))
        unranked = hidden or dependence or next((why for why in reason if why == _TOO_FEW), "")
        at_least = np.zeros(len(reason))
        if method == "run" or (method == "auto" and can_run and any(reason) and not hidden):
            moved = run or _start(quantities, target, rng)
            found, reason, at_least = _by_run(quantities, moved, found, hidden)
            used, unranked = "run", next((why for why in reason if why), "")
    reason = tuple(map(str.__add__, reason, _missed(prepared, quantities, reason)))
    weights = None
    carried = np.flatnonzero(prepared.points.inverse >= 0)[quantities.draws.rows]
    if tilted is not None:
        weights = np.zeros(len(prepared.given))
        weights[carried] = tilted
    off = (quantities.centre - found.mean) / found.sd
    return BiasEstimate(
        names=quantities.names,
        mean=found.mean,
        sd=found.sd,
        draws_mean=quantities.centre,
        draws_sd=quantities.scale,
        mean_bias=off,
        sd_bias=np.log(quantities.scale / found.sd),
        mean_margin=_MARGINS * np.hypot(found.mean_error, off * found.log_sd_error),
        sd_margin=_MARGINS * found.log_sd_error,
        reliable=np.array([not each for each in reason]),
        reason=reason,
        at_least=at_least,
        weights=weights,
        worth=0.0 if tilted is None else 1.0 / float(tilted @ tilted),
        method=used,
        moved=None if moved is None else _sample_of(prepared, carried, moved),
        gradients=0 if moved is None else moved.gradients,
        hidden=hidden,
        unranked=f"biases are not known: {unranked}" if unranked else "",
        falls_apart=falls_apart,
        draws=len(prepared.given),
        features=quantities.operand.richest,
        warnings=(*prepared.notes, *quantities.draws.disorder, *left_out),
    )


def _reason(found: Estimates, quantities: Quantities, hidden: str, disagree: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return for each quantity why its margins are not reliable; empty where they are."""
    if hidden:
        return (hidden,) * len(found.mean)
    offs = (quantities.centre - found.mean) / found.sd, np.log(quantities.scale / found.sd)
    margins = _MARGINS * found.mean_error, _MARGINS * found.log_sd_error
    reach = [
        np.where(np.abs(off) > margin, margin, np.abs(off) + margin) for off, margin in zip(offs, margins, strict=True)
    ]
    errors = np.nan_to_num(np.max(reach, axis=0), nan=np.inf, posinf=np.inf)
    finite = errors[np.isfinite(errors)]
    most = "the margins of most quantities are too wide" if len(finite) and np.median(finite) > _WIDEST else ""
    return tuple(
        (_TOO_FEW if error == np.inf else _TOO_WIDE)
        if error > _WIDEST
        else most or (_DISAGREE if disagree[k] else _UNEXPLAINED if found.explained[k] < _LEAST_EXPLAINED else "")
        for k, error in enumerate(errors)
    )


def _missed(prepared: ScoredSample, quantities: Quantities, given_reasons: tuple[str, ...]) -> list[str]:
    """Return for each quantity that has no reason yet whether divergences or a low E-BFMI make it unreliable."""
    given, dim = prepared.given, quantities.dim
    touched, reason = np.zeros(dim, dtype=bool), ""
    if given.divergent is not None and given.divergent.any():
        touched = touched_by_divergences(given.points, given.divergent)
        for group in groups_of(given.points, prepared.bounds) if dim > 1 else ():
            touched[group.members] |= touched[group.scale]
        reason = f"{given.divergent.sum()} transitions diverged, so a region may be missing"
    if (bfmi := smallest_bfmi(given)) is not None and bfmi < LOW_BFMI:
        touched, reason = np.ones(dim, dtype=bool), f"the E-BFMI is {bfmi:.2f}, so tails may be missing"
    everything = np.append(touched, np.full(len(given_reasons) - dim, touched.any()))
    return [reason if hit and not other else "" for hit, other in zip(everything, given_reasons, strict=True)]


def _contradicted(found: Estimates, draws: Draws, drift: Drift | None, moving: bool = False) -> NDArray[np.bool_]:
    """Tell for each quantity whether the draws' drift contradicts its estimates; for functions, whether any does.

    With `moving` draws that drift are a contradiction, too, whatever their bias is said to be.
    """
    contradicted = np.zeros(len(found.mean), dtype=bool)
    if drift is not None:
        dim = draws.points.shape[1]
        centre, scale = location_and_scale(draws.points, draws.shares)
        mean, sd, *margins = (each[:dim] for each in (found.mean, found.sd, found.mean_error, found.log_sd_error))
        margin, sd_margin = (_MARGINS * each for each in margins)
        contradicted[:dim] = drift.contradicts((centre - mean) / sd, margin, np.log(scale / sd), sd_margin)
        if moving:
            contradicted[:dim] |= drift.contradicts(np.zeros(dim), margin, np.zeros(dim), sd_margin)
        contradicted[dim:] = contradicted[:dim].any()
    return contradicted


def _start(quantities: Quantities, target: Target | None, rng: Seed) -> ExactRun:
    """Return a run that has not moved yet."""
    assert target is not None
    draws = quantities.draws
    return ExactRun(draws.points, draws.shares, target, quantities.bounds, generator_from(rng))


def _drift(draws: Draws, moved: Floats) -> Drift:
    return Drift.of(draws.points, moved, moved**2, draws.shares, draws.chains)


def _by_run(
    quantities: Quantities, moved: ExactRun, found: Estimates, hidden: str
) -> tuple[Estimates, tuple[str, ...], Floats]:
    """Move the draws until the regression where they have gone is reliable, or the run has been long enough.

    Errors include half of what the last moves changed: what mixes slowly has more to go. Return as well how far the run
    has moved the means that are not known, in sd, where that is no noise; else 0.
    """
    for times in _MOVES:
        before = replace(quantities.draws, points=moved.points)
        moved.move(times)
        there = quantities.moved(moved.points, moved.scores())
        found = there.by_regression().beside(found)
        drift = _drift(before, moved.points)
        unsettled = _UNSETTLED if abs(moved.climb) > _CLIMB or drift.largest() > _DRIFTS else ""
        unknown = hidden or there.hidden_shares()[0] or there.hidden_dependence() or unsettled
        reason = _reason(found, quantities, unknown, _contradicted(found, before, drift, moving=True))
        if not any(reason):
            break
    went = np.abs(there.means() - quantities.centre) / found.sd
    seen = _MARGINS * math.sqrt(2.0 / len(there.draws.points))  # of paired draws, at most
    is_known = np.array([hidden != "" or not why for why in reason])
    return found, reason, np.where(is_known | ~(went > seen), 0.0, went)


def _sample_of(prepared: ScoredSample, rows: Integers, moved: ExactRun) -> Sample:
    """The draws where a run has brought them, in their own order."""
    order = np.argsort(rows, kind="stable")
    given = prepared.given[rows[order]]
    points, scores = moved.points[order], moved.scores()[order]
    names = prepared.points.names
    return replace(given, points=points, scores=scores, cost=None, divergent=None, energy=None, names=names)
