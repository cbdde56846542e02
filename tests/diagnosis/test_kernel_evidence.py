"""The coordinates' parts of the squared kernel discrepancy, pair by pair from the definition of the Stein kernel."""

import numpy as np
import pytest

import steinkit as sk


def parts(x, s):
    """Sums over all pairs, and over i = j, of each coordinate's part of the Stein kernel of (1 + |x - y|^2)^(-1/2)."""
    n, dim = x.shape
    pairs, diagonal = np.zeros(dim), np.zeros(dim)
    for i in range(n):
        for k in range(n):
            apart = x[i] - x[k]
            q = 1.0 + apart @ apart
            kernel, by_first, by_second = q**-0.5, -apart * q**-1.5, apart * q**-1.5
            mixed = q**-1.5 - 3.0 * apart**2 * q**-2.5
            part = s[i] * s[k] * kernel + s[i] * by_second + s[k] * by_first + mixed
            pairs += part
            diagonal += part * (i == k)
    return pairs, diagonal


@pytest.mark.parametrize("weighted", [False, True])
def test_equivalent_draws_are_those_of_the_definition(weighted):
    """By way of the kernel test's statistic, and of the discrepancy where weights leave no test; a draw is repeated."""
    x = np.random.default_rng(5).standard_normal((40, 3))
    x[7] = x[3]
    found = sk.verdict(x, scores=-x, weights=np.r_[2.0, np.ones(39)] if weighted else None)
    assert (found.p_ksd is None) == weighted
    rows = np.r_[0, np.arange(40)] if weighted else np.arange(40)
    pairs, diagonal = parts(found.units.points(x)[rows], found.units.scores(-x)[rows])
    assert found.ksd_equivalent_draws == pytest.approx(len(rows) * diagonal.sum() / pairs.sum(), rel=1e-12)
