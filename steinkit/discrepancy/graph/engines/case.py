"""A program that is to be solved as far as settings say: what the engines' declarations and `auto` choose by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from steinkit.discrepancy.graph.engines.base import Settings

if TYPE_CHECKING:
    from steinkit.discrepancy.graph.programs.stein_program import SteinProgram


@dataclass(frozen=True, eq=False)
class Case:
    """A program, and how far and how long it should be worked on."""

    program: SteinProgram
    settings: Settings

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.program.dim

    @cached_property
    def factorisation(self) -> Any:
        """What `block` knows before solving: `flops` and `entries` of a factorisation."""
        from steinkit.discrepancy.graph.engines.block.newton_system import prepare

        return prepare(self.program)
