"""Cautions for samples on which the tests have little power.

The tests use the standard deviations of the draws as units. The power of the tests is low in three cases: modes are far
apart, a few draws determine a unit, or there are fewer draws than parameters.

If modes are far apart, the standard deviation of the draws reflects the distance between the modes, and errors within a
mode appear small. Consider two groups of equal size at a distance D, each with a standard deviation of 1. The unit is
then about D / 2. If a group has half the correct width, the error is therefore only 1 / D units. A large product
sd(x_j) sd(s_j), where s is the score, indicates distant modes. This indicator is 1 for a normal distribution and about
D / 2 for two normal modes. However, the indicator is also large for correlated parameters, where it is the square root
of a variance inflation factor, and for funnels (it was 90 for one funnel). Therefore, a caution is issued only if two
more conditions hold:

- the draws have a gap in x_j that is wide compared with the unit and with the spacing of the draws next to the gap, and
  there are enough draws on both sides;
- the scores at both ends of the gap point away from the gap, so the density decreases steeply into the gap.

In tails with few draws, all gaps are wide, but the scores at both ends of a gap point toward the mode. Distant modes
reduce the power substantially. In an experiment with 20 samples of 1000 draws, two modes were too wide by a factor of
1.2. The moments detected the error in all 20 samples when the modes coincided, in 12 when the indicator was 5, and in 3
when it was 9.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from steinkit.errors import Caution
from steinkit.sample import DistinctSample, Floats
from steinkit.units import Units

_FAR = 5.0  # minimum indicator value for modes that are far apart
_GAP = 0.25  # minimum width of a gap, in units of the tests
_SHARE = 0.01  # minimum fraction of the draws on each side
_AT_AN_END = 3  # number of draws examined at each end of a gap
_ALONE = 3.0  # minimum ratio of the gap to the range of the draws at either end
_OUTLYING = 0.5  # largest fraction of a variance that a few points may contribute without a caution
_OUTLIERS = 0.005  # largest fraction of the points that counts as "a few points"
_FALL = 10.0  # minimum product of gap and score (for normal modes, twice the decrease in the log density)


def far_apart(points: DistinctSample, scores: Floats, units: Units) -> Iterator[str]:
    """Yield a caution if the distance between groups of draws determines a unit.

    Parameters
    ----------
    points : DistinctSample
        Draws in raw units.
    scores : ndarray, shape (n, d)
        Scores of the draws, in raw units.
    units : Units
        Units of the tests. Units of kind "given" and "raw" are not examined.
    """
    found = []
    examined = units.kind not in ("given", "raw") and len(points) >= 2 * _AT_AN_END
    for j, name in enumerate(points.names if examined else ()):
        with np.errstate(over="ignore", invalid="ignore"):  # non-finite values of `spread` do not satisfy the condition
            pull = scores[:, j] * units.scale[j]
            spread = float(np.sqrt(points.weights @ (pull - points.weights @ pull) ** 2))
        x = (points.points[:, j] - units.centre[j]) / units.scale[j]
        if _FAR < spread < np.inf and _has_valley(x, pull, points.weights):
            found.append(f"{name} ({spread:.3g})")
    if found:
        yield Caution(
            f"the draws form groups that are far apart in {', '.join(found)} (in parentheses: the ratio of the "
            "standard deviation to the length scale of the density). Tests have little power to detect errors within a "
            "group; test each group separately, or pass units= with the standard deviations within a group"
        )


def outlying(points: DistinctSample, units: Units) -> Iterator[str]:
    """Yield a caution for each parameter if a few draws determine its unit."""
    shares = points.weights[:, None] * units.points(points.points) ** 2
    order = np.argsort(-shares, axis=0, kind="stable")
    totals = np.cumsum(np.take_along_axis(shares, order, axis=0), axis=0)
    for name, rows, total in zip(points.names, order.T, totals.T, strict=True):
        few = int(np.searchsorted(total, _OUTLYING * total[-1])) + 1
        if few <= max(1.0, _OUTLIERS * len(points)):
            which, them = f"draw {points.first[rows[0]] + 1} contributes", "it"
            if few > 1:
                which, them = f"{few} draws, such as draw {points.first[rows[0]] + 1}, contribute", "them"
            yield Caution(
                f"{which} {total[few - 1] / total[-1]:.0%} of the variance of {name}, so tests in units of its "
                f"standard deviation have little power; test the sample without {them}"
            )


def too_few_to_span(points: DistinctSample) -> Iterator[str]:
    """Yield a caution unless there are more distinct draws than parameters."""
    distinct, dim = points.points.shape
    if distinct <= dim:
        yield Caution(
            f"{distinct} distinct draws do not span {dim} dimensions, so errors in the remaining directions may not be "
            "detected; use more draws than parameters"
        )


def _has_valley(x: Floats, scores: Floats, weights: Floats) -> bool:
    """Return True if the density decreases from both sides into the widest gap."""
    order = np.argsort(x, kind="stable")
    below = np.cumsum(weights[order])[:-1]
    gaps = np.where((below >= _SHARE) & (below <= 1.0 - _SHARE), np.diff(x[order]), 0.0)
    gaps[: _AT_AN_END - 1] = gaps[len(gaps) - _AT_AN_END + 1 :] = 0.0
    at = int(gaps.argmax())
    if gaps[at] <= _GAP:
        return False
    left, right = order[at + 1 - _AT_AN_END : at + 1], order[at + 1 : at + 1 + _AT_AN_END]
    if gaps[at] < _ALONE * (np.ptp(x[left]) + np.ptp(x[right])):
        return False
    return bool(gaps[at] * min(-scores[left].mean(), scores[right].mean()) > _FALL)
