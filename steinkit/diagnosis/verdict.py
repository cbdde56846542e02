"""Verdict on a sample: a calibrated test of its draws and a diagnosis.

The verdict combines several tests, which need no reference draws and account for autocorrelation:

- moments (`steinkit.discrepancy.moments`) test location, spread and correlation;
- bounded moments (`steinkit.discrepancy.bounded_features`) test shape, third-degree dependence and all pairs jointly;
- slices (`steinkit.discrepancy.sliced_goodness_of_fit`) test the shape along coordinates and principal axes;
- the kernel Stein test covers all of these aspects, with less power for each;
- the invariance test (`steinkit.diagnosis.invariance`) evaluates the log density away from the draws;
- the mode weights (`steinkit.diagnosis.bias.mode_weights`) are tested if the draws split into separate modes;
- a critic (`steinkit.diagnosis.critic`) is fitted to half of the draws and tested on the other half if the invariance
  test is not possible.

Each test is assigned a share of the significance level. For each test, the p-value is divided by the share, and the
p-value of the verdict is the smallest of these ratios. The shares were chosen to give high power to detect known
defects, and their sum exceeds one. The level is therefore calibrated by benchmarks that count false rejections of exact
draws.

If a run is tested repeatedly while it grows and is stopped at the first rejection, the p-value is multiplied by the
number of tests.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, whole
from steinkit.blind_spots import outlying, too_few_to_span
from steinkit.chains import ChainDiagnostics, chain_diagnostics, smallest_bfmi
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.control_variates import BatchScores, batch_scores
from steinkit.diagnosis.bias.estimate import bias_of
from steinkit.diagnosis.bias.mode_weights import bias_of_mixture, estimates_in_modes
from steinkit.diagnosis.bias.quantities import varying
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.burn_in import rows_after_burn_in
from steinkit.diagnosis.evidence import Evidence
from steinkit.diagnosis.findings import moment_findings, p_value_beyond, ranked, shape_findings
from steinkit.diagnosis.importance import importance_weights, with_log_q
from steinkit.diagnosis.invariance import InvarianceTest
from steinkit.diagnosis.verdict_result import TestResult, Verdict, combined
from steinkit.discrepancy.kernel.goodness_of_fit import thinning_notes
from steinkit.draws import FEW_EFFECTIVE
from steinkit.errors import Caution, InputError, UsageError, cautious
from steinkit.finding import Finding
from steinkit.posterior import Posterior
from steinkit.runtime.deadlines import within_time
from steinkit.scored_sample import MOST_NUMBERS, ScoredSample, require_names
from steinkit.target import Functions, Seed, Target, require_target
from steinkit.text import listed
from steinkit.units import require_variation

_EDGE = "Stein's identity does not hold if the support has an edge that is not a bound of a coordinate"
_NO_RUN = (
    "the verdict omitted the short exact run because the log density is slow to evaluate; to perform the run, call "
    "`estimate_bias`"
)
_MOST_ANALYSES = 1_000_000
_NAMED = 0.05  # largest p-value at which a single finding is reported


@cautious
@within_time
def verdict(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    log_q: ArrayLike | str | None = None,
    level: float = 0.01,
    matters: float | None = None,
    analyses: int = 1,
    score_batch: int | None = None,
    rng: Seed = 0,
    max_seconds: float | None = None,
) -> Verdict:
    """Test, without reference draws, whether draws come from their target.

    The result does not depend on the units of the coordinates.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or any object that `as_sample` accepts
        Draws in the order in which they were generated, without burn-in. If the sample contains more than five million
        numbers, the tests use evenly spaced draws from each chain, and a warning states how many.
    target : Target, optional
        Target distribution. Exactly one source of scores is required: `target`, `scores`, or scores stored in the
        sample.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, up to a constant factor. If weights are given, the kernel test is omitted, and a warning
        states the assumed order of the draws.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support. The default is the bounds of the target.
    log_q : array_like, shape (n,), or str, optional
        Log density of the approximation that generated the draws, up to a constant, in the coordinates of the draws, or
        the name of the column that contains it. The default is `Sample.log_q`. If the target has a log density, `log_q`
        yields the Pareto k of importance sampling and reweighted moments (`Verdict.importance`).
    level : float
        Draws are rejected if the p-value is at most `level`. The default is 0.01.
    matters : float, optional
        Size of a relevant bias, in standard units, as defined in `Finding.size`. If given, the verdict also tests
        whether the bias of a location, spread or dependence exceeds this size.
    analyses : int
        Number of times that a growing run is tested if it is stopped at the first rejection. The p-values are
        multiplied by this number (Bonferroni correction). The default is 1. Without the correction, six tests at level
        0.05 reject 15% of exact runs.
    score_batch : int, optional
        Number of data points per draw from which the scores of a `Posterior` are estimated, as in `stochastic_scores`.
        The log density is not evaluated, so the mode weights are not tested.
    rng : int, numpy.random.Generator or None
        Seed for the tests and the batches.
    max_seconds : float, optional
        Time limit in seconds.

    Returns
    -------
    Verdict
        The decision, with its tests, findings and estimated biases.

    Raises
    ------
    UsageError, InputError, SolverError
        See `moment_stein_discrepancy` and `sliced_stein_test`, and `stochastic_scores` if `score_batch` is given.
        UsageError is also raised if `level`, `matters` or `analyses` is out of range.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    The verdict cannot detect errors in the joint dependence of three or more coordinates, or modes and regions that no
    draw visited. Without a log density, the verdict cannot detect biased mode weights.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 3)) * [1.0, 1.0, 1.2]
    >>> found = sk.verdict(draws, sk.targets.Normal(0.0, dim=3))
    >>> found.p < 0.01, found.findings[0].parameters, found.findings[0].direction
    (True, ('x3',), 'too wide')
    """
    require_sensible(level, matters, analyses)
    if log_q is not None:
        draws = with_log_q(as_sample(draws), log_q)
    require_target(target, optional=True)
    batches: BatchScores | None = None
    functions = {} if target is None else target.functions
    if score_batch is not None:
        if not isinstance(target, Posterior) or scores is not None:
            raise UsageError("`score_batch` requires a Posterior target, with a score that is a sum over data")
        require_names(as_sample(draws), target)
        batches, bounds = batch_scores(draws, target, score_batch, rng=rng), target.bounds if bounds is None else bounds
        draws, target = batches.sample, None
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds, most=MOST_NUMBERS)
    require_variation(prepared.points.points, prepared.points.names)
    cautions, evidence = prepared.standard.cautions, Evidence(prepared, rng)
    tests, enough = evidence.tests(), evidence.effective_draws >= FEW_EFFECTIVE
    is_rejected = enough and combined(tests, analyses) <= level
    findings = _findings(evidence, tests, level) if is_rejected else ()
    bias, no_bias = _bias(evidence, functions, is_rejected)
    importance, no_importance = importance_weights(prepared)
    outliers = outlying(prepared.points, prepared.own_units) if len(prepared.points) >= FEW_EFFECTIVE else ()
    hiding = (*cautions, *outliers, *too_few_to_span(prepared.points))
    warnings = (
        *(() if batches is None else (batches.message,)),
        *prepared.standard.notes,
        *prepared.draws.warnings(evidence.effective_draws),
        *hiding,
        *(() if evidence.kernel[0].p is None else thinning_notes(len(prepared.carried))),
        *evidence.kernel[1],
        *evidence.modes[1],
        *_invariance_notes(evidence.invariance),
        *no_importance,
        *((*no_bias, *_constrained(evidence)) if is_rejected else ()),
    )
    diagnosed = chain_diagnostics(prepared.whole)
    return Verdict(
        tests=tests,
        level=level,
        analyses=int(analyses),
        invariance=evidence.invariance,
        modes=evidence.modes[0],
        kernel=evidence.kernel[0],
        ess=_effective_size(prepared, diagnosed),
        diagnostics=diagnosed,
        divergent=None if prepared.whole.divergent is None else int(prepared.whole.divergent.sum()),
        bfmi=smallest_bfmi(prepared.whole),
        effective_draws=evidence.effective_draws,
        enough_draws=enough,
        findings=findings,
        burn_in=_p_without_burn_in(evidence, tests, level, analyses),
        matters=matters,
        p_matters=None if matters is None else min(1.0, analyses * p_value_beyond(evidence.moments, matters)),
        moments=evidence.moments,
        bounded=evidence.bounded,
        sliced=evidence.sliced,
        names=prepared.points.names,
        bias=bias,
        importance=importance,
        draws=len(prepared.whole),
        score_noise=None if batches is None else batches.noise,
        hiding=hiding,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _findings(evidence: Evidence, tests: Sequence[TestResult], level: float) -> tuple[Finding, ...]:
    """Return the findings of the score-based tests of rejected draws.

    Without such findings, the finding of the invariance test is returned if this test rejects the draws.
    """
    sample, invariance = evidence.sample.standard_draws, evidence.invariance
    if not evidence.has_edge:
        at_most = {each.name: max(_NAMED, level) * each.share for each in tests}
        correlation = (sample.points * sample.shares[:, None]).T @ sample.points
        unbounded = sample if evidence.sample.bounds is None else None
        of_moments = moment_findings(evidence.moments, correlation, unbounded, at_most["moments"])
        if found := ranked(of_moments, shape_findings(evidence, at_most)):
            return found
    rejects = any(each.name == "invariance" and each.corrected <= level for each in tests)
    return (invariance.finding,) if rejects and invariance is not None and invariance.finding is not None else ()


def _effective_size(prepared: ScoredSample, diagnosed: ChainDiagnostics) -> float:
    """Return the ESS of a verdict, as defined in `Verdict.ess`."""
    ess, weights = diagnosed.min_ess, prepared.points.weights
    if prepared.draws.is_weighted:  # autocorrelation of sorted draws is not a property of a chain
        ess = min(ess, diagnosed.weight_ess) if prepared.draws.is_ordered else diagnosed.weight_ess
    if len(weights) < len(prepared.given):  # repeated draws are no better than weighted distinct draws
        ess = min(ess, 1.0 / float(weights @ weights))
    return ess


def _constrained(evidence: Evidence) -> Iterator[str]:
    """Yield a hint if the rejected draws, unlike the target, may be constrained.

    The hint lists the parameters for which all draws are positive, although normal distributions with the same means
    and standard deviations would yield negative draws.
    """
    from scipy.special import ndtr

    prepared, sample = evidence.sample, evidence.sample.draws
    expected = len(sample.points) * ndtr(-(sample.shares @ sample.points) / prepared.own_units.scale)
    is_suspicious = (sample.points.min(axis=0) > 0.0) & (expected > 1.0)
    names = np.array(sample.names)[is_suspicious].tolist()
    if names and prepared.bounds is None and prepared.target is not None and not evidence.has_edge:
        yield (
            f"all values of {'column' if len(names) == 1 else 'columns'} {listed(names)} are positive, but the target "
            "has no bounds. If the draws are constrained, pass unconstrained draws, or state the support with bounds= "
            "(--bounds)"
        )


def require_sensible(level: float, matters: float | None, analyses: int) -> None:
    """Raise UsageError if `level`, `matters` or `analyses` is out of range."""
    number(level, "level", lambda share: 0.0 < share < 1.0, "between 0 and 1")
    if whole(analyses, "analyses", 1) > _MOST_ANALYSES:
        raise UsageError(f"analyses must be a whole number from 1 to {_MOST_ANALYSES:,}; got {analyses}")
    if matters is not None:
        number(matters, "matters", lambda size: 0.0 <= size < math.inf, "a size in standard units of at least 0")


def _p_without_burn_in(evidence: Evidence, tests: Sequence[TestResult], level: float, analyses: int) -> float | None:
    """Return the p-value for the draws after burn-in without the kernel test.

    Return None unless only the first draws are biased. For weighted draws and bounded supports, and if the mode weights
    are rejected, this is not tested. The p-value is not multiplied by `analyses`, because a larger p-value would make a
    rejection of the later draws less likely.
    """
    sample = evidence.sample
    has_wrong_weights = any(each.name == "modes" and analyses * each.corrected <= level for each in tests)
    if sample.bounds is not None or sample.draws.is_weighted or has_wrong_weights:
        return None
    late = rows_after_burn_in(sample.standard_draws, level / analyses)
    if late is None:
        return None
    try:
        rest = Evidence(ScoredSample.of(sample.carried[np.sort(sample.draws.rows[late])]), evidence.rng)
        p = combined(rest.tests("ksd", *(() if evidence.needs_critic else ("critic",))))
    except InputError:  # too few draws, or a constant coordinate
        return None
    return p if p > level and rest.effective_draws >= FEW_EFFECTIVE else None


def _bias(evidence: Evidence, functions: Functions, is_rejected: bool) -> tuple[BiasEstimate | None, tuple[str, ...]]:
    """Return the estimated biases, or a warning that explains why they are missing.

    If there are several modes, the estimates within the modes are combined. Only for rejected draws, a short exact run
    is performed if the log density can be evaluated quickly.
    """
    prepared, invariance, (modes, _) = evidence.sample, evidence.invariance, evidence.modes
    functions, left_out = varying(functions, prepared.points.points)
    is_slow = invariance is not None and invariance.is_slow
    try:
        if modes is not None and prepared.target is not None:
            parts = estimates_in_modes(prepared.carried, prepared.target, prepared.bounds, modes)
            return bias_of_mixture(parts, modes, weighted=False), ()
        found = bias_of(
            prepared,
            functions=functions,
            left_out=left_out,
            method="auto" if is_rejected and not is_slow else "regression",
            rng=evidence.rng,
            drift=None if invariance is None else invariance.drift,
            unusable=_EDGE if evidence.has_edge else "",
        )
    except InputError as error:  # too few draws, or scores with the wrong sign
        return None, (Caution(f"the biases could not be estimated: {error}"),)
    return found, () if found.reliable.all() or not is_slow else (_NO_RUN,)


def _invariance_notes(test: InvarianceTest | None) -> Iterator[str]:
    """Yield warnings about an omitted test, unused draws and a support edge."""
    if test is None:
        return
    if test.p is None and not test.has_edge:
        yield f"invariance was not tested: {test.reason}"
    yield from test.warnings
    if test.has_edge:
        used = "the verdict uses only the invariance test"
        yield Caution(
            f"the support ends near the draws without a bound ({test.edge:.0%} of small moves leave it): {_EDGE}; "
            + (f"the draws were not tested because {test.reason}" if test.p is None else used)
        )
