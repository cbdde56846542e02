"""Joint test of all pairs: level for exact draws and chains, and power for mean-field draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support.autoregressions import autoregression

import steinkit as sk
from steinkit.discrepancy.bounded_features import joint_dependence
from steinkit.scored_sample import ScoredSample


def p_value(points, precision, *, bounds=None, weights=None, chains=1):
    draws = sk.Sample(points, chain=np.repeat(np.arange(chains), len(points) // chains))
    prepared = ScoredSample.of(draws, scores=-points @ precision, weights=weights, bounds=bounds)
    return joint_dependence(prepared.draws, prepared.bounds)


def equicorrelated(dim, correlation=0.3):
    covariance = np.full((dim, dim), correlation) + (1.0 - correlation) * np.eye(dim)
    return covariance, np.linalg.inv(covariance)


def mean_field(rng, n, precision):
    """Return mean-field draws, with the conditional variances of the coordinates."""
    return rng.standard_normal((n, len(precision))) / np.sqrt(np.diag(precision))


def chain(rng, n, root, memory):
    """Return an autoregressive chain for N(0, root root')."""
    return autoregression(rng.standard_normal((n, len(root))), memory) @ root.T


@pytest.mark.parametrize("chains", [1, 4, 20])
def test_mean_field_fits_are_rejected(chains):
    _, precision = equicorrelated(50)
    found = [p_value(mean_field(np.random.default_rng(k), 1500, precision), precision, chains=chains) for k in range(5)]
    assert max(found) < 1e-3


@pytest.mark.parametrize("memory", [0.0, 0.8, -0.8])
@pytest.mark.parametrize("dim", [3, 20])
def test_level(dim, memory):
    covariance, precision = equicorrelated(dim)
    root = np.linalg.cholesky(covariance)
    rng = np.random.default_rng(11)
    found = np.array([p_value(chain(rng, 800, root, memory), precision) for _ in range(200)])
    assert stats.binomtest(int((found <= 0.05).sum()), 200, 0.05).pvalue > 1e-3
    assert stats.binomtest(int((found <= 0.5).sum()), 200, 0.5).pvalue > 1e-3
    assert (found <= 0.001).sum() <= 3


def test_result_is_invariant_to_order_of_chains_and_units():
    _, precision = equicorrelated(6)
    x = np.random.default_rng(3).standard_normal((400, 6))
    found = p_value(x, precision, chains=4)
    assert p_value(np.concatenate(np.split(x, 4)[::-1]), precision, chains=4) == pytest.approx(found, rel=1e-9)
    scale = np.array([1e-200, 1e150, 1.0, 3.0, 1e9, 1e-9])
    given = ScoredSample.of(x * scale, None, scores=-x @ precision / scale)
    draws = given.draws
    own = replace(draws, points=draws.points / scale, scores=draws.scores * scale)
    whole = replace(own, chain=np.zeros(400, dtype=np.int64))
    assert joint_dependence(whole) == pytest.approx(p_value(x, precision), rel=1e-6)


def test_many_short_chains():
    _, precision = equicorrelated(50)
    x = mean_field(np.random.default_rng(6), 4000, precision)
    assert p_value(x, precision, chains=1000) < 1e-3


def test_burn_in_does_not_hide_missing_dependence():
    covariance, precision = equicorrelated(40, 0.06)
    draws = mean_field(np.random.default_rng(0), 2000, precision)
    draws[:20] += 5.0
    found = sk.verdict(draws, sk.targets.Normal(np.zeros(40), covariance=covariance))
    assert found.is_biased
    assert found.burn_in is None


def test_unsupported_draws():
    _, precision = equicorrelated(3)
    x = np.abs(np.random.default_rng(4).standard_normal((400, 3)))
    assert p_value(x, precision, weights=np.arange(400.0)) is None
    assert p_value(x, precision, bounds=[[0.0, np.inf]] * 3) is None
    assert p_value(x, precision, bounds=[[0.0, np.inf], [-np.inf, np.inf], [0.0, np.inf]]) is not None
    assert p_value(x[:, :1], precision[:1, :1]) is None
    assert p_value(x[:20], precision) is None


def test_verdict_reports_weak_dependence():
    covariance, precision = equicorrelated(50)
    target = sk.targets.Normal(np.zeros(50), covariance=covariance)
    draws = mean_field(np.random.default_rng(5), 1500, precision)
    found = sk.verdict(draws, scores=target.score(draws))
    assert found.p <= 10.0 * found.p_of("dependence") < 0.01
    assert "any correlations are slightly biased" in found.sentence
    assert not found.bias.reliable.any()
    run = sk.verdict(draws, target).bias
    assert run.method == "run"
    assert np.abs(run.sd_bias - np.log(1.0 / np.sqrt(precision[0, 0]))).max() < 0.1
