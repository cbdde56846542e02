"""``steinkit score``: the graph Stein discrepancy of a sample file, in words, as JSON, and as a picture."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from steinkit.cli.documents import as_document, as_json, as_text
from steinkit.cli.options import (
    as_threshold,
    bounds_for,
    is_user_code,
    name_list,
    target_for,
    three_numbers,
)
from steinkit.cli.outputs import deliver, draw, require_places, say, warn
from steinkit.discrepancy.graph import graph_stein_discrepancy
from steinkit.discrepancy.reference import Reference, reference_discrepancy
from steinkit.discrepancy.result import GraphSteinDiscrepancy
from steinkit.errors import SolverError, SteinkitWarning, UsageError
from steinkit.files import read_sample
from steinkit.files.streams import write_bytes
from steinkit.sample import Sample
from steinkit.target import Target

_REFERENCE_BY_DEFAULT = 5
_REFERENCE_TOLERANCE = 1e-3  # they differ among themselves by far more


_HELP = """Score the draws in FILE ('-' for standard input) against a target.

\b
steinkit score draws.csv --target normal -p mean=0,0
steinkit score draws.csv --target model.py:target --plot where.png
steinkit score draws_with_scores.csv --fail-above 0.2
"""


@click.command(help=_HELP)
@click.argument("file")
@click.option(
    "--target",
    metavar="NAME|PATH.PY:ATTRIBUTE",
    help="What the sample claims to represent: a built-in "
    "name (see 'steinkit targets'), or an attribute of a Python file, which is then run. Not needed where "
    "FILE stores scores in columns score:NAME.",
)
@click.option("-p", "options", multiple=True, metavar="KEY=VALUE", help="Option of a built-in target; repeatable.")
@click.option(
    "--bounds",
    multiple=True,
    metavar="LOWER,UPPER",
    help="Bounds of the support, for all coordinates, or "
    "repeated for each in order, or NAME=LOWER,UPPER; inf and -inf are allowed.",
)
@click.option("--columns", callback=name_list, metavar="NAME,NAME...", help="Coordinates to read, in this order.")
@click.option(
    "--format",
    "file_format",
    metavar="FORMAT",
    help="csv, npz, npy, stan or netcdf; by default FILE's ending.",
)
@click.option("--graph", type=click.Choice(["spanner", "complete"]), default="spanner", show_default=True)
@click.option("--dilation", type=float, default=2.0, show_default=True, help="Stretch of the spanner, above 1.")
@click.option(
    "--stein-factors",
    default="1,1,1",
    show_default=True,
    callback=three_numbers,
    metavar="C1,C2,C3",
    help="Bounds on g, its gradient, and the gradient's Lipschitz constant.",
)
@click.option(
    "--engine",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto, chain, block, first_order, highs, cvxpy or cvxpy:SOLVER.",
)
@click.option(
    "--tolerance",
    type=float,
    help="Widest relative bracket accepted; by default 1e-6 up to three dimensions, 1e-3 above.",
)
@click.option(
    "--jobs",
    default=1,
    show_default=True,
    help="Coordinates solved side by side; -1 for all processors.",
)
@click.option(
    "--max-seconds",
    type=float,
    help="Stop after this time, spanner and a first compilation included, with the best bracket found.",
)
@click.option(
    "--reference",
    type=click.IntRange(min=0),
    metavar="N",
    help="Also score N independent samples of the "
    "same size from the target, to 1e-3. Default: 5 for built-in targets that can be drawn from, else 0.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the reference samples.")
@click.option(
    "--check/--no-check",
    default=True,
    show_default=True,
    help="Check the score of a target from your own code against finite differences of its log density at a few draws.",
)
@click.option("--json", "json_output", is_flag=True, help="Print JSON instead of words.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the JSON to this file as well.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw where the sample is wrong (.png, .pdf, .svg).")
@click.option(
    "--fail-above",
    type=float,
    metavar="X",
    callback=as_threshold,
    help="Exit with code 1 if the discrepancy certainly exceeds X.",
)
def score(file: str, **settings: Any) -> int:
    """Score a sample; the exit code says whether it passed."""
    require_places(file, settings["output"], settings["plot"])
    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is no result
        sample = read_sample(file, format=settings["file_format"], columns=settings["columns"])
        target, doubts = _target(file, sample, settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SteinkitWarning)  # what they say is in result.warnings too
            result, reference, missed = _discrepancies(sample, target, settings)
    threshold = settings["fail_above"]
    notes = [*doubts, *result.warnings, *missed, *_threshold_note(result, threshold)]
    json_text = as_json(as_document(sample, result, reference, notes))
    text = json_text if settings["json_output"] else as_text(file, _against(settings), result, reference)
    deliveries: list[Callable[[], None]] = [lambda: say(text)]
    if settings["output"]:
        deliveries.append(lambda: write_bytes(settings["output"], f"{json_text}\n".encode(), binary=True))
    if settings["plot"]:
        deliveries.append(lambda: draw(result, settings["plot"], "" if file == "-" else Path(file).name))
    try:
        deliver(deliveries)
    finally:
        for note in notes:
            warn(note)
    return int(threshold is not None and result.lower > threshold)


def _target(file: str, sample: Sample, settings: dict[str, Any]) -> tuple[Target | None, tuple[str, ...]]:
    """The target named, with doubts about it; None where the file's own scores are to be used."""
    if settings["target"] is not None:
        return target_for(settings["target"], settings["options"], sample, settings["check"])
    if settings["options"]:
        raise UsageError("-p options need the --target that they belong to")
    if sample.scores is None:
        source = "standard input" if file == "-" else file
        raise UsageError(
            f"{source} stores no scores (columns score:NAME) and no --target was given; name a built-in target "
            "('steinkit targets' lists them), or your own as path.py:attribute"
        )
    return None, ()


def _against(settings: dict[str, Any]) -> str:
    """What the sample is held against, as the user wrote it."""
    if settings["target"] is None:
        return "the scores stored in the file"
    options = ", ".join(settings["options"])
    return f"target {settings['target']}" + (f" ({options})" if options else "")


def _discrepancies(
    sample: Sample, target: Target | None, settings: dict[str, Any]
) -> tuple[GraphSteinDiscrepancy, Reference | None, tuple[str, ...]]:
    """The sample's discrepancy; that of independent samples where it is wanted; why it could not be had."""
    repeats = _reference_samples(target, settings)
    progress = sys.stderr is not None and sys.stderr.isatty()
    shared: dict[str, Any] = {
        "bounds": bounds_for(settings["bounds"], sample),
        "dilation": settings["dilation"],
        "graph": settings["graph"],
        "stein_factors": settings["stein_factors"],
        "engine": settings["engine"],
        "tolerance": settings["tolerance"],
        "max_seconds": settings["max_seconds"],
        "n_jobs": settings["jobs"],
    }
    result = graph_stein_discrepancy(sample, target, progress=progress, **shared)
    if not repeats:
        return result, None, ()
    assert target is not None  # _reference_samples saw to it
    try:
        loose = shared | {"tolerance": max(result.tolerance, _REFERENCE_TOLERANCE)}
        reference = reference_discrepancy(
            target, len(sample), repeats, rng=settings["seed"], progress=progress, **loose
        )
    except SolverError as error:  # the sample's own answer stands
        return result, None, (f"the reference samples were not scored: {error}",)
    return result, reference, ()


def _reference_samples(target: Target | None, settings: dict[str, Any]) -> int:
    """How many reference samples to score."""
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


def _threshold_note(result: GraphSteinDiscrepancy, threshold: float | None) -> tuple[str, ...]:
    if threshold is None or not result.lower <= threshold < result.upper:
        return ()
    return (f"--fail-above {threshold:g} lies inside the certified bracket: neither passed nor failed for certain",)
