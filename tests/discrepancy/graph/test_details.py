"""Extreme samples, and bounds of the Stein function."""

from fractions import Fraction

import numpy as np
import pytest

import steinkit as sk


@pytest.mark.parametrize(("spread", "size"), [(1e90, 1.0), (1e-90, 1.0), (1.0, 1e-90)])
def test_extreme_samples_have_a_summary(spread, size):
    """Powers of deviations and scores are extreme."""
    x = np.random.default_rng(0).standard_normal((12, 1)) * spread
    found = sk.graph_stein_discrepancy(x, scores=-size * np.sign(x))
    assert found.summary()


@pytest.mark.parametrize("solver", ["chain", "block", "first_order", "highs"])
@pytest.mark.parametrize("scale", [1.0, 1e-20])
def test_g_never_exceeds_its_bound_close_to_a_bound_of_the_support(scale, solver):
    """The product c2 a, computed in double precision, exceeds the exact product for about half of the points."""
    factors = (1000.0 * scale, 0.1, 1.0 / scale)
    for x in scale * np.random.default_rng(0).uniform(0.5, 2.0, 30):
        given = {"scores": [[1.0 / scale]], "bounds": [[0.0, np.inf]], "stein_factors": factors, "units": "raw"}
        found = sk.graph_stein_discrepancy([[x]], **given, solver=solver)
        g, slope = Fraction(found.g[0, 0]), Fraction(found.slopes[0, 0, 0])
        assert abs(g) <= Fraction(0.1) * Fraction(x)
        assert Fraction(found.lower) <= g * Fraction(1.0 / scale) + slope
