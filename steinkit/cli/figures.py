"""Saving a figure that a command drew."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from steinkit.cli.outputs import is_device
from steinkit.errors import OutputError
from steinkit.files.streams import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(draw: Callable[[], Figure], path: str) -> None:
    """Draw a figure and write it in the format of the file's ending, in one step; a device or a pipe receives a PNG."""
    form = "png" if is_device(path) else Path(path).suffix.lower().removeprefix(".")
    stream = io.BytesIO()
    try:
        draw().savefig(stream, format=form, dpi=150)
    except (ValueError, OverflowError) as error:
        raise OutputError(f"{path}: the picture could not be drawn: {error}; leave out --plot") from None
    write_bytes(path, stream.getvalue(), binary=True)
