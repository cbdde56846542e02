"""``steinkit sweep``: a sampler with many settings and seeds, scored, and the best setting chosen."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from steinkit.cli.documents import as_json
from steinkit.cli.outputs import on_terminal, say, say_aside, warn
from steinkit.cli.shared_options import setting_option
from steinkit.sweeps.backends import backend_names

_NOTHING_SCORED = 4

_HELP = """Run a sampler with every setting that CONFIG.toml lists, from several seeds, score the chains, and choose.

\b
steinkit sweep sgld.toml -o sgld --jobs 2
steinkit sweep sgld.toml -o sgld --racing --json > choice.json
steinkit sweep sgld.toml -o sgld --backend dask --scheduler tcp://head:8786

\b
CONFIG.toml:
    target = "mixture-posterior"    # or "model.py:target", which is then run; paths are relative to CONFIG.toml
    [target_options]
    temperature = 1.0
    [sampler]
    name = "sgld"                   # 'steinkit samplers' lists names and options
    batch_size = 5
    draws = 1000
    start = "normal"                # a standard normal state from each seed; or a state, [0.0, 0.0]
    [grid]
    step_size = [5e-2, 5e-3, 5e-4]
    [run]
    seeds = 50                      # 0 to 49; or a list of seeds
    measures = ["graph", "ess"]
    tolerance = 1e-2                # also: max_seconds, max_memory, racing, label, units, dilation, engine, ...

Every finished cell is kept in DIR at once. The same command on the same DIR goes on where a run broke off, and runs
nothing twice, but for cells that failed, once more, and what was damaged meanwhile. Exit code 4 if no cell could be
scored.
"""


@click.command(help=_HELP)
@click.argument("config", metavar="CONFIG.toml", type=click.Path(dir_okay=False))
@click.option(
    "-o",
    "--output",
    "directory",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Folder in which records and draws are kept; made if it does not exist.",
)
@click.option(
    "--jobs",
    type=int,
    metavar="N",
    help="Worker processes, -1 for all processors; by default none with loky, all of the cluster's with the others.",
)
@click.option(
    "--backend",
    type=click.Choice(backend_names()),
    default="loky",
    show_default=True,
    help="loky: processes of this machine; dask, ray: a cluster, one of this machine if no --scheduler is given. It "
    "unpickles what it is sent, so that it must be trusted.",
)
@click.option("--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler or Ray cluster.")
@setting_option("max_memory")
@click.option("--racing", is_flag=True, help="Drop settings as soon as they certainly do not win, to save time.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON instead of words.")
def sweep(
    config: str,
    directory: str,
    jobs: int | None,
    backend: str,
    scheduler: str | None,
    max_memory: float | None,
    racing: bool,
    json_output: bool,
) -> int:
    """Run a sweep; the exit code says whether anything could be scored."""
    from steinkit.sweeps.configuration import read_configuration
    from steinkit.sweeps.run import run_plan

    with contextlib.redirect_stdout(sys.stderr):  # what a user's own code prints is no result
        plan, asked_for_racing = read_configuration(config, max_memory)
        try:
            result = run_plan(
                plan,
                directory=Path(directory),
                n_jobs=jobs,
                backend=backend,
                scheduler=scheduler,
                racing=racing or asked_for_racing,
                progress=on_terminal(),
            )
        except KeyboardInterrupt as interrupt:
            for note in getattr(interrupt, "__notes__", ()):
                say_aside(note)
            raise
    try:
        say(as_json(result.document) if json_output else result.summary())
    finally:
        for note in result.warnings:
            warn(note)
    return 0 if result.criteria else _NOTHING_SCORED
