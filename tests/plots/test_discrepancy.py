"""Pictures: every function draws what it says, on the Axes it is given."""

from __future__ import annotations

import io

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from steinkit import Reference, Sample, graph_stein_discrepancy, plots
from steinkit.targets import Normal

_NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")


def _result(dim, n=25, names=None, weights=None):
    points = np.random.default_rng(dim).standard_normal((n, dim)) * np.linspace(1.0, 3.0, dim)
    sample = Sample(points, names=names or _NAMES[:dim], weights=weights)
    return graph_stein_discrepancy(sample, Normal(dim=dim), tolerance=1e-3)


@pytest.fixture(scope="module")
def results():
    return {dim: _result(dim) for dim in (1, 2, 7)}


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


def _saved(figure, form="png"):
    stream = io.BytesIO()
    figure.savefig(stream, format=form)
    return stream.getvalue()


def _right(largest):
    """Three independent samples, the largest discrepancy as given."""
    values = np.array([0.5, 0.7, 1.0]) * largest
    return Reference(values, values, 25)


def _kinds(ax):
    """Colours by place of draws in grey, of those too many, and of those too few."""
    found = [{}, {}, {}]
    for marks in ax.collections:
        marks.update_scalarmappable()
        corners = marks.get_paths()[0].vertices
        kind = 0 if len(corners) > 5 else 1 if corners[0, 1] > 0.0 else 2  # triangles begin at their tip
        offsets = np.asarray(marks.get_offsets())
        colours = np.broadcast_to(marks.get_facecolors(), (len(offsets), 4))
        found[kind].update(zip(map(tuple, offsets), map(tuple, colours), strict=True))
    return found


class TestSteinFunction:
    def test_draws_g_and_h_over_the_sorted_sample(self, results, ax):
        result = results[1]
        assert plots.stein_function(result, ax) is ax
        order = np.argsort(result.sample.points[:, 0])
        curves = {line.get_label(): line for line in ax.lines}
        (h,) = [line for label, line in curves.items() if label.startswith("test function h")]
        (g,) = [line for label, line in curves.items() if label.startswith("Stein function g")]
        assert np.array_equal(h.get_xdata(), np.sort(result.sample.points[:, 0]))
        assert np.array_equal(h.get_ydata(), result.test_function[order])
        assert np.array_equal(g.get_ydata(), result.g[order, 0])
        assert ax.get_ylabel() == "g, h"
        below = ax.figure.axes[1]
        assert below.get_xlabel() == "alpha"
        assert below.get_xlim() == ax.get_xlim()

    def test_the_histogram_shows_weights(self):
        weights = np.arange(1.0, 26.0)
        result = _result(1, weights=weights)
        figure = Figure()
        plots.stein_function(result, figure.add_subplot())
        histogram = figure.axes[1]
        heights = [bar.get_height() for bar in histogram.patches]
        expected = np.histogram(result.sample.points[:, 0], bins=len(heights), weights=result.sample.weights)[0]
        assert heights == pytest.approx(expected)
        assert sum(heights) == pytest.approx(1.0)
        assert "share" in histogram.get_ylabel()

    def test_the_legend_hides_no_part_of_the_curves(self, results):
        figure = Figure(figsize=(8.0, 4.5), layout="constrained")
        ax = plots.stein_function(results[1], figure.add_subplot())
        _saved(figure)
        box = ax.get_legend().get_window_extent()
        for line in ax.lines[1:]:
            assert not any(box.contains(*place) for place in ax.transData.transform(line.get_xydata()))

    def test_a_lone_draw_can_be_seen(self, ax):
        result = graph_stein_discrepancy([0.3], Normal())
        plots.stein_function(result, ax)
        assert all(line.get_marker() == "." for line in ax.lines[1:])


class TestDraws:
    def test_shows_the_two_coordinates_that_carry_most(self, results, ax):
        result = results[7]
        assert plots.draws(result, ax) is ax
        first, second = sorted(np.argsort(-result.coordinate_values)[:2])
        assert (ax.get_xlabel(), ax.get_ylabel()) == (_NAMES[first], _NAMES[second])
        shown = {tuple(place) for marks in ax.collections for place in np.asarray(marks.get_offsets())}
        assert shown == {tuple(place) for place in result.sample.points[:, [first, second]]}

    def test_red_is_where_h_is_large_blue_where_it_is_as_far_below_and_the_rest_is_grey(self, results, ax):
        result = results[2]
        plots.draws(result, ax)
        within, many, few = _kinds(ax)
        h = {tuple(point): height for point, height in zip(result.sample.points, result.test_function, strict=True)}
        t = min(h[place] for place in many)
        assert t > 0.0
        assert set(many) == {place for place, height in h.items() if height >= t}
        assert set(few) == {place for place, height in h.items() if height <= -t}
        assert set(within) == set(h) - set(many) - set(few)
        assert all(red > blue for red, _, blue, _ in many.values())
        assert all(blue > red for red, _, blue, _ in few.values())
        assert {len({red, green, blue}) for red, green, blue, _ in within.values()} <= {1}

    def test_larger_marks_for_larger_weights(self, ax):
        weights = np.ones(25)
        weights[4] = 6.0
        result = _result(2, weights=weights)
        plots.draws(result, ax, reference=_right(10.0 * result.upper))
        (marks,) = ax.collections
        heaviest = np.asarray(marks.get_offsets())[int(np.argmax(marks.get_sizes()))]
        assert heaviest == pytest.approx(result.sample.points[4])
        assert marks.get_sizes().max() > 4.0 * np.median(marks.get_sizes())

    def test_all_draws_are_grey_where_independent_samples_show_as_much(self, results, ax):
        plots.draws(results[2], ax, reference=_right(results[2].upper))
        within, many, few = _kinds(ax)
        assert (len(within), many, few) == (25, {}, {})
        assert ax.get_title() == "all grey: no more than 3 independent samples show"
        assert len(ax.figure.axes) == 1  # no scale of colours

    def test_colours_carry_what_is_beyond_the_largest_of_the_independent_samples(self, results, ax):
        result = results[2]
        plots.draws(result, ax, reference=_right(0.4 * result.value))
        many = _kinds(ax)[1]
        h = {tuple(point): height for point, height in zip(result.sample.points, result.test_function, strict=True)}
        carried = [h[place] / 25 for place in many]
        assert sum(carried) >= 0.6 * result.lower > sum(carried) - min(carried)
        assert ax.get_title().endswith("grey: no more than 3 independent samples show")

    def test_a_scale_shared_with_panels_that_are_worse_leaves_colours_colours(self, results, ax):
        plots.draws(results[2], ax, limit=1e-3)
        assert all(red > blue for red, _, blue, _ in _kinds(ax)[1].values())

    def test_the_colour_bar_can_be_left_out(self, results):
        with_bar, without = Figure(), Figure()
        plots.draws(results[2], with_bar.add_subplot())
        plots.draws(results[2], without.add_subplot(), colorbar=False)
        assert (len(with_bar.axes), len(without.axes)) == (2, 1)
        assert with_bar.axes[1].get_ylabel() == "test function h"


class TestCoordinates:
    @pytest.mark.parametrize("dim", [1, 2, 7])
    def test_one_bar_a_coordinate_largest_first(self, results, ax, dim):
        result = results[dim]
        assert plots.coordinates(result, ax) is ax
        order = np.argsort(-result.coordinate_values, kind="stable")
        assert [label.get_text() for label in ax.get_yticklabels()] == [_NAMES[j] for j in order]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(result.coordinate_values[order])
        assert [text.get_text() for text in ax.texts] == [f"{value:.3g}" for value in result.coordinate_values[order]]
        bottom, top = ax.get_ylim()
        assert bottom > top  # largest on top
        assert ax.get_xlim()[0] == 0.0
        assert ax.get_xlim()[1] > result.coordinate_upper.max()

    def test_long_names_are_wrapped(self, ax):
        plots.coordinates(_result(2, names=("coefficient[group=3, level=treatment]", "b")), ax)
        labels = {label.get_text() for label in ax.get_yticklabels()}
        assert labels == {"coefficient[group=3,\nlevel=treatment]", "b"}


class TestPicture:
    @pytest.mark.parametrize("dim", [1, 2, 7])
    def test_is_a_png_with_title_and_bracket(self, results, dim):
        figure = plots.picture(results[dim], "draws.csv")
        picture = _saved(figure)
        assert picture.startswith(b"\x89PNG\r\n")
        assert len(picture) > 5000
        heading = figure.get_suptitle()
        assert heading.startswith("draws.csv\n")
        lower, upper = heading.split("[")[1].rstrip("]").split(", ")
        assert float(lower) <= results[dim].lower <= results[dim].upper <= float(upper)

    def test_one_dimension_shows_the_functions_more_show_draws_and_coordinates(self, results):
        one, two = plots.picture(results[1]), plots.picture(results[2])
        assert any(ax.get_ylabel() == "g, h" for ax in one.axes)
        titles = [ax.get_title() for ax in two.axes]
        assert titles[0].startswith("▲ red: too many draws, ▼ blue: too few\n")
        assert titles[1] == "coordinate by coordinate"
        assert "\n" not in one.get_suptitle()

    def test_nothing_is_registered_with_pyplot(self, results):
        import matplotlib.pyplot as plt

        plt.close("all")
        plots.picture(results[2])
        assert plt.get_fignums() == []

    @pytest.mark.parametrize("dim", [1, 2])
    def test_names_and_titles_are_no_formulas(self, dim):
        result = _result(dim, n=5, names=(r"$\frac{$", "cost_$ and $")[:dim])
        assert _saved(plots.picture(result, "$_$.csv")).startswith(b"\x89PNG\r\n")

    def test_extreme_draws(self):
        points = np.vstack([np.random.default_rng(0).standard_normal((10, 2)), [[1e100, -1e50]]])
        result = graph_stein_discrepancy(points, Normal(dim=2))
        assert _saved(plots.picture(result)).startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize(("name", "dim"), [("stein_function", 1), ("draws", 2), ("coordinates", 2)])
def test_new_axes_are_made_where_none_are_given(results, name, dim):
    with matplotlib.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        ax = getattr(plots, name)(results[dim])
        assert ax.figure.number in plt.get_fignums()
        assert ax.has_data()
        plt.close("all")
