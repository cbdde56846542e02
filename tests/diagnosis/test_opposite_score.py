"""A warning is issued for scores with the wrong sign, but not for biased draws."""

import numpy as np
import pytest

import steinkit as sk

RNG = np.random.default_rng(0)
EXACT = RNG.standard_normal((500, 3)) * [1.0, 1e-3, 1e3] + [5.0, 0.0, -2.0]


def score(x):
    return -(x - [5.0, 0.0, -2.0]) / np.array([1.0, 1e-3, 1e3]) ** 2


def sign_warnings(found):
    return [text for text in found.warnings if "as if they had the wrong sign" in text]


def test_exact_draws_with_the_opposite_score():
    found = sk.verdict(EXACT, scores=-score(EXACT))
    assert found.is_biased
    assert len(sign_warnings(found)) == 1


def test_weighted_draws_with_the_opposite_score():
    wide = 1.2 * RNG.standard_normal((800, 2))
    weights = np.exp(-0.5 * (1.0 - 1.0 / 1.44) * (wide**2).sum(axis=1))
    assert sign_warnings(sk.verdict(wide, scores=wide, weights=weights))
    assert not sign_warnings(sk.verdict(wide, scores=-wide, weights=weights))


@pytest.mark.parametrize(
    "draws",
    [EXACT + np.eye(3)[0], 1.3 * EXACT, EXACT * [1.0, 1.0, 0.1], RNG.standard_cauchy((500, 3)), -3.0 * EXACT + 7.0],
    ids=["shifted", "wide", "narrow", "cauchy", "elsewhere"],
)
def test_biased_draws_have_no_warning(draws):
    assert not sign_warnings(sk.verdict(draws, scores=score(draws)))


def test_exact_draws_have_no_warning():
    assert not sign_warnings(sk.verdict(EXACT, scores=score(EXACT)))
