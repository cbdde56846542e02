"""A sketch of a graph: cells of points near one another, and how far it is from one to another at most.

The lengths of a sketch are those of walks in the graph, so that whatever is joined in the sketch is joined in the
graph. A coarser sketch is made from a finer one: the graph's shortest paths are never asked for again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import Adjacency
from steinkit.discrepancy.graph.spanner.box_tree import BoxTree, with_descendants
from steinkit.discrepancy.graph.spanner.sketch_kernels import Flags, link_centres
from steinkit.sample import Floats, Integers

REACH = 2.0  # of links between cells, in widths of a cell
FEWER = 0.75  # times as many cells are worth a new sketch


class Sketch(NamedTuple):
    """Cells, their links, and the points in them.

    Cells are runs of points and numbered as these are. The length of a walk from a point p to the centre of its cell,
    ``centre[cell[p]]``, is ``way[p]``.
    """

    links: Adjacency
    columns: Floats
    centre: Integers
    cell: Integers
    way: Floats
    whole: Flags
    part: Integers


def sketch_of_points(columns: Floats, tree: BoxTree, links: Adjacency) -> Sketch:
    """The graph itself, each point a cell."""
    n, leaves = columns.shape[1], np.arange(len(tree.first)) >= len(tree.first) // 2
    return Sketch(links, columns, np.arange(n), np.arange(n), np.zeros(n), leaves, np.full(n, -1))


def with_edges(sketch: Sketch, edges: Integers, lengths: Floats) -> Sketch:
    """A sketch of the graph with more edges, numbered by points."""
    cells = sketch.cell[edges]
    lengths = lengths + sketch.way[edges].sum(axis=1)
    useful = cells[:, 0] != cells[:, 1]
    ends, more = _both_ways(cells[useful], lengths[useful])
    old, length = _links(sketch.links)
    links = _laid_out(len(sketch.centre), np.concatenate([old, ends]), np.concatenate([length, more]))
    return sketch._replace(links=links)


def coarser(sketch: Sketch, columns: Floats, tree: BoxTree, cells: Integers, width: float, stop: Flags) -> Sketch:
    """A sketch of larger cells, made from one whose cells lie in them.

    Parameters
    ----------
    columns : ndarray, shape (d, n)
    tree : BoxTree
    cells : ndarray of int
        The nodes of the tree that are to be cells, besides cells that lie in none of them. A node whose points are
        not all joined to its centre by short walks stays in pieces.
    width : float
        None of these is wider.
    stop : ndarray of bool, shape (1,)
        Once it is true the sketch is unfinished, for the caller to throw away.
    """
    begins, part, whole = np.append(True, np.diff(sketch.cell) > 0), sketch.part.copy(), sketch.whole.copy()
    whole[cells] = True
    for node, first, end in zip(cells.tolist(), tree.first[cells].tolist(), tree.end[cells].tolist(), strict=True):
        begins[first + 1 : end] = False
        part[first:end] = node
    cell, starts = np.cumsum(begins) - 1, np.flatnonzero(begins)
    home = cell[sketch.centre]
    centres = _most_central(columns, starts, sketch.centre, home)
    ends, length, way = link_centres(sketch.links, centres, home, REACH * width, stop)
    lost = np.isinf(way)
    if lost.any() and not stop[0]:
        return coarser(sketch, columns, tree, np.setdiff1d(cells, part[sketch.centre[lost]]), width, stop)
    old, long = _links(sketch.links)
    kept = (long > 0.5 * REACH * width) & (home[old[:, 0]] != home[old[:, 1]])
    ends = np.concatenate([ends, home[old[kept]]])
    length = np.concatenate([length, long[kept] + way[old[kept]].sum(axis=1)])
    centre = sketch.centre[centres]
    links = _laid_out(len(starts), ends, length)
    there = np.ascontiguousarray(columns[:, centre])
    return Sketch(links, there, centre, cell, sketch.way + way[sketch.cell], with_descendants(whole), part)


def _most_central(columns: Floats, starts: Integers, inside: Integers, home: Integers) -> Integers:
    """For every run of points the place, among ``inside``, of the point in it that is nearest to its box's middle."""
    low, high = (extreme.reduceat(columns, starts, axis=1) for extreme in (np.minimum, np.maximum))
    eccentricity = np.abs(columns[:, inside] - (0.5 * (low + high))[:, home]).sum(axis=0)
    order = np.lexsort((eccentricity, home))
    central: Integers = order[np.append(True, np.diff(home[order]) > 0)]
    return central


def _both_ways(edges: Integers, lengths: Floats) -> tuple[Integers, Floats]:
    return np.concatenate([edges, edges[:, ::-1]]), np.concatenate([lengths, lengths])


def _links(links: Adjacency) -> tuple[Integers, Floats]:
    """The ends and lengths of links, both ways."""
    return np.column_stack([np.repeat(np.arange(len(links.degree)), links.degree), links.to]), links.length


def _laid_out(n: int, ends: Integers, lengths: Floats) -> Adjacency:
    """Links by cell, shortest first."""
    order = np.lexsort((lengths, ends[:, 0]))
    degree = np.bincount(ends[:, 0], minlength=n)
    return Adjacency(np.append(0, np.cumsum(degree))[:-1], degree, ends[order, 1], lengths[order])
