"""``steinkit score``: the discrepancies of a sample file, in words, as JSON, and as a picture."""

from __future__ import annotations

import contextlib
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steinkit.cli.delivery import deliver
from steinkit.cli.documents import as_document
from steinkit.cli.options import as_threshold
from steinkit.cli.request import Request
from steinkit.cli.shared_options import (
    file_options,
    measure_options,
    one_sample_options,
    output_options,
    reference_options,
    target_options,
)
from steinkit.describe.score import score_text
from steinkit.errors import UsageError
from steinkit.measures import find_measure
from steinkit.measures.scoring import score_sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HELP = """Score the draws in FILE ('-' for standard input) against a target.

\b
steinkit score draws.csv --target normal -p mean=0,0
steinkit score draws.csv --target model.py:target --plot where.png
steinkit score draws.csv --target normal --measure graph --measure ksd --measure ess
steinkit score draws_with_scores.csv --fail-above 0.2
"""


@click.command(help=_HELP)
@click.argument("file")
@target_options
@file_options
@measure_options
@one_sample_options
@reference_options
@output_options
@click.option(
    "--fail-above",
    type=float,
    metavar="X",
    callback=as_threshold,
    help="Exit with code 1 if the discrepancy certainly exceeds X; of several measures, the first.",
)
def score(file: str, **options: Any) -> int:
    """Score a sample; the exit code says whether it passed."""
    request = Request.of((file,), options)
    drawn, threshold = _drawn(request), _threshold(request)
    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is no result
        sample = request.read(file)
        task = request.task(file, sample)
        scores = score_sample(
            sample, task.target, request.measures, task.settings, repeats=task.repeats, rng=options["seed"]
        )
    lower, upper = scores.measurements[0].lower, scores.measurements[0].upper
    notes = list(dict.fromkeys([*task.doubts, *scores.warnings]))
    if lower <= threshold < upper:
        notes.append(f"--fail-above {threshold:g} lies inside the bracket: neither passed nor failed for certain")
    document = as_document(scores, notes)
    heading = f"{'standard input' if file == '-' else file} against {request.against}"
    deliver(
        options,
        document,
        lambda: score_text(heading, {**document, "results": scores.entries_with_findings}, find_measure),
        lambda: _figure(scores.measurements[drawn].result, "" if file == "-" else Path(file).name),
        notes,
    )
    return int(lower > threshold)


def _drawn(request: Request) -> int:
    """Which of the measures --plot draws."""
    able = [k for k, measure in enumerate(request.measures) if measure.has_picture]
    if request.options["plot"] and not able:
        raise UsageError("--plot shows where graph, sliced or moments find fault; add --measure with one of them")
    return able[0] if able else 0


def _threshold(request: Request) -> float:
    """What --fail-above asks; NaN, which nothing exceeds, if it is not given."""
    asked, first = request.options["fail_above"], request.measures[0]
    if asked is not None and not first.smaller_is_better:
        raise UsageError(f"--fail-above is for discrepancies, and {first.name} is none; name another measure first")
    return math.nan if asked is None else float(asked)


def _figure(result: Any, title: str) -> Figure:
    from steinkit.plots import picture

    return picture(result, title)
