r"""Which coordinates have moved, where the mean scores of all that are correlated with them are off as well.

Let draws of the target be shifted by a small step e along coordinate j. The mean score of coordinate k, zero before,
becomes

    mean of t_k = -e E[t_k t_j] + O(e^2)

by Stein's identity, for every target. If x_j alone has moved, all mean scores therefore stand in the ratio of their
covariances with t_j, up to their standard errors: it explains them. Under a correlation of .9 a shift of x_1 makes the
mean score of x_2 nine tenths as large as that of x_1, with the other sign, and x_2 has not moved.

Coordinates are taken one after the other. Among those about as far off as the furthest, it is the one that leaves the
least of the others. These then lose what it explains, until none is off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steinkit.discrepancy.cross_fitting import Draws
from steinkit.sample import Floats

_RIVALS = 0.75  # of the largest |z|, from which a location may be the cause of it


def moved(coordinates: Sequence[int], draws: Draws, inflation: Floats, least: float) -> list[int]:
    """Those of some coordinates whose mean scores are off that have moved themselves.

    Parameters
    ----------
    coordinates : sequence of int
    draws : Draws
        In standard units, without bounds.
    inflation : ndarray, shape (len(coordinates),)
        Factors of the standard errors that autocorrelation makes.
    least : float
        Standard errors from which what is left of a mean score is off.
    """
    scores = draws.scores[:, list(coordinates)].T
    left = np.arange(len(scores))
    found: list[int] = []
    while len(left):
        z = _z_scores(scores, draws, inflation)[left]
        if z.max() < least:
            break
        remains = {k: _residuals(scores, k, draws) for k in left[z >= _RIVALS * z.max()].tolist()}
        cause = min(remains, key=lambda k: float((_z_scores(remains[k], draws, inflation)[left] ** 2).sum()))
        found.append(coordinates[cause])
        left, scores = left[left != cause], remains[cause]
    return found


def _residuals(scores: Floats, cause: int, draws: Draws) -> Floats:
    """What one coordinate's score does not explain of the others', shape (k, n); nothing of itself."""
    deviations = scores[cause] - draws.shares @ scores[cause]
    variance = draws.shares @ deviations**2
    slopes = (scores * draws.shares) @ deviations / variance if variance > 0.0 else np.zeros(len(scores))
    left = scores - slopes[:, None] * scores[cause]
    left[cause] = 0.0
    return np.asarray(left)


def _z_scores(scores: Floats, draws: Draws, inflation: Floats) -> Floats:
    """How many standard errors means are from zero."""
    mean = scores @ draws.shares
    variance = (scores - mean[:, None]) ** 2 @ draws.shares**2
    error = inflation * np.sqrt(variance)
    return np.asarray(np.abs(mean) / np.where(error > 0.0, error, np.inf))
