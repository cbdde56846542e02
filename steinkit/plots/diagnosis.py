"""Plots of verdict findings, biases and mode weights."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steinkit.diagnosis.bias.mode_weights import ModeWeights
from steinkit.diagnosis.bias.optimal_weights import OptimalWeights
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.verdict_result import NO_SINGLE_FINDING, Verdict
from steinkit.plots.axes import BLUE, DARK, GRAY, RED, WIDTH, axes_or_new, in_style, legend_below, wrapped
from steinkit.text import abbreviated

_MOST = 10  # number of quantities
_LONGEST = 24  # maximum number of characters in a name
_SHIFT = 0.16  # offset, in rows, between the values before and after repair


@in_style
def biases(found: BiasEstimate, after: BiasEstimate | None = None) -> Figure:
    """Plot the ten largest biases with their margins of error.

    The left panel shows biases of means, and the right panel shows biases of standard deviations.

    Hollow gray markers indicate unreliable margins.

    Parameters
    ----------
    found : BiasEstimate
        Biases of the draws.
    after : BiasEstimate, optional
        Biases of the same quantities after repair.

    Returns
    -------
    matplotlib Figure
        Figure that is not registered with pyplot.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> draws = np.random.default_rng(0).standard_normal((400, 2)) + 0.5
    >>> found = sk.estimate_bias(draws, sk.targets.Normal(dim=2))
    >>> [ax.get_xlabel() for ax in sk.plots.biases(found).axes]
    ['bias of the mean (sd)', 'bias of the sd']
    """
    shown = found.worst(_MOST)
    figure = Figure(figsize=(WIDTH, 1.5 + 0.34 * len(shown)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    series = [(found, RED, "o", "draws", 0.0 if after is None else -_SHIFT)]
    if after is not None:
        series.append((after, BLUE, "s", "repaired", _SHIFT))
    for ax, name, label in ((left, "mean", "bias of the mean (sd)"), (right, "sd", "bias of the sd")):
        ax.axvline(0.0, color="0.7", linewidth=1.0)
        for each, color, marker, legend, shift in series:
            bias, margin = getattr(each, f"{name}_bias")[shown], getattr(each, f"{name}_margin")[shown]
            rows = np.arange(len(shown)) + shift
            for known in (True, False):
                k = np.isfinite(bias + margin) & (each.reliable[shown] == known)
                if not k.any():
                    continue
                style = {"color": color} if known else {"color": GRAY, "markerfacecolor": "none"}
                entry = legend if known else f"{legend}, margin not reliable"
                ax.errorbar(bias[k], rows[k], xerr=margin[k], fmt=marker, ms=5, capsize=2.5, label=entry, **style)
        ax.set_xlabel(label)
    left.set_yticks(range(len(shown)), [abbreviated(found.names[k], _LONGEST) for k in shown], parse_math=False)
    left.set_ylim(len(shown) - 0.5, -0.5)
    right.xaxis.set_major_formatter(lambda value, _: f"{100.0 * np.expm1(value):+.0f}%")
    if after is not None:
        figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@in_style
def mode_weights(found: ModeWeights, ax: Axes | None = None) -> Axes:
    """Plot the mode weights in the draws and under the target.

    Error bars show margins of error.

    Parameters
    ----------
    found : ModeWeights
        Result of `steinkit.mode_weights`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.

    Returns
    -------
    matplotlib Axes
        The Axes on which the figure is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> target = sk.targets.GaussianMixture([[0.0], [9.0]], sd=1.0)
    >>> draws = np.random.default_rng(0).standard_normal(600) + np.repeat([0.0, 9.0], [200, 400])
    >>> ax = sk.plots.mode_weights(sk.mode_weights(draws, target), Figure().add_subplot())
    >>> ax.get_xlabel()
    'weight of the mode'
    """
    ax = axes_or_new(ax)
    rows = np.arange(len(found.shares))
    ax.plot(found.draws_shares, rows - _SHIFT, "o", markersize=6, color=RED, label="in the draws")
    drawn = ax.errorbar(found.shares, rows + _SHIFT, xerr=found.margins, fmt="s", capsize=2.5, color=BLUE)
    drawn.set_label("under the target")
    ax.set_yticks(rows, [wrapped(each, _LONGEST) for each in found.places], parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0.0, None)
    ax.xaxis.set_major_formatter(lambda value, _: f"{100.0 * value:.0f}%")
    ax.set_xlabel("weight of the mode")
    legend_below(ax)
    return ax


_MOST_MARGINALS, _COLUMNS = 9, 3
_BINS = 24


@in_style
def marginals(found: OptimalWeights) -> Figure:
    """Plot histograms of the draws before and after reweighting.

    The figure shows up to nine parameters.

    Parameters
    ----------
    found : OptimalWeights
        Result of `steinkit.optimal_weights`.

    Returns
    -------
    matplotlib Figure
        Figure that is not registered with pyplot.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> draws = 1.2 * np.random.default_rng(0).standard_normal((200, 2))
    >>> found = sk.optimal_weights(draws, sk.targets.Normal(dim=2))
    >>> [ax.get_xlabel() for ax in sk.plots.marginals(found).axes]
    ['x1', 'x2']
    """
    points, names = found.sample.points, found.sample.names[:_MOST_MARGINALS]
    columns = min(_COLUMNS, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(WIDTH, 0.6 + 1.9 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for k, name in enumerate(names):
        edges = np.histogram_bin_edges(points[:, k], _BINS)
        grid[k].hist(points[:, k], edges, density=True, color=GRAY, label="equal weights")
        grid[k].hist(
            points[:, k], edges, weights=found.weights, density=True, histtype="step", color=BLUE, linewidth=1.6,
            label="optimal weights",
        )  # fmt: skip
        grid[k].set_xlabel(abbreviated(name, _LONGEST), parse_math=False)
        grid[k].set_yticks([])
    for ax in grid[len(names) :]:
        ax.remove()
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


_CHANCE = 2.0  # half-width of a 95% normal interval, in standard errors


@in_style
def verdict(found: Verdict, ax: Axes | None = None) -> Axes:
    """Plot the findings of a verdict, with the largest one at the top.

    Findings are shown in standard errors, with 95% intervals. The gray band shows values that are consistent with
    chance. If the verdict has no findings, the plot shows a note.

    Parameters
    ----------
    found : Verdict
        Result of `steinkit.verdict`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.

    Returns
    -------
    matplotlib Axes
        The Axes on which the figure is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> draws = np.random.default_rng(0).standard_normal((400, 2)) + [0.5, 0.0]
    >>> ax = sk.plots.verdict(sk.verdict(draws, sk.targets.Normal(dim=2)), Figure().add_subplot())
    >>> ax.get_yticklabels()[0].get_text()
    'x1 is too high'
    """
    ax, findings = axes_or_new(ax), found.findings
    ax.axvspan(0.0, _CHANCE, color=GRAY, alpha=0.5, linewidth=0.0, label="range of chance")
    sizes, rows = [abs(each.z) for each in findings], range(len(findings))
    ax.errorbar(sizes, rows, xerr=_CHANCE, fmt="o", color=RED, capsize=3.0, label="finding, 95% interval")
    ax.set_yticks(rows, [wrapped(str(each), 25) for each in findings], parse_math=False)
    if not findings:
        ax.text(0.5, 0.5, NO_SINGLE_FINDING, transform=ax.transAxes, ha="center", va="center", color=DARK)
    ax.set_ylim(max(len(findings), 1) - 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("standard errors from the target")
    legend_below(ax)
    return ax
