"""The optimum of a small linear program in rational arithmetic, with a proof.

    maximize b'y   subject to   |a_i'y| <= r_i for every row,   |y_k| <= u_k

All data are rational. With the boxes taken as rows, a basis consists of N linearly independent rows: at y each of them
is at one of its two ends, and the multipliers p express b in terms of them. The boxes with the signs of b are a basis
with a feasible p. Rows that y violates enter one at a time. The row that leaves is the first one that would change the
sign of its multiplier and cannot jump to its other end (the dual simplex method with long steps). The table of all rows
in terms of the basis is stored as integers over one common denominator, and each step is a division without remainder
(Edmonds, as in Bareiss' elimination).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import lcm

MOST_STEPS = 3000


@dataclass(frozen=True)
class Solved:
    """Rational solution y, multipliers p of rows and boxes that prove it, and the optimum."""

    y: list[Fraction]
    p: list[Fraction]
    value: Fraction


def solved(program):
    """Return the optimum of an `ExactProgram`, with the proof verified: y is feasible and p has the same cost."""
    kept = [k for k, limit in enumerate(program.box) if limit > 0]  # the other multipliers are zero
    place = {k: number for number, k in enumerate(kept)}
    rows = [({place[k]: value for k, value in row.items() if k in place}, radius) for row, radius in program.rows]
    rows = [({k: Fraction(1)}, program.box[kept[k]]) for k in range(len(kept))] + rows
    y_kept, p_all = _dual_simplex(rows, [program.objective[k] for k in kept])
    y = [Fraction(0)] * len(program.box)
    for k, value in zip(kept, y_kept, strict=True):
        y[k] = value
    found = Solved(y, p_all[len(kept) :], program.value(y))
    assert program.excess(y) <= 0
    assert cost(program, found.p) == found.value
    return found


def cost(program, p):
    """Return the bound of multipliers p of the rows: r'|p| + u'|b - A'p|."""
    left = list(program.objective)
    for (row, _), multiplier in zip(program.rows, p, strict=True):
        for k, coefficient in row.items():
            left[k] -= multiplier * coefficient
    paid = sum((radius * abs(each) for (_, radius), each in zip(program.rows, p, strict=True)), Fraction(0))
    return paid + sum((limit * abs(each) for limit, each in zip(program.box, left, strict=True)), Fraction(0))


def _dual_simplex(rows, objective):
    """Return y and p for rows that begin with the boxes of the variables."""
    size = len(objective)
    factors = [reduce(lcm, (value.denominator for value in row.values()), 1) for row, _ in rows]
    unit = reduce(lcm, (Fraction(radius).denominator for _, radius in rows), 1)
    radius = [int(r * unit) * factor for (_, r), factor in zip(rows, factors, strict=True)]
    scale = reduce(lcm, (value.denominator for value in objective), 1)
    table = [[0] * size for _ in rows]
    for line, (row, _), factor in zip(table, rows, factors, strict=True):
        for k, value in row.items():
            line[k] = int(value * factor)
    price = [int(value * scale) for value in objective]
    basis, place, below = list(range(size)), list(range(len(rows))), 1
    # place[i] is the line of the table with row i, while that is outside the basis.
    outside = set(range(size, len(rows)))
    sign = [1 if value >= 0 else -1 for value in price]
    for step in range(MOST_STEPS):
        ends = [sign[k] * radius[basis[k]] for k in range(size)]
        entering, most, activity = None, 0, 0
        for i in sorted(outside):
            line = table[place[i]]
            reached = sum(a * end for a, end in zip(line, ends, strict=True) if a)
            excess = abs(reached) - radius[i] * below
            if excess > 0:
                if step > MOST_STEPS // 2:  # the first violated row, which prevents cycles
                    entering, activity = i, reached
                    break
                urgency = (excess * excess << 64) // sum(a * a for a in line)
                if entering is None or urgency > most:
                    entering, most, activity = i, urgency, reached
        if entering is None:
            break
        leaving = _leaving(table[place[entering]], price, sign, activity, radius, basis, radius[entering] * below)
        line = table[place[entering]]
        pivot = line[leaving]
        table[place[entering]] = [-value for value in line]
        table[place[entering]][leaving] = below
        place[basis[leaving]] = place[entering]
        turned = -1 if pivot < 0 else 1
        for i in outside:
            if i != entering:
                _eliminate(table[place[i]], line, leaving, pivot, below, turned)
        _eliminate(price, line, leaving, pivot, below, turned)
        if turned < 0:
            table[place[entering]] = [-value for value in table[place[entering]]]
        outside.remove(entering)
        outside.add(basis[leaving])
        basis[leaving], below = entering, abs(pivot)
        sign[leaving] = 1 if activity > 0 else -1
    else:
        raise ArithmeticError("no optimum after so many steps")
    ends = [sign[k] * radius[basis[k]] for k in range(size)]
    y = []
    for k in range(size):
        if k in outside:
            reached = sum(a * end for a, end in zip(table[place[k]], ends, strict=True))
            y.append(Fraction(reached, below * unit))
        else:
            y.append(Fraction(ends[basis.index(k)], unit))
    p = [Fraction(0)] * len(rows)
    for k, row in enumerate(basis):
        p[row] = Fraction(price[k] * factors[row], below * scale)
    return y, p


def _leaving(line, price, sign, activity, radius, basis, reach):
    """Return the row that leaves the basis; rows before it move to their other ends."""
    way = 1 if activity > 0 else -1
    left = abs(activity) - reach
    turns = sorted(
        (Fraction(sign[k] * price[k], sign[k] * way * a), k) for k, a in enumerate(line) if sign[k] * way * a > 0
    )
    for _, k in turns:
        left -= 2 * radius[basis[k]] * abs(line[k])
        if left <= 0:
            return k
        sign[k] = -sign[k]
    raise ArithmeticError("the rows contradict one another")


def _eliminate(line, by, leaving, pivot, below, turned):
    """Express a row in the new basis, over the new denominator |pivot|."""
    share = line[leaving]
    if share:
        for k, value in enumerate(by):
            if k != leaving:
                line[k] = turned * (line[k] * pivot - share * value) // below
        line[leaving] = turned * share
    else:
        for k, value in enumerate(line):
            if value:
                line[k] = turned * value * pivot // below
