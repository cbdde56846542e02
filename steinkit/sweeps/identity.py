"""What a record of a sweep says of its target and its sampler, so that a later run knows whether it may be used again.

A target is known by what it does and what it holds: its score and log density at a few fixed points, its bounds and
names, the bytes of its data, and the text of the file that it comes from. A function cannot be told from another by
its code alone, which may call other code; its values can.

A sampler that is a user's function is known by its code, the values it holds, and the user's own files behind it.
The files are those of the function, of the functions and classes that it holds, and of the user's own modules that
these import, on and on. Any edit of one of them makes other cells, as it makes other targets for make; installed
packages count by their versions. The code as compiled is part of the hash, since a file may have been edited after it
was imported. A function cannot be told if it comes from no file, as in a notebook, or if it holds what has no value
that another run would have again: a lock, an open file, a random generator.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import json
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from pickle import PicklingError
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib.hashing import NumpyHasher
from numpy.typing import ArrayLike, NDArray

from steinkit.errors import UsageError
from steinkit.files.streams import read_bytes
from steinkit.posterior import Posterior
from steinkit.sample import Floats, Sample
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
        [hashlib.sha256(read_bytes(path, binary=True)).hexdigest()[:_LENGTH] for path in files],
    )


def sample_digest(sample: Sample) -> str:
    """Hash of the draws of a sample and of all that is known of them."""
    columns = (sample.points, sample.weights, sample.scores, sample.cost, sample.chain, sample.draw)
    return digest(list(sample.names), [None if column is None else array_digest(column) for column in columns])


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
        f"received {value!r}" + ("; name a test by its word, test='austerity' say" if hasattr(value, "decide") else "")
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
    """Hash of a function and of all that it depends on; None where that cannot be told."""
    if not inspect.isfunction(function):
        return None
    hasher = _Hasher()
    try:
        return digest(hasher.hash(function), _files_and_versions(hasher.files))
    except (PicklingError, AttributeError, TypeError, ValueError, OSError, SyntaxError, RecursionError):
        return None


class _Hasher(NumpyHasher):  # type: ignore[misc]  # joblib has no types
    """joblib's hash of values, which takes functions by their code and what they hold, and notes their files."""

    def __init__(self) -> None:
        super().__init__(hash_name="sha1")
        self.files: dict[str, str] = {}  # with the packages that relative imports in them start from
        self._places: dict[Any, int] = {}

    def save(self, obj: Any) -> None:
        """Add a value to the hash."""
        if not isinstance(obj, type):
            obj = getattr(obj, "py_func", obj)  # where Numba keeps the function
        if inspect.isfunction(obj):
            obj = self._function(obj)
        elif isinstance(obj, CodeType):
            variables = (obj.co_varnames, obj.co_cellvars, obj.co_freevars)
            obj = (obj.co_code, obj.co_consts, obj.co_names, variables)
        elif isinstance(obj, Target):
            obj = ("target", target_fingerprint(obj))
        elif isinstance(obj, frozenset):  # joblib puts the entries of sets alone in order
            obj = ("frozenset", set(obj))
        elif isinstance(obj, np.random.Generator | np.random.RandomState):
            raise PicklingError("its state changes as it is used")
        elif inspect.ismodule(obj) or isinstance(obj, type):
            name = obj.__name__ if inspect.ismodule(obj) else obj.__module__
            if (file := _own_file(name)) is not None:
                self.files[file] = getattr(sys.modules.get(name), "__package__", None) or ""
            obj = ("module", name) if inspect.ismodule(obj) else obj
        super().save(obj)

    def memoize(self, obj: Any) -> None:
        """Take tuples by their entries: whether two are one object depends on where their code was loaded from."""
        if not isinstance(obj, tuple):
            super().memoize(obj)

    def _function(self, function: Any) -> tuple[Any, ...]:
        """The user's own function whole; one that a package made, as its decorators do, by what it holds."""
        if function in self._places:
            return ("again", self._places[function])
        self._places[function] = len(self._places)
        name = function.__module__ or ""
        if _is_installed(name, function.__code__.co_filename):
            with contextlib.suppress(AttributeError):
                if operator.attrgetter(function.__qualname__)(sys.modules.get(name)) is function:
                    return name, function.__qualname__, _version(name)
        else:
            self.files[function.__code__.co_filename] = function.__globals__.get("__package__") or ""
        held = [cell.cell_contents for cell in function.__closure__ or ()]
        return name, function.__qualname__, function.__code__, held, function.__defaults__, function.__kwdefaults__


def _files_and_versions(files: dict[str, str]) -> list[Any]:
    """Contents of files and of the user's own modules that they import, and versions of packages, each once."""
    contents, versions, waiting = dict[str, str](), dict[str, Any](), dict(files)
    while waiting:
        file, package = waiting.popitem()
        contents[file] = Path(file).read_text(encoding="utf-8")
        for name in _imports(contents[file], package):
            own = _own_file(name)
            if own is None:
                versions[name.partition(".")[0]] = _version(name)
            elif own not in contents:
                waiting[own] = name if Path(own).name == "__init__.py" else name.rpartition(".")[0]
    return [sorted(contents.values()), sorted(versions.items())]


def _imports(source: str, package: str) -> Iterator[str]:
    """Names of the modules that a source imports, wherever it does, and of the packages that they are in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            whole = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names = [whole, *(f"{whole}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:k]) for k in range(1, len(parts) + 1))


_distributions = functools.cache(importlib.metadata.packages_distributions)


def _version(name: str) -> list[str]:
    """Versions of what is installed under a module's name."""
    return [importlib.metadata.version(each) for each in sorted(set(_distributions().get(name.partition(".")[0], [])))]


def _own_file(name: str) -> str | None:
    """Source file of a module of the user's own; None for what is installed, or no module."""
    top = name.partition(".")[0]
    if name != top and _own_file(top) is None:  # not looked for within: this would import the package
        return None
    file = getattr(sys.modules.get(name), "__file__", None)
    if name not in sys.modules:
        with contextlib.suppress(ImportError, AttributeError, ValueError):
            file = getattr(importlib.util.find_spec(name), "origin", None)
    return file if file and file.endswith(".py") and not _is_installed(name, file) else None


def _is_installed(name: str, file: str) -> bool:
    """Whether a module comes with Python, with a package, or with steinkit."""
    top = name.partition(".")[0]
    if top == "steinkit" or (top in sys.stdlib_module_names and top != "__main__"):
        return True
    return bool({"site-packages", "dist-packages"} & set(Path(file).parts))
