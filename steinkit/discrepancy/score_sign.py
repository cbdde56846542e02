"""Whether draws that are accused would pass with the score's sign turned: a common slip in a score of one's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steinkit.discrepancy.cross_fitting import Draws
from steinkit.discrepancy.moments.discrepancy import moment_stein_discrepancy
from steinkit.discrepancy.sliced.goodness_of_fit import sliced_stein_test
from steinkit.errors import Caution, InputError
from steinkit.sample import Floats, Sample

_TURNED = 0.5  # mean of (x_j - m_j) s_j over draws and coordinates: -1 in right samples, 1 where the sign is turned


def turned_score(scored: Sample, standardised: Draws, bounds: Floats | None, level: float) -> tuple[str, ...]:
    """A warning, if moments and slices accuse the draws by their scores and not by the scores' negatives.

    Parameters
    ----------
    scored : Sample
        Draws with the scores given, which are accused.
    standardised : Draws
        The same in standard units.
    bounds : ndarray, shape (d, 2), optional
        Bounds of the support.
    level : float
        The p-value from which draws are accused.
    """
    deviations = standardised.points - standardised.shares @ standardised.points
    along = standardised.shares @ np.einsum("nj,nj->n", deviations, standardised.scores)
    if not along > _TURNED * deviations.shape[1]:
        return ()
    turned = replace(scored, scores=-np.asarray(scored.scores))
    try:
        moments, sliced = moment_stein_discrepancy(turned, bounds=bounds), sliced_stein_test(turned, bounds=bounds)
    except InputError:
        return ()
    if 2.0 * min(moments.p_value, sliced.p_value) <= level:
        return ()
    return (
        Caution(
            "with the opposite sign of the score nothing is found wrong with these draws: is the score the gradient of "
            "the log density, or that of its negative?"
        ),
    )
