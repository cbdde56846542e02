"""Lines of text: how wide they are, and where they are broken.

Text has the same bytes wherever it goes, a file, a pipe, a page, a notebook: paragraphs in lines of 100 letters. A
terminal alone has a width of its own, which the command line finds out and sets with `on_screen`.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator
from contextvars import ContextVar

from steinkit.printable import printable

_WIDTH = 100
_NARROWEST = 40  # a terminal of less reports a wrong size, or shows nothing that could be read
_screen: ContextVar[int | None] = ContextVar("width of the screen", default=None)


@contextlib.contextmanager
def on_screen(columns: int | None) -> Iterator[None]:
    """Let lines fit a terminal while this lasts.

    Parameters
    ----------
    columns : int or None
        Of the terminal. The last one stays free, since some terminals begin a new line there. None leaves the lines as
        they are without a terminal.
    """
    token = _screen.set(None if columns is None else min(max(columns - 1, _NARROWEST), _WIDTH))
    try:
        yield
    finally:
        _screen.reset(token)


def screen_width() -> int | None:
    """Letters that fit a line of the terminal; None without one, where a line may be as long as it must."""
    return _screen.get()


def filled(text: str, indent: str = "") -> str:
    """A paragraph in lines; a long word, such as a path, is not broken, nor one with a hyphen, such as an option."""
    return textwrap.fill(
        printable(text),
        _screen.get() or _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def one_line(text: str, indent: str = "") -> str:
    """A line that programs may look for, and which therefore is broken on a terminal only."""
    return f"{indent}{printable(text)}" if _screen.get() is None else filled(text, indent)
