"""Masked entries are refused in arrays and in lists of arrays."""

import numpy as np
import pytest

import steinkit as sk

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(50, 2))
MASKED = np.ma.array(POINTS, mask=np.zeros((50, 2), dtype=bool))
MASKED[3, 1] = np.ma.masked
WEIGHTS = np.ma.array(np.ones(50), mask=np.arange(50) == 4)
TARGET = sk.targets.Normal([0.0, 0.0])


class Ensemble:
    def get_chain(self):
        return np.ma.array(np.zeros((20, 4, 2)), mask=True)


@pytest.mark.parametrize(
    "take",
    [
        lambda: sk.Sample(MASKED),
        lambda: sk.Sample(list(MASKED)),
        lambda: sk.Sample([MASKED, MASKED]),
        lambda: sk.Sample(POINTS, weights=WEIGHTS),
        lambda: sk.Sample(POINTS, weights=list(WEIGHTS)),
        lambda: sk.Sample(POINTS, scores=list(MASKED)),
        lambda: sk.as_sample(list(MASKED)),
        lambda: sk.as_sample({"a": list(MASKED)}),
        lambda: sk.as_sample({"a": [MASKED[:, 1], MASKED[:, 1]]}, dims=("chain", "draw")),
        lambda: sk.as_sample(Ensemble()),
        lambda: sk.graph_stein_discrepancy(POINTS, TARGET, weights=WEIGHTS),
        lambda: sk.graph_stein_discrepancy(POINTS, scores=MASKED),
        lambda: sk.graph_stein_discrepancy(POINTS, scores=list(MASKED)),
        lambda: sk.graph_stein_discrepancy(POINTS, TARGET, stein_factors=np.ma.array([1.0, 1.0, 1.0], mask=[0, 1, 0])),
        lambda: sk.graph_stein_discrepancy(POINTS, TARGET, units=np.ma.array([1.0, 1.0], mask=[0, 1])),
        lambda: sk.graph_stein_discrepancy(
            POINTS, scores=-POINTS, bounds=np.ma.array(np.tile([-9.0, 9.0], (2, 1)), mask=[[1, 0], [0, 0]])
        ),
        lambda: sk.kernel_stein_discrepancy(POINTS, scores=MASKED),
        lambda: sk.moment_stein_discrepancy(POINTS, scores=MASKED),
        lambda: sk.sliced_stein_discrepancy(POINTS, scores=MASKED),
        lambda: sk.verdict(POINTS, scores=MASKED),
        lambda: sk.Target(score=lambda x: np.ma.masked_greater(-x, 1.0), dim=2).score(POINTS),
        lambda: sk.Target(score=lambda x: -x, sampler=lambda n, rng: MASKED[:n], dim=2).sample(9),
        lambda: TARGET.score(MASKED),
        lambda: sk.targets.Normal(np.ma.array([0.0, 1.0], mask=[0, 1])),
        lambda: sk.targets.Normal([0.0, 0.0], covariance=np.ma.array(np.eye(2), mask=np.eye(2) > 0.0)),
        lambda: sk.targets.GaussianMean(MASKED),
        lambda: sk.targets.LogisticRegression(POINTS, np.ma.array(RNG.integers(0, 2, 50), mask=np.arange(50) == 1)),
    ],
)
def test_masked_entries_are_refused(take):
    with pytest.raises(sk.SteinkitError, match="masked"):
        take()


def test_masks_without_masked_entries_are_accepted():
    assert (sk.Sample(np.ma.array(POINTS), weights=np.ma.array(np.ones(50))).points == POINTS).all()
    assert sk.Sample([np.ma.array(row) for row in POINTS]).dim == 2
