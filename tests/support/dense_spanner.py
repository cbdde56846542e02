"""The greedy spanner by brute force, from its definition."""

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def distance_matrix(points: Floats) -> Floats:
    """Return all L1 distances, summed over coordinates in order."""
    return np.asarray(np.abs(points.T[:, :, None] - points.T[:, None, :]).sum(axis=0))


def pairs_in_order(distance: Floats) -> Iterator[tuple[int, int]]:
    i, j = np.triu_indices(len(distance), k=1)
    rank = np.lexsort((j, i, distance[i, j]))
    yield from zip(i[rank].tolist(), j[rank].tolist(), strict=True)


def dense_greedy(points: Floats, t: float) -> list[tuple[int, int]]:
    """Return the greedy t-spanner, with all graph distances in a matrix."""
    distance = distance_matrix(points)
    path = np.full_like(distance, np.inf)
    np.fill_diagonal(path, 0.0)
    edges = []
    for i, j in pairs_in_order(distance):
        length = distance[i, j]
        if path[i, j] > t * length:
            edges.append((i, j))
            nearer_i = np.flatnonzero(path[i] + length < path[j])
            nearer_j = np.flatnonzero(path[j] + length < path[i])
            through = np.add.outer(path[i, nearer_i] + length, path[j, nearer_j])
            block = np.minimum(path[np.ix_(nearer_i, nearer_j)], through)
            path[np.ix_(nearer_i, nearer_j)] = block
            path[np.ix_(nearer_j, nearer_i)] = block.T
    return edges


def searching_greedy(points: Floats, t: float) -> list[tuple[int, int]]:
    """Return the greedy t-spanner, with one search per pair i < j and sums in the defined order."""
    distance = distance_matrix(points)
    links: list[list[tuple[int, float]]] = [[] for _ in points]
    edges = []
    for i, j in pairs_in_order(distance):
        length = float(distance[i, j])
        if path_length(links, i, j, t * length) > t * length:
            edges.append((i, j))
            links[i].append((j, length))
            links[j].append((i, length))
    return edges


def path_length(links: list[list[tuple[int, float]]], source: int, goal: int, most: float) -> float:
    """Return the length of the shortest path, or infinity if it is above `most`."""
    best = {source: 0.0}
    queue = [(0.0, source)]
    while queue:
        reached, node = heapq.heappop(queue)
        if node == goal:
            return reached
        for other, length in links[node]:
            if reached + length <= most and reached + length < best.get(other, np.inf):
                best[other] = reached + length
                heapq.heappush(queue, (reached + length, other))
    return float(np.inf)
