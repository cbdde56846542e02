"""A figure as SVG in two versions, for light paper and for dark.

A colour of the dark version has the hue of the light one's, and as much contrast with the dark paper as that has with
white: what is faint stays faint, what stands out stands out, black letters become nearly white. Colours proper stay
colours: they keep away from both ends, where hues are not told apart.
"""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from steinkit.sample import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DARK_PAPER = "#1f2225"
_INK_CONTRAST = 13.0  # of the dark version's strongest greys
_COLOUR_CONTRASTS = (4.0, 7.0)  # of a full colour with the dark paper
_FULL = 0.4  # difference of the largest and smallest of red, green and blue from which a colour is a full one
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # of linear red, green and blue
_GLARE = 0.05  # added to luminances in a contrast ratio
_RASTER = 170  # dots per inch of what is drawn as an image inside the SVG

_COLOUR = re.compile(r"(?<=(?:fill|roke): )#[0-9a-f]{6}")
_IMAGE = re.compile(r"(?<=data:image/png;base64,)[A-Za-z0-9+/=\s]+")


class ThemedSvg(NamedTuple):
    """A figure as SVG, without a background of its own: for white paper, and for dark.

    Parameters
    ----------
    light : bytes
        The SVG for white paper.
    dark : bytes
        The SVG for dark paper, about #1f2225.
    """

    light: bytes
    dark: bytes


def themed_svg(figure: Figure) -> ThemedSvg:
    """Draw a figure as SVG for light paper and for dark; figures made alike give the same bytes.

    Letters are outlines, so that they look the same everywhere. The background is transparent: the dark version is
    meant for papers about as dark as #1f2225. Print the light one. On a page:

    .. code-block:: html

        <picture>
          <source media="screen and (prefers-color-scheme: dark)" srcset="dark.svg">
          <img src="light.svg" alt="...">
        </picture>

    Parameters
    ----------
    figure : matplotlib Figure
        In the colours meant for white paper; it is drawn, not changed.

    Returns
    -------
    ThemedSvg
        The bytes of both, `light` and `dark`.

    References
    ----------
    Contrast ratio and relative luminance: Web Content Accessibility Guidelines 2.2, https://www.w3.org/TR/WCAG22/.
    """
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "steinkit", "svg.fonttype": "path", "figure.dpi": _RASTER}):
        figure.savefig(stream, format="svg", dpi=_RASTER, transparent=True, metadata={"Date": None, "Creator": None})
    light = stream.getvalue().decode()
    dark = _IMAGE.sub(lambda found: _dark_image(found.group()), light)
    dark = _COLOUR.sub(lambda found: dark_colour(found.group()), dark)
    dark = dark.replace("<svg ", f'<svg fill="{dark_colour("#000000")}" ', 1)  # black is left out where it fills
    return ThemedSvg(light.encode(), dark.encode())


def dark_colour(colour: str) -> str:
    """What a colour, as matplotlib takes it, is on dark paper, as "#rrggbb"."""
    from matplotlib.colors import to_hex, to_rgb

    return to_hex(_on_dark_paper(np.array([to_rgb(colour)]))[0])


def _on_dark_paper(colours: Floats) -> Floats:
    """Colours for dark paper that do what the given ones do on white: sRGB in [0, 1], shape (k, 3)."""
    from matplotlib.colors import to_rgb

    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    contrast = (1.0 + _GLARE) / (linear @ _LUMINANCE + _GLARE)
    fullness = np.minimum(np.ptp(colours, axis=1) / _FULL, 1.0)
    least = 1.0 + fullness * (_COLOUR_CONTRASTS[0] - 1.0)
    most = _INK_CONTRAST + fullness * (_COLOUR_CONTRASTS[1] - _INK_CONTRAST)
    paper = np.array(to_rgb(DARK_PAPER))
    below = (((paper + 0.055) / 1.055) ** 2.4) @ _LUMINANCE + _GLARE
    wanted = (np.clip(contrast, least, most) * below - _GLARE)[:, None]
    top = linear.max(axis=1, keepdims=True)
    pure = np.where(top > 0.0, linear / np.where(top > 0.0, top, 1.0), 1.0)  # as light as the hue can be
    light = (pure @ _LUMINANCE)[:, None]
    share = np.clip((wanted - light) / np.where(light < 1.0, 1.0 - light, 1.0), 0.0, 1.0)  # of white, beyond that
    linear = np.where(wanted <= light, pure * wanted / light, pure + share * (1.0 - pure))
    found: Floats = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1.0 / 2.4) - 0.055)
    return found.clip(0.0, 1.0)


def _dark_image(encoded: str) -> str:
    """An image inside the SVG, its colours for dark paper and its transparency kept."""
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(encoded))).convert("RGBA"))
    colours, where = np.unique(pixels[..., :3].reshape(-1, 3), axis=0, return_inverse=True)
    found = np.rint(255.0 * _on_dark_paper(colours / 255.0)).astype(np.uint8)[where.ravel()]
    stream = io.BytesIO()
    Image.fromarray(np.concatenate([found.reshape(*pixels.shape[:2], 3), pixels[..., 3:]], axis=2)).save(stream, "png")
    return base64.b64encode(stream.getvalue()).decode()
