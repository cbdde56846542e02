"""Plots of any result, with captions and alternative text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from functools import partial, singledispatch

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from steinkit.comparison_result import Comparison
from steinkit.curves import Curve
from steinkit.diagnosis.bias.mode_weights import ModeWeights
from steinkit.diagnosis.bias.optimal_weights import OptimalWeights
from steinkit.diagnosis.bias.repair import Repaired
from steinkit.diagnosis.bias.result import BiasEstimate
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced import SlicedSteinDiscrepancy
from steinkit.errors import UsageError
from steinkit.measurement import Measurement
from steinkit.measures import find_measure
from steinkit.measures.scores import Scores
from steinkit.plots.axes import coordinate_bars, drawn, in_style
from steinkit.plots.curves import comparison, curve
from steinkit.plots.diagnosis import biases, marginals, mode_weights, verdict
from steinkit.plots.discrepancy import Standard, draws, draws_with_density, stein_function
from steinkit.plots.settings import sweep_figures, tuning_figures
from steinkit.plots.slices import moment_matrix, slice_function
from steinkit.result import ReportFigure, Result
from steinkit.sweeps.result import SweepResult, TuningResult
from steinkit.target import Target
from steinkit.text import compact, count, sentence

_MOST_NAMED = 10  # number of coordinates or moments listed in alternative text
_MOST_BARS = 12  # number of coordinates
_H = "has mean 0 under the target, and its mean over the draws is the discrepancy."
_DENSITY = " Gray regions contain 50, 90 and 99% of the target."
_BIASES = "The largest biases with 95% margins of error. Hollow gray markers indicate unreliable margins."
_MOMENTS = (
    "Each row shows the location and the spread of a coordinate, and its dependence on the coordinates above it, as "
    "differences from the target in standard errors. Red indicates draws that are too high or too wide, or "
    "correlations above the target's; blue indicates the opposite."
)


def plot(result: Result) -> Figure:
    """Draw the most informative plot of a result, with a title.

    Parameters
    ----------
    result : Result
        A graph, sliced or moment Stein discrepancy, scores, a verdict with findings, a comparison, a curve, a sweep or
        tuning run, biases, mode weights, optimal weights, or repaired draws.

    Returns
    -------
    matplotlib Figure
        Figure that is not registered with pyplot. Use ``figure.savefig`` to save it.

    Raises
    ------
    UsageError
        If the result has no figure.

    Examples
    --------
    >>> import steinkit as sk
    >>> result = sk.graph_stein_discrepancy([[0.0, 1.0], [2.0, 0.5]], sk.targets.Normal([0.0, 0.0]))
    >>> sk.plots.plot(result).axes[0].get_xlabel()
    'x1'
    """
    shown = _of_measures(result, None) if isinstance(result, Scores) else []
    shown = shown or [*figures(result)]
    if not shown:
        raise UsageError(f"a {type(result).__name__} has no plot; print its summary()")
    figure = shown[0].draw()
    lines = [line for text in (result.subject, result.headline()) for line in textwrap.wrap(text, 54)]
    in_style(figure.suptitle)("\n".join(lines))
    return figure


@singledispatch
def figures(found: Result, target: Target | None = None) -> tuple[ReportFigure, ...]:
    """Return the plots of a result, with captions and alternative text.

    Parameters
    ----------
    found : Result
        A result of steinkit.
    target : Target, optional
        Target of the result, used to draw contours of its density.

    Returns
    -------
    tuple of ReportFigure
        The figures, beginning with the most informative one. The tuple is empty if the result has no figures.

    Examples
    --------
    >>> import steinkit as sk
    >>> result = sk.graph_stein_discrepancy([[0.0, 1.0], [2.0, 0.5]], sk.targets.Normal([0.0, 0.0]))
    >>> [figure.name for figure in sk.plots.figures(result)]
    ['The draws of the sample', 'Graph Stein discrepancy by coordinate']
    """
    return ()


@figures.register
def _(found: Scores, target: Target | None = None) -> tuple[ReportFigure, ...]:
    return (*(() if found.verdict is None else figures(found.verdict)), *_of_measures(found, target))


@figures.register(GraphSteinDiscrepancy)
@figures.register(SlicedSteinDiscrepancy)
@figures.register(MomentSteinDiscrepancy)
def _(found: Measurement, target: Target | None = None) -> tuple[ReportFigure, ...]:
    return tuple(_of_measure(found, "the sample", None, target))


@figures.register
def _(found: Verdict, target: Target | None = None) -> tuple[ReportFigure, ...]:
    if not found.findings:
        return ()
    caption = (
        "Each line shows the distance of one finding from the target in standard errors, with a 95% interval. "
        "Values in the gray band are consistent with chance."
    )
    height = 1.8 + 0.45 * len(found.findings)
    return (_report_figure("Findings", caption, found.sentence, partial(verdict, found), height),)


@figures.register
def _(found: BiasEstimate, target: Target | None = None) -> tuple[ReportFigure, ...]:
    return (ReportFigure("Biases", _BIASES, f"{found.headline()}.", partial(biases, found)),)


@figures.register
def _(found: Repaired, target: Target | None = None) -> tuple[ReportFigure, ...]:
    alt = f"{found.headline()}."
    return (ReportFigure("Biases before and after repair", _BIASES, alt, partial(biases, found.bias, found.after)),)


@figures.register
def _(found: OptimalWeights, target: Target | None = None) -> tuple[ReportFigure, ...]:
    alt, caption = f"{found.headline()}.", "Histograms of the draws with equal and with optimal weights."
    return (ReportFigure("Marginals before and after", caption, alt, partial(marginals, found)),)


@figures.register
def _(found: ModeWeights, target: Target | None = None) -> tuple[ReportFigure, ...]:
    caption, height = "Each row shows a mode, with 95% margins of error.", 1.8 + 0.5 * len(found.shares)
    return (_report_figure("Mode weights", caption, f"{found.headline()}.", partial(mode_weights, found), height),)


@figures.register
def _(found: Comparison, target: Target | None = None) -> tuple[ReportFigure, ...]:
    shown = []
    for measure in map(find_measure, found.measures):
        if not (samples := found.standings(measure.name)):
            continue
        values = "; ".join(
            f"{each.name}: {each.measurement.shown}, {f'rank {each.rank}' if each.rank else 'not ranked'}"
            for each in samples
        )
        brackets = " Bars show brackets; samples with overlapping bars share a rank (=)." if measure.has_bracket else ""
        draw, height = partial(comparison, found, measure=measure.name), 2.0 + 0.5 * len(samples)
        title = f"{sentence(measure.title)}, best first"
        shown.append(_report_figure(title, f"Each line shows a sample.{brackets}", f"{values}.", draw, height))
    return tuple(shown)


@figures.register
def _(found: Curve, target: Target | None = None) -> tuple[ReportFigure, ...]:
    ends = " to ".join(f"{compact(float(found.values[k]))} at {found.n[k]:g} draws" for k in (0, -1))
    band = " The band shows a bootstrap interval over the replicates." if found.interval is not None else ""
    caption = f"Both axes are logarithmic. The dashed line shows the rate fitted to the tail.{band}"
    heading = f"{sentence(find_measure(found.measure).title)} against the number of draws"
    return (_report_figure(heading, caption, f"From {ends}. {found.headline()}.", partial(curve, found), 4.3),)


figures.register(SweepResult, sweep_figures)
figures.register(TuningResult, tuning_figures)


def _of_measures(found: Scores, target: Target | None) -> list[ReportFigure]:
    """Return the plots for all measures of a sample."""
    shown, name = [], "the sample" if found.origin is None else found.origin.sample
    for each in found.measurements:
        shown += _of_measure(each, name, found.reference(each) or found.verdict, target)
    return shown


def _of_measure(result: Measurement, sample: str, standard: Standard, target: Target | None) -> list[ReportFigure]:
    """Return the plots for one measure.

    The plots show the test function of the measure and the contributions of the coordinates.
    """
    if isinstance(result, MomentSteinDiscrepancy):
        alt = f"{sentence('; '.join(map(str, result.largest_moments[:_MOST_NAMED])))}."
        height = 2.6 + 0.32 * max(len(result.names), 2)
        return [_report_figure(f"Moments of {sample}", _MOMENTS, alt, partial(moment_matrix, result), height)]
    if not isinstance(result, GraphSteinDiscrepancy | SlicedSteinDiscrepancy):
        return []
    caption = f"The test function h {_H}"
    draw: Callable[..., Axes] = draws
    if isinstance(result, SlicedSteinDiscrepancy):
        caption, draw = f"The test function h of the coordinate that contributes most {_H}", slice_function
    elif result.sample.dim == 1:
        draw = stein_function
    elif result.sample.dim == 2 and target is not None and target.has_log_density:
        caption, draw = f"{caption}{_DENSITY}", partial(draws_with_density, target=target)
    points = result.sample.points
    ranges = [
        f"{name} from {compact(low, 3)} to {compact(high, 3)}"
        for name, low, high in zip(result.sample.names, points.min(axis=0), points.max(axis=0), strict=True)
    ]
    alt = f"{sentence(sample)}: {count(len(points), 'draw')}, {', '.join(ranges[:_MOST_NAMED])}. {result.headline()}."
    draw = partial(draw, result, reference=standard)
    return [_report_figure(f"The draws of {sample}", caption, alt, draw, 4.8), *_bars(result)]


def _bars(result: GraphSteinDiscrepancy | SlicedSteinDiscrepancy) -> list[ReportFigure]:
    """Return a bar chart of the contributions if there are several coordinates."""
    terms = result.terms
    if len(terms) < 2:
        return []
    alt = f"{', '.join(f'{each.name} {compact(each.value)}' for each in terms)}."
    height = 1.0 + 0.3 * min(len(terms), _MOST_BARS)
    draw = partial(coordinate_bars, terms, most=_MOST_BARS, longest_name=18)
    heading = f"{sentence(result.title)} by coordinate"
    return [_report_figure(heading, "Error bars show certified brackets.", alt, draw, height)]


def _report_figure(name: str, caption: str, alt: str, draw: Callable[..., Axes | None], height: float) -> ReportFigure:
    return ReportFigure(name, caption, alt, partial(drawn, draw, height))
