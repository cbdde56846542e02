"""The samples of tests/data/nuts are exact draws with the scores of their targets."""

import sys
from pathlib import Path

import numpy as np
import pytest
from support.monte_carlo import LIMIT
from support.nuts_chains import NORMALS, PACKAGES, nuts_samples, schools_score

ROOT = Path(__file__).parents[1]


def of(package, model, chains):
    return [each for each in nuts_samples(package) if each.name.split(", ")[1:3] == [model, chains]]


def test_scores_of_eight_schools_match_the_examples(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples" / "ecosystems")
    import cases

    x = of("pymc", "schools", "one")[0].draws[0]
    by_hand = cases.non_centred_score(x[:, 0], x[:, 1], x[:, 2:])
    np.testing.assert_allclose(
        schools_score(x), np.column_stack([by_hand[name] for name in ("mu", "log_tau", "z")]), rtol=1e-12, atol=1e-12
    )
    sys.modules.pop("cases")


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("chains", ["one", "four"])
@pytest.mark.parametrize("dim", NORMALS)
def test_normal_draws_have_mean_zero_and_variance_one(package, dim, chains):
    """The Monte Carlo error is estimated from batches of 50 draws of all coordinates, which are exchangeable."""
    for sample in of(package, f"normal_{dim}", chains):
        for values in (sample.draws, sample.draws**2 - 1.0):
            batches = values.reshape(-1, 50, dim).mean(axis=1)
            z = batches.mean(axis=0) / np.sqrt((batches**2).mean() / len(batches))
            assert np.abs(z).max() < LIMIT


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("chains", ["one", "four"])
def test_draws_of_eight_schools_satisfy_steins_identities(package, chains):
    """E s_j = 0 and E x_j s_j = -1; an incorrect score violates the second."""
    for sample in of(package, "schools", chains):
        points = sample.draws.reshape(sample.scores.shape)
        for values in (sample.scores, points * sample.scores + 1.0):
            batches = values.reshape(-1, 50, values.shape[1]).mean(axis=1)
            z = batches.mean(axis=0) / (batches.std(axis=0, ddof=1) / np.sqrt(len(batches)))
            assert np.abs(z).max() < LIMIT
