"""Conversion of JAX functions to vectorized functions in double precision.

Functions of a vector or a pytree are converted to functions that accept an array of shape (n, d). A pytree of arrays is
flattened to a vector that contains the entries of its leaves, in JAX order (dict keys are sorted) and in C order within
each leaf. JAX is imported on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import real_numbers
from steinkit.containers.named_draws import indexed, positions, spans
from steinkit.errors import InputError, UsageError, import_extra
from steinkit.sample import Floats

_SIZES = (1, 16, 128, 1024)  # numbers of points per call; the function is compiled for each of these numbers
_MOST_ROWS = 8192  # maximum number of batch rows per call
# JAX messages about mixed precision during tracing, lowering and execution
_MIXED = ("requires arguments to have the same dtypes", "verifier errors", "incompatible size")


def jax_module() -> Any:
    """Import JAX or raise MissingDependencyError."""
    return import_extra("jax", "JAX", "jax")


def double_precision() -> Any:
    """Return a context in which JAX computes in double precision."""
    jax = jax_module()
    if not hasattr(jax, "enable_x64"):  # experimental before JAX 0.8
        jax = importlib.import_module("jax.experimental")
    return jax.enable_x64(True)


def vectorised(function: Callable[..., Any]) -> Callable[..., Floats]:
    """Vectorize and compile a function of one point in double precision.

    The points are padded to one of a few batch sizes. To limit memory use, at most 1024 points are evaluated in one
    call. Additional arguments have one row per point.
    """
    compiled = jax_module().jit(jax_module().vmap(function))

    def evaluate(points: Floats, *others: NDArray[Any]) -> Floats:
        values = []
        for begin in range(0, max(1, len(points)), _SIZES[-1]):
            block = [array[begin : begin + _SIZES[-1]] for array in (points, *others)]
            size = next(size for size in _SIZES if size >= len(block[0]))
            with _constants_explained(), double_precision():
                # copied because JAX arrays are read-only
                found = real_numbers(compiled(*(_filled(each, size) for each in block)), "values in JAX").copy()
            values.append(found[: len(block[0])])
        return values[0] if len(values) == 1 else np.concatenate(values)

    return evaluate


def likelihood_forms(term: Callable[..., Any], arrays: int) -> tuple[Callable[..., Floats], ...]:
    """Return vectorized versions of a likelihood term for `Posterior`.

    To limit the number of compiled shapes, batches and states are padded to a power of two with copies of their first
    row. Long batches are evaluated in blocks of 8192 rows. The rounding errors in sums over a batch depend on these
    shapes.

    Parameters
    ----------
    term : callable, (theta, *row) -> scalar
        Term of one state and one data point.
    arrays : int
        Number of arrays in a row.

    Returns
    -------
    tuple of callable
        Function that returns the terms of a batch for each of K states, shape (K, b), and function that returns the
        gradients of their sums, shape (K, d).
    """
    jax = jax_module()
    over_rows = jax.vmap(term, (None, *(0,) * arrays))

    def weighted_sum(theta: Any, weights: Any, *rows: Any) -> Any:
        return (weights * over_rows(theta, *rows)).sum()

    axes = {True: (None,) * arrays, False: (0,) * arrays}  # keyed by whether all the states share one batch
    values = {shared: jax.jit(jax.vmap(over_rows, (0, *of_rows))) for shared, of_rows in axes.items()}
    slope = jax.grad(weighted_sum)
    slopes = {shared: jax.jit(jax.vmap(slope, (0, None, *of_rows))) for shared, of_rows in axes.items()}

    def terms(thetas: Floats, *batches: NDArray[Any]) -> Floats:
        found = []
        for shared, count, arguments in _padded_blocks(thetas, batches):
            with _constants_explained(), double_precision():
                block = np.array(values[shared](*arguments), dtype=np.float64)
            found.append(block[: len(thetas), :count])
        return np.concatenate(found, axis=1)

    def gradients(thetas: Floats, *batches: NDArray[Any]) -> Floats:
        total = np.zeros(thetas.shape)
        for shared, count, (states, *rows) in _padded_blocks(thetas, batches):
            weights = (np.arange(_power_of_two(count)) < count).astype(np.float64)  # zero for padding
            with _constants_explained(), double_precision():
                total += np.asarray(slopes[shared](states, weights, *rows), dtype=np.float64)[: len(thetas)]
        return total

    return terms, gradients


def _padded_blocks(
    thetas: Floats, batches: Sequence[NDArray[Any]]
) -> Iterator[tuple[bool, int, tuple[NDArray[Any], ...]]]:
    """Yield blocks of padded arrays.

    Each item consists of a flag (True if all states share the same rows), the number of rows and the padded arrays.
    """
    shared = all(len(array) == 1 or array.strides[0] == 0 for array in batches)
    states = _power_of_two(len(thetas))
    for begin in range(0, batches[0].shape[1], _MOST_ROWS):
        rows = [array[:, begin : begin + _MOST_ROWS] for array in batches]
        count = rows[0].shape[1]
        size = _power_of_two(count)
        data = [_filled(array[0], size) if shared else _filled(_filled(array, size, 1), states) for array in rows]
        yield shared, count, (_filled(thetas, states), *data)


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()


def _filled(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """Pad an array along an axis with copies of its first entry."""
    missing = length - array.shape[axis]
    if not missing:
        return array
    if not array.shape[axis]:
        return np.zeros((length, *array.shape[1:]))
    first = np.take(array, [0], axis=axis)
    return np.concatenate([array, np.repeat(first, missing, axis=axis)], axis=axis)


@contextmanager
def _constants_explained() -> Iterator[None]:
    """Replace JAX errors about mixed precision with errors that explain the cause.

    If a compiled function uses NumPy arrays as global variables, JAX converts the arrays to single precision and also
    uses these copies in double-precision computations (observed in JAX 0.10). JAX arrays are converted correctly.
    """
    try:
        yield
    except (TypeError, ValueError, RuntimeError) as error:
        message = str(error)
        if jax_module().config.jax_enable_x64 or not any(sign in message for sign in _MIXED):
            raise
        raise InputError(
            "JAX mixes single and double precision because a compiled function uses global NumPy arrays; convert "
            "the arrays once, as in y = jnp.asarray(y), pass them as arguments, or set jax_enable_x64 at the start of "
            f"the program ({message.splitlines()[0]})"
        ) from error


def fresh(arguments: Any) -> Any:
    """Copy the NumPy arrays in a pytree because JAX may cache the originals."""
    return jax_module().tree_util.tree_map(lambda x: x.copy() if type(x) is np.ndarray else x, arguments)


@dataclass(frozen=True, eq=False)
class TreeCoordinates:
    """Mapping between a pytree of arrays and a vector of the array entries.

    Attributes
    ----------
    structure : jax.tree_util.PyTreeDef
    leaves : tuple of str
        Names of the arrays, derived from their paths, such as ``mu`` for ``{"mu": ...}`` or a field ``mu``, and
        ``layers.0.bias`` for ``{"layers": [{"bias": ...}]}``. The name of a single array is ``x``, and the first array
        of a sequence has the name ``x.0``.
    shapes : tuple of tuple of int
        Shapes of the arrays.
    """

    structure: Any
    leaves: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tree: Any, lead: int = 0) -> TreeCoordinates:
        """Return the coordinates of a pytree, ignoring the leading axes of its arrays.

        Raises
        ------
        InputError
            If there are no arrays, or an array has fewer than `lead` axes.
        """
        found, structure = jax_module().tree_util.tree_flatten_with_path(tree)
        if not found:
            raise InputError(f"expected a pytree of arrays, got {type(tree).__name__} without arrays")
        names = tuple(_name(path) for path, _ in found)
        shapes = tuple(_shape(name, leaf) for name, (_, leaf) in zip(names, found, strict=True))
        for name, shape in zip(names, shapes, strict=True):
            if len(shape) < lead:
                raise InputError(f"expected {name} to have {lead} leading axes that index the draws, got shape {shape}")
        return cls(structure, names, tuple(shape[lead:] for shape in shapes))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, such as ``mu``, ``theta[0]`` or ``layers.0.bias[2]``."""
        pairs = zip(self.leaves, self.shapes, strict=True)
        return tuple(name for leaf, shape in pairs for name in indexed(leaf, positions(shape)))

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def unravel(self, vector: Any) -> Any:
        """Convert a NumPy or JAX vector of shape (d,) to a pytree."""
        parts = [vector[span].reshape(shape) for span, shape in zip(spans(self.shapes), self.shapes, strict=True)]
        return jax_module().tree_util.tree_unflatten(self.structure, parts)

    def of_vector(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Convert the first argument of a function from a pytree to a vector."""
        return lambda vector, *others: function(self.unravel(vector), *others)

    def ravel(self, tree: Any, lead: Sequence[int] = ()) -> Floats:
        """Convert draws stacked along leading axes to an array of shape (*lead, d).

        Raises
        ------
        InputError
            If the structure of the pytree or the shape of an array is different.
        """
        found, structure = jax_module().tree_util.tree_flatten(tree)
        if structure != self.structure:
            raise InputError(f"expected a pytree {self.structure}, got {structure}")
        columns = []
        for name, shape, leaf in zip(self.leaves, self.shapes, found, strict=True):
            array = real_numbers(leaf, f"entries of {name}")
            if array.shape != (*lead, *shape):
                raise InputError(f"{name} must have shape {(*lead, *shape)}; got {array.shape}")
            columns.append(array.reshape(*lead, -1))
        return np.concatenate(columns, axis=-1)


def in_coordinates(
    like: Any, dim: int | None, names: Sequence[str] | None, *functions: Callable[..., Any]
) -> tuple[int | None, Sequence[str] | None, tuple[Callable[..., Any], ...]]:
    """Return the dimension and names, and convert the functions to accept vectors."""
    if like is None:
        return dim, names, functions
    tree = TreeCoordinates.of(like)
    if dim not in (None, tree.dim):
        raise UsageError(f"expected dim={tree.dim} to match like=, got dim={dim}; omit dim")
    return tree.dim, names or tree.names, tuple(tree.of_vector(function) for function in functions)


def _name(path: Sequence[Any]) -> str:
    """Return the name of a leaf, derived from its path."""
    steps = [str(next(getattr(key, kind) for kind in ("key", "name", "idx") if hasattr(key, kind))) for key in path]
    anonymous = not path or hasattr(path[0], "idx")
    return ".".join(["x", *steps] if anonymous else steps)


def _shape(name: str, leaf: Any) -> tuple[int, ...]:
    """Return the shape of an array, a number or a `jax.ShapeDtypeStruct`."""
    try:
        return tuple(leaf.shape) if hasattr(leaf, "shape") else np.asarray(leaf, dtype=np.float64).shape
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"expected arrays of numbers in the pytree, got {type(leaf).__name__} for {name}") from None
