"""The picture of any result that has one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from steinkit.comparison import Comparison
from steinkit.curves import Curve
from steinkit.describe.display import Result
from steinkit.discrepancy.bias.estimate import BiasEstimate
from steinkit.discrepancy.bias.mode_shares import ModeShares
from steinkit.discrepancy.bias.repair import Repaired
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced.discrepancy import SlicedSteinDiscrepancy
from steinkit.discrepancy.verdict import Verdict
from steinkit.errors import UsageError
from steinkit.measures import Measurement, find_measure
from steinkit.measures.scoring import Scores
from steinkit.plots.axes import drawn
from steinkit.plots.biases import biases, biases_and_slice, mode_shares, verdict
from steinkit.plots.criteria import most_varied, selection
from steinkit.plots.curves import comparison, curve
from steinkit.plots.discrepancy import arranged
from steinkit.plots.excess import Standard
from steinkit.plots.moment_scores import moments
from steinkit.plots.slices import slices
from steinkit.plots.tuning import tuning
from steinkit.sweeps.result import SweepResult
from steinkit.sweeps.tuning import TuningResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture(result: Result, title: str = "", reference: Standard = None) -> Figure:
    """Arrange what shows where a sample is wrong.

    Of a graph Stein discrepancy in one dimension g and h, above it the draws and the coordinates; of a sliced one the
    slices that carry most; of moments the matrix of their standard errors.

    Parameters
    ----------
    result : Result
        What to show: of a graph, sliced or moment Stein discrepancy, a verdict that finds fault, a comparison, a curve,
        a sweep, tuning, biases, shares of modes, or repaired draws.
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
    if isinstance(result, Verdict) and result.blame:
        return drawn(partial(verdict, result), 6.5, 1.6 + 0.4 * len(result.blame))
    if isinstance(result, SweepResult) and result.criteria:
        parameter = next(iter(most_varied(result.settings)), next(iter(result.settings[0])))
        return drawn(partial(selection, result, parameter), 5.2, 5.6)
    if isinstance(result, TuningResult):
        return drawn(partial(tuning, result), 5.2, 4.0)
    if isinstance(result, BiasEstimate):
        return biases(result, title=title)
    if isinstance(result, ModeShares):
        return drawn(partial(mode_shares, result), 6.5, 1.5 + 0.5 * len(result.shares))
    if isinstance(result, Repaired):
        return biases(result.bias, result.after, title)
    raise UsageError(f"there is no picture of this {type(result).__name__}; its summary() says what was found")


def scores(found: Scores, title: str = "", of: Measurement | None = None) -> Figure:
    """The picture of a measure, held against right samples where there are any, else against the verdict.

    Of slices in more than two dimensions whose biases the verdict knows it shows these beside the worst slice.

    Parameters
    ----------
    found : Scores
    title : str
    of : Measurement, optional
        One of those taken; by default the first that has a picture.
    """
    able = (each for each in found.measurements if find_measure(each.measure).has_picture)
    drawn = next(able, found.measurements[0]) if of is None else of
    standard = found.references.get(drawn.measure) or found.verdict
    off = found.verdict.bias if found.verdict and found.verdict.enough_draws else None
    if isinstance(drawn.result, SlicedSteinDiscrepancy) and found.sample.dim > 2 and off and off.trusted.any():
        return biases_and_slice(off, drawn.result, title, standard)
    return picture(drawn.result, title, standard)


def comparisons(found: Comparison) -> Figure:
    """The ranking by each measure, one below the other."""
    from matplotlib.figure import Figure

    rows = len(found.measures)
    figure = Figure(figsize=(6.5, rows * (1.6 + 0.45 * len(found.samples))), layout="constrained")
    for ax, measure in zip(figure.subplots(rows, 1, squeeze=False)[:, 0], found.measures, strict=True):
        comparison(found, ax, measure=measure)
    return figure
