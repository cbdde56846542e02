"""Formatting of numbers, brackets, names and units."""

import math

import numpy as np
import pytest

from steinkit.text import abbreviated, compact, listed, ratio, rounded_outwards, units_sentence, within


@pytest.mark.parametrize(
    ("lower", "upper", "text"),
    [
        (0.22232093766, 0.22232093794, "0.22232093 and 0.22232094"),
        (1 / 3, 1 / 3, "0.333333 and 0.333334"),
        (0.1129, 0.1201, "0.112900 and 0.120100"),
    ],
)
def test_brackets_are_rounded_outwards(lower, upper, text):
    assert " and ".join(rounded_outwards(lower, upper)) == text
    low, high = map(float, rounded_outwards(lower, upper))
    assert low <= lower
    assert high >= upper
    assert low <= float(within(0.5 * (lower + upper), lower, upper)) <= high


def test_a_printed_value_lies_inside_the_printed_bracket():
    """Any sign and size, with brackets from one unit in the last place to wider than the value."""
    rng = np.random.default_rng(0)
    for _ in range(5000):
        middle = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-12, 12)
        half = abs(middle) * 10.0 ** rng.uniform(-17, 0.5)
        lower, upper = sorted((middle - half, middle + half))
        value = lower + rng.uniform() * (upper - lower)
        value = min(max(value, lower), upper)
        low, high = map(float, rounded_outwards(lower, upper))
        assert low <= float(within(value, lower, upper)) <= high
    assert not 0.69278414 <= float(compact(0.69278415, 6)) <= 0.69278417  # six digits are not sufficient


@pytest.mark.parametrize("value", [None, math.nan])
def test_undefined_values(value):
    assert compact(value) == "undefined"


def test_long_names_are_shortened():
    assert abbreviated("abcdefgh", 8) == "abcdefgh"
    assert abbreviated("abcdefghi", 8) == "abcd…ghi"
    assert len(abbreviated("x" * 99, 32)) == 32


def test_long_lists_are_counted():
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c", "d"]) == "a, b, c and d"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 others"


def test_large_ratios():
    assert [ratio(value) for value in (0.0, 1.004, 9999.9, 1.72e15)] == ["0.00", "1.00", "9999.90", "1.72e+15"]


@pytest.mark.parametrize(
    ("units", "fragment"),
    [
        ({"kind": "raw", "scale": {"a": 1.0}}, "raw"),
        ({"kind": "own", "scale": {"a": 0.25}}, ": a 0.25."),
        ({"kind": "pilot", "scale": {f"x{k}": float(k) for k in range(1, 10)}}, "x6 6 and 3 others."),
    ],
)
def test_units(units, fragment):
    assert fragment in units_sentence(units)
