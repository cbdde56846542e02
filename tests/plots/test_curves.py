"""Pictures of curves: what is drawn, where, and that every drawn number is in the result."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots
from steinkit.curves import curve
from steinkit.samplers import iid

LINE = sk.targets.Normal(dim=1)


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


@pytest.fixture(scope="module")
def replicates():
    return [sk.Sample(points) for points in iid(LINE, draws=100, chains=4).points]


def labels(axis):
    axis.figure.canvas.draw()
    return [text.get_text() for text in axis.get_ticklabels(which="both")]


def test_curve_draws_values_rate_and_band(ax, replicates):
    found = curve(replicates, LINE, measure="ksd")
    assert plots.curve(found, ax) is ax
    values, guide, fit = ax.lines
    assert guide.get_xydata()[0].tolist() == values.get_xydata()[0].tolist()
    falls = np.diff(np.log(guide.get_ydata())) / np.diff(np.log(guide.get_xdata()))
    assert falls == pytest.approx(np.full(len(falls), -0.5))
    assert values.get_xdata().tolist() == found.n.tolist()
    assert values.get_ydata().tolist() == found.values.tolist()
    slope = np.diff(np.log(fit.get_ydata())) / np.diff(np.log(fit.get_xdata()))
    assert slope == pytest.approx(np.full(len(slope), found.rate))
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((found.interval.min(), found.interval.max()))
    assert f"rate {found.rate:.2f}" in ax.get_legend().get_texts()[0].get_text()
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert {"10", "20", "50", "100"} <= set(labels(ax.xaxis))


def test_curve_shows_brackets_wide_enough_to_be_seen(ax, replicates):
    narrow = curve(replicates[0], LINE, n=[20, 50, 100])
    plots.curve(narrow, ax)
    assert not ax.collections
    points = iid(sk.targets.Normal(dim=2), draws=60).points[0]
    wide = curve(points, sk.targets.Normal(dim=2), n=[20, 40, 60], solver="first_order", tolerance=0.09)
    plots.curve(wide, ax, label="wide", color="k")
    assert len(ax.collections) == 1
    assert "wide" in ax.get_legend().get_texts()[-1].get_text()


def test_curve_against_budgets_and_of_values_below_zero(ax):
    sample = sk.Sample(np.random.default_rng(0).standard_normal(50), cost=2.0 * np.arange(1, 51))
    found = curve(sample, LINE, budget=[20, 40, 100], measure="ksd", statistic="u", squared=True)
    plots.curve(found, ax)
    assert ax.get_xlabel() == "cost of the draws"
    assert ax.lines[0].get_xdata().tolist() == [20, 40, 100]
    assert ax.get_yscale() == ("log" if (found.values > 0).all() else "linear")


def test_axes_are_made_where_none_are_given(replicates):
    import matplotlib.pyplot as plt

    made = plots.curve(curve(replicates[0], LINE, measure="ksd"))
    plt.close(made.figure)
