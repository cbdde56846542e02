"""Figures of curves and comparisons: positions, ranks, brackets and labels."""

from dataclasses import replace

import numpy as np
import pytest

import steinkit as sk
from steinkit import plots
from steinkit.samplers import iid

LINE = sk.targets.Normal(dim=1)


def _labels(axis):
    axis.figure.canvas.draw()
    return [text.get_text() for text in axis.get_ticklabels(which="both")]


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def found():
    return sk.curve([sk.Sample(points) for points in iid(LINE, draws=100, chains=4).points], LINE, measure="ksd")


class TestCurve:
    def test_draws_values_rate_and_band(self, ax, found):
        assert plots.curve(found, ax) is ax
        values, guide, fit = ax.lines
        assert guide.get_xydata()[0].tolist() == values.get_xydata()[0].tolist()
        assert (values.get_xdata().tolist(), values.get_ydata().tolist()) == (found.n.tolist(), found.values.tolist())
        for line, rate in ((guide, -0.5), (fit, found.rate)):
            slope = np.diff(np.log(line.get_ydata())) / np.diff(np.log(line.get_xdata()))
            assert slope == pytest.approx(np.full(len(slope), rate))
        band = ax.collections[0].get_paths()[0].vertices[:, 1]
        assert (band.min(), band.max()) == pytest.approx((found.interval.min(), found.interval.max()))
        assert f"rate {found.rate:.2f}" in _legend(ax)[0]

    def test_several_curves_share_one_guide(self, ax, found):
        for number, name in enumerate("ab"):
            color, marker, _ = plots.look(number)
            plots.curve(found, ax, label=name, color=color, marker=marker)
        assert [each.partition(",")[0] for each in _legend(ax)] == ["a", "rate of independent draws (-0.5)", "b"]

    def test_an_effective_size_has_no_guide(self, ax):
        plots.curve(sk.curve(np.random.default_rng(0).standard_normal(200), measure="ess"), ax)
        assert len(_legend(ax)) == 1
        assert ax.get_ylabel() == "effective sample size"

    def test_missing_values_leave_a_gap(self, ax, found):
        values = found.values.copy()
        values[0] = np.nan
        plots.curve(replace(found, values=values), ax)
        assert ax.lines[1].get_xdata()[0] == found.n[1]
        ax.figure.canvas.draw()


class TestComparison:
    def test_draws_values_ranks_and_the_reference(self, ax):
        points = np.random.default_rng(1).standard_normal(60)
        samples = {
            "shifted": points + 1.0,
            "exact": points,
            "again": points,
            "a name longer than the margin": points + 2,
        }
        found = sk.compare(samples, LINE, reference=3)
        assert plots.comparison(found, ax) is ax
        order = [name for group in found.ranking["graph"] for name in group]
        values = {each.name: each.measurements["graph"].value for each in found.samples}
        marks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
        assert marks == [values[name] for name in order]
        assert _labels(ax.yaxis)[:4] == ["1=  exact", "1=  again", "3  shifted", "4  a name longer than\nthe margin"]
        assert _legend(ax) == ["3 independent samples", "their median"]
        bottom, top = ax.get_ylim()
        assert bottom > top

    def test_another_measure(self, ax):
        points = np.random.default_rng(2).standard_normal(50)
        found = sk.compare({"a": points, "b": points[:20]}, LINE, measures=("ksd", "ess"))
        plots.comparison(found, ax, measure="ess")
        assert "larger is better" in ax.get_xlabel()
        assert ax.get_legend() is None

    def test_samples_without_a_rank_are_the_last_ones_in_gray(self, ax):
        draws = np.random.default_rng(0).standard_normal((60, 3))
        found = sk.compare({"exact": draws, "narrow": 0.5 * draws}, sk.targets.Normal(0.0, dim=3), measures="graph")
        assert found.ranking["graph"] == ()
        values = {each.name: each.measurements["graph"].value for each in found.samples}
        assert values["narrow"] < values["exact"]
        plots.comparison(replace(found, ranking={"graph": (("exact",),)}), ax, measure="graph")
        marks = [line for line in ax.lines if line.get_marker() == "o"]
        assert [mark.get_xdata()[0] for mark in marks] == [values["exact"], values["narrow"]]
        assert marks[0].get_color() != marks[1].get_color()
        assert _labels(ax.yaxis)[:2] == ["1  exact", "(not ranked)  narrow"]
