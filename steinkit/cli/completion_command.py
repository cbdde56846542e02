"""``steinkit completion``: the script with which a shell completes words, and what it offers for them."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from steinkit.cli.help_screens import command
from steinkit.cli.outputs import say

SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "steinkit"
_VARIABLE = "_STEINKIT_COMPLETE"  # click reads it, and answers instead of running a command

_HELP = """Print the script that makes a shell complete commands, options, targets, samplers and measures.

\b
bash, in ~/.bashrc:   eval "$(steinkit completion bash)"
zsh, in ~/.zshrc:     eval "$(steinkit completion zsh)"
fish, once:           steinkit completion fish \\
                          > ~/.config/fish/completions/steinkit.fish

Open a new shell then, and press the tabulator key after 'steinkit score draws.csv --target '. bash must be 4.4 or
newer; in zsh, compinit must have been run before.
"""


@command(help=_HELP)
@click.argument("shell", type=click.Choice(SHELLS), required=False, metavar=f"{{{'|'.join(SHELLS)}}}")
def completion(shell: str | None) -> None:
    """Print the script."""
    if shell is None:  # what click says itself holds tabulators
        raise click.UsageError(f"name a shell: {', '.join(SHELLS)}")
    from steinkit.cli import commands

    made = get_completion_class(shell)
    assert made is not None
    say(made(commands, {}, _PROGRAM, _VARIABLE).source())


def complete_target(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Names of built-in targets, and files, in which a target of one's own may be."""
    from steinkit.targets import target_table

    names = [CompletionItem(name, help=summary) for name, _, summary in target_table() if name.startswith(word)]
    return [_files(word), *names]


def complete_target_option(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """KEY= of each option that the built-in target named before takes."""
    from steinkit.targets import target_table

    options = {name: shown for name, shown, _ in target_table()}.get(context.params.get("target") or "", "")
    names = [each.strip("[]") for each in options.split()]
    return [CompletionItem(f"{name}=") for name in names if name.startswith(word)]


def complete_sampler(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """Names of samplers."""
    from steinkit.samplers.registry import find_sampler, sampler_names

    return [CompletionItem(name, help=find_sampler(name).summary) for name in sampler_names() if name.startswith(word)]


def complete_units(context: click.Context, parameter: click.Parameter, word: str) -> list[CompletionItem]:
    """The words for units, and files, which may hold a scale."""
    from steinkit.measures.options import UNIT_WORDS

    return [_files(word), *(CompletionItem(name) for name in UNIT_WORDS if name.startswith(word))]


def _files(word: str) -> CompletionItem:
    """Names of files, which the shell completes itself; first in a list, for bash drops what stands before it."""
    return CompletionItem(word, type="file")
