"""Colors differ for readers with color vision deficiency, and in gray print markers, dashes and hatches differ.

Color vision deficiency is simulated by the matrices of Machado, Oliveira and Fernandes (2009) for linear RGB.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots
from steinkit.plots.axes import BLUE, COLORS, GRAY, RED

APART = 10.0  # in CIELAB; a difference of 2.3 is just noticeable
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
SEEN = {
    "normally": np.eye(3),
    "in gray": np.tile([0.2126729, 0.7151522, 0.0721750], (3, 1)),
    "with protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "with deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def lab(color, how):
    """Return the CIELAB coordinates of a color as it is seen."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    t = XYZ @ np.clip(SEEN[how] @ linear, 0.0, 1.0) / XYZ.sum(axis=1)
    f = np.where(t > (6.0 / 29.0) ** 3, np.cbrt(t), t * (29.0 / 6.0) ** 2 / 3.0 + 4.0 / 29.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


def distance(one, other, how):
    return float(np.linalg.norm(lab(one, how) - lab(other, how)))


def test_the_distance_is_that_of_cielab():
    for how in SEEN:
        assert lab("white", how) == pytest.approx([100.0, 0.0, 0.0], abs=0.05)
        assert lab("0.466", how) == pytest.approx([50.0, 0.0, 0.0], abs=0.1)
    assert distance("#cc4444", "#448844", "with deuteranopia") < APART < distance("#cc4444", "#448844", "normally")


@pytest.mark.parametrize("how", SEEN)
def test_colors_of_curves_differ(how):
    assert min(distance(one, other, how) for one, other in combinations(COLORS, 2)) > APART


@pytest.mark.parametrize("how", [how for how in SEEN if how != "in gray"])
def test_too_many_and_too_few_differ_in_color(how):
    assert min(distance(one, other, how) for one, other in combinations((RED, BLUE, GRAY), 2)) > APART


def test_too_many_and_too_few_differ_in_gray_print():
    result = sk.graph_stein_discrepancy(
        1.5 * np.random.default_rng(0).standard_normal((200, 2)) + 0.5, sk.targets.Normal(dim=2)
    )
    exact = np.full(3, 0.01 * result.value)
    ax = plots.draws(result, Figure().add_subplot(), reference=sk.Reference(exact, exact, 100))
    forms = [marks.get_paths()[0].vertices.round(6).tobytes() for marks in ax.collections]
    assert len(set(forms)) == 3
    line = sk.graph_stein_discrepancy(1.5 * np.random.default_rng(0).standard_normal(60), sk.targets.Normal(dim=1))
    ax = plots.stein_function(line, Figure().add_subplot())
    assert len({area.get_hatch() for area in ax.collections}) == 2


def test_markers_and_dashes_differ_for_more_curves_than_colors():
    looks = [plots.look(number) for number in range(35)]
    assert len({look.color for look in looks[:5]}) == 5
    assert len({(look.marker, str(look.linestyle)) for look in looks}) == 35
    with pytest.raises(sk.UsageError, match="-1"):
        plots.look(-1)
