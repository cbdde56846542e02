"""``steinkit completion``: the script with which a shell completes commands, options, and names of targets."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

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
