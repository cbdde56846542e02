"""Options that several commands take, as decorators, and what a shell offers for them.

Those of the measures follow from what the measures declare.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from steinkit.cli.help_screens import (
    INPUT,
    MEASURE,
    SOLVER,
    input_option,
    measure_option,
    option,
    output_option,
    solver_option,
)
from steinkit.diagnosis.verdict_text import WORST
from steinkit.files import format_names
from steinkit.measures import all_options, find_measure, measure_names, takers_of
from steinkit.text import alternatives, listed

Decorator: TypeAlias = Callable[[Any], Any]


def in_order(*options: Decorator) -> Decorator:
    """Decorators as one, which the help lists in the order written."""
    return lambda command: reduce(lambda made, each: each(made), reversed(options), command)


def complete_target(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Names of built-in targets, and files, in which a target of one's own may be."""
    from steinkit.targets import target_table

    names = [CompletionItem(name, help=summary) for name, _, summary in target_table() if name.startswith(word)]
    return [CompletionItem(word, type="file"), *names]  # files first, for bash drops what stands before them


def read_as(read: Callable[[str], Any], wanted: str = "") -> Callable[[str], Any]:
    """A type for click: what a function makes of the text given; the function raises ValueError where it cannot.

    Parameters
    ----------
    read : callable
    wanted : str
        That something is wanted, to refuse other words with; by default what the ValueError says.
    """

    def convert(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, OverflowError) as error:
            raise click.BadParameter(f"{wanted}; received {text!r}" if wanted else str(error)) from None

    return convert


def between_commas(text: str) -> list[str]:
    """Words between commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


class Threshold(click.FloatRange):
    """A number that something may exceed, which nothing does of NaN: it would let everything pass."""

    name = "float"

    def _describe_range(self) -> str:
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read the number."""
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail("a number is wanted; received nan", param, ctx)
        return found


def target_option(said: str, **settings: Any) -> Decorator:
    """``--target``, with what it is to the command."""
    return option(
        settings.pop("group", INPUT),
        "--target",
        metavar="TARGET",
        shell_complete=complete_target,
        help=f"Built-in name, or path.py:attribute of your own. {said} 'steinkit targets' lists the names; a Python "
        "file is run.",
        **settings,
    )


def pairs_option(name: str, **settings: Any) -> Decorator:
    """``-p``, under the name given."""
    return option(
        settings.pop("group", INPUT),
        "-p",
        name,
        multiple=True,
        metavar="KEY=VALUE",
        help="Option of a built-in target; repeatable.",
        **settings,
    )


sample_options = in_order(
    click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(allow_dash=True)),
    target_option(
        "What the sample claims to represent; not needed where the file stores scores in columns score:NAME."
    ),
    pairs_option("options"),
    input_option(
        "--no-check",
        everyday=False,
        is_flag=True,
        help="Do not check the score of a target of your own. By default it is held against finite differences of its "
        "log density, at a few draws.",
    ),
    input_option(
        "--columns",
        type=between_commas,
        metavar="NAME,NAME...",
        help="Coordinates to read, in order. The name of a parameter stands for all its entries.",
    ),
    input_option(
        "--group",
        everyday=False,
        metavar="NAME",
        help="Group of a NetCDF or Zarr file. By default the posterior.",
    ),
    input_option(
        "--format",
        "file_format",
        everyday=False,
        metavar="FORMAT",
        help=f"Format of the file. {alternatives(format_names())}; by default the file's ending.",
    ),
)
"""The draws and what they claim to represent: one FILE at least, ``--target``, ``-p``, and how the files are read."""


def measure_options(*, of_one_sample: bool = False) -> Decorator:
    """``--measure`` and the settings of the measures, by their names in Python; last those of a single sample."""
    names = measure_names()
    one_dimensional = [name for name in names if find_measure(name).max_dim == 1]
    settings = sorted(all_options().items(), key=lambda item: item[1].of_one_sample)
    return in_order(
        measure_option(
            "--measure",
            "measures",
            multiple=True,
            metavar="MEASURE",
            type=click.Choice(names),
            help=f"{alternatives(names)}; repeatable. Default: graph up to two dimensions, and sliced "
            "above, where graph saturates and too narrow samples score lower; with --operator graph. In one dimension "
            f"only: {', '.join(one_dimensional)}.",
        ),
        *(setting_option(name) for name, each in settings if each.help and each.of_one_sample <= of_one_sample),
    )


def setting_option(name: str, *, names_measures: bool = True) -> Decorator:
    """The option of the command line for a setting of the measures; its help names those that read it, if asked to."""
    setting = all_options()[name]
    if setting.switched_on is not None:
        how: dict[str, Any] = {"flag_value": setting.switched_on, "type": type(setting.switched_on)}
    elif setting.choices is not None:
        how = {"type": click.Choice(setting.choices()), "show_default": True}
    else:
        how = {"type": setting.read if isinstance(setting.read, type) else read_as(setting.read), "show_default": True}
    default = setting.default
    if name == "bounds":
        how["multiple"] = True
    elif isinstance(default, tuple):
        default = ",".join(f"{each:g}" for each in default)
    said = setting.help() if callable(setting.help) else setting.help
    takers = takers_of(name)
    return option(
        SOLVER if setting.of_solver else MEASURE,
        flag_of(name),
        name,
        everyday=setting.everyday,
        default=default,
        metavar=setting.metavar,
        help=f"{said}. Of {listed(takers, most=len(takers))}." if names_measures else f"{said}.",
        **how,
    )


def flag_of(name: str) -> str:
    """``--max-seconds`` for ``max_seconds``."""
    return f"--{(all_options()[name].flag or name).replace('_', '-')}"


def seed_option(said: str) -> Decorator:
    """``--seed``, with what is drawn."""
    return solver_option(
        "--seed",
        everyday=False,
        type=click.IntRange(min=0),
        metavar="S",
        default=0,
        show_default=True,
        help=f"Seed of what is drawn. {said}",
    )


def max_seconds_option(said: str) -> Decorator:
    """``--max-seconds``, with what it ends."""
    return solver_option("--max-seconds", type=float, metavar="S", help=said)


matters_option = measure_option(
    "--matters",
    type=Threshold(min=0.0),
    metavar="DELTA",
    help="Say whether a mean is off by more than DELTA sd. In standard deviations, with its margin; where that "
    "cannot be said, whether a location, spread or correlation is, in standard units.",
)
"""``--matters``."""


def json_option(said: str) -> Decorator:
    """``--json``, with what it prints: "json_output"."""
    return output_option("--json", "json_output", is_flag=True, help=said)


output_options = in_order(
    json_option("Print JSON instead of words."),
    output_option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False),
        help="Write the JSON to this file as well.",
    ),
    output_option(
        "--plot",
        type=click.Path(dir_okay=False),
        help="Save the picture (.png, .pdf, .svg).",
    ),
)
"""``--json``, ``-o`` and ``--plot``: "json_output", "output" and "plot"."""


all_option = output_option(
    "--all",
    "everything",
    is_flag=True,
    help=f"Say everything: all parameters, faults and tests. By default the worst {WORST}.",
)
"""``--all``: "everything"."""


scoring_options = in_order(
    measure_option(
        "--no-verdict",
        is_flag=True,
        help="Measure only; do not judge the draws. By default they are judged: whether they are from the target, and "
        "what is wrong if not. They must be in the order in which they were made.",
    ),
    matters_option,
    measure_option(
        "--looks",
        everyday=False,
        type=click.IntRange(min=1),
        metavar="K",
        help="Allow for K looks at a growing run. Give it if you would stop at the first accusation: the verdict "
        "multiplies its p-values by K. Default: 1.",
    ),
    measure_option(
        "--reference",
        type=click.IntRange(min=0),
        metavar="N",
        help="Also score N independent samples of the target. To 1e-3, each with as many draws as the sample is "
        "worth by its ESS, or has if its ESS is nearly that. Default: 5 for built-in targets that can be drawn "
        "from, else 0.",
    ),
    measure_option(
        "--reference-draws",
        everyday=False,
        metavar="FILE",
        type=click.Path(),
        help="Score blocks of a long run of your own instead. The run must be known to be right; each block is "
        "worth as many independent draws as the sample is.",
    ),
    seed_option("Of reference samples, and of the signs of the kernel test (--p-value, verdict)."),
    output_options,
    all_option,
)
"""What becomes of samples that are measured: the verdict, the independent samples beside them, the output."""


def fail_options(said: str, *, everyday: bool) -> Decorator:
    """``--fail-if-biased``, with when it fails, and ``--fail-if-bias``, which may be one of every day."""
    return in_order(
        output_option(
            "--fail-if-biased",
            type=Threshold(0.0, 1.0, min_open=True, max_open=True),
            metavar="ALPHA",
            help=f"Exit with 1 if {said}",
        ),
        output_option(
            "--fail-if-bias",
            everyday=everyday,
            type=Threshold(min=0.0),
            metavar="DELTA",
            help="Exit with 1 if a mean is off by more than DELTA sd. In standard deviations, for certain: beyond its "
            "margin.",
        ),
    )
