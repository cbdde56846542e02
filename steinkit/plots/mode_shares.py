"""The picture of shares of modes: those of the draws beside the right ones with their margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from steinkit.describe.mode_shares import centre_clause
from steinkit.describe.numbers import shortened
from steinkit.discrepancy.bias.mode_shares import ModeShares
from steinkit.plots.axes import axes_or_new, open_frame

_LONGEST = 40  # letters of a place
_SHIFT = 0.12  # rows between both
_DRAWS, _RIGHT = "#b2182b", "#67a9cf"


def mode_shares(found: ModeShares, ax: Any = None) -> Any:
    """Plot the share of every mode, a row a mode.

    Parameters
    ----------
    found : ModeShares
    ax : matplotlib Axes, optional
        Where to draw; a new figure's if not given.

    Returns
    -------
    matplotlib Axes
        Circles are the draws' shares, squares the right ones with their margins.
    """
    ax = axes_or_new(ax, (6.5, 1.5 + 0.5 * len(found.shares)))
    rows = np.arange(len(found.shares))
    ax.plot(found.draws_shares, rows - _SHIFT, "o", markersize=6, color=_DRAWS, label="in the draws")
    ax.errorbar(
        found.shares, rows + _SHIFT, xerr=found.margins, fmt="s", markersize=5, capsize=2.5, color=_RIGHT,
        label="by the density",
    )  # fmt: skip
    places = [dict(zip(found.reweighted.names, map(float, each), strict=True)) for each in found.centres]
    ax.set_yticks(rows, [shortened(centre_clause(each), _LONGEST) for each in places], parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0.0, None)
    ax.xaxis.set_major_formatter(lambda value, place: f"{100.0 * value:.0f}%")
    ax.set_xlabel("share of the mode")
    ax.legend(loc="best", fontsize=9)
    open_frame(ax)
    return ax
