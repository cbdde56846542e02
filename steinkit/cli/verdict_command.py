"""``steinkit verdict``: whether draws may be used, how far means and standard deviations are off, and what to do."""

from __future__ import annotations

from typing import Any

import click

from steinkit import __version__
from steinkit.cli.delivery import deliver
from steinkit.cli.help_screens import OUTPUT, SOLVER, command, option
from steinkit.cli.outputs import apart_from_results, on_terminal, require_places, say_next, target_words, warn
from steinkit.cli.request import read_with_target
from steinkit.cli.shared_options import (
    all_option,
    as_threshold,
    fail_if_off_option,
    file_options,
    files_argument,
    json_option,
    matters_option,
    max_seconds_option,
    off_by,
    seed_option,
    setting_option,
    target_options,
)
from steinkit.describe.verdict import untested_sentence, verdict_blocks, verdicts_table
from steinkit.describe.writing import count, files_label, filled, one_line
from steinkit.errors import InputError, UsageError
from steinkit.measures.scoring import LEVEL, Judgement, Judging, sample_document
from steinkit.runtime.deadlines import time_limit
from steinkit.runtime.progress import watched
from steinkit.sample import Sample

_HELP = """Judge the draws in each FILE ('-' for standard input): may they be used, and how wrong are the numbers?

\b
steinkit verdict draws.csv --target normal -p mean=0,0
steinkit verdict pilot.csv long_run.csv --target model.py:target
steinkit verdict draws_with_scores.csv --fail-if-off 0.1
\f
Says whether draws are from the target, how far the mean and standard deviation of each parameter are off, with margins,
and what was not tested. 'steinkit score' measures discrepancies as well, with their proofs.
"""


@command(help=_HELP)
@files_argument
@target_options
@file_options
@setting_option("bounds", names_measures=False)
@matters_option
@option(
    SOLVER,
    "--score-batch",
    type=click.IntRange(min=2),
    metavar="B",
    help="Scores from B data a draw. For a posterior of a million data, say, of which each score reads all: ten are "
    "enough near the mode. Refused where they are mostly noise.",
)
@seed_option("Of the signs of the kernel test, and of the batches.")
@max_seconds_option("Give up after S seconds. Of each file.")
@all_option
@option(
    OUTPUT,
    "--fail-if-biased",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    metavar="ALPHA",
    callback=as_threshold,
    help="Exit with 1 if draws are accused at level ALPHA.",
)
@fail_if_off_option(everyday=True)
@json_option("Print JSON instead of words.")
@option(OUTPUT, "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write the JSON as well.")
def verdict(files: tuple[str, ...], **options: Any) -> int:
    """Judge samples; the exit code says whether they passed."""
    if len(set(files)) < len(files):
        raise UsageError(f"{next(each for each in files if files.count(each) > 1)} is named twice; name each file once")
    for file in files:
        require_places(file, options["output"], None)
    alpha = options["fail_if_biased"]
    judging = Judging(LEVEL if alpha is None else alpha, options["matters"], 1, options["score_batch"])
    judged = [_judge(file, judging, options) for file in files]
    entries = [_entry(*each) for each in judged]
    notes = [
        f"{files_label((file,))}: {note}" if len(files) > 1 else note
        for file, _, judgement in judged
        for note in judgement.notes
    ]
    document = {"verdicts": entries, "version": __version__}
    deliver(options, document, lambda: _said(entries, options["everything"]), notes)
    _say_next(judged, options)
    return _code(judged, options)


def _judge(file: str, judging: Judging, options: dict[str, Any]) -> tuple[str, Sample, Judgement]:
    with (
        apart_from_results(),
        time_limit(options["max_seconds"]),
        watched(on_terminal()),
    ):
        sample, target, bounds, notes = read_with_target(options, file)
        found = judging.judge(sample, target, {"bounds": bounds}, rng=options["seed"])
    return file, sample, found._replace(notes=(*notes, *found.notes))


def _entry(file: str, sample: Sample, judgement: Judgement) -> dict[str, Any]:
    return {
        "file": file,
        "sample": sample_document(sample),
        "verdict": None if judgement.verdict is None else judgement.verdict.to_dict(),
        "unjudged": judgement.unjudged,
        "warnings": list(judgement.notes),
    }


def _said(entries: list[dict[str, Any]], everything: bool) -> str:
    """Of each sample the verdict's sentences, and a table of biases; of several a table of verdicts first."""
    blocks = ["\n".join(verdicts_table(entries).lines(("sample", "verdict")))] if len(entries) > 1 else []
    for entry in entries:
        size = entry["sample"]
        head = one_line(f"{files_label((entry['file'],))}: {count(size['draws'], 'draw')}, d = {size['dim']}")
        listed = everything or len(entries) == 1
        said, *rows = verdict_blocks(entry["verdict"], entry["unjudged"], everything=everything, table=listed)
        blocks += [f"{head}\n{said}", *rows]
    judged = [each["verdict"] for each in entries if each["verdict"]]
    if judged and not everything:
        blocks.append(filled(untested_sentence(max(judged, key=lambda each: len(each["not_tested"])))))
    return "\n\n".join(blocks)


def _say_next(judged: list[tuple[str, Sample, Judgement]], options: dict[str, Any]) -> None:
    """What mends the first sample that is off, else what measures the first that was judged."""
    known = [each for each in judged if each[-1].verdict is not None]
    if not known or any(file == "-" for file, *_ in judged):
        return
    target = target_words(options["target"], options["options"])
    for file, _, judgement in known:
        found = judgement.verdict
        if found is not None and found.is_biased and found.bias is not None and not found.bias.hidden:
            words, purpose = ["repair", file, *target, "-o", "repaired.csv"], "mend these draws"
            break
    else:
        words, purpose = ["score", known[0][0], *target], "discrepancies, with their proofs"
    say_next(words, purpose, json_output=options["json_output"])


def _code(judged: list[tuple[str, Sample, Judgement]], options: dict[str, Any]) -> int:
    alpha, delta = options["fail_if_biased"], options["fail_if_off"]
    for file, _, judgement in judged:
        found = judgement.verdict
        if found is None:
            return InputError.exit_code
        few = not found.enough_draws and (alpha is not None or delta is not None)
        if few:
            warn(f"{files_label((file,))}: {found.effective_draws:.0f} effective draws are too few to pass or to fail")
        elif alpha is not None and found.is_biased:
            return 1
        else:
            code, unsure = off_by(found, delta)
            for note in unsure:
                warn(f"{files_label((file,))}: {note}")
            if code:
                return code
    return 0
