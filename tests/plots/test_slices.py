"""Figures of slices and of moments: positions in the units of the draws, marks, and signs."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinkit as sk
from steinkit import plots
from steinkit.plots.slices import binned_means

_SD = np.array([1.0, 10.0, 0.1])
MINUS = "\N{MINUS SIGN}"


@pytest.fixture(scope="module")
def wide():
    """The second coordinate is 30% too wide, and its unit is ten."""
    x = np.random.default_rng(0).standard_normal((400, 3)) * [1.0, 1.3, 1.0] * _SD
    return sk.sliced_stein_discrepancy(sk.Sample(x, names=("a", "b", "c"), scores=-x / _SD**2))


def _line(ax, label):
    return next(line for line in ax.lines if line.get_label() == label)


def test_the_mean_of_h_is_positive_at_both_ends_of_a_wide_coordinate(wide, ax):
    assert plots.slice_function(wide, ax) is ax
    assert ax.get_xlabel() == "b"
    u, h = _line(ax, "mean of h (target: 0)").get_data()
    assert -40.0 < u[0] < -15.0 < 15.0 < u[-1] < 40.0
    assert h[0] > 0.0 > h[len(h) // 2]
    assert h[-1] > 0.0
    heights = [bar.get_height() for bar in ax.patches]
    assert 0 < len(heights) < len(h)
    assert min(abs(each) for each in heights) >= max(each for each in h if each not in heights)


def test_areas_carry_the_excess_over_exact_samples(wide, ax):
    values = np.array([[0.1, 0.4, 0.1], [0.1, 0.3, 0.2]]) * wide.slices[1].value
    plots.slice_function(wide, ax, reference=sk.Reference(values.sum(axis=1), values.sum(axis=1), 400, values))
    h = _line(ax, "mean of h (target: 0)").get_ydata()
    masses = [bar.get_height() / len(h) for bar in ax.patches if bar.get_height() > 0.0]
    assert sum(masses) == pytest.approx(0.6 * wide.slices[1].lower, abs=1.1 * min(masses))
    other, large = Figure().add_subplot(), 10.0 * values.sum(axis=1)
    plots.slice_function(wide, other, reference=sk.Reference(large, large, 400))
    assert not other.patches


def test_phi_belongs_to_the_chosen_slice(wide, ax):
    plots.slice_function(wide, ax, direction=2)
    phi = _line(ax, "flow phi to the target")
    assert np.sort(wide.sample.points[:, 2]) == pytest.approx(phi.get_xdata())
    assert np.array_equal(phi.get_ydata(), wide.slices[2].phi)


def test_bins_keep_the_mean_with_weights():
    rng = np.random.default_rng(1)
    u, h, weights = rng.standard_normal(333), rng.standard_normal(333), rng.random(333)
    weights /= weights.sum()
    edges, places, means, mass = binned_means(u, h, weights)
    assert mass @ means == pytest.approx(weights @ h)
    assert mass @ places == pytest.approx(weights @ u)
    assert ((edges[:-1] <= places) & (places <= edges[1:])).all()
    assert mass.max() < 2.0 * mass.min()


def _moments(dim, n=400):
    """The first coordinate is too high, the last too wide, and the first two are too strongly correlated."""
    x = np.random.default_rng(dim).standard_normal((n, dim))
    x[:, -1] *= 1.4
    x[:, 0] += 0.5
    if dim > 2:
        x[:, 1] += 0.5 * (x[:, 0] - 0.5)
    return sk.moment_stein_discrepancy(sk.Sample(x, names=[f"name {j}" for j in range(dim)], scores=-x))


def test_the_matrix_has_the_sign_of_the_error(ax):
    result = _moments(4)
    shown = plots.moment_matrix(result, ax).images[0].get_array().filled(np.nan)
    z = {(each.kind, *each.coordinates): each.z for each in result.moments}
    assert shown[0, 0] == abs(z["location", "name 0"]) > 5.0  # the draws are too high, and the moment is negative
    assert z["location", "name 0"] < 0.0
    assert shown[3, 1] == -z["spread", "name 3"] > 5.0
    assert shown[1, 3] == -z["dependence", "name 0", "name 1"] > 5.0
    assert np.isnan(shown[0, 3:]).all()  # each pair is shown once
    assert np.isfinite(shown).sum() == 4 + 4 + 6


@pytest.mark.parametrize(("dim", "cells"), [(1, 2), (2, 5)])
def test_few_coordinates_have_numbers(ax, dim, cells):
    plots.moment_matrix(_moments(dim), ax)
    assert sum(text.get_text()[-1].isdigit() for text in ax.texts) == cells
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"name {j}" for j in range(dim)]


def test_many_coordinates_have_signs_of_large_values(ax):
    values = plots.moment_matrix(_moments(16), ax).images[0].get_array().filled(0.0)
    shown = {text.get_position(): text.get_text() for text in ax.texts}
    assert shown == {(k, i): "+" if values[i, k] > 0.0 else MINUS for i, k in np.argwhere(np.abs(values) >= 3.0)}
    assert "+" in shown.values()
