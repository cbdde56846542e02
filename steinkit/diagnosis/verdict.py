"""The verdict on a sample: may these draws be used, and if not, what is wrong with them.

The verdict combines several tests. None compares the draws with other draws, and each allows for autocorrelation:

- moments (`steinkit.discrepancy.moments`), for location, spread and correlation;
- bounded moments (`steinkit.discrepancy.bounded_features`), for shape, third-degree dependence and all pairs jointly;
- slices (`steinkit.discrepancy.sliced_goodness_of_fit`), for shape along coordinates and principal axes;
- the kernel Stein test, which is sensitive to all of these, with less power for each;
- the invariance test (`steinkit.diagnosis.invariance`), which evaluates the log density away from the draws;
- the mode weights (`steinkit.diagnosis.bias.mode_weights`), if the draws fall into separate modes;
- a critic (`steinkit.diagnosis.critic`), fitted to half of the draws and tested on the other half, if the invariance
  test cannot be made.

Each test spends a share of the level. The verdict's p-value is the smallest p-value divided by its share. The shares
were chosen on known defects and add up to more than one; a benchmark counts the false alarms on exact draws.

If a growing run is tested several times and stopped at the first rejection, the p-value is multiplied by the number of
looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, whole
from steinkit.blind_spots import outlying, too_few_to_span
from steinkit.chains import chain_diagnostics, smallest_bfmi
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.diagnosis.bias.estimate import bias_of
from steinkit.diagnosis.bias.mode_weights import ModeWeights, bias_of_mixture, estimates_in_modes, weights_of_modes
from steinkit.diagnosis.bias.quantities import varying
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.burn_in import burn_in_p_value, early_rows
from steinkit.diagnosis.critic import critic_p_value
from steinkit.diagnosis.findings import flagged, moment_faults, p_value_beyond, shape_faults
from steinkit.diagnosis.invariance import InvarianceTest, invariance_of, untested
from steinkit.diagnosis.verdict_result import FEW_OF_SLOWEST, TestResult, Verdict, combined
from steinkit.discrepancy.bounded_features import BoundedMoments, bounded_moments, joint_dependence
from steinkit.discrepancy.kernel.goodness_of_fit import kernel_evidence, thinning_notes
from steinkit.discrepancy.moments import MomentSteinDiscrepancy, moments_of
from steinkit.discrepancy.sliced_goodness_of_fit import SlicedSteinTest, slices_of
from steinkit.draws import FEW_EFFECTIVE, Draws
from steinkit.errors import Caution, InputError, TimeLimitError, UsageError, cautious
from steinkit.finding import Finding
from steinkit.posterior import BatchScores, Posterior, batch_scores
from steinkit.runtime.deadlines import deadline, require_time, seconds_left, time_limit, within_time
from steinkit.sample import Floats, Sample
from steinkit.scored_sample import ScoredSample, require_names
from steinkit.target import Functions, Seed, Target, require_target
from steinkit.units import Units, require_variation

_SHARES = {"moments": 0.3, "bounded": 0.27, "sliced": 0.23, "ksd": 0.2}
"""Shares of the level, by measured power; where the kernel test is not made, the others have its share."""

_EXTRA_SHARES = {"dependence": 0.1, "invariance": 0.4, "critic": 0.2, "modes": 0.2}
"""Level spent on the other tests, on top of the four main ones, which use less than theirs."""

_EDGE = "Stein identities do not hold at an edge of the support that is no bound of a coordinate"
_MOST_LOOKS = 1_000_000
_NAMED = 0.05  # p-value of a verdict by one find alone, above which that is not named


@cautious
@within_time
def verdict(
    draws: DrawsLike,
    target: Target | None = None,
    *,
    scores: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    bounds: ArrayLike | None = None,
    level: float = 0.01,
    matters: float | None = None,
    looks: int = 1,
    score_batch: int | None = None,
    rng: Seed = 0,
    max_seconds: float | None = None,
) -> Verdict:
    """Judge whether draws may be used as draws of their target, without any others to compare with.

    The verdict does not depend on the units of the coordinates.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        In the order in which they were made, without burn-in.
    target : Target, optional
        Exactly one of `target`, `scores` and scores stored in the sample is needed.
    scores : array_like, shape (n, d), optional
        Score of the target at each draw.
    weights : array_like, shape (n,), optional
        Weights of the draws, in any unit. The kernel test is then left out, and a warning says what is taken for the
        order of the draws.
    bounds : array_like, shape (d, 2) or (2,), optional
        Bounds of the support; the target's own if not given.
    level : float
        Draws are rejected if the p-value is at most `level`.
    matters : float, optional
        Test as well whether the bias of a location, spread or dependence exceeds this size, in standard units. See
        `Finding.size` for the definition.
    looks : int
        Total number of times that a growing run is tested, if it is stopped at the first rejection. The p-values are
        multiplied by it (Bonferroni). Without it, six looks at the level .05 raise false alarms in .15 of all runs.
    score_batch : int, optional
        Take scores from so many data for each draw, as `stochastic_scores` does: of a `Posterior` whose data are many.
        Its log density is not evaluated then, so that mode weights are not tested.
    rng : int, numpy.random.Generator or None
        Seed of the kernel test's bootstrap, and of the batches.
    max_seconds : float, optional
        Time, from the call on, after which to give up.

    Returns
    -------
    Verdict
        Whether the draws may be used, and what is wrong with them if not.

    Raises
    ------
    UsageError, InputError, SolverError
        As `moment_stein_discrepancy` and `sliced_stein_test` do, and `stochastic_scores` with a `score_batch`; or if
        `level`, `matters` or `looks` is out of range.
    TimeLimitError
        If `max_seconds` pass first.

    Notes
    -----
    Not tested: dependence that no pair of coordinates shows; the weights of separate modes, which the score does
    not know, unless the target has a log density; and modes or regions that no draw has visited.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 3)) * [1.0, 1.0, 1.2]
    >>> found = sk.verdict(draws, sk.targets.Normal(0.0, dim=3))
    >>> found.p < 0.01, found.findings[0].parameters, found.findings[0].direction
    (True, ('x3',), 'too wide')
    """
    require_sensible(level, matters, looks)
    batches: BatchScores | None = None
    require_target(target, optional=True)
    functions = {} if target is None else target.functions
    if score_batch is not None:
        if not isinstance(target, Posterior) or scores is not None:
            raise UsageError("score_batch is for a Posterior, whose score is a sum over data; leave it out")
        require_names(as_sample(draws), target)
        batches, bounds = batch_scores(draws, target, score_batch, rng=rng), target.bounds if bounds is None else bounds
        draws, target = batches.sample, None
    prepared = ScoredSample.of(draws, target, scores=scores, weights=weights, bounds=bounds)
    laid_out = prepared.draws
    require_variation(prepared.points.points, prepared.points.names)
    units, standard, scored = prepared.own_units, prepared.standard, prepared.carried
    tests = _Tests.of(prepared)
    p_ksd, equivalent, untested = kernel_evidence(prepared, rng)
    require_time("the sample was judged")
    modes, unknown = _modes(prepared, rng)
    invariance = None if target is None else _invariance(prepared, rng)
    has_edge = invariance is not None and invariance.has_edge
    takes_critic = invariance is None or invariance.p is None
    others = {
        "ksd": p_ksd,
        "invariance": None if invariance is None else invariance.p,
        "critic": critic_p_value(laid_out, units, prepared.bounds) if takes_critic else None,
        "modes": None if modes is None else modes.p,
    }
    results = tests.results(others, has_edge=has_edge)
    by = {each.name: each.corrected for each in results}
    diagnosed = chain_diagnostics(prepared.given)
    enough = tests.effective >= FEW_EFFECTIVE
    findings: tuple[Finding, ...] = ()
    hiding = (
        *standard.cautions,
        *(outlying(prepared.points, units) if enough else ()),
        *too_few_to_span(prepared.points),
    )
    warnings = (
        *(() if batches is None else (batches.message,)),
        *standard.notes,
        *laid_out.warnings(tests.effective),
        *hiding,
        *(() if p_ksd is None else thinning_notes(len(scored))),
        *untested,
        *unknown,
        *_on_invariance(invariance),
    )
    is_rejected = enough and combined(results, looks) <= level
    if is_rejected:
        if not has_edge:
            at_most = {each.name: max(_NAMED, level) * each.share for each in results}
            findings = tests.findings(units, prepared.bounds, at_most)
        if invariance is not None and invariance.finding is not None and not findings and by["invariance"] <= level:
            findings = (invariance.finding,)
    bias, unknown_bias = _bias(prepared, functions, tests.draws, modes, invariance, rng if is_rejected else None)
    if is_rejected:
        warnings += unknown_bias
    return Verdict(
        tests=results,
        level=level,
        looks=int(looks),
        invariance=invariance,
        modes=modes,
        ksd_equivalent_draws=equivalent,
        ess=min(diagnosed.min_ess, diagnosed.weight_ess) if laid_out.is_weighted else diagnosed.min_ess,
        diagnostics=diagnosed,
        divergent=None if prepared.given.divergent is None else int(prepared.given.divergent.sum()),
        bfmi=smallest_bfmi(prepared.given),
        effective_draws=tests.effective,
        enough_draws=enough,
        findings=findings,
        burn_in=None
        if looks * by.get("modes", 1.0) <= level
        else _without_burn_in(scored, tests.draws, prepared.bounds, level, looks, with_critic=takes_critic),
        matters=matters,
        p_matters=None if matters is None else min(1.0, looks * p_value_beyond(tests.moments, matters)),
        moments=tests.moments,
        bounded=tests.bounded,
        sliced=tests.sliced,
        names=prepared.points.names,
        bias=bias,
        draws=len(prepared.given),
        score_noise=None if batches is None else batches.noise,
        hiding=hiding,
        warnings=tuple(dict.fromkeys(warnings)),
    )


class _Tests(NamedTuple):
    """All tests but the kernel's, of some draws, which `draws` holds in standard units."""

    moments: MomentSteinDiscrepancy
    bounded: BoundedMoments
    sliced: SlicedSteinTest
    dependence: float | None
    draws: Draws
    effective: float

    @classmethod
    def of(cls, sample: ScoredSample) -> _Tests:
        units, bounds = sample.own_units, sample.bounds
        moments, sliced = moments_of(sample, units), slices_of(sample)
        bounded = bounded_moments(sample.draws, units, bounds)
        draws = sample.draws.in_units(units)
        effective = _effective_draws(moments, sliced, draws)
        return cls(moments, bounded, sliced, joint_dependence(draws, bounds), draws, effective)

    def findings(self, units: Units, bounds: Floats | None, at_most: Mapping[str, float]) -> tuple[Finding, ...]:
        """What is wrong, of what would be a verdict by itself with these p-values at most."""
        correlation = (self.draws.points * self.draws.shares[:, None]).T @ self.draws.points
        unbounded = self.draws if bounds is None else None
        return flagged(
            moment_faults(self.moments, correlation, unbounded, at_most["moments"]),
            shape_faults(self.bounded, self.sliced, self.draws, units, bounds, at_most),
        )

    def results(self, others: Mapping[str, float | None], *, has_edge: bool = False) -> tuple[TestResult, ...]:
        """Give each test that was made, and `others`, its share of the level.

        At an edge of the support that no bound describes, tests by scores have none, and the invariance test has all;
        if that was not made, the draws were not tested.
        """
        made = {
            "moments": self.moments.p_value,
            "bounded": self.bounded.p_value,
            "sliced": self.sliced.p_value,
            "ksd": None,
            "dependence": self.dependence,
            **others,
        }
        p_values = {name: p for name, p in made.items() if p is not None}
        taken = sum(share for name, share in _SHARES.items() if name in p_values)
        shares = {name: share / taken for name, share in _SHARES.items()} | _EXTRA_SHARES
        if has_edge:
            shares |= dict.fromkeys((*_SHARES, "dependence", "critic"), 0.0) | {"invariance": 1.0}
        return tuple(TestResult(name, p, shares[name]) for name, p in p_values.items())


def require_sensible(level: float, matters: float | None, looks: int) -> None:
    """Refuse what is no level, no size and no number of looks; UsageError."""
    number(level, "level", lambda share: 0.0 < share < 1.0, "between 0 and 1")
    if whole(looks, "looks", 1) > _MOST_LOOKS:
        raise UsageError(f"looks must be a whole number from 1 to {_MOST_LOOKS:,}; received {looks}")
    if matters is not None:
        number(matters, "matters", lambda size: 0.0 <= size < math.inf, "a size in standard units of at least 0")


def _bias(
    prepared: ScoredSample,
    functions: Functions,
    standardised: Draws,
    modes: ModeWeights | None,
    invariance: InvarianceTest | None,
    rng: Seed,
) -> tuple[BiasEstimate | None, tuple[str, ...]]:
    """Estimate biases; of separate modes within each, put together by the modes' shares. Or say why that fails.

    The short exact run is taken for draws that are rejected, for which `rng` is given.
    """
    functions, left_out = varying(functions, prepared.points.points)
    target = prepared.target
    try:
        if modes is not None and target is not None:
            parts = estimates_in_modes(prepared.carried, target, prepared.bounds, modes)
            return bias_of_mixture(parts, modes, weighted=False), ()
        found = bias_of(
            prepared,
            functions=functions,
            left_out=left_out,
            method="regression" if rng is None else "auto",
            rng=rng,
            slowest=standardised.of_slowest_change,
            drift=None if invariance is None else invariance.drift,
            unusable=_EDGE if invariance is not None and invariance.has_edge else "",
        )
    except InputError as error:  # as of too few draws, or of scores of the opposite sign
        return None, (Caution(f"biases are not known: {error}"),)
    return found, ()


def _modes(prepared: ScoredSample, rng: Seed) -> tuple[ModeWeights | None, tuple[str, ...]]:
    """Mode weights, where there are any and a log density that knows them; or why they cannot be had."""
    target = prepared.target
    if target is None or not target.has_log_density or prepared.given.weights is not None:
        return None, ()
    try:
        return weights_of_modes(prepared, rng=rng), ()
    except InputError as error:
        return None, (f"mode weights were not tested: {error}",)


def _invariance(prepared: ScoredSample, rng: Seed) -> InvarianceTest:
    """Test invariance within half of the time that is left; without a p-value where that is too short."""
    try:
        with time_limit(0.5 * seconds_left() if deadline() < math.inf else None):
            return invariance_of(prepared, rng)
    except TimeLimitError:
        require_time("the sample was judged")
        return untested(prepared, "the density takes too long for the time limit", rng)


def _on_invariance(test: InvarianceTest | None) -> Iterator[str]:
    """Report why the test was not made, the draws it left out, and an edge of the support."""
    if test is None:
        return
    if test.p is None and not test.has_edge:
        yield f"invariance was not tested: {test.reason}"
    yield from test.warnings
    if test.has_edge:
        rests = "the verdict rests on the invariance test alone"
        yield Caution(
            f"the support ends near the draws where no bound says so ({test.edge:.0%} of small moves leave it): "
            f"{_EDGE}; {f'the draws were not tested, since {test.reason}' if test.p is None else rests}"
        )


def _effective_draws(moments: MomentSteinDiscrepancy, sliced: SlicedSteinTest, draws: Draws) -> float:
    """What the tests find; or, where that is less than so few, the draws over the time of the slowest change."""
    slowest = draws.of_slowest_change
    return slowest if slowest < FEW_OF_SLOWEST else min(moments.n_effective, sliced.n_effective)


def _without_burn_in(
    scored: Sample, draws: Draws, bounds: Floats | None, level: float, looks: int, *, with_critic: bool
) -> float | None:
    """Return the p-value of all but the kernel test without the first tenth of every chain, if only that is biased.

    None as well if the rest are too few to judge: a start far off takes effective draws from all the others. Looks
    multiply the p-value that rejects the start, but not that of the rest, which would only pass more easily.
    """
    if bounds is not None or draws.is_weighted or looks * burn_in_p_value(draws) > level:
        return None
    rest = draws.rows[early_rows(draws)[1]]
    try:
        late = scored[np.sort(rest)]
        prepared = ScoredSample.of(late)
        tests = _Tests.of(prepared)
    except InputError:
        return None
    critic = critic_p_value(prepared.draws, prepared.own_units, None) if with_critic else None
    p = combined(tests.results({"critic": critic}))
    return p if p > level and tests.effective >= FEW_EFFECTIVE else None
