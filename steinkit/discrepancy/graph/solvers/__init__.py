"""Solvers: ways of solving the Stein programs, behind one signature.

A solver takes a `SteinProgram` and `Settings`, and returns a `Candidate` for each coordinate. It is free to be wrong:
the certificate judges what it returns. `solver_named` turns the name a user gives into a solver.
"""

from steinkit.discrepancy.graph.solvers.base import Candidate, Settings
from steinkit.discrepancy.graph.solvers.registry import solver_choices, solver_named

__all__ = ["Candidate", "Settings", "solver_choices", "solver_named"]
