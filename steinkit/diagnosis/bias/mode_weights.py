"""Weights of separate modes: the score does not determine them, the log density does.

The mass Z_k of the region of every mode is found by bridge sampling (`steinkit.diagnosis.bias.mode_groups`), with
a variance v_k of its logarithm. Shares and their covariance are

    w_k = Z_k / sum_j Z_j,      J diag(v) J,      J = diag(w) - w w'.

Of right draws, shares in regions have the covariance  T^(1/2) J T^(1/2) / n,  with the autocorrelation times T of what
region a draw is in. The squared distance of the two shares in the sum of both covariances is held against Hotelling's
law. Chains that hardly ever cross say nothing of the shares: they are stacked by them.

**Biases** of draws in modes with known shares are put together from regressions within each mode. With means m_k and
standard deviations s_k within the modes, and shares w_k, those of all are

    m = sum_k w_k m_k,      v = sum_k w_k (s_k^2 + (m_k - m)^2),

of the draws with their own m_k and s_k, of the target with those that `estimate_bias` gives. Margins of both, and those
of the shares, go into the sums by their derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from, require_unmasked
from steinkit.autocorrelation import EFFECTIVE_PER_FREEDOM
from steinkit.containers.reading import DrawsLike
from steinkit.diagnosis.bias import mode_groups
from steinkit.diagnosis.bias.estimate import bias_of
from steinkit.diagnosis.bias.quantities import varying
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.exact_kernels import Density
from steinkit.draws import Draws
from steinkit.errors import InputError, UsageError, cautious, reservations
from steinkit.result import Result, Statement
from steinkit.runtime.deadlines import one_thread_in_libraries, within_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Seed, Target, require_target
from steinkit.text import compact, probability, sentence

_MARGINS = 2.0  # standard errors
_WIDEST = 0.1  # standard error of the logarithm of a mass, above which nothing is said
_APART = 3.0  # standard errors between the bridge and its proposals alone, beyond which draws are wrong
_FEWEST_WITHIN = 10.0  # effective draws of what changes slowest in a mode; at ten a share is right to .03
_FEWEST_CROSSING = 30.0  # effective draws of what region a draw is in, for a test of their shares
_MOST_DRAWS = 10_000  # of a mode
_PROPOSALS = (1000, 20_000)  # of a mode: twice as many as draws, within these; draws that are off then count less
_STREAM = 33  # so that proposals of seed 0 are not the numbers that draws of seed 0 were made of
_SHOWN = 3  # parameters of a centre in a sentence
_FINEST_SHARE = 0.0001  # smallest margin that is printed
_SELDOM = "The draws cross too seldom to test this; `steinkit repair` reweights the modes to their correct shares."


@dataclass(frozen=True, eq=False)
class ModeWeights(Result):
    """Shares of K modes, the most frequent among the draws first; of labels that were given, in their order.

    Attributes
    ----------
    shares : ndarray, shape (K,)
        Of the target's probability, by the log density.
    draws_shares : ndarray, shape (K,)
        Of the draws.
    margins : ndarray, shape (K,)
        Two standard errors of `shares`.
    p : float or None
        Probability that right draws have shares so far from these; None where the draws have crossed too seldom to say.
    centres : ndarray, shape (K, d)
        Means of the draws of each mode.
    labels : ndarray of int, shape (n,)
        The mode of each draw, from 0.
    reweighted : Sample
        The draws with weights under which the modes have their shares.
    effective_draws : float
        Draws over the autocorrelation time of what mode a draw is in.
    evaluations : int
        Points at which the log density was taken.
    warnings : tuple of str
        What a reader should know before the numbers.
    """

    shares: Floats
    draws_shares: Floats
    margins: Floats
    p: float | None
    centres: Floats
    labels: Integers
    reweighted: Sample
    effective_draws: float
    evaluations: int
    warnings: tuple[str, ...]

    @property
    def weights(self) -> Floats:
        """Of the draws, of sum one, shape (n,)."""
        return self.reweighted.probabilities

    @property
    def places(self) -> tuple[str, ...]:
        """Centre of each mode in its first parameters: "mu = 0.3, tau = -2"."""
        return tuple(_place(self.reweighted.names, each) for each in self.centres)

    @property
    def clause(self) -> str:
        """Both shares, as fine as the margin: "modes 71.8:28.2, right 50.1:49.9 ± 0.7 points"."""
        margin = 100.0 * max(_FINEST_SHARE, float(self.margins.max()))
        digits = 0 if margin >= 2.0 else 1 if margin >= 0.2 else 2
        had, right = (":".join(f"{100.0 * each:.{digits}f}" for each in of) for of in (self.draws_shares, self.shares))
        return f"modes {had}, right {right} ± {margin:.{digits}f} points"

    @property
    def sentence(self) -> str:
        """Both shares, and the probability of a difference so large."""
        clause = sentence(self.clause)
        return f"{clause}. {_SELDOM}" if self.p is None else f"{clause} ({probability(self.p)})."

    def headline(self) -> str:
        """State both shares.

        Returns
        -------
        str
            Without its full stop.
        """
        return sentence(self.clause)

    def statements(self) -> tuple[Statement, ...]:
        """State both shares, the centres of the modes, what was not tested, and the method.

        Returns
        -------
        tuple of Statement
        """
        places = "; ".join(f"mode {k} about {each}" for k, each in enumerate(self.places, 1))
        how = f"Shares by bridge sampling, with the log density at {self.evaluations} points."
        return (
            Statement("number", "How much mass does each mode hold?", self.sentence),
            Statement("draws", "Where are the modes?", f"{sentence(places)}."),
            Statement("limits", "What was not tested?", "Draws within each mode, and modes that no draw visited."),
            Statement("method", "How were the shares found?", how),
        )

    def to_dict(self) -> dict[str, Any]:
        """List the shares as JSON documents hold them.

        Returns
        -------
        dict
            Of strings, finite numbers, lists and dicts.
        """
        return {
            "modes": [
                {
                    "share": float(self.shares[k]),
                    "margin": float(self.margins[k]),
                    "draws_share": float(self.draws_shares[k]),
                    "centre": dict(zip(self.reweighted.names, self.centres[k].tolist(), strict=True)),
                }
                for k in range(len(self.shares))
            ],
            "p": self.p,
            "draws": len(self.labels),
            "effective_draws": self.effective_draws,
            "evaluations": self.evaluations,
        }

    def __repr__(self) -> str:
        shown, had = (":".join(f"{100.0 * each:.3g}" for each in of) for of in (self.shares, self.draws_shares))
        p = "" if self.p is None else f", {probability(self.p)}"
        return f"<ModeWeights: {had} in the draws, {shown} by the density{p}{reservations(self.warnings)}>"


@cautious
@within_time
def mode_weights(
    draws: DrawsLike,
    target: Target,
    *,
    labels: ArrayLike | None = None,
    max_seconds: float | None = None,
    rng: Seed = 0,
) -> ModeWeights:
    """Estimate the weights of separate modes by bridge sampling with the log density, and test those of the draws.

    Draws within each mode must be right, in whatever shares the modes are; modes that no draw has visited are not seen.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or what else `as_sample` takes
        In the order in which they were made; without weights.
    target : Target
        With a log density.
    labels : array_like of int or str, shape (n,), optional
        The mode of each draw, where you know it. By default modes are found: groups of draws with a valley of the
        density between them.
    max_seconds : float, optional
        Time, from the call on, after which to give up.
    rng : int, numpy.random.Generator or None
        Seed of the proposals.

    Returns
    -------
    ModeWeights
        With margins, a test of the draws' own shares, and the draws reweighted.

    Raises
    ------
    UsageError
        If the target has no log density, the draws carry weights, or there is not one label a draw.
    InputError
        As `estimate_bias` does; or if there is one mode only or more than ten, modes overlap, a mode has too few draws,
        which must be ten of what changes slowest in it, a mass has a relative error above .1, as that of a mode that
        is curved far beyond a t distribution, or draws are seen to be wrong within their mode.
    TimeLimitError
        If `max_seconds` pass first.

    Notes
    -----
    The log density is taken at up to 10,000 draws of a mode and at twice as many proposals, at least 1,000; and at a
    few points between modes. The target's score is taken at every draw.

    References
    ----------
    .. [1] X.-L. Meng and W. H. Wong, "Simulating ratios of normalizing constants via a simple identity", Statistica
       Sinica 6, 1996.
    .. [2] Y. Yao, A. Vehtari and A. Gelman, "Stacking for non-mixing Bayesian computations", JMLR 23, 2022.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> target = sk.targets.GaussianMixture([[0.0, 0.0], [9.0, 0.0]], sd=1.0)
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.standard_normal((1000, 2)) + np.where(rng.random((1000, 1)) < 0.72, 0.0, [9.0, 0.0])
    >>> found = sk.mode_weights(draws, target)
    >>> found.draws_shares.round(1).tolist(), found.shares.round(2).tolist(), found.p < 1e-9
    ([0.7, 0.3], [0.5, 0.5], True)
    """
    require_target(target)
    if not target.has_log_density:
        raise UsageError(f"{target.label} has no log density, which knows the mode weights; pass log_density=")
    prepared = ScoredSample.of(draws, target)
    found = weights_of_modes(prepared, labels, rng)
    if found is None:
        raise InputError(
            "the draws do not fall into groups with a valley of the density between them, so there are no shares of "
            "modes to find; give labels= if you know better"
        )
    return found


def weights_of_modes(prepared: ScoredSample, labels: ArrayLike | None = None, rng: Seed = 0) -> ModeWeights | None:
    """The same of a sample that is prepared; None where no modes are found."""
    if prepared.given.weights is not None:
        raise UsageError("these draws carry weights; give draws without, or resample these first")
    draws, names = prepared.draws, prepared.points.names
    called: list[str] = []
    with one_thread_in_libraries():
        if labels is not None:
            groups, called = _groups_given(labels, draws)
            mode_groups.regions(draws, groups, prepared.bounds, names, called)  # refuses labels of no modes
        elif len(groups := mode_groups.separate_groups(draws, prepared.bounds, names)) < 2:
            return None
        assert prepared.target is not None
        density = Density(prepared.target, prepared.bounds)
        values = np.full(len(draws.points), np.nan)
        for rows in groups:
            some = rows[:: -(-len(rows) // _MOST_DRAWS)]
            values[some] = density.at_draws(draws.points[some], draws.rows[some])
        peaks = np.array([rows[np.nanargmax(values[rows])] for rows in groups])
        passes = mode_groups.connections(draws.points[peaks], density.of)
        groups, linked = mode_groups.joined(groups, values[peaks], passes)
        if linked and called:
            raise InputError(
                f"the modes overlap: between the densest draws of labels {called[linked[0]]} and {called[linked[1]]} "
                "the density never falls below half of the lower one; give the two the same label"
            )
        if not called:
            groups = mode_groups.without_fragments(groups, draws.points, density.of)
        if len(groups) < 2:
            return None
        clusters, bounding = mode_groups.regions(draws, groups, prepared.bounds, names, called)
        stream = generator_from(rng)
        if isinstance(rng, int | np.integer):
            stream = np.random.default_rng([_STREAM, int(rng)])
        masses = np.array([_mass(k, each, values, bounding, density, stream) for k, each in enumerate(clusters)])
    return _result(prepared, draws, clusters, masses, density)


def _groups_given(labels: ArrayLike, draws: Draws) -> tuple[list[Integers], list[str]]:
    """The rows of each label, and the labels."""
    require_unmasked(labels, "labels")
    given = np.ravel(np.asarray(labels))
    if len(given) != len(draws.points) or given.dtype.kind not in "iubUS":
        raise UsageError(
            f"labels must be {len(draws.points)} whole numbers or names, one a draw; received shape "
            f"{np.shape(labels)} of {given.dtype}"
        )
    kinds, where = np.unique(given[draws.rows], return_inverse=True)
    if not 2 <= len(kinds) <= mode_groups.MOST_MODES:
        raise InputError(f"labels must name 2 to {mode_groups.MOST_MODES} modes; received {len(kinds)}")
    return [np.flatnonzero(where == k) for k in range(len(kinds))], [str(each) for each in kinds]


def _mass(
    k: int,
    cluster: mode_groups.Cluster,
    values: Floats,
    bounding: list[mode_groups.Proposal],
    density: Density,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Logarithm of the mass of a mode's region and its variance, each half of the draws bridged in turn."""
    draws = cluster.operand.draws
    slowest = draws.of_slowest_change
    where = f"the mode about ({_place(cluster.units.names, cluster.units.centre)})"
    if slowest < _FEWEST_WITHIN:
        raise InputError(
            f"{where} has {slowest:.0f} effective draws of what changes slowest in it, where "
            f"{_FEWEST_WITHIN:.0f} are wanted; run the sampler longer"
        )
    values, points = values[cluster.rows], cluster.points
    known = np.isfinite(values)
    number = min(max(2 * len(cluster.rows), _PROPOSALS[0]), _PROPOSALS[1]) // 2
    found = []
    for fitted, bridged in (draws.halves, draws.halves[::-1]):
        proposal = cluster.proposal(fitted)
        proposed = proposal.draw(number, rng)
        ratios = np.full(number, -np.inf)
        inside = mode_groups.nearest(proposed, bounding) == k
        ratios[inside] = density.of(proposed[inside]) - proposal.log_density(proposed[inside])
        rows = bridged[known[bridged]]
        at_draws = values[rows] - proposal.log_density(points[rows])
        found.append(mode_groups.bridge(at_draws, ratios, draws.only(rows).chains))
    log_mass, variance, off, noise = np.mean(found, axis=0)
    error = math.sqrt(0.5 * variance)
    if error > _WIDEST:
        raise InputError(
            f"the share of {where} has a relative error of {error:.2g}, above {_WIDEST}: it is curved far beyond a t "
            "distribution, or has too few draws; run the sampler longer, or change the parametrisation"
        )
    if abs(off) > _APART * math.sqrt(0.5 * noise):
        raise InputError(
            f"in {where} the draws are not the target's: by proposals alone its share is "
            f"{abs(off) / math.sqrt(0.5 * noise):.0f} standard errors away from the bridge's; mend the sampler first"
        )
    return float(log_mass), error**2


def _result(
    prepared: ScoredSample, draws: Draws, clusters: list[mode_groups.Cluster], masses: Floats, density: Density
) -> ModeWeights:
    from scipy.special import fdtrc

    n, modes = len(draws.points), len(clusters)
    shares = np.exp(masses[:, 0] - masses[:, 0].max())
    shares /= shares.sum()
    own = np.array([draws.shares[each.rows].sum() for each in clusters])
    within = np.zeros((modes, n))
    for k, each in enumerate(clusters):
        within[k, each.rows] = 1.0
    times = draws.autocorrelation_times(within - own[:, None])
    spread = np.diag(shares) - np.outer(shares, shares)
    errors = spread @ np.diag(masses[:, 1]) @ spread
    covariance = errors + spread * np.sqrt(np.outer(times, times)) / n
    effective = n / float(times.max())
    p = None
    if effective >= _FEWEST_CROSSING:
        off = (own - shares)[:-1]
        distance = float(off @ np.linalg.solve(covariance[:-1, :-1], off)) / (modes - 1)
        p = float(fdtrc(modes - 1, effective / EFFECTIVE_PER_FREEDOM, distance))
    of_points = np.zeros(len(prepared.points), dtype=np.int64)
    for k, each in enumerate(clusters):
        of_points[prepared.points.inverse[draws.rows[each.rows]]] = k
    labels = of_points[prepared.points.inverse]  # repeated draws included
    weights = (shares / own)[labels] / len(labels)
    return ModeWeights(
        shares=shares,
        draws_shares=own,
        margins=_MARGINS * np.sqrt(np.diag(errors)),
        p=p,
        centres=np.array([each.units.centre for each in clusters]),
        labels=labels,
        reweighted=prepared.given.with_columns(weights=weights, names=prepared.points.names),
        effective_draws=effective,
        evaluations=density.evaluations,
        warnings=(*prepared.notes, *draws.disorder),
    )


def estimates_in_modes(
    sample: Sample, target: Target, bounds: ArrayLike | None, modes: ModeWeights
) -> list[BiasEstimate]:
    """By regression, of the draws of each mode, with the sample's own scores if it has any; InputError as ever."""
    rows, functions = [np.flatnonzero(modes.labels == k) for k in range(len(modes.shares))], target.functions
    for each in rows:
        functions, _ = varying(functions, sample.points[each])
    given = target if sample.scores is None else None
    parts = (ScoredSample.of(sample[each], given, bounds=bounds) for each in rows)
    return [bias_of(part, functions=functions) for part in parts]


def bias_of_mixture(parts: list[BiasEstimate], modes: ModeWeights, weighted: bool) -> BiasEstimate:
    """Of the draws as they are, or weighted so that their modes have the target's shares."""
    shares = modes.shares[:, None]
    means, sds = (np.array([getattr(part, name) for part in parts]) for name in ("mean", "sd"))
    mean, sd = _together(shares, means, sds)
    draws_mean, draws_sd = _together(
        shares if weighted else modes.draws_shares[:, None],
        *(np.array([getattr(part, name) for part in parts]) for name in ("draws_mean", "draws_sd")),
    )
    squares = [part.mean_margin**2 - (part.mean_bias * part.sd_margin) ** 2 for part in parts]  # in the mean's own unit
    margins = [sds * np.sqrt(np.maximum(squares, 0.0)), sds * [part.sd_margin for part in parts]]
    away = means - mean
    of_mean = (shares * margins[0]) ** 2
    of_variance = (2.0 * shares * away * margins[0]) ** 2 + (2.0 * shares * sds * margins[1]) ** 2
    by_shares = [(np.abs(each) * modes.margins[:, None]).sum(axis=0) for each in (away, sds**2 + away**2 - sd**2)]
    mean_bias, sd_margin = (
        (draws_mean - mean) / sd,
        np.sqrt(of_variance.sum(axis=0) + by_shares[1] ** 2) / (2.0 * sd**2),
    )
    reason = tuple(next(filter(None, each), "") for each in zip(*(part.reason for part in parts), strict=True))
    weights = modes.reweighted.probabilities
    return replace(
        parts[0],
        mean=mean,
        sd=sd,
        draws_mean=draws_mean,
        draws_sd=draws_sd,
        mean_bias=mean_bias,
        sd_bias=np.log(draws_sd / sd),
        mean_margin=np.hypot(np.sqrt(of_mean.sum(axis=0) + by_shares[0] ** 2) / sd, mean_bias * sd_margin),
        sd_margin=sd_margin,
        reliable=np.array([not each for each in reason]),
        reason=reason,
        weights=weights,
        worth=1.0 / float(weights @ weights),
        method="modes",
        hidden=next((part.hidden for part in parts if part.hidden), ""),
        unranked=next((part.unranked for part in parts if part.unranked), ""),
        falls_apart=True,
        draws=len(weights),
        warnings=tuple(dict.fromkeys(each for part in parts for each in part.warnings)),
    )


def _together(shares: Floats, means: Floats, sds: Floats) -> tuple[Floats, Floats]:
    mean = (shares * means).sum(axis=0)
    return mean, np.sqrt((shares * (sds**2 + (means - mean) ** 2)).sum(axis=0))


def _place(names: Sequence[str], centre: Floats) -> str:
    shown = [f"{name} = {compact(float(value), 3)}" for name, value in zip(names, centre, strict=True)]
    return ", ".join([*shown[:_SHOWN], *(["..."] if len(shown) > _SHOWN else [])])
