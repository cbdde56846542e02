"""Draws repaired by weights, or moved by a run: nearer to a truth that is known; and refusals, each with a remedy."""

import json
import math

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from support.bias_samples import normal_mixture

import steinkit as sk
from steinkit.diagnosis.bias import repair as repairing
from steinkit.errors import InputError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")

SHAPE = 3.0
MEAN, SD = digamma(SHAPE), math.sqrt(polygamma(1, SHAPE))
TARGET = sk.Target(lambda x: SHAPE - np.exp(x), log_density=lambda x: (SHAPE * x - np.exp(x)).sum(axis=1), dim=2)
ONLY_SCORE = sk.Target(lambda x: SHAPE - np.exp(x), dim=2)


def drawn(seed=0, n=1000):
    return np.log(np.random.default_rng([3, seed]).gamma(SHAPE, size=(n, 2)))


def quantiles(sample):
    found = []
    for column in sample.points.T:
        order = np.argsort(column)
        sums = np.cumsum(sample.probabilities[order])
        found.append(np.interp([0.05, 0.5, 0.95], sums, column[order]))
    return np.array(found)


def test_weights_mend_means_deviations_and_quantiles():
    draws = 1.15 * (drawn() - MEAN) + MEAN + 0.1
    mended = sk.repair(draws, ONLY_SCORE)
    sample = mended.sample
    assert mended.method == "weights"
    assert (sample.points == draws).all()
    mean = sample.probabilities @ draws
    assert np.abs(mean - MEAN).max() < 0.05 * SD < np.abs(draws.mean(axis=0) - MEAN).max()
    sd = np.sqrt(sample.probabilities @ (draws - mean) ** 2)
    assert np.abs(np.log(sd / SD)).max() < 0.06 < np.abs(np.log(draws.std(axis=0) / SD)).min()
    truth = np.quantile(np.log(np.random.default_rng(1).gamma(SHAPE, size=200_000)), [0.05, 0.5, 0.95])
    before = np.abs(np.quantile(draws, [0.05, 0.5, 0.95], axis=0).T - truth).mean()
    assert np.abs(quantiles(sample) - truth).mean() < 0.7 * before
    assert mended.worth == pytest.approx(1.0 / (sample.probabilities**2).sum(), rel=1e-9)
    assert 200.0 < mended.worth < 1000.0
    assert mended.bias.value > 3.0 * mended.after.value


def test_right_draws_are_hardly_weighted():
    mended = sk.repair(drawn(1), TARGET)
    assert mended.method == "weights"
    assert mended.worth > 900.0


def test_where_weights_rest_on_too_few_a_run_moves_the_draws():
    draws = 0.4 * (drawn(2) - MEAN) + MEAN - 1.0
    mended = sk.repair(draws, TARGET)
    assert mended.method == "run"
    assert 700.0 < mended.worth <= 1000.0
    assert mended.sample.weights is None
    assert np.abs(mended.sample.points.mean(axis=0) - MEAN).max() < 0.12 * SD
    assert np.abs(np.log(mended.sample.points.std(axis=0) / SD)).max() < 0.12
    assert mended.after.reliable.all()
    assert mended.bias.draws_mean == pytest.approx(draws.mean(axis=0))
    same, other = (sk.repair(draws, TARGET, rng=seed).sample.points for seed in (0, 1))
    assert (same == mended.sample.points).all()
    assert (other != same).any()


def test_a_run_ends_where_the_estimate_says():
    draws = 0.4 * (drawn(10) - MEAN) + MEAN - 1.0
    mended = sk.repair(draws, TARGET)
    assert mended.after.value < 0.06  # of 1000 right draws it is .039
    assert mended.after.value == pytest.approx(
        math.sqrt(
            np.mean(((mended.sample.points.mean(axis=0) - MEAN) / SD) ** 2)
            + np.mean(np.log(mended.sample.points.std(axis=0) / SD) ** 2)
        ),
        abs=0.03,
    )
    assert not mended.warnings


def test_a_run_goes_on_while_a_quantity_is_off(monkeypatch):
    monkeypatch.setattr(repairing, "_is_within_noise", lambda found: False)
    runs, estimate = [], repairing.estimate_bias

    def counted(*given, method="auto", **options):
        runs.append(method)
        return estimate(*given, method=method, **options)

    monkeypatch.setattr(repairing, "estimate_bias", counted)
    assert repairing.repair(drawn(12, 200), TARGET, method="run").warnings[-1] == repairing._STILL_MOVING
    assert runs.count("run") == repairing._RUNS


def test_a_run_can_be_asked_for():
    draws = drawn(3)
    mended = sk.repair(draws, TARGET, method="run")
    assert mended.method == "run"
    assert (mended.sample.points != draws).any()
    assert np.abs(mended.sample.points.mean(axis=0) - MEAN).max() < 0.12 * SD


def test_weights_stay_with_their_draws_in_a_sample_of_chains():
    draws = drawn(4) + 0.1
    labels = np.tile([2, 1, 3, 0], 250)
    sample = sk.Sample(draws, names=("a", "b"), chain=labels)
    mended = sk.repair(sample, ONLY_SCORE).sample
    assert mended.names == ("a", "b")
    assert (mended.chain == labels).all()
    assert np.abs(mended.probabilities @ draws - MEAN).max() < 0.04


def test_the_weighted_sample_is_scored_as_nearer():
    draws = 1.15 * drawn(5)
    mended = sk.repair(draws, ONLY_SCORE).sample
    before, after = (sk.sliced_stein_discrepancy(each, ONLY_SCORE, tolerance=0.05).value for each in (draws, mended))
    assert after < 0.7 * before


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"method": "weight"}, UsageError, "method 'weight'"),
        (
            {"draws": sk.Sample(drawn(6), np.linspace(1.0, 2.0, 1000))},
            UsageError,
            "carry weights already; repair draws without, or resample these first",
        ),
        (
            {"draws": 0.3 * drawn(6) - 3.0},
            InputError,
            r"cannot be repaired: .*; give a target with a log density, from which a run can be made, or run",
        ),
        ({"draws": 0.3 * drawn(6) - 3.0, "method": "weights"}, InputError, "of 1000 draws, too few to rest on; give a"),
        ({"method": "run"}, InputError, "give a target with a log density"),
    ],
    ids=["method", "weighted", "too far", "too far for weights", "no density"],
)
def test_refusals_say_what_to_do(given, error, said):
    with pytest.raises(error, match=said):
        sk.repair(**{"draws": drawn(6), "target": ONLY_SCORE, **given})


@pytest.mark.parametrize("method", ["weights", "run"])
def test_shares_of_modes_are_not_repaired_by_the_score_alone(method):
    points, target = normal_mixture([[0.0, 0.0], [8.0, 0.0]], [0.8, 0.2], 1000, np.random.default_rng(7))
    with pytest.raises(InputError, match="cannot be repaired: the draws fall into groups along x1"):
        sk.repair(points, target, method=method)
    with pytest.raises(InputError, match="cannot be repaired: the draws fall into groups along x1"):
        sk.repair(points, sk.Target(target.score, dim=2))


def test_modes_are_weighed_by_their_shares():
    """Half and half by symmetry: of the sum of N(0, 1) and N(8, 1) the mean is 4 and the variance 17."""
    points, target = normal_mixture([[0.0, 0.0], [8.0, 0.0]], [0.8, 0.2], 1000, np.random.default_rng(7))
    mended = sk.repair(points, target)
    assert mended.method == "modes"
    assert (mended.sample.points == points).all()
    for found, weights in ((mended.bias, np.full(1000, 1e-3)), (mended.after, mended.sample.probabilities)):
        assert found.reliable.all()
        assert found.mean == pytest.approx([4.0, 0.0], abs=0.1)
        assert found.sd == pytest.approx([np.sqrt(17.0), 1.0], abs=0.05)
        assert (np.abs(found.mean - [4.0, 0.0]) <= found.mean_margin * found.sd + 1e-9).all()
        assert found.draws_mean == pytest.approx(weights @ points)
        assert found.draws_sd == pytest.approx(np.sqrt(weights @ (points - weights @ points) ** 2))
    assert mended.bias.mean_bias[0] < -0.5
    assert abs(mended.after.mean_bias[0]) < 0.05
    assert mended.worth == pytest.approx(1.0 / (mended.sample.probabilities**2).sum())
    assert "modes reweighted to their shares, worth" in mended.summary()


def test_what_is_wrong_within_modes_stays_and_is_said():
    points, target = normal_mixture([[0.0, 0.0], [8.0, 0.0]], [0.5, 0.5], 1000, np.random.default_rng(8))
    points[:, 1] *= 1.1
    mended = sk.repair(points, target)
    assert mended.after.sd_bias[1] == pytest.approx(np.log(np.std(points[:, 1])), abs=0.02)
    assert mended.after.sd_bias[1] > mended.after.sd_margin[1]


def test_functions_of_the_target_are_weighed_too():
    points, target = normal_mixture([[0.0, 0.0], [8.0, 0.0]], [0.8, 0.2], 1000, np.random.default_rng(9))
    with_function = sk.Target(
        target.score, log_density=target.log_density, dim=2, functions={"sum": lambda x: x[:, 0] + x[:, 1]}
    )
    after = sk.repair(points, with_function).after
    k = after.names.index("sum")
    assert after.mean[k] == pytest.approx(4.0, abs=0.1)
    assert after.sd[k] == pytest.approx(np.sqrt(18.0), abs=0.05)


def test_why_modes_cannot_be_weighed_is_said():
    points, target = normal_mixture([[0.0, 0.0], [8.0, 0.0]], [0.98, 0.02], 1000, np.random.default_rng(10))
    with pytest.raises(InputError, match=r"cannot be repaired: .*; and one of 2 modes has \d+ draws"):
        sk.repair(points, target)


def test_it_can_speak_and_list_itself():
    mended = sk.repair(1.15 * drawn(8), ONLY_SCORE)
    document = mended.to_dict()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["before"] == mended.bias.to_dict()
    assert document["after"] == mended.after.to_dict()
    assert f"Repaired: 1000 weighted draws, worth {mended.worth:.0f}." in mended.summary()
    assert "Before: " in mended.summary()
    assert "After: " in mended.summary()
    assert repr(mended).startswith("<Repaired by weights: 1000 draws worth ")


@pytest.mark.parametrize("far", [0.1, -1.5])
def test_kept_draws_are_read_again(far, tmp_path):
    mended = sk.repair(0.8 * drawn(9) + far, TARGET)
    mended.save(tmp_path / "repaired.json")
    again = sk.read_result(tmp_path / "repaired.json")
    assert again.to_dict() == mended.to_dict()
    assert again.summary() == mended.summary()
    assert (again.sample.points == mended.sample.points).all()
    assert (again.sample.probabilities == mended.sample.probabilities).all()
