"""Compiled kernels for solver `chain`: Riccati recursion and edge blocks.

The state of a node is (gamma, Gamma). The residuals a and e of the edge into the node are controls. The recursion runs
backward. The cost of the nodes ahead is a quadratic function of the state,

    1/2 (P (gamma + r Gamma)^2 + s Gamma^2) - p0 gamma - p1 Gamma,        P, s >= 0.

An edge consists of three elementary steps. Starting from the far end, these steps are the control e (Gamma' = chord -
half e, half = c3 h/2), the shear gamma' = gamma + h chord, and the control a (chord = Gamma + half a). A block of edges
with shared controls (see `chain`) has additional shears of length d before and after, and half = c3 (h + 2d)/2. The
updates contain no subtractions:

    shear       r <- r + h
    control     of weight w:   q = w + half^2 s,  R = q + half^2 P r^2:   P <- P q/R,  r <- r w/q,  s <- s w/q
    chord row   s <- s + weight/c2^2
    node boxes  s <- s + w1 + r^2 P w0/(P + w0),  r <- r P/(P + w0),  P <- P + w0.

The result is the Schur complement of the block tridiagonal system, P (1, r)(1, r)' + s (0, 1)(0, 1)', in factored form.

Other compiled kernels aggregate the edges of a block and evaluate the result. Let t_k be the length of a block before
its k-th edge, let S_k be the sum of the squared lengths up to that edge, and let X_k be the sum of h_j t_j. Then the
shared controls (a, e) map (gamma, Gamma) to

    Gamma_k = Gamma + (c3/2) t (a - e),      gamma_k = gamma + t Gamma + (c3/2) ((X + S) a - X e),      t = t_(k+1).
"""

from __future__ import annotations

from typing import NamedTuple

from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, LIPSCHITZ_EDGE, ROWS, Chain
from steinkit.runtime.compilation import array_kernel, inner_array_kernel, on_lists
from steinkit.sample import Floats, Integers

GAINS = 8
"""Number of gains per node: the gains on gamma and Gamma, 1/R and w/R, first for control a and then for control e."""


class Blocks(NamedTuple):
    """Chain of edges or blocks of edges, as used by the solver.

    Attributes
    ----------
    kind : ndarray of int, shape (n,)
        Connection into each node: FREE, BOUNDED, EDGE or LIPSCHITZ_EDGE.
    step, lag : ndarray, shape (n,)
        Lengths of the shears, which are h between the controls, and d before and after the controls. For single edges,
        `lag` has shape (0,).
    box : ndarray, shape (n,)
        Positive bounds on |gamma|.
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


@inner_array_kernel
def _control(P: float, r: float, s: float, weight: float, half: float) -> tuple[float, float, float, float]:
    """Minimize the cost over a control that moves the slope by `half` per unit.

    Return P, r, s and 1/R.
    """
    square = half * half
    without = weight + square * s
    inverse = 1.0 / (without + square * (P * r * r))
    shrink = weight / without
    return P * (without * inverse), r * shrink, s * shrink, inverse


@on_lists(1)
@array_kernel
def riccati_factorise(blocks: Blocks, weights: Floats, gains: Floats) -> None:
    """Set `gains` of shape (8n,) from the row weights of shape (5n,).

    For a free start, P, r and s are stored. For a start from a bound, the inverse of P r^2 + s is stored.
    """
    kinds, step, lag, box, _, c2, c3, far, far_radius = blocks
    per_square, is_lagged = 1.0 / (c2 * c2), len(lag) > 0
    P, r, s = 0.0, 0.0, 0.0
    if far >= 0.0:
        P, r = weights[2] / (far_radius * far_radius), far
    for i in range(len(kinds) - 1, -1, -1):
        row, at = ROWS * i, GAINS * i
        value = weights[row] / (box[i] * box[i])
        share = 1.0 / (P + value)
        s += weights[row + 1] * per_square + r * r * P * (value * share)
        r *= P * share
        P += value
        if kinds[i] == FREE:
            gains[at], gains[at + 1], gains[at + 2] = P, r, s
            P, r, s = 0.0, 0.0, 0.0
            continue
        own_lag = lag[i] if is_lagged else 0.0
        half = 0.5 * c3 * (step[i] + 2.0 * own_lag)
        r += own_lag
        cross, turn = P * r, P * r * r + s
        P, r, s, inverse = _control(P, r, s, weights[row + 3], half)
        gains[at + 4], gains[at + 5] = half * cross * inverse, half * turn * inverse
        gains[at + 6], gains[at + 7] = inverse, weights[row + 3] * inverse
        r += step[i]
        if kinds[i] != EDGE:
            s += weights[row + 4] * per_square
        if kinds[i] == BOUNDED:
            gains[at] = 1.0 / (P * r * r + s)
            P, r, s = 0.0, 0.0, 0.0
            continue
        cross, turn = P * r, P * r * r + s
        P, r, s, inverse = _control(P, r, s, weights[row + 2], half)
        gains[at], gains[at + 1] = half * cross * inverse, half * turn * inverse
        gains[at + 2], gains[at + 3] = inverse, weights[row + 2] * inverse
        r += own_lag


@on_lists(1)
@array_kernel
def riccati_solve(blocks: Blocks, gains: Floats, force: Floats, feed: Floats, change: Floats) -> None:
    """Set `change` to B dx, where (B'WB) dx = b + B'force.

    All arrays have shape (5n,) except the work array `feed`, which has shape (2n,). The backward pass propagates the
    linear cost (p0, p1) and stores the constant part of the controls or starts in `feed`. The forward pass applies the
    controls along the chain and computes the rows.
    """
    kinds, step, lag, box, start, c2, c3, far, far_radius = blocks
    p0, p1, is_lagged = 0.0, 0.0, len(lag) > 0
    if far >= 0.0:
        p0 = (start[2] + force[2]) / far_radius
        p1 = p0 * far
    for i in range(len(kinds) - 1, -1, -1):
        row, at = ROWS * i, GAINS * i
        p0 += (start[row] + force[row]) / box[i]
        p1 += (start[row + 1] + force[row + 1]) / c2
        if kinds[i] == FREE:
            feed[2 * i], feed[2 * i + 1] = p0, p1
            p0, p1 = 0.0, 0.0
            continue
        half = 0.5 * c3 * (step[i] + 2.0 * (lag[i] if is_lagged else 0.0))
        if is_lagged:  # multiplying by zero would add latency
            p1 += lag[i] * p0
        own = start[row + 3] + force[row + 3]
        e = own - half * p1
        feed[2 * i + 1] = e * gains[at + 6]
        p0 += gains[at + 4] * e
        p1 = p1 * gains[at + 7] + gains[at + 5] * own
        p1 += step[i] * p0
        if kinds[i] != EDGE:
            p1 += (start[row + 4] + force[row + 4]) / c2
        if kinds[i] == BOUNDED:
            feed[2 * i] = p1 * gains[at]
            p0, p1 = 0.0, 0.0
            continue
        own = start[row + 2] + force[row + 2]
        a = own + half * p1
        feed[2 * i] = a * gains[at + 2]
        p0 -= gains[at] * a
        p1 = p1 * gains[at + 3] - gains[at + 1] * own
        if is_lagged:
            p1 += lag[i] * p0
    gamma, slope = 0.0, 0.0
    for i in range(len(kinds)):
        row, at = ROWS * i, GAINS * i
        change[row + 2] = change[row + 3] = change[row + 4] = 0.0
        if kinds[i] == FREE:
            P, r, s = gains[at], gains[at + 1], gains[at + 2]
            slope = (feed[2 * i + 1] - r * feed[2 * i]) / s
            gamma = feed[2 * i] / P - r * slope
        else:
            half = 0.5 * c3 * (step[i] + 2.0 * (lag[i] if is_lagged else 0.0))
            if kinds[i] == BOUNDED:
                chord, gamma = feed[2 * i], 0.0
            else:
                if is_lagged:
                    gamma += lag[i] * slope
                a = feed[2 * i] - gains[at] * gamma - gains[at + 1] * slope
                chord = slope + half * a
                change[row + 2] = a
            gamma += step[i] * chord
            e = feed[2 * i + 1] + gains[at + 4] * gamma + gains[at + 5] * chord
            slope = chord - half * e
            if is_lagged:
                gamma += lag[i] * slope
            change[row + 3] = e
            if kinds[i] != EDGE:
                change[row + 4] = chord / c2
        change[row] = gamma / box[i]
        change[row + 1] = slope / c2
    if far >= 0.0:
        change[2] = (gamma + far * slope) / far_radius


@on_lists(6)
@array_kernel
def aggregate(
    chain: Chain, ends: Integers, steps: Floats, lags: Floats,
    on_value: Floats, on_slope: Floats, on_a: Floats, on_e: Floats,
) -> None:  # fmt: skip
    """Aggregate the edges of the m blocks that end at the nodes `ends`.

    Set `steps` and `lags` to the lengths h and d. Add the objective coefficients of gamma, Gamma, a and e to the other
    arrays. All arrays have shape (m,).
    """
    step, value, slope, c3 = chain.step, chain.value, chain.slope, chain.c3
    node = 0
    for block in range(len(ends)):
        first, last = node, ends[block]
        length, squares, cross = 0.0, 0.0, 0.0
        while node <= last:
            h = step[node]
            cross += h * length
            squares += h * h
            length += h
            if node < last:  # the values at inner nodes follow from the end of the preceding block
                turn = slope[node] * length
                on_value[block - 1] += value[node]
                on_slope[block - 1] += value[node] * length + slope[node]
                on_a[block] += 0.5 * c3 * (value[node] * (cross + squares) + turn)
                on_e[block] -= 0.5 * c3 * (value[node] * cross + turn)
            node += 1
        on_value[block] += value[last]
        on_slope[block] += slope[last]
        steps[block], lags[block] = length, 0.0
        if first < last:
            steps[block], lags[block] = squares / length, cross / length


@on_lists(4)
@array_kernel
def unfold(
    chain: Chain, ends: Integers, rows: Floats, y: Floats, values: Floats, slopes: Floats, worst: Floats
) -> None:
    """Set y to the controls of all edges, given the rows of the blocks.

    The arrays `values` and `slopes` are set to gamma and Gamma of all nodes. The array `worst` is set to the largest
    row value among the nodes of each block.
    """
    kinds, step, c1, c2 = chain.kind, chain.step, chain.c1, chain.c2
    gamma, slope = 0.0, 0.0
    node = 0
    for block in range(len(ends)):
        row = ROWS * block
        first, second = rows[row + 2], rows[row + 3]
        if kinds[node] == FREE:
            first, second = rows[row], rows[row + 1]
        elif kinds[node] == BOUNDED:
            first = rows[row + 4]
        largest = max(abs(first), abs(second))
        while node <= ends[block]:
            y[2 * node], y[2 * node + 1] = first, second
            if kinds[node] == FREE:
                gamma, slope = chain.box[node] * first, c2 * second
            else:
                h = step[node]
                half = 0.5 * chain.c3 * h
                if kinds[node] == BOUNDED:
                    gamma, chord = 0.0, c2 * first
                else:
                    chord = slope + half * first
                gamma += h * chord
                slope = chord - half * second
                if kinds[node] == LIPSCHITZ_EDGE:
                    largest = max(largest, abs(chord) / c2)
            largest = max(largest, abs(gamma) / c1, abs(slope) / c2)
            values[node], slopes[node] = gamma, slope
            node += 1
        worst[block] = largest


@array_kernel
def blocks_bound(blocks: Blocks, p: Floats) -> float:
    """Return an upper bound on the restricted optimum, up to rounding errors.

    The multipliers have shape (5m,).
    """
    kinds, step, lag, box, start, c2, c3, far, far_radius = blocks
    total, value, slope = 0.0, 0.0, 0.0  # the cost and the forces on gamma and Gamma
    if far >= 0.0:
        total = abs(p[2])
        value = (start[2] - p[2]) / far_radius
        slope = value * far
    for i in range(len(kinds) - 1, -1, -1):
        row = ROWS * i
        total += abs(p[row]) + abs(p[row + 1])
        value += (start[row] - p[row]) / box[i]
        slope += (start[row + 1] - p[row + 1]) / c2
        if kinds[i] == FREE:
            total += box[i] * abs(value) + c2 * abs(slope)
            value, slope = 0.0, 0.0
            continue
        half = 0.5 * c3 * (step[i] + 2.0 * lag[i])
        slope += lag[i] * value
        total += abs(start[row + 3] - half * slope)
        slope += step[i] * value
        if kinds[i] != EDGE:
            total += abs(p[row + 4])
            slope += (start[row + 4] - p[row + 4]) / c2
        if kinds[i] == BOUNDED:
            total += c2 * abs(slope)
            value, slope = 0.0, 0.0
            continue
        total += abs(start[row + 2] + half * slope)
        slope += lag[i] * value
    return total
