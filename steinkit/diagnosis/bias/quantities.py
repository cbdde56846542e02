"""Quantities of interest: the coordinates and functions of the draws."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steinkit.diagnosis.bias import stein_regression
from steinkit.diagnosis.bias.stein_regression import Estimates, Frame, Operand, location_and_scale
from steinkit.diagnosis.bias.valleys import deepest_valley
from steinkit.discrepancy.bounded_features import joint_dependence
from steinkit.draws import ChainDraws
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats
from steinkit.scored_sample import ScoredSample
from steinkit.target import Functions
from steinkit.text import listed
from steinkit.units import require_variation
from steinkit.user_functions import call_checked

_FEWEST_OF_SLOWEST = 30.0  # minimum number of effective draws in the slowest mixing direction
_TURNED = 0.5  # largest accepted mean of (x_j - m_j) s_j; it is -1 for exact draws and 1 for scores with the wrong sign
_CLEAR = 4.0  # threshold in standard errors; the mean is noisy if modes are far apart
_REJECTED = 0.01  # significance level of the joint test of all pairs
_LARGEST = 1e100  # limit on (x_j - m_j) s_j; squares of scores near a bound may overflow
_LARGEST_SCORE = 1e140  # limit on scores, in the units of a coordinate; sums of larger squares may overflow
_WORK = 5e9  # largest value of (draws) x (features)^2 for entropy weights


@dataclass(frozen=True, eq=False)
class Quantities:
    """Draws in raw units, and the quantities of interest.

    Attributes
    ----------
    draws : ChainDraws
    bounds : ndarray, shape (d, 2), or None
    functions : mapping of str to callable
    names : tuple of str
        Names of the m quantities: the d coordinates, then the functions.
    centre, scale : ndarray, shape (m,)
        Means and standard deviations of the quantities over the draws.
    """

    draws: ChainDraws
    bounds: Floats | None
    functions: Functions
    names: tuple[str, ...]
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, sample: ScoredSample, functions: Functions) -> Quantities:
        """Evaluate functions of the draws, and check that their biases can be estimated.

        Raises
        ------
        InputError
            If there are fewer draws than coordinates, a quantity is constant, a function fails, or the scores have the
            wrong sign.
        UsageError
            If a function has the same name as a coordinate.
        """
        draws, coordinates = sample.draws, sample.points.names
        n, dim = draws.points.shape
        if n < dim:
            raise InputError(f"expected at least as many draws as coordinates, got {n} draws of {dim} coordinates")
        double = [name for name in functions if name in coordinates]
        if double:
            raise UsageError(f"{double[0]!r} is a coordinate of the draws; give the function another name")
        names = (*coordinates, *map(str, functions))
        values = np.hstack([draws.points, function_values(functions, draws.points)])
        centre, scale = location_and_scale(values, draws.shares)
        require_variation(values, names)
        is_free = True if sample.bounds is None else ~np.isfinite(sample.bounds).any(axis=1)
        constant = np.flatnonzero((draws.scores == draws.scores[0]).all(axis=0) & is_free)
        if len(constant):
            which = listed([names[j] for j in constant])
            raise InputError(f"the score of {which} is the same at all draws, so it contains no information about bias")
        require_sign(draws, sample.bounds)
        return cls(draws, sample.bounds, functions, names, centre, scale)

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.draws.points.shape[1])

    def moved(self, points: Floats, scores: Floats) -> Quantities:
        """Return the same quantities at other points, with unchanged center and scale."""
        return replace(self, draws=replace(self.draws, points=points, scores=scores))

    def values(self) -> Floats:
        """Evaluate the quantities at the draws, and return an array of shape (n, m)."""
        return np.hstack([self.draws.points, function_values(self.functions, self.draws.points)])

    @cached_property
    def operand(self) -> Operand:
        """Draws in standard units, with the coefficients of the Stein operator."""
        return Operand.of(self.draws, self.bounds)

    def by_regression(self) -> Estimates:
        """Estimate the quantities in raw units by regression on Stein features."""
        values = self.values()
        centre, scale = location_and_scale(values, self.draws.shares)
        with np.errstate(invalid="ignore"):  # a function may be constant at moved draws; its error is then infinite
            functions = ((values - centre) / scale)[:, self.dim :]
        try:
            found = stein_regression.regression_estimates(self.operand, functions)
        except np.linalg.LinAlgError:
            reason = "half of the draws are nearly constant, so biases cannot be estimated; run a longer chain"
            raise InputError(reason) from None
        return replace(found, mean=centre + scale * found.mean, sd=scale * found.sd)

    def stein_features(self) -> Floats | None:
        """Evaluate the richest feature set at the draws as an array of shape (n, k).

        Returns None if there are too few draws.
        """
        operand = self.operand
        rows, sets = np.arange(len(operand.draws.points)), operand.joint_sets()
        if not sets:
            return None
        kind = sets[-1] if len(rows) * operand.width(sets[-1]) ** 2 < _WORK else sets[0]
        return Frame.of(operand, rows).features(operand, rows, kind)

    def entropy_weights(self) -> Floats | None:
        """Return entropy weights, or None if there are too few draws."""
        features = self.stein_features()
        return None if features is None else stein_regression.entropy_weights(features, self.draws.shares)

    def hidden_dependence(self) -> str:
        """Return the reason why per-coordinate features are insufficient, or ""."""
        p = None if "pairs" in self.operand.joint_sets() else joint_dependence(self.operand.draws, self.bounds)
        if p is None or p > _REJECTED:
            return ""
        return "many correlations are biased, but there are too few draws to identify them"

    def hidden_shares(self, slowest: float | None = None) -> tuple[str, bool]:
        """Return why region weights may be biased, and whether the draws form groups.

        Parameters
        ----------
        slowest : float, optional
            Value of `Draws.of_slowest_change` for the draws in standard units, if available.
        """
        valley = deepest_valley(self.operand)
        slowest = self.operand.draws.of_slowest_change if slowest is None else slowest
        reason = ""
        if slowest < _FEWEST_OF_SLOWEST:
            reason = (
                f"there are {slowest:.0f} effective draws in the slowest mixing direction, fewer than "
                f"{_FEWEST_OF_SLOWEST:.0f}, so the weights of regions may be biased; run the sampler longer"
            )
        elif valley is not None:
            reason = (
                f"lines between draws cross a valley of the density along {self.names[valley.coordinate]} "
                f"({valley.share:.0%} of the draws are beyond it): the scores do not determine the weights of "
                "separate modes, or of the ends of a curved mode"
            )
        return reason, valley is not None


@np.errstate(over="ignore", invalid="ignore")
def require_sign(draws: ChainDraws, bounds: Floats | None) -> None:
    """Raise InputError if the scores have the wrong sign.

    The mean of (x_j - m_j) s_j is then significantly positive.
    """
    centre, scale = location_and_scale(draws.points, draws.shares)
    z, t = (draws.points - centre) / scale, draws.scores * scale
    if bounds is None and not np.abs(t).max() < _LARGEST_SCORE:
        raise InputError("the squared scores overflow: rescale the draws, or correct their scores")
    values = np.einsum("nj,nj->n", z, t) / len(centre)
    along = float(draws.shares @ values)
    if not along > _TURNED:
        return
    values -= along
    noise = float(stein_regression.standard_errors(draws, values[:, None])[0])
    if np.abs(values).max() > _LARGEST or along + 1.0 > _CLEAR * noise:
        raise InputError(
            "the scores point away from the mean of the draws, as if they had the wrong sign: use the gradient of "
            "the log density, not of the negative log density"
        )


def function_values(functions: Functions, points: Floats) -> Floats:
    """Evaluate functions at the draws, and require finite values."""
    columns = np.empty((len(points), len(functions)))
    for k, (name, function) in enumerate(functions.items()):
        what = f"function {name!r}"
        values = call_checked(function, points, (len(points),), what)
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise InputError(f"{what} is {values[row]} at draw {row + 1}; it must be finite at every draw")
        columns[:, k] = values
    return columns


def varying(functions: Functions, points: Floats) -> tuple[Functions, tuple[str, ...]]:
    """Return the functions that vary across draws, and a note about the others."""
    values = function_values(functions, points)
    constant = [name for name, column in zip(functions, values.T, strict=True) if (column == column[0]).all()]
    left_out = (f"{listed(constant)} is constant in the draws, so the bias cannot be estimated",) if constant else ()
    return {name: functions[name] for name in functions if name not in constant}, left_out
