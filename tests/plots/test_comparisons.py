"""Pictures of comparisons: what is drawn, where, and that every drawn number is in the result."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots
from steinkit.comparison import compare

LINE = sk.targets.Normal(dim=1)


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


def labels(axis):
    axis.figure.canvas.draw()
    return [text.get_text() for text in axis.get_ticklabels(which="both")]


def test_comparison_draws_marks_ranks_and_the_reference(ax):
    points = np.random.default_rng(1).standard_normal(60)
    samples = {
        "shifted": points + 1.0,
        "right": points,
        "again": points,
        "a name too long for the margin": points + 2.0,
    }
    found = compare(samples, LINE, reference=3)
    assert plots.comparison(found, ax) is ax
    order = [name for group in found.ranking["graph"] for name in group]
    values = {each.name: each.measurements["graph"].value for each in found.samples}
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert marks == [values[name] for name in order]
    assert labels(ax.yaxis)[:3] == ["right  1=", "again  1=", "shifted  3"]
    assert labels(ax.yaxis)[3] == "a name too long for the\nmargin  4"
    assert "3 independent samples of 60" in ax.get_legend().get_texts()[0].get_text()
    bottom, top = ax.get_ylim()
    assert bottom > top  # the best stands on top


def test_comparison_by_another_measure(ax):
    points = np.random.default_rng(2).standard_normal(50)
    found = compare({"a": points, "b": points[:20]}, LINE, measures=("ksd", "ess"))
    plots.comparison(found, ax, measure="ess")
    assert "larger is better" in ax.get_xlabel()
    assert ax.get_legend() is None


def test_axes_are_made_where_none_are_given():
    import matplotlib.pyplot as plt

    made = plots.comparison(compare({"a": np.arange(10.0)}, LINE, measures="ksd"))
    plt.close(made.figure)


def test_samples_that_a_measure_does_not_rank_follow_in_another_colour(ax):
    draws = np.random.default_rng(0).standard_normal((60, 3))
    found = compare({"right": draws, "narrow": 0.5 * draws}, sk.targets.Normal(0.0, dim=3), measures="graph")
    assert found.ranking["graph"] == ()
    assert found.rank("narrow", "graph") is None
    values = {each.name: each.measurements["graph"].value for each in found.samples}
    assert values["narrow"] < values["right"]
    plots.comparison(replace(found, ranking={"graph": (("right",),)}), ax, measure="graph")
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert [mark.get_xdata()[0] for mark in marks] == [values["right"], values["narrow"]]
    assert marks[0].get_color() != marks[1].get_color()
    assert labels(ax.yaxis)[:2] == ["right  1", "narrow  (not ranked)"]
