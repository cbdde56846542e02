"""A graph Stein discrepancy in words.

Where the sample is off is read from the optimal g, heuristically. For a distribution with a density, moving every
point x a little along g(x) changes its Kullback-Leibler divergence from the target at the rate of minus the mean of
h = T_P g [1]_; the optimal g makes that mean largest among the functions admitted. So g points from where draws lie to
where they should lie, and the sample is off against it. The diffusion operator of a covariance coefficient a is
Langevin's applied to a g, which is then the flow; the words are about its part a_jj g_j, which has the sign of g_j.

References
----------
.. [1] Q. Liu and D. Wang, "Stein variational gradient descent", NeurIPS 2016, theorem 3.1.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from steinkit.describe.numbers import count, midpoint, rounded_outwards

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
    from steinkit.discrepancy.reference import Reference

_WIDTH = 100
_LEADING_DRAWS = 3
_DESCRIBED_COORDINATES = 3
_CLEAR = 0.4  # share of a coordinate's discrepancy from which a direction is worth a word


def summarise(result: GraphSteinDiscrepancy, reference: Reference | None = None) -> str:
    """Paragraphs on the number, the coordinates, the draws, the comparison, and the limits."""
    paragraphs = [
        _the_number(result),
        _the_comparison(result, reference),
        _noise(result, reference) + _the_coordinates(result),
        _the_draws(result),
        "What this does not prove: a region of the target that no draw has visited, such as a second mode far from "
        "the draws, changes the score nowhere near them and is not seen. A low discrepancy speaks for the regions "
        "visited; whether all were visited must be known from elsewhere.",
    ]
    return "\n\n".join(textwrap.fill(paragraph, _WIDTH, break_long_words=False) for paragraph in paragraphs)


def _the_number(result: GraphSteinDiscrepancy) -> str:
    points = result.sample
    draws = len(points.inverse)
    distinct = "" if draws == len(points) else f", {count(len(points), 'distinct point')}"
    what = f"({count(draws, 'draw')}{distinct}, {count(points.dim, 'coordinate')})"
    proof = " and ".join(rounded_outwards(result.lower, result.upper))
    if result.gap > result.tolerance:
        return (
            f"The graph Stein discrepancy lies between {proof} {what}. The bracket's relative width is "
            f"{result.gap:.1e} where {result.tolerance:g} was asked for: quote both ends."
        )
    value = midpoint(result.lower, result.upper)
    return f"The graph Stein discrepancy is {value}, proved to lie between {proof} {what}."


def _the_comparison(result: GraphSteinDiscrepancy, reference: Reference | None) -> str:
    if reference is None:
        return (
            "Compared with what? The number shrinks as draws are added, at a level set by the target. Without "
            "independent draws from the target (a reference) it only compares samples with one another."
        )
    lowest, highest = reference.lower.min(), reference.upper.max()
    if len(reference.values) == 1:
        return (
            f"Compared with independent draws: one independent sample of {reference.n} draws from the target has "
            f"discrepancy {reference.median:.4g}. Such samples differ among themselves; score five or more for their "
            "range."
        )
    return (
        f"Compared with independent draws: {len(reference.values)} independent samples of {reference.n} draws from the "
        f"target have discrepancies {lowest:.4g} to {highest:.4g}, median {reference.median:.4g}. This sample is "
        f"{_place(result, reference)}."
    )


def _place(result: GraphSteinDiscrepancy, reference: Reference) -> str:
    ratio = result.value / reference.median
    times = f"at {ratio:.2f} times their median"
    if result.lower > reference.upper.max():
        return f"above all of them, {times}"
    if result.upper < reference.lower.min():
        return f"below all of them, {times}; a sample that is too concentrated can be, so this alone is no praise"
    return f"within their range, {times}"


def _noise(result: GraphSteinDiscrepancy, reference: Reference | None) -> str:
    """A caution before directions are named for a sample within the range of independent ones."""
    if reference is None or len(reference.values) == 1:
        return ""
    if result.lower > reference.upper.max() or result.upper < reference.lower.min():
        return ""
    return "Independent samples score as much, so what follows may be sampling noise. "


def _the_coordinates(result: GraphSteinDiscrepancy) -> str:
    values, names = result.coordinate_values, result.sample.names
    total = values.sum()
    order = np.argsort(-values, kind="stable")
    shares = ", ".join(f"{names[j]} {values[j] / total:.0%} ({values[j]:.4g})" for j in order[:5])
    more = f", {len(order) - 5} more" if len(order) > 5 else ""
    heavy = [j for j in order[:_DESCRIBED_COORDINATES] if values[j] >= 0.5 * values[order[0]]]
    lead = f"Coordinate by coordinate: {shares}{more}. " if len(order) > 1 else ""
    return lead + " ".join(f"In {names[j]}, {_direction(result, int(j))}." for j in heavy)


def _direction(result: GraphSteinDiscrepancy, j: int) -> str:
    """Which way coordinate j of the sample is off: the part of the flow g_j that carries its discrepancy.

    The flow's best fit a + b (x_j - mean) splits off what a plain shift and a plain stretch contribute to the mean of
    h: a times the mean score, and b times 1 + the mean of (x_j - mean) times the score; with a diffusion operator, a
    times the mean drift, and b times the mean of a_jj + (x_j - mean) times the drift. Where neither explains it, as
    with several modes, what is left is which part of the mean of h prevails: <flow, score>, a flow that climbs the
    density, or its divergence, one that spreads.
    """
    weights, flow, drift = result.sample.weights, result.g[:, j], result.drift[:, j]
    own, uphill = 1.0, drift
    if result.coefficients is not None:
        covariance = result.coefficients.covariance[:, j]
        own, uphill = float(weights @ covariance[:, j]), (covariance * result.scores).sum(axis=1)
    centred = result.sample.points[:, j] - weights @ result.sample.points[:, j]
    shift, variance = float(weights @ flow), float(weights @ centred**2)
    stretch = float(weights @ (centred * flow)) / variance if variance > 0.0 else 0.0
    by_shift = shift * float(weights @ drift)
    by_stretch = stretch * (own + float(weights @ (centred * drift)))
    if max(by_shift, by_stretch) < _CLEAR * result.coordinate_lower[j]:
        climb = float(weights @ (flow * uphill))
        divergence = result.coordinate_lower[j] - climb
        if climb > 2.0 * divergence:
            return "the draws stray too far from the modes: the flow that would mend the sample moves them uphill"
        if divergence > 2.0 * climb:
            return "the draws crowd the modes too closely: the flow that would mend the sample moves them apart"
        return "the sample is neither plainly shifted nor stretched; the picture shows where it is off"
    if by_shift >= by_stretch:
        place, way = ("high", "down") if shift < 0.0 else ("low", "up")
        return f"the draws sit too {place}: the flow that would mend the sample moves them {way}"
    if stretch < 0.0:
        return (
            "the draws are spread too widely for this target: the flow that would mend the sample pulls them together"
        )
    return "the draws are too concentrated for this target: the flow that would mend the sample pushes them apart"


def _the_draws(result: GraphSteinDiscrepancy) -> str:
    points, h = result.sample, result.test_function
    influence = points.weights * np.abs(h)
    leaders = np.argsort(-influence, kind="stable")[:_LEADING_DRAWS]
    described = "; ".join(_draw(result, int(i), float(h[i])) for i in leaders)
    count = int(np.searchsorted(np.cumsum(np.sort(influence)[::-1]), 0.5 * influence.sum())) + 1
    return (
        f"The draws with the most influence on the worst test function h (mean {result.lower:.4g} over the sample, 0 "
        f"under the target; large where there tend to be too many draws): {described}. Half of the influence lies on "
        f"{count} of {len(points)} points."
    )


def _draw(result: GraphSteinDiscrepancy, i: int, h: float) -> str:
    points = result.sample
    coordinates = ", ".join(f"{value:.4g}" for value in points.points[i][:4]) + (", ..." if points.dim > 4 else "")
    repeats = f" ({points.counts[i]} times)" if points.counts[i] > 1 else ""
    return f"draw {points.first[i] + 1}{repeats} at ({coordinates}), h = {h:+.3g}"
