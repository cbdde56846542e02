"""Hashes of targets and samplers, which determine the cells to reuse.

A target is identified by the values of its score and log density at a few fixed points, its bounds and names, and the
contents of its data and of the file that defines it. Values are used instead of code because a function's behavior
depends on the functions that it calls.

A user's sampler is identified by the SHA-256 of its file, its position in the file, and the numbers, strings and lists
in its closure and default arguments. Imported modules are not included. A function that is not defined in a file, as in
a notebook, or that holds an array, another function or an object cannot be identified.
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
_ANY_DIMENSION = 2  # dimension of the probes of a target that allows any dimension
_LENGTH = 32  # hexadecimal digits


def digest(*values: Any) -> str:
    """Return the hash of JSON values; the order of keys does not matter."""
    text = json.dumps(values, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


def file_digest(path: Path) -> str:
    """Return the first 32 digits of the SHA-256 of a file."""
    return hashlib.sha256(read_bytes(path, binary=True)).hexdigest()[:_LENGTH]


def target_fingerprint(target: Target, files: Sequence[Path] = ()) -> str:
    """Return the hash of a target.

    Parameters
    ----------
    target : Target
        The target.
    files : sequence of Path
        Files that define the target; their contents are part of the hash.

    Notes
    -----
    Scores and log densities are evaluated at five fixed points and rounded to ten digits, so the order of a summation
    does not change the hash. Targets that agree at these points, in their data and in their files have the same hash.
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
    """Return an option's value as JSON stores it.

    Raises
    ------
    UsageError
        If the value is not finite, or not a number, a string, a boolean or a list of these.
    """
    try:
        return json.loads(json.dumps(value, allow_nan=False, default=lambda array: array.tolist()))
    except (AttributeError, TypeError, ValueError):
        raise UsageError(f"{name} must be finite numbers, strings, booleans or lists of these; got {value!r}") from None


def _probe_points(target: Target) -> Floats:
    """Return fixed points inside the support, shape (probes, d)."""
    lower, upper = (-np.inf, np.inf) if target.bounds is None else target.bounds.T
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 4.0, -2.0))
    high = np.where(np.isfinite(upper), upper, low + 4.0)
    uniform = np.random.default_rng(20150).random((_PROBES, target.dim or _ANY_DIMENSION))
    points: Floats = low + uniform * (high - low)
    return points


def _value_at(function: Callable[[Floats], ArrayLike], point: Floats) -> Any:
    """Return the digits of a function's value, or the name of its exception."""
    try:
        return _digits(function(point[None, :]))
    except Exception as error:  # user code; the cells report the failure
        return type(error).__name__


def _digits(values: ArrayLike) -> list[str]:
    return [f"{value:.9e}" for value in np.ravel(np.asarray(values, dtype=np.float64)).tolist()]


def code_identity(function: Callable[..., Any]) -> str | None:
    """Return the hash of a function, or None if it cannot be identified.

    The hash covers its file, its position in the file, and the values that it holds.
    """
    function = getattr(function, "py_func", function)  # the Python function of a Numba dispatcher
    try:
        code, held = function.__code__, [cell.cell_contents for cell in function.__closure__ or ()]
        position = [file_digest(Path(code.co_filename)), code.co_code.hex(), list(code.co_positions())]
        return digest(position, held, function.__defaults__, function.__kwdefaults__)
    except (InputError, AttributeError, TypeError, ValueError, RecursionError):
        return None
