"""Kernel of a sketch of a graph: which of its cells are near one another, by walks through a finer sketch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steinkit.discrepancy.graph.spanner.bounded_search_kernels import (
    N_TOUCHED,
    Adjacency,
    clear,
    new_frontier,
    search_within,
)
from steinkit.discrepancy.graph.spanner.pair_list_kernels import append, new_pairs
from steinkit.runtime.compilation import kernel
from steinkit.sample import Floats, Integers

Flags = NDArray[np.bool_]

FIRST_LINKS = 4096  # room of a list of links


@kernel
def link_centres(
    links: Adjacency, centres: Integers, home: Integers, reach: float, stop: Flags
) -> tuple[Integers, Floats, Floats]:
    """Search a finer sketch from the centre of every coarser cell, up to ``reach``.

    Parameters
    ----------
    links : Adjacency
        Of the finer sketch's cells.
    centres : ndarray of int, shape (cells,)
        The finer cell in the middle of each coarser one.
    home : ndarray of int, shape (finer cells,)
        The coarser cell that each finer one lies in.

    Returns
    -------
    ends : ndarray of int, shape (m, 2)
        Coarser cells from whose centres others were reached, and those.
    length : ndarray, shape (m,)
        Length of the walk.
    way : ndarray, shape (finer cells,)
        Length of a walk to the centre of the coarser cell; infinite where it was not reached.
    """
    number = np.full(len(home), -1)
    for c in range(len(centres)):
        number[centres[c]] = c
    way = np.full(len(home), np.inf)
    frontier = new_frontier(links)
    found = new_pairs(FIRST_LINKS)
    for c in range(len(centres)):
        if stop[0]:
            break
        search_within(links, centres[c], reach, centres[c], frontier)
        for k in range(frontier.counts[N_TOUCHED]):
            cell = frontier.touched[k]
            if home[cell] == c:
                way[cell] = frontier.distance[cell]
            elif number[cell] >= 0:
                found = append(found, c, number[cell], frontier.distance[cell])
        clear(frontier)
    return found.ends[: found.used[0]], found.length[: found.used[0]], way
