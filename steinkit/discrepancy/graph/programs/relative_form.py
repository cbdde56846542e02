"""The Stein programs in relative variables, which hold points together however close they are.

The rows of an edge of length D allow gamma an error of c3 D^2/2. Where D is 1e-6 that is lost in the rounding of gamma
itself, and no method that works with gamma can close its bracket. So a point i close to another, its parent k, is
given the difference of two affine functions instead. With

    F_i(x) = gamma_i + <Gamma_i, x - x_i>,      F_i(x) = F_k(x) + w_i + <V_i, x - x_i>,

the variables of i are w_i and V_i = Gamma_i - Gamma_k. A point without parent, a root, has w_i = gamma_i, V_i =
Gamma_i. Parents form a forest, so that F_i is the sum of w_a + <V_a, x - x_a> over i and its ancestors a, and in

    gamma_i - gamma_l = F_i(x_i) - F_l(x_l),
    gamma_i - gamma_l - <Gamma_l, x_i - x_l> = F_i(x_i) - F_l(x_i),
    gamma_i - gamma_l - <Gamma_i, x_i - x_l> = F_i(x_l) - F_l(x_l)

the w of common ancestors, and in the last two their V too, cancel: they are left out of the rows, which lose nothing.
Along a path of length L in the graph from i to k the rows add up to

    |V_i| <= c3 L,      |w_i| <= c3 L^2 / 2,

redundant boxes that tell a solver the size of the variables. The program is the same as before, in other variables.
Rows and variables are then scaled by powers of two, which is exact, so that radii and boxes lie between 1 and 2.

A root close to a finite bound of the coordinate, at a distance s, is taken relative to its projection onto the bound:
x_i above becomes that projection, gamma_i = w_i + s_i Gamma_ij with the signed distance s_i, and the bound's last row
is the box |w_i| <= c3 s^2/2. The others stay rows, or boxes of V_i. Two bounds near each other make a unit: in any
other the numbers of such a program, which has no c1 and c2, are lost.

The forest follows the scales of the sample: at each of five levels, from 1e-3 down by factors of 1000, points joined by
shorter edges are a cluster with a representative, and a point's parent is the representative of the finest cluster in
which it is not the representative itself. Nearness is measured in units of sqrt(c1/c3), the distance at which c3 D^2/2
compares with c1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, dijkstra

from steinkit import double_double
from steinkit.discrepancy.graph.programs.matrix_form import (
    NOTICEABLE,
    UNIT_ROUNDOFF,
    CoordinateProgram,
    power_of_two,
)
from steinkit.discrepancy.graph.programs.stein_program import Rows, SteinFactors, SteinProgram
from steinkit.sample import Floats, Integers

NEAR = 1e-3
_FINER = 1e-3
_LEVELS = 5
_ROUNDING = 1e-12  # keeps redundant boxes redundant
_FURTHEST = 960  # powers of two by which units change: products of what is left have room

Terms = list[tuple[Integers, float | Floats]]


@dataclass(frozen=True, eq=False)
class Forest:
    """Which point each point is expressed relative to.

    Attributes
    ----------
    parent : ndarray of int, shape (n,)
        -1 for roots.
    reach : ndarray, shape (n,)
        Length of a path in the graph to the parent; 0 for roots.
    origin : ndarray, shape (n, d)
        Where w is the value of F - F_parent: the point itself, or its projection onto a bound.
    """

    parent: Integers
    reach: Floats
    origin: Floats

    @cached_property
    def lineage(self) -> Integers:
        """Each point, its parent, the parent's parent, ..., and -1 after the root, shape (n, depth)."""
        columns = [np.arange(len(self.parent))]
        while (columns[-1] >= 0).any():
            columns.append(np.where(columns[-1] >= 0, self.parent[columns[-1]], -1))
        return np.column_stack(columns[:-1])


@dataclass(frozen=True, eq=False)
class RelativeProgram(CoordinateProgram):
    """One coordinate's program in relative variables.

    Attributes
    ----------
    units : ndarray, shape (N,)
        Powers of two: the variables y stand for y * units, which are w (n), V_1 (n), ..., V_d (n).
    points : ndarray, shape (n, d)
    forest : Forest
    """

    units: Floats
    points: Floats
    forest: Forest

    def stein_function(self, y: Floats) -> tuple[Floats, Floats]:
        """Map variables back to g_j, shape (n,), and its gradient, shape (n, d), each rounded to double precision."""
        w, *V = (y * self.units).reshape(-1, self.n_points)
        slopes = np.column_stack(V)
        value, gradient = np.zeros(self.n_points), np.zeros_like(self.points)
        for ancestor in self.forest.lineage.T[::-1]:
            i = np.flatnonzero(ancestor >= 0)
            a = ancestor[i]
            gradient[i] += slopes[a]
            value[i] += w[a] + (slopes[a] * (self.points[i] - self.forest.origin[a])).sum(axis=1)
        return self._in_units_of_draws(value, gradient)


@dataclass(frozen=True, eq=False)
class RelativeForm:
    """Programs of the coordinates that share a forest."""

    program: SteinProgram
    forest: Forest

    @cached_property
    def edge_rows(self) -> tuple[sparse.csr_array, Floats]:
        """Matrix and radii of the rows shared by all coordinates: the edges', and |gamma| <= c1, |Gamma| <= c2."""
        program, c = self.program, self.program.factors
        rows = Rows(program.n_points * (program.dim + 1))
        i, k = program.graph.edges.T
        self._add_edges(rows, i, k, _edge_lengths(program))
        i = np.flatnonzero(self.forest.parent >= 0)
        rows.add(np.full(len(i), c.value), self._sum(self.forest.lineage[i], program.points[i], 1.0))
        for coordinate in range(program.dim):
            rows.add(np.full(len(i), c.gradient), self._slope(i, coordinate))
        return rows.assemble()

    @np.errstate(over="ignore", invalid="ignore")  # what overflows restricts nothing, or else proves nothing
    def coordinate(self, j: int) -> RelativeProgram:
        """The linear program of coordinate j."""
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
        """Boxes without the support's bounds, shape (d + 1, n)."""
        c, child = self.program.factors, self.forest.parent >= 0
        reach = self.forest.reach * (1.0 + _ROUNDING + 4.0 * self.program.n_points * UNIT_ROUNDOFF)  # a sum of lengths
        box = np.empty((self.program.dim + 1, self.program.n_points))
        box[0] = np.where(child, np.minimum(2.0 * c.value + c.gradient * reach, c.taylor_radius(reach)), c.value)
        box[1:] = np.where(child, np.minimum(2.0 * c.gradient, c.smoothness * reach), c.gradient)
        return box

    def _objective(self, j: int) -> tuple[Floats, Floats]:
        """Weights of the variables and bounds of their rounding errors, each of shape (n (d + 1),).

        Those of a point go to it and to all its ancestors. They are summed as double-doubles, for in the sum over near
        points large ones may cancel.
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
        """Add the rows of edges (i, k) that can bind."""
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
        """Hold the function to what a finite bound of coordinate j asks of it, by boxes where they can."""
        points, forest, c = self.program.points, self.forest, self.program.factors
        inward = points[:, j] - bound
        distance = np.abs(inward)
        root = forest.parent < 0
        moved = forest.origin[:, j] != points[:, j]
        here = root & (moved | (distance == 0.0)) & (forest.origin[:, j] == bound)
        allowed, taylor = c.gradient * distance, c.taylor_radius(distance)
        value = np.minimum(2.0 * allowed, taylor)
        held = here & (distance == 0.0)  # by the box of gamma

        unmoved = root & ~moved
        box[0, unmoved] = np.minimum(box[0, unmoved], allowed[unmoved])
        i = np.flatnonzero(~unmoved & ((allowed < c.value) | here) & ~held)
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
        """Lineages of i and of k without what they have in common, -1 in its place."""
        of_i, of_k = self.forest.lineage[i], self.forest.lineage[k]
        same = (of_i[:, :, None] == of_k[:, None, :]) & (of_i >= 0)[:, :, None]
        return np.where(same.any(axis=2), -1, of_i), np.where(same.any(axis=1), -1, of_k)

    def _value_difference(self, i: Integers, k: Integers) -> Terms:
        """Terms of gamma_i - gamma_k."""
        points, n = self.program.points, self.program.n_points
        above, below = self._apart(i, k)
        terms = self._sum(above, points[i], 1.0) + self._sum(below, points[k], -1.0)
        common = np.where(above < 0, self.forest.lineage[i], -1)
        for coordinate in range(self.program.dim):
            terms += _slopes(common, coordinate, n, (points[i] - points[k])[:, coordinate])
        return terms

    def _slope(self, i: Integers, coordinate: int) -> Terms:
        """Terms of Gamma_i in a coordinate."""
        return _slopes(self.forest.lineage[i], coordinate, self.program.n_points, 1.0)

    def _sum(self, ancestors: Integers, at: Floats, sign: float) -> Terms:
        """Terms of sign times the sum of w_a + <V_a, at - x_a> over ancestors."""
        n, terms = self.program.n_points, Terms()
        for a in ancestors.T:
            present = np.where(a >= 0, sign, 0.0)
            a = np.maximum(a, 0)
            terms.append((a, present))
            step = at - self.forest.origin[a]
            terms += [(n * (k + 1) + a, present * step[:, k]) for k in range(self.program.dim)]
        return terms


@dataclass(frozen=True, eq=False)
class OwnForm:
    """The form of one coordinate in a program of its own.

    That has no other coordinates where the whole is loose; or it is in units of the distance between two near bounds.
    """

    form: SteinProgram | RelativeForm
    place: int
    exponents: tuple[int, int] = (0, 0)

    @property
    def edge_rows(self) -> tuple[sparse.csr_array, Floats]:
        """Those of the program."""
        return self.form.edge_rows

    def coordinate(self, j: int) -> CoordinateProgram:
        """The linear program."""
        return replace(self.form.coordinate(self.place), exponents=self.exponents)


AnyForm: TypeAlias = SteinProgram | RelativeForm | OwnForm


def suitable_forms(program: SteinProgram, near: float | None = None) -> list[AnyForm]:
    """Form of each coordinate's program: relative where points lie close together or close to a bound, else as it is.

    Close is less than `near`, `NEAR` if not given, in units of sqrt(c1/c3). Coordinates that share their edges' rows
    share the object; `edge_rows` and `coordinate(j)` are what matters of it. They are found once for a program.
    """
    kept, share = ("forms", near), NEAR if near is None else near
    if kept not in program.known:
        alone = [program.alone(j) for j in range(program.dim)] if program.is_loose else []
        own = [form for each in alone for form in _forms(each, share)]
        found = [form if isinstance(form, OwnForm) else OwnForm(form, 0) for form in own]
        program.known[kept] = found or _forms(program, share)
    forms: list[AnyForm] = program.known[kept]
    return forms


def _forms(program: SteinProgram, share: float) -> list[AnyForm]:
    nearness = share * _unit(program.factors)
    forest = find_forest(program, nearness)
    shared = _form(program, forest)
    forms: list[AnyForm] = []
    for j in range(program.dim):
        narrow, exponents = _in_units_of_width(program, j, nearness)
        if narrow is program:
            moved = move_to_bounds(forest, program, j, nearness)
            forms.append(shared if moved is forest else RelativeForm(program, moved))
        else:
            narrower = share * _unit(narrow.factors)
            moved = move_to_bounds(find_forest(narrow, narrower), narrow, j, narrower)
            forms.append(OwnForm(_form(narrow, moved), j, exponents))
    return forms


def _form(program: SteinProgram, forest: Forest) -> SteinProgram | RelativeForm:
    """The program as it is where there is no other point or bound to take a point relative to."""
    alone = (forest.parent < 0).all() and (forest.origin == program.points).all()
    return program if alone else RelativeForm(program, forest)


@np.errstate(over="ignore", under="ignore")
def _in_units_of_width(program: SteinProgram, j: int, nearness: float) -> tuple[SteinProgram, tuple[int, int]]:
    """Coordinate j's program in units of the distance W between its bounds where that is less than `nearness`.

    For x' = 2^k x and g' = 2^(k + l) g the Stein factors are 2^(k + l) c1, 2^l c2 and 2^(l - k) c3, scores 2^-k s, and
    the optimum is 2^l times as large. The Taylor rows of the two bounds, s and W - s away, leave |Gamma_j| at most
    c3 W/2, the others are at most c3 s, and so |gamma| is less than c3 s W, and two of them differ along an edge by
    less than c3 W D: c3 W^2 for c1, and 2 c3 W for c2 where that is less, change nothing. Where a number would be
    rounded the program is left as it is.
    """
    most = min(nearness, 0.5 * _unit(program.factors))
    if program.bounds is None or not 0.0 < (width := float(np.diff(program.bounds[j])[0])) < most:
        return program, (0, 0)
    c, coefficients, exponent = program.factors, program.coefficients, int(np.frexp(width)[1])
    k = min(max(-exponent, -_FURTHEST), _FURTHEST)
    of_slope = min(max(-exponent - int(np.frexp(c.smoothness)[1]), -_FURTHEST), _FURTHEST)
    width, smoothness = float(np.ldexp(width, k)), float(np.ldexp(c.smoothness, of_slope - k))
    slope = min(float(np.ldexp(c.gradient, of_slope)), 2.0 * smoothness * width)
    factors = SteinFactors(smoothness * width * width, slope, smoothness)
    given = [(program.points, k), (program.bounds, k), (program.scores, -k)]
    given += [] if coefficients is None else [(coefficients.drift, -k)]
    points, bounds, scores, *drift = moved = [np.ldexp(x, power) for x, power in given]
    kept = all((np.ldexp(y, -power) == x).all() for y, (x, power) in zip(moved, given, strict=True))
    sizes = factors.value, factors.gradient, factors.smoothness
    if not (kept and min(sizes) > NOTICEABLE and max(sizes) < np.inf):
        return program, (0, 0)
    lengths = np.minimum(np.ldexp(program.graph.lengths, k), np.finfo(np.float64).max)
    graph = replace(program.graph, lengths=lengths)
    coefficients = None if coefficients is None else replace(coefficients, drift=drift[0])
    narrow = replace(program, points=points, scores=scores, bounds=bounds, graph=graph, factors=factors)
    return replace(narrow, coefficients=coefficients), (k + of_slope, of_slope)


def find_forest(program: SteinProgram, nearness: float) -> Forest:
    """Join points closer than `nearness` into trees, level by level."""
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
    """For each member of a cluster its representative.

    It is that of the coarser cluster if it belongs to this one, or else the point closest to the mean.
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
    """Take points closer to a finite bound of coordinate j than to their parent relative to their projection."""
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
    """Terms of a factor times the sum of V_a in a coordinate over ancestors."""
    return [(n * (coordinate + 1) + np.maximum(a, 0), np.where(a >= 0, factor, 0.0)) for a in ancestors.T]


def _edge_lengths(program: SteinProgram) -> Floats:
    """L1 lengths of the edges."""
    i, k = program.graph.edges.T
    return np.asarray(np.abs(program.points[i] - program.points[k]).sum(axis=1))


def _unit(c: SteinFactors) -> float:
    """Distance at which a Taylor row's radius compares with the box of gamma."""
    return float(np.sqrt(c.value) / np.sqrt(c.smoothness))
