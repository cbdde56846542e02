"""Newton systems of the interior point method on the chain form: one dimension, any number of points.

The Newton systems of the chain are solved by a Riccati sweep, so an iteration costs O(n). What keeps the number of
iterations from growing with n is a barrier weighted by length: the rows of an edge aim at products omega mu in
proportion to h, those of a node to the mean of its two edges, so that the central path is that of the continuous
problem however finely it is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from steinkit.discrepancy.bracket import relative_width
from steinkit.discrepancy.graph.engines import interior_point
from steinkit.discrepancy.graph.engines.base import Candidate, Settings
from steinkit.discrepancy.graph.engines.chain.riccati_kernels import GAINS, riccati_factorise, riccati_solve
from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.chain_form_kernels import BOUNDED, FREE, ROWS, Chain, costate_bound
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats

_LEAST_WEIGHT = 0.03  # of a row in the barrier, before the mean is made one
_CORRECTORS = 1  # a sweep costs no more than two passes over the rows: more correctors do not pay
_SMALLEST_BOX = 1e-140  # of c1, as its square is divided by
_RESOLVED = 1e-13  # of the last nodes' largest gamma: what a double-precision sweep resolves of a far bound's row


def solve(program: SteinProgram, settings: Settings, coordinates: Sequence[int] | None = None) -> list[Candidate]:
    """Solve the one coordinate of a one-dimensional program.

    Parameters
    ----------
    program : SteinProgram
        Its graph is not used: on a line the sorted sample gives the complete graph's value.
    settings : Settings
    coordinates : sequence of int, optional
        There is one only.

    Returns
    -------
    list of one Candidate

    Raises
    ------
    UsageError
        If the program has more than one dimension.
    """
    form = ChainProgram(program)
    system = ChainSystem(form.chain, settings)
    with system.progress:
        solution = interior_point.solve(system, settings, _CORRECTORS)
    y, p = system.candidate(form.chain, solution)
    answer = Candidate(form, y, p, ("chain",), iterations=solution.iterations)
    gap = answer.proof.gap
    if gap > settings.tolerance and not settings.stopped:
        return [replace(answer, notes=(f"the chain's interior point method stopped at a bracket of {gap:.1e}",))]
    return [answer]


class ChainSystem:
    """Newton systems of a chain, in the rows of `interior_point`.

    The objective is scaled so that the first multipliers are at most one, and a far bound is held to what a sweep in
    double precision resolves; the certificate asks for the rest.

    Parameters
    ----------
    chain : Chain
    settings : Settings

    Attributes
    ----------
    start, omega : ndarray, shape (5n,)
        See `interior_point.NewtonSystem`.
    """

    @np.errstate(over="ignore", invalid="ignore")  # from what is not finite the method takes no step
    def __init__(self, chain: Chain, settings: Settings) -> None:
        n = len(chain.kind)
        box, far_radius = np.maximum(chain.box, _SMALLEST_BOX * chain.c1), chain.far_radius
        if chain.far >= 0.0:
            resolved = _RESOLVED * min(chain.c1, chain.c2 * (float(chain.step[-1]) + chain.far))
            far_radius = max(far_radius, resolved)
            box[-1] = max(box[-1], resolved)
        start = np.zeros((n, ROWS))
        start[:, 0], start[:, 1] = chain.value * box, chain.slope * chain.c2
        at_bound = (chain.kind == BOUNDED) & (chain.c2 * chain.step < chain.c1)
        start[at_bound, 0] = 0.0  # gamma = t chord
        start[at_bound, 4] = chain.value[at_bound] * chain.step[at_bound] * chain.c2
        self.scale = float(np.abs(start).max())
        self.start: Floats = (start / self.scale).ravel()
        self.omega = _length_weights(chain).ravel()
        self.chain = chain._replace(
            box=box, far_radius=far_radius, value=chain.value / self.scale, slope=chain.slope / self.scale,
            value_low=chain.value_low / self.scale, slope_low=chain.slope_low / self.scale,
        )  # fmt: skip
        self._gains, self._feed = np.zeros(GAINS * n), np.empty(2 * n)
        self.progress = progress_bar("interior point", shown=settings.progress, unit=" steps")

    def factorise(self, weights: Floats) -> None:
        """Riccati sweep over the weighted rows."""
        riccati_factorise(self.chain, weights, self._gains)

    def step(self, force: Floats, change: Floats) -> None:
        """Newton step; see `interior_point.NewtonSystem`."""
        riccati_solve(self.chain, self._gains, force, self._feed, change)

    def bounds(self, rows: Floats, multipliers: Floats) -> tuple[float, float]:
        """Objective of the rows, which are feasible but for rounding, and the costate bound."""
        lower, upper = float(np.einsum("i,i", rows, self.start)), float(costate_bound(self.chain, multipliers))
        self.progress.set_postfix_str(f"bracket {relative_width(lower, upper):.0e}", refresh=False)
        self.progress.update()
        return lower, upper

    @np.errstate(over="ignore", invalid="ignore")
    def candidate(self, chain: Chain, solution: interior_point.Solution) -> tuple[Floats, Floats]:
        """Variables and multipliers of the chain form from the rows'."""
        rows = solution.rows.reshape(-1, ROWS)
        y = rows[:, 2:4].copy()
        free, bounded = chain.kind == FREE, chain.kind == BOUNDED
        y[free] = rows[free, :2]
        y[bounded, 0] = rows[bounded, 4]
        p = self.scale * solution.multipliers.reshape(-1, ROWS)
        p[:, 0] *= chain.box / self.chain.box
        return y.ravel(), p.ravel()


def _length_weights(chain: Chain) -> Floats:
    """Weights of the rows in the barrier, shape (n, 5): by length of the edge, of mean one."""
    of_edge, of_node = chain.step, 0.5 * chain.step
    of_node[:-1] += 0.5 * chain.step[1:]
    mean = float(of_edge.mean()) or 1.0
    of_edge, of_node = of_edge / mean + _LEAST_WEIGHT, of_node / mean + _LEAST_WEIGHT
    mean = (2.0 * float(of_node.mean()) + (ROWS - 2) * float(of_edge.mean())) / ROWS
    omega = np.empty((len(chain.kind), ROWS))
    omega[:, :2] = (of_node / mean)[:, None]
    omega[:, 2:] = (of_edge / mean)[:, None]
    return omega
