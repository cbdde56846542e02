"""Pictures of curves: a measure against the number of draws, or their cost, with the line of the rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.curves import Curve
from steinkit.measures import find_measure
from steinkit.plots.axes import axes_or_new, document_of, logarithmic
from steinkit.printable import printable
from steinkit.sample import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _FIT, _GUIDE = "#0072B2", "#D55E00", "0.45"
_GUIDE_SLOPE = -0.5  # of independent draws
_GUIDED = "slope of independent draws"  # what marks the guide
_VISIBLE = 0.005  # relative width from which a bracket can be seen


def curve(
    result: Curve | Mapping[str, Any],
    ax: Axes | None = None,
    *,
    label: str | None = None,
    color: str = _LINE,
    marker: str = "o",
) -> Axes:
    """Plot the measure against the number of draws (or the cost) on logarithmic axes, with the line of the rate.

    A dotted line through the first value falls as n^-1/2, as a discrepancy of independent draws does. The brackets
    are drawn where they are wide enough to be seen, the bootstrap interval of replicates as a band.

    Parameters
    ----------
    result : Curve, or its document
        From `steinkit.curve`.
    ax : matplotlib Axes, optional
        Where to draw, and several curves can share them; Axes of a new figure of pyplot if not given.
    label : str, optional
        Name of the curve in the legend; its rate is added.
    color, marker : str
        Of several curves, those of :func:`steinkit.plots.look`.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    document, ax = document_of(result), axes_or_new(ax)
    measure, rate = find_measure(document["measure"]), document["rate"]
    x = _numbers(document["n"] if document["budget"] is None or document["cost"] is None else document["cost"])
    values, lower, upper = (_numbers(document[key]) for key in ("values", "lower", "upper"))
    name = measure.title if label is None else printable(label)
    known = "" if rate is None else f", rate {rate:.2f}"
    ax.plot(x, values, color=color, marker=marker, markersize=4, label=f"{name}{known}")
    if document["interval"] is not None:
        low, high = _numbers(document["interval"]).T
        ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0.0)
    positive = bool((values[np.isfinite(values)] > 0.0).all())
    guided = any(line.get_gid() == _GUIDED for line in ax.lines)  # one is enough where curves share the Axes
    if positive and measure.smaller_is_better and not guided and np.isfinite(values).any():
        first = int(np.isfinite(values).argmax())
        falling = values[first] * (x[first:] / x[first]) ** _GUIDE_SLOPE
        ax.plot(x[first:], falling, color=_GUIDE, linestyle=":", linewidth=1.2, label="slope -1/2", gid=_GUIDED)
    wide = upper - lower > _VISIBLE * np.abs(upper)
    if wide.any():
        ax.vlines(x[wide], lower[wide], upper[wide], color=color, linewidth=2.5, alpha=0.6)
    if rate is not None:
        tail = x[document["tail"]]
        centre = np.exp(np.log(values[document["tail"]]).mean() - rate * np.log(tail).mean())
        ax.plot(tail, centre * tail**rate, color=_FIT if label is None else color, linestyle="--", linewidth=1.2)
    logarithmic(ax, y=positive)
    ax.set_xlabel("draws" if document["budget"] is None else "cost of the draws")
    ax.set_ylabel(measure.title)
    ax.legend(fontsize=8, framealpha=0.9)
    return ax


def _numbers(values: Any) -> Floats:
    """Numbers of a document, NaN for those that are not known."""
    return np.array(values, dtype=np.float64)
