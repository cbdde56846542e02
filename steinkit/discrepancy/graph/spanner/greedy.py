"""The greedy spanner, the sparsest t-spanner in use, exact in memory proportional to its size; or what time allows.

**In the plane** the pairs whose box is empty are enough. In L1 a point k in the closed box that
i and j span lies between them: d(i, k) + d(k, j) = d(i, j). If it is neither i nor j both pairs are shorter
than (i, j). They have been gone through before, so paths of dilation t join their ends, and one after the other they
make a path of dilation t for (i, j), which is no edge. Only pairs whose box is empty can be edges: about n log n of the
n (n - 1)/2, where points are spread out.

*Rounding.* A pair whose box is not empty goes through a chain of pairs whose boxes are, each in the box of the ends of
any part of the chain that holds it. Rounding can hide its path only if every link of the chain is a tie: joined by a
path of t times its length, to within `slack`, which is more than all rounding in any sum here. Two ties then meet at a
point that lies between their other ends. Where that happens, on lattices for one, the spanner is built by way of
all pairs; and so it is where the closest points are so close that rounding may reorder lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_range
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.graph.spanner.bucket_kernels import Boxes, Problem, filter_block, insert_in_order
from steinkit.discrepancy.graph.spanner.empty_box_kernels import MOST_TIES, RUN, insert_empty_boxes, list_empty_boxes
from steinkit.discrepancy.graph.spanner.geometry import Graph, checked_dilation, edge_lengths, unjoined
from steinkit.discrepancy.graph.spanner.search_kernels import Adjacency, cover
from steinkit.errors import TimeLimitError
from steinkit.runtime.compilation import announced_compilation, small_work
from steinkit.runtime.deadlines import (
    StopSignal,
    interruptible,
    require_time,
    seconds_left,
    stop_signal,
    thread_count,
    time_limit,
    within_time,
)
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers

ROOM = 64  # pairs a point; clusters that face each other have more
_SECONDS_A_POINT, _SECONDS_A_PAIR = 5e-5, 2e-5  # of Python


class Joined(NamedTuple):
    """How far a construction came: edges i < j in order, their lengths, and a length: all pairs up to it are joined."""

    edges: Integers = np.empty((0, 2), dtype=np.int64)
    lengths: Floats = np.empty(0)
    reached: float = -1.0


def span_by_empty_boxes(points: Floats, dilation: float, margin: float, stop: NDArray[np.bool_]) -> Joined | None:
    """The greedy spanner of points, shape (n, 2), or what there is of it once ``stop[0]`` is true.

    Returns
    -------
    Joined or None
        None where pairs may be needed whose box is not empty, or where there are too many whose box is.
    """
    n = len(points)
    with small_work(_SECONDS_A_POINT * n):
        pairs = _candidates(points, stop)
    if pairs is None:
        return None
    lengths = edge_lengths(points, pairs)
    order = np.argsort(lengths)
    if not (np.diff(lengths[order]) > 0.0).all():  # what takes ten times as long keeps pairs of a length in their order
        order = np.argsort(lengths, kind="stable")
    pairs, lengths = pairs[order], lengths[order]
    slack = margin * dilation * float(np.ptp(points, axis=0).sum())
    if not (dilation - 1.0) * lengths[0] > slack:
        return None
    ends = np.bincount(pairs.ravel(), minlength=n)
    room = 2 * len(pairs)
    graph = Adjacency(
        np.cumsum(ends) - ends, np.zeros(n, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
    )
    with small_work(_SECONDS_A_PAIR * len(pairs)):
        linked, ties, done = insert_empty_boxes(
            np.ascontiguousarray(points.T), dilation, slack, graph, pairs, lengths, stop
        )
    if len(ties) > MOST_TIES or _form_chains(points, pairs[ties]):
        return None
    reached = np.inf if done == len(pairs) else float(np.nextafter(lengths[done], 0.0))
    return Joined(pairs[linked], lengths[linked], reached)


def _candidates(points: Floats, stop: NDArray[np.bool_]) -> Integers | None:
    """All pairs i < j whose box is empty, and some others, in order; None if there is no room, or time, for them."""
    rank = np.lexsort(points.T[::-1])
    x, y = np.ascontiguousarray(points[rank].T)
    runs = np.sort(np.pad(y, (0, -len(y) % RUN), constant_values=np.inf).reshape(-1, RUN), axis=1).ravel()
    pairs = np.empty((ROOM * len(points), 2), dtype=np.int64)
    count = list_empty_boxes(x, y, runs, pairs, stop)
    if count > len(pairs):
        return None
    ends = rank[pairs[:count]].T
    numbers = np.sort(np.minimum(*ends) * len(points) + np.maximum(*ends))
    return np.column_stack(np.divmod(numbers, len(points)))


def _form_chains(points: Floats, ties: Integers) -> bool:
    """Whether two of these pairs meet at a point in the box of their other ends."""
    ends = np.concatenate([ties, ties[:, ::-1]])
    first, second = np.nonzero((ends[:, None, 1] == ends[None, :, 0]) & (ends[:, None, 0] != ends[None, :, 1]))
    i, k, j = points[ends[first, 0]], points[ends[first, 1]], points[ends[second, 1]]
    return bool(((np.minimum(i, j) <= k) & (k <= np.maximum(i, j))).all(axis=1).any())


NEAREST = 6.0  # pairs at a point, on average, in the first bucket: enough to connect most points
GROWTH = 4.0  # of the number of pairs from one bucket to the next
_ROOM = 64  # pairs a point that the filter of a bucket may leave open
BOX_SIZE = 64  # points in a box
MOST_BY_EMPTY_BOXES = 200_000  # points in the plane; to list the pairs of n takes time that grows with n^2
BLOCKS = 8  # of a pass over the points, which threads share out among them
POINTS_PER_BLOCK = 750  # at least: large enough to hold clusters
CLUSTER_RADIUS = 0.4  # in units of (t - 1) times the shortest length: a way through the centre must stay below t

SHARE = 0.5  # of the time left, in which the greedy spanner must be there
RADII = (0.125, 0.25, 0.5, 1.0)  # of a cover, in units of the length that the greedy algorithm has reached
_DOING = "the spanner was built"
_INSTANT = 1e-6  # seconds: what is left is positive, though it may run out at any line
FEWER = 0.5  # times as many centres as points are few enough


@within_time
def greedy_spanner(
    points: DrawsLike,
    dilation: float = 2.0,
    *,
    max_seconds: float | None = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> Graph:
    """Build the greedy t-spanner of points under the L1 norm.

    A t-spanner of n points is a graph in which every pair (i, j) is joined by a path of length at most t d(i, j),
    d(i, j) = ||x_i - x_j||_1. The greedy one is defined by its construction:

        for all pairs i < j in the order of (d(i, j), i, j):
            add the edge (i, j) if its endpoints' distance in the graph built so far exceeds t d(i, j).

    It is unique, and among the sparsest and lightest spanners known.

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, d)
        The points; they may repeat. Each repeat is joined to its first occurrence by an edge of length 0, as the
        definition has it; merge equal points first (`Sample.distinct`) if such edges are not wanted.
    dilation : float, default 2
        The t above, greater than 1.
    max_seconds : float, optional
        Time after which to give up.
    n_jobs : int, default 1
        Threads that filter pairs, in joblib's convention (-1: all cores). The edges do not depend on it.
    progress : bool, default False
        Show progress on standard error once a second has passed.

    Returns
    -------
    Graph
        The edges i < j in the order in which they were added: by (length, i, j).

    Raises
    ------
    InputError
        If the points are not finite, or hold numbers other than 0 that are not between 1e-100 and 1e100 in size.
    UsageError
        If ``dilation`` is not a finite number above 1, or ``n_jobs`` is 0.
    TimeLimitError
        If `max_seconds` pass before all pairs have been gone through: a part of a spanner is none.

    Notes
    -----
    Of up to 200,000 points in the plane only pairs whose box holds no other point are looked at, unless there are too
    many of them. Else pairs are handled in buckets of increasing length, cut at quantiles of a sample of distances:
    about 3 n pairs in the first and four times as many in each next. For each bucket,

    1. *filter*: most pairs are found to be joined already by the graph of the shorter edges, which is frozen
       meanwhile. Boxes around neighbouring points tell which of them may lie at such a distance. Points close together
       in the graph share one search from their midst, which proves whole boxes of others joined; what that leaves open
       is searched for from each of them, or, if this takes fewer searches, from the others towards them, hastily at
       first;
    2. *insert*: the few pairs that are left are sorted, and go through the definition one at a time, with a search
       from both ends that stops at t d(i, j). Where such a search grows long, one search from an endpoint settles all
       pairs of the bucket at that endpoint.

    There are about log_4 n buckets. For points that are spread out in two or three dimensions the time grows a little
    faster than n; without boxes every pair is measured once a bucket, in time O(n^2 d). The closer t is to 1 the more
    edges there are, up to all pairs, and the longer it takes. Memory is O(n d + m) for m edges, and 64 n pairs; a
    bucket with more pairs than that is cut short, but pairs of one and the same length are never parted.

    *Rounding.* The distance of i and j in the graph, i < j, is the least floating-point sum of edge lengths along a
    path, added up from i to j. Whatever else is used to find it certifies a pair only with a relative margin of more
    than 32 n machine epsilons; pairs closer to a tie are decided by that sum itself. The edges are thus the same on
    every machine that rounds distances alike, for any number of threads.

    References
    ----------
    I. Althöfer, G. Das, D. Dobkin, D. Joseph and J. Soares (1993). On sparse spanners of weighted graphs. Discrete &
    Computational Geometry 9, 81-100.
    Q. W. Bouts, A. P. ten Brink and K. Buchin (2014). A framework for computing the greedy spanner. SoCG, 11-20.
    J. Gorham and L. Mackey (2015). Measuring sample quality with Stein's method. NeurIPS. Section 4.
    """
    points = as_sample(points).points
    require_range(points, "points")
    require_range(np.diff(np.sort(points, axis=0), axis=0), "differences of points")
    return span_greedily(points, checked_dilation(dilation), n_jobs=n_jobs, progress=progress)


def span_greedily(
    points: Floats, dilation: float, *, n_jobs: int, progress: bool, begun: list[Joined] | None = None
) -> Graph:
    """`greedy_spanner` of points, shape (n, d), and a dilation that are checked; ``begun`` holds what there is."""
    begun = [] if begun is None else begun
    n, dim = points.shape
    if n < 2:
        return unjoined(n)
    margin, n_threads = (32 * n + 64) * np.finfo(np.float64).eps, thread_count(n_jobs)

    def build() -> None:
        found = None
        if dim == 2 and n <= MOST_BY_EMPTY_BOXES:
            found = span_by_empty_boxes(points, dilation, margin, stop.flag)
        if found is not None:
            begun[:] = [found]
        stop.require(_DOING)
        if found is None:
            _insert_buckets(points, dilation, margin, n_threads, stop, bar, begun)

    with (
        stop_signal() as stop,
        announced_compilation(),
        progress_bar("spanner", shown=progress) as bar,
    ):
        interruptible(build, stop, _DOING)
    return Graph(n, begun[-1].edges, begun[-1].lengths)


def span_in_time(points: Floats, dilation: float, *, n_jobs: int, progress: bool) -> tuple[Graph, float]:
    """A spanner of points, shape (n, d), built in about three quarters of the time that is left, and its dilation.

    Without a deadline, and with one that leaves time, it is the greedy spanner of the dilation asked for.

    Raises
    ------
    TimeLimitError
        If there was no time for a coarser one either.

    Notes
    -----
    When time runs short, the greedy algorithm for the dilation t has gone through all pairs up to some length L: its
    edges so far, the graph G, join each of them by a path of at most t times its length. Choose centres such that every
    point is within r of one of them in G, and build a spanner H of the centres alone, of a dilation s. A pair p, q
    further than L apart has centres a, b within r of them, so that the union of G and H joins it by a path from p to a
    in G, on to b in H and to q in G, of length

        r + s d(a, b) + r <= 2 r + s (d(p, q) + 2 r) <= (s + 2 r (1 + s) / L) d(p, q).

    The union is a spanner of that dilation, which is stated a little larger, by what rounding may have taken from it.

    References
    ----------
    G. Das and G. Narasimhan (1997). A fast algorithm for constructing sparse Euclidean spanners. International Journal
    of Computational Geometry & Applications 7, 297-315. Clusters stand for their points there, too.
    """
    require_time(_DOING)
    begun, left = [Joined()], max(seconds_left(), _INSTANT)
    with time_limit(SHARE * left if left < np.inf else None):
        try:
            return span_greedily(points, dilation, n_jobs=n_jobs, progress=progress, begun=begun), dilation
        except TimeLimitError as error:
            late = error
    joined = begun[-1]  # as it is now: a thread that was left behind may yet end another bucket
    centres, radius = _centres(len(points), joined, late)
    rest, stretch = span_in_time(points[centres], dilation, n_jobs=n_jobs, progress=progress)
    edges = np.concatenate([joined.edges, centres[rest.edges]])
    edges, first = np.unique(edges, axis=0, return_index=True)
    lengths = np.concatenate([joined.lengths, rest.lengths])[first]
    return Graph(len(points), edges, lengths), _dilation(stretch, radius, joined.reached, *points.shape)


def _dilation(stretch: float, radius: float, reached: float, n: int, dim: int) -> float:
    """What the union's dilation cannot exceed, rounding included.

    Lengths of edges are sums of `dim` squares, and those of paths sums of at most n of them: each is off by less than
    (n + dim + 4) eps of itself.
    """
    rounding = 4.0 * (n + dim + 4) * np.finfo(np.float64).eps
    return (stretch + 2.0 * radius * (1.0 + stretch) / reached) * (1.0 + rounding)


def _centres(n: int, joined: Joined, late: TimeLimitError) -> tuple[Integers, float]:
    """Centres that are few enough, every point within a radius of one of them, and that radius."""
    if joined.reached > 0.0:
        graph = laid_out(n, joined.edges, joined.lengths)
        for radius in RADII:
            centres = _cover(graph, radius * joined.reached)
            if len(centres) <= FEWER * n:
                return centres, radius * joined.reached
    raise late


def _cover(graph: Adjacency, radius: float) -> Integers:
    with announced_compilation(), stop_signal() as stop:
        centres: Integers = interruptible(partial(cover, graph, radius, stop.flag), stop, _DOING)
        stop.require(_DOING)
    return centres


def boxed(points: Floats, most: int) -> tuple[Integers, Boxes]:
    """Halve points, shape (n, d), across the longest side of their box until at most ``most`` >= 2 are left in each.

    Returns
    -------
    rank : ndarray of int, shape (n,)
        The points' numbers in an order in which neighbours in space are neighbours in number.
    boxes : Boxes
        Its points are those of ``points[rank]``.
    """
    n = len(points)
    rank, cuts = np.arange(n), np.array([0, n])
    while True:
        ordered = points[rank]
        low, high = (extreme.reduceat(ordered, cuts[:-1]) for extreme in (np.minimum, np.maximum))
        sizes = np.diff(cuts)
        if sizes.max() <= most:
            return rank, Boxes(cuts, low, high)
        require_time(_DOING)
        box = np.repeat(np.arange(len(sizes)), sizes)
        widest = np.argmax(high - low, axis=1)[box]
        rank = rank[np.lexsort((ordered[np.arange(n), widest], box))]
        cuts = np.arange(2 * len(sizes) + 1) * n // (2 * len(sizes))


def _insert_buckets(
    points: Floats, dilation: float, margin: float, n_threads: int, stop: StopSignal, bar: Any, begun: list[Joined]
) -> None:
    """Filter and insert bucket after bucket; a bucket that was cut short is taken up again where it was cut."""
    rank, boxes = boxed(points, BOX_SIZE)
    problem = Problem(np.ascontiguousarray(points[rank].T), boxes, dilation, margin, stop.flag)
    limits = _bucket_limits(points)
    edges, lengths = np.empty((0, 2), dtype=np.int64), np.empty(0)
    lower = -1.0  # so that distances of 0 are in the first bucket
    for k, limit in enumerate(limits):
        while lower < limit:
            graph = laid_out(len(rank), edges, lengths)
            tasks = _filter_tasks(problem, graph, lower, limit)
            bar.total = bar.n + (len(limits) - k) * len(tasks)
            pairs, distances, lower = _open_pairs(rank, tasks, n_threads, stop, bar)
            chosen = _chosen(problem, edges, lengths, pairs, distances)
            stop.require(_DOING)
            edges = np.concatenate([edges, pairs[chosen]])
            lengths = np.concatenate([lengths, distances[chosen]])
            # At once: who gave up waiting for this thread may read them at any time.
            begun[:] = [Joined(np.sort(rank[edges], axis=1), lengths, lower)]


def _open_pairs(
    rank: Integers, tasks: Sequence[Callable[[], Any]], n_threads: int, stop: StopSignal, bar: Any
) -> tuple[Integers, Floats, float]:
    """Pairs of a bucket that the filter leaves open, by distance and the ranks of their ends, and the limit kept to."""
    found = []
    with ThreadPoolExecutor(n_threads) as pool:
        for part in pool.map(lambda task: task(), tasks):
            found.append(part)
            bar.update()
    stop.require(_DOING)
    pairs = np.concatenate([part[0] for part in found])
    distances = np.concatenate([part[1] for part in found])
    upper = min(part[2] for part in found)
    backward = rank[pairs[:, 0]] > rank[pairs[:, 1]]
    pairs[backward] = pairs[backward, ::-1]
    order = np.lexsort((rank[pairs[:, 1]], rank[pairs[:, 0]], distances))
    order = order[: np.searchsorted(distances[order], upper, side="right")]
    return pairs[order], distances[order], upper


def _filter_tasks(problem: Problem, graph: Adjacency, lower: float, upper: float) -> list[Any]:
    """The calls that filter the bucket (lower, upper]."""
    dim, n = problem.columns.shape
    radius = CLUSTER_RADIUS * min(problem.dilation - 1.0, 1.0) * max(lower, 0.0)
    patience = 1 if dim <= 4 else 6  # the last few open pairs of a source are cheaper to settle one by one
    blocks = min(BLOCKS, max(1, n // POINTS_PER_BLOCK))
    room = _ROOM * n // blocks
    cuts = [k * n // blocks for k in range(blocks + 1)]
    return [partial(filter_block, problem, graph, *run, lower, upper, radius, patience, room) for run in pairwise(cuts)]


def _chosen(
    problem: Problem, edges: Integers, lengths: Floats, pairs: Integers, distances: Floats
) -> NDArray[np.bool_]:
    """Which of the pairs, given in order, the greedy rule adds to the graph."""
    n = problem.columns.shape[1]
    pending = np.bincount(pairs.ravel(), minlength=n)
    graph = laid_out(n, edges, lengths, pending)
    first = np.append(0, np.cumsum(pending))
    incident = np.argsort(pairs.ravel(), kind="stable") // 2
    linked: NDArray[np.bool_] = insert_in_order(problem, graph, pairs, distances, first, incident)
    return linked


def laid_out(n: int, edges: Integers, lengths: Floats, spare: Integers | int = 0) -> Adjacency:
    """Lay out links by node, shortest first, with ``spare[x]`` free places at the end of the row of x."""
    ends = edges.ravel()
    degree = np.bincount(ends, minlength=n)
    start = np.append(0, np.cumsum(degree + spare))
    rank = np.argsort(ends, kind="stable")  # edges come in order of length
    shift = np.repeat(start[:-1] - np.append(0, np.cumsum(degree)[:-1]), degree)
    place = np.arange(len(ends)) + shift
    to = np.empty(start[-1], dtype=np.int64)
    length = np.empty(start[-1])
    to[place] = edges[:, ::-1].ravel()[rank]
    length[place] = np.repeat(lengths, 2)[rank]
    return Adjacency(start[:-1], degree, to, length)


def _bucket_limits(points: Floats) -> list[float]:
    """Upper limits of the buckets, the last infinite: quantiles of the distances of random pairs.

    The seed is fixed, and no matter: limits decide what is done when, never which edges result.
    """
    n = len(points)
    rng = np.random.default_rng(0)
    size = min(200_000, 50 * n + 1000)
    i = rng.integers(n, size=size)
    j = (i + rng.integers(1, n, size=size)) % n
    levels = NEAREST / n * GROWTH ** np.arange(32)
    distances = edge_lengths(points, np.column_stack([i, j]))
    return [*np.unique(np.quantile(distances, levels[levels < 1.0])).tolist(), np.inf]
