"""Spanners in a time: the dilation that is said holds, and nothing is said where none is known."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from steinkit import SteinkitWarning, Target, graph_stein_discrepancy
from steinkit.discrepancy.graph.spanner import greedy
from steinkit.discrepancy.graph.spanner.geometry import dilation
from steinkit.discrepancy.graph.spanner.greedy import greedy_spanner, laid_out
from steinkit.discrepancy.graph.spanner.search_kernels import cover
from steinkit.errors import TimeLimitError
from steinkit.runtime.deadlines import time_limit


def normal(n: int, d: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.fixture
def out_of_time(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the time of a number of greedy spanners run out after so many buckets, whatever the clock says."""

    def after(buckets: int, spanners: int = 1) -> None:
        whole, left = greedy._open_pairs, [buckets, spanners]

        def counted(*arguments: Any) -> Any:
            if left[1] and not left[0]:
                left[:] = buckets, left[1] - 1
                raise TimeLimitError("the spanner was built")
            left[0] -= left[1] > 0
            return whole(*arguments)

        monkeypatch.setattr(greedy, "MOST_BY_EMPTY_BOXES", 0)
        monkeypatch.setattr(greedy, "_open_pairs", counted)

    return after


class TestSpanInTime:
    @pytest.mark.parametrize("limit", [None, 600.0])
    def test_is_the_greedy_one_where_there_is_time(self, limit: float | None) -> None:
        points = normal(200, 2)
        with time_limit(limit):
            graph, stretch = greedy.span_in_time(points, 1.5, n_jobs=1, progress=False)
        np.testing.assert_array_equal(graph.edges, greedy_spanner(points, 1.5).edges)
        assert stretch == 1.5

    @pytest.mark.parametrize("d", [2, 5])
    @pytest.mark.parametrize(("buckets", "spanners"), [(1, 1), (2, 1), (2, 2), (3, 1)])
    def test_a_coarser_one_keeps_the_dilation_it_says(
        self, out_of_time: Any, buckets: int, spanners: int, d: int
    ) -> None:
        points = normal(400, d, buckets)
        exact = greedy_spanner(points, 2.0)
        out_of_time(buckets, spanners)
        with time_limit(600.0):
            graph, stretch = greedy.span_in_time(points, 2.0, n_jobs=1, progress=False)
        most = 8.0 if spanners == 1 else 26.0  # s + 2 (1 + s) of s, where the radius is what was reached
        assert 2.0 < stretch <= most * (1.0 + 1e-9)
        assert dilation(points, graph) <= stretch * (1.0 + 1e-12)
        assert (graph.edges[:, 0] < graph.edges[:, 1]).all()
        assert len(np.unique(graph.edges, axis=0)) == len(graph) < 3 * len(exact)

    def test_no_time_for_the_first_pairs_is_an_error(self, out_of_time: Any) -> None:
        out_of_time(0)
        with time_limit(600.0), pytest.raises(TimeLimitError):
            greedy.span_in_time(normal(400, 2), 2.0, n_jobs=1, progress=False)

    def test_what_a_thread_left_behind_adds_later_counts_for_nothing(
        self, out_of_time: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        points, known, span_whole, cover_whole = normal(400, 2), [], greedy.span_greedily, greedy._cover

        def noted(*arguments: Any, **named: Any) -> Any:
            known.append(named["begun"])
            return span_whole(*arguments, **named)

        def cover_late(*arguments: Any) -> Any:
            known[0].append(known[0][-1]._replace(reached=1e9))
            return cover_whole(*arguments)

        monkeypatch.setattr(greedy, "span_greedily", noted)
        monkeypatch.setattr(greedy, "_cover", cover_late)
        out_of_time(2)
        with time_limit(600.0):
            graph, stretch = greedy.span_in_time(points, 2.0, n_jobs=1, progress=False)
        assert dilation(points, graph) > 2.0
        assert dilation(points, graph) <= stretch * (1.0 + 1e-12)

    def test_a_discrepancy_says_that_its_graph_is_coarser(self, out_of_time: Any) -> None:
        points, target = normal(400, 2), Target(lambda x: -x, dim=2)
        out_of_time(2)
        with pytest.warns(SteinkitWarning, match="no time for a 2-spanner"):
            coarse = graph_stein_discrepancy(points, target, tolerance=1e-3, max_seconds=600.0)
        assert coarse.dilation > 2.0
        assert coarse.dilation_asked == 2.0
        assert "no time for a 2-spanner" in coarse.unranked
        assert coarse.to_dict()["dilation"] == coarse.dilation
        exact = graph_stein_discrepancy(points, target, graph="complete", tolerance=1e-2)
        assert exact.dilation_asked is None
        assert "no time" not in exact.unranked
        assert exact.lower <= coarse.upper
        assert coarse.lower <= 2.0 * coarse.dilation**2 * exact.upper


def test_cover() -> None:
    graph = greedy_spanner(normal(300, 2))
    links = laid_out(300, graph.edges, graph.lengths)
    paths = dijkstra(csr_array((graph.lengths, graph.edges.T), shape=(300, 300)), directed=False)
    for radius in (0.0, 0.3, 1.0):
        twin: list[int] = []
        for node in range(300):
            if not (paths[node, twin] <= radius).any():
                twin.append(node)
        assert cover(links, radius, np.zeros(1, dtype=bool)).tolist() == twin


def test_time_that_is_over_is_what_is_said():
    points = np.random.default_rng(0).standard_normal((20, 2))
    with time_limit(1e-9), pytest.raises(TimeLimitError):
        greedy.span_in_time(points, 2.0, n_jobs=1, progress=False)


def test_the_dilation_that_is_said_allows_for_the_rounding_of_every_length():
    rng, step = np.random.default_rng(3), Fraction(2) ** -52
    for _ in range(200):
        n, d = int(rng.integers(2, 10**6)), int(rng.integers(1, 50))
        stretch, radius, reached = float(1.0 + 9.0 * rng.random()), *map(float, 10.0 ** rng.uniform(-9, 9, 2))
        off = (n + d) * step  # a sum of n lengths, each the root of a sum of d squares
        exact = [Fraction(each) for each in (stretch * 1.0, radius, reached)]
        worst = exact[0] * (1 + off) + 2 * exact[1] * (1 + off) * (1 + exact[0] * (1 + off)) / (exact[2] * (1 - off))
        said = Fraction(greedy._dilation(stretch, radius, reached, n, d))
        assert worst <= said <= worst * (1 + 8 * (n + d + 8) * step)
