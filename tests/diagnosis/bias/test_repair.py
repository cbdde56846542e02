"""Corrected draws are closer to a known truth, and draws that cannot be corrected are rejected."""

import math

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from support.bias_samples import log_gamma, normal_mixture

import steinkit as sk
from steinkit.diagnosis.bias import repair as repairing
from steinkit.errors import InputError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")

SHAPE = 3.0
MEAN, SD = digamma(SHAPE), math.sqrt(polygamma(1, SHAPE))
TARGET = log_gamma(2)
ONLY_SCORE = sk.Target(TARGET.score, dim=2)
LEVELS = [0.05, 0.5, 0.95]


def drawn(seed=0, n=1000):
    return np.log(np.random.default_rng([3, seed]).gamma(SHAPE, size=(n, 2)))


def two_modes(share, seed):
    return normal_mixture([[0.0, 0.0], [8.0, 0.0]], [1.0 - share, share], 1000, np.random.default_rng(seed))


def quantiles(sample):
    return np.quantile(sample.points, LEVELS, axis=0, weights=sample.probabilities, method="inverted_cdf").T


def assert_close_to_target(points):
    assert np.abs(points.mean(axis=0) - MEAN).max() < 0.12 * SD
    assert np.abs(np.log(points.std(axis=0) / SD)).max() < 0.12


def test_weights_correct_means_deviations_and_quantiles():
    draws = 1.15 * (drawn() - MEAN) + MEAN + 0.1
    found = sk.repair(draws, ONLY_SCORE)
    sample = found.sample
    assert found.method == "weights"
    assert (sample.points == draws).all()
    mean = sample.probabilities @ draws
    assert np.abs(mean - MEAN).max() < 0.05 * SD < np.abs(draws.mean(axis=0) - MEAN).max()
    sd = np.sqrt(sample.probabilities @ (draws - mean) ** 2)
    assert np.abs(np.log(sd / SD)).max() < 0.06 < np.abs(np.log(draws.std(axis=0) / SD)).min()
    truth = np.quantile(np.log(np.random.default_rng(1).gamma(SHAPE, size=200_000)), LEVELS)
    before = np.abs(np.quantile(draws, LEVELS, axis=0).T - truth).mean()
    assert np.abs(quantiles(sample) - truth).mean() < 0.7 * before
    assert found.effective_size == pytest.approx(1.0 / (sample.probabilities**2).sum(), rel=1e-9)
    assert 200.0 < found.effective_size < 1000.0
    assert found.bias.value > 3.0 * found.after.value
    before, after = (sk.sliced_stein_discrepancy(each, ONLY_SCORE, tolerance=0.05).value for each in (draws, sample))
    assert after < 0.7 * before


def test_weights_of_exact_draws_are_nearly_equal():
    found = sk.repair(drawn(1), TARGET)
    assert found.method == "weights"
    assert found.effective_size > 900.0


def test_run_moves_draws_if_weights_are_worth_too_little():
    draws = 0.4 * (drawn(2) - MEAN) + MEAN - 1.0
    found = sk.repair(draws, TARGET)
    assert found.method == "run"
    assert 700.0 < found.effective_size <= 1000.0
    assert found.sample.weights is None
    assert_close_to_target(found.sample.points)
    assert found.after.reliable.all()
    assert found.after.value < 0.06  # .039 for 1000 exact draws
    assert not found.warnings
    assert found.bias.draws_mean == pytest.approx(draws.mean(axis=0))
    same, other = (sk.repair(draws, TARGET, rng=seed).sample.points for seed in (0, 1))
    assert (same == found.sample.points).all()
    assert (other != same).any()


def test_run_can_be_requested():
    found = sk.repair(drawn(3), TARGET, method="run")
    assert found.method == "run"
    assert (found.sample.points != drawn(3)).any()
    assert_close_to_target(found.sample.points)


def test_run_that_does_not_settle_has_a_warning(monkeypatch):
    monkeypatch.setattr(repairing, "_is_within_noise", lambda found: False)
    monkeypatch.setattr(repairing, "_RUNS", 2)
    assert repairing.repair(drawn(12, 200), TARGET, method="run").warnings[-1] == repairing._STILL_MOVING


def test_weights_keep_the_order_of_draws_in_chains():
    draws = drawn(4) + 0.1
    labels = np.tile([2, 1, 3, 0], 250)
    found = sk.repair(sk.Sample(draws, names=("a", "b"), chain=labels), ONLY_SCORE).sample
    assert found.names == ("a", "b")
    assert (found.chain == labels).all()
    assert np.abs(found.probabilities @ draws - MEAN).max() < 0.04


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"method": "weight"}, UsageError, "method 'weight'"),
        ({"draws": sk.Sample(drawn(6), np.linspace(1.0, 2.0, 1000))}, UsageError, "without weights"),
        ({"draws": 0.3 * drawn(6) - 3.0}, InputError, "a target with a log density"),
        ({"draws": 0.3 * drawn(6) - 3.0, "method": "weights"}, InputError, "for 1000 draws"),
        ({"method": "run"}, InputError, "a target with a log density"),
    ],
    ids=["method", "weighted", "too biased", "too biased for weights", "no density"],
)
def test_draws_that_cannot_be_corrected_are_rejected(given, error, message):
    with pytest.raises(error, match=message):
        sk.repair(**{"draws": drawn(6), "target": ONLY_SCORE, **given})


@pytest.mark.parametrize("method", ["weights", "run"])
def test_multimodal_draws_need_mode_weights(method):
    points, target = two_modes(0.2, 7)
    with pytest.raises(InputError, match="valley of the density along x1"):
        sk.repair(points, target, method=method)
    with pytest.raises(InputError, match="valley of the density along x1"):
        sk.repair(points, sk.Target(target.score, dim=2))


def test_modes_are_reweighted():
    """By symmetry the weights are equal; the mixture of N(0, 1) and N(8, 1) has mean 4 and variance 17."""
    points, target = two_modes(0.2, 7)
    found = sk.repair(points, target)
    assert found.method == "modes"
    assert (found.sample.points == points).all()
    for each, weights in ((found.bias, np.full(1000, 1e-3)), (found.after, found.sample.probabilities)):
        assert each.reliable.all()
        assert each.mean == pytest.approx([4.0, 0.0], abs=0.1)
        assert each.sd == pytest.approx([np.sqrt(17.0), 1.0], abs=0.05)
        assert (np.abs(each.mean - [4.0, 0.0]) <= each.mean_margin * each.sd + 1e-9).all()
        assert each.draws_mean == pytest.approx(weights @ points)
        assert each.draws_sd == pytest.approx(np.sqrt(weights @ (points - weights @ points) ** 2))
    assert found.bias.mean_bias[0] < -0.5
    assert abs(found.after.mean_bias[0]) < 0.05
    assert found.effective_size == pytest.approx(1.0 / (found.sample.probabilities**2).sum())
    assert found.effective_size == found.after.effective_size


def test_bias_within_modes_remains():
    points, target = two_modes(0.5, 8)
    points[:, 1] *= 1.3
    found = sk.repair(points, target)
    assert found.after.sd_bias[1] == pytest.approx(np.log(np.std(points[:, 1])), abs=0.02)
    assert found.after.sd_bias[1] > found.after.sd_margin[1]
    assert any("within the modes" in each for each in found.warnings)


def test_optimal_weights_within_modes_correct_their_bias():
    points, target = two_modes(0.2, 7)
    points[:, 1] *= 1.3
    found = sk.repair(points, target, method="optimal")
    assert found.method == "modes"
    weights = found.sample.probabilities
    assert weights[points[:, 0] > 4.0].sum() == pytest.approx(0.5, abs=0.02)
    assert found.bias.sd_bias[1] == pytest.approx(np.log(np.std(points[:, 1])), abs=0.02)
    assert abs(found.after.sd_bias[1]) < 0.02
    assert np.sqrt(weights @ points[:, 1] ** 2) == pytest.approx(1.0, abs=0.02)
    assert found.effective_size == pytest.approx(1.0 / (weights**2).sum())


def test_optimal_weights_correct_quantiles_better_than_entropy_weights():
    truth = np.quantile(np.log(np.random.default_rng(1).gamma(SHAPE, size=200_000)), (0.05, 0.95))[:, None]
    errors = {"weights": [], "optimal": []}
    for seed in range(4):
        draws = np.random.default_rng([4, seed]).normal(MEAN, SD, (500, 2))  # correct means and sds
        for method, found in errors.items():
            repaired = sk.repair(draws, ONLY_SCORE, method=method)
            assert repaired.method == method
            found.append(np.abs(repaired.quantiles - truth).mean())
    assert np.mean(errors["optimal"]) < 0.6 * np.mean(errors["weights"])


def test_quantiles_are_reported_before_and_after():
    draws = 1.2 * drawn(8)
    found = sk.repair(draws, ONLY_SCORE)
    assert found.quantiles == pytest.approx(quantiles(found.sample)[:, ::2].T, abs=0.02)
    rows = found.to_dict()["quantiles"]
    assert [(row["name"], row["level"]) for row in rows] == [("x1", 0.05), ("x2", 0.05), ("x1", 0.95), ("x2", 0.95)]
    assert [row["before"] for row in rows] == pytest.approx(np.quantile(draws, (0.05, 0.95), axis=0).ravel(), abs=0.02)
    assert [row["after"] for row in rows] == found.quantiles.ravel().tolist()


@pytest.mark.parametrize("method", ["weights", "optimal", "run"])
def test_columns_in_another_order(method):
    """The target has its mean at (MEAN, MEAN + 5)."""
    shift = np.array([0.0, 5.0])
    target = sk.Target(
        lambda x: TARGET.score(x - shift), log_density=lambda x: TARGET.log_density(x - shift), names=("a", "b")
    )
    columns = np.column_stack([drawn(8, 500) + shift, np.arange(500.0)])[:, [2, 1, 0]]
    found = sk.repair(sk.Sample(columns, names=("extra", "b", "a")), target, method=method)
    assert [row[0] for row in found.tables()[0].rows] == ["a", "b"]
    assert found.quantiles.mean(axis=0) == pytest.approx(MEAN + shift, abs=0.5)
    if method != "run":
        assert (found.sample.points == columns).all()
        assert found.sample.names == ("extra", "b", "a")


def test_optimal_weights_from_scores():
    draws = 1.2 * drawn(8, 500)
    found, other = (
        sk.repair(draws, method="optimal", **given)
        for given in ({"scores": ONLY_SCORE.score(draws)}, {"target": ONLY_SCORE})
    )
    assert found.quantiles == pytest.approx(other.quantiles)


def test_functions_of_the_target_are_combined_over_modes():
    points, target = two_modes(0.2, 9)
    functions = {"sum": lambda x: x[:, 0] + x[:, 1]}
    found = sk.repair(points, sk.Target(target.score, log_density=target.log_density, dim=2, functions=functions)).after
    k = found.names.index("sum")
    assert found.mean[k] == pytest.approx(4.0, abs=0.1)
    assert found.sd[k] == pytest.approx(np.sqrt(18.0), abs=0.05)


def test_unknown_mode_weights_have_a_reason():
    with pytest.raises(InputError, match=r"cannot be repaired: .*; one of 2 modes has \d+ draws"):
        sk.repair(*two_modes(0.02, 10))
