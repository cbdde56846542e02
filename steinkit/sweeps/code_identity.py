"""What a user's function does, as a hash: its code, the values it holds, and all that it takes by name, on and on.

Its code is its source and what Python has compiled, which the source no longer is if the file was edited meanwhile.
Names that it takes from its module, or as attributes of other modules of the user's own, are followed: functions and
classes to their sources and to what these take in turn, constants to their values. What packages hold that are
installed is known by its name and their version. A value is told if it is a number, text, an array, a target, a
sample, a container or an object of a class of the user's own that holds nothing else; anything else at module level is
known by its type alone, and named as such; in a function's closure or defaults it leaves the function untold. What is
looked up by a name that is only computed, as by ``getattr``, is not seen.
"""

from __future__ import annotations

import dis
import enum
import functools
import inspect
import logging
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import CodeType, MappingProxyType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from steinkit.sample import Sample
from steinkit.sweeps.identity import array_digest, digest, sample_digest, target_fingerprint
from steinkit.target import Target

_CONTAINERS = (list, tuple, set, frozenset, dict, MappingProxyType)
_PLAIN = (bool, int, float, complex, str, bytes, range, slice, np.generic, np.dtype, type(None), type(Ellipsis))
_ARRAYS_OF = ("jax", "jaxlib", "torch")  # whose arrays NumPy takes for what they are
_COMPILED = ("py_func", "__wrapped__")  # where Numba and JAX, and functools, keep the function of Python's


@dataclass(frozen=True)
class CodeIdentity:
    """What is known of a function.

    Attributes
    ----------
    code : str, optional
        Hash of what it does; None where that cannot be told.
    untold : tuple of str
        Names at module level that it takes and whose values cannot be told, each with its type.
    """

    code: str | None
    untold: tuple[str, ...]


class _Untold(Exception):  # noqa: N818 (nothing is wrong)
    """A value that cannot be told from another of its type."""


def code_identity(function: Callable[..., Any]) -> CodeIdentity:
    """Hash of a function's source, of what it holds and of what it takes by name."""
    reader = _Reader()
    try:
        if not inspect.isfunction(function):
            raise _Untold
        found = digest(reader.function(function))
    except (_Untold, RecursionError):
        return CodeIdentity(None, ())
    return CodeIdentity(found, tuple(sorted(set(reader.untold))))


class _Reader:
    """Reads functions, classes and values, each once."""

    def __init__(self) -> None:
        self.untold: list[str] = []
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # so that no other object gets the number of one that was seen
        self._open: set[int] = set()  # containers whose entries are being told

    def function(self, function: Any) -> list[Any]:
        """Source, held values, and what is taken by name."""
        if (place := self._place(function)) is not None:
            return ["again", place]
        code = function.__code__
        names = set(_names(code))
        return [
            _source(code),  # as the file has it now
            self._inside(code),  # as it is run
            self.value(_held(function)),
            self._taken(function.__globals__, _taken_by(code, "LOAD_GLOBAL", "LOAD_NAME"), names),
            [self._imported(name, frozenset(names)) for name in sorted(_taken_by(code, "IMPORT_NAME"))],
        ]

    def _any_function(self, function: Any) -> list[Any]:
        """One of the user's own whole; what a package made around one, as its decorators do, by what it holds."""
        if (known := _installed(function)) is None:
            return self.function(function)
        if _is_found_by_name(function):
            return known
        if (place := self._place(function)) is not None:
            return ["again", place]
        return [*known, self.value(_held(function))]

    def value(self, value: Any, names: frozenset[str] = frozenset()) -> Any:
        """A value as JSON keeps it.

        Parameters
        ----------
        value : object
        names : frozenset of str
            Attributes that are taken of a module.
        """
        kind = type(value)
        if kind in _PLAIN or isinstance(value, np.generic | np.dtype):
            return [kind.__name__, repr(value)]
        if kind in _CONTAINERS:
            return self._container(kind, value)
        if kind in (np.ndarray, np.memmap) and value.dtype != object:
            return array_digest(value)
        if isinstance(value, Target):
            return ["target", target_fingerprint(value)]
        if isinstance(value, Sample):
            return ["sample", sample_digest(value)]
        if isinstance(value, PurePath):
            return ["path", str(value)]
        if isinstance(value, logging.Logger):
            return ["logger", value.name]
        if inspect.ismodule(value):
            return self._module(value, names)
        return self._object(value)

    def _container(self, kind: type, value: Any) -> list[Any]:
        """What a container holds; one that holds itself cannot be told."""
        if id(value) in self._open:
            raise _Untold
        self._open.add(id(value))
        try:
            if kind in (list, tuple):
                return [kind.__name__, [self.value(each) for each in value]]
            if kind in (set, frozenset):
                return [kind.__name__, sorted(digest(self.value(each)) for each in value)]
            return [kind.__name__, [[self.value(key), self.value(each)] for key, each in value.items()]]
        finally:
            self._open.discard(id(value))

    def _object(self, value: Any) -> Any:
        """Functions, classes, and objects that are made of values."""
        if inspect.isfunction(value):
            return self._any_function(value)
        if isinstance(value, functools.partial):
            return ["partial", self.value([value.func, list(value.args), value.keywords])]
        for name in _COMPILED:
            if inspect.isfunction(inner := getattr(value, name, None)):
                return [type(value).__name__, self._any_function(inner)]
        if inspect.isclass(value):
            return _installed(value) or self._class(value)
        if isinstance(value, np.ufunc):
            return ["ufunc", value.__name__]
        if inspect.isbuiltin(value) and (value.__self__ is None or inspect.ismodule(value.__self__)):
            return _installed(value) or _raise()
        if isinstance(value, enum.Enum):
            return [self.value(type(value)), value.name]
        if type(value).__module__.partition(".")[0] in _ARRAYS_OF and hasattr(value, "__array__"):
            return [type(value).__name__, array_digest(np.asarray(value))]
        if _is_made_of_its_attributes(value):
            return [self.value(type(value)), self.value(vars(value))]
        raise _Untold

    def _class(self, kind: type) -> list[Any]:
        """Source and bases of a class, and what its functions take by name."""
        if (place := self._place(kind)) is not None:
            return ["again", place]
        if issubclass(kind, enum.Enum):
            return [_source(kind), [[member.name, self.value(member.value)] for member in kind]]
        members = {}
        for name, member in vars(kind).items():
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if inspect.isfunction(inner):
                members[name] = self._method(name, inner)
            elif not (name.startswith("__") or isinstance(member, MemberDescriptorType)):
                members[name] = self._outer(f"{kind.__qualname__}.{name}", member, frozenset())
        bases = [self.value(base) for base in kind.__bases__ if base is not object]
        return [_source(kind), bases, sorted(members.items())]

    def _method(self, name: str, function: Any) -> Any:
        """A function of a class; a special one may have no source, made by a decorator, which the class names."""
        try:
            return self._any_function(function)
        except _Untold:
            if not name.startswith("__"):
                raise
            return ["made", self._inside(function.__code__)]

    def _module(self, module: ModuleType, names: frozenset[str]) -> list[Any]:
        """A package by its version, a module of the user's own by those of its attributes that are taken."""
        if _is_installed(module.__name__):
            return [module.__name__, _version(module.__name__)]
        if (place := self._place((module, names), id(module) ^ hash(names))) is not None:
            return ["again", place]
        return [module.__name__, self._taken(vars(module), names, names, f"{module.__name__}.")]

    def _imported(self, name: str, names: frozenset[str]) -> Any:
        """A module that a function imports itself."""
        if _is_installed(name):
            return [name, _version(name)]
        if name in sys.modules:
            return self._outer(name, sys.modules[name], names)
        self.untold.append(f"{name} (a module that is not imported yet)")
        return ["untold", name]

    def _taken(self, there: Mapping[str, Any], wanted: Set[str], names: Set[str], of: str = "") -> list[Any]:
        """What is taken by names, those that are there; an attribute of a module by one of the further names."""
        known = [name for name in sorted(wanted) if name in there]
        return [[name, self._outer(f"{of}{name}", there[name], frozenset(names))] for name in known]

    def _outer(self, name: str, value: Any, names: frozenset[str]) -> Any:
        """A value at module level: its type alone, and a note of its name, where it cannot be told."""
        try:
            return self.value(value, names)
        except (_Untold, RecursionError):
            self.untold.append(f"{name} ({type(value).__name__})")
            return ["untold", type(value).__module__, type(value).__qualname__]

    def _inside(self, code: CodeType) -> list[Any]:
        """What a function is compiled to."""
        consts = [self._inside(const) if isinstance(const, CodeType) else self.value(const) for const in code.co_consts]
        variables = [list(names) for names in (code.co_varnames, code.co_cellvars, code.co_freevars)]
        return [code.co_code.hex(), consts, list(code.co_names), variables]

    def _place(self, thing: Any, key: int | None = None) -> int | None:
        """Where something was seen before, if it was."""
        key = id(thing) if key is None else key
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = len(self._seen)
        self._alive.append(thing)
        return None


def _raise() -> Any:
    raise _Untold


def _names(code: CodeType) -> Iterator[str]:
    """All names in a function and in those defined in it: global ones, and attributes."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _names(const)


def _taken_by(code: CodeType, *operations: str) -> set[str]:
    """Names that a function, and those defined in it, take by some operations."""
    found = {each.argval for each in dis.get_instructions(code) if each.opname in operations}
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return found.union(*(_taken_by(each, *operations) for each in inner))


def _held(function: Any) -> list[Any]:
    """What a function takes from the one around it, and its defaults."""
    try:
        closed = [
            (name, cell.cell_contents)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        ]
    except ValueError:  # not set yet
        raise _Untold from None
    return [closed, function.__defaults__, sorted((function.__kwdefaults__ or {}).items())]


def _source(thing: Any) -> str:
    if isinstance(thing, CodeType) and thing.co_filename == "<string>":
        raise _Untold  # from exec: a Python that runs a command, -c, would take the lines of that for its own
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError, IndentationError):
        raise _Untold from None
    if inspect.isclass(thing) and not re.search(rf"^class {thing.__name__}\b", source, re.MULTILINE):
        raise _Untold  # from exec, too: lines of the same numbers in its module's file
    return source


def _is_made_of_its_attributes(value: Any) -> bool:
    """Whether an object is of a class of the user's own that keeps nothing beside its attributes."""
    kinds = type(value).__mro__[:-1]
    plain = all(kind.__name__ == "SimpleNamespace" or not _is_installed(kind.__module__) for kind in kinds)
    return plain and hasattr(value, "__dict__") and not any(vars(kind).get("__slots__") for kind in kinds)


def _installed(thing: Any) -> list[Any] | None:
    """A function or class of an installed package by its name and the package's version; None for the user's own."""
    module = getattr(thing, "__module__", None) or "builtins"
    return [module, thing.__qualname__, _version(module)] if _is_installed(module) else None


def _is_found_by_name(function: Any) -> bool:
    """Whether its module has it under its name, so that these tell it whole."""
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _is_installed(name: str) -> bool:
    """Whether a module comes with Python, with a package, or with steinkit."""
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or top == "steinkit":
        return top != "__main__"
    file = getattr(sys.modules.get(name), "__file__", None) or getattr(sys.modules.get(top), "__file__", None)
    return file is not None and bool({"site-packages", "dist-packages"} & set(Path(file).parts))


def _version(name: str) -> str | None:
    version = getattr(sys.modules.get(name.partition(".")[0]), "__version__", None)
    return version if isinstance(version, str) else None
