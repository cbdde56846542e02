r"""Convergence diagnostics: effective sample sizes, R-hat and moments.

Each chain is split into two half chains of m draws, for a total of K half chains. If the length of a chain is odd, its
middle draw is omitted. Let :math:`\gamma_{kt}` be the autocovariance of half chain k at lag t (divisor m),
:math:`\gamma_t` its mean over k, :math:`W = \gamma_0 m / (m - 1)` the variance within half chains, B the variance of
their means (divisor K - 1), and :math:`V = \gamma_0 + B`. Then

.. math::
    \rho_t = 1 - \frac{W - \gamma_t}{V}, \qquad
    \mathrm{ESS} = \frac{K m}{\tau}, \qquad
    \tau = \max\Big( -1 + 2 \sum_{k < q} P_k + \rho_{2q}^+, \; \frac{1}{\log_{10} K m} \Big).

The sum is Geyer's initial monotone sequence. The terms of this sequence are :math:`P_k = \rho_{2k} + \rho_{2k+1}`, with
:math:`\rho_0 = 1`. The sum ends before the first term :math:`P_q` that is not positive, and each term is replaced by
the minimum of the terms up to it. The lower bound on :math:`\tau` limits the ESS of antithetic chains. R-hat is defined
as :math:`\sqrt{(m - 1) / m + B / W}`.

Bulk ESS and R-hat are computed from the normal scores :math:`\Phi^{-1}((r - 3/8) / (N + 1/4))`, where r is the rank
among the N draws of all half chains. Both diagnostics are therefore defined for distributions with infinite variance.
To detect chains that differ only in spread, R-hat is also computed from distances to the median, and the larger value
is reported. Tail ESS is the smaller ESS of the indicators of the 5% and 95% quantiles. The standard error of the mean
is sd / sqrt(ESS), where the ESS is computed from the original draws.

These diagnostics cannot detect bias. A sampler that converges quickly to an incorrect distribution has a large ESS and
an R-hat of 1.

References
----------
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16, sections 3 and 4.
C. J. Geyer (1992), "Practical Markov chain Monte Carlo", Statistical Science 7 (truncation of the sum).
G. Blom (1958), Statistical Estimates and Transformed Beta-Variables (the 3/8 of the normal scores).
L. Kish (1965), Survey Sampling (the effective size of weighted draws).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import Caution, cautious, reservations
from steinkit.measurement import Measurement, Reference, Term
from steinkit.result import Statement, in_json
from steinkit.sample import Floats, Integers, Sample, split_chains
from steinkit.text import Table, compact, sentence

LOW_BFMI = 0.3
"""Threshold for the E-BFMI. A chain with a lower value explores the tails of the target slowly."""

_COLUMNS = {
    "mean": "mean",
    "sd": "sd",
    "MCSE": "mcse_mean",
    "bulk ESS": "bulk_ess",
    "tail ESS": "tail_ess",
    "R-hat": "r_hat",
}
_MEANING = (
    "The ESS is the number of independent draws that would have the same accuracy. The ESS refers to the distribution "
    "to which the chains converge and does not show whether this distribution is the target."
)
_MIXED = 1.01  # largest R-hat for chains that are considered mixed
_FEWEST_EFFECTIVE = 100.0  # smallest effective sample size for chains that are considered mixed
_FEWEST = 4  # minimum number of draws per chain for which half chains have a variance
TAILS = (0.05, 0.95)
_STILL = 1e-15  # scaled draws with a smaller range than this are treated as constant
_FEWEST_DIVERGENT, _SIGNIFICANT = 5, 0.01
_AT_ONCE = 2**20  # number of values processed together


@dataclass(frozen=True, eq=False)
class ChainDiagnostics(Measurement):
    """Effective sample sizes, R-hat and moments of the parameters of a sample.

    Undefined diagnostics are NaN. R-hat is undefined for a single chain. All diagnostics are undefined for a constant
    parameter and for chains with fewer than four draws. Effective sample sizes, standard errors and R-hat are computed
    on first access.

    Attributes
    ----------
    names : tuple of str
        Names of the parameters.
    sample : Sample
        The draws, with weights and labels.
    mean, sd : ndarray, shape (d,)
        Weighted means and standard deviations of all draws.
    weight_ess : float
        Kish's effective sample size of the weights, (sum w)^2 / sum w^2. It is n if the weights are equal.
    weighted : bool
        True if the weights are unequal.
    cost_per_draw : float, optional
        Cost of the chains, including burn-in, divided by the number of draws. None if the sample has no costs.
    moved : float, optional
        Fraction of draws that differ from the previous draw of their chain, which is the acceptance rate of an
        unthinned Metropolis chain. None if no chain has two draws.
    warnings : tuple of str
        Notes on omitted draws and undefined diagnostics.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> found = sk.chain_diagnostics(np.random.default_rng(0).standard_normal((4, 500, 2)))
    >>> found.n_chains, found.mixed
    (4, True)
    """

    measure: ClassVar[str] = "ess"
    title: ClassVar[str] = "effective sample size"

    names: tuple[str, ...]
    sample: Sample
    mean: Floats
    sd: Floats
    weight_ess: float
    weighted: bool
    cost_per_draw: float | None
    moved: float | None
    warnings: tuple[str, ...]

    @cached_property
    def common(self) -> Floats:
        """Array of shape (n_chains, n_draws, d) with the draws used for the diagnostics.

        All chains are truncated to the length of the shortest one.
        """
        chains, _ = split_chains(self.sample)
        shortest = min(map(len, chains))
        return self.sample.points[np.stack([rows[:shortest] for rows in chains])]

    @cached_property
    def quantiles(self) -> Floats:
        """Array of shape (2, d) that contains the weighted 5% and 95% quantiles."""
        return tail_quantiles(self.sample)

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return int(self.common.shape[0])

    @property
    def n_draws(self) -> int:
        """Number of draws per chain in `common`."""
        return int(self.common.shape[1])

    @cached_property
    def bulk_ess(self) -> Floats:
        """Effective sample size of the normal scores, ignoring weights."""
        return self._of_coordinates(bulk_effective_size)

    @cached_property
    def tail_ess(self) -> Floats:
        """Smaller of the effective sample sizes of the two tail indicators."""
        return self._of_coordinates(tail_effective_size)

    @cached_property
    def r_hat(self) -> Floats:
        """Ratio of the spread of all draws to the spread within half chains."""
        return self._of_coordinates(rank_r_hat, is_defined=self.n_chains > 1)

    @cached_property
    def mcse_mean(self) -> Floats:
        """Standard error of the mean, or NaN if the weights are unequal."""
        return self._of_coordinates(error_of_mean, in_units=True, is_defined=not self.weighted)

    def _of_coordinates(
        self, statistic: Callable[[Floats], Floats], *, in_units: bool = False, is_defined: bool = True
    ) -> Floats:
        """Return a statistic of each parameter, in original units if `in_units` is true."""
        found, (n_chains, n_draws, _) = np.full(len(self.names), np.nan), self.common.shape
        if n_draws < _FEWEST or not is_defined:
            return found
        width = max(1, _AT_ONCE // (n_chains * n_draws))
        for first in range(0, len(found), width):
            chains = np.ascontiguousarray(np.moveaxis(self.common[:, :, first : first + width], 2, 0))
            exponents = np.frexp(np.abs(chains).max(axis=(1, 2)))[1]
            scaled = np.ldexp(chains, -exponents[:, None, None])  # exact, and prevents overflow of the squares
            changing = np.flatnonzero(np.ptp(scaled, axis=(1, 2)) > 0.0)
            if changing.size:
                values = statistic(scaled[changing])
                found[first + changing] = np.ldexp(values, exponents[changing]) if in_units else values
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostics as a JSON document.

        Returns
        -------
        dict
            The JSON document, which contains strings, finite numbers, lists and dicts.
        """
        listed = {name: getattr(self, name).tolist() for name in _COLUMNS.values()}
        rows = [{"name": name} | {key: each[j] for key, each in listed.items()} for j, name in enumerate(self.names)]
        found: dict[str, object] = {"measure": self.measure, "value": self.value, "coordinates": rows}
        found |= {"chains": self.n_chains, "moved": self.moved, "cost_per_draw": self.cost_per_draw}
        return {name: in_json(value) for name, value in found.items()}

    @property
    def seconds(self) -> dict[str, float]:
        """Empty dict because the diagnostics are computed only on first access."""
        return {}

    @property
    def terms(self) -> tuple[Term, ...]:
        """Bulk ESS of each parameter."""
        sizes = self.bulk_ess.tolist()
        return tuple(map(Term, self.names, sizes, sizes, sizes))

    def statements(self, reference: Reference | None = None) -> tuple[Statement, ...]:
        """State the smallest ESS, its limitations, and properties of the chains."""
        question = f"What is its {self.title}?"
        worst = f"The {self.title} of the worst parameter is {compact(self.value)}."
        facts = [] if self.moved is None else [f"{self.moved:.0%} of the draws differ from the previous draw"]
        facts += [] if self.cost_per_draw is None else [f"the cost per draw is {compact(self.cost_per_draw)}"]
        moves = f"In these chains, {' and '.join(facts)}."
        return (
            Statement("number", question, worst),
            Statement("limits", question, _MEANING, continues=True),
            *([Statement("number", question, moves, continues=True)] if facts else []),
        )

    def tables(self, reference: Reference | None = None) -> tuple[Table, ...]:
        """Tabulate the diagnostics of each parameter, in increasing order of ESS."""
        order = np.argsort(np.nan_to_num(self.bulk_ess), kind="stable")
        columns = [getattr(self, name) for name in _COLUMNS.values()]
        rows = tuple((self.names[j], *(compact(float(each[j])) for each in columns)) for j in order)
        return (Table(f"{sentence(self.title)} by parameter", ("parameter", *_COLUMNS), rows),)

    @property
    def min_ess(self) -> float:
        """Smallest bulk ESS (the value of the measure), or NaN if undefined."""
        return float(np.fmin.reduce(self.bulk_ess))

    value = lower = upper = min_ess

    @property
    def min_tail_ess(self) -> float:
        """Smallest tail ESS, or NaN if undefined."""
        return float(np.fmin.reduce(self.tail_ess))

    @property
    def max_r_hat(self) -> float:
        """Largest R-hat, or NaN for one chain."""
        return float(np.fmax.reduce(self.r_hat))

    @property
    def mixed(self) -> bool:
        """True if no R-hat exceeds 1.01 and no ESS is below 100."""
        return not (self.max_r_hat > _MIXED or min(self.min_ess, self.min_tail_ess) < _FEWEST_EFFECTIVE)

    def __repr__(self) -> str:
        return (
            f"<ChainDiagnostics of {self.n_chains} x {self.n_draws} draws in {len(self.names)} dimensions, "
            f"smallest bulk ESS {self.min_ess:.4g}{reservations(self.warnings)}>"
        )


def tail_quantiles(sample: Sample) -> Floats:
    """Return an array of shape (2, d) with the weighted 5% and 95% quantiles.

    Without weights, quantiles are interpolated linearly between draws. With weights, the distribution function is
    inverted.
    """
    if sample.weights is None:
        return np.quantile(sample.points, TAILS, axis=0)
    return np.quantile(sample.points, TAILS, axis=0, method="inverted_cdf", weights=sample.probabilities)


@cautious
def chain_diagnostics(draws: DrawsLike) -> ChainDiagnostics:
    """Compute effective sample sizes, R-hat and moments of each parameter.

    Chain labels split the sample into chains, and draw numbers determine the order within each chain. A sample without
    labels is treated as one chain, or as several if the autocorrelation shows that the rows of several chains
    alternate, as in emcee's ``get_chain(flat=True)``. Chains of unequal length are truncated to the length of the
    shortest chain.

    The diagnostics do not depend on the target, so a biased sampler that mixes well has good diagnostics. ESS and R-hat
    do not use weights. `ChainDiagnostics.weight_ess` measures the effect of weights.

    Parameters
    ----------
    draws : Sample, array_like of shape (n,), (n, d) or (chains, draws, d), or another type that `as_sample` accepts
        Draws in their original order.

    Returns
    -------
    ChainDiagnostics
        Diagnostics of each parameter.

    Raises
    ------
    InputError
        If the draws are not a valid sample.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((4, 500, 2))
    >>> bool(sk.chain_diagnostics(draws).min_ess > 1500)
    True
    """
    sample = as_sample(draws)
    chains, notes = split_chains(sample)
    lengths = [len(rows) for rows in chains]
    common = min(lengths)
    if common < max(lengths):
        notes.append(
            f"the chains have {common} to {max(lengths)} draws; ESS, R-hat and the error of the mean use the first "
            f"{common} draws of each chain"
        )
    if common < _FEWEST:
        notes.append(
            f"ESS, R-hat and the error of the mean require at least {_FEWEST} draws per chain; the shortest chain has "
            f"{common}"
        )
    p = sample.probabilities
    weighted = bool((p != p[0]).any())
    weight_ess = 1.0 / float(p @ p) if weighted else float(len(sample))
    if weighted:
        notes.append(
            f"the weights are unequal (effective size {weight_ess:.4g}): ESS and R-hat ignore them, and the error of "
            "the weighted mean is unknown"
        )
    mean, sd = _moments(sample.points, p)
    constant = np.ptp(sample.points, axis=0) == 0.0
    if constant.any() and len(sample) > 1:
        still = ", ".join(np.array(sample.names)[constant])
        notes.append(f"all draws of {still} are equal, so ESS and R-hat are undefined")
    cost_per_draw = moved = None
    if sample.cost is not None:
        cost_per_draw = float(sum(sample.cost[rows].max() for rows in chains)) / len(sample)
    if max(lengths) > 1:
        pairs = [(sample.points[rows[:-1]], sample.points[rows[1:]]) for rows in chains]
        moved = float(np.concatenate([(old != new).any(axis=1) for old, new in pairs]).mean())
    return ChainDiagnostics(
        names=sample.names,
        sample=replace(sample, scores=None, cost=None),
        mean=mean,
        sd=sd,
        weight_ess=weight_ess,
        weighted=weighted,
        cost_per_draw=cost_per_draw,
        moved=moved,
        warnings=tuple(map(Caution, notes)),
    )


def _moments(points: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Return weighted means and sds, with unbiased variances for equal weights."""
    mean = p @ points
    freedom = 1.0 - float(p @ p)
    if not freedom > 0.0:
        return mean, np.full(points.shape[1], np.nan)
    scale = np.abs(points - mean).max(axis=0)  # squares do not overflow
    scale[scale == 0.0] = 1.0
    return mean, scale * np.sqrt(p @ ((points - mean) / scale) ** 2 / freedom)


def bulk_effective_size(chains: Floats) -> Floats:
    """Return the effective sample size of the normal scores.

    Parameters
    ----------
    chains : ndarray, shape (d, n_chains, n_draws)
        Finite draws of each parameter, with at least four draws per chain. The draws are scaled to order 1.

    Returns
    -------
    ndarray, shape (d,)
        Effective sample sizes, which equal the number of draws if the half chains are constant.
    """
    return _effective_size(_normal_scores(_halves(chains)))


def tail_effective_size(chains: Floats) -> Floats:
    """Return the smaller of the effective sample sizes of the tail indicators."""
    low, high = np.quantile(chains, TAILS, axis=(-2, -1), keepdims=True)
    return np.minimum(*(_effective_size(_halves((chains <= end).astype(np.float64))) for end in (low, high)))


def rank_r_hat(chains: Floats) -> Floats:
    """Return the larger of the R-hat values of normal and folded normal scores.

    Parameters
    ----------
    chains : ndarray, shape (d, n_chains, n_draws)
        See `bulk_effective_size`.

    Returns
    -------
    ndarray, shape (d,)
        R-hat, which is infinite if the half chains are different constants, and NaN if all draws are equal.
    """
    halves = _halves(chains)
    distances = np.abs(halves - np.median(halves, axis=(-2, -1), keepdims=True))
    return np.fmax(_r_hat(_normal_scores(halves)), _r_hat(_normal_scores(distances)))


def error_of_mean(chains: Floats) -> Floats:
    """Return the standard error of the mean of all draws."""
    draws = chains.reshape(len(chains), -1)
    spread = np.ptp(draws, axis=1, keepdims=True)  # may be much smaller than the draws
    draws = (draws - draws.mean(axis=1, keepdims=True)) / spread
    sd = draws.std(axis=1, ddof=1)
    return np.asarray(spread[:, 0] * (sd / np.sqrt(_effective_size(_halves(draws.reshape(chains.shape))))))


def bfmi(energy: Floats, chains: Sequence[Integers]) -> Floats:
    """Compute the energy Bayesian fraction of missing information per chain.

    The E-BFMI is the mean squared change of the energy between successive draws, divided by the variance of the energy.
    A chain with an E-BFMI below about 0.3 explores the tails of the target slowly.

    Parameters
    ----------
    energy : ndarray, shape (n,)
        Hamiltonian at each draw, in units of the log density: `Sample.energy`.
    chains : sequence of ndarray of int
        Indices of the draws of each chain, in order, as returned by `split_chains`.

    Returns
    -------
    ndarray, shape (n_chains,)
        E-BFMI of each chain. NaN for a chain with fewer than four draws, or with energies that are constant or not
        finite.

    References
    ----------
    M. Betancourt (2016), "Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo".

    Examples
    --------
    >>> import numpy as np
    >>> from steinkit.chains import bfmi
    >>> energy = np.random.default_rng(0).standard_normal(1000)
    >>> bool(bfmi(energy, [np.arange(1000)])[0] > 1.5)  # 2 for independent draws
    True
    """
    found = np.full(len(chains), np.nan)
    for k, rows in enumerate(chains):
        own = energy[rows]
        if len(own) >= _FEWEST and np.isfinite(own).all() and np.ptp(own) > 0.0:
            found[k] = (np.diff(own) ** 2).mean() / own.var()
    return found


def smallest_bfmi(sample: Sample) -> float | None:
    """Return the smallest E-BFMI of the chains of a sample, or None if undefined."""
    if sample.energy is None:
        return None
    smallest = float(np.fmin.reduce(bfmi(sample.energy, split_chains(sample)[0])))
    return None if math.isnan(smallest) else smallest


def touched_by_divergences(points: Floats, divergent: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the parameters for which divergent draws differ from the others.

    For each parameter, rank tests of location and of spread compare the divergent draws with the others. The test of
    spread uses the distance between the rank and the middle rank. The overall level of all tests is 0.01.
    Autocorrelation is ignored.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        Draws, in any units.
    divergent : ndarray of bool, shape (n,)
        See `Sample.divergent`.

    Returns
    -------
    ndarray of bool, shape (d,)
        Mask of the parameters. All entries are False if no draw is divergent. All entries are True if there are fewer
        than five divergent or fewer than five other draws, or if no parameter differs significantly, because any
        parameter may then be affected by an unexplored region.

    Examples
    --------
    >>> import numpy as np
    >>> from steinkit.chains import touched_by_divergences
    >>> draws = np.random.default_rng(0).standard_normal((1000, 3))
    >>> touched_by_divergences(draws, draws[:, 1] < -1.8).tolist()
    [False, True, False]
    """
    n, dim = points.shape
    k = int(divergent.sum())
    if min(k, n - k) < _FEWEST_DIVERGENT:
        return np.full(dim, k > 0)
    from scipy.special import ndtri

    ranks = _mean_ranks(points.T) - (n + 1) / 2
    folded = _mean_ranks(np.abs(ranks)) - (n + 1) / 2
    error = math.sqrt((n + 1) * (n - k) / (12 * k))  # standard error of the mean rank of k draws out of n
    z = np.maximum(*(np.abs(each[:, divergent].mean(axis=1)) / error for each in (ranks, folded)))
    found = np.asarray(z > -ndtri(_SIGNIFICANT / (4 * dim)))
    return found if found.any() else np.ones(dim, dtype=bool)


def _halves(chains: Floats) -> Floats:
    """Split chains into half chains of shape (d, 2 n_chains, n_draws // 2)."""
    half = chains.shape[-1] // 2
    return np.concatenate([chains[..., :half], chains[..., -half:]], axis=1)


def _normal_scores(halves: Floats) -> Floats:
    from scipy.special import ndtri

    draws = halves.reshape(len(halves), -1)
    return np.asarray(ndtri((_mean_ranks(draws) - 3 / 8) / (draws.shape[1] - 2 * (3 / 8) + 1)).reshape(halves.shape))


def _mean_ranks(draws: Floats) -> Floats:
    """Return the ranks within each row, counted from 1, with mean ranks for ties."""
    ranks = np.empty(draws.shape)
    for row, values in zip(ranks, draws, strict=True):
        _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
        row[:] = (np.cumsum(sizes) - (sizes - 1) / 2)[group]
    return ranks


def _r_hat(halves: Floats) -> Floats:
    m = halves.shape[-1]
    between = m * halves.mean(axis=-1).var(axis=-1, ddof=1)
    within = halves.var(axis=-1, ddof=1).mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):  # zero variance within half chains
        return np.asarray(np.sqrt((between / within + m - 1) / m))


def _effective_size(halves: Floats) -> Floats:
    """Return the effective sample size of values for each parameter."""
    from scipy.fft import next_fast_len

    m = halves.shape[-1]
    size, means = halves.shape[-2] * m, halves.mean(axis=-1, keepdims=True)
    padded = next_fast_len(2 * m, real=True)  # padding with zeros prevents wrap-around
    spectrum = np.fft.rfft(halves - means, padded)
    covariance = np.fft.irfft(spectrum * np.conjugate(spectrum), padded)[..., :m].mean(axis=1) / m
    within = covariance[:, :1] * m / (m - 1.0)
    with np.errstate(invalid="ignore"):  # constant parameters
        correlation = 1.0 - (within - covariance) / (covariance[:, :1] + means.var(axis=1, ddof=1))
    correlation[:, 0] = 1.0
    last = max(0, (m + 1) // 2 - 2)  # index of the last pair; the longest lags are omitted
    pairs = correlation[:, : 2 * last + 2].reshape(len(halves), -1, 2).sum(axis=2)
    ended = ~(pairs > 0.0)
    ended[:, last] = True
    end, rows = np.argmax(ended, axis=1), np.arange(len(halves))
    summed = np.where(np.arange(last + 1) < end[:, None], np.minimum.accumulate(pairs, axis=1), 0.0).sum(axis=1)
    beyond = correlation[rows, 2 * end]
    beyond = np.where(pairs[rows, end] >= 0.0, beyond, np.maximum(beyond, 0.0))
    time = np.maximum(-1.0 + 2.0 * summed + beyond, 1.0 / np.log10(size))
    still = np.ptp(halves, axis=(-2, -1)) < _STILL
    return np.asarray(np.where(still, size, size / time), dtype=np.float64)
