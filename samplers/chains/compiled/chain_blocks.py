"""What compiled chains are fed with: noise, orders and temperatures, a block of steps at a time."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from steinkit.runtime.deadlines import StopSignal
from steinkit.sample import Floats
from steinkit.samplers.acceptance.rules import Kind as TestKind
from steinkit.samplers.acceptance.rules import Rule
from steinkit.samplers.chains.compiled.records import CHAIN, PLAN, Block, Machine, Outcome, Terms, Vector
from steinkit.samplers.chains.data_order import begin_walk
from steinkit.samplers.chains.likelihood_terms import PosteriorModel
from steinkit.samplers.chains.options import RunOptions, Temperature, temperatures
from steinkit.samplers.chains.random_order_kernels import TOGETHER
from steinkit.samplers.chains.random_streams import Kind

# Steps whose noise is drawn together, and the most numbers.
_BLOCK_STEPS = 1 << 10
_BLOCK_NUMBERS = 1 << 14
# Floats of data read in the first call, and the most in any, after which the caller listens; in between as many as
# take so many seconds, since a user's likelihood may take a nanosecond a datum, or a millisecond.
_FIRST_FLOATS, _CALL_FLOATS = 1 << 8, 1 << 22
_CALL_SECONDS = 0.04


class CompiledChain:
    """One chain: what the kernels of all samplers work on.

    Parameters
    ----------
    rule : Rule, optional
        The test; none for a sampler that does not reject.
    **plan : Any
        Entries of `PLAN`.
    """

    def __init__(
        self,
        model: PosteriorModel,
        options: RunOptions,
        temperature: Temperature,
        stop: StopSignal,
        rule: Rule | None = None,
        scale: Any = 0.0,
        **plan: Any,
    ) -> None:
        self.model, self.options, self.temperature = model, options, temperature
        terms = model.posterior.compiled_terms
        if terms is None:
            raise TypeError(f"{model.posterior.label} brings no compiled terms")
        self.terms, self.stop, self.scale = terms, stop, np.asarray(scale, dtype=np.float64)
        self.rule = rule or Rule(TestKind.EXACT.value, 0, np.zeros(0))
        self.plan = np.zeros(1, dtype=PLAN)
        for name, value in {**plan, "size": model.size}.items():
            self.plan[name] = value
        longest = max(terms.slice_rows, int(self.plan["gradient_batch"][0]))
        self.rows = np.empty(min(longest, model.size), dtype=np.int64)
        self.bounds = np.empty((0, 2)) if model.bounds is None else np.array(model.bounds, dtype=np.float64)
        self.quota = max(1, min(_FIRST_FLOATS, _CALL_FLOATS) // model.width)
        self.clock = perf_counter()

    def begin(self, k: int, state: Floats) -> None:
        """Turn to chain k, at its first state (d,)."""
        (dim,), size, seed, plan = state.shape, self.model.size, self.options.seeds[k], self.plan[0]
        self.vectors, self.shown = np.zeros((len(Vector), dim)), 0
        self.vectors[Vector.STATE] = state
        self.machine = Machine(
            self.plan,
            np.zeros(1, dtype=CHAIN),
            Terms(
                self.terms.addresses,
                self.bounds,
                size,
                self.terms.slice_rows,
                self.rows,
                np.empty(2 * len(self.rows)),
                np.empty(dim),
                self.stop.flag,
            ),
            self.vectors,
            np.array(np.broadcast_to(self.scale, (dim,))),
            self.rule,
            begin_walk(1 if plan["reads_all"] else size, [seed], Kind.TEST_ORDER),
            begin_walk(size if plan["gradient_batch"] else 1, [seed], Kind.PROPOSAL_ORDER),
            np.empty((2, TOGETHER), dtype=np.uint32),
        )
        self.record = self.machine.chain[0]

    def begin_block(self, most: int, noise: Callable[[int], tuple[Floats, Floats, Floats]]) -> None:
        """Begin a block of as many steps as are together drawn, if ``most`` are still to come.

        Parameters
        ----------
        most : int
        noise : callable, (B) -> (B, d), (B,), (B,)
            Noise, levels and normals of that many steps.
        """
        dim = self.vectors.shape[1]
        length = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // dim, most))
        begin = int(self.record["step"])
        self.record["block_start"] = begin
        heat = temperatures(self.temperature, np.arange(begin, begin + length)) * self.terms.temperature
        moves, levels, normals = noise(length)
        self.block = Block(moves, heat, levels, normals, np.empty((length, dim)), np.empty((length, 4), dtype=np.int64))
        self.clock = perf_counter()

    def run_block(self, advance: Callable[[Machine, Block, int], int], bar: Any) -> Outcome:
        """Run the steps of the block, listening now and then; say why the chain stopped."""
        while True:
            outcome = Outcome(advance(self.machine, self.block, self.quota))
            if outcome not in (Outcome.PAUSED, Outcome.FINISHED, Outcome.NOISE_USED):
                return outcome
            self.listen(bar)
            if outcome != Outcome.PAUSED:
                return outcome

    def listen(self, bar: Any) -> None:
        """Show progress, give up if time is, and let the next call take about as long as it should."""
        step = int(self.record["step"])
        bar.update(step - self.shown)
        self.shown = step
        self.stop.require("the next steps of a chain")
        now = perf_counter()
        if now - self.clock > _CALL_SECONDS:
            self.quota = max(1, int(self.quota * _CALL_SECONDS / (now - self.clock)))
        elif now - self.clock < 0.5 * _CALL_SECONDS:
            self.quota = min(2 * self.quota, max(1, _CALL_FLOATS // self.model.width))
        self.clock = now
