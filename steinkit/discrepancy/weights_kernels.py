"""Compiled kernel for the response matrix of a chain."""

from __future__ import annotations

import numpy as np

from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, FREE
from steinkit.discrepancy.graph.solvers.chain_kernels import GAINS, Blocks
from steinkit.runtime.compilation import array_kernel
from steinkit.sample import Floats, Integers


@array_kernel
def add_responses(blocks: Blocks, gains: Floats, value: Floats, order: Integers, responses: Floats) -> None:
    """Add c_i' H^-1 c_k to the lower triangle of `responses` of shape (n, n).

    The factor of the Newton matrix H of a chain is given by `riccati_factorise`. At node i, the vector c_i contains the
    coefficient `value[i]` for gamma and the coefficient 1 for Gamma. At the other nodes, its coefficients are 0. Node i
    has the index ``order[i]`` in the matrix.

    The matrix H^-1 is the covariance of a Gauss-Markov chain. The controls of the chain are the optimal feedback plus
    independent noise with variances 1/R. The kernel therefore propagates the covariance of the state and the
    covariances between the state and c_k for all preceding nodes. The updates are free of cancellation.
    """
    kinds, step, c3 = blocks.kind, blocks.step, blocks.c3
    n = len(kinds)
    at_value, at_slope = np.empty(n), np.empty(n)
    first = 0
    v00, v01, v11 = 0.0, 0.0, 0.0
    for i in range(n):
        at, h = GAINS * i, step[i]
        half = 0.5 * c3 * h
        if kinds[i] == FREE:
            first = i
            v11 = 1.0 / gains[at + 2]
            v01 = -gains[at + 1] * v11
            v00 = 1.0 / gains[at] - gains[at + 1] * v01
        else:
            a0, a1 = 0.0, 1.0  # chord = a0 gamma + a1 Gamma + noise
            if kinds[i] == BOUNDED:
                first = i
                v00, v01, v11 = 0.0, 0.0, gains[at]
            else:
                a0, a1 = -half * gains[at], 1.0 - half * gains[at + 1]
                v01, v11 = a0 * v00 + a1 * v01, a0 * a0 * v00 + 2.0 * a0 * a1 * v01 + a1 * a1 * v11
                v11 += half * half * gains[at + 2]
            v00 += h * (2.0 * v01 + h * v11)
            v01 += h * v11
            b0, b1 = -half * gains[at + 4], 1.0 - half * gains[at + 5]  # Gamma' = b0 gamma' + b1 chord + noise
            v01, v11 = b0 * v00 + b1 * v01, b0 * b0 * v00 + 2.0 * b0 * b1 * v01 + b1 * b1 * v11
            v11 += half * half * gains[at + 6]
            for k in range(first, i):
                chord = a0 * at_value[k] + a1 * at_slope[k]
                at_value[k] += h * chord
                at_slope[k] = b0 * at_value[k] + b1 * chord
        own = order[i]
        for k in range(first, i):
            other = order[k]
            responses[max(own, other), min(own, other)] += value[i] * at_value[k] + at_slope[k]
        at_value[i], at_slope[i] = value[i] * v00 + v01, value[i] * v01 + v11
        responses[own, own] += value[i] * at_value[i] + at_slope[i]
