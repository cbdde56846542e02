"""A group of commands each of which is imported when it is asked for: to list them all costs no import of any."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from steinkit.cli.help_screens import help_option
from steinkit.cli.outputs import say_aside


class CommandGroup(click.Group):
    """Commands by name: the function NAME of the module ``steinkit.cli.NAME_command``.

    Parameters
    ----------
    described : mapping of str to str
        What the list of commands says of each, in the order in which help lists them.
    beginning : str
        What is said to a user who names no command, on standard error.
    """

    def __init__(self, *args: Any, described: Mapping[str, str], beginning: str, **settings: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, **settings})
        self.commands = {name: click.Command(name, short_help=said) for name, said in described.items()}
        self._beginning = beginning

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; without any, say how to begin, with the exit code of wrong usage: nothing was done."""
        if not args and not ctx.resilient_parsing:
            say_aside(self._beginning)
            ctx.exit(click.UsageError.exit_code)
        return super().parse_args(ctx, args)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option that shows the list."""
        return help_option(self.get_help_option_names(ctx), "Show this screen.")

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in self.commands:
            return None
        found: click.Command = getattr(importlib.import_module(f"{__package__}.{cmd_name}_command"), cmd_name)
        return found

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands that begin so, and the group's own options."""
        found = [
            CompletionItem(name, help=each.short_help)
            for name, each in self.commands.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, and what the group's own options show; a section for these would not fit."""
        self.format_commands(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text("COMMAND --help shows the options of a command; --version the version.")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.short_help or "") for name, each in self.commands.items()])
