"""``steinkit tune``: a sampler's setting chosen at a part of a grid's cost."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from steinkit.cli.help_screens import MEASURE, OUTPUT, SOLVER, command, option
from steinkit.cli.outputs import on_terminal, say, warn
from steinkit.cli.shared_options import json_option
from steinkit.files.streams import as_json
from steinkit.sweeps.workers import BACKENDS

_HELP = """Choose a setting at a part of the full grid's cost: all run for a short while, the better ones longer.

\b
steinkit tune sgld.toml --cost 0.15 -o tuned --jobs 2
steinkit tune sgld.toml -o tuned --max-seconds 600 --json > choice.json
\f
FILE.toml is one of 'steinkit sweep'. [sampler] says the full length of a chain, budget or draws. In place of [grid] it
may have ranges, tried at Sobol's points, log-uniform in between:

\b
    [ranges]
    step_size = [1e-4, 1e-1]
    batch_size = [10, 1000]           # whole, as both ends are
    [run]
    settings = 27
    seeds = 3

Every finished chain is kept in DIR at once; the same command goes on where a run broke off. Exit code as of 'sweep'.
"""


@command(help=_HELP)
@click.argument("config", metavar="FILE.toml", type=click.Path(dir_okay=False))
@option(
    MEASURE,
    "--cost",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    metavar="SHARE",
    default=0.15,
    show_default=True,
    help="Share of the full grid's cost to spend. In evaluations or draws, as the chain's length is given.",
)
@option(
    SOLVER,
    "--max-seconds",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="S",
    help="Begin no longer chains after S seconds. The choice is then the best of those that were run.",
)
@option(SOLVER, "--jobs", type=int, metavar="N", help="Worker processes, -1 for all processors.")
@option(
    SOLVER,
    "--backend",
    metavar="NAME",
    type=click.Choice(BACKENDS),
    default="loky",
    show_default=True,
    help="loky, processes here, or a cluster that you trust.",
)
@option(SOLVER, "--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler or Ray cluster.")
@option(
    OUTPUT,
    "-o",
    "--output",
    "directory",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Folder for records and draws. It is made if it does not exist; one of another sweep is refused.",
)
@json_option("Print JSON instead of words.")
def tune(
    config: str,
    cost: float,
    max_seconds: float | None,
    jobs: int | None,
    backend: str,
    scheduler: str | None,
    directory: str,
    json_output: bool,
) -> int:
    """Tune a sampler."""
    from steinkit.sweeps.configuration import read_tuning, require_folder, require_runnable
    from steinkit.sweeps.store import TUNING
    from steinkit.sweeps.tuning import run_tuning

    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is not a result
        plan = read_tuning(config)
        require_folder(plan, Path(directory), result=TUNING)
        require_runnable(plan)
        result = run_tuning(
            plan,
            cost,
            max_seconds=max_seconds,
            directory=Path(directory),
            n_jobs=jobs,
            backend=backend,
            scheduler=scheduler,
            progress=on_terminal(),
        )
    say(as_json(result.to_dict()) if json_output else result.summary())
    for note in result.warnings:
        warn(note)
    return 0
