"""A posterior's terms as compiled functions, for loops that run whole chains in compiled code.

Each function is known by its address, as `steinkit.runtime.function_pointers` calls it, and takes a batch at a time:

    log_ratios(table, theta, proposed, rows, count, values)    log p(x_i | proposed) - log p(x_i | theta) of these rows
    log_likelihood(table, theta, first, count, work) -> float  sum over rows first, ..., first + count - 1
    gradient(table, theta, rows, count, total, work)           gradient of that sum over these rows, shape (d,)
    log_prior(table, theta) -> float
    grad_log_prior(table, theta, total)

where ``rows`` are int64 and all else float64. ``values`` and ``work`` have room for 2 count numbers; what is computed
stands in the first. ``table`` is the function's own: addresses and sizes of the data, and whatever else it needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steinkit.sample import Integers

LOG_RATIOS = "void(int64, int64, int64, int64, int64, int64)"
LOG_LIKELIHOOD = "float64(int64, int64, int64, int64, int64)"
GRADIENT = "void(int64, int64, int64, int64, int64, int64)"
LOG_PRIOR = "float64(int64, int64)"
GRAD_LOG_PRIOR = "void(int64, int64, int64)"


@dataclass(frozen=True, eq=False)
class CompiledTerms:
    """Addresses of a posterior's terms, and what keeps them valid.

    Attributes
    ----------
    addresses : ndarray of int, shape (6,)
        Of the table, then of the functions in the order of the module's docstring; 0 for a gradient that is not given.
    temperature : float
        By which log likelihoods and their gradients are still to be divided.
    kept : tuple
        Objects that must live as long as the addresses are used.
    slice_rows : int
        Data that one call may be handed: between two calls, deadlines and control-C are heard.
    """

    addresses: Integers
    temperature: float
    kept: tuple[Any, ...]
    slice_rows: int

    @classmethod
    def of(
        cls, table: Sequence[int], functions: Sequence[Any], kept: tuple[Any, ...], slice_rows: int = 1 << 9
    ) -> CompiledTerms:
        """Terms of functions made by `pointed_function`, None for a gradient that there is not.

        As many rows in a slice by default as leave its values in the nearest cache.
        """
        entries = np.array(table, dtype=np.int64)
        addresses = [entries.ctypes.data, *(0 if function is None else function.address for function in functions)]
        return cls(np.array(addresses, dtype=np.int64), 1.0, (entries, tuple(functions), kept), slice_rows)

    @property
    def has_gradients(self) -> bool:
        """Whether the gradients of likelihood and prior are both there."""
        return bool(self.addresses[3] and self.addresses[5])

    def tempered(self, temperature: float) -> CompiledTerms:
        """The same terms at another temperature."""
        return replace(self, temperature=self.temperature * temperature)
