"""Where what a command makes goes: its result to standard output, JSON and a picture; draws to a file."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steinkit.cli.help_screens import OUTPUT, option
from steinkit.cli.outputs import command_line, is_device, require_places, say, say_next, warn
from steinkit.cli.shared_options import Command, in_order
from steinkit.describe.results import Result
from steinkit.errors import OutputError, UsageError
from steinkit.files import write_sample
from steinkit.files.streams import as_json, write_bytes
from steinkit.sample import Sample
from steinkit.saved_results import save_result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def deliver(
    options: Mapping[str, Any],
    document: dict[str, Any],
    text: Callable[[], str],
    notes: Iterable[str],
    draw: Callable[[], Figure] | None = None,
    result: Result | None = None,
) -> None:
    """Print the document or the text, write the files that were asked for, and warn.

    Parameters
    ----------
    options : mapping
        Those of `output_options`.
    document : dict
    text : callable
        Makes the text where it is wanted.
    notes : iterable of str
        Warnings for standard error, which come last and whatever fails.
    draw : callable, optional
        Makes the picture, of a command that has ``--plot``.
    result : Result, optional
        What goes beside the JSON file, for a page.
    """
    json_text = as_json(document)
    printed = json_text if options["json_output"] else text()
    json_file = options["output"]
    deliveries: list[Callable[[], None]] = [lambda: say(printed)]
    if json_file and result is not None and not is_device(json_file):
        deliveries.append(lambda: save_result(result, json_file, json_text))
    elif json_file:
        deliveries.append(lambda: write_bytes(json_file, f"{json_text}\n".encode(), binary=True))
    if draw is not None and options["plot"]:
        deliveries.append(lambda: _save(draw, options["plot"]))
    failures = []
    for make in deliveries:
        try:
            make()
        except OutputError as error:
            failures.append(str(error))
    for note in notes:
        warn(note)
    if failures:
        raise OutputError("; ".join(failures))


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


def _save(draw: Callable[[], Figure], path: str) -> None:
    """Draw a figure and write it in the format of the file's ending, in one step; a device or a pipe receives a PNG."""
    form = "png" if is_device(path) else Path(path).suffix.lower().removeprefix(".")
    stream = io.BytesIO()
    try:
        draw().savefig(stream, format=form, dpi=150)
    except (ValueError, OverflowError) as error:
        raise OutputError(f"{path}: the picture could not be drawn: {error}; leave out --plot") from None
    write_bytes(path, stream.getvalue(), binary=True)


_SAMPLE_FORMATS = ("csv", "npz")


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
        type=click.Choice(_SAMPLE_FORMATS),
        help="Format of the output. By default the ending decides.",
    )
    return lambda command: in_order(command, where, form)


def draws_place(
    options: Mapping[str, Any], sources: Sequence[str] = ("-",), format_flag: str = "--format"
) -> tuple[str, str]:
    """Where `draws_options` send draws, and in which format: the one asked for, or that of the file's ending.

    Raises
    ------
    UsageError, OutputError
        Before any work is done: if the ending is that of no format, the file cannot be written, or draws are read from
        it.
    """
    file, form = options["output"], options["output_format"]
    if form is None:
        form = "csv" if file == "-" else Path(file.lower().removesuffix(".gz")).suffix.removeprefix(".")
        if form not in _SAMPLE_FORMATS:
            raise UsageError(
                f"-o {file}: the ending must be .csv or .npz; rename the file, or pass {format_flag} csv or npz"
            )
    if file == "-":
        if options["json_output"]:
            raise UsageError("--json and -o - would both write to standard output; give -o a file")
        return file, form
    for source in sources:
        require_places(source, file, None)
    folder = Path(file).resolve().parent
    if not os.access(folder, os.W_OK) and not os.access(file, os.W_OK):
        raise OutputError(f"{file} cannot be written: no permission for the folder {folder}; choose another folder")
    return file, form


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
