"""Solvers for the Stein programs, all with the same signature.

A solver takes a `SteinProgram` and `Settings`, and returns one `Candidate` per coordinate. Candidates may be inaccurate
because the certificate provides bounds on the optimum from any candidate. The function `solver_named` returns the
solver with a given name.
"""

from steinkit.discrepancy.graph.solvers.base import Candidate, Settings
from steinkit.discrepancy.graph.solvers.registry import solver_choices, solver_named

__all__ = ["Candidate", "Settings", "solver_choices", "solver_named"]
