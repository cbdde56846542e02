"""Compiled functions that are called by address.

All arguments are integers, and some of them are addresses. All functions with the same signature therefore have the
same machine type, and a compiled loop can call any of them without recompilation. A call takes one or two nanoseconds.
The arguments are not checked, and the caller must keep the arrays alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from steinkit.runtime.compilation import array_kernel
from steinkit.runtime.deadlines import deferred_interrupts

# Sums may be reordered, but NaN and infinity are treated as in IEEE 754.
_REORDERED = {"reassoc", "contract", "nsz"}


def pointed_function(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function whose arguments are addresses and integers.

    The compiled function has an attribute ``address``.

    Sums in the function may be reordered.

    Parameters
    ----------
    signature : str
        Signature in Numba's notation, such as ``"float64(int64, int64)"``.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        options = {"nopython": True, "error_model": "numpy", "fastmath": _REORDERED}
        with deferred_interrupts():
            try:
                return numba.cfunc(signature, cache=True, **options)(function)
            except RuntimeError:  # Numba found no writable cache folder
                return numba.cfunc(signature, **options)(function)

    return compiled


def _call(value_type: Any) -> Any:
    @intrinsic
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            unpacked = cgutils.unpack_tuple(builder, values[1])
            returned = ir.VoidType() if value_type == types.void else context.get_value_type(value_type)
            function = ir.FunctionType(returned, [value.type for value in unpacked])
            result = builder.call(builder.inttoptr(values[0], function.as_pointer()), unpacked)
            return context.get_dummy_value() if value_type == types.void else result

        return value_type(address, arguments), generate

    return call


#: The call call_at(address, (a, b, ...)) calls a function without a result.
call_at = _call(types.void)
#: The call number_at(address, (a, b, ...)) calls a function that returns a float.
number_at = _call(types.float64)


@intrinsic
def pointer(typing_context: Any, address: Any, dtype: Any) -> Any:
    """Convert an address to a typed pointer for use with `numba.carray`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    kind: Any = types
    return kind.CPointer(dtype.dtype)(address, dtype), generate


@intrinsic
def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c.

    The multiplication and addition are fused if the processor supports this.

    Vectorized and scalar code give the same result.
    """

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = ir.DoubleType()
        kind = ir.FunctionType(number, [number] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.f64"), values)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def _prefetch_line(typing_context: Any, address: Any) -> Any:
    """Prefetch the cache line that contains an address."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        to_read, to_keep, data = number(0), number(3), number(1)
        builder.call(function, [builder.inttoptr(values[0], place), to_read, to_keep, data])
        return context.get_dummy_value()

    return types.void(address), generate


@array_kernel
def prefetch(address: int, size: int) -> None:
    """Prefetch ``size`` bytes starting at an address."""
    for offset in range(0, size, 64):
        _prefetch_line(address + offset)
