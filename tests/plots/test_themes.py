"""Figures for light and for dark paper: contrasts by the formula of the web's guidelines, and nothing left behind."""

from __future__ import annotations

import base64
import colorsys
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from steinkit import plots
from steinkit.plots.axes import DARK_PAPER, dark_colour


def _contrast(colour, paper):
    def luminance(rgb):
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(rgb)]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(colour), luminance(paper)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("grey", ["1.0", "0.93", "0.6", "0.45", "0.3"])
def test_greys_keep_their_contrast_with_the_paper(grey):
    assert _contrast(dark_colour(grey), DARK_PAPER) == pytest.approx(_contrast(grey, "white"), rel=0.03)


@pytest.mark.parametrize("colour", ["#0072B2", "#D55E00", "#E69F00", "#CC79A7", "#009E73", "#67001f", "#053061"])
def test_colours_keep_their_hue_and_can_be_seen(colour):
    found = dark_colour(colour)
    assert _contrast(found, DARK_PAPER) > 3.0  # what the guidelines ask of graphics
    turned = abs(colorsys.rgb_to_hls(*to_rgb(found))[0] - colorsys.rgb_to_hls(*to_rgb(colour))[0])
    assert min(turned, 1.0 - turned) < 0.06  # of the circle of hues


def test_a_diverging_scale_fades_into_either_paper():
    shades = [tuple(shade[:3]) for shade in colormaps["RdBu_r"](np.linspace(0.0, 1.0, 41))]
    on_dark = np.array([_contrast(dark_colour(shade), DARK_PAPER) for shade in shades])
    assert on_dark[20] < 1.15
    assert (np.diff(on_dark[:21]) < 0.06).all()  # falls to the middle, but for the rounding of colours
    assert (np.diff(on_dark[20:]) > -0.06).all()


def _drawn():
    figure = Figure(figsize=(3.0, 2.0), layout="constrained")
    ax = figure.add_subplot()
    ax.plot([0.0, 1.0], color="#0072B2")
    ax.scatter([0.2, 0.7], [0.5, 0.5], color="#D55E00", s=400.0, linewidths=0.0, rasterized=True)
    ax.set_title("a title in black")
    return figure


def _shades(svg):
    """Opaque pixels of the image inside."""
    from PIL import Image

    (image,) = re.findall(r"data:image/png;base64,([^\"]+)", svg.decode())
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(image))))
    return pixels[pixels[..., 3] == 255][:, :3], pixels[..., 3]


def test_both_versions_are_svg_and_differ_in_colours_only():
    light, dark = plots.themed_svg(_drawn())
    for svg in (light, dark):
        assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert b"#0072b2" in light
    assert b"#0072b2" not in dark
    assert dark_colour("#0072b2").encode() in dark
    assert f'<svg fill="{dark_colour("black")}"'.encode() in dark  # letters in black have no colour of their own
    assert b"#000000" not in dark
    (before, clear), (after, clear_after) = _shades(light), _shades(dark)
    assert np.array_equal(clear, clear_after)
    assert np.unique(before, axis=0) == pytest.approx(np.rint(255.0 * np.array([to_rgb("#D55E00")])))
    assert np.unique(after, axis=0) == pytest.approx(np.rint(255.0 * np.array([to_rgb(dark_colour("#D55E00"))])))


def test_neither_has_a_background_and_figures_made_alike_have_the_same_bytes():
    light, dark = plots.themed_svg(_drawn())
    assert b"fill: #ffffff" not in light
    assert (light, dark) == plots.themed_svg(_drawn())
