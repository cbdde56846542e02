"""The names by which the command line knows the built-in targets, and their options.

Options arrive as text (``-p key=value``). Values are read as JSON, else as numbers separated by commas, else
as text.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from steinkit.arguments import checked
from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.posterior import Posterior
from steinkit.sample import Floats
from steinkit.target import Target
from steinkit.targets.parameters import as_count


class _Entry(NamedTuple):
    """A built-in target: its class in `steinkit.targets`, one line about it, and its options."""

    family: str
    summary: str
    own: tuple[str, ...] = ()
    """Of a target that is made of more than its class's arguments; else these are its options."""

    @property
    def made_by(self) -> Callable[..., Any]:
        from steinkit import targets

        return getattr(targets, self.family)  # type: ignore[no-any-return]

    @property
    def required(self) -> tuple[str, ...]:
        return () if self.own else tuple(key for key, each in self._arguments if each.default is each.empty)

    @property
    def optional(self) -> tuple[str, ...]:
        return self.own or tuple(key for key, each in self._arguments if each.default is not each.empty)

    @property
    def _arguments(self) -> Iterable[tuple[str, inspect.Parameter]]:
        return inspect.signature(self.made_by).parameters.items()


_SIMULATION = ("size", "theta", "data_seed")
_TARGETS = {
    "normal": _Entry("Normal", "normal distribution; covariance: variance, variances or matrix"),
    "gaussian-mixture": _Entry(
        "GaussianMixture", "mixture of normal distributions; sd: one standard deviation for all"
    ),
    "student-t": _Entry("StudentT", "multivariate Student t distribution; scale-matrix: squared scales"),
    "independent-student-t": _Entry("IndependentStudentT", "independent Student t coordinates; scale: not squared"),
    "uniform": _Entry("Uniform", "uniform distribution on a box"),
    "gamma": _Entry("Gamma", "independent gamma coordinates on (0, inf); mean shape / rate"),
    "beta": _Entry("Beta", "independent beta coordinates on (0, 1)"),
    "mixture-posterior": _Entry(
        "MixturePosterior",
        "posterior of a two-component mixture, d = 2; data: bundled, numbers, a CSV file, or size=N simulated at theta",
        ("data", "variance", "prior_variances", "temperature", *_SIMULATION),
    ),
    "logistic-posterior": _Entry(
        "LogisticRegression",
        "posterior of a logistic regression; data: bundled nodal (d = 6), or a CSV file; intercept=true adds ones",
        ("data", "response", "prior_variance", "intercept", "temperature"),
    ),
    "lasso-posterior": _Entry(
        "LassoRegression",
        "posterior of an L1-regularised regression; data: a CSV file, or size=N (10000) of a toy problem, d = 1",
        ("data", "response", "intercept", "precision", "prior_rate", "temperature", "size", "data_seed"),
    ),
    "gaussian-mean": _Entry(
        "GaussianMean",
        "posterior of a normal mean, known exactly; data: numbers, a CSV file, or size=N (1000) simulated at theta",
        ("data", "variance", "prior_mean", "prior_variance", "temperature", *_SIMULATION),
    ),
}
_REGRESSIONS = ("logistic-posterior", "lasso-posterior")
_TEXT_OPTIONS = {(name, option) for name in _REGRESSIONS for option in ("data", "response")}
_SIMULATED_MEANS = 1000  # data of gaussian-mean, where none are given


def target_names() -> tuple[str, ...]:
    """Names of the built-in targets.

    Returns
    -------
    tuple of str
        As `make_target` and the command line take them.
    """
    return tuple(_TARGETS)


def target_table() -> list[tuple[str, str, str]]:
    """Name, options and summary of every built-in target.

    Returns
    -------
    list of (str, str, str)
        One a target; options in brackets may be left out.
    """
    return [(name, _options_text(entry), entry.summary) for name, entry in _TARGETS.items()]


@checked
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
    if name not in _TARGETS:
        raise UsageError(
            f"unknown target {name!r}{did_you_mean(name, _TARGETS)}; the built-in targets are {', '.join(_TARGETS)}"
        )
    entry = _TARGETS[name]
    values, family = _parse(name, entry, options), entry.made_by
    if name in _POSTERIORS:
        temperature = values.pop("temperature", None)
        posterior: Posterior = _POSTERIORS[name](family, values, dim)
        return posterior if temperature is None else posterior.tempered(temperature)
    fixed = "dim" in values or any(isinstance(value, list) for value in values.values())
    if "dim" in entry.optional and not fixed:
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
        if key not in (known := (*entry.required, *entry.optional)):
            raise UsageError(
                f"target {name!r} has no option {written!r}{did_you_mean(key, known)}; "
                f"its options are {_options_text(entry)}"
            )
        if key in values:
            raise UsageError(f"option {key!r} of target {name!r} is given twice; give it once")
        values[key] = text if (name, key) in _TEXT_OPTIONS else parse_value(text)
    missing = [key for key in entry.required if key not in values]
    if missing:
        raise UsageError(f"target {name!r} needs {', '.join(missing)}; pass -p {missing[0]}=VALUE")
    return values


def _mixture_posterior(family: Any, values: dict[str, Any], dim: int) -> Any:
    if _simulated("mixture-posterior", values):
        return family.simulate(**_simulation(values))
    if isinstance(values.get("data"), str):
        values["data"] = _only_column(values["data"])
    return family(**values)


def _gaussian_mean(family: Any, values: dict[str, Any], dim: int) -> Any:
    if "data" not in values:
        values.setdefault("size", _SIMULATED_MEANS)
        vectors = ("variance", "prior_mean", "prior_variance")
        if not any(isinstance(values.get(key), list) for key in (*vectors, "theta")):
            values["theta"] = [values.get("theta", 0.0)] * dim
        elif not isinstance(values.get("theta"), list):
            length = next(len(values[key]) for key in vectors if isinstance(values.get(key), list))
            values["theta"] = [values.get("theta", 0.0)] * length
    if _simulated("gaussian-mean", values):
        return family.simulate(**_simulation(values))
    if isinstance(values["data"], str):
        from steinkit.files.csv_format import read_table

        values["names"], values["data"] = read_table(values["data"])
    return family(**values)


def _logistic_posterior(family: Any, values: dict[str, Any], dim: int) -> Any:
    _check_table_options("logistic-posterior", values)
    if "data" in values:
        return family.from_csv(values.pop("data"), values.pop("response"), **values)
    return family.nodal(**values)


def _lasso_posterior(family: Any, values: dict[str, Any], dim: int) -> Any:
    _check_table_options("lasso-posterior", values)
    if "data" in values:
        for key in ("size", "data_seed"):
            if key in values:
                raise UsageError(f"target 'lasso-posterior': {key!r} simulates data, and 'data' names a file; give one")
        return family.from_csv(values.pop("data"), values.pop("response"), **values)
    return family.toy(**_simulation(values))


_POSTERIORS: dict[str, Callable[[Any, dict[str, Any], int], Any]] = {
    "mixture-posterior": _mixture_posterior,
    "logistic-posterior": _logistic_posterior,
    "lasso-posterior": _lasso_posterior,
    "gaussian-mean": _gaussian_mean,
}


def _check_table_options(name: str, values: Mapping[str, Any]) -> None:
    """Hold the options that describe a CSV file of a regression to coming together."""
    if not isinstance(values.get("intercept", False), bool):
        raise UsageError(f"intercept must be true or false; received {values['intercept']!r}")
    for key, other in (("data", "response"), ("response", "data"), ("intercept", "data")):
        if key in values and other not in values:
            raise UsageError(f"target {name!r}: option {key!r} needs {other!r} as well")


def _simulated(name: str, values: Mapping[str, Any]) -> bool:
    """Whether data are to be simulated; the options of a simulation need its size and exclude data."""
    for key in _SIMULATION:
        if key in values and "data" in values:
            raise UsageError(f"target {name!r}: {key!r} is for simulated data, and 'data' gives them; choose one")
        if key in values and "size" not in values:
            raise UsageError(f"target {name!r}: option {key!r} needs 'size' as well, the number of data to simulate")
    return "size" in values


def _simulation(values: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a simulation with their Python names: the seed is called rng."""
    options = dict(values)
    if "data_seed" in options:
        options["rng"] = as_count(options.pop("data_seed"), "data_seed", least=0)
    return options


def _options_text(entry: _Entry) -> str:
    keys = [*entry.required, *(f"[{key}]" for key in entry.optional)]
    return " ".join(keys).replace("_", "-")


def _only_column(path: str) -> Floats:
    """Numbers of a CSV file of one column."""
    from steinkit.files.csv_format import read_table

    names, table = read_table(path)
    if len(names) != 1:
        raise InputError(f"{path} has {len(names)} columns, {', '.join(names)}; one column of numbers is wanted")
    return table[:, 0]
