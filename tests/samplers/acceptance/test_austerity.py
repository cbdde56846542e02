"""The austerity test against its own formula."""

import numpy as np
import pytest
from scipy import stats
from support.looks import look

from steinkit.samplers import (
    AusterityTest,
)


def threshold(epsilon, b, size, alpha):
    return stats.t(b - 1).isf(epsilon) * (b / size) ** (0.5 - alpha)


@pytest.mark.parametrize("alpha", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("number", [0, 3, 8])
def test_austerity_decides_at_its_threshold(alpha, number):
    test, b = AusterityTest(0.05, 100, alpha), 100 * (number + 1)
    s = np.sqrt(0.02 / b * (1 - (b - 1) / 999))
    mu_0 = 2.0 / 1000 * (-0.7 - 0.3)
    edge = threshold(0.05, b, 1000, alpha) * s
    for side in (-1.0, 1.0):
        for factor, decided in ((1 - 1e-9, False), (1 + 1e-9, True)):
            verdict = test.decide(look(number=number, seen=b, mean=mu_0 + side * factor * edge))
            assert verdict.decided == decided
            assert verdict.accepted == (side > 0)
            assert verdict.wanted == b + 100
