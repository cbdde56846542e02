"""``steinkit repair``: draws weighted or moved so that they stand for their target."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from steinkit import __version__
from steinkit.cli.delivery import deliver_sample, draws_options, draws_place
from steinkit.cli.help_screens import MEASURE, command, option
from steinkit.cli.outputs import apart_from_results, say, say_next, target_words, tell, warn
from steinkit.cli.request import read_with_target
from steinkit.cli.shared_options import (
    file_options,
    files_argument,
    json_option,
    max_seconds_option,
    seed_option,
    setting_option,
    target_options,
)
from steinkit.errors import printable
from steinkit.files.streams import as_json
from steinkit.runtime.deadlines import time_limit
from steinkit.sample import Sample

_HELP = """Mend the draws in FILE ('-' for standard input). Several FILEs are chains of one sample.

\b
steinkit repair draws.csv --target normal -p mean=0,0 -o repaired.csv
steinkit repair laplace.csv --target model.py:target -o repaired.csv
\f
Weights of largest entropy make the means of Stein features zero. Where these would be worth less than a fifth of the
draws, every draw is moved by a short run of Hamiltonian Monte Carlo, if the target has a log density. Neither puts
draws where there are none: in a mode that none has visited, or in a tail that was cut. Modes that lie apart get their
shares, if the target has a log density.
"""


@command(help=_HELP)
@files_argument
@target_options
@file_options
@setting_option("bounds", names_measures=False)
@option(
    MEASURE,
    "--method",
    type=click.Choice(("auto", "weights", "run")),
    default="auto",
    show_default=True,
    help="How to mend. auto takes weights where they are worth a fifth of the draws, else a run; of modes the shares.",
)
@option(
    MEASURE, "--resample", is_flag=True, help="Draw as many draws by their weights. By default weights are a column."
)
@seed_option("Of the run, and of --resample.")
@max_seconds_option("Give up after S seconds; exit code 4.")
@draws_options("--output-format")
@json_option("Print the biases before and after as JSON.")
def repair(files: tuple[str, ...], **options: Any) -> None:
    """Repair a sample, write it, and say on standard error how far it was off and is."""
    from steinkit.discrepancy.bias.repair import repair as mend

    output, form = draws_place(options, files, "--output-format")
    with (
        apart_from_results(),
        time_limit(options["max_seconds"]),
    ):
        sample, target, bounds, notes = read_with_target(options, *files)
        found = mend(sample, target, bounds=bounds, method=options["method"], rng=options["seed"])
    mended = _resampled(found.sample, options["seed"]) if options["resample"] else found.sample
    deliver_sample(mended, output, form)
    for note in (*notes, *found.warnings):
        warn(note)
    tell(f"{found.summary()}\n\nwritten to {printable('standard output' if output == '-' else output)}")
    if options["json_output"]:
        say(as_json({**found.to_dict(), "file": output, "version": __version__}))
    elif output != "-":
        say_next(["verdict", output, *target_words(options["target"], options["options"])], "judge them again")


def _resampled(sample: Sample, seed: int) -> Sample:
    """As many draws, by stratified resampling (Kitagawa 1996): draw i stands there about n w_i times."""
    if sample.weights is None:
        return sample
    n = len(sample)
    rows = np.searchsorted(np.cumsum(sample.probabilities), (np.arange(n) + np.random.default_rng(seed).random(n)) / n)
    return sample[np.minimum(rows, n - 1)].with_columns(weights=None)
