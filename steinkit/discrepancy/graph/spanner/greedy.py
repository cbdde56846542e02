"""Exact greedy spanner, computed with memory proportional to its size.

**In the plane**, only pairs with an empty box need to be examined. In the L1 norm, every point k in the closed box
spanned by i and j satisfies d(i, k) + d(k, j) = d(i, j). If k is neither i nor j, the pairs (i, k) and (k, j) are
shorter than (i, j) and precede it. Paths with dilation t join the ends of both pairs, and the concatenated path has
dilation t for (i, j). Therefore, (i, j) is not an edge. For points in general position, about n log n of the n (n -
1)/2 pairs have an empty box.

*Rounding.* A pair with a non-empty box is joined by a chain of pairs with empty boxes. Rounding errors can affect the
decision only if a link of the chain is a tie. A tie is a pair (i, j) joined by a path of length t d(i, j) up to
`slack`, which exceeds all rounding errors in the sums. All pairs are examined if there is a tie, as on lattices, or if
rounding errors may change the order of the lengths because some points are very close.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import require_range
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.graph.spanner.bucket_kernels import Boxes, Problem, filter_block, insert_in_order
from steinkit.discrepancy.graph.spanner.empty_box_kernels import RUN, insert_empty_boxes, list_empty_boxes
from steinkit.discrepancy.graph.spanner.geometry import Graph, checked_dilation, edge_lengths, unjoined
from steinkit.discrepancy.graph.spanner.search_kernels import Adjacency
from steinkit.runtime.compilation import announced_compilation, small_work
from steinkit.runtime.deadlines import StopSignal, interruptible, require_time, stop_signal, thread_count, within_time
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats, Integers


def span_by_empty_boxes(points: Floats, dilation: float, margin: float, stop: NDArray[np.bool_]) -> Graph | None:
    """Build the greedy spanner of points in the plane from pairs with empty boxes.

    The result is None if pairs with other boxes may be edges, if too many pairs have an empty box, or if ``stop[0]`` is
    true.
    """
    n = len(points)
    pairs = _candidates(points, stop)
    if pairs is None:
        return None
    lengths = edge_lengths(points, pairs)
    order = np.argsort(lengths)
    if not (np.diff(lengths[order]) > 0.0).all():  # a stable sort is ten times slower
        order = np.argsort(lengths, kind="stable")
    pairs, lengths = pairs[order], lengths[order]
    slack = margin * dilation * float(np.ptp(points, axis=0).sum())
    if not (dilation - 1.0) * lengths[0] > slack:
        return None
    ends = np.bincount(pairs.ravel(), minlength=n)
    size = 2 * len(pairs)
    graph = Adjacency(
        np.cumsum(ends) - ends, np.zeros(n, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size)
    )
    with small_work(_INTERPRETED * len(pairs)):
        linked, is_certain = insert_empty_boxes(
            np.ascontiguousarray(points.T), dilation, slack, graph, pairs, lengths, stop
        )
    return Graph(n, pairs[linked], lengths[linked]) if is_certain else None


def _candidates(points: Floats, stop: NDArray[np.bool_]) -> Integers | None:
    """List all pairs i < j with an empty box and some other pairs, in sorted order.

    The result is None if there are too many pairs.
    """
    rank = np.lexsort(points.T[::-1])
    x, y = np.ascontiguousarray(points[rank].T)
    runs = np.sort(np.pad(y, (0, -len(y) % RUN), constant_values=np.inf).reshape(-1, RUN), axis=1).ravel()
    pairs = np.empty((_PAIRS_PER_POINT * len(points), 2), dtype=np.int64)
    import numba  # noqa: F401 -- the programs require it too, and machine code on disk is only loaded after the import

    with small_work(_LISTED * len(points)):
        count = list_empty_boxes(x, y, runs, pairs, stop)
    if count > len(pairs):
        return None
    ends = rank[pairs[:count]].T
    numbers = np.sort(np.minimum(*ends) * len(points) + np.maximum(*ends))
    return np.column_stack(np.divmod(numbers, len(points)))


_NEAREST = 6.0  # average number of pairs per point in the first bucket; this number suffices to connect most points
_GROWTH = 4.0  # ratio of the numbers of pairs in successive buckets
_PAIRS_PER_POINT = 64  # maximum number of stored pairs per point
BOX_SIZE = 64  # number of points per box
MOST_BY_EMPTY_BOXES = 200_000  # maximum number of points in the plane; listing the pairs takes O(n^2) time
_BLOCKS = 8  # number of parts of a bucket that threads filter in parallel
_POINTS_PER_BLOCK = 750  # minimum number of points per part; blocks should contain clusters
# Radius of clusters in units of (t - 1) times the shortest length. With this radius, paths through the center have a
# dilation below t.
_CLUSTER_RADIUS = 0.4
_DOING = "building the spanner"
_LISTED, _INTERPRETED = 5e-5, 2e-5  # seconds of plain Python per point and per pair


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

    In a t-spanner, every pair (i, j) is joined by a path of length at most t d(i, j), where d(i, j) = ||x_i - x_j||_1.
    The greedy spanner is defined by its construction:

        for all pairs i < j in the order of (d(i, j), i, j):
            add the edge (i, j) if the distance between its ends in the current graph exceeds t d(i, j).

    The greedy spanner is unique and is one of the sparsest and lightest spanners known [1]_.

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, d)
        The points. An edge of length 0 joins each repeated point to its first occurrence. To avoid such edges, merge
        equal points first (`Sample.distinct`).
    dilation : float, default 2
        Dilation t, which must be greater than 1 and at most 1e100.
    max_seconds : float, optional
        Time limit in seconds.
    n_jobs : int, default 1
        Number of threads. The value -1 uses one thread per processor. The edges do not depend on this number.
    progress : bool, default False
        If True, a progress bar is shown on standard error after one second.

    Returns
    -------
    Graph
        Graph with the edges i < j in the order of their construction, by (length, i, j).

    Raises
    ------
    InputError
        If points are not finite, or if points or their differences are neither 0 nor between 1e-100 and 1e100 in
        absolute value.
    UsageError
        If `dilation` or `n_jobs` is not valid.
    TimeLimitError
        If the time limit is exceeded.

    Notes
    -----
    For up to 200,000 points in the plane, only pairs with a box that contains no other point are examined, unless there
    are too many such pairs. Otherwise, pairs are processed in buckets of increasing length. The limits of the buckets
    are quantiles of sampled distances. There are about 3 n pairs in the first bucket, and four times as many pairs in
    each subsequent bucket [2]_. Each bucket is processed in two steps:

    1. *filter*: most pairs are already joined in the graph of the shorter edges, and this graph does not change during
       the step. The pairs with lengths in the bucket are found using boxes around neighboring points. Points that are
       close in the graph share one search from their center, which certifies whole boxes of other points. For the
       remaining pairs, a search starts from each point, or from the other endpoints if that requires fewer searches.
    2. *insertion*: the remaining pairs are sorted and processed as in the definition, with a bidirectional search that
       stops at t d(i, j). If the search becomes long, a single search from one end settles all the pairs in the bucket
       that share this endpoint.

    For points in two or three dimensions, the time increases slightly faster than n. The worst case is O(n^2 d). A
    value of t close to 1 yields more edges, up to all pairs, and increases the computing time. The memory use is O(n d
    + m) for m edges, plus 64 n pairs.

    For i < j, the distance between i and j in the graph is defined as the smallest floating-point sum of edge lengths
    along a path from i to j. Other computations are used to decide whether a pair is joined by an edge only if the
    relative margin exceeds 32 n times machine epsilon. All remaining pairs are decided based on this sum. The edges are
    therefore the same on every machine and for any number of threads.

    References
    ----------
    .. [1] I. Althöfer, G. Das, D. Dobkin, D. Joseph and J. Soares, "On sparse spanners of weighted graphs", Discrete &
       Computational Geometry 9 (1993), 81-100.
    .. [2] Q. W. Bouts, A. P. ten Brink and K. Buchin, "A framework for computing the greedy spanner", SoCG 2014, 11-20.
    .. [3] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, section 4.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> points = np.random.default_rng(0).standard_normal((300, 2))
    >>> graph = sk.greedy_spanner(points)
    >>> len(graph.edges), sk.dilation(points, graph) <= 2.0
    (445, True)
    """
    points = as_sample(points).points
    require_range(points, "points")
    require_range(np.diff(np.sort(points, axis=0), axis=0), "differences of points")
    return span_greedily(points, checked_dilation(dilation), n_jobs=n_jobs, progress=progress)


def span_greedily(points: Floats, dilation: float, *, n_jobs: int, progress: bool) -> Graph:
    """Build the greedy spanner on validated points of shape (n, d)."""
    n, dim = points.shape
    if n < 2:
        return unjoined(n)
    margin, n_threads = (32 * n + 64) * np.finfo(np.float64).eps, thread_count(n_jobs)
    with stop_signal() as stop, announced_compilation(), progress_bar("spanner", shown=progress) as bar:

        def build() -> Graph:
            if dim == 2 and n <= MOST_BY_EMPTY_BOXES:
                found = span_by_empty_boxes(points, dilation, margin, stop.flag)
                stop.require(_DOING)
                if found is not None:
                    return found
            return _insert_buckets(points, dilation, margin, n_threads, stop, bar)

        return interruptible(build, stop, _DOING)


def boxed(points: Floats, most: int) -> tuple[Integers, Boxes]:
    """Divide points into boxes that contain at most `most` >= 2 points.

    Each box is split in half along its longest side.

    Returns
    -------
    rank : ndarray of int, shape (n,)
        Index of each point in the order of the boxes.
    boxes : Boxes
        Boxes of ``points[rank]``.
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
    points: Floats, dilation: float, margin: float, n_threads: int, stop: StopSignal, bar: Any
) -> Graph:
    """Filter and insert the buckets.

    If the limit of a bucket is lowered, the remaining pairs form another bucket.
    """
    rank, boxes = boxed(points, BOX_SIZE)
    problem = Problem(np.ascontiguousarray(points[rank].T), boxes, dilation, margin, stop.flag)
    limits = _bucket_limits(points)
    edges, lengths = np.empty((0, 2), dtype=np.int64), np.empty(0)
    lower = -1.0  # below distance 0
    for k, limit in enumerate(limits):
        while lower < limit:
            graph = laid_out(len(rank), edges, lengths)
            tasks = _filter_tasks(problem, graph, lower, limit)
            bar.total = bar.n + (len(limits) - k) * len(tasks)
            pairs, distances, lower = _open_pairs(rank, tasks, n_threads, stop, bar)
            pending = np.bincount(pairs.ravel(), minlength=len(rank))
            first = np.append(0, np.cumsum(pending))
            incident = np.argsort(pairs.ravel(), kind="stable") // 2
            graph = laid_out(len(rank), edges, lengths, pending)
            chosen = insert_in_order(problem, graph, pairs, distances, first, incident)
            stop.require(_DOING)
            edges = np.concatenate([edges, pairs[chosen]])
            lengths = np.concatenate([lengths, distances[chosen]])
    return Graph(len(points), np.sort(rank[edges], axis=1), lengths)


def _open_pairs(
    rank: Integers, tasks: Sequence[Callable[[], Any]], n_threads: int, stop: StopSignal, bar: Any
) -> tuple[Integers, Floats, float]:
    """Filter a bucket.

    Return the sorted remaining pairs, their distances, and the upper limit.
    """
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
    """Return the calls that filter the bucket (lower, upper]."""
    dim, n = problem.columns.shape
    radius = _CLUSTER_RADIUS * min(problem.dilation - 1.0, 1.0) * max(lower, 0.0)
    patience = 1 if dim <= 4 else 6  # number of open pairs per source below which individual searches are faster
    blocks = min(_BLOCKS, max(1, n // _POINTS_PER_BLOCK))
    most = _PAIRS_PER_POINT * n // blocks
    cuts = [k * n // blocks for k in range(blocks + 1)]
    return [partial(filter_block, problem, graph, *run, lower, upper, radius, patience, most) for run in pairwise(cuts)]


def laid_out(n: int, edges: Integers, lengths: Floats, spare: Integers | int = 0) -> Adjacency:
    """Build adjacency lists with the edges in order of increasing length.

    The list of node x has ``spare[x]`` free entries at its end.
    """
    ends = edges.ravel()
    degree = np.bincount(ends, minlength=n)
    start = np.append(0, np.cumsum(degree + spare))
    rank = np.argsort(ends, kind="stable")
    shift = np.repeat(start[:-1] - np.append(0, np.cumsum(degree)[:-1]), degree)
    place = np.arange(len(ends)) + shift
    to = np.empty(start[-1], dtype=np.int64)
    length = np.empty(start[-1])
    to[place] = edges[:, ::-1].ravel()[rank]
    length[place] = np.repeat(lengths, 2)[rank]
    return Adjacency(start[:-1], degree, to, length)


def _bucket_limits(points: Floats) -> list[float]:
    """Return the upper limits of the buckets.

    The limits are quantiles of the distances between randomly chosen pairs of points; the last limit is infinite. The
    edges do not depend on the limits.
    """
    n = len(points)
    rng = np.random.default_rng(0)
    size = min(200_000, 50 * n + 1000)
    i = rng.integers(n, size=size)
    j = (i + rng.integers(1, n, size=size)) % n
    levels = _NEAREST / n * _GROWTH ** np.arange(32)
    distances = edge_lengths(points, np.column_stack([i, j]))
    return [*np.unique(np.quantile(distances, levels[levels < 1.0])).tolist(), np.inf]
