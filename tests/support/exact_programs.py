"""The Stein programs in rational arithmetic, by their definition, without rounding.

Points, scores, bounds and Stein factors are doubles, and weights double-doubles, taken as exact rational numbers. Most
instances have scores with few bits and weights that are multiples of a power of two. Their products are then doubles.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
from steinkit.discrepancy.graph.spanner.geometry import complete_graph, sorted_graph

Row = dict[int, Fraction]

CLOSE = Fraction(1, 2**48)
"""Relative rounding error of a radius; coefficients are exact for points on a grid."""


@dataclass(frozen=True)
class ExactProgram:
    """The program max b'y subject to |a'y| <= r for every row (a, r) and |y| <= u, as in `CoordinateProgram`."""

    rows: list[tuple[Row, Fraction]]
    box: list[Fraction]
    objective: list[Fraction]

    def value(self, y):
        """Return b'y."""
        return product(dict(enumerate(self.objective)), y)

    def excess(self, y):
        """Return the largest |a'y| / r or |y| / u minus one; the value itself if r or u is zero."""
        sides = [(product(row, y), radius) for row, radius in self.rows] + list(zip(y, self.box, strict=True))
        return max(abs(left) / right - 1 if right else abs(left) for left, right in sides)

    def feasible(self, y):
        """Return the largest feasible multiple of y, at most y itself."""
        return [value / (1 + max(self.excess(y), Fraction(0))) for value in y]


def product(row, y):
    return sum((coefficient * y[k] for k, coefficient in row.items()), Fraction(0))


def fractions(array):
    """Return the entries of an array as a flat list of fractions."""
    return [Fraction(float(number)) for number in np.ravel(array)]


def distance(program, i, k):
    """Return the L1 distance of two points."""
    pairs = zip(program.points[i], program.points[k], strict=True)
    return sum((abs(Fraction(a) - Fraction(b)) for a, b in pairs), Fraction(0))


def exact_program(program, j, *, all_rows=False):
    """Return the program of coordinate j by equations (6) to (8) of Gorham and Mackey (2015).

    Rows that cannot bind are omitted unless `all_rows`.
    """
    n, dim = program.points.shape
    c1, c2, c3 = (Fraction(c) for c in (program.factors.value, program.factors.gradient, program.factors.smoothness))
    x = [[Fraction(value) for value in point] for point in program.points]
    gamma, slope = (lambda i: i), (lambda i, k: n * (k + 1) + i)
    rows, box = [], [c1] * n + [c2] * (n * dim)
    for i, m in program.graph.edges.tolist():
        step, D = [a - b for a, b in zip(x[i], x[m], strict=True)], distance(program, i, m)
        rise = {gamma(i): Fraction(1), gamma(m): Fraction(-1)}
        if all_rows or 2 * c1 / c2 > D:
            rows.append((rise, c2 * D))
        if all_rows or 2 * c2 / c3 > D:
            rows += [({slope(i, k): Fraction(1), slope(m, k): Fraction(-1)}, c3 * D) for k in range(dim)]
        if all_rows or 4 * c2 / c3 > D:
            for end in (i, m):
                rows.append((rise | {slope(end, k): -step[k] for k in range(dim)}, c3 * D**2 / 2))
    for bound in [] if program.bounds is None else program.bounds[j][np.isfinite(program.bounds[j])]:
        for i in range(n):
            inward = x[i][j] - Fraction(float(bound))
            a = abs(inward)
            box[gamma(i)] = min(box[gamma(i)], c2 * a)
            for k in set(range(dim)) - {j}:
                box[slope(i, k)] = min(box[slope(i, k)], c3 * a)
            if a > 0 and (all_rows or a < 4 * c2 / c3):
                rows.append(({gamma(i): Fraction(1), slope(i, j): -inward}, c3 * a**2 / 2))
    objective = [Fraction(0)] * (n * (dim + 1))
    lows = np.zeros(n) if program.weights_low is None else program.weights_low
    for i, (high, low) in enumerate(zip(program.weights, lows, strict=True)):
        weight = Fraction(high) + Fraction(low)
        if program.coefficients is None:
            objective[gamma(i)] = weight * Fraction(program.scores[i, j])
            objective[slope(i, j)] = weight
        else:
            objective[gamma(i)] = weight * Fraction(program.coefficients.drift[i, j])
            for k in range(dim):
                objective[slope(i, k)] = weight * Fraction(program.coefficients.covariance[i, j, k])
    return ExactProgram(rows, box, objective)


def in_relative_variables(program, forest):
    """Return the coefficients of each gamma_i and Gamma_ik in w_a (n), V_a1 (n), ..., V_ad (n)."""
    n, dim = program.points.shape
    maps = [{} for _ in range(n * (dim + 1))]
    for i in range(n):
        a = i
        while a >= 0:
            maps[i][a] = Fraction(1)
            for k in range(dim):
                maps[n * (k + 1) + i][n * (k + 1) + a] = Fraction(1)
                maps[i][n * (k + 1) + a] = Fraction(float(program.points[i, k])) - Fraction(float(forest.origin[a, k]))
            a = int(forest.parent[a])
    return maps


def substitute(row, maps):
    """Substitute maps for the variables of a row, omitting zeros."""
    result = {}
    for k, coefficient in row.items():
        for other, factor in maps[k].items():
            result[other] = result.get(other, Fraction(0)) + coefficient * factor
    return {k: value for k, value in result.items() if value}


def dyadic_weights(rng, n, bits=12):
    """Return positive multiples of 2^-bits that add up to one."""
    cuts = np.sort(rng.choice(np.arange(1, 2**bits), n - 1, replace=False))
    return np.diff(np.concatenate([[0], cuts, [2**bits]])) * 2.0**-bits


def dyadic_scores(rng, shape, size=1.0):
    """Return normal random numbers with 20 bits."""
    return size * np.round(rng.standard_normal(shape) * 2.0**18) * 2.0**-18


def clustered_program(seed, *, dim=None):
    """Return a program on points of a fine grid, with clusters at several scales and optional bounds."""
    rng = np.random.default_rng(seed)
    dim = int(rng.integers(1, 4)) if dim is None else dim
    centres = rng.integers(0, 2**6, (int(rng.integers(1, 4)), dim)) * 2.0**-5
    points = [centres]
    for scale in rng.choice([2.0**-12, 2.0**-18, 2.0**-24, 2.0**-33, 2.0**-40], 2):
        near = np.concatenate(points)[rng.integers(0, len(centres), int(rng.integers(1, 4)))]
        points.append(near + scale * rng.integers(-8, 9, near.shape))
    points = np.unique(np.concatenate(points), axis=0)
    points = points[rng.permutation(len(points))]
    bounds = None
    if rng.random() < 0.7:
        margins = [0.0, 2.0**-40, 2.0**-20, 2.0**-12, 0.25, 8.0, np.inf]
        lower, upper = points.min(axis=0) - rng.choice(margins, dim), points.max(axis=0) + rng.choice(margins, dim)
        bounds = np.column_stack([lower, upper])
    factors = SteinFactors.of(tuple(rng.choice([0.25, 0.5, 1.0, 2.0, 8.0], 3)))
    graph = sorted_graph(points[:, 0]) if dim == 1 else complete_graph(points)
    scores, weights = dyadic_scores(rng, points.shape, rng.choice([0.25, 1.0, 64.0])), dyadic_weights(rng, len(points))
    return SteinProgram(points, scores, weights, graph, factors, bounds)


def grid_program(seed, dim):
    """Return a program with exact distances, radii and objective."""
    rng = np.random.default_rng(seed)
    points = np.unique(rng.integers(0, 2**9, (int(rng.integers(2, 7)), dim)) * 2.0 ** -int(rng.integers(6, 12)), axis=0)
    bounds = None
    if rng.random() < 0.6:
        lower = points.min(axis=0) - rng.choice([0.0, 2.0**-7, 0.5, np.inf], dim)
        upper = points.max(axis=0) + rng.choice([0.0, 2.0**-7, 0.5, np.inf], dim)
        bounds = np.column_stack([lower, upper])
    factors = SteinFactors.of(tuple(rng.choice([0.5, 1.0, 2.0], 3)))
    scores, weights = dyadic_scores(rng, points.shape, rng.choice([1.0, 16.0])), dyadic_weights(rng, len(points))
    return SteinProgram(points, scores, weights, complete_graph(points), factors, bounds)


def line_program(seed, *, two_bounds=False):
    """Return a one-dimensional program with exact lengths and radii, and segments of every kind."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    points = np.sort(rng.choice(2**10, n, replace=False)) * 2.0**-10
    points = rng.permutation(points * (0.5 if two_bounds else rng.choice([0.25, 1.0, 4.0, 32.0])))
    margins = [0.0, 2.0**-20, 2.0**-6, 0.25] if two_bounds else [0.0, 2.0**-20, 0.25, 8.0, np.inf]
    lower, upper = points.min() - rng.choice(margins), points.max() + rng.choice(margins)
    if not two_bounds and rng.random() < 0.5:
        lower, upper = (-np.inf, upper) if rng.random() < 0.5 else (lower, np.inf)
    factors = SteinFactors.of(tuple(rng.choice([1.0, 2.0] if two_bounds else [0.25, 0.5, 1.0, 2.0], 3)))
    scores = dyadic_scores(rng, (n, 1), rng.choice([0.25, 1.0, 16.0]))
    bounds = np.array([[lower, upper]]) if np.isfinite([lower, upper]).any() else None
    return SteinProgram(points[:, None], scores, dyadic_weights(rng, n), sorted_graph(points), factors, bounds)


def exact_upper_bound(program, objective, p):
    """Return the exact r'|p| + u'|b - A'p| and a bound on its rounding error in double precision."""
    multipliers, box, radius = fractions(p), fractions(program.box), fractions(program.radius)
    combined, size = [Fraction(0)] * len(box), [Fraction(0)] * len(box)
    entries = [3] * len(box)
    matrix = program.matrix.tocoo()
    for i, k, value in zip(*matrix.coords, matrix.data, strict=True):
        term = Fraction(float(value)) * multipliers[i]
        combined[k] += term
        size[k] += abs(term)
        entries[k] += 1
    error = fractions(np.broadcast_to(program.objective_error, len(box)))
    bound = sum(r * abs(v) for r, v in zip(radius, multipliers, strict=True))
    bound += sum(u * abs(b - a) for u, a, b in zip(box, combined, objective, strict=True))
    rounding = Fraction(1, 2**48) * bound
    for u, count, terms, b, off in zip(box, entries, size, objective, error, strict=True):
        rounding += u * (2 * count * Fraction(1, 2**53) * (terms + abs(b)) + 2 * off)
    return bound, rounding
