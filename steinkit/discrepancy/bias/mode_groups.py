"""Groups of draws that are modes, found along valleys of the density or given, and the regions they stand for.

Draws are split along their deepest valley until no part has one. What is no valley of the density itself, between the
densest draws of two parts, is put together again. A point belongs to the mode of which the t distribution that is
fitted to its draws is the densest there. These regions part the space, so that their masses are well defined wherever
the borders lie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from steinkit.discrepancy.bias.bridge_sampling import Cluster, Proposal
from steinkit.discrepancy.bias.separate_groups import VALLEY_DEPTH, deepest_valley
from steinkit.discrepancy.cross_fitting import Draws
from steinkit.errors import InputError
from steinkit.runtime.deadlines import require_time
from steinkit.sample import Floats, Integers

MOST_MODES = 10
FEWEST_DRAWS = 30  # of a mode
_CLEAR = 2.0  # standard errors of a valley's depth: the density decides
_STEPS = np.linspace(0.0, 1.0, 18)[1:-1]  # of the way between two draws
_MOST_ASTRAY = 0.02  # of the draws of a group that was given, which lie in another's region
_ROUNDS = 2  # of fitting and assigning

LogDensity = Callable[[Floats], Floats]


def separate_groups(draws: Draws, bounds: Floats | None, names: tuple[str, ...]) -> list[Integers]:
    """Rows of the draws, split along valleys."""
    pending, found = [np.arange(len(draws.points))], list[Integers]()
    while pending:
        require_time("modes were sought")
        rows = pending.pop()
        whole = len(rows) < 2 * FEWEST_DRAWS or len(pending) + len(found) + 2 > MOST_MODES
        valley = None
        if not whole and (draws.points[rows].std(axis=0) > 0.0).all():
            operand = Cluster.of(draws, rows, bounds, names).operand
            valley = deepest_valley(operand, _CLEAR)
        if valley is None:
            found.append(rows)
        else:
            beyond = operand.points @ valley.direction > valley.at
            pending += [rows[~beyond], rows[beyond]]
    return found


def joined(groups: Sequence[Integers], linked: Sequence[tuple[int, int]]) -> list[Integers]:
    """Groups with those put together that have no valley between them."""
    to = list(range(len(groups)))
    for i, j in linked:
        to = [to[i] if each == to[j] else each for each in to]
    return [
        np.sort(np.concatenate([groups[k] for k in range(len(groups)) if to[k] == each])) for each in sorted(set(to))
    ]


def without_valley(peaks: Floats, heights: Floats, log_density: LogDensity) -> list[tuple[int, int]]:
    """Pairs of draws, (k, d), on the straight way between which the density never falls below half of the lower one."""
    pairs = list(combinations(range(len(peaks)), 2))
    if not pairs:
        return []
    first, second = np.array(pairs).T
    way = peaks[first][:, None] + _STEPS[:, None] * (peaks[second] - peaks[first])[:, None]
    lowest = log_density(way.reshape(-1, peaks.shape[1])).reshape(len(pairs), -1).min(axis=1)
    linked = lowest >= np.minimum(heights[first], heights[second]) - VALLEY_DEPTH
    return [pairs[k] for k in np.flatnonzero(linked)]


def nearest(points: Floats, proposals: Sequence[Proposal]) -> Integers:
    """To which mode's region points belong."""
    return np.asarray(np.stack([each.log_density(points) for each in proposals]).argmax(axis=0))


def regions(
    draws: Draws, groups: list[Integers], bounds: Floats | None, names: tuple[str, ...], called: Sequence[str]
) -> tuple[list[Cluster], list[Proposal]]:
    """The draws by regions, and the proposals that bound these.

    Parameters
    ----------
    draws : Draws
    groups : list of ndarray of int
        Rows of each.
    bounds : ndarray, shape (d, 2), or None
    names : tuple of str
        Of the coordinates.
    called : sequence of str
        The labels of groups that were given; empty where they were found.

    Raises
    ------
    InputError
        If groups that were given overlap, or a mode has too few draws.
    """
    for turn in range(_ROUNDS + 1):
        for rows in groups:
            if len(rows) < FEWEST_DRAWS:
                raise InputError(
                    f"one of {len(groups)} modes has {len(rows)} draws, where {FEWEST_DRAWS} are wanted; run the "
                    "sampler longer, or start chains in every mode"
                )
        clusters = [Cluster.of(draws, rows, bounds, names) for rows in groups]
        if turn == _ROUNDS:
            break
        proposals = [each.proposal() for each in clusters]
        where = nearest(draws.points, proposals)
        for label, rows, k in zip(called, groups, range(len(groups)), strict=False):
            astray = where[rows][where[rows] != k]
            if len(astray) > _MOST_ASTRAY * len(rows):
                other = called[int(np.bincount(astray).argmax())]
                raise InputError(
                    f"the modes overlap: {len(astray)} of {len(rows)} draws of label {label} lie where those of "
                    f"{other} are denser; give the two the same label"
                )
        groups = [np.flatnonzero(where == k) for k in range(len(groups))]
    return clusters, proposals
