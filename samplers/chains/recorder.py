"""Keeping the draws of chains that advance at their own pace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.errors import UsageError
from steinkit.sample import Integers
from steinkit.samplers.chains.options import RunOptions
from steinkit.samplers.draws import Draws

_FIRST_CAPACITY = 1024


class Recorder:
    """The kept draws of each chain: steps after the burn-in, every thin-th.

    Parameters
    ----------
    options : RunOptions
    dim : int
    columns : mapping of str to dtype
        What is kept of each draw beside the state and the cost.
    """

    def __init__(self, options: RunOptions, dim: int, columns: dict[str, Any]) -> None:
        self.options = options
        self.kept = np.zeros(options.chains, dtype=np.int64)
        self._capacity = options.draws or _FIRST_CAPACITY
        self.columns = tuple(columns)
        self._keeps_all = options.burn_in == 0 and options.thin == 1
        shapes = {"points": ((dim,), np.float64), "cost": ((), np.float64)}
        shapes |= {name: ((), dtype) for name, dtype in columns.items()}
        self._arrays = {
            name: np.empty((options.chains * self._capacity, *shape), dtype=dtype)
            for name, (shape, dtype) in shapes.items()
        }

    def record(self, chains: Integers, steps: Integers, **columns: NDArray[Any]) -> None:
        """Record the step just finished by each of these chains; ``steps`` counts it, so the first is 1."""
        if not self._keeps_all:
            after = steps - self.options.burn_in
            keep = (after > 0) & (after % self.options.thin == 0)
            chains, columns = chains[keep], {name: values[keep] for name, values in columns.items()}
        filled = self.kept[chains]
        if self.options.draws is None and filled.size and filled.max() == self._capacity:
            self._grow()
        place = chains * self._capacity + filled
        for name, values in columns.items():
            self._arrays[name][place] = values
        self.kept[chains] = filled + 1

    def extend(self, chain: int, first: int, **columns: NDArray[Any]) -> None:
        """Record consecutive steps of one chain, one entry of each column a step; ``first`` steps came before them."""
        count, thin = len(columns["cost"]), self.options.thin
        after = first + 1 - self.options.burn_in  # of the first of these steps
        begin = max(thin - after, -after % thin)
        kept = len(range(begin, count, thin))
        filled = int(self.kept[chain])
        while filled + kept > self._capacity:
            self._grow()
        place = chain * self._capacity + filled
        for name, values in columns.items():
            self._arrays[name][place : place + kept] = values[begin:count:thin]
        self.kept[chain] += kept

    def column(self, name: str) -> NDArray[Any]:
        """Everything recorded under a name, shape (chains, draws, ...); NaN, 0 or False beyond a chain's end."""
        array = self._by_chain(name)[:, : self.kept.max()]
        if (self.kept < self.kept.max()).any():
            array = array.copy()
            for k, length in enumerate(self.kept):
                array[k, length:] = np.nan if array.dtype.kind == "f" else 0
        return array

    def draws(self, names: tuple[str, ...], settings: dict[str, Any], diagnostics: tuple[str, ...] = ()) -> Draws:
        """Everything recorded, as `Draws`.

        Raises
        ------
        UsageError
            If no chain has a draw.
        """
        if not self.kept.any():
            raise UsageError(
                f"budget {self.options.budget} was spent before any chain had a draw (burn_in={self.options.burn_in}, "
                f"thin={self.options.thin}): tests read more than their first batch; raise budget, or lower burn_in"
            )
        optional = {name: self.column(name) for name in ("weights", "accepted", "batch_sizes") if name in self._arrays}
        return Draws(
            points=self.column("points"),
            cost=self.column("cost"),
            names=names,
            seeds=self.options.seeds,
            settings=settings | self.options.described(),
            lengths=None if (self.kept == self.kept.max()).all() else self.kept.copy(),
            diagnostics={name: self.column(name) for name in diagnostics},
            **optional,
        )

    def _by_chain(self, name: str) -> NDArray[Any]:
        array = self._arrays[name]
        return array.reshape(self.options.chains, self._capacity, *array.shape[1:])

    def _grow(self) -> None:
        """Double the room of every chain."""
        for name in self._arrays:
            old = self._by_chain(name)
            new = np.empty((old.shape[0], 2 * self._capacity, *old.shape[2:]), dtype=old.dtype)
            new[:, : self._capacity] = old
            self._arrays[name] = new.reshape(-1, *old.shape[2:])
        self._capacity *= 2
