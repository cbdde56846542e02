"""The chain form in rational arithmetic, by the recursions of `chain_form`, without rounding."""

from fractions import Fraction

from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, ROWS
from support.exact_programs import fractions


def exactly(chain, name):
    """Return the double-double lengths or weights of the nodes of a chain."""
    parts = fractions(getattr(chain, name)), fractions(getattr(chain, f"{name}_low"))
    return [high + low for high, low in zip(*parts, strict=True)]


def function_of(form, y):
    """Return gamma and Gamma in the order of the sample."""
    data, c2, c3 = form.chain, Fraction(form.chain.c2), Fraction(form.chain.c3)
    n = form.n_points
    variables = [Fraction(0)] * (2 * n)
    value = slope = Fraction(0)
    steps = exactly(data, "step")
    for i in range(n):
        h, first, second = steps[i], y[2 * i], y[2 * i + 1]
        if data.kind[i] == FREE:
            value, slope = Fraction(data.box[i]) * first, c2 * second
        else:
            bounded = data.kind[i] == BOUNDED
            chord = c2 * first if bounded else slope + c3 * h / 2 * first
            value, slope = (Fraction(0) if bounded else value) + h * chord, chord - c3 * h / 2 * second
        variables[form.order[i]], variables[n + form.order[i]] = int(form.sign[i]) * value, slope
    return variables


def exact_cost(form, p):
    """Return the exact cost of the dual point of multipliers p.

    T is zero after a segment with a free end. Between two bounds it is such that phi is zero at the end.
    """
    data, c2, c3 = form.chain, Fraction(form.chain.c2), Fraction(form.chain.c3)
    p, n, boxes = fractions(p), form.n_points, fractions(data.box)
    step, value, slope = (exactly(data, name) for name in ("step", "value", "slope"))
    at_value = [Fraction(float(p[ROWS * k] / boxes[k])) if boxes[k] else Fraction(0) for k in range(n)]
    at_slope = [p[ROWS * k + 1] / c2 for k in range(n)]
    chords = [p[ROWS * k + 4] / c2 if data.kind[k] not in (FREE, EDGE) else Fraction(0) for k in range(n)]

    def follow(start, end, force):
        """Return T and phi after the segment, and its cost, given T on the edge into it."""
        forward, cost = Fraction(0), Fraction(0)
        for k in range(start, end):
            backward = Fraction(0)
            if data.kind[k] != FREE:
                backward = step[k] * force - chords[k] - forward
                cost += c3 * step[k] / 2 * (abs(forward) + abs(backward)) + c2 * abs(chords[k])
            cost += boxes[k] * abs(at_value[k]) + c2 * abs(at_slope[k])
            force += at_value[k] - value[k]
            forward = at_slope[k] - slope[k] - backward
        return force, forward, cost

    starts = [k for k in range(n) if data.kind[k] < EDGE]
    total = Fraction(0)
    for start, end in zip(starts, [*starts[1:], n], strict=True):
        two_bounds = end == n and data.far >= 0.0
        force = Fraction(0)
        if two_bounds:
            far = Fraction(data.far) + Fraction(data.far_low)
            left = [behind[1] - far * behind[0] for behind in (follow(start, end, Fraction(t)) for t in (0, 1))]
            force = left[0] / (left[0] - left[1])
        elif data.kind[start] == BOUNDED:
            force = -follow(start, end, force)[0]
        force, forward, cost = follow(start, end, force)
        total += cost + (Fraction(data.far_radius) if two_bounds else boxes[end - 1]) * abs(force)
        total += c2 * abs(forward - far * force if two_bounds else forward)
    return total
