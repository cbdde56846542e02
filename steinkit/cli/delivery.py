"""Delivering what a command found: on standard output, in a JSON file, as a picture. One that fails costs no other."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steinkit.cli.outputs import command_line, is_device, say, say_next, warn
from steinkit.describe.display import Result
from steinkit.errors import OutputError
from steinkit.files.streams import write_bytes
from steinkit.json_documents import as_json
from steinkit.saved_results import save_result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def deliver(
    options: Mapping[str, Any],
    document: dict[str, Any],
    text: Callable[[], str],
    draw: Callable[[], Figure],
    notes: Iterable[str],
    result: Result | None = None,
) -> None:
    """Print the document or the text, write the files that were asked for, and warn.

    Parameters
    ----------
    options : mapping
        Those of `output_options`.
    document : dict
    text, draw : callable
        Make the text and the picture where they are wanted.
    notes : iterable of str
        Warnings for standard error, which come last and whatever fails.
    result : Result, optional
        What goes beside the JSON file, for a page.
    """
    json_text = as_json(document)
    printed = json_text if options["json_output"] else text()
    json_file, picture_file = options["output"], options["plot"]
    deliveries: list[Callable[[], None]] = [lambda: say(printed)]
    if json_file and result is not None and not is_device(json_file):
        deliveries.append(lambda: save_result(result, json_file, json_text))
    elif json_file:
        deliveries.append(lambda: write_bytes(json_file, f"{json_text}\n".encode(), binary=True))
    if picture_file:
        deliveries.append(lambda: _save(draw, picture_file))
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
