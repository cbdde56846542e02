"""Result object for a verdict: tests, decision, findings and text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from steinkit import result
from steinkit.chains import LOW_BFMI, ChainDiagnostics
from steinkit.diagnosis.bias.mode_weights import ModeWeights
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.importance import ImportanceWeights
from steinkit.diagnosis.invariance import InvarianceTest
from steinkit.diagnosis.parameter_table import ParameterTable
from steinkit.discrepancy.bounded_features import BoundedMoments
from steinkit.discrepancy.kernel.goodness_of_fit import KernelEvidence
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced_goodness_of_fit import SlicedSteinTest
from steinkit.draws import FEW_EFFECTIVE
from steinkit.errors import reservations
from steinkit.finding import Finding, Kind
from steinkit.result import Result, Statement, cautioned, in_json, running_text
from steinkit.text import Table, count, listed, probability, sentence
from steinkit.units import Units

FEW_OF_SLOWEST = 30.0
"""Number of effective draws in the slowest mixing direction below which the tests overestimate the ESS."""

NO_SINGLE_FINDING = "no individual coordinate or pair is significantly biased"

_TIED = 0.9  # findings are tied if their |z| is at least this fraction of the largest
_NAMED = 3  # maximum number of tied findings that are named in a sentence
_GIVEN = "Each finding refers to the conditional distribution given the other parameters:"
_WITHOUT_FINDINGS = {
    "dependence": "many correlations are slightly biased, but no individual correlation is significantly biased",
    "critic": f"{NO_SINGLE_FINDING}; a test based on a function fitted to half of the draws rejects the other half",
    "ksd": f"{NO_SINGLE_FINDING}; only the kernel test, which tests all coordinates jointly, rejects the draws",
}
_TITLES = {
    "moments": "moments",
    "bounded": "bounded moments",
    "sliced": "slices",
    "ksd": "kernel",
    "dependence": "all pairs together",
    "invariance": "invariance",
    "critic": "critic",
    "modes": "mode weights",
}
"""Names of the tests as used in sentences, keyed by the test names in `TestResult` and JSON."""


@dataclass(frozen=True)
class TestResult:
    """One of the tests that a verdict combines.

    Attributes
    ----------
    name : str
        "moments", "bounded", "sliced", "ksd", "dependence", "invariance", "critic" or "modes".
    p : float
        The p-value.
    share : float
        Share of the level that is assigned to the test, or 0 for a test that does not affect the verdict.
    """

    __test__ = False  # for pytest

    name: str
    p: float
    share: float

    @property
    def title(self) -> str:
        """Name of the test as used in sentences."""
        return _TITLES[self.name]

    @property
    def corrected(self) -> float:
        """The p-value divided by its share of the level, capped at 1."""
        return min(1.0, self.p / self.share) if self.share > 0.0 else 1.0


def combined(tests: Sequence[TestResult], analyses: int = 1) -> float:
    """Return the smallest ratio of p-value to share, corrected for `analyses`.

    The ratio is multiplied by `analyses` and capped at 1.

    The sum of the shares exceeds one because the tests are dependent and the main tests reject less often than their
    shares allow. Bonferroni's inequality therefore does not guarantee the level. The level is calibrated by counting
    false rejections of exact draws.
    """
    return min(1.0, analyses * min(each.corrected for each in tests))


@dataclass(frozen=True, eq=False)
class Verdict(Result):
    """Verdict on a sample: a calibrated test of its draws and a diagnosis.

    Attributes
    ----------
    tests : tuple of TestResult
        The tests that were run, with their p-values and shares of the level.
    level : float
        Largest p-value at which draws are rejected.
    analyses : int
        Number of times that a growing run is tested.
    invariance : InvarianceTest or None
        Test of whether an exact Markov kernel leaves the distribution of the draws unchanged. None without a target. If
        the support has an edge near the draws that no bound describes, Stein's identity does not hold, and the verdict
        uses this test alone. In this case, the draws are not tested if the log density is too slow (see `is_tested`).
    modes : ModeWeights or None
        Weights of separate modes, if the draws are multimodal and the target has a log density. None if they cannot be
        estimated. In this case, a warning gives the reason.
    ess : float
        Smallest effective sample size of the coordinates and of the weights, or NaN if undefined. The effective sample
        size does not reflect bias.
    effective_draws : float
        Number of draws divided by the autocorrelation time of the functions that the tests use. If division by the
        autocorrelation time of the slowest mixing direction yields fewer than thirty, that number is used. For weighted
        draws, this number is Kish's effective sample size.
    enough_draws : bool
        True if there are at least a hundred effective draws. With fewer effective draws, exact samples would be
        rejected too often.
    diagnostics : ChainDiagnostics
        R-hat and effective sizes of the coordinates.
    divergent : int or None
        Number of divergent transitions, or None if the sample does not record them.
    bfmi : float or None
        Smallest energy Bayesian fraction of missing information among the chains, or None if the sample has no
        energies.
    findings : tuple of Finding
        Problems of rejected draws, in descending order of evidence. The tuple is empty if only the kernel test, the
        critic, the joint test of all pairs or the test of mode weights rejects the draws.
    burn_in : float or None
        p-value for the draws without the first tenth of each chain, if only that tenth is biased. This p-value combines
        all tests except the kernel test. The value is None otherwise, and for weighted draws and bounded supports.
    matters : float or None
        Size of a relevant bias, in standard units.
    p_matters : float or None
        p-value for the hypothesis that no moment is biased by more than `matters`, multiplied by `analyses` and capped
        at 1.
    moments : MomentSteinDiscrepancy
        Result of the test of moments.
    bounded : BoundedMoments
        Result of the test of bounded moments.
    sliced : SlicedSteinTest
        Result of the test of slices.
    kernel : KernelEvidence
        Result of the kernel test.
    names : tuple of str
        Names of the coordinates.
    bias : BiasEstimate or None
        Estimated biases of means and standard deviations. None if there are fewer draws than coordinates, or if the
        scores have the wrong sign.
    importance : ImportanceWeights or None
        Pareto-smoothed importance weights. None if the log density of the approximation (`Sample.log_q`) is not given.
    draws : int
        Number of draws.
    score_noise : float or None
        For scores estimated from batches of data, the largest fraction of the variance of a coordinate's score that is
        due to batching. None for exact scores.
    hiding : tuple of str
        Warnings about conditions that may hide a bias.
    warnings : tuple of str
        Limitations of the verdict.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((500, 2)) + [0.5, 0.0]
    >>> found = sk.verdict(draws, sk.targets.Normal([0.0, 0.0]))
    >>> found.label, str(found.findings[0]), found.decided_by
    ('biased', 'x1 is too high', 'moments')
    """

    tests: tuple[TestResult, ...]
    level: float
    analyses: int
    invariance: InvarianceTest | None
    modes: ModeWeights | None
    ess: float
    effective_draws: float
    enough_draws: bool
    diagnostics: ChainDiagnostics
    divergent: int | None
    bfmi: float | None
    findings: tuple[Finding, ...]
    burn_in: float | None
    matters: float | None
    p_matters: float | None
    moments: MomentSteinDiscrepancy
    bounded: BoundedMoments
    sliced: SlicedSteinTest
    kernel: KernelEvidence
    names: tuple[str, ...]
    bias: BiasEstimate | None
    importance: ImportanceWeights | None
    draws: int
    score_noise: float | None
    hiding: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def p(self) -> float:
        """The smallest ratio of p-value to share, corrected for `analyses`.

        The ratio is multiplied by `analyses` and capped at 1.

        The p-value is calibrated by counting false rejections of exact draws. The p-value is not a strict bound because
        the sum of the shares exceeds one.
        """
        return combined(self.tests, self.analyses)

    def p_of(self, test: str) -> float | None:
        """Return the uncorrected p-value of one test.

        Parameters
        ----------
        test : str
            Name of a `TestResult`.

        Returns
        -------
        float or None
            None if the test was not run.
        """
        return next((each.p for each in self.tests if each.name == test), None)

    @property
    def ksd_equivalent_draws(self) -> float:
        """Number of independent draws with the same expected value of KSD^2.

        The number, which is computed on access, is the mean of k0(x, x) divided by KSD^2, for the Stein kernel k0.
        Longer samples are thinned evenly to 20,000 draws. The number is large if the kernel barely detects the bias.
        The verdict does not depend on this number.
        """
        return self.kernel.equivalent_draws

    @property
    def units(self) -> Units:
        """Units for all sizes, given by the standard deviations of the draws."""
        return self.moments.units

    @property
    def is_biased(self) -> bool:
        """True if there are enough draws and `p` is at most `level`."""
        return bool(self.enough_draws and self.p <= self.level)

    @property
    def is_tested(self) -> bool:
        """True if a test other than the mode weight test was run.

        The value is False if the support has an edge that no bound describes and the log density is too slow for the
        invariance test.
        """
        return any(each.share > 0.0 for each in self.tests if each.name != "modes")

    @property
    def decided_by(self) -> str | None:
        """Name of the test that rejects the draws, or None if they are not rejected."""
        return min(self.tests, key=lambda each: each.corrected).name if self.is_biased else None

    @property
    def strongest(self) -> tuple[Finding, ...]:
        """The first finding and any others with z-scores within 10% of its z-score."""
        first = self.findings[0].z if self.findings else 1.0
        return tuple(takewhile(lambda each: _TIED <= abs(each.z / first) <= 1.0 / _TIED, self.findings))

    @property
    def is_large(self) -> bool | None:
        """True if a moment's bias exceeds `matters`, or None if `matters` is not given."""
        return None if self.p_matters is None else self.p_matters <= self.level

    @property
    def mixed(self) -> bool | None:
        """True if the chains have mixed, or None for weighted draws."""
        return None if self.diagnostics.weighted else self.diagnostics.mixed

    @property
    def tree_depth(self) -> int | None:
        """Largest NUTS tree depth, or None if the depths are not recorded."""
        depths = self.diagnostics.sample.tree_depth
        return None if depths is None else int(depths.max())

    @property
    def pareto_k(self) -> float | None:
        """The Pareto k of the importance ratios, or None if `importance` is None."""
        return None if self.importance is None else self.importance.pareto_k

    @property
    def parameters(self) -> ParameterTable:
        """Moments, diagnostics and biases of each parameter, computed on access."""
        return ParameterTable(self.diagnostics, self.bias, self.known_bias, self.importance)

    @property
    def known_bias(self) -> BiasEstimate | None:
        """`bias` if an estimate is reliable and there are enough draws, or None."""
        return self.bias if self.bias is not None and self.enough_draws and self.bias.reliable.any() else None

    @property
    def not_tested(self) -> tuple[str, ...]:
        """Errors that the tests cannot detect."""
        weights = ("mode weights",) if self.p_of("modes") is None else ()
        return "dependence beyond pairs of parameters", *weights, "modes or regions that no draw visited"

    @property
    def label(self) -> str:
        """Short label: "biased", "no bias seen", "not tested" or "too few draws"."""
        if not self.enough_draws:
            return "too few draws"
        return "biased" if self.is_biased else "no bias seen" if self.is_tested else "not tested"

    @property
    def ess_text(self) -> str:
        """The rounded ESS, or "" if it is undefined or exceeds the number of draws.

        The ESS of antithetic chains may exceed the number of draws.
        """
        return f"{self.ess:.0f}" if self.ess <= self.draws else ""

    @property
    def sentence(self) -> str:
        """Text about the decision, the mixing, and the size and relevance of biases."""
        return " ".join(self.sentences())

    def sentences(self, *, with_sizes: bool = True) -> list[str]:
        """Return the sentences of `sentence` as a list.

        Parameters
        ----------
        with_sizes : bool
            Include the estimated biases. The default is True.

        Returns
        -------
        list of str
            The sentences, without warnings.
        """
        sizes = self._sizes if with_sizes else " ".join([] if self.bias is None else self.bias.not_known())
        weights = "" if self.importance is None else self.importance.sentence
        found = (self._trajectories, *self._head, self._mixing, sizes, self._relevance, weights)
        return [each for each in found if each]

    @property
    def modes_sentence(self) -> str:
        """Text with the mode weights, or "" if `sentence` includes the weights."""
        return "" if self.modes is None or self.decided_by == "modes" else self.modes.sentence

    @property
    def untested_sentence(self) -> str:
        """A sentence that lists the errors that the tests cannot detect."""
        return f"Not tested: {'; '.join(self.not_tested)}."

    def headline(self) -> str:
        """State the verdict in one sentence.

        Returns
        -------
        str
            A sentence without the final period.
        """
        first = self._head[0].removesuffix(".")
        return f"{first}: {self._worst}" if self.is_biased and self.burn_in is None else first

    def statements(self) -> tuple[Statement, ...]:
        """State the verdict, the findings, the limits of the tests, and the method.

        Returns
        -------
        tuple of Statement
        """
        found = [Statement("number", "Can these draws be used?", self.sentence)]
        in_sentence = self.burn_in is None and self.decided_by != "modes"
        if len(self.findings) > in_sentence:  # the sentence already includes the first finding
            findings = "; ".join(each.evidence for each in self.findings)
            effect = "a bias of one parameter may also change the conditional distributions of others"
            if any(each.kind == Kind.DEPENDENCE for each in self.findings):
                effect = "an error in a correlation also changes both conditional scales"
            conditional = "" if self.findings[0].source == "invariance" else f" {_GIVEN} {effect}."
            text = f"Findings: {findings}.{conditional}"
            found.append(Statement("findings", "Which problems were found?", text))
        if self.modes_sentence:
            found.append(Statement("comparison", "How much mass does each mode hold?", self.modes_sentence))
        limits = Statement("limits", "What was not tested?", self.untested_sentence)
        tests = ", ".join(f"{each.title} {probability(each.p)}" for each in self.tests)
        combined = f"combined, for {self.analyses} analyses," if self.analyses > 1 else "combined"
        how = f"Tests: {tests}; {combined} {probability(self.p)}."
        return *found, limits, Statement("method", "How was it tested?", how)

    def tables(self) -> tuple[Table, ...]:
        """Tabulate the ten largest biases if an estimate is reliable.

        Returns
        -------
        tuple of Table
        """
        return () if self.known_bias is None else self.known_bias.tables()

    def summary(self) -> str:
        """Report the verdict, the findings, the limitations and the largest biases.

        Returns
        -------
        str
            Paragraphs separated by blank lines.
        """
        text = running_text([*self.statements(), *cautioned(self.warnings)])
        return text if self.known_bias is None else f"{text}\n\n{self.known_bias.table()}"

    def table(self, most: int | None = None) -> str:
        """Return a text table of all parameters, with the largest biases first.

        Parameters
        ----------
        most : int, optional
            Number of rows. By default, all rows are included.

        Returns
        -------
        str
            Mean, sd, 5% and 95% quantiles, MCSE, ESS, R-hat, corrected mean and biases, and a note on divergences,
            tree depth and energy if they are recorded. Moments and quantiles are weighted if the draws are weighted.

        Examples
        --------
        >>> import numpy as np, steinkit as sk
        >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2)) + [0.5, 0.0]
        >>> table = sk.verdict(draws, sk.targets.Normal([0.0, 0.0])).table()
        >>> table.splitlines()[0].split()[:5]
        ['quantity', 'mean', 'sd', '5%', '95%']
        """
        return self.parameters.text(most)

    def to_frame(self) -> Any:
        """Return the parameters as a data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per parameter, followed by one row per function of the target. The columns are ``mean``, ``sd``,
            ``q5``, ``q95``, ``mcse_mean``, ``ess_bulk``, ``ess_tail``, ``r_hat``, ``corrected_mean``, ``corrected_sd``,
            ``mean_bias``, ``mean_margin``, ``sd_bias`` and ``sd_margin``. See `BiasEstimate` for the units. With
            `importance`, there are also ``psis_mean`` and ``psis_sd``. Unknown values are NaN. Polars is used if pandas
            is not installed.

        Raises
        ------
        MissingDependencyError
            If neither pandas nor Polars is installed.

        Examples
        --------
        >>> import numpy as np, steinkit as sk
        >>> draws = np.random.default_rng(0).standard_normal((1000, 2)) + [0.5, 0.0]
        >>> frame = sk.verdict(draws, sk.targets.Normal([0.0, 0.0])).to_frame()
        >>> bool(frame.loc["x1", "mean_bias"] > 0.3)
        True
        """
        return self.parameters.frame()

    def to_datatree(self) -> Any:
        """Return the parameters as a node for an ArviZ DataTree.

        Returns
        -------
        xarray.DataTree
            The columns of `to_frame` as variables with the dimension ``parameter``. The attributes are the label and
            the p-value and, if known, the number of divergences, the tree depth, the E-BFMI and the Pareto k. To add
            the node to the data of a fit, use ``idata["verdict"] = found.to_datatree()``.

        Raises
        ------
        MissingDependencyError
            If xarray is not installed.

        Examples
        --------
        >>> import numpy as np, steinkit as sk
        >>> draws = np.random.default_rng(0).standard_normal((1000, 2)) + [0.5, 0.0]
        >>> tree = sk.verdict(draws, sk.targets.Normal([0.0, 0.0])).to_datatree()
        >>> tree.attrs["label"], dict(tree.sizes)
        ('biased', {'parameter': 2})
        """
        shown = ("label", "p", "divergent", "tree_depth", "bfmi", "pareto_k")
        return self.parameters.tree({name: getattr(self, name) for name in shown})

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as printed by ``steinkit score --json`` under "verdict".

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        before = ("decided_by", "level", "analyses", "ksd_equivalent_draws", "ess")
        after = (
            "divergent", "bfmi", "tree_depth", "pareto_k", "draws", "effective_draws", "enough_draws", "burn_in",
            "matters", "p_matters", "findings", "bias", "modes", "not_tested", "score_noise", "hiding", "sentence",
        )  # fmt: skip
        found = {
            **{"p": self.p} | {f"p_{test}": self.p_of(test) for test in _TITLES},
            **{name: getattr(self, name) for name in before},
            **{"r_hat": self.diagnostics.max_r_hat, "tail_ess": self.diagnostics.min_tail_ess, "mixed": self.mixed},
            **{name: getattr(self, name) for name in after},
        }
        return {name: in_json(each) for name, each in found.items()}

    def __repr__(self) -> str:
        return (
            f"<Verdict on {self.draws} draws: {self.label}, {probability(self.p)}, ESS {self.ess:.3g}"
            f"{reservations(self.warnings)}>"
        )

    @property
    def _head(self) -> tuple[str, ...]:
        """Sentences about the decision and the evidence or reservations."""
        p, unknown = probability(self.p), "The draws may or may not come from the target."
        late = "" if self.burn_in is None else probability(self.burn_in)
        start = f"The first draws are biased: remove the first tenth of each chain ({late} without it)." * bool(late)
        if not self.enough_draws:
            effective = math.floor(self.effective_draws)
            slowest = f" ({FEW_OF_SLOWEST:.0f} in the slowest mixing direction)" if effective < FEW_OF_SLOWEST else ""
            needed = f"at least {FEW_EFFECTIVE:.0f} are needed{slowest}"
            return f"{result.UNDECIDED}: {effective} in {count(self.draws, 'draw')}; {needed}.", unknown, start
        if self.is_biased and late:
            without = f"without the first tenth of each chain, no bias is found ({late})"
            return (f"{result.REJECTED} ({p}), but only the first draws are biased: {without}.",)
        if self.is_biased:
            findings = f"Main finding{'s' * (len(self.strongest) > 1)}: " if self.findings else ""
            return f"{result.REJECTED} ({p}).", f"{sentence(f'{findings}{self._worst}')}."
        if not self.is_tested:
            return f"{result.UNTESTED}; see the warnings.", unknown, start
        hidden = "Some conditions may hide a bias; see the warnings." if self.hiding else ""
        ess = f" with ESS {self.ess_text}" if self.ess_text else ""
        return f"{result.UNSUSPECTED} in {count(self.draws, 'draw')}{ess} ({p}).", hidden, start

    @property
    def _trajectories(self) -> str:
        """A sentence about divergent transitions and a low E-BFMI, or "".

        Both problems suggest that the draws missed a region.
        """
        found = [f"{self.divergent} of {self.draws} transitions diverged"] if self.divergent else []
        if self.bfmi is not None and self.bfmi < LOW_BFMI:
            found.append(f"the E-BFMI is {self.bfmi:.2f} (should be at least {LOW_BFMI})")
        if not found:
            return ""
        missed = "the chains may have missed a region, and no test of the draws can detect this"
        return f"{sentence(' and '.join(found))}: {missed}."

    @property
    def _worst(self) -> str:
        """Text with the strongest findings, or with the test that rejects the draws."""
        if self.decided_by == "modes" and self.modes is not None:
            return "; and ".join([self.modes.clause, *(each.evidence for each in self.findings[:1])])
        if self.findings:
            return listed([each.evidence for each in self.strongest], most=_NAMED, of="more findings")
        return _WITHOUT_FINDINGS.get(self.decided_by or "", NO_SINGLE_FINDING)

    @property
    def _mixing(self) -> str:
        """A sentence about the ESS of rejected draws and the effect of slow mixing."""
        if not self.ess_text or not self.is_biased or self.burn_in is not None or self.mixed is None:
            return ""
        if self.mixed:
            return f"ESS {self.ess_text}: slow mixing does not explain the rejection."
        r_hat = self.diagnostics.max_r_hat
        known = "" if math.isnan(r_hat) else f"R-hat {r_hat:.2f}, "
        return f"The chains have not mixed ({known}ESS {self.ess_text}), which may explain the rejection."

    @property
    def _sizes(self) -> str:
        """Text about the biases of rejected draws, or the accuracy of other draws."""
        if self.bias is None or not self.enough_draws or self.burn_in is not None:
            return ""
        if self.decided_by == "modes" and self.bias.hidden:
            return "`steinkit repair` corrects the mode weights."
        return self.bias.rejected_sentence if self.is_biased else self.bias.accuracy_sentence

    @property
    def _relevance(self) -> str:
        """A sentence about biases larger than `matters`, or "" without `matters`."""
        if self.matters is None or self.p_matters is None or not self.enough_draws:
            return ""
        if self.bias is not None and (known := self.bias.matters_sentence(self.matters)):
            return known
        biased = f"moment is biased by more than {self.matters:g} standard units ({probability(self.p_matters)})"
        return f"At least one {biased}." if self.is_large else f"There is no evidence that any {biased}."
