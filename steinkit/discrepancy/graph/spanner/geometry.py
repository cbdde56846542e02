"""Graphs on the sample points, and how far they stretch distances.

A graph G on points x_1, ..., x_n has edges of length d(x_i, x_j) = ||x_i - x_j||_1. Its dilation is the largest ratio
of the length of the shortest path in G to the distance, over all pairs of points; G is a t-spanner if its dilation is
at most t. The graph Stein discrepancy of a t-spanner is within a factor of the complete graph's that depends on t and
the dimension alone, so the edges of a sparse spanner do the work of all n (n - 1) / 2 pairs.

Public functions take any sample and check it; what they share works on points, shape (n, d), that are.

References
----------
J. Gorham and L. Mackey (2015). Measuring sample quality with Stein's method. NeurIPS. Section 3 and Algorithm 2.
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
    """An undirected graph whose vertices are the points of a sample.

    Parameters
    ----------
    n_points : int
        Number of vertices n; they are numbered from 0.
    edges : ndarray of int, shape (m, 2)
        Endpoints i < j of every edge.
    lengths : ndarray, shape (m,)
        Distance between the endpoints of every edge.

    Raises
    ------
    InputError
        If an edge does not join two vertices i < j, or a length is negative or not finite.
    """

    n_points: int
    edges: Integers
    lengths: Floats

    def __post_init__(self) -> None:
        edges = checked_edges(self.edges, whole(self.n_points, "n_points", 0))
        try:
            lengths = np.asarray(self.lengths, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"lengths of edges must be numbers; received {type(self.lengths).__name__}") from None
        backward = np.flatnonzero(edges[:, 0] >= edges[:, 1])
        if backward.size:
            i, j = edges[backward[0]]
            raise InputError(f"edge {backward[0]} is ({i}, {j}); every edge must be written (i, j) with i < j")
        if lengths.shape != (len(edges),):
            raise InputError(f"{len(edges)} edges need as many lengths; received shape {lengths.shape}")
        if not (np.isfinite(lengths) & (lengths >= 0.0)).all():
            raise InputError("lengths of edges must be finite and not negative")
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "lengths", lengths)

    def __repr__(self) -> str:
        return f"<Graph of {self.n_points} points, {len(self.edges)} edges>"

    def __len__(self) -> int:
        return len(self.edges)

    def to_networkx(self) -> networkx.Graph:
        """Convert to a graph of NetworkX.

        Returns
        -------
        networkx.Graph
            On the vertices 0, ..., n - 1, with the edges' lengths under ``"length"``.
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
    """The graph without edges, which is enough where a program is written without them: on a line."""
    return Graph(n_points, np.empty((0, 2), dtype=np.int64), np.empty(0))


def sorted_graph(points: DrawsLike) -> Graph:
    """Join consecutive points of a sorted sample of dimension 1.

    On a line this graph has dilation 1: paths are as long as distances. Its discrepancy therefore equals that of the
    complete graph, with n - 1 edges.

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, 1)
        In any order.

    Returns
    -------
    Graph
        The n - 1 edges from left to right. Equal points are joined by edges of length 0, in order of their index.

    Raises
    ------
    InputError
        If the points are not finite or have more than one coordinate.

    References
    ----------
    J. Gorham and L. Mackey (2015). Measuring sample quality with Stein's method. NeurIPS. Algorithm 2.
    """
    return join_neighbours(as_sample(points).points)


def join_neighbours(points: Floats) -> Graph:
    """`sorted_graph` of points that are checked, shape (n, d)."""
    n, dim = points.shape
    if dim != 1:
        raise InputError(f"points of dimension {dim} cannot be sorted along a line; use greedy_spanner")
    rank = np.argsort(points[:, 0], kind="stable")
    edges = np.sort(np.column_stack([rank[:-1], rank[1:]]), axis=1)
    return Graph(n, edges, edge_lengths(points, edges))


def complete_graph(points: DrawsLike) -> Graph:
    """Join all pairs of points, in lexicographic order.

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, d)
        The vertices.

    Returns
    -------
    Graph
        The n (n - 1) / 2 edges (i, j) with i < j, and the L1 distances as their lengths.

    Raises
    ------
    UsageError
        If there are more than five million pairs (n > 3162).
    InputError
        If the points or their distances are not finite.
    """
    return join_all_pairs(as_sample(points).points)


def join_all_pairs(points: Floats) -> Graph:
    """`complete_graph` of points that are checked, shape (n, d)."""
    n = len(points)
    pairs = n * (n - 1) // 2
    if pairs > MOST_COMPLETE_PAIRS:
        raise UsageError(
            f"the complete graph on {n} points has {pairs} edges; at most {MOST_COMPLETE_PAIRS} are allowed: "
            "use greedy_spanner, which needs a few edges a point"
        )
    edges = np.column_stack(np.triu_indices(n, k=1))
    require_time("all pairs were joined")
    lengths = edge_lengths(points, edges)
    require_time("all pairs were joined")
    return Graph(n, edges, lengths)


def edge_lengths(points: Floats, edges: Integers) -> Floats:
    """Distances between the endpoints of edges, shape (m,).

    Coordinates are summed in order, one rounding each, so that the lengths are, to the last bit, those that
    `greedy_spanner` orders pairs by.
    """
    i, j = edges.T
    return _norm(column[i] - column[j] for column in points.T)


def dilation(points: DrawsLike, graph: Graph | ArrayLike, *, block: int = 256) -> float:
    """Compute the dilation of a graph: the largest ratio, over all pairs, of graph distance to distance.

    This is exact up to rounding: one run of Dijkstra's algorithm from every point, O(n (n + m) log n) in all.

    Parameters
    ----------
    points : Sample or array_like, shape (n,) or (n, d)
        The vertices.
    graph : Graph or array_like of int, shape (m, 2)
        The graph, or its edges alone.
    block : int, default 256
        How many points are handled at a time; memory is O(block x n).

    Returns
    -------
    float
        At least 1; infinite if the graph does not connect all points. Equal points joined by a path of length 0
        count as 1.

    Raises
    ------
    InputError
        If the points are not finite, an edge names no vertex, or the graph has another number of points.
    UsageError
        If ``block`` < 1.
    """
    from scipy.sparse.csgraph import dijkstra

    points = as_sample(points).points
    n = len(points)
    whole(block, "block", 1)
    edges = _edges_of(graph, n)
    links = _link_matrix(n, edges, edge_lengths(points, edges))
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
    """The stretch t of a spanner, which is a finite number above 1."""
    return number(dilation, "dilation", lambda t: 1.0 < t <= 1e100, "above 1 and at most 1e100")


def checked_edges(edges: ArrayLike, n_points: int) -> Integers:
    """Return edges as an integer array of shape (m, 2).

    Raises
    ------
    InputError
        If they have another shape or type, name no vertex, or join a vertex to itself.
    """
    array = np.asarray(edges)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InputError(f"edges must be whole numbers of shape (m, 2); received {array.dtype} of shape {array.shape}")
    bad = ((array < 0) | (array >= n_points)).any(axis=1) | (array[:, 0] == array[:, 1])
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"edge {row} is ({array[row, 0]}, {array[row, 1]}); "
            f"it must join two different vertices between 0 and {n_points - 1}"
        )
    return array.astype(np.int64)


def _norm(differences: Iterable[Floats]) -> Floats:
    """L1 norm of vectors given coordinate by coordinate; the kernel `distances_run` rounds in the same way."""
    total: Any = 0.0
    for difference in differences:
        total = total + np.abs(difference)
    return np.asarray(total, dtype=np.float64)


def _edges_of(graph: Graph | ArrayLike, n_points: int) -> Integers:
    if not isinstance(graph, Graph):
        return checked_edges(graph, n_points)
    if graph.n_points != n_points:
        raise InputError(f"the graph has {graph.n_points} vertices but there are {n_points} points")
    return graph.edges


def _link_matrix(n_points: int, edges: Integers, lengths: Floats) -> Any:
    """Symmetric sparse matrix of edge lengths; a repeated edge counts once, an edge of length 0 is kept."""
    from scipy.sparse import csr_array

    unique, first = np.unique(np.sort(edges, axis=1), axis=0, return_index=True)
    i, j = unique.T
    values = np.tile(lengths[first], 2)
    return csr_array((values, (np.append(i, j), np.append(j, i))), shape=(n_points, n_points))
