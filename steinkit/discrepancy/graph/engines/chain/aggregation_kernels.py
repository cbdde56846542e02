"""Passes over all points for blocks of edges that share their controls: writing the blocks, and judging them.

With t_k the length of a block's edges before the k-th, S_k the sum of the squares of those up to it and
X_k = sum of h_j t_j over them, controls (a, e) that all edges share lead from (gamma, Gamma) to

    Gamma_k = Gamma + (c3/2) t (a - e),      gamma_k = gamma + t Gamma + (c3/2) ((X + S) a - X e),      t = t_(k+1).
"""

from __future__ import annotations

from steinkit.discrepancy.graph.engines.chain.riccati_kernels import Blocks
from steinkit.discrepancy.graph.programs.chain_form_kernels import (
    BOUNDED,
    EDGE,
    FREE,
    LIPSCHITZ_EDGE,
    ROWS,
    Chain,
)
from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers


@array_kernel
def aggregate(chain: Chain, ends: Integers, shears: Floats, weights: Floats) -> None:
    """Write blocks that end at the nodes `ends`, shape (m,): their shears and the objective in their terms.

    Sets `shears`, shape (2, m), to the lengths h and d of the shears between and beside the controls, and adds to
    `weights`, shape (4, m), the weights of gamma, Gamma, a and e.
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
            if node < last:  # the last node is the block's own, the others follow from the block's before
                turn = slope[node] * length
                weights[0, block - 1] += value[node]
                weights[1, block - 1] += value[node] * length + slope[node]
                weights[2, block] += 0.5 * c3 * (value[node] * (cross + squares) + turn)
                weights[3, block] -= 0.5 * c3 * (value[node] * cross + turn)
            node += 1
        weights[0, block] += value[last]
        weights[1, block] += slope[last]
        shears[0, block], shears[1, block] = length, 0.0
        if first < last:
            shears[0, block], shears[1, block] = squares / length, cross / length


@array_kernel
def unfold(chain: Chain, ends: Integers, rows: Floats, y: Floats, worst: Floats) -> None:
    """Set y, shape (2n,), to the controls of all edges, given the blocks' rows, shape (5m,).

    `worst`, shape (m,), receives the largest row of the nodes in each block.
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
            node += 1
        worst[block] = largest


@array_kernel
def blocks_bound(blocks: Blocks, p: Floats) -> float:
    """Upper bound of the blocks' optimum from multipliers of their rows, shape (5m,), up to rounding."""
    kinds, step, lag, box, start, c2, c3, far, far_radius = blocks
    total, value, slope = 0.0, 0.0, 0.0  # the forces on a state
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
