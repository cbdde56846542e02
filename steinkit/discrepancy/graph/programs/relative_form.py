"""Stein programs in relative variables that preserve precision.

When points nearly coincide, rounding errors matter: the Taylor rows of an edge of length D allow an error of c3 D^2/2
in gamma. For D = 1e-6, this error is smaller than the rounding error in gamma, and no method that uses the variable
gamma can close the bracket. Therefore, a point i that is close to another point k, its parent, is described by the
difference of two affine functions. With

    F_i(x) = gamma_i + <Gamma_i, x - x_i>,      F_i(x) = F_k(x) + w_i + <V_i, x - x_i>,

the variables of i are w_i and V_i = Gamma_i - Gamma_k. A point without a parent, called a root, has w_i = gamma_i and
V_i = Gamma_i. The parents form a forest, so F_i is the sum of w_a + <V_a, x - x_a> over i and its ancestors a. In the
following rows, the terms w of common ancestors cancel, and in the last two rows, the terms V of common ancestors also
cancel:

    gamma_i - gamma_l = F_i(x_i) - F_l(x_l),
    gamma_i - gamma_l - <Gamma_l, x_i - x_l> = F_i(x_i) - F_l(x_i),
    gamma_i - gamma_l - <Gamma_i, x_i - x_l> = F_i(x_l) - F_l(x_l)

These terms are omitted, so no precision is lost.

Along a path of length L in the graph from i to k, the rows imply

    |V_i| <= c3 L,      |w_i| <= c3 L^2 / 2.

These boxes are redundant but tell the solver the scale of the variables. The program is equivalent to the original
program. Rows and variables are scaled by powers of two to obtain radii and boxes between 1 and 2. This scaling is
exact.

If a root is at a small distance s from a finite bound of the coordinate, the variables of the root are relative to its
projection onto the bound. The projection replaces x_i in the equations above, and gamma_i = w_i + s_i Gamma_ij with the
signed distance s_i. The Taylor row of the bound then becomes the box |w_i| <= c3 s^2/2. The other constraints imposed
by the bound remain rows or become boxes for V_i.

The forest reflects the length scales of the sample. There are five levels, which decrease from 1e-3 by factors of 1000.
At each level, the points that are joined by shorter edges form a cluster with a representative. The parent of a point
is the representative of the finest cluster that the point does not represent. Distances are in units of sqrt(c1/c3). At
this distance, c3 D^2/2 is comparable with c1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra

from steinkit import double_double
from steinkit.discrepancy.graph.programs.matrix_form import UNIT_ROUNDOFF, CoordinateProgram, power_of_two
from steinkit.discrepancy.graph.programs.stein_program import Rows, SteinProgram
from steinkit.sample import Floats, Integers

NEAR = 1e-3
_FINER = 1e-3
_LEVELS = 5
_ROUNDING = 1e-12  # margin that keeps redundant boxes redundant

Terms = list[tuple[Integers, float | Floats]]


@dataclass(frozen=True, eq=False)
class Forest:
    """Parent of each point.

    Attributes
    ----------
    parent : ndarray of int, shape (n,)
        Index of the parent, or -1 for roots.
    reach : ndarray, shape (n,)
        Length of a path in the graph to the parent, or 0 for roots.
    origin : ndarray, shape (n, d)
        Location where w is the value of F - F_parent. The location is the point itself or its projection onto a bound.
    """

    parent: Integers
    reach: Floats
    origin: Floats

    @cached_property
    def lineage(self) -> Integers:
        """Each point and its ancestors, as an array of shape (n, depth).

        Each row contains the point, its parent, its grandparent and so on, followed by -1.
        """
        columns = [np.arange(len(self.parent))]
        while (columns[-1] >= 0).any():
            columns.append(np.where(columns[-1] >= 0, self.parent[columns[-1]], -1))
        return np.column_stack(columns[:-1])


@dataclass(frozen=True, eq=False)
class RelativeProgram(CoordinateProgram):
    """Program for one coordinate, expressed in relative variables.

    Attributes
    ----------
    units : ndarray, shape (N,)
        Powers of two. The products y * units are the variables w (n), V_1 (n), ..., V_d (n).
    points : ndarray, shape (n, d)
        Points of the sample.
    forest : Forest
        Parents of the points.
    """

    units: Floats
    points: Floats
    forest: Forest

    def stein_function(self, y: Floats) -> tuple[Floats, Floats]:
        """Convert variables to g_j, of shape (n,), and its gradient, of shape (n, d).

        The sums over ancestors may cancel. They are computed in double-double arithmetic and rounded at the end.
        """
        lineage, dim = self.forest.lineage, self.points.shape[1]
        i, generation = np.nonzero(lineage >= 0)
        a = lineage[i, generation]
        variables = (y * self.units).reshape(-1, self.n_points)
        value = [(variables[0, a], np.zeros(len(a)))]
        gradient = np.empty((self.n_points, dim))
        for k, V in enumerate(variables[1:, a]):
            step = double_double.two_sum(self.points[i, k], -self.forest.origin[a, k])
            value.append(double_double.times((V, np.zeros(len(a))), step))
            gradient[:, k] = double_double.sums_in_groups((V, np.zeros(len(a))), i, self.n_points)[0]
        high, low = (np.concatenate(part) for part in zip(*value, strict=True))
        return double_double.sums_in_groups((high, low), np.tile(i, dim + 1), self.n_points)[0], gradient


@dataclass(frozen=True, eq=False)
class RelativeForm:
    """Programs for all coordinates with the same forest."""

    program: SteinProgram
    forest: Forest

    @cached_property
    def edge_rows(self) -> tuple[sparse.csr_array, Floats]:
        """Matrix and radii of the shared rows for edges, |gamma| <= c1 and |Gamma| <= c2."""
        program, c = self.program, self.program.factors
        rows = Rows(program.n_points * (program.dim + 1))
        i, k = program.graph.edges.T
        self._add_edges(rows, i, k, _edge_lengths(program))
        i = np.flatnonzero(self.forest.parent >= 0)
        rows.add(np.full(len(i), c.value), self._sum(self.forest.lineage[i], program.points[i], 1.0))
        for coordinate in range(program.dim):
            rows.add(np.full(len(i), c.gradient), self._slope(i, coordinate))
        return rows.assemble()

    # infinite radii impose no restrictions, and infinite entries do not yield valid bounds
    @np.errstate(over="ignore", invalid="ignore")
    def coordinate(self, j: int) -> RelativeProgram:
        """Return the linear program of coordinate j."""
        program = self.program
        box = self._boxes()
        rows = Rows(box.size)
        for bound in program.finite_bounds(j):
            self._add_bound(j, bound, box, rows)
        matrix, radius = rows.assemble(*self.edge_rows)
        radius_error = program.radius_error(radius)
        units, row_units = power_of_two(box.ravel()), power_of_two(radius)
        objective, error = self._objective(j)
        powers = np.frexp(units)[1][matrix.indices] - np.repeat(np.frexp(row_units)[1], np.diff(matrix.indptr))
        values = np.ldexp(matrix.data, powers)
        return RelativeProgram(
            sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape),
            radius / row_units,
            box.ravel() / units,
            objective * units,
            program.n_points,
            units,
            program.points,
            self.forest,
            objective_error=np.where(error > 0.0, error * units + double_double.UNDERFLOW, 0.0),
            radius_error=radius_error / row_units,
        )

    def _boxes(self) -> Floats:
        """Return boxes of shape (d + 1, n) that ignore the bounds of the support."""
        c, child = self.program.factors, self.forest.parent >= 0
        # this is a sum of lengths
        reach = self.forest.reach * (1.0 + _ROUNDING + 4.0 * self.program.n_points * UNIT_ROUNDOFF)
        box = np.empty((self.program.dim + 1, self.program.n_points))
        box[0] = np.where(child, np.minimum(2.0 * c.value + c.gradient * reach, c.taylor_radius(reach)), c.value)
        box[1:] = np.where(child, np.minimum(2.0 * c.gradient, c.smoothness * reach), c.gradient)
        return box

    def _objective(self, j: int) -> tuple[Floats, Floats]:
        """Return the objective and its error bounds, each of shape (n (d + 1),).

        The terms of a point are added to the coefficients of the point and of all its ancestors. Double-double
        arithmetic is used because large terms for nearby points may cancel.
        """
        n, dim = self.program.n_points, self.program.dim
        high, low = (part.reshape(dim + 1, n) for part in self.program.objective(j))
        terms: list[tuple[Floats, Floats, Integers]] = []
        for ancestor in self.forest.lineage.T:
            i = np.flatnonzero(ancestor >= 0)
            a, value = ancestor[i], (high[0, i], low[0, i])
            terms.append((*value, a))
            for k in range(dim):
                step = double_double.two_sum(self.program.points[i, k], -self.forest.origin[a, k])
                place = n * (k + 1) + a
                terms.append((*double_double.times(value, step), place))
                terms.append((high[k + 1, i], low[k + 1, i], place))
        highs, lows, places = (np.concatenate(part) for part in zip(*terms, strict=True))
        total, rest = double_double.sums_in_groups((highs, lows), places, n * (dim + 1))
        sizes = np.bincount(places, weights=np.abs(highs), minlength=len(total)).astype(np.float64)
        return total, double_double.error_of_high((total, rest), sizes)

    def _add_edges(self, rows: Rows, i: Integers, k: Integers, distance: Floats) -> None:
        """Add the rows that can bind for the edges (i, k)."""
        points, c = self.program.points, self.program.factors
        near = self.program.nearer(distance, c.value_reach)
        rows.add(c.gradient * distance[near], self._value_difference(i[near], k[near]))
        near = self.program.nearer(distance, c.gradient_reach)
        above, below = self._apart(i[near], k[near])
        for coordinate in range(self.program.dim):
            terms = _slopes(above, coordinate, self.program.n_points, 1.0)
            terms += _slopes(below, coordinate, self.program.n_points, -1.0)
            rows.add(c.smoothness * distance[near], terms)
        near = self.program.nearer(distance, c.taylor_reach)
        above, below = self._apart(i[near], k[near])
        for end in (i, k):
            at = points[end[near]]
            terms = self._sum(above, at, 1.0) + self._sum(below, at, -1.0)
            rows.add(c.taylor_radius(distance[near]), terms)

    def _add_bound(self, j: int, bound: float, box: Floats, rows: Rows) -> None:
        """Add the constraints imposed by a finite bound on coordinate j.

        The constraints are added as boxes where possible.
        """
        points, forest, c = self.program.points, self.forest, self.program.factors
        inward = points[:, j] - bound
        distance = np.abs(inward)
        root = forest.parent < 0
        moved = forest.origin[:, j] != points[:, j]
        here = root & (moved | (distance == 0.0)) & (forest.origin[:, j] == bound)
        allowed, taylor = c.gradient * distance, c.taylor_radius(distance)
        value = np.minimum(2.0 * allowed, taylor)
        fixed = here & (distance == 0.0)  # gamma = 0 by its box

        unmoved = root & ~moved
        box[0, unmoved] = np.minimum(box[0, unmoved], allowed[unmoved])
        i = np.flatnonzero(~unmoved & ((allowed < c.value) | here) & ~fixed)
        rows.add(np.minimum(c.value, allowed[i]), self._sum(self.forest.lineage[i], points[i], 1.0))

        slope = c.smoothness * distance
        for k in range(self.program.dim):
            if k != j:
                box[k + 1, root] = np.minimum(box[k + 1, root], slope[root])
                i = np.flatnonzero(~root & (slope < c.gradient))
                rows.add(slope[i], self._slope(i, k))

        box[0, here] = value[here]
        i = np.flatnonzero(~here & (distance < c.taylor_reach))
        projection = points[i].copy()
        projection[:, j] = bound
        rows.add(taylor[i], self._sum(self.forest.lineage[i], projection, 1.0))

    def _apart(self, i: Integers, k: Integers) -> tuple[Integers, Integers]:
        """Return the lineages of i and k.

        Common ancestors are replaced by -1.
        """
        of_i, of_k = self.forest.lineage[i], self.forest.lineage[k]
        same = (of_i[:, :, None] == of_k[:, None, :]) & (of_i >= 0)[:, :, None]
        return np.where(same.any(axis=2), -1, of_i), np.where(same.any(axis=1), -1, of_k)

    def _value_difference(self, i: Integers, k: Integers) -> Terms:
        """Return the terms of gamma_i - gamma_k."""
        points, n = self.program.points, self.program.n_points
        above, below = self._apart(i, k)
        terms = self._sum(above, points[i], 1.0) + self._sum(below, points[k], -1.0)
        common = np.where(above < 0, self.forest.lineage[i], -1)
        for coordinate in range(self.program.dim):
            terms += _slopes(common, coordinate, n, (points[i] - points[k])[:, coordinate])
        return terms

    def _slope(self, i: Integers, coordinate: int) -> Terms:
        """Return the terms for one coordinate of Gamma_i."""
        return _slopes(self.forest.lineage[i], coordinate, self.program.n_points, 1.0)

    def _sum(self, ancestors: Integers, at: Floats, sign: float) -> Terms:
        """Return the terms of sign * sum_a (w_a + <V_a, at - x_a>) over ancestors a."""
        n, terms = self.program.n_points, Terms()
        for a in ancestors.T:
            present = np.where(a >= 0, sign, 0.0)
            a = np.maximum(a, 0)
            terms.append((a, present))
            step = at - self.forest.origin[a]
            terms += [(n * (k + 1) + a, present * step[:, k]) for k in range(self.program.dim)]
        return terms


def suitable_forms(program: SteinProgram, near: float = NEAR) -> list[SteinProgram | RelativeForm]:
    """Return the form of each coordinate.

    The form is relative if points are close to each other or to a bound. Otherwise, the form is the program itself. Two
    points are close if their distance is less than `near` times sqrt(c1/c3). Coordinates with the same edge rows share
    one form. A coordinate of a loose program has a one-dimensional form. The forms are cached in the program.
    """
    key = ("forms", near)
    if key not in program.known:
        if program.is_loose:
            program.known[key] = [_forms(program.alone(j), near)[0] for j in range(program.dim)]
        else:
            program.known[key] = _forms(program, near)
    forms: list[SteinProgram | RelativeForm] = program.known[key]
    return forms


def suitable_programs(
    program: SteinProgram, coordinates: Sequence[int] | None, near: float = NEAR
) -> list[CoordinateProgram]:
    """Return the programs of the given coordinates (default: all).

    The programs have the forms that `suitable_forms` chooses.
    """
    forms = suitable_forms(program, near)
    asked = range(program.dim) if coordinates is None else coordinates
    return [forms[j].coordinate(0 if program.is_loose else j) for j in asked]


def _forms(program: SteinProgram, near: float) -> list[SteinProgram | RelativeForm]:
    nearness = near * float(np.sqrt(program.factors.value) / np.sqrt(program.factors.smoothness))
    forest = find_forest(program, nearness)
    shared = program if (forest.parent < 0).all() else RelativeForm(program, forest)
    moved = (move_to_bounds(forest, program, j, nearness) for j in range(program.dim))
    return [shared if each is forest else RelativeForm(program, each) for each in moved]


def find_forest(program: SteinProgram, nearness: float) -> Forest:
    """Choose the parents of points that lie within `nearness` of other points.

    The levels are processed one after another.
    """
    points, edges, n = program.points, program.graph.edges, program.n_points
    lengths = _edge_lengths(program)
    parent, reach = np.full(n, -1), np.zeros(n)
    representative = np.full(n, -1)
    for most in (nearness * _FINER**level for level in range(_LEVELS)):
        short = lengths < most
        if not short.any():
            break
        i, k = edges[short].T
        links = sparse.csr_array((lengths[short], (i, k)), shape=(n, n))
        label = np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)
        members = np.flatnonzero(np.bincount(label)[label] > 1)
        chosen = _central_points(points, label, members, representative)
        path = dijkstra(links, directed=False, indices=np.unique(chosen), min_only=True)
        others = members != chosen
        parent[members[others]] = chosen[others]
        reach[members[others]] = path[members[others]]
        representative[members] = chosen
    return Forest(parent, reach, points)


def _central_points(points: Floats, label: Integers, members: Integers, representative: Integers) -> Integers:
    """Return, for each point, the representative of its cluster.

    The representative of the coarser cluster is used if it belongs to the cluster. Otherwise, the representative is the
    point closest to the mean.
    """
    cluster = label[members]
    size = np.bincount(cluster)
    x = points[members]
    mean = np.column_stack([np.bincount(cluster, column) for column in x.T])[cluster] / size[cluster][:, None]
    away = np.abs(x - mean).sum(axis=1)
    away[representative[members] == members] = -1.0
    order = np.lexsort((members, away, cluster))
    first = np.searchsorted(cluster[order], cluster)
    return np.asarray(members[order[first]])


def move_to_bounds(forest: Forest, program: SteinProgram, j: int, nearness: float) -> Forest:
    """Return a forest that projects points near the bounds of coordinate j.

    Points are projected if they are closer to the bound than to their parent.
    """
    if program.bounds is None:
        return forest
    distance = np.abs(program.points[:, [j]] - program.bounds[j])
    closest = distance.argmin(axis=1)
    distance = distance.min(axis=1)
    to_parent = np.abs(program.points - program.points[forest.parent]).sum(axis=1)
    moved = (distance < nearness) & ((forest.parent < 0) | (distance <= to_parent))
    if not moved.any():
        return forest
    origin = forest.origin.copy()
    origin[moved, j] = program.bounds[j][closest[moved]]
    return Forest(np.where(moved, -1, forest.parent), np.where(moved, 0.0, forest.reach), origin)


def _slopes(ancestors: Integers, coordinate: int, n: int, factor: float | Floats) -> Terms:
    """Return the terms of factor * sum_a V_a over ancestors a."""
    return [(n * (coordinate + 1) + np.maximum(a, 0), np.where(a >= 0, factor, 0.0)) for a in ancestors.T]


def _edge_lengths(program: SteinProgram) -> Floats:
    """Return the L1 lengths of the edges."""
    i, k = program.graph.edges.T
    return np.asarray(np.abs(program.points[i] - program.points[k]).sum(axis=1))
