"""Compiled functions behind addresses: one compiled loop then serves functions that it has never seen.

Arguments are whole numbers, addresses among them, so that all functions of a kind have one machine type and a loop that
calls them need not be compiled anew for each. A call costs a nanosecond or two: what is behind it should do the work of
a batch. Nothing is checked: who passes an address keeps the array alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, imputils, types
from numba.extending import intrinsic

from steinkit.runtime.compilation import array_kernel

# Sums may be taken in any order, several at once; NaN and infinity keep their meaning.
_REORDERED = {"reassoc", "contract", "nsz"}


def pointed_function(
    signature: str, *, cached: bool = True, reordered: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function of addresses and whole numbers; its own address is attribute ``address`` of what is returned.

    Parameters
    ----------
    signature : str
        As Numba writes it, such as ``"float64(int64, int64)"``.
    cached : bool
        Whether to keep the machine code on disk: not for functions that call a user's, which may change.
    reordered : bool
        Whether sums may be taken in any order. Numba hands the leave on to functions that have not said otherwise:
        those of this package have (`runtime.compilation`), a user's has not.
    """

    def compiled(function: Callable[..., Any]) -> Any:
        options = {"nopython": True, "error_model": "numpy", "fastmath": _REORDERED if reordered else False}
        if cached:
            try:
                return numba.cfunc(signature, cache=True, **options)(function)
            except RuntimeError:  # numba found no folder to cache in
                pass
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


#: call_at(address, (a, b, ...)): call the function there, which returns nothing.
call_at = _call(types.void)
#: number_at(address, (a, b, ...)): call the function there, which returns a float.
number_at = _call(types.float64)


@intrinsic
def pointer(typing_context: Any, address: Any, dtype: Any) -> Any:
    """The address as a pointer to numbers of a type, for `numba.carray`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    kind: Any = types
    return kind.CPointer(dtype.dtype)(address, dtype), generate


@intrinsic
def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a b + c, rounded once where the processor does that at no cost, else twice; the same in vectors and alone."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = ir.DoubleType()
        kind = ir.FunctionType(number, [number] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.f64"), values)

    return types.float64(types.float64, types.float64, types.float64), generate


@intrinsic
def read_only(typing_context: Any, array: Any) -> Any:
    """The array, of a type that nobody can write into: Numba refuses to compile who would."""
    kind = array.copy(readonly=True)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return imputils.impl_ret_borrowed(context, builder, kind, values[0])

    return kind(array), generate


@intrinsic
def _prefetch_line(typing_context: Any, address: Any) -> Any:
    """Ask for the cache line at an address; any address will do."""

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
    """Ask for ``size`` bytes that will be read soon, from places that the processor cannot foresee."""
    for offset in range(0, size, 64):
        _prefetch_line(address + offset)
