"""Built-in targets by name and targets from a user's Python file.

Options are specified as ``-p key=value``. The values are read as JSON, as numbers separated by commas, or as text.

Built-in targets are the classes exported by `steinkit.targets`. The name of a target is its class name written with
dashes. The options of a target are the constructor arguments of its class. Posteriors based on given or simulated data
have separate names and options.

A target from a file is specified as ``path.py:attribute``. The file is executed as Python code.
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
from contextlib import contextmanager, suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from steinkit.adapters import as_model
from steinkit.arguments import require_type
from steinkit.errors import InputError, SteinkitError, UsageError, did_you_mean, require_known
from steinkit.files.csv_format import read_table
from steinkit.posterior import Posterior
from steinkit.target import Target
from steinkit.targets.family import as_count

if TYPE_CHECKING:
    from steinkit.adapters.model import Model


class _Entry(NamedTuple):
    """Built-in target.

    Attributes
    ----------
    family : str
        Name of the class in `steinkit.targets`.
    make : callable, optional
        Function that creates a posterior from its class, options and dimension.
    own : tuple of str
        Options, if they differ from the arguments of the class.
    text : str
        Summary, if it differs from the first line of the docstring.
    needs : mapping of str to str
        Options that require another option.
    """

    family: str
    make: Callable[[Any, dict[str, Any], int], Any] | None = None
    own: tuple[str, ...] = ()
    text: str = ""
    needs: Mapping[str, str] = {}

    @property
    def made_by(self) -> Callable[..., Any]:
        from steinkit import targets

        return getattr(targets, self.family)  # type: ignore[no-any-return]

    @property
    def summary(self) -> str:
        """One-line summary."""
        return self.text or (self.made_by.__doc__ or "").partition("\n")[0].rstrip(".")

    @property
    def options(self) -> dict[str, bool]:
        """Dictionary that maps each option name to True if the option is required."""
        arguments = {} if self.own else inspect.signature(self.made_by).parameters
        return dict.fromkeys(self.own, False) | {key: each.default is each.empty for key, each in arguments.items()}


_SIMULATION = ("size", "theta", "data_seed")
_SIMULATED_MEANS = 1000  # default number of data points for gaussian-mean


@cache
def _targets() -> dict[str, _Entry]:
    """Return the exported classes and the data-based posteriors by name."""
    from steinkit import targets

    others = {entry.family for entry in _OF_DATA.values()}
    classes = [name for name in dir(targets) if name[0].isupper() and name not in others]
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(): _Entry(name) for name in classes} | _OF_DATA


def target_names() -> tuple[str, ...]:
    """Return the names of the built-in targets.

    Returns
    -------
    tuple of str
        The names, for `make_target` and the command line.

    Examples
    --------
    >>> import steinkit as sk
    >>> "normal" in sk.targets.target_names()
    True
    """
    return tuple(_targets())


def target_table() -> list[tuple[str, str, str]]:
    """Return the name, options and summary of every built-in target.

    Returns
    -------
    list of (str, str, str)
        One entry per target. Options in brackets are optional.

    Examples
    --------
    >>> import steinkit as sk
    >>> [options for name, options, _ in sk.targets.target_table() if name == "beta"]
    ['a b [dim]']
    """
    return [(name, _options_text(entry), entry.summary) for name, entry in _targets().items()]


def make_target(name: str, options: Mapping[str, str], dim: int) -> Target:
    """Create a built-in target from its name and options.

    Parameters
    ----------
    name : str
        One of `target_names`.
    options : mapping of str to str
        Values as strings, which contain JSON, numbers separated by commas, or plain text. Keys may contain ``-`` or
        ``_``.
    dim : int
        Dimension of the sample, used if the options do not determine it.

    Returns
    -------
    Target
        The target, which is a `Posterior` if the name refers to a posterior.

    Raises
    ------
    UsageError
        If the name, an option or a value is invalid.

    Examples
    --------
    >>> import steinkit as sk
    >>> sk.targets.make_target("normal", {"mean": "1,2"}, dim=2).score([[1.0, 0.0]])
    array([[-0.,  2.]])
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
    """Parse a value as JSON or comma-separated numbers, or return the text unchanged."""
    with suppress(ValueError, RecursionError):
        return json.loads(text)
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return text
    return numbers if len(numbers) > 1 else numbers[0]


def _parse(name: str, entry: _Entry, options: Mapping[str, str]) -> dict[str, Any]:
    """Parse the options and return them in a dictionary keyed by their Python names."""
    values: dict[str, Any] = {}
    for written, text in options.items():
        key = written.replace("-", "_")
        if key not in entry.options:
            raise UsageError(
                f"target {name!r} has no option {written!r}{did_you_mean(key, entry.options)}; "
                f"its options are {_options_text(entry)}"
            )
        if key in values:
            raise UsageError(f"option {key!r} of target {name!r} is given twice")
        values[key] = text if key in ("data", "response") and "response" in entry.own else parse_value(text)
    missing = [key for key, must in entry.options.items() if must and key not in values]
    if missing:
        raise UsageError(f"target {name!r} requires {', '.join(missing)}; pass -p {missing[0]}=VALUE")
    return values


def _require_together(name: str, values: Mapping[str, object], needs: Mapping[str, str]) -> None:
    """Raise UsageError for incomplete or contradictory options."""
    for key, other in needs.items():
        if key in values and other not in values:
            raise UsageError(f"target {name!r}: option {key!r} requires option {other!r}")
    for key in _SIMULATION:
        if key in values and "data" in values:
            raise UsageError(
                f"target {name!r}: option {key!r} applies to simulated data and cannot be combined with option 'data'"
            )


def _mixture_posterior(family: Any, values: dict[str, Any], dim: int) -> Any:
    if "size" in values:
        return family.simulate(**values)
    if isinstance(values.get("data"), str):
        table = read_table(values["data"])[1]
        values["data"] = table[:, 0] if table.shape[1] == 1 else table
    return family(**values)


def _gaussian_mean(family: Any, values: dict[str, Any], dim: int) -> Any:
    if isinstance(values.get("data"), str):
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
        "Posterior of a logistic regression; data: nodal (d = 6) or a CSV file; intercept=true adds a constant",
        _TABLE,
    ),
    "lasso-posterior": _Entry(
        "LassoRegression",
        _regression,
        ("data", "response", "intercept", "precision", "prior_rate", "temperature", "size", "data_seed"),
        "Posterior of an L1-regularized regression; data: a CSV file, or size=N (10000) of a toy problem, d = 1",
        _TABLE,
    ),
    "gaussian-mean": _Entry(
        "GaussianMean",
        _gaussian_mean,
        ("data", "variance", "prior_mean", "prior_variance", "temperature", *_SIMULATION),
        "Exact posterior of a normal mean; data: numbers, a CSV file, or size=N (default 1000) to simulate at theta",
    ),
}


def _options_text(entry: _Entry) -> str:
    keys = (key if must else f"[{key}]" for key, must in sorted(entry.options.items(), key=lambda each: not each[1]))
    return " ".join(keys).replace("_", "-")


_MODULE_NAME = "steinkit_user_code"
_MODELS = "a PyMC, NumPyro or Stan model"


def load_target(reference: str) -> Target:
    """Run a file and return a target defined by one of its attributes.

    Parameters
    ----------
    reference : str
        ``path.py:attribute``. The attribute can be a `Target`, a PyMC model, a NumPyro model without arguments, or a
        Stan model with the methods of BridgeStan. The attribute can also be a function without parameters that returns
        such an object, or a score function of one parameter, (n, d) -> (n, d).

    Returns
    -------
    Target
        The target, or the target of the model.

    Raises
    ------
    UsageError
        If `reference` is not of the form ``path.py:attribute``, or if the attribute does not exist or has a different
        type.
    InputError
        If the file does not exist or raises an exception. The message states the line.

    Notes
    -----
    While the file is executed, it can import other files in its folder, like a script. Such files must be imported at
    the top of the file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import steinkit as sk
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.py"
    >>> _ = path.write_text("def score(x): return -x")
    >>> sk.targets.load_target(f"{path}:score").score([[2.0]])
    array([[-2.]])
    """
    found = load_target_or_model(reference)
    return found if isinstance(found, Target) else found.target


def load_target_or_model(reference: str) -> Target | Model:
    """Run a file and return a target or a model defined by one of its attributes.

    Parameters
    ----------
    reference : str
        ``path.py:attribute``. The attribute can be a `Target`, a PyMC model, a NumPyro model without arguments, or a
        Stan model with the methods of BridgeStan. The attribute can also be a function without parameters that returns
        such an object, or a score function of one parameter, (n, d) -> (n, d).

    Returns
    -------
    Target or Model
        A target, or a model to which draws must be bound.

    Raises
    ------
    UsageError
        If `reference` is not of the form ``path.py:attribute``, or if the attribute does not exist or has a different
        type.
    InputError
        If the file does not exist or raises an exception. The message states the line.
    """
    return _as_target(load_attribute(reference, "target"), Path(reference.rpartition(":")[0]), reference)


def load_attribute(reference: str, what: str, kind: type | None = None, folder: Path = Path()) -> Any:
    """Run a file and return one of its attributes.

    Parameters
    ----------
    reference : str
        ``path.py:attribute``.
    what : str
        Purpose of the attribute, for messages.
    kind : type, optional
        Required steinkit class of the attribute.
    folder : Path
        Folder to which relative paths refer.

    Raises
    ------
    UsageError, InputError
        See `load_target_or_model`. UsageError is also raised if the attribute is an instance of another class.
    """
    require_type(str, "a path and a name, such as model.py:target", reference=reference)
    path, attribute = _split(str(folder / reference), what)
    defined = _run(path)
    if attribute not in defined:
        public = [name for name, each in defined.items() if name[0] != "_" and not isinstance(each, ModuleType)]
        hint = did_you_mean(attribute, public) or f"; it defines {', '.join(public) or 'no names'}"
        raise UsageError(f"{path} has no attribute {attribute!r}{hint}")
    found = defined[attribute]
    if kind is not None and not isinstance(found, kind):
        raise UsageError(f"expected {reference} to be a steinkit.{kind.__name__}, got {type(found).__name__}")
    return found


def _split(reference: str, what: str) -> tuple[Path, str]:
    path, colon, attribute = reference.rpartition(":")
    if not colon or not path.endswith(".py") or not attribute.isidentifier():
        raise UsageError(f"expected the {what} as path.py:attribute, got {reference!r}")
    if not Path(path).is_file():
        raise InputError(f"the {what} {reference!r} cannot be loaded: there is no file {path}")
    return Path(path), attribute


def _run(path: Path) -> dict[str, Any]:
    """Run a file without adding it to `sys.modules`, and return its namespace.

    The objects defined in the file are then pickled by value.
    """
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
    """Pickle modules from the folder of the file by value.

    Workers cannot import these modules.
    """
    for name in names:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith(folder + os.sep) and PathFinder.find_spec(name.partition(".")[0]) is None:
            import cloudpickle

            cloudpickle.register_pickle_by_value(sys.modules[name])


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Convert exceptions in user code to an error that names the file and line."""
    try:
        yield
    except SyntaxError as error:
        raise InputError(f"{error.filename or path}, line {error.lineno}: {error.msg}") from None
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == str(path.resolve())]
        line = f", line {own[-1]}" if own else ""
        raise InputError(f"{path}{line} raised {type(error).__name__}: {error}") from None


def _as_target(found: Any, path: Path, reference: str, *, returned: bool = False) -> Target | Model:
    """Convert an attribute to a target or model.

    If ``returned`` is True, the value was returned by calling the attribute.
    """
    if isinstance(found, Target):
        return found
    required = None if returned else _required_parameters(found)
    if required == 0:
        try:
            made = found()
        except (Exception, SystemExit):  # a NumPyro model, which requires a seed, or an error that is reported later
            made = None
        if isinstance(made, Target):
            return made
    model = _model(found, path, reference)
    if model is not None:
        return model
    if required == 0:
        if made is None:
            with _explained(path):
                made = found()
        return _as_target(made, path, reference, returned=True)
    if required == 1:
        return Target(score=found, label=reference)
    what = type(found).__name__
    if required is not None:
        what = f"a function of {required} parameters; bind the arguments of a model with functools.partial"
    raise UsageError(
        f"expected {reference} to be a steinkit.Target, {_MODELS}, a function without parameters that returns a target "
        f"or model, or a score function (n, d) -> (n, d); got {what}"
    )


def _model(found: Any, path: Path, reference: str) -> Model | None:
    """Convert an attribute to a model, or return None if this is not possible.

    Error messages about the model include the reference.
    """
    try:
        with _explained(path):
            return as_model(found)
    except InputError as error:
        cause = error.__context__
        raise type(cause)(f"{reference}: {cause}") if isinstance(cause, SteinkitError) else error from None


def _required_parameters(found: Any) -> int | None:
    """Return the number of required arguments of a callable, or None if unknown."""
    if not callable(found):
        return None
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return None
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(p.default is p.empty and p.kind not in variadic for p in parameters)
