"""Newton matrices H = B'WB of the interior point method, B = [A/r; I], for engine `block` and for its peers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from instances import normal, stein_program
from scipy import sparse
from scipy.sparse.linalg import splu

from steinkit.discrepancy.graph.engines import Settings
from steinkit.discrepancy.graph.engines.block import newton_system
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram

# SuperLU as a Cholesky factorisation: the diagonal is always a good pivot, and the order that of a symmetric matrix.
SYMMETRIC: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


@dataclass(frozen=True, eq=False)
class NewtonMatrix:
    """The first coordinate's Newton matrix, ours to factorise and for others.

    Attributes
    ----------
    program : SteinProgram
    system : BlockSystem
    weights : ndarray
        W, from 1e-2 to 1e2 as half way through a solution.
    matrix : csc_array
        H.
    """

    program: SteinProgram
    system: newton_system.BlockSystem
    weights: np.ndarray
    matrix: sparse.csc_array

    @classmethod
    def of(cls, n: int, dim: int) -> NewtonMatrix:
        """That of N(0, I); no two of its draws are near enough for rows of one coordinate only."""
        program = stein_program(*normal(n, dim))
        plan = newton_system.prepare(program)
        coordinate = plan.forms[0].coordinate(0)
        system = newton_system.BlockSystem(coordinate, plan.patterns[0], Settings(1e-6))
        rows = sparse.diags_array(1.0 / coordinate.radius) @ coordinate.matrix @ sparse.diags_array(coordinate.box)
        weights = 10.0 ** np.random.default_rng(0).uniform(-2.0, 2.0, len(system.omega))
        m = rows.shape[0]
        box = np.empty(rows.shape[1])
        box[:] = weights[m:][plan.patterns[0].place]
        matrix = sparse.csc_array(rows.T @ sparse.diags_array(weights[:m]) @ rows + sparse.diags_array(box))
        return cls(program, system, weights, matrix)

    def factorise(self) -> None:
        """Form H and factorise it."""
        self.system.factorise(self.weights)

    def form(self) -> None:
        """Form H only: a factorisation that is asked to stop does no more."""
        self.system.stop[0] = True
        self.system.factorise(self.weights)
        self.system.stop[0] = False

    def residual(self) -> float:
        """Relative error of a solution by our factor, judged by the matrix that the others are given."""
        force, change = np.zeros(len(self.weights)), np.empty(len(self.weights))
        self.factorise()
        self.system.step(force, change)
        m = len(self.weights) - self.matrix.shape[0]
        place = self.system.pattern.place
        x, b = change[m:][place], self.system.objective[place]
        return float(np.linalg.norm(self.matrix @ x - b) / np.linalg.norm(b))

    def flops(self) -> float:
        """Operations of a factorisation by columns: with c entries below and on the diagonal a column takes c^2.

        They are c multiplications or divisions of the column and c (c - 1) / 2 products taken away from others; fronts
        as ours take more, for they hold zeros of L, too.
        """
        order = np.argsort(self.system.pattern.place)
        permuted = sparse.csc_array(self.matrix[order][:, order])
        factor = splu(permuted, permc_spec="NATURAL", **SYMMETRIC).L
        return float((np.diff(factor.indptr).astype(float) ** 2).sum())
