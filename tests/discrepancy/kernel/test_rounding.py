"""The bracket of rounding against numbers of sixty digits, on samples whose every pair is rounded the same way."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.kernel.rounding import pair_sum_rounding
from steinkit.discrepancy.kernel.stein_kernel import stein_kernel_at

UNIT_ROUNDOFF = Decimal(2) ** -53


def exact_v_statistic(points, scores, weights, scale):
    """sum_ij w_i w_j k0(x_i, x_j) for k(x, y) = 1 / (c^2 + (x - y)^2) on the line, all of whose terms are rational."""
    x, s, w = ([Decimal(float(number)) for number in column] for column in (points, scores, weights))
    total = Decimal(0)
    for i in range(len(x)):
        for j in range(len(x)):
            r = x[i] - x[j]
            b = Decimal(scale) ** 2 + r * r
            # -2 phi' - 4 u phi'' + 2 phi' r (s_j - s_i) + phi s_i s_j with phi = 1/b, phi' = -1/b^2, phi'' = 2/b^3
            total += w[i] * w[j] * ((2 - 2 * r * (s[j] - s[i])) / b**2 - 8 * r * r / b**3 + s[i] * s[j] / b)
    return total


@pytest.mark.parametrize(("score", "scale"), [(1000.0, 1.3), (777.7, 0.7), (12345.678, 1.3)])
def test_the_bracket_holds_what_many_equal_roundings_add_up_to(score, scale):
    points = np.arange(100) * 2.0**-30
    result = sk.kernel_stein_discrepancy(points, scores=np.full(100, score), kernel=sk.IMQ(scale, -1.0), squared=True)
    with localcontext(prec=60):
        weights = result.sample.weights
        exact = exact_v_statistic(result.sample.points[:, 0], result.scores[:, 0], weights, scale)
        error = abs(Decimal(result.value) - exact)
        # one rounded operation a term would not do: the terms' absolute values add up to little more than the sum
        assert error > 2 * UNIT_ROUNDOFF * exact
        assert Decimal(result.lower) <= exact <= Decimal(result.upper)
        assert Decimal(result.upper) - Decimal(result.lower) < 1000 * UNIT_ROUNDOFF * exact


def sum_of_absolute_values(drift, covariance, weights, suprema):
    """F |b_i| |b_j| + G (|a_i| |b_j| + |a_j| |b_i|) + H |a_i| |a_j|, pair by pair."""
    f, g, h = suprema
    b = np.linalg.norm(drift, axis=1)
    a = np.linalg.norm(covariance, axis=(1, 2))
    terms = f * np.outer(b, b) + g * (np.outer(a, b) + np.outer(b, a)) + h * np.outer(a, a)
    return weights @ terms @ weights


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(
    ("kernel", "suprema", "conditioning"),
    [
        # c^(2 beta), 2 |beta| c^(2 beta - 1) and 2 |beta| (3 + 2 |beta|) c^(2 beta - 2)
        (sk.IMQ(1.5, -0.5), (1 / 1.5, 1 / 1.5**2, 4 / 1.5**3), 2.5),
        (sk.GaussianKernel(0.8), (1.0, 1.05 / 0.8, 2.8 / 0.8**2), 2.0),
    ],
)
def test_the_bound_is_the_one_that_is_derived(kernel, suprema, conditioning, full):
    """M eps S with M counted as the derivation says: so that no count is lost, however generous the rest is."""
    rng = np.random.default_rng(4)
    points, scores, weights, dim = rng.standard_normal((12, 3)), rng.standard_normal((12, 3)), rng.random(12), 3
    weights /= weights.sum()
    operator, drift, covariance = None, scores, np.broadcast_to(np.eye(dim), (12, dim, dim))
    if full:
        root = rng.standard_normal((dim, dim))
        matrix = root @ root.T
        operator = sk.RiemannianLangevin(
            covariance=lambda x: np.broadcast_to(matrix, (len(x), dim, dim)), divergence=np.zeros_like
        )
        drift, covariance = scores @ matrix, np.broadcast_to(matrix, (12, dim, dim))
    stein = stein_kernel_at(kernel, points, scores, None, operator, names=("a", "b", "c"))
    operations = 3 * dim + 5 + full * dim**2 + conditioning * (dim + 8) + 24 + 2 * 12 + 24 + 64 + 7
    expected = operations * 2.0**-53 * sum_of_absolute_values(drift, covariance, weights, suprema)
    assert pair_sum_rounding(stein, weights, further=7) == pytest.approx(1.01 * expected, rel=1e-6, abs=0.0)
    assert pair_sum_rounding(stein, weights) == pair_sum_rounding(stein, weights, further=0)
