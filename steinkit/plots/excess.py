"""Which draws are coloured: those that carry what right samples do not show.

The test function h of a Stein discrepancy has mean 0 under the target and the discrepancy D as its mean over the draws.
It is the worst function for the sample at hand, so that a right sample, too, has draws where h is large: its D is that
of independent draws, not 0. If right samples of this size have the discrepancy R, the excess is D - R, and

    coloured are the fewest draws whose shares w_i h(x_i) sum to the excess: those where h is at least some t > 0;
    and, as places with too few draws by the same measure, those where h is at most -t.

All others are grey: they do no more than draws of a right sample do. Where D is at most R, every draw is grey.

R is the largest value of the independent samples given as a `Reference`. Of a `Verdict` it is D itself where the tests
find no bias; where they do, R is D sqrt(m / ESS), a discrepancy's fall being n^-1/2: right draws that mix as well are
worth ESS independent ones, and m, the verdict's `ksd_equivalent_draws`, have the kernel discrepancy of these. With
neither, and where other tests accuse and the kernel sees no more than in right draws, R is taken for half of D, which
marks the fewest draws that carry half of the discrepancy: of right samples, too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from steinkit.discrepancy.bracket import Reference
from steinkit.discrepancy.verdict import Verdict
from steinkit.sample import Floats

if TYPE_CHECKING:
    from matplotlib.colors import ListedColormap


Standard: TypeAlias = Reference | Verdict | None

TOO_MANY, TOO_FEW, WITHIN = "#b2182b", "#2166ac", "0.74"
HATCH, ALPHA = "////", 0.6  # of areas with too few draws; of areas
_REDS, _BLUES = ("#ef8a62", "#67001f"), ("#67a9cf", "#053061")  # of the map RdBu: from just beyond to the worst
_SHADES = 513
_UNJUDGED = 0.5  # of the discrepancy, taken for a right sample's where nothing is known of these


def right_share(value: float, standard: Standard, coordinate: int | None = None) -> float:
    """What a right sample shows of a discrepancy, as a share of it in [0, 1].

    Parameters
    ----------
    value : float
        The discrepancy, or what a coordinate carries of it.
    standard : Reference, Verdict or None
    coordinate : int, optional
        The coordinate that `value` is of.
    """
    if standard is None:
        return _UNJUDGED
    if isinstance(standard, Verdict):
        return _share_by_kernel(standard) if standard.is_biased else 1.0
    if coordinate is not None and standard.coordinates is not None:
        right = float(standard.coordinates[:, coordinate].max())
    else:
        right = float(standard.upper.max())
    return min(right / value, 1.0) if value > 0.0 else 1.0


def _share_by_kernel(verdict: Verdict) -> float:
    """What the kernel discrepancy says of an accused sample's; half where that is no larger than of right samples."""
    mixing = verdict.ess if math.isfinite(verdict.ess) else float(verdict.draws)
    share = math.sqrt(verdict.ksd_equivalent_draws / min(mixing, verdict.draws))
    return share if share < 1.0 else _UNJUDGED


def threshold(h: Floats, weights: Floats, share: float) -> float:
    """The t from which values of h carry what is beyond a right sample's share of their mean; infinite if none do.

    Parameters
    ----------
    h : ndarray, shape (n,)
        Test function at the draws, or its mean over groups of draws.
    weights : ndarray, shape (n,)
        Of these, with sum 1.
    share : float
        From `right_share`.
    """
    excess = (1.0 - share) * float(weights @ h)
    if not excess > 0.0:
        return math.inf
    order = np.argsort(-h, kind="stable")
    carried = np.cumsum((weights * h)[order])
    reached = min(int(np.searchsorted(carried[: int(carried.argmax()) + 1], excess)), len(h) - 1)
    return float(h[order[reached]])


def said_of(standard: Standard, t: float) -> str:
    """What grey means, in a line."""
    if standard is None:
        return "not held against right samples: these draws carry half of the discrepancy"
    if isinstance(standard, Verdict):
        if not standard.is_biased:
            return "no draw stands out from what chance makes"
        if _share_by_kernel(standard) == _UNJUDGED:
            return "coloured: half of the discrepancy, where it weighs most"
        return "grey: no more than chance makes"
    what = f"{len(standard.values)} {'blocks of the long run' if standard.run else 'independent samples'}"
    return f"grey: no more than {what} show" if math.isfinite(t) else f"all grey: no more than {what} show"


def shades(t: float, limit: float) -> ListedColormap:
    """Colours of h from -limit to limit: grey within t, beyond it blue below and red above, darker to the ends."""
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap, to_rgba

    size = np.abs(np.linspace(-limit, limit, _SHADES))
    beyond = np.clip((size - t) / (limit - t), 0.0, 1.0) if limit > t else np.zeros(_SHADES)
    reds, blues = (LinearSegmentedColormap.from_list("", ends)(beyond) for ends in (_REDS, _BLUES))
    colours = np.where((np.arange(_SHADES) > _SHADES // 2)[:, None], reds, blues)
    colours[size + limit / _SHADES < t] = to_rgba(WITHIN)  # shades that begin beyond t are coloured
    return ListedColormap(colours)


def key(*, marks: bool) -> list[Any]:
    """Handles of a legend for too many draws and too few: marks, or areas."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    both = (("too many draws", TOO_MANY, "^", None), ("too few draws", TOO_FEW, "v", HATCH))
    if not marks:
        return [Patch(facecolor=colour, alpha=ALPHA, hatch=hatch, label=name) for name, colour, _, hatch in both]
    return [Line2D([], [], linestyle="", marker=mark, color=colour, label=name) for name, colour, mark, _ in both]
