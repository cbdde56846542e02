"""A spanner within a time: the greedy one if there is time for it, else a coarser one of a dilation that is proved.

When time runs short, the greedy algorithm for the dilation t has gone through all pairs up to some length L: its edges
so far, the graph G, join each of them by a path of at most t times its length. Choose centres such that every point is
within r of one of them in G, and build a spanner H of the centres alone, of a dilation s. A pair p, q further than L
apart has centres a, b within r of them, so that the union of G and H joins it by a path from p to a in G, on to b in H
and to q in G, of length

    r + s d(a, b) + r <= 2 r + s (d(p, q) + 2 r) <= (s + 2 r (1 + s) / L) d(p, q).

The union is a spanner of that dilation, which is stated a little larger, by what rounding may have taken from it.

References
----------
G. Das and G. Narasimhan (1997). A fast algorithm for constructing sparse Euclidean spanners. International Journal of
Computational Geometry & Applications 7, 297-315. Clusters stand for their points there, too.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import Adjacency, cover
from steinkit.discrepancy.graph.spanner.geometry import Graph
from steinkit.discrepancy.graph.spanner.greedy import Begun, laid_out, span_greedily
from steinkit.errors import TimeLimitError
from steinkit.runtime.compilation import announced_compilation
from steinkit.runtime.deadlines import require_time, seconds_left, stop_signal, time_limit
from steinkit.runtime.threads import interruptible
from steinkit.sample import Floats, Integers

SHARE = 0.5  # of the time left, in which the greedy spanner must be there
RADII = (0.125, 0.25, 0.5, 1.0)  # of a cover, in units of the length that the greedy algorithm has reached
_INSTANT = 1e-6  # seconds: what is left is positive, though it may run out at any line
FEWER = 0.5  # times as many centres as points are few enough


def span_in_time(points: Floats, dilation: float, *, n_jobs: int, progress: bool) -> tuple[Graph, float]:
    """A spanner of points, shape (n, d), built in about three quarters of the time that is left, and its dilation.

    Without a deadline, and with one that leaves time, it is the greedy spanner of the dilation asked for.

    Raises
    ------
    TimeLimitError
        If there was no time for a coarser one either.
    """
    require_time("the spanner was built")
    begun, left = Begun(), max(seconds_left(), _INSTANT)
    with time_limit(SHARE * left if left < np.inf else None):
        try:
            return span_greedily(points, dilation, n_jobs=n_jobs, progress=progress, begun=begun), dilation
        except TimeLimitError as error:
            late = error
    begun = Begun(**vars(begun))  # as it is now: a thread that was left behind may yet end another bucket
    centres, radius = _centres(len(points), begun, late)
    rest, stretch = span_in_time(points[centres], dilation, n_jobs=n_jobs, progress=progress)
    edges = np.concatenate([begun.edges, centres[rest.edges]])
    edges, first = np.unique(edges, axis=0, return_index=True)
    lengths = np.concatenate([begun.lengths, rest.lengths])[first]
    return Graph(len(points), edges, lengths), _dilation(stretch, radius, begun.reached, *points.shape)


def _dilation(stretch: float, radius: float, reached: float, n: int, dim: int) -> float:
    """What the union's dilation cannot exceed, rounding included.

    Lengths of edges are sums of `dim` squares, and those of paths sums of at most n of them: each is off by less than
    (n + dim + 4) eps of itself.
    """
    rounding = 4.0 * (n + dim + 4) * np.finfo(np.float64).eps
    return (stretch + 2.0 * radius * (1.0 + stretch) / reached) * (1.0 + rounding)


def _centres(n: int, begun: Begun, late: TimeLimitError) -> tuple[Integers, float]:
    """Centres that are few enough, every point within a radius of one of them, and that radius."""
    if begun.reached > 0.0:
        graph = laid_out(n, begun.edges, begun.lengths)
        for radius in RADII:
            centres = _cover(graph, radius * begun.reached)
            if len(centres) <= FEWER * n:
                return centres, radius * begun.reached
    raise late


def _cover(graph: Adjacency, radius: float) -> Integers:
    with announced_compilation(), stop_signal() as stop:
        centres: Integers = interruptible(partial(cover, graph, radius, stop.flag), stop)
        stop.require("the spanner was built")
    return centres
