"""Tests that a verdict combines, and their results for a sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from steinkit.diagnosis.bias.mode_weights import ModeWeights, weights_of_modes
from steinkit.diagnosis.critic import critic_p_value
from steinkit.diagnosis.invariance import InvarianceTest, invariance_of, untested
from steinkit.diagnosis.verdict_result import FEW_OF_SLOWEST, TestResult
from steinkit.discrepancy.bounded_features import BoundedMoments, bounded_moments, joint_dependence
from steinkit.discrepancy.kernel.goodness_of_fit import KernelEvidence, kernel_evidence
from steinkit.discrepancy.moments import MomentSteinDiscrepancy, moments_of
from steinkit.discrepancy.sliced_goodness_of_fit import SlicedSteinTest, slices_of
from steinkit.errors import InputError, TimeLimitError
from steinkit.runtime.deadlines import require_time, seconds_left, time_limit
from steinkit.scored_sample import ScoredSample
from steinkit.target import Seed


@dataclass(frozen=True, eq=False)
class Evidence:
    """Results of all tests for a sample, each computed on first access.

    Attributes
    ----------
    sample : ScoredSample
    rng : int, numpy.random.Generator or None
        Seed for the tests.
    """

    sample: ScoredSample
    rng: Seed

    @cached_property
    def moments(self) -> MomentSteinDiscrepancy:
        """Test of moments."""
        return moments_of(self.sample, self.sample.own_units)

    @cached_property
    def sliced(self) -> SlicedSteinTest:
        """Test of slices."""
        return slices_of(self.sample)

    @cached_property
    def bounded(self) -> BoundedMoments:
        """Test of bounded moments."""
        return bounded_moments(self.sample.draws, self.sample.own_units, self.sample.bounds)

    @cached_property
    def effective_draws(self) -> float:
        """Effective number of draws, as defined in `Verdict.effective_draws`."""
        slowest = self.sample.standard_draws.of_slowest_change
        return slowest if slowest < FEW_OF_SLOWEST else min(self.moments.n_effective, self.sliced.n_effective)

    @cached_property
    def kernel(self) -> tuple[KernelEvidence, tuple[str, ...]]:
        """Kernel test, with notes."""
        return kernel_evidence(self.sample, self.rng)

    @cached_property
    def modes(self) -> tuple[ModeWeights | None, tuple[str, ...]]:
        """Mode weights, or a note that explains why they are missing.

        If the draws are weighted or the target has no log density, there are neither mode weights nor a note.
        """
        target = self.sample.target
        if target is None or not target.has_log_density or self.sample.given.weights is not None:
            return None, ()
        try:
            return weights_of_modes(self.sample, self.rng), ()
        except InputError as error:
            return None, (f"mode weights were not tested: {error}",)

    @cached_property
    def invariance(self) -> InvarianceTest | None:
        """Invariance test within half of the remaining time, or None without a target.

        If the test takes longer, it has no p-value.
        """
        if self.sample.target is None:
            return None
        try:
            with time_limit(0.5 * seconds_left()):
                return invariance_of(self.sample, self.rng)
        except TimeLimitError:
            require_time("testing the sample")
            reason = "evaluating the density takes too long for the time limit"
            return replace(untested(self.sample, reason, self.rng), is_slow=True)

    @property
    def has_edge(self) -> bool:
        """True if the support has an edge that is not declared as a bound."""
        return self.invariance is not None and self.invariance.has_edge

    @property
    def needs_critic(self) -> bool:
        """True if there is no invariance test, which would replace the critic."""
        return self.invariance is None or self.invariance.p is None

    def tests(self, *omitted: str) -> tuple[TestResult, ...]:
        """Run all tests except the omitted ones, and divide the level among them."""
        p_values = {}
        for test in TESTS:
            if test.name not in omitted:
                require_time("testing the sample")
                p_values[test.name] = test.p(self)
        return shared_level(p_values, has_edge=self.has_edge)


class VerdictTest(NamedTuple):
    """Test that a verdict combines with others.

    Attributes
    ----------
    name : str
    share : float
        Share of the level. The shares of the main tests sum to one. If one of them is not run, its share is divided
        among the others.
    p : callable
        Function that returns the p-value from an `Evidence`, or None if the test is not run.
    is_main : bool
        True for the four tests that divide the level among themselves. They reject less often than their shares allow,
        which compensates for the shares of the other tests.
    uses_score : bool
        True if the test assumes Stein's identity, which does not hold if the support has an edge that is not a bound.
    """

    name: str
    share: float
    p: Callable[[Evidence], float | None]
    is_main: bool = False
    uses_score: bool = True


def _p_of(test: InvarianceTest | ModeWeights | None) -> float | None:
    return None if test is None else test.p


TESTS = (
    VerdictTest("moments", 0.3, lambda found: found.moments.p, is_main=True),
    VerdictTest("bounded", 0.27, lambda found: found.bounded.p, is_main=True),
    VerdictTest("sliced", 0.23, lambda found: found.sliced.p, is_main=True),
    VerdictTest("ksd", 0.2, lambda found: found.kernel[0].p, is_main=True),
    VerdictTest("dependence", 0.1, lambda found: joint_dependence(found.sample.standard_draws, found.sample.bounds)),
    VerdictTest("invariance", 0.4, lambda found: _p_of(found.invariance), uses_score=False),
    VerdictTest("critic", 0.2, lambda found: critic_p_value(found.sample) if found.needs_critic else None),
    VerdictTest("modes", 0.2, lambda found: _p_of(found.modes[0]), uses_score=False),
)
"""All tests, in the order in which they are run. The shares were chosen to give high power."""


def shared_level(p_values: Mapping[str, float | None], *, has_edge: bool = False) -> tuple[TestResult, ...]:
    """Return the tests that were run and their shares of the level.

    If the support has an edge that is not declared as a bound, the score-based tests receive no share of the level, and
    the invariance test receives the whole level.
    """
    made = [(test, p) for test in TESTS if (p := p_values.get(test.name)) is not None]
    taken = sum(test.share for test, _ in made if test.is_main)

    def share(test: VerdictTest) -> float:
        if has_edge and test.name == "invariance":
            return 1.0
        if has_edge and test.uses_score:
            return 0.0
        return test.share / taken if test.is_main else test.share

    return tuple(TestResult(test.name, p, share(test)) for test, p in made)
