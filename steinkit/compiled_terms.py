"""Compiled functions that evaluate the terms of a posterior.

Samplers that run compiled chains call the following functions by address, with one batch of data per call (see
`steinkit.runtime.function_pointers`):

    log_ratios(table, theta, proposed, rows, count, values)    log p(x_i | proposed) - log p(x_i | theta) for the rows
    log_likelihood(table, theta, first, count, work) -> float  sum over rows first, ..., first + count - 1
    gradient(table, theta, rows, count, total, work)           gradient of the sum over the rows, shape (d,)
    log_prior(table, theta) -> float
    grad_log_prior(table, theta, total)

The arguments are addresses and integers. ``rows`` is the address of int64 numbers, and all other addresses refer to
float64 numbers. ``values`` and ``work`` each have space for ``2 * count`` numbers. The results are stored at the
beginning of ``values``. ``table`` contains the addresses and sizes of the data.
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
    """Addresses of the compiled functions for the terms of a posterior.

    Attributes
    ----------
    addresses : ndarray of int, shape (6,)
        Address of the table, followed by the addresses of the functions in the order of the module docstring.
    temperature : float
        Temperature, by which the caller divides log likelihoods and their gradients.
    kept : tuple
        Objects that must remain alive while the addresses are in use.
    slice_rows : int
        Maximum number of data points in one call, chosen to fit in the L1 cache. Deadlines and Ctrl-C are checked
        between calls.
    """

    slice_rows: ClassVar[int] = 1 << 9

    addresses: Integers
    temperature: float
    kept: tuple[Any, ...]

    @classmethod
    def of(cls, table: Sequence[int], functions: Sequence[Any], kept: tuple[Any, ...]) -> CompiledTerms:
        """Return the terms for compiled functions from `pointed_function`."""
        entries = np.array(table, dtype=np.int64)
        addresses = [entries.ctypes.data, *(function.address for function in functions)]
        return cls(np.array(addresses, dtype=np.int64), 1.0, (entries, tuple(functions), kept))

    def tempered(self, temperature: float) -> CompiledTerms:
        """Return a copy with the temperature multiplied by a factor."""
        return replace(self, temperature=self.temperature * temperature)
