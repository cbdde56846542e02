"""The picture of any result that has one; and of what a verdict finds: its faults, biases before and after, modes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from steinkit.comparison_result import Comparison
from steinkit.curves import Curve
from steinkit.diagnosis.bias.mode_weights import ModeWeights
from steinkit.diagnosis.bias.repair import Repaired
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.verdict_result import NOTHING_STANDS_OUT, Verdict
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced import SlicedSteinDiscrepancy
from steinkit.errors import UsageError
from steinkit.measures import find_measure
from steinkit.measures.scores import Scores
from steinkit.plots.axes import axes_or_new, drawn, head, open_frame
from steinkit.plots.curves import comparison, curve
from steinkit.plots.discrepancy import Standard, arranged
from steinkit.plots.settings import most_varied, selection, tuning
from steinkit.plots.slices import moments, slice_function, slice_key, slices
from steinkit.result import Result
from steinkit.sweeps.result import SweepResult, TuningResult
from steinkit.text import probability, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST = 10  # quantities
_LONGEST = 24  # letters of a name
_LONGEST_PLACE = 40  # letters of a mode's place
_SHIFT = 0.16  # rows between what was and what is
_BEFORE, _AFTER, _UNKNOWN = "#b2182b", "#67a9cf", "0.75"


def biases(found: BiasEstimate, after: BiasEstimate | None = None, title: str = "") -> Figure:
    """Plot the worst ten quantities, the worst on top: the mean on the left, the standard deviation on the right.

    Parameters
    ----------
    found : BiasEstimate
        Of the draws.
    after : BiasEstimate, optional
        Of the draws repaired, of the same quantities.
    title : str
        First line of the heading; none if empty.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot. Quantities whose margins may not be relied on are grey and hollow.
    """
    from matplotlib.figure import Figure

    shown = found.worst(_MOST)
    figure = Figure(figsize=(7.5, 1.5 + 0.34 * len(shown)), layout="constrained")
    bias_panels(figure.subplots(1, 2, sharey=True), found, after)
    return head(figure, title, f"How far the draws are off, with margins{_of_how_many(found)}")


def biases_and_slice(
    found: BiasEstimate, result: SlicedSteinDiscrepancy, title: str = "", reference: Standard = None
) -> Figure:
    """Plot the worst ten quantities, and beside them the slice that carries most.

    Parameters
    ----------
    found : BiasEstimate
    result : SlicedSteinDiscrepancy
        Of the same draws.
    title : str
        First line of the heading; none if empty.
    reference : Reference or Verdict, optional
        What right samples show: see `plots.draws`.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.0, 5.2), layout="constrained")
    grid = figure.add_gridspec(1, 2, width_ratios=[1.25, 1.0])
    left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    bias_panels(left.subplots(1, 2, sharey=True), found)
    left.suptitle(f"how far the draws are off, with margins{_of_how_many(found)}", fontsize=10)
    ax = right.subplots()
    slice_function(result, ax, reference=reference, legend=False)
    values = result.direction_values
    worst = shortened(result.direction_names[int(values.argmax())], _LONGEST)
    right.suptitle(f"the worst slice: {worst} carries {values.max():.3g}", fontsize=10, parse_math=False)
    ax.set_title(ax.get_title(), fontsize=9)
    right.legend(handles=slice_key(ax), loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return head(figure, title, f"{result.title} in {result.bracket}")


def bias_panels(axes: Sequence[Axes], found: BiasEstimate, after: BiasEstimate | None = None) -> None:
    """Draw the worst quantities on Axes for means and for standard deviations."""
    shown = found.worst(_MOST)
    for ax, what in zip(axes, ("mean", "sd"), strict=True):
        ax.axvline(0.0, color="0.7", linewidth=1.0)
        for each, shift in ((found, -_SHIFT), (after, _SHIFT)) if after is not None else ((found, 0.0),):
            assert each is not None
            colour = _BEFORE if each is found else _AFTER
            marker = "o" if each is found else "s"
            for row, k in enumerate(shown):
                off, margin = (getattr(each, f"{what}_{part}")[k] for part in ("bias", "margin"))
                if not (math.isfinite(off) and math.isfinite(margin)):
                    continue
                known = bool(each.reliable[k])
                ax.errorbar(
                    off,
                    row + shift,
                    xerr=margin,
                    fmt=marker,
                    markersize=5,
                    capsize=2.5,
                    color=colour if known else _UNKNOWN,
                    markerfacecolor=colour if known else "none",
                    label=("as they are" if each is found else "repaired") if row == 0 else None,
                )
        ax.set_xlabel("bias of the mean, in sd" if what == "mean" else "sd bias")
        open_frame(ax)
    left, right = axes
    left.set_yticks(range(len(shown)), [shortened(found.names[k], _LONGEST) for k in shown], parse_math=False)
    left.set_ylim(len(shown) - 0.5, -0.5)
    right.xaxis.set_major_formatter(lambda value, place: f"{100.0 * np.expm1(value):+.0f}%")
    if after is not None:
        right.legend(loc="best", fontsize=9)


def _of_how_many(found: BiasEstimate) -> str:
    shown = len(found.worst(_MOST))
    return f", worst {shown} of {len(found.names)}" if shown < len(found.names) else ""


def mode_weights(found: ModeWeights, ax: Axes | None = None) -> Axes:
    """Plot the share of every mode, a row a mode.

    Parameters
    ----------
    found : ModeWeights
        What `steinkit.mode_weights` returns.
    ax : matplotlib Axes, optional
        Where to draw; a new figure's if not given.

    Returns
    -------
    matplotlib Axes
        Circles are the draws' shares, squares the right ones with their margins.
    """
    ax = axes_or_new(ax, (6.5, 1.5 + 0.5 * len(found.shares)))
    rows = np.arange(len(found.shares))
    ax.plot(found.draws_shares, rows - _SHIFT, "o", markersize=6, color=_BEFORE, label="in the draws")
    ax.errorbar(
        found.shares, rows + _SHIFT, xerr=found.margins, fmt="s", markersize=5, capsize=2.5, color=_AFTER,
        label="by the density",
    )  # fmt: skip
    ax.set_yticks(rows, [shortened(each, _LONGEST_PLACE) for each in found.places], parse_math=False)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0.0, None)
    ax.xaxis.set_major_formatter(lambda value, place: f"{100.0 * value:.0f}%")
    ax.set_xlabel("share of the mode")
    ax.legend(loc="best", fontsize=9)
    open_frame(ax)
    return ax


_CHANCE = 2.0  # standard errors that chance makes of what is right
_LONGEST_FINDING = 75  # letters
_WIDTH = 25  # letters of a line


def verdict(found: Verdict, ax: Axes | None = None) -> Axes:
    """Plot the findings of a verdict, worst on top, in standard errors with their 95 % intervals.

    The title holds the verdict and the effective sample size. The grey band is the range of chance. Where nothing is
    found the Axes say so.

    Parameters
    ----------
    found : Verdict
        From `steinkit.verdict`.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax = axes_or_new(ax, (7.0, 2.8))
    findings = found.findings
    places = range(len(findings))
    sizes = [abs(each.z) for each in findings]
    ax.axvspan(0.0, _CHANCE, color="0.88", linewidth=0.0)
    ax.errorbar(sizes, places, xerr=_CHANCE, fmt="o", color="#b2182b", capsize=3.0)
    ax.set_yticks(
        places, [textwrap.fill(shortened(str(each), _LONGEST_FINDING), _WIDTH) for each in findings], parse_math=False
    )
    if not findings:
        ax.text(0.5, 0.5, NOTHING_STANDS_OUT, transform=ax.transAxes, ha="center", va="center", fontsize=10)
    ax.set_ylim(len(findings) - 0.5 if findings else 0.5, -0.5)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("standard errors from what the target asks for")
    ess = f", ESS {found.ess_text}" if found.ess_text else ""
    ax.set_title(f"{found.label} ({probability(found.p)}{ess})", fontsize=10, parse_math=False)
    open_frame(ax)
    return ax


def picture(result: Result, title: str = "", reference: Standard = None) -> Figure:
    """Arrange what shows where a sample is wrong.

    Of a graph Stein discrepancy in one dimension g and h, above it the draws and the coordinates; of a sliced one the
    slices that carry most; of moments the matrix of their standard errors.

    Parameters
    ----------
    result : Result
        What to show: of a graph, sliced or moment Stein discrepancy, a verdict that finds fault, a comparison, a curve,
        a sweep, tuning, biases, mode weights, or repaired draws.
    title : str
        First line of the heading, such as the name of the sample; none if empty.
    reference : Reference or Verdict, optional
        What right samples show, beyond which colours begin: see `draws`. Moments are held against chance as they are.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.

    Raises
    ------
    UsageError
        If there is no picture of such a result.
    """
    if isinstance(result, GraphSteinDiscrepancy):
        return arranged(result, title, reference)
    if isinstance(result, SlicedSteinDiscrepancy):
        return slices(result, title, reference)
    if isinstance(result, MomentSteinDiscrepancy):
        return moments(result, title)
    if isinstance(result, Scores):
        return scores(result, title)
    if isinstance(result, Comparison):
        return comparisons(result)
    if isinstance(result, Curve):
        return drawn(partial(curve, result), 6.5, 4.5)
    if isinstance(result, Verdict) and result.findings:
        return drawn(partial(verdict, result), 6.5, 1.6 + 0.4 * len(result.findings))
    if isinstance(result, SweepResult) and result.criteria:
        parameter = next(iter(most_varied(result.settings)), next(iter(result.settings[0])))
        return drawn(partial(selection, result, parameter), 5.2, 5.6)
    if isinstance(result, TuningResult):
        return drawn(partial(tuning, result), 5.2, 4.0)
    if isinstance(result, BiasEstimate):
        return biases(result, title=title)
    if isinstance(result, ModeWeights):
        return drawn(partial(mode_weights, result), 6.5, 1.5 + 0.5 * len(result.shares))
    if isinstance(result, Repaired):
        return biases(result.bias, result.after, title)
    raise UsageError(f"there is no picture of this {type(result).__name__}; its summary() says what was found")


def scores(found: Scores, title: str = "") -> Figure:
    """The picture of the first measure that has one, held against right samples, else against the verdict.

    Of slices in more than two dimensions whose biases the verdict knows it shows these beside the worst slice.

    Parameters
    ----------
    found : Scores
    title : str
        By default the sample's files, if they are known.
    """
    title = title or ("" if found.origin is None else found.origin.sample)
    able = (each for each in found.measurements if find_measure(each.measure).has_picture)
    drawn = next(able, found.measurements[0])
    standard = found.references.get(drawn.measure) or found.verdict
    off = None if found.verdict is None else found.verdict.known_bias
    if isinstance(drawn, SlicedSteinDiscrepancy) and found.sample.dim > 2 and off is not None:
        return biases_and_slice(off, drawn, title, standard)
    return picture(drawn, title, standard)


def comparisons(found: Comparison) -> Figure:
    """The ranking by each measure, one below the other."""
    from matplotlib.figure import Figure

    rows = len(found.measures)
    figure = Figure(figsize=(6.5, rows * (1.6 + 0.45 * len(found.samples))), layout="constrained")
    for ax, measure in zip(figure.subplots(rows, 1, squeeze=False)[:, 0], found.measures, strict=True):
        comparison(found, ax, measure=measure)
    return figure
