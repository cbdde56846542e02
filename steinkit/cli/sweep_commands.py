"""The commands ``steinkit sweep`` and ``steinkit tune``."""

from __future__ import annotations

import click
from cloup import option, option_group

from steinkit.cli import options as shared
from steinkit.cli.terminal import apart_from_results, on_terminal, say, say_next, warn
from steinkit.errors import SolverError
from steinkit.files.streams import as_json
from steinkit.result import Result
from steinkit.sweeps.plan import read_plan
from steinkit.sweeps.run import execution, run_plan
from steinkit.sweeps.store import sweep_file
from steinkit.sweeps.tuning import DEFAULT_COST, DEFAULT_SEEDS, MEASURES, run_tuning

_jobs = option(
    "--jobs", type=int, metavar="N", show_default="none", help="Number of worker processes; -1 for all processors."
)
_file = option("-o", "--output", required=True, metavar="FILE", help="SQLite file for the cells and draws.")


@shared.command()
@click.argument("config", metavar="CONFIG.toml", type=click.Path(dir_okay=False))
@option_group(
    "Work",
    option("--racing", is_flag=True, help="Drop poor settings early (successive elimination)."),
    option(
        "--budgets",
        type=shared.Parsed(lambda text: [*map(int, text.split(","))], "whole numbers such as 10000,100000"),
        metavar="N,N...",
        show_default="those in the file",
        help="Compare the settings at these budgets.",
    ),
    _jobs,
)
@option_group("Output", _file, shared.json_option)
def sweep(
    config: str, output: str, json_output: bool, racing: bool, budgets: list[int] | None, jobs: int | None
) -> int:
    """Run a sampler over a grid of settings and seeds, and choose a setting.

    \b
    steinkit sweep sgld.toml -o sgld --jobs 2

    \b
    CONFIG.toml:
        target = "mixture-posterior"      # or "model.py:target", which is run
        [target_options]
        temperature = 1.0
        [sampler]
        name = "sgld"                     # see 'steinkit samplers'; or "my.py:ula"
        batch_size = 5
        draws = 1000
        start = "normal"                  # depends on the seed; or [0.0, 0.0]
        [grid]
        step_size = [5e-2, 5e-3, 5e-4]
        [run]
        seeds = 50                        # 0 to 49; or a list of seeds
        measures = ["graph", "ess"]
        tolerance = 1e-2
    \f Paths in CONFIG.toml are relative to the folder that contains CONFIG.toml. Any Python files named in CONFIG.toml
    are run. A Python file can define a target, or a sampler as a function (target, *, seed, **options) that returns an
    array of shape (draws, coordinates). With start = "normal", each chain starts from a standard normal draw. The [run]
    table also accepts max_seconds, label, and options of the measures, such as units, dilation and solver.

    Every finished cell is committed to FILE. After an interrupt, the same command with the same FILE resumes the sweep
    and runs failed cells again. The grid and the seeds can be extended later. Cells with a different target, sampler,
    option or measure remain in FILE but are not used. Invalid sampler options are reported before the first cell is
    run. The exit code is 4 if no cell could be scored.
    """
    with apart_from_results():
        plan = read_plan(config, budgets=budgets or ())
        result = run_plan(plan, execution(plan, output, jobs, on_terminal()), racing=racing)
    _report(result, output, json_output)
    return 0 if result.criteria else SolverError.exit_code


def _report(result: Result, output: str, json_output: bool) -> None:
    """Print a result and its warnings, and suggest a command that writes a report."""
    file = sweep_file(output)
    say(as_json(result.to_dict()) if json_output else result.summary())
    for note in result.warnings:
        warn(note)
    say_next(["report", str(file), "-o", str(file.with_suffix(".html"))], "write a report", json_output=json_output)


@shared.command()
@click.argument("config", metavar="CONFIG.toml", type=click.Path(dir_okay=False))
@option_group(
    "Work",
    option(
        "--cost",
        type=click.FloatRange(0.0, 1.0, min_open=True),
        metavar="SHARE",
        default=DEFAULT_COST,
        help="Cost of the choice, as a fraction of the full grid's cost.",
    ),
    _jobs,
)
@option_group("Output", _file, shared.json_option)
def tune(config: str, output: str, json_output: bool, cost: float, jobs: int | None) -> int:
    """Choose a setting at a fraction of the full grid's cost by successive halving.

    \b
    steinkit tune sgld.toml --cost 0.15 -o tuned --jobs 2

    Short chains are run for all settings, and longer chains for the best of these settings. CONFIG.toml has the same
    format as for 'steinkit sweep'. The [sampler] table sets the full chain length as a budget or a number of draws.

    \f
    Every finished cell is committed to FILE. After an interrupt, the same command resumes the run.
    """
    with apart_from_results():
        plan = read_plan(config, seeds=DEFAULT_SEEDS, measures=MEASURES)
        result = run_tuning(plan, execution(plan, output, jobs, on_terminal()), cost)
    _report(result, output, json_output)
    return 0
