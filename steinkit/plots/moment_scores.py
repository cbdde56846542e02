"""The picture of moments: how many standard errors each location, spread and dependence is off, and which way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.describe.moments import direction, named
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.plots.axes import axes_or_new, document_of, drawn, head, told_apart
from steinkit.sample import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OWN = ("location", "spread")
_GAP = 1  # empty columns between what is a coordinate's own and the pairs
_SATURATED = 8.0  # standard errors at which the colours end
_WRITTEN = 14  # coordinates up to which the numbers are written, beyond that the signs of those that tell
_TELLING = 3.0  # standard errors
_LONGEST_NAME = 16  # letters
_UP = ("too high", "too wide", "above the target's")  # what is red


def moment_matrix(result: MomentSteinDiscrepancy | Mapping[str, Any], ax: Axes | None = None) -> Axes:
    """Plot the standard errors of all moments: red is too high, too wide, correlated above the target; blue below.

    A row a coordinate: its location and its spread on the left, then its dependences with the coordinates before it.

    Parameters
    ----------
    result : MomentSteinDiscrepancy, or its document
        From `moment_stein_discrepancy`.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax = axes_or_new(ax)
    names, values = _matrix(document_of(result))
    dim, across = values.shape
    limit = float(np.clip(np.nanmax(np.abs(values)), 3.0, _SATURATED))
    image = ax.imshow(np.ma.masked_invalid(values), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    short = told_apart(names, _LONGEST_NAME)
    size = float(np.clip(11.0 - 0.18 * dim, 6.5, 9.5))
    ax.set_yticks(range(dim), short, parse_math=False, fontsize=size)
    pairs = [(len(_OWN) + _GAP + j, short[j]) for j in range(dim - 1)]
    places, labels = zip(*[*enumerate(_OWN), *pairs], strict=True)
    ax.set_xticks(places, labels, parse_math=False, fontsize=size, rotation=60.0, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    written = dim <= _WRITTEN
    for i, k in zip(*np.nonzero(np.abs(values) >= (0.0 if written else _TELLING)), strict=True):
        z = values[i, k]
        said = f"{z:+.1f}" if written else "+" if z > 0.0 else "\N{MINUS SIGN}"  # in grey red and blue are the same
        colour, height = "white" if abs(z) > 0.6 * limit else "0.15", size - 1.0 if written else size + 2.5
        ax.text(k, i, said, ha="center", va="center", fontsize=height, color=colour)
    ax.set_xticks(np.arange(-0.5, across), minor=True)
    ax.set_yticks(np.arange(-0.5, dim), minor=True)
    ax.grid(which="minor", color="white", linewidth=1.0)
    ax.tick_params(which="minor", length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    if across > len(_OWN):
        ax.set_title("dependence with", fontsize=size + 0.5, x=_middle(across))
    bar = ax.figure.colorbar(image, ax=ax, extend="both", location="bottom", shrink=0.9, pad=0.03, aspect=30)
    bar.set_label("standard errors from 0\nblue: too low, too narrow; red: too high, too wide", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return ax


def moments(result: MomentSteinDiscrepancy, title: str = "") -> Figure:
    """The matrix of all moments on a figure of its own, with the p-value above.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.
    """
    dim = len(result.names)
    side = float(np.clip(0.5 * dim, 2.0, 10.0))
    figure = drawn(lambda ax: moment_matrix(result, ax), 3.0 + side, 2.4 + 0.8 * side)
    return head(figure, title, f"moments: p = {result.p_value:.2g}")


def _matrix(document: Mapping[str, Any]) -> tuple[list[str], Floats]:
    """Names, and signed standard errors, shape (d, 2 + gap + d - 1): NaN where there is nothing to show."""
    found = named(document)
    names = [each["coordinates"][0] for each in document["features"] if each["kind"] == "location"]
    place = {name: j for j, name in enumerate(names)}
    values = np.full((len(names), len(_OWN) + (_GAP + len(names) - 1 if len(names) > 1 else 0)), np.nan)
    for each in found:
        rows = sorted(place[name] for name in each["coordinates"])
        column = _OWN.index(each["kind"]) if each["kind"] in _OWN else len(_OWN) + _GAP + rows[0]
        values[rows[-1], column] = abs(each["z"]) * (1.0 if direction(each) in _UP else -1.0)
    return names, values


def _middle(across: int) -> float:
    """Where the middle of the pairs' columns lies, as a share of the width."""
    first = len(_OWN) + _GAP
    return (0.5 * (first + across)) / across
