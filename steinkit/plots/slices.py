"""Pictures of a sliced graph Stein discrepancy and of moments: where the sample is wrong, and which way.

The test function h of a slice is a function of the whole draw, by its score; over the coordinate it is a cloud. Its
mean along the coordinate, in bins of equally many draws, is what a reader looks for. Of moments, it is how many
standard errors each location, spread and dependence is off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced import SlicedSteinDiscrepancy
from steinkit.measurement import Reference
from steinkit.plots.axes import axes_or_new, coordinate_bars, drawn, head, told_apart
from steinkit.plots.discrepancy import ALPHA, HATCH, TOO_FEW, TOO_MANY, Standard, key, right_share, said_of, threshold
from steinkit.sample import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_FLOW = "0.35"
_DRAWS_A_BIN, _BINS = 20, (4, 24)
_SHOWN = 2000  # draws, beyond which marks only cover one another
_WORST = 4  # slices that a picture has room for
_BESIDE = 0.5  # of what the first carries, below which a slice is not shown
_MOST_BARS = 20


def slice_function(
    result: SlicedSteinDiscrepancy,
    ax: Axes | None = None,
    *,
    direction: int | None = None,
    reference: Standard = None,
    legend: bool = True,
) -> Axes:
    """Plot the test function h of a slice against its coordinate, with its mean along it, and phi.

    The mean of h along the coordinate has a shape in right samples, too. Red and blue are only the bins of draws that
    carry what a right sample does not show of the slice's discrepancy, by the rule of `plots.draws`.

    Parameters
    ----------
    result : SlicedSteinDiscrepancy
        From `sliced_stein_discrepancy`.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.
    direction : int, optional
        Number of the slice; by default that which carries most.
    reference : Reference or Verdict, optional
        What right samples show: see `plots.draws`. Values of independent samples by coordinate are used where the
        slices are the coordinates.
    legend : bool
        Whether to say in a legend what lines and areas are.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax = axes_or_new(ax)
    number = int(result.direction_values.argmax()) if direction is None else direction
    u, h, weights = _along(result, number)
    edges, places, means, mass = _binned_means(u, h, weights)
    share = right_share(result.slices[number].value, reference, number)
    if isinstance(reference, Reference) and reference.coordinates is None:
        share = right_share(result.value, reference)  # that of the whole: no better is known of its parts
    t = threshold(means, mass, share)
    bottom, top = min(1.3 * float(means.min()), -1.15), max(1.3 * float(means.max()), 1.15)
    some = np.linspace(0, len(u) - 1, min(len(u), _SHOWN)).round().astype(int)
    shown = some[(h[some] >= bottom) & (h[some] <= top)]
    ax.scatter(u[shown], h[shown], s=4.0, c="0.45", alpha=0.25, linewidths=0.0, rasterized=True)
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    for colour, hatch, where in ((TOO_MANY, None, means >= t), (TOO_FEW, HATCH, means <= -t)):
        left, wide = edges[:-1][where], np.diff(edges)[where]
        ax.bar(left, means[where], wide, align="edge", color=colour, alpha=ALPHA, hatch=hatch)
    ax.plot(places, means, color="0.1", linewidth=1.4, label="mean of h along the coordinate")
    at, phi = _phi(result, number)
    ax.plot(at, phi, color=_FLOW, linestyle="--", linewidth=1.1, label="phi (direction of correction)")
    ax.set_ylim(bottom, top)
    low, high = np.quantile(u, [0.002, 0.998])
    margin = 0.03 * (high - low) or 1.0
    ax.set_xlim(low - margin, high + margin)
    ax.set_xlabel(result.direction_names[number], parse_math=False)
    ax.set_ylabel("h, phi")
    ax.set_title(said_of(reference, t), fontsize=10)
    if legend:
        ax.legend(handles=slice_key(ax), loc="best", fontsize=8, framealpha=0.9)
    return ax


def slices(result: SlicedSteinDiscrepancy, title: str = "", reference: Standard = None) -> Figure:
    """Arrange the slices that carry most, at least half of what the first does, and the brackets of all of them.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.
    """
    from matplotlib.figure import Figure

    values = result.direction_values
    order = np.argsort(-values, kind="stable")[:_WORST]
    order = order[values[order] >= _BESIDE * values[order[0]]]  # h has a shape in right coordinates, too
    alone = len(result.slices) == 1
    rows, across = (1, len(order)) if len(order) < _WORST else (2, 2)
    bars = min(len(result.slices), _MOST_BARS)
    height = 4.5 if rows == 1 else max(6.5, 1.5 + 0.3 * bars)
    figure = Figure(figsize=(8.0 if alone else 12.0, height), layout="constrained")
    grid = figure.add_gridspec(rows, across + (not alone), width_ratios=[1.0] * across + [0.8] * (not alone))
    axes = [figure.add_subplot(grid[k // across, k % across]) for k in range(len(order))]
    for ax, number in zip(axes, order, strict=True):
        slice_function(result, ax, direction=int(number), reference=reference, legend=False)
        ax.set_title(f"carries {values[number]:.3g}\n{ax.get_title()}", fontsize=9)
    if not alone:
        beside = figure.add_subplot(grid[:, -1])
        coordinate_bars({"": result.terms}, beside, most=_MOST_BARS, colours=("0.55",))
        beside.set_title(_bars_title(len(result.slices)), fontsize=10)
    figure.legend(handles=slice_key(axes[0]), loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    heading = f"{result.title} in {result.bracket}"
    return head(figure, title, heading)


def slice_key(ax: Axes) -> list[Any]:
    """The lines of a slice and what its areas mean, in a legend."""
    return [*ax.get_legend_handles_labels()[0], *key(marks=False)]


def _bars_title(slices: int) -> str:
    return "coordinate by coordinate" if slices <= _MOST_BARS else f"the {_MOST_BARS} coordinates that carry most"


def _along(result: SlicedSteinDiscrepancy, number: int) -> tuple[Floats, Floats, Floats]:
    """Places of the points along a direction, as the draws have them where it is a coordinate; h; weights."""
    piece, standard = result.slices[number], result.units.points(result.sample.points)
    h = piece.test_function(standard, result.units.scores(result.scores))
    return _raw(result, number, standard @ piece.direction), h, result.sample.weights


def _raw(result: SlicedSteinDiscrepancy, number: int, u: Floats) -> Any:
    """Places along a coordinate in the draws' own units; along any other direction as they are."""
    involved = np.flatnonzero(result.slices[number].direction)
    if len(involved) > 1:
        return u
    j = involved[0]
    return result.units.centre[j] + result.units.scale[j] * u / result.slices[number].direction[j]


def _phi(result: SlicedSteinDiscrepancy, number: int) -> tuple[Floats, Floats]:
    piece = result.slices[number]
    places = _raw(result, number, piece.positions)
    order = np.argsort(places)
    return places[order], piece.phi[order]


def _binned_means(u: Floats, h: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Edges, mean place, mean h and mass of bins that hold about equally much weight."""
    order = np.argsort(u, kind="stable")
    reached = np.cumsum(weights[order]) - 0.5 * weights[order]
    bins = int(np.clip(len(u) // _DRAWS_A_BIN, *_BINS))
    number = np.minimum((bins * reached).astype(int), bins - 1)
    mass = np.bincount(number, weights=weights[order], minlength=bins)
    held = mass > 0.0
    sums = (np.bincount(number, weights=(weights * each)[order], minlength=bins) for each in (u, h))
    places, means = (each[held] / mass[held] for each in sums)
    low, high = u[order[0]], u[order[-1]]
    edges = np.concatenate([[low], 0.5 * (places[1:] + places[:-1]), [high]])
    return edges, places, means, mass[held].astype(np.float64)


_OWN = ("location", "spread")
_GAP = 1  # empty columns between what is a coordinate's own and the pairs
_SATURATED = 8.0  # standard errors at which the colours end
_WRITTEN = 14  # coordinates up to which the numbers are written, beyond that the signs of those that tell
_TELLING = 3.0  # standard errors
_LONGEST_NAME = 16  # letters


def moment_matrix(result: MomentSteinDiscrepancy, ax: Axes | None = None) -> Axes:
    """Plot the standard errors of all moments: red is too high, too wide, correlated above the target; blue below.

    A row a coordinate: its location and its spread on the left, then its dependences with the coordinates before it.

    Parameters
    ----------
    result : MomentSteinDiscrepancy
        From `moment_stein_discrepancy`.
    ax : matplotlib Axes, optional
        Where to draw; Axes of a new figure of pyplot if not given.

    Returns
    -------
    matplotlib Axes
        Those given, or the new ones.
    """
    ax = axes_or_new(ax)
    names, values = _matrix(result)
    dim, across = values.shape
    limit = float(np.clip(np.nanmax(np.abs(values)), 3.0, _SATURATED))
    image = ax.imshow(np.ma.masked_invalid(values), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    short = told_apart(names, _LONGEST_NAME)
    size = float(np.clip(11.0 - 0.18 * dim, 6.5, 9.5))
    ax.set_yticks(range(dim), short, parse_math=False, fontsize=size)
    pairs = [(len(_OWN) + _GAP + j, short[j]) for j in range(dim - 1)]
    places, labels = zip(*[*enumerate(_OWN), *pairs], strict=True)
    ax.set_xticks(places, labels, parse_math=False, fontsize=size, rotation=60.0, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)
    written = dim <= _WRITTEN
    for i, k in zip(*np.nonzero(np.abs(values) >= (0.0 if written else _TELLING)), strict=True):
        z = values[i, k]
        said = f"{z:+.1f}" if written else "+" if z > 0.0 else "\N{MINUS SIGN}"  # in grey red and blue are the same
        colour, height = "white" if abs(z) > 0.6 * limit else "0.15", size - 1.0 if written else size + 2.5
        ax.text(k, i, said, ha="center", va="center", fontsize=height, color=colour)
    ax.set_xticks(np.arange(-0.5, across), minor=True)
    ax.set_yticks(np.arange(-0.5, dim), minor=True)
    ax.grid(which="minor", color="white", linewidth=1.0)
    ax.tick_params(which="minor", length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    if across > len(_OWN):
        ax.set_title("dependence with", fontsize=size + 0.5, x=_middle(across))
    bar = ax.figure.colorbar(image, ax=ax, extend="both", location="bottom", shrink=0.9, pad=0.03, aspect=30)
    bar.set_label("standard errors from 0\nblue: too low, too narrow; red: too high, too wide", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return ax


def moments(result: MomentSteinDiscrepancy, title: str = "") -> Figure:
    """The matrix of all moments on a figure of its own, with the p-value above.

    Returns
    -------
    matplotlib Figure
        Not registered with pyplot; save it with ``figure.savefig``.
    """
    dim = len(result.names)
    side = float(np.clip(0.5 * dim, 2.0, 10.0))
    figure = drawn(lambda ax: moment_matrix(result, ax), 3.0 + side, 2.4 + 0.8 * side)
    return head(figure, title, f"moments: p = {result.p_value:.2g}")


def _matrix(result: MomentSteinDiscrepancy) -> tuple[tuple[str, ...], Floats]:
    """Names, and signed standard errors, shape (d, 2 + gap + d - 1): NaN where there is nothing to show."""
    names = result.names
    values = np.full((len(names), len(_OWN) + (_GAP + len(names) - 1 if len(names) > 1 else 0)), np.nan)
    for each in result.largest_moments:
        rows = sorted(map(names.index, each.coordinates))
        column = _OWN.index(each.kind) if each.kind in _OWN else len(_OWN) + _GAP + rows[0]
        values[rows[-1], column] = abs(each.z) * (1.0 if each.is_above else -1.0)
    return names, values


def _middle(across: int) -> float:
    """Where the middle of the pairs' columns lies, as a share of the width."""
    first = len(_OWN) + _GAP
    return (0.5 * (first + across)) / across
