"""Plots of convergence curves and sample rankings."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes

from steinkit.comparison_result import Comparison
from steinkit.curves import Curve
from steinkit.errors import printable
from steinkit.measures import find_measure
from steinkit.plots.axes import BLUE, DARK, GRAY, RED, axes_or_new, in_style, legend_below, logarithmic, wrapped
from steinkit.text import compact

_RATE = -0.5  # convergence rate of independent draws
_GUIDE = "rate of independent draws (-0.5)"
_DECADES = 20.0  # the axis is logarithmic if the ratio of its limits exceeds this value


@in_style
def curve(
    result: Curve,
    ax: Axes | None = None,
    *,
    label: str | None = None,
    color: str = BLUE,
    marker: str = "o",
) -> Axes:
    """Plot a measure and its fitted rate against the number of draws.

    Both axes are logarithmic.

    A dotted line through the first value shows the rate n^-1/2, which holds for independent draws. Vertical lines show
    certified brackets, and the band shows a bootstrap interval over replicates.

    Parameters
    ----------
    result : Curve
        Result of `steinkit.curve`.
    ax : matplotlib Axes, optional
        Axes for the curve, which several curves may share. By default, a new pyplot figure is created.
    label : str, optional
        Name of the curve in the legend, which also shows its rate. The default is the title of the measure.
    color, marker : str
        Color and marker of the curve. See `steinkit.plots.look`.

    Returns
    -------
    matplotlib Axes
        The Axes on which the curve is drawn.

    Examples
    --------
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> draws = sk.targets.Normal([0.0]).sample(200, 0)
    >>> result = sk.curve(draws, sk.targets.Normal([0.0]), measure="ksd")
    >>> sk.plots.curve(result, Figure().add_subplot()).get_xlabel()
    'draws'
    """
    ax, measure = axes_or_new(ax), find_measure(result.measure)
    x, values, lower, upper = result.n, result.values, result.lower, result.upper
    has_rate = math.isfinite(result.rate)
    name = measure.title if label is None else printable(label)
    shown = f"{name}, rate {result.rate:.2f}" if has_rate else name
    ax.plot(x, values, color=color, marker=marker, markersize=4, label=shown)
    if result.interval is not None:
        ax.fill_between(x, *result.interval.T, color=color, alpha=0.2, linewidth=0.0)
    ax.vlines(x, lower, upper, color=color, linewidth=2.5, alpha=0.6)
    finite = np.flatnonzero(np.isfinite(values))
    positive = bool((values[finite] > 0.0).all())
    if positive and len(finite) and measure.smaller_is_better and _GUIDE not in [each.get_label() for each in ax.lines]:
        falling = values[finite[0]] * (x[finite[0] :] / x[finite[0]]) ** _RATE
        ax.plot(x[finite[0] :], falling, color=DARK, linestyle=":", linewidth=1.2, label=_GUIDE)
    if has_rate:
        tail = x[result.tail]
        center = np.exp(np.log(values[result.tail]).mean() - result.rate * np.log(tail).mean())
        fitted = RED if label is None else color
        ax.plot(tail, center * tail**result.rate, color=fitted, linestyle="--", linewidth=1.2)
    logarithmic(ax, "xy" if positive else "x")
    ax.set_xlabel("draws")
    ax.set_ylabel(measure.title)
    legend_below(ax)
    return ax


@in_style
def comparison(result: Comparison, ax: Axes | None = None, *, measure: str | None = None) -> Axes:
    """Plot the ranking of samples with their certified brackets.

    The band shows the range of values for independent samples.

    Samples without a rank are shown last, as gray rings.

    Parameters
    ----------
    result : Comparison
        Result of `steinkit.compare`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.
    measure : str, optional
        Measure used for the ranking. The default is the first measure of the comparison.

    Returns
    -------
    matplotlib Axes
        The Axes on which the ranking is drawn.

    Raises
    ------
    UsageError
        If the measure is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> draws = np.linspace(-2.0, 2.0, 40)
    >>> result = sk.compare({"a": draws, "b": draws + 1.0}, sk.targets.Normal([0.0]), measures="ksd")
    >>> ax = sk.plots.comparison(result, Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['1  a', '2  b']
    """
    ax, known = axes_or_new(ax), find_measure(result.measures[0] if measure is None else measure)
    samples = result.standings(known.name)
    ends = [(each.measurement.lower, each.measurement.upper) for each in samples]
    for row, (each, (lower, upper)) in enumerate(zip(samples, ends, strict=True)):
        value, color = each.measurement.value, BLUE if each.rank else "0.5"
        if each.reference is not None:
            band, median = (row - 0.5, row + 0.5), [each.reference.median] * 2
            exact = each.reference.source
            ax.fill_between(each.reference.range, *band, color=GRAY, alpha=0.5, linewidth=0.0, label=exact)
            ax.plot(median, band, color=DARK, linestyle="--", linewidth=1.0, label="their median")
            ends = [*ends, each.reference.range]
        ax.hlines(row, lower, upper, color=color, linewidth=5, alpha=0.4)
        ax.plot(value, row, "o", color=color, markersize=6, fillstyle="full" if each.rank else "none", zorder=3)
        ax.annotate(compact(value), (value, row), (0, 6), textcoords="offset points", ha="center")
    labels = [f"{each.rank or '(not ranked)'}  {wrapped(each.name, 20)}" for each in samples]
    ax.set_yticks(range(len(samples)), labels, parse_math=False)
    ax.set_ylim(len(samples) - 0.4, -0.8)
    ax.margins(x=0.15)
    finite = [end for both in ends for end in both if not math.isnan(end)]
    if finite and min(finite) > 0.0 and max(finite) > _DECADES * min(finite):
        logarithmic(ax, "x")
    elif finite and min(finite) >= 0.0:
        ax.set_xlim(0.0, 1.15 * max(finite))
    ax.set_xlabel(f"{known.title} ({known.preference})")
    legend_below(ax)
    return ax
