"""Time and sparsity of the greedy spanner, relative to other algorithms in the same process.

The other algorithms are the dense algorithm, which stores the lengths of all shortest paths in an n x n matrix and is
also compiled, and `networkx.spanner` (the randomized algorithm of Baswana and Sen on the complete graph). Times are CPU
times, as medians of alternating runs, with compiled kernels.

    python benchmarks/spanner.py [--quick] [--record]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from functools import partial
from statistics import median
from typing import Any

import numba
import numpy as np
from costs import cpu_seconds
from numpy.typing import NDArray
from records import add_option, keep

Floats = NDArray[np.float64]

DILATION = 2.0
DIMENSIONS = (2, 3, 5, 10)
TARGET_SPEED = 3.0  # goal: speedup relative to the dense algorithm, at n = 3000, d = 2
TARGET_EDGES = 8.0  # goal: ratio of edges of networkx to ours, at t = 3


@numba.njit(nogil=True)
def open_pairs(points: Floats, path: Floats, t: float, lower: float, upper: float) -> tuple[Any, Any]:
    """Return pairs at l_1 distance in (lower, upper] whose paths so far are too long."""
    n, dim = points.shape
    pairs, lengths, count = np.empty((4096, 2), np.int32), np.empty(4096), 0
    for i in range(n):
        for j in range(i + 1, n):
            distance = 0.0
            for k in range(dim):
                distance += abs(points[i, k] - points[j, k])
            if lower < distance <= upper and path[i, j] > t * distance:
                if count == len(lengths):
                    pairs = np.concatenate((pairs, np.empty_like(pairs)))
                    lengths = np.concatenate((lengths, np.empty_like(lengths)))
                pairs[count, 0], pairs[count, 1], lengths[count] = i, j, distance
                count += 1
    return pairs[:count], lengths[:count]


@numba.njit(nogil=True)
def insert_pairs(path: Floats, t: float, furthest: float, pairs: Any, lengths: Floats) -> Any:
    """Insert the required pairs, in the given order.

    Paths longer than ``furthest`` are ignored.
    """
    n = len(path)
    chosen = np.zeros(len(lengths), np.bool_)
    near_u, near_v = np.empty(n, np.int32), np.empty(n, np.int32)
    to_v, to_u = np.empty(n), np.empty(n)
    for c in range(len(lengths)):
        u, v, length = pairs[c, 0], pairs[c, 1], lengths[c]
        if path[u, v] <= t * length:
            continue
        chosen[c] = True
        n_u = n_v = 0
        for x in range(n):
            if path[u, x] + length < path[v, x] and path[u, x] + length <= furthest:
                near_u[n_u], to_v[n_u] = x, path[u, x] + length
                n_u += 1
            elif path[v, x] + length < path[u, x] and path[v, x] + length <= furthest:
                near_v[n_v], to_u[n_v] = x, path[v, x]
                n_v += 1
        for a in range(n_u):
            x = near_u[a]
            for b in range(n_v):
                y = near_v[b]
                through = to_v[a] + to_u[b]
                if through < path[x, y]:
                    path[x, y] = through
                    path[y, x] = through
    return chosen


def dense_spanner(points: Floats, t: float = DILATION) -> NDArray[np.int64]:
    """Compute the greedy spanner with a matrix of path lengths, in buckets of increasing length."""
    n = len(points)
    path = np.full((n, n), np.inf)
    np.fill_diagonal(path, 0.0)
    furthest = t * float(np.ptp(points, axis=0).sum())
    i, j = np.random.default_rng(0).integers(n, size=(2, min(400_000, n * n)))
    levels = 8 / n * 4.0 ** np.arange(20)
    limits = np.quantile(np.abs(points[i] - points[j]).sum(axis=1)[i != j], levels[levels < 1.0])
    edges, lower = [], -1.0
    for upper in [*np.unique(limits).tolist(), np.inf]:
        pairs, lengths = open_pairs(points, path, t, lower, upper)
        rank = np.argsort(lengths, kind="stable")
        chosen = insert_pairs(path, t, furthest, pairs[rank], lengths[rank])
        edges.append(pairs[rank][chosen])
        lower = upper
    return np.concatenate(edges).astype(np.int64)


def compare_times(sizes: tuple[int, ...], runs: int) -> list[dict[str, Any]]:
    """Print the comparison with the dense algorithm, and return its rows."""
    from steinkit.discrepancy.graph.spanner.greedy import greedy_spanner

    print(f"\nGreedy {DILATION:g}-spanner of N(0, I), l_1 norm; median of {runs} runs in turn, CPU seconds")
    print(f"{'d':>3} {'n':>6} {'edges':>7} {'ours':>9} {'dense':>9} {'dense/ours':>11}  same edges")
    table = []
    for d in DIMENSIONS:
        for n in sizes:
            points = np.random.default_rng(0).standard_normal((n, d))
            rows = []
            for _ in range(runs):
                ours, graph = cpu_seconds(partial(greedy_spanner, points, DILATION))
                dense, edges = cpu_seconds(partial(dense_spanner, points))
                rows.append((ours, dense, dense / ours))
            ours, dense, ratio = (median(column) for column in zip(*rows, strict=True))
            same = "yes" if np.array_equal(graph.edges, edges) else "NO"
            print(f"{d:3} {n:6} {len(graph):7} {ours:9.4f} {dense:9.4f} {ratio:11.2f}  {same}", flush=True)
            table.append({"dim": d, "n": n, "edges": len(graph), "seconds": ours, "dense": dense, "ratio": ratio})
    return table


def compare_edges(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Print the comparison with networkx at t = 3, and return its rows."""
    import networkx

    from steinkit.discrepancy.graph.spanner.geometry import complete_graph
    from steinkit.discrepancy.graph.spanner.greedy import greedy_spanner

    print("\nEdges of 3-spanners of N(0, I), l_1 norm, and CPU seconds")
    print(f"{'d':>3} {'n':>6} {'ours':>7} {'networkx':>9} {'ratio':>7} {'ours, s':>9} {'networkx, s':>12}")
    table = []
    for d in DIMENSIONS:
        for n in sizes:
            points = np.random.default_rng(0).standard_normal((n, d))
            complete = complete_graph(points).to_networkx()
            ours, graph = cpu_seconds(partial(greedy_spanner, points, 3.0))
            theirs, peer = cpu_seconds(partial(networkx.spanner, complete, 3, weight="length", seed=0))
            ratio = peer.number_of_edges() / len(graph)
            print(
                f"{d:3} {n:6} {len(graph):7} {peer.number_of_edges():9} {ratio:7.1f} {ours:9.4f} {theirs:12.4f}",
                flush=True,
            )
            table.append({"dim": d, "n": n, "edges": len(graph), "networkx": peer.number_of_edges(), "ratio": ratio})
    return table


def verdict(value: float, target: float) -> str:
    return f"{value:.2f} (target: at least {target:g}) {'met' if value >= target else 'MISSED'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one run each")
    add_option(parser)
    settings = parser.parse_args()
    quick = settings.quick
    sizes, peer_sizes, runs = ((100, 200), (50,), 1) if quick else ((300, 1000, 3000), (300, 1000), 3)
    if not quick:
        subprocess.run([sys.executable, "-m", "steinkit", "warm"], check=True, stdout=subprocess.DEVNULL)
    dense_spanner(np.random.default_rng(1).standard_normal((50, 2)))
    times = compare_times(sizes, runs)
    edges = compare_edges(peer_sizes)
    speed = next(row["ratio"] for row in times if (row["dim"], row["n"]) == (2, sizes[-1]))
    fewer = min(row["ratio"] for row in edges)
    print(f"\nTimes faster than the dense algorithm, d = 2, n = {sizes[-1]}: {verdict(speed, TARGET_SPEED)}")
    print(f"Times fewer edges than networkx, least of all rows: {verdict(fewer, TARGET_EDGES)}")
    keep(
        settings.record,
        "spanner",
        [{"of": "times", **row} for row in times] + [{"of": "edges", **row} for row in edges],
    )


if __name__ == "__main__":
    main()
