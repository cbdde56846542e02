"""The picture of a verdict: what is wrong, and by how many standard errors."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steinkit.describe.numbers import probability, shortened
from steinkit.describe.verdict import NOTHING_STANDS_OUT, ess_of, fault, verdict_label
from steinkit.discrepancy.verdict import Verdict
from steinkit.plots.axes import axes_or_new, document_of, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CHANCE = 2.0  # standard errors that chance makes of what is right
_LONGEST = 75  # letters of a fault
_WIDTH = 25  # letters of a line


def verdict(found: Verdict | Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Plot the faults of a sample, worst on top, in standard errors with their 95 % intervals.

    The title holds the verdict and the effective sample size. The grey band is what chance makes of what is
    right. Where nothing is blamed the Axes say so.

    Parameters
    ----------
    found : Verdict, or its document
        From `steinkit.verdict`.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax = axes_or_new(ax, (7.0, 2.8))
    document = document_of(found)
    blame = document["blame"]
    places = range(len(blame))
    sizes = [abs(each["z"]) for each in blame]
    ax.axvspan(0.0, _CHANCE, color="0.88", linewidth=0.0)
    ax.errorbar(sizes, places, xerr=_CHANCE, fmt="o", color="#b2182b", capsize=3.0)
    ax.set_yticks(places, [textwrap.fill(shortened(fault(each), _LONGEST), _WIDTH) for each in blame], parse_math=False)
    if not blame:
        ax.text(0.5, 0.5, NOTHING_STANDS_OUT, transform=ax.transAxes, ha="center", va="center", fontsize=10)
    ax.set_ylim(len(blame) - 0.5 if blame else 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("standard errors from what the target asks for")
    ax.set_title(_head(document), fontsize=10, parse_math=False)
    open_frame(ax)
    return ax


def _head(document: Mapping[str, Any]) -> str:
    ess = ess_of(document)
    return f"{verdict_label(document)} ({probability(document['p'])}{f', ESS {ess}' if ess else ''})"
