"""Rows and entries of the largest program, counted before it is written."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import complete_graph


def program(n, dim, *, complete=False, bounds=None, factors=(1.0, 1.0, 1.0)):
    points = np.random.default_rng(3).uniform(0.1, 3.0, (n, dim))
    graph = complete_graph(points) if complete else sk.greedy_spanner(points)
    return SteinProgram(points, -points, np.full(n, 1.0 / n), graph, SteinFactors(*factors), bounds)


HALF_BOUNDED = np.array([[0.0, 3.5], [-np.inf, 3.2], [-np.inf, np.inf]])


@pytest.mark.parametrize(
    "written",
    [
        program(1, 2),
        program(40, 1),
        program(70, 2),
        program(50, 3, complete=True),
        program(60, 3, bounds=HALF_BOUNDED),
        program(60, 3, factors=(0.2, 1.0, 5.0), bounds=HALF_BOUNDED),
    ],
)
def test_rows_and_entries_are_counted_as_they_are_written(written):
    programs = [written.coordinate(j) for j in range(written.dim)]
    largest = max(programs, key=lambda each: len(each.radius))
    assert written.size == (len(largest.radius), largest.matrix.nnz)


def test_rows_of_a_complete_graph_within_all_reaches():
    """Three points closer than all reaches: for each of 3 pairs one row of values, 2 of gradients, 2 of Taylor."""
    points = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
    written = SteinProgram(points, -points, np.full(3, 1 / 3), complete_graph(points))
    assert written.size[0] == 3 * (1 + 2 + 2)
