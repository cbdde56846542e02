"""A group of commands each of which is imported when it is asked for: to list them all costs no import of any."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click


class CommandGroup(click.Group):
    """Commands by name: the function NAME of the module ``steinkit.cli.NAME_command``.

    Parameters
    ----------
    described : mapping of str to str
        What the list of commands says of each.
    """

    def __init__(self, *args: Any, described: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.commands = {name: click.Command(name, short_help=said) for name, said in described.items()}

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in self.commands:
            return None
        found: click.Command = getattr(importlib.import_module(f"{__package__}.{cmd_name}_command"), cmd_name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.commands[name].short_help or "") for name in self.list_commands(ctx)])
