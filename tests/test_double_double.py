"""Double-doubles against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from steinkit import double_double as dd


def exactly(pair):
    return [Fraction(float(high)) + Fraction(float(low)) for high, low in zip(*pair, strict=True)]


def numbers(rng, n, spread=40):
    """Return double-doubles of any sizes and signs."""
    high = rng.standard_normal(n) * 2.0 ** rng.integers(-spread, spread, n)
    return dd.two_sum(high, high * 2.0**-53 * rng.uniform(-1.0, 1.0, n))


@pytest.mark.parametrize("size", [1.0, 2.0**-200, 2.0**920])
def test_sums_and_products_of_doubles_are_exact(size):
    rng = np.random.default_rng(0)
    a, b = size * numbers(rng, 200)[0], numbers(rng, 200)[0]
    assert exactly(dd.two_sum(a, size * b)) == [Fraction(x) + Fraction(size * y) for x, y in zip(a, b, strict=True)]
    assert exactly(dd.two_product(a, b)) == [Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)]
    assert exactly(dd.two_product(b, a)) == exactly(dd.two_product(a, b))


def test_sums_of_large_and_small_numbers():
    a, b = np.array([1.1 * 2.0**-800, 2.0**901]), np.array([1.1 * 2.0**850, 1.1 * 2.0**-800])
    assert exactly(dd.two_product(a, b)) == [Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)]
    a, b = np.array([1.1 * 2.0**-960, 2.0**901]), np.array([1.1 * 2.0**890, 2.0**-960])
    assert exactly(dd.two_product(a, b)) == [Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("operation", ["times", "ratio"])
def test_errors_of_products_and_quotients(operation):
    rng = np.random.default_rng(1)
    a, b = numbers(rng, 500), numbers(rng, 500)
    found = exactly(getattr(dd, operation)(a, b))
    for result, x, y in zip(found, exactly(a), exactly(b), strict=True):
        truth = x * y if operation == "times" else x / y
        assert abs(result - truth) <= abs(truth) * Fraction(1, 2**100)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 300])
def test_cancellation_in_sums_of_groups(n):
    """All terms but the last cancel; the error is relative to their sizes."""
    rng = np.random.default_rng(n)
    group = rng.integers(0, 5, n)
    high, low = numbers(rng, n)
    taken = np.concatenate([high, -high, 2.0**-60 * high]), np.concatenate([low, -low, 2.0**-60 * low])
    order = rng.permutation(3 * n)
    groups = np.tile(group, 3)[order]
    found = exactly(dd.sums_in_groups((taken[0][order], taken[1][order]), groups, 6))
    terms = exactly(taken)
    for k in range(6):
        own = [term for term, g in zip(terms, np.tile(group, 3), strict=True) if g == k]
        assert abs(found[k] - sum(own)) <= sum(map(abs, own)) * Fraction(dd.ROUNDING)
    assert found[5] == 0


@pytest.mark.parametrize("power", [-470, -480, -486, -500, -530])  # rounding errors around the smallest number
def test_underflow_is_bounded(power):
    rng = np.random.default_rng(-power)
    a, b = (rng.uniform(1.0, 2.0, 200) * 2.0**power for _ in range(2))
    high, low = dd.two_product(a, b)
    error = dd.error_of_high((high, low))
    for x, y, value, most in zip(a, b, high, error, strict=True):
        assert abs(Fraction(float(value)) - Fraction(float(x)) * Fraction(float(y))) <= Fraction(float(most))


@pytest.mark.parametrize("operation", ["times", "ratio"])
def test_errors_of_high_parts(operation):
    rng = np.random.default_rng(8)
    a, b = numbers(rng, 200), numbers(rng, 200)
    found = getattr(dd, operation)(a, b)
    pairs = zip(exactly(a), exactly(b), strict=True)
    meant = [x * y if operation == "times" else x / y for x, y in pairs]
    for exact, high, error in zip(meant, found[0], dd.error_of_high(found), strict=True):
        assert abs(exact - Fraction(float(high))) <= Fraction(float(error))
