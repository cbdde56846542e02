"""Graphs on the points of a sample, and their dilation.

A graph G on points x_1, ..., x_n has edges of length d(x_i, x_j) = ||x_i - x_j||_1. For each pair of points, consider
the ratio of the length of the shortest path in G to the distance between the points. The dilation of G is the largest
of these ratios. The graph is called a t-spanner if its dilation is at most t. The graph Stein discrepancy of a
t-spanner is at least the discrepancy of the complete graph and at most 2 t^2 times as large (Proposition 6 in [1]_).
Therefore, the edges of a sparse spanner can replace all n (n - 1) / 2 pairs.

References
----------
.. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from steinkit.arguments import number, whole
from steinkit.containers.reading import DrawsLike, as_sample
from steinkit.errors import InputError, UsageError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers

if TYPE_CHECKING:
    import networkx


MOST_COMPLETE_PAIRS = 5_000_000


@dataclass(frozen=True, eq=False)
class Graph:
    """Undirected graph on the points of a sample.

    Parameters
    ----------
    n_points : int
        Number of vertices n, numbered from 0.
    edges : ndarray of int, shape (m, 2)
        Endpoints i < j of every edge.
    lengths : ndarray, shape (m,)
        Distance between the endpoints of every edge.

    Raises
    ------
    InputError
        If an edge does not join two vertices i < j, or if a length is negative or not finite.

    Examples
    --------
    >>> import numpy as np, steinkit as sk
    >>> sk.Graph(3, np.array([[0, 1], [1, 2]]), np.array([0.5, 1.0]))
    <Graph of 3 points, 2 edges>
    """

    n_points: int
    edges: Integers
    lengths: Floats

    def __post_init__(self) -> None:
        edges = checked_edges(self.edges, whole(self.n_points, "n_points", 0))
        try:
            lengths = np.asarray(self.lengths, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"lengths of edges must be numbers; got {type(self.lengths).__name__}") from None
        backward = np.flatnonzero(edges[:, 0] >= edges[:, 1])
        if backward.size:
            i, j = edges[backward[0]]
            raise InputError(f"edges must have the form (i, j) with i < j; got ({i}, {j}) at edge {backward[0]}")
        if lengths.shape != (len(edges),):
            raise InputError(f"lengths of edges must have shape ({len(edges)},); got {lengths.shape}")
        if not (np.isfinite(lengths) & (lengths >= 0.0)).all():
            raise InputError("lengths of edges must be finite and non-negative")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "lengths", lengths)

    def __repr__(self) -> str:
        return f"<Graph of {self.n_points} points, {len(self.edges)} edges>"

    def __len__(self) -> int:
        return len(self.edges)

    def to_networkx(self) -> networkx.Graph:
        """Convert this graph to a NetworkX graph.

        Returns
        -------
        networkx.Graph
            Graph on the vertices 0, ..., n - 1, with the edge attribute ``"length"``.
        """
        import networkx

        graph = networkx.Graph()
        graph.add_nodes_from(range(self.n_points))
        ends = self.edges.tolist()
        graph.add_weighted_edges_from(
            ((i, j, length) for (i, j), length in zip(ends, self.lengths.tolist(), strict=True)), weight="length"
        )
        return graph


def unjoined(n_points: int) -> Graph:
    """Return the graph without edges."""
    return Graph(n_points, np.empty((0, 2), dtype=np.int64), np.empty(0))


def sorted_graph(points: DrawsLike) -> Graph:
    """Join consecutive points of a one-dimensional sample.

    This graph has dilation 1, so its discrepancy equals that of the complete graph (Algorithm 2 in [1]_).

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, 1)
        The points, in any order.

    Returns
    -------
    Graph
        Graph with n - 1 edges, listed from left to right. Equal points are joined by edges of length 0, in the order of
        their indices.

    Raises
    ------
    InputError
        If the points are not finite or have more than one coordinate.

    References
    ----------
    .. [1] J. Gorham and L. Mackey, "Measuring sample quality with Stein's method", NeurIPS 2015.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.sorted_graph([2.0, 0.0, 0.5]).edges.tolist()
    [[1, 2], [0, 2]]
    """
    return join_neighbours(as_sample(points).points)


def join_neighbours(points: Floats) -> Graph:
    """Return the graph that joins consecutive validated points."""
    n, dim = points.shape
    if dim != 1:
        raise InputError(f"expected points of dimension 1, got dimension {dim}; use greedy_spanner")
    rank = np.argsort(points[:, 0], kind="stable")
    edges = np.sort(np.column_stack([rank[:-1], rank[1:]]), axis=1)
    return Graph(n, edges, edge_lengths(points, edges))


def complete_graph(points: DrawsLike) -> Graph:
    """Join all pairs of points in lexicographic order.

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, d)
        The points.

    Returns
    -------
    Graph
        Graph with the n (n - 1) / 2 edges (i, j) with i < j, and the L1 distances as their lengths.

    Raises
    ------
    UsageError
        If there are more than five million pairs (n > 3162).
    InputError
        If the points or their distances are not finite.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.complete_graph([[0.0, 0.0], [1.0, 2.0], [1.0, 1.0]]).lengths.tolist()
    [3.0, 2.0, 1.0]
    """
    points = as_sample(points).points
    n = len(points)
    pairs = n * (n - 1) // 2
    if pairs > MOST_COMPLETE_PAIRS:
        raise UsageError(
            f"the complete graph must have at most {MOST_COMPLETE_PAIRS} edges; got {pairs} with {n} points; "
            "use greedy_spanner, which has a few edges per point"
        )
    edges = np.column_stack(np.triu_indices(n, k=1))
    require_time("joining all pairs")
    lengths = edge_lengths(points, edges)
    require_time("joining all pairs")
    return Graph(n, edges, lengths)


def edge_lengths(points: Floats, edges: Integers) -> Floats:
    """Return the distance between the endpoints of each of m edges.

    The lengths are bit-for-bit identical to those in `greedy_spanner`.
    """
    i, j = edges.T
    return _norm(column[i] - column[j] for column in points.T)


def dilation(points: DrawsLike, graph: Graph | ArrayLike, *, block: int = 256) -> float:
    """Compute the dilation of a graph.

    The dilation is the largest ratio of graph distance to L1 distance. The computed dilation is exact up to rounding
    errors. Dijkstra's algorithm runs from every point. The total time is O(n (n + m) log n).

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, d)
        The points.
    graph : Graph or array_like of int, shape (m, 2)
        The graph, or an array of its edges.
    block : int, default 256
        Number of points per step. The memory use is O(block x n).

    Returns
    -------
    float
        The dilation, which is at least 1, and infinite if the graph is not connected. The ratio for equal points that
        are joined by a path of length 0 is defined as 1.

    Raises
    ------
    InputError
        If the points are not finite, if an endpoint of an edge is not a vertex, or if the graph has a different number
        of points.
    UsageError
        If ``block`` < 1.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.dilation([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0, 1], [0, 2]])
    1.0
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    points = as_sample(points).points
    n = len(points)
    whole(block, "block", 1)
    if isinstance(graph, Graph) and graph.n_points != n:
        raise InputError(f"expected a graph with {n} vertices, got {graph.n_points}")
    edges = graph.edges if isinstance(graph, Graph) else checked_edges(graph, n)
    unique = np.unique(np.sort(edges, axis=1), axis=0)  # repeated edges are counted once
    (i, j), lengths = unique.T, edge_lengths(points, unique)
    links = csr_array((np.tile(lengths, 2), (np.append(i, j), np.append(j, i))), shape=(n, n))  # also stores zeros
    largest = 1.0
    for first in range(0, n, block):
        rows = np.arange(first, min(first + block, n))
        path = dijkstra(links, directed=True, indices=rows)
        straight = _norm(np.subtract.outer(column[rows], column) for column in points.T)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = path / straight
        ratio[(path == 0.0) & (straight == 0.0)] = 1.0
        largest = max(largest, float(ratio.max()))
    return largest


def checked_dilation(dilation: float) -> float:
    """Validate the dilation t of a spanner."""
    return number(dilation, "dilation", lambda t: 1.0 < t <= 1e100, "above 1 and at most 1e100")


def checked_edges(edges: ArrayLike, n_points: int) -> Integers:
    """Return edges as an integer array of shape (m, 2).

    Raises
    ------
    InputError
        If the shape or type is different, or if an edge does not join two different vertices.
    """
    array = np.asarray(edges)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"edges must be integers of shape (m, 2); got {array.dtype} of shape {array.shape}")
    bad = ((array < 0) | (array >= n_points)).any(axis=1) | (array[:, 0] == array[:, 1])
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"edges must join two different vertices between 0 and {n_points - 1}; "
            f"got ({array[row, 0]}, {array[row, 1]}) at edge {row}"
        )
    return array.astype(np.int64)


def _norm(differences: Iterable[Floats]) -> Floats:
    """Return the L1 norms of vectors stored by coordinate.

    The norm is rounded as in the compiled kernel `distances_run`.
    """
    total: Any = 0.0
    for difference in differences:
        total = total + np.abs(difference)
    return np.asarray(total, dtype=np.float64)
