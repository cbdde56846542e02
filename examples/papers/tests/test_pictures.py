"""Plots of several seeds and of risks: plotted values equal the results in the requested unit."""

import numpy as np
import pytest
from _bands import bands
from _pictures import plot_bands, plot_risk
from _running_means import LongRunMean, risk, running_means
from matplotlib.figure import Figure

import steinkit as sk

SIZES = np.array([10.0, 100.0, 1000.0])


@pytest.fixture
def ax():
    return Figure(layout="constrained").add_subplot()


def test_plots_of_bands_have_the_median_the_band_and_the_seeds(ax):
    found = bands(np.random.default_rng(0).lognormal(size=(7, 3)), SIZES)
    assert plot_bands(found, ax, label="chains", unit=0.5, seeds=True) is ax
    *alone, median = ax.lines
    assert len(alone) == 7
    assert median.get_xdata().tolist() == (0.5 * SIZES).tolist()
    assert median.get_ydata().tolist() == found.median.tolist()
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (found.low.min(), found.high.max())
    assert ax.get_legend_handles_labels()[1] == ["chains"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_one_seed_has_no_band_and_negative_values_no_logarithmic_axis(ax):
    plot_bands(bands([[1.0, -0.5, 0.25]], SIZES), ax)
    assert not ax.collections
    assert ax.get_yscale() == "linear"
    assert ax.get_legend_handles_labels()[1] == []


@pytest.mark.parametrize("floor", [0.0, 0.1])
def test_a_plot_of_a_risk_has_its_interval_and_its_lower_limit(ax, floor):
    means = running_means(sk.Sample(np.random.default_rng(1).standard_normal((5, 40, 1))), n=[1, 5, 40])
    found = risk(means, LongRunMean(np.zeros(1), np.array([floor])))
    plot_risk(found, ax, label="exact", unit=2.0)
    assert len(ax.lines) == 1 + (floor > 0.0)
    assert ax.lines[0].get_xdata().tolist() == [2.0, 10.0, 80.0]
    assert ax.lines[0].get_ydata().tolist() == found.value.tolist()
    if floor:
        assert ax.lines[1].get_ydata()[0] == pytest.approx(floor**2)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((found.interval.min(), found.interval.max()))
