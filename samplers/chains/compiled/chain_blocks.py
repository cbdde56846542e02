"""Compiled chains one after another, a block of steps at a time: what they are fed with, and what is kept of them."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from steinkit.runtime.deadlines import interruptible, stop_signal
from steinkit.runtime.progress import progress_bar
from steinkit.sample import Floats
from steinkit.samplers.acceptance.rules import Kind as TestKind
from steinkit.samplers.acceptance.rules import Rule
from steinkit.samplers.chains.compiled.records import CHAIN, PLAN, Block, Machine, Outcome, Terms, Vector
from steinkit.samplers.chains.data_order import begin_walk
from steinkit.samplers.chains.likelihood_terms import PosteriorModel
from steinkit.samplers.chains.options import RunOptions, Temperature, temperatures
from steinkit.samplers.chains.random_order_kernels import TOGETHER
from steinkit.samplers.chains.random_streams import Kind
from steinkit.samplers.chains.recorder import Recorder

# Steps whose noise is drawn together, and the most numbers.
_BLOCK_STEPS = 1 << 10
_BLOCK_NUMBERS = 1 << 14
# Floats of data read in the first call, and the most in any, after which the caller listens; in between as many as
# take so many seconds, since a user's likelihood may take a nanosecond a datum, or a millisecond.
_FIRST_FLOATS, _CALL_FLOATS = 1 << 8, 1 << 22
_CALL_SECONDS = 0.04


class CompiledChains(ABC):
    """Chains of a posterior one after another, block by block: the driver of the kernels of all samplers.

    A sampler's class says how a chain begins, what the noise of a block is, and what of a block is kept.

    Parameters
    ----------
    advance : kernel, (Machine, Block, int) -> int
        Runs a chain on for about as many data, and says why it stopped, an `Outcome`.
    rule : Rule, optional
        The test; none for a sampler that does not reject.
    **plan : Any
        Entries of `PLAN`; unless given, the steps are those of the options, or without end.
    """

    def __init__(
        self,
        advance: Any,
        model: PosteriorModel,
        options: RunOptions,
        temperature: Temperature,
        recorder: Recorder,
        rule: Rule | None = None,
        scale: Any = 0.0,
        **plan: Any,
    ) -> None:
        self.advance, self.model, self.options, self.temperature = advance, model, options, temperature
        self.recorder, self.scale = recorder, np.asarray(scale, dtype=np.float64)
        terms = model.posterior.compiled_terms
        if terms is None:
            raise TypeError(f"{model.posterior.label} brings no compiled terms")
        self.terms = terms
        self.rule = rule or Rule(TestKind.EXACT.value, 0, np.zeros(0))
        ends = {"steps": options.steps or sys.maxsize, "budget": sys.maxsize}
        self.plan = np.zeros(1, dtype=PLAN)
        for name, value in {**ends, **plan, "size": model.size}.items():
            self.plan[name] = value
        longest = max(terms.slice_rows, int(self.plan["gradient_batch"][0]))
        self.rows = np.empty(min(longest, model.size), dtype=np.int64)
        self.bounds = np.empty((0, 2)) if model.bounds is None else np.array(model.bounds, dtype=np.float64)
        self.quota = max(1, min(_FIRST_FLOATS, _CALL_FLOATS) // model.width)
        self.clock = perf_counter()

    def run(self, states: Floats) -> None:
        """Run all chains from their first states, (K, d), to their ends, and record them."""
        steps = int(self.plan["steps"][0])
        total = None if steps == sys.maxsize else self.options.chains * steps
        shown = progress_bar("sampling", total, shown=self.options.progress, unit=" steps")
        with stop_signal() as self.stop, shown as self.bar:
            interruptible(partial(self._run_all, states), self.stop, "chains were run")

    def _run_all(self, states: Floats) -> None:
        plan = self.plan[0]
        # a schedule of temperatures is not asked for steps that a test might leave no budget for
        dearest = plan["size"] if callable(self.temperature) else plan["first_batch"]
        for k, state in enumerate(states):
            self._turn_to(k, state)
            self.begin(k)
            outcome = Outcome.NOISE_USED
            while outcome == Outcome.NOISE_USED:
                first = int(self.record["step"])
                paid = (plan["budget"] - self.record["spent"]) // (plan["step_cost"] + dearest)
                self._begin_block(first, min(int(plan["steps"]) - first, int(paid)))
                outcome = self._run_block()
                if outcome not in (Outcome.NOISE_USED, Outcome.FINISHED):
                    self.explain(outcome, k)
                taken = int(self.record["step"]) - first
                self.recorder.extend(k, first, points=self.block.points[:taken], **self.columns(first, taken))

    @abstractmethod
    def begin(self, k: int) -> None:
        """Prepare chain k, which stands at its first state."""

    @abstractmethod
    def noise(self, first: int, steps: int) -> tuple[Floats, Floats, Floats]:
        """Noise (B, d), levels (B,) and normals (B,) of B steps."""

    @abstractmethod
    def columns(self, first: int, taken: int) -> dict[str, Any]:
        """What is recorded of the steps of a block beside their points."""

    @abstractmethod
    def explain(self, outcome: Outcome, k: int) -> None:
        """Raise an error that names chain, step and state."""

    def _turn_to(self, k: int, state: Floats) -> None:
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

    def _begin_block(self, first: int, most: int) -> None:
        """Begin a block of as many steps as are together drawn, if ``most`` are still to come."""
        dim = self.vectors.shape[1]
        length = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // dim, most))
        self.record["block_start"] = first
        heat = temperatures(self.temperature, np.arange(first, first + length)) * self.terms.temperature
        moves, levels, normals = self.noise(first, length)
        self.block = Block(moves, heat, levels, normals, np.empty((length, dim)), np.empty((length, 4), dtype=np.int64))
        self.clock = perf_counter()

    def _run_block(self) -> Outcome:
        """Run the steps of the block, listening now and then; say why the chain stopped."""
        while True:
            outcome = Outcome(self.advance(self.machine, self.block, self.quota))
            if outcome in (Outcome.PAUSED, Outcome.FINISHED, Outcome.NOISE_USED):
                self.listen()
            if outcome != Outcome.PAUSED:
                return outcome

    def listen(self) -> None:
        """Show progress, give up if time is, and let the next call take about as long as it should."""
        step = int(self.record["step"])
        self.bar.update(step - self.shown)
        self.shown = step
        self.stop.require("the next steps of a chain")
        now = perf_counter()
        if now - self.clock > _CALL_SECONDS:
            self.quota = max(1, int(self.quota * _CALL_SECONDS / (now - self.clock)))
        elif now - self.clock < 0.5 * _CALL_SECONDS:
            self.quota = min(2 * self.quota, max(1, _CALL_FLOATS // self.model.width))
        self.clock = now
