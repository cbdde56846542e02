"""The commands ``steinkit report``, ``targets``, ``warm`` and ``completion``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import click
from click.shell_completion import get_completion_class
from cloup import option

from steinkit.cli import options as shared
from steinkit.cli.terminal import apart_from_results, require_place, say, say_aside
from steinkit.errors import SteinkitWarning, printable
from steinkit.text import one_line


@shared.command()
@click.argument("results", nargs=-1, required=True, metavar="RESULT...", type=click.Path())
@option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="HTML file to write.")
@option("--title", metavar="TEXT", help="Title of the page.")
@option("--target", metavar="PATH.PY:ATTRIBUTE", help="Your own target, for plots of the draws (executes the file).")
def report(results: tuple[str, ...], output: str, title: str | None, target: str | None) -> None:
    """Write an HTML page about one or more results.

    \b
    steinkit report sgld.sqlite curve.json -o report.html --title "Step of SGLD"
    \f
    RESULT is a file written by 'steinkit sweep' or 'steinkit tune', or a JSON file that another command wrote with -o.
    If a JSON file has an accompanying file of arrays, both must be in the same folder. The page is a single file
    without scripts or external resources.
    """
    from steinkit.report.page import write_report

    for result in results:
        require_place("-o", output, result, "give a file name such as report.html")
    with apart_from_results():
        write_report(results, output, title=title, target=target)
    say_aside(f"next: open {printable(output)} in a browser")


@shared.command()
def targets() -> None:
    """List the built-in targets and their options for -p.

    \b
    steinkit targets
    """
    from steinkit.targets import target_table

    lines = []
    for name, options, summary in target_table():
        lines += [name, one_line(summary, "    "), one_line(f"-p {options}", "    ")]
    options = "Options in brackets are optional. Examples: -p mean=0,0; -p 'covariance=[[2,1],[1,2]]'."
    own = (
        "Your own target: --target path.py:attribute. The attribute is a steinkit.Target, a function that returns a "
        "Target, or a function score(points)."
    )
    say("\n".join([*lines, "", one_line(options), one_line(own)]))


@shared.command()
def warm() -> None:
    """Compile all numerical kernels and cache the machine code for later runs.

    \b
    steinkit warm

    The machine code is stored in the folder NUMBA_CACHE_DIR if that variable is set. Otherwise, it is stored in the
    package folders if these are writable, and in the user's cache folder if not.
    """
    steps = _steps()
    for k, (name, work) in enumerate(steps.items(), start=1):
        say_aside(f"{k} of {len(steps)}: {name}")
        with apart_from_results(), warnings.catch_warnings():
            warnings.simplefilter("ignore", SteinkitWarning)  # the samples are small
            work()
    say("all kernels are compiled")


def _steps() -> dict[str, Callable[[], object]]:
    """Return named functions that together run every compiled kernel."""
    import numpy as np

    from steinkit.diagnosis.verdict import verdict
    from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy as score
    from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy
    from steinkit.runtime.compilation import compile_from_now_on
    from steinkit.samplers.registry import find_sampler, sampler_names
    from steinkit.targets.families import Normal
    from steinkit.targets.mean_posteriors import MixturePosterior

    compile_from_now_on()
    rng = np.random.default_rng(0)
    plane, space = rng.standard_normal((200, 2)), rng.standard_normal((200, 3))
    normal = [Normal(np.zeros(dim)) for dim in (1, 2, 3)]
    posterior = MixturePosterior()
    settings = {"step_size": 1e-3, "proposal_scale": 0.1, "batch_size": 20, "epsilon": 0.1, "draws": 3}
    solver: dict[str, Any] = {"solver": "first_order", "tolerance": 1e-3}
    steps: dict[str, Callable[[], object]] = {
        "graph Stein discrepancy": lambda: score(plane, normal[1]),
        "graph Stein discrepancy in one dimension": lambda: score(plane[:, :1], normal[0]),
        "graph Stein discrepancy in many dimensions": lambda: score(space, normal[2], **solver),
        "verdict": lambda: verdict(plane, normal[1]),
        "kernel Stein discrepancy": lambda: kernel_stein_discrepancy(plane, normal[1]),
    }
    for sampler in map(find_sampler, sampler_names()):
        options = {name: settings[name] for name in settings.keys() & sampler.options()}
        if sampler.needs_end:
            steps[sampler.name] = partial(sampler.run, posterior, options)
    return steps


SHELLS = ("bash", "zsh", "fish")


@shared.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print a completion script for a shell.

    \b
    bash, in ~/.bashrc:   eval "$(steinkit completion bash)"
    zsh, in ~/.zshrc:     eval "$(steinkit completion zsh)"
    fish, once:           steinkit completion fish > ~/.config/fish/completions/steinkit.fish
    """
    from steinkit.cli import commands

    made = get_completion_class(shell)
    assert made is not None
    say(made(commands, {}, "steinkit", "_STEINKIT_COMPLETE").source())  # this variable is read by click
