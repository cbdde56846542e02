"""Equivalent draws according to the kernel discrepancy, from the definition of the Stein kernel."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.kernel import goodness_of_fit


def parts(x, s):
    """Return the sums of each coordinate's part of the Stein kernel over all pairs, and over i = j."""
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
def test_equivalent_draws_match_the_definition(weighted):
    """From the statistic of the kernel test, and from the discrepancy of weighted draws; one draw is repeated."""
    x = np.random.default_rng(5).standard_normal((40, 3))
    x[7] = x[3]
    found = sk.verdict(x, scores=-x, weights=np.r_[2.0, np.ones(39)] if weighted else None)
    assert (found.p_of("ksd") is None) == weighted
    rows = np.r_[0, np.arange(40)] if weighted else np.arange(40)
    pairs, diagonal = parts(found.units.points(x)[rows], found.units.scores(-x)[rows])
    assert found.ksd_equivalent_draws == pytest.approx(len(rows) * diagonal.sum() / pairs.sum(), rel=1e-12)


def test_equivalent_draws_of_long_samples_are_computed_on_access(monkeypatch):
    monkeypatch.setattr(goodness_of_fit, "_MOST_PAIRED", 100)
    x = np.random.default_rng(6).standard_normal((200, 2))
    calls, compute = [], goodness_of_fit.kernel_stein_discrepancy
    monkeypatch.setattr(
        goodness_of_fit, "kernel_stein_discrepancy", lambda *args, **how: calls.append(1) or compute(*args, **how)
    )
    found = sk.verdict(x, scores=-x)
    assert found.summary()
    assert not calls
    assert found.to_dict()["ksd_equivalent_draws"] == found.ksd_equivalent_draws
    assert len(calls) == 1
