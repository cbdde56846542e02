"""The names by which the command line knows targets, and their options; and targets from a user's own file.

Options arrive as text (``-p key=value``). Values are read as JSON, else as numbers separated by commas, else
as text.

Built-in targets are the classes that `steinkit.targets` exports, by their names with dashes, and their options the
classes' arguments; posteriors whose data come from elsewhere have names and options of their own.

A user's own file is named ``path.py:attribute``, and run as Python code.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from steinkit.adapters import as_model
from steinkit.arguments import require_type
from steinkit.errors import InputError, SteinkitError, UsageError, did_you_mean, require_known
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.target import Target
from steinkit.targets.family import as_count

if TYPE_CHECKING:
    from steinkit.adapters.model import Model


class _Entry(NamedTuple):
    """A built-in target: its class in `steinkit.targets`; of a posterior also its maker, its options, a line.

    Options that make no sense without another one need that.
    """

    family: str
    make: Callable[[Any, dict[str, Any], int], Any] | None = None
    own: tuple[str, ...] = ()
    said: str = ""
    needs: Mapping[str, str] = {}

    @property
    def made_by(self) -> Callable[..., Any]:
        from steinkit import targets

        return getattr(targets, self.family)  # type: ignore[no-any-return]

    @property
    def summary(self) -> str:
        """One line about it: what was said, else the first line of the class's docstring."""
        return self.said or (self.made_by.__doc__ or "").partition("\n")[0].rstrip(".")

    @property
    def options(self) -> dict[str, bool]:
        """Whether each must be given, by its name."""
        arguments = {} if self.own else inspect.signature(self.made_by).parameters
        return dict.fromkeys(self.own, False) | {key: each.default is each.empty for key, each in arguments.items()}


_SIMULATION = ("size", "theta", "data_seed")
_SIMULATED_MEANS = 1000  # data of gaussian-mean, where none are given


@cache
def _targets() -> dict[str, _Entry]:
    """By name: each class that `steinkit.targets` exports, StudentT as student-t, and last those of other options."""
    from steinkit import targets

    others = {entry.family for entry in _OF_DATA.values()}
    classes = [name for name in dir(targets) if name[0].isupper() and name not in others]
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(): _Entry(name) for name in classes} | _OF_DATA


def target_names() -> tuple[str, ...]:
    """Names of the built-in targets.

    Returns
    -------
    tuple of str
        As `make_target` and the command line take them.
    """
    return tuple(_targets())


def target_table() -> list[tuple[str, str, str]]:
    """Name, options and summary of every built-in target.

    Returns
    -------
    list of (str, str, str)
        One a target; options in brackets may be left out.
    """
    return [(name, _options_text(entry), entry.summary) for name, entry in _targets().items()]


def make_target(name: str, options: Mapping[str, str], dim: int) -> Target:
    """Make a built-in target from its name and options.

    Parameters
    ----------
    name : str
        One of `target_names`.
    options : mapping of str to str
        Values as text: JSON, numbers separated by commas, or plain text. Keys may be written with ``-`` or
        ``_``.
    dim : int
        Dimension of the sample, used where the options do not fix one.

    Returns
    -------
    Target
        A `Posterior`, where the name is one of a posterior.

    Raises
    ------
    UsageError
        If the name, an option or a value is not known or not allowed.
    """
    known = _targets()
    require_known([name], known, "unknown target", "the built-in targets")
    require_type(Mapping, "a mapping", options=options)
    entry = known[name]
    values, family = _parse(name, entry, options), entry.made_by
    if entry.make is not None:
        _require_together(name, values, entry.needs)
        if "data_seed" in values:
            values["rng"] = as_count(values.pop("data_seed"), "data_seed", least=0)
        temperature = values.pop("temperature", None)
        posterior: Posterior = entry.make(family, values, dim)
        return posterior if temperature is None else posterior.tempered(temperature)
    fixed = "dim" in values or any(isinstance(value, list) for value in values.values())
    if "dim" in entry.options and not fixed:
        values["dim"] = dim
    made: Target = family(**values)
    return made


def parse_value(text: str) -> Any:
    """Read an option: JSON if it is, else numbers separated by commas, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if text.startswith(("[", "{")):
        raise UsageError(f"{text!r} is not a list of numbers; write [[1,0.5],[0.5,1]], say, and 0.5 for .5")
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return text
    return numbers if len(numbers) > 1 else numbers[0]


def _parse(name: str, entry: _Entry, options: Mapping[str, str]) -> dict[str, Any]:
    """Options with their Python names and values."""
    values: dict[str, Any] = {}
    for written, text in options.items():
        key = written.replace("-", "_")
        if key not in entry.options:
            raise UsageError(
                f"target {name!r} has no option {written!r}{did_you_mean(key, entry.options)}; "
                f"its options are {_options_text(entry)}"
            )
        if key in values:
            raise UsageError(f"option {key!r} of target {name!r} is given twice; give it once")
        values[key] = text if key in ("data", "response") and "response" in entry.own else parse_value(text)
    missing = [key for key, must in entry.options.items() if must and key not in values]
    if missing:
        raise UsageError(f"target {name!r} needs {', '.join(missing)}; pass -p {missing[0]}=VALUE")
    return values


def _require_together(name: str, values: Mapping[str, Any], needs: Mapping[str, str]) -> None:
    """Hold the options that make no sense alone, or beside others, to that."""
    if not isinstance(values.get("intercept", False), bool):
        raise UsageError(f"intercept must be true or false; received {values['intercept']!r}")
    for key, other in needs.items():
        if key in values and other not in values:
            raise UsageError(f"target {name!r}: option {key!r} needs {other!r} as well")
    for key in _SIMULATION:
        if key in values and "data" in values:
            raise UsageError(f"target {name!r}: {key!r} is for simulated data, and 'data' gives them; choose one")


def _mixture_posterior(family: Any, values: dict[str, Any], dim: int) -> Any:
    if "size" in values:
        return family.simulate(**values)
    if isinstance(values.get("data"), str):
        values["data"] = _only_column(values["data"])
    return family(**values)


def _gaussian_mean(family: Any, values: dict[str, Any], dim: int) -> Any:
    if isinstance(values.get("data"), str):
        from steinkit.files.csv_format import read_table

        values["names"], values["data"] = read_table(values["data"])
    if "data" in values:
        return family(**values)
    if not isinstance(values.get("theta"), list):
        given = (values.get(key) for key in ("variance", "prior_mean", "prior_variance"))
        lengths = [len(each) for each in given if isinstance(each, list)]
        values["theta"] = [values.get("theta", 0.0)] * (lengths or [dim])[0]
    return family.simulate(**{"size": _SIMULATED_MEANS} | values)


def _regression(family: Any, values: dict[str, Any], dim: int) -> Any:
    if "data" in values:
        return family.from_csv(values.pop("data"), values.pop("response"), **values)
    return (family.toy if hasattr(family, "toy") else family.nodal)(**values)


_TABLE = {"data": "response", "response": "data", "intercept": "data"}  # of a regression
_OF_DATA = {
    "mixture-posterior": _Entry(
        "MixturePosterior",
        _mixture_posterior,
        ("data", "variance", "prior_variances", "temperature", *_SIMULATION),
        "Posterior of a two-component mixture, d = 2; data: bundled, numbers, a CSV file, or size=N simulated at theta",
        {"theta": "size", "data_seed": "size"},
    ),
    "logistic-posterior": _Entry(
        "LogisticRegression",
        _regression,
        ("data", "response", "prior_variance", "intercept", "temperature"),
        "Posterior of a logistic regression; data: bundled nodal (d = 6), or a CSV file; intercept=true adds ones",
        _TABLE,
    ),
    "lasso-posterior": _Entry(
        "LassoRegression",
        _regression,
        ("data", "response", "intercept", "precision", "prior_rate", "temperature", "size", "data_seed"),
        "Posterior of an L1-regularised regression; data: a CSV file, or size=N (10000) of a toy problem, d = 1",
        _TABLE,
    ),
    "gaussian-mean": _Entry(
        "GaussianMean",
        _gaussian_mean,
        ("data", "variance", "prior_mean", "prior_variance", "temperature", *_SIMULATION),
        "Posterior of a normal mean, known exactly; data: numbers, a CSV file, or size=N (1000) simulated at theta",
    ),
}


def _options_text(entry: _Entry) -> str:
    keys = (key if must else f"[{key}]" for key, must in sorted(entry.options.items(), key=lambda each: not each[1]))
    return " ".join(keys).replace("_", "-")


def _only_column(path: str) -> Floats:
    """Numbers of a CSV file of one column."""
    from steinkit.files.csv_format import read_table

    names, table = read_table(path)
    if len(names) != 1:
        raise InputError(f"{path} has {len(names)} columns, {', '.join(names)}; one column of numbers is wanted")
    return table[:, 0]


_MODULE_NAME = "steinkit_user_code"
_MODELS = "a model of PyMC, NumPyro or Stan"
_A = {"target": "a target", "operator": "an operator", "sampler": "a sampler"}


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
    return found if isinstance(found, Target) else found.target


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
    require_type(str, "a path and a name, such as model.py:target", reference=reference)
    path, attribute = _split(str(folder / reference), what)
    defined = _run(path)
    if attribute not in defined:
        public = [name for name, each in defined.items() if name[0] != "_" and not isinstance(each, ModuleType)]
        hint = did_you_mean(attribute, public) or f"; it defines {', '.join(public) or 'nothing'}"
        raise UsageError(f"{path} has no attribute {attribute!r}{hint}")
    found = defined[attribute]
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


def _run(path: Path) -> dict[str, Any]:
    """What a file defines, run as a module that does not stay in `sys.modules`: functions are pickled by value."""
    file = path.resolve()
    known = set(sys.modules)
    sys.path.insert(0, str(file.parent))
    try:
        with _explained(path):
            return runpy.run_path(str(file), run_name=_MODULE_NAME)
    finally:
        sys.path.remove(str(file.parent))
        _pickle_by_value(set(sys.modules) - known, str(file.parent))


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
