"""Options that several commands take, as decorators; those of the measures follow from what the measures declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from steinkit.cli.options import as_threshold, name_list
from steinkit.describe.numbers import listed
from steinkit.measures import find_measure, measure_names
from steinkit.measures.options import BoundsOption, Option
from steinkit.measures.registry import all_options, takers_of

Command = TypeVar("Command", bound=Callable[..., Any])


def target_options(command: Command) -> Command:
    """``--target``, ``-p`` and ``--check``."""
    return _all(
        command,
        click.option(
            "--target",
            metavar="NAME|PATH.PY:ATTRIBUTE",
            help="What the sample claims to represent: a built-in name (see 'steinkit targets'), or an attribute of a "
            "Python file, which is then run. Not needed where the file stores scores in columns score:NAME.",
        ),
        click.option(
            "-p", "options", multiple=True, metavar="KEY=VALUE", help="Option of a built-in target; repeatable."
        ),
        click.option(
            "--check/--no-check",
            default=True,
            show_default=True,
            help="Check the score of a target from your own code against finite differences of its log density at a "
            "few draws.",
        ),
    )


def file_options(command: Command) -> Command:
    """``--columns``, ``--group`` and ``--format``, for `read_sample`: "columns", "group" and "file_format"."""
    return _all(
        command,
        click.option(
            "--columns",
            callback=name_list,
            metavar="NAME,NAME...",
            help="Coordinates to read, in order; the name of a parameter stands for all its entries.",
        ),
        click.option("--group", metavar="NAME", help="Group of a NetCDF or Zarr file; by default the posterior."),
        click.option(
            "--format",
            "file_format",
            metavar="FORMAT",
            help="csv, npz, npy, stan, netcdf or zarr; by default the file's ending.",
        ),
    )


def measure_options(command: Command) -> Command:
    """``--measure`` and the settings of the measures, by their names in Python."""
    one_dimensional = [name for name in measure_names() if find_measure(name).max_dim == 1]
    return _all(
        command,
        click.option(
            "--measure",
            "measures",
            multiple=True,
            type=click.Choice(measure_names()),
            help="What to measure; repeatable. Default: graph up to two dimensions, and sliced above, where graph "
            "saturates and too narrow samples score lower; with --operator graph. In one dimension only: "
            f"{', '.join(one_dimensional)}.",
        ),
        *(setting_option(name) for name, option in all_options().items() if option.help and not option.of_one_sample),
    )


def one_sample_options(command: Command) -> Command:
    """The settings of the measures that only a single sample's score takes."""
    return _all(
        command,
        *(setting_option(name) for name, option in all_options().items() if option.help and option.of_one_sample),
    )


def setting_option(name: str, *, names_measures: bool = True) -> Callable[[Command], Command]:
    """The option of the command line for a setting of the measures; its help names those that read it, if asked to."""
    option = all_options()[name]
    if option.switched_on is not None:
        how: dict[str, Any] = {"flag_value": option.switched_on, "type": type(option.switched_on)}
    elif option.choices is not None:
        how = {"type": click.Choice(option.choices()), "show_default": True}
    elif isinstance(option.read, type):
        how = {"type": option.read, "show_default": True}
    else:
        how = {"callback": _reader(option), "show_default": True}
    default = option.default
    if isinstance(option, BoundsOption):
        how["multiple"] = True
    elif isinstance(default, tuple):
        default = ",".join(f"{each:g}" for each in default)
    said = option.help() if callable(option.help) else option.help
    takers = takers_of(name)
    help_text = f"{said}; of {listed(takers, most=len(takers))}." if names_measures else f"{said}."
    return click.option(flag_of(name), name, default=default, metavar=option.metavar, help=help_text, **how)


def flag_of(name: str) -> str:
    """``--max-seconds`` for ``max_seconds``."""
    return f"--{(all_options()[name].flag or name).replace('_', '-')}"


def reference_options(command: Command) -> Command:
    """``--reference``, ``--reference-draws`` and ``--seed``."""
    return _all(
        command,
        click.option(
            "--reference",
            type=click.IntRange(min=0),
            metavar="N",
            help="Also score N independent samples from the target, to 1e-3, each with as many draws as the sample is "
            "worth by its ESS. Default: 5 for built-in targets that can be drawn from, else 0.",
        ),
        click.option(
            "--reference-draws",
            metavar="FILE",
            help="Draws of a long run of your own that is known to be right: score blocks of it instead, each worth as "
            "many independent draws as the sample is.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of what is drawn: reference samples, the signs of the kernel test (--p-value, verdict).",
        ),
    )


def verdict_options(command: Command) -> Command:
    """``--verdict`` and ``--matters``."""
    return _all(
        command,
        click.option(
            "--verdict/--no-verdict",
            default=True,
            show_default=True,
            help="Judge the draws, which must be in the order in which they were made: whether they are from the "
            "target, and what is wrong if not.",
        ),
        click.option(
            "--matters",
            type=click.FloatRange(min=0.0),
            metavar="DELTA",
            callback=as_threshold,
            help="Say as well whether a location, spread or correlation is off by more than DELTA in standard units: "
            "for normal coordinates that are independent, standard deviations, relative error of the standard "
            "deviation, error of the correlation.",
        ),
    )


def output_options(command: Command) -> Command:
    """``--json``, ``-o`` and ``--plot``: "json_output", "output" and "plot"."""
    return _all(
        command,
        click.option("--json", "json_output", is_flag=True, help="Print JSON instead of words."),
        click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the JSON to this file as well."),
        click.option("--plot", type=click.Path(dir_okay=False), help="Save the picture (.png, .pdf, .svg)."),
    )


def _reader(option: Option) -> Callable[[click.Context, click.Parameter, str], Any]:
    def read(context: click.Context, parameter: click.Parameter, text: str) -> Any:
        try:
            return option.read(text)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return read


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Apply decorators so that the help lists them in the order written."""
    for option in reversed(options):
        command = option(command)
    return command
