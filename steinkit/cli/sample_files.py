"""Where the draws that a command makes go: a file, or standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from steinkit.cli.help_screens import OUTPUT, option
from steinkit.cli.outputs import require_places
from steinkit.cli.shared_options import Command, in_order
from steinkit.errors import OutputError, UsageError
from steinkit.files import write_sample
from steinkit.sample import Sample

SAMPLE_FORMATS = ("csv", "npz")


def draws_options(format_flag: str) -> Callable[[Command], Command]:
    """``-o``, and the format by a flag of this name: "output" and "output_format"."""
    where = option(
        OUTPUT,
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        type=click.Path(dir_okay=False, allow_dash=True),
        help="Where the draws go: .csv, .npz, or '-'. The last is standard output, as CSV.",
    )
    form = option(
        OUTPUT,
        format_flag,
        "output_format",
        everyday=False,
        type=click.Choice(SAMPLE_FORMATS),
        help="Format of the output. By default the ending decides.",
    )
    return lambda command: in_order(command, where, form)


def format_of(file: str, asked: str | None, option: str = "--format") -> str:
    """The format asked for by an option of that name, or that of the file's ending."""
    if asked is not None:
        return asked
    ending = "csv" if file == "-" else Path(file.lower().removesuffix(".gz")).suffix.removeprefix(".")
    if ending not in SAMPLE_FORMATS:
        raise UsageError(f"-o {file}: the ending must be .csv or .npz; rename the file, or pass {option} csv or npz")
    return ending


def require_sample_place(file: str, json_output: bool, source: str = "-") -> None:
    """Refuse, before any work is done, a file that cannot be written, or that the draws are read from."""
    if file == "-":
        if json_output:
            raise UsageError("--json and -o - would both write to standard output; give -o a file")
        return
    require_places(source, file, None)
    folder = Path(file).resolve().parent
    if not os.access(folder, os.W_OK) and not os.access(file, os.W_OK):
        raise OutputError(f"{file} cannot be written: no permission for the folder {folder}; choose another folder")


def deliver_sample(sample: Sample, file: str, file_format: str) -> None:
    """Write the draws. A reader of standard output who has gone, such as ``head``, is no error."""
    try:
        write_sample(sample, file, format=file_format)
    except OutputError as error:
        if file == "-":
            sys.stdout = None  # nothing is left to flush at the end
            if isinstance(error.__context__, BrokenPipeError):
                return
        raise
