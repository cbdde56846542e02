"""Biases in the parameters' own units with their margins, on draws with known biases, and rejected input."""

import json
import math
import time

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from support.bias_samples import RIDGE, log_gamma, normal_mixture, ridge_draws

import steinkit as sk
from steinkit.diagnosis.bias.drift import Drift
from steinkit.diagnosis.bias.estimate import _DISAGREE, bias_of
from steinkit.errors import InputError, TimeLimitError, UsageError
from steinkit.scored_sample import ScoredSample

pytestmark = pytest.mark.filterwarnings("ignore::steinkit.SteinkitWarning")

PLANE = sk.targets.Normal([0.0, 0.0])
SHAPE = 3.0
MEAN, SD = digamma(SHAPE), math.sqrt(polygamma(1, SHAPE))


def skewed(seed, n=1000, dim=3):
    return np.log(np.random.default_rng([1, seed]).gamma(SHAPE, size=(n, dim)))


def errors(found, mean=MEAN, sd=SD):
    """Return the errors of means, in standard deviations, and of logarithms of standard deviations."""
    return (found.mean - mean) / sd, np.log(found.sd / sd)


def outside(found, mean=MEAN, sd=SD):
    """Return how many of the reliable quantities are outside their margins."""
    means, sds = errors(found, mean, sd)
    beyond = np.concatenate([np.abs(means) > found.mean_margin, np.abs(sds) > found.sd_margin])
    return int(beyond[np.tile(found.reliable, 2)].sum())


def test_biases_for_a_normal_target_are_exact():
    target = sk.targets.Normal([10.0, -3.0], covariance=np.array([[4.0, 1.2], [1.2, 1.0]]))
    draws = target.sample(1000, np.random.default_rng(0)) * [0.7, 1.0] + [3.5, 0.0]
    found = sk.estimate_bias(sk.Sample(draws, names=("mu", "tau")), scores=target.score(draws))
    assert found.names == ("mu", "tau")
    assert found.mean == pytest.approx([10.0, -3.0], abs=1e-3)
    assert found.sd == pytest.approx([2.0, 1.0], rel=1e-3)
    assert found.draws_mean == pytest.approx(draws.mean(axis=0), abs=1e-12)
    assert found.draws_sd == pytest.approx(draws.std(axis=0), abs=1e-12)
    assert found.mean_bias == pytest.approx((draws.mean(axis=0) - [10.0, -3.0]) / [2.0, 1.0], abs=1e-3)
    assert found.sd_bias == pytest.approx(np.log(draws.std(axis=0) / [2.0, 1.0]), abs=1e-3)
    assert found.reliable.all()
    assert found.reason == ("", "")
    assert found.unranked == ""
    assert found.is_off_by(0.1)  # the bias is .25 sd
    assert not found.is_off_by(0.4)
    assert found.method == "regression"
    assert found.value == pytest.approx(math.sqrt(np.mean(found.mean_bias**2 + found.sd_bias**2)))
    assert found.worst(1).tolist() == [int(np.argmax(np.maximum(np.abs(found.mean_bias), np.abs(found.sd_bias))))]


def test_margins_hold_and_bias_decreases_for_a_skewed_target():
    missed, raw, left = 0, [], []
    for seed in range(10):
        found = sk.estimate_bias(1.1 * (skewed(seed) - 0.1), log_gamma(3), method="regression")
        assert found.reliable.all()
        missed += outside(found)
        raw.append(np.hypot(found.draws_mean - MEAN, np.log(found.draws_sd / SD)).mean())
        left.append(np.hypot(*errors(found)).mean())
    assert missed <= 4  # out of 60
    assert np.median(left) < np.median(raw) / 3.0


@pytest.mark.parametrize(
    ("target", "mean", "sd"),
    [(sk.targets.Gamma(3.0, dim=2), 3.0, math.sqrt(3.0)), (sk.targets.Beta(2.0, 3.0, dim=2), 0.4, 0.2)],
    ids=["gamma", "beta"],
)
@pytest.mark.parametrize("power", [1.0, 1.1])
def test_margins_hold_on_bounded_supports(target, mean, sd, power):
    draws = target.sample(2000, np.random.default_rng(2)) ** power
    found = sk.estimate_bias(draws, target, method="regression")
    assert found.reliable.all()
    assert outside(found, mean, sd) <= 1
    assert np.abs(errors(found, mean, sd)).max() < (0.03 if power == 1.0 else 0.6 * abs(draws.mean() - mean) / sd)
    others = sk.estimate_bias(draws, scores=target.score(draws), bounds=target.bounds, method="regression")
    assert (others.mean == found.mean).all()


def test_functions_of_the_draws_have_biases():
    draws = 0.9 * np.random.default_rng(3).standard_normal((4000, 2)) + 0.2
    functions = {"square": lambda x: x[:, 0] ** 2, "product": lambda x: x[:, 0] * x[:, 1]}
    found = sk.estimate_bias(draws, PLANE, functions=functions)
    assert found.names == ("x1", "x2", "square", "product")
    assert found.reliable.all()
    assert found.mean[2:] == pytest.approx([1.0, 0.0], abs=0.01)
    assert found.sd[2:] == pytest.approx([math.sqrt(2.0), 1.0], abs=0.2)
    assert (np.abs(np.log(found.sd[2:] / [math.sqrt(2.0), 1.0])) < found.sd_margin[2:]).all()
    assert sk.estimate_bias(draws, PLANE).mean == pytest.approx(found.mean[:2], abs=1e-6)


def test_weighted_draws():
    draws = 1.4 * np.random.default_rng(4).standard_normal((3000, 2))
    weights = np.exp(-0.5 * (1.0 - 1.0 / 1.96) * (draws**2).sum(axis=1))
    found = sk.estimate_bias(draws, PLANE, weights=weights)
    assert found.draws_sd == pytest.approx([1.0, 1.0], abs=0.06)
    assert found.sd == pytest.approx([1.0, 1.0], abs=1e-3)
    assert found.sd_bias == pytest.approx(np.log(found.draws_sd), abs=1e-3)
    assert sk.estimate_bias(draws, PLANE).sd_bias == pytest.approx([math.log(1.4)] * 2, abs=0.05)
    assert sk.estimate_bias(sk.Sample(draws, weights), PLANE).mean == pytest.approx(found.mean, abs=1e-12)


def test_draws_with_weight_zero_have_no_effect():
    draws = np.random.default_rng(5).standard_normal((500, 2))
    weights = np.ones(500)
    weights[::5] = 0.0
    spoiled = np.where(weights[:, None] > 0.0, draws, 1e6)
    found = sk.estimate_bias(spoiled, PLANE, weights=weights)
    assert found.mean == pytest.approx(sk.estimate_bias(draws[weights > 0.0], PLANE).mean, abs=1e-12)
    assert (found.weights[::5] == 0.0).all()
    assert found.weights.sum() == pytest.approx(1.0)


def test_order_of_chains_has_no_effect():
    chains = skewed(6, 1200).reshape(4, 300, 3)
    first, second = (
        sk.estimate_bias(each, log_gamma(3), method="regression") for each in (chains, chains[[2, 0, 3, 1]])
    )
    for name in ("mean", "sd", "mean_margin", "sd_margin"):
        assert getattr(second, name) == pytest.approx(getattr(first, name), rel=1e-6)
    labeled = sk.Sample(chains.reshape(-1, 3), chain=np.repeat(np.arange(4), 300))
    assert sk.estimate_bias(labeled, log_gamma(3), method="regression").mean == pytest.approx(first.mean, abs=1e-12)


def test_weights_have_the_order_of_the_given_draws():
    chains = 1.1 * np.random.default_rng(7).standard_normal((4, 100, 2)) + 0.1
    rows = np.random.default_rng(8).permutation(400)
    labels, draws = np.repeat(np.arange(4), 100), chains.reshape(-1, 2)
    mixed = sk.Sample(draws[rows], chain=labels[rows], draw=np.tile(np.arange(100), 4)[rows])
    found, plain = sk.estimate_bias(mixed, PLANE), sk.estimate_bias(chains, PLANE)
    assert found.weights == pytest.approx(plain.weights[rows], abs=1e-9)
    assert plain.weights @ draws == pytest.approx([0.0, 0.0], abs=0.01)
    assert plain.effective_size == pytest.approx(1.0 / (plain.weights**2).sum())


def test_very_biased_draws_are_not_reliable_without_a_density():
    draws = skewed(9) * 0.4 - 3.0
    found = sk.estimate_bias(draws, scores=log_gamma(3).score(draws))
    assert not found.reliable.any()
    assert found.lower == 0.0  # margins do not rank these draws
    assert found.value == pytest.approx(math.sqrt(np.mean(found.mean_bias**2 + found.sd_bias**2)))
    assert not found.is_off_by(0.1)


def test_run_replaces_an_unreliable_regression():
    draws = skewed(10) * 0.4 - 1.0
    found = sk.estimate_bias(draws, log_gamma(3))
    assert found.method == "run"
    assert found.gradients >= 4
    assert found.reliable.all()
    assert np.abs(errors(found)).max() < 0.1
    assert outside(found) <= 1
    assert found.draws_mean == pytest.approx(draws.mean(axis=0), abs=1e-12)
    assert found.mean_bias == pytest.approx((draws.mean(axis=0) - MEAN) / SD, abs=0.15)
    assert len(found.moved) == len(draws)
    assert found.moved.scores == pytest.approx(log_gamma(3).score(found.moved.points))


def test_verdict_makes_no_run_if_the_density_is_slow(monkeypatch):
    draws = skewed(10) * 0.4 - 1.0
    assert all(sk.verdict(draws, log_gamma(3), rng=seed).bias.method == "run" for seed in (0, None))
    monkeypatch.setattr("steinkit.diagnosis.invariance._SECONDS", 0.0)  # every density counts as too slow
    found = sk.verdict(draws, log_gamma(3))
    assert found.is_biased
    assert found.bias.method == "regression"
    assert not found.bias.reliable.all()
    assert any("the log density is slow" in each for each in found.warnings)


def test_function_that_is_constant_at_the_moved_draws_has_an_infinite_margin():
    draws = np.random.default_rng(5).standard_normal((300, 1))
    draws[0] = 6.0
    functions = {"far": lambda x: (np.abs(x[:, 0]) > 3.5).astype(float)}
    found = sk.estimate_bias(draws, sk.targets.Normal([0.0]), functions=functions, method="run")
    assert not found.reliable[1]
    assert found.sd_margin[1] == np.inf
    assert not np.isnan(found.mean_margin).any()


def test_run_that_is_too_short_bounds_the_bias_from_below(monkeypatch):
    """The draws are a thousand times too narrow and far from the target."""
    monkeypatch.setattr("steinkit.diagnosis.bias.estimate._MOVES", (4, 4, 6))
    target = sk.targets.Normal(np.zeros(2), covariance=np.diag([1.0, 1e6]))
    start = np.array([0.0, 3000.0]) + np.random.default_rng(11).standard_normal((200, 2))
    skew = sk.Target(
        lambda x: target.score(x) - 1e-3 * x**3,
        log_density=lambda x: target.log_density(x) - 2.5e-4 * (x**4).sum(axis=1),
        dim=2,
    )
    found = sk.estimate_bias(start, skew, method="run")
    assert not found.reliable.all()
    assert ((found.at_least > 0.0) <= ~found.reliable).all()
    assert found.at_least[1] > 1.0


def test_run_depends_on_the_seed():
    draws = skewed(13) * 0.5 - 0.5
    one, same, other = (sk.estimate_bias(draws, log_gamma(3), method="run", rng=seed) for seed in (1, 1, 2))
    assert (one.mean == same.mean).all()
    assert (one.moved.points == same.moved.points).all()
    assert (one.mean != other.mean).any()
    assert other.mean == pytest.approx(one.mean, abs=0.1)


def test_run_with_a_drifting_coordinate_is_not_reliable(monkeypatch):
    """Draws leave the neck of a hierarchical model slowly, and the log density alone may not show it."""
    monkeypatch.setattr("steinkit.diagnosis.bias.estimate._CLIMB", np.inf)
    monkeypatch.setattr("steinkit.diagnosis.bias.estimate._MOVES", (4, 4, 6))
    data = np.array([1.0, 0.2, 1.9, 0.4, 2.1])

    def log_density(x):
        log_tau, theta = x[:, 0], x[:, 1:]
        spread = 0.5 * (theta**2).sum(axis=1) * np.exp(-2.0 * log_tau) + 5.0 * log_tau
        return -spread - 0.5 * ((data - theta) ** 2).sum(axis=1) - 0.5 * log_tau**2

    def score(x):
        pull = x[:, 1:] * np.exp(-2.0 * x[:, :1])
        return np.hstack([(x[:, 1:] * pull).sum(axis=1, keepdims=True) - 5.0 - x[:, :1], data - x[:, 1:] - pull])

    z = np.random.default_rng(27).standard_normal((1000, 6))
    draws = np.hstack([z[:, :1] - 5.0, np.exp(-5.0) * z[:, 1:]])
    found = sk.estimate_bias(draws, sk.Target(score, log_density=log_density, dim=6), method="run")
    assert not found.reliable.any()
    assert all("has not converged" in each for each in found.reason)


@pytest.mark.parametrize("order", ["shuffled", "stuck"])
def test_no_bias_of_multimodal_draws_is_reliable(order):
    points, target = normal_mixture([[0.0, 0.0], [8.0, 0.0]], [0.8, 0.2], 1000, np.random.default_rng(16), order)
    found = sk.estimate_bias(points, target)
    assert found.hidden
    assert not found.reliable.any()
    assert found.reason == (found.hidden,) * 2
    assert found.moved is None  # a run does not cross between modes
    assert found.to_dict()["hidden"] == found.hidden


def test_functions_need_six_draws_per_coordinate():
    draws = np.random.default_rng(17).standard_normal((150, 30))
    found = sk.estimate_bias(draws, scores=-draws, functions={"cube": lambda x: x[:, 0] ** 3})
    assert not found.reliable[-1]
    assert "six draws per coordinate" in found.reason[-1]
    assert found.weights is None
    assert found.effective_size == 0.0
    (row,) = [each for each in found.to_dict()["quantities"] if each["name"] == "cube"]
    assert row["mean"] is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_number_of_coordinates_may_equal_that_of_draws():
    draws = 0.9 * np.random.default_rng(18).standard_normal((300, 300))
    found = sk.estimate_bias(draws, scores=-draws)
    assert found.reliable.all()
    assert np.abs(found.mean).max() < 0.01
    assert np.abs(found.sd - 1.0).max() < 0.01
    assert found.sd_bias.mean() == pytest.approx(math.log(0.9), abs=0.01)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"method": "regresion"}, UsageError, "'regresion'"),
        ({"method": "run"}, UsageError, "log density"),
        ({"functions": [1]}, UsageError, "functions must be a mapping"),
        ({"functions": {"x1": lambda x: x[:, 0]}}, UsageError, "'x1' is a coordinate"),
        ({"scores": np.ones((7, 2))}, InputError, r"\(200, 2\).*\(7, 2\)"),
        ({"scores": None}, UsageError, "scores"),
        ({"max_seconds": 1e-9}, TimeLimitError, "time ran out"),
    ],
)
def test_invalid_arguments_are_rejected(given, error, message):
    draws = np.random.default_rng(19).standard_normal((200, 2))
    with pytest.raises(error, match=message):
        sk.estimate_bias(draws, **{"scores": -draws, **given})


@pytest.mark.parametrize("spoiled", ["draws", "scores"])
def test_nan_is_rejected(spoiled):
    draws = np.random.default_rng(20).standard_normal((200, 2))
    given = {"draws": draws, "scores": -draws}
    given[spoiled] = np.where(draws == draws[3], np.nan, given[spoiled])
    with pytest.raises(InputError, match="nan"):
        sk.estimate_bias(**given)


def test_time_limit_of_a_run_is_kept():
    def slow(x):
        time.sleep(0.02)
        return -0.5 * (x**4).sum(axis=1)

    target = sk.Target(lambda x: -2.0 * x**3, log_density=slow, dim=2)
    began = time.perf_counter()
    with pytest.raises(TimeLimitError):
        sk.estimate_bias(np.random.default_rng(21).standard_normal((200, 2)), target, method="run", max_seconds=0.05)
    assert time.perf_counter() - began < 5.0


class TestFunctionsOfTheTarget:
    """The mean of exp(x) for a standard normal x is sqrt(e), its variance e (e - 1)."""

    @pytest.fixture
    def draws(self):
        return 0.2 + np.random.default_rng(4).standard_normal((2000, 2))

    def target(self, function=lambda x: np.exp(x[:, 0])):
        return sk.Target(
            lambda x: -x, log_density=lambda x: -0.5 * (x**2).sum(axis=1), dim=2, functions={"tau": function}
        )

    def test_verdict_includes_them(self, draws):
        found = sk.verdict(draws, self.target()).bias
        assert found.names == ("x1", "x2", "tau")
        assert abs(found.mean[2] - np.exp(0.5)) < found.mean_margin[2] * found.sd[2]
        assert abs(np.log(found.sd[2] ** 2 / (np.e * (np.e - 1.0)))) < 2.0 * found.sd_margin[2]
        assert found.mean_bias[2] > 0.05

    def test_given_functions_follow_them(self, draws):
        found = sk.estimate_bias(draws, self.target(), functions={"sum": lambda x: x.sum(axis=1)})
        assert found.names == ("x1", "x2", "tau", "sum")

    def test_constant_function_is_left_out_with_a_note(self, draws):
        found = sk.verdict(draws, self.target(lambda x: (x[:, 0] > 9.0).astype(float))).bias
        assert found.names == ("x1", "x2")
        (note,) = found.warnings
        assert "tau" in note

    def test_undefined_function_is_rejected(self, draws):
        with pytest.raises(sk.InputError, match="function 'tau' is nan at draw 1"):
            sk.verdict(draws, self.target(lambda x: np.full(len(x), np.nan)))


def test_draws_and_scores_that_overflow_are_rejected():
    x = np.append(np.random.default_rng(1).normal(size=30), 1e308)[:, None]
    with pytest.raises(sk.InputError, match="overflow"):
        sk.estimate_bias(x, scores=-x)
    with pytest.raises(sk.InputError, match="squared scores overflow"):
        sk.estimate_bias(np.random.default_rng(1).normal(size=(120, 2)), sk.Target(score=lambda x: -1e300 * x))


def test_very_narrow_draws_have_a_json_document():
    draws = 1e-9 * np.random.default_rng(0).standard_normal((900, 1))
    document = sk.estimate_bias(draws, sk.targets.Normal()).to_dict()
    assert 0.0 < json.loads(json.dumps(document, allow_nan=False))["effective_size"] <= 900.1


def test_constant_first_half_of_a_coordinate_is_rejected_or_not_reliable():
    """Rounding decides whether the linear algebra fails."""

    def outcome(seed):
        draws = np.random.default_rng(seed).standard_normal((60, 4))
        draws[:, 0] = 1.0 + 1e-15 * np.where(np.arange(60) < 30, 0, np.arange(60))
        try:
            return str(sk.estimate_bias(draws, scores=-draws).reliable.any())
        except sk.InputError as error:
            return "nearly constant" if "nearly constant" in str(error) else str(error)

    assert {outcome(seed) for seed in range(24)} == {"False", "nearly constant"}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shift_along_a_curved_ridge_is_estimated(seed):
    draws = ridge_draws(0.3, seed)
    found = sk.estimate_bias(draws, RIDGE)
    assert found.mean_bias[0] == pytest.approx(draws[:, 0].mean(), abs=0.02)
    assert abs(found.mean_bias[0] - draws[:, 0].mean()) <= found.mean_margin[0] < 0.1
    assert found.reliable[0]


def test_unexplained_quantity_is_not_reliable():
    """The features do not explain x1 on a sine ridge, whether it is biased or not."""
    rng = np.random.default_rng(4)
    x = 0.3 + rng.standard_normal(1000)
    rng.standard_normal(1000)
    draws = np.column_stack([x, np.sin(2.0 * x) + 0.3 * rng.standard_normal(1000)])
    left = (draws[:, 1] - np.sin(2.0 * x)) / 0.09
    found = sk.estimate_bias(draws, scores=np.column_stack([2.0 * np.cos(2.0 * x) * left - x, -left]))
    assert not found.reliable[0]
    assert "do not explain" in found.reason[0]


def test_margin_of_a_large_bias_includes_the_error_of_the_unit():
    draws = 0.9 * (skewed(23) - MEAN) + MEAN + 0.6
    found = sk.estimate_bias(draws, log_gamma(3), method="regression")
    assert (found.mean_margin >= np.abs(found.mean_bias) * found.sd_margin).all()
    assert (np.abs(found.mean_bias - (draws.mean(axis=0) - MEAN) / SD) <= found.mean_margin).all()


@pytest.mark.parametrize("agrees", [True, False])
def test_drift_that_contradicts_the_regression_makes_it_unreliable(agrees):
    """The second coordinate is .5 sd too high and falls by 80% of this, or does not move."""
    draws = np.random.default_rng(24).standard_normal((1000, 2)) + np.array([0.0, 0.5])
    error, mixing = np.full(2, 0.03), np.full(2, 0.8)
    fall = np.array([0.0, -0.4 if agrees else 0.0])
    drift = Drift(fall, error, mixing, fall**2, error, mixing)
    prepared = ScoredSample.of(draws, PLANE)
    given = {"functions": {"sum": lambda x: x.sum(axis=1)}, "drift": drift}
    assert bias_of(prepared, **given).reason == (("",) * 3 if agrees else ("", _DISAGREE, _DISAGREE))
    by_run = bias_of(prepared, method="auto", **given)
    assert by_run.method == ("regression" if agrees else "run")
    assert by_run.reliable.all()


def test_reliable_quantities_without_bias_have_small_margins():
    for seed in range(5):
        found = sk.estimate_bias(0.7 * (skewed(seed) - MEAN) + MEAN - 0.2, scores=None, target=log_gamma(3))
        for bias, margin in ((found.mean_bias, found.mean_margin), (found.sd_bias, found.sd_margin)):
            exact = found.reliable & (np.abs(bias) <= margin)
            assert (np.abs(bias) + margin)[exact].max(initial=0.0) < 0.31


def test_margin_of_a_run_includes_the_last_change(monkeypatch):
    monkeypatch.setattr("steinkit.diagnosis.bias.estimate._MOVES", (4,))
    draws = 0.6 * skewed(26) - 0.5
    found = sk.estimate_bias(draws, log_gamma(3), method="run")
    start = sk.estimate_bias(draws, log_gamma(3), method="regression")
    end = sk.estimate_bias(found.moved, method="regression")
    of_estimates, of_draws = np.log(end.sd / start.sd), np.log(end.draws_sd / start.draws_sd)
    change = np.maximum(np.abs(of_estimates), np.abs(of_draws))
    assert change.min() > 0.003
    assert found.sd == pytest.approx(end.sd, rel=1e-9)
    assert found.sd_margin == pytest.approx(np.hypot(end.sd_margin, 2.0 * change), rel=1e-6)
