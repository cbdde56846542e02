"""``steinkit compare``: several sample files against one target, in the order that is proved."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

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
    reference_options,
    reference_samples,
    target_of,
    target_options,
)
from steinkit.comparison import ComparedSample, Comparison
from steinkit.comparison import compare as compare_samples
from steinkit.errors import SteinkitError, UsageError
from steinkit.files import read_sample
from steinkit.files.streams import write_bytes
from steinkit.sample import Sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HELP = """Compare the draws in several FILEs against a target ('-' is standard input).

\b
steinkit compare a.csv b.csv c.csv --target normal -p mean=0,0
steinkit compare a.csv b.csv --target model.py:target --measure graph --measure ess --plot ranks.png

Samples whose certified brackets overlap are tied. A FILE that cannot be read or measured is reported and does not end
the comparison. A built-in target takes its dimension from the first FILE that can be read.
"""


@click.command(help=_HELP)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@target_options
@file_options
@measure_options
@reference_options
@output_options
def compare(files: tuple[str, ...], **settings: Any) -> int:
    """Compare samples; exits with 0 if at least one could be measured."""
    _require_different(files)
    for file in files:
        require_places(file, settings["output"], settings["plot"])
    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is no result
        samples, unread = _read(files, settings)
        lead = _lead(samples, settings)
        target, doubts = target_of(lead, samples[lead], settings)
        found = compare_samples(
            samples,
            target,
            measures=measures_of(settings),
            reference=reference_samples(target, settings),
            rng=settings["seed"],
            progress=sys.stderr is not None and sys.stderr.isatty(),
            settings=measure_settings(settings, samples[lead]),
        )
        found = _with_unread(found, files, unread, doubts)
    json_text = as_json({**found.document, "command": command_line()})
    text = f"{_count(len(files), 'sample')} against {against(settings)}\n\n{found.table()}"
    deliveries: list[Callable[[], None]] = [lambda: say(json_text if settings["json_output"] else text)]
    if settings["output"]:
        deliveries.append(lambda: write_bytes(settings["output"], f"{json_text}\n".encode(), binary=True))
    if settings["plot"]:
        deliveries.append(lambda: save_figure(lambda: _figure(found), settings["plot"]))
    try:
        deliver(deliveries)
    finally:
        for note in found.warnings:
            warn(note)
    return _code(found)


def _require_different(files: tuple[str, ...]) -> None:
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        raise UsageError(f"{twice[0]} is named twice; a comparison takes each file once")


def _read(files: tuple[str, ...], settings: dict[str, Any]) -> tuple[dict[str, Sample], dict[str, SteinkitError]]:
    """The samples that can be read, and why the others cannot."""
    samples: dict[str, Sample] = {}
    unread: dict[str, SteinkitError] = {}
    for file in files:
        try:
            samples[file] = read_sample(file, format=settings["file_format"], columns=settings["columns"])
        except SteinkitError as error:
            unread[file] = error
    if not samples:
        raise next(iter(unread.values()))
    return samples, unread


def _lead(samples: dict[str, Sample], settings: dict[str, Any]) -> str:
    """The file that the target is fitted to: the first, or the first with scores where these take its place."""
    if settings["target"] is None:
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


def _figure(found: Comparison) -> Figure:
    """The ranking by each measure, one below the other."""
    from matplotlib.figure import Figure

    from steinkit.plots import comparison

    count = len(found.measures)
    figure = Figure(figsize=(6.5, count * (1.6 + 0.45 * len(found.samples))), layout="constrained")
    for ax, measure in zip(figure.subplots(count, 1, squeeze=False)[:, 0], found.measures, strict=True):
        comparison(found, ax, measure=measure)
    return figure


def _code(found: Comparison) -> int:
    """0 if a sample was measured, else what the first one failed with."""
    if any(each.measurements for each in found.samples):
        return 0
    return next(error.exit_code for each in found.samples for error in each.errors.values())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
