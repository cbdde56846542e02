"""Bounded features compared with their definition, their level, and their power."""

import numpy as np
import pytest

import steinkit as sk
from steinkit.discrepancy.bounded_features import bounded_moments
from steinkit.scored_sample import ScoredSample
from steinkit.units import Units


def laid_out(x, scores, weights=None, bounds=None):
    prepared = ScoredSample.of(x, scores=scores, weights=weights, bounds=bounds)
    return prepared.draws, Units.of("own", prepared.points), prepared.bounds


def judged(x, scores, **given):
    return bounded_moments(*laid_out(x, scores, **given))


def plain_features(x, scores):
    """Return all features of one chain by their definition, each of shape (n,)."""
    n, dim = x.shape
    z, t = (x - x.mean(axis=0)) / x.std(axis=0), scores * x.std(axis=0)
    c = z.copy()  # the median is the lower of two
    first, second = slice(0, n // 2), slice(n // 2, n)
    for use, learn in ((first, second), (second, first)):
        c[use] -= np.sort(z[learn], axis=0)[(len(z[learn]) - 1) // 2]
    g = np.exp(-(c**2))
    found = {}
    for j in range(dim):
        found["asymmetry", (j,)] = g[:, j] * t[:, j] - 2.0 * c[:, j] * g[:, j]
        found["peak", (j,)] = c[:, j] * g[:, j] * t[:, j] + g[:, j] - 2.0 * c[:, j] ** 2 * g[:, j]
        for i in range(dim):
            if i != j:
                even = g[:, i] - g[:, i].mean()
                found["location given", (i, j)] = even * t[:, j]
                found["spread given", (i, j)] = even * (1.0 + c[:, j] * t[:, j])
    return found


def test_means_and_z_scores_match_the_definition():
    x = np.random.default_rng(0).standard_normal((301, 4)) * [1.0, 2.0, 0.1, 5.0]
    x[:, 1] += 1.5 * x[:, 0] ** 2  # some features have large z-scores
    scores = -x / [1.0, 4.0, 0.01, 25.0]
    found = judged(x, scores)
    plain = plain_features(x, scores)
    assert len(found.largest) > 2
    for each in found.largest:
        values = plain[each.kind, each.coordinates]
        assert each.mean == pytest.approx(values.mean(), rel=1e-9)
        z = values.mean() / values.std() * np.sqrt(len(x))
        assert 0.8 * abs(z) < abs(each.z) < 1.0001 * abs(z)  # autocorrelation times are at least 1
        assert each.z * z > 0.0


def test_features_have_mean_zero_on_a_box():
    """The density 2 x exp(-y) on [0, 1] x [0, inf) is positive at the bounds."""
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(60):
        x = np.column_stack([np.sqrt(rng.random(800)), rng.exponential(size=800)])
        scores = np.column_stack([1.0 / x[:, 0], -np.ones(800)])
        rejected += judged(x, scores, bounds=np.array([[0.0, 1.0], [0.0, np.inf]])).p <= 0.05
    assert rejected <= 8
    assert judged(x, scores).p < 1e-6  # the features require bounds


def test_importance_weights():
    x = np.random.default_rng(4).standard_normal((500, 3)) + np.array([0.0, 0.0, 0.3])
    weights = np.exp(-0.3 * x[:, 2] + 0.045)  # importance weights for N(0, I)
    exact, biased = judged(x, -x, weights=weights), judged(x, -x, weights=np.exp(1.2 * x[:, 2]))
    assert exact.p > 0.01 > biased.p


FAMILIES = {
    "normal": (sk.targets.Normal(0.0, dim=5), 1.0),
    "t of 3 df": (sk.targets.StudentT(3.0, dim=5), 1.0),
    "two modes": (sk.targets.GaussianMixture([[-1.5, 0.0], [1.5, 1.0]], sd=1.0), 1.0),
    "ESS 100": (sk.targets.Normal(0.0, dim=5), 0.1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_level(name):
    """Two rejections of 40 are expected at level .05, and 0.4 at level .01."""
    target, moving = FAMILIES[name]
    rng, p_values = np.random.default_rng(5), []
    for _ in range(40):
        fresh = target.sample(1000, rng)
        x = fresh[np.maximum.accumulate(np.where(rng.random(1000) < moving, np.arange(1000), 0))]
        p_values.append(judged(x, target.score(x)).p)
    assert sum(p <= 0.05 for p in p_values) <= 6
    assert sum(p <= 0.01 for p in p_values) <= 2


def quadratic(rng):
    x = rng.standard_normal((500, 10))
    x[:, 1] = (x[:, 1] + 0.3 * (x[:, 0] ** 2 - 1.0)) / np.sqrt(1.18)
    return x


def spread_by_size(rng):
    x = rng.standard_normal((800, 8))
    factor = np.exp(0.3 * np.abs(x[:, 1]))
    x[:, 4] *= factor / np.sqrt(np.mean(factor**2))
    return x


def bimodal(rng):
    x = rng.standard_normal((500, 5))
    x[:, 2] = np.sign(x[:, 2]) * 0.8 + 0.6 * rng.standard_normal(500)
    return x


@pytest.mark.parametrize(
    ("make", "kinds", "coordinates"),
    [
        (quadratic, {"location given"}, (0, 1)),
        (spread_by_size, {"spread given"}, (1, 4)),
        (bimodal, {"peak", "asymmetry"}, (2,)),
    ],
)
def test_power_without_differences_of_moments(make, kinds, coordinates):
    found = [(judged(x, -x), x) for x in (make(np.random.default_rng([6, k])) for k in range(10))]
    assert sum(each.p <= 0.01 for each, _ in found) >= 7
    named = [each.largest[0] for each, _ in found if each.p <= 0.01]
    assert all(set(each.coordinates) == set(coordinates) and each.kind in kinds for each in named)
    assert sum(sk.moment_stein_discrepancy(x, scores=-x).p <= 0.01 for _, x in found) <= 3


@pytest.mark.parametrize(("make", "kind"), [(quadratic, "location given"), (spread_by_size, "spread given")])
def test_sign_of_a_mean(make, kind):
    """Near the median of x1, x2 is too low; near the median of x2, x5 is too narrow."""
    x = make(np.random.default_rng(7))
    largest = judged(x, -x).largest[0]
    assert largest.kind == kind
    assert largest.mean > 0.0
