"""The bracket of rounding against numbers of sixty digits, on samples whose every pair is rounded the same way."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

import steinkit as sk

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
