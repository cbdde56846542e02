"""The greedy spanner: the sparsest t-spanner in use, computed exactly in memory proportional to its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import checked
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.discrepancy.graph.spanner.bounded_search_kernels import Adjacency
from steinkit.discrepancy.graph.spanner.boxes import boxed
from steinkit.discrepancy.graph.spanner.filter_kernels import Problem, filter_block
from steinkit.discrepancy.graph.spanner.geometry import Graph, checked_dilation, edge_lengths
from steinkit.discrepancy.graph.spanner.insertion_kernels import insert_in_order
from steinkit.errors import InputError
from steinkit.runtime.compilation import announced_compilation
from steinkit.runtime.deadlines import StopSignal, stop_signal, within_time
from steinkit.runtime.progress import progress_bar
from steinkit.runtime.threads import interruptible, spread, thread_count
from steinkit.sample import Floats, Integers

NEAREST = 6.0  # pairs at a point, on average, in the first bucket: enough to connect most points
GROWTH = 4.0  # of the number of pairs from one bucket to the next
ROOM = 64  # pairs a point that the filter of a bucket may leave open
BOX_SIZE = 64  # points in a box
BLOCKS = 8  # of a pass over the points, which threads share out among them
POINTS_PER_BLOCK = 750  # at least: large enough to hold clusters
CLUSTER_RADIUS = 0.4  # in units of (t - 1) times the shortest length: a way through the centre must stay below t


@checked
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
        If the points are not finite, or so far apart that their distances overflow.
    UsageError
        If ``dilation`` is not a finite number above 1, or ``n_jobs`` is 0.
    TimeLimitError
        If `max_seconds` pass before all pairs have been gone through: a part of a spanner is none.

    Notes
    -----
    Pairs are handled in buckets of increasing length, cut at quantiles of a sample of distances: about 3 n pairs in
    the first and four times as many in each next. For each bucket,

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
    return span_greedily(points, checked_dilation(dilation), n_jobs=n_jobs, progress=progress)


@dataclass
class Begun:
    """How far a construction came: its edges i < j, in order, and the length up to which all pairs are joined."""

    edges: Integers = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    lengths: Floats = field(default_factory=lambda: np.empty(0))
    reached: float = -1.0


def span_greedily(points: Floats, dilation: float, *, n_jobs: int, progress: bool, begun: Begun | None = None) -> Graph:
    """`greedy_spanner` of points, shape (n, d), and a dilation that are checked; ``begun`` is kept up to date."""
    begun = Begun() if begun is None else begun
    _require_finite_paths(points, dilation)
    n = len(points)
    if n < 2:
        return Graph(n, np.empty((0, 2), dtype=np.int64), np.empty(0))
    margin = (32 * n + 64) * np.finfo(np.float64).eps
    with (
        stop_signal() as stop,
        announced_compilation(),
        progress_bar("spanner", shown=progress) as bar,
    ):
        rank, boxes = boxed(points, BOX_SIZE)
        columns = np.ascontiguousarray(points[rank].T)
        problem = Problem(columns, boxes, dilation, margin, stop.flag)
        limits, pace = _bucket_limits(points), _Pace(stop, bar)
        interruptible(partial(_insert_buckets, problem, rank, limits, thread_count(n_jobs), pace, begun), stop)
    return Graph(n, begun.edges, begun.lengths)


class _Pace:
    """How far the construction has come, and whether it should go on."""

    def __init__(self, stop: StopSignal, bar: Any) -> None:
        self.stop = stop
        self.bar = bar

    def steps(self, tasks: list[Any]) -> Iterator[Any]:
        """The tasks of a pass over the points, one after another."""
        for task in tasks:
            if self.stop.is_set():
                return
            yield task
            self.bar.update()

    def expect(self, tasks: int) -> None:
        """So many tasks are still to come."""
        self.bar.total = self.bar.n + tasks

    def require(self) -> None:
        """Go on only if nobody has asked to stop."""
        self.stop.require("the spanner was built")


def _insert_buckets(
    problem: Problem, rank: Integers, limits: list[float], n_threads: int, pace: _Pace, begun: Begun
) -> None:
    """Filter and insert bucket after bucket; a bucket that was cut short is taken up again where it was cut."""
    edges, lengths = np.empty((0, 2), dtype=np.int64), np.empty(0)
    lower = -1.0  # so that distances of 0 are in the first bucket
    for k, limit in enumerate(limits):
        while lower < limit:
            graph = laid_out(len(rank), edges, lengths)
            tasks = _filter_tasks(problem, graph, lower, limit)
            pace.expect((len(limits) - k) * len(tasks))
            pairs, distances, lower = _open_pairs(rank, tasks, n_threads, pace)
            chosen = _chosen(problem, edges, lengths, pairs, distances)
            pace.require()
            edges = np.concatenate([edges, pairs[chosen]])
            lengths = np.concatenate([lengths, distances[chosen]])
            # At once: who gave up waiting for this thread may read them at any time.
            vars(begun).update(edges=np.sort(rank[edges], axis=1), lengths=lengths, reached=lower)


def _open_pairs(rank: Integers, tasks: list[Any], n_threads: int, pace: _Pace) -> tuple[Integers, Floats, float]:
    """Pairs of a bucket that the filter leaves open, by distance and the ranks of their ends, and the limit kept to."""
    found = spread(pace.steps(tasks), n_threads)
    pace.require()
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
    room = ROOM * n // blocks
    cuts = [k * n // blocks for k in range(blocks + 1)]
    return [partial(filter_block, problem, graph, *run, lower, upper, radius, patience, room) for run in pairwise(cuts)]


def _chosen(
    problem: Problem, edges: Integers, lengths: Floats, pairs: Integers, distances: Floats
) -> NDArray[np.bool_]:
    """Which of the pairs, given in order, the greedy rule adds to the graph."""
    n = problem.columns.shape[1]
    pending = np.bincount(pairs.ravel(), minlength=n)
    graph = _adjacency(n, edges, lengths, pending)
    first = np.append(0, np.cumsum(pending))
    incident = np.argsort(pairs.ravel(), kind="stable") // 2
    linked: NDArray[np.bool_] = insert_in_order(problem, graph, pairs, distances, first, incident)
    return linked


def laid_out(n: int, edges: Integers, lengths: Floats) -> Adjacency:
    """The graph of edges given by length."""
    return _adjacency(n, edges, lengths, np.zeros(n, dtype=np.int64))


def _adjacency(n: int, edges: Integers, lengths: Floats, spare: Integers) -> Adjacency:
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


def _require_finite_paths(points: Floats, dilation: float) -> None:
    corners = np.vstack([points.min(axis=0), points.max(axis=0)])
    diameter = edge_lengths(corners, np.array([[0, 1]]))[0]
    if diameter > np.finfo(np.float64).max / (4.0 * dilation):
        raise InputError(
            f"paths of dilation {dilation:g} between points {diameter:g} apart overflow; rescale the coordinates"
        )
