"""Hashes of targets and samplers, used to decide which cells are reusable.

A target is identified by its bounds, names and data, the contents of the file where it is defined, and the values of
its score and log density at a few fixed points. Function values are used instead of code because a function also
depends on other functions that it calls.

A user-defined sampler is identified by the SHA-256 hash of its file, its position in the file, and the numbers, strings
and lists in its closure and default arguments. The code of imported modules is not hashed. A function cannot be
identified if it is defined outside a file (for example, in a notebook), or if its closure or default arguments contain
an array, another function or an object.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike

from steinkit.errors import InputError, UsageError
from steinkit.files.streams import read_bytes
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.target import Target

_PROBES = 5
_ANY_DIMENSION = 2  # dimension of the probe points for targets of any dimension
_LENGTH = 32  # number of hexadecimal digits of a hash


def digest(*values: Any) -> str:
    """Return a hash of JSON values that is independent of the order of the keys."""
    text = json.dumps(values, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def file_digest(path: Path) -> str:
    """Return the first 32 digits of the SHA-256 hash of a file."""
    return hashlib.sha256(read_bytes(path, binary=True)).hexdigest()[:_LENGTH]


def target_fingerprint(target: Target, files: Sequence[Path] = ()) -> str:
    """Return the hash of a target.

    Parameters
    ----------
    target : Target
        The target.
    files : sequence of Path
        Files that define the target. The contents of these files are included in the hash.

    Notes
    -----
    Scores and log densities are evaluated at five fixed points and rounded to ten digits, so that rounding errors do
    not change the hash. Targets with the same values at these points, the same data and the same files have the same
    hash.
    """
    points = _probe_points(target)
    return digest(
        None if target.bounds is None else _digits(target.bounds),
        target.names,
        [_value_at(target.score, point) for point in points],
        [_value_at(target.log_density, point) for point in points] if target.has_log_density else None,
        [joblib.hash(np.ascontiguousarray(each)) for each in (target.data if isinstance(target, Posterior) else ())],
        list(map(file_digest, files)),
    )


def recordable(value: Any, name: str) -> Any:
    """Return the value of an option in the form stored in JSON.

    Raises
    ------
    UsageError
        If the value is not a finite number, a string, a boolean, or a list of these.
    """
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=lambda array: array.tolist()))
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"{name} must contain finite numbers, strings, booleans or lists; got {value!r}") from None


def _probe_points(target: Target) -> Floats:
    """Return an array of fixed points within the bounds of the target."""
    lower, upper = (-np.inf, np.inf) if target.bounds is None else target.bounds.T
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 4.0, -2.0))
    high = np.where(np.isfinite(upper), upper, low + 4.0)
    uniform = np.random.default_rng(20150).random((_PROBES, target.dim or _ANY_DIMENSION))
    return np.asarray(low + uniform * (high - low), dtype=np.float64)


def _value_at(function: Callable[[Floats], ArrayLike], point: Floats) -> Any:
    """Return the rounded value of a function, or the name of the exception it raises."""
    try:
        return _digits(function(point[None, :]))
    except Exception as error:  # user code can fail; the cells then report the failure
        return type(error).__name__


def _digits(values: ArrayLike) -> list[str]:
    return [f"{value:.9e}" for value in np.ravel(np.asarray(values, dtype=np.float64)).tolist()]


def code_identity(function: Callable[..., Any]) -> str | None:
    """Return the hash of a function, or None if the function is not identifiable.

    The hash covers the file that defines the function, its position in that file, and the values in its closure and
    defaults.
    """
    function = getattr(function, "py_func", function)  # the Python function of a Numba dispatcher
    try:
        code, held = function.__code__, [cell.cell_contents for cell in function.__closure__ or ()]
        position = [file_digest(Path(code.co_filename)), code.co_code.hex(), list(code.co_positions())]
        return digest(position, held, function.__defaults__, function.__kwdefaults__)
    except (InputError, AttributeError, TypeError, ValueError, RecursionError):
        return None
