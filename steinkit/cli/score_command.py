"""``steinkit score``: the verdict on a sample file and its discrepancies, in words, as JSON, and as a picture."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steinkit.cli.delivery import deliver, say_next_of_result
from steinkit.cli.help_screens import OUTPUT, command, option
from steinkit.cli.outputs import apart_from_results
from steinkit.cli.request import Request
from steinkit.cli.shared_options import (
    all_option,
    as_threshold,
    fail_if_off_option,
    file_options,
    files_argument,
    measure_options,
    off_by,
    one_sample_options,
    output_options,
    reference_options,
    target_options,
    verdict_options,
)
from steinkit.describe.writing import files_label
from steinkit.errors import InputError, UsageError
from steinkit.measures import find_measure, recorded_settings
from steinkit.measures.scoring import score_sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from steinkit.discrepancy.verdict import Verdict
    from steinkit.measures.scoring import Scores

_HELP = """Score the draws in FILE ('-' for standard input) against a target. Several FILEs are chains of one sample.

\b
steinkit score draws.csv --target normal -p mean=0,0
steinkit score draws.csv --target model.py:target --plot where.png
steinkit score draws_with_scores.csv --fail-if-biased 0.01
\f
\b
steinkit score fit-1.csv fit-2.csv fit-3.csv fit-4.csv --target model.py:target
steinkit score draws.csv --target normal --measure graph --measure ksd --measure ess
"""


@command(help=_HELP)
@files_argument
@target_options
@file_options
@measure_options
@one_sample_options
@verdict_options
@reference_options
@output_options
@all_option
@option(
    OUTPUT,
    "--fail-above",
    everyday=False,
    type=float,
    metavar="X",
    callback=as_threshold,
    help="Exit with 1 if the value certainly exceeds X. Of several measures, the value of the first.",
)
@option(
    OUTPUT,
    "--fail-if-biased",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="ALPHA",
    callback=as_threshold,
    help="Exit with 1 if the verdict rejects at level ALPHA. With --matters only if a moment is off by more than DELTA "
    "at that level, too. Too few effective draws neither pass nor fail: a warning, and code 0.",
)
@fail_if_off_option(everyday=False)
def score(files: tuple[str, ...], **options: Any) -> int:
    """Score a sample; the exit code says whether it passed."""
    request, title = Request.of(files, options, "chains are different files"), files_label(files)
    drawn, threshold, judging = _drawn(request), _threshold(request), request.judging
    with apart_from_results():
        task = request.task({title: request.read(*files)}, title)
        sample = task.samples[title]
        scores = score_sample(
            sample,
            task.target,
            task.measures,
            task.settings,
            repeats=task.repeats,
            run=task.run,
            judging=judging,
            rng=options["seed"],
        )
    lower, upper = scores.measurements[0].lower, scores.measurements[0].upper
    notes = list(dict.fromkeys([*task.doubts, *scores.warnings]))
    if lower <= threshold < upper:
        notes.append(f"--fail-above {threshold:g} lies inside the bracket: neither passed nor failed for certain")
    code, doubts = _judged(scores.verdict, options)
    notes += doubts
    document = {
        **replace(scores, warnings=tuple(notes)).to_dict(),
        **request.document,
        "reading": {
            "format": options["file_format"],
            "columns": options["columns"] and list(options["columns"]),
            "group": options["group"],
            "names": list(sample.names),
            "sha256": sample.sha256,
        },
        "settings": recorded_settings({**task.settings, "operator": options["operator"]}),
    }
    heading = f"{title} against {request.against(judged=scores.verdict is not None)}"
    deliver(
        options,
        document,
        lambda: scores.summary(heading, everything=options["everything"]),
        notes,
        lambda: _figure(scores, drawn, "" if files == ("-",) else Path(title).name),
        scores,
    )
    has_picture = find_measure(scores.measurements[drawn].measure).has_picture
    say_next_of_result(files, options, "score", has_picture=has_picture)
    return code or int(lower > threshold)


def _judged(verdict: Verdict | None, options: dict[str, Any]) -> tuple[int, tuple[str, ...]]:
    """The exit code of --fail-if-biased and --fail-if-off, and what they could not tell."""
    biased, delta = options["fail_if_biased"] is not None, options["fail_if_off"]
    if not biased and delta is None:
        return 0, ()
    flag = "--fail-if-biased" if biased else "--fail-if-off"
    if verdict is None:
        return InputError.exit_code, (f"{flag}: there is no verdict, so nothing passed",)
    if not verdict.enough_draws:
        few = f"{flag}: {verdict.effective_draws:.0f} effective draws are too few to pass or to fail; add draws"
        return 0, (few,)
    matters = verdict.p_matters is None or verdict.p_matters <= verdict.level
    if biased and verdict.is_biased and matters:
        return 1, ()
    return off_by(verdict, delta)


def _drawn(request: Request) -> int:
    """Which of the measures --plot draws."""
    able = [k for k, measure in enumerate(request.measures) if measure.has_picture]
    if request.options["plot"] and request.measures and not able:
        raise UsageError("--plot shows where graph, sliced or moments find fault; add --measure with one of them")
    return able[0] if able else 0


def _threshold(request: Request) -> float:
    """What --fail-above asks; NaN, which nothing exceeds, if it is not given."""
    asked = request.options["fail_above"]
    for first in request.measures[:1]:
        if asked is not None and not first.smaller_is_better:
            raise UsageError(f"--fail-above is for discrepancies, and {first.name} is none; name another measure first")
    return math.nan if asked is None else float(asked)


def _figure(scores: Scores, drawn: int, title: str) -> Figure:
    from steinkit.plots.overview import scores as picture

    return picture(scores, title, scores.measurements[drawn])
