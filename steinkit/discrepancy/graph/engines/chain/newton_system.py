"""Newton systems of the interior point method on the chain form: one dimension, any number of points.

The Newton systems of the chain are solved by a Riccati sweep, so an iteration costs O(n). What keeps the number of
iterations from growing with n is a barrier weighted by length: the rows of an edge aim at products omega mu in
proportion to h, those of a node to the mean of its two edges, so that the central path is that of the continuous
problem however finely it is sampled.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.engines import interior_point
from steinkit.discrepancy.graph.engines.base import Settings
from steinkit.discrepancy.graph.engines.chain.riccati_kernels import GAINS, Blocks, riccati_factorise, riccati_solve
from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, FREE, ROWS, Chain, costate_bound
from steinkit.sample import Floats

_LEAST_WEIGHT = 0.03  # of a row in the barrier, before the mean is made one
_CORRECTORS = interior_point.Correctors(
    1
)  # a sweep costs no more than two passes over the rows: more correctors do not pay
_UNASKED = np.empty(0)  # the edges' forces, which the interior point method does not look at
_SMALLEST_BOX = 1e-140  # of c1, as its square is divided by
_RESOLVED = 1e-13  # of the last nodes' largest gamma: what a double-precision sweep resolves of a far bound's row


class ChainSystem:
    """Newton systems of a chain, in the rows of `interior_point`.

    The objective is scaled so that the first multipliers are at most one, and a far bound is held to what a sweep in
    double precision resolves; the certificate asks for the rest.

    Parameters
    ----------
    chain : Chain
    progress : progress bar
        Told of every bracket.
    lag : ndarray, shape (n,), optional
        Shears beside the controls, for blocks of edges; see `riccati_kernels`.
    push : ndarray, shape (2, n), optional
        Weights of the controls (a, e) in the objective.

    Attributes
    ----------
    start, omega : ndarray, shape (5n,)
        See `interior_point.NewtonSystem`.
    scale : float
        What the objective was divided by.
    """

    @np.errstate(over="ignore", invalid="ignore")  # from what is not finite the method takes no step
    def __init__(self, chain: Chain, progress: Any, lag: Floats | None = None, push: Floats | None = None) -> None:
        n = len(chain.kind)
        box, far_radius = np.maximum(chain.box, _SMALLEST_BOX * chain.c1), chain.far_radius
        if chain.far >= 0.0:
            resolved = _RESOLVED * min(chain.c1, chain.c2 * (float(chain.step[-1]) + chain.far))
            far_radius = max(far_radius, resolved)
            box[-1] = max(box[-1], resolved)
        start = np.zeros((n, ROWS))
        start[:, 0], start[:, 1] = chain.value * box, chain.slope * chain.c2
        if push is not None:
            start[:, 2:4] = push.T
        at_bound = (chain.kind == BOUNDED) & (chain.c2 * chain.step < chain.c1)
        start[at_bound, 0] = 0.0  # gamma = t chord
        start[at_bound, 4] = chain.value[at_bound] * chain.step[at_bound] * chain.c2
        self.scale = float(np.abs(start).max())
        self.start: Floats = (start / self.scale).ravel()
        lag = np.zeros(n) if lag is None else lag
        self.omega = _length_weights(chain.step + 2.0 * lag).ravel()
        self.progress = progress
        self._rounded = chain._replace(box=box, far_radius=far_radius)
        self.blocks = Blocks(chain.kind, chain.step, lag, box, self.start, chain.c2, chain.c3, chain.far, far_radius)
        self._gains, self._feed = np.zeros(GAINS * n), np.empty(2 * n)

    def factorise(self, weights: Floats) -> None:
        """Riccati sweep over the weighted rows."""
        riccati_factorise(self.blocks, weights, self._gains)

    def step(self, force: Floats, change: Floats) -> None:
        """Newton step; see `interior_point.NewtonSystem`."""
        riccati_solve(self.blocks, self._gains, force, self._feed, change)

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Objective of the rows, which are feasible but for rounding, and an upper bound."""
        lower, upper = float(np.einsum("i,i", rows, self.start)), self.upper_bound(multipliers)
        self.progress.set_postfix_str(f"bracket {relative_width(lower, upper):.0e}", refresh=False)
        self.progress.update()
        return lower, upper

    def upper_bound(self, multipliers: Floats) -> float:
        """The costate bound."""
        return float(costate_bound(self._scaled, multipliers, _UNASKED))

    @cached_property
    def _scaled(self) -> Chain:
        """The chain of the scaled objective."""
        weights = ("value", "slope", "value_low", "slope_low")
        return self._rounded._replace(**{name: getattr(self._rounded, name) / self.scale for name in weights})

    def solve(self, settings: Settings) -> interior_point.Solution:
        """Rows and multipliers within the tolerance, or as near as they come."""
        return interior_point.solve(self, settings, _CORRECTORS)

    @np.errstate(over="ignore", invalid="ignore")
    def candidate(self, chain: Chain, solution: interior_point.Solution) -> tuple[Floats, Floats]:
        """Variables and multipliers of the chain form from the rows'."""
        rows = solution.rows.reshape(-1, ROWS)
        y = rows[:, 2:4].copy()
        free, bounded = chain.kind == FREE, chain.kind == BOUNDED
        y[free] = rows[free, :2]
        y[bounded, 0] = rows[bounded, 4]
        return y.ravel(), self.multipliers(chain, solution).ravel()

    def multipliers(self, chain: Chain, solution: interior_point.Solution) -> Floats:
        """Multipliers of the chain's rows, shape (n, 5)."""
        p = self.scale * solution.multipliers.reshape(-1, ROWS)
        p[:, 0] *= chain.box / self.blocks.box
        return p


def _length_weights(length: Floats) -> Floats:
    """Weights of the rows in the barrier, shape (n, 5): by length of the edge, shape (n,), of mean one."""
    of_edge, of_node = length.copy(), 0.5 * length
    of_node[:-1] += 0.5 * length[1:]
    mean = float(of_edge.mean()) or 1.0
    of_edge, of_node = of_edge / mean + _LEAST_WEIGHT, of_node / mean + _LEAST_WEIGHT
    mean = (2.0 * float(of_node.mean()) + (ROWS - 2) * float(of_edge.mean())) / ROWS
    omega = np.empty((len(length), ROWS))
    omega[:, :2] = (of_node / mean)[:, None]
    omega[:, 2:] = (of_edge / mean)[:, None]
    return omega
