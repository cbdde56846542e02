"""Terminal output, validation of output files and handling of Ctrl-C."""

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
from steinkit.text import on_screen, one_line

_FIGURES = (".png", ".pdf", ".svg")
_COLUMNS = 80  # default width, used if the terminal does not report a width


def require_places(source: str, json_file: str | None, figure_file: str | None) -> None:
    """Check that output files can be written and are not input files."""
    if json_file:
        require_place("-o", json_file, source, "use --json to print JSON")
    if figure_file:
        require_place("--plot", figure_file, source, "choose a .png, .pdf or .svg file")
        if not is_device(figure_file) and Path(figure_file).suffix.lower() not in _FIGURES:
            raise UsageError(f"--plot: expected a file name ending in {', '.join(_FIGURES)}, got {figure_file}")
    if json_file and figure_file and Path(json_file).resolve() == Path(figure_file).resolve():
        raise UsageError(f"-o and --plot must name different files; got {json_file} for both")


def require_place(option: str, path: str, source: str, remedy: str) -> None:
    """Check that a file can be written and is not an input file."""
    if path == "-":
        raise UsageError(f"{option} cannot write to standard output; {remedy}")
    folder = Path(path).parent
    if not folder.is_dir():
        raise OutputError(f"{path} cannot be written: the folder {folder} does not exist")
    if not os.access(folder, os.W_OK) and not os.access(path, os.W_OK):
        raise OutputError(f"{path} cannot be written: no permission for the folder {folder}")
    if source != "-" and Path(path).is_file() and Path(source).exists() and os.path.samefile(path, source):
        raise UsageError(f"{option} {path} would overwrite the input; choose another file")


def is_device(path: str) -> bool:
    """Return True if a path is a device or a pipe, regardless of its extension."""
    return Path(path).exists() and not Path(path).is_file()


def say(text: str) -> None:
    """Print a result to standard output.

    A closed pipe is not treated as an error.
    """
    try:
        click.echo(printable(text, lines=True))
    except BrokenPipeError:
        sys.stdout = None  # otherwise, Python flushes the stream at exit
    except OSError as error:
        sys.stdout = None
        raise OutputError(f"standard output cannot be written: {error.strerror or error}") from None


def warn(text: str) -> None:
    """Print a warning to standard error."""
    tell(f"warning: {printable(text)}")


def tell(text: str) -> None:
    """Print text to standard error, wrapped to the width of a terminal."""
    with on_screen(terminal_columns(sys.stderr)):
        text = "\n".join(map(one_line, text.split("\n")))
    say_aside(text)


def say_aside(text: str) -> None:
    """Print text to standard error if that stream is writable."""
    with contextlib.suppress(OSError):
        click.echo(printable(text, lines=True), err=True)


def say_next(words: Sequence[str], purpose: str, *, json_output: bool = False) -> None:
    """Suggest a command unless JSON was printed.

    The words do not include the program name.
    """
    if not json_output:
        say_aside(f"next: steinkit {shlex.join(words)}  # {purpose}")


def target_words(target: str | None, options: Mapping[str, str]) -> list[str]:
    """Return a target and its options as command-line words."""
    named = [] if target is None else ["--target", target]
    return named + [word for key, value in options.items() for word in ("-p", f"{key}={value}")]


def apart_from_results() -> contextlib.AbstractContextManager[object]:
    """Redirect the output of user code to standard error."""
    return contextlib.redirect_stdout(sys.stderr)


def on_terminal() -> bool:
    """Return True if the standard error stream is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def terminal_columns(stream: TextIO | None) -> int | None:
    """Return the width of a stream's terminal, or None."""
    if stream is None or not stream.isatty():
        return None
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    with contextlib.suppress(OSError):  # the width or file descriptor is unknown
        return os.get_terminal_size(stream.fileno()).columns or _COLUMNS
    return _COLUMNS


INTERRUPTED = 130


@contextlib.contextmanager
def heeded_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt on the first Ctrl-C and end the process on the second.

    A second KeyboardInterrupt would leave solvers running during interpreter shutdown, which would abort the process.
    The process also ends if the first interrupt arrives in a callback from C code, because the callback would discard
    the exception.
    """
    interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        if interrupted:
            os._exit(INTERRUPTED)
        interrupted = True
        print("interrupting; press Ctrl-C again to stop immediately", file=sys.stderr, flush=True)
        raise KeyboardInterrupt

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            os._exit(INTERRUPTED)
        report(lost)

    before = signal.getsignal(signal.SIGINT)
    # another handler is installed, or the signal is ignored, as under nohup
    if before is not signal.default_int_handler:
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
    """Return True if a `KeyboardInterrupt` caused an error."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
