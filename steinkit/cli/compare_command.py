"""``steinkit compare``: several sample files against one target, in the order that is proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steinkit.cli.delivery import deliver, say_next_of_result
from steinkit.cli.help_screens import command
from steinkit.cli.outputs import apart_from_results, on_terminal
from steinkit.cli.request import Request
from steinkit.cli.shared_options import (
    all_option,
    file_options,
    files_argument,
    measure_options,
    output_options,
    reference_options,
    target_options,
    verdict_options,
)
from steinkit.comparison import ComparedSample, Comparison
from steinkit.comparison import compare as compare_samples
from steinkit.describe.writing import count, one_line
from steinkit.errors import SteinkitError
from steinkit.sample import Sample

_HELP = """Compare the draws in several FILEs against a target ('-' is standard input).

\b
steinkit compare a.csv b.csv c.csv --target normal -p mean=0,0
steinkit compare a.csv b.csv --target model.py:target --plot ranks.png
\f
\b
steinkit compare a.csv b.csv --target model.py:target --measure graph --measure ess --no-verdict

Every sample is judged, and then ranked: the best may still be wrong. Samples whose certified brackets overlap are
tied. A FILE that cannot be read or measured is reported, does not end the comparison, and its error is the exit code. A
built-in target takes its dimension from the first FILE that can be read.
"""


@command(help=_HELP)
@files_argument
@target_options
@file_options
@measure_options
@verdict_options
@reference_options
@output_options
@all_option
def compare(files: tuple[str, ...], **options: Any) -> int:
    """Compare samples; exits with 0 if all could be measured."""
    request = Request.of(files, options, "a comparison takes each file once")
    judging = request.judging
    with apart_from_results():
        samples, unread = _read(request)
        task = request.task(samples, _lead(samples, options))
        found = compare_samples(
            task.samples,
            task.target,
            measures=[measure.name for measure in task.measures],
            verdict=judging is not None,
            matters=options["matters"],
            looks=options["looks"] or 1,
            reference=task.repeats,
            reference_draws=task.run,
            rng=options["seed"],
            progress=on_terminal(),
            settings=task.settings,
        )
        found = _with_unread(found, files, unread, task.doubts)
    judged = any(each.verdict is not None for each in found.samples)
    heading = f"{count(len(files), 'sample')} against {request.against(judged=judged)}"
    deliver(
        options,
        {**found.to_dict(), **request.document},
        lambda: f"{one_line(heading)}\n\n{found.table(everything=options['everything'])}",
        found.warnings,
        found.plot,
    )
    if not unread:
        say_next_of_result(files, options, "compare", has_picture=True)
    return _code(found)


def _read(request: Request) -> tuple[dict[str, Sample], dict[str, SteinkitError]]:
    """The samples that can be read, and why the others cannot."""
    samples: dict[str, Sample] = {}
    unread: dict[str, SteinkitError] = {}
    for file in request.files:
        try:
            samples[file] = request.read(file)
        except SteinkitError as error:
            unread[file] = error
    if not samples:
        raise next(iter(unread.values()))
    return samples, unread


def _lead(samples: Mapping[str, Sample], options: Mapping[str, Any]) -> str:
    """The file that the target is fitted to: the first, or the first with scores where these take its place."""
    if options["target"] is None:
        for file, sample in samples.items():
            if sample.scores is not None:
                return file
    return next(iter(samples))


def _with_unread(
    found: Comparison, files: tuple[str, ...], unread: dict[str, SteinkitError], doubts: tuple[str, ...]
) -> Comparison:
    """The comparison with the files that could not be read in their places."""
    entries = {each.name: each for each in found.samples}
    entries |= {file: ComparedSample(file, None, {}, dict.fromkeys(found.measures, unread[file])) for file in unread}
    failed = [f"{file} could not be read: {error}" for file, error in unread.items()]
    return replace(found, samples=tuple(entries[file] for file in files), warnings=(*doubts, *failed, *found.warnings))


def _code(found: Comparison) -> int:
    """0 if all samples were measured, else what the first that was not failed with."""
    missed = (each for each in found.samples if not each.measurements)
    return next((error.exit_code for each in missed for error in each.errors.values()), 0)
