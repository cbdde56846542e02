"""Pictures of slices: h along the coordinate in the draws' own unit, red where there are too many."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots
from steinkit.measures import find_measure
from steinkit.measures.scoring import Judging, score_sample
from steinkit.plots.slices import _binned_means

_SD = np.array([1.0, 10.0, 0.1])


@pytest.fixture(scope="module")
def wide():
    """The second coordinate is a third too wide, its unit ten."""
    x = np.random.default_rng(0).standard_normal((400, 3)) * [1.0, 1.3, 1.0] * _SD
    return sk.sliced_stein_discrepancy(sk.Sample(x, names=("a", "b", "c"), scores=-x / _SD**2))


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


def test_the_mean_of_h_is_positive_at_both_ends_of_what_is_too_wide(wide, ax):
    assert plots.slice_function(wide, ax) is ax
    assert ax.get_xlabel() == "b"
    (mean,) = [line for line in ax.lines if line.get_label().startswith("mean of h")]
    u, h = mean.get_data()
    assert -40.0 < u[0] < -15.0 < 15.0 < u[-1] < 40.0
    assert h[0] > 0.0 > h[len(h) // 2]
    assert h[-1] > 0.0
    heights = [bar.get_height() for bar in ax.patches]
    assert 0 < len(heights) < len(h)
    assert min(abs(each) for each in heights) >= max(each for each in h if each not in heights)


def test_only_what_is_beyond_independent_samples_is_an_area(wide, ax):
    values = np.array([[0.1, 0.4, 0.1], [0.1, 0.3, 0.2]]) * wide.slices[1].value
    plots.slice_function(wide, ax, reference=sk.Reference(values.sum(axis=1), values.sum(axis=1), 400, values))
    h = next(line for line in ax.lines if line.get_label().startswith("mean of h")).get_ydata()
    masses = [bar.get_height() / len(h) for bar in ax.patches if bar.get_height() > 0.0]
    excess = 0.6 * wide.slices[1].lower
    assert sum(masses) == pytest.approx(excess, abs=1.1 * min(masses))
    other = Figure().add_subplot()
    plots.slice_function(wide, other, reference=sk.Reference(10.0 * values.sum(axis=1), values.sum(axis=1) * 10.0, 400))
    assert not other.patches
    assert other.get_title() == "all grey: no more than 2 independent samples show"


def test_phi_is_that_of_the_slice_asked_for(wide, ax):
    plots.slice_function(wide, ax, direction=2)
    (phi,) = [line for line in ax.lines if line.get_label().startswith("phi")]
    assert np.sort(wide.sample.points[:, 2]) == pytest.approx(phi.get_xdata())
    assert np.array_equal(phi.get_ydata(), wide.slices[2].phi)


def test_bins_keep_the_mean_whatever_the_weights():
    rng = np.random.default_rng(1)
    u, h, weights = rng.standard_normal(333), rng.standard_normal(333), rng.random(333)
    weights /= weights.sum()
    edges, places, means, mass = _binned_means(u, np.ones(333), weights)
    assert means == pytest.approx(np.ones(len(means)))
    assert (np.diff(places) > 0.0).all()
    assert ((edges[:-1] <= places) & (places <= edges[1:])).all()
    assert mass.sum() == pytest.approx(1.0)
    means = _binned_means(u, h, np.full(333, 1.0 / 333))[2]
    assert means.mean() == pytest.approx(h.mean(), abs=0.02)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_the_picture_shows_the_worst_slices_and_all_brackets(dim):
    x = np.random.default_rng(dim).standard_normal((60, dim)) * np.linspace(1.0, 2.0, dim)
    result = sk.sliced_stein_discrepancy(x, scores=-x, units="raw")
    values = np.sort(result.direction_values)[::-1]
    worst = int((values[:4] >= 0.5 * values[0]).sum())
    figure = plots.picture(result, "draws.csv")
    shown = [ax.get_xlabel() for ax in figure.axes]
    order = np.argsort(-result.direction_values)[:worst]
    assert shown[:worst] == [result.direction_names[k] for k in order]
    assert len(figure.axes) == worst + (dim > 1)
    assert figure.get_suptitle().startswith("draws.csv\nsliced graph Stein discrepancy in [")


def test_the_picture_of_a_score_shows_the_worst_ten_biases_and_the_worst_slice():
    """Of twelve coordinates the third is .5 too high and the eighth 1.5 times too wide."""
    x = np.random.default_rng(0).standard_normal((500, 12))
    x[:, 2] += 0.5
    x[:, 7] *= 1.5
    names = tuple(f"beta[{k}]" for k in range(12))
    sample, settings = sk.Sample(x, names=names, scores=-x), {"tolerance": 1e-2}
    found = score_sample(sample, None, [find_measure("sliced")], settings, judging=Judging())
    figure = found.plot()
    figure.draw_without_rendering()
    means, _, worst = figure.axes
    shown = [label.get_text() for label in means.get_yticklabels()]
    assert len(shown) == 10
    assert set(shown[:2]) == {"beta[2]", "beta[7]"}
    assert worst.get_xlabel() == "beta[7]"
    assert worst.patches  # areas with too many draws: the sample is accused
    off = means.containers[shown.index("beta[2]")].lines[0].get_xdata()
    assert off == pytest.approx([0.5], abs=0.05)
    boxes = [label.get_window_extent() for label in means.get_yticklabels()]
    assert not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k])
