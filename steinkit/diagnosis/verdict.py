"""The verdict on a sample: may these draws be used, and if not, what is wrong with them.

Four tests that need no other draws to compare with, each calibrated for slow chains and for antithetic ones, look at
what they see best: moments (`steinkit.discrepancy.moments`) at location, spread and correlation; bounded moments at
shapes and at dependence of degree three; slices (`steinkit.discrepancy.sliced`) at the shape along coordinates and
principal axes; the kernel Stein test at all of it, with little power for each. The verdict's p-value is Bonferroni's
over those taken, with shares of the level that known faults have chosen; two more tests may lower it. Where draws fall
into modes that lie apart, the four see next to nothing of the modes' shares; one that uses the target's log density
does (`steinkit.diagnosis.bias.mode_weights`). The other takes all pairs together
(`steinkit.discrepancy.bounded_features`), of which each alone may be within its noise. Where no density can be
evaluated, a critic is fitted to one half of the draws and tested on the other (`steinkit.diagnosis.critic`). What
else is wrong is read from the first three, which name the right coordinate where shares of a discrepancy flag the
stiff one.

A run that is looked at as it grows, and stopped at an accusation, is accused too often: the p-value is multiplied by
the number of looks.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, whole
from steinkit.blind_spots import outlying, too_few_to_span
from steinkit.chains import ChainDiagnostics, chain_diagnostics, smallest_bfmi
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.diagnosis.bias.estimate import BiasEstimate, bias_of, finite_or_none
from steinkit.diagnosis.bias.mode_weights import ModeWeights, bias_of_mixture, estimates_in_modes, weights_of_modes
from steinkit.diagnosis.bias.quantities import varying
from steinkit.diagnosis.burn_in import burn_in_p_value, early_rows
from steinkit.diagnosis.critic import critic_p_value
from steinkit.diagnosis.findings import Finding, flagged, moment_faults, p_value_beyond, shape_faults
from steinkit.diagnosis.invariance import InvarianceTest, invariance_of
from steinkit.diagnosis.verdict_text import (
    SHARES_BESIDE,
    is_accused,
    verdict_sentence,
    verdict_statements,
    verdict_table,
)
from steinkit.discrepancy.bounded_features import BoundedMoments, bounded_moments, joint_dependence
from steinkit.discrepancy.kernel.goodness_of_fit import kernel_evidence, largest_share, thinning_notes
from steinkit.discrepancy.moments import MomentSteinDiscrepancy, moments_of
from steinkit.discrepancy.sliced_goodness_of_fit import SlicedSteinTest, slices_of
from steinkit.draws import FEW_EFFECTIVE, Draws
from steinkit.errors import Caution, InputError, TimeLimitError, UsageError, cautious, reservations
from steinkit.posterior import BatchScores, Posterior, batch_scores
from steinkit.result import Result, cautioned, in_json, running_text
from steinkit.runtime.deadlines import deadline, require_time, seconds_left, time_limit, within_time
from steinkit.sample import Floats, Sample
from steinkit.scored_sample import ScoredSample, require_names
from steinkit.target import Functions, Seed, Target, require_target
from steinkit.text import probability
from steinkit.units import Units, require_variation

_FEW_OF_SLOWEST = 30.0  # draws in times of the slowest change, below which the tests look quick and are not
_SHARES = {"moments": 0.3, "bounded": 0.27, "sliced": 0.23, "ksd": 0.2}  # of the level, by measured power
_EDGE = "Stein identities do not hold at an edge of the support that is no bound of a coordinate"
_MOST_LOOKS = 1_000_000
_TURNED = 0.5  # mean of (x_j - m_j) s_j over draws and coordinates: -1 in right samples, 1 where the sign is turned
_NAMED = 0.05  # p-value of a verdict by one find alone, above which that is not named
_OF_MODES = "mode weights that lie apart"
_UNTESTED = "dependence that no pair of coordinates shows", _OF_MODES, "modes or regions that no draw has visited"


@dataclass(frozen=True, eq=False)
class Verdict(Result):
    """What the tests say of a sample.

    Attributes
    ----------
    p : float
        Probability that the tests find as much in a right sample, times `looks`, at most 1.
    p_moments, p_bounded, p_sliced : float
        The p-values of moments, of bounded moments and of slices, from which `p` follows with `p_ksd`.
    p_ksd : float or None
        The p-value of the kernel test. None for weighted draws, which it does not take, or where a warning says so.
    p_dependence : float or None
        The p-value of the dependence of all pairs together, which lowers `p` where it is below a tenth of that. None
        for one coordinate, bounds on all, weighted draws, or too few.
    invariance : InvarianceTest or None
        Whether an exact Markov kernel keeps the distribution of the draws. Its p-value, `p_invariance`, lowers `p`
        where it is below two fifths of it. None without a target. Where the support has an edge near the draws that no
        bound describes, Stein identities do not hold, and `p` rests on this test alone.
    p_critic : float or None
        The p-value of a critic that is fitted to one half of the draws and tested on the other. It lowers `p` where it
        is below a fifth of it. None where the invariance test was made, and for weighted draws, fewer than a hundred,
        or hundreds of coordinates.
    modes : ModeWeights or None
        Mode weights that lie apart, where the draws fall into such and the target has a log density; None as well
        where they cannot be found, as a warning says. Its p-value lowers `p` where it is below a fifth of that.
    ksd_equivalent_draws : float
        Independent draws of which the expected squared kernel discrepancy is that of these, mean k0(x, x) / KSD^2 for
        the Stein kernel k0; of more than 20,000 draws, of 20,000 evenly spread. It is large where this kernel hardly
        sees the fault, and no verdict rests on it.
    ess : float
        Effective sample size of the chains, the smallest of the coordinates', and of the weights; blind to bias. NaN
        where undefined.
    effective_draws : float
        Draws over the autocorrelation time of what the tests look at; or over that of the slowest change that is seen,
        where these are fewer than thirty: a chain that has seldom crossed between modes or regions looks quick to the
        tests. Kish's effective size of weighted draws.
    diagnostics : ChainDiagnostics
        R-hat and effective sizes of every coordinate. Where `ChainDiagnostics.mixed` is false, slow mixing may be the
        whole explanation of what the tests find.
    divergent : int or None
        Number of divergent transitions; None where the sample does not record them.
    bfmi : float or None
        Smallest energy Bayesian fraction of missing information of the chains; None where the sample has no energies.
    enough_draws : bool
        Whether there are a hundred of these, below which right samples are accused too often.
    findings : tuple of Finding
        What is wrong, worst first; none where `p` is above `level`, or where only the kernel test, all pairs together
        or mode weights accuse.
    ksd_share : tuple of str and float, or None
        Where only the kernel test accuses, the coordinate whose part of it is the largest multiple of what independent
        draws would have, and that multiple; None on bounded supports.
    burn_in : float or None
        The p-value of all but the kernel test without the first tenth of every chain, where only that tenth is off;
        None where it is not, or for weighted draws and bounded supports.
    matters : float or None
        The size asked for, in standard units, from which a moment that is off matters.
    p_matters : float or None
        Probability that moments which are off by at most that much show as much, times `looks`, at most 1.
    level : float
        The p-value from which draws are said not to come from the target.
    looks : int
        How often a growing run is looked at.
    moments : MomentSteinDiscrepancy
        What the test of moments found.
    bounded : BoundedMoments
        What the test of bounded moments found.
    sliced : SlicedSteinTest
        What the test of slices found.
    names : tuple of str
        Of the coordinates.
    bias : BiasEstimate or None
        How far means and standard deviations are off, by regression on Stein features; None where there are fewer draws
        than coordinates, or the scores have the opposite sign.
    draws : int
        How many were judged.
    score_noise : float or None
        Of scores from batches, the largest share of the variance of a coordinate's score that is noise; None of others.
    hiding : tuple of str
        Those of the warnings that say what may hide a bias.
    warnings : tuple of str
        What a reader should know before the verdict.
    """

    p: float
    p_moments: float
    p_bounded: float
    p_sliced: float
    p_ksd: float | None
    p_dependence: float | None
    invariance: InvarianceTest | None
    p_critic: float | None
    modes: ModeWeights | None
    ksd_equivalent_draws: float
    ess: float
    diagnostics: ChainDiagnostics
    divergent: int | None
    bfmi: float | None
    effective_draws: float
    enough_draws: bool
    findings: tuple[Finding, ...]
    ksd_share: tuple[str, float] | None
    burn_in: float | None
    matters: float | None
    p_matters: float | None
    level: float
    looks: int
    moments: MomentSteinDiscrepancy
    bounded: BoundedMoments
    sliced: SlicedSteinTest
    names: tuple[str, ...]
    bias: BiasEstimate | None
    draws: int
    score_noise: float | None
    hiding: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def p_invariance(self) -> float | None:
        """The p-value of the invariance test; None where it was not made."""
        return None if self.invariance is None else self.invariance.p

    @property
    def units(self) -> Units:
        """The standard units in which sizes are meant: the draws' own standard deviations."""
        return self.moments.units

    @property
    def is_biased(self) -> bool:
        """Whether the draws are said not to come from the target."""
        return is_accused(self._entries)

    @property
    def sentence(self) -> str:
        """The verdict in a sentence or two."""
        return verdict_sentence(self._entries)

    def summary(self) -> str:
        """Say in words whether the draws may be used, what is wrong if not, and what was not tested.

        Returns
        -------
        str
            Paragraphs, with a blank line between them.
        """
        said = running_text([*verdict_statements(self._entries), *cautioned(self.warnings)])
        table = verdict_table(self._entries)
        return f"{said}\n\n{table}" if table else said

    def to_dict(self) -> dict[str, Any]:
        """List what ``steinkit score --json`` prints as "verdict".

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {**self._entries, "sentence": self.sentence}

    @property
    def _entries(self) -> dict[str, Any]:
        def taken(*names: str) -> dict[str, Any]:
            return {name: getattr(self, name) for name in names}

        return {
            **taken("p", "p_moments", "p_bounded", "p_sliced", "p_ksd", "p_dependence", "p_invariance"),
            "p_critic": self.p_critic,
            "p_modes": self.modes and self.modes.p,
            **taken("level", "looks"),
            "ksd_equivalent_draws": finite_or_none(self.ksd_equivalent_draws),
            "ess": finite_or_none(self.ess),
            "r_hat": finite_or_none(self.diagnostics.max_r_hat),
            "tail_ess": finite_or_none(self.diagnostics.min_tail_ess),
            "mixed": self.diagnostics.mixed,
            **taken("divergent", "bfmi"),
            **taken("draws", "effective_draws", "enough_draws", "burn_in", "matters", "p_matters"),
            "findings": in_json([asdict(each) for each in self.findings]),
            "ksd_share": self.ksd_share and dict(zip(("coordinate", "multiple"), self.ksd_share, strict=True)),
            "bias": None if self.bias is None else self.bias.to_dict(),
            "modes": self.modes and self.modes.to_dict(),
            "not_tested": [each for each in _UNTESTED if each != _OF_MODES or not self.modes or self.modes.p is None],
            "score_noise": self.score_noise,
            "hiding": list(self.hiding),
        }

    def __repr__(self) -> str:
        found = "biased" if self.is_biased else "no bias found" if self.enough_draws else "too few effective draws"
        return (
            f"<Verdict on {self.draws} draws: {found}, {probability(self.p)}, ESS {self.ess:.3g}"
            f"{reservations(self.warnings)}>"
        )


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
        The p-value from which draws are said not to come from the target.
    matters : float, optional
        Ask as well whether some location, spread or dependence is off by more than this size, in standard units: see
        `Finding.size` for what a size is, and is not.
    looks : int
        How many times you look at a growing run in all, if you would stop at the first accusation: the p-values are
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
    Not tested: dependence that no pair of coordinates shows; the mode weights that lie apart, which the score does
    not know, unless the target has a log density; and modes or regions that no draw has visited.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((1000, 3)) * [1.0, 1.0, 1.2]
    >>> found = sk.verdict(draws, sk.targets.Normal(0.0, dim=3))
    >>> found.p < 0.01, found.findings[0].coordinates, found.findings[0].direction
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
    by_modes = 1.0 if modes is None or modes.p is None else looks * modes.p / SHARES_BESIDE["p_modes"]
    invariance = None if target is None else _invariance(prepared, rng)
    by_scores, by_moves = tests.p_value(p_ksd), 1.0
    if invariance is not None and invariance.p is not None:
        by_moves = invariance.p / (1.0 if invariance.has_edge else SHARES_BESIDE["p_invariance"])
        by_scores = 1.0 if invariance.has_edge else by_scores
    takes_critic = invariance is None or invariance.p is None
    p_critic = critic_p_value(laid_out, units, prepared.bounds) if takes_critic else None
    p = min(1.0, looks * by_scores, looks * by_moves, looks * _by_critic(p_critic), by_modes)
    diagnosed = chain_diagnostics(prepared.given)
    enough = tests.effective >= FEW_EFFECTIVE
    findings, share = tuple[Finding, ...](), None
    hiding = (
        *standard.cautions,
        *(outlying(prepared.points, units) if enough else ()),
        *too_few_to_span(prepared.points),
    )
    warnings = (
        *(() if batches is None else (batches.told,)),
        *standard.notes,
        *laid_out.warnings(tests.effective),
        *hiding,
        *(() if p_ksd is None else thinning_notes(len(scored))),
        *untested,
        *unknown,
        *_on_invariance(invariance),
    )
    is_rejected = is_accused({"p": p, "level": level, "enough_draws": enough})
    if is_rejected:
        if by_scores < 1.0:
            at_most = {test: max(_NAMED, level) * s for test, s in _shares(p_ksd).items()}
            findings = tests.findings(units, prepared.bounds, at_most)
        if invariance is not None and invariance.finding is not None and not findings and by_moves <= level:
            findings = (invariance.finding,)
        warnings += tuple(_turned_score(scored, tests.draws, prepared.bounds, level))
        if not findings and p_ksd is not None and prepared.bounds is None:
            share = largest_share(tests.draws, prepared.points.names)
    return Verdict(
        p=p,
        p_moments=tests.moments.p_value,
        p_bounded=tests.bounded.p_value,
        p_sliced=tests.sliced.p_value,
        p_ksd=p_ksd,
        p_dependence=tests.dependence,
        invariance=invariance,
        p_critic=p_critic,
        modes=modes,
        ksd_equivalent_draws=equivalent,
        ess=min(diagnosed.min_ess, diagnosed.weight_ess) if laid_out.is_weighted else diagnosed.min_ess,
        diagnostics=diagnosed,
        divergent=None if prepared.given.divergent is None else int(prepared.given.divergent.sum()),
        bfmi=smallest_bfmi(prepared.given),
        effective_draws=tests.effective,
        enough_draws=enough,
        findings=findings,
        ksd_share=share,
        burn_in=None
        if by_modes <= level
        else _without_burn_in(scored, tests.draws, prepared.bounds, level, looks, with_critic=takes_critic),
        matters=matters,
        p_matters=None if matters is None else min(1.0, looks * p_value_beyond(tests.moments, matters)),
        level=level,
        looks=int(looks),
        moments=tests.moments,
        bounded=tests.bounded,
        sliced=tests.sliced,
        names=prepared.points.names,
        bias=_bias(prepared, functions, tests.draws, modes, invariance, rng if is_rejected else None),
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

    def p_value(self, ksd: float | None = None) -> float:
        """Of all together, with the kernel test or without; or of all pairs together, where that is clearer."""
        beside = 1.0 if self.dependence is None else self.dependence / SHARES_BESIDE["p_dependence"]
        return min(beside, _together(self.moments.p_value, self.bounded.p_value, self.sliced.p_value, ksd))


def require_sensible(level: float, matters: float | None, looks: int) -> None:
    """Refuse what is no level, no size and no number of looks; UsageError."""
    number(level, "level", lambda share: 0.0 < share < 1.0, "between 0 and 1")
    if whole(looks, "looks", 1) > _MOST_LOOKS:
        raise UsageError(f"looks must be a whole number from 1 to {_MOST_LOOKS:,}; received {looks}")
    if matters is not None:
        number(matters, "matters", lambda size: 0.0 <= size < math.inf, "a size in standard units of at least 0")


def _together(moments: float, bounded: float, sliced: float, ksd: float | None = None) -> float:
    """Bonferroni over the tests taken, each with its share of the level."""
    p_values = {"moments": moments, "bounded": bounded, "sliced": sliced, "ksd": ksd}
    return min(1.0, *(p / share for test, share in _shares(ksd).items() if (p := p_values[test]) is not None))


def _shares(ksd: float | None) -> dict[str, float]:
    """Of the level, with the kernel test or without."""
    taken = {test: share for test, share in _SHARES.items() if test != "ksd" or ksd is not None}
    return {test: share / sum(taken.values()) for test, share in taken.items()}


def _bias(
    prepared: ScoredSample,
    functions: Functions,
    standardised: Draws,
    modes: ModeWeights | None,
    invariance: InvarianceTest | None,
    rng: Seed,
) -> BiasEstimate | None:
    """Estimate the biases of all draws; of separate modes within each, put together by the modes' shares.

    The short exact run is taken for draws that are rejected, for which `rng` is given.
    """
    functions, left_out = varying(functions, prepared.points.points)
    target = prepared.target
    try:
        if modes is not None and target is not None:
            return bias_of_mixture(
                estimates_in_modes(prepared.carried, target, prepared.bounds, modes), modes, weighted=False
            )
        return bias_of(
            prepared,
            functions=functions,
            left_out=left_out,
            method="regression" if rng is None else "auto",
            rng=rng,
            slowest=standardised.of_slowest_change,
            drift=None if invariance is None else invariance.drift,
            unusable=_EDGE if invariance is not None and invariance.has_edge else "",
        )
    except InputError:  # too few draws, or the sign of the scores, of which a warning tells
        return None


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
        return InvarianceTest(None, "the density takes too long for the time limit")


def _on_invariance(test: InvarianceTest | None) -> Iterator[str]:
    """Report why the test was not made, the draws it left out, and an edge of the support."""
    if test is None:
        return
    if test.p is None:
        yield f"invariance was not tested: {test.reason}"
    yield from test.notes
    if test.has_edge:
        yield Caution(
            f"the support ends near the draws where no bound says so ({test.edge:.0%} of small moves leave it): "
            f"{_EDGE}; the verdict rests on the invariance test alone"
        )


def _effective_draws(moments: MomentSteinDiscrepancy, sliced: SlicedSteinTest, draws: Draws) -> float:
    """What the tests find; or, where that is less than so few, the draws over the time of the slowest change."""
    slowest = draws.of_slowest_change
    return slowest if slowest < _FEW_OF_SLOWEST else min(moments.n_effective, sliced.n_effective)


def _by_critic(p: float | None) -> float:
    return 1.0 if p is None else p / SHARES_BESIDE["p_critic"]


def _without_burn_in(
    scored: Sample, draws: Draws, bounds: Floats | None, level: float, looks: int, *, with_critic: bool
) -> float | None:
    """Return the p-value of all but the kernel test without the first tenth of every chain, if only that is biased.

    None as well if the rest are too few to judge: a start far off takes effective draws from all the others. Looks
    multiply the p-value that accuses the start, not that of the rest: it excuses, and more looks excuse nothing.
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
    p = min(
        tests.p_value(), _by_critic(critic_p_value(prepared.draws, prepared.own_units, None) if with_critic else None)
    )
    return p if p > level and tests.effective >= FEW_EFFECTIVE else None


def _turned_score(scored: Sample, standardised: Draws, bounds: Floats | None, level: float) -> Iterator[str]:
    """A warning, if moments and slices accuse the draws by their scores and not by the scores' negatives.

    Parameters
    ----------
    scored : Sample
        Draws with the scores given, which are accused.
    standardised : Draws
        The same in standard units.
    bounds : ndarray, shape (d, 2), optional
        Bounds of the support.
    level : float
        The p-value from which draws are accused.
    """
    deviations = standardised.points - standardised.shares @ standardised.points
    along = standardised.shares @ np.einsum("nj,nj->n", deviations, standardised.scores)
    if not along > _TURNED * deviations.shape[1]:
        return
    turned = replace(scored, scores=-np.asarray(scored.scores))
    with contextlib.suppress(InputError):
        sample = ScoredSample.of(turned, bounds=bounds)
        moments, sliced = moments_of(sample), slices_of(sample)
        if 2.0 * min(moments.p_value, sliced.p_value) > level:
            yield Caution(
                "with the sign of the score reversed nothing is found wrong with these draws: is the score the "
                "gradient of the log density, or that of its negative?"
            )
