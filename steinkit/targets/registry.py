"""The names by which the command line knows the built-in targets, and their options.

Options arrive as text (``-p key=value``). Values are read as JSON, else as numbers separated by commas, else
as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steinkit.errors import InputError, UsageError, did_you_mean
from steinkit.sample import Floats
from steinkit.target import Target


@dataclass(frozen=True)
class _Entry:
    """A built-in target: its class in `steinkit.targets`, its options, and one line about it."""

    family: str
    summary: str
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        return self.required + self.optional


_TARGETS = {
    "normal": _Entry(
        "Normal",
        "normal distribution; covariance: variance, variances or matrix",
        optional=("mean", "covariance", "dim"),
    ),
    "gaussian-mixture": _Entry(
        "GaussianMixture",
        "mixture of normal distributions; sd: one standard deviation for all",
        ("means",),
        ("covariances", "weights", "sd"),
    ),
    "student-t": _Entry(
        "StudentT",
        "multivariate Student t distribution; scale-matrix: squared scales",
        ("df",),
        ("location", "scale_matrix", "dim"),
    ),
    "independent-student-t": _Entry(
        "IndependentStudentT",
        "independent Student t coordinates; scale: not squared",
        ("df",),
        ("location", "scale", "dim"),
    ),
    "uniform": _Entry("Uniform", "uniform distribution on a box", optional=("lower", "upper", "dim")),
    "gamma": _Entry(
        "Gamma", "independent gamma coordinates on (0, inf); mean shape / rate", ("shape",), ("rate", "dim")
    ),
    "beta": _Entry("Beta", "independent beta coordinates on (0, 1)", ("a", "b"), ("dim",)),
    "mixture-posterior": _Entry(
        "MixturePosterior",
        "posterior of a two-component mixture, d = 2; data: bundled, numbers, or a CSV file",
        optional=("data", "variance", "prior_variances"),
    ),
    "logistic-posterior": _Entry(
        "LogisticRegression",
        "posterior of a logistic regression; data: bundled nodal (d = 6), or a CSV file; intercept=true adds ones",
        optional=("data", "response", "prior_variance", "intercept"),
    ),
}
_TEXT_OPTIONS = {("logistic-posterior", "data"), ("logistic-posterior", "response")}


def target_names() -> tuple[str, ...]:
    """Names of the built-in targets."""
    return tuple(_TARGETS)


def target_table() -> list[tuple[str, str, str]]:
    """Name, options and summary of every built-in target; options in brackets may be left out."""
    return [(name, _options_text(entry), entry.summary) for name, entry in _TARGETS.items()]


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
    values = _parse(name, entry, options)
    if name == "logistic-posterior":
        return _logistic_posterior(values)
    if name == "mixture-posterior" and isinstance(values.get("data"), str):
        values["data"] = _only_column(values["data"])
    fixed = "dim" in values or any(isinstance(value, list) for value in values.values())
    if "dim" in entry.options and not fixed:
        values["dim"] = dim
    return _call_family(entry.family, values)


def parse_value(text: str) -> Any:
    """Read an option: JSON if it is, else numbers separated by commas, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    if text.startswith(("[", "{")):
        raise UsageError(f"{text!r} is no list of numbers; write [[1,0.5],[0.5,1]], say, and 0.5 for .5")
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
        values[key] = text if (name, key) in _TEXT_OPTIONS else parse_value(text)
    missing = [key for key in entry.required if key not in values]
    if missing:
        raise UsageError(f"target {name!r} needs {', '.join(missing)}; pass -p {missing[0]}=VALUE")
    return values


def _call_family(family: str, values: dict[str, Any]) -> Target:
    from steinkit import targets

    target: Target = getattr(targets, family)(**values)
    return target


def _logistic_posterior(values: dict[str, Any]) -> Target:
    from steinkit.targets.logistic import LogisticRegression

    if not isinstance(values.get("intercept", False), bool):
        raise UsageError(f"intercept must be true or false; received {values['intercept']!r}")
    if "data" in values and "response" in values:
        return LogisticRegression.from_csv(values.pop("data"), values.pop("response"), **values)
    for key, other in (("data", "response"), ("response", "data"), ("intercept", "data")):
        if key in values:
            raise UsageError(f"target 'logistic-posterior': option {key!r} needs {other!r} as well")
    return LogisticRegression.nodal(**values)


def _options_text(entry: _Entry) -> str:
    words = [*entry.required, *(f"[{key}]" for key in entry.optional)]
    return " ".join(words).replace("_", "-")


def _only_column(path: str) -> Floats:
    """Numbers of a CSV file of one column."""
    from steinkit.files.csv_format import read_table

    names, table = read_table(path)
    if len(names) != 1:
        raise InputError(f"{path} has {len(names)} columns, {', '.join(names)}; one column of numbers is wanted")
    return table[:, 0]
