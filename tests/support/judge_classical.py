"""Verification of brackets of the classical Stein discrepancy in rational arithmetic.

For the uniform distribution on [0, w] and factors (w/2, 1/2, 1/w) the optimum is the Wasserstein distance over w, an
integral of |F_n - F| that is rational. For other inputs, it is enclosed, independently of the certificate, by two
programs on a grid that contains the sample: functions with a piecewise constant second derivative between nodes are a
subset of the feasible ones, and the graph program on the grid, where nodes without draws have no weight, has fewer
constraints.
"""

from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
from scipy.optimize import linprog

from support.exact_programs import exact_program
from support.judge import Claim, answered, distinct, stated
from support.judge_wasserstein import to_uniform

# Nodes of the grid in each gap between draws.
SHARES = [Fraction(k, 32) for k in (1, 4, 8, 12, 16, 20, 24, 28, 31, 32)]


def classical_claims(instance, result):
    """Return the claim of a result."""
    first, weights = distinct(instance)
    order = sorted(range(len(first)), key=lambda k: instance.points[first[k], 0])
    x = [Fraction(instance.points[first[k], 0]) for k in order]
    s = [Fraction(instance.scores[first[k], 0]) for k in order]
    q = [weights[k] for k in order]
    limits = (-np.inf, np.inf) if instance.bounds is None else tuple(np.ravel(instance.bounds).tolist())
    lower, width = limits
    if lower == 0.0 and instance.factors == (width / 2, 0.5, 1 / width) and not any(s):
        value = to_uniform(x, q, Fraction(0), Fraction(width)) / Fraction(width)
        return [Claim("the Wasserstein distance", SimpleNamespace(known=(value, value)), result.lower, result.upper)]
    known = enclosed_classical(x, q, s, limits, instance)
    return [Claim("the optimum", SimpleNamespace(known=known), result.lower, result.upper)]


def enclosed_classical(x, q, s, limits, instance):
    """Return rational bounds on the optimum, which differ by a few percent."""
    nodes, at = grid(x, limits, instance.factors)
    weight, pull = [Fraction(0)] * len(nodes), [Fraction(0)] * len(nodes)
    for place, mass, score in zip(at, q, s, strict=True):
        weight[place], pull[place] = mass, score
    c = tuple(map(Fraction, instance.factors))
    least = best_spline(nodes, weight, pull, c, [np.isfinite(limit) for limit in limits])
    edges = np.column_stack([np.arange(len(nodes) - 1), np.arange(1, len(nodes))])
    points = np.array([[node] for node in nodes], dtype=object)
    problem = stated(instance, points, np.array([[p] for p in pull], dtype=object), weight, edges)
    return least, answered(exact_program(problem, 0))[1]


def grid(x, limits, factors):
    """Return nodes with the bounds, and the positions of the points; open sides extend far."""
    c1, c2, c3 = factors
    beyond = Fraction(2.0 * max(c1 / c2, (2.0 * c1 / c3) ** 0.5))
    ends = [Fraction(limit) if np.isfinite(limit) else None for limit in limits]
    known = {x[0] - beyond if ends[0] is None else ends[0], x[-1] + beyond if ends[1] is None else ends[1], *x}
    nodes = [min(known)]
    for left, right in pairwise(sorted(known)):
        nodes += [left + (right - left) * share for share in SHARES]
    return nodes, [nodes.index(point) for point in x]


def best_spline(nodes, weight, pull, c, bounded):
    """Return the exact mean of g s + g' for a feasible g, which is a scaled solution of a solver."""
    c1, c2, c3 = c
    h = [b - a for a, b in pairwise(nodes)]
    lengths, n = np.array([float(each) for each in h]), len(nodes)
    # Unknowns: slopes at the nodes in units of c2, and the value at the first node in units of c1.
    values = np.zeros((n, n + 1))
    values[:, n] = float(c1)
    for i in range(n - 1):
        values[i + 1] = values[i]
        values[i + 1, [i, i + 1]] += float(c2) * lengths[i] / 2
    q, s = np.array([float(each) for each in weight]), np.array([float(each) for each in pull])
    objective = (q * s) @ values
    objective[:n] += q * float(c2)
    bends = np.zeros((n - 1, n + 1))
    bends[np.arange(n - 1), np.arange(n - 1)], bends[np.arange(n - 1), np.arange(1, n)] = -1.0, 1.0
    middle = values[:-1].copy()  # control points of a cell as a Bezier curve, which bound the curve
    middle[np.arange(n - 1), np.arange(n - 1)] += float(c2) * lengths / 2
    rows = np.vstack([values / float(c1), middle / float(c1), bends])
    room = np.concatenate([np.ones(2 * n - 1), lengths * float(c3 / c2)])
    if bounded[1]:
        room[n - 1] = 0.0
    ends = [(0, 0) if not bounded[end] else (-1, 1) for end in (0, 1)]  # g is constant beyond an open end
    limits = [ends[0], *[(-1, 1)] * (n - 2), ends[1], (0, 0) if bounded[0] else (-1, 1)]
    found = linprog(
        -objective / np.abs(objective).max(), A_ub=np.vstack([rows, -rows]), b_ub=np.tile(room, 2), bounds=limits
    )
    if found.x is None:
        return Fraction(0)
    slopes = [Fraction(float(each)) * c2 for each in found.x[:n]]
    value = [Fraction(float(found.x[n])) * c1]
    for i, length in enumerate(h):
        value.append(value[-1] + length * (slopes[i] + slopes[i + 1]) / 2)
    if bounded[1]:  # the mean slope that removes the value at the bound
        tilt = value[-1] / (nodes[-1] - nodes[0]) if bounded[0] else Fraction(0)
        lift = Fraction(0) if bounded[0] else value[-1]
        value = [v - lift - tilt * (node - nodes[0]) for v, node in zip(value, nodes, strict=True)]
        slopes = [slope - tilt for slope in slopes]
    sizes = [Fraction(1), *(abs(slope) / c2 for slope in slopes)]
    for i, length in enumerate(h):
        sizes.append(abs(slopes[i + 1] - slopes[i]) / (c3 * length))
        sizes.append(highest(value[i], slopes[i], slopes[i + 1], length) / c1)
    for end, has_bound in ((0, bounded[0]), (-1, bounded[1])):
        if not has_bound:  # beyond it g' returns to zero as fast as possible
            sizes.append((abs(value[end]) + slopes[end] ** 2 / (2 * c3)) / c1)
    mean = sum(w * (p * v + slope) for w, p, v, slope in zip(weight, pull, value, slopes, strict=True))
    return max(mean / max(sizes), Fraction(0))


def highest(value, left, right, length):
    """Return the largest |g| in a cell."""
    ends = [abs(value), abs(value + length * (left + right) / 2)]
    if left * right < 0:
        ends.append(abs(value + left * left * length / (2 * (left - right))))
    return max(ends)
