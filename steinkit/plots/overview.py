"""The picture of any result that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.moments.discrepancy import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced.discrepancy import SlicedSteinDiscrepancy
from steinkit.plots.discrepancy import arranged
from steinkit.plots.excess import Standard
from steinkit.plots.moment_scores import moments
from steinkit.plots.slices import slices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Pictured: TypeAlias = GraphSteinDiscrepancy | SlicedSteinDiscrepancy | MomentSteinDiscrepancy


def picture(result: Pictured, title: str = "", reference: Standard = None) -> Figure:
    """Arrange what shows where a sample is wrong.

    Of a graph Stein discrepancy in one dimension g and h, above it the draws and the coordinates; of a sliced one the
    slices that carry most; of moments the matrix of their standard errors.

    Parameters
    ----------
    result : GraphSteinDiscrepancy, SlicedSteinDiscrepancy or MomentSteinDiscrepancy
        What to show.
    title : str
        First line of the heading, such as the name of the sample; none if empty.
    reference : Reference or Verdict, optional
        What right samples show, beyond which colours begin: see `draws`. Moments are held against chance as they are.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.
    """
    if isinstance(result, SlicedSteinDiscrepancy):
        return slices(result, title, reference)
    if isinstance(result, MomentSteinDiscrepancy):
        return moments(result, title)
    return arranged(result, title, reference)
