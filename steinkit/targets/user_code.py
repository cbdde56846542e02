"""Targets from a user's own file, named ``path.py:attribute``; the file is run as Python code."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from steinkit.adapters import as_model
from steinkit.adapters.model import Model
from steinkit.arguments import checked
from steinkit.errors import InputError, SteinkitError, UsageError, did_you_mean
from steinkit.target import Target

_MODULE_NAME = "steinkit_user_code"
_MODELS = "a model of PyMC, NumPyro or Stan"
_A = {"target": "a target", "operator": "an operator", "sampler": "a sampler"}


@checked
def load_target(reference: str) -> Target:
    """Run a file and make a target of one of its attributes.

    Parameters
    ----------
    reference : str
        ``path.py:attribute``. The attribute is a `Target`; a model of PyMC, a NumPyro model that needs no arguments, or
        a Stan model with the methods of BridgeStan's; a function without parameters that returns one of these; or a
        score function of one parameter, (n, d) -> (n, d).

    Returns
    -------
    Target
        Of a model, its target.

    Raises
    ------
    UsageError
        If the reference is not of that form, the attribute does not exist or is of no such kind.
    InputError
        If the file does not exist or raises an exception; the message names the line.

    Notes
    -----
    While the file runs it may import other files of its folder, as a script may; import them at its top.
    """
    found = load_target_or_model(reference)
    return found.target if isinstance(found, Model) else found


def load_target_or_model(reference: str) -> Target | Model:
    """Run a file and make a target, or a model that draws must be bound to, of one of its attributes.

    Parameters
    ----------
    reference : str
        ``path.py:attribute``. The attribute is a `Target`; a model of PyMC, a NumPyro model that needs no arguments, or
        a Stan model with the methods of BridgeStan's; a function without parameters that returns one of these; or a
        score function of one parameter, (n, d) -> (n, d).

    Returns
    -------
    Target or Model

    Raises
    ------
    UsageError
        If the reference is not of that form, the attribute does not exist or is of no such kind.
    InputError
        If the file does not exist or raises an exception; the message names the line.

    Notes
    -----
    While the file runs it may import other files of its folder, as a script may; import them at its top.
    """
    return _as_target(load_attribute(reference, "target"), Path(reference.rpartition(":")[0]), reference)


def load_attribute(reference: str, what: str, kind: type | None = None, folder: Path = Path()) -> Any:
    """Run a file and return one of its attributes, ``path.py:attribute``.

    Parameters
    ----------
    reference : str
    what : str
        What the attribute is wanted for, for messages.
    kind : type, optional
        Class of steinkit's that it must be of.
    folder : Path
        What the file's path is relative to.

    Raises
    ------
    UsageError, InputError
        As in `load_target_or_model`; also if it is of another kind.
    """
    path, attribute = _split(str(folder / reference), what)
    module = _run(path)
    if not hasattr(module, attribute):
        public = [
            name for name, value in vars(module).items() if not (name.startswith("_") or isinstance(value, ModuleType))
        ]
        hint = did_you_mean(attribute, public) or f"; it defines {', '.join(public) or 'nothing'}"
        raise UsageError(f"{path} has no attribute {attribute!r}{hint}")
    found = getattr(module, attribute)
    if kind is not None and not isinstance(found, kind):
        raise UsageError(f"{reference} must be a steinkit.{kind.__name__}; it is {type(found).__name__}")
    return found


def _split(reference: str, what: str) -> tuple[Path, str]:
    path, colon, attribute = reference.rpartition(":")
    if not colon or not path.endswith(".py") or not attribute.isidentifier():
        raise UsageError(f"{_A[what]} from a file is written path.py:attribute; received {reference!r}")
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}; the {what} {reference!r} cannot be loaded")
    return Path(path), attribute


def _run(path: Path) -> ModuleType:
    """Run a file as a module. It does not stay in `sys.modules`: its functions are pickled by value."""
    spec = importlib.util.spec_from_file_location(_MODULE_NAME, path.resolve())
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be run as Python code")
    module = importlib.util.module_from_spec(spec)
    with _explained(path), _as_script(module, path):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _as_script(module: ModuleType, path: Path) -> Iterator[None]:
    """Put the running file in `sys.modules` (dataclasses look there) and its folder on `sys.path`."""
    folder = str(path.resolve().parent)
    known = set(sys.modules)
    sys.modules[_MODULE_NAME] = module
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        del sys.modules[_MODULE_NAME]
        _pickle_by_value(set(sys.modules) - known, folder)


def _pickle_by_value(names: set[str], folder: str) -> None:
    """Have modules of the file's folder sent to worker processes with what uses them: none would find them by name."""
    for name in names:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(folder + os.sep) and PathFinder.find_spec(name.partition(".")[0]) is None:
            import cloudpickle

            cloudpickle.register_pickle_by_value(sys.modules[name])


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn whatever a user's code raises into one line that names the file and the line."""
    try:
        yield
    except SyntaxError as error:
        raise InputError(f"{error.filename or path}, line {error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == str(path.resolve())]
        line = f", line {own[-1]}" if own else ""
        raise InputError(f"{path}{line} raised {type(error).__name__}: {error}") from None


def _as_target(found: Any, path: Path, reference: str) -> Target | Model:
    if isinstance(found, Target):
        return found
    model = _model(found, path, reference)
    if model is not None:
        return model
    required = _required_parameters(found)
    if required == 0:
        with _explained(path):
            made = found()
        returned = made if isinstance(made, Target) else _model(made, path, reference)
        if returned is not None:
            return returned
        raise UsageError(f"{reference} must return a steinkit.Target, or {_MODELS}; it returned {type(made).__name__}")
    if required == 1:
        return Target(score=found, label=reference)
    what = type(found).__name__ if required is None else f"a function of {required} parameters"
    raise UsageError(
        f"{reference} must be a steinkit.Target, {_MODELS}, a function without parameters that returns one, or a score "
        f"function (n, d) -> (n, d); it is {what}"
    )


def _model(found: Any, path: Path, reference: str) -> Model | None:
    """The model that an attribute is, if it is one; what keeps it from being scored is said of the reference."""
    try:
        with _explained(path):
            return as_model(found)
    except InputError as error:
        cause = error.__context__
        raise type(cause)(f"{reference}: {cause}") if isinstance(cause, SteinkitError) else error from None


def _required_parameters(found: Any) -> int | None:
    """How many arguments a callable must be given; None for what is not callable or does not say."""
    if not callable(found):
        return None
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return None
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(p.default is p.empty and p.kind not in variadic for p in parameters)
