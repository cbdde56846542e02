"""Boundary factor: range, slope, limits, units."""

import math

import numpy as np
import pytest

from steinkit.discrepancy.operators import boundary_factor

BOUNDS = np.array([[0.0, 1.0], [-2.0, math.inf], [-math.inf, 3.0], [-math.inf, math.inf]])
POINTS = np.random.default_rng(0).uniform([0.0, -2.0, -5.0, -5.0], [1.0, 5.0, 3.0, 5.0], (200, 4))


@pytest.mark.parametrize("scale", [0.05, 1.0, 40.0])
def test_factor_and_slope_are_bounded(scale):
    factor, slope, size = boundary_factor(POINTS, BOUNDS, scale)
    assert (factor >= 0.0).all()
    assert (factor <= 1.0).all()
    assert (np.abs(slope) <= size).all()
    assert (np.abs(slope) <= 1.0 / scale).all()
    np.testing.assert_array_equal(factor[:, 3], 1.0)
    np.testing.assert_array_equal(slope[:, 3], 0.0)


def test_slope_is_the_derivative():
    inside = POINTS[(POINTS[:, 0] > 0.01) & (POINTS[:, 0] < 0.99)]
    h = 1e-5
    above, below = (boundary_factor(inside + step, BOUNDS, 0.7)[0] for step in (h, -h))
    np.testing.assert_allclose(boundary_factor(inside, BOUNDS, 0.7)[1], (above - below) / (2 * h), rtol=1e-6, atol=1e-8)


def test_factor_vanishes_on_the_faces_like_the_distance():
    corner = np.array([[0.0, -2.0, 3.0, 0.0]])
    factor, slope, _ = boundary_factor(corner, BOUNDS, 2.0)
    np.testing.assert_array_equal(factor, [[0.0, 0.0, 0.0, 1.0]])
    np.testing.assert_allclose(slope, [[0.5 / 3.0, 0.5, -0.5, 0.0]])


def test_receding_bounds():
    near = boundary_factor(POINTS[:, :1], BOUNDS[:1], 1.0)
    far = boundary_factor(POINTS[:, :1], np.array([[0.0, 1e12]]), 1.0)
    one_sided = boundary_factor(POINTS[:, :1], np.array([[0.0, math.inf]]), 1.0)
    np.testing.assert_allclose(far[0], one_sided[0], rtol=1e-11)
    np.testing.assert_allclose(far[1], one_sided[1], rtol=1e-11)
    assert not np.allclose(near[0], one_sided[0])


def test_factor_is_invariant_to_rescaling():
    unscaled, scaled = boundary_factor(POINTS, BOUNDS, 0.7), boundary_factor(8.0 * POINTS, 8.0 * BOUNDS, 5.6)
    np.testing.assert_allclose(unscaled[0], scaled[0], rtol=1e-14)
    np.testing.assert_allclose(unscaled[1], 8.0 * scaled[1], rtol=1e-13, atol=1e-15)
