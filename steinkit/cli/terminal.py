"""Printing on standard output and standard error, checks of output files, and the handling of control-C."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

import click

from steinkit.errors import OutputError, UsageError, printable
from steinkit.text import filled, on_screen

_PICTURES = (".png", ".pdf", ".svg")
_COLUMNS = 80  # of a terminal without a size


def require_places(source: str, json_file: str | None, picture_file: str | None) -> None:
    """Refuse, before any work is done, output files that cannot be written or would overwrite the source."""
    if json_file:
        require_place("-o", json_file, source, "print JSON there with --json")
    if picture_file:
        require_place("--plot", picture_file, source, "name a .png, .pdf or .svg file")
        if not is_device(picture_file) and Path(picture_file).suffix.lower() not in _PICTURES:
            raise UsageError(f"--plot {picture_file}: the ending must be one of {', '.join(_PICTURES)}")
    if json_file and picture_file and Path(json_file).resolve() == Path(picture_file).resolve():
        raise UsageError(f"-o and --plot both name {json_file}; give each a file of its own")


def require_place(option: str, path: str, source: str, remedy: str) -> None:
    """Refuse standard output, a file in a folder that does not exist, and the source itself."""
    if path == "-":
        raise UsageError(f"{option} cannot write to standard output; {remedy}")
    folder = Path(path).parent
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK) and not os.access(path, os.W_OK):
        raise OutputError(f"{path} cannot be written: no permission for the folder {folder}; choose another folder")
    if source != "-" and Path(path).is_file() and Path(source).exists() and os.path.samefile(path, source):
        raise UsageError(f"{option} {path} would overwrite what it is made from; name another file")


def is_device(path: str) -> bool:
    """True if a path is a device or a pipe, which is written to directly whatever the ending of its name."""
    return Path(path).exists() and not Path(path).is_file()


def say(text: str) -> None:
    """Print a result on standard output. A closed pipe, as by ``head``, is not an error."""
    try:
        click.echo(printable(text, lines=True))
    except BrokenPipeError:
        sys.stdout = None  # nothing is left to flush at the end
    except OSError as error:
        sys.stdout = None
        raise OutputError(
            f"standard output cannot be written: {error.strerror or error}; free space, or send it elsewhere"
        ) from None


def warn(text: str) -> None:
    """Print a warning on standard error."""
    tell(f"warning: {printable(text)}")


def tell(text: str) -> None:
    """Print sentences on standard error, wrapped to the width of a terminal."""
    columns = terminal_columns(sys.stderr)
    if columns is not None:
        with on_screen(columns):
            text = "\n".join(map(filled, text.split("\n")))
    say_aside(text)


def say_aside(text: str) -> None:
    """Print text on standard error, and ignore that it cannot be written."""
    with contextlib.suppress(OSError):
        click.echo(printable(text, lines=True), err=True)


def say_next(words: Sequence[str], purpose: str, *, json_output: bool = False) -> None:
    """Suggest a command, by its words after the program's name, unless JSON was printed."""
    if not json_output:
        say_aside(f"next: steinkit {shlex.join(words)}  # {purpose}")


def target_words(target: str | None, options: Mapping[str, str]) -> list[str]:
    """Write a target and its options as words of the command line."""
    named = [] if target is None else ["--target", target]
    return named + [word for key, value in options.items() for word in ("-p", f"{key}={value}")]


def apart_from_results() -> contextlib.AbstractContextManager[object]:
    """Redirect the output of a user's own code to standard error: it is not part of a result."""
    return contextlib.redirect_stdout(sys.stderr)


def on_terminal() -> bool:
    """True if standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def terminal_columns(stream: TextIO | None) -> int | None:
    """Return the columns of a stream's terminal, or those that COLUMNS sets; None if the stream has no terminal."""
    if stream is None or not stream.isatty():
        return None
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    with contextlib.suppress(OSError):  # the terminal has no size, or the stream no number
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    return _COLUMNS


INTERRUPTED = 130


@contextlib.contextmanager
def heeded_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first control-C, and end the process at a second one.

    A second KeyboardInterrupt would leave solvers running while the interpreter shuts down, which aborts the process.
    The process also ends if the first one is raised where C code called Python back, which would lose it.
    """
    heard = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        if heard:
            os._exit(INTERRUPTED)
        heard = True
        print("interrupting; control-C again ends at once", file=sys.stderr, flush=True)
        raise KeyboardInterrupt

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            os._exit(INTERRUPTED)
        report(lost)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # handled elsewhere, or ignored, as under nohup
        yield
        return
    report, sys.unraisablehook = sys.unraisablehook, unraisable
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        sys.unraisablehook = report


def comes_of_interrupt(error: BaseException | None) -> bool:
    """True if an error was raised from a `KeyboardInterrupt`, or while one was handled."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
