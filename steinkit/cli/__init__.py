"""Command-line interface of steinkit.

Results are printed to standard output. Progress, warnings, errors and suggested commands are printed to standard error.
The exit codes are listed in `EXIT_CODES`. If an error is raised, the exit code is the `exit_code` of the error class.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NoReturn

import click

from steinkit import __version__, errors
from steinkit.cli import terminal
from steinkit.text import listed, on_screen

EXIT_CODES = {
    0: "done",
    1: "failed a --fail option",
    errors.UsageError.exit_code: "invalid usage",
    errors.InputError.exit_code: "invalid input or output",
    errors.SolverError.exit_code: "no certified result, no verdict, or an undecided --fail condition",
    errors.CrossedBracketError.exit_code: "a bug in steinkit",
    terminal.INTERRUPTED: "interrupted",
}
"""Meanings of the exit codes, as shown by ``steinkit --help``."""

_COMMANDS = {
    "verdict": ("score", "Test whether draws come from a target, and estimate their bias."),
    "repair": ("draws", "Correct biased draws by reweighting or a short exact run."),
    "score": ("score", "Compute the verdict and certified discrepancies of a sample."),
    "compare": ("compare", "Rank several samples of the same target."),
    "curve": ("compare", "Measure how a discrepancy decreases with the number of draws."),
    "thin": ("draws", "Select a subset of draws that best represents a target."),
    "sample": ("draws", "Generate draws from a target with a sampler."),
    "sweep": ("sweep", "Compare sampler settings over many seeds, and choose a setting."),
    "tune": ("sweep", "Choose a sampler's settings at a fraction of a sweep's cost."),
    "design": ("sampler", "Design the sequential test of approximate-mh."),
    "report": ("other", "Write an HTML page about results."),
    "targets": ("other", "List the built-in targets and their options."),
    "samplers": ("sampler", "List the samplers and their options."),
    "warm": ("other", "Compile all numerical kernels and cache the machine code."),
    "completion": ("other", "Print the completion script of a shell."),
}
"""Module (``MODULE_commands.py``) and summary of each command."""


def load_command(name: str) -> click.Command:
    """Return a command, importing its module on first use."""
    module = importlib.import_module(f"{__package__}.{_COMMANDS[name][0]}_commands")
    found: click.Command = getattr(module, name)
    return found


class CommandGroup(click.Group):
    """Command group that imports only the command that is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help text."""
        return [*self.commands]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the name, the command and the remaining arguments of a command line."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else load_command(name), rest


@click.group(
    cls=CommandGroup,
    commands=[click.Command(name, short_help=summary) for name, (_, summary) in _COMMANDS.items()],
    help=f"""Measure the quality and bias of samples with certified Stein discrepancies.

    \b
    steinkit verdict draws.csv --target normal

    Exit codes: {"; ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items())}.
    """,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="steinkit")
def commands() -> None:
    """Run the named command."""


def main() -> NoReturn:
    """Run the command line and exit.

    No traceback is printed for user errors.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # names can contain characters that the terminal encoding does not support
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with terminal.heeded_interrupts(), warnings.catch_warnings(), on_screen(terminal.terminal_columns(sys.stdout)):
            errors.leave_to_results()  # the commands themselves print the warnings in results
            warnings.showwarning = _show_warnings_once(warnings.showwarning)
            code = commands.main(standalone_mode=False)
    except click.ClickException as error:
        if isinstance(error, click.exceptions.NoArgsIsHelpError):
            terminal.say_aside(error.format_message())
        else:
            terminal.tell(f"error: {error.format_message()}{_owners_of_option(error)}")
        code = error.exit_code
    except errors.SteinkitError as error:
        terminal.tell(f"error: {error}")
        code = error.exit_code
    except SystemExit as error:  # raised by user code
        from steinkit.user_functions import described  # the list of commands is printed without importing NumPy

        terminal.tell(f"error: user code called exit: {described(error)}")
        code = errors.InputError.exit_code
    except MemoryError:
        terminal.tell("error: not enough memory for this sample; use fewer draws")
        code = errors.SteinkitError.exit_code
    except (Exception, KeyboardInterrupt) as error:
        if terminal.comes_of_interrupt(error):
            for note in (*getattr(error.__cause__ or error, "__notes__", ()), "interrupted"):
                terminal.tell(note)
            code = terminal.INTERRUPTED
            if isinstance(error.__cause__ or error, errors.AbandonedWork):  # click raises Abort from KeyboardInterrupt
                sys.stdout.flush()
                os._exit(code)  # Python would otherwise wait for the thread
        else:  # Python's own exit code 1 would be mistaken for a --fail option
            terminal.say_aside(traceback.format_exc().rstrip())
            code = errors.CrossedBracketError.exit_code
    sys.exit(code or 0)


def _owners_of_option(error: click.ClickException) -> str:
    """Return a sentence that names the commands that accept an unknown option."""
    if not isinstance(error, click.NoSuchOption):
        return ""
    owners = [name for name in _COMMANDS if any(error.option_name in each.opts for each in load_command(name).params)]
    return f" This option belongs to steinkit {listed(owners)}." if owners else ""


def _show_warnings_once(show: Callable[..., None]) -> Callable[..., None]:
    """Return a `warnings.showwarning` that prints each steinkit warning once.

    Python shows a warning again after each change to the warning filters.
    """
    warn_once = cache(terminal.warn)

    def shown(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, errors.SteinkitWarning):
            warn_once(str(message))
        else:
            show(message, category, *where, **more)

    return shown
