"""Products of dense matrices by BLAS, from and into parts of larger matrices.

Numba offers BLAS through `np.dot`, for contiguous matrices and into a new place only. Parts of a factor are not
contiguous, and their products are to be taken from another part. So BLAS is called here as Numba calls it itself, by
the helper that its run time library exports.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from steinkit.sample import Floats

_DOUBLES = types.CPointer(types.float64)
_gemm = types.ExternalFunction(
    "numba_xxgemm",
    types.intc(
        types.char, types.char, types.char,  # kind of numbers, and whether to transpose either matrix
        types.intp, types.intp, types.intp,
        _DOUBLES, _DOUBLES, types.intp, _DOUBLES, types.intp, _DOUBLES, _DOUBLES, types.intp,
    ),
)  # fmt: skip
_KIND, _AS_IT_IS, _TRANSPOSED = ord("d"), ord("N"), ord("T")
_MINUS_ONE = np.array([-1.0])


def subtract_product(target: Floats, left: Floats, right: Floats, kept: Floats) -> None:
    """Set target = kept[0] target - left'right.

    Parameters
    ----------
    target : ndarray, shape (m, n)
    left, right : ndarray, shapes (k, m) and (k, n)
        All three may be parts of larger matrices; the entries of a row follow one another.
    kept : ndarray, shape (1,)
        One, or zero where the target holds nothing yet, be it infinite.
    """
    product = left.T @ right
    target[:] = target - product if kept[0] == 1.0 else -product


@overload(subtract_product, jit_options={"nogil": True})
def _compiled(target, left, right, kept):  # type: ignore[no-untyped-def]
    def implementation(target, left, right, kept):  # type: ignore[no-untyped-def]
        # BLAS counts along columns first: to it the matrices are their transposes
        _gemm(
            _KIND, _AS_IT_IS, _TRANSPOSED, target.shape[1], target.shape[0], left.shape[0],
            _MINUS_ONE.ctypes, right.ctypes, right.strides[0] // 8, left.ctypes, left.strides[0] // 8,
            kept.ctypes, target.ctypes, target.strides[0] // 8,
        )  # fmt: skip

    return implementation
