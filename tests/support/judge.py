"""Verification of brackets in rational arithmetic, by the optimum if possible, and otherwise by feasible points.

The certificate of the package is not used. The problem is defined by the user's input: points, scores, factors and
bounds as doubles, q_i = w_i / sum w, and equal rows merged into one point with the total weight. Only the graph is
taken from the result, or, without a result, from the function that computes the spanner.
"""

from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

import steinkit as sk
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors
from support.exact_optimum import cost, solved
from support.exact_programs import exact_program

MOST_EXACT = {1: 20, 2: 9, 3: 6}
"""Maximum number of points with an exact optimum, by dimension; 3 in more dimensions."""


@dataclass(frozen=True)
class Claim:
    """A claim that lower <= the optimum of the program <= upper."""

    what: str
    program: object
    lower: float
    upper: float
    is_small: bool = True

    def refuted(self):
        """Return the reason why a claim is false, or an empty string."""
        if not self.lower <= self.upper:
            return f"{self.what}: the lower bound {self.lower!r} is not below the upper one {self.upper!r}"
        least, most = enclosed(self.program, self.is_small)
        if most < Fraction(self.lower):
            return f"{self.what}: at most {float(most)!r}, not {self.lower!r} (off by {_off(self.lower, most)})"
        if self.upper < np.inf and least > Fraction(self.upper):
            return f"{self.what}: at least {float(least)!r}, not {self.upper!r} (off by {_off(self.upper, least)})"
        return ""


def _off(text, truth):
    return f"{float(abs(Fraction(text) - truth) / truth):.1e}" if truth else "all of it"


def enclosed(program, is_small):
    """Return rational bounds on the optimum, which are equal if it is known."""
    if hasattr(program, "known"):
        return program.known
    if is_small:
        value = solved(program).value
        return value, value
    return answered(program)


def answered(program):
    """Return the exact bounds on the optimum from a solver's y and p."""
    y, p = _answer(program)
    return max(program.value(program.feasible(y)), Fraction(0)), cost(program, p)


def _answer(program):
    """Return y and p of a solver for the program scaled to unit boxes and radii."""
    size, box = len(program.box), program.box
    rows = [(i, row, radius) for i, (row, radius) in enumerate(program.rows) if radius]
    entries = [(i, k, _bounded(value * box[k] / r)) for i, (_, row, r) in enumerate(rows) for k, value in row.items()]
    lines, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    matrix = sparse.csr_array((values, (lines, columns)), shape=(len(rows), size))
    objective = np.array([_bounded(b * limit) for b, limit in zip(program.objective, box, strict=True)])
    largest = max(np.abs(objective).max(), np.finfo(float).tiny)
    found = linprog(
        -objective / largest,
        A_ub=sparse.vstack([matrix, -matrix]),
        b_ub=np.ones(2 * len(rows)),
        bounds=[(-1, 1)] * size,
    )
    p = [Fraction(0)] * len(program.rows)
    if found.x is None:
        return [Fraction(0)] * size, p
    both = -found.ineqlin.marginals
    for number, (i, _, radius) in enumerate(rows):
        p[i] = Fraction(float(both[number] - both[number + len(rows)])) * Fraction(float(largest)) / radius
    return [Fraction(float(value)) * limit for value, limit in zip(found.x, box, strict=True)], p


def _bounded(number):
    """Return a rational number as a double of at most 1e300, for a solver."""
    return float(min(max(number, -(10**300)), 10**300))


def distinct(instance):
    """Return the first row of each group of equal rows with weight, and the exact weights of the groups."""
    groups = {}
    weights = np.ones(len(instance.points)) if instance.weights is None else np.ravel(instance.weights)
    for i, (point, weight) in enumerate(zip(instance.points, weights.tolist(), strict=True)):
        if weight:
            key = tuple(float(value) + 0.0 for value in point)
            _, counts = groups.setdefault(key, (i, {}))
            counts[weight] = counts.get(weight, 0) + 1
    sums = [sum((Fraction(w) * m for w, m in counts.items()), Fraction(0)) for _, counts in groups.values()]
    return [first for first, _ in groups.values()], [each / sum(sums) for each in sums]


def claims(instance, result):
    """Return the claims of a graph or sliced result."""
    if instance.measure == "sliced":
        return sliced_claims(instance, result)
    brackets = list(zip(result.coordinate_lower, result.coordinate_upper, strict=True))
    return graph_claims(instance, result.graph.edges, brackets, result.coefficients)


def graph_claims(instance, edges, brackets, coefficients=None):
    """Return the claims of coordinates on a graph of the distinct points.

    A diffusion operator is evaluated at these points in double precision.
    """
    first, weights = distinct(instance)
    problem = stated(
        instance, instance.points[first], instance.scores[first], weights, edges, coefficients=coefficients
    )
    small = len(first) <= MOST_EXACT.get(instance.dim, 3)
    return [
        Claim(f"coordinate {j + 1}", exact_program(problem, j), float(lower), float(upper), small)
        for j, (lower, upper) in enumerate(brackets)
    ]


def sum_claim(instance, lower, upper):
    """Return the claim about the sum over coordinates, without a result."""
    found = graph_claims(instance, graph_of(instance), [(lower, upper)] * instance.dim)
    ends = [enclosed(claim.program, claim.is_small) for claim in found]
    return Claim("the sum", SimpleNamespace(known=tuple(map(sum, zip(*ends, strict=True)))), lower, upper)


def graph_of(instance):
    """Return the edges of the graph, without a result."""
    points = instance.points[distinct(instance)[0]]
    if instance.dim == 1:
        return sk.sorted_graph(points).edges
    if instance.graph == "complete":
        return sk.complete_graph(points).edges
    return sk.greedy_spanner(points, instance.dilation).edges


def stated(instance, points, scores, weights, edges, bounds=None, coefficients=None):
    """Return the input of `exact_program`."""
    limits = instance.bounds if bounds is None else bounds
    return SimpleNamespace(
        points=points, scores=scores, weights=weights, weights_low=None,
        graph=SimpleNamespace(edges=np.asarray(edges).reshape(-1, 2)),
        factors=SteinFactors.of(instance.factors), bounds=None if limits is None else np.atleast_2d(limits),
        coefficients=coefficients,
    )  # fmt: skip


def sliced_claims(instance, result):
    """Return the claims of the slices, along coordinates."""
    first, weights = distinct(instance)
    points, scores = result.units.points(result.sample.points), instance.scores[first]
    assert np.array_equal(points, instance.points[first])
    found = []
    for j, piece in enumerate(result.slices):
        u, group = np.unique(points[:, j], return_inverse=True)
        assert np.array_equal(u, piece.positions)
        mass, pull = [Fraction(0)] * len(u), [Fraction(0)] * len(u)
        for k, weight, score in zip(group.tolist(), weights, scores[:, j].tolist(), strict=True):
            mass[k] += weight
            pull[k] += weight * Fraction(score)
        means = np.array([[a / b] for a, b in zip(pull, mass, strict=True)])
        edges = np.column_stack([np.arange(len(u) - 1), np.arange(1, len(u))])
        problem = stated(instance, u[:, None], means, mass, edges, bounds=[piece.bounds])
        small = len(u) <= MOST_EXACT[1]
        found.append(Claim(f"coordinate {j + 1}", exact_program(problem, 0), piece.lower, piece.upper, small))
    return found


def excess_in_rounding_errors(instance, result):
    """Return the largest excess of a row, or of `lower` over the objective, for the returned g and slopes.

    The unit is 2^-53 times the sum of the sizes of the terms, as the entries of g are rounded. The result is infinite
    if g or a slope exceeds its box at all, such as c2 times the distance to a bound.
    """
    largest = Fraction(0)
    n, dim = result.g.shape
    brackets = list(zip(result.coordinate_lower, result.coordinate_upper, strict=True))
    for j, claim in enumerate(graph_claims(instance, result.graph.edges, brackets, result.coefficients)):
        slopes = np.zeros((n, dim))
        slopes[:, range(dim) if result.slopes.shape[2] == dim else [j]] = result.slopes[:, j]
        y = [Fraction(value) for value in [*result.g[:, j].tolist(), *slopes.T.ravel().tolist()]]
        if any(abs(value) > limit for value, limit in zip(y, claim.program.box, strict=True)):
            return np.inf
        terms = [b * value for b, value in zip(claim.program.objective, y, strict=True)]
        if lost := Fraction(claim.lower) - sum(terms):
            largest = max(largest, lost / (sum(map(abs, terms)) + abs(lost)))
        for row, radius in claim.program.rows:
            terms = [a * y[k] for k, a in row.items()]
            if size := sum(map(abs, terms)) + radius:
                largest = max(largest, (abs(sum(terms)) - radius) / size)
    return float(largest * 2**53)
