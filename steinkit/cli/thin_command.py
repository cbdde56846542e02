"""``steinkit thin``: the draws of a file that together represent the target best."""

from __future__ import annotations

from typing import Any

import click

from steinkit import __version__
from steinkit.cli.delivery import deliver_sample, draws_options, draws_place
from steinkit.cli.help_screens import MEASURE, command, option
from steinkit.cli.outputs import apart_from_results, say, say_next, target_words, tell, warn
from steinkit.cli.request import read_with_target, units_for
from steinkit.cli.shared_options import (
    file_options,
    files_argument,
    json_option,
    max_seconds_option,
    setting_option,
    target_options,
)
from steinkit.describe.results import Document
from steinkit.errors import printable
from steinkit.files.streams import as_json
from steinkit.measures.options import units_of_one
from steinkit.measures.scoring import sample_document
from steinkit.runtime.deadlines import time_limit

_HELP = """Choose the draws of FILE ('-' for standard input) that together represent a target best. Several FILEs are
chains of one sample.

\b
steinkit thin draws.csv --target normal -p mean=0,0 --draws 50 -o thinned.csv
steinkit thin draws_with_scores.csv --draws 50 -o thinned.csv
\f
Stein thinning (Riabiz et al. 2022): draw after draw, repeats allowed, the one that makes the kernel Stein discrepancy
smallest, with moments that keep location and spread of every coordinate. It takes out burn-in, and bias as far as the
draws allow; the shares of modes far apart it cannot see.
"""


@command(help=_HELP)
@files_argument
@target_options
@file_options
@option(MEASURE, "--draws", type=click.IntRange(min=1), required=True, metavar="M", help="How many draws to choose.")
@setting_option("bounds", names_measures=False)
@setting_option("units", names_measures=False)
@setting_option("kernel", names_measures=False)
@setting_option("kernel_scale", names_measures=False)
@option(
    MEASURE,
    "--moment-weight",
    type=click.FloatRange(min=0.0),
    default=0.3,
    show_default=True,
    metavar="R",
    help="Weight of location and spread beside the kernel. Of every coordinate; 0 is the paper's algorithm.",
)
@max_seconds_option("Give up after S seconds; exit code 4. Reading and both discrepancies included.")
@draws_options("--output-format")
@json_option("Print what was chosen and what it scores as JSON.")
def thin(files: tuple[str, ...], draws: int, **settings: Any) -> None:
    """Thin a sample, write what was chosen, and say on standard error what it scores."""
    from steinkit.discrepancy.kernel.base_kernels import scaled_kernel
    from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy
    from steinkit.discrepancy.kernel.thinning import thin as thin_sample

    output, form = draws_place(settings, files, "--output-format")
    with (
        apart_from_results(),
        time_limit(settings["max_seconds"]),
    ):
        sample, target, bounds, doubts = read_with_target(settings, *files)
        units, why = units_of_one(sample, target, {"units": units_for(settings["units"])})
        kernel = scaled_kernel(settings["kernel"], settings["kernel_scale"])
        before = kernel_stein_discrepancy(sample, target, bounds=bounds, units=units, kernel=kernel)
        same: dict[str, Any] = {"bounds": bounds, "units": before.units, "kernel": before.kernel}
        chosen = thin_sample(sample, target, m=draws, moment_weight=settings["moment_weight"], **same)
        after = kernel_stein_discrepancy(chosen, target, **same)
    deliver_sample(chosen, output, form)
    notes = (*doubts, *why, *before.warnings)
    document = {
        "sample": sample_document(sample),
        "draws": draws,
        "distinct": len(after.sample),
        "units": before.units.document,
        "moment_weight": settings["moment_weight"],
        "ksd": {"before": before.value, "after": after.value, "kernel": repr(before.kernel)},
        "warnings": list(notes),
        "file": None if output == "-" else output,
        "version": __version__,
    }
    for note in notes:
        warn(note)
    tell(_summary(document))
    if settings["json_output"]:
        say(as_json(document))
    elif output != "-" and files != ("-",):
        compared = ["compare", files[0], output, *target_words(settings["target"], settings["options"])]
        say_next([*compared, "--measure", "ksd", "--no-verdict"], "what the choice gained")


def _summary(document: Document) -> str:
    """The same in a few lines."""
    ksd, there = document["ksd"], document["sample"]["draws"]
    again = ", some more than once" if document["draws"] > there else ""
    return (
        f"{document['draws']} draws chosen of {there}{again}, {document['distinct']} of them different\n"
        f"kernel Stein discrepancy {ksd['before']:.4g} before, {ksd['after']:.4g} after ({ksd['kernel']})\n"
        f"written to {printable(document['file'] or 'standard output')}"
    )
