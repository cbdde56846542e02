"""Directions of the bias on both sides of every threshold, and influential draws."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.graph.readings import confirmed, direction, influences, moments_of

NORMAL = sk.targets.Normal(0.0, dim=2)
X = np.array([-1.0, -1.0, 1.0, 1.0])
QUARTERS = np.full(4, 0.25)
NEITHER = np.array([1.0, -1.0, 1.0, -1.0])  # a flow without shift or rescaling


def by_climb(climb, carried):
    """Classify a flow without shift or rescaling, given its climb."""
    return direction(QUARTERS, X, NEITHER, np.zeros(4), climb * NEITHER, 1.0, carried)


@pytest.mark.parametrize(
    ("climb", "carried", "found"),
    [
        (0.67, 1.0, "strays"),  # 2.03 times the divergence
        (0.66, 1.0, "unclear"),  # 1.94 times
        (2.0, 3.0, "unclear"),  # twice
        (0.33, 1.0, "crowds"),
        (0.34, 1.0, "unclear"),
        (1.0, 3.0, "unclear"),
    ],
)
def test_larger_part_of_h_must_be_twice_the_other(climb, carried, found):
    assert by_climb(climb, carried) == found


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_shift_must_explain_two_fifths(sign):
    def by_shift(share):
        return direction(QUARTERS, X, np.full(4, sign), np.full(4, sign * share), np.zeros(4), 0.0, 1.0)

    assert by_shift(0.41) == ("low" if sign > 0.0 else "high")
    assert by_shift(0.39) == "crowds"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rescaling_must_explain_two_fifths(sign):
    def by_stretch(share):
        return direction(QUARTERS, X, sign * X, np.zeros(4), np.zeros(4), sign * share, 1.0)

    assert by_stretch(0.41) == ("narrow" if sign > 0.0 else "wide")
    assert by_stretch(0.39) == "crowds"


def test_larger_of_shift_and_rescaling_is_reported():
    flow = 1.0 + X
    assert direction(QUARTERS, X, flow, np.full(4, 0.6), np.zeros(4), 0.5, 1.0) == "low"
    assert direction(QUARTERS, X, flow, np.full(4, 0.4), np.zeros(4), 0.5, 1.0) == "narrow"


def test_equal_draws_have_no_rescaling():
    flow = np.ones(4)
    assert direction(QUARTERS, np.zeros(4), flow, flow, flow, 1.0, 1.0) == "low"


def test_influences_describe_the_largest_contributions():
    draws = np.repeat(np.linspace(-1.0, 1.0, 20), 2)
    draws[6:8] = 7.0
    result = sk.graph_stein_discrepancy(draws, sk.targets.Normal(0.0))
    draws, half = influences(result.sample, result.test_function)
    h, q = result.test_function, result.sample.weights
    assert draws[0] == f"draw 7 (2 times) at (7), h = {h[3]:+.3g}"
    influence = np.sort(q * np.abs(h))[::-1]
    assert influence[:half].sum() >= 0.5 * influence.sum() > influence[: half - 1].sum()


@pytest.mark.parametrize(
    ("found", "location", "spread", "expected"),
    [
        ("high", (-3.1, -3.1), (0.0, 0.0), "high"),
        ("high", (-3.1, -2.9), (0.0, 0.0), "unclear"),  # not confirmed given the other coordinates
        ("high", (-2.9, -3.1), (0.0, 0.0), "unclear"),
        ("high", (3.1, 3.1), (0.0, 0.0), "unclear"),
        ("low", (3.1, 3.1), (0.0, 0.0), "low"),
        ("wide", (9.0, 9.0), (-3.1, -3.1), "wide"),
        ("wide", (9.0, 9.0), (3.1, 3.1), "unclear"),
        ("strays", (0.0, 0.0), (-3.1, 0.0), "strays"),
        ("narrow", (0.0, 0.0), (3.1, 3.1), "narrow"),
        ("narrow", (0.0, 0.0), (3.1, 2.9), "unclear"),
        ("crowds", (0.0, 0.0), (3.1, 0.0), "crowds"),
        ("crowds", (0.0, 0.0), (2.9, 9.0), "unclear"),
        ("unclear", (9.0, 9.0), (9.0, 9.0), "unclear"),
    ],
)
def test_direction_requires_both_statistics(found, location, spread, expected):
    columns = (np.array([[9.0, each] for each in pair]) for pair in (location, spread))
    known = confirmed(*columns, np.array([99.0, 1.0]))
    assert (found in known and bool(known[found][1])) == (expected != "unclear")


def test_mode_directions_require_spread_above_dependence():
    location, spread = np.zeros((2, 2)), np.array([[0.0, -5.0], [0.0, -5.0]])
    for dependence, expected in ((4.9, True), (5.1, False)):
        assert confirmed(location, spread, np.array([0.0, dependence]))["strays"][1] == expected


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
