"""Pictures of a curve and of a comparison.

Each function draws on the Axes given, or on new ones, and returns the Axes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.comparison import Comparison
from steinkit.curves import Curve
from steinkit.measures import find_measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE, _FIT, _OTHERS = "#2166ac", "#b2182b", "#737373"
_LONGEST_NAME = 24  # letters
_VISIBLE = 0.005  # relative width from which a bracket can be seen


def curve(result: Curve, ax: Axes | None = None, *, label: str | None = None, color: str = _LINE) -> Axes:
    """Plot the measure against the number of draws (or the cost) on logarithmic axes, with the line of the rate.

    Certified brackets are drawn where they are wide enough to be seen, the bootstrap interval of replicates as a band.

    Parameters
    ----------
    result : Curve
    ax : matplotlib Axes, optional
        Several curves can share one.
    label : str, optional
        Name of the curve in the legend; its rate is added.
    color : str
    """
    ax = _axes(ax)
    x = result.n if result.budget is None or result.cost is None else result.cost
    name = find_measure(result.measure).title if label is None else label
    rate = f", rate {result.rate:.2f}" if math.isfinite(result.rate) else ""
    ax.plot(x, result.values, color=color, marker="o", markersize=4, label=f"{name}{rate}")
    if result.interval is not None:
        low, high = result.interval.T
        ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0.0)
    wide = result.upper - result.lower > _VISIBLE * np.abs(result.upper)
    if wide.any():
        ax.vlines(x[wide], result.lower[wide], result.upper[wide], color=color, linewidth=2.5, alpha=0.6)
    if math.isfinite(result.rate):
        tail = x[result.tail]
        centre = np.exp(np.log(result.values[result.tail]).mean() - result.rate * np.log(tail).mean())
        ax.plot(tail, centre * tail**result.rate, color=_FIT if label is None else color, linestyle="--", linewidth=1.2)
    _logarithmic(ax, y=bool((result.values[np.isfinite(result.values)] > 0.0).all()))
    ax.set_xlabel("draws" if result.budget is None else "cost of the draws")
    ax.set_ylabel(find_measure(result.measure).title)
    ax.legend(fontsize=8, framealpha=0.9)
    return ax


def comparison(result: Comparison, ax: Axes | None = None, *, measure: str | None = None) -> Axes:
    """Plot samples by rank: a mark at the value, the certified bracket, and the range of independent samples as a band.

    Parameters
    ----------
    result : Comparison
    ax : matplotlib Axes, optional
    measure : str, optional
        One of those compared by; the first if not given.
    """
    ax = _axes(ax)
    measure = result.measures[0] if measure is None else measure
    known = find_measure(measure)
    by_name = {each.name: each for each in result.samples}
    names = [name for group in result.ranking[measure] for name in group]
    for place, name in enumerate(names):
        found = by_name[name].measurements[measure]
        ax.hlines(place, found.lower, found.upper, color=_LINE, linewidth=5, alpha=0.4)
        ax.plot(found.value, place, "o", color=_LINE, markersize=6)
        ax.annotate(f"{found.value:.4g}", (found.value, place), (7, 5), textcoords="offset points", fontsize=8)
    for reference in result.references.get(measure, ()):
        low, high = float(reference.lower.min()), float(reference.upper.max())
        label = f"{len(reference.values)} independent samples of {reference.n}"
        ax.axvspan(low, high, color=_OTHERS, alpha=0.2, linewidth=0.0, label=label)
        ax.axvline(reference.median, color=_OTHERS, linestyle="--", linewidth=1.0)
    ranks = [result.rank(name, measure) for name in names]
    tied = {rank for rank in ranks if ranks.count(rank) > 1}
    labels = [f"{_short(name)}  {rank}{'=' * (rank in tied)}" for name, rank in zip(names, ranks, strict=True)]
    ax.set_yticks(range(len(names)), labels, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.8)
    ax.margins(x=0.15)
    left, _ = ax.get_xlim()
    if left < 0.0 <= min((by_name[name].measurements[measure].lower for name in names), default=left):
        ax.set_xlim(left=0.0)
    order = "smaller is better" if known.smaller_is_better else "larger is better"
    ax.set_xlabel(f"{known.title}\n({order})")
    if result.references.get(measure):
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), fontsize=8, frameon=False)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def _axes(ax: Axes | None) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def _logarithmic(ax: Any, y: bool) -> None:
    """Logarithmic axes with plain numbers: powers of ten, and twice and five times them."""
    from matplotlib.ticker import FuncFormatter, StrMethodFormatter

    def between_powers(value: float, position: int) -> str:
        return f"{value:g}" if f"{value:e}"[0] in "25" else ""

    ax.set_xscale("log")
    if y:
        ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis) if y else (ax.xaxis,):
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(FuncFormatter(between_powers))


def _short(name: str) -> str:
    """A name with its middle left out where it is too long to stand beside a mark."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2]}…{name[-_LONGEST_NAME // 2 + 1 :]}"
