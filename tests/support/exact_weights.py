"""The smallest discrepancy over all weights, as a linear program in rational arithmetic.

With h_i the value of the test function at point i and R >= |h_i|, the program is

    maximize t - sum_i w_i e_i   subject to   h_i + e_i >= t,   e_i >= 0,

written with e_i = R (1 + eps_i) and |h_i + R eps_i - tau| <= 2 R, |eps_i| <= 1, so t = tau - R.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from support.exact_optimum import solved
from support.exact_programs import ExactProgram, exact_program, fractions


def least_discrepancy(programs, moments, most):
    """Return the optimum for `SteinProgram` objects with equal points, moments (m, n) and largest weights (n,)."""
    n = len(most)
    rows, box = [], []
    h = [{} for _ in range(n)]
    for program in programs:
        unit = replace(program, weights=np.ones(n), weights_low=None)
        for j in range(program.dim):
            exact, first = exact_program(unit, j), len(box)
            rows += [({first + k: value for k, value in row.items()}, radius) for row, radius in exact.rows]
            box += exact.box
            for i, score in enumerate(fractions(program.scores[:, j])):
                h[i][first + i], h[i][first + n * (j + 1) + i] = score, Fraction(1)
    for moment in moments:
        for i, value in enumerate(fractions(moment)):
            h[i][len(box)] = value
        box.append(Fraction(1))
    reach = max(sum(abs(value) * box[k] for k, value in row.items()) for row in h)
    level = len(box) + n
    for i, row in enumerate(h):
        rows.append((row | {len(box) + i: reach, level: Fraction(-1)}, 2 * reach))
    limits = fractions(most)
    objective = [Fraction(0)] * len(box) + [-reach * limit for limit in limits] + [Fraction(1)]
    found = solved(ExactProgram(rows, box + [Fraction(1)] * n + [4 * reach], objective)).value
    return found - reach - reach * sum(limits)


def random_program(rng, dim, n, *, is_bounded=False):
    """Return the arguments of `WeightsProgram` for random points on a grid, and of `least_discrepancy`."""
    from steinkit.discrepancy.graph.programs.stein_program import SteinFactors, SteinProgram
    from steinkit.discrepancy.graph.spanner.geometry import complete_graph, sorted_graph

    points = np.unique(rng.integers(-40, 41, (n, dim)), axis=0) / 16.0
    rng.shuffle(points)
    n = len(points)
    scores = np.round(16.0 * (-points * rng.integers(1, 5) + rng.normal(0.0, 0.5, points.shape))) / 16.0
    factors = SteinFactors(*(float(2.0 ** rng.integers(-1, 2)) for _ in range(3)))
    bounds = np.array([[points.min() - rng.integers(0, 3) / 8.0, np.inf]] * dim) if is_bounded else None
    graph = sorted_graph(points) if dim == 1 else complete_graph(points)
    shares = np.full(n, 1.0 / n)
    most = np.full(n, [1.0, 0.5, 2.0**-1][rng.integers(3)])
    return SteinProgram(points, scores, shares, graph, factors, bounds), shares, most
