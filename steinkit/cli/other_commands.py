"""``steinkit report``, ``targets``, ``warm`` and ``completion``, none of which measures a sample."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import get_completion_class

from steinkit.cli.help_screens import command, input_option, output_option
from steinkit.cli.terminal import apart_from_results, require_place, say, say_aside, say_next
from steinkit.errors import SteinkitWarning, printable
from steinkit.text import one_line


@command()
@click.argument("results", nargs=-1, required=True, metavar="RESULT...", type=click.Path())
@input_option(
    "--target",
    metavar="PATH.PY:ATTRIBUTE",
    type=click.Path(),
    help="Your own target, of a score. The file is run, to show the draws. Built-in targets are known from the source.",
)
@output_option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    help="Where the page goes, such as report.html.",
)
@output_option("--title", metavar="TEXT", help="A line above the verdict. It names the page in a browser, too.")
def report(results: tuple[str, ...], output: str, title: str | None, target: str | None) -> None:
    """Write a page of HTML about one or more results.

    \b
    steinkit report FILE.sqlite -o report.html
    steinkit report FILE.sqlite curve.json -o report.html --title "Step of SGLD"
    steinkit report score.json --target model.py:target -o report.html

    RESULT is the file of 'steinkit sweep' or 'tune', or a JSON file that 'steinkit score', 'compare' or 'curve' wrote
    with -o, with the file of arrays beside it. The page is one file that needs no network and runs no script.
    """
    from steinkit.report.page import write_report

    for result in results:
        require_place("-o", output, result, "name a file, such as report.html")
    with apart_from_results():
        write_report(results, output, title=title, target=target)
    say_aside(f"next: open {printable(output)} in a browser")


@command()
def targets() -> None:
    """List the built-in targets, with the options that -p sets."""
    from steinkit.targets import target_table

    lines = []
    for name, options, summary in target_table():
        lines += [name, one_line(summary, "    "), one_line(f"-p {options}", "    ")]
    said = (
        "Options are written -p key=value: -p mean=0,0, -p 'covariance=[[2,1],[1,2]]'. Those in brackets are optional."
    )
    own = "Your own: --target path.py:attribute, a steinkit.Target, a function that returns one, or score(points)."
    say("\n".join([*lines, "", one_line(said), one_line(own)]))
    say_next("sample iid --target normal -p mean=0,0 --draws 500 -o draws.csv", "draws of one")


_DRAWS = 200


@command()
def warm() -> None:
    """Compile the numerical kernels and keep the machine code, so that no first use has to wait for it.

    An installer, or whoever builds an image, runs it once. The code stands beside the modules where their folder can be
    written, and serves all users then; else in the user's own cache folder, or in that which NUMBA_CACHE_DIR names.
    """
    steps = _steps()
    for k, (what, work) in enumerate(steps.items(), start=1):
        say_aside(f"{k} of {len(steps)}: {what}")
        with apart_from_results(), warnings.catch_warnings():
            warnings.simplefilter("ignore", SteinkitWarning)  # of so few draws
            work()
    modules = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("steinkit.")]
    compiled_ones = {each.compiled for found in modules for each in found.values() if hasattr(each, "compiled")}
    kernels = {id(each): each.stats for each in compiled_ones}
    compiled = sum(sum(each.cache_misses.values()) for each in kernels.values() if each.cache_path is not None)
    folders = [each.cache_path for each in kernels.values() if each.cache_path is not None]
    where = f"kept under {os.path.commonpath(folders)}" if folders else "nowhere kept: no cache folder can be written"
    say(f"{compiled} kernels were compiled, the others were there; {where}")
    say_next(["--help"], "all commands")


def _steps() -> dict[str, Callable[[], object]]:
    """Work that between it runs every kernel, compiled, by what to call it."""
    import numpy as np

    from steinkit import samplers
    from steinkit.diagnosis.verdict import verdict
    from steinkit.discrepancy.graph.discrepancy import graph_stein_discrepancy as score
    from steinkit.discrepancy.kernel.ksd import kernel_stein_discrepancy
    from steinkit.runtime.compilation import compile_from_now_on
    from steinkit.targets.families import Normal
    from steinkit.targets.mean_posteriors import MixturePosterior

    compile_from_now_on()
    rng = np.random.default_rng(0)
    plane, space = rng.standard_normal((_DRAWS, 2)), rng.standard_normal((_DRAWS, 3))
    normal = [Normal(np.zeros(dim)) for dim in (1, 2, 3)]
    posterior = MixturePosterior()
    walk: dict[str, Any] = {"proposal_scale": 0.1, "draws": 3, "seed": 0}
    noisy: dict[str, Any] = {"step_size": 1e-3, "batch_size": 5, "draws": 3, "seed": 0}
    return {
        "the graph Stein discrepancy": lambda: score(plane, normal[1]),
        "the discrepancy in one dimension": lambda: score(plane[:, :1], normal[0]),
        "and in many dimensions": lambda: score(space, normal[2], solver="first_order", tolerance=1e-3),
        "the verdict": lambda: verdict(plane, normal[1]),
        "the kernel Stein discrepancy": lambda: kernel_stein_discrepancy(plane, normal[1]),
        "sgld": lambda: samplers.sgld(posterior, **noisy),
        "corrected-sgld": lambda: samplers.corrected_sgld(posterior, **noisy),
        "rwmh": lambda: samplers.rwmh(posterior, **walk),
        "mala": lambda: samplers.mala(posterior, step_size=1e-3, draws=3, seed=0),
        "approximate-mh": lambda: samplers.approximate_mh(posterior, batch_size=20, epsilon=0.1, **walk),
        "barker-mh": lambda: samplers.barker_mh(posterior, batch_size=20, **walk),
        "subsampling-mh": lambda: samplers.subsampling_mh(posterior, **walk),
    }


SHELLS = ("bash", "zsh", "fish")


@command()
@click.argument("shell", type=click.Choice(SHELLS), required=False, metavar=f"{{{'|'.join(SHELLS)}}}")
def completion(shell: str | None) -> None:
    """Print the script that makes a shell complete commands, options, targets, samplers and measures.

    \b
    bash, in ~/.bashrc:   eval "$(steinkit completion bash)"
    zsh, in ~/.zshrc:     eval "$(steinkit completion zsh)"
    fish, once:           steinkit completion fish \\
                              > ~/.config/fish/completions/steinkit.fish

    Open a new shell then, and press the tabulator key after 'steinkit score draws.csv --target '. bash must be 4.4 or
    newer; in zsh, compinit must have been run before.
    """
    if shell is None:  # what click says itself holds tabulators
        raise click.UsageError(f"name a shell: {', '.join(SHELLS)}")
    from steinkit.cli import commands

    made = get_completion_class(shell)
    assert made is not None
    say(made(commands, {}, "steinkit", "_STEINKIT_COMPLETE").source())  # click reads this variable, and answers
