"""Shifts under correlation: only the coordinates that have moved are reported."""

from types import SimpleNamespace

import numpy as np
import pytest

import steinkit as sk
from steinkit.diagnosis.findings import moved


def flagged_locations(found):
    return {each.parameters[0]: each.direction for each in found.findings if each.kind == "location"}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shifted", [0, 1])
def test_only_the_shifted_coordinate_is_reported(seed, shifted):
    """The mean score of the other coordinate is nine tenths as large, with the opposite sign."""
    target = sk.targets.Normal([0.0, 0.0], covariance=[[1.0, 0.9], [0.9, 1.0]])
    x = target.sample(1000, np.random.default_rng(seed))
    x[:, shifted] += 0.25
    found = sk.verdict(x, target)
    z = {feature.coordinates: z for feature, _, z in found.moments.largest(5) if feature.kind == "location"}
    assert abs(z[1 - shifted,]) > 10.0
    assert flagged_locations(found) == {f"x{shifted + 1}": "too high"}


def test_two_shifted_coordinates_are_reported():
    target = sk.targets.Normal(np.zeros(5), covariance=0.7 + 0.3 * np.eye(5))
    x = target.sample(2000, np.random.default_rng(1)) + np.array([0.3, 0.0, -0.2, 0.0, 0.0])
    assert flagged_locations(sk.verdict(x, target)) == {"x1": "too high", "x3": "too low"}


def test_shifted_coordinate_of_a_skewed_target_is_reported():
    """A logarithm of a gamma variable, and a normal coordinate that depends on it."""
    rng = np.random.default_rng(2)
    u = np.log(rng.gamma(3.0, size=1500))
    v = 2.0 * u + 0.5 * rng.standard_normal(1500)

    def score(x):
        pull = (x[:, 1] - 2.0 * x[:, 0]) / 0.25
        return np.column_stack([3.0 - np.exp(x[:, 0]) + 2.0 * pull, -pull])

    target, x = sk.Target(score=score), np.column_stack([u, v])
    assert not sk.verdict(x, target).is_biased
    for j in (0, 1):
        shifted = x.copy()
        shifted[:, j] += 0.1
        assert flagged_locations(sk.verdict(shifted, target)) == {f"x{j + 1}": "too high"}


def test_other_findings_remain():
    x = np.random.default_rng(3).standard_normal((2000, 2)) * np.array([1.0, 1.3]) + np.array([0.3, 0.0])
    found = sk.verdict(x, scores=-x)
    assert flagged_locations(found) == {"x1": "too high"}
    assert ("scale", ("x2",), "too wide") in {(each.kind, each.parameters, each.direction) for each in found.findings}


def scores_of(mean, loadings, n=400):
    """Return equally weighted scores with exactly these means and the covariance L L' of loadings L."""
    noise = np.random.default_rng(0).standard_normal((n, len(loadings)))
    independent = np.linalg.qr(noise - noise.mean(axis=0))[0] * np.sqrt(n)
    return SimpleNamespace(scores=independent @ np.transpose(loadings) + mean, shares=np.full(n, 1.0 / n))


def test_coordinate_that_explains_the_others_has_moved_although_another_has_a_larger_z_score():
    """Five have a correlation of .9 with the first, and nine tenths of its mean score except for the last."""
    loadings = np.eye(6) * np.sqrt(0.19)
    loadings[:, 0] = 0.9
    loadings[0, 0] = 1.0
    draws = scores_of(0.5 * np.array([1.0, 0.9, 0.9, 0.9, 0.9, 1.02]), loadings)  # z of the first is 10
    assert moved(range(6), draws, np.ones(6), 3.0) == [0]
