"""A score of the opposite sign is recognized in rejected draws; no other sample is said to have one."""

import numpy as np
import pytest

import steinkit as sk

RNG = np.random.default_rng(0)
RIGHT = RNG.standard_normal((500, 3)) * [1.0, 1e-3, 1e3] + [5.0, 0.0, -2.0]


def score(x):
    return -(x - [5.0, 0.0, -2.0]) / np.array([1.0, 1e-3, 1e3]) ** 2


def said(found):
    return [text for text in found.warnings if "scores of the opposite sign" in text]


def test_right_draws_with_a_score_of_the_wrong_sign():
    found = sk.verdict(RIGHT, scores=-score(RIGHT))
    assert found.is_biased
    assert len(said(found)) == 1


def test_weighted_draws_too():
    wide = 1.2 * RNG.standard_normal((800, 2))
    weights = np.exp(-0.5 * (1.0 - 1.0 / 1.44) * (wide**2).sum(axis=1))
    assert said(sk.verdict(wide, scores=wide, weights=weights))
    assert not said(sk.verdict(wide, scores=-wide, weights=weights))


@pytest.mark.parametrize(
    "draws",
    [RIGHT + np.eye(3)[0], 1.3 * RIGHT, RIGHT * [1.0, 1.0, 0.1], RNG.standard_cauchy((500, 3)), -3.0 * RIGHT + 7.0],
    ids=["shifted", "wide", "narrow", "cauchy", "elsewhere"],
)
def test_wrong_draws_are_not_laid_to_the_sign(draws):
    assert not said(sk.verdict(draws, scores=score(draws)))


def test_right_draws_are_not_asked_about():
    assert not said(sk.verdict(RIGHT, scores=score(RIGHT)))
