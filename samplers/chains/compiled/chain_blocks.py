"""What compiled chains are fed with: noise, orders and temperatures, a block of steps at a time."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from steinkit.runtime.deadlines import StopSignal
from steinkit.sample import Floats
from steinkit.samplers.chains.compiled.records import CHAIN, PLAN, WALK, Vector
from steinkit.samplers.chains.data_order import order_key, order_room
from steinkit.samplers.chains.likelihood_terms import PosteriorModel
from steinkit.samplers.chains.options import RunOptions, Temperature, temperatures
from steinkit.samplers.chains.random_order_kernels import TOGETHER, begin_order
from steinkit.samplers.chains.random_streams import Kind

# Steps whose noise is drawn together, and the most numbers.
_BLOCK_STEPS = 1 << 10
_BLOCK_NUMBERS = 1 << 14
# Floats of data read in the first call, and the most in any, after which the caller listens; in between as many as
# take so many seconds, since a user's likelihood may take a nanosecond a datum, or a millisecond.
_FIRST_FLOATS, _CALL_FLOATS = 1 << 8, 1 << 22
_CALL_SECONDS = 0.04


class Walk:
    """A chain's way through the data, as kernels take it: a record, and room for an order.

    Attributes
    ----------
    record : ndarray of `WALK`, shape (1,)
    order : ndarray of int32, shape (N,) or (0,)
    tables : ndarray of uint16, shape (6, side) or (6, 0)
    """

    def __init__(self, size: int, seed: int, kind: Kind, *, wanted: bool) -> None:
        key = order_key(seed, kind)
        self.record = np.array([(key, 0, 0, size)], dtype=WALK)
        self.order, self.tables = order_room(size if wanted else 1)
        if self.tables.size:
            begin_order(self.tables, np.uint64(key), 0)


class CompiledChain:
    """One chain: its records, vectors and room to work in, shared by the kernels of all samplers."""

    def __init__(
        self, model: PosteriorModel, options: RunOptions, temperature: Temperature, stop: StopSignal, **plan: Any
    ) -> None:
        self.model, self.options, self.temperature = model, options, temperature
        terms = model.posterior.compiled_terms
        if terms is None:
            raise TypeError(f"{model.posterior.label} brings no compiled terms")
        self.terms, self.stop = terms, stop
        self.plan, self.record = np.zeros(1, dtype=PLAN), np.zeros(1, dtype=CHAIN)
        for name, value in plan.items():
            self.plan[name] = value
        self.plan["slice_rows"] = terms.slice_rows
        longest = max(terms.slice_rows, int(self.plan["gradient_batch"][0]))
        self.rows = np.empty(min(longest, model.size), dtype=np.int64)
        self.values = np.empty(2 * len(self.rows))
        self.digits = np.empty((2, TOGETHER), dtype=np.uint32)
        self.bounds = np.empty((0, 2)) if model.bounds is None else np.array(model.bounds, dtype=np.float64)
        self.quota = max(1, min(_FIRST_FLOATS, _CALL_FLOATS) // model.width)
        self.clock = perf_counter()

    def begin(self, state: Floats) -> None:
        """Turn to the next chain, at its first state (d,)."""
        self.record[:] = 0
        self.vectors = np.zeros((len(Vector), len(state)))
        self.vectors[Vector.STATE] = state
        self.heat, self.shown = np.empty(0), 0

    def begin_block(self, most: int) -> int:
        """How many steps the next block has, if ``most`` are still to come; their temperatures are made."""
        dim = self.vectors.shape[1]
        length = max(1, min(_BLOCK_STEPS, _BLOCK_NUMBERS // dim, most))
        begin = int(self.record["step"][0])
        self.record["block_start"] = begin
        numbers = np.arange(begin, begin + length)
        self.heat = temperatures(self.temperature, numbers) * self.terms.temperature
        self.points = np.empty((length, dim))
        self.clock = perf_counter()
        return length

    def listen(self, bar: Any) -> None:
        """Show progress, give up if time is, and let the next call take about as long as it should."""
        step = int(self.record["step"][0])
        bar.update(step - self.shown)
        self.shown = step
        self.stop.require("the next steps of a chain")
        now = perf_counter()
        if now - self.clock > _CALL_SECONDS:
            self.quota = max(1, int(self.quota * _CALL_SECONDS / (now - self.clock)))
        elif now - self.clock < 0.5 * _CALL_SECONDS:
            self.quota = min(2 * self.quota, max(1, _CALL_FLOATS // self.model.width))
        self.clock = now
