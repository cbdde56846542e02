"""Thumbnails of the gallery: one panel of an example's picture, drawn anew so large that its letters can be read.

A picture of several panels shrunk to a thumbnail shows that there are panels, and nothing of what is in them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

# The panel that answers an example's question, counted as the figure counts its axes; of the others it is the first.
PANELS = {
    "bounded_target": 1,
    "good_and_biased": 2,
    "sgld_step_size": 4,
    "variable_selection": 1,
    "your_own_sampler": 1,
    "your_own_target": 1,
}
WIDTH, HEIGHT = 3.0, 1.75  # inches, without title and labels
MARGIN = 0.05
LETTERS_UP, LETTERS_ACROSS = 24, 46  # in a line of a label that stands on its side, and of a title
DOTS = 300  # an inch


def save_panel(figure: Figure, script: str, path: Path, save: Callable[..., Any] = Figure.savefig) -> None:
    """Save the panel of a figure that a script's thumbnail shows; the figure is of no use afterwards.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    script : str
        Its name, without the ending.
    path : pathlib.Path
        A PNG file.
    save : callable, optional
        What saves a figure.
    """
    panel = figure.axes[PANELS.get(script, 0)]
    figure.set_layout_engine("none")
    for each in others(figure, panel):
        each.set_visible(False)
    page = panel.figure.bbox  # of a figure within the figure, it may be
    panel.set_ylabel(textwrap.fill(panel.get_ylabel(), LETTERS_UP))
    panel.title.set_text("\n".join(textwrap.fill(line, LETTERS_ACROSS) for line in panel.get_title().split("\n")))
    panel.set_position((0.0, 0.0, WIDTH * figure.dpi / page.width, HEIGHT * figure.dpi / page.height))
    figure.draw_without_rendering()
    shown = panel.get_tightbbox()
    assert shown is not None, "a panel has something to show"
    inches = shown.transformed(figure.dpi_scale_trans.inverted()).padded(MARGIN)
    save(figure, path, dpi=DOTS, bbox_inches=inches)


def others(figure: Any, panel: Axes) -> list[Any]:
    """All that a figure shows besides a panel: other axes, titles and legends, of the figures within it, too."""
    found = []
    for each in figure.get_children():
        if each in figure.subfigs:
            found += others(each, panel)
        elif each is not panel:
            found.append(each)
    return found
