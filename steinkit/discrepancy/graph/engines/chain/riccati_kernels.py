"""Newton systems of the chain form by a Riccati sweep, in O(n).

A node's state is (gamma, Gamma); the residuals a and e of the edge into it are controls. Backwards along the chain the
cost of the nodes ahead, as a function of the state, is kept as

    1/2 (P (gamma + r Gamma)^2 + s Gamma^2) - p0 gamma - p1 Gamma,        P, s >= 0.

An edge, read from its far end, is three elementary steps: the control e (Gamma' = chord - half e, half = c3 h/2), the
shear gamma' = gamma + h chord, the control a (chord = Gamma + half a). In these terms nothing is ever subtracted:

    shear       r <- r + h
    control     of weight w:   q = w + half^2 s,  R = q + half^2 P r^2:   P <- P q/R,  r <- r w/q,  s <- s w/q
    chord row   s <- s + weight/c2^2
    node boxes  s <- s + w1 + r^2 P w0/(P + w0),  r <- r P/(P + w0),  P <- P + w0.

This is the Schur complement of the tridiagonal block system, P (1, r)(1, r)' + s (0, 1)(0, 1)', in factored form.
"""

from __future__ import annotations

from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, EDGE, FREE, ROWS, Chain
from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats

GAINS = 8
"""Numbers a node: of control a its gains on gamma and Gamma, 1/R and w/R, then those of control e."""


@array_kernel
def _control(P: float, r: float, s: float, weight: float, half: float) -> tuple[float, float, float, float]:
    """Minimise over a control of this weight that moves the slope by half; returns P, r, s and 1/R."""
    square = half * half
    without = weight + square * s
    inverse = 1.0 / (without + square * (P * r * r))
    shrink = weight / without
    return P * (without * inverse), r * shrink, s * shrink, inverse


@array_kernel
def riccati_factorise(chain: Chain, weights: Floats, gains: Floats) -> None:
    """Set `gains`, shape (8n,), from the rows' weights, shape (5n,).

    A free start stores P, r and s; a start from a bound 1/P11 in place of the first.
    """
    n = chain.kind.size
    per_square = 1.0 / (chain.c2 * chain.c2)
    P, r, s = 0.0, 0.0, 0.0
    if chain.far >= 0.0:
        P, r = weights[2] / chain.far_radius**2, chain.far
    for i in range(n - 1, -1, -1):
        row, at = ROWS * i, GAINS * i
        value = weights[row] / (chain.box[i] * chain.box[i])
        share = 1.0 / (P + value)
        s += weights[row + 1] * per_square + r * r * P * (value * share)
        r *= P * share
        P += value
        if chain.kind[i] == FREE:
            gains[at], gains[at + 1], gains[at + 2] = P, r, s
            P, r, s = 0.0, 0.0, 0.0
            continue
        h = chain.step[i]
        half = 0.5 * chain.c3 * h
        cross, turn = P * r, P * r * r + s
        P, r, s, inverse = _control(P, r, s, weights[row + 3], half)
        gains[at + 4], gains[at + 5] = half * cross * inverse, half * turn * inverse
        gains[at + 6], gains[at + 7] = inverse, weights[row + 3] * inverse
        r += h
        if chain.kind[i] != EDGE:
            s += weights[row + 4] * per_square
        if chain.kind[i] == BOUNDED:
            gains[at] = 1.0 / (P * r * r + s)
            P, r, s = 0.0, 0.0, 0.0
            continue
        cross, turn = P * r, P * r * r + s
        P, r, s, inverse = _control(P, r, s, weights[row + 2], half)
        gains[at], gains[at + 1] = half * cross * inverse, half * turn * inverse
        gains[at + 2], gains[at + 3] = inverse, weights[row + 2] * inverse


@array_kernel
def riccati_solve(chain: Chain, gains: Floats, force: Floats, feed: Floats, change: Floats) -> None:
    """Set `change` to B dx where (B'WB) dx = b + B'force; all of shape (5n,), the work space `feed` of shape (2n,)."""
    _backward(chain, gains, force, feed)
    _forward(chain, gains, feed, change)


@array_kernel
def _backward(chain: Chain, gains: Floats, force: Floats, feed: Floats) -> None:
    """Carry the linear cost (p0, p1) back, leaving in `feed` the constant part of the controls, or of the starts."""
    p0, p1 = 0.0, 0.0
    if chain.far >= 0.0:
        p0 = force[2] / chain.far_radius
        p1 = p0 * chain.far
    for i in range(chain.kind.size - 1, -1, -1):
        row, at = ROWS * i, GAINS * i
        p0 += chain.value[i] + force[row] / chain.box[i]
        p1 += chain.slope[i] + force[row + 1] / chain.c2
        if chain.kind[i] == FREE:
            feed[2 * i], feed[2 * i + 1] = p0, p1
            p0, p1 = 0.0, 0.0
            continue
        h = chain.step[i]
        half = 0.5 * chain.c3 * h
        e = force[row + 3] - half * p1
        feed[2 * i + 1] = e * gains[at + 6]
        p0 += gains[at + 4] * e
        p1 = p1 * gains[at + 7] + gains[at + 5] * force[row + 3]
        p1 += h * p0
        if chain.kind[i] != EDGE:
            p1 += force[row + 4] / chain.c2
        if chain.kind[i] == BOUNDED:
            feed[2 * i] = p1 * gains[at]
            p0, p1 = 0.0, 0.0
            continue
        a = force[row + 2] + half * p1
        feed[2 * i] = a * gains[at + 2]
        p0 -= gains[at] * a
        p1 = p1 * gains[at + 3] - gains[at + 1] * force[row + 2]


@array_kernel
def _forward(chain: Chain, gains: Floats, feed: Floats, change: Floats) -> None:
    """Follow the chain under the controls, and set `change` to the rows."""
    value, slope = 0.0, 0.0
    for i in range(chain.kind.size):
        row, at = ROWS * i, GAINS * i
        change[row + 2] = change[row + 3] = change[row + 4] = 0.0
        if chain.kind[i] == FREE:
            P, r, s = gains[at], gains[at + 1], gains[at + 2]
            slope = (feed[2 * i + 1] - r * feed[2 * i]) / s
            value = feed[2 * i] / P - r * slope
        else:
            h = chain.step[i]
            half = 0.5 * chain.c3 * h
            if chain.kind[i] == BOUNDED:
                chord, value = feed[2 * i], 0.0
            else:
                a = feed[2 * i] - gains[at] * value - gains[at + 1] * slope
                chord = slope + half * a
                change[row + 2] = a
            value += h * chord
            e = feed[2 * i + 1] + gains[at + 4] * value + gains[at + 5] * chord
            slope = chord - half * e
            change[row + 3] = e
            if chain.kind[i] != EDGE:
                change[row + 4] = chord / chain.c2
        change[row] = value / chain.box[i]
        change[row + 1] = slope / chain.c2
    if chain.far >= 0.0:
        change[2] = (value + chain.far * slope) / chain.far_radius
