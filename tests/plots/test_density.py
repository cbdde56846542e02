"""Pictures of draws over the density of a target."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib.figure import Figure

from steinkit import Target, graph_stein_discrepancy, plots
from steinkit.targets import Normal, Uniform


@pytest.fixture(scope="module")
def wide():
    points = 1.3 * np.random.default_rng(1).standard_normal((60, 2))
    return graph_stein_discrepancy(points, Normal(dim=2), tolerance=1e-2)


@pytest.fixture
def ax():
    return Figure(figsize=(5.2, 4.0), layout="constrained").add_subplot()


def _saved(figure):
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=50)
    return stream.getvalue()


class TestDrawsWithDensity:
    def test_contours_enclose_the_shares_of_the_target_that_they_say(self, wide, ax):
        assert plots.draws_with_density(wide, Normal(dim=2), ax) is ax
        (lines,) = [item for item in ax.collections if type(item).__name__ == "QuadContourSet" and not item.filled]
        # the region of a standard normal in the plane that holds a share p has the radius sqrt(-2 log(1 - p))
        for path, share in zip(lines.get_paths(), (0.99, 0.9, 0.5), strict=True):
            radius = np.hypot(*path.vertices.T).mean()
            assert radius == pytest.approx(np.sqrt(-2.0 * np.log1p(-share)), rel=0.03)

    def test_the_density_is_found_beyond_the_draws(self, ax):
        points = 0.05 * np.random.default_rng(2).standard_normal((30, 2)) + 1.0
        result = graph_stein_discrepancy(points, Normal(dim=2), tolerance=1e-2)
        plots.draws_with_density(result, Normal(dim=2), ax)
        (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        assert max(low, bottom) < -3.0
        assert min(high, top) > 3.0

    def test_bounds_of_the_support_are_kept(self, ax):
        target = Uniform([0.0, 0.0], [1.0, 1.0])
        points = np.random.default_rng(3).random((30, 2))
        result = graph_stein_discrepancy(points, target, tolerance=1e-2)
        plots.draws_with_density(result, target, ax)
        assert _saved(ax.figure).startswith(b"\x89PNG")
        regions = [item for item in ax.collections if type(item).__name__ == "QuadContourSet"]
        for region in regions:
            for path in region.get_paths():
                assert np.all((path.vertices >= 0.0) & (path.vertices <= 1.0))

    def test_without_a_log_density_there_are_the_draws_alone(self, wide, ax):
        plots.draws_with_density(wide, Target(score=lambda x: -x, dim=2), ax)
        assert not any(type(item).__name__ == "QuadContourSet" for item in ax.collections)

    def test_three_dimensions_show_the_draws_alone(self, ax):
        points = np.random.default_rng(4).standard_normal((20, 3))
        target = Normal(dim=3)
        plots.draws_with_density(graph_stein_discrepancy(points, target, tolerance=1e-2), target, ax)
        assert not any(type(item).__name__ == "QuadContourSet" for item in ax.collections)


def _results(dim, count):
    rng = np.random.default_rng(dim)
    return {
        f"scale {k + 1}": graph_stein_discrepancy(
            (k + 1) * rng.standard_normal((12, dim)), Normal(dim=dim), tolerance=0.1
        )
        for k in range(count)
    }
