"""Eight numbers that move together: one SIMD register, or a few, as a Numba type.

The programs of the coordinates share their rows. Eight of them are solved side by side, one in each lane of arrays of
shape (count, 8), and every operation of a kernel is one on lanes. Written as a loop over eight entries, LLVM unrolls it
into scalar code before its vectoriser sees it; told the type, it uses the vector unit of whatever processor there is
(three times as fast on the rows of a Stein program, measured with AVX2).

Inside a kernel

    v = load(array, row)        the eight entries of a row of a C-contiguous float32 or float64 array
    store(array, row, v)
    zeros(array)                eight zeros in the array's precision
    v + w, v - w, v * w, v / w  lane by lane; a number in place of v stands for eight of it
    least, greatest, magnitude  lane by lane
    widen(v)                    float32 to float64
    any_positive(v)             whether some lane is above zero

A product and a sum may be contracted to one rounding where the processor can. The order of operations is fixed, so the
same input gives the same output on the same machine.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

LANES = 8

_CONTRACT = ("contract",)


class Lanes(types.Type):
    """Numba's type of a vector of `LANES` floats."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, dmm: Any, fe_type: Lanes) -> None:
        super().__init__(dmm, fe_type, ir.VectorType(_element(fe_type), LANES))


def _element(lanes: Lanes) -> Any:
    return ir.FloatType() if lanes.dtype == types.float32 else ir.DoubleType()


def _row_pointer(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Pointer to a row, seen as one vector."""
    array = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
    row = context.cast(builder, arguments[1], signature.args[1], types.intp)
    first = builder.gep(array.data, [builder.mul(row, ir.Constant(row.type, LANES))])
    vector = ir.VectorType(context.get_data_type(signature.args[0].dtype), LANES)
    return builder.bitcast(first, vector.as_pointer())


@intrinsic
def load(typing_context, array, row):  # type: ignore[no-untyped-def]
    """Return a row of an array as lanes."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_row_pointer(context, builder, signature, arguments))
        value.align = array.dtype.bitwidth // 8
        return value

    return Lanes(array.dtype)(array, row), code


@intrinsic
def store(typing_context, array, row, lanes):  # type: ignore[no-untyped-def]
    """Write lanes to a row of an array of the same precision."""
    if array.dtype != lanes.dtype:
        raise TypeError(f"lanes of {lanes.dtype} cannot be stored in an array of {array.dtype}")

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        instruction = builder.store(arguments[2], _row_pointer(context, builder, signature, arguments))
        instruction.align = array.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(array, row, lanes), code


@intrinsic
def zeros(typing_context, array):  # type: ignore[no-untyped-def]
    """Return eight zeros in the precision of an array."""
    lanes = Lanes(array.dtype)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return ir.Constant(ir.VectorType(_element(lanes), LANES), None)

    return lanes(array), code


@intrinsic
def _splat(typing_context, number, like):  # type: ignore[no-untyped-def]
    """Put a number into all lanes, in the precision of `like`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.cast(builder, arguments[0], signature.args[0], like.dtype)
        undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
        index = ir.IntType(32)
        first = builder.insert_element(undefined, value, ir.Constant(index, 0))
        return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(index, LANES), [0] * LANES))

    return like(number, like), code


def _lane_by_lane(emit: Callable[[Any, Any, Any], Any]) -> Any:
    """Make a function of two lanes; `emit` writes its instructions."""

    @intrinsic
    def apply(typing_context, v, w):  # type: ignore[no-untyped-def]
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, *arguments)

        return (v(v, w) if v == w else None), code

    def accept(v, w):  # type: ignore[no-untyped-def]
        if isinstance(v, Lanes) and isinstance(w, Lanes):
            return lambda v, w: apply(v, w)
        if isinstance(v, Lanes) and isinstance(w, types.Number):
            return lambda v, w: apply(v, _splat(w, v))
        if isinstance(w, Lanes) and isinstance(v, types.Number):
            return lambda v, w: apply(_splat(v, w), w)
        return None

    return accept


overload(operator.add)(_lane_by_lane(lambda builder, v, w: builder.fadd(v, w, flags=_CONTRACT)))
overload(operator.sub)(_lane_by_lane(lambda builder, v, w: builder.fsub(v, w, flags=_CONTRACT)))
overload(operator.truediv)(_lane_by_lane(lambda builder, v, w: builder.fdiv(v, w)))
overload(operator.mul)(_lane_by_lane(lambda builder, v, w: builder.fmul(v, w, flags=_CONTRACT)))


def least(v: Any, w: Any) -> Any:
    """Return the smaller of two, lane by lane."""
    raise NotImplementedError("for kernels only")


def greatest(v: Any, w: Any) -> Any:
    """Return the larger of two, lane by lane."""
    raise NotImplementedError("for kernels only")


overload(least)(_lane_by_lane(lambda builder, v, w: builder.select(builder.fcmp_ordered("<", v, w), v, w)))
overload(greatest)(_lane_by_lane(lambda builder, v, w: builder.select(builder.fcmp_ordered(">", v, w), v, w)))


def magnitude(v: Any) -> Any:
    """Return absolute values."""
    raise NotImplementedError("for kernels only")


@overload(magnitude)
def _magnitude(v):  # type: ignore[no-untyped-def]
    return (lambda v: greatest(v, -1.0 * v)) if isinstance(v, Lanes) else None


@intrinsic
def widen(typing_context, v):  # type: ignore[no-untyped-def]
    """Return float32 lanes as float64 lanes."""
    wide = Lanes(types.float64)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fpext(arguments[0], ir.VectorType(ir.DoubleType(), LANES))

    return wide(v), code


@intrinsic
def any_positive(typing_context, v):  # type: ignore[no-untyped-def]
    """Tell whether some lane is above zero."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(arguments[0].type, None)
        positive = builder.fcmp_ordered(">", arguments[0], zero)
        mask = builder.bitcast(positive, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))

    return types.boolean(v), code
