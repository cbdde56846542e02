"""Options that several commands take, as decorators, and what their values mean together."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from steinkit.cli.options import bounds_for, is_user_code, name_list, target_for, three_numbers
from steinkit.errors import UsageError
from steinkit.measures import measure_names
from steinkit.sample import Sample
from steinkit.target import Target

if TYPE_CHECKING:
    from steinkit.discrepancy.operators import RiemannianLangevin

Command = TypeVar("Command", bound=Callable[..., Any])

_REFERENCE_BY_DEFAULT = 5
_NAMED_KERNELS = ("imq", "gaussian", "matern")


def target_options(command: Command) -> Command:
    """``--target``, ``-p`` and ``--check``: read them with `target_of`."""
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
    """``--columns`` and ``--format``, for `read_sample`: settings "columns" and "file_format"."""
    return _all(
        command,
        click.option("--columns", callback=name_list, metavar="NAME,NAME...", help="Coordinates to read, in order."),
        click.option(
            "--format",
            "file_format",
            metavar="FORMAT",
            help="csv, npz, npy, stan or netcdf; by default the file's ending.",
        ),
    )


def measure_options(command: Command) -> Command:
    """``--measure`` and how the measures are taken: read them with `measures_of` and `measure_settings`."""
    return _all(
        command,
        click.option(
            "--measure",
            "measures",
            multiple=True,
            type=click.Choice(measure_names()),
            default=("graph",),
            show_default=True,
            help="What to measure; repeatable.",
        ),
        click.option(
            "--bounds",
            multiple=True,
            metavar="LOWER,UPPER",
            help="Bounds of the support, for all coordinates, or repeated for each in order, or NAME=LOWER,UPPER; inf "
            "and -inf are allowed.",
        ),
        click.option("--graph", type=click.Choice(["spanner", "complete"]), default="spanner", show_default=True),
        click.option("--dilation", type=float, default=2.0, show_default=True, help="Stretch of the spanner, above 1."),
        click.option(
            "--stein-factors",
            default="1,1,1",
            show_default=True,
            callback=three_numbers,
            metavar="C1,C2,C3",
            help="Bounds on g, its gradient, and the gradient's Lipschitz constant; of graph and classical.",
        ),
        click.option(
            "--engine",
            default="auto",
            show_default=True,
            metavar="NAME",
            help="auto, chain, block, first_order, highs, cvxpy or cvxpy:SOLVER; of graph.",
        ),
        click.option(
            "--tolerance",
            type=float,
            help="Widest relative bracket accepted; by default 1e-6, and 1e-3 for graph above three dimensions.",
        ),
        click.option(
            "--max-seconds",
            type=float,
            help="Stop after this time, spanner and a first compilation included, with the best bracket found.",
        ),
        click.option(
            "--operator",
            metavar="PATH.PY:ATTRIBUTE",
            help="A RiemannianLangevin of a Python file, which is then run, in place of the Langevin operator; of "
            "graph and ksd.",
        ),
        click.option(
            "--kernel", type=click.Choice(_NAMED_KERNELS), default="imq", show_default=True, help="Base kernel of ksd."
        ),
        click.option(
            "--statistic",
            type=click.Choice(["v", "u"]),
            default="v",
            show_default=True,
            help="V- or U-statistic of ksd; the latter comes squared.",
        ),
        click.option(
            "--jobs",
            default=1,
            show_default=True,
            help="Coordinates solved, or stripes of ksd summed, side by side; -1 for all processors.",
        ),
    )


def reference_options(command: Command) -> Command:
    """``--reference`` and ``--seed``."""
    return _all(
        command,
        click.option(
            "--reference",
            type=click.IntRange(min=0),
            metavar="N",
            help="Also score N independent samples of the same size from the target, to 1e-3. Default: 5 for built-in "
            "targets that can be drawn from, else 0.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of what is drawn: reference samples, the signs of --p-value.",
        ),
    )


def output_options(command: Command) -> Command:
    """``--json``, ``-o`` and ``--plot``: settings "json_output", "output" and "plot"."""
    return _all(
        command,
        click.option("--json", "json_output", is_flag=True, help="Print JSON instead of words."),
        click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the JSON to this file as well."),
        click.option("--plot", type=click.Path(dir_okay=False), help="Save the picture (.png, .pdf, .svg)."),
    )


def target_of(source: str, sample: Sample, settings: dict[str, Any]) -> tuple[Target | None, tuple[str, ...]]:
    """The target named, with doubts about it; None where the file's own scores are to be used, or none is needed."""
    if settings["target"] is not None:
        return target_for(settings["target"], settings["options"], sample, settings["check"])
    if settings["options"]:
        raise UsageError("-p options need the --target that they belong to")
    if sample.scores is None and set(settings["measures"]) != {"ess"}:
        where = "standard input" if source == "-" else source
        raise UsageError(
            f"{where} stores no scores (columns score:NAME) and no --target was given; name a built-in target "
            "('steinkit targets' lists them), or your own as path.py:attribute"
        )
    return None, ()


def measures_of(settings: dict[str, Any]) -> tuple[str, ...]:
    """The measures asked for, each once, in the order given."""
    return tuple(dict.fromkeys(settings["measures"]))


def measure_settings(settings: dict[str, Any], sample: Sample) -> dict[str, Any]:
    """What the options of `measure_options` say; bounds by name are those of the sample's coordinates."""
    return {
        "bounds": bounds_for(settings["bounds"], sample),
        "operator": None if settings["operator"] is None else _operator(settings["operator"]),
        "tolerance": settings["tolerance"],
        "max_seconds": settings["max_seconds"],
        "stein_factors": settings["stein_factors"],
        "dilation": settings["dilation"],
        "graph": settings["graph"],
        "engine": settings["engine"],
        "kernel": settings["kernel"],
        "statistic": settings["statistic"],
        "squared": settings["statistic"] == "u",
        "n_jobs": settings["jobs"],
        "progress": sys.stderr is not None and sys.stderr.isatty(),
    }


def _operator(reference: str) -> RiemannianLangevin:
    from steinkit.discrepancy.operators import RiemannianLangevin
    from steinkit.targets.user_code import load_attribute

    found = load_attribute(reference, "operator")
    if not isinstance(found, RiemannianLangevin):
        raise UsageError(f"{reference} must be a steinkit.RiemannianLangevin; it is {type(found).__name__}")
    return found


def reference_samples(target: Target | None, settings: dict[str, Any]) -> int:
    """How many reference samples to score: those asked for, or some where that costs the user no thought."""
    asked: int | None = settings["reference"]
    obstacle = _reference_obstacle(target, settings)
    if asked is None:
        return 0 if obstacle or is_user_code(settings["target"]) else _REFERENCE_BY_DEFAULT
    if asked and obstacle:
        raise UsageError(f"--reference {asked}: {obstacle}")
    return asked


def _reference_obstacle(target: Target | None, settings: dict[str, Any]) -> str:
    """Why independent draws from the target cannot be had; empty if they can."""
    if target is None:
        return "stored scores cannot be drawn from; name the --target, or leave out --reference"
    if not target.can_sample:
        return f"{settings['target']} cannot be drawn from; pass sampler= to steinkit.Target, or leave out --reference"
    if settings["bounds"] and target.bounds is None:
        return "a target cut off by --bounds cannot be drawn from; leave out one of the two"
    return ""


def against(settings: dict[str, Any]) -> str:
    """What the sample is held against, as the user wrote it."""
    if settings["target"] is None:
        return "the scores stored in the file" if set(settings["measures"]) != {"ess"} else "itself"
    options = ", ".join(settings["options"])
    return f"target {settings['target']}" + (f" ({options})" if options else "")


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    """Apply decorators so that the help lists them in the order written."""
    for option in reversed(options):
        command = option(command)
    return command
