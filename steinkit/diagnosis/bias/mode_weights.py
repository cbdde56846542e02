"""Estimation of the weights of separate modes from the log density.

Bridge sampling estimates the mass Z_k of the region of each mode and the variance v_k of log Z_k
(`steinkit.diagnosis.bias.mode_groups`). The weights of the modes and the covariance matrix of the weights are

    w_k = Z_k / sum_j Z_j,      J diag(v) J,      J = diag(w) - w w'.

The proportions of exact draws in the regions have the covariance matrix T^(1/2) J T^(1/2) / n, where T is the diagonal
matrix of the autocorrelation times of the region indicators. The test statistic is the squared Mahalanobis distance
between the proportions and the weights, computed with the sum of both covariance matrices. The p-value comes from
Hotelling's test. Chains that rarely cross between the modes contain no information about the weights. In this case, the
weights are not tested but can still be corrected.

**Biases** of multimodal draws are estimated by regression within each mode. With the weights w_k, the means m_k and the
standard deviations s_k of the modes, the mean m and the variance v of the mixture are

    m = sum_k w_k m_k,      v = sum_k w_k (s_k^2 + (m_k - m)^2).

For the draws, m_k and s_k are the means and standard deviations of the draws in each mode. For the target, m_k and s_k
are the estimates from `estimate_bias`. The margins of error of these estimates and of the weights are propagated to the
mixture to first order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import generator_from
from steinkit.autocorrelation import EFFECTIVE_PER_FREEDOM
from steinkit.containers.reading import DrawsLike
from steinkit.diagnosis.bias import mode_groups
from steinkit.diagnosis.bias.estimate import bias_of
from steinkit.diagnosis.bias.quantities import varying
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.bias.stein_regression import Operand
from steinkit.diagnosis.exact_moves import Density
from steinkit.errors import InputError, UsageError, cautious, reservations
from steinkit.result import Result, Statement
from steinkit.runtime.deadlines import one_thread_in_libraries, within_time
from steinkit.sample import Floats, Integers, Sample
from steinkit.scored_sample import ScoredSample
from steinkit.target import Seed, Target, require_target
from steinkit.text import compact, probability, sentence

_MARGINS = 2.0  # width of a margin of error, in standard errors
_WIDEST = 0.1  # largest allowed standard error of the log mass of a mode
_APART = 3.0  # largest allowed difference between bridge and importance sampling, in standard errors
_FEWEST_WITHIN = 10.0  # minimum ESS in a mode's slowest mixing direction; limits the error of a weight to 0.03
_FEWEST_CROSSING = 30.0  # smallest effective sample size of the region indicators for a test
_MOST_DRAWS = 10_000  # per mode
_PROPOSALS = (1000, 20_000)  # bounds on the number of proposals per mode; the default is twice the number of draws
_STREAM = 33  # keeps the random numbers of the proposals distinct from draws generated with the same seed
_SHOWN = 3  # maximum number of parameters printed for the center of a mode
_FINEST_SHARE = 0.0001  # smallest margin of error that is printed
_TOO_FEW_CROSSINGS = (
    "The draws cross between the modes too rarely for a test; `steinkit repair` corrects the mode weights."
)


@dataclass(frozen=True, eq=False)
class ModeWeights(Result):
    """Estimated weights of K modes, in descending order of the number of draws.

    Attributes
    ----------
    shares : ndarray, shape (K,)
        Probabilities of the modes under the target, estimated from the log density.
    draws_shares : ndarray, shape (K,)
        Proportions of the draws in the modes.
    margins : ndarray, shape (K,)
        95% margins of error of `shares`.
    p : float or None
        p-value for the hypothesis that the proportions of the draws agree with the target. None if the draws cross
        between the modes too rarely for a test.
    centres : ndarray, shape (K, d)
        Means of the draws of each mode.
    labels : ndarray of int, shape (n,)
        Mode of each draw, numbered from 0.
    reweighted : Sample
        The draws, with weights that sum to the probability of each mode.
    effective_draws : float
        Number of draws divided by the longest autocorrelation time of the mode indicators.
    evaluations : int
        Number of points at which the log density was evaluated.
    warnings : tuple of str
        Limitations of the estimates.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> target = sk.targets.GaussianMixture([[0.0, 0.0], [9.0, 0.0]], sd=1.0)
    >>> found = sk.mode_weights(target.sample(1000, np.random.default_rng(0)), target)
    >>> found.shares.round(1).tolist(), found.weights.shape
    ([0.5, 0.5], (1000,))
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
        """Weights of the draws, as an array of shape (n,) that sums to one."""
        return self.reweighted.probabilities

    @property
    def places(self) -> tuple[str, ...]:
        """Values of the first few parameters at the center of each mode."""
        return tuple(_place(self.reweighted.names, each) for each in self.centres)

    @property
    def clause(self) -> str:
        """Text fragment that lists the mode weights in the draws and under the target.

        An example is "mode weights 71.8:28.2% in the draws, 50.1:49.9 ± 0.7% under the target".
        """
        margin = 100.0 * max(_FINEST_SHARE, float(self.margins.max()))
        digits = 0 if margin >= 2.0 else 1 if margin >= 0.2 else 2
        draws, target = (
            ":".join(f"{100.0 * each:.{digits}f}" for each in of) for of in (self.draws_shares, self.shares)
        )
        return f"mode weights {draws}% in the draws, {target} ± {margin:.{digits}f}% under the target"

    @property
    def sentence(self) -> str:
        """Sentence stating both sets of mode weights and the p-value of the difference."""
        clause = sentence(self.clause)
        return f"{clause}. {_TOO_FEW_CROSSINGS}" if self.p is None else f"{clause} ({probability(self.p)})."

    def headline(self) -> str:
        """State the mode weights in the draws and under the target.

        Returns
        -------
        str
            A sentence without the final period.
        """
        return sentence(self.clause)

    def statements(self) -> tuple[Statement, ...]:
        """State the weights, the centers of the modes, the limitations, and the method.

        Returns
        -------
        tuple of Statement
        """
        places = "; ".join(f"mode {k} near {each}" for k, each in enumerate(self.places, 1))
        how = f"The weights were estimated by bridge sampling, with the log density at {self.evaluations} points."
        limits = "Not tested: draws within each mode; modes that no draw visited."
        return (
            Statement("number", "How much mass does each mode hold?", self.sentence),
            Statement("draws", "Where are the modes?", f"{sentence(places)}."),
            Statement("limits", "What was not tested?", limits),
            Statement("method", "How were the weights estimated?", how),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the weights as they appear in JSON.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
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
        p = "" if self.p is None else f", {probability(self.p)}"
        return f"<ModeWeights: {self.clause}{p}{reservations(self.warnings)}>"


@cautious
@within_time
def mode_weights(draws: DrawsLike, target: Target, *, max_seconds: float | None = None, rng: Seed = 0) -> ModeWeights:
    """Estimate the weights of separate modes, and test the proportions in the draws.

    The draws within each mode must come from the target, but the proportions of the modes may be biased. Modes that no
    draw visited are not found.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or any object that `as_sample` accepts
        Unweighted draws in the order in which they were generated.
    target : Target
        A target with a log density.
    max_seconds : float, optional
        Time limit in seconds.
    rng : int, numpy.random.Generator or None
        Seed for the proposals.

    Returns
    -------
    ModeWeights
        The weights with margins of error, a test of the proportions of the draws, and the reweighted draws.

    Raises
    ------
    UsageError
        If the target has no log density or the draws have weights.
    InputError
        See `estimate_bias`. This error is also raised if there is only one mode, if a mode has too few draws or
        effective draws, if the relative error of a mass exceeds 0.1 (for example because a t distribution does not fit
        a strongly curved mode), or if the draws within a mode do not come from the target.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    The log density is evaluated at up to 10,000 draws of each mode, at twice as many proposals (at least 1,000), and at
    some points between the modes. The score is evaluated at every draw.

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
        raise UsageError(f"mode weights require a target with a log density; got {target.label}")
    found = weights_of_modes(ScoredSample.of(draws, target), rng)
    if found is None:
        raise InputError("the draws do not split into modes separated by a valley of the density")
    return found


def weights_of_modes(prepared: ScoredSample, rng: Seed = 0) -> ModeWeights | None:
    """Estimate the mode weights of a scored sample, or return None for a single mode."""
    if prepared.given.weights is not None:
        raise UsageError("mode weights require draws without weights; resample the draws first")
    assert prepared.target is not None
    draws, bounds = prepared.draws, prepared.bounds
    with one_thread_in_libraries():
        if len(groups := mode_groups.separate_groups(draws, bounds)) < 2:
            return None
        density = Density(prepared.target, bounds)
        values = np.full(len(draws.points), np.nan)
        for rows in groups:
            some = rows[:: -(-len(rows) // _MOST_DRAWS)]
            values[some] = density.at_draws(draws.points[some], draws.rows[some])
        peaks = np.array([rows[np.nanargmax(values[rows])] for rows in groups])
        groups = mode_groups.joined(groups, draws.points[peaks], values[peaks], density.of)
        groups = mode_groups.without_fragments(groups, draws.points, density.of)
        if len(groups) < 2:
            return None
        modes, bounding = mode_groups.regions(draws, groups, bounds)
        stream = generator_from(rng)
        if isinstance(rng, int | np.integer):
            stream = np.random.default_rng([_STREAM, int(rng)])
        masses = [
            _mass(k, operand, draws.points[rows], values[rows], bounding, density, stream)
            for k, (rows, operand) in enumerate(modes)
        ]
    return _result(prepared, modes, np.array(masses), density)


def _mass(
    k: int,
    operand: Operand,
    points: Floats,
    values: Floats,
    bounding: list[mode_groups.Proposal],
    density: Density,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return the log mass of a mode's region, and the variance of the estimate.

    Each half of the draws is used once for the proposal and once for the bridge, and the two results are averaged.
    """
    draws = operand.draws
    slowest = draws.of_slowest_change
    mode = f"the mode near ({_place(draws.names, operand.units.centre)})"
    if slowest < _FEWEST_WITHIN:
        raise InputError(
            f"{mode} has {slowest:.0f} effective draws in its slowest mixing direction, fewer than "
            f"{_FEWEST_WITHIN:.0f}; run the sampler longer"
        )
    known = np.isfinite(values)
    number = min(max(2 * len(points), _PROPOSALS[0]), _PROPOSALS[1]) // 2
    found = []
    for fitted, bridged in (draws.halves, draws.halves[::-1]):
        proposal = mode_groups.Proposal.fitted(operand, fitted)
        proposed = proposal.draw(number, rng)
        ratios = np.full(number, -np.inf)
        inside = mode_groups.nearest(proposed, bounding) == k
        ratios[inside] = density.of(proposed[inside]) - proposal.log_density(proposed[inside])
        rows = bridged[known[bridged]]
        at_draws = values[rows] - proposal.log_density(points[rows])
        found.append(mode_groups.bridge(at_draws, ratios, draws.only(rows).chains))
    log_mass, variance, difference, noise = np.mean(found, axis=0)
    error = math.sqrt(0.5 * variance)
    if error > _WIDEST:
        raise InputError(
            f"the weight of {mode} has a relative error of {error:.2g}, above {_WIDEST}: the mode is too curved for a "
            "t distribution, or has too few draws; run the sampler longer, or reparametrize the model"
        )
    z = abs(difference) / math.sqrt(0.5 * noise)
    if z > _APART:
        raise InputError(
            f"the draws in {mode} do not come from the target: the estimates of its weight by importance sampling and "
            f"by bridge sampling differ by {z:.0f} standard errors; correct the sampler first"
        )
    return float(log_mass), error**2


def _result(
    prepared: ScoredSample, modes: list[tuple[Integers, Operand]], masses: Floats, density: Density
) -> ModeWeights:
    """Normalize the masses, and test the proportions of the draws."""
    from scipy.special import fdtrc

    draws = prepared.draws
    n = len(draws.points)
    shares = np.exp(masses[:, 0] - masses[:, 0].max())
    shares /= shares.sum()
    own = np.array([draws.shares[rows].sum() for rows, _ in modes])
    within = np.zeros((len(modes), n))
    of_points = np.zeros(len(prepared.points), dtype=np.int64)
    for k, (rows, _) in enumerate(modes):
        within[k, rows] = 1.0
        of_points[prepared.points.inverse[draws.rows[rows]]] = k
    times = draws.autocorrelation_times(within - own[:, None])
    spread = np.diag(shares) - np.outer(shares, shares)
    errors = spread @ np.diag(masses[:, 1]) @ spread
    covariance = errors + spread * np.sqrt(np.outer(times, times)) / n
    effective = n / float(times.max())
    p = None
    if effective >= _FEWEST_CROSSING:
        difference, freedom = (own - shares)[:-1], len(modes) - 1
        distance = float(difference @ np.linalg.solve(covariance[:-1, :-1], difference)) / freedom
        p = float(fdtrc(freedom, effective / EFFECTIVE_PER_FREEDOM, distance))
    labels = of_points[prepared.points.inverse]  # includes repeated draws
    weights = (shares / own)[labels] / len(labels)
    return ModeWeights(
        shares=shares,
        draws_shares=own,
        margins=_MARGINS * np.sqrt(np.diag(errors)),
        p=p,
        centres=np.array([operand.units.centre for _, operand in modes]),
        labels=labels,
        reweighted=prepared.given.with_columns(weights=weights, names=prepared.points.names),
        effective_draws=effective,
        evaluations=density.evaluations,
        warnings=(*prepared.notes, *draws.disorder),
    )


def estimates_in_modes(
    sample: Sample, target: Target, bounds: ArrayLike | None, modes: ModeWeights
) -> list[BiasEstimate]:
    """Estimate the biases of the draws in each mode by regression.

    If the sample has scores, these scores are used instead of scores from the target.
    """
    rows, functions = [np.flatnonzero(modes.labels == k) for k in range(len(modes.shares))], target.functions
    for each in rows:
        functions, _ = varying(functions, sample.points[each])
    given = target if sample.scores is None else None
    parts = (ScoredSample.of(sample[each], given, bounds=bounds) for each in rows)
    return [bias_of(part, functions=functions) for part in parts]


def bias_of_mixture(parts: list[BiasEstimate], modes: ModeWeights, weighted: bool) -> BiasEstimate:
    """Combine the bias estimates from all modes, for original or reweighted draws."""

    def of_parts(name: str) -> Floats:
        return np.array([getattr(part, name) for part in parts])

    shares = modes.shares[:, None]
    means, sds = of_parts("mean"), of_parts("sd")
    mean, sd = _together(shares, means, sds)
    draws_mean, draws_sd = _together(
        shares if weighted else modes.draws_shares[:, None], of_parts("draws_mean"), of_parts("draws_sd")
    )
    sd_margins = of_parts("sd_margin")
    squares = of_parts("mean_margin") ** 2 - (of_parts("mean_bias") * sd_margins) ** 2  # omits the error of `sd`
    margins = sds * np.sqrt(np.maximum(squares, 0.0)), sds * sd_margins
    away = means - mean
    of_mean = (shares * margins[0]) ** 2
    of_variance = (2.0 * shares * away * margins[0]) ** 2 + (2.0 * shares * sds * margins[1]) ** 2
    by_shares = [(np.abs(each) * modes.margins[:, None]).sum(axis=0) for each in (away, sds**2 + away**2 - sd**2)]
    mean_bias = (draws_mean - mean) / sd
    sd_margin = np.sqrt(of_variance.sum(axis=0) + by_shares[1] ** 2) / (2.0 * sd**2)
    reason = tuple(next(filter(None, each), "") for each in zip(*(part.reason for part in parts), strict=True))
    return replace(
        parts[0],
        mean=mean,
        sd=sd,
        draws_mean=draws_mean,
        draws_sd=draws_sd,
        mean_margin=np.hypot(np.sqrt(of_mean.sum(axis=0) + by_shares[0] ** 2) / sd, mean_bias * sd_margin),
        sd_margin=sd_margin,
        reason=reason,
        weights=modes.weights,
        method="modes",
        hidden=next((part.hidden for part in parts if part.hidden), ""),
        unranked=next((part.unranked for part in parts if part.unranked), ""),
        is_multimodal=True,
        draws=len(modes.labels),
        warnings=tuple(dict.fromkeys(each for part in parts for each in part.warnings)),
    )


def _together(shares: Floats, means: Floats, sds: Floats) -> tuple[Floats, Floats]:
    """Return the mean and standard deviation of a mixture."""
    mean = (shares * means).sum(axis=0)
    return mean, np.sqrt((shares * (sds**2 + (means - mean) ** 2)).sum(axis=0))


def _place(names: Sequence[str], centre: Floats) -> str:
    shown = [f"{name} = {compact(float(value), 3)}" for name, value in zip(names, centre, strict=True)]
    return ", ".join([*shown[:_SHOWN], *(["..."] if len(shown) > _SHOWN else [])])
