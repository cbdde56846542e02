"""Text of mode weights."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import steinkit as sk


@cache
def _real():
    rng = np.random.default_rng(0)
    target = sk.targets.GaussianMixture([[0.0], [9.0]], sd=1.0)
    return sk.mode_weights(rng.standard_normal((400, 1)) + np.where(rng.random((400, 1)) < 0.5, 0.0, 9.0), target)


def found(had, right, margin=0.007, p=2e-9):
    numbers = {"draws_shares": np.array(had), "shares": np.array(right), "margins": np.full(len(had), margin)}
    return replace(_real(), **numbers, p=p)


@pytest.mark.parametrize(
    ("had", "right", "margin", "expected"),
    [
        ([0.72, 0.28], [0.5, 0.5], 0.007, "mode weights 72.0:28.0 % in the draws, 50.0:50.0 ± 0.7 % in the target"),
        (
            [0.6, 0.3, 0.1],
            [0.334, 0.333, 0.333],
            0.02,
            "mode weights 60:30:10 % in the draws, 33:33:33 ± 2 % in the target",
        ),
        (
            [0.99, 0.01],
            [0.995, 0.005],
            0.0012,
            "mode weights 99.00:1.00 % in the draws, 99.50:0.50 ± 0.12 % in the target",
        ),
        (
            [0.5, 0.5],
            [0.9999, 0.0001],
            1e-6,
            "mode weights 50.00:50.00 % in the draws, 99.99:0.01 ± 0.01 % in the target",
        ),
    ],
)
def test_shares_are_percentages_with_their_margin(had, right, margin, expected):
    assert found(had, right, margin).clause == expected


def test_the_probability_or_the_reason_why_it_is_missing():
    shares = [0.72, 0.28], [0.5, 0.5]
    assert found(*shares).sentence.endswith("± 0.7 % in the target (p = 2e-09).")
    assert "too rarely for a test" in found(*shares, p=None).sentence


def test_places_and_cost_are_reported():
    modes = found([0.7, 0.3], [0.5, 0.5])
    names = ("mu", "tau", "a", "b")
    placed = replace(
        modes,
        centres=np.array([[0.0, -0.5, 3.0, 4.0], [1.0, -0.5, 3.0, 4.0]]),
        reweighted=replace(modes.reweighted, points=np.zeros((400, 4)), scores=None, names=names),
    )
    assert placed.places == ("mu = 0, tau = -0.5, a = 3, ...", "mu = 1, tau = -0.5, a = 3, ...")
    _, where, _, how = placed.statements()
    assert all(each in where.text.replace("Mode", "mode") for each in placed.places)
    assert f"at {modes.evaluations} points" in how.text
