"""Figures of report pages, with captions and alternative texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, singledispatch
from typing import TYPE_CHECKING, Any

from steinkit.comparison_result import Comparison
from steinkit.curves import Curve
from steinkit.diagnosis.verdict_result import Verdict
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced import SlicedSteinDiscrepancy
from steinkit.errors import UsageError
from steinkit.measurement import Term
from steinkit.measures import find_measure
from steinkit.measures.scores import Scores
from steinkit.plots.axes import coordinate_bars, drawn, heaviest
from steinkit.plots.curves import comparison, curve
from steinkit.plots.discrepancy import Standard, draws, draws_with_density, stein_function
from steinkit.plots.overview import picture, verdict
from steinkit.plots.settings import sweep_figures, tuning_figures
from steinkit.plots.slices import moment_matrix, slice_function
from steinkit.result import Picture, Result
from steinkit.sweeps.result import SweepResult, TuningResult
from steinkit.target import Target
from steinkit.text import compact, count, sentence, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 7.6  # inches
_IN_WORDS = 10  # coordinates or moments
_MOST_BARS = 8  # coordinates shown, the heaviest first
_MOST_SAMPLES = 6  # with bars
_LONGEST_NAME, _LONGEST_LABEL = 32, 18  # letters, in a legend and of a bar
_BARS = "Discrepancy carried by each coordinate, with its certified bracket as an error bar where it is wide enough."
_H = "mean 0 under the target; its mean over the draws is the discrepancy"
_DENSITY = " Grey regions hold 50, 90 and 99% of the target."
_MOMENTS = (
    "A row per coordinate: location, spread, and dependence on the coordinates above it, in standard errors from the "
    "target's. Red is too high, too wide, or a correlation above the target's; blue is the opposite."
)


@singledispatch
def figures(found: Result, target: Target | None = None) -> tuple[Picture, ...]:
    """Return the figures of a report page for a result.

    Parameters
    ----------
    found : Result
        A result of steinkit.
    target : Target, optional
        Target of the result, if figures need its density and it is the user's own code.

    Returns
    -------
    tuple of Picture
        The most informative one first; empty if such a result has none.

    Raises
    ------
    SteinkitError
        If the target is not the one of the result.
    """
    try:
        whole = picture(found)
    except UsageError:
        return ()
    return (Picture(found.headline(), "", f"{found.headline()}.", lambda: whole),)


@figures.register
def _(found: Scores, target: Target | None = None) -> tuple[Picture, ...]:
    shown = [] if found.verdict is None else [*figures(found.verdict)]
    for each in found.measurements:
        shown += _of_measure(each, found.sample_name, found.reference(each) or found.verdict, target)
    return tuple(shown)


@figures.register
def _(found: GraphSteinDiscrepancy, target: Target | None = None) -> tuple[Picture, ...]:
    return tuple(_of_measure(found, "the sample", None, target))


@figures.register
def _(found: SlicedSteinDiscrepancy, target: Target | None = None) -> tuple[Picture, ...]:
    return tuple(_of_measure(found, "the sample", None, target))


@figures.register
def _(found: MomentSteinDiscrepancy, target: Target | None = None) -> tuple[Picture, ...]:
    return tuple(_of_measure(found, "the sample", None, target))


@figures.register
def _(found: Verdict, target: Target | None = None) -> tuple[Picture, ...]:
    if not found.findings:
        return ()
    caption = "A line per finding: standard errors from the target, with 95% intervals. Chance explains the grey band."
    draw, height = partial(verdict, found), 1.6 + 0.4 * len(found.findings)
    return (_picture("What is wrong", caption, found.sentence, draw, height),)


@figures.register
def _(found: Comparison, target: Target | None = None) -> tuple[Picture, ...]:
    shown, bars = [], list[Picture]()
    for measure in map(find_measure, found.measures):
        samples = found.standings(measure.name)
        if not samples:
            continue
        values = "; ".join(
            f"{each.name}: {each.measurement.shown}, {f'rank {each.rank}' if each.rank else 'not ranked'}"
            for each in samples
        )
        brackets = " Bars are brackets; samples whose bars overlap share a rank (=)." if measure.has_bracket else ""
        draw, height = partial(comparison, found, measure=measure.name), 1.5 + 0.42 * len(samples)
        title = sentence(measure.title)
        shown.append(_picture(f"{title}, best first", f"A line per sample.{brackets}", f"{values}.", draw, height))
        terms = {each.name: each.measurement.terms for each in samples if measure.has_bracket}
        if not bars and len(terms) <= _MOST_SAMPLES:
            bars = _bars(measure.title, terms)
    return *shown, *bars


@figures.register
def _(found: Curve, target: Target | None = None) -> tuple[Picture, ...]:
    ends = " to ".join(f"{compact(float(found.values[k]))} at {found.n[k]:g} draws" for k in (0, -1))
    band = " The band is a bootstrap interval over replicates." if found.interval is not None else ""
    caption = f"Both axes are logarithmic; the broken line is the rate fitted to the tail.{band}"
    heading = f"{sentence(find_measure(found.measure).title)} against {found.against}"
    return (_picture(heading, caption, f"From {ends}. {found.headline()}.", partial(curve, found), 4.3),)


figures.register(SweepResult, sweep_figures)
figures.register(TuningResult, tuning_figures)


def _of_measure(result: Result, sample: str, standard: Standard, target: Target | None) -> list[Picture]:
    """Return the figures of a measure: its test function, and the contribution of each coordinate."""
    if isinstance(result, MomentSteinDiscrepancy):
        worst = "; ".join(map(str, result.largest_moments[:_IN_WORDS]))
        height = 2.4 + 0.32 * max(len(result.names), 2)
        return [
            _picture(f"Moments of {sample}", _MOMENTS, f"{sentence(worst)}.", partial(moment_matrix, result), height)
        ]
    if not isinstance(result, GraphSteinDiscrepancy | SlicedSteinDiscrepancy):
        return []
    caption, density, draw = f"Test function h ({_H}).", "", _drawing_of(result, target)
    if isinstance(result, SlicedSteinDiscrepancy):
        caption = f"Test function h of the coordinate that carries most ({_H})."
    elif result.sample.dim == 2 and target is not None and target.has_log_density:
        density = _DENSITY
    points = result.sample.points
    ranges = [
        f"{name} from {compact(low, 3)} to {compact(high, 3)}"
        for name, low, high in zip(result.sample.names, points.min(axis=0), points.max(axis=0), strict=True)
    ]
    alt = f"{sentence(sample)}: {count(len(points), 'draw')}, {', '.join(ranges[:_IN_WORDS])}. {result.headline()}."
    shown = _picture(f"The draws of {sample}", f"{caption}{density}", alt, partial(draw, reference=standard), 4.8)
    return [shown, *_bars(result.title, {sample: result.terms})]


def _drawing_of(result: GraphSteinDiscrepancy | SlicedSteinDiscrepancy, target: Target | None) -> Callable[..., Axes]:
    if isinstance(result, SlicedSteinDiscrepancy):
        return partial(slice_function, result)
    if result.sample.dim == 1:
        return partial(stein_function, result)
    return partial(draws, result) if target is None else partial(draws_with_density, result, target)


def _bars(title: str, groups: Mapping[str, Sequence[Term]]) -> list[Picture]:
    """Return bars of the contribution of each coordinate, if there are several."""
    if not groups or max(map(len, groups.values())) < 2:
        return []
    labelled = {shortened(name, _LONGEST_NAME).replace("$", r"\$"): terms for name, terms in groups.items()}
    said = (
        f"{sentence(name)}: {', '.join(f'{each.name} {compact(each.value)}' for each in terms)}."
        for name, terms in groups.items()
    )
    height = 1.2 + 0.2 * len(groups) + 0.27 * len(heaviest(groups.values(), _MOST_BARS)) * len(groups)
    draw = partial(coordinate_bars, labelled, most=_MOST_BARS, longest_name=_LONGEST_LABEL)
    return [_picture(f"{sentence(title)}, coordinate by coordinate", _BARS, " ".join(said), draw, height)]


def _picture(name: str, caption: str, alt: str, draw: Callable[[Axes], Any], height: float) -> Picture:
    return Picture(name, caption, alt, partial(drawn, draw, _WIDTH, height))
