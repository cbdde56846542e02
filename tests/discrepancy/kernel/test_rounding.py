"""Brackets for rounding errors compared with values computed to sixty digits."""

import itertools
from dataclasses import replace
from decimal import Decimal, localcontext

import mpmath as mp
import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.kernel.rounding import pair_sum_rounding
from steinkit.discrepancy.kernel.stein_kernel import stein_kernel_for
from steinkit.scored_sample import ScoredSample

UNIT_ROUNDOFF = Decimal(2) ** -53


def exact_v_statistic(points, scores, weights, scale):
    """Return sum_ij w_i w_j k0(x_i, x_j) for k(x, y) = 1 / (c^2 + (x - y)^2), which is rational."""
    x, s, w = ([Decimal(float(number)) for number in column] for column in (points, scores, weights))
    total = Decimal(0)
    for i in range(len(x)):
        for j in range(len(x)):
            r = x[i] - x[j]
            b = Decimal(scale) ** 2 + r * r
            # -2 phi' - 4 u phi'' + 2 phi' r (s_j - s_i) + phi s_i s_j with phi = 1/b, phi' = -1/b^2, phi'' = 2/b^3
            total += w[i] * w[j] * ((2 - 2 * r * (s[j] - s[i])) / b**2 - 8 * r * r / b**3 + s[i] * s[j] / b)
    return total


def test_bracket_contains_sums_of_equal_rounding_errors():
    points, errors = np.arange(100) * 2.0**-30, []
    for score, scale in ((999.9, 1.3), (777.7, 0.7), (12345.678, 1.3)):
        kernel = sk.IMQ(scale, -1.0)
        result = sk.kernel_stein_discrepancy(points, scores=np.full(100, score), kernel=kernel, squared=True)
        with localcontext(prec=60):
            weights = result.sample.weights
            exact = exact_v_statistic(result.sample.points[:, 0], result.scores[:, 0], weights, scale)
            errors.append(abs(Decimal(result.value) - exact) / exact)
            assert Decimal(result.lower) <= exact <= Decimal(result.upper)
            assert Decimal(result.upper) - Decimal(result.lower) < 1000 * UNIT_ROUNDOFF * exact
    assert max(errors) > 2 * UNIT_ROUNDOFF  # one rounding per term would not suffice


def sum_of_absolute_values(drift, covariance, weights, suprema):
    """Return the weighted sum of F |b_i| |b_j| + G (|a_i| |b_j| + |a_j| |b_i|) + H |a_i| |a_j| over pairs."""
    f, g, h = suprema
    b = np.linalg.norm(drift, axis=1)
    a = np.linalg.norm(covariance, axis=(1, 2))
    terms = f * np.outer(b, b) + g * (np.outer(a, b) + np.outer(b, a)) + h * np.outer(a, a)
    return weights @ terms @ weights


@pytest.mark.parametrize(
    ("kernel", "suprema", "conditioning"),
    [
        # c^(2 beta), 2 |beta| c^(2 beta - 1) and 2 |beta| (3 + 2 |beta|) c^(2 beta - 2)
        (sk.IMQ(1.5, -0.5), (1 / 1.5, 1 / 1.5**2, 4 / 1.5**3), 2.5),
        (sk.GaussianKernel(0.8), (1.0, 1.05 / 0.8, 2.8 / 0.8**2), 2.0),
    ],
)
def test_bound_matches_its_derivation(kernel, suprema, conditioning):
    """The bound is M eps S, with M counted as in the derivation, plus underflow, which dominates for tiny weights."""
    rng = np.random.default_rng(4)
    points, scores, weights, dim = rng.standard_normal((12, 3)), rng.standard_normal((12, 3)), rng.random(12), 3
    weights /= weights.sum()
    covariance = np.broadcast_to(np.eye(dim), (12, dim, dim))
    stein = stein_kernel_for(kernel, ScoredSample.of(points, scores=scores))
    operations = 3 * dim + 5 + conditioning * (dim + 8) + 24 + 2 * 12 + 24 + 4 + 64 + 7
    expected = operations * 2.0**-53 * sum_of_absolute_values(scores, covariance, weights, suprema)
    assert pair_sum_rounding(stein, weights, further=7) == pytest.approx(1.01 * expected, rel=1e-6, abs=0.0)
    largest = 1.0 + np.sqrt(dim) + np.linalg.norm(scores, axis=1).max()
    size = (1.0 + sum(suprema)) * (largest * (1.0 + np.linalg.norm(np.ptp(points, axis=0)))) ** 2
    lost = 2.0**-1070 * (operations - 7 + 12**2) * size
    assert pair_sum_rounding(stein, 1e-170 * weights) == pytest.approx(lost, rel=1e-4, abs=0.0)


def exact_squared_discrepancy(kernel, points, scores, weights):
    """Return the squared V-statistic to sixty digits."""
    c, total = mp.mpf(kernel.scale), mp.mpf(0)
    share = [mp.mpf(float(w)) / mp.fsum(map(float, weights)) for w in weights]
    x, s = ([[mp.mpf(float(value)) for value in row] for row in rows] for rows in (points, scores))
    for i, j in itertools.product(range(len(x)), repeat=2):
        r = [a - b for a, b in zip(x[i], x[j], strict=True)]
        u = mp.fsum(value**2 for value in r)
        if isinstance(kernel, sk.IMQ):
            base, power = c**2 + u, mp.mpf(kernel.exponent)
            phi, first, second = base**power, power * base ** (power - 1), power * (power - 1) * base ** (power - 2)
        else:
            rate = -1 / (2 * c**2)
            phi, first, second = (rate**k * mp.exp(rate * u) for k in range(3))
        slope = mp.fsum(each * (b - a) for each, a, b in zip(r, s[i], s[j], strict=True))
        inner = mp.fsum(a * b for a, b in zip(s[i], s[j], strict=True))
        total += share[i] * share[j] * (-2 * first * len(r) - 4 * u * second + 2 * first * slope + phi * inner)
    return total


@pytest.mark.parametrize("scale", [None, 1e30, 1e-30])
@pytest.mark.parametrize("kernel", [sk.IMQ(1.3), sk.IMQ(1.3, -0.1), sk.IMQ(0.9, -2.0), sk.GaussianKernel(1.3)])
def test_brackets_of_extreme_scales(kernel, scale):
    """The scales are the largest and the smallest that are accepted."""
    rng = np.random.default_rng(6)
    size = 1.0 if scale is None else scale / kernel.scale
    kernel = kernel if scale is None else replace(kernel, scale=scale)
    for points_in, scores_in in ((1.0, 1.0), (1e-8, 1.0), (1.0, 1e-30), (1.0, 1e30)):
        points, scores = size * points_in * rng.standard_normal((4, 2)), scores_in * rng.standard_normal((4, 2)) / size
        weights = rng.random(4)
        found = sk.kernel_stein_discrepancy(points, scores=scores, weights=weights, kernel=kernel)
        with mp.workdps(60):
            exact = mp.sqrt(exact_squared_discrepancy(kernel, points, scores, weights))
        assert found.lower <= exact <= found.upper
        assert found.upper - found.lower < 1e-6 * found.upper or found.upper < 1e-140
