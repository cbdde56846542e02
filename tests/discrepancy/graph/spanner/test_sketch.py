"""Sketches of a graph: whatever is joined in one is joined in the graph, by walks as long as it says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from steinkit.discrepancy.graph.spanner import greedy, sketch
from steinkit.discrepancy.graph.spanner import range_kernels as ranges
from steinkit.discrepancy.graph.spanner.box_tree import BoxTree, box_tree, with_descendants
from steinkit.discrepancy.graph.spanner.greedy import greedy_spanner, laid_out
from steinkit.sample import Floats

WIDTH = 0.35


def clouds(n: int, seed: int) -> Floats:
    """A wide cloud, and a narrow one some way off."""
    rng = np.random.default_rng(seed)
    return np.vstack([rng.standard_normal((n // 2, 2)), [6.0, 1.0] + 0.01 * rng.standard_normal((n - n // 2, 2))])


@pytest.fixture(params=[0, 1])
def drawn(request: pytest.FixtureRequest) -> tuple[Floats, BoxTree, sketch.Sketch, sketch.Sketch, Floats]:
    """Columns of points, their tree, two sketches, the second made from the first, and path lengths in the graph."""
    points = clouds(300, request.param)
    rank, tree = box_tree(points, greedy.LEAF_SIZE)
    points = points[rank]
    columns, stop = np.ascontiguousarray(points.T), np.zeros(1, dtype=bool)
    graph = greedy_spanner(points)
    first = graph.lengths <= WIDTH
    levels = [sketch.sketch_of_points(columns, tree, laid_out(300, graph.edges[first], graph.lengths[first]))]
    for width in (0.5 * WIDTH, WIDTH):
        grouped = greedy._groups(tree, width)
        nodes = np.concatenate(greedy._sources(tree, grouped))
        levels.append(sketch.coarser(levels[-1], columns, tree, nodes[grouped[nodes]], width, stop))
    later = sketch.with_edges(levels[-1], graph.edges[~first], graph.lengths[~first])
    paths = dijkstra(csr_array((graph.lengths, graph.edges.T), shape=(300, 300)), directed=False)
    return columns, tree, levels[1], later, paths


class TestSketch:
    def test_cells_are_runs_of_points_near_one_another(self, drawn) -> None:  # type: ignore[no-untyped-def]
        columns, tree, fine, coarse, _ = drawn
        assert len(coarse.centre) < len(fine.centre) < 250
        for drawing, width in ((fine, 0.5 * WIDTH), (coarse, WIDTH)):
            assert set(np.diff(drawing.cell)) <= {0, 1}
            np.testing.assert_array_equal(drawing.cell[drawing.centre], np.arange(len(drawing.centre)))
            np.testing.assert_array_equal(drawing.columns, columns[:, drawing.centre])
            for cell in range(len(drawing.centre)):
                inside = columns[:, drawing.cell == cell]
                assert np.ptp(inside, axis=1).sum() <= width
            made = drawing.part >= 0
            assert drawing.whole[drawing.part[made]].all()
            assert (tree.first[drawing.part[made]] <= np.flatnonzero(made)).all()
            assert (tree.end[drawing.part[made]] > np.flatnonzero(made)).all()
        assert len(np.unique(np.column_stack([fine.cell, coarse.cell]), axis=0)) == len(fine.centre)  # none is split

    def test_lengths_are_those_of_walks(self, drawn) -> None:  # type: ignore[no-untyped-def]
        *_, fine, coarse, paths = drawn
        for drawing in (fine, coarse):
            centre = drawing.centre[drawing.cell]
            assert (drawing.way >= paths[np.arange(300), centre] * (1.0 - 1e-12)).all()
            assert np.isfinite(drawing.way).all()
            ends, lengths = sketch._links(drawing.links)
            between = paths[drawing.centre[ends[:, 0]], drawing.centre[ends[:, 1]]]
            assert (lengths >= between * (1.0 - 1e-12)).all()
            starts = np.flatnonzero(np.diff(ends[:, 0]))
            assert (np.delete(np.diff(lengths), starts) >= 0.0).all()  # shortest first

    def test_nothing_is_cut_off_and_ways_are_short(self, drawn) -> None:  # type: ignore[no-untyped-def]
        *_, coarse, paths = drawn
        ends, lengths = sketch._links(coarse.links)
        n = len(coarse.centre)
        shortest = np.full((n, n), np.inf)
        np.minimum.at(shortest, tuple(ends.T), lengths)
        rows, columns = np.nonzero(np.isfinite(shortest))
        known = dijkstra(csr_array((shortest[rows, columns], (rows, columns)), shape=(n, n)))
        through = known[np.ix_(coarse.cell, coarse.cell)] + coarse.way[:, None] + coarse.way
        assert np.isfinite(through).all()
        far = paths > 5.0 * WIDTH
        assert far.any()
        assert np.median(through[far] / paths[far]) < 1.3
        assert (through[far] >= paths[far] * (1.0 - 1e-12)).all()

    def test_points_that_no_short_walk_joins_stay_in_pieces(self) -> None:
        points = np.array([[0.0, 0.0], [0.0, 0.1], [0.0, 0.2], [0.0, 0.3], [9.0, 0.0], [9.0, 9.0]])
        rank, tree = box_tree(points, 4)
        columns = np.ascontiguousarray(points[rank].T)
        near = np.flatnonzero(rank < 4)
        edges = np.array([[near[0], near[1]], [near[2], near[3]]])  # and no way from the first two to the others
        lengths = np.array([0.1, 0.1])
        whole = sketch.sketch_of_points(columns, tree, laid_out(6, edges, lengths))
        narrow = (tree.high - tree.low).sum(axis=1) <= 0.31
        holding = np.flatnonzero(narrow & (tree.end - tree.first >= 3))
        made = sketch.coarser(whole, columns, tree, holding, 0.3, np.zeros(1, dtype=bool))
        np.testing.assert_array_equal(made.cell, np.arange(6))
        np.testing.assert_array_equal(made.way, np.zeros(6))

    def test_parts_of_a_node_are_its_cells_and_leaves(self, drawn) -> None:  # type: ignore[no-untyped-def]
        _, tree, _, coarse, _ = drawn
        parts = np.empty(len(tree.first) + 64, np.int64)
        for node in (1, 2, 3, 5):
            found = parts[: ranges.parts_of(tree, node, coarse.whole, parts)]
            assert coarse.whole[found].all()
            assert not coarse.whole[found[found > 1] // 2].any()
            covered = np.concatenate([np.arange(tree.first[k], tree.end[k]) for k in found])
            np.testing.assert_array_equal(np.sort(covered), np.arange(tree.first[node], tree.end[node]))

    def test_descendants(self) -> None:
        chosen = np.zeros(16, dtype=bool)
        chosen[[3, 4]] = True
        assert np.flatnonzero(with_descendants(chosen)).tolist() == [3, 4, 6, 7, 8, 9, 12, 13, 14, 15]
