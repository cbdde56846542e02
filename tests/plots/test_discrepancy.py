"""Figures of a graph Stein discrepancy: positions, marks, labels and legends."""

import itertools
import math

import matplotlib
import numpy as np
import pytest

import steinkit as sk
from steinkit import Reference, Sample, Target, graph_stein_discrepancy, plots
from steinkit.plots.axes import coordinate_bars
from steinkit.plots.discrepancy import exact_share, threshold
from steinkit.targets import Normal, Uniform

_NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")


def _result(dim, n=25, names=None, weights=None):
    points = np.random.default_rng(dim).standard_normal((n, dim)) * np.linspace(1.0, 3.0, dim)
    sample = Sample(points, names=names or _NAMES[:dim], weights=weights)
    return graph_stein_discrepancy(sample, Normal(dim=dim), tolerance=1e-3)


@pytest.fixture(scope="module")
def results():
    return {dim: _result(dim) for dim in (1, 2, 7)}


def _exact(largest):
    """Return values of three exact samples with this maximum."""
    values = np.array([0.5, 0.7, 1.0]) * largest
    return Reference(values, values, 25)


def _marked(ax):
    """Return the draws that are marked as too many, as too few, and not marked."""
    found = {"too many draws": set(), "too few draws": set()}
    shown = {marks.get_label(): {tuple(place) for place in np.asarray(marks.get_offsets())} for marks in ax.collections}
    unmarked = [label for label in shown if label not in found]
    found |= shown
    return found["too many draws"], found["too few draws"], set().union(*(found[label] for label in unmarked))


class TestThreshold:
    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 0.99])
    def test_marks_the_fewest_draws_that_carry_the_excess(self, seed, share):
        h, weights = np.random.default_rng(seed).standard_normal(10) + 0.4, np.full(10, 0.1)
        h += max(0.0, 0.1 - h.mean())
        excess = (1.0 - share) * float(weights @ h)
        fewest = next(
            size
            for size in range(1, 11)
            if any(0.1 * sum(chosen) >= excess - 1e-12 for chosen in itertools.combinations(h, size))
        )
        assert int((h >= threshold(h, weights, share)).sum()) == fewest

    def test_is_infinite_without_an_excess(self):
        h, weights = np.array([3.0, -1.0]), np.array([0.5, 0.5])
        assert threshold(h, weights, 1.0) == math.inf
        assert threshold(-h, weights, 0.0) == math.inf

    def test_exact_samples_rarely_have_marks_and_biased_ones_always(self):
        target = Normal(dim=1)
        reference = sk.reference_discrepancy(target, 100, 5)
        marked = {}
        for scale in (1.0, 1.6):
            points = scale * np.random.default_rng(3).standard_normal((20, 100))
            found = [graph_stein_discrepancy(each, target) for each in points]
            marked[scale] = sum(
                math.isfinite(threshold(each.test_function, each.sample.weights, exact_share(each.value, reference)))
                for each in found
            )
        assert marked[1.0] <= 8  # one in six exceeds all five, and more than 8 of 20 do so with probability 1/300
        assert marked[1.6] == 20


class TestExactShare:
    def test_of_a_reference_is_its_largest_value(self):
        values, parts = np.array([1.0, 2.0]), np.array([[0.2, 0.8], [1.5, 0.5]])
        reference = Reference(values, values + 0.5, 100, parts)
        assert exact_share(10.0, reference) == 0.25
        assert exact_share(3.0, reference, 0) == 0.5
        assert exact_share(2.0, reference) == 1.0

    def test_of_a_verdict_follows_its_kernel_discrepancy(self):
        x = np.random.default_rng(0).standard_normal((600, 2))
        exact, wide = sk.verdict(x, scores=-x), sk.verdict(1.4 * x, scores=-1.4 * x)
        assert (exact.is_biased, wide.is_biased) == (False, True)
        assert exact_share(1.0, exact) == 1.0
        assert exact_share(1.0, wide) == pytest.approx(math.sqrt(wide.ksd_equivalent_draws / min(wide.ess, 600)))

    def test_of_a_rejected_sample_is_never_one(self):
        """The kernel test does not detect one coordinate of 40 that is too wide; the moments do."""
        x = np.random.default_rng(1).standard_normal((400, 40))
        x[:, 7] *= 1.4
        found = sk.verdict(x, scores=-x)
        assert found.is_biased
        assert found.ksd_equivalent_draws > found.ess
        assert exact_share(1.0, found) == 0.5


class TestSteinFunction:
    def test_draws_g_and_h_over_the_sorted_sample(self, results, ax):
        result = results[1]
        assert plots.stein_function(result, ax) is ax
        order = np.argsort(result.sample.points[:, 0])
        lines = {line.get_label(): line for line in ax.lines}
        assert np.array_equal(lines["test function h"].get_xdata(), np.sort(result.sample.points[:, 0]))
        assert np.array_equal(lines["test function h"].get_ydata(), result.test_function[order])
        assert np.array_equal(lines["Stein function g"].get_ydata(), result.g[order, 0])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("alpha", "test function h, Stein function g")

    def test_the_legend_does_not_cover_the_axes(self, results, ax):
        plots.stein_function(results[1], ax)
        ax.figure.draw_without_rendering()
        legend = ax.get_legend()
        assert legend.get_window_extent().y1 < ax.get_window_extent().y0
        assert {text.get_text() for text in legend.get_texts()} > {"too many draws", "too few draws"}

    def test_a_single_draw_is_visible(self, ax):
        plots.stein_function(graph_stein_discrepancy([0.3], Normal()), ax)
        assert all(line.get_marker() in ".|" for line in ax.lines[1:])


class TestDraws:
    def test_shows_the_two_coordinates_that_contribute_most(self, results, ax):
        result = results[7]
        assert plots.draws(result, ax) is ax
        first, second = sorted(np.argsort(-result.coordinate_values)[:2])
        assert (ax.get_xlabel(), ax.get_ylabel()) == (_NAMES[first], _NAMES[second])
        assert set().union(*_marked(ax)) == {tuple(place) for place in result.sample.points[:, [first, second]]}

    def test_marks_draws_beyond_the_threshold_on_both_sides(self, results, ax):
        result = results[2]
        plots.draws(result, ax)
        many, few, unmarked = _marked(ax)
        h = {tuple(point): height for point, height in zip(result.sample.points, result.test_function, strict=True)}
        t = min(h[place] for place in many)
        assert t > 0.0
        assert many == {place for place, height in h.items() if height >= t}
        assert few == {place for place, height in h.items() if height <= -t}
        assert unmarked == set(h) - many - few

    def test_larger_marks_for_larger_weights(self, ax):
        weights = np.ones(25)
        weights[4] = 6.0
        result = _result(2, weights=weights)
        plots.draws(result, ax, reference=_exact(10.0 * result.upper))
        (marks,) = ax.collections
        assert np.asarray(marks.get_offsets())[int(np.argmax(marks.get_sizes()))] == pytest.approx(
            result.sample.points[4]
        )
        assert marks.get_sizes().max() > 4.0 * np.median(marks.get_sizes())

    def test_all_draws_are_gray_if_exact_samples_score_as_high(self, results, ax):
        plots.draws(results[2], ax, reference=_exact(results[2].upper))
        many, few, unmarked = _marked(ax)
        assert (many, few, len(unmarked)) == (set(), set(), 25)


class TestCoordinates:
    @pytest.mark.parametrize("dim", [1, 2, 7])
    def test_one_bar_per_coordinate_largest_first(self, results, ax, dim):
        result = results[dim]
        coordinate_bars(result.terms, ax)
        order = np.argsort(-result.coordinate_values, kind="stable")
        assert [label.get_text() for label in ax.get_yticklabels()] == [_NAMES[j] for j in order]
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(result.coordinate_values[order])
        assert [text.get_text() for text in ax.texts] == [f"{value:.3g}" for value in result.coordinate_values[order]]
        bottom, top = ax.get_ylim()
        assert bottom > top
        assert ax.get_xlim()[0] == 0.0
        assert ax.get_xlim()[1] > result.coordinate_upper.max()


def _regions(ax):
    return [item for item in ax.collections if type(item).__name__ == "QuadContourSet"]


class TestDrawsWithDensity:
    @pytest.mark.parametrize(("scale", "centre"), [(1.3, 0.0), (0.05, 1.0), (30.0, 0.0), (1.0, 5.0)])
    def test_contours_enclose_the_given_mass(self, ax, scale, centre):
        points = scale * np.random.default_rng(1).standard_normal((60, 2)) + centre
        result = graph_stein_discrepancy(points, Normal(dim=2), tolerance=1e-2)
        assert plots.draws_with_density(result, Normal(dim=2), ax) is ax
        (lines,) = [item for item in _regions(ax) if not item.filled]
        # a disk of radius sqrt(-2 log(1 - p)) holds mass p of a standard normal in the plane
        for path, mass in zip(lines.get_paths(), (0.99, 0.9, 0.5), strict=True):
            assert np.hypot(*path.vertices.T).mean() == pytest.approx(np.sqrt(-2.0 * np.log1p(-mass)), rel=0.04)

    def test_contours_stay_within_the_bounds(self, ax):
        target = Uniform([0.0, 0.0], [1.0, 1.0])
        result = graph_stein_discrepancy(np.random.default_rng(3).random((30, 2)), target, tolerance=1e-2)
        plots.draws_with_density(result, target, ax)
        assert _regions(ax)
        for region in _regions(ax):
            for path in region.get_paths():
                assert np.all((path.vertices >= 0.0) & (path.vertices <= 1.0))

    def test_without_a_log_density_or_in_three_dimensions_there_are_no_contours(self, results, ax):
        plots.draws_with_density(results[2], Target(score=lambda x: -x, dim=2), ax)
        plots.draws_with_density(results[7], Normal(dim=7), ax)
        assert _regions(ax) == []


@pytest.mark.parametrize(("name", "dim"), [("stein_function", 1), ("draws", 2)])
def test_new_axes_are_made_by_default(results, name, dim):
    with matplotlib.rc_context({"backend": "Agg"}):
        import matplotlib.pyplot as plt

        plt.switch_backend("Agg")
        ax = getattr(plots, name)(results[dim])
        assert ax.figure.number in plt.get_fignums()
        assert ax.has_data()
        plt.close("all")
