"""Newton matrices of the interior point method, for solver `block` and its peers.

The matrices are H = B'WB with B = [A/r; I].
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from instances import normal, stein_program
from scipy import sparse
from scipy.sparse.linalg import splu

from steinkit.discrepancy.graph.programs.matrix_form import CoordinateProgram
from steinkit.discrepancy.graph.programs.relative_form import suitable_programs
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.discrepancy.graph.solvers import Settings
from steinkit.discrepancy.graph.solvers.block import newton_system

# SuperLU as a Cholesky solver, with diagonal pivots and a column ordering for symmetric matrices.
SYMMETRIC: dict[str, Any] = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}


@dataclass(frozen=True, eq=False)
class NewtonMatrix:
    """Newton matrix of the first coordinate, for the factorization of steinkit and for others.

    Attributes
    ----------
    program : SteinProgram
        The program.
    system : BlockSystem
        Newton system of steinkit's solver.
    weights : ndarray
        W, from 1e-2 to 1e2 as in the middle of a solution.
    matrix : csc_array
        H.
    """

    program: SteinProgram
    system: newton_system.BlockSystem
    weights: np.ndarray
    matrix: sparse.csc_array

    @classmethod
    def of(cls, n: int, dim: int) -> NewtonMatrix:
        """Return the matrix for draws from N(0, I) that are far enough apart to avoid rows of a single coordinate."""
        program = stein_program(*normal(n, dim))
        pattern, (coordinate,) = newton_system.prepare(program)[0], suitable_programs(program, [0])
        system = newton_system.BlockSystem(coordinate, pattern, Settings(1e-6))
        weights = 10.0 ** np.random.default_rng(0).uniform(-2.0, 2.0, len(system.omega))
        m = len(coordinate.radius)
        rows = scaled_rows(coordinate)
        in_order = np.append(weights[:m][np.argsort(pattern.rows)], weights[m:][pattern.place])
        matrix = sparse.csc_array(rows.T @ sparse.diags_array(in_order) @ rows)
        return cls(program, system, weights, matrix)

    def factorise(self) -> None:
        """Form H and factorize it."""
        self.system.factorise(self.weights)

    def form(self) -> None:
        """Form H only, by a factorization that stops immediately."""
        self.system.stop[0] = True
        self.system.factorise(self.weights)
        self.system.stop[0] = False

    def residual(self) -> float:
        """Compute the relative error of a solution obtained with steinkit's factor.

        The error refers to the matrix that is given to the peers.
        """
        force, change = np.zeros(len(self.weights)), np.empty(len(self.weights))
        self.factorise()
        self.system.step(force, change)
        m = len(self.weights) - self.matrix.shape[0]
        place = self.system.pattern.place
        x, b = change[m:][place], self.system.objective[place]
        return float(np.linalg.norm(self.matrix @ x - b) / np.linalg.norm(b))

    def flops(self) -> float:
        """Count the operations of a factorization by columns.

        A column with c entries takes c^2 operations.

        They are c multiplications or divisions of the column and c (c - 1) / 2 products subtracted from others. The
        fronts of steinkit take more operations, because they contain zeros of L.
        """
        order = np.argsort(self.system.pattern.place)
        permuted = sparse.csc_array(self.matrix[order][:, order])
        factor = splu(permuted, permc_spec="NATURAL", **SYMMETRIC).L
        return float((np.diff(factor.indptr).astype(float) ** 2).sum())


def scaled_rows(program: CoordinateProgram) -> sparse.csr_array:
    """Return B = [A/r; I] in units of the box."""
    rows = sparse.diags_array(1.0 / program.radius) @ program.matrix @ sparse.diags_array(program.box)
    return sparse.csr_array(sparse.vstack([rows, sparse.eye_array(rows.shape[1])]))


class PeerSystem:
    """Newton systems of the interior point method with another factorization.

    The class implements `interior_point.NewtonSystem`.

    Parameters
    ----------
    program : CoordinateProgram
        The program.
    solver : callable
        Maps H to a function that solves H x = b.
    """

    def __init__(self, program: CoordinateProgram, solver: Callable[[sparse.csc_array], Callable[..., Any]]) -> None:
        self.rows, self.solver = scaled_rows(program), solver
        self.columns = sparse.csr_array(self.rows.T)
        objective = program.objective * program.box
        self.objective = objective / np.abs(objective).max()
        self.m = len(program.radius)
        self.start = np.concatenate([np.zeros(self.m), self.objective])
        self.omega = np.ones(len(self.start))

    def factorise(self, weights: np.ndarray) -> None:
        """Form and factorize H."""
        self.solve = self.solver(sparse.csc_array(self.columns @ sparse.diags_array(weights) @ self.rows))

    def step(self, force: np.ndarray, change: np.ndarray) -> None:
        """Set `change` to B dx."""
        change[:] = self.rows @ self.solve(self.objective + self.columns @ force)

    def bounds(self, rows: np.ndarray, multipliers: np.ndarray) -> tuple[float, float]:
        """Compute bounds on the optimum in the same way as the solver `block`."""
        lower = self.objective @ rows[self.m :] / max(1.0, np.abs(rows).max())
        edges = np.where(np.arange(len(multipliers)) < self.m, multipliers, 0.0)
        return lower, np.abs(edges).sum() + np.abs(self.objective - self.columns @ edges).sum()


def superlu(matrix: sparse.csc_array) -> Callable[..., Any]:
    """Factorize with SuperLU, which computes a minimum degree ordering each time."""
    solve: Callable[..., Any] = splu(matrix, permc_spec="MMD_AT_PLUS_A", **SYMMETRIC).solve
    return solve


class Qdldl:
    """Factorization by QDLDL with a stored approximate minimum degree ordering."""

    def __init__(self) -> None:
        self.solver: Any = None

    def __call__(self, matrix: sparse.csc_array) -> Callable[..., Any]:
        """Factorize a matrix.

        The first call determines the ordering.
        """
        if self.solver is None:
            self.solver = importlib.import_module("qdldl").Solver(matrix)
        else:
            self.solver.update(matrix)
        solve: Callable[..., Any] = self.solver.solve
        return solve
