"""What biases are estimated of: the coordinates of draws and functions of them, where the draws are or have gone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from steinkit.describe.writing import listed
from steinkit.discrepancy.bias.entropy_weights import entropy_weights
from steinkit.discrepancy.bias.estimates import Estimates, regression_estimates
from steinkit.discrepancy.bias.separate_groups import deepest_valley
from steinkit.discrepancy.bias.stein_features import Frame, Operand, width_of
from steinkit.discrepancy.cross_fitting import Draws
from steinkit.discrepancy.moments.joint_dependence import joint_dependence
from steinkit.discrepancy.preparation import Prepared
from steinkit.discrepancy.units import Units, without_units
from steinkit.errors import InputError, UsageError
from steinkit.sample import Floats
from steinkit.target import Functions, as_functions, call_checked

_FEWEST_OF_SLOWEST = 30.0  # draws of what changes slowest: with fewer, regions may have wrong shares
_TURNED = 0.5  # mean of (x_j - m_j) s_j over draws and coordinates: -1 in right samples, 1 for scores of opposite sign
_CLEAR = 4.0  # standard errors; between two modes far apart these values are large, of either sign
_OFF_TOGETHER = 0.01  # p-value of the dependence of all pairs together
_LARGEST = 1e100  # of these values: squares of scores at a bound may be too large for a number
_WORK = 5e9  # draws times squared features, above which weights are found with fewer features


@dataclass(frozen=True, eq=False)
class Quantities:
    """Draws in raw units with what is asked of them.

    Attributes
    ----------
    draws : Draws
    bounds : ndarray, shape (d, 2), or None
    functions : mapping of str to callable
    names : tuple of str
        Of the d coordinates, then of the functions: m in all.
    centre, scale : ndarray, shape (m,)
        Means and standard deviations over the draws.
    """

    draws: Draws
    bounds: Floats | None
    functions: Functions
    names: tuple[str, ...]
    centre: Floats
    scale: Floats

    @classmethod
    def of(cls, prepared: Prepared, weights: ArrayLike | None, functions: Functions) -> Quantities:
        """Lay the draws out and evaluate the functions.

        Raises
        ------
        InputError
            If there are too few draws, a quantity never changes, a function fails, or the scores have the opposite
            sign.
        UsageError
            If functions are no mapping of names to callables, or have the name of a coordinate.
        """
        draws = Draws.of(weights, prepared)
        n, dim = draws.points.shape
        if n < dim:
            raise InputError(f"{n} draws are too few for {dim} coordinates: take as many draws as coordinates, or more")
        names = (*prepared.points.names, *_names(functions, prepared.points.names))
        values = np.hstack([draws.points, function_values(functions, draws.points)])
        centre, scale = location_and_scale(values, draws.shares)
        still = np.flatnonzero((values == values[0]).all(axis=0))
        if len(still):
            raise InputError(f"{without_units([names[k] for k in still])}: leave out what does not vary")
        silent = np.flatnonzero((draws.scores == draws.scores[0]).all(axis=0))
        if len(silent):
            said = listed([names[j] for j in silent])
            raise InputError(f"the score of {said} is the same at all draws, so that it tells nothing of a bias")
        found = cls(draws, prepared.bounds, functions, names, centre, scale)
        found._require_sign()
        return found

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.draws.points.shape[1])

    def _require_sign(self) -> None:
        z = (self.draws.points - self.centre[: self.dim]) / self.scale[: self.dim]
        t = self.draws.scores * self.scale[: self.dim]
        values = np.einsum("nj,nj->n", z, t) / self.dim
        along = float(self.draws.shares @ values)
        values -= along
        size = float(np.abs(values).max()) or 1.0
        values /= size
        time = float(self.draws.autocorrelation_times(values[None])[0])
        noise = size * float(np.sqrt(time) * np.linalg.norm(self.draws.shares * values))
        if along > _TURNED and (size > _LARGEST or along + 1.0 > _CLEAR * noise):
            raise InputError(
                "the scores lead away from the draws' mean, as scores of the opposite sign do: is the score the "
                "gradient of the log density, or that of its negative?"
            )

    def moved(self, points: Floats, scores: Floats) -> Quantities:
        """The same quantities where the draws have gone; centre and scale stay those of the draws."""
        return replace(self, draws=replace(self.draws, points=points, scores=scores))

    def values(self) -> Floats:
        """Coordinates and functions where the draws are, shape (n, m)."""
        return np.hstack([self.draws.points, function_values(self.functions, self.draws.points)])

    def means(self) -> Floats:
        """Of the quantities where the draws are, shape (m,)."""
        return np.asarray(self.draws.shares @ self.values())

    def operand(self) -> Operand:
        """The draws in units of their own standard deviations, with the Stein operator's coefficients."""
        centre, scale = location_and_scale(self.draws.points, self.draws.shares)
        return Operand.of(self.draws, Units("own", centre, scale, self.names[: self.dim]), self.bounds)

    def by_regression(self, operand: Operand) -> Estimates:
        """Estimates in raw units."""
        values = self.values()
        centre, scale = location_and_scale(values, self.draws.shares)
        found = regression_estimates(operand, ((values - centre) / scale)[:, self.dim :])
        return replace(found, mean=centre + scale * found.mean, sd=scale * found.sd)

    def by_weights(self, weights: Floats, regression: Estimates) -> Estimates:
        """Means and standard deviations of weighted draws; half of what they differ from a regression's is claimed."""
        mean, sd = location_and_scale(self.values(), weights)
        return Estimates(
            mean,
            sd,
            np.hypot(regression.mean_error, 0.5 * (mean - regression.mean) / sd),
            np.hypot(regression.log_sd_error, 0.5 * np.log(sd / regression.sd)),
        )

    def entropy_weights(self, operand: Operand) -> Floats | None:
        """Weights of largest entropy for the richest features that there are draws for; None if there are none."""
        n, sets = len(operand.points), operand.joint_sets()
        if not sets:
            return None
        kind = sets[-1] if n * width_of(sets[-1], self.dim) ** 2 < _WORK else sets[0]
        everything = np.arange(n)
        return entropy_weights(Frame.of(operand, everything).joint(operand, everything, kind), operand.draws.shares)

    def hidden_dependence(self, operand: Operand) -> str:
        """Why features of one coordinate each may be wrong about it; empty if nothing speaks for it."""
        if "pairs" in operand.joint_sets():
            return ""
        p = joint_dependence(operand.draws, self.bounds)
        if p is None or p > _OFF_TOGETHER:
            return ""
        return "the dependence of many coordinates is off, and there are too few draws to tell their pairs apart"

    def hidden_shares(self, operand: Operand, slowest: float | None = None) -> tuple[str, bool]:
        """Why the shares of regions, which the score does not know, may be wrong; and whether the draws fall apart."""
        valley = deepest_valley(operand)
        slowest = operand.draws.of_slowest_change if slowest is None else slowest
        if slowest < _FEWEST_OF_SLOWEST:
            return (
                f"there are {slowest:.0f} effective draws of what changes slowest, where {_FEWEST_OF_SLOWEST:.0f} are "
                "wanted, so that regions may have wrong shares; run longer"
            ), valley is not None
        if valley is not None:
            return (
                f"the draws fall into groups along {self.names[valley.coordinate]} ({valley.share:.0%} beyond a valley "
                "of the density), whose shares the score does not know"
            ), True
        return "", False


def location_and_scale(values: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations, in any units."""
    centre = shares @ values
    deviations = values - centre
    largest = np.maximum(np.abs(deviations).max(axis=0), np.finfo(float).tiny)
    return centre, largest * np.sqrt(shares @ (deviations / largest) ** 2)


def function_values(functions: Functions, points: Floats) -> Floats:
    """Values of the functions at draws, (n, d) -> (n, k)."""
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
    """Those that a target brings and that change at draws, (n, d), and what is said of the others."""
    values = function_values(functions, points)
    still = [name for name, column in zip(functions, values.T, strict=True) if (column == column[0]).all()]
    left_out = (f"{listed(still)} never changes in the draws: no bias of it is told",) if still else ()
    return {name: functions[name] for name in functions if name not in still}, left_out


def _names(functions: Functions, taken: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(map(str, as_functions(functions)))
    double = [name for name in names if name in taken]
    if double:
        raise UsageError(f"{double[0]!r} is a coordinate of the draws; give the function another name")
    return names
