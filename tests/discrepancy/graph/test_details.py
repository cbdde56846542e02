"""Directions of the bias on both sides of every threshold, and influential draws."""

from fractions import Fraction

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.readings import influences, moments_of

NORMAL = sk.targets.Normal(0.0, dim=2)


def test_influences_describe_the_largest_contributions():
    draws = np.repeat(np.linspace(-1.0, 1.0, 20), 2)
    draws[6:8] = 7.0
    result = sk.graph_stein_discrepancy(draws, sk.targets.Normal(0.0))
    draws, half = influences(result.sample, result.test_function)
    h, q = result.test_function, result.sample.weights
    assert draws[0] == f"draw 7 (2 times) at (7), h = {h[3]:+.3g}"
    influence = np.sort(q * np.abs(h))[::-1]
    assert influence[:half].sum() >= 0.5 * influence.sum() > influence[: half - 1].sum()


def test_marginal_statistics_are_used_twice_with_bounds():
    draws = 0.5 * np.abs(
        np.random.default_rng(0).standard_normal((400, 1))
    )  # for the target |N(0, 1)|: too low and too narrow
    bounds = np.array([[0.0, np.inf]])
    location, spread, _ = moments_of(sk.Sample(draws).distinct(), -draws, bounds)
    assert (location > 3.0).all()
    assert (spread > 3.0).all()


def test_direction_is_unclear_without_moments():
    few = sk.graph_stein_discrepancy([[0.0], [0.5], [3.0]], sk.targets.Normal(0.0))
    assert few.directions == ("unclear",)


def test_moments_account_for_repeats_and_weights():
    """Repeating every draw gives an autocorrelation time of two."""
    draws = np.random.default_rng(0).standard_normal((400, 2)) + 0.3
    once, twice = (sk.graph_stein_discrepancy(each, NORMAL) for each in (draws, np.repeat(draws, 2, axis=0)))
    found = [moments_of(each.sample, each.scores, None) for each in (once, twice)]
    mean, sd = -draws.mean(axis=0), draws.std(axis=0)
    assert found[0][0][0] == pytest.approx(mean / sd * 20.0, rel=0.3)
    assert found[1][0][0] == pytest.approx(found[0][0][0], rel=0.3)  # not larger by sqrt(2)
    weighted = sk.graph_stein_discrepancy(draws, NORMAL, weights=1.0 + (draws[:, 0] > 0.3))
    heavier = moments_of(weighted.sample, weighted.scores, None)
    assert (heavier[0][:, 0] < found[0][0][:, 0]).all()


@pytest.mark.parametrize(("spread", "size"), [(1e90, 1.0), (1e-90, 1.0), (1.0, 1e-90)])
def test_extreme_samples_have_a_summary(spread, size):
    """Powers of deviations and scores are extreme."""
    x = np.random.default_rng(0).standard_normal((12, 1)) * spread
    found = sk.graph_stein_discrepancy(x, scores=-size * np.sign(x))
    assert found.summary()
    assert len(found.directions) == 1


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
