"""Functions written in JAX, of a vector or of a pytree, as functions of an (n, d) array in double precision.

A pytree of arrays is a vector: its leaves one after the other in JAX's own order (a dict's by sorted keys), each
ravelled in C order. JAX is imported when a function is first made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steinkit.arguments import real_numbers
from steinkit.containers.named_draws import indexed, positions
from steinkit.errors import InputError, UsageError, imported
from steinkit.sample import Floats

_SIZES = (1, 16, 128, 1024)  # numbers of points to evaluate at once: few, for each is compiled anew
_MOST_ROWS = 8192  # rows of a batch to evaluate at once
# what JAX says where it meets one number in two precisions: on tracing, on lowering, on running
_MIXED = ("requires arguments to have the same dtypes", "verifier errors", "incompatible size")


def jax_module() -> Any:
    """JAX itself; MissingDependencyError with the command that installs it."""
    return imported("jax", "JAX", "jax")


def double_precision() -> Any:
    """A context in which JAX computes in double precision, whatever its configuration says."""
    jax = jax_module()
    if not hasattr(jax, "enable_x64"):  # a public context manager only since JAX 0.8; it was experimental before
        jax = importlib.import_module("jax.experimental")
    return jax.enable_x64(True)


def vectorised(function: Callable[..., Any]) -> Callable[..., Floats]:
    """A function of one point, (d,) -> any array, for n points at once: vectorised, compiled, in double precision.

    Points are padded to one of a few sizes, and taken 1024 at a time, which bounds the memory. Where the function has
    more arguments, each point comes with its own of these.
    """
    compiled = jax_module().jit(jax_module().vmap(function))

    def evaluate(points: Floats, *beside: NDArray[Any]) -> Floats:
        values = []
        for begin in range(0, max(1, len(points)), _SIZES[-1]):
            block = [array[begin : begin + _SIZES[-1]] for array in (points, *beside)]
            size = next(size for size in _SIZES if size >= len(block[0]))
            with _constants_explained(), double_precision():
                # JAX lends read-only ones
                found = real_numbers(compiled(*(_filled(each, size) for each in block)), "values in JAX").copy()
            values.append(found[: len(block[0])])
        return values[0] if len(values) == 1 else np.concatenate(values)

    return evaluate


def likelihood_forms(term: Callable[..., Any], arrays: int) -> tuple[Callable[..., Floats], ...]:
    """A likelihood's forms for many states, as a `Posterior` takes them, of its term for one state and one datum.

    Batches are padded with copies of their first row to a power of two, and states to another, so that few shapes are
    compiled; long batches are taken 8192 rows at a time. What a batch adds up to depends on the shapes by rounding.

    Parameters
    ----------
    term : callable, (theta, *row) -> scalar
    arrays : int
        Of how many a row is.

    Returns
    -------
    tuple of callable
        The terms of a batch for each of K states, (K, d) -> (K, b), and their summed gradients, (K, d) -> (K, d).
    """
    jax = jax_module()
    over_rows = jax.vmap(term, (None, *(0,) * arrays))

    def weighted_sum(theta: Any, weights: Any, *rows: Any) -> Any:
        return (weights * over_rows(theta, *rows)).sum()

    axes = {True: (None,) * arrays, False: (0,) * arrays}  # by whether all states share one batch
    values = {shared: jax.jit(jax.vmap(over_rows, (0, *of_rows))) for shared, of_rows in axes.items()}
    slope = jax.grad(weighted_sum)
    slopes = {shared: jax.jit(jax.vmap(slope, (0, None, *of_rows))) for shared, of_rows in axes.items()}

    def terms(thetas: Floats, *batches: NDArray[Any]) -> Floats:
        found = []
        for rows, size, shared in _blocks_of_rows(batches):
            with _constants_explained(), double_precision():
                block = np.array(values[shared](*_padded_states(thetas, rows, size, shared)), dtype=np.float64)
            found.append(block[: len(thetas), : rows[0].shape[1]])
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)

    def gradients(thetas: Floats, *batches: NDArray[Any]) -> Floats:
        total = np.zeros(thetas.shape)
        for rows, size, shared in _blocks_of_rows(batches):
            states, *padded = _padded_states(thetas, rows, size, shared)
            weights = (np.arange(size) < rows[0].shape[1]).astype(np.float64)  # nothing from what pads the batch
            with _constants_explained(), double_precision():
                total += np.asarray(slopes[shared](states, weights, *padded), dtype=np.float64)[: len(thetas)]
        return total

    return terms, gradients


def _blocks_of_rows(batches: Sequence[NDArray[Any]]) -> Iterator[tuple[list[NDArray[Any]], int, bool]]:
    """Batches, shape (K, b, ...), some rows at a time; what to pad these to, and whether all states share them."""
    shared = all(len(array) == 1 or array.strides[0] == 0 for array in batches)
    for begin in range(0, batches[0].shape[1], _MOST_ROWS):
        rows = [array[:, begin : begin + _MOST_ROWS] for array in batches]
        yield rows, _power_of_two(rows[0].shape[1]), shared


def _padded_states(thetas: Floats, rows: Sequence[NDArray[Any]], size: int, shared: bool) -> tuple[NDArray[Any], ...]:
    """States and their rows as a compiled form takes them; states beyond the last are copies of the first."""
    states = _power_of_two(len(thetas))
    data = [_filled(array[0], size) if shared else _filled(_filled(array, size, 1), states) for array in rows]
    return (_filled(thetas, states), *data)


def _power_of_two(count: int) -> int:
    return 1 << max(0, count - 1).bit_length()


def _filled(array: NDArray[Any], length: int, axis: int = 0) -> NDArray[Any]:
    """The array with copies of its first entry along an axis, up to a length."""
    missing = length - array.shape[axis]
    if not missing:
        return array
    if not array.shape[axis]:
        return np.zeros((length, *array.shape[1:]))
    first = np.take(array, [0], axis=axis)
    return np.concatenate([array, np.repeat(first, missing, axis=axis)], axis=axis)


@contextmanager
def _constants_explained() -> Iterator[None]:
    """Say what to do where JAX mixes precisions.

    It keeps the single-precision form of every NumPy array that a compiled function found among its globals, and
    takes it again in double precision (seen in JAX 0.10), where it fits nothing; JAX's own arrays are converted.
    """
    try:
        yield
    except (TypeError, ValueError, RuntimeError) as error:
        said = str(error)
        if jax_module().config.jax_enable_x64 or not any(sign in said for sign in _MIXED):
            raise
        raise InputError(
            "JAX mixes single with double precision: of NumPy arrays that a compiled function took from outside it "
            "keeps the single-precision form; make them JAX arrays once, y = jnp.asarray(y), or pass them to the "
            f"model as arguments, or set jax_enable_x64 at the start of the program (JAX said: {said.splitlines()[0]})"
        ) from error


def fresh(arguments: Any) -> Any:
    """A pytree with copies of its NumPy arrays, of which JAX has kept no form in another precision."""
    return jax_module().tree_util.tree_map(lambda x: x.copy() if type(x) is np.ndarray else x, arguments)


@dataclass(frozen=True, eq=False)
class TreeCoordinates:
    """The arrays of a pytree as coordinates of one vector.

    Attributes
    ----------
    structure : jax.tree_util.PyTreeDef
    leaves : tuple of str
        What each array is called, from the way to it: ``mu`` for ``{"mu": ...}`` or a field ``mu``, ``layers.0.bias``
        for ``{"layers": [{"bias": ...}]}``, ``x`` and ``x.0`` where the pytree is an array or a sequence of them.
    shapes : tuple of tuple of int
        Of each array.
    """

    structure: Any
    leaves: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, tree: Any, lead: int = 0) -> TreeCoordinates:
        """The coordinates of a pytree like this one, without the first ``lead`` axes of each array.

        Raises
        ------
        InputError
            If it holds no arrays, or one with fewer axes than that.
        """
        found, structure = jax_module().tree_util.tree_flatten_with_path(tree)
        if not found:
            raise InputError(f"a pytree of arrays is wanted; received {type(tree).__name__} without any array")
        names = tuple(_name(path) for path, _ in found)
        shapes = tuple(_shape(name, leaf) for name, (_, leaf) in zip(names, found, strict=True))
        for name, shape in zip(names, shapes, strict=True):
            if len(shape) < lead:
                raise InputError(f"{name} has shape {shape}; {lead} axes of draws are wanted before its own")
        return cls(structure, names, tuple(shape[lead:] for shape in shapes))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates: ``mu``, ``theta[0]``, ``layers.0.bias[2]``."""
        pairs = zip(self.leaves, self.shapes, strict=True)
        return tuple(name for leaf, shape in pairs for name in indexed(leaf, positions(shape)))

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def unravel(self, vector: Any) -> Any:
        """The pytree of a vector, shape (d,), of NumPy or JAX."""
        ends = np.cumsum([0, *(int(np.prod(shape)) for shape in self.shapes)])
        parts = [vector[begin:end].reshape(s) for (begin, end), s in zip(pairwise(ends), self.shapes, strict=True)]
        return jax_module().tree_util.tree_unflatten(self.structure, parts)

    def of_vector(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the pytree, and of what else it takes, as a function of the vector."""
        return lambda vector, *beside: function(self.unravel(vector), *beside)

    def ravel(self, tree: Any, lead: Sequence[int] = ()) -> Floats:
        """The vectors of draws stacked along leading axes of each array, shape (*lead, d).

        Raises
        ------
        InputError
            If the pytree has another structure, or an array has another shape.
        """
        found, structure = jax_module().tree_util.tree_flatten(tree)
        if structure != self.structure:
            raise InputError(f"a pytree {self.structure} is wanted; received {structure}")
        columns = []
        for name, shape, leaf in zip(self.leaves, self.shapes, found, strict=True):
            array = real_numbers(leaf, f"entries of {name}")
            if array.shape != (*lead, *shape):
                raise InputError(f"{name} has shape {array.shape}; {(*lead, *shape)} is wanted")
            columns.append(array.reshape(*lead, -1))
        return np.concatenate(columns, axis=-1)


def in_coordinates(
    like: Any, dim: int | None, names: Sequence[str] | None, *functions: Callable[..., Any]
) -> tuple[int | None, Sequence[str] | None, tuple[Callable[..., Any], ...]]:
    """Dimension, names and functions of the vectors that stand for pytrees like this one; as given without one."""
    if like is None:
        return dim, names, functions
    tree = TreeCoordinates.of(like)
    if dim not in (None, tree.dim):
        raise UsageError(f"like= has {tree.dim} coordinates, dim= says {dim}; leave dim out")
    return tree.dim, names or tree.names, tuple(tree.of_vector(function) for function in functions)


def _name(path: Sequence[Any]) -> str:
    """What the way to a leaf is called."""
    steps = [str(next(getattr(key, kind) for kind in ("key", "name", "idx") if hasattr(key, kind))) for key in path]
    anonymous = not path or hasattr(path[0], "idx")
    return ".".join(["x", *steps] if anonymous else steps)


def _shape(name: str, leaf: Any) -> tuple[int, ...]:
    """Shape of a leaf: an array, a number, or a `jax.ShapeDtypeStruct`."""
    try:
        return tuple(leaf.shape) if hasattr(leaf, "shape") else np.asarray(leaf, dtype=np.float64).shape
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {type(leaf).__name__}; arrays of numbers are wanted in the pytree") from None
