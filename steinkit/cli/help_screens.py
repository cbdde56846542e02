"""Help that fits a screen: options in groups, one line each, and those of every day only; ``--help-all`` says it all.

An option's help begins with a sentence of one line, which is what ``--help`` shows of it. A command's own help is cut
there at its form feed.
"""

from __future__ import annotations

import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import click
from click.shell_completion import CompletionItem

from steinkit.cli.terminal import say, say_aside

INPUT, MEASURE, SOLVER, OUTPUT = "Input", "What to measure", "Solver", "Output"
_HELP = "Help"


class GroupedOption(click.Option):
    """An option of a group.

    Parameters
    ----------
    group : str
        The heading under which help lists it.
    everyday : bool
        False of what ``--help`` only names, and ``--help-all`` explains.
    """

    def __init__(self, *args: Any, group: str, everyday: bool = True, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group, self.everyday = group, everyday

    @property
    def summary(self) -> str:
        """What ``--help`` says: the first sentence of its help."""
        first, stop, _ = (self.help or "").partition(". ")
        return f"{first}." if stop else first

    @property
    def is_told_in_brief(self) -> bool:
        """Whether ``--help`` says less than there is to say."""
        return not self.everyday or self.summary != self.help


def option(group: str, *names: str, everyday: bool = True, **settings: Any) -> Callable[[Any], Any]:
    """`click.option` in a group; see `GroupedOption`."""
    return click.option(*names, cls=GroupedOption, group=group, everyday=everyday, **settings)


input_option, measure_option, solver_option, output_option = (
    partial(option, group) for group in (INPUT, MEASURE, SOLVER, OUTPUT)
)


class ScreenCommand(click.Command):
    """A command whose help fits a screen."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = inspect.cleandoc(self.help or "")
        self._has_more = "\f" in self.help or any(each.is_told_in_brief for each in self._grouped)
        if self._has_more:
            self.params.append(help_option(["--help-all"], "Show every option in full.", self.whole_help))

    @property
    def _grouped(self) -> list[GroupedOption]:
        return [param for param in self.params if isinstance(param, GroupedOption) and not param.hidden]

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """The option that shows the screen."""
        return help_option(self.get_help_option_names(ctx), "Show a screen of help.")

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The words after the command's name, options that must be given among them."""
        optional, *arguments = super().collect_usage_pieces(ctx)
        needed = [f"{each.opts[0]} {each.make_metavar(ctx)}" for each in self._grouped if each.required]
        return [*arguments, *needed, optional]

    def whole_help(self, ctx: click.Context) -> str:
        """The help of ``--help-all``."""
        formatter = ctx.make_formatter()
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text((self.help or "").replace("\f", ""))
        for name, options in self._groups(ctx).items():
            with formatter.section(name):
                records = (each.get_help_record(ctx) for each in options)
                formatter.write_dl([record for record in records if record is not None])
        return formatter.getvalue().rstrip("\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of every day, a line each, and the names of the others."""
        groups = self._groups(ctx)
        if self._has_more:
            del groups[_HELP]
        shown = [each for options in groups.values() for each in options if each.everyday]
        terms = {each.name: (each.get_help_record(ctx) or ("",))[0] for each in shown}
        width = max(map(len, terms.values()))
        for heading, options in groups.items():
            with formatter.section(heading):
                lines = [(terms[each.name].ljust(width), each.summary) for each in options if each.everyday]
                if lines:
                    formatter.write_dl(lines, col_max=width)
                others = ", ".join(each.opts[0] for each in options if not each.everyday)
                if others:
                    _write_names(formatter, f"also {others}")
        if self._has_more:
            formatter.write_paragraph()
            formatter.write_text(f"Every option in full: {ctx.command_path} --help-all")

    def _groups(self, ctx: click.Context) -> dict[str, list[GroupedOption]]:
        """The options under their headings, in the order in which these are met; help last."""
        groups: dict[str, list[GroupedOption]] = {}
        own = self.get_help_option(ctx)
        for each in [*self._grouped, *([own] if isinstance(own, GroupedOption) else [])]:
            groups.setdefault(each.group, []).append(each)
        return {heading: groups[heading] for heading in sorted(groups, key=lambda heading: heading == _HELP)}


def command(**settings: Any) -> Callable[[Callable[..., Any]], ScreenCommand]:
    """`click.command` for a `ScreenCommand`."""
    return click.command(cls=ScreenCommand, **settings)


def help_option(
    names: Iterable[str], said: str, show: Callable[[click.Context], str] = click.Context.get_help
) -> GroupedOption:
    """An option that shows help, and ends."""

    def shown(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            say(show(ctx))  # not click.echo, which ends with code 1 where the reader has gone
            ctx.exit()

    return GroupedOption(
        sorted(names, key=len), group=_HELP, help=said, is_flag=True, is_eager=True, expose_value=False, callback=shown
    )


def _write_names(formatter: click.HelpFormatter, text: str) -> None:
    """Names of options, never broken at their hyphens."""
    indent = " " * formatter.current_indent
    wrapped = textwrap.fill(
        text, formatter.width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    formatter.write(f"{wrapped}\n")


class CommandGroup(click.Group):
    """Commands by name, each imported when it is asked for.

    Parameters
    ----------
    described : mapping of str to pairs of str
        Of each the file, ``steinkit/cli/FILE_commands.py``, that holds the function of this name, and what the list of
        commands says of it, in the order in which help lists them.
    beginning : str
        What is said to a user who names no command, on standard error.
    """

    def __init__(self, *args: Any, described: Mapping[str, tuple[str, str]], beginning: str, **settings: Any) -> None:
        super().__init__(*args, **{"no_args_is_help": False, **settings})
        self.commands = {name: click.Command(name, short_help=said) for name, (_, said) in described.items()}
        self._files = {name: file for name, (file, _) in described.items()}
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
        module = importlib.import_module(f"{__package__}.{self._files[cmd_name]}_commands")
        found: click.Command = getattr(module, cmd_name)
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
