r"""Pareto-smoothed importance sampling of draws from an approximation.

For a target p, draws x from an approximation q have the importance ratios r = p(x) / q(x). The largest ratios are
replaced by quantiles of a generalized Pareto distribution fitted to these ratios. The shape of this distribution, the
Pareto k, measures the reliability of the weights: the ratios have about 1/k finite moments. Weights from n draws are
considered reliable if k is at most min(1 - 1 / log10(n), 0.7).

References
----------
A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry (2024), "Pareto smoothed importance sampling", Journal of Machine
Learning Research 25.
J. Zhang and M. A. Stephens (2009), "A new and efficient estimation method for the generalized Pareto distribution",
Technometrics 51.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, MissingDependencyError, import_extra
from steinkit.sample import Floats, Sample
from steinkit.scored_sample import ScoredSample

_LARGEST_K = 0.7
_FEWEST = 25  # minimum number of draws that leaves five ratios in the tail
_EQUAL = 1e-9  # log ratios with a smaller range are equal up to rounding errors
_EQUAL_DENSITY = 0.05  # sd of differences between log densities; a smaller one changes a mean by about 0.05 sd or less
_ROUNDING = 5e-6  # largest relative error of values with six digits


@dataclass(frozen=True, eq=False)
class ImportanceWeights:
    """Pareto-smoothed importance weights of draws, and reweighted moments.

    Attributes
    ----------
    names : tuple of str
        Names of the d parameters.
    pareto_k : float
        Estimated shape of the tail of the importance ratios, or minus infinity if all ratios are equal.
    weights : ndarray, shape (n,)
        Smoothed weights, which sum to one.
    mean, sd : ndarray, shape (d,)
        Moments of the weighted draws.
    moved : ndarray, shape (d,)
        Mean of the draws minus `mean`, in units of `sd`.
    """

    names: tuple[str, ...]
    pareto_k: float
    weights: Floats
    mean: Floats
    sd: Floats
    moved: Floats

    @property
    def largest_k(self) -> float:
        """Largest Pareto k for which the weights are considered reliable."""
        return min(1.0 - 1.0 / math.log10(len(self.weights)), _LARGEST_K)

    @property
    def reliable(self) -> bool:
        """True if `pareto_k` is at most `largest_k`."""
        return self.pareto_k <= self.largest_k

    @property
    def sentence(self) -> str:
        """Text about the Pareto k and the largest change in a mean."""
        k = f"The Pareto k of the importance ratios is {self.pareto_k:.3f}"
        if not self.reliable:
            return f"{k}, more than {self.largest_k:.3f}: importance weights are not reliable."
        worst = int(np.argmax(np.abs(self.moved)))
        change = f"they change the mean of {self.names[worst]} most, by {abs(self.moved[worst]):.2g} sd"
        return f"{k}, at most {self.largest_k:.3f}: importance weights are reliable, and {change}."


def importance_weights(prepared: ScoredSample) -> tuple[ImportanceWeights | None, tuple[str, ...]]:
    """Compute Pareto-smoothed importance weights if `Sample.log_q` is available.

    Parameters
    ----------
    prepared : ScoredSample

    Returns
    -------
    ImportanceWeights or None
        None if the log density of the approximation is not known, or if the weights cannot be computed.
    tuple of str
        Reason why the weights could not be computed. Empty if they were computed.
    """
    given, target = prepared.given, prepared.target
    if given.log_q is None:
        return None, ()
    try:
        if target is None or not target.has_log_density:
            raise InputError("the log density of the target is not known")
        if given.weights is not None:
            raise InputError("the draws are weighted and therefore do not come from the approximation")
        if len(given) < _FEWEST:
            raise InputError(f"expected at least {_FEWEST} draws, got {len(given)}")
        arviz = import_extra("arviz_stats.base.array", "arviz-stats", "psis").array_stats
        values = target.log_density_of_draws(prepared.points.points, draws=prepared.points.first)
        log_p = values[prepared.points.inverse]
        stored = log_p if given.log_p is None else given.log_p
        if np.std(log_p - stored) > max(_EQUAL_DENSITY, _ROUNDING * np.abs(stored).max()):
            raise InputError(
                "the log density of the target differs from the stored one, because the parameters are on another "
                "scale or the models differ. Convert a Stan model with from_bridgestan, or pass log_q="
            )
    except (InputError, MissingDependencyError) as error:
        return None, (f"the Pareto k was not computed: {error}",)
    ratios = log_p - given.log_q
    weights, k = np.full(len(given), 1.0 / len(given)), -math.inf
    if np.ptp(ratios) > _EQUAL:
        log_weights, k = arviz.psislw(-ratios)  # the argument is a log likelihood, as in leave-one-out cross-validation
        weights = np.exp(log_weights)
    points = prepared.points.points[prepared.points.inverse]
    mean = weights @ points
    sd = np.sqrt(weights @ (points - mean) ** 2)
    return ImportanceWeights(prepared.points.names, float(k), weights, mean, sd, (points.mean(axis=0) - mean) / sd), ()


def with_log_q(sample: Sample, log_q: ArrayLike | str) -> Sample:
    """Return the sample with log q taken from an array or from the named column."""
    if not isinstance(log_q, str):
        return sample.with_columns(log_q=np.ravel(log_q), log_p=None)
    values = sample.select([log_q]).points[:, 0]
    return sample.select([name for name in sample.names if name != log_q]).with_columns(log_q=values, log_p=None)
