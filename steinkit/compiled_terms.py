"""Compiled terms of a posterior.

Samplers that run whole chains in compiled code call them.

The functions are called by address (see `steinkit.runtime.function_pointers`), with a batch of data at a time:

    log_ratios(table, theta, proposed, rows, count, values)    log p(x_i | proposed) - log p(x_i | theta) for the rows
    log_likelihood(table, theta, first, count, work) -> float  sum over rows first, ..., first + count - 1
    gradient(table, theta, rows, count, total, work)           gradient of the sum over the rows, shape (d,)
    log_prior(table, theta) -> float
    grad_log_prior(table, theta, total)

Arguments are addresses and integers. ``rows`` points to int64, all others to float64. ``values`` and ``work`` have
space for 2 count numbers; the results are the first ones. ``table`` contains the addresses and sizes of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from steinkit.sample import Integers

LOG_RATIOS = "void(int64, int64, int64, int64, int64, int64)"
LOG_LIKELIHOOD = "float64(int64, int64, int64, int64, int64)"
GRADIENT = "void(int64, int64, int64, int64, int64, int64)"
LOG_PRIOR = "float64(int64, int64)"
GRAD_LOG_PRIOR = "void(int64, int64, int64)"


@dataclass(frozen=True, eq=False)
class CompiledTerms:
    """Addresses of a posterior's terms, and the objects that they refer to.

    Attributes
    ----------
    addresses : ndarray of int, shape (6,)
        Address of the table, then those of the functions in the order of the module's docstring.
    temperature : float
        Divisor of log likelihoods and their gradients, which the caller applies.
    kept : tuple
        Objects that must exist while the addresses are used.
    slice_rows : int
        Largest number of data in one call, which fit in an L1 cache. Deadlines and control-C are checked between calls.
    """

    slice_rows: ClassVar[int] = 1 << 9

    addresses: Integers
    temperature: float
    kept: tuple[Any, ...]

    @classmethod
    def of(cls, table: Sequence[int], functions: Sequence[Any], kept: tuple[Any, ...]) -> CompiledTerms:
        """Return terms made by `pointed_function`."""
        entries = np.array(table, dtype=np.int64)
        addresses = [entries.ctypes.data, *(function.address for function in functions)]
        return cls(np.array(addresses, dtype=np.int64), 1.0, (entries, tuple(functions), kept))

    def tempered(self, temperature: float) -> CompiledTerms:
        """Return the terms at another temperature."""
        return replace(self, temperature=self.temperature * temperature)
