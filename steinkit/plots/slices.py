"""Plots of a sliced graph Stein discrepancy and of moments.

The test function h of a slice depends on the score and therefore on all coordinates of a draw. For this reason, a plot
of h against one coordinate is a scatter plot, with the mean of h added in bins of equal weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from steinkit.discrepancy.moments import MomentSteinDiscrepancy
from steinkit.discrepancy.sliced import SlicedSteinDiscrepancy
from steinkit.measurement import Reference
from steinkit.plots.axes import ALPHA, BLUE, DARK, HATCH, RED, axes_or_new, in_style, legend_below, wrapped
from steinkit.plots.discrepancy import Standard, exact_share, key, threshold
from steinkit.sample import Floats

_DRAWS_PER_BIN, _BINS = 20, (4, 24)
_MOST_MARKS = 2000  # maximum number of draws shown, to avoid overlapping marks


@in_style
def slice_function(
    result: SlicedSteinDiscrepancy,
    ax: Axes | None = None,
    *,
    direction: int | None = None,
    reference: Standard = None,
    legend: bool = True,
) -> Axes:
    """Plot the test function h of a slice, its mean, and the flow phi.

    Under the target, h has mean 0. The flow phi gives the direction in which to move the draws toward the target.

    The mean of h also varies in exact samples. As in `steinkit.plots.draws`, color is used only for bins that
    contribute to the excess over exact samples. Orange bins have too many draws, and hatched blue bins have too few.

    Parameters
    ----------
    result : SlicedSteinDiscrepancy
        Result of `steinkit.sliced_stein_discrepancy`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.
    direction : int, optional
        Index of the slice. The default is the slice that contributes most.
    reference : Reference or Verdict, optional
        Source of the values for exact samples. See `steinkit.plots.draws`. If the source has values per coordinate, the
        value of this slice is used.
    legend : bool
        If True, a legend is added below the axis.

    Returns
    -------
    matplotlib Axes
        The Axes on which the figure is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> draws = np.random.default_rng(0).standard_normal((100, 3))
    >>> result = sk.sliced_stein_discrepancy(draws, sk.targets.Normal(dim=3))
    >>> sk.plots.slice_function(result, Figure().add_subplot(), direction=1).get_xlabel()
    'x2'
    """
    ax = axes_or_new(ax)
    number = int(result.direction_values.argmax()) if direction is None else direction
    piece, points = result.slices[number], result.units.points(result.sample.points)
    h, weights = piece.test_function(points, result.units.scores(result.scores)), result.sample.weights
    u = _raw(result, number, points @ piece.direction)
    edges, places, means, mass = binned_means(u, h, weights)
    of_slice = not isinstance(reference, Reference) or reference.coordinates is not None
    t = threshold(means, mass, exact_share(piece.value if of_slice else result.value, reference, number))
    bottom, top = min(1.3 * float(means.min()), -1.15), max(1.3 * float(means.max()), 1.15)
    some = np.linspace(0, len(u) - 1, min(len(u), _MOST_MARKS)).round().astype(int)
    ax.scatter(u[some], h[some], s=4.0, c="0.45", alpha=0.25, linewidths=0.0, rasterized=True)
    ax.axhline(0.0, color="0.6", linewidth=0.8)
    for color, hatch, where in ((RED, None, means >= t), (BLUE, HATCH, means <= -t)):
        left, wide = edges[:-1][where], np.diff(edges)[where]
        ax.bar(left, means[where], wide, align="edge", color=color, alpha=ALPHA, hatch=hatch)
    ax.plot(places, means, color="0.1", linewidth=1.4, label="mean of h (target: 0)")
    positions = _raw(result, number, piece.positions)
    order = np.argsort(positions)
    ax.plot(
        positions[order], piece.phi[order], color=DARK, linestyle="--", linewidth=1.1, label="flow phi to the target"
    )
    ax.set_ylim(bottom, top)
    low, high = np.quantile(u, [0.002, 0.998])
    margin = 0.03 * (high - low) or 1.0
    ax.set_xlim(low - margin, high + margin)
    ax.set_xlabel(result.direction_names[number])
    ax.set_ylabel("test function h, flow phi")
    if legend:
        legend_below(ax, [*ax.get_legend_handles_labels()[0], *key()])
    return ax


def _raw(result: SlicedSteinDiscrepancy, number: int, u: Floats) -> Any:
    """Convert positions along a coordinate to the original units of the draws.

    Positions along other directions stay in standard units.
    """
    involved = np.flatnonzero(result.slices[number].direction)
    if len(involved) > 1:
        return u
    j = involved[0]
    return result.units.centre[j] + result.units.scale[j] * u / result.slices[number].direction[j]


def binned_means(u: Floats, h: Floats, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the edges, mean positions, means of h and masses of the bins.

    The bins have approximately equal weights.
    """
    order = np.argsort(u, kind="stable")
    reached = np.cumsum(weights[order]) - 0.5 * weights[order]
    bins = int(np.clip(len(u) // _DRAWS_PER_BIN, *_BINS))
    number = np.minimum((bins * reached).astype(int), bins - 1)
    mass, *sums = (np.bincount(number, weights=(weights * each)[order], minlength=bins) for each in (1.0, u, h))
    held = mass > 0.0
    places, means = (each[held] / mass[held] for each in sums)
    edges = np.concatenate([[u.min()], 0.5 * (places[1:] + places[:-1]), [u.max()]])
    return edges, places, means, mass[held].astype(np.float64)


_OWN = ("location", "spread")
_GAP = 1  # number of empty columns between the moments of coordinates and those of pairs
_SATURATED = 8.0  # maximum of the color scale, in standard errors
_WRITTEN = 8  # maximum number of coordinates with printed values; otherwise only signs of large values are printed
_LARGE = 3.0  # in standard errors


@in_style
def moment_matrix(result: MomentSteinDiscrepancy, ax: Axes | None = None) -> Axes:
    """Plot a matrix of all moments in standard errors.

    The values are differences from the moments of the target.

    Each row is a coordinate. The columns show the location and spread of the coordinate, followed by its dependence on
    the coordinates above it. Red indicates draws that are too high or too wide, or correlations above the target's.
    Blue indicates the opposite.

    Parameters
    ----------
    result : MomentSteinDiscrepancy
        Result of `steinkit.moment_stein_discrepancy`.
    ax : matplotlib Axes, optional
        Axes to draw on. By default, a new pyplot figure is created.

    Returns
    -------
    matplotlib Axes
        The Axes on which the matrix is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> import steinkit as sk
    >>> from matplotlib.figure import Figure
    >>> draws = np.random.default_rng(0).standard_normal((100, 2))
    >>> result = sk.moment_stein_discrepancy(draws, sk.targets.Normal(dim=2))
    >>> ax = sk.plots.moment_matrix(result, Figure().add_subplot())
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['location', 'spread', 'x1']
    """
    ax = axes_or_new(ax)
    values = _matrix(result)
    dim, across = values.shape
    limit = float(np.clip(np.nanmax(np.abs(values)), _LARGE, _SATURATED))
    image = ax.imshow(np.ma.masked_invalid(values), cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    names = [wrapped(name, 16) for name in result.names]
    size = float(np.clip(11.0 - 0.15 * dim, 6.5, 10.0))
    ax.set_yticks(range(dim), names, fontsize=size, parse_math=False)
    labels = [*_OWN, *names[: dim - 1]]
    places = [k + _GAP * (k >= len(_OWN)) for k in range(len(labels))]
    ax.set_xticks(places, labels, fontsize=size, rotation=60.0, ha="right", rotation_mode="anchor", parse_math=False)
    written = dim <= _WRITTEN
    for i, k in zip(*np.nonzero(np.abs(values) >= (0.0 if written else _LARGE)), strict=True):
        z = values[i, k]
        text = f"{z:+.1f}" if written else "+" if z > 0.0 else "\N{MINUS SIGN}"  # equal shades in grayscale
        ax.text(k, i, text, ha="center", va="center", fontsize=size, color="white" if abs(z) > 0.6 * limit else "0.15")
    ax.set_xticks(np.arange(-0.5, across), minor=True)
    ax.set_yticks(np.arange(-0.5, dim), minor=True)
    ax.grid(which="minor", color="white", linewidth=1.0)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    if dim > 1:
        ax.set_title("dependence on", x=0.5 * (len(_OWN) + _GAP + across) / across)
    ax.figure.colorbar(
        image, ax=ax, extend="both", location="bottom", aspect=30, label="standard errors from the target"
    )
    return ax


def _matrix(result: MomentSteinDiscrepancy) -> Floats:
    """Return signed standard errors as an array of shape (d, 2 + gap + d - 1).

    Empty cells are NaN.
    """
    names = result.names
    values = np.full((len(names), len(_OWN) + (_GAP + len(names) - 1 if len(names) > 1 else 0)), np.nan)
    for each in result.largest_moments:
        rows = sorted(map(names.index, each.coordinates))
        column = _OWN.index(each.kind) if each.kind in _OWN else len(_OWN) + _GAP + rows[0]
        values[rows[-1], column] = abs(each.z) * (1.0 if each.is_above else -1.0)
    return values
