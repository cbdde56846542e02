"""``steinkit curve``: how a sample's discrepancy falls as draws are added."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from steinkit.cli.delivery import deliver, say_next_of_result
from steinkit.cli.help_screens import MEASURE, command, option
from steinkit.cli.outputs import apart_from_results, on_terminal
from steinkit.cli.request import Request
from steinkit.cli.shared_options import (
    file_options,
    files_argument,
    measure_options,
    output_options,
    seed_option,
    target_options,
)
from steinkit.curves import curve as curve_of
from steinkit.describe.writing import one_line
from steinkit.errors import SolverError, UsageError

_HELP = """Measure the first draws of FILE, for several numbers of draws, and fit the rate at which the measure falls.

\b
steinkit curve draws.csv --target normal -p mean=0,0
steinkit curve draws.csv --target normal --n 100,200,400 --plot curve.png
\f
\b
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


@command(help=_HELP)
@files_argument
@target_options
@file_options
@option(MEASURE, "--n", callback=_grid, metavar="N,N...", help="Numbers of draws. By default 12 from 10 to all.")
@option(
    MEASURE,
    "--budget",
    callback=_grid,
    metavar="B,B...",
    help="Budgets instead, in the unit of the column cost. That of the files; the chains of one sample share a budget.",
)
@option(
    MEASURE,
    "--tail-from",
    type=float,
    metavar="N",
    help="Fit the rate over N draws and more. Or over budgets of N and more; by default over the upper half of the "
    "logarithm.",
)
@measure_options
@seed_option("Of the bootstrap over several FILEs.")
@output_options
def curve(files: tuple[str, ...], **options: Any) -> int:
    """Measure the first draws of a sample; exits with 4 if no number of them could be certified."""
    request = Request.of(files, options, "replicates are different samples, each a FILE of its own")
    _require_one_measure(request)
    with apart_from_results():
        task = request.task({file: request.read(file) for file in files}, files[0])
        (measure,) = task.measures
        found = curve_of(
            [*task.samples.values()],
            task.target,
            n=options["n"],
            budget=options["budget"],
            measure=measure.name,
            tail_from=options["tail_from"],
            rng=options["seed"],
            progress=on_terminal(),
            settings=task.settings,
        )
    deliver(
        options,
        {**found.to_dict(), **request.document},
        lambda: f"{one_line(', '.join(files) + ' against ' + request.against())}\n\n{found.summary()}",
        (*task.doubts, *found.warnings),
        found.plot,
    )
    say_next_of_result(files, options, "curve", has_picture=True)
    unproved = measure.has_bracket and not np.isfinite(found.values).any()
    return SolverError.exit_code if unproved else 0


def _require_one_measure(request: Request) -> None:
    if len(request.measures) > 1:
        names = " --measure ".join(measure.name for measure in request.measures)
        raise UsageError(f"a curve is of one measure; received --measure {names}")
