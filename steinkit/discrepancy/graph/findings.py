"""Where a sample is off: what is read from the optimal g, in numbers.

The reading is heuristic. For a distribution with a density, moving every point x a little along g(x) changes its
Kullback-Leibler divergence from the target at the rate of minus the mean of h = T_P g [1]_; the optimal g makes that
mean largest among the functions admitted. So g points from where draws lie to where they should lie, and the sample is
off against it. The diffusion operator of a covariance coefficient a is Langevin's applied to a g, which is then the
flow; the directions are about its part a_jj g_j, which has the sign of g_j.

What g shows of a right sample is noise, and a coordinate is off in its g as well where only a correlated one is wrong.
So a direction is said only where moments that are zero under the target say the same beyond chance. Given the other
coordinates they are the means of the score s_j, for a shift, and of 1 + c_j s_j, for the rest, with c = x - m.
Whatever the others are: if C is the covariance of the draws and A minus the mean of c s', a normal target has
covariance S = A^-1 C, and its mean is S times the mean score off. The mean of (S s)_j, and S_jj over C_jj with the
error of the mean of -(A^-1 c)_j (S' s)_j, leave out what is only correlated with something wrong. What is said of
modes, which S does not know, is said where the spread is further off than the coordinate's dependence on every other.

References
----------
.. [1] Q. Liu and D. Wang, "Stein variational gradient descent", NeurIPS 2016, theorem 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinkit.containers.reading import as_sample
from steinkit.discrepancy.moments.discrepancy import MomentSteinDiscrepancy, moment_stein_discrepancy
from steinkit.errors import InputError
from steinkit.sample import DistinctSample, Floats, Integers

_LEADING_DRAWS = 3
_CLEAR = 0.4  # share of a coordinate's discrepancy from which a shift or a stretch explains it
_PREVAILS = 2.0  # times the other part of the mean of h, from which one is worth a word
_SIGNIFICANT = 3.0  # standard errors


@dataclass(frozen=True, eq=False)
class CoordinateMoments:
    """How many standard errors moments of the coordinates are from zero.

    Location and spread have shape (2, d): given the other coordinates in one row, whatever these are in the next.

    Attributes
    ----------
    location : ndarray
        Negative where the draws are too high.
    spread : ndarray
        Negative where they are too wide.
    dependence : ndarray, shape (d,)
        Of each coordinate's dependences on others the one furthest from zero, without sign.
    """

    location: Floats
    spread: Floats
    dependence: Floats


def moments_of(sample: DistinctSample, scores: Floats, bounds: Floats | None) -> CoordinateMoments | None:
    """The coordinates' moments, from the draws in their order; None where there are too few, or one never changes."""
    rows = sample.inverse[sample.inverse >= 0]
    weights = (sample.weights / sample.counts)[rows]
    points, at_draws = sample.points[rows], scores[rows]
    try:
        found = moment_stein_discrepancy(as_sample(points), scores=at_draws, weights=weights, bounds=bounds)
    except InputError:
        return None
    own = {kind: _rows_of(found, kind) for kind in ("location", "spread")}
    location, spread = (found.z[own[kind]] for kind in ("location", "spread"))
    dependence = np.zeros(sample.dim)
    for feature, z in zip(found.features, found.z, strict=True):
        if feature.kind == "dependence":
            pair = list(feature.coordinates)
            dependence[pair] = np.maximum(dependence[pair], abs(z))
    if bounds is not None:  # where the score itself does not have mean zero
        return CoordinateMoments(np.stack([location, location]), np.stack([spread, spread]), dependence)
    p, unit = weights / weights.sum(), found.units.scale
    centred, pulls = (points - p @ points) / unit, at_draws * unit
    times = found.autocorrelation_time
    try:
        inverse = np.linalg.inv(-(p[:, None] * centred).T @ pulls)
    except np.linalg.LinAlgError:
        return None
    covariance = inverse @ ((p[:, None] * centred).T @ centred)
    shift = _z(pulls @ covariance.T, p, times[own["location"]].max())
    lost = _z(-(centred @ inverse.T) * (pulls @ covariance), p, times[own["spread"]].max())  # S_jj over its error
    ratio = np.maximum(np.diag(covariance), np.finfo(float).tiny)  # of S_jj to C_jj, on whose logarithm errors are even
    return CoordinateMoments(np.stack([location, shift]), np.stack([spread, np.log(ratio) * lost]), dependence)


def _rows_of(moments: MomentSteinDiscrepancy, kind: str) -> Integers:
    return np.array([k for k, feature in enumerate(moments.features) if feature.kind == kind])


def _z(values: Floats, p: Floats, autocorrelation_time: float) -> Floats:
    """Weighted means over their standard errors, coordinate by coordinate; 0 for what does not change."""
    mean = p @ values
    with np.errstate(over="ignore"):  # an infinite error makes it 0
        error = np.sqrt(autocorrelation_time * (p**2 @ (values - mean) ** 2))
    return np.divide(mean, error, out=np.zeros_like(mean), where=error > 0.0)


def confirmed(found: str, moments: CoordinateMoments | None, j: int) -> str:
    """A direction of coordinate j, "unclear" where its moments do not say the same beyond chance."""
    if moments is None:
        return "unclear"
    location, spread = moments.location[:, j], moments.spread[:, j]
    needed = max(_SIGNIFICANT, float(moments.dependence[j]))
    agrees = {
        "high": (-location >= _SIGNIFICANT).all(),
        "low": (location >= _SIGNIFICANT).all(),
        "wide": (-spread >= _SIGNIFICANT).all(),
        "narrow": (spread >= _SIGNIFICANT).all(),
        "strays": -spread[0] >= needed,
        "crowds": spread[0] >= needed,
    }
    return found if agrees.get(found, False) else "unclear"


def influences(sample: DistinctSample, h: Floats) -> dict[str, Any]:
    """Which draws weigh most in the mean of h, by q_i |h_i|, as JSON can hold it.

    Returns
    -------
    dict
        "draws": of the leading points the first "draw" there, counted from one, the "count" of draws, the "point" and
        "h". "half": on how many of the points half of the influence lies.
    """
    influence = sample.weights * np.abs(h)
    leaders = np.argsort(-influence, kind="stable")[:_LEADING_DRAWS]
    draws = [
        {
            "draw": int(sample.first[i]) + 1,
            "count": int(sample.counts[i]),
            "point": sample.points[i].tolist(),
            "h": float(h[i]),
        }
        for i in leaders
    ]
    half = np.searchsorted(np.cumsum(np.sort(influence)[::-1]), 0.5 * influence.sum()) + 1
    return {"draws": draws, "half": int(half)}


@np.errstate(over="ignore", invalid="ignore")  # unclear is what is no number
def direction(
    weights: Floats, x: Floats, flow: Floats, drift: Floats, uphill: Floats, own: float, carried: float
) -> str:
    """Which way a coordinate of the sample is off: the part of the flow g_j that carries its discrepancy.

    The flow's best fit a + b (x_j - mean) splits off what a plain shift and a plain stretch contribute to the mean of
    h: a times the mean score, and b times 1 + the mean of (x_j - mean) times the score; with a diffusion operator, a
    times the mean drift, and b times the mean of a_jj + (x_j - mean) times the drift. Where neither explains it, as
    with several modes, what is left is which part of the mean of h prevails: <flow, score>, a flow that climbs the
    density, or its divergence, one that spreads.

    Parameters
    ----------
    weights, x, flow, drift, uphill : ndarray, shape (n,)
        Of the points: weights, x_j, g_j, what multiplies g_j in T_P g, and what of that is the score.
    own : float
        The mean of a_jj; 1 for Langevin's operator.
    carried : float
        What the coordinate carries of the discrepancy.

    Returns
    -------
    {"high", "low", "wide", "narrow", "strays", "crowds", "unclear"}
    """
    centred = x - weights @ x
    shift, variance = float(weights @ flow), float(weights @ centred**2)
    stretch = float(weights @ (centred * flow)) / variance if variance > 0.0 else 0.0
    by_shift = shift * float(weights @ drift)
    by_stretch = stretch * (own + float(weights @ (centred * drift)))
    if not (math.isfinite(by_shift) and math.isfinite(by_stretch)):
        return "unclear"
    if max(by_shift, by_stretch) < _CLEAR * carried:
        climb = float(weights @ (flow * uphill))
        divergence = carried - climb
        if climb > _PREVAILS * divergence:
            return "strays"
        return "crowds" if divergence > _PREVAILS * climb else "unclear"
    if by_shift >= by_stretch:
        return "high" if shift < 0.0 else "low"
    return "wide" if stretch < 0.0 else "narrow"
