"""Engines: ways of solving the Stein programs, behind one signature.

An engine takes a `SteinProgram` and `Settings`, and returns a `Candidate` for each coordinate. It is free to be wrong:
the certificate judges what it returns. `engine_named` turns the name a user gives into an engine.
"""

from steinkit.discrepancy.graph.engines.base import Candidate, Settings
from steinkit.discrepancy.graph.engines.registry import engine_choices, engine_named

__all__ = ["Candidate", "Settings", "engine_choices", "engine_named"]
