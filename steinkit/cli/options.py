"""Options shared by several commands, and types for option values.

Each setting that a measure declares becomes an option.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem
from cloup import argument, option, option_group
from cloup import command as cloup_command

from steinkit.diagnosis.verdict_text import WORST
from steinkit.errors import InputError
from steinkit.files import FORMATS
from steinkit.measures import all_options, measure_names, takers_of
from steinkit.text import alternatives

Decorator: TypeAlias = Callable[[Any], Any]
Options: TypeAlias = Mapping[str, Any]
"""Command options by name, as passed by click."""

_SETTINGS = {"show_default": True, "help_option_names": ["-h", "--help"], "max_content_width": 100}
command = partial(cloup_command, context_settings=_SETTINGS)
"""Decorator for a command with help text that lists the options in groups."""
_NAMED_TAKERS = 3  # maximum number of measures listed in the help text of a setting


def combined(*options: Decorator) -> Decorator:
    """Combine options into one decorator.

    The help text lists the options in this order.
    """
    return lambda command: reduce(lambda made, each: each(made), reversed(options), command)


class Number(click.FloatRange):
    """A number in a range.

    NaN is rejected because no value exceeds NaN.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail("expected a number, got nan", param, ctx)
        return found


SIZE = Number(min=0.0)
_LEVEL = Number(0.0, 1.0, min_open=True, max_open=True)
_WHOLE, _COUNT = click.IntRange(min=0), click.IntRange(min=1)


class Parsed(click.ParamType[Any]):
    """Type of an option value, defined by a function that parses text.

    The function raises ValueError for invalid text.
    """

    name = "value"

    def __init__(self, read: Callable[[str], Any], expected: str = "") -> None:
        self.read, self.expected = read, expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value."""
        try:
            return self.read(value)
        except InputError:  # an error in the file that the value refers to
            raise
        except (ValueError, OverflowError) as error:
            self.fail(f"expected {self.expected}, got {value!r}" if self.expected else str(error), param, ctx)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _bound(text: str) -> tuple[str, float, float]:
    name, _, pair = text.rpartition("=")
    lower, upper = map(float, pair.split(","))
    if not lower < upper:
        raise ValueError
    return name, lower, upper


_TYPES = {"bounds": Parsed(_bound, "LOWER,UPPER or NAME=LOWER,UPPER, with LOWER below UPPER")}


def _key_values(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not (key and equals) or key in values:
            raise click.BadParameter(f"expected KEY=VALUE, each KEY once, got {pair!r}")
        values[key] = value
    return values


def _complete_target(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Complete the name of a built-in target or file."""
    from steinkit.targets import target_table

    names = [CompletionItem(name, help=summary) for name, _, summary in target_table() if name.startswith(word)]
    return [CompletionItem(word, type="file"), *names]  # bash omits all items that precede files


def target_options(*, required: bool = False) -> Decorator:
    """Declare ``--target`` and ``-p``: "target" and "target_options"."""
    return combined(
        option(
            "--target",
            metavar="TARGET",
            required=required,
            shell_complete=_complete_target,
            help="Built-in target, or path.py:attribute (executes the file).",
        ),
        option(
            "-p",
            "target_options",
            multiple=True,
            callback=_key_values,
            metavar="KEY=VALUE",
            help="Option of a built-in target (repeatable).",
        ),
    )


_files = argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True))
_input_options = combined(
    target_options(),
    option("--columns", type=_words, metavar="NAME,...", show_default="all", help="Columns to read, in order."),
    option(
        "--weights",
        metavar="COLUMN|none",
        show_default="a column 'weight'",
        help="Column of weights; log weights are exponentiated.",
    ),
    option("--group", metavar="NAME", show_default="posterior", help="Group of a NetCDF or Zarr file."),
    option(
        "--format", "file_format", metavar="NAME", show_default="by suffix", help=f"{alternatives(tuple(FORMATS))}."
    ),
    option("--no-check", is_flag=True, help="Skip the check of the score against the log density."),
)
measure_option = option(
    "--measure",
    "measures",
    multiple=True,
    metavar="MEASURE",
    type=click.Choice(measure_names()),
    show_default="graph in one or two dimensions, else sliced",
    help=f"{alternatives(measure_names())}; repeatable.",
)
"""The ``--measure`` option."""


def measure_options(*, of_solver: bool = False) -> Decorator:
    """Declare options for the solver settings or for all other measure settings."""
    chosen = [name for name, each in all_options().items() if each.help and each.of_solver == of_solver]
    return setting_options(*chosen, names_measures=True)


def setting_options(*names: str, names_measures: bool = False) -> Decorator:
    """Declare options for settings of the measures."""
    return combined(*(_setting_option(name, names_measures) for name in names))


def _setting_option(name: str, names_measures: bool) -> Decorator:
    setting = all_options()[name]
    text = setting.help() if callable(setting.help) else setting.help
    kind: Any = _TYPES.get(name) or (setting.read if isinstance(setting.read, type) else Parsed(setting.read))
    how: dict[str, Any] = {"type": kind, "metavar": setting.metavar}
    if setting.choices is not None:
        how = {"type": click.Choice(setting.choices()), "metavar": "NAME"}
        text = f"{text}: {alternatives(setting.choices())}"
    if setting.default_text:
        how["show_default"] = setting.default_text
    if isinstance(default := setting.default, tuple):
        default = ",".join(f"{each:g}" for each in default)
    takers = takers_of(name)
    if names_measures and len(takers) <= _NAMED_TAKERS:
        text = f"{text} ({', '.join(takers)})"
    return option(flag_of(name), name, default=default, multiple=name == "bounds", help=f"{text}.", **how)


def flag_of(name: str) -> str:
    """Return the flag for a setting, such as ``--max-seconds`` for ``max_seconds``."""
    return f"--{(all_options()[name].flag or name).replace('_', '-')}"


sample_options = combined(_files, option_group("Input", _input_options))
"""The argument FILE, the options for reading files, ``--target`` and ``-p``."""
bounded_sample_options = combined(_files, option_group("Input", _input_options, setting_options("bounds")))
"""The arguments and options of `sample_options`, plus ``--bounds``."""
seed_option = option("--seed", type=_WHOLE, metavar="S", default=0, help="Random seed.")
"""Option ``--seed``."""
max_seconds_option = option("--max-seconds", type=float, metavar="S", help="Stop with exit code 4 after S seconds.")
"""The ``--max-seconds`` option."""
matters_option = option("--matters", type=SIZE, metavar="DELTA", help="Report whether a bias exceeds DELTA sd.")
"""The ``--matters`` option."""
fail_options = combined(
    option(
        "--fail-if-biased",
        type=_LEVEL,
        metavar="ALPHA",
        help="Exit with 1 if draws are rejected at ALPHA, 4 if undecided.",
    ),
    option(
        "--fail-if-bias",
        type=SIZE,
        metavar="DELTA",
        help="Exit with 1 if a mean is biased by DELTA sd, 4 if undecided.",
    ),
)
"""The options ``--fail-if-biased`` and ``--fail-if-bias``."""
verdict_options = combined(
    option("--no-verdict", is_flag=True, help="Compute discrepancies without a verdict."),
    matters_option,
    option(
        "--analyses",
        type=_COUNT,
        metavar="K",
        default=1,
        help="Number of verdicts on a growing run; p-values are multiplied by K.",
    ),
)
"""The options ``--no-verdict``, ``--matters`` and ``--analyses``."""
reference_options = combined(
    option("--reference", type=_WHOLE, metavar="N", show_default="5 if built-in", help="Also measure N exact samples."),
    option(
        "--reference-draws",
        type=click.Path(),
        metavar="FILE",
        help="Measure blocks of this exact run instead of exact samples.",
    ),
    seed_option,
)
"""The options ``--reference``, ``--reference-draws`` and ``--seed``."""
json_option = option("--json", "json_output", is_flag=True, help="Print JSON instead of text.")
"""The ``--json`` option, passed as ``json_output``."""
save_option = option("-o", "--output", type=click.Path(dir_okay=False), help="Also write the JSON to this file.")
"""Option ``-o``."""
output_options = combined(
    json_option,
    save_option,
    option("--plot", type=click.Path(dir_okay=False), help="Write a figure: .png, .pdf or .svg."),
)
"""The options ``--json``, ``-o`` and ``--plot``, passed as ``json_output``, ``output`` and ``plot``."""
all_option = option("--all", "everything", is_flag=True, help=f"Print all rows instead of the worst {WORST}.")
"""The ``--all`` option, passed as ``everything``."""
