"""Text of mode weights."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import steinkit as sk
from steinkit.result import running_text


@cache
def _real():
    rng = np.random.default_rng(0)
    target = sk.targets.GaussianMixture([[0.0], [9.0]], sd=1.0)
    return sk.mode_weights(rng.standard_normal((400, 1)) + np.where(rng.random((400, 1)) < 0.5, 0.0, 9.0), target)


def found(had, right, margin=0.007, p=2e-9):
    numbers = {"draws_shares": np.array(had), "shares": np.array(right), "margins": np.full(len(had), margin)}
    return replace(_real(), **numbers, p=p)


@pytest.mark.parametrize(
    ("had", "right", "margin", "p"),
    [
        ([0.72, 0.28], [0.5, 0.5], 0.007, 2e-9),
        ([0.6, 0.3, 0.1], [0.334, 0.333, 0.333], 0.02, 2e-9),
        ([0.99, 0.01], [0.995, 0.005], 0.0012, 2e-9),
        ([0.5, 0.5], [0.9999, 0.0001], 1e-6, None),
    ],
)
def test_shares_are_percentages_with_their_margin(had, right, margin, p, snapshot):
    assert found(had, right, margin, p).sentence == snapshot


def test_places_and_cost_are_reported(snapshot):
    modes = found([0.7, 0.3], [0.5, 0.5])
    names = ("mu", "tau", "a", "b")
    placed = replace(
        modes,
        evaluations=1234,
        centres=np.array([[0.0, -0.5, 3.0, 4.0], [1.0, -0.5, 3.0, 4.0]]),
        reweighted=replace(modes.reweighted, points=np.zeros((400, 4)), scores=None, names=names),
    )
    assert running_text(placed.statements()) == snapshot
