"""The gallery's thumbnails show one panel of a picture, wherever it stands, and nothing of what is beside it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

EXTENSIONS = Path(__file__).parents[2] / "docs" / "_extensions"
RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@pytest.fixture
def thumbnails(monkeypatch):
    monkeypatch.syspath_prepend(EXTENSIONS)
    import gallery_thumbnails

    yield gallery_thumbnails
    sys.modules.pop("gallery_thumbnails")


def share(picture, colour):
    return np.mean(np.all(np.abs(picture[..., :3] - colour) < 0.1, axis=-1))


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize(("panel", "shown", "hidden"), [(0, RED, BLUE), (1, BLUE, RED)])
def test_a_panel_alone_and_as_large_as_all(thumbnails, monkeypatch, tmp_path, within, panel, shown, hidden):
    monkeypatch.setitem(thumbnails.PANELS, "example", panel)
    figure = Figure(figsize=(7.0, 9.0), layout="constrained")
    figure.suptitle("a title over both", color=hidden)
    halves = figure.subfigures(2, 1) if within else [figure, figure]
    for k, (half, colour) in enumerate(zip(halves, (RED, BLUE), strict=True)):
        ax = half.add_subplot() if within else half.add_subplot(2, 1, k + 1)
        ax.set_facecolor(colour)
        ax.set_title("a title of more letters than there is room for above a panel of three inches")
        ax.set_ylabel("a label that is a good deal longer than its axis is high")
    figure.legend(handles=[], title="a key", facecolor=hidden)
    path = tmp_path / "panel.png"
    thumbnails.save_panel(figure, "example", path)
    picture = imread(path)
    height, width = (size / thumbnails.DOTS for size in picture.shape[:2])
    assert thumbnails.WIDTH < width < thumbnails.WIDTH + 1.6
    assert thumbnails.HEIGHT < height < thumbnails.HEIGHT + 1.0
    assert share(picture, shown) > 0.4
    assert share(picture, hidden) == 0.0
