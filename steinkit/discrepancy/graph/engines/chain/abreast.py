"""Many programs of one dimension at a time, by engine `chain`: their sweeps are made side by side.

The interior point methods of up to `ABREAST` programs halt wherever they need a sweep. Whichever kind of sweep most of
them wait for is made for all that do; the next program takes the place of one that is done. Every program's numbers are
those of `aggregation.solve`, to the bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from steinkit.discrepancy.graph.engines.base import Candidate, Settings
from steinkit.discrepancy.graph.engines.chain import aggregation
from steinkit.discrepancy.graph.engines.chain.newton_system import ChainSystem
from steinkit.discrepancy.graph.engines.chain.riccati_kernels import (
    ABREAST,
    Blocks,
    Factorisation,
    NewtonStep,
    riccati_factorise_abreast,
    riccati_solve_abreast,
)
from steinkit.discrepancy.graph.engines.interior_point import Factorise, Step
from steinkit.discrepancy.graph.programs.chain_form import ChainProgram
from steinkit.discrepancy.graph.programs.stein_program import SteinProgram
from steinkit.runtime.progress import progress_bar

_NOTHING = np.empty(0)
_NO_BLOCKS = Blocks(
    np.empty(0, dtype=np.int64), _NOTHING, _NOTHING, _NOTHING, _NOTHING, 1.0, 1.0, -1.0, 0.0
)  # a chain without nodes, where there are fewer programs than places
_NO_FACTORISATION = Factorisation(_NO_BLOCKS, _NOTHING, _NOTHING)
_NO_STEP = NewtonStep(_NO_BLOCKS, _NOTHING, _NOTHING, _NOTHING, _NOTHING)


def solve_abreast(programs: Iterable[SteinProgram], settings: Settings) -> Iterator[tuple[int, Candidate]]:
    """Solve one-dimensional programs, so far as the settings say.

    Parameters
    ----------
    programs : iterable of SteinProgram
        Taken one by one, when there is a place for them.
    settings : Settings

    Yields
    ------
    int
        The number of the program among those given.
    Candidate
        Its answer, in the order in which answers are found. NumPy's warnings are for the caller to turn off.
    """
    coming, lanes = enumerate(programs), list[_Lane]()
    with progress_bar("interior point", shown=False) as progress:
        while True:
            begun = islice(coming, ABREAST - len(lanes))
            lanes += [_Lane(number, program, settings, progress) for number, program in begun]
            if not lanes:
                return
            _sweep(lanes)
            for lane in lanes:
                if lane.candidate is not None:
                    yield lane.number, lane.candidate
            lanes = [lane for lane in lanes if lane.candidate is None]


class _Lane:
    """A program that is being solved.

    Attributes
    ----------
    number : int
    ask : Factorise or Step, optional
        What its interior point method waits for.
    candidate : Candidate, optional
        The answer, once there is one.
    """

    def __init__(self, number: int, program: SteinProgram, settings: Settings, progress: Any) -> None:
        self.number = number
        self.ask: Factorise | Step | None = None
        self.candidate: Candidate | None = None
        if program.n_points >= aggregation.MANY:  # in blocks there is less to sweep over than else to do
            self.candidate = aggregation.solve(program, settings)[0]
            return
        self.form = ChainProgram(program)
        self.system = ChainSystem(self.form.chain, progress)
        self._path = self.system.path(settings)
        self.go_on()

    def go_on(self) -> None:
        """Follow the path to its next halt, or its end."""
        try:
            self.ask = next(self._path)
        except StopIteration as end:
            self.ask, solution = None, end.value
            y, p = self.system.candidate(self.form.chain, solution)
            self.candidate = Candidate(self.form, y, p, ("chain",), iterations=solution.iterations)


def _sweep(lanes: Sequence[_Lane]) -> None:
    """Make the sweep that most of them wait for, and let those go on."""
    to_factorise = [(lane, lane.ask) for lane in lanes if isinstance(lane.ask, Factorise)]
    to_step = [(lane, lane.ask) for lane in lanes if isinstance(lane.ask, Step)]
    if len(to_factorise) > len(to_step):
        sweeps = [lane.system.factorisation(ask.weights) for lane, ask in to_factorise]
        riccati_factorise_abreast(*sweeps, *[_NO_FACTORISATION] * (ABREAST - len(sweeps)))
        served = [lane for lane, _ in to_factorise]
    else:
        steps = [lane.system.newton_step(ask.force, ask.change) for lane, ask in to_step]
        riccati_solve_abreast(*steps, *[_NO_STEP] * (ABREAST - len(steps)))
        served = [lane for lane, _ in to_step]
    for lane in served:
        lane.go_on()
