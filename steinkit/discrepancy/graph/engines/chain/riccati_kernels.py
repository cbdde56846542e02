"""Newton systems of the chain form by a Riccati sweep, in O(n).

A node's state is (gamma, Gamma); the residuals a and e of the edge into it are controls. Backwards along the chain the
cost of the nodes ahead, as a function of the state, is kept as

    1/2 (P (gamma + r Gamma)^2 + s Gamma^2) - p0 gamma - p1 Gamma,        P, s >= 0.

An edge, read from its far end, is three elementary steps: the control e (Gamma' = chord - half e, half = c3 h/2), the
shear gamma' = gamma + h chord, the control a (chord = Gamma + half a). A block of edges that share their controls (see
`aggregation`) has a shear of its lag d before and after, and half = c3 (h + 2d)/2. In these terms nothing is ever
subtracted:

    shear       r <- r + h
    control     of weight w:   q = w + half^2 s,  R = q + half^2 P r^2:   P <- P q/R,  r <- r w/q,  s <- s w/q
    chord row   s <- s + weight/c2^2
    node boxes  s <- s + w1 + r^2 P w0/(P + w0),  r <- r P/(P + w0),  P <- P + w0.

This is the Schur complement of the tridiagonal block system, P (1, r)(1, r)' + s (0, 1)(0, 1)', in factored form.

Every step of a sweep waits for the one before, three divisions long, and leaves most of a processor idle. `ABREAST`
sweeps over chains that have nothing to do with one another are therefore made side by side in not much more than the
time of one; each is the same to the bit as alone. What a step does to one chain is written out in them (`spliced`),
by way of `sweep.gains` and its like: an array bound to a name there is counted as held at every step.
"""

from __future__ import annotations

from typing import NamedTuple

from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, ROWS
from steinkit.runtime.compilation import array_kernel, spliced_array_kernel
from steinkit.sample import Floats, Integers

GAINS = 8
"""Numbers a node: of control a its gains on gamma and Gamma, 1/R and w/R, then those of control e."""

ABREAST = 4
"""Chains whose sweeps are made side by side: with more of them the processor is no faster."""


class Blocks(NamedTuple):
    """Nodes of a chain and the blocks of edges that join them, as the engine sees them.

    Attributes
    ----------
    kind : ndarray of int, shape (n,)
        What leads to each node: FREE, BOUNDED, EDGE or LIPSCHITZ_EDGE.
    step, lag : ndarray, shape (n,)
        Lengths of the shears h between the controls and d on either side of them; d = 0 for single edges.
    box : ndarray, shape (n,)
        Largest |gamma|, positive.
    start : ndarray, shape (5n,)
        Multipliers of the rows that balance the objective.
    c2, c3, far, far_radius : float
        See `chain_form_kernels.Chain`.
    """

    kind: Integers
    step: Floats
    lag: Floats
    box: Floats
    start: Floats
    c2: float
    c3: float
    far: float
    far_radius: float


class Factorisation(NamedTuple):
    """A chain, the weights of its rows, shape (5n,), and `gains`, shape (8n,), to be set from them."""

    blocks: Blocks
    weights: Floats
    gains: Floats


class NewtonStep(NamedTuple):
    """A factorised chain, a force on its rows and their `change`, shape (5n,), which is set; `feed` is work space."""

    blocks: Blocks
    gains: Floats
    force: Floats
    feed: Floats
    change: Floats


Cost = tuple[float, float, float]
Pair = tuple[float, float]


@spliced_array_kernel
def _control(P: float, r: float, s: float, weight: float, half: float) -> tuple[float, float, float, float]:
    """Minimise over a control of this weight that moves the slope by half; returns P, r, s and 1/R."""
    square = half * half
    without = weight + square * s
    inverse = 1.0 / (without + square * (P * r * r))
    shrink = weight / without
    return P * (without * inverse), r * shrink, s * shrink, inverse


@array_kernel
def riccati_factorise(sweep: Factorisation) -> None:
    """Set the gains from the rows' weights.

    A free start stores P, r and s; a start from a bound 1/P11 in place of the first.
    """
    cost = _behind(sweep)
    for i in range(sweep.blocks.kind.size - 1, -1, -1):
        cost = _before(sweep, i, cost)


@array_kernel
def riccati_factorise_abreast(a: Factorisation, b: Factorisation, c: Factorisation, d: Factorisation) -> None:
    """`riccati_factorise` of four chains, of any lengths."""
    left_a, left_b, left_c, left_d = a.blocks.kind.size, b.blocks.kind.size, c.blocks.kind.size, d.blocks.kind.size
    cost_a, cost_b, cost_c, cost_d = _behind(a), _behind(b), _behind(c), _behind(d)
    for _ in range(max(left_a, left_b, left_c, left_d)):
        left_a, left_b, left_c, left_d = left_a - 1, left_b - 1, left_c - 1, left_d - 1
        if left_a >= 0:
            cost_a = _before(a, left_a, cost_a)
        if left_b >= 0:
            cost_b = _before(b, left_b, cost_b)
        if left_c >= 0:
            cost_c = _before(c, left_c, cost_c)
        if left_d >= 0:
            cost_d = _before(d, left_d, cost_d)


@spliced_array_kernel
def _behind(sweep: Factorisation) -> Cost:
    """P, r and s of what lies behind the last node: a far bound's row, or nothing."""
    blocks = sweep.blocks
    P, r = 0.0, 0.0
    if blocks.far >= 0.0:
        P, r = sweep.weights[2] / blocks.far_radius**2, blocks.far
    return P, r, 0.0


@spliced_array_kernel
def _before(sweep: Factorisation, i: int, cost: Cost) -> Cost:
    """P, r and s before node i and the edge into it, from those behind; sets the node's gains."""
    kind, h, lag, box = sweep.blocks.kind[i], sweep.blocks.step[i], sweep.blocks.lag[i], sweep.blocks.box[i]
    c2 = sweep.blocks.c2
    P, r, s = cost
    row, at, per_square = ROWS * i, GAINS * i, 1.0 / (c2 * c2)
    value = sweep.weights[row] / (box * box)
    share = 1.0 / (P + value)
    s += sweep.weights[row + 1] * per_square + r * r * P * (value * share)
    r *= P * share
    P += value
    if kind == FREE:
        sweep.gains[at], sweep.gains[at + 1], sweep.gains[at + 2] = P, r, s
        P, r, s = 0.0, 0.0, 0.0
    else:
        half = 0.5 * sweep.blocks.c3 * (h + 2.0 * lag)
        r += lag
        cross, turn = P * r, P * r * r + s
        P, r, s, inverse = _control(P, r, s, sweep.weights[row + 3], half)
        sweep.gains[at + 4], sweep.gains[at + 5] = half * cross * inverse, half * turn * inverse
        sweep.gains[at + 6], sweep.gains[at + 7] = inverse, sweep.weights[row + 3] * inverse
        r += h
        if kind != EDGE:
            s += sweep.weights[row + 4] * per_square
        if kind == BOUNDED:
            sweep.gains[at] = 1.0 / (P * r * r + s)
            P, r, s = 0.0, 0.0, 0.0
        else:
            cross, turn = P * r, P * r * r + s
            P, r, s, inverse = _control(P, r, s, sweep.weights[row + 2], half)
            sweep.gains[at], sweep.gains[at + 1] = half * cross * inverse, half * turn * inverse
            sweep.gains[at + 2], sweep.gains[at + 3] = inverse, sweep.weights[row + 2] * inverse
            r += lag
    return P, r, s


@array_kernel
def riccati_solve(step: NewtonStep) -> None:
    """Set `change` to B dx where (B'WB) dx = b + B'force.

    Backwards, the linear cost (p0, p1) leaves in `feed` the constant part of the controls, or of the starts; forwards,
    the chain under the controls gives the rows.
    """
    cost, state = _pull_behind(step), (0.0, 0.0)
    for i in range(step.blocks.kind.size - 1, -1, -1):
        cost = _pull_before(step, i, cost)
    for i in range(step.blocks.kind.size):
        state = _follow(step, i, state)
    _end(step, state)


@array_kernel
def riccati_solve_abreast(a: NewtonStep, b: NewtonStep, c: NewtonStep, d: NewtonStep) -> None:
    """`riccati_solve` of four chains, of any lengths."""
    size_a, size_b, size_c, size_d = a.blocks.kind.size, b.blocks.kind.size, c.blocks.kind.size, d.blocks.kind.size
    longest = max(size_a, size_b, size_c, size_d)
    cost_a, cost_b, cost_c, cost_d = _pull_behind(a), _pull_behind(b), _pull_behind(c), _pull_behind(d)
    for i in range(longest - 1, -1, -1):
        if i < size_a:
            cost_a = _pull_before(a, i, cost_a)
        if i < size_b:
            cost_b = _pull_before(b, i, cost_b)
        if i < size_c:
            cost_c = _pull_before(c, i, cost_c)
        if i < size_d:
            cost_d = _pull_before(d, i, cost_d)
    state_a = state_b = state_c = state_d = (0.0, 0.0)
    for i in range(longest):
        if i < size_a:
            state_a = _follow(a, i, state_a)
        if i < size_b:
            state_b = _follow(b, i, state_b)
        if i < size_c:
            state_c = _follow(c, i, state_c)
        if i < size_d:
            state_d = _follow(d, i, state_d)
    _end(a, state_a)
    _end(b, state_b)
    _end(c, state_c)
    _end(d, state_d)


@spliced_array_kernel
def _pull_behind(step: NewtonStep) -> Pair:
    """p0 and p1 of a far bound's row, or of nothing."""
    blocks = step.blocks
    p0, p1 = 0.0, 0.0
    if blocks.far >= 0.0:
        p0 = (blocks.start[2] + step.force[2]) / blocks.far_radius
        p1 = p0 * blocks.far
    return p0, p1


@spliced_array_kernel
def _pull_before(newton: NewtonStep, i: int, cost: Pair) -> Pair:
    """p0 and p1 before node i and the edge into it, from those behind; sets the node's feed."""
    kind, h, lag, box = newton.blocks.kind[i], newton.blocks.step[i], newton.blocks.lag[i], newton.blocks.box[i]
    c2 = newton.blocks.c2
    p0, p1 = cost
    row, at = ROWS * i, GAINS * i
    p0 += (newton.blocks.start[row] + newton.force[row]) / box
    p1 += (newton.blocks.start[row + 1] + newton.force[row + 1]) / c2
    if kind == FREE:
        newton.feed[2 * i], newton.feed[2 * i + 1] = p0, p1
        p0, p1 = 0.0, 0.0
    else:
        half = 0.5 * newton.blocks.c3 * (h + 2.0 * lag)
        p1 += lag * p0
        own = newton.blocks.start[row + 3] + newton.force[row + 3]
        e = own - half * p1
        newton.feed[2 * i + 1] = e * newton.gains[at + 6]
        p0 += newton.gains[at + 4] * e
        p1 = p1 * newton.gains[at + 7] + newton.gains[at + 5] * own
        p1 += h * p0
        if kind != EDGE:
            p1 += (newton.blocks.start[row + 4] + newton.force[row + 4]) / c2
        if kind == BOUNDED:
            newton.feed[2 * i] = p1 * newton.gains[at]
            p0, p1 = 0.0, 0.0
        else:
            own = newton.blocks.start[row + 2] + newton.force[row + 2]
            a = own + half * p1
            newton.feed[2 * i] = a * newton.gains[at + 2]
            p0 -= newton.gains[at] * a
            p1 = p1 * newton.gains[at + 3] - newton.gains[at + 1] * own
            p1 += lag * p0
    return p0, p1


@spliced_array_kernel
def _follow(newton: NewtonStep, i: int, state: Pair) -> Pair:
    """gamma and Gamma of node i from those of the node before; sets the node's rows."""
    kind, h, lag, box = newton.blocks.kind[i], newton.blocks.step[i], newton.blocks.lag[i], newton.blocks.box[i]
    c2 = newton.blocks.c2
    row, at = ROWS * i, GAINS * i
    first, second = newton.feed[2 * i], newton.feed[2 * i + 1]
    gamma, slope = state
    a, e, chord, half = 0.0, 0.0, 0.0, 0.5 * newton.blocks.c3 * (h + 2.0 * lag)
    if kind == FREE:
        slope = (second - newton.gains[at + 1] * first) / newton.gains[at + 2]
        gamma = first / newton.gains[at] - newton.gains[at + 1] * slope
    else:
        if kind == BOUNDED:
            chord, gamma = first, 0.0
        else:
            gamma += lag * slope
            a = first - newton.gains[at] * gamma - newton.gains[at + 1] * slope
            chord = slope + half * a
        gamma += h * chord
        e = second + newton.gains[at + 4] * gamma + newton.gains[at + 5] * chord
        slope = chord - half * e
        gamma += lag * slope
    newton.change[row], newton.change[row + 1] = gamma / box, slope / c2
    newton.change[row + 2], newton.change[row + 3] = a, e
    newton.change[row + 4] = chord / c2 if kind != EDGE else 0.0
    return gamma, slope


@spliced_array_kernel
def _end(newton: NewtonStep, state: Pair) -> None:
    """Set a far bound's row from gamma and Gamma of the last node."""
    blocks = newton.blocks
    if blocks.far >= 0.0:
        newton.change[2] = (state[0] + blocks.far * state[1]) / blocks.far_radius
