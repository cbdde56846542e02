"""The one-dimensional classical program in rational arithmetic.

Points, weights, scores, bounds and Stein factors are doubles, and the numbers of an answer or a trajectory may have
extended precision. All of them are taken as exact rational numbers.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np

from steinkit.discrepancy.classical_program import ClassicalProgram, ConeAnswer
from steinkit.discrepancy.graph.programs.stein_program import SteinFactors

CLOSE = Fraction(1, 2**42)
"""Relative accuracy of initial values computed in double precision."""

SUPPORTS = ("line", "left", "right", "both")


def exact(number):
    """Return the rational value of a number in any binary format."""
    return Fraction(*np.longdouble(number).as_integer_ratio())


def fractions(numbers):
    """Return the rational values of a one-dimensional array."""
    return [exact(number) for number in numbers]


def factors_of(program):
    """c1, c2 and c3."""
    return exact(program.factors.value), exact(program.factors.gradient), exact(program.factors.smoothness)


def gap_lengths(program):
    """Return the lengths of the restricting gaps, those to mirror images last."""
    x = fractions(program.points)
    inner = [x[k + 1] - x[k] for k in program.inner]
    return inner + [2 * abs(x[point] - exact(program.bounds[0 if sign > 0 else 1])) for point, _, sign in program.ends]


def exact_function(program, answer):
    """Return the values and slopes, at the points, of the function of an answer, gap by gap."""
    c3, n, n_inner = factors_of(program)[2], len(program.points), len(program.inner)
    x, value, slope = fractions(program.points), fractions(answer.value), fractions(answer.slope)
    bend, turn = fractions(answer.bend), fractions(answer.turn)
    gap_after = {int(point): gap for gap, point in enumerate(program.inner)}
    bounds = {sign: gap for gap, (_, _, sign) in enumerate(program.ends, start=n_inner)}

    def from_bound(sign):
        """Distance a of the outermost point, and c3 a^2 u."""
        a = gap_lengths(program)[bounds[sign]] / 2
        return a, c3 * a * a * bend[bounds[sign]]

    for first, stop in pairwise(program.starts.tolist()):
        left, right = first == 0 and 1.0 in bounds, stop == n and -1.0 in bounds
        for _ in range(2 if left and right else 1):
            if left:
                a, rise = from_bound(1.0)
                value[first] = a * slope[first] + rise
            for i in range(first, stop - 1):
                h, gap = x[i + 1] - x[i], gap_after[i]
                slope[i + 1] = slope[i] + c3 * h * turn[gap]
                value[i + 1] = value[i] + h * (slope[i] + slope[i + 1]) / 2 + c3 * h * h / 2 * bend[gap]
            if left and right:
                after, rise = from_bound(-1.0)
                missed = value[-1] + after * slope[-1] + rise
                slope[first] -= missed / (a + x[-1] - x[0] + after)
        if right and not left:
            after, rise = from_bound(-1.0)
            missed = value[-1] + after * slope[-1] + rise
            value[first:stop] = [each - missed for each in value[first:stop]]
        assert not (left and right) or missed == 0
    return value, slope


def excess_at_point(program, value, slope):
    """Return the largest excess of |Gamma| / c2 and (|gamma| + Gamma^2 / (2 c3)) / c1 over one."""
    c1, c2, c3 = factors_of(program)
    return max(abs(slope) / c2, (abs(value) + slope**2 / (2 * c3)) / c1) - 1


def excess_in_gap(program, mean, bend, turn, length):
    """Return the largest excess of v^2 + 4 t^2 +- 2 u over one, for the smallest t that the mean slope allows."""
    _, c2, c3 = factors_of(program)
    excess = []
    for sign in (1, -1):
        cut = max(Fraction(1, 2) + (sign * mean - c2) / (c3 * length), Fraction(0))
        excess.append(turn**2 + 4 * cut**2 + 2 * sign * bend - 1)
    return max(excess)


def random_classical(seed, *, support=None, extent=None, factors=None, n=None):
    """Return a program with gaps of many scales, and an arbitrary answer."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9)) if n is None else n
    support = SUPPORTS[rng.integers(4)] if support is None else support
    c = SteinFactors.of(tuple(2.0 ** rng.integers(-6, 7, 3)) if factors is None else factors)
    reach = ClassicalProgram(np.zeros(1), np.ones(1), np.ones(1), c, (-np.inf, np.inf)).reach
    gaps = reach * rng.uniform(0.1, 1.0, n) * rng.choice([1.5, 0.5, 2.0**-8, 2.0**-20], n)
    gaps *= 1.0 if extent is None else extent / reach
    points = np.cumsum(gaps) + (3.0 + rng.random()) * gaps.max()
    margins = 0.5 * reach * rng.uniform(0.01, 0.9, 2) * rng.choice([1.0, 2.0**-10], 2)
    margins *= 1.0 if extent is None else extent / reach
    lower = points[0] - margins[0] if support in ("left", "both") else -np.inf
    upper = points[-1] + margins[1] if support in ("right", "both") else np.inf
    weights = rng.random(n) + 0.1
    program = ClassicalProgram(points, weights / weights.sum(), rng.standard_normal(n), c, (lower, upper))
    return program, random_answer(program, rng)


def random_answer(program, rng):
    """Return random numbers of the same size as those of a solver."""
    c, n, gaps = program.factors, len(program.points), len(program.lengths)
    return ConeAnswer(
        value=c.value * rng.uniform(-1.0, 1.0, n),
        slope=program.steepest * rng.uniform(-1.0, 1.0, n),
        bend=rng.uniform(-0.5, 0.5, gaps),
        turn=rng.uniform(-1.0, 1.0, gaps),
        tension=rng.standard_normal(gaps),
        torque=rng.standard_normal(gaps),
        cut=rng.standard_normal((2, gaps)),
    )


def most_at_point(program, alpha, beta):
    """The largest alpha gamma + beta Gamma with |Gamma| <= c2 and |gamma| + Gamma^2 / (2 c3) <= c1.

    The factors are such that sqrt(2 c1 c3), the largest slope, is a double.
    """
    c1, c2, c3 = factors_of(program)
    ceiling = exact(np.sqrt(2.0 * program.factors.value * program.factors.smoothness))
    assert ceiling**2 == 2 * c1 * c3
    steepest = min(c2, ceiling)
    slope = min(steepest, c3 * abs(beta) / abs(alpha)) if alpha else steepest
    return abs(alpha) * (c1 - slope**2 / (2 * c3)) + abs(beta) * slope


def most_in_gap(a, b, cuts):
    """Return two numbers that enclose the largest a u + b v + c_+ t_+ + c_- t_- over v^2 + 4 t_+-^2 +- 2 u <= 1.

    For multipliers m_+ and m_- of the two cones, with m_+ - m_- = a/2, the largest value of the Lagrangian is the upper
    number. The lower number is the objective at its maximizers v and t, with the best feasible u.
    """
    if not b and not any(cuts):
        return abs(a) / 2, abs(a) / 2
    start = Fraction(halved(float(a), float(b), list(map(float, cuts)), 0.0, float(abs(b) + sum(map(abs, cuts))), 60))
    around = CLOSE
    while crowded(a, b, cuts, start * (1 + around)):
        around *= 8
    rest = halved(a, b, cuts, start / (1 + around), start * (1 + around), 20)
    v, t, most = stationary(a, b, cuts, rest)
    u = (1 - v**2 - 4 * t[0] ** 2) / 2 if a > 0 else -(1 - v**2 - 4 * t[1] ** 2) / 2
    assert max(v**2 + 4 * t[0] ** 2 + 2 * u, v**2 + 4 * t[1] ** 2 - 2 * u) <= 1
    return a * u + b * v + cuts[0] * t[0] + cuts[1] * t[1], most


def halved(a, b, cuts, low, high, times):
    """Return an upper bound on the excess of the multipliers over |a|/2 at the minimum, by bisection."""
    for _ in range(times):
        middle = (low + high) / 2
        low, high = (middle, high) if crowded(a, b, cuts, middle) else (low, middle)
    return high


def crowded(a, b, cuts, rest):
    """Return True if v and t leave u no range."""
    v, t, _ = stationary(a, b, cuts, rest)
    return v**2 + 2 * t[0] ** 2 + 2 * t[1] ** 2 > 1


def stationary(a, b, cuts, rest):
    """v, t and the value of the Lagrangian for multipliers whose sum is |a|/2 + rest."""
    total = abs(a) / 2 + rest
    m = [(rest + max(sign * a, 0)) / 2 for sign in (1, -1)]
    t = [c / (8 * each) for c, each in zip(cuts, m, strict=True)]
    v = b / (2 * total)
    return v, t, total + b * v / 2 + cuts[0] * t[0] / 2 + cuts[1] * t[1] / 2


def dual_value(program, tension, torque, cut):
    """Return an enclosure of the bound that the multipliers give by weak duality, gap by gap."""
    _, c2, c3 = factors_of(program)
    tension, torque, cut = fractions(tension), fractions(torque), [fractions(each) for each in cut]
    q, s, n_inner = fractions(program.weights), fractions(program.scores), len(program.inner)
    alpha, beta = [a * b for a, b in zip(q, s, strict=True)], list(q)
    least = most = Fraction(0)
    for gap, h in enumerate(gap_lengths(program)):
        pushes = h * tension[gap] - cut[0][gap] + cut[1][gap]
        if gap < n_inner:
            i, k, turn = int(program.inner[gap]), int(program.inner[gap]) + 1, torque[gap]
            alpha[i] += tension[gap]
            alpha[k] -= tension[gap]
            beta[i] += pushes / 2 + turn
            beta[k] += pushes / 2 - turn
        else:
            i, _, sign = program.ends[gap - n_inner]
            alpha[i] -= 2 * int(sign) * tension[gap]
            beta[i] += pushes
            turn = Fraction(0)
        cuts = [c3 * h * each[gap] for each in cut]
        enclosed = most_in_gap(c3 * h * h / 2 * tension[gap], c3 * h * turn, cuts)
        share = (cut[0][gap] + cut[1][gap]) * (c2 - c3 * h / 2)
        least, most = least + enclosed[0] + share, most + enclosed[1] + share
    points = sum(most_at_point(program, *each) for each in zip(alpha, beta, strict=True))
    return least + points, most + points
