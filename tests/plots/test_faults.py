"""The picture of a verdict shows its faults in their order, and says what the verdict is."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots


@pytest.fixture(scope="module")
def wrong():
    x = np.random.default_rng(0).standard_normal((600, 2)) * np.array([1.0, 1.4]) + np.array([0.5, 0.0])
    return sk.verdict(x, scores=-x)


def drawn(found):
    return plots.verdict(found, Figure().add_subplot())


def test_faults_stand_at_their_standard_errors_worst_on_top(wrong):
    ax = drawn(wrong)
    labels = [each.get_text() for each in ax.get_yticklabels()]
    assert set(labels[:2]) == {"x2 is too wide", "x1 is too high"}
    points = ax.lines[0]
    assert points.get_xdata() == pytest.approx([abs(each.z) for each in wrong.findings])
    assert list(points.get_ydata()) == list(range(len(wrong.findings)))
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_the_title_says_the_verdict_and_an_ess_no_larger_than_the_draws(wrong):
    for ess, said in ((512.3, ", ESS 512"), (650.0, ""), (np.nan, "")):
        title = drawn(replace(wrong, ess=ess)).get_title()
        assert title.startswith("biased (p = ")
        assert title.partition(",")[1:] == (("," if said else ""), f"{said[1:]})" if said else "")


def test_right_draws_have_no_faults_to_show():
    x = np.random.default_rng(1).standard_normal((300, 2))
    ax = drawn(sk.verdict(x, scores=-x))
    assert len(ax.lines[0].get_xdata()) == 0
    assert ax.get_title().startswith("no bias seen")
    assert [text.get_text() for text in ax.texts] == ["no single coordinate or pair stands out"]
    ax.figure.canvas.draw()
