"""``steinkit score``: the discrepancies of a sample file, in words, as JSON, and as a picture."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from steinkit.cli.documents import as_document, as_json
from steinkit.cli.figures import save_figure
from steinkit.cli.options import as_threshold
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
from steinkit.cli.texts import as_text
from steinkit.discrepancy.graph.result import GraphSteinDiscrepancy
from steinkit.discrepancy.reference import Reference
from steinkit.errors import SolverError, SteinkitWarning, UsageError
from steinkit.files import read_sample
from steinkit.files.streams import write_bytes
from steinkit.measures import Measurement, find_measure, take_measure
from steinkit.measures.independent_samples import measured_reference
from steinkit.sample import Sample
from steinkit.target import Target

_BOOTSTRAP = 1000


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
@click.option(
    "--p-value",
    is_flag=True,
    help="With --measure ksd: also test by the V-statistic whether the draws, in their order, come from the target, "
    f"with {_BOOTSTRAP} wild bootstrap samples.",
)
@reference_options
@output_options
@click.option(
    "--fail-above",
    type=float,
    metavar="X",
    callback=as_threshold,
    help="Exit with code 1 if the discrepancy certainly exceeds X; of several measures, the first.",
)
def score(file: str, **settings: Any) -> int:
    """Score a sample; the exit code says whether it passed."""
    require_places(file, settings["output"], settings["plot"])
    _require_consistent(settings)
    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is no result
        sample = read_sample(file, format=settings["file_format"], columns=settings["columns"])
        target, doubts = target_of(file, sample, settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SteinkitWarning)  # what they say is in the results' warnings too
            scores = _take(sample, target, settings)
    threshold = settings["fail_above"]
    notes = list(dict.fromkeys([*doubts, *scores.notes, *_threshold_note(scores.measurements, threshold)]))
    named = _with_names(sample, scores.measurements)
    json_text = as_json(as_document(named, scores.measurements, scores.references, notes))
    text = json_text
    if not settings["json_output"]:
        text = as_text(file, against(settings), scores.measurements, scores.references)
    deliveries: list[Callable[[], None]] = [lambda: say(text)]
    if settings["output"]:
        deliveries.append(lambda: write_bytes(settings["output"], f"{json_text}\n".encode(), binary=True))
    if settings["plot"]:
        (graph,) = (each.result for each in scores.measurements if each.measure == "graph")
        deliveries.append(lambda: _draw(graph, settings["plot"], "" if file == "-" else Path(file).name))
    try:
        deliver(deliveries)
    finally:
        for note in notes:
            warn(note)
    return int(threshold is not None and scores.measurements[0].lower > threshold)


@dataclass(frozen=True)
class _Scores:
    """The measures of the sample, those of independent samples, and what is to be told of both."""

    measurements: tuple[Measurement, ...]
    references: dict[str, Reference]
    notes: tuple[str, ...]


def _require_consistent(settings: dict[str, Any]) -> None:
    """Refuse options that ask for something of a measure that is not taken."""
    measures = measures_of(settings)
    if settings["plot"] and "graph" not in measures:
        raise UsageError("--plot shows where the graph Stein discrepancy finds fault; add --measure graph")
    if settings["p_value"] and "ksd" not in measures:
        raise UsageError("--p-value belongs to the kernel Stein discrepancy; add --measure ksd")
    if settings["fail_above"] is not None and not find_measure(measures[0]).smaller_is_better:
        raise UsageError(f"--fail-above is for discrepancies, and {measures[0]} is none; name another measure first")


def _take(sample: Sample, target: Target | None, settings: dict[str, Any]) -> _Scores:
    """Measure the sample, then independent samples where they are wanted."""
    repeats = reference_samples(target, settings)
    shared = measure_settings(settings, sample)
    if settings["p_value"]:
        shared |= {"bootstrap": _BOOTSTRAP, "seed": settings["seed"]}
    measurements = tuple(take_measure(name, sample, target, shared) for name in measures_of(settings))
    notes = [note for measurement in measurements for note in measurement.warnings]
    references: dict[str, Reference] = {}
    for measurement in measurements if repeats else ():
        if not find_measure(measurement.measure).has_bracket:
            continue
        assert target is not None  # reference_samples saw to it
        try:
            references[measurement.measure] = measured_reference(
                [measurement],
                target,
                len(sample),
                repeats,
                rng=settings["seed"],
                settings=shared,
                progress=shared["progress"],
            )
        except SolverError as error:  # the sample's own answer stands
            notes.append(f"the reference samples were not scored: {error}")
    return _Scores(measurements, references, tuple(notes))


def _draw(result: GraphSteinDiscrepancy, path: str, title: str) -> None:
    from steinkit.plots import picture

    save_figure(lambda: picture(result, title), path)


def _with_names(sample: Sample, measurements: tuple[Measurement, ...]) -> Sample:
    """The sample under the names that the measures gave its coordinates: the target's, where nobody named them."""
    for measurement in measurements:
        points = getattr(measurement.result, "sample", None)
        if points is not None:
            return replace(sample, names=points.names)
    return sample


def _threshold_note(measurements: tuple[Measurement, ...], threshold: float | None) -> tuple[str, ...]:
    if threshold is None or not measurements[0].lower <= threshold < measurements[0].upper:
        return ()
    return (f"--fail-above {threshold:g} lies inside the certified bracket: neither passed nor failed for certain",)
