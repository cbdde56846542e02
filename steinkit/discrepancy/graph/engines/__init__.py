"""Engines: ways of solving the Stein programs, behind one signature.

An engine takes a `SteinProgram` and `Settings`, and returns a `Candidate` for each coordinate. It is free to be wrong:
the certificate judges what it returns. `engine_named` turns the name a user gives into an engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from steinkit.discrepancy.graph.engines.base import Candidate, Settings
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.errors import UsageError, did_you_mean

__all__ = ["ENGINES", "Candidate", "Engine", "Settings", "engine_named"]

ENGINES = ("chain", "block", "first_order", "highs", "cvxpy")


class Engine(Protocol):
    """Solves all coordinates of a program, in order."""

    def __call__(self, program: SteinProgram, settings: Settings, /) -> list[Candidate]:
        """Return a candidate for each coordinate."""


def engine_named(name: str) -> Engine:
    """Find an engine.

    Parameters
    ----------
    name : str
        "auto", "chain", "block", "first_order", "highs", "cvxpy", or "cvxpy:SOLVER" for an LP solver that CVXPY knows.

    Returns
    -------
    Engine

    Raises
    ------
    UsageError
        If there is no such engine or solver; the message lists those there are.
    """
    base, _, solver = name.partition(":")
    if base == "cvxpy":
        from steinkit.discrepancy.graph.engines import cvxpy as modelling

        return modelling.engine(solver)
    if name not in ("auto", *ENGINES):
        hint = did_you_mean(base, ENGINES)
        raise UsageError(f"unknown engine {name!r}{hint}; choose auto, {', '.join(ENGINES)} or cvxpy:SOLVER")
    place = f"{name}.engine" if name in ("chain", "block", "first_order") else name
    module = import_module(f"steinkit.discrepancy.graph.engines.{place}")
    return cast(Engine, module.solve)
