"""How a record of a sweep knows its target and its sampler, so that a later run knows whether it may be used again.

A target is known by what it does and what it holds: its score and log density at a few fixed points, its bounds and
names, the bytes of its data, and those of the file that it comes from. A function cannot be told from another by
its code alone, which may call other code; its values can.

A sampler that is a user's function is known by the SHA-256 of its file, its place in it, and the values that it holds
in its closure and defaults: numbers, words, and lists of them. Any edit of the file makes other cells. Modules that the
file imports are not looked at. A function cannot be told if it comes from no file, as in a notebook, or if it holds
anything else: an array, another function, an object.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from steinkit.errors import InputError, UsageError
from steinkit.files.streams import read_bytes
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.operators import RiemannianLangevin

_PROBES = 5
_ANY_DIMENSION = 2  # in which a target of any dimension is probed
_LENGTH = 32  # hexadecimal digits
_ROWS = 10_000


def digest(*values: Any) -> str:
    """Hash of values that JSON can hold."""
    text = json.dumps(values, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, its first 32 digits."""
    return hashlib.sha256(read_bytes(path, binary=True)).hexdigest()[:_LENGTH]


def array_digest(array: NDArray[Any]) -> list[Any]:
    """An array as JSON keeps it: its type, its shape and a hash of its entries."""
    kept = not isinstance(array, np.ndarray)  # in chunks, which are read one after another
    hasher = hashlib.sha256()
    for rows in (array[k : k + _ROWS] for k in range(0, len(array), _ROWS)) if kept else [array]:
        entries = np.ascontiguousarray(rows).reshape(-1)  # no copy of what may be a file larger than the memory
        hasher.update(entries.tobytes() if entries.dtype.hasobject else entries.view(np.uint8).data)
    return [str(array.dtype), array.shape, hasher.hexdigest()[:_LENGTH]]


def target_fingerprint(target: Target, files: Sequence[Path] = ()) -> str:
    """Hash of what a target does and holds.

    Parameters
    ----------
    target : Target
    files : sequence of Path
        Files that it was made from, whose contents are hashed as well.

    Notes
    -----
    Scores and log densities are compared to ten digits, which the order of a sum does not change, at five points that
    are always the same. Targets that agree there, in their data and in their files, are taken for the same.
    """
    points = _probe_points(target)
    arrays = target.data if isinstance(target, Posterior) else ()
    return digest(
        None if target.bounds is None else _digits(target.bounds),
        target.names,
        [_value_at(target.score, point) for point in points],
        [_value_at(target.log_density, point) for point in points] if target.has_log_density else None,
        [array_digest(array) for array in arrays],
        list(map(file_digest, files)),
    )


def operator_fingerprint(diffusion: RiemannianLangevin, target: Target) -> str:
    """Hash of a diffusion operator: its covariance coefficient and divergence where a target is looked at too."""
    points = _probe_points(target)
    return digest(
        [_value_at(diffusion.covariance, point) for point in points],
        [_value_at(diffusion.divergence, point) for point in points],
    )


def recordable(value: Any, what: str) -> Any:
    """A setting as records keep it: numbers, words, true and false, and lists of them.

    Raises
    ------
    UsageError
        If it is anything else, such as a function, or not finite.
    """
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [recordable(each, what) for each in value]
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value)):
        return value
    raise UsageError(
        f"{what} must be a finite number, a word, true or false, or a list of these, which a record can keep; "
        f"received {value!r}"
    )


def _probe_points(target: Target) -> Floats:
    """Fixed points inside the support, shape (probes, d)."""
    dim = target.dim or _ANY_DIMENSION
    normal = np.random.default_rng(20150).standard_normal((_PROBES, dim))
    if target.bounds is None:
        return normal
    lower, upper = target.bounds.T
    with np.errstate(invalid="ignore"):
        between = lower + (upper - lower) / (1.0 + np.exp(-normal))
        above, below = lower + np.exp(normal), upper - np.exp(normal)
    below_only, above_only = np.isfinite(upper), np.isfinite(lower)
    return np.select([above_only & below_only, above_only, below_only], [between, above, below], normal)


def _value_at(function: Callable[[Floats], ArrayLike], point: Floats) -> Any:
    """A function's value at a point, or what it raises there."""
    try:
        return _digits(function(point[None, :]))
    except Exception as error:  # a user's own; where it matters, the cells' records say what it says
        return type(error).__name__


def _digits(values: ArrayLike) -> list[str]:
    return [f"{value:.9e}" for value in np.ravel(np.asarray(values, dtype=np.float64)).tolist()]


def code_identity(function: Callable[..., Any]) -> str | None:
    """Hash a function's file, its place in it, and the values that it holds; None where they cannot be told."""
    function = getattr(function, "py_func", function)  # where Numba keeps a function
    try:
        code, held = function.__code__, [cell.cell_contents for cell in function.__closure__ or ()]
        place = [file_digest(Path(code.co_filename)), code.co_code.hex(), list(code.co_positions())]
        return digest(place, held, function.__defaults__, function.__kwdefaults__)
    except (InputError, AttributeError, TypeError, ValueError, RecursionError):
        return None
