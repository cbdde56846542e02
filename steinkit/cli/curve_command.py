"""``steinkit curve``: how a sample's discrepancy falls as draws are added."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from steinkit.cli.documents import as_json, command_line
from steinkit.cli.figures import save_figure
from steinkit.cli.outputs import deliver, require_places, say, warn
from steinkit.cli.shared_options import (
    against,
    file_options,
    measure_options,
    measure_settings,
    measures_of,
    output_options,
    target_of,
    target_options,
)
from steinkit.curves import Curve
from steinkit.curves import curve as curve_of
from steinkit.errors import SolverError, UsageError
from steinkit.files import read_sample
from steinkit.files.streams import write_bytes
from steinkit.measures import find_measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HELP = """Measure the first draws of FILE, for several numbers of draws, and fit the rate at which the measure falls.

\b
steinkit curve draws.csv --target normal -p mean=0,0
steinkit curve run1.csv run2.csv run3.csv --target normal --n 100,200,400,800 --plot curve.png
steinkit curve draws.csv --target model.py:target --budget 1e4,1e5,1e6

Several FILEs are replicates of one sampler: the curve is their median. The first n draws of K chains are the first n/K
of each; a budget is shared alike.
"""


def _grid(context: click.Context, parameter: click.Parameter, text: str | None) -> list[float] | None:
    """Read ``--n`` and ``--budget``: numbers between commas."""
    if text is None:
        return None
    try:
        return [float(word) for word in text.split(",") if word.strip()]
    except ValueError:
        raise click.BadParameter(f"numbers between commas are wanted, such as 10,20,50; received {text!r}") from None


@click.command(help=_HELP)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--n", callback=_grid, metavar="N,N...", help="Numbers of draws; by default 12 from 10 to all.")
@click.option(
    "--budget", callback=_grid, metavar="B,B...", help="Budgets instead, in the unit of the files' column cost."
)
@click.option(
    "--tail-from",
    type=float,
    metavar="N",
    help="Fit the rate from this number of draws (or budget) on; by default over the upper half of the logarithm.",
)
@target_options
@file_options
@measure_options
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the bootstrap over several FILEs."
)
@output_options
def curve(files: tuple[str, ...], **settings: Any) -> int:
    """Measure beginnings of a sample; exits with 4 if none could be certified."""
    measure = _only_measure(settings)
    _require_different(files)
    for file in files:
        require_places(file, settings["output"], settings["plot"])
    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is no result
        samples = [read_sample(file, format=settings["file_format"], columns=settings["columns"]) for file in files]
        target, doubts = target_of(files[0], samples[0], settings)
        found = curve_of(
            samples,
            target,
            n=settings["n"],
            budget=settings["budget"],
            measure=measure,
            tail_from=settings["tail_from"],
            rng=settings["seed"],
            progress=sys.stderr is not None and sys.stderr.isatty(),
            settings=measure_settings(settings, samples[0]),
        )
    json_text = as_json({"files": list(files), **found.document, "command": command_line()})
    text = f"{', '.join(files)} against {against(settings)}\n\n{found.summary()}"
    deliveries: list[Callable[[], None]] = [lambda: say(json_text if settings["json_output"] else text)]
    if settings["output"]:
        deliveries.append(lambda: write_bytes(settings["output"], f"{json_text}\n".encode(), binary=True))
    if settings["plot"]:
        deliveries.append(lambda: save_figure(lambda: _figure(found), settings["plot"]))
    try:
        deliver(deliveries)
    finally:
        for note in (*doubts, *found.warnings):
            warn(note)
    unproved = find_measure(measure).has_bracket and not np.isfinite(found.values).any()
    return SolverError.exit_code if unproved else 0


def _require_different(files: tuple[str, ...]) -> None:
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is named twice; replicates are different samples, each a FILE of its own")


def _only_measure(settings: dict[str, Any]) -> str:
    measures = measures_of(settings)
    if len(measures) > 1:
        raise UsageError(f"a curve is of one measure; received --measure {' --measure '.join(measures)}")
    return measures[0]


def _figure(found: Curve) -> Figure:
    from matplotlib.figure import Figure

    from steinkit.plots import curve as plot

    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    plot(found, figure.add_subplot())
    return figure
