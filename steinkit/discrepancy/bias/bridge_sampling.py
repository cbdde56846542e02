r"""Bridge sampling: the mass of a region under an unnormalised density, from draws in it and a proposal's.

With a proposal q, draws x_i of p / Z within the region and y_j of q, l = log p - log q, where p(y) = 0 outside of the
region, and shares s_1 and s_2 of draws and proposals among both, log Z is the root z of

    s_1 mean_i [ s(z - l(x_i) - M) ]  =  s_2 mean_j [ s(l(y_j) - z + M) ],      M = log(s_1 / s_2),

s the logistic function: Bennett's acceptance ratio, the bridge of least variance. Draws count as their number over the
autocorrelation time of the left side. Both sides have bounded terms, so that their relative variances, which add up to
that of Z, can be trusted wherever the two overlap, however poorly. The proposal is Student's t with seven degrees of
freedom and the mean and the covariance of one half of the draws; the other half is bridged; then the halves change
places.

References
----------
C. H. Bennett (1976), "Efficient estimation of free energy differences from Monte Carlo data", J. Comput. Physics 22.
X.-L. Meng and W. H. Wong (1996), "Simulating ratios of normalizing constants via a simple identity", Stat. Sinica 6.
A. M. Overstall and J. J. Forster (2010), "Default Bayesian model determination methods for generalised linear mixed
models", CSDA 54: draws that fit the proposal must not be bridged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steinkit.discrepancy.autocorrelation import Chains, long_run_times
from steinkit.discrepancy.bias.quantities import location_and_scale
from steinkit.discrepancy.bias.stein_features import Frame, Operand
from steinkit.discrepancy.cross_fitting import Draws
from steinkit.discrepancy.units import Units
from steinkit.errors import InputError
from steinkit.sample import Floats, Integers

_FREEDOM = 7.0
_BEYOND = 60.0  # of log ratios, at which the logistic function has reached its end


@dataclass(frozen=True, eq=False)
class Cluster:
    """Draws of one mode, in units of their own.

    Attributes
    ----------
    rows : ndarray of int
        Which of all draws.
    operand : Operand
        Chains and halves among these.
    units : Units
    points : ndarray, shape (n, d)
        In raw units.
    """

    rows: Integers
    operand: Operand
    units: Units
    points: Floats

    @classmethod
    def of(cls, draws: Draws, rows: Integers, bounds: Floats | None, names: tuple[str, ...]) -> Cluster:
        """Some of the draws; InputError if a coordinate is the same at all of them."""
        alone = draws.only(rows)
        still = np.flatnonzero((alone.points == alone.points[0]).all(axis=0))
        if len(still):
            raise InputError(f"{names[still[0]]} is the same at all {len(rows)} draws of a mode; leave it out")
        units = Units("own", *location_and_scale(alone.points, alone.shares), names)
        return cls(rows, Operand.of(alone, units, bounds), units, alone.points)

    def proposal(self, rows: Integers | slice = slice(None)) -> Proposal:
        """Fitted to some of the draws, the covariance shrunk."""
        frame = Frame.of(self.operand, rows)
        try:
            root = np.linalg.cholesky(frame.covariance)
        except np.linalg.LinAlgError:
            raise InputError(f"the {len(self.rows)} draws of a mode do not span their space; take more draws") from None
        return Proposal(self.units.centre + self.units.scale * frame.centre, self.units.scale[:, None] * root)


@dataclass(frozen=True, eq=False)
class Proposal:
    """A multivariate t distribution.

    Attributes
    ----------
    centre : ndarray, shape (d,)
    root : ndarray, shape (d, d)
        Lower triangle L; the scale matrix is L L'.
    """

    centre: Floats
    root: Floats

    def draw(self, n: int, rng: np.random.Generator) -> Floats:
        """Independent points, shape (n, d)."""
        normal = rng.standard_normal((n, len(self.centre)))
        return np.asarray(self.centre + normal @ self.root.T * np.sqrt(_FREEDOM / rng.chisquare(_FREEDOM, n))[:, None])

    def log_density(self, points: Floats) -> Floats:
        """Normalised, shape (n,)."""
        from scipy.linalg import solve_triangular

        dim = len(self.centre)
        standard = solve_triangular(self.root, (points - self.centre).T, lower=True)
        constant = math.lgamma(0.5 * (_FREEDOM + dim)) - math.lgamma(0.5 * _FREEDOM)
        constant -= 0.5 * dim * math.log(math.pi * _FREEDOM) + float(np.log(np.diag(self.root)).sum())
        with np.errstate(over="ignore"):
            return np.asarray(constant - 0.5 * (_FREEDOM + dim) * np.log1p((standard**2).sum(axis=0) / _FREEDOM))


def bridge(at_draws: Floats, at_proposals: Floats, chains: Chains) -> tuple[float, float, float, float]:
    """The logarithm of a region's mass and its variance; how far proposals alone differ, and the variance of that.

    Proposals alone do not know the draws: importance sampling differs from the bridge where draws in the region are
    not the target's. Both variances are added as if they were independent.

    Parameters
    ----------
    at_draws : ndarray, shape (n,)
        Log ratios l of the draws in the region.
    at_proposals : ndarray, shape (m,)
        Of those of the proposal; -inf outside of the region.
    chains : sequence of slice
        The draws of each chain, in order.

    Returns
    -------
    float, float, float, float
        The variance is infinite where no proposal lies in the region.
    """
    if not np.isfinite(at_proposals).any():
        return -math.inf, math.inf, 0.0, math.inf
    time = 1.0
    for _ in range(2):
        ratio = math.log(len(at_draws) / time / len(at_proposals))
        log_mass = _root(at_draws, at_proposals, ratio)
        left, right = _logistic(log_mass - at_draws - ratio), _logistic(at_proposals - log_mass + ratio)
        time = float(long_run_times((left - left.mean())[None], chains)[0])
    variance = time * left.var() / left.mean() ** 2 / len(left) + right.var() / right.mean() ** 2 / len(right)
    with np.errstate(over="ignore", invalid="ignore"):
        alone = np.exp(at_proposals - log_mass)
        of_alone = alone.var() / alone.mean() ** 2 / len(alone)
        return log_mass, float(variance), float(np.log(alone.mean())), float(variance + of_alone)


def _root(at_draws: Floats, at_proposals: Floats, ratio: float) -> float:
    from scipy.optimize import brentq

    share = 1.0 / (1.0 + math.exp(-ratio))

    def excess(log_mass: float) -> float:
        left, right = _logistic(log_mass - at_draws - ratio), _logistic(at_proposals - log_mass + ratio)
        return float(share * left.mean() - (1.0 - share) * right.mean())

    finite = np.concatenate([at_draws, at_proposals[np.isfinite(at_proposals)]])
    reach = _BEYOND + abs(ratio)
    return float(brentq(excess, finite.min() - reach, finite.max() + reach, xtol=1e-10))


def _logistic(values: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(values))
