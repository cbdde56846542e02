"""Pareto-smoothed importance sampling of draws from an approximation."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

import steinkit as sk
from steinkit.diagnosis.importance import importance_weights
from steinkit.scored_sample import ScoredSample

FITS = Path(__file__).parents[1] / "data" / "stan_fits"


def narrow(n, variance, seed=0):
    """Draws of N(0, 1), their log density, and a wider target; the ratios have the Pareto k 1 - 1 / variance."""
    draws = np.random.default_rng(seed).standard_normal((n, 1))
    return draws, -0.5 * draws[:, 0] ** 2, sk.targets.Normal([0.0], variance)


@pytest.mark.parametrize(("variance", "reliable"), [(1.25, True), (2.0, True), (10.0, False)])
def test_pareto_k_is_the_tail_index_of_the_ratios(variance, reliable):
    found = []
    for seed in range(4):
        draws, log_q, target = narrow(4000, variance, seed)
        weights, _ = importance_weights(ScoredSample.of(sk.Sample(draws, log_q=log_q), target))
        found.append(weights)
    assert np.mean([each.pareto_k for each in found]) == pytest.approx(1.0 - 1.0 / variance, abs=0.15)
    assert found[-1].reliable == reliable
    assert ("not reliable" in found[-1].sentence) != reliable


def test_weights_and_k_are_those_of_arviz():
    # arviz_stats.base.array_stats.psislw(-ratios), arviz-stats 0.8.0
    x = np.random.default_rng(7).standard_normal(200)
    target = sk.Target(lambda x: 0.8 * x + 0.1, log_density=lambda x: 0.4 * x[:, 0] ** 2 + 0.1 * x[:, 0], dim=1)
    found = sk.verdict(x, target, log_q=np.full(200, 3.0))
    assert found.pareto_k == pytest.approx(0.46786714, rel=1e-7)
    first = [-5.707004015836536, -5.6415535242598605, -5.704480796522381]
    np.testing.assert_allclose(np.log(found.importance.weights[:3]), first, rtol=1e-9)


def test_reweighted_moments_are_those_of_the_target():
    draws = np.random.default_rng(0).standard_normal((20_000, 2))
    found = sk.verdict(draws, sk.targets.Normal([0.5, 0.0], [1.0, 0.5]), log_q=-0.5 * (draws**2).sum(axis=1))
    frame = found.to_frame()
    np.testing.assert_allclose(frame["psis_mean"], [0.5, 0.0], atol=0.03)
    np.testing.assert_allclose(frame["psis_sd"], np.sqrt([1.0, 0.5]), rtol=0.03)
    np.testing.assert_allclose(found.importance.moved, [-0.5, 0.0], atol=0.05)
    assert "PSIS mean" in found.table()


def test_draws_of_the_target_have_equal_weights():
    draws = np.random.default_rng(0).standard_normal((500, 2))
    target = sk.targets.Normal([0.0, 0.0])
    found = sk.verdict(draws, target, log_q=target.log_density(draws) + 2.0)
    assert found.pareto_k == -np.inf
    assert found.to_dict()["pareto_k"] is None
    assert np.ptp(found.importance.weights) == 0.0


def test_log_q_may_be_a_column():
    draws, log_q, target = narrow(1000, 2.0)
    named = {"a": draws[:, 0], "lq": log_q}
    target = sk.targets.Normal([0.0], 2.0)
    by_array = sk.verdict(draws, target, log_q=log_q)
    assert sk.verdict(named, target, log_q="lq").pareto_k == by_array.pareto_k == by_array.to_dict()["pareto_k"]
    with pytest.raises(sk.InputError):
        sk.verdict(named, target, log_q="logq")
    with pytest.raises(sk.InputError):
        sk.verdict(draws, target, log_q=log_q[1:])


@pytest.mark.parametrize("columns", [(), ("--columns", "a")])
def test_the_command_line_names_the_column(steinkit, write_csv, columns):
    draws, log_q, target = narrow(1000, 2.0)
    file = write_csv("lq,a", np.column_stack([log_q, draws]))
    options = ("--target", "normal", "-p", "mean=0", "-p", "covariance=2", "--json")
    (entry,) = steinkit("verdict", file, *options, *columns, "--log-q", "lq").document["verdicts"]
    assert entry["sample"]["names"] == ["a"]
    assert entry["verdict"]["pareto_k"] == pytest.approx(sk.verdict(draws, target, log_q=log_q).pareto_k, rel=1e-9)
    outcome = steinkit("verdict", file, *options, "--log-q", "logq")
    assert outcome.code == 3
    assert "logq" in outcome.err


def test_a_file_keeps_log_q(tmp_path):
    draws, log_q, target = narrow(1000, 2.0)
    sample = sk.Sample(draws, log_q=log_q)
    for name in ("x.csv", "x.npz", "x.nc"):
        sk.write_sample(sample, tmp_path / name)
        read = sk.read_sample(tmp_path / name)
        np.testing.assert_array_equal(read.log_q, log_q)
        assert read.dim == 1
    assert sk.verdict(read, target).pareto_k == sk.verdict(sample, target).pareto_k


def test_reasons_for_no_pareto_k():
    draws, log_q, target = narrow(1000, 2.0)
    cases = {
        "no log density": (sk.Sample(draws, log_q=log_q, scores=-draws / 2.0), None, {}),
        "weights": (draws, target, {"weights": np.ones(1000)}),
        "few": (draws[:20], target, {}),
    }
    for sample, target_, options in cases.values():
        found = sk.verdict(sample, target_, log_q=log_q[: len(sample)], **options)
        assert found.importance is None
        assert any("Pareto k" in each for each in found.warnings)
    assert sk.verdict(draws, target).importance is None


def test_without_arviz_stats_the_verdict_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_stats.base.array", None)
    draws, log_q, target = narrow(1000, 2.0)
    found = sk.verdict(draws, target, log_q=log_q)
    assert found.importance is None
    assert found.is_biased
    assert any("arviz-stats" in each for each in found.warnings)


def single_path(tmp_path):
    """Return Pathfinder's file with the header of a run with one path."""
    text = (FITS / "pathfinder.csv").read_text(encoding="utf-8").replace("num_paths = 4", "num_paths = 1")
    path = tmp_path / "single.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_log_density_of_pathfinder_is_read(tmp_path):
    sample = sk.read_sample(single_path(tmp_path))
    assert sample.names == ("theta",)
    assert sample.log_q[0] == -0.476551
    assert len(sample.log_q) == len(sample) == 200


def test_resampled_draws_of_pathfinder_have_no_log_q():
    with pytest.warns(sk.ReadingWarning):
        sample = sk.read_sample(FITS / "pathfinder.csv")
    assert sample.log_q is None
    assert sample.names == ("theta",)


def test_log_density_of_advi_is_read():
    sample = sk.read_sample(FITS / "advi.csv")
    assert sample.names == ("mu[1]", "mu[2]")
    assert sample.points[0].tolist() == [311.545, 353.503]  # the first row contains the mean of the approximation
    assert sample.log_q[:2].tolist() == [-4.74553, -2.75303]
    assert sample.log_p[:2].tolist() == [-186118, -184982]


def test_the_laplace_approximation_has_a_log_density():
    sample = sk.read_sample(io.StringIO("# stan_version_major = 2\n# method = laplace\nlog_p__,log_q__,x\n-3,-2,1\n"))
    assert (sample.names, sample.log_p.tolist(), sample.log_q.tolist()) == (("x",), [-3.0], [-2.0])


def test_stored_log_densities_refer_to_unconstrained_parameters():
    def log_density(x):  # of the logit of a Beta(3, 9) variable
        return 3.0 * x[:, 0] - 12.0 * np.log1p(np.exp(x[:, 0]))

    z = np.random.default_rng(0).standard_normal((1000, 1))
    x, stored = 0.7 * z - 1.1, {"log_q": -0.5 * z[:, 0] ** 2, "log_p": log_density(0.7 * z - 1.1).round(5)}
    free = sk.verdict(
        sk.Sample(x, **stored), sk.Target(lambda x: 3.0 - 12.0 * expit(x), log_density=log_density, dim=1)
    )
    assert expit(x[:, 0]) @ free.importance.weights == pytest.approx(0.25, abs=0.01)
    constrained = sk.Sample(expit(x), **stored)
    found = sk.verdict(constrained, sk.targets.Beta(3.0, 9.0))
    assert found.importance is None
    assert any("Pareto k" in each and "another scale" in each for each in found.warnings)
    log_q = stored["log_q"] - np.log(expit(x) * expit(-x))[:, 0]
    explicit = sk.verdict(constrained, sk.targets.Beta(3.0, 9.0), log_q=log_q)  # in the coordinates of the draws
    assert explicit.pareto_k == pytest.approx(free.pareto_k, abs=1e-6)
