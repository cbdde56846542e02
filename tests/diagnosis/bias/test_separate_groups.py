"""Valleys of the density between groups of draws, in any proportion."""

import numpy as np
import pytest
from support.bias_samples import normal_mixture, operand

import steinkit as sk
from steinkit.diagnosis.bias.valleys import deepest_valley


def valley(points, target, weights=None):
    of = operand(points, target.score(points), weights=weights, bounds=target.bounds)
    return deepest_valley(of)


@pytest.mark.parametrize("order", ["shuffled", "stuck"])
@pytest.mark.parametrize("share", [0.5, 0.2, 0.03])
@pytest.mark.parametrize("distance", [5.0, 30.0])
def test_two_modes_are_found_in_any_proportion_and_order(share, distance, order):
    for dim in (1, 4):
        means = np.zeros((2, dim))
        means[1, -1] = distance
        points, target = normal_mixture(means, [1.0 - share, share], 1000, np.random.default_rng([7, dim]), order)
        found = valley(points, target)
        assert found is not None
        assert found.coordinate == dim - 1
        assert min(found.share, 1.0 - found.share) == pytest.approx(share, abs=0.03)
        assert found.depth > np.log(2.0)


def test_three_modes_that_no_axis_separates_are_found():
    means = 6.0 * np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    points, target = normal_mixture(means, [0.6, 0.3, 0.1], 1000, np.random.default_rng(8))
    assert valley(points, target) is not None


def test_modes_that_overlap_in_every_coordinate_are_found():
    """The modes are 1.9 sd apart along each of ten coordinates, and 6 along the diagonal."""
    points, target = normal_mixture([[0.0] * 10, [1.9] * 10], [0.5, 0.5], 2000, np.random.default_rng(9))
    assert valley(points, target) is not None


def test_modes_of_weighted_draws_are_found():
    points, target = normal_mixture([[0.0], [6.0]], [0.5, 0.5], 1000, np.random.default_rng(10))
    weights = np.where(points[:, 0] > 3.0, 9.0, 1.0)
    assert valley(points, target, weights).share == pytest.approx(0.9, abs=0.03)


def skewed(rng):
    x = rng.gamma(1.5, size=(1000, 3))
    return x, sk.targets.Gamma(1.5, dim=3)


def heavy(rng):
    target = sk.targets.StudentT(3.0, dim=3)
    return target.sample(1000, rng), target


def funnel(rng):
    v = rng.standard_normal(1000)
    x = np.column_stack([v, *(np.exp(v / 2.0) * rng.standard_normal(1000) for _ in range(3))])

    def score(x):
        inside = x[:, 1:] * np.exp(-x[:, :1])
        return np.column_stack([-x[:, 0] - 1.5 + 0.5 * (inside * x[:, 1:]).sum(axis=1), -inside])

    return x, sk.Target(score, dim=4)


def banana(rng):
    a, b = rng.standard_normal((2, 1000))
    x = np.column_stack([a, b + 0.5 * (a**2 - 1.0)])

    def score(x):
        left = x[:, 1] - 0.5 * (x[:, 0] ** 2 - 1.0)
        return np.column_stack([-x[:, 0] + left * x[:, 0], -left])

    return x, sk.Target(score, dim=2)


def close(rng):
    return normal_mixture([[0.0, 0.0], [1.8, 0.0]], [0.5, 0.5], 1000, rng)  # unimodal: less than 2 sd apart


def narrow(rng):
    target = sk.targets.Normal(np.zeros(5))
    return 0.4 * target.sample(1000, rng) + 2.0, target


@pytest.mark.parametrize("make", [skewed, heavy, funnel, banana, close, narrow])
def test_no_valley_is_found_in_one_mode(make):
    found = [valley(*make(np.random.default_rng([11, k]))) for k in range(8)]
    assert sum(each is not None for each in found) == 0


def test_no_valley_is_found_in_few_draws():
    points, target = normal_mixture([[0.0], [6.0]], [0.5, 0.5], 9, np.random.default_rng(12))
    assert valley(points, target) is None
