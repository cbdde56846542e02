"""The commands ``steinkit compare`` and ``steinkit curve``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from cloup import option, option_group

from steinkit.cli import options as shared
from steinkit.cli.request import Request, deliver
from steinkit.cli.terminal import apart_from_results, on_terminal
from steinkit.comparison import compare as compare_samples
from steinkit.curves import curve as curve_of
from steinkit.errors import SolverError, SteinkitError, UsageError
from steinkit.measures.scoring import ComparedSample
from steinkit.sample import Sample


@shared.command()
@shared.sample_options
@option_group("Measures", shared.measure_option, shared.measure_options())
@option_group("Solver", shared.measure_options(of_solver=True))
@option_group("Verdict", shared.verdict_options)
@option_group("Reference samples", shared.reference_options)
@option_group("Output", shared.output_options, shared.all_option)
def compare(files: tuple[str, ...], **options: Any) -> int:
    """Rank samples of the same target. Each FILE is a sample ('-': standard input).

    \b
    steinkit compare a.csv b.csv c.csv --target normal -p mean=0,0
    \f
    Each sample receives a verdict and a rank. The best sample may still be biased. Samples with overlapping brackets
    are tied. If a FILE cannot be read or measured, the error is reported and the comparison continues. This error then
    determines the exit code. For a built-in target, the dimension is that of the first readable FILE.
    """
    request = Request(files, options)
    judging = request.judging
    with apart_from_results():
        samples, unread = _read(request)
        # The first file sets the dimension. If there is no target, the first file with scores is used.
        scored = [file for file, sample in samples.items() if sample.scores is not None and options["target"] is None]
        task = request.task(samples, next(iter([*scored, *samples])))
        found = compare_samples(
            task.samples,
            task.target,
            measures=[measure.name for measure in task.measures],
            verdict=judging is not None,
            matters=options["matters"],
            analyses=options["analyses"],
            reference=task.repeats,
            reference_draws=task.run,
            rng=options["seed"],
            progress=on_terminal(),
            settings=task.settings,
        )
    origin = request.origin(judged=any(each.verdict is not None for each in found.samples))
    entries = {each.name: each for each in found.samples}
    entries |= {file: ComparedSample(file, None, {}, dict.fromkeys(found.measures, unread[file])) for file in unread}
    failed = [f"{file} could not be read: {error}" for file, error in unread.items()]
    notes = (*task.doubts, *failed, *found.warnings)
    found = replace(found, samples=tuple(entries[file] for file in files), warnings=notes, origin=origin)
    deliver(options, found.to_dict(), partial(found.summary, everything=options["everything"]), found.warnings, found)
    missed = (each for each in found.samples if not each.measurements)
    return next((error.exit_code for each in missed for error in each.errors.values()), 0)


def _read(request: Request) -> tuple[dict[str, Sample], dict[str, SteinkitError]]:
    """Return the samples that could be read, and the errors for the others."""
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


_GRID = shared.Parsed(lambda text: [*map(float, text.strip(",").split(","))], "numbers such as 10,20,50")


@shared.command()
@shared.sample_options
@option_group(
    "Curve",
    option("--n", type=_GRID, metavar="N,N...", show_default="12 numbers from 10 to all", help="Numbers of draws."),
    shared.seed_option,
)
@option_group("Measures", shared.measure_option, shared.measure_options())
@option_group("Solver", shared.measure_options(of_solver=True))
@option_group("Output", shared.output_options)
def curve(files: tuple[str, ...], **options: Any) -> int:
    """Compute a discrepancy for several numbers of draws and fit its rate.

    \b
    steinkit curve draws.csv --target normal --n 100,200,400 --plot curve.png
    \f
    Multiple FILEs are treated as replicates of one sampler, and the curve shows their median. For a sample with K
    chains, the first n draws are the first n/K draws of each chain.
    """
    request = Request(files, options)
    if len(request.measures) > 1:
        raise UsageError(f"expected one measure, got {', '.join(measure.name for measure in request.measures)}")
    with apart_from_results():
        task = request.task({file: request.read(file) for file in files}, files[0])
        (measure,) = task.measures
        found = curve_of(
            [*task.samples.values()],
            task.target,
            n=options["n"],
            measure=measure.name,
            rng=options["seed"],
            progress=on_terminal(),
            settings=task.settings,
        )
    found = replace(found, warnings=(*task.doubts, *found.warnings), origin=request.origin())
    deliver(options, found.to_dict(), found.summary, found.warnings, found)
    return SolverError.exit_code if measure.has_bracket and not np.isfinite(found.values).any() else 0
