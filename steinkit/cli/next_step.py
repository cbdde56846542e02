"""The command that is useful next: the last line on standard error, but with ``--json``, where a program reads on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from steinkit.cli.documents import command_line
from steinkit.cli.outputs import say_aside

_PROGRAM = "steinkit"


def say_next(words: Sequence[str], purpose: str, *, json_output: bool = False) -> None:
    """Say which command is useful next, and what for; nothing beside JSON.

    Parameters
    ----------
    words : sequence of str
        Of the command, after the program's name.
    purpose : str
    json_output : bool
        Whether the command that ends printed JSON.
    """
    if not json_output:
        say_aside(f"next: {shlex.join([_PROGRAM, *words])}  # {purpose}")


def say_next_of_result(files: Sequence[str], options: Mapping[str, Any], name: str, *, has_picture: bool) -> None:
    """Say what to do with a result: a page of its JSON, else its picture, else its JSON.

    Parameters
    ----------
    files : sequence of str
        What was read; standard input cannot be read again.
    options : mapping
        Of the command: "output", "plot" and "json_output".
    name : str
        What files of it are called.
    has_picture : bool
    """
    if options["output"]:
        words, purpose = ["report", options["output"], "-o", "report.html"], "a page of it"
    elif "-" in files:
        return
    elif has_picture and not options["plot"]:
        words, purpose = [*command_line(), "--plot", f"{name}.png"], "the picture"
    else:
        words, purpose = [*command_line(), "-o", f"{name}.json"], "keep it, for a page of steinkit report"
    say_next(words, purpose, json_output=options["json_output"])


def target_words(target: str | None, pairs: Sequence[str]) -> list[str]:
    """The target and its options, as words."""
    named = [] if target is None else ["--target", target]
    return named + [word for pair in pairs for word in ("-p", pair)]
