"""``steinkit sweep`` and ``steinkit tune``: a sampler's settings scored, and the best chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steinkit.cli.help_screens import command, measure_option, output_option, solver_option
from steinkit.cli.options import in_order, json_option, max_seconds_option
from steinkit.cli.terminal import apart_from_results, on_terminal, say, say_next, tell, warn
from steinkit.files.streams import as_json
from steinkit.sweeps import BACKENDS

if TYPE_CHECKING:
    from steinkit.result import Result
    from steinkit.sweeps.run import Workplace

_NOTHING_SCORED = 4


def _begin(ctx: click.Context, parameter: click.Parameter, file: str | None) -> None:
    """Write a starting file, and end."""
    if file is None or ctx.resilient_parsing:
        return
    from steinkit.sweeps.configuration import write_starting_file

    write_starting_file(file)
    say(f"{file} is written.")
    say_next(["sweep", file, "-o", str(Path(file).with_suffix(""))], "run it as it stands, or edit it first")
    ctx.exit()


_jobs = solver_option(
    "--jobs",
    type=int,
    metavar="N",
    help="Worker processes of loky, -1 for all processors. By default none: the work is done in this process.",
)
_backend = in_order(
    solver_option(
        "--backend",
        metavar="NAME",
        type=click.Choice(BACKENDS),
        default="loky",
        show_default=True,
        help="loky, processes here; dask or ray, a cluster at --scheduler. A cluster unpickles what it is sent: use "
        "one that you trust.",
    ),
    solver_option("--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler or Ray cluster."),
)
_file = output_option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="SQLite file for cells and draws. '.sqlite' is added to a name without it.",
)


def _workplace(file: str, options: Mapping[str, Any]) -> Workplace:
    """Where cells are computed and kept."""
    from steinkit.sweeps.run import Workplace

    return Workplace(file, options["jobs"], options["backend"], options["scheduler"], on_terminal())


@command()
@click.argument("config", metavar="CONFIG.toml", type=click.Path(dir_okay=False))
@_jobs
@solver_option(
    "--racing",
    is_flag=True,
    help="Save time: drop settings that will not win. Each goes as soon as that is certain.",
)
@_backend
@_file
@output_option(
    "--init",
    type=click.Path(dir_okay=False),
    is_eager=True,
    expose_value=False,
    callback=_begin,
    help="Write a CONFIG.toml to begin with, and end. It runs as it stands; no file is replaced.",
)
@json_option("Print JSON instead of words.")
def sweep(config: str, output: str, json_output: bool, **options: Any) -> int:
    """Run a sampler with every setting that CONFIG.toml lists, from several seeds, score the chains, and choose.

    \b
    steinkit sweep --init sgld.toml       # write a CONFIG.toml to begin with
    steinkit sweep sgld.toml -o sgld --jobs 2
    steinkit sweep sgld.toml -o sgld --racing --json > choice.json

    \b
    CONFIG.toml:
        target = "mixture-posterior"      # or "model.py:target", which is run
        [target_options]
        temperature = 1.0
        [sampler]
        name = "sgld"                     # of 'steinkit samplers'; or "my.py:ula"
        batch_size = 5
        draws = 1000
        start = "normal"                  # drawn from each seed; or [0.0, 0.0]
        [grid]
        step_size = [5e-2, 5e-3, 5e-4]
        [run]
        seeds = 50                        # 0 to 49; or a list of seeds
        measures = ["graph", "ess"]
        tolerance = 1e-2
    \f
    \b
    steinkit sweep sgld.toml -o sgld --backend dask --scheduler tcp://head:8786

    Paths in CONFIG.toml are relative to it. A Python file that it names is run: for a target, or for a sampler, which
    is a function (target, *, seed, **options) that returns draws, an array of shape (draws, coordinates). A start
    "normal" is a standard normal state from each seed. [run] takes max_seconds, racing and label, too, and the
    settings of the measures but operator: units, dilation, solver, and so on.

    Every finished cell is kept in FILE at once. The same command with the same FILE goes on where a run broke off, and
    runs nothing twice, but for cells that failed. The grid and the seeds may grow. A cell of another target, sampler,
    option or measure is another cell: such cells stay in FILE and are not used. A value that the sampler does not allow
    is reported before anything is run. Exit code 4 if no cell could be scored.
    """
    from steinkit.sweeps.configuration import read_configuration
    from steinkit.sweeps.run import run_plan

    with apart_from_results():
        plan, asked_for_racing = read_configuration(config)
        try:
            result = run_plan(plan, _workplace(output, options), options["racing"] or asked_for_racing)
        except KeyboardInterrupt as interrupt:
            for note in getattr(interrupt, "__notes__", ()):
                tell(note)
            raise
    _report(result, output, json_output)
    return 0 if result.criteria else _NOTHING_SCORED


def _report(result: Result, output: str, json_output: bool) -> None:
    """Print a result, warn, and say how to make a page of it."""
    from steinkit.sweeps.store import sweep_file

    file = sweep_file(output)
    say(as_json(result.to_dict()) if json_output else result.summary())
    for note in result.warnings:
        warn(note)
    say_next(["report", str(file), "-o", str(file.with_suffix(".html"))], "a page of it", json_output=json_output)


@command()
@click.argument("config", metavar="CONFIG.toml", type=click.Path(dir_okay=False))
@measure_option(
    "--cost",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    metavar="SHARE",
    default=0.15,
    show_default=True,
    help="Share of the full grid's cost to spend. In evaluations or draws, as the chain's length is given.",
)
@max_seconds_option("Begin no longer chains after S seconds. The choice is then the best of those that were run.")
@_jobs
@_backend
@_file
@json_option("Print JSON instead of words.")
def tune(config: str, output: str, json_output: bool, **options: Any) -> int:
    """Choose a setting at a part of the full grid's cost: all run for a short while, the better ones longer.

    \b
    steinkit tune sgld.toml --cost 0.15 -o tuned --jobs 2
    steinkit tune sgld.toml -o tuned --max-seconds 600 --json > choice.json
    \f
    CONFIG.toml is one of 'steinkit sweep'. [sampler] says the full length of a chain, budget or draws. In place of
    [grid] it may have ranges, tried at Sobol's points, log-uniform in between:

    \b
        [ranges]
        step_size = [1e-4, 1e-1]
        batch_size = [10, 1000]           # whole, as both ends are
        [run]
        settings = 27
        seeds = 3

    Every finished chain is kept in FILE at once; the same command goes on where a run broke off. Exit code as of
    'sweep'.
    """
    from steinkit.sweeps.configuration import read_tuning
    from steinkit.sweeps.tuning import run_tuning

    with apart_from_results():
        result = run_tuning(read_tuning(config), options["cost"], _workplace(output, options), options["max_seconds"])
    _report(result, output, json_output)
    return 0
