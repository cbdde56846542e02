"""Figures of the settings of a sweep by each criterion, with the selected ones."""

import io

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from steinkit import UsageError, plots
from steinkit.sweeps.cells import Cell, Measured
from steinkit.sweeps.choice import choose

_STEPS = (1e-3, 1e-2, 1e-1)


def _choice(measure, medians, spread=0.05, slack=0.0, failures=0, settings=None):
    """Choice between settings with ten seeds; the last setting fails with some of them."""
    rng = np.random.default_rng(0)
    settings = settings or [{"step_size": step} for step in _STEPS]
    records = []
    for setting, median in zip(settings, medians, strict=True):
        for seed in range(10):
            value = float(median * (1.0 + spread * rng.standard_normal()))
            failed = setting is settings[-1] and seed < failures
            found = {} if failed else {measure: Measured(measure, value, value - slack, value + slack)}
            records.append(Cell(setting, seed, measures=found))
    return choose(records, measure, settings)


@pytest.fixture(scope="module")
def choices():
    return {"graph": _choice("graph", [5.0, 2.0, 8.0]), "ess": _choice("ess", [3.0, 20.0, 90.0])}


@pytest.fixture
def ax():
    return Figure(figsize=(5.2, 4.0), layout="constrained").add_subplot()


def _saved(figure):
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=50)
    return stream.getvalue()


def _marked(ax, marker, size):
    """Return the positions of single marks with a given shape and size."""
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))
        for line in ax.lines
        if line.get_marker() == marker and line.get_markersize() == size
    ]


class TestSelection:
    def test_each_panel_has_the_medians_and_a_star_at_the_best_setting(self, choices, ax):
        assert plots.selection(choices, "step_size", ax) is ax
        top, below = ax.figure.axes
        for side, choice in ((top, choices["graph"]), (below, choices["ess"])):
            assert side.lines[0].get_xdata() == pytest.approx(_STEPS)
            assert side.lines[0].get_ydata() == pytest.approx([row.median for row in choice.rows])
            assert _marked(side, "*", 17) == [(choice.best["step_size"], pytest.approx(choice.median))]
            assert side.get_yscale() == "log"
        assert top.get_xscale() == below.get_xscale() == "log"
        assert top.get_xlim() == below.get_xlim()
        assert (top.get_xlabel(), below.get_xlabel()) == ("", "step size")
        assert "smaller is better" in top.get_ylabel()
        assert "larger is better" in below.get_ylabel()
        _saved(ax.figure)
        assert top.yaxis.label.get_window_extent().y0 > below.yaxis.label.get_window_extent().y1
        assert top.get_window_extent().y0 > below.get_window_extent().y1  # the panels do not overlap

    def test_bands_are_the_bootstrap_intervals(self, choices, ax):
        plots.selection(choices, "step_size", ax, against=None)
        (band,) = [item for item in ax.collections if isinstance(item, PolyCollection)]
        corners = {(float(x), float(y)) for x, y in band.get_paths()[0].vertices}
        for row in choices["graph"].rows:
            assert {(row.settings["step_size"], end) for end in row.interval} <= corners

    def test_bars_are_the_certified_brackets(self, ax):
        choice = _choice("graph", [5.0, 2.0, 8.0], slack=0.4)
        plots.selection({"graph": choice}, "step_size", ax)
        (bars,) = [item for item in ax.collections if type(item).__name__ == "LineCollection"]
        ends = [path.vertices[:, 1].tolist() for path in bars.get_paths()]
        assert ends == [pytest.approx([row.lower, row.upper]) for row in choice.rows]
        assert ends[0][1] - ends[0][0] == pytest.approx(0.8)

    def test_rings_mark_ties(self, ax):
        tied = _choice("graph", [2.01, 2.0, 8.0])
        assert len(tied.ties) == 1
        plots.selection({"graph": tied}, "step_size", ax)
        (row,) = [row for row in tied.rows if row.settings in tied.ties]
        assert _marked(ax, "o", 13) == [(row.settings["step_size"], pytest.approx(row.median))]

    def test_a_setting_that_fails_with_half_of_its_seeds_has_a_cross(self, ax):
        plots.selection({"graph": _choice("graph", [5.0, 2.0, 8.0], failures=6)}, "step_size", ax)
        assert [x for x, _ in _marked(ax, "x", 8)] == [_STEPS[-1]]
        assert ax.lines[0].get_xdata() == pytest.approx(_STEPS[:-1])
        assert "half or more failed" in {text.get_text() for text in ax.get_legend().get_texts()}
        assert _saved(ax.figure).startswith(b"\x89PNG")

    def test_other_parameters_make_separate_lines(self, ax):
        settings = [{"step_size": step, "batch_size": batch} for step in _STEPS for batch in (5, 20)]
        choice = _choice("graph", [5.0, 6.0, 2.0, 3.0, 8.0, 9.0], settings=settings)
        plots.selection({"graph": choice}, "step_size", ax)
        curves = [line for line in ax.lines if len(line.get_xdata()) == 3 and line.get_linestyle() == "-"]
        assert len({line.get_marker() for line in curves}) == 2
        labels = {text.get_text() for text in ax.get_legend().get_texts()}
        assert {"batch size 5", "batch size 20"} <= labels

    def test_axes_outside_a_grid_cannot_be_divided(self, choices):
        ax = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
        with pytest.raises(UsageError, match="`ax` must be"):
            plots.selection(choices, "step_size", ax)
        assert plots.selection(choices, "step_size", ax, against=None) is ax

    def test_unknown_parameters_and_measures(self, choices, ax):
        with pytest.raises(UsageError, match=r"step_sice.*did you mean .step_size"):
            plots.selection(choices, "step_sice", ax)
        with pytest.raises(UsageError, match="'ksd'"):
            plots.selection(choices, "step_size", ax, measure="ksd")
