"""Compiled steps of the first-order method for eight coordinates.

Each step is a single pass over rows or columns. Lane j holds the program: maximize b_j'y subject to |A y| <= r, |y| <=
u_j. Arrays of variables and multipliers have shape (count, 8). The module `first_order` describes the method. No
function allocates memory.

The eight numbers of a row form a Numba type, which LLVM maps to vector registers. A loop over eight entries would be
unrolled into scalar code before vectorization, which takes three times as long (measured with AVX2).

The operations on lanes are:

    v = load(array, row)        the eight entries of a row of a C-contiguous float32 or float64 array
    store(array, row, v)        the reverse operation
    zeros(array)                eight zeros in the precision of the array
    v + w, v - w, v * w, v / w  lane by lane; scalars are broadcast
    least, greatest, magnitude  lane by lane
    widen(v)                    float32 to float64
    any_positive(v)             True if some lane is positive

A product and a sum may be contracted to a single rounding. The order of operations is fixed, so the results are
reproducible on the same machine.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

from steinkit.runtime.compilation import kernel
from steinkit.sample import Floats, Integers

LANES = 8

_CONTRACT = ("contract",)


class Lanes(types.Type):
    """Numba type of a vector of `LANES` floats."""

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
    """Return a pointer to a row as a vector."""
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
    """Broadcast a number to all lanes, in the precision of `like`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.cast(builder, arguments[0], signature.args[0], like.dtype)
        undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
        index = ir.IntType(32)
        first = builder.insert_element(undefined, value, ir.Constant(index, 0))
        return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(index, LANES), [0] * LANES))

    return like(number, like), code


def _lane_by_lane(emit: Callable[[Any, Any, Any], Any]) -> Any:
    """Return an overload for two lanes with the instructions of `emit`."""

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
    """Return the smaller of two values in each lane."""
    raise NotImplementedError("for kernels only")


def greatest(v: Any, w: Any) -> Any:
    """Return the greater of two values in each lane."""
    raise NotImplementedError("for kernels only")


overload(least)(_lane_by_lane(lambda builder, v, w: builder.select(builder.fcmp_ordered("<", v, w), v, w)))
overload(greatest)(_lane_by_lane(lambda builder, v, w: builder.select(builder.fcmp_ordered(">", v, w), v, w)))


def magnitude(v: Any) -> Any:
    """Return the absolute value in each lane."""
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
    """Return True if some lane is positive."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(arguments[0].type, None)
        positive = builder.fcmp_ordered(">", arguments[0], zero)
        mask = builder.bitcast(positive, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))

    return types.boolean(v), code


_ONE, _PAIR = np.uint64(1), np.uint64(2)
"""Constants for rows with two entries, which are the most frequent and require no loop."""


class LaneRows(NamedTuple):
    """Rows of A in compressed form, in groups for all lanes or for one lane.

    Attributes
    ----------
    start : ndarray of uint64, shape (m + 1,)
        Row i has the entries start[i] to start[i + 1] - 1.
    column : ndarray of uint32, shape (entries,)
    value : ndarray, shape (entries,)
        Entries in float32 for the iteration, and in float64 for the certificate and the repair.
    radius : ndarray, shape (m,)
        Radius r, in the precision of `value`.
    step : ndarray, shape (m,)
        Step sigma for the iteration, and lambda/||a||^2 for the repair, in the precision of `value`.
    groups : ndarray of int64, shape (groups + 1,)
        Group g has the rows groups[g] to groups[g + 1] - 1.
    member : ndarray, shape (groups, 8)
        The value 1 for the lanes of a group, and 0 otherwise, in the precision of `value`.
    """

    start: Integers
    column: Integers
    value: Floats
    radius: Floats
    step: Floats
    groups: Integers
    member: Floats


class LaneColumns(NamedTuple):
    """Objective, boxes and steps of the variables.

    The arrays have shape (N, 8) and the same precision.

    Attributes
    ----------
    objective : ndarray
        b.
    box : ndarray
        u.
    step : ndarray
        tau.
    """

    objective: Floats
    box: Floats
    step: Floats


class State(NamedTuple):
    """Iterates of the method in float32.

    Attributes
    ----------
    y, anchor_y, ahead : ndarray, shape (N, 8)
        Variables, variables at the last restart, and 2 y+ - y.
    p, anchor_p : ndarray, shape (m, 8)
        Multipliers, and multipliers at the last restart.
    pull : ndarray, shape (N, 8)
        A'p.
    """

    y: Floats
    anchor_y: Floats
    ahead: Floats
    p: Floats
    anchor_p: Floats
    pull: Floats


@kernel
def _product(rows, i, y):  # type: ignore[no-untyped-def]
    """Return row i of A y."""
    begin, end = rows.start[i], rows.start[i + 1]
    if end - begin == _PAIR:
        second = end - _ONE
        return rows.value[begin] * load(y, rows.column[begin]) + rows.value[second] * load(y, rows.column[second])
    v = zeros(y)
    for k in range(begin, end):
        v = v + rows.value[k] * load(y, rows.column[k])
    return v


@kernel
def _spread(rows, i, p, pull):  # type: ignore[no-untyped-def]
    """Add the part p a_i of row i to A'p."""
    begin, end = rows.start[i], rows.start[i + 1]
    if end - begin == _PAIR:
        _add(pull, rows.column[begin], rows.value[begin] * p)
        _add(pull, rows.column[end - _ONE], rows.value[end - _ONE] * p)
    else:
        for k in range(begin, end):
            _add(pull, rows.column[k], rows.value[k] * p)


@kernel
def _add(array, i, lanes):  # type: ignore[no-untyped-def]
    """Add lanes to a row of an array."""
    store(array, i, load(array, i) + lanes)


@kernel
def _stepped_variables(columns, i, y, pull, step):  # type: ignore[no-untyped-def]
    """Return y+ = clip(y + tau (b - A'p), -u, u)."""
    box = load(columns.box, i)
    moved = y + step * load(columns.step, i) * (load(columns.objective, i) - pull)
    return least(greatest(moved, -1.0 * box), box)


@kernel
def _stepped_multipliers(rows, i, p, product, member, step):  # type: ignore[no-untyped-def]
    """Return p+ = soft(p + sigma A(2 y+ - y), sigma r).

    The function soft(t, c) is t - clip(t, -c, c).
    """
    sigma = rows.step[i] * step
    threshold = rows.radius[i] * sigma
    moved = p + sigma * product
    return member * (moved - least(greatest(moved, -1.0 * threshold), threshold))


@kernel
def halpern_steps(rows, columns, state, steps, weights, stop):  # type: ignore[no-untyped-def]
    """Take reflected Halpern steps.

    The step is z <- w (2 z+ - z) + (1 - w) z_0, where z = (y, p).

    Parameters
    ----------
    rows : LaneRows
    columns : LaneColumns
    state : State
        State that is updated in place.
    steps : ndarray of float32, shape (2, 8)
        Factors of tau and of sigma.
    weights : ndarray of float32, shape (count, 8)
        Weights w of the steps, which are k/(k + 1) in the k-th step after a restart.
    stop : ndarray of bool, shape (1,)
        The remaining steps are omitted if this becomes true.
    """
    primal, dual = load(steps, 0), load(steps, 1)
    for iteration in range(len(weights)):
        if stop[0]:
            return
        weight = load(weights, iteration)
        rest = 1.0 - weight
        for i in range(len(columns.box)):
            y, pull = load(state.y, i), load(state.pull, i)
            ahead = 2.0 * _stepped_variables(columns, i, y, pull, primal) - y
            store(state.ahead, i, ahead)
            store(state.y, i, weight * ahead + rest * load(state.anchor_y, i))
            store(state.pull, i, zeros(state.pull))
        for group in range(len(rows.member)):
            member = load(rows.member, group)
            for i in range(rows.groups[group], rows.groups[group + 1]):
                p = load(state.p, i)
                stepped = _stepped_multipliers(rows, i, p, _product(rows, i, state.ahead), member, dual)
                p = weight * (2.0 * stepped - p) + rest * load(state.anchor_p, i)
                store(state.p, i, p)
                _spread(rows, i, p, state.pull)


@kernel
def pdhg_step(rows, columns, state, steps, y_next, p_next, lengths):  # type: ignore[no-untyped-def]
    """Compute (y+, p+), the point that is checked, and its distances.

    The distances are measured from z and from z_0.

    Parameters
    ----------
    rows, columns, state, steps
        The arguments of `halpern_steps`. Only `state.ahead` is changed.
    y_next, p_next : ndarray of float32, shapes (N, 8), (m, 8)
        Output arrays for y+ and p+.
    lengths : ndarray of float64, shape (4, 8)
        Output array for |y+ - y|^2/tau, |p+ - p|^2/sigma, |y+ - y_0|^2/tau and |p+ - p_0|^2/sigma, without the factors
        `steps`.
    """
    primal, dual = load(steps, 0), load(steps, 1)
    moved, away = zeros(lengths), zeros(lengths)
    for i in range(len(columns.box)):
        y = load(state.y, i)
        stepped = _stepped_variables(columns, i, y, load(state.pull, i), primal)
        store(y_next, i, stepped)
        store(state.ahead, i, 2.0 * stepped - y)
        tau = widen(load(columns.step, i))
        change, distance = widen(stepped - y), widen(stepped - load(state.anchor_y, i))
        moved = moved + change * change / tau
        away = away + distance * distance / tau
    store(lengths, 0, moved)
    store(lengths, 2, away)
    moved, away = zeros(lengths), zeros(lengths)
    for group in range(len(rows.member)):
        member = load(rows.member, group)
        for i in range(rows.groups[group], rows.groups[group + 1]):
            p = load(state.p, i)
            stepped = _stepped_multipliers(rows, i, p, _product(rows, i, state.ahead), member, dual)
            store(p_next, i, stepped)
            change, distance = widen(stepped - p), widen(stepped - load(state.anchor_p, i))
            moved = moved + change * change / rows.step[i]
            away = away + distance * distance / rows.step[i]
    store(lengths, 1, moved)
    store(lengths, 3, away)


@kernel
def restart(rows, state, restarted, y_next, p_next):  # type: ignore[no-untyped-def]
    """Set z and z_0 to (y+, p+) in the restarted lanes.

    The array `restarted`, shape (1, 8), is 1 in these lanes. The product A'p is recomputed.
    """
    chosen = load(restarted, 0)
    for i in range(len(state.y)):
        y, y_new = load(state.y, i), load(y_next, i)
        store(state.y, i, y + chosen * (y_new - y))
        y = load(state.anchor_y, i)
        store(state.anchor_y, i, y + chosen * (y_new - y))
        store(state.pull, i, zeros(state.pull))
    for i in range(len(state.p)):
        p, p_new = load(state.p, i), load(p_next, i)
        anchor = load(state.anchor_p, i)
        store(state.anchor_p, i, anchor + chosen * (p_new - anchor))
        p = p + chosen * (p_new - p)
        store(state.p, i, p)
        _spread(rows, i, p, state.pull)


@kernel
def repair(rows, columns, y, margin, tolerance, sweeps, stop):  # type: ignore[no-untyped-def]
    """Reduce the violations of rows by relaxed Kaczmarz sweeps.

    Each sweep is followed by a projection on the box. A row with |a'y| > R = (1 - margin) r changes y by -lambda (a'y
    -+ R) a/||a||^2, where 0 < lambda < 2. The value lambda = 1 is the projection on |a'y| <= R.

    Parameters
    ----------
    rows : LaneRows
        Rows in float64, with steps lambda/||a||^2.
    columns : LaneColumns
        Columns in float64.
    y : ndarray of float64, shape (N, 8)
        Variables, which are updated in place.
    margin : float
        Relative distance of R from r.
    tolerance : float
        The sweeps end if no row exceeds (1 + tolerance) r.
    sweeps : int
        Largest number of sweeps.
    stop : ndarray of bool, shape (1,)
        No further sweep begins if this becomes true.

    Returns
    -------
    int
        Number of sweeps.
    """
    for sweep in range(sweeps):
        if stop[0]:
            return sweep
        worst = zeros(y)
        for group in range(len(rows.member)):
            member = load(rows.member, group)
            for i in range(rows.groups[group], rows.groups[group + 1]):
                v = member * _product(rows, i, y)
                excess = magnitude(v) - (1.0 - margin) * rows.radius[i]
                if any_positive(excess):
                    worst = greatest(worst, magnitude(v) - (1.0 + tolerance) * rows.radius[i])
                    limit = (1.0 - margin) * rows.radius[i]
                    _spread(rows, i, rows.step[i] * (least(greatest(v, -limit), limit) - v), y)
        for i in range(len(columns.box)):
            box = load(columns.box, i)
            store(y, i, least(greatest(load(y, i), -1.0 * box), box))
        if not any_positive(worst):
            return sweep + 1
    return sweeps


@kernel
def bounds(rows, columns, y, p, pull, found):  # type: ignore[no-untyped-def]
    """Compute the bounds from y and p in each lane.

    The bounds are not rounded outwards.

    Parameters
    ----------
    rows, columns
        Rows and columns in float64.
    y : ndarray of float64, shape (N, 8)
        Variables within the box.
    p : ndarray of float32, shape (m, 8)
    pull : ndarray of float64, shape (N, 8)
        Work array.
    found : ndarray of float64, shape (3, 8)
        Output array for r'|p| + u'|b - A'p|, b'y, and the largest |a'y|/r.
    """
    upper, value, largest = zeros(found), zeros(found), zeros(found)
    for i in range(len(pull)):
        store(pull, i, zeros(pull))
    for group in range(len(rows.member)):
        member = load(rows.member, group)
        for i in range(rows.groups[group], rows.groups[group + 1]):
            multiplier = widen(load(p, i))
            upper = upper + rows.radius[i] * magnitude(multiplier)
            largest = greatest(largest, magnitude(member * _product(rows, i, y)) / rows.radius[i])
            _spread(rows, i, multiplier, pull)
    for i in range(len(columns.box)):
        objective = load(columns.objective, i)
        upper = upper + load(columns.box, i) * magnitude(objective - load(pull, i))
        value = value + objective * load(y, i)
    store(found, 0, upper)
    store(found, 1, value)
    store(found, 2, largest)
