"""Densities and draws that cannot be tested, and cautions about draws that hide a bias."""

import numpy as np
import pytest

import steinkit as sk

DRAWS = np.random.default_rng(0).standard_normal((1000, 2))


def log_density(x):
    return -0.5 * (x**2).sum(axis=1)


@pytest.mark.parametrize("function", [sk.verdict, sk.invariance_test])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_log_density_must_be_finite_at_draws(function, value):
    first = np.flatnonzero(DRAWS[:, 0] > 2.5)[0]
    target = sk.Target(lambda x: -x, log_density=lambda x: np.where(x[:, 0] > 2.5, value, log_density(x)), dim=2)
    with pytest.raises(sk.InputError, match=rf"{value} at draw {first + 1} "):
        function(DRAWS, target)


def test_invariance_test_requires_a_target_and_variation():
    target = sk.Target(lambda x: -x, log_density=log_density, dim=2)
    with pytest.raises(sk.UsageError, match="target"):
        sk.invariance_test(sk.Sample(DRAWS, scores=-DRAWS), None)
    with pytest.raises(sk.InputError, match="x1 and x2"):
        sk.invariance_test(np.ones((50, 2)), target)
    with pytest.raises(sk.InputError, match="x2"):
        sk.invariance_test(np.column_stack([DRAWS[:, 0], np.ones(1000)]), target)


@pytest.mark.parametrize("rows", [[399], [10, 399, 700]])
def test_a_few_outliers_have_a_warning(rows):
    draws = DRAWS.copy()
    draws[rows, 1] = [1e4, -1e4, 1e4][: len(rows)]
    found = sk.verdict(draws, scores=-draws)
    assert any("of the variance of x2" in each for each in found.hiding)
    assert sk.verdict(DRAWS, scores=-DRAWS).hiding == ()


def test_ess_of_resampled_draws():
    """The variance of a mean is sigma^2 (1/m + 1/n) for n draws with replacement from m independent ones."""
    draws = DRAWS[np.random.default_rng(1).integers(500, size=4000)]
    assert sk.verdict(draws, scores=-draws).ess == pytest.approx(1.0 / (1 / 500 + 1 / 4000), rel=0.05)
