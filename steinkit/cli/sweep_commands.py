"""``steinkit sweep`` and ``steinkit tune``: a sampler's settings scored, and the best chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from cloup import option, option_group

from steinkit.cli import options as shared
from steinkit.cli.terminal import apart_from_results, on_terminal, say, say_next, warn
from steinkit.files.streams import as_json
from steinkit.sweeps import BACKENDS

if TYPE_CHECKING:
    from steinkit.result import Result
    from steinkit.sweeps.run import Workplace

_NOTHING_SCORED = 4


def _init(ctx: click.Context, parameter: click.Parameter, file: str | None) -> None:
    """Write a starter file and exit."""
    if file is None or ctx.resilient_parsing:
        return
    from steinkit.sweeps.configuration import write_starting_file

    write_starting_file(file)
    say(f"{file} is written.")
    say_next(["sweep", file, "-o", str(Path(file).with_suffix(""))], "run it as it stands, or edit it first")
    ctx.exit()


_work_options = shared.combined(
    option(
        "--jobs", type=int, metavar="N", show_default="none", help="Worker processes of loky; -1 for all processors."
    ),
    option(
        "--backend",
        metavar="NAME",
        type=click.Choice(BACKENDS),
        default="loky",
        help="loky (processes), dask or ray. A cluster unpickles all it receives: use one that you trust.",
    ),
    option("--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler or Ray head."),
)
_file = option("-o", "--output", required=True, metavar="FILE", help="SQLite file for cells and draws.")


def _workplace(file: str, options: Mapping[str, Any]) -> Workplace:
    """Return the place where cells are computed and kept."""
    from steinkit.sweeps.run import Workplace

    return Workplace(file, options["jobs"], options["backend"], options["scheduler"], on_terminal())


@shared.command()
@click.argument("config", metavar="CONFIG.toml", type=click.Path(dir_okay=False))
@option_group(
    "Work", option("--racing", is_flag=True, help="Save time: drop settings that surely do not win."), _work_options
)
@option_group(
    "Output",
    _file,
    option("--init", metavar="FILE", is_eager=True, expose_value=False, callback=_init, help="Write a starter file."),
    shared.json_option,
)
def sweep(config: str, output: str, json_output: bool, **options: Any) -> int:
    """Run a sampler with every setting that CONFIG.toml lists, from several seeds, score the chains, and choose.

    \b
    steinkit sweep --init sgld.toml       # writes a starter file
    steinkit sweep sgld.toml -o sgld --jobs 2

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
    Paths in CONFIG.toml are relative to it. A Python file that it names is run: for a target, or for a sampler, a
    function (target, *, seed, **options) that returns draws, an array of shape (draws, coordinates). A start "normal"
    is a standard normal state from each seed. [run] also takes max_seconds, racing, label and the settings of the
    measures but operator: units, dilation, solver, and so on.

    Every finished cell is kept in FILE at once. The same command with the same FILE goes on where a run broke off;
    only cells that failed are run again. The grid and the seeds may grow. A cell of another target, sampler, option or
    measure is another cell: such cells stay in FILE and are not used. A value that the sampler does not allow is
    reported before anything is run. The exit code is 4 if no cell could be scored.
    """
    from steinkit.sweeps.configuration import read_configuration
    from steinkit.sweeps.run import run_plan

    with apart_from_results():
        plan, asked_for_racing = read_configuration(config)
        result = run_plan(plan, _workplace(output, options), options["racing"] or asked_for_racing)
    _report(result, output, json_output)
    return 0 if result.criteria else _NOTHING_SCORED


def _report(result: Result, output: str, json_output: bool) -> None:
    """Print a result and its warnings, and suggest to make a page of it."""
    from steinkit.sweeps.store import sweep_file

    file = sweep_file(output)
    say(as_json(result.to_dict()) if json_output else result.summary())
    for note in result.warnings:
        warn(note)
    say_next(["report", str(file), "-o", str(file.with_suffix(".html"))], "a page of it", json_output=json_output)


@shared.command()
@click.argument("config", metavar="CONFIG.toml", type=click.Path(dir_okay=False))
@option_group(
    "Work",
    option(
        "--cost",
        type=click.FloatRange(0.0, 1.0, min_open=True),
        metavar="SHARE",
        default=0.15,
        help="Fraction of the full grid's cost to spend.",
    ),
    option("--max-seconds", type=float, metavar="S", help="Begin no chains after S seconds."),
    _work_options,
)
@option_group("Output", _file, shared.json_option)
def tune(config: str, output: str, json_output: bool, **options: Any) -> int:
    """Choose a setting at a fraction of the full grid's cost: all run for a short while, the better ones longer.

    \b
    steinkit tune sgld.toml --cost 0.15 -o tuned --jobs 2

    CONFIG.toml is one of 'steinkit sweep'. [sampler] sets the full length of a chain, budget or draws. In place of
    [grid] it may have ranges, tried at Sobol points, log-uniform in between:

    \b
        [ranges]
        step_size = [1e-4, 1e-1]
        batch_size = [10, 1000]           # whole, as both ends are
        [run]
        settings = 27
        seeds = 3

    \f
    Every finished chain is kept in FILE at once; the same command goes on where a run broke off.
    """
    from steinkit.sweeps.configuration import read_tuning
    from steinkit.sweeps.tuning import run_tuning

    with apart_from_results():
        result = run_tuning(read_tuning(config), options["cost"], _workplace(output, options), options["max_seconds"])
    _report(result, output, json_output)
    return 0
