"""The command line: ``steinkit score``, ``compare``, ``curve``, ``sweep``, ``report``, ``sample``, ``thin``, and so on.

Results go to standard output; progress, warnings, errors and the next useful command to standard error. The exit codes
are `EXIT_CODES`; those of errors are the `exit_code` of their classes.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import click

from steinkit import __version__
from steinkit.cli.help_screens import CommandGroup
from steinkit.cli.terminal import (
    INTERRUPTED,
    comes_of_interrupt,
    heeded_interrupts,
    say_aside,
    tell,
    terminal_columns,
    warn,
)
from steinkit.errors import (
    AbandonedWork,
    CrossedBracketError,
    InputError,
    SolverError,
    SteinkitError,
    SteinkitWarning,
    UsageError,
    leave_to_results,
)
from steinkit.text import on_screen

EXIT_CODES = {
    0: "done",
    1: "failed a --fail option",
    UsageError.exit_code: "wrong usage",
    InputError.exit_code: "bad input or output",
    SolverError.exit_code: "no certified answer",
    CrossedBracketError.exit_code: "a defect of steinkit",
    INTERRUPTED: "interrupted",
}
"""What each means: ``steinkit --help`` prints them."""

_COMMANDS = {
    "verdict": ("score", "Judge samples, and say how wrong their numbers are."),
    "repair": ("draws", "Mend draws that are off, by weights or by a short exact run."),
    "score": ("score", "Score a sample: a verdict, and certified discrepancies."),
    "compare": ("compare", "Rank several samples of the same target."),
    "curve": ("compare", "How the score falls with the number of draws, and at what rate."),
    "thin": ("draws", "Choose the draws that together represent a target best."),
    "sample": ("draws", "Draw from a target with a sampler."),
    "sweep": ("sweep", "Score a sampler's settings over many seeds, and choose."),
    "tune": ("sweep", "Choose a sampler's setting at a part of a sweep's cost."),
    "design": ("sampler", "Design the austerity test of approximate-mh."),
    "report": ("other", "Write a page of HTML about results."),
    "targets": ("other", "List the built-in targets, with the options that -p sets."),
    "samplers": ("sampler", "List the samplers, with the options that each takes."),
    "warm": ("other", "Compile the numerical kernels once, for all later uses."),
    "completion": ("other", "Print the script that makes a shell complete words."),
}
"""By name: in which file, ``FILE_commands.py``, the function of this name stands, and what the list says of it."""
_BEGINNING = """\
Are these draws from the target that they claim to represent? To begin:
  steinkit sample iid --target normal --draws 500 -o x.csv  # or take your own
  steinkit verdict x.csv --target normal                    # may they be used?
  steinkit targets                                          # other targets
  steinkit --help                                           # all commands"""


@click.group(
    cls=CommandGroup,
    described=_COMMANDS,
    beginning=_BEGINNING,
    help=f"""Is this sample any good? Certified Stein discrepancies, bias included.
    Exit codes: {"; ".join(f"{code} {said}" for code, said in EXIT_CODES.items())}.
    """,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="steinkit")
def commands() -> None:
    """Run the command named."""


def main() -> NoReturn:
    """Run the command line and exit with its code; no traceback for what the user can mend."""
    try:
        with heeded_interrupts(), warnings.catch_warnings(), on_screen(terminal_columns(sys.stdout)):
            leave_to_results()  # commands print what they warn of
            warnings.showwarning = _shown_as_ours(warnings.showwarning)
            code = commands.main(standalone_mode=False)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        tell(shown.getvalue().rstrip())
        code = error.exit_code
    except SteinkitError as error:
        tell(f"error: {error}")
        code = error.exit_code
    except MemoryError:
        tell("error: not enough memory for a sample of this size; take fewer draws")
        code = SteinkitError.exit_code
    except (Exception, KeyboardInterrupt) as error:
        if comes_of_interrupt(error):
            say_aside("interrupted")
            code = INTERRUPTED
            if isinstance(error.__cause__ or error, AbandonedWork):  # click raises Abort from it
                sys.stdout.flush()
                os._exit(code)  # at once: Python would wait for the thread
        else:  # a defect of ours; Python's own code for it, 1, would read as --fail-above
            say_aside(traceback.format_exc().rstrip())
            code = CrossedBracketError.exit_code
    sys.exit(code or 0)


def _shown_as_ours(show: Callable[..., None]) -> Callable[..., None]:
    """Python's way of showing warnings, but for steinkit's own: each once, and of code no line.

    Python itself would say one again after each change of its filters.
    """
    told = set[str]()

    def shown(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, SteinkitWarning):
            if str(message) not in told:
                warn(str(message))
            told.add(str(message))
        else:
            show(message, category, *where, **more)

    return shown
